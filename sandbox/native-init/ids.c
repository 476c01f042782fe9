/*
 * Whose ids a sandbox has (rules 5.4): one uid and one gid, never a range, never
 * the host's 0.
 */
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sandbox/native-init/helper.h"

/* Is the id inside a range of this map (lines of: inside, outside, count)? */
static bool
mapped(const char *path, unsigned id)
{
	char line[128];
	FILE *f = fopen(path, "re");
	bool found = f == NULL;		/* no such file: no namespaces, all there */

	while (f && fgets(line, sizeof(line), f)) {
		char *end;
		unsigned long inside = strtoul(line, &end, 10);
		(void)strtoul(end, &end, 10);
		unsigned long count = strtoul(end, NULL, 10);
		found = found || (id >= inside && id - inside < count);
	}
	if (f)
		fclose(f);
	return found;
}

struct ids
ids_choose(const struct seal *seal)
{
	struct ids ids = { .uid = geteuid(), .gid = getegid() };

	if (ids.uid != 0)
		return ids;
	/* Root of a container that maps no such id: its own root is not the
	 * host's, and is what is left.  The initial namespace maps every id. */
	ids.change = mapped("/proc/self/uid_map", seal->uid) &&
		mapped("/proc/self/gid_map", seal->gid);
	if (ids.change) {
		ids.uid = seal->uid;
		ids.gid = seal->gid;
	}
	return ids;
}

int
ids_become(const struct ids *ids)
{
	if (!ids->change)
		return 0;
	/* Safe: the ids come from the seal and are not 0; groups go first,
	 * saved ids too, so the host's root can't come back. */
	return setgroups(0, NULL) < 0 ||
		setresgid(ids->gid, ids->gid, ids->gid) < 0 ||
		setresuid(ids->uid, ids->uid, ids->uid) < 0 ? -1 : 0;
}

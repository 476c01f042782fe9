/* Reading, writing and losing a path: what each zone means for a verdict. */
#include <string.h>

#include "gateway/gate/rules.h"

void
path_check_read(struct walk *w, const struct gate_field *f)
{
	struct path p = path_of(w, f);
	if (p.cred)
		walk_ask_severe(w, GATE_CLASS_CREDENTIALS, "credential read",
			"it reads %s, where credentials are kept", f->s);
	else if (p.vital && p.all && p.zone == ZONE_HOME)
		walk_ask_severe(w, GATE_CLASS_CREDENTIALS, "credential read",
			"it reads all of %s, credentials included", f->s);
	else if (p.zone == ZONE_BLOCK)
		walk_ask_severe(w, GATE_CLASS_FILES, "disk copy",
			"it reads the raw disk %s", f->s);
	else if (p.zone == ZONE_DEVICE && strncmp(f->s, "/dev/tcp/", 9) != 0 &&
	    strncmp(f->s, "/dev/udp/", 9) != 0)
		walk_ask(w, GATE_CLASS_CREDENTIALS, "device read",
			"it reads what the device %s gives", f->s);
	if (strncmp(f->s, "/dev/tcp/", 9) == 0 || strncmp(f->s, "/dev/udp/", 9) == 0)
		walk_ask(w, GATE_CLASS_NETWORK, "raw network connection",
			"it opens a network connection (%s)", f->s);
}

static void
write_outside(struct walk *w, const struct gate_field *f, const struct path *p,
	const char *verb)
{
	const char *key = p->zone == ZONE_UNKNOWN ? "write to an unknown place" :
		"write outside the workspace";
	if (strncmp(f->s, "/dev/tcp/", 9) == 0 ||
	    strncmp(f->s, "/dev/udp/", 9) == 0)
		walk_ask(w, GATE_CLASS_NETWORK, "raw network connection",
			"it opens a network connection (%s)", f->s);
	else if (p->zone == ZONE_UNKNOWN)
		walk_ask(w, GATE_CLASS_FILES, key,
			"it %s %s, and where that is can't be told", verb, f->s);
	else
		walk_ask(w, GATE_CLASS_FILES, key,
			"it %s %s, outside the workspace", verb, f->s);
}

/* After a cd that nothing checks the shell may still be where it was. */
static void
check_if_cd_failed(struct walk *w, const struct gate_field *f, const char *verb)
{
	const char *cwd = w->s.cwd;
	if (!w->s.cwd_else || f->s[0] == '/')
		return;
	w->s.cwd = w->s.cwd_else;
	struct path p = path_of(w, f);
	w->s.cwd = cwd;
	if (p.zone != ZONE_INSIDE && p.zone != ZONE_TMP && p.zone != ZONE_STREAM)
		walk_ask(w, GATE_CLASS_FILES, "write outside the workspace",
			"it %s %s, outside the workspace if the cd before it fails",
			verb, f->s);
}

void
path_check_write(struct walk *w, const struct gate_field *f, const char *verb)
{
	struct path p = path_of(w, f);
	if (p.ours && !w->ctx->isolated)
		walk_never(w, "gatehouse's own files",
			"it %s %s, gatehouse's own state", verb, f->s);
	if (p.zone == ZONE_BLOCK)
		walk_never(w, "write to block device",
			"it %s the raw disk %s", verb, f->s);
	else if (p.norm && word_in(p.norm, strlen(p.norm), "/proc/sysrq-trigger "
	    "/sys/power/state /dev/mem /dev/kmem /dev/port"))
		walk_never(w, "system shutdown/reboot",
			"%s can stop the machine at once", f->s);
	else if (p.guarded)
		walk_ask_severe(w, GATE_CLASS_FILES, p.guard_key,
			"it %s %s: %s", verb, f->s, p.guarded);
	else if (p.zone != ZONE_INSIDE && p.zone != ZONE_TMP &&
	    p.zone != ZONE_STREAM)
		write_outside(w, f, &p, verb);
	else
		check_if_cd_failed(w, f, verb);
}

void
path_check_replace(struct walk *w, const struct gate_field *f, const char *verb)
{
	if (path_of(w, f).vital_file)
		walk_never(w, "overwrite system config",
			"it %s %s, without which nobody logs in or nothing starts",
			verb, f->s);
	path_check_write(w, f, verb);
}

void
path_check_delete(struct walk *w, const struct gate_field *f, bool recursive)
{
	struct path p = path_of(w, f);
	if (p.ours && !w->ctx->isolated)
		walk_never(w, "gatehouse's own files",
			"it deletes %s, gatehouse's own state", f->s);
	if (p.vital_file)
		walk_never(w, "delete in root path",
			"without %s nobody logs in or nothing starts", f->s);
	if (p.vital && (recursive || p.all)) {
		walk_never(w, "delete in root path",
			"deleting %s loses the machine or a home", f->s);
		return;
	}
	if (p.zone == ZONE_BLOCK)
		walk_never(w, "write to block device", "it removes the disk %s", f->s);
	if (recursive && p.norm && strcmp(p.norm, "/tmp/tmp.\x02") == 0)
		return;		/* what mktemp made here */
	if (recursive)
		walk_ask(w, GATE_CLASS_FILES, "recursive delete",
			"it deletes %s with all that is in it", f->s);
	else if (p.zone == ZONE_UNKNOWN || ((f->flags & FIELD_NAME) &&
	    (f->flags & FIELD_DATA) && p.zone != ZONE_TMP))
		walk_ask(w, GATE_CLASS_FILES, "delete of an unknown path",
			"it deletes %s, and what that is can't be told", f->s);
	else if (p.glob || p.all)
		walk_ask(w, GATE_CLASS_FILES, "wildcard delete",
			"it deletes all that matches %s", f->s);
	else if (p.zone == ZONE_TMP && strchr(f->s, MARK_NAME))
		return;		/* what mktemp made here */
	else if (p.zone != ZONE_INSIDE)
		walk_ask(w, GATE_CLASS_FILES, "delete in root path",
			"it deletes %s, outside the workspace", f->s);
	else if (p.guarded || p.cred)
		walk_ask(w, GATE_CLASS_FILES, "delete of a guarded file",
			"it deletes %s: %s", f->s, p.guarded ? p.guarded :
			"credentials are kept there");
	else
		check_if_cd_failed(w, f, "deletes");
}

void
path_check_tree(struct walk *w, const struct gate_field *f, const char *verb)
{
	struct path p = path_of(w, f);
	if (p.vital)
		walk_never(w, "change of a whole system tree",
			"it %s %s: the machine or a home would be lost", verb, f->s);
	else if (p.zone != ZONE_INSIDE && p.zone != ZONE_TMP)
		write_outside(w, f, &p, verb);
	else
		check_if_cd_failed(w, f, verb);
}

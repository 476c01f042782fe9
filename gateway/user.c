#include "gateway/user.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

/* By the one who still may; its parents are the operator's affair. */
static int
make_home(const struct passwd *pw, struct home *home, struct err *err)
{
	if (home->exists)
		return 0;
	struct stat st;
	CLEANUP_CLOSE int fd = -1;

	/* Who may write in its parent could put a link in its place. */
	if (mkdir(home->dir, 0700) < 0 ||
	    (fd = open(home->dir, O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0 ||
	    fstat(fd, &st) < 0 || st.st_uid != 0 ||
	    fchown(fd, pw->pw_uid, pw->pw_gid) < 0)
		return err_set_errno(err, errno, "making the state directory %s for "
			"gateway.user", home->dir);
	home->exists = true;
	home->uid = pw->pw_uid;
	return 0;
}

static int
change_ids(const struct passwd *pw, struct err *err)
{
	if (initgroups(pw->pw_name, pw->pw_gid) < 0 ||
	    setresgid(pw->pw_gid, pw->pw_gid, pw->pw_gid) < 0 ||
	    setresuid(pw->pw_uid, pw->pw_uid, pw->pw_uid) < 0)
		return err_set_errno(err, errno, "becoming gateway.user \"%s\"",
			pw->pw_name);
	if (setuid(0) == 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_set(err, ERR_INTERNAL, "root could not be given up for "
			"gateway.user \"%s\"", pw->pw_name);
	return 0;
}

int
user_become(const char *name, struct home *home, struct err *err)
{
	struct passwd pw, *found = NULL;
	char buf[4096];
	int errnum = getpwnam_r(name, &pw, buf, sizeof(buf), &found);

	if (!found)
		return err_set(err, ERR_CONFIG, "gateway.user: there is no user "
			"\"%s\" (%s)", name, errnum ? strerror(errnum) :
			"not in passwd");
	if (pw.pw_uid == 0)
		return err_set(err, ERR_CONFIG, "gateway.user: \"%s\" is root; name "
			"an ordinary user, or leave it out", name);
	if (make_home(&pw, home, err) < 0 || change_ids(&pw, err) < 0 ||
	    home_check(home, err) < 0)
		return -1;
	home->gave_up_root = true;
	if (access(home->dir, R_OK | W_OK | X_OK) < 0)
		return err_set_errno(err, errno, "gateway.user \"%s\" can't use the "
			"state directory %s; choose another by --home or "
			"GATEHOUSE_HOME, such as /var/lib/gatehouse", name, home->dir);
	if (setenv("HOME", pw.pw_dir, 1) < 0 || setenv("USER", name, 1) < 0 ||
	    setenv("LOGNAME", name, 1) < 0)
		return err_set_errno(err, errno, "the environment of gateway.user");
	return 0;
}

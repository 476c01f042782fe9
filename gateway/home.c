#include "gateway/home.h"

#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/ids.h"
#include "base/json.h"
#include "base/mem.h"
#include "gateway/env.h"
#include "gateway/file.h"

#define MACHINE_ID "/etc/machine-id"
#define INSTANCE_FILE "instance.json"

static char *
default_dir(const char *const *environ)
{
	const char *user = env_find(environ, "HOME");
	const struct passwd *pw = user && *user ? NULL : getpwuid(geteuid());

	if (pw)
		user = pw->pw_dir;
	return user && *user ? mem_printf("%s/.gatehouse", user) : NULL;
}

static char *
absolute(const char *dir)
{
	char *cwd, *path;

	if (*dir == '/')
		return mem_str(dir);
	cwd = getcwd(NULL, 0);
	path = cwd ? mem_printf("%s/%s", cwd, dir) : NULL;
	mem_free(cwd);
	return path;
}

static int
look_at_dir(struct home *home, struct err *err)
{
	struct stat st;

	if (stat(home->dir, &st)) {
		if (errno == ENOENT)
			return 0;
		return err_set_errno(err, errno, "state directory %s", home->dir);
	}
	if (!S_ISDIR(st.st_mode))
		return err_set(err, ERR_CONFIG, "state directory %s is no directory",
			home->dir);
	home->exists = true;
	home->uid = st.st_uid;
	return 0;
}

int
home_check(const struct home *home, struct err *err)
{
	if (!home->exists || home->uid == geteuid())
		return 0;
	return err_set(err, ERR_CONFIG, "state directory %s belongs to uid %u, "
		"gatehouse runs as uid %u: run `chown -R %u %s`, or run gatehouse as "
		"its owner", home->dir, (unsigned)home->uid, (unsigned)geteuid(),
		(unsigned)geteuid(), home->dir);
}

int
home_find(struct home *home, const char *option, const char *const *environ,
	struct err *err)
{
	const char *var = env_find(environ, "GATEHOUSE_HOME");

	memset(home, 0, sizeof(*home));
	if (option && *option)
		home->dir = absolute(option);
	else if (var && *var)
		home->dir = absolute(var);
	else
		home->dir = default_dir(environ);
	if (!home->dir)
		return err_set(err, ERR_CONFIG,
			"no state directory: set GATEHOUSE_HOME or HOME");
	for (size_t n = strlen(home->dir); n > 1 && home->dir[n - 1] == '/'; n--)
		home->dir[n - 1] = '\0';
	return look_at_dir(home, err);
}

void
home_done(struct home *home)
{
	mem_free(STEAL(home->dir));
}

int
home_create(struct home *home, struct err *err)
{
	struct stat st;

	if (!home->exists && mkdir(home->dir, 0700) && errno != EEXIST)
		return err_set_errno(err, errno, "can't make the state directory %s",
			home->dir);
	if (look_at_dir(home, err) || home_check(home, err))
		return -1;
	if (stat(home->dir, &st))
		return err_set_errno(err, errno, "state directory %s", home->dir);
	/* Root may let others pass, which level landlock needs; not look. */
	if (!(st.st_mode & 077) || ((geteuid() == 0 || home->gave_up_root) && (st.st_mode & 077) == 011))
		return 0;
	if (chmod(home->dir, 0700))
		return err_set_errno(err, errno, "others can enter the state directory "
			"%s: chmod 700 %s failed", home->dir, home->dir);
	home->tightened = true;
	return 0;
}

char *
home_path(const struct home *home, const char *name)
{
	return mem_printf("%s/%s", home->dir, name);
}

/* What a copy on another machine or in another directory doesn't share. */
static int
fingerprint(const struct home *home, char ret_hex[2 * SHA256_LEN + 1],
	struct err *err)
{
	struct buf text CLEANUP_BUF;
	struct err none;
	struct stat st;

	buf_init(&text, 4096);
	/* Without a machine id the inode alone has to do. */
	(void)file_read(MACHINE_ID, &text, NULL, &none);
	if (stat(home->dir, &st))
		return err_set_errno(err, errno, "state directory %s", home->dir);
	buf_printf(&text, "\n%ju", (uintmax_t)st.st_ino);
	ids_sha256_hex(text.data, text.len, ret_hex);
	return 0;
}

static bool
known_instance(const char *path, const char *bound, char ret_id[HOME_INSTANCE_MAX])
{
	struct buf text CLEANUP_BUF;
	struct json *root CLEANUP_JSON = NULL;
	const char *id;
	struct err err;

	buf_init(&text, 4096);
	if (file_read(path, &text, NULL, &err))
		return false;
	root = json_parse(text.data, text.len, &err);
	id = json_get_str(root, "id", "");
	if (strlen(id) != HOME_INSTANCE_MAX - 1 ||
	    id[strspn(id, "0123456789abcdef")] ||
	    strcmp(json_get_str(root, "bound", ""), bound) != 0)
		return false;
	return mem_copy_str(ret_id, HOME_INSTANCE_MAX, id) == 0;
}

int
home_instance(const struct home *home, char ret_id[HOME_INSTANCE_MAX],
	bool *ret_new, struct err *err)
{
	CLEANUP_FREE char *path = home_path(home, INSTANCE_FILE);
	struct json *root CLEANUP_JSON = NULL;
	char bound[2 * SHA256_LEN + 1];

	if (fingerprint(home, bound, err))
		return -1;
	*ret_new = !known_instance(path, bound, ret_id);
	if (!*ret_new)
		return 0;
	ids_hex(ret_id, HOME_INSTANCE_MAX - 1);
	root = json_object();
	json_set_str(root, "id", ret_id);
	json_set_str(root, "bound", bound);
	CLEANUP_FREE char *text = json_text(root);
	return file_replace(path, text, strlen(text), 0600, err);
}

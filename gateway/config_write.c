#include "gateway/config_write.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "gateway/config.h"
#include "gateway/config_edit.h"
#include "gateway/config_value.h"
#include "gateway/config_yaml.h"
#include "gateway/file.h"

/* Held while a file is read, changed and replaced. */
static int
lock_dir(const char *file, struct err *err)
{
	const char *slash = strrchr(file, '/');
	CLEANUP_FREE char *dir = !slash ? mem_str(".") :
		mem_strn(file, slash == file ? 1 : (size_t)(slash - file));
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || flock(fd, LOCK_EX)) {
		err_set_errno(err, errno, "can't lock %s", dir);
		if (fd >= 0)
			close(fd);
		return -1;
	}
	return fd;
}

static int
read_old(const char *file, struct buf *text, struct err *err)
{
	struct err why;

	if (file_read(file, text, NULL, &why) == 0)
		return 1;
	if (why.code == ERR_NOT_FOUND)
		return 0;
	return err_set(err, why.code, "%s", why.text);
}

/* Takes text. */
static int
replace(const char *file, const struct buf *old, bool existed, char *text,
	struct err *err)
{
	CLEANUP_FREE char *backup = mem_printf("%s.bak", file);
	int r = 0;

	if (existed && strcmp(old->data, text) != 0)
		r = file_replace(backup, old->data, old->len, 0600, err);
	if (r == 0)
		r = file_replace(file, text, strlen(text), 0600, err);
	mem_free_secret(&text);
	return r;
}

static int
check_items(const struct config_key *key, const char *const *items, size_t n,
	struct err *err)
{
	struct config *scratch = mem_alloc(sizeof(*scratch));
	int r = config_is_list(key) ?
		config_value_set_list(scratch, key, items, n, err) :
		config_value_set(scratch, key, items[0], CONFIG_WORD, NULL, err);

	config_value_done(scratch, key);
	mem_free(scratch);
	return r;
}

int
config_write_set(const char *file, const struct config_key *key,
	const char *const *items, size_t n, struct err *err)
{
	static const char first_line[] = "_config_version: ";
	struct config_edit edit = { key->path, items, n, config_is_list(key),
		key->type == CONFIG_BOOL || key->type == CONFIG_INT ||
		key->type == CONFIG_SECONDS || key->type == CONFIG_SIZE ||
		key->type == CONFIG_ENUM };
	struct buf old CLEANUP_BUF;
	char *text;
	int existed;

	buf_init(&old, YTREE_FILE_MAX);
	REQUIRE(key->path && (edit.list || n == 1));
	if (check_items(key, items, n, err))
		return err_wrap(err, "%s", key->path);
	CLEANUP_CLOSE int lock = lock_dir(file, err);
	existed = lock < 0 ? -1 : read_old(file, &old, err);
	if (existed < 0)
		return -1;
	if (!existed)
		buf_printf(&old, "%s%d\n", first_line, CONFIG_VERSION);
	text = config_edit_yaml(old.data, old.len, &edit, err);
	return text ? replace(file, &old, existed, text, err) :
		err_wrap(err, "%s", file);
}

int
config_write_env(const char *file, const char *name, const char *value,
	struct err *err)
{
	CLEANUP_CLOSE int lock = lock_dir(file, err);
	struct buf old CLEANUP_BUF;
	char *text;
	int existed;

	buf_init(&old, YTREE_FILE_MAX);
	existed = lock < 0 ? -1 : read_old(file, &old, err);
	if (existed < 0)
		return -1;
	text = config_edit_dotenv(old.data, old.len, name, value, err);
	return text ? replace(file, &old, existed, text, err) :
		err_wrap(err, "%s", file);
}

int
config_migrate(const struct config *cfg, struct err *err)
{
	CLEANUP_FREE char *version = mem_printf("%d", CONFIG_VERSION);
	const char *text = version;

	if (!cfg->file_exists)
		return config_write_set(cfg->path, config_key_find("_config_version"),
			&text, 1, err);
	for (size_t i = 0; i < config_nkeys; i++) {
		const struct config_key *key = &config_keys[i];
		const char *old = cfg->origins[i].kept;
		size_t n = config_is_list(key) && old && !*old ? 0 : 1;

		if (old && config_write_set(cfg->path, key, &old, n, err))
			return -1;
	}
	return 0;
}

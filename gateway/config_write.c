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

/* The file as it is, or as it would begin. */
static int
read_or_begin(const char *file, struct buf *old, struct err *err)
{
	int existed = read_old(file, old, err);

	if (existed == 0)
		buf_printf(old, "_config_version: %d\n", CONFIG_VERSION);
	return existed;
}

static int
edit_file(const char *file, const struct buf *old, bool existed,
	const struct config_key *key, const char *const *items, size_t n,
	struct err *err)
{
	struct config_edit edit = { key->path, items, n, config_is_list(key),
		key->type == CONFIG_BOOL || key->type == CONFIG_INT ||
		key->type == CONFIG_SECONDS || key->type == CONFIG_SIZE ||
		key->type == CONFIG_ENUM };
	char *text = config_edit_yaml(old->data, old->len, &edit, err);

	return text ? replace(file, old, existed, text, err) :
		err_wrap(err, "%s", file);
}

int
config_write_set(const char *file, const struct config_key *key,
	const char *const *items, size_t n, struct err *err)
{
	struct buf old CLEANUP_BUF;
	int existed;

	buf_init(&old, YTREE_FILE_MAX);
	REQUIRE(key->path && (config_is_list(key) || n == 1));
	if (check_items(key, items, n, err))
		return err_wrap(err, "%s", key->path);
	CLEANUP_CLOSE int lock = lock_dir(file, err);
	existed = lock < 0 ? -1 : read_or_begin(file, &old, err);
	if (existed < 0)
		return -1;
	return edit_file(file, &old, existed, key, items, n, err);
}

static const char *
no_variable(void *arg, const char *name)
{
	(void)arg, (void)name;
	return NULL;
}

/* Written back whole, an entry that refers to a variable would lose that. */
static int
read_item(const struct ytree *node, char **ret, struct err *err)
{
	char *missing = NULL;

	*ret = node->kind == YTREE_TEXT ?
		ytree_expand(node->text, no_variable, NULL, &missing) : NULL;
	mem_free(missing);
	if (*ret)
		return 0;
	return err_set(err, ERR_CONFIG, "line %u: an entry that refers to a "
		"variable or isn't a single value; add yours by hand", node->line);
}

/* What the file says the list holds; scratch owns it. */
static int
read_list(const struct buf *old, const struct config_key *key,
	struct config *scratch, struct err *err)
{
	struct report rep;
	char **items = NULL;
	size_t n = 0;
	int r = 0;

	report_init(&rep);
	struct ytree *root = ytree_parse("config.yaml", old->data, old->len, &rep);
	const struct ytree *node = root ? ytree_get(root, key->path) : NULL;

	if (!root)
		r = err_set(err, ERR_CONFIG, "the file can't be parsed");
	else if (node && node->kind == YTREE_TEXT && !ytree_is_null(node))
		r = config_value_set(scratch, key, node->text, CONFIG_QUOTED,
			NULL, err);
	else if (node && node->kind == YTREE_MAP)
		r = err_set(err, ERR_CONFIG, "line %u: this is no list", node->line);
	else if (node && node->kind == YTREE_LIST) {
		for (const struct ytree *c = node->first; c && r == 0; c = c->next) {
			items = mem_grow(items, n + 1, sizeof(*items));
			items[n] = NULL;
			r = read_item(c, &items[n], err);
			n += items[n] != NULL;
		}
		if (r == 0)
			r = config_value_set_list(scratch, key,
				(const char *const *)items, n, err);
	}
	for (size_t i = 0; i < n; i++)
		mem_free(items[i]);
	mem_free(items);
	ytree_free(&root);
	report_done(&rep);
	return r;
}

static int
add_to(const char *file, const struct config_key *key,
	const struct config_list *list, const char *item, const struct buf *old,
	bool existed, struct err *err)
{
	const char **items = mem_array(list->n + 1, sizeof(*items));
	size_t n = 0;
	int r = 0;

	for (; n < list->n; n++) {
		items[n] = list->items[n];
		if (strcmp(items[n], item) == 0)
			break;
	}
	if (n == list->n) {
		items[n++] = item;
		r = check_items(key, items, n, err);
		if (r == 0)
			r = edit_file(file, old, existed, key, items, n, err);
	}
	mem_free(items);
	return r;
}

int
config_write_add(const char *file, const struct config_key *key,
	const char *item, struct err *err)
{
	struct config *scratch = mem_alloc(sizeof(*scratch));
	struct buf old CLEANUP_BUF;
	int existed, r = -1;

	buf_init(&old, YTREE_FILE_MAX);
	REQUIRE(key->path && config_is_list(key) && !strchr(key->path, '.'));
	CLEANUP_CLOSE int lock = lock_dir(file, err);
	existed = lock < 0 ? -1 : read_or_begin(file, &old, err);
	if (existed >= 0 && read_list(&old, key, scratch, err) == 0)
		r = add_to(file, key, config_value_list(scratch, key), item, &old,
			existed, err);
	config_value_done(scratch, key);
	mem_free(scratch);
	return r ? err_wrap(err, "%s", key->path) : 0;
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

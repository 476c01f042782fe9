#include "gateway/config.h"

#include <string.h>

#include "base/mem.h"
#include "base/nearest.h"
#include "base/redact.h"
#include "gateway/config_priv.h"
#include "gateway/config_value.h"
#include "gateway/env.h"
#include "gateway/file.h"

#define ENV_NAMES_MAX 128

struct config_origin *
config_origin_of(struct config *cfg, const struct config_key *key)
{
	return &cfg->origins[key - config_keys];
}

bool
config_is_set(const struct config *cfg, const char *path)
{
	const struct config_key *key = config_key_find(path);

	REQUIRE(key);
	return cfg->origins[key - config_keys].source != CONFIG_DEFAULT;
}

static void
set_default(struct config *cfg, const struct config_key *key)
{
	struct err err;

	/* A number without a default is -1: "not set". */
	if (!*key->def && key->type == CONFIG_INT) {
		*(int64_t *)(void *)((char *)cfg + key->offset) = -1;
		return;
	}
	REQUIRE(config_value_set(cfg, key, key->def, CONFIG_WORD, NULL, &err) == 0);
}

void
config_free(struct config **cfgp)
{
	struct config *cfg = STEAL(*cfgp);

	if (!cfg)
		return;
	for (size_t i = 0; i < config_nkeys; i++)
		config_value_done(cfg, &config_keys[i]);
	mem_free(cfg->path);
	mem_free(cfg->origins);
	mem_free(cfg);
}

/* ---- environment ---------------------------------------------------------- */

const char *
config_look(struct config_reader *r, const char *name,
	struct config_origin *ret_origin)
{
	struct config_origin origin = { .source = CONFIG_ENV };
	const char *value = env_find(r->in->environ, name);

	if (!value || !*value) {
		const struct dotenv_var *var = dotenv_find(&r->dotenv, name);

		if (!var || !*var->value)
			return NULL;
		value = var->value;
		origin = (struct config_origin){ .source = CONFIG_DOTENV,
			.line = var->line };
	}
	if (ret_origin)
		*ret_origin = origin;
	return value;
}

struct env_row {
	struct config_reader *r;
	const struct config_key *key;
	bool done;
};

static void
apply_env(void *arg, const char *name)
{
	struct env_row *row = arg;
	struct config_reader *r = row->r;
	struct config_origin origin;
	const char *value = row->done ? NULL : config_look(r, name, &origin);
	struct err err;

	if (!value)
		return;
	row->done = true;
	if (config_value_set(r->cfg, row->key, value, CONFIG_WORD,
	    env_find(r->in->environ, "HOME"), &err)) {
		report_add(r->rep, REPORT_ERROR,
			origin.source == CONFIG_DOTENV ? r->in->dotenv_file : NULL,
			origin.line, 0, "%s: %s", name, err.text);
		return;
	}
	/* The name lives as long as the table's own text. */
	origin.env = strstr(row->key->env, name);
	origin.kept = config_origin_of(r->cfg, row->key)->kept;
	*config_origin_of(r->cfg, row->key) = origin;
}

static void
read_env(struct config_reader *r)
{
	for (size_t i = 0; i < config_nkeys; i++) {
		const struct config_key *key = &config_keys[i];
		struct env_row row = { r, key, false };

		if (key->flags & CONFIG_FILE_WINS &&
		    config_origin_of(r->cfg, key)->source == CONFIG_FILE)
			continue;
		config_each_env(key, apply_env, &row);
	}
}

struct env_names {
	char *names[ENV_NAMES_MAX];
	size_t n;
	bool safety_only;
};

static void
collect_env(void *arg, const char *name)
{
	struct env_names *names = arg;

	if (names->n < ENV_NAMES_MAX)
		names->names[names->n++] = mem_str(name);
}

/* A name in .env that is nearly one of ours is a mistake. */
static void
check_dotenv_names(struct config_reader *r)
{
	struct env_names all = { .n = 0 };

	for (size_t i = 0; i < config_nkeys; i++)
		config_each_env(&config_keys[i], collect_env, &all);
	for (size_t i = 0; i < r->dotenv.n; i++) {
		const struct dotenv_var *var = &r->dotenv.vars[i];
		const char *near = nearest_name(var->name,
			(const char *const *)all.names, all.n);
		const char *us = strchr(var->name, '_');
		size_t prefix = us ? (size_t)(us - var->name) : 0;

		/* SIGNAL_ALLOWED_USERS is not a misspelt TELEGRAM_...: same prefix. */
		if (!near || strcmp(near, var->name) == 0 || !prefix ||
		    strncmp(near, var->name, prefix + 1) != 0)
			continue;
		report_add(r->rep, strstr(near, "ALLOW") ? REPORT_ERROR : REPORT_WARN,
			r->in->dotenv_file, var->line, 0,
			"%s is no known variable: did you mean %s?", var->name, near);
	}
	for (size_t i = 0; i < all.n; i++)
		mem_free(all.names[i]);
}

static void
read_dotenv(struct config_reader *r)
{
	struct buf text CLEANUP_BUF;
	struct err err;
	mode_t mode;

	buf_init(&text, DOTENV_FILE_MAX);
	if (!r->in->dotenv_file)
		return;
	if (file_read(r->in->dotenv_file, &text, &mode, &err)) {
		if (err.code != ERR_NOT_FOUND)
			report_add(r->rep, REPORT_ERROR, NULL, 0, 0, "%s", err.text);
		return;
	}
	if (mode & 077)
		report_add(r->rep, REPORT_WARN, r->in->dotenv_file, 0, 0,
			"others can read this file (mode %04o): chmod 600 %s",
			(unsigned)mode, r->in->dotenv_file);
	dotenv_parse(&r->dotenv, r->in->dotenv_file, text.data, text.len, r->rep);
	explicit_bzero(text.data, text.len);
	for (size_t i = 0; i < r->dotenv.n; i++)
		if (env_name_secret(r->dotenv.vars[i].name,
		    strlen(r->dotenv.vars[i].name)))
			redact_add_secret(r->dotenv.vars[i].value);
	check_dotenv_names(r);
}

static void
hide_secrets(const struct config *cfg)
{
	for (size_t i = 0; i < config_nkeys; i++) {
		const void *p = (const char *)cfg + config_keys[i].offset;

		if (config_keys[i].flags & CONFIG_SECRET)
			redact_add_secret(*(char *const *)p);
	}
}

/* An existing file keeps the defaults of the version it was written for. */
static void
keep_old_defaults(struct config_reader *r)
{
	const struct config_change *c = r->in->changes ? r->in->changes :
		config_changes;
	int64_t from = r->cfg->version < CONFIG_VERSION_FIRST ?
		CONFIG_VERSION_FIRST : r->cfg->version;
	struct err err;

	for (; c->path; c++) {
		const struct config_key *key = config_key_find(c->path);
		struct config_origin *origin = config_origin_of(r->cfg, key);

		/* The oldest change that the file hasn't seen names its default. */
		if (c->version <= from || origin->source == CONFIG_FILE ||
		    origin->kept)
			continue;
		REQUIRE(config_value_set(r->cfg, key, c->old, CONFIG_WORD, NULL,
			&err) == 0);
		origin->kept = c->old;
		report_add(r->rep, REPORT_NOTE, r->cfg->path, 0, 0, "%s keeps its old "
			"default '%s' (changed in version %d)", c->path, c->old,
			c->version);
	}
}

struct config *
config_load(const struct config_input *in, struct report *rep)
{
	struct config *cfg = mem_alloc(sizeof(*cfg));
	struct config_reader r = { .cfg = cfg, .in = in, .rep = rep };
	size_t errors = rep->errors;

	cfg->path = mem_str(in->file);
	cfg->origins = mem_array(config_nkeys, sizeof(*cfg->origins));
	for (size_t i = 0; i < config_nkeys; i++)
		set_default(cfg, &config_keys[i]);
	dotenv_init(&r.dotenv);
	read_dotenv(&r);
	config_read_file(&r);
	if (cfg->file_exists)
		keep_old_defaults(&r);
	read_env(&r);
	if (rep->errors == errors)
		config_check(&r);
	hide_secrets(cfg);
	dotenv_done(&r.dotenv);
	if (rep->errors != errors)
		config_free(&cfg);
	return cfg;
}

static char *
origin_text(const struct config_origin *origin)
{
	switch (origin->source) {
	case CONFIG_DEFAULT:
		return mem_str("default");
	case CONFIG_FILE:
		return mem_printf("config.yaml:%u", origin->line);
	case CONFIG_DOTENV:
		return mem_printf(".env:%u", origin->line);
	case CONFIG_ENV:
		return mem_printf("environment");
	}
	return mem_str("?");
}

struct json *
config_effective(const struct config *cfg)
{
	struct json *all = json_object();

	for (size_t i = 0; i < config_nkeys; i++) {
		CLEANUP_FREE char *from = origin_text(&cfg->origins[i]);
		struct json *row = json_object();
		struct buf text CLEANUP_BUF;

		buf_init(&text, CONFIG_TEXT_MAX * 2);
		config_value_text(cfg, &config_keys[i], &text);
		json_set_str(row, "value", text.data);
		json_set_str(row, "from", from);
		json_set_take(all, config_key_name(&config_keys[i]), row);
	}
	return all;
}

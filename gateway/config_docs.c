#include "gateway/config_docs.h"

#include <string.h>

#include "base/mem.h"
#include "gateway/cli_docs.h"
#include "gateway/config_table.h"
#include "gateway/config_value.h"
#include "gateway/override.h"

/* "`whole number from 1 to 5`, default 3" without the article. */
static void
describe(const struct config_key *key, struct buf *out)
{
	if (key->flags & CONFIG_SECRET)
		buf_add_str(out, "a secret");
	else
		config_value_expected(key, out);
}

static bool
is_text(const struct config_key *key)
{
	return key->type == CONFIG_STR || key->type == CONFIG_PATH ||
		key->type == CONFIG_URL;
}

/* The default as YAML; a key without one shows an example of its form. */
static void
print_default(FILE *out, const struct config_key *key)
{
	if (config_is_list(key))
		fprintf(out, "[%s]", key->def);
	else if (is_text(key))
		fprintf(out, "\"%s\"", key->def);
	else
		fputs(key->def, out);
}

/* Opens the sections of path that differ from those of the row before. */
static unsigned
print_sections(FILE *out, const char *path, const char *before)
{
	unsigned depth = 0;

	for (size_t at = 0, len; path[at + (len = strcspn(path + at, "."))];
	    at += len + 1, depth++) {
		if (strncmp(path, before, at + len + 1) == 0)
			continue;
		if (depth == 0)
			fputc('\n', out);
		fprintf(out, "%*s%.*s:\n", (int)(2 * depth), "", (int)len, path + at);
	}
	return depth;
}

static void
print_yaml(FILE *out)
{
	const char *before = "";

	fputs("# Example of ~/.gatehouse/config.yaml. Every key is optional; the "
		"values shown\n# are the defaults. Secrets belong into "
		"~/.gatehouse/.env (see environment.md).\n# ${NAME} is replaced by "
		"that variable; $${ stands for ${ itself.\n", out);
	for (size_t i = 0; i < config_nkeys; i++) {
		const struct config_key *key = &config_keys[i];
		struct buf form CLEANUP_BUF;
		unsigned depth;

		if (!key->path)
			continue;
		buf_init(&form, 1024);
		describe(key, &form);
		depth = print_sections(out, key->path, before);
		if (depth == 0 && strchr(before, '.'))
			fputc('\n', out);
		before = key->path;
		fprintf(out, "%*s## %s\n", (int)(2 * depth), "", key->help);
		fprintf(out, "%*s## (%s%s%s)\n", (int)(2 * depth), "", form.data,
			key->env ? "; " : "", key->env ? key->env : "");
		const char *name = strrchr(key->path, '.');
		fprintf(out, "%*s# %s: ", (int)(2 * depth), "",
			name ? name + 1 : key->path);
		print_default(out, key);
		fputc('\n', out);
	}
}

struct env_print {
	FILE *out;
	const struct config_key *key;
};

static void
print_env_row(void *arg, const char *name)
{
	const struct env_print *p = arg;

	fprintf(p->out, "| `%s` | %s%s%s | %s%s |\n", name,
		p->key->path ? "`" : "", p->key->path ? p->key->path : "",
		p->key->path ? "`" : "", p->key->help,
		p->key->flags & CONFIG_FILE_WINS ?
		" config.yaml wins over this variable." : "");
}

static void
print_env(FILE *out)
{
	fputs("# Environment variables\n\nMade from the table of keys by "
		"`gatehouse config dump-docs env`; don't edit.\n\n"
		"They are read from the process environment, else from `.env` in the "
		"state\ndirectory; both win over config.yaml except where it says "
		"otherwise. An empty\nvariable counts as absent.\n\n"
		"| Variable | Key | Meaning |\n|---|---|---|\n"
		"| `GATEHOUSE_HOME` | | State directory; default `~/.gatehouse`. |\n",
		out);
	for (size_t i = 0; i < config_nkeys; i++) {
		struct env_print p = { out, &config_keys[i] };

		config_each_env(&config_keys[i], print_env_row, &p);
	}
}

static void
print_man_row(FILE *out, const struct config_key *key)
{
	struct buf form CLEANUP_BUF;

	buf_init(&form, 1024);
	describe(key, &form);
	fputs(".TP\n.B ", out);
	cli_docs_troff(out, key->path);
	fputs("\n", out);
	cli_docs_troff(out, key->help);
	fputs("\n.br\nExpected: ", out);
	cli_docs_troff(out, form.data);
	if (*key->def) {
		fputs(" (default \\(lq", out);
		cli_docs_troff(out, key->def);
		fputs("\\(rq)", out);
	}
	fputs(".\n", out);
	if (key->env) {
		fputs("Variable: ", out);
		cli_docs_troff(out, key->env);
		fputs(".\n", out);
	}
}

static void
print_man(FILE *out)
{
	fputs(".\\\" Made by `gatehouse config dump-docs man5`; don't edit.\n"
		".TH GATEHOUSE.YAML 5 \"\" gatehouse \"File formats\"\n"
		".SH NAME\ngatehouse.yaml \\- configuration of gatehouse\n"
		".SH DESCRIPTION\n"
		"gatehouse reads\n.I config.yaml\nand\n.I .env\n"
		"in its state directory\n.RI ( ~/.gatehouse ,\nor\n.BR GATEHOUSE_HOME ).\n"
		"Every key is optional.\nUnknown keys are warned about; below a key that "
		"concerns safety they stop the\nstart with exit status 78, and so does "
		"every value that can't be understood.\n"
		"Keys of a platform may stand below the platform's name, below\n"
		".IR platforms ,\nor below\n.IR gateway.platforms .\n.PP\n"
		"Defaults are weakest, then config.yaml, then .env, then the process\n"
		"environment; for\n.I terminal\nthe file wins over both environments.\n"
		".B ${NAME}\nis replaced by that variable,\n.B $${\n"
		"stands for a literal ${.\n.SH KEYS\n", out);
	for (size_t i = 0; i < config_nkeys; i++)
		if (config_keys[i].path)
			print_man_row(out, &config_keys[i]);
	fputs(".SH SEE ALSO\n.BR gatehouse (1)\n", out);
}

static void
print_defaults(FILE *out)
{
	for (size_t i = 0; i < config_nkeys; i++)
		fprintf(out, "%s\t%s\n", config_key_name(&config_keys[i]),
			config_keys[i].def);
}

bool
config_docs_print(FILE *out, const char *what)
{
	static const struct { const char *name; void (*print)(FILE *out); }
	docs[] = {
		{ "yaml", print_yaml },
		{ "env", print_env },
		{ "man5", print_man },
		{ "defaults", print_defaults },
		{ "backends", override_print_docs },
		{ "man1", cli_docs_man },
		{ "bash", cli_docs_bash },
	};

	for (size_t i = 0; i < ARRAY_LEN(docs); i++)
		if (strcmp(docs[i].name, what) == 0) {
			docs[i].print(out);
			return true;
		}
	return false;
}

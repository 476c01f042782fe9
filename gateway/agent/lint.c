#include "gateway/agent/lint.h"

#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/redact.h"
#include "base/utf8.h"
#include "gateway/agent/errand.h"
#include "gateway/config_yaml.h"

#define LINT_MS 10000
#define OWN_MAX (256 * 1024)	/* what is checked here, on the loop's thread */
#define FOUND_MAX 8000		/* of one text */
#define SHOWN_MAX 2000

/* ---- the kinds -------------------------------------------------------------------- */

/*
 * Each is a shell text with the file $f in the current directory; it prints a
 * line a fault.  Only what can't be run is asked: node --check, gofmt, rustfmt
 * and ast.parse read; of tsc what is no syntax (TS1...) needs the project.
 */
#define PYTHON \
	"python3 -I -S -W ignore -c 'import ast, sys\n" \
	"try:\n" \
	"    ast.parse(open(sys.argv[1], \"rb\").read())\n" \
	"except SyntaxError as e:\n" \
	"    print(\"line %s: %s: %s\" % (e.lineno, type(e).__name__, e.msg))\n" \
	"except (ValueError, RecursionError, MemoryError) as e:\n" \
	"    print(type(e).__name__ + \": \" + str(e))' \"$f\"\n"
#define TOML \
	"python3 -I -S -c 'import sys\n" \
	"try:\n" \
	"    import tomllib\n" \
	"except ImportError:\n" \
	"    sys.exit()\n" \
	"try:\n" \
	"    tomllib.loads(open(sys.argv[1], encoding=\"utf-8\").read())\n" \
	"except (ValueError, RecursionError) as e:\n" \
	"    print(type(e).__name__ + \": \" + str(e))' \"$f\"\n"
/* A module may have the name of a script: what either reads is right. */
#define NODE \
	"node --check \"$f\" >o 2>&1 || { cp \"$f\" m.mjs; node --check m.mjs " \
	">/dev/null 2>&1; } || sed -n -e '/[/]x\\.[cm]*js:[0-9]*$/{s/.*:/line /;h;}' " \
	"-e '/^[A-Za-z]*Error: /{H;x;s/\\n/: /;p;}' o\n"
#define TSC \
	"tsc --noEmit --pretty false --skipLibCheck \"$f\" | sed -n " \
	"'s/^x\\.[ctm]*sx*(\\([0-9]*\\),[0-9]*): \\(error TS1\\)/line \\1: \\2/p'\n"
#define GOFMT "gofmt -e \"$f\" 2>&1 >/dev/null | sed -n 's/^[^:]*x\\.go:/line /p'\n"
/* From /: rustup runs what a rust-toolchain.toml above the directory names. */
#define RUSTFMT \
	"f=$PWD/$f; cd / && rustfmt --edition 2021 <\"$f\" 2>&1 >/dev/null | sed -n -e '/^error/h' " \
	"-e '/^ *--> <stdin>/{s/.*<stdin>:\\([0-9]*\\).*/line \\1/;G;s/\\n/: /;p;}'\n"

static const struct kind {
	const char *ext;
	const char *program, *check;	/* of the sandbox; or: */
	void (*own)(struct buf *out, const char *text, size_t len);
} kinds[] = {
	{ "json", NULL, NULL, lint_json },
	{ "yaml", NULL, NULL, ytree_fault }, { "yml", NULL, NULL, ytree_fault },
	{ "py", "python3", PYTHON, NULL }, { "pyi", "python3", PYTHON, NULL },
	{ "toml", "python3", TOML, NULL },
	{ "js", "node", NODE, NULL }, { "mjs", "node", NODE, NULL },
	{ "cjs", "node", NODE, NULL },
	{ "ts", "tsc", TSC, NULL }, { "tsx", "tsc", TSC, NULL },
	{ "mts", "tsc", TSC, NULL }, { "cts", "tsc", TSC, NULL },
	{ "go", "gofmt", GOFMT, NULL }, { "rs", "rustfmt", RUSTFMT, NULL },
};

static const struct kind *
kind_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *dot = strrchr(slash ? slash : path, '.');

	for (size_t i = 0; dot && i < ARRAY_LEN(kinds); i++)
		if (strcasecmp(dot + 1, kinds[i].ext) == 0)
			return &kinds[i];
	return NULL;
}

bool
lint_knows(const char *path)
{
	return kind_of(path) != NULL;
}

/* Both texts, each in a directory of its own; findings end with NUL. */
static char *
command_of(const struct kind *kind, size_t before_len)
{
	return mem_printf("command -v %s >/dev/null 2>&1 || exit 9\n"
	    "umask 077; t=$(mktemp -d) && cd -- \"$t\" || exit 8\n"
	    "cat >all && mkdir 1 2 && head -c %zu all >1/x.%s && "
	    "tail -c +%zu all >2/x.%s || { cd /; rm -rf -- \"$t\"; exit 8; }\n"
	    "f=x.%s\n"
	    "for d in 1 2; do (cd $d\n%s) </dev/null 2>/dev/null | head -c %d; "
	    "printf '\\000'; done\n"
	    "cd /; rm -rf -- \"$t\"\n", kind->program, before_len, kind->ext,
	    before_len + 1, kind->ext, kind->ext, kind->check, FOUND_MAX);
}

/* ---- the op ------------------------------------------------------------------------- */

struct lint {
	struct op op;
	struct op *waiting;
	struct timer *timer;
	const struct kind *kind;
	struct json *answer;
	lint_cb *cb;
	void *arg;
};

static void
lint_free(struct lint *l)
{
	op_cancel(&l->waiting);
	loop_cancel(&l->timer);
	json_free(&l->answer);
	mem_free(l);
}

static void
lint_cancel(struct op *op)
{
	lint_free((struct lint *)(void *)op);
}

static const struct op_type lint_type = { "lint", lint_cancel };

/* The only exit of one that was not cancelled. */
static void
lint_finish(void *arg)
{
	struct lint *l = arg;

	l->timer = NULL;
	op_finish(&l->op);
	l->cb(l->arg, l->answer);
	lint_free(l);
}

static struct json *
skipped(const char *why)
{
	return json_set_str(json_set_str(json_object(), "status", "skipped"),
	    "message", why);
}

static struct json *
found(const char *before, const char *after)
{
	CLEANUP_BUF struct buf text, masked;

	buf_init(&text, 2 * FOUND_MAX);
	buf_init(&masked, 4 * FOUND_MAX);
	lint_new(&text, before, after);
	redact_text(&masked, text.data, text.len);
	CLEANUP_FREE char *shown = mem_strn(masked.data, utf8_cut(masked.data,
	    masked.len, SHOWN_MAX));

	return json_set_str(json_set_str(json_object(), "status",
	    text.len > 0 ? "error" : "ok"), "output", shown);
}

static void
on_ran(void *arg, const struct errand_result *res)
{
	struct lint *l = arg;
	const char *nul = memchr(res->out, '\0', res->len);

	l->waiting = NULL;
	if (!res->refused && res->exit_code == 9) {
		CLEANUP_FREE char *why = mem_printf("not checked: there is no %s "
		    "in this sandbox", l->kind->program);

		l->answer = skipped(why);
	} else if (res->refused || res->exit_code != 0 || !nul) {
		l->answer = skipped("not checked: the checker did not end well");
	} else {
		l->answer = found(res->out, nul + 1);
	}
	lint_finish(l);
}

static struct json *
check_here(const struct kind *kind, const struct lint_req *req)
{
	CLEANUP_BUF struct buf before, after;

	buf_init(&before, FOUND_MAX);
	buf_init(&after, FOUND_MAX);
	if (req->before)
		kind->own(&before, req->before, req->before_len);
	kind->own(&after, req->after, req->after_len);
	return found(before.data, after.data);
}

static struct op *
check_there(const struct tool_env *env, const struct lint_req *req,
    struct lint *l)
{
	size_t before_len = req->before ? req->before_len : 0;
	CLEANUP_FREE char *command = command_of(l->kind, before_len);
	CLEANUP_BUF struct buf input;

	buf_init(&input, LINT_MAX);
	buf_add(&input, req->before ? req->before : "", before_len);
	buf_add(&input, req->after, req->after_len);
	/* A text of ours that reads what the tool has just written: judged as
	 * nothing. */
	return errand_start(env, &(struct errand_req){
		.call_id = req->call_id, .command = command, .judged = ":",
		.input = input.data, .input_len = input.len,
		.timeout_ms = LINT_MS, .output_max = 2 * FOUND_MAX + 2,
	}, on_ran, l);
}

struct op *
lint_start(const struct tool_env *env, const struct lint_req *req, lint_cb *cb,
    void *arg)
{
	struct lint *l = mem_alloc(sizeof(*l));
	size_t size = (req->before ? req->before_len : 0) + req->after_len;

	op_init(&l->op, &lint_type);
	l->kind = kind_of(req->path);
	l->cb = cb;
	l->arg = arg;
	if (l->kind && size > (l->kind->own ? OWN_MAX : LINT_MAX)) {
		l->answer = skipped("not checked: the file is too large");
	} else if (l->kind && l->kind->own) {
		l->answer = check_here(l->kind, req);
	} else if (l->kind) {
		l->waiting = check_there(env, req, l);
		return &l->op;
	}
	l->timer = loop_defer(env->loop, "lint", lint_finish, l);
	return &l->op;
}

#include "gateway/agent/spill.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "gateway/agent/errand.h"
#include "sandbox/exec.h"

#define DIR_PATH "/tmp/gatehouse-results"
#define SPILL_MS 15000

struct spill {
	struct op op;
	struct op *waiting;
	char *path;
	char *preview;
	size_t len;
	struct json *rest;	/* the result without its large text */
	char *rest_key;
	spill_cb *cb;
	void *arg;
};

/* read_file pages by itself: its result in a file would be read with it. */
bool
spill_wanted(const char *tool, size_t len, size_t so_far)
{
	if (strcmp(tool, "read_file") == 0 || len <= SPILL_PREVIEW * 4)
		return false;
	return len > SPILL_RESULT_MAX || so_far + len > SPILL_TURN_MAX;
}

static void
spill_free(struct spill *s)
{
	op_cancel(&s->waiting);
	json_free(&s->rest);
	mem_free(s->rest_key);
	mem_free(s->path);
	mem_free(s->preview);
	mem_free(s);
}

static void
spill_cancel(struct op *op)
{
	spill_free((struct spill *)(void *)op);
}

static const struct op_type spill_type = { "spill", spill_cancel };

static void
on_put(void *arg, const struct errand_result *res)
{
	struct spill *s = arg;
	bool kept = !res->refused && res->exit_code == 0;
	CLEANUP_FREE char *note = kept ?
	    mem_printf("\n[... the result has %zu bytes. All of it is in %s: use "
	    "read_file with offset and limit, or search_files, on that file]",
	    s->len, s->path) :
	    mem_printf("\n[... the result has %zu bytes and could not be kept in "
	    "a file (%.200s): ask for less of it]", s->len,
	    res->refused ? res->refused : res->err);
	CLEANUP_FREE char *text = mem_printf("%s%s", s->preview, note);

	s->waiting = NULL;
	json_set_str(s->rest, s->rest_key, text);
	if (kept)
		json_set_str(s->rest, "full_output_path", s->path);
	CLEANUP_FREE char *result = json_text(s->rest);

	op_finish(&s->op);
	s->cb(s->arg, result);
	spill_free(s);
}

/* The member that makes it large, if there is one: its text can be read. */
static const struct json *
large_member(const struct json *root, size_t len)
{
	for (const struct json *m = json_first(root); m; m = json_next(m))
		if (json_key(m) && json_str(m) && strlen(json_str(m)) > len / 2)
			return m;
	return NULL;
}

struct op *
spill_start(const struct tool_env *env, const char *call_id, const char *result,
    spill_cb *cb, void *arg)
{
	struct spill *s = mem_alloc(sizeof(*s));
	CLEANUP_FREE char *name = mem_str(call_id);
	CLEANUP_BUF struct buf command;
	CLEANUP_JSON struct json *root = json_parse(result, strlen(result), NULL);
	const struct json *m = large_member(root, strlen(result));
	CLEANUP_FREE char *text = m ? mem_str(json_str(m)) :
	    root ? json_text_pretty(root) : mem_str(result);

	op_init(&s->op, &spill_type);
	s->cb = cb;
	s->arg = arg;
	for (char *p = name; *p; p++)	/* ids come from the model's server */
		if (!isalnum((unsigned char)*p) && *p != '_' && *p != '-')
			*p = '_';
	s->path = mem_printf("%s/%.80s.txt", DIR_PATH, name);
	s->len = strlen(text);
	s->preview = mem_strn(text, utf8_cut(text, s->len, SPILL_PREVIEW));
	s->rest_key = mem_str(m ? json_key(m) : "output");
	s->rest = m ? json_clone(root) : json_object();
	buf_init(&command, 4096);
	buf_add_str(&command, "umask 077; mkdir -p " DIR_PATH " && "
	    "[ -O " DIR_PATH " ] && cat > ");
	exec_quote(&command, s->path, strlen(s->path));
	/* A text of ours that makes one file of ours, with what the model was
	 * to be given anyway: judged as nothing. */
	s->waiting = errand_start(env, &(struct errand_req){
		.call_id = call_id, .command = command.data, .judged = ":",
		.input = text, .input_len = s->len, .timeout_ms = SPILL_MS,
		.output_max = 64,
	}, on_put, s);
	return &s->op;
}

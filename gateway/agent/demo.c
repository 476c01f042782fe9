/*
 * The built-in stand-in for a model: says that it is one and how to connect a
 * real one, and turns "run COMMAND" and its kind into calls of tools, so that
 * the whole path (tools, gate, sandbox, cancel) can be tried without any account.
 */
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/ids.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "gateway/agent/model.h"

#define TEXT_MAX ((size_t)64 << 10)
#define OUTPUT_SHOWN 3000	/* bytes of a command's output: one message */

static const char about[] =
    "I am the demo model: a stand-in, not an AI. I only know `run COMMAND`, "
    "`python CODE` and `call TOOL JSON`.\n"
    "\n"
    "To connect a real model, do one of these and start again:\n"
    "1. put `OPENROUTER_API_KEY=...` into the file .env of the state directory\n"
    "2. put `OPENAI_API_KEY=...` there\n"
    "3. in config.yaml, name any OpenAI-compatible server: "
    "`model: {default: NAME, provider: custom, base_url: http://HOST/v1}`\n"
    "\n"
    "Until then, `run uname -a; id; ls /` shows you the sandbox, and "
    "`call read_file {\"path\": \"/etc/os-release\"}` one of the tools.";

struct demo {
	struct model model;
	struct loop *loop;
};

/* What it says, decided at the call and given from the loop. */
struct reply {
	struct op op;
	struct timer *timer;
	struct buf text;
	char *call_id;		/* NULL: no tool call */
	char *tool, *arguments;
	model_text_cb *on_text;
	model_done_cb *done;
	void *arg;
	bool giving;		/* inside on_text */
	bool cancelled;		/* during it: freed when it returns */
};

/* ---- what to say ---------------------------------------------------------- */

static bool
role_is(const struct json *message, const char *role)
{
	return strcmp(json_get_str(message, "role", ""), role) == 0;
}

static const char *
next_line(const char *line)
{
	const char *end = strchr(line, '\n');

	return end ? end + 1 : NULL;
}

/* What a person can ask for, and how. */
static const struct ask {
	const char *word, *tool, *member;	/* tool NULL: named behind it */
} asks[] = {
	{ "run ", "terminal", "command" }, { "python ", "execute_code", "code" },
	{ "call ", NULL, NULL },
};

/*
 * The words behind such a word in a person's message, or NULL.  Messages that
 * arrived while another one was answered stand in one, as paragraphs: the last
 * counts.
 */
static char *
words_in(const char *content, const struct ask **ret_ask)
{
	size_t len = strlen(content);

	while (len > 0 && strchr(" \t\r\n", content[len - 1]))
		len--;
	CLEANUP_FREE char *text = mem_strn(content, len);
	const char *line = text;

	for (const char *p = text; (p = strstr(p, "\n\n")) != NULL; p++)
		line = p + 2;
	/* a command may span lines, and other words may stand above it */
	for (; line; line = next_line(line)) {
		const char *s = line + strspn(line, " \t`");
		size_t i = 0, n = 0;

		for (; i < ARRAY_LEN(asks); i++) {
			n = strlen(asks[i].word);
			if (strncasecmp(s, asks[i].word, n) == 0)
				break;
		}
		if (i == ARRAY_LEN(asks))
			continue;
		*ret_ask = &asks[i];
		s += n + strspn(s + n, " ");
		len = strlen(s);
		if (len > 0 && s[len - 1] == '`' && !memchr(s, '`', len - 1))
			len--;
		return len > 0 ? mem_strn(s, len) : NULL;
	}
	return NULL;
}

/* A fence longer than any row of backticks in the text. */
static void
add_fenced(struct buf *out, const char *text, size_t len)
{
	size_t run = 0, longest = 2;
	char fence[16];

	for (size_t i = 0; i < len; i++) {
		run = text[i] == '`' ? run + 1 : 0;
		if (run > longest)
			longest = run;
	}
	if (longest > sizeof(fence) - 2)
		longest = sizeof(fence) - 2;
	memset(fence, '`', longest + 1);
	fence[longest + 1] = '\0';
	buf_printf(out, "%s\n", fence);
	buf_add(out, text, len);
	if (len > 0 && text[len - 1] != '\n')
		buf_add_char(out, '\n');
	buf_printf(out, "%s\n", fence);
}

static void
add_output(struct buf *out, const char *output)
{
	size_t len = strlen(output), shown = utf8_cut(output, len, OUTPUT_SHOWN);

	if (len == 0)
		buf_add_str(out, "The command printed nothing.\n");
	else
		add_fenced(out, output, shown);
	if (shown < len)
		buf_printf(out, "(%zu more bytes)\n", len - shown);
}

static void
add_end(struct buf *out, const struct json *result)
{
	int64_t code = json_get_int(result, "exit_code", -1);
	const char *error = json_get_str(result, "error", "");

	switch (code) {
	case -1:
		buf_printf(out, "It was not run: %s\n",
		    *error ? error : "no reason given");
		return;
	case 124:
		buf_add_str(out, "It ran into its time limit and was ended "
		    "(exit code 124).\n");
		break;
	case 130:
		buf_add_str(out, "It was cancelled (exit code 130).\n");
		break;
	default:
		buf_printf(out, "exit code %lld\n", (long long)code);
	}
	if (*error)
		buf_printf(out, "%s\n", error);
}

/* A tool's result: JSON, or words if the outcome is unknown. */
static void
add_result(struct buf *out, const char *content)
{
	CLEANUP_JSON struct json *result =
	    json_parse(content, strlen(content), NULL);
	const char *output = json_get_str(result, "output", "");
	bool of_command = json_len(result) == 0 || json_get(result, "exit_code");
	const char *text = json_str(json_get(result, "content"));

	if (!json_is_object(result)) {
		buf_printf(out, "%s\n", content);
		return;
	}
	if (!of_command) {
		CLEANUP_FREE char *pretty = json_text_pretty(result);

		/* what was read, or printed by a script, as it is */
		add_output(out, text ? text : json_get(result, "tool_calls_made")
		    && *output ? output : pretty);
		if (*json_get_str(result, "error", ""))
			buf_printf(out, "%s\n", json_get_str(result, "error", ""));
		return;
	}
	if (*output || json_get_int(result, "exit_code", -1) >= 0)
		add_output(out, output);
	add_end(out, result);
}

static bool
has_tool(const struct json *tools, const char *name)
{
	for (const struct json *t = json_first(tools); t; t = json_next(t)) {
		if (strcmp(json_get_str(json_get(t, "function"), "name", ""),
		    name) == 0)
			return true;
	}
	return false;
}

/* Why there are no tools: the system prompt says it (sandbox_describe()). */
static void
add_cause(struct buf *out, const struct json *messages)
{
	static const char begin[] = "Commands cannot run at present: ";
	const char *said = strstr(json_get_str(json_first(messages), "content",
	    ""), begin);

	if (said)
		buf_printf(out, " %.*s", (int)strcspn(said, "\n"), said);
}

/* The call that these words ask for, if there is such a tool here. */
static void
make_call(struct reply *r, const struct model_req *req, const struct ask *ask,
	const char *words)
{
	size_t n = ask->tool ? 0 : strcspn(words, " \t\n{");
	CLEANUP_FREE char *tool = ask->tool ? mem_str(ask->tool) :
	    mem_strn(words, n);
	CLEANUP_JSON struct json *args = json_object();
	char hex[17];

	if (!has_tool(req->tools, tool)) {
		buf_printf(&r->text, "I can't do that here: this chat has no "
		    "%.60s.", tool);
		add_cause(&r->text, req->messages);
		return;
	}
	if (ask->tool)
		json_set_str(args, ask->member, words);
	r->arguments = ask->tool ? json_text(args) : mem_str(words + n);
	r->tool = STEAL(tool);
	ids_hex(hex, 16);
	r->call_id = mem_printf("call_%s", hex);
}

static void
decide(struct reply *r, const struct model_req *req)
{
	const struct json *last = NULL, *m;

	for (m = json_first(req->messages); m; m = json_next(m)) {
		if (role_is(m, "tool") && !(last && role_is(last, "tool")))
			buf_clear(&r->text);
		if (role_is(m, "tool"))
			add_result(&r->text, json_get_str(m, "content", ""));
		last = m;
	}
	if (last && role_is(last, "tool"))
		return;
	buf_clear(&r->text);

	const struct ask *ask = NULL;
	CLEANUP_FREE char *words = last ?
	    words_in(json_get_str(last, "content", ""), &ask) : NULL;

	if (words)
		make_call(r, req, ask, words);
	else
		buf_add_str(&r->text, about);
}

/* ---- saying it ------------------------------------------------------------ */

static void
reply_free(struct reply *r)
{
	loop_cancel(&r->timer);
	buf_done(&r->text);
	mem_free(r->call_id);
	mem_free(r->tool);
	mem_free(r->arguments);
	mem_free(r);
}

static void
reply_cancel(struct op *op)
{
	struct reply *r = (struct reply *)op;

	r->cancelled = true;
	if (!r->giving)
		reply_free(r);
}

static const struct op_type reply_type = {
	.name = "demo", .cancel = reply_cancel,
};

static void
on_ready(void *arg)
{
	struct reply *r = arg;

	r->timer = NULL;
	if (r->on_text && r->text.len > 0) {
		r->giving = true;
		r->on_text(r->arg, r->text.data, r->text.len);
		r->giving = false;
	}
	if (r->cancelled) {
		reply_free(r);
		return;
	}
	op_finish(&r->op);
	r->done(r->arg, &(struct model_result){
		.error = MODEL_ERR_NONE,
		.retryable_before_text = r->text.len == 0,
		.text = r->text.data,
		.reasoning = "",
		.calls = &(struct model_call){ r->call_id, r->tool,
			r->arguments },
		.ncalls = r->call_id ? 1 : 0,
		.finish = r->call_id ? FINISH_TOOLS : FINISH_STOP,
		.prompt_tokens = -1,
		.completion_tokens = -1,
	});
	reply_free(r);
}

static struct op *
demo_call(struct model *model, const struct model_req *req,
	model_done_cb *done, void *arg)
{
	struct demo *d = (struct demo *)model;
	struct reply *r = mem_alloc(sizeof(*r));

	op_init(&r->op, &reply_type);
	buf_init(&r->text, TEXT_MAX);
	r->on_text = req->on_text;
	r->done = done;
	r->arg = arg;
	decide(r, req);
	r->timer = loop_defer(d->loop, "demo reply", on_ready, r);
	return &r->op;
}

static void
demo_free(struct model *model)
{
	mem_free(model);
}

static const struct model_type demo_type = {
	.name = "demo", .call = demo_call, .free = demo_free,
};

struct model *
demo_new(struct loop *loop)
{
	struct demo *d = mem_alloc(sizeof(*d));

	d->model.type = &demo_type;
	d->model.label = "the built-in demo";
	d->model.is_demo = true;
	d->loop = loop;
	return &d->model;
}

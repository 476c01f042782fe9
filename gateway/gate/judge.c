#include "gateway/gate/judge.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

#define WHY_MAX (16 * 1024)

static size_t
list_len(const char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

static enum gate_network
network_of(const struct sandbox_props *p)
{
	if (!(p->isolation & SANDBOX_NO_NETWORK))
		return GATE_NET_FULL;
	return p->network && strcmp(p->network, "filtered") == 0 ?
	    GATE_NET_FILTERED : GATE_NET_NONE;
}

/*
 * Network full or bridge: isolated for files only; rules about network, remotes
 * and credentials still ask (rules 4.1).
 */
static struct gate_ctx
context(const struct gate_opts *opts, const struct gate_req *req)
{
	const struct sandbox_props *p = &req->props;
	uint32_t files = SANDBOX_ISOLATED & ~(uint32_t)SANDBOX_NO_NETWORK;
	bool isolated = (p->isolation & files) == files;

	return (struct gate_ctx){
		.workspace = p->workspace,
		.home = p->home ? p->home : p->workspace,
		.cwd = req->dir[0] == '/' ? req->dir : NULL,
		.state_dir = isolated ? NULL : opts->state_dir,
		.pids = isolated ? NULL : opts->pids,
		.npids = isolated ? 0 : opts->npids,
		.backend = p->backend,
		.isolated = isolated,
		.network = network_of(p),
		.ask_in_sandbox = opts->ask_in_sandbox,
		.deny = opts->deny, .ndeny = list_len(opts->deny),
		.allow = opts->allow, .nallow = list_len(opts->allow),
	};
}

static void
add_word(char ***list, size_t *n, const char *word)
{
	for (size_t i = 0; i < *n; i++)
		if (strcmp((*list)[i], word) == 0)
			return;
	*list = mem_grow(*list, *n + 1, sizeof(**list));
	(*list)[(*n)++] = mem_str(word);
}

static void
add_why(struct judgement *j, const char *key, const char *why)
{
	CLEANUP_FREE char *was = j->why;

	add_word(&j->keys, &j->nkeys, key);
	if (was && strlen(was) + strlen(why) > WHY_MAX)
		j->why = mem_str(was);
	else
		j->why = mem_printf("%s%s%s", was ? was : "", was ? "; " : "",
		    why);
}

/* What of a verdict counts where it would run. */
static void
take_verdict(struct judgement *j, const struct gate_ctx *ctx,
    const struct gate_verdict *v)
{
	enum gate_level level = gate_effective(ctx, v);

	if (level > j->level)
		j->level = level;
	for (size_t i = 0; i < v->nrules; i++) {
		const struct gate_rule *r = &v->rules[i];

		if (r->level == GATE_ALLOW || !gate_rule_counts(ctx, r))
			continue;
		add_why(j, r->key, r->why);
		j->severe |= r->severe;
		j->unreadable |= r->class == GATE_CLASS_DISPLAY;
	}
	for (size_t i = 0; i < v->nscripts; i++)
		add_word(&j->scripts, &j->nscripts, v->scripts[i]);
}

/* What would be stored must be what allows this very text, or isn't offered. */
static bool
works_as_always(const struct gate_ctx *ctx, const char *text, size_t len,
    const char *entry)
{
	struct gate_ctx with = *ctx;
	struct gate_verdict v;

	if (strpbrk(entry, "\\*?[\n"))
		return false;
	with.allow = &entry;
	with.nallow = 1;
	gate_classify(&with, text, len, &v);
	bool works = gate_effective(&with, &v) == GATE_ALLOW;

	gate_verdict_done(&v);
	return works;
}

static void
judge_text(struct judgement *j, const struct gate_ctx *ctx, const char *text,
    size_t len, bool can_store)
{
	struct gate_verdict v;

	gate_classify(ctx, text, len, &v);
	take_verdict(j, ctx, &v);
	if (can_store && v.always && !j->severe &&
	    works_as_always(ctx, text, len, v.always))
		j->always = mem_str(v.always);
	gate_verdict_done(&v);
}

/* To these, input is data. What isn't here may take it for commands. */
static bool
is_reader(const char *name)
{
	static const char *const names[] = {
		"cat", "tee", "head", "tail", "sort", "uniq", "wc", "tr", "cut",
		"grep", "egrep", "fgrep", "rev", "nl", "od", "xxd", "hexdump",
		"base64", "md5sum", "sha1sum", "sha256sum", "sha512sum", "cksum",
		"column", "fold", "fmt", "paste", "comm", "join", "tac", "jq",
		"gzip", "gunzip", "zcat", "bzip2", "xz", "zstd", "true",
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* A program that takes its input for commands or code, or may. */
static bool
obeys_input(const struct gate_ctx *ctx, const char *command)
{
	struct gate_verdict v;
	bool obeys = false;

	gate_classify(ctx, command, strlen(command), &v);
	for (size_t i = 0; i < v.ncommands; i++) {
		CLEANUP_FREE char *name = mem_strn(v.commands[i],
		    strcspn(v.commands[i], " "));
		const char *slash = strrchr(name, '/');

		obeys |= !is_reader(slash ? slash + 1 : name);
	}
	obeys |= v.ncommands == 0;
	gate_verdict_done(&v);
	return obeys;
}

/*
 * Pieces of input add up inside the process: what one of them does alone says
 * little, so a program that obeys its input asks for each.  What is never
 * allowed is refused already where a piece shows it.
 */
static void
judge_input(struct judgement *j, const struct gate_ctx *ctx,
    const char *program, const char *bytes, size_t len)
{
	bool asks = !ctx->isolated || ctx->ask_in_sandbox;

	if (!obeys_input(ctx, program))
		return;
	judge_text(j, ctx, bytes, len, false);
	if (!asks)
		return;
	add_why(j, "input to a running program",
	    "the program obeys what is written to it");
	if (j->level < GATE_ASK)
		j->level = GATE_ASK;
}

void
judge_request(const struct gate_opts *opts, const struct gate_req *req,
    struct judgement *ret)
{
	struct gate_ctx ctx = context(opts, req);

	*ret = (struct judgement){ .level = GATE_ALLOW };
	switch (req->act) {
	case GATE_COMMAND:
		if (req->judged)
			judge_text(ret, &ctx, req->judged, strlen(req->judged),
			    false);
		else
			judge_text(ret, &ctx, req->command, req->command_len,
			    req->input_len == 0);
		if (req->input_len > 0 && !req->judged)
			judge_input(ret, &ctx, req->command, req->input,
			    req->input_len);
		break;
	case GATE_INPUT:
		judge_input(ret, &ctx, req->program, req->command,
		    req->command_len);
		break;
	}
	if (!ret->why)
		ret->why = mem_str(ret->level == GATE_ALLOW ? "" :
		    "it cannot be judged");
}

void
judgement_done(struct judgement *j)
{
	for (size_t i = 0; i < j->nkeys; i++)
		mem_free(j->keys[i]);
	for (size_t i = 0; i < j->nscripts; i++)
		mem_free(j->scripts[i]);
	mem_free(j->keys);
	mem_free(j->scripts);
	mem_free(j->why);
	mem_free(j->always);
	memset(j, 0, sizeof(*j));
}

/* See classify.h. The order: limits, looks, then the walk. */
#include "gateway/gate/classify.h"

#include <string.h>

#include "base/mem.h"
#include "gateway/gate/rules.h"
#include "gateway/gate/simple.h"
#include "gateway/gate/spoof.h"

/* What a text of len bytes may cost: a generous multiple, so that only texts
 * that grow while they are resolved reach it. */
static size_t
arena_max(size_t len)
{
	return len * 200 + 4 * 1024 * 1024;
}

/* As Bash reads it: without NUL bytes. */
static char *
without_nul(struct arena *a, const char *s, size_t len, size_t *ret_len)
{
	char *out = arena_alloc(a, len + 1);
	size_t n = 0;
	for (size_t i = 0; i < len; i++)
		if (s[i] != '\0')
			out[n++] = s[i];
	*ret_len = n;
	return out;
}

/* One command, nothing around it, nothing in it that could be another. */
static void
decide_always(const struct walk *w, struct gate_verdict *v)
{
	if (w->compound || v->ncommands != 1 || w->stop)
		v->always = NULL;
	for (size_t i = 0; i < v->nrules; i++)
		if (v->rules[i].class == GATE_CLASS_DISPLAY ||
		    v->rules[i].level == GATE_NEVER)
			v->always = NULL;
}

void
gate_classify(const struct gate_ctx *ctx, const char *command, size_t len,
	struct gate_verdict *ret)
{
	struct gate_ctx own = *ctx;
	struct gate_flow in = { .present = false }, out = in;
	*ret = (struct gate_verdict){ .level = GATE_ALLOW };
	ret->arena = mem_alloc(sizeof(*ret->arena));
	if (!own.workspace)
		own.workspace = "/workspace";
	if (!own.home)
		own.home = own.workspace;
	if (!own.cwd)
		own.cwd = own.workspace;
	arena_init(ret->arena, arena_max(len));
	struct walk w = { .ctx = &own, .out = ret, .arena = ret->arena,
		.s = { .cwd = own.cwd } };
	if (len > GATE_PARSE_MAX) {
		walk_never(&w, "command too long",
			"it is longer than 128 KiB and was not read");
		return;
	}
	const char *spoof = spoof_find(command, len);
	if (spoof)
		walk_ask(&w, GATE_CLASS_DISPLAY, "misleading characters", "%s", spoof);
	size_t n;
	char *text = without_nul(ret->arena, command, len, &n);
	w.compound = false;
	walk_text(&w, text, n, &in, &out);
	walk_uncalled(&w);
	decide_always(&w, ret);
	ret->steps += len + ret->arena->used / 64;
}

void
gate_verdict_done(struct gate_verdict *v)
{
	if (v->arena)
		arena_done(v->arena);
	mem_free(v->arena);
	v->arena = NULL;
	v->nrules = v->ncommands = 0;
	v->always = NULL;
}

const char *
gate_level_name(enum gate_level level)
{
	static const char *const names[] = { "allow", "ask", "never" };
	return names[level];
}

bool
gate_rule_counts(const struct gate_ctx *ctx, const struct gate_rule *rule)
{
	bool open = ctx->network == GATE_NET_FULL &&
		(rule->class == GATE_CLASS_NETWORK ||
		rule->class == GATE_CLASS_CREDENTIALS);
	return !ctx->isolated || ctx->ask_in_sandbox ||
		rule->level == GATE_NEVER || rule->denied || open;
}

enum gate_level
gate_effective(const struct gate_ctx *ctx, const struct gate_verdict *v)
{
	enum gate_level level = GATE_ALLOW;
	if (!ctx->isolated || ctx->ask_in_sandbox)
		return v->level;
	for (size_t i = 0; i < v->nrules; i++) {
		const struct gate_rule *r = &v->rules[i];
		if (gate_rule_counts(ctx, r) && r->level > level)
			level = r->level;
	}
	return level;
}

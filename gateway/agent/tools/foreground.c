#include "gateway/agent/tools/foreground.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/mem.h"

#define WORDS_MAX 8		/* of one command; the rest decides nothing */
#define WORD_MAX 64

struct reader {
	const char *p;
	char words[WORDS_MAX][WORD_MAX];
	size_t n;		/* words of the command under way */
	size_t len;		/* of the word under way */
	bool in_word, comment;
	bool helps;		/* a word asks for help or the version */
	bool ampersand, waits;
	const char *fault;
};

static bool
one_of(const char *word, const char *list)
{
	size_t len = strlen(word);

	for (const char *p = list; len > 0 && (p = strstr(p, word)); p += len)
		if ((p == list || p[-1] == ' ') && (!p[len] || p[len] == ' '))
			return true;
	return false;
}

/* Words in front of the one that names the program. */
static bool
is_prefix(const char *word)
{
	const char *eq = strchr(word, '=');

	return (eq && eq != word) || one_of(word, "if then else elif while until "
	    "do ! { ( time exec command env sudo");
}

static const char *
judge(const struct reader *r)
{
	static const char server[] = "this runs until it is stopped: start it "
	    "with background: true, then look after it with the tool process";
	static const char detaches[] = "what is left behind ends with its "
	    "command here: start the program itself with background: true";
	size_t at = 0;

	while (at < r->n && is_prefix(r->words[at]))
		at++;
	if (at == r->n)
		return NULL;
	const char *name = strrchr(r->words[at], '/');
	const char *word = at + 1 < r->n ? r->words[at + 1] : "";
	const char *next = at + 2 < r->n ? r->words[at + 2] : "";

	name = name ? name + 1 : r->words[at];
	if (one_of(name, "nohup disown setsid"))
		return detaches;
	if (one_of(name, "nodemon uvicorn gunicorn") ||
	    (one_of(name, "vite") && !one_of(word, "build preview optimize")) ||
	    (one_of(name, "next") && one_of(word, "dev")) ||
	    (one_of(name, "python python3") && one_of(word, "-m") &&
	    one_of(next, "http.server")))
		return server;
	if (one_of(name, "npm pnpm yarn bun"))
		return one_of(one_of(word, "run") ? next : word,
		    "dev start serve watch") ? server : NULL;
	bool compose = one_of(name, "docker-compose");

	if ((compose && one_of(word, "up")) || (one_of(name, "docker") &&
	    one_of(word, "compose") && one_of(next, "up"))) {
		for (size_t i = at; i < r->n; i++)
			if (one_of(r->words[i], "-d --detach"))
				return NULL;
		return server;
	}
	return NULL;
}

static void
end_word(struct reader *r)
{
	if (!r->in_word)
		return;
	r->in_word = false;
	if (r->n == WORDS_MAX)
		return;
	r->words[r->n][r->len] = '\0';
	r->helps |= one_of(r->words[r->n], "--help -h --version -v");
	r->n++;
}

static void
end_command(struct reader *r)
{
	end_word(r);
	if (r->n > 0 && strcmp(r->words[0], "wait") == 0)
		r->waits = true;
	if (!r->fault && !r->helps)
		r->fault = judge(r);
	r->n = 0;
	r->helps = false;
}

static void
add(struct reader *r, char c)
{
	if (!r->in_word)
		r->len = 0;
	r->in_word = true;
	if (r->n < WORDS_MAX && r->len < WORD_MAX - 1)
		r->words[r->n][r->len++] = c;
}

/* p is at an opening quote; goes to the closing one or the end. */
static void
take_quoted(struct reader *r)
{
	char quote = *r->p;

	r->len = r->in_word ? r->len : 0;
	r->in_word = true;
	while (r->p[1] && r->p[1] != quote) {
		r->p++;
		if (*r->p == '\\' && quote == '"' && r->p[1])
			r->p++;
		add(r, *r->p);
	}
	if (r->p[1])
		r->p++;
}

static void
take_ampersand(struct reader *r, const char *start)
{
	char before = r->p > start ? r->p[-1] : ' ', after = r->p[1];

	if (after == '&') {
		r->p++;
		end_command(r);
	} else if (before == '>' || before == '<' || after == '>') {
		add(r, '&');		/* a redirection */
	} else {
		r->ampersand |= before != '|';
		end_command(r);
	}
}

/* Arithmetic has operators that look like ours. */
static void
skip_arithmetic(struct reader *r)
{
	const char *end = strstr(r->p, "))");

	add(r, '(');
	r->p = end ? end + 1 : r->p + strlen(r->p) - 1;
}

const char *
foreground_fault(const char *command)
{
	struct reader r = { .p = command };
	bool here = false;	/* the lines that follow are data */

	for (; *r.p && !(here && *r.p == '\n'); r.p++) {
		if (r.comment && *r.p != '\n')
			continue;
		r.comment = false;
		if (*r.p == '\\' && r.p[1])
			add(&r, *++r.p);
		else if (*r.p == '\'' || *r.p == '"')
			take_quoted(&r);
		else if (*r.p == '#' && !r.in_word)
			r.comment = true;
		else if (*r.p == '&')
			take_ampersand(&r, command);
		else if (*r.p == '(' && r.p[1] == '(')
			skip_arithmetic(&r);
		else if (strchr(";|\n()", *r.p))
			end_command(&r);
		else if (strchr(" \t", *r.p))
			end_word(&r);
		else
			add(&r, *r.p);
		here |= *r.p == '<' && r.p[1] == '<' && r.p[2] != '<';
	}
	end_command(&r);
	if (!r.fault && r.ampersand && !r.waits)
		return "what & starts ends with its command here: use "
		    "background: true, or `wait` for it";
	return r.fault;
}

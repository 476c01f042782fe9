#include "gateway/gate/words.h"

#include <string.h>
#include <strings.h>

#include "base/mem.h"

#define BLANKS " \t\r\n"

static const struct {
	const char *word;
	enum gate_answer answer;
} plain[] = {
	{ "approve", GATE_ANSWER_ONCE }, { "yes", GATE_ANSWER_ONCE },
	{ "ok", GATE_ANSWER_ONCE }, { "okay", GATE_ANSWER_ONCE },
	{ "confirm", GATE_ANSWER_ONCE }, { "y", GATE_ANSWER_ONCE },
	{ "\xf0\x9f\x91\x8d", GATE_ANSWER_ONCE },	/* thumbs up */
	{ "deny", GATE_ANSWER_NO }, { "no", GATE_ANSWER_NO },
	{ "reject", GATE_ANSWER_NO }, { "cancel", GATE_ANSWER_NO },
	{ "n", GATE_ANSWER_NO },
	{ "\xf0\x9f\x91\x8e", GATE_ANSWER_NO },		/* thumbs down */
	{ "always", GATE_ANSWER_ALWAYS }, { "session", GATE_ANSWER_SESSION },
};

bool
words_plain(const char *text, enum gate_answer *ret)
{
	text += strspn(text, BLANKS);
	size_t len = strlen(text);

	while (len > 0 && strchr(BLANKS, text[len - 1]))
		len--;
	for (size_t i = 0; i < ARRAY_LEN(plain); i++) {
		if (strlen(plain[i].word) != len ||
		    strncasecmp(text, plain[i].word, len) != 0)
			continue;
		*ret = plain[i].answer;
		return true;
	}
	return false;
}

static bool
is_id(const char *word, size_t len)
{
	return len == 8 && strspn(word, "0123456789abcdef") >= 8;
}

static bool
is_word(const char *word, size_t len, const char *want)
{
	return strlen(want) == len && strncasecmp(word, want, len) == 0;
}

/* true: the word is one of ours and is in args now. */
static bool
take_word(struct words_args *a, const char *word, size_t len, bool yes)
{
	static const struct {
		const char *word;
		enum gate_answer answer;
	} lengths[] = {
		{ "once", GATE_ANSWER_ONCE }, { "hour", GATE_ANSWER_HOUR },
		{ "session", GATE_ANSWER_SESSION },
		{ "always", GATE_ANSWER_ALWAYS },
	};

	if (is_word(word, len, "all")) {
		a->all = true;
		return true;
	}
	if (!a->id[0] && is_id(word, len)) {
		memcpy(a->id, word, len);
		return true;
	}
	for (size_t i = 0; yes && i < ARRAY_LEN(lengths); i++) {
		if (is_word(word, len, lengths[i].word)) {
			a->answer = lengths[i].answer;
			return true;
		}
	}
	return false;
}

struct words_args
words_args_parse(const char *args, bool yes)
{
	struct words_args a = {
		.answer = yes ? GATE_ANSWER_ONCE : GATE_ANSWER_NO,
		.reason = "",
	};

	for (;;) {
		args += strspn(args, BLANKS);
		size_t len = strcspn(args, BLANKS);

		if (len == 0)
			return a;
		if (take_word(&a, args, len, yes)) {
			args += len;
			continue;
		}
		if (yes)
			memcpy(a.unknown, args, len < sizeof(a.unknown) ? len :
			    sizeof(a.unknown) - 1);
		else
			a.reason = args;
		return a;
	}
}

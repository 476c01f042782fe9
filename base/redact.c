#include "base/redact.h"

#include <string.h>

#include "base/mem.h"
#include "base/redact_priv.h"

#define SECRET_MIN 8
#define SECRETS_MAX 256
#define CODED_MIN 16		/* shorter ones are met by chance */
#define VALUES_MAX (12 * SECRETS_MAX)
#define MASK "[redacted]"
#define SENTINEL "\xc2\xabredacted:"		/* « */
#define SENTINEL_END "\xe2\x80\xa6\xc2\xbb"	/* … and » */

const unsigned char redact_class[256] = {
	['='] = REDACT_MARK, [':'] = REDACT_MARK, ['-'] = REDACT_MARK,
	['0' ... '9'] = REDACT_DIGIT, ['A' ... 'Z'] = REDACT_LETTER,
	['a' ... 'z'] = REDACT_LETTER,
};

struct value {
	char *text;
	size_t len;
	unsigned short next;	/* with the same first two bytes; 0: none */
};

/* Written at start, on one thread; read by all after that. */
static struct {
	struct value *values;	/* from 1 on */
	size_t n, secrets;
	bool first[1 << 8];		/* some value begins with this byte */
	unsigned short head[1 << 16];	/* by the first two bytes; 0: none */
} known;

static size_t
slot_of(const char *s)
{
	return (size_t)(unsigned char)s[0] << 8 | (unsigned char)s[1];
}

/* Takes text. False: it is known already. */
static bool
add_value(char *text, size_t min)
{
	size_t len = strlen(text);
	size_t slot = len >= 2 ? slot_of(text) : 0;

	for (size_t i = len >= min ? known.head[slot] : 0; i;
	    i = known.values[i].next) {
		if (strcmp(known.values[i].text, text) == 0)
			len = 0;
	}
	if (len < min || known.n + 2 > VALUES_MAX) {
		mem_free_secret(&text);
		return false;
	}
	if (!known.values)
		known.values = mem_array(VALUES_MAX, sizeof(*known.values));
	known.values[++known.n] = (struct value){ text, len, known.head[slot] };
	known.head[slot] = (unsigned short)known.n;
	known.first[slot >> 8] = true;
	return true;
}

/*
 * What stays the same of its base64 whatever stands before and after it: the
 * letters that only its own bits decide, for each of the three places in a
 * group of three bytes.
 */
static char *
base64_core(const char *s, size_t len, size_t skip, const char *last_two)
{
	char letters[65] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	    "0123456789";
	size_t from = (skip * 8 + 5) / 6, to = (skip + len) * 8 / 6;
	struct buf out;

	memcpy(letters + 62, last_two, 2);
	buf_init(&out, 2 * len + 8);
	for (size_t i = from; i < to; i++) {
		unsigned bits = 0;

		for (size_t b = i * 6; b < i * 6 + 6; b++) {
			size_t byte = b / 8 - skip;
			bits = bits << 1 |
			    ((unsigned char)s[byte] >> (7 - b % 8) & 1);
		}
		buf_add_char(&out, letters[bits]);
	}
	return buf_take(&out);
}

static char *
coded(const char *s, const char *format, const char *plain)
{
	struct buf out;

	buf_init(&out, 8 * strlen(s) + 8);
	for (; *s; s++) {
		if (strchr(plain, *s))
			buf_add_char(&out, *s);
		else if (format)
			buf_printf(&out, strcmp(format, "X") == 0 ? "%02X" :
			    strcmp(format, "x") == 0 ? "%02x" : "%%%02X",
			    (unsigned char)*s);
		else
			buf_printf(&out, "\\%c", *s);
	}
	return buf_take(&out);
}

/* As programs write it: in base64, in hexadecimal, in an URL, in JSON. */
static void
add_coded(const char *value)
{
	static const char unreserved[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "abcdefghijklmnopqrstuvwxyz0123456789-._~";
	static const char not_escaped[] = " !#$%&'()*+,-./0123456789:;<=>?@"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`abcdefghijklmnopqrstuvwxyz{|}~";

	for (size_t skip = 0; skip < 3; skip++) {
		add_value(base64_core(value, strlen(value), skip, "+/"),
		    CODED_MIN);
		add_value(base64_core(value, strlen(value), skip, "-_"),
		    CODED_MIN);
	}
	add_value(coded(value, "x", ""), CODED_MIN);
	add_value(coded(value, "X", ""), CODED_MIN);
	add_value(coded(value, "%", unreserved), SECRET_MIN);
	add_value(coded(value, NULL, not_escaped), SECRET_MIN);
}

void
redact_add_secret(const char *value)
{
	if (!value || strlen(value) < SECRET_MIN)
		return;
	if (!add_value(mem_str(value), SECRET_MIN))
		return;
	REQUIRE(++known.secrets <= SECRETS_MAX);
	add_coded(value);
}

void
redact_clear(void)
{
	for (size_t i = 1; i <= known.n; i++)
		mem_free_secret(&known.values[i].text);
	mem_free(STEAL(known.values));
	known.n = known.secrets = 0;
	memset(known.head, 0, sizeof(known.head));
	memset(known.first, 0, sizeof(known.first));
}

/* Length of the longest known value at s, or 0. */
static size_t
known_at(const char *s, size_t len)
{
	size_t best = 0;

	if (len < SECRET_MIN || !known.first[(unsigned char)*s])
		return 0;
	for (size_t i = known.head[slot_of(s)]; i; i = known.values[i].next) {
		const struct value *v = &known.values[i];

		if (v->len > best && v->len <= len &&
		    memcmp(s, v->text, v->len) == 0)
			best = v->len;
	}
	return best;
}

/* A known value that begins inside [from, to) and ends behind it goes too. */
static size_t
extend(const char *text, size_t len, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		size_t n = known_at(text + i, len - i);

		if (n > 0 && i + n > to)
			to = i + n;
	}
	return to;
}

static bool
add_mask(struct buf *out, const char *secret, size_t len, bool sentinel)
{
	if (!sentinel)
		return buf_add_str(out, MASK);
	return buf_add_str(out, SENTINEL) &&
	    buf_add(out, secret, redact_prefix(secret, len)) &&
	    buf_add_str(out, SENTINEL_END);
}

static bool
mask(struct buf *out, const char *text, size_t len, bool sentinel)
{
	size_t done = 0;	/* what lies before is in out */
	bool ok = true;

	for (size_t i = 0; i < len;) {
		bool shaped = redact_may_begin(text, i);

		if (!shaped && !known.first[(unsigned char)text[i]]) {
			i++;
			continue;
		}
		size_t from = i, to = i + known_at(text + i, len - i);

		if (to == i && !(shaped &&
		    redact_shape(text, len, i, &from, &to))) {
			i++;
			continue;
		}
		to = extend(text, len, i, to);
		/* a known value between i and from must not slip through */
		for (size_t k = i; k < from; k++) {
			if (known_at(text + k, len - k) > 0)
				from = k;
		}
		ok = buf_add(out, text + done, from - done) && ok;
		ok = add_mask(out, text + from, to - from, sentinel) && ok;
		/* what is edited by line numbers keeps its lines */
		for (size_t k = from; sentinel && k < to; k++)
			ok = (text[k] != '\n' || buf_add_char(out, '\n')) && ok;
		i = done = to;
	}
	return buf_add(out, text + done, len - done) && ok;
}

bool
redact_text(struct buf *out, const char *text, size_t len)
{
	return mask(out, text, len, false);
}

bool
redact_sentinels(struct buf *out, const char *text, size_t len)
{
	return mask(out, text, len, true);
}

bool
redact_has_sentinel(const char *text, size_t len)
{
	return memmem(text, len, SENTINEL, strlen(SENTINEL)) != NULL ||
	    memmem(text, len, MASK, strlen(MASK)) != NULL;
}

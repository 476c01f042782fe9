#include "base/redact.h"

#include <string.h>

#include "base/mem.h"
#include "base/redact_priv.h"

#define SECRET_MIN 8
#define SECRETS_MAX 256
#define MASK "[redacted]"
#define SENTINEL "\xc2\xabredacted:"		/* « */
#define SENTINEL_END "\xe2\x80\xa6\xc2\xbb"	/* … and » */

/* Written at start, on one thread; read by all after that. */
static struct {
	char *value[SECRETS_MAX];
	size_t len[SECRETS_MAX];
	size_t n;
	bool first[256];	/* bytes that some value starts with */
} known;

void
redact_add_secret(const char *value)
{
	size_t len = value ? strlen(value) : 0;

	if (len < SECRET_MIN)
		return;
	for (size_t i = 0; i < known.n; i++) {
		if (strcmp(known.value[i], value) == 0)
			return;
	}
	REQUIRE(known.n < SECRETS_MAX);
	known.value[known.n] = mem_str(value);
	known.len[known.n++] = len;
	known.first[(unsigned char)value[0]] = true;
}

void
redact_clear(void)
{
	for (size_t i = 0; i < known.n; i++)
		mem_free_secret(&known.value[i]);
	known.n = 0;
	memset(known.first, 0, sizeof(known.first));
}

/* Length of the longest known value at s, or 0. */
static size_t
known_at(const char *s, size_t len)
{
	size_t best = 0;

	if (!known.first[(unsigned char)*s])
		return 0;
	for (size_t i = 0; i < known.n; i++) {
		if (known.len[i] > best && known.len[i] <= len &&
		    memcmp(s, known.value[i], known.len[i]) == 0)
			best = known.len[i];
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
		size_t from = i, to = i + known_at(text + i, len - i);

		if (to == i && !redact_shape(text, len, i, &from, &to)) {
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

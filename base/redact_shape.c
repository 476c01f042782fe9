#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/redact_priv.h"

/* How far a test looks before it decides; what is masked may be longer. */
#define LOOK_MAX 256
#define NAME_MAX_LEN 64
#define VALUE_MIN 8
#define TOKEN_MIN 12		/* the shortest that has a shape of its own */

struct span {
	const char *s;		/* the whole text */
	size_t len;
};

static bool
is_alnum(char c)
{
	return redact_class[(unsigned char)c] & (REDACT_DIGIT | REDACT_LETTER);
}

static bool
is_base64url(char c)
{
	return is_alnum(c) || c == '_' || c == '-';
}

static bool
is_bearer(char c)
{
	return is_base64url(c) || (c != '\0' && strchr(".~+/=", c));
}

typedef bool char_class(char c);

/* The end of the run of `class` that starts at `at`. */
static size_t
run_end(struct span t, size_t at, char_class *class)
{
	while (at < t.len && class(t.s[at]))
		at++;
	return at;
}

static bool
starts(struct span t, size_t at, const char *word)
{
	size_t n = strlen(word);

	return t.len - at >= n && memcmp(t.s + at, word, n) == 0;
}

static bool
starts_nocase(struct span t, size_t at, const char *word)
{
	size_t n = strlen(word);

	return t.len - at >= n && strncasecmp(t.s + at, word, n) == 0;
}

/*
 * What chance makes and people do not: a digit or mixed case, and a stretch of
 * at least `stretch` letters and digits without a break.
 */
static bool
looks_random(const char *s, size_t len, size_t stretch)
{
	bool digit = false, upper = false, lower = false;
	size_t run = 0, best = 0;

	if (len > LOOK_MAX)
		len = LOOK_MAX;
	for (size_t i = 0; i < len; i++) {
		digit = digit || isdigit((unsigned char)s[i]);
		upper = upper || isupper((unsigned char)s[i]);
		lower = lower || islower((unsigned char)s[i]);
		run = is_alnum(s[i]) ? run + 1 : 0;
		if (run > best)
			best = run;
	}
	return (digit || (upper && lower)) && best >= stretch;
}

/* Issuers' prefixes: the least number of bytes behind them, and a stretch. */
static const struct {
	const char *prefix;
	unsigned char min, stretch;
} prefixes[] = {
	{ "sk-", 20, 12 }, { "sk_live_", 16, 12 }, { "sk_test_", 16, 12 },
	{ "rk_live_", 16, 12 }, { "rk_test_", 16, 12 },
	{ "ghp_", 20, 12 }, { "gho_", 20, 12 }, { "ghu_", 20, 12 },
	{ "ghs_", 20, 12 }, { "ghr_", 20, 12 }, { "github_pat_", 20, 12 },
	{ "glpat-", 16, 8 }, { "xoxa-", 10, 6 }, { "xoxb-", 10, 6 },
	{ "xoxe-", 10, 6 }, { "xoxp-", 10, 6 }, { "xoxr-", 10, 6 },
	{ "xoxs-", 10, 6 }, { "xapp-", 10, 6 }, { "AIza", 30, 8 },
	{ "hf_", 24, 16 }, { "r8_", 24, 16 }, { "npm_", 30, 16 },
	{ "pypi-", 40, 12 }, { "dop_v1_", 40, 32 }, { "doo_v1_", 40, 32 },
	{ "gsk_", 24, 16 }, { "tvly-", 20, 12 }, { "pplx-", 24, 16 },
	{ "xai-", 24, 16 }, { "ntn_", 24, 16 }, { "fw_", 20, 16 },
	{ "fal_", 20, 12 }, { "fc-", 24, 16 }, { "bb_live_", 16, 12 },
	{ "sk_", 24, 16 }, { "am_", 24, 16 }, { "exa_", 20, 12 },
	{ "syt_", 20, 8 }, { "retaindb_", 16, 8 }, { "hsk-", 20, 12 },
	{ "mem0_", 16, 8 }, { "brv_", 16, 8 },
	{ "gAAAAA", 40, 8 }, { "whsec_", 20, 12 }, { "SG.", 20, 8 },
};

static bool
prefixed(struct span t, size_t at, size_t *ret_to)
{
	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
		if (prefixes[i].prefix[0] != t.s[at] ||
		    !starts(t, at, prefixes[i].prefix))
			continue;
		size_t body = at + strlen(prefixes[i].prefix), end = body;

		while (end < t.len && end - body < LOOK_MAX &&
		    is_base64url(t.s[end]))
			end++;
		if (end - body < prefixes[i].min || !looks_random(t.s + body,
		    end - body, prefixes[i].stretch))
			continue;
		end = run_end(t, end, is_base64url);
		if (strcmp(prefixes[i].prefix, "SG.") == 0 &&
		    end < t.len && t.s[end] == '.')
			end = run_end(t, end + 1, is_base64url);
		*ret_to = end;
		return true;
	}
	return false;
}

size_t
redact_prefix(const char *s, size_t len)
{
	struct span t = { s, len };

	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
		if (starts(t, 0, prefixes[i].prefix))
			return strlen(prefixes[i].prefix);
	return starts(t, 0, "AKIA") || starts(t, 0, "ASIA") ? 4 : 0;
}

/* AWS: AKIA or ASIA and 16 capitals and digits, no more. */
static bool
aws_key(struct span t, size_t at, size_t *ret_to)
{
	if (!starts(t, at, "AKIA") && !starts(t, at, "ASIA"))
		return false;
	size_t end = at + 4;

	while (end < t.len && end < at + 21 &&
	    (isupper((unsigned char)t.s[end]) || isdigit((unsigned char)t.s[end])))
		end++;
	if (end != at + 20 || (end < t.len && is_base64url(t.s[end])))
		return false;
	*ret_to = end;
	return true;
}

/* Telegram: the bot's numeric id, a colon, 30 or more; "bot" may precede. */
static bool
telegram_token(struct span t, size_t at, size_t *ret_to)
{
	size_t digits = at;

	if (at > 0 && isdigit((unsigned char)t.s[at - 1]))
		return false;
	while (digits < t.len && digits - at < 20 &&
	    isdigit((unsigned char)t.s[digits]))
		digits++;
	if (digits - at < 6 || digits >= t.len || t.s[digits] != ':')
		return false;
	size_t end = run_end(t, digits + 1, is_base64url);

	if (end - digits - 1 < 30)
		return false;
	*ret_to = end;
	return true;
}

/*
 * Discord: the user id in base64, which puts M, N or O at each fourth place,
 * then 6 or 7 bytes of time, then 27 or more.
 */
static bool
discord_token(struct span t, size_t at, size_t *ret_to)
{
	size_t dot = at;

	while (dot < t.len && dot - at < 30 && is_alnum(t.s[dot])) {
		if ((dot - at) % 4 == 0 && !strchr("MNO", t.s[dot]))
			return false;
		dot++;
	}
	if (dot - at < 22 || dot >= t.len || t.s[dot] != '.')
		return false;
	size_t time = dot + 1;

	while (time < t.len && time - dot < 9 && is_base64url(t.s[time]))
		time++;
	if (time - dot - 1 < 6 || time - dot - 1 > 7 || time >= t.len ||
	    t.s[time] != '.')
		return false;
	size_t end = run_end(t, time + 1, is_base64url);

	if (end - time - 1 < 27)
		return false;
	*ret_to = end;
	return true;
}

/* "eyJ" is the base64 of {" : header, claims, signature. */
static bool
jwt(struct span t, size_t at, size_t *ret_to)
{
	if (!starts(t, at, "eyJ"))
		return false;
	size_t head = at;

	while (head < t.len && head - at < 2 * LOOK_MAX && is_base64url(t.s[head]))
		head++;
	if (head - at < 12 || !starts(t, head, ".eyJ"))
		return false;
	size_t end = run_end(t, head + 1, is_base64url);

	if (end < t.len && t.s[end] == '.')
		end = run_end(t, end + 1, is_base64url);
	*ret_to = end;
	return true;
}

/* From BEGIN to the end of its END line, or of the text if that is missing. */
static bool
private_key(struct span t, size_t at, size_t *ret_to)
{
	if (!starts(t, at, "-----BEGIN "))
		return false;
	size_t head = at + 11, room = t.len - head < 64 ? t.len - head : 64;

	if (!memmem(t.s + head, room, "PRIVATE KEY", 11))
		return false;
	const char *end = memmem(t.s + head, t.len - head, "-----END ", 9);

	if (!end) {
		*ret_to = t.len;
		return true;
	}
	size_t tail = (size_t)(end - t.s) + 9;
	const char *dashes = memmem(t.s + tail,
	    t.len - tail < 64 ? t.len - tail : 64, "-----", 5);

	*ret_to = dashes ? (size_t)(dashes - t.s) + 5 : tail;
	return true;
}

/* "Bearer x" anywhere; "Basic x" and any scheme behind "Authorization:". */
static bool
http_auth(struct span t, size_t at, size_t *ret_from, size_t *ret_to)
{
	bool header = starts_nocase(t, at, "authorization:");
	size_t value = at;

	if (header) {
		value += 14;
		while (value < t.len && t.s[value] == ' ')
			value++;
		size_t scheme = value;

		while (scheme < t.len && scheme - value < 20 &&
		    is_alnum(t.s[scheme]))
			scheme++;
		if (scheme < t.len && t.s[scheme] == ' ')
			value = scheme;
	} else if (starts_nocase(t, at, "bearer ")) {
		value += 6;
	} else {
		return false;
	}
	while (value < t.len && value - at < LOOK_MAX && t.s[value] == ' ')
		value++;
	size_t end = run_end(t, value, is_bearer);

	if (end - value < (header ? VALUE_MIN : 16) ||
	    (!header && !looks_random(t.s + value, end - value, 1)))
		return false;
	*ret_from = value;
	*ret_to = end;
	return true;
}

/* scheme://user:password@host masks the password, scheme://token@ the token. */
static bool
url_password(struct span t, size_t at, size_t *ret_from, size_t *ret_to)
{
	if (!starts(t, at, "://"))
		return false;
	size_t user = at + 3, end = user, colon = 0, sign = 0;

	while (end < t.len && end - user < LOOK_MAX * 4 &&
	    !isspace((unsigned char)t.s[end]) && !strchr("/?#\"'<>\\`", t.s[end])) {
		if (t.s[end] == ':' && colon == 0)
			colon = end;
		if (t.s[end] == '@')
			sign = end;
		end++;
	}
	if (sign == 0)
		return false;
	if (colon == 0 || colon > sign) {
		if (sign - user < 20 || !looks_random(t.s + user, sign - user, 8))
			return false;
		colon = user - 1;
	}
	if (sign == colon + 1 || t.s[colon + 1] == '$')
		return false;
	*ret_from = colon + 1;
	*ret_to = sign;
	return true;
}

/* ---- NAME=value, "name": "value" ------------------------------------------ */

/* Whether `word` is the last part of the name: API_KEY, apiKey, not monkey. */
static bool
name_ends(const char *name, size_t len, const char *word)
{
	size_t n = strlen(word);

	if (len < n || (name[len - 1] | 0x20) != word[n - 1] ||
	    strncasecmp(name + len - n, word, n) != 0)
		return false;
	if (len == n)
		return true;
	char before = name[len - n - 1], first = name[len - n];

	return !is_alnum(before) || isdigit((unsigned char)before) ||
	    (islower((unsigned char)before) && isupper((unsigned char)first));
}

static bool
secret_name(const char *name, size_t len)
{
	static const char *const words[] = {
		"token", "secret", "password", "passwd", "passphrase", "pwd",
		"apikey", "api_key", "api-key", "secret_key", "secretkey",
		"access_key", "accesskey", "private_key", "auth_key",
		"signing_key", "encryption_key", "account_key", "master_key",
		"credential", "credentials", "authtoken", "pgpassword",
	};

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (name_ends(name, len, words[i]))
			return true;
	}
	/* a bare "key" is anything; KEY and FOO_KEY are environment names */
	return len >= 3 && memcmp(name + len - 3, "KEY", 3) == 0 &&
	    name_ends(name, len, "key");
}

/* The name that ends before `at`, quoted or not; its length or 0. */
static size_t
name_before(struct span t, size_t at, const char **ret_name)
{
	size_t end = at;

	while (end > 0 && at - end < 4 && t.s[end - 1] == ' ')
		end--;
	if (end > 0 && strchr("\"'", t.s[end - 1])) {
		end--;
		if (end > 0 && t.s[end - 1] == '\\')
			end--;
	}
	size_t from = end;

	while (from > 0 && end - from < NAME_MAX_LEN &&
	    (is_base64url(t.s[from - 1]) || t.s[from - 1] == '.'))
		from--;
	*ret_name = t.s + from;
	return end - from;
}

/* The end of a quoted value; open is its quote, escaped says it was \". */
static size_t
quoted_end(struct span t, size_t at, char open, bool escaped)
{
	while (at < t.len && t.s[at] != '\n') {
		if (t.s[at] == '\\') {
			if (escaped && at + 1 < t.len && t.s[at + 1] == open)
				break;
			at++;
		} else if (t.s[at] == open) {
			break;
		}
		at++;
	}
	return at < t.len ? at : t.len;
}

static size_t
bare_end(struct span t, size_t at, bool colon, size_t max)
{
	const char *stop = colon ? "\"'`;&|<>,}])\\" : "\"'`;&|<>)\\";
	size_t from = at;

	while (at < t.len && at - from < max && !isspace((unsigned char)t.s[at]) &&
	    (t.s[at] == '\0' || !strchr(stop, t.s[at])))
		at++;
	return at;
}

/* A reference, a placeholder or code rather than the secret itself. */
static bool
is_reference(const char *s, size_t len)
{
	if (len > LOOK_MAX)
		len = LOOK_MAX;
	return memchr("$<%*[{", s[0], 6) || memchr(s, '(', len) ||
	    (len > 2 && memcmp(s, "\xc2\xab", 2) == 0) ||	/* our sentinel */
	    (len > 1 && s[0] == s[1] && memchr("xX.-", s[0], 4));
}

static bool
assignment(struct span t, size_t at, size_t *ret_from, size_t *ret_to)
{
	bool colon = t.s[at] == ':';
	const char *name;
	size_t name_len = name_before(t, at, &name), value = at + 1, end;

	if (name_len == 0 || !secret_name(name, name_len))
		return false;
	while (value < t.len && value - at < 16 && t.s[value] == ' ')
		value++;
	bool spaced = value > at + 1 || name + name_len != t.s + at;
	bool escaped = value + 1 < t.len && t.s[value] == '\\';
	size_t open = value + escaped;

	if (open < t.len && (t.s[open] == '"' || t.s[open] == '\'')) {
		value = open + 1;
		end = quoted_end(t, value, t.s[open], escaped);
		/* a sentence is not a secret */
		if (end - value >= VALUE_MIN && memchr(t.s + value, ' ', end - value) &&
		    !looks_random(t.s + value, end - value, 6))
			return false;
	} else {
		end = bare_end(t, value, colon, LOOK_MAX);
		if ((colon || spaced) && end - value >= VALUE_MIN &&
		    !looks_random(t.s + value, end - value, 1))
			return false;
		if (end - value >= VALUE_MIN && !is_reference(t.s + value, end - value))
			end = bare_end(t, end, colon, t.len);
	}
	if (end - value < VALUE_MIN || is_reference(t.s + value, end - value))
		return false;
	*ret_from = value;
	*ret_to = end;
	return true;
}

/* Words that are too short to be a token by themselves: most of them. */
static bool
is_short(struct span t, size_t at)
{
	size_t end = at;

	while (end < t.len && end - at < TOKEN_MIN && is_base64url(t.s[end]))
		end++;
	return end - at < TOKEN_MIN && !starts(t, at, "SG.");
}

bool
redact_shape(const char *text, size_t len, size_t at, size_t *ret_from,
	size_t *ret_to)
{
	struct span t = { text, len };
	char c = text[at];

	*ret_from = at;
	if (c == '=' || (c == ':' && !starts(t, at, "://")))
		return assignment(t, at, ret_from, ret_to);
	if (c == ':')
		return url_password(t, at, ret_from, ret_to);
	if (c == '-')
		return private_key(t, at, ret_to);
	if (isdigit((unsigned char)c))
		return telegram_token(t, at, ret_to);
	if (strchr("AaBb", c) && http_auth(t, at, ret_from, ret_to))
		return true;
	if (is_short(t, at))
		return false;
	return prefixed(t, at, ret_to) || aws_key(t, at, ret_to) ||
	    discord_token(t, at, ret_to) || jwt(t, at, ret_to);
}

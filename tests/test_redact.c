#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/redact.h"

#define M "[redacted]"
/* Made up, in pieces, so that no scanner of repositories takes them for real. */
#define RND "Zk3" "9fQ2mB7xW1pL8vR4tY6"

static const struct { const char *text, *want; } masked[] = {
	{ "key sk-" RND "abc end", "key " M " end" },
	{ "sk-ant-api03-" RND "_x-" RND, M },
	{ "\"sk-or-v1-0123456789abcdef0123456789abcdef\"", "\"" M "\"" },
	{ "sk-proj-" RND "-" RND ",", M "," },
	{ "ghp_" RND RND " gho_" RND, M " " M },
	{ "github_pat_11" RND "_" RND, M },
	{ "xoxb-123456789012-" RND, M },
	{ "xoxp-1234567890-" RND " xoxa-2-" RND, M " " M },
	{ "https://api.telegram.org/bot123456789:AA" RND "_abcdefghij/getMe",
	    "https://api.telegram.org/bot" M "/getMe" },
	{ "123456:AA" RND "abcdefghijk", M },
	{ "token MTIzNDU2Nzg5MDEyMzQ1Njc4." "Gabc12." RND "abcdefghijk end",
	    "token " M " end" },
	{ "AKIA" "IOSFODNN7EXAMPLE", M },
	{ "AIza" "Sy" RND "abcdefghijklm", M },
	{ "Authorization: Bearer " RND, "Authorization: Bearer " M },
	{ "authorization: basic dXNlcjpwYXNz", "authorization: basic " M },
	{ "curl -H 'Authorization: token abcdefgh1'",
	    "curl -H 'Authorization: token " M "'" },
	{ "got bearer " RND "==.", "got bearer " M },
	{ "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n"
	    "-----END RSA PRIVATE KEY-----\nb", "a\n" M "\nb" },
	{ "-----BEGIN PRIVATE KEY-----\\nMIIE\\n", M },
	{ "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmN", M },
	{ "postgres://app:s3cr3t@db:5432/x", "postgres://app:" M "@db:5432/x" },
	{ "redis://:s3cr3tpw@h", "redis://:" M "@h" },
	{ "https://ghp" "x" RND "@github.com/a", "https://" M "@github.com/a" },
	{ "export OPENAI_API_KEY=abcdefgh", "export OPENAI_API_KEY=" M },
	{ "DB_PASSWORD='it is 8' x", "DB_PASSWORD='it is 8' x" },
	{ "DB_PASSWORD='hunter2 2long' x", "DB_PASSWORD='" M "' x" },
	{ "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG", "AWS_SECRET_ACCESS_KEY=" M },
	{ "MY_KEY=correcthorse", "MY_KEY=" M },
	{ "{\"api_key\": \"abcdefgh\", \"n\": 1}", "{\"api_key\": \"" M "\", \"n\": 1}" },
	{ "{\\\"token\\\":\\\"abcdefgh\\\"}", "{\\\"token\\\":\\\"" M "\\\"}" },
	{ "{\"password\":\"ab\\\"cdefgh\"}", "{\"password\":\"" M "\"}" },
	{ "clientSecret: abc12345", "clientSecret: " M },
	{ "bot_token: 'abc12345'", "bot_token: '" M "'" },
	{ "?access_token=abcdefgh&x=1", "?access_token=" M "&x=1" },
	{ "x-api-key: abcdefgh1", "x-api-key: " M },
	{ "password = tr0ub4dor", "password = " M },
};

/* Words of ordinary text, code and logs. */
static const char *const plain[] = {
	"the sk-learn-classification-report is ready",
	"task-force sk-short disk-" RND,
	"monkey=bananabanana", "key=session:telegram:12345",
	"session_key=main:telegram:123456789",
	"TOKEN=$OPENAI_API_KEY", "TOKEN=${X_TOKEN_NAME}", "password=<your password>",
	"PASSWORD=short", "password: please enter it",
	"The secret: everything depends on it", "token: required",
	"token = next_token_of_parser;", "password = getpass.getpass()",
	"bearer of bad news", "Bearer authentication is required here",
	"12:34:56 and 1234567:89", "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
	"commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
	"550e8400-e29b-41d4-a716-446655440000",
	"https://example.com:8080/a@b?c=d", "mailto:a@b.example", "git@github.com:a/b.git",
	"http://user@host/path", "max_tokens=4096000000", "tokenizer=sentencepiece",
	"My.package.OrganisationNames.MessageOriented.NamesOfThings",
	"AKIAVERYLOUD", "AIza", "ghp_", "-----BEGIN CERTIFICATE-----\nMIIE\n",
	"-----BEGIN PUBLIC KEY-----", "eyJ not a token", "a : b = c ::= d",
	"\"password\": \"must be at least eight letters\"",
	"passwords=12345678", "api_key=xxxxxxxxxxxx", "api_key=********",
	"if (key == other_key_value)",
};

static char *
redacted(const char *text)
{
	struct buf out;

	buf_init(&out, 1 << 20);
	assert_true(redact_text(&out, text, strlen(text)));
	return buf_take(&out);
}

static int
forget(void **state)
{
	(void)state;
	redact_clear();
	return 0;
}

static void
secrets_are_masked_by_shape(void **state)
{
	(void)state;

	for (size_t i = 0; i < ARRAY_LEN(masked); i++) {
		CLEANUP_FREE char *got = redacted(masked[i].text);

		assert_string_equal(got, masked[i].want);
	}
}

static void
masking_twice_changes_nothing_more(void **state)
{
	(void)state;

	for (size_t i = 0; i < ARRAY_LEN(masked); i++) {
		CLEANUP_FREE char *got = redacted(masked[i].want);

		assert_string_equal(got, masked[i].want);
	}
}

static void
ordinary_text_is_left_alone(void **state)
{
	(void)state;

	for (size_t i = 0; i < ARRAY_LEN(plain); i++) {
		CLEANUP_FREE char *got = redacted(plain[i]);

		assert_string_equal(got, plain[i]);
	}
}

static void
known_values_are_masked_wherever_they_are(void **state)
{
	(void)state;
	redact_add_secret("correct horse");
	redact_add_secret("correct horse battery");
	redact_add_secret("correct horse");
	redact_add_secret("short");
	redact_add_secret(NULL);

	CLEANUP_FREE char *a = redacted("xcorrect horsex correct horse battery short");
	/* longer than what the shape of an assignment covers */
	CLEANUP_FREE char *b = redacted("TOKEN=12345correct horse!");
	CLEANUP_FREE char *c = redacted("https://correct horse:abcdefgh@h");

	assert_string_equal(a, "x" M "x " M " short");
	assert_string_equal(b, "TOKEN=" M "!");
	assert_string_equal(c, "https://" M ":abcdefgh@h");
	redact_clear();
	CLEANUP_FREE char *d = redacted("xcorrect horsex");

	assert_string_equal(d, "xcorrect horsex");
}

#define S(prefix) "\xc2\xabredacted:" prefix "\xe2\x80\xa6\xc2\xbb"

static void
what_may_be_written_back_carries_sentinels(void **state)
{
	static const char *const rows[][2] = {
		{ "key: ghp_" RND RND "\n", "key: " S("ghp_") "\n" },
		{ "AKIA" "IOSFODNN7EXAMPLE", S("AKIA") },
		{ "DB_PASSWORD=hunter2long\n", "DB_PASSWORD=" S("") "\n" },
		{ "nothing here", "nothing here" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_BUF struct buf out;
		size_t len = strlen(rows[i][0]);

		buf_init(&out, 1000);
		assert_true(redact_sentinels(&out, rows[i][0], len));
		assert_string_equal(out.data, rows[i][1]);
		assert_false(redact_has_sentinel(rows[i][0], len));
		assert_int_equal(redact_has_sentinel(out.data, out.len),
		    strcmp(rows[i][0], rows[i][1]) != 0);
		/* Another masker on the way doesn't turn it into a plain mask. */
		CLEANUP_FREE char *again = redacted(out.data);

		assert_string_equal(again, rows[i][1]);
	}
	assert_true(redact_has_sentinel("KEY=" M "\n", 15));
}

/* `echo -n "user:$KEY!" | base64` and its kind, at each place in a group. */
static void
known_values_are_masked_in_other_writings(void **state)
{
	static const char *const rows[] = {
		/* base64 of "hunter2/pass+phrase", of "a" and it, of "ab" and it */
		"x aHVudGVyMi9wYXNzK3BocmFzZQ==", "YWh1bnRlcjIvcGFzcytwaHJhc2U=",
		"YWJodW50ZXIyL3Bhc3MrcGhyYXNl", "YWJodW50ZXIyL3Bhc3MrcGhyYXNlIQ",
		"68756e746572322f706173732b706872617365",
		"68756E746572322F706173732B706872617365",
		"q=hunter2%2Fpass%2Bphrase&x",
	};

	(void)state;
	redact_add_secret("hunter2/pass+phrase");
	redact_add_secret("quote\"and\\back");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP_FREE char *got = redacted(rows[i]);

		if (!strstr(got, M) || strstr(got, "ZXIyL") ||
		    strstr(got, "cjIvc") || strstr(got, "MjIvc"))
			fail_msg("%s -> %s", rows[i], got);
	}
	CLEANUP_FREE char *json = redacted("{\"a\":\"quote\\\"and\\\\back\"}");
	assert_string_equal(json, "{\"a\":\"" M "\"}");
}

static void
bytes_that_are_no_text_pass_unchanged(void **state)
{
	(void)state;
	CLEANUP_BUF struct buf out;

	buf_init(&out, 100);
	assert_true(redact_text(&out, "a\0TOKEN=\0\xFF", 10));
	assert_int_equal(out.len, 10);
	assert_memory_equal(out.data, "a\0TOKEN=\0\xFF", 10);
}

static void
a_full_buffer_is_reported_and_leaks_nothing(void **state)
{
	(void)state;
	CLEANUP_BUF struct buf out;
	const char *text = "TOKEN=abcdefgh123";

	buf_init(&out, 12);
	assert_false(redact_text(&out, text, strlen(text)));
	assert_null(strstr(out.data, "abc"));
}

/*
 * Texts made to be scanned again and again. A quadratic scanner needs minutes
 * here; the bound is the test runner's patience, not a clock.
 */
static void
hostile_text_takes_linear_time(void **state)
{
	(void)state;
	static const char *const units[] = {
		"sk-", "a://", "eyJ.", "TOKEN=", "password:", "1", "12345678:", "MMMM",
		"Bearer ", "-----BEGIN ", "\"token\":\"", "AKIA", "authorization: ",
		"-----BEGIN PRIVATE KEY", "eyJhbGciOiJI.eyJ", "token=$", "a", "://a:b@",
	};
	size_t size = 1 << 20;
	char *text = mem_alloc(size + 1);

	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		size_t n = strlen(units[i]);
		CLEANUP_BUF struct buf out;

		for (size_t at = 0; at < size; at++)
			text[at] = units[i][at % n];
		buf_init(&out, 4 * size);
		assert_true(redact_text(&out, text, size));
	}
	mem_free(text);
}

#define TEST(f) cmocka_unit_test_teardown(f, forget)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(secrets_are_masked_by_shape),
		TEST(masking_twice_changes_nothing_more),
		TEST(ordinary_text_is_left_alone),
		TEST(known_values_are_masked_wherever_they_are),
		TEST(what_may_be_written_back_carries_sentinels),
		TEST(known_values_are_masked_in_other_writings),
		TEST(bytes_that_are_no_text_pass_unchanged),
		TEST(a_full_buffer_is_reported_and_leaks_nothing),
		TEST(hostile_text_takes_linear_time),
	};

	return cmocka_run_group_tests_name("redact", tests, NULL, NULL);
}

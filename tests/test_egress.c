/*
 * Red if: an empty list allows something, a pattern fits a name it must not, a
 * denial loses to a permission, an address that is not public passes without
 * being named, or a metadata service passes at all.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/mem.h"
#include "sandbox/egress.h"

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })

static struct egress *
policy(const struct egress_opts *opts)
{
	struct err err = { ERR_NONE, "" };
	struct egress *e = egress_new(opts, &err);

	if (!e)
		fail_msg("%s", err.text);
	return e;
}

static bool
allows(const struct egress *e, const char *host, unsigned port)
{
	struct egress_target t;
	struct err err = { ERR_NONE, "" };

	if (egress_target(&t, host, strlen(host), port, &err) < 0)
		fail_msg("%s: %s", host, err.text);
	int rc = egress_check(e, &t, &err);
	assert_int_equal(err.code, rc < 0 ? ERR_DENIED : ERR_NONE);
	return rc == 0;
}

static bool
allows_ip(const struct egress *e, const char *host, const char *address,
	unsigned port)
{
	struct egress_target t;
	struct ip ip;

	assert_int_equal(egress_target(&t, host, strlen(host), port, NULL), 0);
	assert_int_equal(ip_parse(address, &ip), 0);
	return egress_check_ip(e, &t, &ip, NULL) == 0;
}

static void
an_empty_list_allows_nothing(void **state)
{
	struct egress *e = policy(&(struct egress_opts){ NULL, NULL, NULL, NULL });

	(void)state;
	assert_false(allows(e, "example.org", 443));
	assert_false(allows(e, "1.1.1.1", 80));
	egress_free(&e);
}

static void
patterns_fit_whole_labels_only(void **state)
{
	struct egress *e = policy(&(struct egress_opts){
		.allow = LIST("Example.org", "*.wild.net", "one.port:8443") });

	(void)state;
	assert_true(allows(e, "example.org", 443));
	assert_true(allows(e, "EXAMPLE.org.", 80));
	assert_false(allows(e, "example.org", 22));
	assert_false(allows(e, "www.example.org", 443));
	assert_false(allows(e, "badexample.org", 443));
	assert_false(allows(e, "example.org.evil.com", 443));
	assert_true(allows(e, "a.wild.net", 443));
	assert_true(allows(e, "a.b.wild.net", 443));
	assert_false(allows(e, "wild.net", 443));
	assert_false(allows(e, "evilwild.net", 443));
	assert_true(allows(e, "one.port", 8443));
	assert_false(allows(e, "one.port", 443));
	egress_free(&e);
}

static void
a_denial_is_stronger(void **state)
{
	struct egress *e = policy(&(struct egress_opts){
		.allow = LIST("*", "no.example"),
		.deny = LIST("no.example", "*.no.example", "half.example:80",
			"9.9.9.0/24"),
		.ports = LIST("80", "8000-8010") });

	(void)state;
	assert_true(allows(e, "anything.example", 80));
	assert_true(allows(e, "anything.example", 8010));
	assert_false(allows(e, "anything.example", 8011));
	assert_false(allows(e, "anything.example", 443));
	assert_false(allows(e, "no.example", 80));
	assert_false(allows(e, "deep.no.example", 80));
	assert_false(allows(e, "half.example", 80));
	assert_true(allows(e, "half.example", 8000));
	assert_false(allows(e, "9.9.9.9", 80));
	/* A denied network counts also for what a name leads to. */
	assert_false(allows_ip(e, "anything.example", "9.9.9.9", 80));
	assert_true(allows_ip(e, "anything.example", "9.9.8.9", 80));
	egress_free(&e);
}

static void
literals_need_a_literal_entry(void **state)
{
	struct egress *e = policy(&(struct egress_opts){
		.allow = LIST("1.2.3.4", "[2a00::1]:99", "2a01::/16",
			"5.6.7.0/24:81") });

	(void)state;
	assert_true(allows(e, "1.2.3.4", 80));
	assert_true(allows(e, "0x1.02.772", 80));
	assert_true(allows(e, "::ffff:1.2.3.4", 80));
	assert_false(allows(e, "1.2.3.5", 80));
	assert_true(allows(e, "[2a00:0::1]", 99));
	assert_false(allows(e, "[2a00::1]", 80));
	assert_true(allows(e, "2a01:5::9", 443));
	assert_true(allows(e, "5.6.7.8", 81));
	assert_false(allows(e, "5.6.7.8", 80));
	egress_free(&e);
}

static void
only_public_addresses_pass_unnamed(void **state)
{
	static const char *const never[] = {
		"127.0.0.1", "10.1.1.1", "192.168.1.1", "169.254.1.1", "100.64.1.1",
		"224.0.0.1", "0.0.0.0", "240.0.0.1", "::1", "fe80::1", "fd00::1",
		"::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:a00:1::", "2001::1",
		"169.254.169.254", "fd00:ec2::254",
	};
	struct egress *e = policy(&(struct egress_opts){ .allow = LIST("*") });

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(never); i++)
		if (allows_ip(e, "any.example", never[i], 80))
			fail_msg("%s passes", never[i]);
	assert_true(allows_ip(e, "any.example", "93.184.216.34", 80));
	egress_free(&e);
}

static void
a_named_private_address_passes_metadata_never(void **state)
{
	struct egress *e = policy(&(struct egress_opts){ .allow = LIST("*"),
		.private_allow = LIST("10.1.0.0/16", "127.0.0.1:8080",
			"169.254.0.0/16", "[fd00::]/8:443", "::1") });

	(void)state;
	assert_true(allows_ip(e, "inner.example", "10.1.9.9", 80));
	assert_false(allows_ip(e, "inner.example", "10.2.0.1", 80));
	assert_true(allows_ip(e, "inner.example", "127.0.0.1", 8080));
	assert_false(allows_ip(e, "inner.example", "127.0.0.1", 80));
	assert_true(allows_ip(e, "inner.example", "169.254.1.1", 80));
	assert_false(allows_ip(e, "inner.example", "169.254.169.254", 80));
	assert_true(allows_ip(e, "inner.example", "fd77::1", 443));
	assert_false(allows_ip(e, "inner.example", "fd77::1", 80));
	assert_false(allows_ip(e, "inner.example", "fd00:ec2::254", 443));
	assert_true(allows_ip(e, "inner.example", "::1", 80));
	egress_free(&e);
}

static void
hosts_that_are_none_are_refused(void **state)
{
	static const struct { const char *host; size_t len; unsigned long port; } bad[] = {
		{ "", 0, 80 }, { ".", 1, 80 }, { "a..b", 4, 80 }, { "a b", 3, 80 },
		{ "a\0.example.org", 14, 80 }, { "ex\xc3\xa4mple", 8, 80 },
		{ "a/b", 3, 80 }, { "user@host", 9, 80 }, { "*.example.org", 13, 80 },
		{ "example.org..", 13, 80 }, { "[example.org]", 13, 80 },
		{ "[::1", 4, 80 }, { "1.2.3.4.5", 9, 80 }, { "foo.256.1", 9, 80 },
		{ "fe80::1%eth0", 12, 80 }, { "ok.example", 10, 0 },
		{ "ok.example", 10, 65536 }, { "a\nb", 3, 80 }, { "a%2eb", 5, 80 },
	};
	struct egress_target t;
	struct err err;
	char label[80];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		err.code = ERR_NONE;
		if (egress_target(&t, bad[i].host, bad[i].len, bad[i].port, &err) == 0)
			fail_msg("%s passes", bad[i].host);
		assert_int_equal(err.code, ERR_INVALID);
	}
	memset(label, 'a', sizeof(label));
	assert_int_equal(egress_target(&t, label, 63, 80, NULL), 0);
	assert_int_equal(egress_target(&t, label, 64, 80, NULL), -1);
}

static void
wrong_lists_name_their_entry(void **state)
{
	static const char *const hosts[] = { "a b", "*.*.org", "http://x.org", "*x",
		"x.org:0", "x.org:http", "1.2.3.4/33", "[::1", "1.2.3.4.5", "" };
	static const char *const ports[] = { "0", "70000", "9-8", "a", "1-", "-1", "" };
	struct err err = { ERR_NONE, "" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
		const char *const list[] = { hosts[i], NULL };
		assert_null(egress_new(&(struct egress_opts){ .allow = list }, &err));
		assert_int_equal(err.code, ERR_CONFIG);
		assert_non_null(strstr(err.text, "native.network_allow"));
		assert_null(egress_new(&(struct egress_opts){ .deny = list }, &err));
		assert_null(egress_new(&(struct egress_opts){
			.private_allow = list }, &err));
	}
	for (size_t i = 0; i < ARRAY_LEN(ports); i++) {
		const char *const list[] = { ports[i], NULL };
		assert_null(egress_new(&(struct egress_opts){ .ports = list }, &err));
	}
	/* Names are no private addresses: they could lead anywhere. */
	assert_null(egress_new(&(struct egress_opts){
		.private_allow = LIST("intranet.example") }, &err));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_list_allows_nothing),
		cmocka_unit_test(patterns_fit_whole_labels_only),
		cmocka_unit_test(a_denial_is_stronger),
		cmocka_unit_test(literals_need_a_literal_entry),
		cmocka_unit_test(only_public_addresses_pass_unnamed),
		cmocka_unit_test(a_named_private_address_passes_metadata_never),
		cmocka_unit_test(hosts_that_are_none_are_refused),
		cmocka_unit_test(wrong_lists_name_their_entry),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

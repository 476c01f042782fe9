/*
 * Red if: a spelling of an address is taken for a name, a special network is
 * taken for a public one (or the reverse, at the edges), or IPv4 in the guise
 * of IPv6 is judged by its guise.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "base/ip.h"
#include "base/mem.h"

static void
every_spelling_is_read(void **state)
{
	static const char *const same[][2] = {
		{ "127.0.0.1", "127.0.0.1" }, { "127.1", "127.0.0.1" },
		{ "127.0.1", "127.0.0.1" }, { "2130706433", "127.0.0.1" },
		{ "017700000001", "127.0.0.1" }, { "0x7f000001", "127.0.0.1" },
		{ "0X7F.1", "127.0.0.1" }, { "0177.0.0.01", "127.0.0.1" },
		{ "0", "0.0.0.0" }, { "0x", "0.0.0.0" }, { "10.0x10", "10.0.0.16" },
		{ "169.254.43518", "169.254.169.254" },
		{ "0xa9fea9fe", "169.254.169.254" },
		{ "2852039166", "169.254.169.254" },
		{ "0251.0376.0251.0376", "169.254.169.254" },
		{ "::1", "::1" }, { "0:0:0:0:0:0:0:1", "::1" },
		{ "::ffff:10.0.0.1", "10.0.0.1" }, { "::FFFF:0a00:0001", "10.0.0.1" },
		{ "255.255.255.255", "255.255.255.255" },
		{ "64:ff9b::a9fe:a9fe", "64:ff9b::a9fe:a9fe" },
	};
	char text[IP_TEXT_MAX];
	struct ip ip;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(same); i++) {
		assert_true(ip_is_literal(same[i][0]));
		if (ip_parse(same[i][0], &ip) < 0)
			fail_msg("%s is not read", same[i][0]);
		ip_text(&ip, text);
		assert_string_equal(text, same[i][1]);
	}
}

static void
what_is_no_address_is_refused(void **state)
{
	static const char *const wrong[] = {
		"", "1.2.3.4.5", "256.1.1.1", "1.2.3.256", "1.2.65536", "1.16777216",
		"4294967296", "0x100000000", "08.1.1.1", "0x1g.1", "1..2", ".1",
		"1.2.3.", "1.2.3.4 ", "+1.2.3.4", "-1", "fe80::1%eth0", "::1::", ":1",
		"[::1]", "12345::", "1.2.3.4/8", "99999999999999999999",
	};
	struct ip ip;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		if (ip_parse(wrong[i], &ip) == 0)
			fail_msg("\"%s\" is taken for an address", wrong[i]);
}

/* What ends in a number is never asked of a resolver. */
static void
names_and_literals_are_told_apart(void **state)
{
	static const char *const literal[] = {
		"1", "foo.1", "foo.0x7f", "a.b.09", "1.2.3.4.", "::", "fe80::1%lo",
		"99999999999", "x.0x", "1.2.3.4.5",
	};
	static const char *const name[] = {
		"example.org", "1.example", "0x7f.org", "a.0xg", "3com", "1e3.de",
		"7f000001", "org.", "xn--80ak6aa92e.com",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(literal); i++)
		if (!ip_is_literal(literal[i]))
			fail_msg("%s is taken for a name", literal[i]);
	for (size_t i = 0; i < ARRAY_LEN(name); i++)
		if (ip_is_literal(name[i]))
			fail_msg("%s is taken for an address", name[i]);
}

static const struct { const char *text; enum ip_kind kind; } kinds[] = {
	{ "1.1.1.1", IP_PUBLIC }, { "8.8.8.8", IP_PUBLIC },
	{ "0.0.0.0", IP_UNSPECIFIED }, { "0.255.255.255", IP_UNSPECIFIED },
	{ "1.0.0.0", IP_PUBLIC }, { "9.255.255.255", IP_PUBLIC },
	{ "10.0.0.0", IP_PRIVATE }, { "10.255.255.255", IP_PRIVATE },
	{ "11.0.0.0", IP_PUBLIC }, { "100.63.255.255", IP_PUBLIC },
	{ "100.64.0.0", IP_SHARED }, { "100.127.255.255", IP_SHARED },
	{ "100.128.0.0", IP_PUBLIC }, { "100.100.100.200", IP_METADATA },
	{ "126.255.255.255", IP_PUBLIC }, { "127.0.0.0", IP_LOOPBACK },
	{ "127.255.255.255", IP_LOOPBACK }, { "128.0.0.0", IP_PUBLIC },
	{ "168.63.129.16", IP_METADATA }, { "168.63.129.17", IP_PUBLIC },
	{ "169.253.255.255", IP_PUBLIC }, { "169.254.0.0", IP_LINK_LOCAL },
	{ "169.254.169.254", IP_METADATA }, { "169.254.170.2", IP_METADATA },
	{ "169.254.170.23", IP_METADATA }, { "169.254.255.255", IP_LINK_LOCAL },
	{ "169.255.0.0", IP_PUBLIC }, { "172.15.255.255", IP_PUBLIC },
	{ "172.16.0.0", IP_PRIVATE }, { "172.31.255.255", IP_PRIVATE },
	{ "172.32.0.0", IP_PUBLIC }, { "192.0.0.1", IP_RESERVED },
	{ "192.0.0.192", IP_METADATA }, { "192.0.1.0", IP_PUBLIC },
	{ "192.0.2.1", IP_RESERVED }, { "192.88.99.1", IP_TUNNEL },
	{ "192.168.0.1", IP_PRIVATE }, { "192.169.0.0", IP_PUBLIC },
	{ "198.17.255.255", IP_PUBLIC }, { "198.18.0.0", IP_RESERVED },
	{ "198.19.255.255", IP_RESERVED }, { "198.51.100.7", IP_RESERVED },
	{ "203.0.113.1", IP_RESERVED }, { "223.255.255.255", IP_PUBLIC },
	{ "224.0.0.1", IP_MULTICAST }, { "239.255.255.255", IP_MULTICAST },
	{ "240.0.0.1", IP_RESERVED }, { "255.255.255.255", IP_MULTICAST },
	{ "::", IP_UNSPECIFIED }, { "::1", IP_LOOPBACK }, { "::2", IP_TUNNEL },
	{ "::7f00:1", IP_TUNNEL }, { "::ffff:127.0.0.1", IP_LOOPBACK },
	{ "::ffff:8.8.8.8", IP_PUBLIC }, { "::ffff:0:127.0.0.1", IP_RESERVED },
	{ "64:ff9b::7f00:1", IP_LOOPBACK }, { "64:ff9b::8.8.8.8", IP_PUBLIC },
	{ "64:ff9b::a9fe:a9fe", IP_METADATA }, { "64:ff9b:1::1", IP_RESERVED },
	{ "100::1", IP_RESERVED }, { "2001:4860:4860::8888", IP_PUBLIC },
	{ "2001::1", IP_TUNNEL }, { "2001:2::1", IP_RESERVED },
	{ "2001:10::1", IP_RESERVED }, { "2001:200::1", IP_PUBLIC },
	{ "2001:db8::1", IP_RESERVED }, { "2002:7f00:1::1", IP_TUNNEL },
	{ "2002:808:808::1", IP_TUNNEL }, { "3fff:fff::1", IP_RESERVED },
	{ "3fff:1000::1", IP_PUBLIC }, { "4000::1", IP_RESERVED },
	{ "2a00::5efe:10.0.0.1", IP_TUNNEL },
	{ "2a00::200:5efe:10.0.0.1", IP_TUNNEL }, { "2a00::5eff:a00:1", IP_PUBLIC },
	{ "fc00::1", IP_PRIVATE }, { "fd00:ec2::254", IP_METADATA },
	{ "fd20:ce::254", IP_METADATA }, { "fdff::1", IP_PRIVATE },
	{ "fe80::1", IP_LINK_LOCAL }, { "febf::1", IP_LINK_LOCAL },
	{ "fec0::1", IP_PRIVATE }, { "ff02::1", IP_MULTICAST },
};

static void
each_network_is_what_it_is(void **state)
{
	struct ip ip;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		assert_int_equal(ip_parse(kinds[i].text, &ip), 0);
		if (ip_kind(&ip) != kinds[i].kind)
			fail_msg("%s is taken for %s", kinds[i].text,
				ip_kind_name(ip_kind(&ip)));
	}
}

static void
networks_have_edges(void **state)
{
	struct ip_net net;
	struct ip in, out;

	(void)state;
	assert_int_equal(ip_net_parse("10.1.2.0/23", &net), 0);
	assert_int_equal(ip_parse("10.1.3.255", &in), 0);
	assert_int_equal(ip_parse("10.1.4.0", &out), 0);
	assert_true(ip_net_has(&net, &in));
	assert_false(ip_net_has(&net, &out));
	assert_int_equal(ip_net_parse("0.0.0.0/0", &net), 0);
	assert_true(ip_net_has(&net, &out));
	assert_int_equal(ip_parse("::1", &out), 0);
	assert_false(ip_net_has(&net, &out));
	assert_int_equal(ip_net_parse("fd00::/8", &net), 0);
	assert_int_equal(ip_parse("fd12::1", &in), 0);
	assert_true(ip_net_has(&net, &in));
	assert_int_equal(ip_net_parse("10.0.0.1/8", &net), -1);
	assert_int_equal(ip_net_parse("10.0.0.0/33", &net), -1);
	assert_int_equal(ip_net_parse("10.0.0.0/", &net), -1);
	assert_int_equal(ip_net_parse("10.0.0.0/ 8", &net), -1);
	assert_int_equal(ip_net_parse("::ffff:10.0.0.0/104", &net), -1);
	assert_int_equal(ip_net_parse("example.org", &net), -1);
}

static void
sockaddrs_go_both_ways(void **state)
{
	static const char *const texts[] = { "192.0.2.7", "2001:db8::7" };
	struct sockaddr_storage sa;
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	struct ip ip, back;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		assert_int_equal(ip_parse(texts[i], &ip), 0);
		assert_int_equal(ip_to_sockaddr(&ip, 443, &sa), ip.v6 ?
			sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
		assert_int_equal(ip_from_sockaddr((struct sockaddr *)&sa, &back), 0);
		assert_true(ip_equal(&ip, &back));
	}
	/* A resolver's mapped address is judged as IPv4, too. */
	assert_int_equal(inet_pton(AF_INET6, "::ffff:10.0.0.1", &in6.sin6_addr), 1);
	assert_int_equal(ip_from_sockaddr((struct sockaddr *)&in6, &back), 0);
	assert_false(back.v6);
	assert_int_equal(ip_kind(&back), IP_PRIVATE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_spelling_is_read),
		cmocka_unit_test(what_is_no_address_is_refused),
		cmocka_unit_test(names_and_literals_are_told_apart),
		cmocka_unit_test(each_network_is_what_it_is),
		cmocka_unit_test(networks_have_edges),
		cmocka_unit_test(sockaddrs_go_both_ways),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

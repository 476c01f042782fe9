/*
 * The filtered network in a real sandbox, with real clients, against servers
 * of the test on loopback, which the policy permits by name.  As whoever runs
 * the tests, and once more as an ordinary user when that is root.  Red if: a
 * usual client can't get out, anything gets out without the proxy, a redirect
 * or a changed name leads further than the lists, or a connection outlives its
 * command or sandbox.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <netdb.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ip.h"
#include "base/mem.h"
#include "tests/raw_server.h"
#include "tests/real_native.h"

#define URL "http://127.0.0.1:3128"
#define CURL "curl -sS -m 20 --noproxy '' "

static struct world {
	struct nat nat;
	struct raw_server *server;
	char *port;
	bool able, has_curl;
	atomic_int open, rebinds;
} w;

/* ---- names: the system's function, as far as these tests go ------------------------ */

int
getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
	struct addrinfo **ret)
{
	struct { struct addrinfo info; struct sockaddr_storage sa; } *a;
	const char *address = "127.0.0.1";
	struct ip ip;

	(void)service, (void)hints;
	/* At the first question it is what is permitted, then what is not. */
	if (strcmp(name, "rebind.test") == 0 && atomic_fetch_add(&w.rebinds, 1) > 0)
		address = "10.0.0.1";
	else if (strcmp(name, "inner.test") == 0)
		address = "169.254.169.254";
	else if (strcmp(name, "server.test") != 0 && strcmp(name, "rebind.test") != 0)
		return EAI_NONAME;
	a = mem_alloc(sizeof(*a));
	assert_int_equal(ip_parse(address, &ip), 0);
	a->info.ai_addrlen = ip_to_sockaddr(&ip, 0, &a->sa);
	a->info.ai_addr = (struct sockaddr *)&a->sa;
	*ret = &a->info;
	return 0;
}

void
freeaddrinfo(struct addrinfo *list)
{
	mem_free(list);
}

/* ---- the server ------------------------------------------------------------------------ */

static void
serve(void *arg, int fd, int n)
{
	char in[8192];

	(void)arg, (void)n;
	atomic_fetch_add(&w.open, 1);
	if (raw_read_request(fd, in, sizeof(in)) == 0) {
		/* gone */
	} else if (strstr(in, "/redirect")) {
		raw_write(fd, "HTTP/1.1 302 Found\r\n"
			"Location: http://169.254.169.254/latest/meta-data/\r\n"
			"Content-Length: 0\r\nConnection: close\r\n\r\n");
	} else if (strstr(in, "/hang")) {
		raw_wait_gone(fd);
	} else {
		char *body = strstr(in, "\r\n\r\n");
		CLEANUP_FREE char *out = mem_printf("HTTP/1.1 200 OK\r\n"
			"Content-Length: %zu\r\nConnection: close\r\n\r\nserved%s",
			6 + strlen(body + 4), body + 4);
		raw_write(fd, out);
	}
	atomic_fetch_sub(&w.open, 1);
}

/* ---- fixtures --------------------------------------------------------------------------- */

static int
setup(void **state)
{
	struct nat_run run;

	(void)state;
	memset(&w, 0, sizeof(w));
	w.server = raw_server_new(serve, NULL);
	w.port = mem_printf("%d", raw_server_port(w.server));
	CLEANUP_FREE char *inner = mem_printf("127.0.0.1:%s", w.port);
	const char *const allow[] = { "*.test", "127.0.0.1", "169.254.169.254",
		"10.0.0.1", NULL };
	const char *const ports[] = { "80", w.port, NULL };
	const char *const named[] = { inner, NULL };
	const struct native_opts opts = { .network = "filtered", .egress = {
		.allow = allow, .ports = ports, .private_allow = named } };

	if (!nat_start(&w.nat, &opts, NULL))
		fail_msg("%s", w.nat.error);
	w.able = nat_probe(&w.nat) && nat_open(&w.nat);
	if (!w.able) {
		fprintf(stderr, "# skipped: %s\n", w.nat.error);
		return 0;
	}
	nat_run(&w.nat, &run, "command -v curl");
	w.has_curl = nat_exit_code(&run) == 0;
	nat_run_done(&run);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	nat_stop(&w.nat);
	raw_server_free(&w.server);
	mem_free(w.port);
	return 0;
}

#define NEEDS(what) do { if (!(what)) skip(); } while (0)

/* The script sees the port as $PORT. */
static void
expect(const char *script, int code, const char *out)
{
	CLEANUP_FREE char *text = mem_printf("PORT=%s\n%s", w.port, script);

	nat_expect(&w.nat, text, code, out);
}

static void
expect_part(const char *script, const char *part)
{
	CLEANUP_FREE char *text = mem_printf("PORT=%s\n%s", w.port, script);
	struct nat_run run;

	nat_run(&w.nat, &run, text);
	if (!strstr(run.out.data, part))
		fail_msg("`%s` gave %s%s", script, run.out.data, run.error);
	nat_run_done(&run);
}

/* ---- what a command meets ------------------------------------------------------------------ */

static void
the_probe_proves_it(void **state)
{
	const char *const *env = w.nat.props.env;
	bool found = false;

	(void)state;
	NEEDS(w.able);
	assert_string_equal(w.nat.props.network, "filtered");
	assert_int_equal(w.nat.props.isolation, SANDBOX_ISOLATED);
	for (; *env; env++)
		found = found || strcmp(*env, "https_proxy=" URL) == 0;
	assert_true(found);
}

static void
nothing_gets_out_by_itself(void **state)
{
	(void)state;
	NEEDS(w.able);
	/* The host's loopback is another one; all else has no route. */
	expect("(exec 4<>/dev/tcp/127.0.0.1/$PORT) 2>&1 | grep -o refused | head -n 1", 0,
		"refused\n");
	expect("(exec 4<>/dev/tcp/192.0.2.1/80) 2>&1 | grep -o unreachable | head -n 1",
		0, "unreachable\n");
	expect("(exec 4>/dev/udp/192.0.2.1/53) 2>&1 | grep -o unreachable | head -n 1", 0,
		"unreachable\n");
	expect("getent hosts server.test; echo $?", 0, "2\n");
	/* Nobody else can listen where the proxy does. */
	expect("command -v python3 >/dev/null || { echo OK; exit; }\n"
		"python3 -c 'import socket\n"
		"for at in \"127.0.0.1\", \"0.0.0.0\":\n"
		" s = socket.socket()\n"
		" s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\n"
		" s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)\n"
		" try: s.bind((at, 3128)); s.listen(); print(\"BOUND\")\n"
		" except OSError: pass\n"
		"print(\"OK\")'", 0, "OK\n");
}

static void
usual_clients_get_through(void **state)
{
	(void)state;
	NEEDS(w.able && w.has_curl);
	expect("export http_proxy=" URL "\n" CURL "http://server.test:$PORT/", 0,
		"served");
	expect(CURL "-x " URL " http://127.0.0.1:$PORT/", 0, "served");
	expect(CURL "-p -x " URL " http://server.test:$PORT/", 0, "served");
	expect(CURL "-x socks5h://127.0.0.1:3128 http://server.test:$PORT/", 0,
		"served");
	expect(CURL "-x socks5://127.0.0.1:3128 http://127.0.0.1:$PORT/", 0, "served");
	expect("[ -e /proc/net/if_inet6 ] || { echo -n served; exit; }\n"
		CURL "-x http://[::1]:3128 http://server.test:$PORT/", 0, "served");
	expect(CURL "-x " URL " -d words http://server.test:$PORT/", 0, "servedwords");
	/* Two on what the client would keep open. */
	expect(CURL "-x " URL " http://server.test:$PORT/ http://server.test:$PORT/",
		0, "servedserved");
	expect("command -v python3 >/dev/null || { echo -n served; exit; }\n"
		"export http_proxy=" URL "\n"
		"python3 -c 'import sys, urllib.request as u\n"
		"sys.stdout.write(u.urlopen(sys.argv[1]).read().decode())' "
		"http://server.test:$PORT/", 0, "served");
}

static void
refusals_say_why(void **state)
{
	(void)state;
	NEEDS(w.able && w.has_curl);
	expect_part(CURL "-x " URL " http://evil.example/",
		"gatehouse: evil.example is not on native.network_allow");
	expect_part(CURL "-x " URL " http://server.test:22/", "port 22");
	expect_part(CURL "-x " URL " http://inner.test/latest/", "metadata");
	expect_part(CURL "-p -x " URL " http://inner.test/ 2>&1", "403");
	expect_part(CURL "-x socks5h://127.0.0.1:3128 http://evil.example/ 2>&1",
		"curl: (97)");
	/* Another port of the very address that is permitted. */
	expect_part(CURL "-x " URL " http://127.0.0.1/", "loopback");
}

static void
a_redirect_is_a_request_like_any(void **state)
{
	(void)state;
	NEEDS(w.able && w.has_curl);
	expect_part(CURL "-L -x " URL " http://server.test:$PORT/redirect", "metadata");
}

static void
a_name_that_changes_gains_nothing(void **state)
{
	(void)state;
	NEEDS(w.able && w.has_curl);
	expect(CURL "-x " URL " http://rebind.test:$PORT/", 0, "served");
	assert_int_equal(atomic_load(&w.rebinds), 1);
	expect_part(CURL "-x " URL " http://rebind.test:$PORT/",
		"10.0.0.1, a private address");
}

/* ---- whose connection it is -------------------------------------------------------------------- */

static void
wait_open(int want)
{
	for (int i = 0; i < 2000 && atomic_load(&w.open) != want; i++)
		real_turn(&w.nat.real, 5);
	assert_int_equal(atomic_load(&w.open), want);
}

static void
a_connection_ends_with_its_command_or_sandbox(void **state)
{
	CLEANUP_FREE char *script = mem_printf("exec 4<>/dev/tcp/127.0.0.1/3128\n"
		"printf 'GET http://server.test:%s/hang HTTP/1.0\\r\\n\\r\\n' >&4\n"
		"sleep 1000", w.port);
	struct nat_run run;

	(void)state;
	NEEDS(w.able);
	nat_spawn(&w.nat, &run, script, 0, NULL);
	wait_open(1);
	nat_kill(&run);
	assert_true(real_until(&w.nat.real, &run.dead));
	nat_run_done(&run);
	wait_open(0);
	nat_spawn(&w.nat, &run, script, 0, NULL);
	wait_open(1);
	nat_close(&w.nat);
	assert_true(real_until(&w.nat.real, &run.dead));
	nat_run_done(&run);
	wait_open(0);
	/* A new one over the same files has a way out of its own. */
	assert_true(nat_open(&w.nat));
	NEEDS(w.has_curl);
	expect(CURL "-x " URL " http://server.test:$PORT/", 0, "served");
}

/* Red if a listener were taken for another sandbox's. */
static void
each_sandbox_has_a_way_of_its_own(void **state)
{
	struct box *first = w.nat.box;

	(void)state;
	NEEDS(w.able && w.has_curl);
	assert_true(nat_open(&w.nat));
	assert_ptr_not_equal(w.nat.box, first);
	expect(CURL "-x " URL " http://server.test:$PORT/", 0, "served");
	struct box *second = w.nat.box;
	/* The end of one is not the end of the other. */
	w.nat.box = first;
	nat_close(&w.nat);
	w.nat.box = second;
	expect(CURL "-x " URL " http://server.test:$PORT/", 0, "served");
}

static void
ten_thousand_connections_hurt_nobody_else(void **state)
{
	struct nat_run run;

	(void)state;
	NEEDS(w.able);
	/* Each opens and never speaks; then one that does gets its turn. */
	nat_spawn(&w.nat, &run, "command -v python3 >/dev/null || exit 0\n"
		"for i in $(seq 12); do python3 -c 'import socket\n"
		"s = []\n"
		"for i in range(850):\n"
		" c = socket.socket(); c.setblocking(0)\n"
		" c.connect_ex((\"127.0.0.1\", 3128)); s.append(c)\n"
		"' & done; wait", 0, NULL);
	assert_true(real_until(&w.nat.real, &run.dead));
	assert_int_equal(nat_exit_code(&run), 0);
	nat_run_done(&run);
	NEEDS(w.has_curl);
	expect(CURL "-x " URL " http://server.test:$PORT/", 0, "served");
}

static char **program_argv;

static void
all_of_this_holds_for_an_ordinary_user(void **state)
{
	(void)state;
	assert_int_equal(nat_again(program_argv), 0);
}

int
main(int argc, char **argv)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(the_probe_proves_it),
		T(nothing_gets_out_by_itself),
		T(usual_clients_get_through),
		T(refusals_say_why),
		T(a_redirect_is_a_request_like_any),
		T(a_name_that_changes_gains_nothing),
		T(a_connection_ends_with_its_command_or_sandbox),
		T(each_sandbox_has_a_way_of_its_own),
		T(ten_thousand_connections_hurt_nobody_else),
		cmocka_unit_test(all_of_this_holds_for_an_ordinary_user),
	};

	(void)argc;
	program_argv = argv;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

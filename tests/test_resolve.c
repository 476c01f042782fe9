/*
 * The system's resolver on its threads, and connections, on the real loop.
 * Red if: the loop waits for a look-up, a cancelled one calls back, freeing
 * waits for one that hangs, or the second address is not tried.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/dial.h"
#include "base/mem.h"
#include "base/resolve.h"

/* The system's function, as far as names of these tests go. */
static atomic_bool let_go;
static atomic_int hanging;

int
getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
	struct addrinfo **ret)
{
	static const char *const addresses[] = { "192.0.2.1", "192.0.2.1",
		"2001:db8::1" };

	assert_null(service);
	assert_int_equal(hints->ai_socktype, SOCK_STREAM);
	if (strncmp(name, "hang", 4) == 0) {
		atomic_fetch_add(&hanging, 1);
		while (!atomic_load(&let_go))
			poll(NULL, 0, 1);
		return EAI_AGAIN;
	}
	if (strcmp(name, "three.test") != 0)
		return EAI_NONAME;
	*ret = NULL;
	for (size_t i = 0; i < ARRAY_LEN(addresses); i++) {
		struct { struct addrinfo info; struct sockaddr_storage sa; } *a =
			mem_alloc(sizeof(*a));
		struct ip ip;
		assert_int_equal(ip_parse(addresses[i], &ip), 0);
		a->info.ai_addrlen = ip_to_sockaddr(&ip, 0, &a->sa);
		a->info.ai_addr = (struct sockaddr *)&a->sa;
		a->info.ai_family = a->sa.ss_family;
		a->info.ai_next = *ret;
		*ret = &a->info;
	}
	return 0;
}

void
freeaddrinfo(struct addrinfo *list)
{
	while (list) {
		struct addrinfo *next = list->ai_next;
		mem_free(list);
		list = next;
	}
}

struct answer {
	struct loop *loop;
	unsigned calls;
	struct ip ips[RESOLVE_ADDRESSES_MAX];
	size_t n;
	enum err_code code;
	int fd;
	struct ip at;
};

static void
on_resolved(void *arg, const struct ip *ips, size_t n, const struct err *err)
{
	struct answer *a = arg;

	a->calls++;
	a->n = n;
	if (n)
		memcpy(a->ips, ips, n * sizeof(*ips));
	a->code = err ? err->code : ERR_NONE;
	loop_stop(a->loop);
}

static void
names_have_addresses_or_words(void **state)
{
	struct answer a = { .loop = loop_new() };
	struct resolver *r = resolver_new(a.loop);

	(void)state;
	resolve_start(r, "three.test", 5000, on_resolved, &a);
	assert_int_equal(a.calls, 0);
	loop_run(a.loop);
	assert_int_equal(a.calls, 1);
	assert_int_equal(a.n, 2);	/* without the duplicate */
	resolve_start(r, "nowhere.test", 5000, on_resolved, &a);
	loop_run(a.loop);
	assert_int_equal(a.code, ERR_NOT_FOUND);
	resolver_free(&r);
	loop_free(&a.loop);
}

static void
hanging_names_hold_nobody_up(void **state)
{
	struct answer a = { .loop = loop_new() }, late = a, gone = a;
	struct resolver *r = resolver_new(a.loop);

	(void)state;
	atomic_store(&let_go, false);
	/* Three of four threads hang. */
	struct op *op = resolve_start(r, "hang1.test", 60000, on_resolved, &gone);
	resolve_start(r, "hang2.test", 50, on_resolved, &late);
	struct op *op3 = resolve_start(r, "hang3.test", 60000, on_resolved, &gone);
	resolve_start(r, "three.test", 60000, on_resolved, &a);
	loop_run(a.loop);
	if (a.calls == 0)
		loop_run(a.loop);
	assert_int_equal(a.n, 2);
	if (late.calls == 0)
		loop_run(a.loop);
	assert_int_equal(late.code, ERR_TIMEOUT);
	op_cancel(&op);
	op_cancel(&op3);
	/* Does not wait, though threads are inside. */
	resolver_free(&r);
	assert_true(atomic_load(&hanging) > 0);
	assert_int_equal(gone.calls, 0);
	loop_free(&a.loop);
	atomic_store(&let_go, true);
	assert_int_equal(op_live(), 0);
}

static void
a_cancelled_one_never_calls_back(void **state)
{
	struct answer a = { .loop = loop_new() }, gone = a;
	struct resolver *r = resolver_new(a.loop);

	(void)state;
	atomic_store(&let_go, false);
	atomic_store(&hanging, 0);
	struct op *op = resolve_start(r, "hang.test", 60000, on_resolved, &gone);
	while (atomic_load(&hanging) == 0)
		poll(NULL, 0, 1);
	op_cancel(&op);
	/* Its thread comes back with an answer that nobody wants. */
	atomic_store(&let_go, true);
	for (int i = 0; i < 20; i++) {
		resolve_start(r, "three.test", 60000, on_resolved, &a);
		loop_run(a.loop);
		poll(NULL, 0, 5);
	}
	assert_int_equal(gone.calls, 0);
	assert_int_equal(a.calls, 20);
	resolver_free(&r);
	loop_free(&a.loop);
	assert_int_equal(op_live(), 0);
}

static void
too_many_are_refused(void **state)
{
	struct answer a = { .loop = loop_new() }, over = a;
	struct resolver *r = resolver_new(a.loop);
	struct op *ops[RESOLVE_WAITING_MAX];

	(void)state;
	atomic_store(&let_go, false);
	for (size_t i = 0; i < ARRAY_LEN(ops); i++)
		ops[i] = resolve_start(r, "hang.test", 60000, on_resolved, &a);
	resolve_start(r, "three.test", 60000, on_resolved, &over);
	loop_run(a.loop);
	assert_int_equal(over.calls, 1);
	assert_int_equal(over.code, ERR_LIMIT);
	for (size_t i = 0; i < ARRAY_LEN(ops); i++)
		op_cancel(&ops[i]);
	resolver_free(&r);
	loop_free(&a.loop);
	atomic_store(&let_go, true);
}

/* ---- dial ---------------------------------------------------------------------------- */

static void
on_dialled(void *arg, int fd, const struct ip *at, const struct err *err)
{
	struct answer *a = arg;

	a->calls++;
	a->fd = fd;
	a->at = *at;
	a->code = err ? err->code : ERR_NONE;
	loop_stop(a->loop);
}

static int
listen_on(const char *address, uint16_t *ret_port)
{
	struct sockaddr_storage sa;
	struct ip ip;

	assert_int_equal(ip_parse(address, &ip), 0);
	socklen_t len = ip_to_sockaddr(&ip, 0, &sa);
	int fd = socket(sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0 && bind(fd, (struct sockaddr *)&sa, len) == 0 &&
		listen(fd, 8) == 0 &&
		getsockname(fd, (struct sockaddr *)&sa, &len) == 0);
	struct sockaddr_in in;
	memcpy(&in, &sa, sizeof(in));
	*ret_port = ntohs(in.sin_port);
	return fd;
}

static void
the_next_address_is_tried(void **state)
{
	struct answer a = { .loop = loop_new() };
	struct ip ips[3];
	uint16_t port;
	CLEANUP_CLOSE int server = listen_on("127.0.0.1", &port);

	(void)state;
	(void)server;
	/* Nobody is at .2; the third is not asked any more. */
	assert_int_equal(ip_parse("127.0.0.2", &ips[0]), 0);
	assert_int_equal(ip_parse("127.0.0.1", &ips[1]), 0);
	assert_int_equal(ip_parse("127.0.0.3", &ips[2]), 0);
	dial_start(a.loop, ips, 3, port, 10000, on_dialled, &a);
	assert_int_equal(a.calls, 0);
	loop_run(a.loop);
	assert_int_equal(a.calls, 1);
	assert_int_equal(a.code, ERR_NONE);
	assert_true(ip_equal(&a.at, &ips[1]));
	close(a.fd);
	dial_start(a.loop, ips, 1, port, 10000, on_dialled, &a);
	loop_run(a.loop);
	assert_int_equal(a.fd, -1);
	assert_int_equal(a.code, ERR_UNAVAILABLE);
	struct op *op = dial_start(a.loop, ips, 3, port, 10000, on_dialled, &a);
	op_cancel(&op);
	assert_int_equal(a.calls, 2);
	loop_free(&a.loop);
	assert_int_equal(op_live(), 0);
}

static void
own_addresses_are_known(void **state)
{
	struct ip ip;

	(void)state;
	assert_int_equal(ip_parse("127.0.0.1", &ip), 0);
	assert_true(dial_is_own(&ip));
	assert_int_equal(ip_parse("192.0.2.1", &ip), 0);
	assert_false(dial_is_own(&ip));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_have_addresses_or_words),
		cmocka_unit_test(hanging_names_hold_nobody_up),
		cmocka_unit_test(a_cancelled_one_never_calls_back),
		cmocka_unit_test(too_many_are_refused),
		cmocka_unit_test(the_next_address_is_tried),
		cmocka_unit_test(own_addresses_are_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/chan.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/wire.h"

static void
every_kind_of_field_comes_back(void **state)
{
	const char *const v[] = { "a", "", "A=b", NULL };
	struct wire_out out;
	struct wire_in in;
	size_t n;

	(void)state;
	wire_out_init(&out, 9);
	wire_put_u32(&out, UINT32_MAX);
	wire_put_u64(&out, UINT64_MAX - 1);
	wire_put_str(&out, "text");
	wire_put_str(&out, NULL);
	wire_put_strv(&out, v);
	wire_put_bytes(&out, "x\0y", 3);
	assert_int_equal(wire_in_init(&in, out.data, out.len), 9);
	assert_true(wire_get_u32(&in) == UINT32_MAX);
	assert_true(wire_get_u64(&in) == UINT64_MAX - 1);
	assert_string_equal(wire_get_str(&in), "text");
	assert_string_equal(wire_get_str(&in), "");
	const char **got = wire_get_strv(&in, &n);
	assert_int_equal(n, 3);
	assert_string_equal(got[2], "A=b");
	assert_null(got[3]);
	assert_memory_equal(wire_get_bytes(&in, &n), "x\0y", 3);
	assert_true(wire_in_end(&in));
	free(got);
	wire_out_done(&out);
}

static void
a_frame_cut_anywhere_is_bad_and_reads_nothing_beyond(void **state)
{
	const char *const v[] = { "one", "two", NULL };
	struct wire_out out;
	size_t n;

	(void)state;
	wire_out_init(&out, 9);
	wire_put_str(&out, "text");
	wire_put_strv(&out, v);
	wire_put_u64(&out, 3);
	for (size_t cut = 0; cut < out.len; cut++) {
		/* Its own block, so that ASan sees a read past the cut. */
		unsigned char *copy = mem_dup(out.data, cut ? cut : 1);
		struct wire_in in;
		(void)wire_in_init(&in, copy, cut);
		(void)wire_get_str(&in);
		free(wire_get_strv(&in, &n));
		(void)wire_get_u64(&in);
		assert_false(wire_in_end(&in));
		mem_free(copy);
	}
	wire_out_done(&out);
}

static void
a_string_with_a_nul_inside_or_without_its_nul_is_bad(void **state)
{
	static const char *const bodies[] = { "a\0b", "abc" };
	struct wire_out out;
	struct wire_in in;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		wire_out_init(&out, 1);
		wire_put_bytes(&out, bodies[i], i == 0 ? 4 : 3);
		(void)wire_in_init(&in, out.data, out.len);
		assert_string_equal(wire_get_str(&in), "");
		assert_true(in.bad);
		wire_out_done(&out);
	}
}

static void
a_frame_over_the_maximum_is_refused_not_cut(void **state)
{
	char *big = mem_alloc(WIRE_FRAME_MAX);
	struct wire_out out;
	int pair[2];

	(void)state;
	assert_int_equal(chan_pair(pair), 0);
	wire_out_init(&out, 1);
	wire_put_bytes(&out, big, WIRE_FRAME_MAX);
	assert_true(out.bad);
	assert_int_equal(wire_send(pair[0], &out, NULL, 0, 0), -1);
	assert_int_equal(errno, EMSGSIZE);
	wire_out_done(&out);
	mem_free(big);
	close(pair[0]);
	close(pair[1]);
}

static unsigned
open_fds(void)
{
	unsigned count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void
surplus_descriptors_are_closed_and_the_frame_is_bad(void **state)
{
	struct wire_out out;
	unsigned char data[64];
	int pair[2], fds[3] = { 0, 0, 0 }, got[2];
	size_t n;

	(void)state;
	assert_int_equal(chan_pair(pair), 0);
	unsigned before = open_fds();
	wire_out_init(&out, 1);
	assert_int_equal(wire_send(pair[0], &out, fds, 3, 0), 0);
	assert_int_equal(wire_recv(pair[1], data, sizeof(data), got, 2, &n, 0), -1);
	assert_int_equal(errno, EBADMSG);
	assert_int_equal(n, 0);
	assert_int_equal(open_fds(), before);
	wire_out_done(&out);
	close(pair[0]);
	close(pair[1]);
}

struct reader {
	struct loop *loop;
	unsigned frames, ended;
	unsigned next;
	unsigned want;
};

static void
on_frame(void *arg, struct wire_in *in, unsigned type, const int *fds, size_t nfds)
{
	struct reader *r = arg;
	size_t len;

	(void)fds, (void)nfds, (void)type;
	assert_int_equal(wire_get_u32(in), r->next++);
	(void)wire_get_bytes(in, &len);
	assert_int_equal(len, 60000);
	assert_true(wire_in_end(in));
	if (++r->frames == r->want)
		loop_stop(r->loop);
}

static void
on_end(void *arg)
{
	struct reader *r = arg;

	r->ended++;
	loop_stop(r->loop);
}

static void
a_full_socket_queues_frames_in_order_and_the_end_is_told_once(void **state)
{
	static const struct chan_events events = { on_frame, on_end };
	struct reader a = { .want = 1000 }, b = { .want = 40 };
	struct wire_out out;
	int pair[2];

	(void)state;
	char *body = mem_alloc(60000);
	assert_int_equal(chan_pair(pair), 0);
	a.loop = b.loop = loop_new();
	struct chan *ca = chan_new(a.loop, pair[0], "a", &events, &a);
	struct chan *cb = chan_new(a.loop, pair[1], "b", &events, &b);
	for (unsigned i = 0; i < b.want; i++) {
		wire_out_init(&out, 5);
		wire_put_u32(&out, i);
		wire_put_bytes(&out, body, 60000);
		assert_int_equal(chan_send(ca, &out, NULL, 0, false), 0);
	}
	loop_run(a.loop);
	assert_int_equal(b.frames, 40);
	chan_free(&cb);
	loop_run(a.loop);
	assert_int_equal(a.ended, 1);
	wire_out_init(&out, 5);
	assert_int_equal(chan_send(ca, &out, NULL, 0, false), -1);
	chan_free(&ca);
	loop_free(&a.loop);
	mem_free(body);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_of_field_comes_back),
		cmocka_unit_test(a_frame_cut_anywhere_is_bad_and_reads_nothing_beyond),
		cmocka_unit_test(a_string_with_a_nul_inside_or_without_its_nul_is_bad),
		cmocka_unit_test(a_frame_over_the_maximum_is_refused_not_cut),
		cmocka_unit_test(surplus_descriptors_are_closed_and_the_frame_is_bad),
		cmocka_unit_test(a_full_socket_queues_frames_in_order_and_the_end_is_told_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Bytes of a far helper, cut at odd places: no crash, one end at most. */
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "sandbox/far.h"
#include "sandbox/native-init/far_proto.h"

struct seen {
	bool started, exited, ended;
};

static void
on_started(void *arg, int pid)
{
	struct seen *s = arg;

	(void)pid;
	REQUIRE(!s->started && !s->ended);
	s->started = true;
}

static void
on_output(void *arg, int fd, const char *data, size_t len)
{
	struct seen *s = arg;

	(void)fd, (void)data, (void)len;
	REQUIRE(s->started && !s->ended);
}

static void
on_giveback(void *arg, const char *data, size_t len)
{
	struct seen *s = arg;

	(void)data, (void)len;
	REQUIRE(s->started && !s->exited && !s->ended);
}

static void
on_exited(void *arg, int status, unsigned leftovers)
{
	struct seen *s = arg;

	(void)status, (void)leftovers;
	REQUIRE(s->started && !s->exited && !s->ended);
	s->exited = true;
}

static void
on_dead(void *arg, const struct err *err)
{
	(void)arg, (void)err;
	abort();
}

static size_t
io_write(void *arg, const void *data, size_t len)
{
	(void)arg, (void)data;
	return len / 2;
}

static void
io_end(void *arg, const struct err *err)
{
	struct seen *s = arg;

	(void)err;
	REQUIRE(!s->ended);
	s->ended = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const struct proc_events events = { on_started, on_output,
		on_giveback, on_exited, on_dead };
	static const struct far_io io = { io_write, io_end, NULL };
	struct seen seen = { false, false, false };
	struct spawn_req req = { .script = "x", .script_len = 1,
		.events = &events, .arg = &seen };
	struct far_spec spec = { .req = &req, .io = &io, .arg = &seen };
	struct far *far = far_new(&spec);
	size_t step = len ? 1u + data[0] % 31 : 1;

	if (len && data[0] & 0x80)
		far_input(far, FAR_MAGIC, FAR_MAGIC_LEN);
	for (size_t at = 1; at < len; at += step)
		far_input(far, (const char *)data + at,
		    len - at < step ? len - at : step);
	far_kill(far);
	far_lost(far, NULL);
	REQUIRE(seen.ended);
	far_free(&far);
	return 0;
}

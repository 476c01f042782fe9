#include "gateway/supervisor.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"

struct supervisor {
	struct loop *loop;
	struct timer *timer;
	bool (*alive)(void *arg);
	void *arg;
	int fd;			/* -1: nobody listens */
	struct sockaddr_un to;
	socklen_t to_len;
	msec_t every;		/* between two pings; 0: none is wanted */
};

/* An absolute path, or one in the abstract namespace, written with an @. */
static bool
address_set(struct supervisor *s, const char *path)
{
	size_t len = path ? strlen(path) : 0;

	if (len < 2 || len >= sizeof(s->to.sun_path) ||
	    (path[0] != '/' && path[0] != '@'))
		return false;
	s->to.sun_family = AF_UNIX;
	memcpy(s->to.sun_path, path, len + 1);
	if (path[0] == '@')
		s->to.sun_path[0] = '\0';
	s->to_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len +
	    (path[0] == '/'));
	return true;
}

/* -1: not set, or no number. */
static long long
number_of(const char *name)
{
	const char *text = getenv(name);
	char *end = NULL;
	long long n = text ? strtoll(text, &end, 10) : -1;

	return !text || end == text || *end || n < 0 ? -1 : n;
}

/* Half of the limit, at least a millisecond; 0 where it is not ours. */
static msec_t
ping_interval(void)
{
	long long usec = number_of("WATCHDOG_USEC");

	if (usec <= 0 || (getenv("WATCHDOG_PID") &&
	    number_of("WATCHDOG_PID") != getpid()))
		return 0;
	return usec / 2000 > 1 ? usec / 2000 : 1;
}

struct supervisor *
supervisor_new(struct loop *loop, bool (*alive)(void *arg), void *arg)
{
	struct supervisor *s = mem_alloc(sizeof(*s));
	const char *path = getenv("NOTIFY_SOCKET");

	s->loop = loop;
	s->alive = alive;
	s->arg = arg;
	s->fd = -1;
	s->every = ping_interval();
	if (address_set(s, path))
		s->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	else if (path)
		log_warn("supervisor", NULL, "NOTIFY_SOCKET is no socket's name");
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	return s;
}

void
supervisor_free(struct supervisor **sp)
{
	if (!*sp)
		return;
	struct supervisor *s = STEAL(*sp);

	loop_cancel(&s->timer);
	if (s->fd != -1)
		close(s->fd);
	mem_free(s);
}

/* A full or vanished socket is the supervisor's own trouble: said, not retried. */
static void
say(struct supervisor *s, const char *text)
{
	if (s->fd != -1 && sendto(s->fd, text, strlen(text), MSG_NOSIGNAL,
	    (const struct sockaddr *)&s->to, s->to_len) == -1)
		log_warn("supervisor", NULL, "%s was not heard: %s", text,
		    strerror(errno));
}

static void
on_tick(void *arg)
{
	struct supervisor *s = arg;

	s->timer = loop_after(s->loop, s->every, "supervisor ping", on_tick, s);
	if (s->alive(s->arg))
		say(s, "WATCHDOG=1");
}

void
supervisor_ready(struct supervisor *s)
{
	say(s, "READY=1");
	if (s->fd != -1 && s->every > 0 && !s->timer)
		on_tick(s);
}

void
supervisor_stopping(struct supervisor *s)
{
	say(s, "STOPPING=1");
}

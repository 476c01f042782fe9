/*
 * One call of the program: a child of the launcher with a clean environment,
 * no secret in its arguments, its output kept or passed on.  The launcher's
 * keeper of it holds everything it starts: an instance's daemon stays below the
 * keeper of the call that started it, and ends with the gateway.
 */
#include "sandbox/singularity_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "sandbox/clean.h"
#include "sandbox/vars.h"

#define CHUNK 65536
#define DRAIN_MAX (4 * 1024 * 1024)
#define OUT_MAX (1024 * 1024)
#define SAID_MAX 4096		/* the last of what it said */
#define SAID_SHOWN 400
#define DEFAULT_PATH \
	"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

struct cli {
	TAILQ_ENTRY(cli) entry;
	struct backend_inst *inst;
	struct child *child;
	const struct cli_events *events;	/* NULL: forgotten */
	void *arg;
	int in;			/* its standard input; -1 */
	struct watch *in_watch;
	int fd[2];		/* its output and error; -1: closed */
	struct watch *watch[2];
	struct buf out, said;
	struct timer *timer;
	msec_t limit_ms;
	bool flowing, ended, late, dead;
};

/* ---- the program and its environment --------------------------------------------- */

static const char *
look_up(const char *const *environ, const char *name)
{
	size_t n = strlen(name);

	for (; environ && *environ; environ++)
		if (strncmp(*environ, name, n) == 0 && (*environ)[n] == '=')
			return *environ + n + 1;
	return NULL;
}

/* Apptainer comes first: where both names are there, they are one program. */
char *
cli_find(const char *const *environ)
{
	static const char *const names[] = { "apptainer", "singularity" };
	const char *path = look_up(environ, "PATH");

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *p = path && *path ? path : DEFAULT_PATH;

		while (*p) {
			size_t n = strcspn(p, ":");
			char *file = mem_printf("%.*s/%s", (int)n, p, names[i]);

			if (*p == '/' && access(file, X_OK) == 0)
				return file;
			mem_free(file);
			p += n + (p[n] == ':');
		}
	}
	return NULL;
}

/* Only these of the gateway's variables, each for what needs it. */
static char **
environment(const struct backend_inst *inst, const struct cli_spec *spec)
{
	static const char *const always[] = { "HOME", "USER", "LOGNAME", "PATH",
		"APPTAINER_CONFIGDIR", "SINGULARITY_CONFIGDIR", NULL };
	static const char *const pull[] = { "http_proxy", "https_proxy", "no_proxy",
		"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE",
		"APPTAINER_DOCKER_USERNAME", "APPTAINER_DOCKER_PASSWORD",
		"SINGULARITY_DOCKER_USERNAME", "SINGULARITY_DOCKER_PASSWORD", NULL };
	static const char *const session[] = { "XDG_RUNTIME_DIR",
		"DBUS_SESSION_BUS_ADDRESS", NULL };
	const char *const *sets[] = { always, spec->pull ? pull : NULL,
		spec->session ? session : NULL };
	struct vars vars;

	vars_init(&vars, OUT_MAX);
	for (size_t i = 0; i < ARRAY_LEN(sets); i++)
		for (size_t j = 0; sets[i] && sets[i][j]; j++) {
			const char *value = look_up(inst->opts.environ, sets[i][j]);
			if (value)
				(void)vars_set(&vars, sets[i][j], value);
		}
	if (!look_up(inst->opts.environ, "PATH"))
		(void)vars_set(&vars, "PATH", DEFAULT_PATH);
	(void)vars_set(&vars, "LANG", "C.UTF-8");
	CLEANUP_FREE char *cache = mem_printf("%s/cache", inst->opts.scratch);
	CLEANUP_FREE char *tmp = mem_printf("%s/tmp", inst->opts.scratch);
	(void)vars_set(&vars, "APPTAINER_CACHEDIR", cache);
	(void)vars_set(&vars, "SINGULARITY_CACHEDIR", cache);
	(void)vars_set(&vars, "APPTAINER_TMPDIR", tmp);
	(void)vars_set(&vars, "SINGULARITY_TMPDIR", tmp);
	char **list = vars_env(&vars);
	vars_done(&vars);
	return list;
}

/* ---- its pipes ----------------------------------------------------------------------- */

static void
close_out(struct cli *c, int i)
{
	loop_unwatch(&c->watch[i]);
	if (c->fd[i] >= 0)
		close(c->fd[i]);
	c->fd[i] = -1;
}

static void
close_in(struct cli *c)
{
	loop_unwatch(&c->in_watch);
	if (c->in >= 0)
		close(c->in);
	c->in = -1;
}

static void
take(struct cli *c, int i, const char *data, size_t len)
{
	if (i == 1) {
		if (c->said.len + len > SAID_MAX)
			buf_drain(&c->said, c->said.len + len - SAID_MAX <
			    c->said.len ? c->said.len + len - SAID_MAX :
			    c->said.len);
		(void)buf_add(&c->said, len > SAID_MAX ? data + len - SAID_MAX :
		    data, len > SAID_MAX ? SAID_MAX : len);
	} else if (c->events && c->events->output) {
		c->events->output(c->arg, data, len);
	} else {
		(void)buf_add(&c->out, data, len);
	}
}

/* c lives on through all callbacks: only on_dead() frees it. */
static void
read_out(struct cli *c, int i, size_t max)
{
	static char chunk[CHUNK];	/* loop thread; used up at once */

	for (size_t total = 0; c->fd[i] >= 0 && total < max;) {
		ssize_t n = read(c->fd[i], chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			close_out(c, i);
			return;
		}
		total += (size_t)n;
		take(c, i, chunk, (size_t)n);
	}
}

static void
on_out(void *arg, unsigned events)
{
	(void)events;
	read_out(arg, 0, CHUNK);
}

static void
on_said(void *arg, unsigned events)
{
	(void)events;
	read_out(arg, 1, CHUNK);
}

static void
on_room(void *arg, unsigned events)
{
	struct cli *c = arg;

	(void)events;
	loop_watch_set(c->in_watch, 0);
	if (c->events && c->events->writable)
		c->events->writable(c->arg);
}

size_t
cli_write(struct cli *c, const void *data, size_t len)
{
	const char *p = data;
	size_t done = 0;

	while (c->in >= 0 && c->in_watch && done < len) {
		ssize_t n = write(c->in, p + done, len - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			loop_watch_set(c->in_watch, LOOP_WRITE);
			break;
		}
		if (n < 0) {
			close_in(c);
			break;
		}
		done += (size_t)n;
	}
	return done;
}

void
cli_flow(struct cli *c, bool reading)
{
	c->flowing = reading;
	if (c->watch[0])
		loop_watch_set(c->watch[0], reading ? LOOP_READ : 0);
}

/* ---- events of the child ------------------------------------------------------------------ */

static void
tell_end(struct cli *c, int status, const struct err *err)
{
	struct buf said CLEANUP_BUF, plain CLEANUP_BUF;
	struct clean clean;
	size_t skip = c->said.len > SAID_SHOWN ? c->said.len - SAID_SHOWN : 0;

	buf_init(&said, 4 * SAID_SHOWN);
	buf_init(&plain, 4 * SAID_SHOWN);
	if (c->ended)
		return;
	/* Cut between words. */
	while (skip && skip < c->said.len && c->said.data[skip - 1] != ' ' &&
	    c->said.data[skip - 1] != '\n')
		skip++;
	c->ended = true;
	loop_cancel(&c->timer);
	clean_init(&clean);
	clean_feed(&clean, c->said.data + skip, c->said.len - skip, &plain);
	clean_end(&clean, &plain);
	clean_done(&clean);
	while (plain.len && plain.data[plain.len - 1] == '\n')
		plain.data[--plain.len] = 0;
	utf8_for_terminal(&said, plain.data, plain.len, true);
	struct cli_end end = { .status = status, .out = c->out.data,
		.out_len = c->out.len, .said = said.len ? said.data : "",
		.err = err };
	if (c->events && c->events->exited)
		c->events->exited(c->arg, &end);
}

static void
on_started(void *arg, pid_t pid)
{
	struct cli *c = arg;

	(void)pid;
	for (int i = 0; i < 2; i++)
		if (c->fd[i] >= 0)
			c->watch[i] = loop_watch(c->inst->loop, c->fd[i],
			    i || c->flowing ? LOOP_READ : 0, "a container's words",
			    i ? on_said : on_out, c);
	if (c->in < 0)
		return;
	c->in_watch = loop_watch(c->inst->loop, c->in, LOOP_WRITE,
	    "a container's input", on_room, c);
}

static void
on_exited(void *arg, int wait_status, unsigned leftovers)
{
	struct cli *c = arg;

	(void)leftovers;
	read_out(c, 0, DRAIN_MAX);
	read_out(c, 1, DRAIN_MAX);
	tell_end(c, wait_status, NULL);
}

static void
cli_free(struct cli *c)
{
	TAILQ_REMOVE(&c->inst->calls, c, entry);
	close_out(c, 0);
	close_out(c, 1);
	close_in(c);
	loop_cancel(&c->timer);
	buf_done(&c->out);
	buf_done(&c->said);
	mem_free(c);
}

void
cli_free_all(struct backend_inst *inst)
{
	struct cli *c;

	while ((c = TAILQ_FIRST(&inst->calls))) {
		child_forget(c->child);
		cli_free(c);
	}
}

static void
on_dead(void *arg, const struct err *err)
{
	struct cli *c = arg;
	struct err lost = { ERR_NONE, "" };

	c->dead = true;
	read_out(c, 0, DRAIN_MAX);
	read_out(c, 1, DRAIN_MAX);
	if (!c->ended) {
		if (err)
			lost = *err;
		else
			err_set(&lost, ERR_LOST, "it ended without a status");
		tell_end(c, 0, &lost);
	}
	if (c->events && c->events->dead)
		c->events->dead(c->arg, err);
	cli_free(c);
}

static void
on_late(void *arg)
{
	struct cli *c = arg;
	struct err err = { ERR_NONE, "" };

	c->timer = NULL;
	err_set(&err, ERR_TIMEOUT, "no end within %d s", (int)(c->limit_ms / 1000));
	child_kill(c->child);
	tell_end(c, 0, &err);
}

void
cli_kill(struct cli *c)
{
	if (!c->dead)
		child_kill(c->child);
}

void
cli_forget(struct cli **cp)
{
	if (!*cp)
		return;
	struct cli *c = STEAL(*cp);

	c->events = NULL;
	c->ended = true;
	loop_cancel(&c->timer);
	/* Its keeper may outlive the loop: nothing of it is watched any more. */
	close_out(c, 0);
	close_out(c, 1);
	close_in(c);
	cli_kill(c);
}

/* ---- start ------------------------------------------------------------------------------------ */

static int
make_pipe(int *theirs, int *ours, bool to_child)
{
	int pair[2];

	if (pipe2(pair, O_CLOEXEC) < 0)
		return -1;
	*theirs = pair[to_child ? 0 : 1];
	*ours = pair[to_child ? 1 : 0];
	return fcntl(*ours, F_SETFL, O_NONBLOCK);
}

static bool
make_pipes(struct cli *c, int fds[3])
{
	return make_pipe(&fds[1], &c->fd[0], false) == 0 &&
	    make_pipe(&fds[2], &c->fd[1], false) == 0 &&
	    (!c->events->writable || make_pipe(&fds[0], &c->in, true) == 0);
}

struct cli *
cli_start(struct backend_inst *inst, const struct cli_spec *spec,
	const struct cli_events *events, void *arg, struct err *err)
{
	static const struct child_events child_events = {
		on_started, on_exited, on_dead,
	};
	const char *argv[SGL_ARGS_MAX + 1] = { NULL };
	int fds[3] = { -1, -1, -1 };
	struct cli *c = mem_alloc(sizeof(*c));
	size_t n = 0;

	argv[n++] = spec->argv[0] ? spec->argv[0] : inst->program;
	for (; n < SGL_ARGS_MAX && spec->argv[n]; n++)
		argv[n] = spec->argv[n];
	REQUIRE(argv[0] && !argv[n]);
	*c = (struct cli){ .inst = inst, .events = events, .arg = arg, .in = -1,
		.fd = { -1, -1 }, .flowing = true, .limit_ms = spec->limit_ms };
	buf_init(&c->out, OUT_MAX);
	buf_init(&c->said, 2 * SAID_MAX);
	char **env = environment(inst, spec);
	struct child_spec child = { .argv = argv, .env = (const char *const *)env,
		.cwd = "/", .fds = fds, .nfds = 3, .keep_children = spec->keep };
	if (!make_pipes(c, fds))
		err_set_errno(err, errno, "pipes for %s could not be made", argv[0]);
	else
		c->child = child_spawn(inst->launcher, &child, &child_events, c, err);
	vars_env_free(&env);
	for (int i = 0; i < 3; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	if (!c->child) {
		close_out(c, 0);
		close_out(c, 1);
		close_in(c);
		mem_free(c);
		return NULL;
	}
	TAILQ_INSERT_TAIL(&inst->calls, c, entry);
	if (c->limit_ms)
		c->timer = loop_after(inst->loop, c->limit_ms, "container call",
		    on_late, c);
	return c;
}

#include "sandbox/ssh_login.h"

#include <errno.h>
#include <libssh/libssh.h>
#include <pthread.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/worker.h"
#include "sandbox/ssh_steps.h"

/*
 * Owned by the loop; the thread has `job` between submit and done.  Cancelled,
 * it stays until the thread has noticed that its sockets are shut down.
 */
struct login {
	struct op op;
	struct op *look_up;
	LIST_ENTRY(login) entry;
	struct loop *loop;
	struct worker *worker;
	struct worker_job job;
	struct timer *timer;	/* deadline, then the end of the thread */
	bool forgotten, ended, late;
	ssh_login_cb *cb;
	void *arg;
	struct ssh_steps steps;
};

static LIST_HEAD(, login) logins = LIST_HEAD_INITIALIZER(logins);

static void
login_free(struct login *login)
{
	op_cancel(&login->look_up);
	if (login->worker)
		worker_stop(&login->worker);	/* may run login_done() */
	loop_cancel(&login->timer);
	ssh_steps_done(&login->steps);
	LIST_REMOVE(login, entry);
	mem_free(login);
}

static void
login_forgotten(void *arg)
{
	struct login *login = arg;

	login->timer = NULL;
	login_free(login);
}

static void
login_cancel(struct op *op)
{
	struct login *login = (struct login *)(void *)op;

	login->forgotten = true;
	loop_cancel(&login->timer);
	if (!login->worker || login->ended)
		login_free(login);
	else
		ssh_steps_abort(&login->steps);
}

static const struct op_type login_type = { "ssh login", login_cancel };

static void
login_finish(struct login *login)
{
	ssh_session session = STEAL(login->steps.session);
	struct err err = login->steps.err;

	loop_cancel(&login->timer);
	if (login->late)
		err_set(&err, ERR_TIMEOUT, "ssh %s: no session within %d s (last "
		    "step: %s)", login->steps.host, SSH_LOGIN_MS / 1000,
		    login->steps.at);
	op_finish(&login->op);
	login->cb(login->arg, session, session ? NULL : &err);
	login_free(login);
}

static void
login_told(void *arg)
{
	struct login *login = arg;

	login->timer = NULL;
	login_finish(login);
}

/* A worker can't be stopped from inside done(). */
static void
login_done(struct worker_job *job)
{
	struct login *login = (struct login *)(void *)
	    ((char *)job - offsetof(struct login, job));

	login->ended = true;
	loop_cancel(&login->timer);
	login->timer = loop_defer(login->loop, "ssh login",
	    login->forgotten ? login_forgotten : login_told, login);
}

static void
login_late(void *arg)
{
	struct login *login = arg;

	login->timer = NULL;
	login->late = true;
	op_cancel(&login->look_up);
	if (login->worker)
		ssh_steps_abort(&login->steps);	/* done() tells */
	else
		login_finish(login);
}

static void
run_batch(void *state, struct worker_job *jobs)
{
	struct login *login = state;

	(void)jobs;
	ssh_steps_run(&login->steps);
}

static void
on_looked_up(void *arg, const struct ip *ips, size_t n, const struct err *err)
{
	static const struct worker_ops ops = { "ssh login", NULL, run_batch, NULL };
	struct login *login = arg;
	struct ssh_steps *s = &login->steps;

	login->look_up = NULL;
	if (err) {
		s->err = *err;
		err_wrap(&s->err, "ssh: the host name %s (terminal.ssh_host)",
		    s->host);
	} else {
		s->naddrs = n < SSH_ADDRS_MAX ? n : SSH_ADDRS_MAX;
		memcpy(s->addrs, ips, s->naddrs * sizeof(*ips));
		login->worker = worker_start(login->loop, &ops, login, &s->err);
	}
	if (!login->worker) {
		login_finish(login);
		return;
	}
	worker_submit(login->worker, &login->job);
}

struct op *
ssh_login(struct loop *loop, struct resolver *resolver,
	const struct ssh_target *target, ssh_login_cb *cb, void *arg)
{
	struct login *login = mem_alloc(sizeof(*login));

	op_init(&login->op, &login_type);
	LIST_INSERT_HEAD(&logins, login, entry);
	login->loop = loop;
	login->cb = cb;
	login->arg = arg;
	ssh_steps_init(&login->steps, target);
	login->job.done = login_done;
	login->timer = loop_after(loop, SSH_LOGIN_MS, "ssh login", login_late,
	    login);
	login->look_up = resolve_start(resolver, target->host, SSH_LOGIN_MS,
	    on_looked_up, login);
	return &login->op;
}

void
ssh_login_join(void)
{
	struct login *login, *next;

	for (login = LIST_FIRST(&logins); login; login = next) {
		next = LIST_NEXT(login, entry);
		if (login->forgotten)
			login_free(login);
	}
}

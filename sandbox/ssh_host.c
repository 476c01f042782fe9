/*
 * What must be true of the other machine before a command runs there: we are
 * connected, it is of our kind, and our helper is in its place.  One flow for
 * all who wait:
 *
 *   LOOK -> [PLACE -> LOOK]
 */
#include "sandbox/ssh_priv.h"

#include <string.h>
#include <sys/utsname.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"

#define PLACE_MS 120000

struct host_wait {
	struct op op;
	TAILQ_ENTRY(host_wait) entry;
	struct backend_inst *inst;
	struct timer *timer;	/* its answer is known */
	struct err err;
	ssh_ready_cb *cb;
	void *arg;
};

struct host_flow {
	struct backend_inst *inst;
	struct op *waiting;
	bool placed;
};

/*
 * For any POSIX shell, given on standard input: argument strings of a login
 * shell may be anybody's.  A directory is ours if nobody else can write there
 * and programs may run there; it says "hash" last if the helper is as it should.
 */
static const char look[] =
	"umask 077\n"
	"echo \"gh:os=$(uname -s)\"\n"
	"echo \"gh:machine=$(uname -m)\"\n"
	"echo \"gh:user=$(id -un 2>/dev/null || id -u)\"\n"
	"echo \"gh:home=$HOME\"\n"
	"for d in \"${XDG_CACHE_HOME:-$HOME/.cache}/gatehouse\" "
	"\"$XDG_RUNTIME_DIR/gatehouse\" \"/var/tmp/gatehouse-$(id -u)\" "
	"\"/tmp/gatehouse-$(id -u)\"; do\n"
	"case $d in /gatehouse) continue;; /*) ;; *) continue;; esac\n"
	"mkdir -p \"$d\" 2>/dev/null && [ ! -h \"$d\" ] && [ -O \"$d\" ] &&\n"
	"chmod 700 \"$d\" 2>/dev/null || continue\n"
	"printf '#!/bin/sh\\nexit 7\\n' >\"$d/try.$$\" 2>/dev/null || continue\n"
	"chmod 700 \"$d/try.$$\"; \"$d/try.$$\" 2>/dev/null; r=$?\n"
	"rm -f \"$d/try.$$\"\n"
	"[ $r = 7 ] || continue\n"
	"echo \"gh:dir=$d\"\n"
	"f=$d/helper-$GH_HASH\n"
	"[ ! -h \"$f\" ] && [ -x \"$f\" ] && "
	"echo \"gh:hash=$(sha256sum <\"$f\" | cut -c1-64)\"\n"
	"break\n"
	"done\n"
	"echo gh:end=1\n";

static void flow_look(struct host_flow *flow);

bool
ssh_host_is_ready(const struct backend_inst *inst)
{
	return inst->ready_epoch && ssh_link_is_up(inst->link) &&
	    inst->ready_epoch == ssh_link_epoch(inst->link);
}

/* ---- who waits ------------------------------------------------------------------ */

static void
wait_cancel(struct op *op)
{
	struct host_wait *w = (struct host_wait *)(void *)op;

	loop_cancel(&w->timer);
	TAILQ_REMOVE(&w->inst->waits, w, entry);
	mem_free(w);
}

static const struct op_type wait_type = { "ssh host", wait_cancel };

static void
wait_tell(void *arg)
{
	struct host_wait *w = arg;

	w->timer = NULL;
	TAILQ_REMOVE(&w->inst->waits, w, entry);
	op_finish(&w->op);
	w->cb(w->arg, w->err.code ? &w->err : NULL);
	mem_free(w);
}

static void
flow_free(struct host_flow *flow)
{
	flow->inst->flow = NULL;
	op_cancel(&flow->waiting);
	mem_free(flow);
}

static void
flow_end(struct host_flow *flow, const struct err *err)
{
	struct backend_inst *inst = flow->inst;
	struct host_wait *w;

	if (!err)
		inst->ready_epoch = ssh_link_epoch(inst->link);
	TAILQ_FOREACH(w, &inst->waits, entry) {
		if (w->timer)
			continue;
		if (err)
			w->err = *err;
		w->timer = loop_defer(inst->loop, "ssh host", wait_tell, w);
	}
	flow_free(flow);
}

void
ssh_host_stop(struct backend_inst *inst)
{
	if (inst->flow)
		flow_free(inst->flow);
	REQUIRE(TAILQ_EMPTY(&inst->waits));
	mem_free(inst->host.helper);
	mem_free(inst->host.user);
	mem_free(inst->host.home);
}

/* ---- look ------------------------------------------------------------------------- */

/* The value after "gh:NAME=" at the start of a line; "" if there is none. */
static char *
word_of(const char *out, size_t len, const char *name)
{
	CLEANUP_FREE char *key = mem_printf("\ngh:%s=", name);
	CLEANUP_FREE char *text = mem_printf("\n%.*s\n", (int)len, out);
	char *at = strstr(text, key);

	if (!at)
		return mem_str("");
	at += strlen(key);
	return mem_strn(at, strcspn(at, "\r\n"));
}

static void
take(char **where, const char *text)
{
	mem_free(*where);
	*where = mem_str(text);
}

static int
check_kind(const struct backend_inst *inst, const char *out, size_t len,
	struct err *err)
{
	CLEANUP_FREE char *os = word_of(out, len, "os");
	CLEANUP_FREE char *machine = word_of(out, len, "machine");
	struct utsname own;

	if (strcmp(os, "Linux") != 0)
		return err_set(err, ERR_CONFIG, "%s runs \"%.40s\"; backend ssh "
		    "needs Linux there", inst->name, os);
	if (uname(&own) == 0 && strcmp(machine, own.machine) != 0)
		return err_set(err, ERR_CONFIG, "%s is a %.40s machine and this "
		    "gatehouse was built for %s: what ends processes there can't "
		    "run. Use a host of that kind, or a gatehouse built for it",
		    inst->name, machine, own.machine);
	return 0;
}

/* 1: the helper is there, 0: it must be placed, -1. */
static int
take_look(struct backend_inst *inst, const char *out, size_t len, struct err *err)
{
	CLEANUP_FREE char *end = word_of(out, len, "end");
	CLEANUP_FREE char *dir = word_of(out, len, "dir");
	CLEANUP_FREE char *hash = word_of(out, len, "hash");
	CLEANUP_FREE char *home = word_of(out, len, "home");
	CLEANUP_FREE char *user = word_of(out, len, "user");

	if (strcmp(end, "1") != 0)
		return err_set(err, ERR_UNAVAILABLE, "%s: the account's shell did "
		    "not run a command; it said: %.*s", inst->name,
		    (int)(len < 200 ? len : 200), len ? out : "nothing");
	if (check_kind(inst, out, len, err) < 0)
		return -1;
	if (!*dir || *dir != '/' || strchr(dir, '\''))
		return err_set(err, ERR_CONFIG, "%s: no directory of the account "
		    "(its .cache, /run/user, /var/tmp, /tmp) lets programs run; "
		    "make one of them writable and not noexec", inst->name);
	take(&inst->host.home, *home == '/' ? home : "/");
	take(&inst->host.user, user);
	mem_free(inst->host.helper);
	inst->host.helper = mem_printf("%s/helper-%s", dir, inst->helper_hash);
	return strcmp(hash, inst->helper_hash) == 0;
}

/* ---- place ------------------------------------------------------------------------ */

static void
on_placed(void *arg, int status, const char *out, size_t len,
	const struct err *err)
{
	struct host_flow *flow = arg;
	struct err failed = { ERR_NONE, "" };

	flow->waiting = NULL;
	flow->placed = true;
	if (err)
		failed = *err;
	else if (status != 0)
		err_set(&failed, ERR_IO, "%s: the helper could not be written to "
		    "%s: %.*s", flow->inst->name, flow->inst->host.helper,
		    (int)(len < 200 ? len : 200), out);
	if (failed.code)
		flow_end(flow, &failed);
	else
		flow_look(flow);
}

/* By rename: a helper that runs is never written to. */
static void
flow_place(struct host_flow *flow)
{
	struct backend_inst *inst = flow->inst;
	const char *path = inst->host.helper;
	CLEANUP_FREE char *command = mem_printf("exec sh -c 'umask 077; "
	    "t=\"$1.$$\"; cat >\"$t\" && chmod 700 \"$t\" && mv -f \"$t\" \"$1\" || "
	    "{ rm -f \"$t\"; exit 1; }' sh '%s'", path);

	log_info("ssh", NULL, "%s: putting the helper to %s", inst->name, path);
	flow->waiting = ssh_run(inst->link, inst->loop, command, inst->helper,
	    inst->helper_len, false, PLACE_MS, on_placed, flow);
}

static void
on_looked(void *arg, int status, const char *out, size_t len,
	const struct err *err)
{
	struct host_flow *flow = arg;
	struct err failed = { ERR_NONE, "" };

	(void)status;
	flow->waiting = NULL;
	if (err) {
		failed = *err;
		flow_end(flow, &failed);
		return;
	}
	int rc = take_look(flow->inst, out, len, &failed);
	if (rc == 0 && !flow->placed) {
		flow_place(flow);
		return;
	}
	if (rc == 0)
		err_set(&failed, ERR_IO, "%s: the helper at %s is not what was "
		    "written there", flow->inst->name, flow->inst->host.helper);
	flow_end(flow, rc > 0 ? NULL : &failed);
}

static void
flow_look(struct host_flow *flow)
{
	struct backend_inst *inst = flow->inst;
	CLEANUP_FREE char *script = mem_printf("GH_HASH=%s\n%s", inst->helper_hash,
	    look);

	flow->waiting = ssh_run(inst->link, inst->loop, "exec sh", script,
	    strlen(script), false, SSH_SHORT_MS, on_looked, flow);
}

struct op *
ssh_host_ready(struct backend_inst *inst, ssh_ready_cb *cb, void *arg)
{
	struct host_wait *w = mem_alloc(sizeof(*w));

	op_init(&w->op, &wait_type);
	w->inst = inst;
	w->cb = cb;
	w->arg = arg;
	TAILQ_INSERT_TAIL(&inst->waits, w, entry);
	if (ssh_host_is_ready(inst)) {
		w->timer = loop_defer(inst->loop, "ssh host", wait_tell, w);
	} else if (!inst->flow) {
		inst->flow = mem_alloc(sizeof(*inst->flow));
		inst->flow->inst = inst;
		flow_look(inst->flow);
	}
	return &w->op;
}

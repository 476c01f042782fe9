/*
 * Proves the native sandbox by making a throw-away one and looking at it from
 * inside and outside: each namespace is another than ours, no capability, no
 * new privileges, a filter, only the command's own processes, only loopback.
 * Anything else: not available, with the cause.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "sandbox/native_priv.h"
#include "sandbox/proxy.h"

#define PROBE_MS 15000

struct probe {
	struct op op;
	struct backend_inst *inst;
	struct op *waiting;	/* open or close */
	struct timer *timer;
	struct box *box;
	struct proc *proc;
	char *workspace;
	struct buf seen;
	struct err err;		/* first thing that is wrong */
	bool done;
	backend_probe_cb *cb;
	void *arg;
};

/* Built-ins only: an image may have nothing else. */
static const char script[] =
	"exec 3>&-\n"
	"while read -r k v; do case $k in Cap*|NoNewPrivs:|Seccomp:)"
	" echo \"$k$v\";; esac; done </proc/self/status\n"
	"l=pids:; for p in /proc/[0-9]*; do l=\"$l ${p#/proc/}\"; done; echo \"$l\"\n"
	"n=0; while read -r l; do n=$((n+1)); done </proc/net/route\n"
	"echo routes: $((n-1))\n";
/* And the way out is there and refuses what is never reached. */
static const char script_filtered[] =
	"exec 4<>/dev/tcp/127.0.0.1/3128\n"
	"printf 'CONNECT 169.254.169.254:80 HTTP/1.1\\r\\n\\r\\n' >&4\n"
	"read -r a b c <&4; echo proxy: $b\n";

static const char expected[] =
	"CapInh:0000000000000000\nCapPrm:0000000000000000\n"
	"CapEff:0000000000000000\nCapBnd:0000000000000000\n"
	"CapAmb:0000000000000000\nNoNewPrivs:1\nSeccomp:2\n"
	"pids: 1 2\nroutes: ";
static const char expected_filtered[] = "0\nproxy: 403\n";

static bool
is_full(const struct backend_inst *inst)
{
	return strcmp(inst->props.network, "full") == 0;
}

/* At level landlock, tried by what it refuses. */
static const char script_bare[] =
	"exec 3>&-\n"
	"while read -r k v; do case $k in CapBnd:) ;; Cap*|NoNewPrivs:|Seccomp:)"
	" echo \"$k$v\";; esac; done </proc/self/status\n"
	"(: >here) && (: <here) && echo writable\n"
	"if (: >../gh-probe); then echo 'outside is writable, too'; fi 2>/dev/null\n"
	"set -- ../*; [ \"$1\" = '../*' ] || echo outside can be listed\n"
	"e=$( (: </dev/tcp/127.0.0.1/9) 2>&1 )\n"
	"case $e in *denied*) ;; *) echo \"a socket: $e\";; esac\n";

static const char expected_bare[] =
	"CapInh:0000000000000000\nCapPrm:0000000000000000\n"
	"CapEff:0000000000000000\nCapAmb:0000000000000000\n"
	"NoNewPrivs:1\nSeccomp:2\nwritable\n";

static const struct {
	const char *name, *script, *expected;
	uint32_t isolation;
} levels[BOX_NLEVELS] = {
	[BOX_FULL] = { "full", script, expected, SANDBOX_NO_HOST_PROCS |
		SANDBOX_NO_CREDENTIALS },
	/* It claims files and network, not isolation (rules 5.2). */
	[BOX_BARE] = { "landlock", script_bare, expected_bare,
		SANDBOX_NO_CREDENTIALS },
};

static void
props_set(struct probe *p)
{
	struct backend_inst *inst = p->inst;
	bool good = p->err.code == ERR_NONE;
	uint32_t isolation = levels[inst->level].isolation;

	if (!is_full(inst) || inst->level == BOX_BARE)
		isolation |= SANDBOX_NO_NETWORK;
	if (!inst->writable_bind)
		isolation |= SANDBOX_NO_HOST_FILES;
	mem_free(inst->why);
	inst->why = mem_str(good ? "" : p->err.text);
	inst->props.why = inst->why;
	inst->props.available = good;
	inst->props.level = good ? levels[inst->level].name : "";
	inst->props.caution = inst->caution;
	inst->props.host_paths = inst->level == BOX_BARE;
	/* Without a network namespace there is nowhere for a proxy to listen. */
	if (inst->level == BOX_BARE) {
		inst->props.network = "none";
		inst->props.env = NULL;
	}
	inst->props.workspace = inst->level == BOX_BARE ? "" : "/workspace";
	inst->props.isolation = good ? isolation : 0;
	inst->props.limits = inst->limits ? inst->limits : "";
}

static void
tidy(const char *workspace)
{
	CLEANUP_FREE char *file = mem_printf("%s/here", workspace);
	CLEANUP_FREE char *tmp = mem_printf("%s/.tmp", workspace);

	(void)unlink(file);
	(void)rmdir(tmp);
	(void)rmdir(workspace);
}

static void
probe_free(struct probe *p)
{
	op_cancel(&p->waiting);
	loop_cancel(&p->timer);
	if (p->workspace)
		tidy(p->workspace);
	mem_free(p->workspace);
	buf_done(&p->seen);
	mem_free(p);
}

static void probe_open(struct probe *p);

/* Full can't be had: the next lower level, if the operator accepts it. */
static bool
try_bare(struct probe *p)
{
	struct backend_inst *inst = p->inst;

	if (p->err.code == ERR_NONE)
		return false;
	if (inst->level == BOX_BARE) {		/* that, too, failed */
		struct err full = p->err;
		err_set(&p->err, full.code, "level full: %.220s; level landlock: %.220s",
			inst->caution, full.text);
		mem_free(STEAL(inst->caution));
		inst->level = BOX_FULL;
		return false;
	}
	if (!inst->may_bare)
		return false;
	if (*inst->image || inst->moved_bind) {
		err_wrap(&p->err, "level landlock can't show %s at another path; "
			"and level full", *inst->image ? "an image" : "a bind");
		return false;
	}
	mem_free(inst->caution);
	inst->caution = mem_str(p->err.text);
	inst->level = BOX_BARE;
	p->err.code = ERR_NONE;
	buf_clear(&p->seen);
	probe_open(p);
	return true;
}

static void
probe_finish(void *arg)
{
	struct probe *p = arg;
	backend_probe_cb *cb = p->cb;
	void *cb_arg = p->arg;

	p->timer = NULL;
	if (try_bare(p))
		return;
	struct err err = p->err;
	props_set(p);
	op_finish(&p->op);
	probe_free(p);
	cb(cb_arg, err.code == ERR_NONE ? NULL : &err);
}

static void
on_closed(void *arg, const struct err *err)
{
	struct probe *p = arg;

	p->waiting = NULL;
	p->box = NULL;
	if (err && p->err.code == ERR_NONE)
		p->err = *err;
	loop_cancel(&p->timer);
	probe_finish(p);
}

static void
probe_close(struct probe *p)
{
	p->waiting = native_close(p->box, on_closed, p);
}

static void
check_namespaces(struct probe *p)
{
	static const char *const names[] = BOX_NAMESPACES;
	struct stat st;

	for (size_t i = 0; i < BOX_NNAMESPACES && p->err.code == ERR_NONE &&
	    p->inst->level == BOX_FULL; i++) {
		CLEANUP_FREE char *path = mem_printf("/proc/self/ns/%s", names[i]);
		/* A kind the kernel doesn't have can't be ours either. */
		if (stat(path, &st) == 0 && st.st_ino == p->box->namespaces[i])
			err_set(&p->err, ERR_INTERNAL, "native sandbox: self-test found "
				"the %s namespace shared with the host", names[i]);
	}
}

static void
on_started(void *arg, int pid)
{
	(void)arg, (void)pid;
}

static void
on_output(void *arg, int fd, const char *data, size_t len)
{
	struct probe *p = arg;

	(void)fd;
	buf_add(&p->seen, data, len);
}

static void
on_giveback(void *arg, const char *data, size_t len)
{
	(void)arg, (void)data, (void)len;
}

static bool
filtered(const struct probe *p)
{
	return p->inst->proxy && p->inst->level == BOX_FULL;
}

static bool
as_expected(const struct probe *p)
{
	const char *want = levels[p->inst->level].expected;
	size_t n = strlen(want);

	/* With a whole network: that of slirp4netns, and the way through it. */
	const char *rest = filtered(p) ? expected_filtered : is_full(p->inst) ?
		"2\n" : "0\n";
	if (p->inst->level == BOX_BARE)
		rest = "";
	return strncmp(p->seen.data, want, n) == 0 &&
		strcmp(p->seen.data + n, rest) == 0;
}

static void
on_exited(void *arg, int status, unsigned leftovers)
{
	struct probe *p = arg;

	(void)leftovers;
	if (status != 0)
		err_set(&p->err, ERR_INTERNAL, "native sandbox: self-test ended with "
			"wait status %d", status);
	else if (!as_expected(p))
		err_set(&p->err, ERR_INTERNAL, "native sandbox: self-test found other "
			"than it must: %s", p->seen.data);
}

static void
on_dead(void *arg, const struct err *err)
{
	struct probe *p = arg;

	p->proc = NULL;
	if (err && p->err.code == ERR_NONE)
		p->err = *err;
	probe_close(p);
}

static const struct proc_events events = {
	on_started, on_output, on_giveback, on_exited, on_dead,
};

static void
on_open(void *arg, struct box *box, const struct err *err)
{
	static const char *const env[] = { "PATH=/usr/bin:/bin", NULL };
	struct probe *p = arg;

	p->waiting = NULL;
	if (err) {
		p->err = *err;
		loop_cancel(&p->timer);
		probe_finish(p);
		return;
	}
	p->box = box;
	if (box->port)
		proxy_quiet(box->port);
	mem_free(p->inst->limits);
	CLEANUP_FREE char *landlock = box->landlock_abi ?
		mem_printf("Landlock ABI %d", box->landlock_abi) :
		mem_str("no Landlock");
	p->inst->limits = mem_printf("%s, workspaces of %llu MiB (looked at every "
		"2 s), %u sandboxes at a time; %s", box->limits,
		(unsigned long long)(p->inst->props.workspace_max >> 20),
		p->inst->boxes_max, landlock);
	check_namespaces(p);
	CLEANUP_FREE char *text = mem_printf("%s%s", levels[p->inst->level].script,
		filtered(p) ? script_filtered : "");
	struct spawn_req req = {
		.script = text, .script_len = strlen(text), .env = env,
		.events = &events, .arg = p,
	};
	p->proc = native_spawn(box, &req, &p->err);
	if (!p->proc)
		probe_close(p);
}

static void
probe_late(void *arg)
{
	struct probe *p = arg;

	p->timer = NULL;
	/* Its own time limits end an open or a close; a command has none. */
	err_set(&p->err, ERR_TIMEOUT, "native sandbox: the self-test did not end "
		"within %d s", PROBE_MS / 1000);
	if (p->proc)
		native_kill(p->proc);
}

static void
probe_cancel(struct op *op)
{
	struct probe *p = (struct probe *)op;

	/* A proc would call back: closing the box in silence needs the probe
	 * to live on.  Only the end of the process cancels a probe. */
	loop_cancel(&p->timer);
	op_cancel(&p->waiting);
	if (p->proc)
		native_proc_forget(p->proc);
	if (p->box) {
		struct op *close = native_close(p->box, on_closed, NULL);
		op_cancel(&close);
	}
	probe_free(p);
}

static const struct op_type probe_type = { "native probe", probe_cancel };

static void
probe_open(struct probe *p)
{
	const struct box_spec spec = { .id = "probe", .workspace = p->workspace };

	p->timer = loop_after(p->inst->loop, PROBE_MS, "native probe", probe_late,
		p);
	p->waiting = native_open(p->inst, &spec, on_open, p);
}

struct op *
native_probe(struct backend_inst *inst, backend_probe_cb *cb, void *arg)
{
	struct probe *p = mem_alloc(sizeof(*p));

	op_init(&p->op, &probe_type);
	p->inst = inst;
	p->cb = cb;
	p->arg = arg;
	buf_init(&p->seen, 4096);
	p->workspace = mem_printf("%s/.probe", inst->state_dir);
	if (mkdir(p->workspace, 0700) < 0 && errno != EEXIST) {
		err_set_errno(&p->err, errno, "native sandbox: %s could not be made",
			p->workspace);
		p->timer = loop_defer(inst->loop, "native probe", probe_finish, p);
		return &p->op;
	}
	probe_open(p);
	return &p->op;
}

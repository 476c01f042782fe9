/* Backend `ssh`: start, proof, properties, boxes. Commands are ssh_proc.c. */
#include "sandbox/ssh.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/log.h"
#include "base/mem.h"
#include "sandbox/ssh_priv.h"

#define HELPER_MAX (32 << 20)

/* ---- start and stop ------------------------------------------------------------ */

static int
helper_read(struct backend_inst *inst, const char *path, struct err *err)
{
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	struct stat st;
	size_t at = 0;
	ssize_t n = 1;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size > HELPER_MAX) {
		err_set_errno(err, errno, "backend ssh: the helper %s",
		    path ? path : "is not there");
		if (fd >= 0)
			close(fd);
		return -1;
	}
	inst->helper = mem_alloc((size_t)st.st_size + 1);
	while (at < (size_t)st.st_size && n > 0) {
		n = read(fd, (char *)inst->helper + at, (size_t)st.st_size - at);
		at += n > 0 ? (size_t)n : 0;
	}
	close(fd);
	inst->helper_len = at;
	ids_sha256_hex(inst->helper, at, inst->helper_hash);
	return at == (size_t)st.st_size ? 0 :
	    err_set(err, ERR_IO, "backend ssh: reading the helper %s", path);
}

static void
ssh_stop(struct backend_inst **instp)
{
	struct backend_inst *inst = STEAL(*instp);

	ssh_host_stop(inst);
	ssh_link_free(&inst->link);
	mem_free(inst->helper);
	mem_free(inst->name);
	mem_free(inst->cwd);
	mem_free(inst->prefix);
	mem_free(inst);
}

static int
check_opts(const struct ssh_opts *o, struct err *err)
{
	if (!o || !o->host || !*o->host)
		return err_set(err, ERR_CONFIG, "backend ssh: which host? Set "
		    "terminal.ssh_host (and ssh_user, ssh_port, ssh_key)");
	if (o->host[0] == '-' || strpbrk(o->host, " \t\n\"'\\"))
		return err_set(err, ERR_CONFIG, "terminal.ssh_host: \"%s\" is no "
		    "host name", o->host);
	if (!o->known_hosts && !o->home)
		return err_set(err, ERR_CONFIG, "backend ssh: HOME is not set: set "
		    "ssh.known_hosts to the file of known host keys");
	return 0;
}

static struct backend_inst *
ssh_start(const struct backend_env *env, struct err *err)
{
	const struct ssh_opts *o = env->opts;
	char hex[65];

	if (check_opts(o, err) < 0)
		return NULL;
	CLEANUP_FREE char *known = o->known_hosts ? mem_str(o->known_hosts) :
	    mem_printf("%s/.ssh/known_hosts", o->home);
	struct ssh_target target = {
		.host = o->host, .user = o->user, .port = o->port,
		.key_file = o->key_file, .home = o->home, .known_hosts = known,
		.agent = o->agent, .accept_new = o->accept_new,
	};
	struct backend_inst *inst = mem_alloc(sizeof(*inst));
	TAILQ_INIT(&inst->waits);
	inst->loop = env->loop;
	inst->link = ssh_link_new(env->loop, &target);
	inst->name = mem_printf("%s%s%s:%u", o->user ? o->user : "",
	    o->user ? "@" : "", o->host, o->port ? o->port : 22);
	inst->cwd = o->cwd && o->cwd[0] == '/' ? mem_str(o->cwd) : NULL;
	ids_sha256_hex(env->instance_id, strlen(env->instance_id), hex);
	inst->prefix = mem_printf("%.12s.", hex);
	if (helper_read(inst, o->helper, err) < 0)
		ssh_stop(&inst);
	return inst;
}

static struct sandbox_props
ssh_props(struct backend_inst *inst)
{
	const struct ssh_host *host = &inst->host;

	return (struct sandbox_props){
		.backend = "ssh", .level = "", .image = inst->name,
		.network = "host", .isolation = 0, .available = true, .why = "",
		.limits = "none: commands have the rights of the account there",
		.workspace = inst->cwd ? inst->cwd : host->home ? host->home : "/",
		.home = host->home, .user = host->user,
	};
}

/* ---- boxes ----------------------------------------------------------------------- */

struct box_op {
	struct op op;
	struct op *waiting;
	struct timer *timer;
	struct box *box;
	box_open_cb *opened;
	box_close_cb *closed;
	void *arg;
};

static void
box_free(struct box *box)
{
	if (!box)
		return;
	REQUIRE(TAILQ_EMPTY(&box->procs));
	mem_free(box->prefix);
	mem_free(box);
}

static void
box_op_free(struct box_op *b)
{
	op_cancel(&b->waiting);
	loop_cancel(&b->timer);
	box_free(b->box);
	mem_free(b);
}

static void
box_cancel(struct op *op)
{
	box_op_free((struct box_op *)(void *)op);
}

static const struct op_type box_type = { "ssh box", box_cancel };

static void
on_box_clean(void *arg, const struct err *err)
{
	struct box_op *b = arg;

	b->waiting = NULL;
	op_finish(&b->op);
	b->opened(b->arg, err ? NULL : STEAL(b->box), err);
	box_op_free(b);
}

/* Whatever an earlier box of that id left there is ended first (rules 3.2). */
static struct op *
ssh_open(struct backend_inst *inst, const struct box_spec *spec, box_open_cb *cb,
	void *arg)
{
	struct box_op *b = mem_alloc(sizeof(*b));

	op_init(&b->op, &box_type);
	b->opened = cb;
	b->arg = arg;
	b->box = mem_alloc(sizeof(*b->box));
	b->box->inst = inst;
	b->box->prefix = mem_printf("%s%s.", inst->prefix, spec->id);
	TAILQ_INIT(&b->box->procs);
	b->waiting = ssh_reap(inst, b->box->prefix, false, on_box_clean, b);
	return &b->op;
}

static void
on_box_closed(void *arg)
{
	struct box_op *b = arg;

	b->timer = NULL;
	op_finish(&b->op);
	b->closed(b->arg, NULL);
	box_op_free(b);
}

/* Every tree of it is dead, so nothing of it is there any more. */
static struct op *
ssh_close(struct box *box, box_close_cb *cb, void *arg)
{
	struct box_op *b = mem_alloc(sizeof(*b));

	op_init(&b->op, &box_type);
	b->closed = cb;
	b->arg = arg;
	b->box = box;
	b->timer = loop_defer(box->inst->loop, "ssh box", on_box_closed, b);
	return &b->op;
}

static struct op *
ssh_reap_all(struct backend_inst *inst, backend_probe_cb *cb, void *arg)
{
	return ssh_reap(inst, inst->prefix, false, cb, arg);
}

const struct backend backend_ssh = {
	.name = "ssh",
	.flags = BACKEND_TREE_KILL | BACKEND_SURVIVES | BACKEND_STDIN |
	    BACKEND_REMOTE,
	.start = ssh_start,
	.stop = ssh_stop,
	.probe = ssh_trial,
	.props = ssh_props,
	.open = ssh_open,
	.close = ssh_close,
	.spawn = ssh_spawn,
	.kill = ssh_kill,
	.flow = ssh_flow,
	.write = ssh_write,
	.close_input = ssh_close_input,
	.reap = ssh_reap_all,
};

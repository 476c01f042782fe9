/* Looking at a scene: what the disk says, on the thread beside the loop. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/mem.h"
#include "sandbox/sandbox_priv.h"
#include "sandbox/scene.h"

struct look {
	struct scene *scene;
	int root;		/* -1: the host's own paths */
	bool on_disk;		/* something can be seen from here */
	char *seen;
};

struct look_op {
	struct op op;
	struct op *work;
	struct timer *timer;	/* nothing to be read: told later all the same */
	struct look *look;	/* while there is no work */
	sandbox_scene_cb *cb;
	void *arg;
};

/* Of the exports that commands have left. */
static void
cell_env_digest(const struct cell *cell, unsigned char out[SHA256_LEN])
{
	struct buf b;

	buf_init(&b, 2 * VARS_MAX + 65536);
	for (size_t i = 0; cell && cell->has_exports && i < cell->exports.n; i++)
		buf_printf(&b, "%s=%s%c", cell->exports.list[i].name,
		    cell->exports.list[i].value, '\n');
	ids_sha256(b.data, b.len, out);
	buf_done(&b);
}

static void
look_run(void *data)
{
	struct look *l = data;

	if (l->on_disk)
		scene_read(l->scene, l->root, l->seen);
}

static void
look_drop(void *data)
{
	struct look *l = data;

	scene_free(&l->scene);
	if (l->root >= 0)
		close(l->root);
	mem_free(l->seen);
	mem_free(l);
}

static void
look_told(struct look_op *o, struct look *l)
{
	struct scene *scene = STEAL(l->scene);
	sandbox_scene_cb *cb = o->cb;
	void *arg = o->arg;

	op_finish(&o->op);
	mem_free(o);
	cb(arg, scene);
}

static void
look_done(void *arg, void *data)
{
	struct look_op *o = arg;

	o->work = NULL;
	look_told(o, data);
}

static void
on_nothing(void *arg)
{
	struct look_op *o = arg;
	struct look *l = STEAL(o->look);

	o->timer = NULL;
	look_told(o, l);
	look_drop(l);
}

static void
look_cancel(struct op *op)
{
	struct look_op *o = (struct look_op *)(void *)op;

	op_cancel(&o->work);
	loop_cancel(&o->timer);
	if (o->look)
		look_drop(o->look);
	mem_free(o);
}

static const struct op_type look_type = { "sandbox_look", look_cancel };

/* What of this sandbox's files can be seen from here, without its help. */
static void
find_root(struct sandboxes *sb, const struct cell *cell,
	const struct slot *slot, struct look *l)
{
	struct sandbox_props props = slot_props(slot);
	bool ours = slot->backend &&
	    (slot->backend->flags & BACKEND_WORKSPACE) && cell;

	(void)sb;
	l->seen = mem_str(props.workspace ? props.workspace : "");
	if (ours)
		l->root = open(cell->host_dir, O_PATH | O_DIRECTORY | O_CLOEXEC |
		    O_NOFOLLOW);
	l->on_disk = l->root >= 0 || (slot->backend &&
	    (slot->backend->flags & BACKEND_HOST_FILES));
}

struct op *
sandbox_look(struct sandboxes *sb, const char *key_text, const char *dir,
	const char *const *files, size_t n, sandbox_scene_cb *cb, void *arg)
{
	static const struct offload_work work = { look_run, look_done, look_drop };
	const struct cell *cell = map_get(&sb->cells, key_text);
	const struct slot *slot = sandboxes_slot_of(sb, key_text);
	struct look_op *o = mem_alloc(sizeof(*o));
	struct look *l = mem_alloc(sizeof(*l));

	op_init(&o->op, &look_type);
	o->cb = cb;
	o->arg = arg;
	l->root = -1;
	l->scene = scene_new(dir, files, n);
	cell_env_digest(cell, l->scene->env);
	find_root(sb, cell, slot, l);
	if (l->on_disk && sandboxes_offload(sb)) {
		o->work = offload_start(sb->offload, &work, l, o);
	} else {
		o->look = l;
		o->timer = loop_defer(sb->loop, "sandbox look", on_nothing, o);
	}
	return &o->op;
}

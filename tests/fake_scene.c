/* sandbox_look() of the fake sandbox: the scene as the test has set it. */
#include <fcntl.h>
#include <string.h>

#include "base/mem.h"
#include "sandbox/scene.h"
#include "tests/fake_sandbox.h"

struct scene *
fake_scene_now(const char *dir, const char *const *files, size_t n)
{
	struct scene *s = scene_new(dir, files, n);

	s->fd = open("/", O_PATH | O_CLOEXEC);
	s->ino = fake_sandbox.dir_ino;
	s->env[0] = (unsigned char)fake_sandbox.exports;
	for (size_t i = 0; i < s->nfiles && fake_sandbox.script; i++) {
		struct scene_file *f = &s->files[i];

		f->whole = true;
		f->text = mem_str(fake_sandbox.script);
		f->len = strlen(f->text);
		ids_sha256(f->text, f->len, f->hash);
	}
	return s;
}

struct look {
	struct op op;
	struct timer *timer;
	struct scene *scene;
	sandbox_scene_cb *cb;
	void *arg;
};

static void
look_cancel(struct op *op)
{
	struct look *l = (struct look *)op;

	loop_cancel(&l->timer);
	scene_free(&l->scene);
	mem_free(l);
}

static const struct op_type look_type = { "fake look", look_cancel };

static void
on_look(void *arg)
{
	struct look *l = arg;
	struct scene *scene = STEAL(l->scene);

	l->timer = NULL;
	op_finish(&l->op);
	l->cb(l->arg, scene);
	mem_free(l);
}

struct op *
sandbox_look(struct sandboxes *sb, const char *key_text, const char *dir,
    const char *const *files, size_t n, sandbox_scene_cb *cb, void *arg)
{
	struct look *l = mem_alloc(sizeof(*l));

	(void)sb, (void)key_text;
	op_init(&l->op, &look_type);
	l->scene = fake_scene_now(dir, files, n);
	l->cb = cb;
	l->arg = arg;
	l->timer = loop_defer(fake_sandbox.loop, "fake look", on_look, l);
	return &l->op;
}

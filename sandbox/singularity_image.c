/*
 * What an image's name means to the program.  A file or a directory is used as
 * it is; an address is pulled once into a file below the scratch directory, under
 * a lock that ends with its holder, and renamed when it is whole.
 *
 *   LOCK -> PULL -> done
 */
#include "sandbox/singularity_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/log.h"
#include "base/mem.h"

#define PULL_MS (30 * 60 * 1000)
#define LOCK_MS 500		/* between two tries */
#define LOCK_TRIES (PULL_MS / LOCK_MS)

enum get_step { GET_BEGIN, GET_LOCK, GET_PULL };

struct get {
	struct op op;
	struct backend_inst *inst;
	char *box_id, *uri, *file, *part;
	enum get_step step;
	struct op *waiting;
	struct timer *timer;
	int lock;
	unsigned tries;
	sgl_done_cb *cb;
	void *arg;
};

static bool
is_address(const char *image)
{
	return strstr(image, "://") != NULL;
}

int
singularity_image_check(const char *image, struct err *err)
{
	static const char *const kinds[] = { "docker://", "oras://", "library://" };

	if (*image == '/')
		return 0;
	if (!is_address(image) && (*image == '.' || strstr(image, ".sif")))
		return err_set(err, ERR_CONFIG, "the image %s: write its absolute "
		    "path", image);
	if (*image == '-' || strpbrk(image, " \t\n"))
		return err_set(err, ERR_CONFIG, "the image \"%s\" is no name", image);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (strncmp(image, kinds[i], strlen(kinds[i])) == 0)
			return 0;
	if (is_address(image))
		return err_set(err, ERR_CONFIG, "the image %s: only docker://, oras:// "
		    "and library:// are understood", image);
	return 0;
}

/* "debian:12" means what it means to docker. */
static char *
address_of(const char *image)
{
	return is_address(image) ? mem_str(image) : mem_printf("docker://%s", image);
}

static char *
file_of(const struct backend_inst *inst, const char *uri)
{
	char hex[ID_HEX_MAX];

	ids_sha256_hex(uri, strlen(uri), hex);
	return mem_printf("%s/images/%.32s.sif", inst->opts.scratch, hex);
}

static int
look_at_path(const char *path, struct err *err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return err_set_errno(err, errno, "the image %s", path);
	if (!S_ISDIR(st.st_mode) && access(path, R_OK) < 0)
		return err_set_errno(err, errno, "the image %s can't be read", path);
	if (!S_ISDIR(st.st_mode))
		return 0;
	CLEANUP_FREE char *start = mem_printf("%s/.singularity.d/actions/start",
	    path);
	if (access(start, R_OK) < 0)
		return err_set(err, ERR_CONFIG, "the directory %s is a bare root file "
		    "system, from which no instance can be started; make an image "
		    "of it once: apptainer build --sandbox NEW-DIRECTORY %s", path,
		    path);
	return 0;
}

/* False without err: it is yet to be pulled. */
bool
sgl_image_look(struct backend_inst *inst, struct err *err)
{
	if (inst->image_path && access(inst->image_path, R_OK) == 0)
		return true;
	mem_free(STEAL(inst->image_path));
	if (singularity_image_check(inst->image, err) < 0)
		return false;
	if (*inst->image == '/') {
		if (look_at_path(inst->image, err) < 0)
			return false;
		inst->image_path = mem_str(inst->image);
		return true;
	}
	CLEANUP_FREE char *uri = address_of(inst->image);
	CLEANUP_FREE char *file = file_of(inst, uri);
	if (access(file, R_OK) < 0)
		return false;
	inst->image_path = STEAL(file);
	return true;
}

static void
get_free(struct get *g)
{
	op_cancel(&g->waiting);
	loop_cancel(&g->timer);
	if (g->step == GET_PULL && g->part)
		(void)unlink(g->part);	/* not whole */
	if (g->lock >= 0)
		close(g->lock);
	mem_free(g->box_id);
	mem_free(g->uri);
	mem_free(g->file);
	mem_free(g->part);
	mem_free(g);
}

static void
get_cancel(struct op *op)
{
	get_free((struct get *)(void *)op);
}

static const struct op_type get_type = { "image", get_cancel };

static void
get_set(struct get *g, enum get_step step)
{
	static const char *const names[] = { "begin", "lock", "pull" };

	log_debug("singularity", NULL, "image %s: %s", g->inst->image, names[step]);
	g->step = step;
}

static void
get_end(struct get *g, const struct err *err)
{
	struct err copy = { ERR_NONE, "" };
	sgl_done_cb *cb = g->cb;
	void *arg = g->arg;

	if (err)
		copy = *err;
	op_finish(&g->op);
	get_free(g);
	cb(arg, copy.code ? &copy : NULL);
}

static void
say(const struct get *g, const char *text)
{
	log_info("singularity", NULL, "%s", text);
	if (g->inst->say && g->box_id)
		g->inst->say(g->inst->say_arg, g->box_id, text, true);
}

static void
on_pulled(void *arg, const struct cli_end *end)
{
	struct get *g = arg;
	struct err err = { ERR_NONE, "" };
	bool ok = !end->err && end->status == 0;

	g->waiting = NULL;
	if (!ok) {
		CLEANUP_FREE char *tried = mem_printf("pulling the image %s failed "
		    "(is the name right? is the registry reachable? credentials go "
		    "into APPTAINER_DOCKER_USERNAME and _PASSWORD, or give a .sif "
		    "file that you pulled yourself)", g->uri);
		cli_failed(&err, end, tried);
	} else if (rename(g->part, g->file) < 0) {
		err_set_errno(&err, errno, "the pulled image %s", g->file);
	} else {
		(void)sgl_image_look(g->inst, &err);
	}
	get_end(g, err.code ? &err : NULL);
}

static void
pull(struct get *g)
{
	CLEANUP_FREE char *text = mem_printf("pulling the image %s; this is done "
	    "once and may take minutes", g->uri);
	const char *const argv[] = { NULL, "pull", "--force", g->part, g->uri,
		NULL };
	struct cli_spec spec = { .argv = argv, .pull = true, .limit_ms = PULL_MS };

	get_set(g, GET_PULL);
	say(g, text);
	g->waiting = cli_run(g->inst, &spec, on_pulled, g);
}

/* Another process of ours may be pulling the same. */
static void
try_lock(void *arg)
{
	struct get *g = arg;
	struct err err = { ERR_NONE, "" };

	g->timer = NULL;
	if (flock(g->lock, LOCK_EX | LOCK_NB) == 0) {
		if (sgl_image_look(g->inst, &err) || err.code)
			get_end(g, err.code ? &err : NULL);
		else
			pull(g);
		return;
	}
	if (errno != EWOULDBLOCK || g->tries == LOCK_TRIES) {
		err_set(&err, ERR_UNAVAILABLE, "the image %s: %s", g->uri,
		    errno == EWOULDBLOCK ? "whoever else pulls it does not get "
		    "done; try again later" : strerror(errno));
		get_end(g, &err);
		return;
	}
	if (g->tries++ == 0)
		say(g, "waiting for the image, which is being pulled already");
	g->timer = loop_after(g->inst->loop, LOCK_MS, "image lock", try_lock, g);
}

static int
make_dir(const char *scratch, const char *name, struct err *err)
{
	CLEANUP_FREE char *dir = mem_printf("%s/%s", scratch, name);

	return mkdir(dir, 0700) == 0 || errno == EEXIST ? 0 :
	    err_set_errno(err, errno, "making %s (TERMINAL_SCRATCH_DIR)", dir);
}

static void
get_begin(void *arg)
{
	struct get *g = arg;
	const char *scratch = g->inst->opts.scratch;
	struct err err = { ERR_NONE, "" };

	g->timer = NULL;
	if (make_dir(scratch, "", &err) < 0 || make_dir(scratch, "images", &err) < 0 ||
	    make_dir(scratch, "cache", &err) < 0 ||
	    make_dir(scratch, "tmp", &err) < 0 ||
	    make_dir(scratch, "overlays", &err) < 0 ||
	    sgl_image_look(g->inst, &err) || err.code) {
		get_end(g, err.code ? &err : NULL);
		return;
	}
	g->uri = address_of(g->inst->image);
	g->file = file_of(g->inst, g->uri);
	g->part = mem_printf("%s.part", g->file);
	CLEANUP_FREE char *lock = mem_printf("%s.lock", g->file);
	g->lock = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (g->lock < 0) {
		err_set_errno(&err, errno, "the lock %s", lock);
		get_end(g, &err);
		return;
	}
	get_set(g, GET_LOCK);
	try_lock(g);
}

struct op *
sgl_image_get(struct backend_inst *inst, const char *box_id, sgl_done_cb *cb,
	void *arg)
{
	struct get *g = mem_alloc(sizeof(*g));

	op_init(&g->op, &get_type);
	g->inst = inst;
	g->box_id = mem_str(box_id);
	g->lock = -1;
	g->cb = cb;
	g->arg = arg;
	g->timer = loop_defer(inst->loop, "image", get_begin, g);
	return &g->op;
}

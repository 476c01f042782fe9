#include "tests/fake_sandbox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/offload.h"
#include "sandbox/file_fast.h"
#include "sandbox/procs.h"
#include "sandbox/spooled.h"
#include "sandbox/scene.h"

struct fake_sandbox fake_sandbox;

struct sandboxes {
	struct loop *loop;
	struct map dying;	/* sandbox text -> timer box */
	struct offload *offload;
};

struct dying {
	struct sandboxes *sb;
	char *sandbox;
	struct timer *timer;
};

struct run_op {
	struct op op;
	struct sandboxes *sb;
	struct sandbox_key key;
	char *sandbox, *text;
	uint64_t generation;
	bool pty;
	struct permit *permit;
	struct scene *scene;
	struct permit_terms terms;
	struct file_act act;	/* if has_act */
	bool has_act, apart;
	char *input;
	sandbox_output_cb *on_output;
	struct fake_command *record;
	struct timer *timer;
	sandbox_done_cb *done;
	void *arg;
};

void
fake_sandbox_init(void)
{
	memset(&fake_sandbox, 0, sizeof(fake_sandbox));
	fake_sandbox.isolated = true;
	strcpy(fake_sandbox.files, "/tmp/gatehouse-files.XXXXXX");
	REQUIRE(mkdtemp(fake_sandbox.files));
}

void
fake_sandbox_done(void)
{
	CLEANUP_FREE char *clean = mem_printf("rm -rf %s", fake_sandbox.files);

	REQUIRE(!fake_sandbox.files[0] || system(clean) == 0);
	for (size_t i = 0; i < fake_sandbox.n; i++) {
		mem_free(fake_sandbox.commands[i].text);
		mem_free(fake_sandbox.commands[i].sandbox);
	}
	mem_free(fake_sandbox.wiped);
	memset(&fake_sandbox, 0, sizeof(fake_sandbox));
}

size_t
fake_sandbox_ran(const char *text)
{
	size_t n = 0;

	for (size_t i = 0; i < fake_sandbox.n; i++)
		n += strcmp(fake_sandbox.commands[i].text, text) == 0;
	return n;
}

char *
sandbox_key_text(const struct sandbox_key *key)
{
	return mem_printf("%s/%s/%d", key->profile, key->scope, key->owner);
}

struct sandboxes *
sandboxes_new(struct loop *loop, struct launcher *launcher, struct store *store,
    const struct sandbox_opts *opts, struct err *err)
{
	struct sandboxes *sb = mem_alloc(sizeof(*sb));

	(void)launcher;
	(void)store;
	(void)opts;
	(void)err;
	sb->loop = loop;
	fake_sandbox.loop = loop;
	map_init(&sb->dying);
	return sb;
}

static void
dying_free(struct dying *d)
{
	loop_cancel(&d->timer);
	mem_free(d->sandbox);
	mem_free(d);
}

void
sandboxes_free(struct sandboxes **sbp)
{
	struct sandboxes *sb = STEAL(*sbp);
	size_t it = 0;
	void *d;

	while (map_next(&sb->dying, &it, NULL, &d))
		dying_free(d);
	map_done(&sb->dying);
	offload_free(&sb->offload);
	mem_free(sb);
}

/* ---- ops that only take a turn of the loop ------------------------------------- */

struct turn {
	struct op op;
	struct timer *timer;
	sandboxes_done_cb *done;
	void *arg;
};

static void
turn_cancel(struct op *op)
{
	struct turn *t = (struct turn *)op;

	loop_cancel(&t->timer);
	mem_free(t);
}

static const struct op_type turn_type = { "fake sandbox turn", turn_cancel };

static void
on_turn(void *arg)
{
	struct turn *t = arg;

	t->timer = NULL;
	op_finish(&t->op);
	t->done(t->arg);
	mem_free(t);
}

static struct op *
turn_new(struct sandboxes *sb, sandboxes_done_cb *done, void *arg)
{
	struct turn *t = mem_alloc(sizeof(*t));

	op_init(&t->op, &turn_type);
	t->done = done;
	t->arg = arg;
	t->timer = loop_defer(sb->loop, "fake sandbox turn", on_turn, t);
	return &t->op;
}

struct op *
sandboxes_close(struct sandboxes *sb, sandboxes_done_cb *done, void *arg)
{
	return turn_new(sb, done, arg);
}

struct op *
sandboxes_probe(struct sandboxes *sb, sandboxes_done_cb *done, void *arg)
{
	return turn_new(sb, done, arg);
}

struct sandbox_props
sandbox_props(struct sandboxes *sb, enum sandbox_owner owner)
{
	(void)sb;
	(void)owner;
	return (struct sandbox_props){
		.backend = fake_sandbox.isolated ? "native" : "local",
		.level = "", .image = "", .network = "none",
		.isolation = fake_sandbox.isolated ? SANDBOX_ISOLATED : 0,
		.available = true, .why = "", .workspace = "/workspace",
	};
}

struct sandbox_props
sandbox_props_of(struct sandboxes *sb, const struct sandbox_key *key)
{
	return sandbox_props(sb, key->owner);
}

const char *
sandbox_cwd(struct sandboxes *sb, const struct sandbox_key *key)
{
	(void)sb;
	(void)key;
	return "/workspace";
}

const char *
sandbox_describe(struct sandboxes *sb, enum sandbox_owner owner)
{
	(void)sb;
	(void)owner;
	fake_sandbox.described++;
	return "a fake sandbox";
}

void
sandboxes_warm(struct sandboxes *sb)
{
	(void)sb;
	fake_sandbox.warmed++;
}

/* ---- commands ----------------------------------------------------------------------- */

static void
run_free(struct run_op *r)
{
	loop_cancel(&r->timer);
	permit_free(&r->permit);
	scene_free(&r->scene);
	mem_free(r->sandbox);
	mem_free(r->text);
	mem_free(r->input);
	if (r->has_act)
		file_act_done(&r->act);
	mem_free(r);
}

static void
on_dead(void *arg)
{
	struct dying *d = arg;

	d->timer = NULL;
	map_remove(&d->sb->dying, d->sandbox);
	dying_free(d);
}

static void
run_cancel_op(struct op *op)
{
	struct run_op *r = (struct run_op *)op;

	if (r->record) {
		r->record->ended = loop_now(r->sb->loop);
		r->record->cancelled = true;
		struct dying *d = mem_alloc(sizeof(*d));

		d->sb = r->sb;
		d->sandbox = mem_str(r->sandbox);
		d->timer = loop_after(r->sb->loop, fake_sandbox.dying_ms,
		    "fake tree dies", on_dead, d);
		struct dying *before = map_remove(&r->sb->dying, r->sandbox);

		if (before)
			dying_free(before);
		map_set(&r->sb->dying, r->sandbox, d);
	}
	run_free(r);
}

static const struct op_type run_type = { "fake sandbox run", run_cancel_op };

/* Really done, in a directory of the test's. */
static void
act_on_files(struct run_op *r)
{
	struct buf out;

	buf_init(&out, 16u << 20);
	if (file_fast_covers(&r->act, "/workspace") &&
	    file_fast_do(&r->act, "/workspace", fake_sandbox.files, &out))
		r->on_output(r->arg, 1, out.data, out.len);
	buf_done(&out);
}

static void
on_end(void *arg)
{
	struct run_op *r = arg;
	bool background = r->record->background;
	struct sandbox_result res = {
		.process_id = background ? r->record->process : NULL,
		.pty = r->pty && fake_sandbox.has_pty,
		.exit_code = strcmp(r->text, "fail") == 0 ? 3 : 0,
		.output = r->text, .output_len = strlen(r->text),
		.output_total = strlen(r->text), .cwd = "/workspace",
		.started = true,
	};

	r->timer = NULL;
	if (!background)
		r->record->ended = loop_now(r->sb->loop);
	if (r->has_act)
		act_on_files(r);
	op_finish(&r->op);
	r->done(r->arg, &res);
	run_free(r);
}

/* The invariant of rules 4.3: nothing runs in another scene than its ask's. */
static bool
refuse_changed(struct run_op *r)
{
	struct err err;
	const char *files[SCENE_FILES_MAX];

	if (!r->scene)
		return false;
	for (size_t i = 0; i < r->scene->nfiles; i++)
		files[i] = r->scene->files[i].path;
	struct scene *now = fake_scene_now("/workspace", files, r->scene->nfiles);
	CLEANUP_FREE char *what = scene_difference(r->scene, now);

	scene_free(&now);
	if (!what)
		return false;
	err_set(&err, ERR_DENIED, "not run: %s; ask again", what);
	struct sandbox_result res = { .exit_code = SANDBOX_EXIT_REFUSED,
		.output = "", .error = err.text, .cwd = "", .changed = what };

	fake_sandbox.changed++;
	op_finish(&r->op);
	r->done(r->arg, &res);
	run_free(r);
	return true;
}

static void
on_start(void *arg)
{
	struct run_op *r = arg;
	struct err err = { ERR_NONE, "" };

	r->timer = NULL;
	if (map_get(&r->sb->dying, r->sandbox)) {
		r->timer = loop_after(r->sb->loop, 10, "fake wait", on_start, r);
		return;
	}
	r->terms.command = r->text;
	r->terms.sandbox = r->sandbox;
	r->scene = permit_take_scene(r->permit);
	if (permit_consume(&r->permit, &r->terms, &err) < 0) {
		struct sandbox_result res = { .exit_code = SANDBOX_EXIT_REFUSED,
			.output = "", .error = err.text, .cwd = "" };

		fake_sandbox.refused++;
		op_finish(&r->op);
		r->done(r->arg, &res);
		run_free(r);
		return;
	}
	if (refuse_changed(r))
		return;
	REQUIRE(fake_sandbox.n < FAKE_COMMANDS_MAX);
	for (size_t i = fake_sandbox.n > 100 ? fake_sandbox.n - 100 : 0;
	    i < fake_sandbox.n; i++)
		REQUIRE(fake_sandbox.commands[i].ended != 0 ||
		    fake_sandbox.commands[i].background ||
		    r->apart || fake_sandbox.commands[i].apart ||
		    strcmp(fake_sandbox.commands[i].sandbox, r->sandbox) != 0);
	r->record = &fake_sandbox.commands[fake_sandbox.n++];
	*r->record = (struct fake_command){
		.text = mem_str(r->text), .sandbox = mem_str(r->sandbox),
		.generation = r->generation,
		.started = loop_now(r->sb->loop),
		.background = r->terms.background, .pty = r->pty,
		.apart = r->apart,
	};
	if (r->record->background)
		REQUIRE(mem_format(r->record->process,
		    sizeof(r->record->process), "proc_%012zx",
		    fake_sandbox.n) == 0);
	msec_t ms = strncmp(r->text, "sleep ", 6) == 0 &&
	    !r->record->background ?
	    1000 * strtol(r->text + 6, NULL, 10) : 1;

	r->timer = loop_after(r->sb->loop, ms, "fake command", on_end, r);
}

struct op *
sandbox_run(struct sandboxes *sb, const struct sandbox_key *key,
    const struct sandbox_cmd *cmd, struct permit **permit,
    sandbox_output_cb *on_output, sandbox_done_cb *done, void *arg)
{
	struct run_op *r = mem_alloc(sizeof(*r));

	op_init(&r->op, &run_type);
	r->sb = sb;
	r->sandbox = sandbox_key_text(key);
	r->on_output = on_output;
	r->apart = cmd->apart || cmd->act;
	if (cmd->act) {
		struct buf text;

		buf_init(&text, 1u << 20);
		REQUIRE(file_act_command(cmd->act, &text));
		r->text = buf_take(&text);
		file_act_copy(&r->act, cmd->act);
		r->has_act = true;
		r->input = file_act_input(cmd->act, &r->terms.input_len);
	} else {
		r->text = mem_strn(cmd->command, cmd->command_len);
		r->input = cmd->input ? mem_dup(cmd->input, cmd->input_len) : NULL;
		r->terms.input_len = cmd->input ? cmd->input_len : 0;
	}
	r->generation = cmd->generation;
	r->pty = cmd->pty;
	r->permit = STEAL(*permit);
	r->terms = (struct permit_terms){
		.command_len = strlen(r->text),
		.input = r->input, .input_len = r->terms.input_len,
		.workdir = "", .generation = cmd->generation,
		.isolation = sandbox_props(sb, key->owner).isolation,
		.background = cmd->background,
	};
	r->done = done;
	r->arg = arg;
	r->timer = loop_defer(sb->loop, "fake start", on_start, r);
	return &r->op;
}

void
sandbox_reset(struct sandboxes *sb, const struct sandbox_key *key)
{
	(void)sb;
	(void)key;
	fake_sandbox.resets++;
}

void
sandbox_wipe(struct sandboxes *sb, const struct sandbox_key *key)
{
	(void)sb;
	mem_free(fake_sandbox.wiped);
	fake_sandbox.wiped = sandbox_key_text(key);
}

struct op *
sandboxes_prune(struct sandboxes *sb, msec_t before, sandboxes_prune_cb *cb,
    void *arg)
{
	(void)sb, (void)before, (void)cb, (void)arg;
	return NULL;	/* no scenario asks for it */
}

unsigned
sandbox_abilities(struct sandboxes *sb, enum sandbox_owner owner)
{
	(void)sb, (void)owner;
	return (SANDBOX_COMMANDS | SANDBOX_SCRIPTS) & ~fake_sandbox.unable;
}

bool
sandbox_can_rpc(struct sandboxes *sb, enum sandbox_owner owner)
{
	(void)sb, (void)owner;
	return false;
}

struct offload *
sandboxes_offload(struct sandboxes *sb)
{
	if (!sb->offload)
		sb->offload = offload_new(sb->loop, NULL);
	return sb->offload;
}

struct json *
sandboxes_status(struct sandboxes *sb)
{
	(void)sb;
	return json_array();
}

void
sandboxes_on_alarm(struct sandboxes *sb, sandbox_alarm_cb *cb, void *arg)
{
	(void)sb;
	fake_sandbox.alarm = cb;
	fake_sandbox.alarm_arg = arg;
}

void
sandboxes_on_news(struct sandboxes *sb, sandbox_news_cb *cb, void *arg)
{
	(void)sb;
	fake_sandbox.news = cb;
	fake_sandbox.news_arg = arg;
}

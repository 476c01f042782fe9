/* Background processes of the fake sandbox. */
#include "tests/fake_sandbox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sandbox/procs.h"
#include "sandbox/output.h"
#include "sandbox/spooled.h"

static struct fake_command *
find(const struct sandbox_key *key, const char *id)
{
	CLEANUP_FREE char *sandbox = sandbox_key_text(key);

	for (size_t i = 0; i < fake_sandbox.n; i++) {
		struct fake_command *c = &fake_sandbox.commands[i];

		if (c->background && strcmp(c->process, id) == 0 &&
		    strcmp(c->sandbox, sandbox) == 0)
			return c;
	}
	return NULL;
}

static struct json *
describe(const struct fake_command *c)
{
	struct json *j = json_object();

	json_set_str(j, "session_id", c->process);
	json_set_str(j, "command", c->text);
	json_set_str(j, "cwd", "/workspace");
	json_set_str(j, "status", c->ended ? "exited" : "running");
	if (c->ended)
		json_set_int(j, "exit_code", c->code);
	return j;
}

struct fake_command *
fake_sandbox_process(void)
{
	for (size_t i = fake_sandbox.n; i > 0; i--) {
		struct fake_command *c = &fake_sandbox.commands[i - 1];

		if (c->background && !c->ended)
			return c;
	}
	mem_require_failed("a background process", __FILE__, __LINE__);
}

static void
tell(const struct fake_command *c, enum process_event_kind kind,
    const char *output)
{
	struct process_event ev = {
		.kind = kind, .id = c->process, .command = c->text,
		.reason = kind == PROCESS_ENDED ? "exited" : NULL,
		.has_code = kind == PROCESS_ENDED, .exit_code = c->code,
		.output = output,
	};

	if (fake_sandbox.on_process)
		fake_sandbox.on_process(fake_sandbox.on_process_arg, &ev);
}

void
fake_sandbox_end(struct fake_command *c, int code, const char *output)
{
	c->ended = c->started + 1;
	c->code = code;
	tell(c, PROCESS_ENDED, output);
}

void
fake_sandbox_match(struct fake_command *c, const char *line)
{
	tell(c, PROCESS_MATCHED, line);
}

struct json *
sandbox_processes(struct sandboxes *sb, const struct sandbox_key *key)
{
	CLEANUP_FREE char *sandbox = sandbox_key_text(key);
	struct json *list = json_array();

	(void)sb;
	for (size_t i = 0; i < fake_sandbox.n; i++)
		if (fake_sandbox.commands[i].background &&
		    strcmp(fake_sandbox.commands[i].sandbox, sandbox) == 0)
			json_add_take(list, describe(&fake_sandbox.commands[i]));
	return list;
}

struct json *
procs_poll(struct sandboxes *sb, const struct sandbox_key *key, const char *id)
{
	const struct fake_command *c = find(key, id);

	(void)sb;
	return c ? describe(c) : NULL;
}

struct json *
procs_log(struct sandboxes *sb, const struct sandbox_key *key, const char *id,
    long offset, long limit)
{
	(void)offset, (void)limit;
	return procs_poll(sb, key, id);
}

int
procs_kill(struct sandboxes *sb, const struct sandbox_key *key, const char *id,
    struct err *err)
{
	struct fake_command *c = find(key, id);

	(void)sb;
	if (!c || c->ended)
		return err_set(err, c ? ERR_EXISTS : ERR_NOT_FOUND,
		    "there is no process %s", id);
	c->ended = c->started + 1;
	return 0;
}

int
procs_write(struct sandboxes *sb, const struct sandbox_key *key, const char *id,
    const void *data, size_t len, uint64_t generation, struct permit **permit,
    struct err *err)
{
	struct fake_command *c = find(key, id);
	CLEANUP_FREE char *sandbox = sandbox_key_text(key);
	struct permit_terms now = {
		.command = data, .command_len = len, .sandbox = sandbox,
		.workdir = id, .generation = generation,
		.isolation = sandbox_props(sb, key->owner).isolation,
	};

	if (permit_consume(permit, &now, err) < 0) {
		fake_sandbox.refused++;
		return -1;
	}
	if (!c)
		return err_set(err, ERR_NOT_FOUND, "there is no process %s", id);
	CLEANUP_FREE char *all = mem_printf("%s%.*s", c->input, (int)len,
	    (const char *)data);

	return mem_copy_str(c->input, sizeof(c->input), all);
}

const char *
procs_program(struct sandboxes *sb, const struct sandbox_key *key,
    const char *id)
{
	const struct fake_command *c = find(key, id);

	(void)sb;
	return c ? c->text : NULL;
}

int
procs_close(struct sandboxes *sb, const struct sandbox_key *key, const char *id,
    struct err *err)
{
	(void)sb;
	return find(key, id) ? 0 : err_set(err, ERR_NOT_FOUND,
	    "there is no process %s", id);
}

void
sandboxes_on_process(struct sandboxes *sb, process_event_cb *cb, void *arg)
{
	(void)sb;
	fake_sandbox.on_process = cb;
	fake_sandbox.on_process_arg = arg;
}

void
sandbox_end_processes(struct sandboxes *sb, const struct sandbox_key *key)
{
	(void)sb;
	(void)key;
	fake_sandbox.ended_processes++;
}

bool
spooled_is_id(const char *id)
{
	return strncmp(id, "out_", 4) == 0;
}

struct output *
spooled_output(struct sandboxes *sb, size_t max)
{
	struct output_opts opts = { .max = max, .loop = fake_sandbox.loop };

	(void)sb;
	return output_new(&opts);
}

const char *
spooled_keep(struct sandboxes *sb, const struct sandbox_key *key,
    const char *path)
{
	(void)sb, (void)key, (void)path;
	return "out_0123456789ab";
}

struct op *
spooled_read(struct sandboxes *sb, const struct sandbox_key *key, const char *id,
    long offset, long limit, spooled_cb *cb, void *arg)
{
	(void)sb, (void)key, (void)id, (void)offset, (void)limit, (void)cb;
	(void)arg;
	return NULL;
}

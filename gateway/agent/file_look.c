#include "gateway/agent/file_look.h"

#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "gateway/agent/errand.h"
#include "sandbox/cwd.h"
#include "sandbox/exec.h"

struct look_op {
	struct op op;
	struct op *waiting;
	struct sandbox_props props;
	bool to_write;
	file_look_cb *cb;
	void *arg;
};

struct json *
file_error(const char *text)
{
	return json_set_str(json_object(), "error", text);
}

char *
file_tool_path(const struct tool_env *env, const char *text,
    const char **ret_fault)
{
	struct sandbox_props p = sandbox_props(env->sandboxes,
	    env->sandbox.owner);

	*ret_fault = NULL;
	if (!text[0])
		*ret_fault = "path is empty";
	else if (strlen(text) >= FILE_PATH_MAX / 2)
		*ret_fault = "path is too long";
	if (*ret_fault)
		return NULL;
	char *path = cwd_resolve(sandbox_cwd(env->sandboxes, &env->sandbox),
	    p.home ? p.home : p.workspace, text);

	if (path[0] == '/' && strlen(path) < FILE_PATH_MAX)
		return path;
	mem_free(path);
	*ret_fault = "the path leads nowhere";
	return NULL;
}

/* ---- what is left alone ----------------------------------------------------------- */

static bool
beneath(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

static bool
in_list(const char *path, const char *base, const char *const *list)
{
	for (; *list; list++) {
		CLEANUP_FREE char *full = mem_printf("%s%s%s", base,
		    *base ? "/" : "", *list);

		if (beneath(path, full))
			return true;
	}
	return false;
}

static bool
is_env_file(const char *path)
{
	static const char *const names[] = {
		".env", ".env.local", ".env.development", ".env.production",
		".env.test", ".env.staging", ".envrc",
	};
	const char *name = strrchr(path, '/');

	for (size_t i = 0; name && i < ARRAY_LEN(names); i++)
		if (strcmp(name + 1, names[i]) == 0)
			return true;
	return false;
}

const char *
file_denied(const struct sandbox_props *props, const char *path, bool to_write)
{
	static const char *const homes[] = {
		".ssh", ".aws", ".gnupg", ".kube", ".docker", ".azure",
		".config/gh", ".config/gcloud", ".netrc", ".pgpass", ".npmrc",
		".pypirc", ".git-credentials", NULL,
	};
	static const char *const system[] = {
		"/etc", "/boot", "/usr/lib/systemd", "/private/etc",
		"/private/var", NULL,
	};
	const char *home = props->home ? props->home : props->workspace;

	if (props->isolation & SANDBOX_NO_HOST_FILES)
		return NULL;
	if (is_env_file(path) && !to_write)
		return "files of this name hold credentials and are not shown";
	if (!to_write)
		return NULL;
	if (in_list(path, home, homes))
		return "it decides about access or holds credentials; this tool "
		    "does not write there. If the person wants it, use terminal, "
		    "which asks";
	if (in_list(path, "", system) || strstr(path, "/docker.sock"))
		return "it belongs to the system; this tool does not write there. "
		    "If the person wants it, use terminal, which asks";
	return NULL;
}

/* ---- the look ---------------------------------------------------------------------- */

static void
look_cancel(struct op *op)
{
	struct look_op *l = (struct look_op *)(void *)op;

	op_cancel(&l->waiting);
	mem_free(l);
}

static const struct op_type look_type = { "file look", look_cancel };

static void
look_finish(struct look_op *l, struct json *refusal,
    const struct file_read_reply *reply)
{
	struct file_look look = { .refusal = refusal };

	if (reply)
		look.reply = *reply;
	op_finish(&l->op);
	l->cb(l->arg, &look);
	json_free(&refusal);
	mem_free(l);
}

static void
on_read(void *arg, const struct errand_result *res)
{
	struct look_op *l = arg;
	struct file_read_reply reply;

	l->waiting = NULL;
	if (res->refused) {
		look_finish(l, errand_refusal(res), NULL);
		return;
	}
	if (res->exit_code != 0 ||
	    file_read_parse(&reply, res->out, res->len) < 0) {
		CLEANUP_FREE char *text = mem_printf("the file could not be "
		    "looked at (exit code %d): %.300s", res->exit_code,
		    utf8_valid(res->err, strlen(res->err)) ? res->err : "");

		look_finish(l, file_error(text), NULL);
		return;
	}
	const char *why = file_denied(&l->props, reply.path, l->to_write);

	if (why) {
		CLEANUP_FREE char *text = mem_printf("%s: %s", reply.path, why);

		look_finish(l, file_error(text), NULL);
		return;
	}
	look_finish(l, NULL, &reply);
}

struct op *
file_look_start(const struct tool_env *env, const struct file_look_req *req,
    file_look_cb *cb, void *arg)
{
	struct look_op *l = mem_alloc(sizeof(*l));
	CLEANUP_FREE char *path = mem_str(req->path);
	CLEANUP_BUF struct buf judged;
	struct file_act act = { .kind = FILE_READ, .path = path,
		.from = req->from, .lines = req->lines,
		.max = FILE_EDIT_MAX + 1 };

	op_init(&l->op, &look_type);
	l->props = sandbox_props(env->sandboxes, env->sandbox.owner);
	l->to_write = req->to_write;
	l->cb = cb;
	l->arg = arg;
	buf_init(&judged, 5 * FILE_PATH_MAX);
	buf_add_str(&judged, "cat -- ");
	exec_quote(&judged, path, strlen(path));
	l->waiting = errand_start(env, &(struct errand_req){
		.call_id = req->call_id, .act = &act, .judged = judged.data,
		.shown = path, .what = "reading this file",
		.output_max = FILE_EDIT_MAX + FILE_PATH_MAX * 64,
	}, on_read, l);
	return &l->op;
}

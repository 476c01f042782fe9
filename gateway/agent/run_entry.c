#include "gateway/agent/run_entry.h"

#include "base/mem.h"

struct json *
run_calls_json(const struct model_result *res)
{
	struct json *list = json_array();

	for (size_t i = 0; i < res->ncalls; i++) {
		struct json *call = json_object();

		json_set_str(call, "id", res->calls[i].id);
		json_set_str(call, "name", res->calls[i].name);
		json_set_str(call, "arguments", res->calls[i].arguments);
		json_add_take(list, call);
	}
	return list;
}

struct json *
run_entry_assistant(const struct model_result *res)
{
	struct json *entry = json_object();
	struct json *calls = json_array();

	json_set_str(entry, "role", "assistant");
	json_set_str(entry, "content", res->text);
	for (size_t i = 0; i < res->ncalls; i++) {
		struct json *fn = json_object();
		struct json *call = json_object();

		json_set_str(fn, "name", res->calls[i].name);
		json_set_str(fn, "arguments", res->calls[i].arguments);
		json_set_str(call, "id", res->calls[i].id);
		json_set_str(call, "type", "function");
		json_set_take(call, "function", fn);
		json_add_take(calls, call);
	}
	json_set_take(entry, "tool_calls", calls);
	return entry;
}

struct json *
run_entry_text(const char *text, const char *mark)
{
	struct json *entry = json_object();

	json_set_str(entry, "role", "assistant");
	json_set_str(entry, "content", text);
	if (mark)
		json_set_str(entry, "mark", mark);
	return entry;
}

struct json *
run_entry_tool(const char *call_id, const char *name, const char *result)
{
	struct json *entry = json_object();

	json_set_str(entry, "role", "tool");
	json_set_str(entry, "tool_call_id", call_id);
	json_set_str(entry, "name", name);
	json_set_str(entry, "content", result);
	return entry;
}

struct json *
run_entry_error(const char *call_id, const char *name, const char *why)
{
	CLEANUP_JSON struct json *res = json_object();

	json_set_str(res, "error", why);
	CLEANUP_FREE char *text = json_text(res);

	return run_entry_tool(call_id, name, text);
}

char *
run_cancelled_result(const char *why, bool started)
{
	CLEANUP_JSON struct json *res = json_object();
	CLEANUP_FREE char *error = mem_printf(started ?
	    "%s while it ran: it was ended and may have had effects; look "
	    "before you repeat it" : "%s before it started: it was not run",
	    why);

	json_set_str(res, "output", "");
	json_set_int(res, "exit_code", started ? 130 : -1);
	json_set_str(res, "error", error);
	json_set_str(res, "status", started ? "cancelled" : "not_started");
	return json_text(res);
}

char *
run_error_text(enum model_error error, const char *detail)
{
	const char *what = "The model could not answer";
	const char *cure = "Your message is kept; write again to try once more.";

	switch (error) {
	case MODEL_ERR_NONE:
	case MODEL_ERR_RETRY:
		what = "The model server could not be reached or kept failing";
		break;
	case MODEL_ERR_AUTH:
		what = "The model server refused the key";
		cure = "The operator must check model.api_key.";
		break;
	case MODEL_ERR_QUOTA:
		what = "The model account has no quota left";
		cure = "The operator must check the account.";
		break;
	case MODEL_ERR_CONTEXT:
		what = "This conversation is too long for the model";
		cure = "Start a new one with /new.";
		break;
	case MODEL_ERR_REQUEST:
		what = "The model server refused the request";
		cure = "The operator can see the details in the log.";
		break;
	case MODEL_ERR_POLICY:
		what = "The provider's content filter refused this";
		cure = "Say it in another way.";
		break;
	}
	return mem_printf("%s: %s. %s", what, detail, cure);
}

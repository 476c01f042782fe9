/* The transcript entries that a run writes, and its words for errors. Pure. */
#ifndef GATEHOUSE_RUN_ENTRY_H
#define GATEHOUSE_RUN_ENTRY_H

#include <stdbool.h>

#include "base/json.h"
#include "gateway/agent/model.h"

/* Assistant message with its tool calls. */
struct json *run_entry_assistant(const struct model_result *res);
/* Assistant text; mark "cut" for what a cancel left, or NULL. */
struct json *run_entry_text(const char *text, const char *mark);
struct json *run_entry_tool(const char *call_id, const char *name,
	const char *result);
struct json *run_entry_error(const char *call_id, const char *name,
	const char *why);
/* [{id, name, arguments}] */
struct json *run_calls_json(const struct model_result *res);
/* Result text of a call that a cancel ended; caller frees. */
char *run_cancelled_result(const char *why, bool started);
/* What the person reads when the model could not answer; caller frees. */
char *run_error_text(enum model_error error, const char *detail);

#endif

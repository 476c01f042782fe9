/*
 * The arguments of a tool call, checked against what the tool declares.  What
 * is wrong is said so that the model can correct itself; spellings that leave
 * no doubt are accepted, and cut JSON is never repaired.
 */
#ifndef GATEHOUSE_TOOL_ARGS_H
#define GATEHOUSE_TOOL_ARGS_H

#include "base/err.h"
#include "base/json.h"
#include "gateway/agent/tool.h"

/*
 * text: as the model gave it; empty and null mean {}.  Unknown members stay.
 * NULL with what the model must change; else an object, which the caller frees.
 */
struct json *tool_args_parse(const struct tool *tool, const char *text,
	struct err *err);

#endif

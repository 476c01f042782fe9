#include "gateway/agent/tool.h"

#include <string.h>

#include "base/mem.h"

#define TOOL(name) extern const struct tool tool_##name;
#include "gateway/agent/tools/list.h"
#undef TOOL

static const struct tool *const tools[] = {
#define TOOL(name) &tool_##name,
#include "gateway/agent/tools/list.h"
#undef TOOL
};

const struct tool *
tool_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(tools); i++)
		if (strcmp(tools[i]->name, name) == 0)
			return tools[i];
	return NULL;
}

const char *const *
tool_read_only(void)
{
	static const char *names[ARRAY_LEN(tools) + 1];
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(tools); i++)
		if (tools[i]->read_only)
			names[n++] = tools[i]->name;
	names[n] = NULL;
	return names;
}

char *
tool_names(unsigned abilities, bool missing)
{
	struct buf out;

	buf_init(&out, 4096);
	for (size_t i = 0; i < ARRAY_LEN(tools); i++)
		if (((tools[i]->needs & ~abilities) != 0) == missing)
			buf_printf(&out, "%s%s", out.len ? ", " : "",
			    tools[i]->name);
	return buf_take(&out);
}

struct json *
tool_schemas(unsigned abilities)
{
	struct json *list = json_array();

	for (size_t i = 0; i < ARRAY_LEN(tools); i++) {
		if (tools[i]->needs & ~abilities)
			continue;
		struct json *params = json_parse(tools[i]->parameters,
		    strlen(tools[i]->parameters), NULL);
		struct json *fn = json_object();
		struct json *row = json_object();

		REQUIRE(params);
		json_set_str(fn, "name", tools[i]->name);
		json_set_str(fn, "description", tools[i]->description);
		json_set_take(fn, "parameters", params);
		json_set_str(row, "type", "function");
		json_set_take(row, "function", fn);
		json_add_take(list, row);
	}
	if (json_len(list) == 0)
		json_free(&list);
	return list;
}

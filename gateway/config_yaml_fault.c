#include "gateway/config_yaml.h"

#include <yaml.h>

#include "base/mem.h"

void
ytree_fault(struct buf *out, const char *text, size_t len)
{
	yaml_parser_t p;
	yaml_event_t ev;
	bool end = false;
	int depth = 0;

	REQUIRE(yaml_parser_initialize(&p));
	yaml_parser_set_input_string(&p, (const unsigned char *)text, len);
	while (!end) {
		if (!yaml_parser_parse(&p, &ev)) {
			buf_printf(out, "line %zu: %s\n", p.problem_mark.line + 1,
			    p.problem ? p.problem : "invalid YAML");
			break;
		}
		depth += (ev.type == YAML_SEQUENCE_START_EVENT ||
		    ev.type == YAML_MAPPING_START_EVENT) -
		    (ev.type == YAML_SEQUENCE_END_EVENT ||
		    ev.type == YAML_MAPPING_END_EVENT);
		end = ev.type == YAML_STREAM_END_EVENT;
		if (depth > YTREE_DEPTH_MAX) {	/* its parser is quadratic in it */
			buf_printf(out, "line %zu: nested more than %d levels deep\n",
			    ev.start_mark.line + 1, YTREE_DEPTH_MAX);
			end = true;
		}
		yaml_event_delete(&ev);
	}
	yaml_parser_delete(&p);
}

#include "gateway/report.h"

#include <stdarg.h>
#include <string.h>

#include "base/mem.h"

#define TEXT_MAX 1024

const char *
report_level_name(enum report_level level)
{
	switch (level) {
	case REPORT_ERROR:
		return "error";
	case REPORT_WARN:
		return "warning";
	case REPORT_NOTE:
		return "note";
	}
	return "?";
}

void
report_init(struct report *rep)
{
	memset(rep, 0, sizeof(*rep));
}

void
report_done(struct report *rep)
{
	for (size_t i = 0; i < rep->n; i++) {
		mem_free(rep->items[i].file);
		mem_free(rep->items[i].text);
	}
	mem_free(rep->items);
	report_init(rep);
}

void
report_add(struct report *rep, enum report_level level, const char *file,
	unsigned line, unsigned column, const char *fmt, ...)
{
	struct buf text;
	va_list ap;

	rep->errors += level == REPORT_ERROR;
	rep->warnings += level == REPORT_WARN;
	if (rep->n == REPORT_MAX)
		return;
	buf_init(&text, TEXT_MAX);
	va_start(ap, fmt);
	if (!buf_vprintf(&text, fmt, ap))
		buf_add_str(&text, "(the message is too long to be shown)");
	va_end(ap);
	rep->items = mem_grow(rep->items, rep->n + 1, sizeof(*rep->items));
	rep->items[rep->n++] = (struct report_item){
		.level = level,
		.file = mem_str(file),
		.line = line,
		.column = column,
		.text = buf_take(&text),
	};
}

void
report_item_text(const struct report_item *item, struct buf *out)
{
	if (item->file) {
		buf_add_str(out, item->file);
		if (item->line)
			buf_printf(out, ":%u", item->line);
		if (item->line && item->column)
			buf_printf(out, ":%u", item->column);
		buf_add_str(out, ": ");
	}
	buf_printf(out, "%s: %s", report_level_name(item->level), item->text);
}

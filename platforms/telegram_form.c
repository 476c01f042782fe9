#include "platforms/telegram_form.h"

#include "base/mem.h"

/* A quote or a line break in a name would end its header. */
static void
add_name(struct buf *out, const char *name)
{
	for (; *name; name++)
		buf_add_char(out, *name == '"' || *name == '\r' || *name == '\n' ||
			*name == '\\' ? '_' : *name);
}

static void
begin(struct buf *out, const char *boundary, const char *field)
{
	buf_printf(out, "--%s\r\nContent-Disposition: form-data; name=\"",
		boundary);
	add_name(out, field);
	buf_add_str(out, "\"");
}

void
telegram_form(struct buf *out, const char *boundary, const struct json *params,
	const struct telegram_file *file)
{
	for (const struct json *p = json_first(params); p; p = json_next(p)) {
		CLEANUP_FREE char *value = json_str(p) ? mem_str(json_str(p)) :
			json_text(p);

		begin(out, boundary, json_key(p));
		buf_printf(out, "\r\n\r\n%s\r\n", value);
	}
	begin(out, boundary, file->field);
	buf_add_str(out, "; filename=\"");
	add_name(out, file->name);
	buf_add_str(out, "\"\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n");
	buf_add(out, file->data, file->len);
	buf_printf(out, "\r\n--%s--\r\n", boundary);
}

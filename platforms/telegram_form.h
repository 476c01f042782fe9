/*
 * A Bot API request that carries a file: multipart/form-data (RFC 7578).  Pure.
 */
#ifndef GATEHOUSE_TELEGRAM_FORM_H
#define GATEHOUSE_TELEGRAM_FORM_H

#include <stddef.h>

#include "base/buf.h"
#include "base/json.h"

struct telegram_file {
	const char *field;	/* of the method: "document" */
	const char *name;	/* what people see; plain letters */
	const char *data;
	size_t len;
};

/*
 * The body: each parameter a field (what is no string as JSON), then the file.
 * boundary: random, so that no content holds it.
 */
void telegram_form(struct buf *out, const char *boundary,
	const struct json *params, const struct telegram_file *file);

#endif

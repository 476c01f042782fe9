/*
 * What went wrong at a model server: error bodies of all known shapes, with or
 * without an HTTP status, become a class and words for people.  Pure.  The
 * words never hold a secret: what a server says is masked and shortened.
 */
#ifndef GATEHOUSE_FAULT_H
#define GATEHOUSE_FAULT_H

#include <stdbool.h>

#include "base/err.h"
#include "base/http.h"
#include "base/json.h"
#include "base/loop.h"
#include "gateway/agent/model.h"

struct fault {
	enum model_error error;	/* MODEL_ERR_NONE: nothing went wrong */
	msec_t retry_after_ms;	/* as in struct model_result */
	struct err err;
};

/* Does this chunk or body say that the request failed? */
bool fault_in(const struct json *body);

/*
 * status: of HTTP; 0 inside a stream that began well, where an error without
 * any known mark counts as passing.  whom: "gpt-x at api.example.org".
 */
void fault_from_json(struct fault *f, const char *whom, int status,
	const struct json *body);

/* An answer that isn't 2xx, or none. now_wall: Unix ms, for dates. */
void fault_from_http(struct fault *f, const char *whom,
	const struct http_result *res, msec_t now_wall);

void fault_set(struct fault *f, enum model_error error, enum err_code code,
	const char *whom, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

#endif

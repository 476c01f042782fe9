/* What assembly.c and assembly_take.c share; nobody else includes it. */
#ifndef GATEHOUSE_ASSEMBLY_PRIV_H
#define GATEHOUSE_ASSEMBLY_PRIV_H

#include "base/buf.h"
#include "gateway/agent/assembly.h"
#include "gateway/agent/calls.h"
#include "gateway/agent/sse.h"
#include "gateway/agent/surrogate.h"
#include "gateway/agent/think.h"

#define EVENT_MAX ((size_t)8 << 20)
#define WHOLE_MAX ((size_t)16 << 20)
#define TEXT_MAX ((size_t)4 << 20)
#define REASONING_MAX ((size_t)1 << 20)	/* what is over is dropped */

enum form { FORM_UNKNOWN, FORM_EVENTS, FORM_WHOLE };

struct assembly {
	char *whom;
	enum form form;
	struct buf body;		/* unknown and whole: the bytes so far */
	struct sse sse;
	struct think think;
	struct surrogate text_half, reasoning_half;
	struct buf text, reasoning;
	struct calls calls;
	bool role_seen;
	bool finish_seen;
	bool done_seen;
	enum model_finish finish;
	int64_t prompt_tokens, completion_tokens;
	uint64_t useful;
	struct fault fault;
};

/* The first fault counts. */
void assembly_fail(struct assembly *a, enum model_error error,
	enum err_code code, const char *what);
/* One chunk of a stream, or a whole answer. */
void assembly_take_chunk(struct assembly *a, const struct json *chunk);

#endif

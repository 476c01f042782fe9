/*
 * The body of a chat completion, fed as it comes, becomes one answer: text,
 * reasoning, tool calls, finish, usage, or a fault.  Takes event streams with
 * every quirk we know of, and plain JSON.  Pure: no clock, no callbacks.
 */
#ifndef GATEHOUSE_ASSEMBLY_H
#define GATEHOUSE_ASSEMBLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "gateway/agent/fault.h"
#include "gateway/agent/model.h"

struct assembly;

/* tools: of the request, borrowed for its life; may be NULL. whom: for texts. */
struct assembly *assembly_new(const struct json *tools, const char *whom);
void assembly_free(struct assembly **a);

/* False: nothing that comes later matters (end mark or fault). */
bool assembly_feed(struct assembly *a, const char *bytes, size_t len);
/* The body is over; cut: why it ended early, NULL if as HTTP says. Once. */
void assembly_end(struct assembly *a, const struct err *cut);

/* Visible text so far; only grows, but the end may take reasoning out of it. */
const char *assembly_text(const struct assembly *a, size_t *ret_len);
/* Events that brought something; a server's signs of life don't count. */
uint64_t assembly_useful(const struct assembly *a);
/* The finish mark was seen: little can follow. */
bool assembly_finishing(const struct assembly *a);
/* The end mark was seen. */
bool assembly_ended(const struct assembly *a);

/* After assembly_end(): fills all but retryable_before_text; borrowed from a. */
void assembly_result(struct assembly *a, struct model_result *ret_result);

#endif

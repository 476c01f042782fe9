/* Feeds a body to an assembly in many cuts and says what came of it. */
#ifndef GATEHOUSE_TESTS_ANSWER_H
#define GATEHOUSE_TESTS_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#include "gateway/agent/assembly.h"

struct answer {
	struct assembly *assembly;
	struct model_result res;
	bool stopped;		/* the assembly wanted no more */
};

/* step: bytes a feed, 0: all at once. tools: may be NULL. */
void answer_read(struct answer *a, const struct json *tools, const char *body,
	size_t len, size_t step, bool whole);
void answer_done(struct answer *a);

/*
 * Reads the body whole, byte by byte and in some other steps, fails the test
 * if two readings differ, and returns the last.
 */
void answer_read_all(struct answer *a, const struct json *tools,
	const char *body, size_t len, bool whole);

/* The whole of tests/fixtures/llm/NAME; caller frees. */
char *answer_fixture(const char *name, size_t *ret_len);

#endif

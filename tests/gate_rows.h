/* Rows of tests/data/approval*.tsv and the context that they mean. */
#ifndef GATEHOUSE_TESTS_GATE_ROWS_H
#define GATEHOUSE_TESTS_GATE_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "gateway/gate/classify.h"

struct gate_row {
	char id[16];
	char verdict[8];	/* safe, ask, never */
	char category[24];
	char *command;		/* bytes, unescaped */
	size_t len;
	bool has_note;
};

struct gate_rows {
	struct gate_row *v;
	size_t n;
};

void gate_rows_load(struct gate_rows *rows, const char *name);
void gate_rows_done(struct gate_rows *rows);

/* A workspace below a home, nothing isolated. */
extern const struct gate_ctx gate_row_ctx;

enum gate_level gate_level_of(const struct gate_ctx *ctx, const char *command,
	size_t len);

#endif

/*
 * Conversations as text: for a terminal (nothing in it can steer one), as
 * Markdown, as JSON lines.
 */
#ifndef GATEHOUSE_SESSIONS_PRINT_H
#define GATEHOUSE_SESSIONS_PRINT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/json.h"

enum sessions_form { SESSIONS_TEXT, SESSIONS_MARKDOWN, SESSIONS_JSONL };

/* Text in which nothing can steer a terminal; one_line: also no line break. */
void sessions_print_text(FILE *out, const char *text, bool one_line);
/* One conversation as store_conversations() lists it, one line. */
void sessions_print_row(FILE *out, const struct json *row);
/* Head of a conversation; nothing in JSONL. */
void sessions_print_head(FILE *out, enum sessions_form form,
	const struct json *row);
void sessions_print_entry(FILE *out, enum sessions_form form,
	const char *session_id, const struct json *entry);
void sessions_print_match(FILE *out, const struct json *match);

#endif

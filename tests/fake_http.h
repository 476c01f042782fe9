/*
 * base/http.h for tests: a scripted other side on the hand-moved clock.  Link it
 * before libbase.a; every request asks the script for its answer at start and
 * gets it after the answer's latency, or its deadline.
 */
#ifndef GATEHOUSE_TESTS_FAKE_HTTP_H
#define GATEHOUSE_TESTS_FAKE_HTTP_H

#include "base/http.h"

/* Borrowed during the script. */
struct fake_call {
	unsigned n;		/* 0 for the first one */
	const char *label;
	const char *method;
	const char *url;
	const char *body;	/* a string, "" if none */
	const char *const *headers;	/* may be NULL */
	bool fresh;
	bool stream;
	msec_t at;		/* loop_now() */
	size_t same;		/* others of the same label under way */
};

struct fake_chunk { msec_t at; const char *data; };	/* ms after the start */

/* Zeroed before the script; strings are copied. */
struct fake_answer {
	enum http_outcome outcome;
	int status;		/* 0 with HTTP_ANSWERED: 200 */
	const char *body;
	const char *content_type;	/* NULL: application/json */
	const char *retry_after;
	msec_t latency;
	bool hang;		/* no answer: the deadline ends it, as unknown */
	/* A streamed 2xx: handed over at their times, then the end at latency. */
	const struct fake_chunk *chunks;	/* static storage */
	size_t nchunks;
};

typedef void fake_http_cb(void *arg, const struct fake_call *call,
	struct fake_answer *ret);

void fake_http_script(struct http *http, fake_http_cb *cb, void *arg);
unsigned fake_http_calls(const struct http *http);	/* so far */
size_t fake_http_open(const struct http *http);		/* under way */

#endif

/*
 * A byte stream both ways behind an HTTP request: the connection is taken over
 * after the answer (101, or 200 as old servers say), as container engines do
 * it.  Uses libcurl for name, proxy, TLS and unix sockets of a struct http.
 */
#ifndef GATEHOUSE_HTTP_STREAM_H
#define GATEHOUSE_HTTP_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/http.h"

struct http_stream;

/* No callback comes from inside a function below. */
struct http_stream_events {
	void (*open)(void *arg);
	/* http_stream_free() is allowed inside. */
	void (*data)(void *arg, const char *data, size_t len);
	void (*writable)(void *arg);	/* after a short write */
	/*
	 * The last one. err is NULL if the peer closed an open stream; status
	 * and body are those of an answer that is no stream (else 0, "").
	 */
	void (*end)(void *arg, const struct err *err, int status,
		const char *body, size_t body_len);
};

struct http_stream_req {
	const char *label;
	const char *url;
	const char *body;	/* JSON; POSTed */
	msec_t open_ms;		/* until the answer's header */
};

struct http_stream *http_stream_start(struct http *http,
	const struct http_stream_req *req,
	const struct http_stream_events *events, void *arg);
void http_stream_free(struct http_stream **s);	/* closes the connection */
/* How many were taken; less than len: writable follows. 0 before open. */
size_t http_stream_write(struct http_stream *s, const void *data, size_t len);
void http_stream_flow(struct http_stream *s, bool reading);

#endif

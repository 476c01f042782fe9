/*
 * HTTP client on the loop (libcurl multi).  Streaming bodies, deadlines,
 * cancel in every phase, proxies from the environment variables given in the
 * options.  A request body is sent at most once: libcurl's own replay on a
 * dead kept-alive connection is switched off (it becomes HTTP_UNKNOWN).
 */
#ifndef GATEHOUSE_HTTP_H
#define GATEHOUSE_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/op.h"

struct http;

struct http_opts {
	const char *user_agent;
	const char *proxy;	/* NULL: none; "http://...", "socks5h://..." */
	const char *no_proxy;	/* comma list; loopback is always direct */
	const char *ca_file;	/* NULL: the system's */
	unsigned max_connects;	/* kept alive; 0: 16 */
	const char *unix_socket;	/* every request goes there; NULL: by name */
	const char *cert_file, *key_file;	/* ours, PEM; NULL: none */
};

/* NULL (logged) if this libcurl can't look names up in the background. */
struct http *http_new(struct loop *loop, const struct http_opts *opts);
void http_free(struct http **http);	/* requires: no op of it left */

/* What is known about a request that did not give a whole answer. */
enum http_outcome {
	HTTP_ANSWERED,		/* status line seen, body whole */
	HTTP_CUT,		/* status line seen, body cut short */
	HTTP_NOT_SENT,		/* failed before the first byte of the request left */
	HTTP_UNKNOWN,		/* all else: it may have been carried out */
};

struct http_result {
	enum http_outcome outcome;
	int status;		/* 0 without a status line */
	const char *body;	/* "" if streamed; NUL-terminated */
	size_t body_len;
	const char *content_type;	/* never NULL */
	const char *retry_after;	/* header value or NULL */
	const char *retry_after_ms;	/* the same of "retry-after-ms" */
	const char *should_retry;	/* the same of "x-should-retry" */
	const struct err *err;	/* set unless HTTP_ANSWERED */
	msec_t elapsed;
};

/* Streamed body bytes; only for 2xx answers. Return false to end (HTTP_CUT). */
typedef bool http_data_cb(void *arg, const char *data, size_t len);
typedef void http_done_cb(void *arg, const struct http_result *res);

struct http_req {
	const char *label;	/* what logs call it; the URL may hold a secret */
	const char *method;	/* NULL: GET, or POST with a body */
	const char *url;
	const char *const *headers;	/* "Name: value", NULL-terminated, or NULL;
					 * a line break in one: HTTP_NOT_SENT */
	const void *body;	/* copied */
	size_t body_len;
	msec_t connect_ms;	/* name, connect, TLS; 0: 15 s */
	msec_t total_ms;	/* required */
	msec_t idle_ms;		/* no byte for so long ends it; 0: none */
	size_t max_body;	/* 0: 4 MiB; for streams: of the whole stream */
	bool fresh;		/* own connection, not a kept-alive one */
	http_data_cb *on_data;	/* NULL: collect into body */
	void *data_arg;
};

struct op *http_start(struct http *http, const struct http_req *req,
	http_done_cb *done, void *arg);

#endif

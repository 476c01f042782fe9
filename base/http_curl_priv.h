/* What http_curl*.c and http_stream.c share; nobody else includes it. */
#ifndef GATEHOUSE_HTTP_CURL_PRIV_H
#define GATEHOUSE_HTTP_CURL_PRIV_H

#include <curl/curl.h>
#include <stddef.h>
#include <sys/queue.h>

#include "base/buf.h"
#include "base/http.h"
#include "base/http_curl_loop.h"

/* What a handle's CURLOPT_PRIVATE points to. */
struct http_easy {
	void (*ended)(struct http_easy *easy, CURLcode rc);
};

struct transfer {
	struct op op;
	struct http_easy owner;
	struct http *http;
	TAILQ_ENTRY(transfer) ready_link;
	CURL *easy;			/* NULL once it has ended */
	struct curl_slist *headers;
	char *label;
	char *body;
	size_t body_len;
	size_t body_at;
	http_data_cb *on_data;
	void *data_arg;
	http_done_cb *done;
	void *arg;

	msec_t started;
	msec_t last_byte;
	msec_t idle_ms;
	struct timer *total;
	struct timer *idle;

	bool on_wire;			/* connected: the request may leave now */
	long size_before;		/* request bytes counted before that */
	int status;			/* of the final answer, 0: none yet */
	bool headers_whole;
	char *content_type;
	char *retry_after;
	char *retry_after_ms;
	char *should_retry;
	struct buf got;			/* collected body */
	struct buf stream;		/* bytes for on_data, not yet handed over */
	size_t streamed;
	size_t max_body;
	bool too_big;

	bool ready;			/* on http->ready */
	bool ended;
	enum http_outcome outcome;
	struct err err;
	bool *gone;			/* set if cancelled during on_data */
	char curl_text[CURL_ERROR_SIZE];
};

TAILQ_HEAD(transfer_list, transfer);

struct http {
	struct loop *loop;
	struct curl_loop curl;
	char *user_agent;
	char *proxy;
	char *no_proxy;
	char *ca_file;
	char *unix_socket, *cert_file, *key_file;
	struct timer *deliver;
	struct transfer_list ready;
	size_t live;
};

/* What every handle of this client has: where it goes and whom it trusts. */
void http_setup_peer(const struct http *h, CURL *easy);
/* Tells libcurl all about t->easy. */
void transfer_setup(struct transfer *t, const struct http_req *req);
/* Something of t waits for its owner: it is handed over from the loop. */
void transfer_ready(struct transfer *t);
void transfer_watch_idle(struct transfer *t);

#endif

/*
 * libcurl's multi-socket interface on the loop; private to http_curl*.c.
 * No callback of it is made from inside libcurl, except those that an easy
 * handle has registered itself.
 */
#ifndef GATEHOUSE_HTTP_CURL_LOOP_H
#define GATEHOUSE_HTTP_CURL_LOOP_H

#include <curl/curl.h>
#include <stddef.h>

#include "base/loop.h"

struct curl_sock;

/* The handle is still with libcurl: curl_loop_remove it. */
typedef void curl_loop_ended_cb(CURL *easy, CURLcode rc);

struct curl_loop {
	struct loop *loop;
	CURLM *multi;
	struct curl_sock **socks;	/* by descriptor */
	size_t nsocks;
	struct timer *timer;		/* libcurl's one timer */
	curl_loop_ended_cb *ended;
};

void curl_loop_init(struct curl_loop *cl, struct loop *loop, long max_connects,
	curl_loop_ended_cb *ended);
void curl_loop_done(struct curl_loop *cl);
void curl_loop_add(struct curl_loop *cl, CURL *easy);
void curl_loop_remove(struct curl_loop *cl, CURL *easy);

#endif

/* A client of base/http.h on the real loop, for test_http*.c. */
#ifndef GATEHOUSE_TESTS_HTTP_CLIENT_H
#define GATEHOUSE_TESTS_HTTP_CLIENT_H

#include <stdatomic.h>

#include "base/buf.h"
#include "base/http.h"
#include "tests/raw_server.h"

struct client {
	struct loop *loop;
	struct http *http;
	int pending;
};

struct call {
	struct client *c;
	struct op *op;
	int ended;
	enum http_outcome outcome;
	int status;
	enum err_code code;
	char *text;		/* of err */
	char *body;
	size_t body_len;
	char *type;
	char *retry_after;
	char *should_retry;
	struct buf streamed;
	int chunks;
	bool leave;		/* the reader returns false */
	bool cancel;		/* the reader cancels */
};

int client_setup(void **state);
int client_teardown(void **state);
void client_start(struct call *k, struct client *c, struct http_req *req);
/* One request against a server of its own that runs fn. */
void client_ask(struct client *c, raw_server_fn *fn, void *arg,
	struct http_req *req, struct call *k);
void call_done(struct call *k);
bool on_stream(void *arg, const char *data, size_t len);
char *url_of(struct raw_server *srv, const char *scheme);
int closed_port(void);

/* Runs the loop until another thread has raised the flag. */
void client_run_until(struct client *c, atomic_int *flag, int want);
/* The name "hangs.test" hangs until dns_let_go(); "nowhere.test" is unknown. */
void client_run_until_dns_hangs(struct client *c);
void dns_let_go(void);

/* Answers 429 with "body|start of the request", keeps the connection. */
void serve_echo(void *arg, int fd, int n);

/* What the server says after a whole request, before it closes or resets. */
struct cut { const char *says; enum http_outcome outcome; int status; bool reset; };

void serve_cut(void *arg, int fd, int n);

#endif

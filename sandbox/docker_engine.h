/*
 * One container engine by its API (Docker's, which podman speaks too): where
 * it is, what it is, requests and streams.  No command-line program is used.
 * Facts about versions: the API's change log, and what Docker 20.10 to 28 and
 * podman 4.3 and 5.4 answered.
 */
#ifndef GATEHOUSE_DOCKER_ENGINE_H
#define GATEHOUSE_DOCKER_ENGINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/http_stream.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/op.h"

/* Written for 1.41 to 1.47; podman takes any number. */
#define ENGINE_API_MIN 41
#define ENGINE_API_MAX 47

struct engine;

struct engine_opts {
	const char *const *hosts;	/* "unix:///path", "tcp://host:port"; the
					 * first that answers counts; NULL-terminated */
	bool tls;			/* for tcp:// */
	const char *cert_dir;		/* with ca.pem, cert.pem, key.pem; or NULL */
};

/* NULL: the options make no sense (err says which). */
struct engine *engine_new(struct loop *loop, const struct engine_opts *opts,
	struct err *err);
void engine_free(struct engine **e);	/* requires: no op or stream left */

/* Finds it, and agrees on a version. */
typedef void engine_hello_cb(void *arg, const struct err *err);
struct op *engine_hello(struct engine *e, engine_hello_cb *cb, void *arg);
/* After hello, for people: "Docker 20.10.24, API 1.41, unix:///..."; static. */
const char *engine_about(const struct engine *e);
bool engine_is_local(const struct engine *e);	/* a unix socket */

struct engine_req {
	const char *method;
	const char *path;	/* "/containers/create?name=x", without version */
	const struct json *json;	/* body, or */
	const void *body;
	size_t body_len;
	const char *type;	/* of body */
	msec_t total_ms;	/* 0: 30 s */
	msec_t idle_ms;
	size_t max_body;
	http_data_cb *on_data;	/* streams a good answer; then res is NULL */
	void *data_arg;
};

/*
 * res: the answer's JSON, NULL if it has none; text, len: its bytes.  err:
 * what went wrong, in the engine's words where it had some.  ERR_NOT_FOUND 404,
 * ERR_EXISTS 409, ERR_DENIED 403, ERR_INVALID 400.
 */
struct engine_res {
	int status;		/* 0: no answer */
	const struct json *json;
	const char *text;
	size_t len;
	const struct err *err;	/* NULL: 2xx or 304 */
};
typedef void engine_cb(void *arg, const struct engine_res *res);
struct op *engine_call(struct engine *e, const struct engine_req *req,
	engine_cb *cb, void *arg);

/* POSTs body to path and takes the connection over; see http_stream.h. */
struct http_stream *engine_stream(struct engine *e, const char *path,
	const char *body, const struct http_stream_events *events, void *arg);
/* The message in the body of an error. */
void engine_refusal(struct err *err, int status, const char *body, size_t len);

#endif

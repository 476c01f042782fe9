#include "sandbox/docker_engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/http.h"
#include "base/mem.h"

#define CALL_MS 30000
#define HELLO_MS 10000
#define CONNECTS_MAX 8

struct engine {
	struct loop *loop;
	char **hosts;
	size_t nhosts, at;
	bool tls;
	char *cert_dir;
	struct http *http;	/* of hosts[at] */
	char *base;		/* "http://engine" */
	int api;		/* minor; 0: no hello yet */
	char *about;
};

/* ---- where it is ------------------------------------------------------------- */

static const char *
socket_of(const char *host)
{
	return strncmp(host, "unix://", 7) == 0 ? host + 7 : NULL;
}

static const char *
engine_host(const struct engine *e)
{
	return e->hosts[e->at];
}

static int
check_host(const char *host, struct err *err)
{
	const char *path = socket_of(host);

	if (path && path[0] == '/' &&
	    strlen(path) < sizeof(((struct sockaddr_un *)NULL)->sun_path))
		return 0;
	if (path)
		return err_set(err, ERR_CONFIG, "the engine's address %s: give the "
		    "absolute path of a socket, at most 107 bytes", host);
	if (strncmp(host, "ssh://", 6) == 0)
		return err_set(err, ERR_CONFIG, "the engine's address %s: ssh:// is "
		    "not spoken here; choose the backend ssh for that machine, or "
		    "forward its socket (ssh -L /run/x.sock:/run/docker.sock) and "
		    "give unix:///run/x.sock", host);
	if (strncmp(host, "tcp://", 6) == 0 && host[6] && !strchr(host + 6, '/'))
		return 0;
	return err_set(err, ERR_CONFIG, "the engine's address %s: expected "
	    "unix:///path or tcp://host:port", host);
}

/* The connection that answers may be any of the list. */
static void
use_host(struct engine *e, size_t i)
{
	const char *host = e->hosts[i], *path = socket_of(host);
	CLEANUP_FREE char *ca = NULL, *cert = NULL, *key = NULL;
	struct http_opts opts = { .user_agent = "gatehouse",
		.max_connects = CONNECTS_MAX, .unix_socket = path };

	if (e->tls && e->cert_dir && !path) {
		opts.ca_file = ca = mem_printf("%s/ca.pem", e->cert_dir);
		opts.cert_file = cert = mem_printf("%s/cert.pem", e->cert_dir);
		opts.key_file = key = mem_printf("%s/key.pem", e->cert_dir);
	}
	http_free(&e->http);
	e->http = http_new(e->loop, &opts);
	e->at = i;
	mem_free(e->base);
	e->base = path ? mem_str("http://engine") :
	    mem_printf("%s://%s", e->tls ? "https" : "http", host + 6);
}

struct engine *
engine_new(struct loop *loop, const struct engine_opts *opts, struct err *err)
{
	struct engine *e = mem_alloc(sizeof(*e));

	e->loop = loop;
	e->tls = opts->tls;
	e->cert_dir = mem_str(opts->cert_dir);
	while (opts->hosts[e->nhosts])
		e->nhosts++;
	e->hosts = mem_array(e->nhosts + 1, sizeof(*e->hosts));
	for (size_t i = 0; i < e->nhosts; i++)
		e->hosts[i] = mem_str(opts->hosts[i]);
	for (size_t i = 0; i < e->nhosts; i++) {
		if (check_host(e->hosts[i], err) < 0) {
			engine_free(&e);
			return NULL;
		}
	}
	REQUIRE(e->nhosts > 0);
	use_host(e, 0);
	if (!e->http) {
		err_set(err, ERR_INTERNAL, "the HTTP client could not be made");
		engine_free(&e);
	}
	return e;
}

void
engine_free(struct engine **ep)
{
	if (!*ep)
		return;
	struct engine *e = STEAL(*ep);

	http_free(&e->http);
	for (size_t i = 0; i < e->nhosts; i++)
		mem_free(e->hosts[i]);
	mem_free(e->hosts);
	mem_free(e->cert_dir);
	mem_free(e->base);
	mem_free(e->about);
	mem_free(e);
}

const char *
engine_about(const struct engine *e)
{
	return e->about ? e->about : "not asked yet";
}

bool
engine_is_local(const struct engine *e)
{
	return socket_of(e->hosts[e->at]) != NULL;
}

/* ---- requests ----------------------------------------------------------------- */

struct call {
	struct op op;
	struct engine *e;
	struct op *http;
	bool streams;
	engine_cb *cb;
	void *arg;
};

static void
call_cancel(struct op *op)
{
	struct call *c = (struct call *)(void *)op;

	op_cancel(&c->http);
	mem_free(c);
}

static const struct op_type call_type = { "engine call", call_cancel };

/* libcurl does not tell why a socket could not be reached; a look does. */
static void
why_not_reached(const struct engine *e, struct err *err)
{
	const char *path = socket_of(engine_host(e));
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	if (!path || mem_copy_str(addr.sun_path, sizeof(addr.sun_path), path) < 0) {
		err_wrap(err, "the container engine at %s can't be reached",
		    engine_host(e));
		return;
	}
	CLEANUP_CLOSE int fd = socket(AF_UNIX,
	    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int errnum = fd >= 0 && connect(fd, (struct sockaddr *)&addr,
	    sizeof(addr)) < 0 ? errno : 0;
	if (errnum == ENOENT)
		err_set(err, ERR_UNAVAILABLE, "no container engine is at %s: "
		    "install and start one (apt-get install docker.io; or podman, "
		    "and: systemctl enable --now podman.socket), or give its "
		    "address in DOCKER_HOST", path);
	else if (errnum == EACCES || errnum == EPERM)
		err_set(err, ERR_DENIED, "no permission on the container engine's "
		    "socket %s: add the user of gatehouse to the group that owns it "
		    "(usermod -aG docker USER) and start gatehouse anew, or use a "
		    "rootless engine", path);
	else if (errnum == ECONNREFUSED)
		err_set(err, ERR_UNAVAILABLE, "the container engine at %s is not "
		    "running (its socket is there, and nobody listens): start it "
		    "(systemctl start docker)", path);
	else
		err_wrap(err, "the container engine at %s", path);
}

void
engine_refusal(struct err *err, int status, const char *body, size_t len)
{
	CLEANUP_JSON struct json *json = json_parse(body, len, NULL);
	const char *said = json_get_str(json, "message", NULL);

	enum err_code code = status == 404 ? ERR_NOT_FOUND :
	    status == 409 ? ERR_EXISTS : status == 403 ? ERR_DENIED :
	    status == 400 ? ERR_INVALID : ERR_UNAVAILABLE;
	if (!said)
		said = json_get_str(json, "cause", NULL);
	if (said && strstr(said, "client version"))
		err_set(err, ERR_CONFIG, "the container engine refuses this version "
		    "of gatehouse (%.300s): update the older of the two", said);
	else if (said)
		err_set(err, code, "the container engine says: %.400s", said);
	else
		err_set(err, code, "the container engine answered with status %d",
		    status);
}

static void
on_answer(void *arg, const struct http_result *r)
{
	struct call *c = arg;
	CLEANUP_JSON struct json *json = NULL;
	struct engine_res res = { .status = r->status, .text = r->body,
		.len = r->body_len };
	struct err err = { ERR_NONE, "" };

	c->http = NULL;
	if (r->outcome == HTTP_NOT_SENT || (r->err && r->status == 0)) {
		err = *r->err;
		why_not_reached(c->e, &err);
	} else if (r->outcome != HTTP_ANSWERED) {
		err = *r->err;
	} else if (r->status / 100 != 2 && r->status != 304) {
		engine_refusal(&err, r->status, r->body, r->body_len);
	} else if (!c->streams && r->body_len && r->body[0] != '\0') {
		json = json_parse(r->body, r->body_len, NULL);
	}
	res.json = json;
	res.err = err.code ? &err : NULL;
	op_finish(&c->op);
	c->cb(c->arg, &res);
	mem_free(c);
}

static struct op *
call(struct engine *e, const struct engine_req *req, const char *version,
	engine_cb *cb, void *arg)
{
	CLEANUP_FREE char *url = mem_printf("%s%s%s", e->base, version, req->path);
	CLEANUP_FREE char *text = req->json ? json_text(req->json) : NULL;
	CLEANUP_FREE char *type = mem_printf("Content-Type: %s",
	    req->json ? "application/json" : req->type ? req->type : "text/plain");
	const char *const headers[] = { type, NULL };
	bool has_body = text || req->body_len;
	struct http_req http = {
		.label = "container engine", .method = req->method, .url = url,
		.headers = has_body ? headers : NULL,
		.body = text ? text : req->body,
		.body_len = text ? strlen(text) : req->body_len,
		.connect_ms = HELLO_MS,
		.total_ms = req->total_ms ? req->total_ms : CALL_MS,
		.idle_ms = req->idle_ms, .max_body = req->max_body,
		.on_data = req->on_data, .data_arg = req->data_arg,
	};
	struct call *c = mem_alloc(sizeof(*c));

	op_init(&c->op, &call_type);
	c->e = e;
	c->streams = req->on_data != NULL;
	c->cb = cb;
	c->arg = arg;
	c->http = http_start(e->http, &http, on_answer, c);
	return &c->op;
}

static char *
version_path(const struct engine *e)
{
	return mem_printf("/v1.%d", e->api ? e->api : ENGINE_API_MIN);
}

struct op *
engine_call(struct engine *e, const struct engine_req *req, engine_cb *cb,
	void *arg)
{
	CLEANUP_FREE char *version = version_path(e);

	return call(e, req, version, cb, arg);
}

struct http_stream *
engine_stream(struct engine *e, const char *path, const char *body,
	const struct http_stream_events *events, void *arg)
{
	CLEANUP_FREE char *version = version_path(e);
	CLEANUP_FREE char *url = mem_printf("%s%s%s", e->base, version, path);
	struct http_stream_req req = { .label = "container engine", .url = url,
		.body = body, .open_ms = CALL_MS };

	return http_stream_start(e->http, &req, events, arg);
}

/* ---- hello ----------------------------------------------------------------------- */

struct hello {
	struct op op;
	struct engine *e;
	struct op *call;
	struct timer *next;	/* another address is tried, from the loop */
	size_t at;
	struct err err;		/* the most telling so far */
	engine_hello_cb *cb;
	void *arg;
};

static void
hello_cancel(struct op *op)
{
	struct hello *h = (struct hello *)(void *)op;

	op_cancel(&h->call);
	loop_cancel(&h->next);
	mem_free(h);
}

static const struct op_type hello_type = { "engine hello", hello_cancel };

static void
hello_finish(struct hello *h, const struct err *err)
{
	op_finish(&h->op);
	h->cb(h->arg, err);
	mem_free(h);
}

/* "1.41" -> 41; 0: no version. */
static int
minor(const char *version)
{
	return strncmp(version, "1.", 2) == 0 ? (int)strtol(version + 2, NULL, 10) :
	    0;
}

static int
agree(struct engine *e, const struct json *v, struct err *err)
{
	int max = minor(json_get_str(v, "ApiVersion", ""));
	int min = minor(json_get_str(v, "MinAPIVersion", ""));
	const struct json *components = json_get(v, "Components");
	const char *name = json_get_str(json_first(components), "Name", "");

	bool podman = strstr(name, "Podman") != NULL;
	if (!max)
		return err_set(err, ERR_PROTOCOL, "what listens at %s is no "
		    "container engine", engine_host(e));
	if (max < ENGINE_API_MIN || min > ENGINE_API_MAX)
		return err_set(err, ERR_CONFIG, "the container engine at %s speaks "
		    "API 1.%d to 1.%d, gatehouse 1.%d to 1.%d: update the older of "
		    "the two", engine_host(e), min, max, ENGINE_API_MIN,
		    ENGINE_API_MAX);
	e->api = max < ENGINE_API_MAX ? max : ENGINE_API_MAX;
	mem_free(e->about);
	e->about = mem_printf("%s %s, API 1.%d, %s", podman ? "Podman" : "Docker",
	    json_get_str(v, "Version", "?"), e->api, engine_host(e));
	return 0;
}

static void on_version(void *arg, const struct engine_res *res);

static void
hello_try(void *arg)
{
	struct hello *h = arg;
	struct engine_req req = { .method = "GET", .path = "/version",
		.total_ms = HELLO_MS };

	h->next = NULL;
	use_host(h->e, h->at);
	h->call = call(h->e, &req, "", on_version, h);
}

static void
on_version(void *arg, const struct engine_res *res)
{
	struct hello *h = arg;
	struct err err = { ERR_NONE, "" };

	h->call = NULL;
	if (res->err)
		err = *res->err;
	else if (agree(h->e, res->json, &err) == 0) {
		hello_finish(h, NULL);
		return;
	}
	/* Not there at all says less than there and refused. */
	bool absent = err.code == ERR_UNAVAILABLE && strstr(err.text, "no container "
	    "engine is at");
	if (!h->err.code || !absent)
		h->err = err;
	if (absent && ++h->at < h->e->nhosts)
		h->next = loop_defer(h->e->loop, "engine hello", hello_try, h);
	else
		hello_finish(h, &h->err);
}

struct op *
engine_hello(struct engine *e, engine_hello_cb *cb, void *arg)
{
	struct hello *h = mem_alloc(sizeof(*h));

	op_init(&h->op, &hello_type);
	h->e = e;
	h->cb = cb;
	h->arg = arg;
	h->next = loop_defer(e->loop, "engine hello", hello_try, h);
	return &h->op;
}

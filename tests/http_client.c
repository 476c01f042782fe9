#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "tests/http_client.h"

/* ---- a resolver that can be made to fail or to hang --------------------- */

static pthread_mutex_t dns_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t dns_cond = PTHREAD_COND_INITIALIZER;
static bool dns_release;
static int dns_waiting;

/* libcurl's call ends here: the program's own symbol comes first. */
int
getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
	struct addrinfo **ret_list)
{
	static int (*real)(const char *, const char *, const struct addrinfo *,
		struct addrinfo **);

	if (name && !strcmp(name, "nowhere.test"))
		return EAI_NONAME;
	if (name && !strcmp(name, "hangs.test")) {
		pthread_mutex_lock(&dns_lock);
		dns_waiting++;
		pthread_cond_broadcast(&dns_cond);
		while (!dns_release)
			pthread_cond_wait(&dns_cond, &dns_lock);
		dns_waiting--;
		pthread_cond_broadcast(&dns_cond);
		pthread_mutex_unlock(&dns_lock);
		return EAI_AGAIN;
	}
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
	return real(name, service, hints, ret_list);
}

void
dns_let_go(void)
{
	pthread_mutex_lock(&dns_lock);
	dns_release = true;
	pthread_cond_broadcast(&dns_cond);
	while (dns_waiting)
		pthread_cond_wait(&dns_cond, &dns_lock);
	dns_release = false;
	pthread_mutex_unlock(&dns_lock);
}

/* ---- a client on the real loop -------------------------------------------- */

int
client_setup(void **state)
{
	struct client *c = mem_alloc(sizeof(*c));
	struct http_opts opts = { .user_agent = "gatehouse-test" };

	alarm(60);	/* a hang is a failure */
	c->loop = loop_new();
	c->http = http_new(c->loop, &opts);
	*state = c;
	return c->http ? 0 : -1;
}

int
client_teardown(void **state)
{
	struct client *c = *state;

	http_free(&c->http);
	loop_free(&c->loop);
	mem_free(c);
	return op_live() == 0 ? 0 : -1;
}

static void
on_done(void *arg, const struct http_result *r)
{
	struct call *k = arg;

	k->op = NULL;
	k->ended++;
	k->outcome = r->outcome;
	k->status = r->status;
	k->body = mem_strn(r->body, r->body_len);
	k->body_len = r->body_len;
	k->type = mem_str(r->content_type);
	k->retry_after = mem_str(r->retry_after);
	k->should_retry = mem_str(r->should_retry);
	if (r->outcome != HTTP_ANSWERED) {
		assert_non_null(r->err);
		assert_true(r->err->code != ERR_NONE && r->err->text[0]);
		k->code = r->err->code;
		k->text = mem_str(r->err->text);
	} else {
		assert_null(r->err);
	}
	if (--k->c->pending == 0)
		loop_stop(k->c->loop);
}

bool
on_stream(void *arg, const char *data, size_t len)
{
	struct call *k = arg;

	k->chunks++;
	buf_add(&k->streamed, data, len);
	if (k->cancel) {
		op_cancel(&k->op);
		loop_stop(k->c->loop);
	}
	return !k->leave;
}

void
client_start(struct call *k, struct client *c, struct http_req *req)
{
	memset(k, 0, sizeof(*k));
	k->c = c;
	buf_init(&k->streamed, 8u << 20);
	req->label = "test call";
	if (!req->total_ms)
		req->total_ms = 20000;
	if (req->on_data)
		req->data_arg = k;
	c->pending++;
	k->op = http_start(c->http, req, on_done, k);
	assert_int_equal(k->ended, 0);
}

void
call_done(struct call *k)
{
	mem_free(k->text);
	mem_free(k->body);
	mem_free(k->type);
	mem_free(k->retry_after);
	mem_free(k->should_retry);
	buf_done(&k->streamed);
}

char *
url_of(struct raw_server *srv, const char *scheme)
{
	return mem_printf("%s://127.0.0.1:%d/x", scheme, raw_server_port(srv));
}

/* One request against fn; the result stays in k. */
void
client_ask(struct client *c, raw_server_fn *fn, void *arg, struct http_req *req,
	struct call *k)
{
	struct raw_server *srv = raw_server_new(fn, arg);
	CLEANUP_FREE char *url = url_of(srv, "http");

	if (!req->url)
		req->url = url;
	client_start(k, c, req);
	assert_int_equal(loop_run(c->loop), 0);
	assert_int_equal(k->ended, 1);
	raw_server_free(&srv);
}

/* Runs the loop until the test's other thread has raised the flag. */
struct until { struct client *c; atomic_int *flag; int want; };

static void
until_tick(void *arg)
{
	struct until *u = arg;

	if (atomic_load(u->flag) >= u->want)
		loop_stop(u->c->loop);
	else
		loop_after(u->c->loop, 1, "until", until_tick, u);
}

void
client_run_until(struct client *c, atomic_int *flag, int want)
{
	struct until u = { c, flag, want };

	loop_defer(c->loop, "until", until_tick, &u);
	loop_run(c->loop);
}

int
closed_port(void)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sin);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
	getsockname(fd, (struct sockaddr *)&sin, &len);
	close(fd);
	return ntohs(sin.sin_port);
}

void
serve_echo(void *arg, int fd, int n)
{
	char in[65536];

	(void)arg;
	(void)n;
	while (raw_read_request(fd, in, sizeof(in))) {
		const char *body = strstr(in, "\r\n\r\n") + 4;
		CLEANUP_FREE char *out = mem_printf("HTTP/1.1 429 Slow\r\n"
			"Content-Type: application/json\r\nRetry-After:  7\r\n"
			"x-should-retry: false\r\n"
			"Content-Length: %zu\r\n\r\n%s|%.20s",
			strlen(body) + 1 + (strlen(in) < 20 ? strlen(in) : 20),
			body, in);
		if (!raw_write(fd, out))
			return;
	}
}

void
serve_cut(void *arg, int fd, int n)
{
	const struct cut *cut = arg;
	char in[4096];

	(void)n;
	if (!raw_read_request(fd, in, sizeof(in)))
		return;
	raw_write(fd, cut->says);
	if (cut->reset)
		raw_reset(fd);
}


static void
until_dns_tick(void *arg)
{
	struct client *c = arg;

	pthread_mutex_lock(&dns_lock);
	int n = dns_waiting;
	pthread_mutex_unlock(&dns_lock);
	if (n)
		loop_stop(c->loop);
	else
		loop_after(c->loop, 1, "until", until_dns_tick, c);
}

void
client_run_until_dns_hangs(struct client *c)
{
	loop_defer(c->loop, "until", until_dns_tick, c);
	loop_run(c->loop);
}

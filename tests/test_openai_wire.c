/* openai.c over the real HTTP client and real sockets. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/agent/model.h"
#include "tests/http_client.h"

#define HEAD "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n" \
	"Transfer-Encoding: chunked\r\n\r\n"
#define SAY(s) "data: {\"choices\":[{\"delta\":{\"content\":\"" s "\"}}]}\n\n"
#define END "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n" \
	"data: [DONE]\n\n"

struct asked {
	struct client *c;
	struct model *model;
	struct op *op;
	struct buf text;
	int done;
	enum model_error error;
	msec_t retry_after;
	char *err_text;
};

static void
on_text(void *arg, const char *text, size_t len)
{
	buf_add(&((struct asked *)arg)->text, text, len);
}

static void
on_done(void *arg, const struct model_result *res)
{
	struct asked *a = arg;

	a->op = NULL;
	a->done++;
	a->error = res->error;
	a->retry_after = res->retry_after_ms;
	mem_free(a->err_text);
	a->err_text = res->err ? mem_str(res->err->text) : NULL;
	loop_stop(a->c->loop);
}

static void
asked_init(struct asked *a, struct client *c, int port)
{
	CLEANUP_FREE char *url = mem_printf("http://127.0.0.1:%d/v1", port);

	memset(a, 0, sizeof(*a));
	a->c = c;
	a->model = openai_new(c->loop, c->http, &(struct openai_opts){
		.base_url = url, .api_key = "key-of-the-test", .model = "m" });
	buf_init(&a->text, 1 << 20);
}

static void
asked_done(struct asked *a)
{
	model_free(&a->model);
	buf_done(&a->text);
	mem_free(a->err_text);
}

static void
call(struct asked *a)
{
	CLEANUP_JSON struct json *messages = json_array();

	json_add_take(messages, json_set_str(json_set_str(json_object(),
	    "role", "user"), "content", "hi"));
	buf_clear(&a->text);
	a->done = 0;
	a->op = model_call(a->model, &(struct model_req){ .messages = messages,
		.on_text = on_text }, on_done, a);
}

/* One chunk of a chunked body. */
static void
write_chunk(int fd, const char *text)
{
	CLEANUP_FREE char *chunk = mem_printf("%zx\r\n%s\r\n", strlen(text), text);

	raw_write(fd, chunk);
}

static void
serve_streams(void *arg, int fd, int n)
{
	char request[4096];

	(void)arg;
	(void)n;
	while (raw_read_request(fd, request, sizeof(request)) > 0) {
		REQUIRE(strstr(request, "POST /v1/chat/completions"));
		REQUIRE(strstr(request, "Bearer key-of-the-test"));
		REQUIRE(!strcasestr(request, "accept-encoding"));
		raw_write(fd, HEAD);
		write_chunk(fd, SAY("Hel"));
		write_chunk(fd, SAY("lo") END);
		write_chunk(fd, "");
	}
}

static void
calls_one_after_the_other_share_a_connection(void **state)
{
	struct client *c = *state;
	struct raw_server *srv = raw_server_new(serve_streams, NULL);
	struct asked a;

	asked_init(&a, c, raw_server_port(srv));
	for (int i = 0; i < 3; i++) {
		call(&a);
		loop_run(c->loop);
		assert_int_equal(a.done, 1);
		assert_int_equal(a.error, MODEL_ERR_NONE);
		assert_string_equal(a.text.data, "Hello");
	}
	assert_int_equal(raw_server_connections(srv), 1);
	asked_done(&a);
	raw_server_free(&srv);
}

static void
serve_bytes(void *arg, int fd, int n)
{
	char request[4096];

	(void)arg;
	(void)n;
	raw_read_request(fd, request, sizeof(request));
	raw_write(fd, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
	for (const char *p = SAY("a😀é漢") END; *p; p++)
		raw_write(fd, (char[]){ *p, '\0' });
}

/* C073 */
static void
a_stream_of_single_bytes_is_whole(void **state)
{
	struct client *c = *state;
	struct raw_server *srv = raw_server_new(serve_bytes, NULL);
	struct asked a;

	asked_init(&a, c, raw_server_port(srv));
	call(&a);
	loop_run(c->loop);
	assert_int_equal(a.error, MODEL_ERR_NONE);
	assert_string_equal(a.text.data, "a😀é漢");
	asked_done(&a);
	raw_server_free(&srv);
}

static void
serve_refusal(void *arg, int fd, int n)
{
	char request[4096];

	(void)arg;
	(void)n;
	raw_read_request(fd, request, sizeof(request));
	raw_write(fd, "HTTP/1.1 429 No\r\nRetry-After: 9\r\nretry-after-ms: 1500\r\n"
	    "Content-Length: 39\r\n\r\n{\"error\":{\"message\":\"key-of-the-test\"}}");
}

static void
refusals_bring_their_wait_and_no_secret(void **state)
{
	struct client *c = *state;
	struct raw_server *srv = raw_server_new(serve_refusal, NULL);
	struct asked a;

	asked_init(&a, c, raw_server_port(srv));
	call(&a);
	loop_run(c->loop);
	assert_int_equal(a.error, MODEL_ERR_RETRY);
	assert_int_equal(a.retry_after, 1500);
	assert_non_null(strstr(a.err_text, "answered 429: ****"));
	asked_done(&a);
	raw_server_free(&srv);

	asked_init(&a, c, closed_port());
	call(&a);
	loop_run(c->loop);
	assert_int_equal(a.error, MODEL_ERR_RETRY);
	assert_null(strstr(a.err_text, "key-of"));
	asked_done(&a);
}

struct phase {
	const char *says;	/* after the request */
	atomic_int reached;
	atomic_int gone;
};

static void
serve_phase(void *arg, int fd, int n)
{
	struct phase *p = arg;
	char request[4096];

	(void)n;
	raw_read_request(fd, request, sizeof(request));
	raw_write(fd, p->says);
	atomic_fetch_add(&p->reached, 1);
	raw_wait_gone(fd);
	atomic_fetch_add(&p->gone, 1);
}

/* C105: the server sees the client leave, whatever it was waiting for. */
static void
cancel_closes_the_connection_in_every_phase(void **state)
{
	struct client *c = *state;
	static const char *const says[] = {
		"", "HTTP/1.1 200 OK\r\n", HEAD, HEAD "5\r\ndata:",
	};

	for (size_t i = 0; i < ARRAY_LEN(says); i++) {
		struct phase p = { .says = says[i] };
		struct raw_server *srv = raw_server_new(serve_phase, &p);
		struct asked a;

		asked_init(&a, c, raw_server_port(srv));
		call(&a);
		client_run_until(c, &p.reached, 1);
		assert_non_null(a.op);
		op_cancel(&a.op);
		client_run_until(c, &p.gone, 1);
		assert_int_equal(a.done, 0);
		asked_done(&a);
		raw_server_free(&srv);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, client_setup, client_teardown)
		TEST(calls_one_after_the_other_share_a_connection),
		TEST(a_stream_of_single_bytes_is_whole),
		TEST(refusals_bring_their_wait_and_no_secret),
		TEST(cancel_closes_the_connection_in_every_phase),
	};

	return cmocka_run_group_tests_name("openai_wire", tests, NULL, NULL);
}

/*
 * base/http.h over TLS and HTTP/2 against node's own server.  Needs node and
 * serve-tls.mjs ($TLS_SERVER, which tests/peers/run sets), else skips itself.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "tests/http_client.h"
#include "tests/peers/node_server.h"

static struct {
	char dir[32];
	char *key;
	char *cert;
	struct node_server node;
} server;

/* ---- a certificate for "localhost" ---------------------------------------------- */

static void
write_certificate(void)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *x = X509_new();
	X509_NAME *name = X509_get_subject_name(x);
	X509_EXTENSION *san = X509V3_EXT_conf_nid(NULL, NULL,
		NID_subject_alt_name, "DNS:localhost");
	X509_EXTENSION *ca = X509V3_EXT_conf_nid(NULL, NULL,
		NID_basic_constraints, "critical,CA:TRUE");
	FILE *f;

	X509_set_version(x, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
	X509_gmtime_adj(X509_getm_notBefore(x), -3600);
	X509_gmtime_adj(X509_getm_notAfter(x), 3600);
	X509_set_pubkey(x, key);
	X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
		(const unsigned char *)"localhost", -1, -1, 0);
	X509_set_issuer_name(x, name);
	X509_add_ext(x, san, -1);
	X509_add_ext(x, ca, -1);
	assert_true(X509_sign(x, key, EVP_sha256()) > 0);
	assert_non_null(f = fopen(server.key, "w"));
	PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL);
	fclose(f);
	assert_non_null(f = fopen(server.cert, "w"));
	PEM_write_X509(f, x);
	fclose(f);
	X509_EXTENSION_free(san);
	X509_EXTENSION_free(ca);
	X509_free(x);
	EVP_PKEY_free(key);
}

static int
server_start(void **state)
{
	(void)state;
	memcpy(server.dir, "/tmp/http_tls.XXXXXX", 21);
	assert_non_null(mkdtemp(server.dir));
	server.key = mem_printf("%s/key.pem", server.dir);
	server.cert = mem_printf("%s/cert.pem", server.dir);
	write_certificate();
	const char *args[] = { getenv("TLS_SERVER"), server.key, server.cert, NULL };
	node_server_start(&server.node, args);
	return 0;
}

static int
server_stop(void **state)
{
	(void)state;
	node_server_stop(&server.node);
	unlink(server.key);
	unlink(server.cert);
	rmdir(server.dir);
	mem_free(server.key);
	mem_free(server.cert);
	return 0;
}

static int
tls_setup(void **state)
{
	struct client *c = mem_alloc(sizeof(*c));
	struct http_opts opts = { .user_agent = "t", .ca_file = server.cert };

	alarm(60);
	c->loop = loop_new();
	c->http = http_new(c->loop, &opts);
	*state = c;
	return 0;
}

static char *
path_url(const char *path)
{
	return mem_printf("https://localhost:%d%s", server.node.port, path);
}

static void
one(struct client *c, const char *path, const char *body, struct call *k)
{
	CLEANUP_FREE char *url = path_url(path);
	struct http_req req = { .url = url, .body = body,
		.body_len = body ? strlen(body) : 0 };

	client_start(k, c, &req);
	loop_run(c->loop);
	assert_int_equal(k->ended, 1);
}

static void
assert_body(struct client *c, const char *path, const char *want)
{
	struct call k;

	one(c, path, NULL, &k);
	if (k.outcome != HTTP_ANSWERED || strcmp(k.body, want))
		fail_msg("%s: %s %s", path, k.body, k.text ? k.text : "");
	call_done(&k);
}

/* ---- tests ------------------------------------------------------------------------- */

static void
a_known_certificate_is_trusted_and_http_2_is_spoken(void **state)
{
	struct call k;

	assert_body(*state, "/ok", "ok 2.0");
	one(*state, "/echo", "hello", &k);
	assert_string_equal(k.body, "hello");
	call_done(&k);
}

static void
an_unknown_certificate_is_not_sent(void **state)
{
	struct client c = { .loop = ((struct client *)*state)->loop };
	struct http_opts opts = { .user_agent = "t" };
	struct call k;

	c.http = http_new(c.loop, &opts);
	one(&c, "/echo", "secret", &k);
	assert_int_equal(k.outcome, HTTP_NOT_SENT);
	assert_non_null(strstr(k.text, "certificate"));
	call_done(&k);
	http_free(&c.http);
}

static void
a_certificate_for_another_name_is_not_sent(void **state)
{
	struct client *c = *state;
	struct call k;
	CLEANUP_FREE char *url = mem_printf("https://127.0.0.1:%d/ok", server.node.port);
	struct http_req req = { .url = url, .body = "x", .body_len = 1 };

	client_start(&k, c, &req);
	loop_run(c->loop);
	assert_int_equal(k.outcome, HTTP_NOT_SENT);
	call_done(&k);
}

/* Also with a server that lies and says that it did not take the request. */
static void
a_body_goes_once_however_the_stream_ends(void **state)
{
	static const char *const paths[] = { "/die", "/refuse", "/goaway" };
	struct client *c = *state;

	assert_body(c, "/ok", "ok 2.0");	/* a connection to reuse */
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		struct call k;

		one(c, paths[i], "once", &k);
		if (k.outcome != HTTP_UNKNOWN)
			fail_msg("%s: outcome %d %s", paths[i], k.outcome, k.text);
		call_done(&k);
		assert_body(c, "/bodies", "1");
	}
}

static void
cancelling_one_stream_leaves_the_others(void **state)
{
	struct client *c = *state;
	struct call hang[3], k;
	CLEANUP_FREE char *url = path_url("/hang");
	CLEANUP_FREE char *stream = path_url("/stream");
	struct http_req req = { .url = url };
	struct http_req streamed = { .url = stream, .on_data = on_stream };

	one(c, "/aborted", NULL, &k);	/* forgets what was before */
	call_done(&k);
	for (size_t i = 0; i < 3; i++)
		client_start(&hang[i], c, &req);
	client_start(&k, c, &streamed);
	k.leave = true;
	c->pending = 1;
	loop_run(c->loop);		/* until the reader has left */
	assert_int_equal(k.outcome, HTTP_CUT);
	assert_string_equal(k.streamed.data, "one");
	call_done(&k);
	op_cancel(&hang[1].op);
	assert_body(c, "/aborted", "2");
	assert_int_equal(hang[0].ended + hang[2].ended, 0);
	op_cancel(&hang[0].op);
	op_cancel(&hang[2].op);
	for (size_t i = 0; i < 3; i++)
		call_done(&hang[i]);
	assert_body(c, "/ok", "ok 2.0");
}

#define T(name) cmocka_unit_test_setup_teardown(name, tls_setup, client_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_known_certificate_is_trusted_and_http_2_is_spoken),
		T(an_unknown_certificate_is_not_sent),
		T(a_certificate_for_another_name_is_not_sent),
		T(a_body_goes_once_however_the_stream_ends),
		T(cancelling_one_stream_leaves_the_others),
	};

	if (!getenv("TLS_SERVER")) {
		printf("1..0 # SKIP TLS_SERVER is not set: tests/peers/run sets it\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, server_start, server_stop);
}

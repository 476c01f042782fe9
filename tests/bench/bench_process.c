/*
 * Figures of the whole program: how soon `gatehouse run` on a fresh home asks a
 * Bot API server of this process for updates, how soon it answers what waited
 * there after a kill -9, and what it and its children hold while they wait for an
 * answer over TLS.  Lines: name value unit.
 */
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "tests/bench/figure.h"
#include "tests/raw_server.h"

#define STARTS 20
#define RESTARTS 10
#define PROGRAM "./gatehouse"	/* `make bench` runs in the build directory */
#define SETTLE_MS 2000
#define POLL_S 20

static struct {
	char dir[64];
	char *cert;
	SSL_CTX *tls;		/* NULL: plain HTTP */
	pthread_mutex_t lock;
	pthread_cond_t polled;
	double poll_at;		/* 0: nobody has asked yet */
	double sent_at;		/* 0: nothing was sent yet */
	int update;		/* waits at the platform; 0: nothing does */
} bench = { "bench-process-XXXXXX", NULL, NULL, PTHREAD_MUTEX_INITIALIZER,
	PTHREAD_COND_INITIALIZER, 0, 0, 0 };

static const char as_model[] = "  default: m\n  provider: custom\n"
    "  api_key: k\n  base_url: http://127.0.0.1:9/v1\n";

static void
write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	REQUIRE(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

/* ---- the server --------------------------------------------------------------- */

/* A certificate of its own for 127.0.0.1, known to the program as ca_file. */
static SSL_CTX *
tls_new(void)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *x = X509_new();
	X509_NAME *name = X509_get_subject_name(x);
	X509_EXTENSION *san = X509V3_EXT_conf_nid(NULL, NULL,
	    NID_subject_alt_name, "IP:127.0.0.1");
	X509_EXTENSION *ca = X509V3_EXT_conf_nid(NULL, NULL,
	    NID_basic_constraints, "critical,CA:TRUE");
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
	FILE *f = fopen(bench.cert, "we");

	X509_set_version(x, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
	X509_gmtime_adj(X509_getm_notBefore(x), -3600);
	X509_gmtime_adj(X509_getm_notAfter(x), 3600);
	X509_set_pubkey(x, key);
	X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
	    (const unsigned char *)"127.0.0.1", -1, -1, 0);
	X509_set_issuer_name(x, name);
	X509_add_ext(x, san, -1);
	X509_add_ext(x, ca, -1);
	REQUIRE(X509_sign(x, key, EVP_sha256()) > 0);
	REQUIRE(f && PEM_write_X509(f, x) && fclose(f) == 0);
	REQUIRE(SSL_CTX_use_certificate(ctx, x) == 1 &&
	    SSL_CTX_use_PrivateKey(ctx, key) == 1);
	X509_EXTENSION_free(san);
	X509_EXTENSION_free(ca);
	X509_free(x);
	EVP_PKEY_free(key);
	return ctx;
}

struct peer {
	int fd;
	SSL *ssl;	/* NULL: plain */
};

/* Head and body of one request; false: the program is gone. */
static bool
read_request(struct peer *p, char *text, int size)
{
	int len = 0;

	if (!p->ssl)
		return raw_read_request(p->fd, text, (size_t)size) > 0;
	for (;;) {
		int n = SSL_read(p->ssl, text + len, size - 1 - len);

		if (n <= 0)
			return false;
		len += n;
		text[len] = '\0';
		char *end = strstr(text, "\r\n\r\n");
		char *body = strcasestr(text, "content-length:");

		if (end && end + 4 - text +
		    (body ? strtol(body + 15, NULL, 10) : 0) <= len)
			return true;
	}
}

static void
answer(struct peer *p, const char *body)
{
	CLEANUP_FREE char *text = mem_printf("HTTP/1.1 200 OK\r\n"
	    "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
	    strlen(body), body);

	if (p->ssl)
		(void)SSL_write(p->ssl, text, (int)strlen(text));
	else
		(void)raw_write(p->fd, text);
}

static void
note_time(double *at)
{
	pthread_mutex_lock(&bench.lock);
	if (*at == 0)
		*at = now_ms();
	pthread_cond_signal(&bench.polled);
	pthread_mutex_unlock(&bench.lock);
}

/* What waits, once; false: nothing does. */
static bool
answer_update(struct peer *p)
{
	pthread_mutex_lock(&bench.lock);
	int id = bench.update;

	bench.update = 0;
	pthread_mutex_unlock(&bench.lock);
	if (id == 0)
		return false;
	CLEANUP_FREE char *body = mem_printf("{\"ok\":true,\"result\":[{"
	    "\"update_id\":%d,\"message\":{\"message_id\":%d,\"date\":%lld,"
	    "\"chat\":{\"id\":1001,\"type\":\"private\"},\"from\":{\"id\":1001,"
	    "\"is_bot\":false,\"first_name\":\"a\"},\"text\":\"hello\"}}]}",
	    id, id, (long long)time(NULL));

	answer(p, body);
	return true;
}

/* Answers everything but getUpdates, which waits for ever. */
static void
serve(void *arg, int fd, int n)
{
	struct peer p = { fd, bench.tls ? SSL_new(bench.tls) : NULL };
	char text[8192];

	(void)arg;
	(void)n;
	if (p.ssl) {
		SSL_set_fd(p.ssl, fd);
		if (SSL_accept(p.ssl) != 1)
			shutdown(fd, SHUT_RDWR);
	}
	while (read_request(&p, text, sizeof(text))) {
		*strchr(text, '\r') = '\0';
		if (strstr(text, "/getUpdates")) {
			note_time(&bench.poll_at);
			if (!answer_update(&p))
				raw_wait_gone(fd);
		} else if (strstr(text, "/sendMessage")) {
			answer(&p, "{\"ok\":true,\"result\":{\"message_id\":1,"
			    "\"date\":1,\"chat\":{\"id\":1001,"
			    "\"type\":\"private\"}}}");
			note_time(&bench.sent_at);
		} else if (strstr(text, "/getMe")) {
			answer(&p, "{\"ok\":true,\"result\":{\"id\":900,"
			    "\"is_bot\":true,\"first_name\":\"b\","
			    "\"username\":\"b_bot\"}}");
		} else {
			answer(&p, "{\"ok\":true,\"result\":true}");
		}
	}
	SSL_free(p.ssl);
}

/* ---- the program ----------------------------------------------------------------- */

static pid_t
spawn(const char *home, const char *command)
{
	CLEANUP_FREE char *variable = mem_printf("GATEHOUSE_HOME=%s", home);
	CLEANUP_FREE char *log = mem_printf("%s.log", home);
	char path[] = "PATH=/usr/bin:/bin", program[] = PROGRAM;
	CLEANUP_FREE char *word = mem_str(command);
	char *argv[] = { program, word, NULL };
	char *env[] = { path, variable, NULL };
	posix_spawn_file_actions_t actions;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 1, log,
	    O_WRONLY | O_CREAT | O_APPEND, 0600);
	posix_spawn_file_actions_adddup2(&actions, 1, 2);
	REQUIRE(posix_spawn(&pid, PROGRAM, &actions, NULL, argv, env) == 0);
	posix_spawn_file_actions_destroy(&actions);
	return pid;
}

static char *
make_home(int n, int port, const char *model)
{
	CLEANUP_FREE char *cwd = getcwd(NULL, 0);
	char *home = mem_printf("%s/%s/home%d", cwd, bench.dir, n);
	CLEANUP_FREE char *path = mem_printf("%s/config.yaml", home);
	CLEANUP_FREE char *text = mem_printf("model:\n%s"
	    "platforms:\n  telegram:\n"
	    "    token: '900:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'\n"
	    "    allow_from: ['1001']\n"
	    "    extra:\n      base_url: %s://127.0.0.1:%d\n"
	    "network:\n  ca_file: %s/%s\n",
	    model, bench.tls ? "https" : "http", port, cwd, bench.cert);

	REQUIRE(mkdir(home, 0700) == 0);
	write_file(path, text);
	return home;
}

/* Milliseconds from exec until the server noted that time. */
static double
start_and_wait(const char *home, const double *at, pid_t *ret_pid)
{
	struct timespec limit;
	double began = now_ms();
	int rc = 0;

	bench.poll_at = bench.sent_at = 0;
	*ret_pid = spawn(home, "run");
	clock_gettime(CLOCK_REALTIME, &limit);
	limit.tv_sec += POLL_S;
	pthread_mutex_lock(&bench.lock);
	while (*at == 0 && rc == 0)
		rc = pthread_cond_timedwait(&bench.polled, &bench.lock, &limit);
	pthread_mutex_unlock(&bench.lock);
	if (rc != 0) {
		fprintf(stderr, "bench_process: no request, see %s.log\n", home);
		exit(1);
	}
	return *at - began;
}

static void
end(pid_t pid)
{
	int status;

	kill(pid, SIGTERM);
	REQUIRE(waitpid(pid, &status, 0) == pid && status == 0);
}

/* The floor: loading the program, and nothing done. */
static double
load_ms(const char *home)
{
	double began = now_ms();
	int status;
	pid_t pid = spawn(home, "version");

	REQUIRE(waitpid(pid, &status, 0) == pid && status == 0);
	return now_ms() - began;
}

static void
bench_starts(int first)
{
	struct raw_server *server = raw_server_new(serve, NULL);
	const char *tls = bench.tls ? "_tls" : "";
	double took[STARTS], load[STARTS];

	for (int i = 0; i < STARTS; i++) {
		CLEANUP_FREE char *home = make_home(first + i,
		    raw_server_port(server), as_model);
		pid_t pid;

		load[i] = load_ms(home);
		took[i] = start_and_wait(home, &bench.poll_at, &pid);
		end(pid);
	}
	double p50 = median(took, STARTS), floor = median(load, STARTS);

	if (!bench.tls)
		printf("program_load_ms %.3f ms\n", floor);
	printf("start_to_poll%s_ms %.3f ms\nstart_to_poll%s_ratio %.3f of_floor\n",
	    tls, p50, tls, p50 / floor);
	fflush(stdout);
	raw_server_free(&server);
}

/* What waits at the platform after a kill -9, with the built-in model. */
static void
bench_restarts(int n)
{
	struct raw_server *server = raw_server_new(serve, NULL);
	CLEANUP_FREE char *home = make_home(n, raw_server_port(server),
	    "  provider: demo\n");
	double took[RESTARTS];

	for (int i = 0; i <= RESTARTS; i++) {
		int status;
		pid_t pid;

		bench.update = 100 + i;
		double ms = start_and_wait(home, &bench.sent_at, &pid);

		if (i > 0)
			took[i - 1] = ms;
		kill(pid, SIGKILL);
		REQUIRE(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
	}
	printf("restart_to_answer_ms %.3f ms\n", median(took, RESTARTS));
	fflush(stdout);
	raw_server_free(&server);
}

/* ---- memory ------------------------------------------------------------------------ */

struct memory {
	double pss, rss;	/* MB; rss as if nobody else used the libraries */
	int processes;
};

static double
rollup_mb(pid_t pid, const char *what)
{
	CLEANUP_FREE char *path = mem_printf("/proc/%d/smaps_rollup", (int)pid);
	FILE *f = fopen(path, "re");
	char line[256];
	double kb = -1;

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, what, strlen(what)) == 0)
			kb = strtod(line + strlen(what), NULL);
	if (f)
		fclose(f);
	return kb / 1024;
}

/* pid and all below it; false: not ours to see. */
static bool
add_tree(struct memory *sum, pid_t pid)
{
	CLEANUP_FREE char *path = mem_printf("/proc/%d/task/%d/children",
	    (int)pid, (int)pid);
	double pss = rollup_mb(pid, "Pss:");
	int child;

	if (pss < 0)
		return false;
	sum->pss += pss;
	sum->rss += rollup_mb(pid, "Rss:");
	sum->processes++;
	printf("# process %d of the idle gateway: Pss %.2f MB, anonymous %.2f MB\n",
	    sum->processes, pss, rollup_mb(pid, "Pss_Anon:"));
	FILE *f = fopen(path, "re");

	while (f && fscanf(f, "%d", &child) == 1)
		if (!add_tree(sum, child))
			pss = -1;
	if (f)
		fclose(f);
	return pss >= 0;
}

static void
bench_memory(int n)
{
	struct timespec settle = { SETTLE_MS / 1000, 0 };
	struct raw_server *server = raw_server_new(serve, NULL);
	CLEANUP_FREE char *home = make_home(n, raw_server_port(server),
	    as_model);
	struct memory sum = { 0, 0, 0 };
	pid_t pid;

	start_and_wait(home, &bench.poll_at, &pid);
	nanosleep(&settle, NULL);
	/* The gateway hides its memory from its own user. */
	if (add_tree(&sum, pid))
		printf("idle_pss_mb %.3f MB\nidle_rss_mb %.3f MB\n"
		    "idle_processes %d processes\n", sum.pss, sum.rss,
		    sum.processes);
	else
		printf("# idle_pss_mb: only root can see it\n");
	end(pid);
	raw_server_free(&server);
}

int
main(void)
{
	if (!mkdtemp(bench.dir))
		return 1;
	bench.cert = mem_printf("%s/ca.pem", bench.dir);
	CLEANUP_FREE char *clean = mem_printf("rm -rf ./%s", bench.dir);

	signal(SIGPIPE, SIG_IGN);
	SSL_CTX *tls = tls_new();

	bench_starts(0);
	bench_restarts(3 * STARTS);
	bench.tls = tls;
	bench_starts(STARTS);
	bench_memory(2 * STARTS);
	SSL_CTX_free(tls);
	mem_free(bench.cert);
	return system(clean) != 0;
}

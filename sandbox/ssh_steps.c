/*
 * CONNECT > GREET > HOST KEY > AUTH, one after the other, blocking.
 * Facts about libssh 0.10 this stands on: SSH_OPTIONS_FD makes it use our
 * socket; its time-out is also that of each blocking wait; an agent's socket
 * can be given (ssh_set_agent_socket), so that a shutdown ends a wait for it.
 */
#include "sandbox/ssh_steps.h"

#include <errno.h>
#include <fcntl.h>
#include <libssh/libssh.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"

#define CONNECT_MS 10000
#define WAIT_S 15L

void
ssh_steps_init(struct ssh_steps *s, const struct ssh_target *t)
{
	memset(s, 0, sizeof(*s));
	s->host = mem_str(t->host);
	s->user = mem_str(t->user);
	s->port = t->port ? t->port : 22;
	s->key_file = mem_str(t->key_file);
	s->home = mem_str(t->home);
	s->known_hosts = mem_str(t->known_hosts);
	s->agent = mem_str(t->agent);
	s->accept_new = t->accept_new;
	s->net = s->agent_net = -1;
	s->at = "name look-up";
	pthread_mutex_init(&s->lock, NULL);
}

void
ssh_steps_done(struct ssh_steps *s)
{
	if (s->session)
		ssh_free(STEAL(s->session));
	if (s->net >= 0)
		close(s->net);
	if (s->agent_net >= 0)
		close(s->agent_net);
	mem_free(s->host);
	mem_free(s->user);
	mem_free(s->key_file);
	mem_free(s->home);
	mem_free(s->known_hosts);
	mem_free(s->agent);
	pthread_mutex_destroy(&s->lock);
}

void
ssh_steps_abort(struct ssh_steps *s)
{
	pthread_mutex_lock(&s->lock);
	s->aborted = true;
	if (s->net >= 0)
		shutdown(s->net, SHUT_RDWR);
	if (s->agent_net >= 0)
		shutdown(s->agent_net, SHUT_RDWR);
	pthread_mutex_unlock(&s->lock);
}

/* From now on an abort reaches fd; false: it came already. */
static bool
publish(struct ssh_steps *s, int *where, int fd)
{
	pthread_mutex_lock(&s->lock);
	bool go_on = !s->aborted;
	if (*where >= 0)
		close(*where);
	*where = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	pthread_mutex_unlock(&s->lock);
	return go_on && *where >= 0;
}

/* ---- connect ------------------------------------------------------------------------ */

static int
connect_wait(int fd, const struct sockaddr_storage *to, socklen_t to_len)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int errnum = 0;
	socklen_t len = sizeof(errnum);

	if (connect(fd, (const struct sockaddr *)to, to_len) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return -1;
	if (poll(&p, 1, CONNECT_MS) <= 0) {
		errno = ETIMEDOUT;
		return -1;
	}
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &errnum, &len) == 0)
		errno = errnum;
	return errnum ? -1 : 0;
}

static int
connect_one(struct ssh_steps *s, const struct ip *ip)
{
	static const int on = 1;
	struct sockaddr_storage to;
	socklen_t len = ip_to_sockaddr(ip, (uint16_t)s->port, &to);
	int fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	if (!publish(s, &s->net, fd))
		errno = ECANCELED;
	else if (connect_wait(fd, &to, len) == 0) {
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
		return fd;
	}
	int errnum = errno;
	close(fd);
	errno = errnum;
	return -1;
}

static int
reach(struct ssh_steps *s, struct err *err)
{
	int fd = -1;

	s->at = "connect";
	for (size_t i = 0; i < s->naddrs && fd < 0; i++)
		fd = connect_one(s, &s->addrs[i]);
	if (fd < 0)
		return err_set_errno(err, errno, "ssh: connecting to %s port %u",
		    s->host, s->port);
	return fd;
}

/* ---- host key ------------------------------------------------------------------------ */

static char *
fingerprint(ssh_session session)
{
	ssh_key key = NULL;
	unsigned char *hash = NULL;
	size_t len = 0;
	char *text = NULL, *copy;

	if (ssh_get_server_publickey(session, &key) != SSH_OK)
		return mem_str("not known");
	if (ssh_get_publickey_hash(key, SSH_PUBLICKEY_HASH_SHA256, &hash, &len) == 0)
		text = ssh_get_fingerprint_hash(SSH_PUBLICKEY_HASH_SHA256, hash, len);
	copy = mem_printf("%s %s", ssh_key_type_to_char(ssh_key_type(key)),
	    text ? text : "");
	ssh_string_free_char(text);
	ssh_clean_pubkey_hash(&hash);
	ssh_key_free(key);
	return copy;
}

static int
host_unknown(struct ssh_steps *s, ssh_session session, const char *print,
	struct err *err)
{
	if (!s->accept_new)
		return err_set(err, ERR_CONFIG, "ssh: the host key of %s is not "
		    "known (%s). Compare it with the host's own and add it: "
		    "ssh-keyscan -p %u %s >> %s; or set ssh.host_keys: accept-new",
		    s->host, print, s->port, s->host, s->known_hosts);
	if (ssh_session_update_known_hosts(session) != SSH_OK)
		return err_set(err, ERR_IO, "ssh: the new host key of %s could not "
		    "be written to %s: %s", s->host, s->known_hosts,
		    ssh_get_error(session));
	return 0;
}

static int
check_host(struct ssh_steps *s, ssh_session session, struct err *err)
{
	char *print CLEANUP_FREE = fingerprint(session);

	s->at = "host key";
	switch (ssh_session_is_known_server(session)) {
	case SSH_KNOWN_HOSTS_OK:
		return 0;
	case SSH_KNOWN_HOSTS_NOT_FOUND:
	case SSH_KNOWN_HOSTS_UNKNOWN:
		return host_unknown(s, session, print, err);
	case SSH_KNOWN_HOSTS_CHANGED:
	case SSH_KNOWN_HOSTS_OTHER:
		return err_set(err, ERR_DENIED, "ssh: THE HOST KEY OF %s HAS "
		    "CHANGED (now %s): somebody may be in between. Nothing was "
		    "sent. If the host was set up anew, remove the old key: "
		    "ssh-keygen -f %s -R '[%s]:%u' (or -R %s)", s->host, print,
		    s->known_hosts, s->host, s->port, s->host);
	case SSH_KNOWN_HOSTS_ERROR:
	default:
		return err_set(err, ERR_IO, "ssh: %s could not be checked for the "
		    "host key of %s: %s", s->known_hosts, s->host,
		    ssh_get_error(session));
	}
}

/* ---- authentication -------------------------------------------------------------------- */

static int
agent_open(struct ssh_steps *s)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };

	if (!s->agent || mem_copy_str(sun.sun_path, sizeof(sun.sun_path),
	    s->agent) < 0)
		return -1;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	if (!publish(s, &s->agent_net, fd) ||
	    connect(fd, (struct sockaddr *)&sun, sizeof(sun)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool
auth_agent(struct ssh_steps *s, ssh_session session, struct buf *tried)
{
	int fd = agent_open(s);

	if (fd < 0)
		return false;
	buf_add_str(tried, ", the agent");
	if (ssh_set_agent_socket(session, fd) != SSH_OK) {
		close(fd);
		return false;
	}
	return ssh_userauth_agent(session, NULL) == SSH_AUTH_SUCCESS;
}

/* A certificate beside the key is offered with it, as OpenSSH's client does. */
static void
add_certificate(const char *path, ssh_key key)
{
	char *cert_path CLEANUP_FREE = mem_printf("%s-cert.pub", path);
	ssh_key cert = NULL;

	if (access(cert_path, R_OK) != 0 ||
	    ssh_pki_import_cert_file(cert_path, &cert) != SSH_OK)
		return;
	(void)ssh_pki_copy_cert_to_privkey(cert, key);
	ssh_key_free(cert);
}

static bool
auth_key(ssh_session session, const char *path, bool named, struct buf *tried)
{
	ssh_key key = NULL;

	if (access(path, R_OK) != 0) {
		if (named)
			buf_printf(tried, ", %s (%s)", path, strerror(errno));
		return false;
	}
	if (ssh_pki_import_privkey_file(path, NULL, NULL, NULL, &key) != SSH_OK) {
		buf_printf(tried, ", %s (not readable without a passphrase: give it "
		    "to the agent)", path);
		return false;
	}
	add_certificate(path, key);
	buf_printf(tried, ", %s", path);
	bool ok = ssh_userauth_publickey(session, NULL, key) == SSH_AUTH_SUCCESS;
	ssh_key_free(key);
	return ok;
}

static bool
auth_usual_keys(struct ssh_steps *s, ssh_session session, struct buf *tried)
{
	static const char *const names[] = { "id_ed25519", "id_ecdsa", "id_rsa" };

	for (size_t i = 0; s->home && i < ARRAY_LEN(names); i++) {
		char *path CLEANUP_FREE = mem_printf("%s/.ssh/%s", s->home,
		    names[i]);
		if (auth_key(session, path, false, tried))
			return true;
	}
	return false;
}

static int
authenticate(struct ssh_steps *s, ssh_session session, struct err *err)
{
	struct buf tried CLEANUP_BUF;
	char *user = NULL;

	s->at = "authentication";
	buf_init(&tried, 400);
	if (ssh_userauth_none(session, NULL) == SSH_AUTH_SUCCESS)
		return 0;
	/* A named key first: an agent with many keys uses up the tries. */
	if (s->key_file ? auth_key(session, s->key_file, true, &tried) ||
	    auth_agent(s, session, &tried) :
	    auth_agent(s, session, &tried) ||
	    auth_usual_keys(s, session, &tried))
		return 0;
	(void)ssh_options_get(session, SSH_OPTIONS_USER, &user);
	err_set(err, ERR_DENIED, "ssh: %s refused to log in %s; tried: %s. Set "
	    "terminal.ssh_key to a key without passphrase, or load it into the "
	    "agent, and put its public half into the user's authorized_keys",
	    s->host, user ? user : "?", tried.len ? tried.data + 2 : "nothing (no "
	    "agent, no key)");
	ssh_string_free_char(user);
	return -1;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static bool
set_options(struct ssh_steps *s, ssh_session session, int fd)
{
	static const int off = 0;
	static const long wait = WAIT_S;
	socket_t sock = fd;
	int strict = 1;

	return ssh_options_set(session, SSH_OPTIONS_HOST, s->host) == 0 &&
	    ssh_options_set(session, SSH_OPTIONS_PORT, &s->port) == 0 &&
	    (!s->user || !*s->user ||
	    ssh_options_set(session, SSH_OPTIONS_USER, s->user) == 0) &&
	    ssh_options_set(session, SSH_OPTIONS_PROCESS_CONFIG, &off) == 0 &&
	    ssh_options_set(session, SSH_OPTIONS_STRICTHOSTKEYCHECK, &strict) == 0 &&
	    ssh_options_set(session, SSH_OPTIONS_TIMEOUT, &wait) == 0 &&
	    ssh_options_set(session, SSH_OPTIONS_KNOWNHOSTS, s->known_hosts) == 0 &&
	    ssh_options_set(session, SSH_OPTIONS_FD, &sock) == 0;
}

void
ssh_steps_run(struct ssh_steps *s)
{
	ssh_session session;
	int fd = reach(s, &s->err);

	if (fd < 0)
		return;
	session = ssh_new();
	if (!session || !set_options(s, session, fd)) {
		err_set(&s->err, ERR_CONFIG, "ssh: host %s, user %s or file %s is "
		    "not usable: %s", s->host, s->user ? s->user : "-",
		    s->known_hosts, session ? ssh_get_error(session) : "no memory");
		close(fd);
		ssh_free(session);
		return;
	}
	s->at = "greeting";
	if (ssh_connect(session) != SSH_OK) {
		err_set(&s->err, ERR_UNAVAILABLE, "ssh: no SSH session with %s port "
		    "%u: %s", s->host, s->port, ssh_get_error(session));
	} else if (check_host(s, session, &s->err) == 0 &&
	    authenticate(s, session, &s->err) == 0) {
		ssh_set_blocking(session, 0);
		s->at = "done";
		s->session = session;
		return;
	}
	ssh_disconnect(session);
	ssh_free(session);
}

#include "tests/fake_net.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"

#define NAMES_MAX 32

struct name {
	char name[254], addresses[512];
	bool hangs;
	msec_t latency;
};

static struct net {
	struct name names[NAMES_MAX];
	size_t n;
	struct ip permitted[8], own[4];
	size_t npermitted, nown;
	struct ip answered[64];		/* what any look-up gave */
	size_t nanswered;
	enum err_code fail_dial;
	bool hang_dial;
	unsigned look_ups, dials;
	char dialled[IP_TEXT_MAX + 8];
	int server;
} net;

void
fake_net_reset(void)
{
	memset(&net, 0, sizeof(net));
	net.server = -1;
}

static struct name *
find(const char *name)
{
	for (size_t i = 0; i < net.n; i++)
		if (strcmp(net.names[i].name, name) == 0)
			return &net.names[i];
	return NULL;
}

void
fake_net_name(const char *name, const char *addresses, msec_t latency)
{
	struct name *n = find(name);

	if (!n)
		n = &net.names[net.n++];
	REQUIRE(net.n <= NAMES_MAX);
	REQUIRE(mem_copy_str(n->name, sizeof(n->name), name) == 0);
	REQUIRE(mem_copy_str(n->addresses, sizeof(n->addresses),
		addresses ? addresses : "") == 0);
	n->hangs = !addresses;
	n->latency = latency;
}

void
fake_net_permit(const char *address)
{
	REQUIRE(ip_parse(address, &net.permitted[net.npermitted++]) == 0);
}

void
fake_net_own(const char *address)
{
	REQUIRE(ip_parse(address, &net.own[net.nown++]) == 0);
}

void fake_net_fail_dial(enum err_code code) { net.fail_dial = code; }
void fake_net_hang_dial(bool hang) { net.hang_dial = hang; }
unsigned fake_net_look_ups(void) { return net.look_ups; }
unsigned fake_net_dials(void) { return net.dials; }
const char *fake_net_dialled(void) { return net.dialled; }

int
fake_net_server(void)
{
	int fd = net.server;

	net.server = -1;
	return fd;
}

/* ---- resolve.h ------------------------------------------------------------------- */

struct resolver {
	struct loop *loop;
	size_t live;
};

struct look_up {
	struct op op;
	struct resolver *resolver;
	struct timer *timer;
	char name[254];
	bool late;
	resolve_cb *cb;
	void *arg;
};

struct resolver *
resolver_new(struct loop *loop)
{
	struct resolver *r = mem_alloc(sizeof(*r));

	r->loop = loop;
	return r;
}

void
resolver_free(struct resolver **r)
{
	REQUIRE((*r)->live == 0);
	mem_free(*r);
	*r = NULL;
}

static void
look_up_cancel(struct op *op)
{
	struct look_up *up = (struct look_up *)op;

	loop_cancel(&up->timer);
	up->resolver->live--;
	mem_free(up);
}

static size_t
addresses_of(const struct name *n, struct ip *ips)
{
	char text[512], *p = text, *one;
	size_t count = 0;

	REQUIRE(mem_copy_str(text, sizeof(text), n ? n->addresses : "") == 0);
	while ((one = strsep(&p, " ")) && *one) {
		REQUIRE(count < RESOLVE_ADDRESSES_MAX);
		REQUIRE(ip_parse(one, &ips[count++]) == 0);
		REQUIRE(net.nanswered < ARRAY_LEN(net.answered));
		net.answered[net.nanswered++] = ips[count - 1];
	}
	return count;
}

static void
on_answer(void *arg)
{
	struct look_up *up = arg;
	struct ip ips[RESOLVE_ADDRESSES_MAX];
	struct err err = { ERR_NONE, "" };
	resolve_cb *cb = up->cb;
	void *cb_arg = up->arg;
	size_t n = up->late ? 0 : addresses_of(find(up->name), ips);

	if (n == 0)
		err_set(&err, up->late ? ERR_TIMEOUT : ERR_NOT_FOUND,
			"the name %s could not be resolved", up->name);
	op_finish(&up->op);
	up->resolver->live--;
	mem_free(up);
	cb(cb_arg, ips, n, n ? NULL : &err);
}

static const struct op_type look_up_type = { "fake resolve", look_up_cancel };

struct op *
resolve_start(struct resolver *r, const char *name, msec_t timeout,
	resolve_cb *cb, void *arg)
{
	struct look_up *up = mem_alloc(sizeof(*up));
	struct name *n = find(name);
	msec_t latency = n ? n->latency : 0;

	op_init(&up->op, &look_up_type);
	REQUIRE(timeout > 0 && !ip_is_literal(name));
	REQUIRE(mem_copy_str(up->name, sizeof(up->name), name) == 0);
	up->resolver = r;
	up->cb = cb;
	up->arg = arg;
	r->live++;
	net.look_ups++;
	up->late = (n && n->hangs) || latency > timeout;
	up->timer = loop_after(r->loop, up->late ? timeout : latency, "fake resolve",
		on_answer, up);
	return &up->op;
}

/* ---- dial.h ------------------------------------------------------------------------- */

struct dial {
	struct op op;
	struct timer *timer;
	struct ip ip;
	enum err_code code;
	dial_cb *cb;
	void *arg;
};

static void
dial_cancel(struct op *op)
{
	struct dial *d = (struct dial *)op;

	loop_cancel(&d->timer);
	mem_free(d);
}

static void
on_dialled(void *arg)
{
	struct dial *d = arg;
	struct err err = { ERR_NONE, "" };
	struct ip ip = d->ip;
	dial_cb *cb = d->cb;
	void *cb_arg = d->arg;
	int pair[2] = { -1, -1 };

	if (d->code != ERR_NONE) {
		err_set(&err, d->code, "no connection to it");
	} else {
		REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			0, pair) == 0);
		if (net.server >= 0)
			close(net.server);
		net.server = pair[1];
	}
	op_finish(&d->op);
	mem_free(d);
	cb(cb_arg, pair[0], &ip, pair[0] < 0 ? &err : NULL);
}

static const struct op_type dial_type = { "fake dial", dial_cancel };

static bool
among(const struct ip *list, size_t n, const struct ip *ip)
{
	for (size_t i = 0; i < n; i++)
		if (ip_equal(&list[i], ip))
			return true;
	return false;
}

struct op *
dial_start(struct loop *loop, const struct ip *ips, size_t n, uint16_t port,
	msec_t timeout, dial_cb *cb, void *arg)
{
	struct dial *d = mem_alloc(sizeof(*d));
	char text[IP_TEXT_MAX];

	REQUIRE(n > 0 && n <= DIAL_ADDRESSES_MAX && port && timeout > 0);
	for (size_t i = 0; i < n; i++) {
		REQUIRE(ip_kind(&ips[i]) == IP_PUBLIC ||
			among(net.permitted, net.npermitted, &ips[i]));
		REQUIRE(!among(net.own, net.nown, &ips[i]));
		REQUIRE(n == 1 || among(net.answered, net.nanswered, &ips[i]));
	}
	op_init(&d->op, &dial_type);
	net.dials++;
	ip_text(&ips[0], text);
	REQUIRE(mem_format(net.dialled, sizeof(net.dialled), "%s:%u", text, port) == 0);
	d->ip = ips[0];
	d->code = net.hang_dial ? ERR_TIMEOUT : net.fail_dial;
	d->cb = cb;
	d->arg = arg;
	d->timer = loop_after(loop, net.hang_dial ? timeout : 0, "fake dial",
		on_dialled, d);
	return &d->op;
}

bool
dial_is_own(const struct ip *ip)
{
	return among(net.own, net.nown, ip);
}

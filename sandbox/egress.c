#include "sandbox/egress.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define LABEL_MAX 63

enum entry_kind { ENTRY_ANY, ENTRY_NAME, ENTRY_BELOW, ENTRY_NET };

struct entry {
	enum entry_kind kind;
	char *name;		/* ENTRY_NAME, ENTRY_BELOW (with its dot) */
	struct ip_net net;
	uint16_t port;		/* 0: not given */
};

struct list {
	struct entry *entries;
	size_t n;
};

struct range { uint16_t from, to; };

struct egress {
	struct list allow, deny, named;
	struct range *ports;
	size_t nports;
};

/* ---- hosts as clients write them ------------------------------------------------- */

/* Letters, digits, hyphen, underscore in labels: what a resolver takes. */
static bool
is_name(const char *name)
{
	size_t label = 0;

	for (const char *p = name; ; p++) {
		if (*p == 0 || *p == '.') {
			if (label == 0 || label > LABEL_MAX)
				return false;
			label = 0;
			if (*p == 0)
				return true;
		} else if ((*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9') ||
		    *p == '-' || *p == '_') {
			label++;
		} else {
			return false;
		}
	}
}

/* Lower case, without brackets and without one dot at the end. */
static int
host_copy(char ret[EGRESS_HOST_MAX], const char *host, size_t len)
{
	if (len >= 2 && host[0] == '[' && host[len - 1] == ']') {
		host++;
		len -= 2;
		if (!memchr(host, ':', len))
			return -1;	/* brackets are for IPv6 */
	}
	if (len > 1 && host[len - 1] == '.')
		len--;
	if (len == 0 || len >= EGRESS_HOST_MAX || memchr(host, 0, len))
		return -1;
	for (size_t i = 0; i < len; i++)
		ret[i] = (char)(host[i] >= 'A' && host[i] <= 'Z' ? host[i] | 32 :
			host[i]);
	ret[len] = 0;
	return 0;
}

int
egress_target(struct egress_target *ret, const char *host, size_t len,
	unsigned long port, struct err *err)
{
	if (host_copy(ret->host, host, len) < 0)
		return err_set(err, ERR_INVALID, "the host is empty, too long, or has "
			"characters that no host name has");
	if (port == 0 || port > UINT16_MAX)
		return err_set(err, ERR_INVALID, "the port must be 1 to 65535");
	ret->port = (uint16_t)port;
	ret->literal = ip_is_literal(ret->host);
	if (ret->literal && ip_parse(ret->host, &ret->ip) < 0)
		return err_set(err, ERR_INVALID, "the host looks like an address and "
			"is none");
	if (!ret->literal && !is_name(ret->host))
		return err_set(err, ERR_INVALID, "the host is no name of letters, "
			"digits, hyphens and dots (international names: as xn--...)");
	return 0;
}

/* ---- reading the lists ------------------------------------------------------------- */

static int
port_parse(const char *text, uint16_t *ret)
{
	char *end;
	unsigned long v = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || v == 0 || v > UINT16_MAX)
		return -1;
	*ret = (uint16_t)v;
	return 0;
}

/* Cuts ":PORT" off; IPv6 with a port stands in brackets, which go, too. */
static int
entry_port(char *text, uint16_t *ret)
{
	char *colon = strchr(text, ':');
	char *close = text[0] == '[' ? strchr(text, ']') : NULL;

	*ret = 0;
	if (text[0] == '[') {
		if (!close)
			return -1;
		*close = 0;
		memmove(text, text + 1, (size_t)(close - text));
		if (close[1] == '/') {		/* [ADDRESS]/BITS:PORT */
			colon = strchr(close + 1, ':');
			size_t n = strlen(text), bits = colon ?
				(size_t)(colon - close - 1) : strlen(close + 1);
			memmove(text + n, close + 1, bits);
			text[n + bits] = 0;
		} else {
			colon = close[1] ? close + 1 : NULL;
		}
		if (colon && *colon != ':')
			return -1;
	} else if (colon && strchr(colon + 1, ':')) {
		return 0;	/* IPv6 without a port */
	}
	if (!colon)
		return 0;
	*colon = 0;
	return port_parse(colon + 1, ret);
}

static int
entry_parse(struct entry *e, const char *written)
{
	char text[EGRESS_HOST_MAX + 16], host[EGRESS_HOST_MAX];

	memset(e, 0, sizeof(*e));
	if (mem_copy_str(text, sizeof(text), written) < 0 ||
	    entry_port(text, &e->port) < 0)
		return -1;
	if (strcmp(text, "*") == 0) {
		e->kind = ENTRY_ANY;
		return 0;
	}
	if (strchr(text, '/') || ip_is_literal(text)) {
		e->kind = ENTRY_NET;
		return ip_net_parse(text, &e->net);
	}
	e->kind = strncmp(text, "*.", 2) == 0 ? ENTRY_BELOW : ENTRY_NAME;
	const char *name = e->kind == ENTRY_BELOW ? text + 2 : text;
	if (host_copy(host, name, strlen(name)) < 0 || !is_name(host))
		return -1;
	e->name = e->kind == ENTRY_BELOW ? mem_printf(".%s", host) : mem_str(host);
	return 0;
}

static int
list_parse(struct list *list, const char *const *texts, const char *what,
	bool nets_only, struct err *err)
{
	size_t n = 0;

	while (texts && texts[n])
		n++;
	if (n > EGRESS_ENTRIES_MAX)
		return err_set(err, ERR_CONFIG, "%s has more than %d entries", what,
			EGRESS_ENTRIES_MAX);
	list->entries = mem_array(n + 1, sizeof(*list->entries));
	for (size_t i = 0; i < n; i++) {
		struct entry *e = &list->entries[list->n++];
		if (entry_parse(e, texts[i]) == 0 && (!nets_only ||
		    e->kind == ENTRY_NET))
			continue;
		return err_set(err, ERR_CONFIG, "%s: \"%.100s\" is not %s", what,
			texts[i], nets_only ? "ADDRESS, ADDRESS/BITS or one of them "
			"with :PORT ([...] around IPv6)" : "a host name, *.name, *, an "
			"address, ADDRESS/BITS, or one of them with :PORT");
	}
	return 0;
}

static int
range_parse(struct range *r, const char *written)
{
	char text[16];

	if (mem_copy_str(text, sizeof(text), written) < 0)
		return -1;
	char *dash = strchr(text, '-');
	if (dash)
		*dash++ = 0;
	if (port_parse(text, &r->from) < 0 ||
	    port_parse(dash ? dash : text, &r->to) < 0)
		return -1;
	return r->from <= r->to ? 0 : -1;
}

static int
ports_parse(struct egress *e, const char *const *texts, struct err *err)
{
	static const char *const usual[] = { "80", "443", NULL };
	size_t n = 0;

	if (!texts || !texts[0])
		texts = usual;
	while (texts[n])
		n++;
	if (n > EGRESS_ENTRIES_MAX)
		return err_set(err, ERR_CONFIG, "native.network_ports has more than "
			"%d entries", EGRESS_ENTRIES_MAX);
	e->ports = mem_array(n, sizeof(*e->ports));
	for (size_t i = 0; i < n; i++)
		if (range_parse(&e->ports[e->nports++], texts[i]) < 0)
			return err_set(err, ERR_CONFIG, "native.network_ports: "
				"\"%.100s\" is neither a port nor PORT-PORT", texts[i]);
	return 0;
}

static void
list_done(struct list *list)
{
	for (size_t i = 0; i < list->n; i++)
		mem_free(list->entries[i].name);
	mem_free(list->entries);
}

struct egress *
egress_new(const struct egress_opts *opts, struct err *err)
{
	struct egress *e = mem_alloc(sizeof(*e));

	if (list_parse(&e->allow, opts->allow, "native.network_allow", false,
	    err) < 0 ||
	    list_parse(&e->deny, opts->deny, "native.network_deny", false,
	    err) < 0 ||
	    list_parse(&e->named, opts->private_allow,
	    "native.network_private_allow", true, err) < 0 ||
	    ports_parse(e, opts->ports, err) < 0)
		egress_free(&e);
	return e;
}

void
egress_free(struct egress **ep)
{
	if (!ep || !*ep)
		return;
	struct egress *e = STEAL(*ep);

	list_done(&e->allow);
	list_done(&e->deny);
	list_done(&e->named);
	mem_free(e->ports);
	mem_free(e);
}

/* ---- deciding --------------------------------------------------------------------------- */

static bool
host_fits(const struct entry *e, const struct egress_target *t)
{
	size_t host, name;

	switch (e->kind) {
	case ENTRY_ANY:
		return true;
	case ENTRY_NET:
		return t->literal && ip_net_has(&e->net, &t->ip);
	case ENTRY_NAME:
		return !t->literal && strcmp(e->name, t->host) == 0;
	case ENTRY_BELOW:
		host = strlen(t->host);
		name = strlen(e->name);
		return !t->literal && host > name &&
			strcmp(t->host + host - name, e->name) == 0;
	}
	return false;
}

static bool
port_usual(const struct egress *e, uint16_t port)
{
	for (size_t i = 0; i < e->nports; i++)
		if (port >= e->ports[i].from && port <= e->ports[i].to)
			return true;
	return false;
}

int
egress_check(const struct egress *e, const struct egress_target *t,
	struct err *err)
{
	bool host = false;

	for (size_t i = 0; i < e->deny.n; i++) {
		const struct entry *d = &e->deny.entries[i];
		if (host_fits(d, t) && (d->port == 0 || d->port == t->port))
			return err_set(err, ERR_DENIED, "%s port %u is on "
				"native.network_deny", t->host, t->port);
	}
	for (size_t i = 0; i < e->allow.n; i++) {
		const struct entry *a = &e->allow.entries[i];
		if (!host_fits(a, t))
			continue;
		host = true;
		if (a->port ? a->port == t->port : port_usual(e, t->port))
			return 0;
	}
	if (host)
		return err_set(err, ERR_DENIED, "port %u of %s is not among "
			"native.network_ports", t->port, t->host);
	return err_set(err, ERR_DENIED, "%s is not on native.network_allow%s",
		t->host, e->allow.n ? "" : ", which is empty: nothing can be "
		"reached");
}

static bool
net_fits(const struct list *list, const struct ip *ip, uint16_t port)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct entry *e = &list->entries[i];
		if (e->kind == ENTRY_NET && ip_net_has(&e->net, ip) &&
		    (e->port == 0 || e->port == port))
			return true;
	}
	return false;
}

bool
egress_is_named(const struct egress *e, const struct ip *ip, uint16_t port)
{
	return net_fits(&e->named, ip, port);
}

int
egress_check_ip(const struct egress *e, const struct egress_target *t,
	const struct ip *ip, struct err *err)
{
	enum ip_kind kind = ip_kind(ip);
	char text[IP_TEXT_MAX];

	ip_text(ip, text);
	if (net_fits(&e->deny, ip, t->port))
		return err_set(err, ERR_DENIED, "%s leads to %s, which is on "
			"native.network_deny", t->host, text);
	if (kind == IP_PUBLIC || (kind != IP_METADATA &&
	    egress_is_named(e, ip, t->port)))
		return 0;
	return err_set(err, ERR_DENIED, "%s leads to %s, %s, which is never "
		"reached%s", t->host, text, ip_kind_name(kind),
		kind == IP_METADATA ? "" : " unless "
		"native.network_private_allow names it");
}

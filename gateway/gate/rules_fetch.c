/* curl and wget: what is sent, what is fetched, where it lands. */
#include <string.h>

#include "gateway/gate/rules.h"

static bool
host_is(const char *host, size_t n, const char *list)
{
	return word_in(host, n, list);
}

/* The host of a URL or of host[:port]. */
static const char *
url_host(const char *url, size_t *ret_n)
{
	const char *s = strstr(url, "://");
	s = s ? s + 3 : url;
	size_t n = strcspn(s, "/?#");
	const char *at = memchr(s, '@', n);
	if (at) {
		n -= (size_t)(at + 1 - s);
		s = at + 1;
	}
	if (*s == '[')
		n = strcspn(s + 1, "]") + 2;
	else
		n = strcspn(s, ":/?#") < n ? strcspn(s, ":/?#") : n;
	*ret_n = n;
	return s;
}

bool
rule_url_local(const char *url)
{
	size_t n;
	const char *h = url_host(url, &n);
	return host_is(h, n, "localhost 127.0.0.1 [::1] 0.0.0.0 ::1 "
		"host.docker.internal") || strncmp(h, "127.", 4) == 0 ||
		(n > 10 && strncmp(h + n - 10, ".localhost", 10) == 0);
}

bool
rule_is_metadata(const char *url)
{
	size_t n;
	const char *h = url_host(url, &n);
	return host_is(h, n, "169.254.169.254 metadata.google.internal metadata "
		"[fd00:ec2::254] 100.100.100.200 instance-data 2852039166 "
		"0xa9fea9fe 0xA9FEA9FE 169.254.170.2 192.0.0.192 168.63.129.16 "
		"metadata.azure.com [::ffff:169.254.169.254] "
		"[::ffff:a9fe:a9fe] 0251.0376.0251.0376 metadata.goog") ||
		strncmp(h, "169.254.", 8) == 0 || strncmp(h, "fd00:ec2", 8) == 0;
}

/* Anything secret or computed in an address leaves with it. */
void
rule_check_address(struct walk *w, const struct gate_field *f)
{
	if (rule_is_metadata(gate_unmark(w->arena, f->s)))
		walk_ask_severe(w, GATE_CLASS_CREDENTIALS, "cloud metadata address",
			"%s hands out the machine's credentials", f->s);
	if (f->flags & FIELD_SECRET)
		walk_ask_severe(w, GATE_CLASS_CREDENTIALS, "data sent out",
			"a credential is part of the address");
	else if ((f->flags & FIELD_DATA) && !rule_url_local(f->s) &&
	    (f->flags & FIELD_ANY))
		walk_ask(w, GATE_CLASS_NETWORK, "data sent out",
			"what a command prints is part of the address");
}

void
rule_ask_sends(struct walk *w, const char *what)
{
	walk_ask(w, GATE_CLASS_NETWORK, "data sent out", "it sends %s", what);
}

/* ---- curl ---- */
static const char transfer_values[] = "data data-raw data-binary data-ascii "
	"data-urlencode json form form-string header user user-agent output "
	"output-dir request url cookie cookie-jar upload-file referer proxy "
	"max-time connect-timeout retry retry-delay retry-max-time cert key "
	"cacert capath config write-out range interface resolve limit-rate "
	"proxy-user unix-socket dump-header netrc-file trace trace-ascii "
	"max-redirs continue-at connect-to ciphers tls-max dns-servers "
	"oauth2-bearer aws-sigv4 time-cond speed-limit speed-time stderr "
	"max-filesize libcurl quote variable url-query keepalive-time";

struct transfer {
	bool sends, local, post;
	bool deletes, database;	/* an address where a database listens */
	bool shown;		/* a command's output goes along */
	bool secret, data;	/* data: what a file or command holds */
};

/* A file that goes out, as "@file" or by name. */
static void
sent_file(struct walk *w, const struct gate_field *f)
{
	struct gate_field file = *f;
	const char *at = strchr(f->s, '@');
	if (!at)
		at = strstr(f->s, "=<");
	if (!at)
		return;
	file.s = at + 1 + (*at == '=');
	file.len = strlen(file.s);
	path_check_read(w, &file);
}

static void
transfer_option(struct walk *w, struct gate_cmd *c, struct opts *o, int k,
	struct transfer *t)
{
	bool lng = k == OPT_LONG;
	if (k == 'd' || k == 'F' || (lng && (opts_long(o, "data-urlencode", 3) ||
	    opts_long(o, "data-raw", 3) || opts_long(o, "data-binary", 3) ||
	    opts_long(o, "data-ascii", 3) || opts_long(o, "data", 2) ||
	    opts_long(o, "form-string", 3) || opts_long(o, "json", 2)))) {
		t->sends = true;
		t->secret |= o->val_field.flags & FIELD_SECRET;
		t->data |= k == 'F' || (o->val && strchr(o->val, '@')) ||
			(o->val_field.flags & (FIELD_ANY | FIELD_DATA));
		if (o->val) {
			sent_file(w, &o->val_field);
			if (strstr(o->val, "@-"))
				t->secret |= c->in.flags & FIELD_SECRET;
		}
	} else if (k == 'T' || (lng && opts_long(o, "upload-file", 2))) {
		t->sends = t->data = true;
		if (o->val)
			path_check_read(w, &o->val_field);
	} else if (k == 'X' || (lng && opts_long(o, "request", 4))) {
		t->post |= o->val && !word_in(o->val, strlen(o->val),
			"GET HEAD OPTIONS get head");
		t->deletes |= o->val && strcasecmp(o->val, "delete") == 0;
	} else if (k == 'o' || k == 'D' || k == 'c' || (lng &&
	    (opts_long(o, "output", 2) || opts_long(o, "dump-header", 4) ||
	    opts_long(o, "cookie-jar", 7) || opts_long(o, "trace-ascii", 3) ||
	    opts_long(o, "output-dir", 8) || opts_long(o, "stderr", 4)))) {
		path_check_write(w, &o->val_field, "downloads to");
		path_note_written(w, &o->val_field, true);
		w->archive_fetched = true;
	} else if (k == 'K' || (lng && opts_long(o, "config", 4))) {
		walk_ask(w, GATE_CLASS_NETWORK, "data sent out",
			"what it sends is in a file (%s)", o->val ? o->val : "");
	} else if (k == 'H' || k == 'b' || k == 'A' || k == 'e' || k == 'u' ||
	    (lng && (opts_long(o, "header", 3) || opts_long(o, "cookie", 3) ||
	    opts_long(o, "user", 2)))) {
		/* a variable in a header is how one logs in */
		t->secret |= (o->val_field.flags & FIELD_SECRET) &&
			(o->val_field.flags & FIELD_SUBST);
		t->shown |= (o->val_field.flags & FIELD_SUBST) &&
			(o->val_field.flags & FIELD_DATA) &&
			(o->val_field.flags & FIELD_ANY);
		if (o->val && o->val[0] == '@')
			sent_file(w, &o->val_field);
	} else if (k == 'x' || (lng && (opts_long(o, "proxy", 3) ||
	    opts_long(o, "unix-socket", 4) || opts_long(o, "abstract-unix-socket",
	    4)))) {
		walk_ask(w, GATE_CLASS_NETWORK, "other way out",
			"it goes through %s", o->val ? o->val : "a proxy");
	} else if (lng && opts_long(o, "url", 3) && o->val) {
		rule_check_address(w, &o->val_field);
		t->local &= rule_url_local(o->val);
	}
}

/* Ports of databases that are spoken to over HTTP. */
static bool
is_database(const char *url)
{
	size_t n;
	const char *h = url_host(url, &n), *port = h + n;
	return *port == ':' && word_in(port + 1, strspn(port + 1, "0123456789"),
		"9200 5984 8086 2379 8529 6333 7700 8108 8123 8983 7474");
}

static void
rule_curl(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct transfer t = { .local = true };
	struct opts o;
	int k;
	bool remote_name = opts_has(c, arg, "OJ", "remote-name remote-name-all");
	opts_init(&o, c, arg, transfer_values);
	while ((k = opts_next(&o)) != OPT_END) {
		if (k != OPT_WORD) {
			transfer_option(w, c, &o, k, &t);
			continue;
		}
		rule_check_address(w, o.word);
		if (strstr(o.word->s, "://") && strncasecmp(o.word->s, "http", 4) &&
		    strncasecmp(o.word->s, "ftp", 3) && strncasecmp(o.word->s,
		    "file:", 5) && o.word->s[0] != MARK_ANY)
			walk_ask(w, GATE_CLASS_NETWORK, "raw network connection",
				"it connects to %s", o.word->s);
		t.local &= rule_url_local(o.word->s);
		t.database |= is_database(o.word->s);
		t.deletes |= strstr(o.word->s, "_delete_by_query") != NULL;
		if (strncasecmp(o.word->s, "file://", 7) == 0) {
			struct gate_field f = field_text(w, o.word->s + 7,
				o.word->len - 7, o.word->flags);
			path_check_read(w, &f);
		}
		if (remote_name) {
			const char *slash = strrchr(o.word->s, '/');
			struct gate_field f = field_text(w, slash ? slash + 1 :
				o.word->s, strlen(slash ? slash + 1 : o.word->s),
				o.word->flags);
			f.s = arena_strn(w->arena, f.s, strcspn(f.s, "?#"));
			f.len = strlen(f.s);
			if (f.len > 0)
				path_note_written(w, &f, true);
			w->archive_fetched = true;
		}
	}
	if (t.secret)
		walk_ask_severe(w, GATE_CLASS_CREDENTIALS, "data sent out",
			"it sends a credential");
	bool query = opts_has(c, arg, "G", "get") && !t.data;
	if (((t.sends && !query) || t.shown) && !t.local)
		rule_ask_sends(w, "data to another machine");
	else if (t.post && !t.local)
		walk_ask(w, GATE_CLASS_NETWORK, "change of a remote",
			"it changes something on another machine");
	else if (t.deletes && t.database)
		walk_ask(w, GATE_CLASS_FILES, "database emptied or changed",
			"it deletes from a database");
	c->out.flags |= FIELD_FETCHED;
	c->out.text = NULL;
}

static void
rule_wget(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k;
	bool named = false;
	opts_init(&o, c, arg, "output-document output-file directory-prefix "
		"post-data post-file body-data body-file header user-agent method "
		"user password tries timeout wait quota execute input-file "
		"load-cookies save-cookies ca-certificate certificate private-key "
		"use-askpass referer limit-rate accept reject level domains");
	while ((k = opts_next(&o)) != OPT_END) {
		bool lng = k == OPT_LONG;
		if (k == 'O' || k == 'o' || k == 'P' || k == 'a' || (lng &&
		    (opts_long(&o, "output-document", 8) ||
		    opts_long(&o, "output-file", 8) ||
		    opts_long(&o, "directory-prefix", 5)))) {
			if (o.val && !field_is(&o.val_field, "-")) {
				path_check_write(w, &o.val_field, "downloads to");
				path_note_written(w, &o.val_field, true);
			}
			named |= k == 'O' || (lng && opts_long(&o, "output-document", 8));
		} else if (lng && (opts_long(&o, "post-data", 5) ||
		    opts_long(&o, "post-file", 6) || opts_long(&o, "body-data", 6) ||
		    opts_long(&o, "body-file", 6) || opts_long(&o, "method", 3))) {
			rule_ask_sends(w, "data to another machine");
			if (o.val && o.name_len > 5)
				path_check_read(w, &o.val_field);
		} else if (k == 'e' || (lng && (opts_long(&o, "execute", 2) ||
		    opts_long(&o, "use-askpass", 5) ||
		    opts_long(&o, "config", 6)))) {
			walk_ask(w, GATE_CLASS_CODE, "program run through an option",
				"wget obeys %s", o.val ? o.val : "an option");
		} else if (k == OPT_WORD) {
			rule_check_address(w, o.word);
			const char *slash = strrchr(o.word->s, '/');
			struct gate_field f = field_text(w, slash ? slash + 1 :
				o.word->s, strcspn(slash ? slash + 1 : o.word->s, "?#"),
				o.word->flags);
			if (!named && f.len > 0)
				path_note_written(w, &f, true);
		}
		if (o.val_field.flags & FIELD_SECRET && o.val)
			walk_ask_severe(w, GATE_CLASS_CREDENTIALS, "data sent out",
				"it sends a credential");
	}
	w->archive_fetched = true;
	c->out.flags |= FIELD_FETCHED;
}

const struct gate_kind kinds_fetch[] = {
	{ "curl", rule_curl, "d:F:H:u:A:o:X:b:c:T:e:x:m:E:K:w:r:D:C:y:Y:z:U:Q:P:t:" },
	{ "wget wget2 aria2c", rule_wget, "O:o:P:a:e:i:t:T:w:Q:U:B:A:R:l:D:x::" },
	{ NULL, NULL, NULL },
};

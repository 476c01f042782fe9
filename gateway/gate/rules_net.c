/* The network: what is sent, what is fetched and where it lands, tunnels. */
#include <string.h>

#include "gateway/gate/rules.h"

/* ping, dig: only the name leaves. */
static void
rule_name(struct walk *w, struct gate_cmd *c, const char *arg)
{
	(void)arg;
	for (size_t i = 1; i < c->n; i++) {
		const struct gate_field *f = &c->v[i];
		if (f->flags & FIELD_SECRET)
			walk_ask_severe(w, GATE_CLASS_CREDENTIALS, "data sent out",
				"a credential is part of the name looked up");
		else if ((f->flags & FIELD_SUBST) && ((f->flags & FIELD_ANY) ||
		    ((f->flags & FIELD_NAME) && strchr(f->s, '.'))))
			walk_ask(w, GATE_CLASS_NETWORK, "data sent out",
				"what a command prints is part of the name looked up");
		if (rule_is_metadata(f->s))
			walk_ask(w, GATE_CLASS_CREDENTIALS, "cloud metadata address",
				"%s hands out the machine's credentials", f->s);
	}
}

/* nc: probing is fine; data in, data out, programs aren't. */
static void
rule_nc(struct walk *w, struct gate_cmd *c, const char *arg)
{
	bool probe = opts_has(c, arg, "z", "zero");
	bool listens = opts_has(c, arg, "l", "listen");
	if (opts_has(c, arg, "ec", "exec sh-exec lua-exec"))
		walk_ask_severe(w, GATE_CLASS_CODE, "remote shell",
			"whoever connects gets a program");
	else if (!probe && listens)
		walk_ask(w, GATE_CLASS_NETWORK, "raw network connection",
			"it lets others connect");
	else if (!probe)
		walk_ask(w, GATE_CLASS_NETWORK, "raw network connection",
			"it connects to another machine");
	if (c->in.flags & FIELD_SECRET)
		walk_ask_severe(w, GATE_CLASS_CREDENTIALS, "data sent out",
			"it sends a credential");
	c->out.flags |= FIELD_FETCHED;
}

static void
rule_ssh(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k;
	bool host = false;
	if (c->n == 2 && (field_is(&c->v[1], "-V") || field_is(&c->v[1], "-h")))
		return;
	opts_init(&o, c, arg, "");
	while ((k = opts_next(&o)) != OPT_END) {
		if (k == 'G' || k == 'Q')
			return;
		if (k == 'R' || k == 'L' || k == 'D' || k == 'w')
			walk_ask(w, GATE_CLASS_NETWORK, "tunnel",
				"it opens a tunnel");
		if (k == 'o' && o.val && (strcasestr(o.val, "command") ||
		    strcasestr(o.val, "PKCS11") || strcasestr(o.val, "askpass")))
			walk_ask(w, GATE_CLASS_CODE, "program run through an option",
				"ssh runs a program (%s)", o.val);
		if (k == 'F' && o.val)
			walk_ask(w, GATE_CLASS_CODE, "program run through an option",
				"ssh obeys the file %s", o.val);
		if (k == OPT_WORD && host)
			break;
		host |= k == OPT_WORD;
	}
	walk_ask(w, GATE_CLASS_NETWORK, "command on another machine",
		"%s works on another machine", c->name);
	if (k != OPT_WORD)
		return;
	size_t n = 1, len = 0;
	for (size_t i = o.word_at; i < c->n; i++)
		n += c->v[i].len + 1;
	char *s = arena_alloc(w->arena, n);
	for (size_t i = o.word_at; i < c->n; i++) {
		memcpy(s + len, c->v[i].s, c->v[i].len);
		len += c->v[i].len;
		s[len++] = ' ';
	}
	s = arena_strn(w->arena, s, len);
	walk_new_shell(w, gate_unmark(w->arena, s), len, &c->in, &c->out);
}

static bool
is_remote_path(const char *s)
{
	size_t n = strcspn(s, ":/");
	return s[n] == ':' && n > 0;
}

static void
rule_rsync(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k;
	bool deletes = false;
	struct gate_field last = { "", 0, 0 };
	struct field_list words = { .n = 0 };
	opts_init(&o, c, arg, "rsh exclude include files-from exclude-from "
		"rsync-path log-file backup-dir temp-dir bwlimit chmod filter "
		"partial-dir link-dest compare-dest timeout port password-file");
	while ((k = opts_next(&o)) != OPT_END) {
		bool lng = k == OPT_LONG;
		if (lng && (opts_long(&o, "delete-after", 3) ||
		    opts_long(&o, "delete-excluded", 3) ||
		    opts_long(&o, "delete-before", 3) ||
		    opts_long(&o, "delete-during", 3) ||
		    opts_long(&o, "delete-missing-args", 3) ||
		    opts_long(&o, "remove-source-files", 3)))
			deletes = true;
		if (k == 'e' || (lng && (opts_long(&o, "rsh", 3) ||
		    opts_long(&o, "rsync-path", 6))))
			walk_ask(w, GATE_CLASS_CODE, "program run through an option",
				"rsync runs %s", o.val ? o.val : "a program");
		if (k == OPT_WORD)
			field_push(w, &words, *o.word);
	}
	for (size_t i = 0; i < words.n; i++) {
		bool remote = is_remote_path(words.v[i].s) ||
			strstr(words.v[i].s, "://");
		if (remote)
			walk_ask(w, GATE_CLASS_NETWORK, "data sent out",
				"it copies from or to another machine (%s)",
				words.v[i].s);
		else if (i + 1 < words.n)
			path_check_read(w, &words.v[i]);
		last = words.v[i];
	}
	if (opts_has(c, arg, "n", "dry-run list-only"))
		return;
	if (words.n > 1 && deletes)
		path_check_delete(w, &last, true);
	else if (words.n > 1 && !is_remote_path(last.s))
		path_check_write(w, &last, "copies into");
}

static void
rule_scp(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k;
	walk_ask(w, GATE_CLASS_NETWORK, "data sent out",
		"%s copies from or to another machine", c->name);
	opts_init(&o, c, arg, "");
	while ((k = opts_next(&o)) != OPT_END) {
		if (k == 'S' || k == 'D' || (k == 'o' && o.val &&
		    strcasestr(o.val, "command")))
			walk_ask(w, GATE_CLASS_CODE, "program run through an option",
				"%s runs a program", c->name);
		if (k == OPT_WORD && !is_remote_path(o.word->s))
			path_check_read(w, o.word);
	}
}

static void
rule_socat(struct walk *w, struct gate_cmd *c, const char *arg)
{
	(void)arg;
	for (size_t i = 1; i < c->n; i++)
		if (strncasecmp(c->v[i].s, "EXEC", 4) == 0 ||
		    strncasecmp(c->v[i].s, "SYSTEM", 6) == 0 ||
		    strncasecmp(c->v[i].s, "SHELL", 5) == 0)
			walk_ask_severe(w, GATE_CLASS_CODE, "remote shell",
				"whoever connects gets a program");
	walk_ask(w, GATE_CLASS_NETWORK, "raw network connection",
		"it joins connections");
	c->out.flags |= FIELD_FETCHED;
}

static void
rule_openssl(struct walk *w, struct gate_cmd *c, const char *arg)
{
	static const char reads[] = "version list ciphers errstr help rand passwd "
		"prime speed dgst md5 sha1 sha256 sha512 x509 req rsa ec pkey genrsa "
		"genpkey ecparam dhparam verify crl pkcs12 enc base64 asn1parse "
		"pkcs8 rsautl pkeyutl s_client aes-256-cbc";
	(void)arg;
	if (c->n < 2)
		return;
	const char *sub = c->v[1].s;
	if (!word_in(sub, strlen(sub), reads))
		walk_ask(w, GATE_CLASS_NETWORK, "raw network connection",
			"openssl %s serves or connects", sub);
	if (!strcmp(sub, "s_client") && c->in.present && !c->in.heredoc &&
	    !(c->in.text && strspn(c->in.text, " \nQ") == c->in.len))
		walk_ask(w, GATE_CLASS_NETWORK, "data sent out",
			"it sends its input to another machine");
	bool decode = word_in(sub, strlen(sub), "enc base64 aes-256-cbc");
	bool shows = word_in(sub, strlen(sub), "rsa ec pkey dsa pkcs8 pkcs12");
	for (size_t i = 2; i < c->n; i++) {
		if (word_in(c->v[i].s, c->v[i].len, "-out -pubout -pubin -noout "
		    "-nokeys -help -RSAPublicKey_out") && !opts_has(c, "", "", "text"))
			shows = false;
		if (word_in(c->v[i].s, c->v[i].len, "-out -keyout -writerand") &&
		    i + 1 < c->n)
			path_check_write(w, &c->v[++i], "writes");
		else if (field_is(&c->v[i], "-in") && i + 1 < c->n)
			path_check_read(w, &c->v[++i]);
		else if (word_in(c->v[i].s, c->v[i].len, "-engine -provider "
		    "-provider-path"))
			walk_ask(w, GATE_CLASS_CODE, "program run through an option",
				"openssl loads a library");
	}
	if (shows && c->n > 2)
		walk_ask_severe(w, GATE_CLASS_CREDENTIALS, "credential read",
			"openssl %s shows a private key", sub);
	if (decode)
		c->out.flags |= FIELD_DECODED;
}

/* ssh-add -l shows fingerprints; ssh-agent runs what it is given. */
static void
rule_agent(struct walk *w, struct gate_cmd *c, const char *arg)
{
	bool agent = strcmp(c->name, "ssh-agent") == 0;
	if (agent || c->n != 2 || !field_is(&c->v[1], "-l"))
		walk_ask(w, GATE_CLASS_CREDENTIALS, "change of keys",
			"%s uses or spreads keys", c->name);
	if (agent)
		walk_fields(w, c, rule_inner_at(c, arg));
}

/* ip, ifconfig, route: showing or changing. */
static void
rule_ip(struct walk *w, struct gate_cmd *c, const char *arg)
{
	if (!strcmp(c->name, "ifconfig") && c->n > 2 && c->v[1].s[0] != '-')
		walk_ask(w, GATE_CLASS_NETWORK, "network settings",
			"it changes the machine's network (%s)", c->v[1].s);
	for (size_t i = 1; i < c->n; i++)
		if (word_in(c->v[i].s, c->v[i].len, arg)) {
			walk_ask(w, GATE_CLASS_NETWORK, "network settings",
				"it changes the machine's network (%s)", c->v[i].s);
			return;
		}
}

static void
rule_firewall(struct walk *w, struct gate_cmd *c, const char *arg)
{
	if (c->n > 1 && (opts_has(c, "t:", "LS", "list list-all state get-zones "
	    "list-rules") || word_in(c->v[1].s, c->v[1].len, arg)))
		return;
	walk_ask(w, GATE_CLASS_NETWORK, "firewall rules",
		"%s changes what may be reached", c->name);
}

static void
rule_keygen(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k;
	bool look = opts_has(c, arg, "lFBy", "");
	opts_init(&o, c, arg, "");
	while ((k = opts_next(&o)) != OPT_END) {
		if (k == 'f' && o.val && look)
			path_check_read(w, &o.val_field);
		else if (k == 'f' && o.val)
			path_check_write(w, &o.val_field, "writes a key");
		if (k == 'R' || k == 'p' || k == 's')
			walk_ask(w, GATE_CLASS_CREDENTIALS, "change of keys",
				"it changes keys or signs with them");
		if (k == 'D' || k == 'w')
			walk_ask(w, GATE_CLASS_CODE, "program run through an option",
				"it loads a library");
	}
	if (c->n == 1 || (!look && !opts_has(c, arg, "fRpsDwYAQ", "")))
		walk_ask(w, GATE_CLASS_CREDENTIALS, "change of keys",
			"it writes a key into the home");
}

static void
rule_nmap(struct walk *w, struct gate_cmd *c, const char *arg)
{
	(void)arg;
	(void)c;
	walk_ask(w, GATE_CLASS_NETWORK, "network scan", "it probes other machines");
}

static void
rule_http_cli(struct walk *w, struct gate_cmd *c, const char *arg)
{
	bool local = false, sends = c->in.present && !c->in.heredoc;
	(void)arg;
	for (size_t i = 1; i < c->n; i++) {
		const char *s = c->v[i].s;
		rule_check_address(w, &c->v[i]);
		local |= rule_url_local(s) || s[0] == ':';
		sends |= word_in(s, strlen(s), "POST PUT DELETE PATCH") ||
			(s[0] != '-' && strstr(s, "=") && !strstr(s, "://") &&
			!strstr(s, "=="));
	}
	if (sends && !local)
		rule_ask_sends(w, "data to another machine");
	c->out.flags |= FIELD_FETCHED;
}

const struct gate_kind kinds_net[] = {
	{ "http https xh httpie lynx w3m links elinks", rule_http_cli, NULL },
	{ "ping ping6 host dig nslookup drill traceroute tracepath mtr whois "
	  "getent kdig resolvectl arping", rule_name, NULL },
	{ "nc ncat netcat nc.openbsd nc.traditional", rule_nc,
	  "e:c:p:s:w:i:q:X:x:o:O:T:I:" },
	{ "socat websocat chisel", rule_socat, NULL },
	{ "ssh autossh mosh sshpass dbclient", rule_ssh,
	  "+B:b:c:D:E:e:F:I:i:J:L:l:m:O:o:P:p:R:S:W:w:Q:" },
	{ "scp sftp pscp lftp ftp tftp ncftpput", rule_scp, "c:D:F:i:J:l:o:P:S:X:" },
	{ "rsync rclone-local unison", rule_rsync, "e:f:T:B:M:" },
	{ "openssl", rule_openssl, NULL },
	{ "ip ifconfig route arp ethtool iw iwconfig nmcli tc bridge", rule_ip,
	  "add del delete set flush replace up down change append exec netns "
	  "connect modify off" },
	{ "iptables ip6tables nft ufw firewall-cmd ipset ebtables pfctl",
	  rule_firewall, "list status show --list --state -L -S" },
	{ "ssh-keygen", rule_keygen, "f:t:b:C:N:P:m:O:I:n:V:z:a:r:R:D:w:s:Y:E:F:" },
	{ "ssh-copy-id gpg-agent", rule_says,
	  "credentials|change of keys|uses or spreads keys" },
	{ "ssh-add ssh-agent", rule_agent, "+a:E:t:s:e:H:h:S:O:P:" },
	{ "nmap masscan zmap nikto sqlmap hydra gobuster ffuf telnet rlogin rsh",
	  rule_nmap, NULL },
	{ "mail mailx mutt sendmail msmtp swaks ssmtp", rule_says,
	  "network|data sent out|sends mail" },
	{ "ngrok cloudflared localtunnel lt bore frpc tailscale wg wg-quick openvpn",
	  rule_says, "network|tunnel|opens a way in or out" },
	{ "tcpdump tshark wireshark dumpcap", rule_says,
	  "network|network capture|records traffic or runs programs on it" },
	{ NULL, NULL, NULL },
};

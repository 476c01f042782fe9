/* Commands that only read, list or compute. */
#include <string.h>

#include "gateway/gate/rules.h"

/* Operands are files to be read; options don't matter. */
static void
rule_read(struct walk *w, struct gate_cmd *c, const char *shorts)
{
	struct opts o;
	int k;
	size_t words = 0;
	rule_options(w, c);
	opts_init(&o, c, shorts ? shorts : "", "");
	while ((k = opts_next(&o)) != OPT_END) {
		if (k != OPT_WORD)
			continue;
		if (++words == 2 && word_in(c->name, strlen(c->name), "uniq pdftotext"))
			path_check_write(w, o.word, "writes");
		path_check_read(w, o.word);
		if (path_of(w, o.word).cred)
			c->out.flags |= FIELD_SECRET;
		c->out.flags |= o.word->flags & FIELD_TAINT;
	}
}

void
rule_readers(struct walk *w, struct gate_cmd *c, size_t from)
{
	for (size_t i = from; i < c->n; i++)
		path_check_read(w, &c->v[i]);
}

/* Names and sizes, no contents. What ls gives can be a list to delete. */
static void
rule_list(struct walk *w, struct gate_cmd *c, const char *arg)
{
	(void)arg;
	if (w->s.cwd)
		c->out.flags |= FIELD_NAME;
	for (size_t i = 1; i < c->n; i++) {
		struct path p = path_of(w, &c->v[i]);
		if (c->v[i].s[0] == '-')
			continue;
		if (p.vital || p.cred)
			c->out.base = p.norm;
		if (p.zone != ZONE_INSIDE)
			c->out.flags &= ~(unsigned)FIELD_NAME;
	}
}

static void
rule_none(struct walk *w, struct gate_cmd *c, const char *arg)
{
	rule_options(w, c);
	if (arg)
		c->out.flags |= FIELD_NAME;
}

static void
out_text(struct walk *w, struct gate_cmd *c, const char *s, size_t len)
{
	c->out.text = arena_strn(w->arena, s, len);
	c->out.len = len;
}

/* What is printed comes back to the model. */
static void
check_shown(struct walk *w, const struct gate_cmd *c, size_t from)
{
	for (size_t i = from; i < c->n; i++)
		if ((c->v[i].flags & FIELD_SECRET) && (c->v[i].flags & FIELD_VAR))
			walk_ask_severe(w, GATE_CLASS_CREDENTIALS, "credential read",
				"it shows a variable that holds a credential");
}

/* echo: the words, which may be a program for what reads them. */
static void
rule_echo(struct walk *w, struct gate_cmd *c, const char *arg)
{
	size_t i = 1, n = 0;
	(void)arg;
	bool escapes = false, newline = true;
	for (; i < c->n && c->v[i].s[0] == '-' && c->v[i].len > 1 &&
	    strspn(c->v[i].s + 1, "neE") == c->v[i].len - 1; i++) {
		escapes |= strchr(c->v[i].s, 'e') != NULL;
		newline &= strchr(c->v[i].s, 'n') == NULL;
	}
	check_shown(w, c, i);
	for (size_t k = i; k < c->n; k++) {
		c->out.flags |= c->v[k].flags & FIELD_TAINT;
		n += c->v[k].len + 1;
		if (c->v[k].flags & FIELD_ANY)
			return;
	}
	char *s = arena_alloc(w->arena, n + 2);
	size_t len = 0;
	for (size_t k = i; k < c->n; k++) {
		if (k > i)
			s[len++] = ' ';
		memcpy(s + len, c->v[k].s, c->v[k].len);
		len += c->v[k].len;
	}
	if (newline)
		s[len++] = '\n';
	if (escapes && strchr(s, '\\'))
		return;
	c->out.text = s;
	c->out.len = len;
}

static size_t
printf_escape(const char *s, char *out)
{
	static const char from[] = "abefnrtv\\'\"";
	static const char to[] = "\a\b\033\f\n\r\t\v\\'\"";
	const char *at = *s ? strchr(from, *s) : NULL;
	size_t n = 0;
	unsigned v = 0;
	if (at) {
		*out = to[at - from];
		return 1;
	}
	if (*s == 'x') {
		for (n = 1; n < 3 && strchr("0123456789abcdefABCDEF", s[n]) && s[n]; n++)
			v = v * 16 + (unsigned)(s[n] <= '9' ? s[n] - '0' :
				(s[n] | 0x20) - 'a' + 10);
	} else {
		for (; n < 3 && s[n] >= '0' && s[n] <= '7'; n++)
			v = v * 8 + (unsigned)(s[n] - '0');
	}
	*out = n > 0 ? (char)v : '\\';
	return n;
}

/* printf with %s, %d, %%, and escapes; anything else: not known. */
static void
rule_printf(struct walk *w, struct gate_cmd *c, const char *arg)
{
	size_t i = 1, size = 8, len = 0, taken;
	const char *var = NULL;
	(void)arg;
	if (cmd_arg_is(c, 1, "-v") && c->n > 3) {
		var = c->v[2].s;
		rule_subscript(w, &c->v[2]);
		var_set(w, var, NULL);
		i = 3;
	}
	if (cmd_arg_is(c, i, "--"))
		i++;
	if (i >= c->n)
		return;
	check_shown(w, c, i);
	for (size_t k = i; k < c->n; k++) {
		c->out.flags |= c->v[k].flags & FIELD_TAINT;
		size += c->v[k].len + 1;
		if (c->v[k].flags & FIELD_ANY)
			return;
	}
	const char *f = c->v[i++].s;
	size += (c->n - i + 1) * strlen(f);	/* it repeats for each word */
	if (size > 4 * GATE_PARSE_MAX)
		return;
	char *s = arena_alloc(w->arena, size);
	do {	/* as long as a round takes words */
		taken = i;
		for (const char *p = f; *p; p++) {
			if (*p == '\\') {
				p += printf_escape(p + 1, s + len++);
			} else if (*p != '%' || p[1] == '%') {
				p += *p == '%';
				s[len++] = *p;
			} else if (p[1] != 's' && p[1] != 'd') {
				return;
			} else {
				p++;
				if (i < c->n) {
					memcpy(s + len, c->v[i].s, c->v[i].len);
					len += c->v[i++].len;
				}
			}
		}
	} while (i < c->n && i > taken);
	if (var) {
		struct gate_field v = field_text(w, s, len, 0);
		var_set(w, var, &v);
		return;
	}
	c->out.text = s;
	c->out.len = len;
}

/* cat and tee hand on what they get. */
static void
rule_cat(struct walk *w, struct gate_cmd *c, const char *arg)
{
	bool files = false;
	(void)arg;
	rule_read(w, c, "");
	for (size_t i = 1; i < c->n; i++)
		files |= c->v[i].s[0] != '-';
	if (!files && c->in.text && (c->n == 1 || cmd_arg_is(c, 1, "-"))) {
		c->out.text = c->in.text;
		c->out.len = c->in.len;
	}
}

static int
b64_value(char ch)
{
	static const char set[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrst"
		"uvwxyz0123456789+/";
	const char *at = ch ? strchr(set, ch) : NULL;
	return at ? (int)(at - set) : -1;
}

static void
rule_base64(struct walk *w, struct gate_cmd *c, const char *arg)
{
	bool decode = opts_has(c, "w:", "dD", "decode d de dec") ||
		cmd_arg_is(c, 2, "-d");
	rule_read(w, c, "w:");
	(void)arg;
	if (!decode)
		return;
	c->out.flags |= FIELD_DECODED;
	if (!c->in.text)
		return;
	char *s = arena_alloc(w->arena, c->in.len + 4);
	size_t n = 0, bits = 0;
	unsigned acc = 0;
	for (size_t i = 0; i < c->in.len; i++) {
		int v = b64_value(c->in.text[i]);
		if (v < 0)
			continue;
		acc = (acc << 6 | (unsigned)v) & 0xffffff;
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			s[n++] = (char)(acc >> bits & 0xff);
		}
	}
	out_text(w, c, s, strnlen(s, n));
}

static void
rule_xxd(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k, words = 0;
	bool reverse = false;
	(void)arg;
	opts_init(&o, c, "c:g:l:s:o:", "");
	while ((k = opts_next(&o)) != OPT_END) {
		reverse |= k == 'r';
		if (k != OPT_WORD)
			continue;
		if (++words == 1)
			path_check_read(w, o.word);
		else
			path_check_write(w, o.word, "writes");
	}
	if (!reverse)
		return;
	c->out.flags |= FIELD_DECODED;
	if (!c->in.text || words > 0)
		return;
	char *s = arena_alloc(w->arena, c->in.len + 2);
	size_t n = 0, half = 0;
	unsigned v = 0;
	for (size_t i = 0; i < c->in.len; i++) {
		char ch = (char)(c->in.text[i] | 0x20);
		if (!strchr("0123456789abcdef", ch) || !c->in.text[i])
			continue;
		v = v * 16 + (unsigned)(ch <= '9' ? ch - '0' : ch - 'a' + 10);
		if (++half % 2 == 0) {
			s[n++] = (char)v;
			v = 0;
		}
	}
	out_text(w, c, s, strnlen(s, n));
}

/* What comes out no longer looks like what went in. */
static void
rule_transform(struct walk *w, struct gate_cmd *c, const char *arg)
{
	rule_read(w, c, arg);
	c->out.flags |= FIELD_DECODED;
}

/* tr's operands are sets of characters. */
static void
rule_tr(struct walk *w, struct gate_cmd *c, const char *arg)
{
	(void)w;
	(void)arg;
	c->out.flags |= FIELD_DECODED;
}

static void
rule_date(struct walk *w, struct gate_cmd *c, const char *arg)
{
	(void)arg;
	c->out.flags |= FIELD_NAME;
	if (opts_has(c, "d:f:r:s:", "s", "set"))
		walk_ask(w, GATE_CLASS_FILES, "change of system settings",
			"it sets the clock");
}

/* With an operand they change what else they would show. */
static void
rule_show_or_set(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k;
	c->out.flags |= FIELD_NAME;
	opts_init(&o, c, arg, "");
	while ((k = opts_next(&o)) != OPT_END)
		if (k == OPT_WORD)
			walk_ask(w, GATE_CLASS_FILES, "change of system settings",
				"%s with an operand changes the system", c->name);
}

static void
rule_pwd(struct walk *w, struct gate_cmd *c, const char *arg)
{
	(void)arg;
	if (w->s.cwd)
		out_text(w, c, w->s.cwd, strlen(w->s.cwd));
	else
		c->out.flags |= FIELD_ANY;
}

static void
rule_base(struct walk *w, struct gate_cmd *c, const char *arg)
{
	(void)arg;
	(void)w;
	if (c->n > 1 && !(c->v[1].flags & FIELD_TAINT))
		c->out.flags |= FIELD_NAME;
}

static void
rule_mktemp(struct walk *w, struct gate_cmd *c, const char *arg)
{
	static const char made[] = "/tmp/tmp.\x02";
	(void)arg;
	for (size_t i = 1; i < c->n; i++)
		if (c->v[i].s[0] == '/')
			path_check_write(w, &c->v[i], "makes");
	out_text(w, c, made, sizeof(made) - 1);
}

/* man, less: a pager and a browser are programs. */
/* less +G, +/word, +100: going somewhere; ! | s v run or write something. */
static bool
pager_goes(const char *s)
{
	if (strpbrk(s, "!|\n"))
		return false;
	return strchr("/?&", *s) || strspn(s, "gGFnNpP%0123456789") == strlen(s);
}

static void
rule_pager(struct walk *w, struct gate_cmd *c, const char *arg)
{
	struct opts o;
	int k;
	opts_init(&o, c, arg, "pager html");
	while ((k = opts_next(&o)) != OPT_END) {
		bool man = strcmp(c->name, "man") == 0;
		if (k == OPT_WORD && ((o.word->s[0] == '+' &&
		    !pager_goes(o.word->s + 1)) || o.word->s[0] == '!'))
			walk_ask(w, GATE_CLASS_CODE, "program run through an option",
				"%s runs a command of its own (%s)", c->name, o.word->s);
		else if (k == OPT_WORD && !man && o.word->s[0] != '+')
			path_check_read(w, o.word);
		else if (man && !(o.val && k != 'H' && rule_program_is_harmless(
		    o.val)) && (k == 'P' || k == 'H' || (k == OPT_LONG &&
		    (opts_long(&o, "pager", 2) || opts_long(&o, "html", 2) ||
		    opts_long(&o, "browser", 2)))))
			walk_ask(w, GATE_CLASS_CODE, "program run through an option",
				"man runs the program that the option names");
		else if (!man && (k == 'o' || k == 'O' || k == 'k'))
			path_check_write(w, &o.val_field, "writes");
	}
}

/* journalctl, dmesg: reading is fine, emptying isn't. */
static void
rule_logs(struct walk *w, struct gate_cmd *c, const char *arg)
{
	for (size_t i = 1; i < c->n; i++)
		if (field_starts(&c->v[i], "--vacuum") ||
		    field_starts(&c->v[i], "--rotate") ||
		    word_in(c->v[i].s, c->v[i].len, arg))
			walk_ask(w, GATE_CLASS_FILES, "logs deleted",
				"it deletes logs (%s)", c->v[i].s);
}

const struct gate_kind kinds_plain[] = {
	{ "true false : sync sleep jobs fg bg exit return break continue "
	  "times umask ulimit help logout dirs type "
	  "whereis shopt suspend caller disown yes uptime clear reset "
	  "tput stty locale free vmstat iostat mpstat lscpu lsblk lsusb lspci "
	  "lsmod lsns lslocks findmnt cal ncal factor numfmt users who w last "
	  "lastlog lsb_release tty cowsay figlet "
	  "apropos whatis info tldr man-db neofetch screenfetch "
	  "pidof pgrep ps pstree top htop btop lsof ss netstat pmap "
	  "whoami id groups git-lfs "
	  "sw_vers sensors acpi slabtop iotop nvidia-smi rocm-smi "
	  "duf dust procs btm glances iftop inxi hwinfo lshw dmidecode xrandr "
	  "glxinfo vulkaninfo tig fzf gum manpath ncdu global sar pidstat dstat "
	  "atq stern hostid logname runlevel infocmp lstopo cpuid upower vnstat ipcalc "
	  "sipcalc onefetch qalc datediff toilet lolcat fortune banner ast-grep blkid "
	  "uuidgen uuid pg_isready pg_config sqldiff mysqlshow pg_lsclusters envsubst "
	  "pv tokei cloc scc sloccount clang-tidy cppcheck",
	  rule_none, NULL },
	{ "uname nproc seq expr bc getconf", rule_none, "name" },
	{ "which wc shasum md5sum sha1sum sha224sum sha256sum sha384sum sha512sum "
	  "b2sum cksum sum", rule_read, NULL },
	{ "ls dir vdir stat du df tree exa eza lsd readlink realpath namei "
	  "lsattr getfacl pathchk file locate plocate", rule_list, NULL },
	{ "basename dirname", rule_base, NULL },
	{ "pwd", rule_pwd, NULL },
	{ "mktemp tempfile", rule_mktemp, NULL },
	{ "echo", rule_echo, NULL },
	{ "printf", rule_printf, NULL },
	{ "cat", rule_cat, NULL },
	{ "head tail", rule_read, "n:c:s:" },
	{ "cut", rule_read, "b:c:d:f:" },
	{ "tac nl od hexdump hd strings cmp diff diff3 sdiff comm join paste "
	  "fold fmt expand unexpand column colrm pr look uniq ptx tsort "
	  "jq yq gojq jaq xq dasel htmlq xmllint xsltproc bat batcat delta "
	  "colordiff icdiff difft zless zgrep bzgrep xzgrep zmore hexyl glow mdcat "
	  "readelf objdump nm size ldd addr2line c++filt dwarfdump otool "
	  "identify exiftool mediainfo ffprobe pdfinfo pdfgrep csvlook csvcut "
	  "csvstat csvgrep csvsort csvjson in2csv datamash gron fx pup hxselect "
	  "catdoc antiword unrtf html2text b3sum md5 units cheat mandoc pdfimages "
	  "mlr xsv aspell hunspell wdiff dwdiff colorize iconv "
	  "dos2unix unix2dos cargo-tree msgcat desktop-file-validate "
	  "zipinfo lsar tomlq crc32 pcregrep pcre2grep javap jdeps luac readtags "
	  "xxhsum rhash sha3sum jless jc ijq fq visidata vd bzless xzless bzmore "
	  "bzcmp bzdiff xzcmp xzdiff zcmp zdiff lsinitramfs msgfmt jsonlint yamllint plutil "
	  "shellcheck hadolint markdownlint actionlint vale codespell",
	  rule_read, "d:f:t:j:w:n:s:" },
	{ "zcat bzcat xzcat zstdcat lz4cat gzcat uudecode rev base32 basenc",
	  rule_transform, "" },
	{ "tr", rule_tr, NULL },
	{ "base64", rule_base64, NULL },
	{ "xxd", rule_xxd, NULL },
	{ "date", rule_date, NULL },
	{ "hostname domainname nisdomainname", rule_show_or_set, "F:" },
	{ "man", rule_pager, "P:H:M:C:L:m:p:S:e:E:R:r:" },
	{ "less more most pg zless", rule_pager, "o:O:k:p:t:T:x:b:h:j:y:" },
	{ "journalctl", rule_logs, "--flush --relinquish-var" },
	{ "dmesg", rule_logs, "-C --clear -c --read-clear" },
	{ NULL, NULL, NULL },
};

#include "sandbox/file_act.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sandbox/exec.h"

static void
edit_done(struct file_edit *e)
{
	mem_free(e->path);
	mem_free(e->to);
	mem_free(e->version);
	mem_free(e->data);
}

void
file_act_done(struct file_act *act)
{
	for (size_t i = 0; i < act->nedits; i++)
		edit_done(&act->edits[i]);
	mem_free(act->edits);
	mem_free(act->path);
	memset(act, 0, sizeof(*act));
}

struct file_edit *
file_act_edit(struct file_act *act, enum file_edit_kind kind, const char *path)
{
	if (act->nedits == FILE_EDITS_MAX)
		return NULL;
	act->edits = mem_grow(act->edits, act->nedits + 1, sizeof(*act->edits));
	struct file_edit *e = &act->edits[act->nedits++];

	*e = (struct file_edit){ .kind = kind, .path = mem_str(path) };
	return e;
}

void
file_act_copy(struct file_act *to, const struct file_act *from)
{
	*to = *from;
	to->path = mem_str(from->path);
	to->edits = NULL;
	to->nedits = 0;
	for (size_t i = 0; i < from->nedits; i++) {
		const struct file_edit *f = &from->edits[i];
		struct file_edit *e = file_act_edit(to, f->kind, f->path);
		e->to = mem_str(f->to);
		e->version = mem_str(f->version);
		e->mode = f->mode;
		e->data = f->data ? mem_dup(f->data, f->len + 1) : NULL;
		e->len = f->len;
	}
}

char *
file_act_input(const struct file_act *act, size_t *ret_len)
{
	struct buf b;

	*ret_len = 0;
	if (act->kind != FILE_CHANGE)
		return NULL;
	buf_init(&b, FILE_DATA_MAX);
	for (size_t i = 0; i < act->nedits; i++) {
		if (act->edits[i].kind == FILE_PUT)
			buf_add(&b, act->edits[i].data, act->edits[i].len);
	}
	*ret_len = b.len;
	return buf_take(&b);
}

/* ---- the texts ------------------------------------------------------------------- */

/*
 * For any POSIX shell with the usual small programs of GNU or busybox.  Fields
 * of the answer end with NUL.  `readlink -f` prints a line: the x keeps line
 * feeds that belong to the name.
 */
#define PRELUDE \
	"LC_ALL=C TZ=UTC0; export LC_ALL TZ\n" \
	"version() { stat -L -c '%i:%s:%y' -- \"$1\" 2>/dev/null; }\n"

#define READ_HEAD \
	"r=$(readlink -f -- \"$p\" 2>/dev/null; printf x); r=${r%x}; r=${r%?}\n" \
	"[ -n \"$r\" ] || r=$p\n" \
	"printf '%s\\0' \"$r\"\n" \
	"names() { ls -Ap -- \"$1\" 2>/dev/null | head -n 500; exit 0; }\n" \
	"if [ ! -e \"$p\" ]; then printf 'none\\0'; d=${p%/*}; names \"${d:-/}\"\n" \
	"elif [ -d \"$p\" ]; then printf 'directory\\0'; names \"$p\"\n" \
	"elif [ ! -f \"$p\" ]; then printf 'special\\0'; exit 0\n" \
	"elif [ ! -r \"$p\" ]; then printf 'unreadable\\0'; exit 0; fi\n" \
	"v=$(version \"$p\"); s=$(stat -L -c %s -- \"$p\")\n" \
	"b=$(head -c 1000 -- \"$p\" | tr -dc '\\000' | wc -c)\n"

#define READ_TAIL \
	"printf 'file\\0%s\\0%s\\0%s\\0%s\\0%s\\0' \"$s\" " \
	"\"$(stat -L -c %a -- \"$p\")\" \"$v\" \"$b\" \"$n\"\n"

static void
quoted(struct buf *out, const char *name, const char *value)
{
	buf_printf(out, "%s=", name);
	exec_quote(out, value, strlen(value));
	buf_add_char(out, '\n');
}

static void
read_command(const struct file_act *act, struct buf *out)
{
	buf_add_str(out, PRELUDE);
	quoted(out, "p", act->path);
	buf_add_str(out, READ_HEAD "n=\n");
	if (act->lines == 0) {
		buf_add_str(out, READ_TAIL);
		buf_printf(out, "head -c %zu -- \"$p\"\n", act->max);
		return;
	}
	buf_printf(out, "if [ \"$s\" -le %u ]; then n=$(wc -l < \"$p\"); "
	    "[ -z \"$(tail -c 1 -- \"$p\" | tr '\\000' 0)\" ] || n=$((n + 1)); fi\n",
	    FILE_SCAN_MAX);
	buf_add_str(out, READ_TAIL);
	buf_printf(out, "head -c %u -- \"$p\" | sed -n '%llu,%llup' | head -c %u\n",
	    FILE_SCAN_MAX, (unsigned long long)act->from,
	    (unsigned long long)(act->from + act->lines - 1), FILE_WINDOW_MAX);
}

/* The answers of a change: "ok", or "no"/"partly", number of the edit, cause. */
#define CHANGE_HEAD PRELUDE \
	"umask 022; made=; temps=; state=no\n" \
	"fail() { printf '%s\\0%s\\0%s\\0' \"$state\" \"$1\" \"$2\"; clean; exit 0; }\n" \
	"clean() { eval \"set -- $temps\"; [ $# -eq 0 ] || rm -f -- \"$@\"; }\n" \
	"same() { [ -f \"$2\" ] && [ \"$(version \"$2\")\" = \"$3\" ] || " \
	"fail \"$1\" 'it changed since it was read'; }\n" \
	"none() { [ ! -e \"$2\" ] && [ ! -L \"$2\" ] || " \
	"fail \"$1\" 'it exists already'; }\n" \
	"dirs() { d=${2%/*}; [ -z \"$d\" ] || [ -d \"$d\" ] || " \
	"{ mkdir -p -- \"$d\" 2>/dev/null || fail \"$1\" " \
	"'its directory cannot be made'; made=1; }; }\n" \
	"temp() { t=$(mktemp \"${2%/*}/.gatehouse-tmp.XXXXXX\" 2>/dev/null) || " \
	"fail \"$1\" 'no file can be made in its directory'; }\n"

static void
add_checks(const struct file_act *act, struct buf *out)
{
	for (size_t i = 0; i < act->nedits; i++) {
		const struct file_edit *e = &act->edits[i];
		char name[24];

		REQUIRE(mem_format(name, sizeof(name), "p%zu", i) == 0);
		quoted(out, name, e->path);
		if (e->version) {
			quoted(out, "v", e->version);
			buf_printf(out, "same %zu \"$p%zu\" \"$v\"\n", i, i);
		} else {
			buf_printf(out, "none %zu \"$p%zu\"\n", i, i);
		}
		if (e->kind != FILE_MOVE)
			continue;
		REQUIRE(mem_format(name, sizeof(name), "q%zu", i) == 0);
		quoted(out, name, e->to);
		buf_printf(out, "none %zu \"$q%zu\"\n", i, i);
	}
}

/* Every new content is on the disk before any name changes. */
static void
add_temps(const struct file_act *act, struct buf *out)
{
	size_t puts = 0, at = 1;

	for (size_t i = 0; i < act->nedits; i++)
		puts += act->edits[i].kind == FILE_PUT;
	for (size_t i = 0; i < act->nedits; i++) {
		const struct file_edit *e = &act->edits[i];
		if (e->kind != FILE_PUT)
			continue;
		buf_printf(out, "dirs %zu \"$p%zu\"; temp %zu \"$p%zu\"; t%zu=$t; "
		    "temps=\"$temps \\\"\\$t%zu\\\"\"\n", i, i, i, i, i, i);
		if (puts > 1 && at == 1)
			buf_printf(out, "all=$t.all; temps=\"$temps \\\"\\$all\\\"\"; "
			    "cat > \"$all\" || fail %zu 'it cannot be written'\n", i);
		if (puts > 1)
			buf_printf(out, "tail -c +%zu -- \"$all\" | head -c %zu > "
			    "\"$t%zu\"\n", at, e->len, i);
		else
			buf_printf(out, "cat > \"$t%zu\"\n", i);
		buf_printf(out, "[ \"$(wc -c < \"$t%zu\")\" -eq %zu ] || "
		    "fail %zu 'it cannot be written whole (disk full?)'\n",
		    i, e->len, i);
		if (e->version)
			buf_printf(out, "chown \"$(stat -L -c %%u:%%g -- "
			    "\"$p%zu\")\" -- \"$t%zu\" 2>/dev/null\n", i, i);
		buf_printf(out, "chmod %o -- \"$t%zu\"\n",
		    e->mode ? e->mode : 0644, i);
		at += e->len;
	}
}

static void
add_names(const struct file_act *act, struct buf *out)
{
	for (size_t i = 0; i < act->nedits; i++) {
		switch (act->edits[i].kind) {
		case FILE_PUT:
			buf_printf(out, "[ ! -d \"$p%zu\" ] && mv -f -- \"$t%zu\" "
			    "\"$p%zu\" || fail %zu 'it cannot be replaced'\n",
			    i, i, i, i);
			break;
		case FILE_DELETE:
			buf_printf(out, "rm -f -- \"$p%zu\" || fail %zu "
			    "'it cannot be deleted'\n", i, i);
			break;
		case FILE_MOVE:
			buf_printf(out, "dirs %zu \"$q%zu\"; mv -- \"$p%zu\" "
			    "\"$q%zu\" || fail %zu 'it cannot be moved'\n",
			    i, i, i, i, i);
			break;
		}
		buf_add_str(out, "state=partly\n");
	}
	buf_add_str(out, "clean; printf 'ok\\0%s\\0' \"$made\"\n");
	for (size_t i = 0; i < act->nedits; i++) {
		if (act->edits[i].kind == FILE_PUT)
			buf_printf(out, "printf '%%s\\0' \"$(version \"$p%zu\")\"\n", i);
		else
			buf_add_str(out, "printf '\\0'\n");
	}
}

static void
change_command(const struct file_act *act, struct buf *out)
{
	buf_add_str(out, CHANGE_HEAD);
	add_checks(act, out);
	add_temps(act, out);
	add_names(act, out);
}

bool
file_act_command(const struct file_act *act, struct buf *out)
{
	if (act->kind == FILE_READ)
		read_command(act, out);
	else
		change_command(act, out);
	return !out->over;
}

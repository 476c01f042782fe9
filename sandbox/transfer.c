#include "sandbox/transfer.h"

#include <string.h>

#include "base/mem.h"
#include "sandbox/exec.h"

int
transfer_split(const char *path, char **ret_dir, char **ret_name)
{
	size_t end = strlen(path), begin;

	while (end > 0 && path[end - 1] == '/')
		end--;
	for (begin = end; begin > 0 && path[begin - 1] != '/'; begin--)
		;
	size_t len = end - begin;
	if (len == 0 || (len == 1 && path[begin] == '.') ||
	    (len == 2 && memcmp(path + begin, "..", 2) == 0))
		return -1;
	*ret_name = mem_strn(path + begin, len);
	*ret_dir = begin ? mem_strn(path, begin) : mem_str(".");
	return 0;
}

static void
enter(struct buf *out, const char *dir, bool make)
{
	if (make) {
		buf_add_str(out, "mkdir -p -- ");
		exec_quote(out, dir, strlen(dir));
		buf_add_str(out, " && ");
	}
	buf_add_str(out, "cd -- ");
	exec_quote(out, dir, strlen(dir));
	buf_add_str(out, " && ");
}

int
transfer_get_text(struct buf *out, const char *path)
{
	CLEANUP_FREE char *dir = NULL;
	CLEANUP_FREE char *name = NULL;

	if (transfer_split(path, &dir, &name) < 0)
		return -1;
	CLEANUP_FREE char *plain = mem_printf("./%s", name);
	enter(out, dir, false);
	buf_add_str(out, "exec tar -cf - ");
	exec_quote(out, plain, strlen(plain));
	return 0;
}

void
transfer_piece_text(struct buf *out, const char *dir, const char *part)
{
	enter(out, dir, true);
	buf_printf(out, "cat >>./%s", part);
}

void
transfer_put_text(struct buf *out, const char *dir, const char *part)
{
	enter(out, dir, true);
	/* -o: what is unpacked belongs to who unpacks. */
	if (part)
		buf_printf(out, "tar -xof ./%s; r=$?; rm -f ./%s; exit $r", part, part);
	else
		buf_add_str(out, "exec tar -xof -");
}

void
transfer_drop_text(struct buf *out, const char *dir, const char *part)
{
	enter(out, dir, false);
	buf_printf(out, "rm -f ./%s", part);
}

/*
 * ".." is allowed only at its beginning, and not more often than there are
 * directories above the link. What follows can then only go down, or through
 * links that stay as well.
 */
bool
transfer_link_stays(const char *path, const char *target)
{
	unsigned above = 0;
	bool down = false;

	for (const char *p = path; (p = strchr(p, '/')); p++)
		above++;
	if (above == 0 || *target == '/' || *target == 0)
		return false;
	while (*target) {
		size_t n = strcspn(target, "/");

		if (n == 2 && memcmp(target, "..", 2) == 0) {
			/* The top itself holds what was asked for, and our own
			 * directory: no link leads there. */
			if (down || above-- <= 1)
				return false;
		} else if (n > 0 && !(n == 1 && *target == '.')) {
			down = true;
		}
		target += n + (target[n] == '/');
	}
	return true;
}

/*
 * What our tools do with files in a sandbox, as commands like any other: a
 * permit is for the exact text that file_act_command() makes and for the bytes
 * to be written, which come by stdin; any backend that runs a shell can run it,
 * and where the workspace is ours file_fast.h does the same without a process.
 * Pure.
 */
#ifndef GATEHOUSE_FILE_ACT_H
#define GATEHOUSE_FILE_ACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define FILE_PATH_MAX 4096	/* bytes, with NUL */
#define FILE_EDITS_MAX 64
#define FILE_DATA_MAX (8u << 20)	/* of all edits together */
#define FILE_SCAN_MAX (64u << 20)	/* of a file: what lies behind isn't looked at */
#define FILE_WINDOW_MAX (2u << 20)	/* of lines that are read */
#define FILE_NAMES_MAX 500		/* of a directory that are listed */

enum file_act_kind { FILE_READ, FILE_CHANGE };
enum file_edit_kind { FILE_PUT, FILE_DELETE, FILE_MOVE };

/* All paths are absolute, as commands see them. */
struct file_edit {
	enum file_edit_kind kind;
	char *path;
	char *to;		/* FILE_MOVE; must not exist */
	char *version;		/* what it must be now; NULL: it must not exist */
	unsigned mode;		/* FILE_PUT: 0: as a new file gets it */
	char *data;
	size_t len;
};

struct file_act {
	enum file_act_kind kind;
	/* FILE_READ */
	char *path;
	uint64_t from, lines;	/* from 1; lines 0: the bytes, at most max */
	size_t max;
	/* FILE_CHANGE: all of them or none, as far as a file system can */
	struct file_edit *edits;
	size_t nedits;
};

void file_act_done(struct file_act *act);
void file_act_copy(struct file_act *to, const struct file_act *from);
/* Adds an empty edit; false if there are too many. */
struct file_edit *file_act_edit(struct file_act *act, enum file_edit_kind kind,
	const char *path);
/* The shell text; false if it would be too long. */
bool file_act_command(const struct file_act *act, struct buf *out);
/* What goes to its stdin: the bytes of its edits; NULL: nothing. Yours. */
char *file_act_input(const struct file_act *act, size_t *ret_len);

/* ---- what comes back ----------------------------------------------------------- */

enum file_type {
	FILE_NONE,		/* there is no such file: names are its directory's */
	FILE_REGULAR,
	FILE_DIRECTORY,		/* names are its own */
	FILE_SPECIAL,		/* device, FIFO, socket */
	FILE_UNREADABLE,
};

/* Points into the text that was parsed. */
struct file_read_reply {
	enum file_type type;
	const char *path;	/* the real one: links resolved */
	uint64_t size;
	unsigned mode;
	const char *version;	/* changes whenever the file does */
	bool binary;		/* a NUL among its first 1000 bytes */
	bool has_total;
	uint64_t total;		/* lines */
	const char *data;	/* lines, bytes, or names each with a line feed */
	size_t len;
};
/* text: what the act wrote to stdout, with a NUL behind it. -1: malformed. */
int file_read_parse(struct file_read_reply *ret, const char *text, size_t len);

struct file_change_reply {
	bool done;
	const char *why;	/* if not: the cause, in words; nothing was changed
				   unless `partly` */
	bool partly;
	size_t at;		/* the edit it is about */
	const char *versions[FILE_EDITS_MAX];	/* after it; of puts */
	bool made_dirs;
};
int file_change_parse(struct file_change_reply *ret, const char *text, size_t len,
	size_t nedits);

/* "/a//b/./c/../d" to "/a/b/d". Caller frees. */
char *file_path_clean(const char *path);

#endif

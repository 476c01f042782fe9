/* An archive of what lies here, for a sandbox: see transfer.h. */
#include "sandbox/transfer.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

#define CHUNK 65536

struct pack {
	struct archive *disk, *out;
	struct archive_entry *entry;
	size_t skip;		/* bytes of each path before its name here */
	const char *name;
	uint64_t bytes;
	unsigned entries;
};

static int
archive_failed(struct err *err, struct archive *a, const char *what)
{
	const char *text = archive_error_string(a);

	return err_set(err, ERR_IO, "%s: %s", what, text ? text : "failed");
}

/* -1: it is not sent, and so nothing is. */
static int
check(struct pack *p, const char *path, struct err *err)
{
	mode_t type = archive_entry_filetype(p->entry);
	const char *target = archive_entry_symlink(p->entry);
	unsigned depth = 0;

	for (const char *s = path; (s = strchr(s, '/')); s++)
		depth++;
	if (type != AE_IFREG && type != AE_IFDIR && type != AE_IFLNK)
		return err_set(err, ERR_INVALID, "%s is neither a file nor a "
		    "directory nor a link: nothing was sent", path);
	if (type == AE_IFLNK && (!target || !transfer_link_stays(path, target)))
		return err_set(err, ERR_INVALID, "the link %s leads out of what is "
		    "sent: nothing was sent", path);
	if (++p->entries > TRANSFER_ENTRIES_MAX)
		return err_set(err, ERR_LIMIT, "more than %u files: nothing was sent",
		    TRANSFER_ENTRIES_MAX);
	if (depth > TRANSFER_DEPTH_MAX || strlen(path) >= TRANSFER_PATH_MAX)
		return err_set(err, ERR_LIMIT, "%.200s lies too deep: nothing was "
		    "sent", path);
	if (type == AE_IFREG)
		p->bytes += (uint64_t)archive_entry_size(p->entry);
	if (p->bytes > TRANSFER_BYTES_MAX)
		return err_set(err, ERR_LIMIT, "more than %llu MiB: nothing was sent",
		    TRANSFER_BYTES_MAX >> 20);
	return 0;
}

/* Only name, kind, rights and time: who we are is nothing to a sandbox. */
static void
plain(struct pack *p, const char *path)
{
	mode_t mode = archive_entry_perm(p->entry);
	int64_t size = archive_entry_size(p->entry);
	time_t at = archive_entry_mtime(p->entry);
	mode_t type = archive_entry_filetype(p->entry);
	CLEANUP_FREE char *target = type == AE_IFLNK ?
	    mem_str(archive_entry_symlink(p->entry)) : NULL;
	CLEANUP_FREE char *own = mem_str(path);

	archive_entry_clear(p->entry);
	archive_entry_copy_pathname(p->entry, own);
	archive_entry_set_filetype(p->entry, type);
	archive_entry_set_perm(p->entry, mode & 0777);
	archive_entry_set_mtime(p->entry, at, 0);
	if (type == AE_IFREG)
		archive_entry_set_size(p->entry, size);
	else
		archive_entry_set_size(p->entry, 0);
	if (target)
		archive_entry_copy_symlink(p->entry, target);
}

static int
put_data(struct pack *p, struct err *err)
{
	int64_t left = archive_entry_size(p->entry), at = 0;
	const void *data;
	size_t len;
	int64_t offset;
	int rc;

	while ((rc = archive_read_data_block(p->disk, &data, &len, &offset)) ==
	    ARCHIVE_OK) {
		static const char zeros[CHUNK];

		/* A hole. */
		for (; at < offset && left > 0;) {
			size_t n = offset - at < CHUNK ? (size_t)(offset - at) : CHUNK;
			if (archive_write_data(p->out, zeros, n) < 0)
				return archive_failed(err, p->out, "the archive");
			at += (int64_t)n;
			left -= (int64_t)n;
		}
		if (archive_write_data(p->out, data, len) < 0)
			return archive_failed(err, p->out, "the archive");
		at += (int64_t)len;
		left -= (int64_t)len;
	}
	if (rc != ARCHIVE_EOF)
		return archive_failed(err, p->disk, p->name);
	return 0;	/* what a file has lost meanwhile is padded with zeros */
}

static int
next(struct pack *p, struct err *err)
{
	int rc = archive_read_next_header2(p->disk, p->entry);
	const char *full;

	if (rc == ARCHIVE_EOF)
		return 0;
	full = archive_entry_pathname(p->entry);
	if (rc != ARCHIVE_OK || !full || strlen(full) < p->skip)
		return archive_failed(err, p->disk, p->name);
	CLEANUP_FREE char *path = mem_printf("%s%s", p->name, full + p->skip);
	if (check(p, path, err) < 0)
		return -1;
	archive_read_disk_descend(p->disk);
	plain(p, path);
	if (archive_write_header(p->out, p->entry) != ARCHIVE_OK)
		return archive_failed(err, p->out, path);
	if (archive_entry_filetype(p->entry) == AE_IFREG && put_data(p, err) < 0)
		return -1;
	return 1;
}

int
transfer_pack(const char *path, int fd, struct err *err)
{
	CLEANUP_FREE char *dir = NULL;
	CLEANUP_FREE char *name = NULL;
	struct stat st;
	int rc;

	if (transfer_split(path, &dir, &name) < 0)
		return err_set(err, ERR_INVALID, "\"%s\" names no file or directory",
		    path);
	if (lstat(path, &st) < 0)
		return err_set_errno(err, errno, "%s", path);
	CLEANUP_FREE char *from = mem_printf("%s/%s", dir, name);
	struct pack p = { .disk = archive_read_disk_new(), .skip = strlen(from),
		.out = archive_write_new(), .entry = archive_entry_new(),
		.name = name };
	REQUIRE(p.disk && p.out && p.entry);
	archive_read_disk_set_symlink_physical(p.disk);
	archive_read_disk_set_behavior(p.disk, ARCHIVE_READDISK_NO_XATTR |
	    ARCHIVE_READDISK_NO_ACL | ARCHIVE_READDISK_NO_FFLAGS);
	archive_write_set_format_gnutar(p.out);
	archive_write_add_filter_none(p.out);
	if (archive_write_open_fd(p.out, fd) != ARCHIVE_OK)
		rc = archive_failed(err, p.out, "the archive");
	else if (archive_read_disk_open(p.disk, from) != ARCHIVE_OK)
		rc = archive_failed(err, p.disk, path);
	else
		while ((rc = next(&p, err)) > 0)
			;
	if (rc == 0 && archive_write_close(p.out) != ARCHIVE_OK)
		rc = archive_failed(err, p.out, "the archive");
	archive_entry_free(p.entry);
	archive_read_free(p.disk);
	archive_write_free(p.out);
	return rc;
}

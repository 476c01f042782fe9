#include "tests/fault_vfs.h"

#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fault_file {
	sqlite3_file base;
	const char *name;	/* NULL: temporary, always works */
	sqlite3_file *real;
};

/* One write that is not on the disk for sure: what was there, what came. */
struct pending {
	char name[128];
	sqlite3_int64 offset;
	int len, old_len;
	sqlite3_int64 old_size;
	unsigned char *old, *new;
};

static sqlite3_vfs *real_vfs;
static sqlite3_vfs fault_vfs;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static enum fault_kind armed;
static long nth, count;
static bool hit;
static char full_path[128];
static struct pending pending[65536];
static size_t npending;

static bool
is_lasting(enum fault_kind kind)
{
	return kind == FAULT_IO_ON || kind == FAULT_FULL_ON || kind == FAULT_POWER;
}

/* Which fault this act meets; call under the lock. */
static enum fault_kind
act(const char *name)
{
	if (!name || armed == FAULT_NONE)
		return FAULT_NONE;
	if (full_path[0] != '\0')
		return access(full_path, F_OK) == 0 ? FAULT_FULL : FAULT_NONE;
	count++;
	if (count == nth || (count > nth && nth > 0 && is_lasting(armed))) {
		hit = true;
		return armed;
	}
	return FAULT_NONE;
}

static int
code_of(enum fault_kind kind, int io_code)
{
	return kind == FAULT_FULL || kind == FAULT_FULL_ON ? SQLITE_FULL : io_code;
}

static struct fault_file *
ff(sqlite3_file *f)
{
	return (struct fault_file *)f;
}

/* ---- what may be lost ------------------------------------------------------ */

static void
remember(struct fault_file *f, const void *buf, int len, sqlite3_int64 offset)
{
	struct pending *p = &pending[npending];

	if (!f->name || npending == sizeof(pending) / sizeof(pending[0]) ||
	    armed != FAULT_POWER)
		return;
	snprintf(p->name, sizeof(p->name), "%s", f->name);
	p->offset = offset;
	p->len = len;
	p->new = malloc((size_t)len + 1);
	memcpy(p->new, buf, (size_t)len);
	p->old = calloc(1, (size_t)len + 1);
	f->real->pMethods->xFileSize(f->real, &p->old_size);
	p->old_len = 0;
	if (p->old_size > offset) {
		sqlite3_int64 there = p->old_size - offset;

		p->old_len = there < len ? (int)there : len;
		f->real->pMethods->xRead(f->real, p->old, p->old_len, offset);
	}
	npending++;
}

static void
forget(const char *name)
{
	size_t kept = 0;

	for (size_t i = 0; i < npending; i++) {
		if (name && strcmp(pending[i].name, name) != 0) {
			pending[kept++] = pending[i];
			continue;
		}
		free(pending[i].old);
		free(pending[i].new);
	}
	npending = kept;
}

static void
put(const struct pending *p, const unsigned char *data, int len)
{
	int fd = open(p->name, O_WRONLY);

	if (fd == -1)
		return;
	if (pwrite(fd, data, (size_t)len, p->offset) != len)
		abort();
	close(fd);
}

void
fault_power_back(uint64_t seed)
{
	pthread_mutex_lock(&lock);
	for (size_t i = npending; i-- > 0; ) {
		put(&pending[i], pending[i].old, pending[i].old_len);
		if (pending[i].old_size < pending[i].offset + pending[i].len &&
		    access(pending[i].name, F_OK) == 0 &&
		    truncate(pending[i].name, pending[i].old_size) != 0)
			abort();
	}
	/* The disk may have got any of them, or the first half of one. */
	for (size_t i = 0; i < npending; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		if (seed >> 63)
			put(&pending[i], pending[i].new,
			    seed >> 60 & 1 ? pending[i].len : pending[i].len / 2);
	}
	forget(NULL);
	armed = FAULT_NONE;
	pthread_mutex_unlock(&lock);
}

/* ---- the file's methods ------------------------------------------------------ */

static int
f_close(sqlite3_file *f)
{
	int rc = ff(f)->real->pMethods->xClose(ff(f)->real);

	free(ff(f)->real);
	return rc;
}

static int
f_read(sqlite3_file *f, void *buf, int n, sqlite3_int64 at)
{
	return ff(f)->real->pMethods->xRead(ff(f)->real, buf, n, at);
}

static int
f_write(sqlite3_file *f, const void *buf, int n, sqlite3_int64 at)
{
	sqlite3_file *real = ff(f)->real;

	pthread_mutex_lock(&lock);
	enum fault_kind kind = act(ff(f)->name);
	int rc = SQLITE_OK;

	if (kind == FAULT_NONE)
		remember(ff(f), buf, n, at);
	if (kind == FAULT_SHORT)
		real->pMethods->xWrite(real, buf, n / 2, at);
	if (kind != FAULT_NONE)
		rc = code_of(kind, SQLITE_IOERR_WRITE);
	else
		rc = real->pMethods->xWrite(real, buf, n, at);
	pthread_mutex_unlock(&lock);
	return rc;
}

static int
f_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	pthread_mutex_lock(&lock);
	enum fault_kind kind = act(ff(f)->name);
	int rc = kind == FAULT_NONE ?
	    ff(f)->real->pMethods->xTruncate(ff(f)->real, size) :
	    code_of(kind, SQLITE_IOERR_TRUNCATE);
	pthread_mutex_unlock(&lock);
	return rc;
}

static int
f_sync(sqlite3_file *f, int flags)
{
	pthread_mutex_lock(&lock);
	enum fault_kind kind = act(ff(f)->name);
	int rc = SQLITE_OK;

	(void)flags;	/* the harness keeps what "synced": no need to wait */
	if (kind != FAULT_NONE)
		rc = code_of(kind, SQLITE_IOERR_FSYNC);
	else if (ff(f)->name)
		forget(ff(f)->name);
	pthread_mutex_unlock(&lock);
	return rc;
}

#define PASS(name, params, args) \
	static int f_##name params { \
		return ff(f)->real->pMethods->name args; \
	}
PASS(xFileSize, (sqlite3_file *f, sqlite3_int64 *n), (ff(f)->real, n))
PASS(xLock, (sqlite3_file *f, int l), (ff(f)->real, l))
PASS(xUnlock, (sqlite3_file *f, int l), (ff(f)->real, l))
PASS(xCheckReservedLock, (sqlite3_file *f, int *r), (ff(f)->real, r))
PASS(xFileControl, (sqlite3_file *f, int op, void *p), (ff(f)->real, op, p))
PASS(xSectorSize, (sqlite3_file *f), (ff(f)->real))
PASS(xShmLock, (sqlite3_file *f, int o, int n, int fl), (ff(f)->real, o, n, fl))
PASS(xShmUnmap, (sqlite3_file *f, int del), (ff(f)->real, del))

/* The index of the log needs space too, though nobody syncs it. */
static int
f_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **p)
{
	enum fault_kind kind = FAULT_NONE;

	pthread_mutex_lock(&lock);
	if (extend && (armed == FAULT_FULL || armed == FAULT_FULL_ON))
		kind = act(ff(f)->name);
	pthread_mutex_unlock(&lock);
	return kind != FAULT_NONE ? SQLITE_IOERR_SHMSIZE :
	    ff(f)->real->pMethods->xShmMap(ff(f)->real, page, size, extend, p);
}

/* None of the promises some file systems make. */
static int
f_device(sqlite3_file *f)
{
	(void)f;
	return 0;
}

static void
f_barrier(sqlite3_file *f)
{
	ff(f)->real->pMethods->xShmBarrier(ff(f)->real);
}

static const sqlite3_io_methods methods = {
	.iVersion = 2, .xClose = f_close, .xRead = f_read, .xWrite = f_write,
	.xTruncate = f_truncate, .xSync = f_sync, .xFileSize = f_xFileSize,
	.xLock = f_xLock, .xUnlock = f_xUnlock,
	.xCheckReservedLock = f_xCheckReservedLock,
	.xFileControl = f_xFileControl, .xSectorSize = f_xSectorSize,
	.xDeviceCharacteristics = f_device, .xShmMap = f_shm_map,
	.xShmLock = f_xShmLock, .xShmBarrier = f_barrier,
	.xShmUnmap = f_xShmUnmap,
};

static int
v_open(sqlite3_vfs *v, sqlite3_filename name, sqlite3_file *f, int flags, int *out)
{
	(void)v;
	ff(f)->real = calloc(1, (size_t)real_vfs->szOsFile);
	ff(f)->name = name;	/* lives as long as the file does */
	int rc = real_vfs->xOpen(real_vfs, name, ff(f)->real, flags, out);
	if (rc != SQLITE_OK) {
		free(ff(f)->real);
		f->pMethods = NULL;
		return rc;
	}
	f->pMethods = &methods;
	return SQLITE_OK;
}

static int
v_delete(sqlite3_vfs *v, const char *name, int sync)
{
	(void)v;
	pthread_mutex_lock(&lock);
	enum fault_kind kind = act(name);
	int rc = kind == FAULT_NONE ?
	    real_vfs->xDelete(real_vfs, name, sync) :
	    code_of(kind, SQLITE_IOERR_DELETE);
	pthread_mutex_unlock(&lock);
	return rc;
}

void
fault_install(void)
{
	if (real_vfs)
		return;
	real_vfs = sqlite3_vfs_find(NULL);
	fault_vfs = *real_vfs;
	fault_vfs.zName = "fault";
	fault_vfs.szOsFile = sizeof(struct fault_file);
	fault_vfs.xOpen = v_open;
	fault_vfs.xDelete = v_delete;
	fault_vfs.pNext = NULL;
	sqlite3_vfs_register(&fault_vfs, 1);
}

void
fault_arm(enum fault_kind kind, long n)
{
	pthread_mutex_lock(&lock);
	forget(NULL);
	armed = kind;
	nth = n;
	count = 0;
	hit = false;
	full_path[0] = '\0';
	pthread_mutex_unlock(&lock);
}

void
fault_full_while(const char *path)
{
	pthread_mutex_lock(&lock);
	armed = FAULT_FULL;
	snprintf(full_path, sizeof(full_path), "%s", path);
	pthread_mutex_unlock(&lock);
}

void
fault_disarm(void)
{
	pthread_mutex_lock(&lock);
	if (armed != FAULT_POWER)
		armed = FAULT_NONE;
	full_path[0] = '\0';
	pthread_mutex_unlock(&lock);
}

long
fault_count(void)
{
	pthread_mutex_lock(&lock);
	long n = count;
	pthread_mutex_unlock(&lock);
	return n;
}

bool
fault_hit(void)
{
	pthread_mutex_lock(&lock);
	bool was = hit;
	pthread_mutex_unlock(&lock);
	return was;
}

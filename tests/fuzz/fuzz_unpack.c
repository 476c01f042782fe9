/* Archives of a sandbox: whatever they say, nothing but files, directories and
 * links that stay come of them, below one name. */
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/rmtree.h"
#include "sandbox/transfer.h"

static size_t top;		/* bytes of the path of the directory */

static int
look(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	char target[TRANSFER_PATH_MAX + 1];

	(void)flag;
	if (ftw->level == 0)
		return 0;
	REQUIRE(strncmp(path + top, "/x", 2) == 0 && (path[top + 2] == 0 ||
	    path[top + 2] == '/'));
	REQUIRE(S_ISREG(st->st_mode) || S_ISDIR(st->st_mode) ||
	    S_ISLNK(st->st_mode));
	REQUIRE(S_ISLNK(st->st_mode) || !(st->st_mode & 07000));
	if (!S_ISLNK(st->st_mode))
		return 0;
	ssize_t n = readlink(path, target, sizeof(target) - 1);
	REQUIRE(n > 0);
	target[n] = 0;
	REQUIRE(transfer_link_stays(path + top + 1, target));
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* In memory, where that can be had: thousands of directories are made. */
	CLEANUP_FREE char *dir = mem_printf("%s/fuzz-unpack-XXXXXX",
	    access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	struct err err = { ERR_NONE, "" };
	CLEANUP_CLOSE int fd = memfd_create("archive", MFD_CLOEXEC);

	REQUIRE(mkdtemp(dir) && fd >= 0);
	REQUIRE(write(fd, data, size) == (ssize_t)size);
	REQUIRE(lseek(fd, 0, SEEK_SET) == 0);
	int rc = transfer_unpack(fd, dir, "x", &err);
	REQUIRE(rc == 0 || err.code != ERR_NONE);
	top = strlen(dir);
	REQUIRE(nftw(dir, look, 16, FTW_PHYS) == 0);
	REQUIRE(rc == 0 || rmdir(dir) == 0);
	if (rc == 0)
		rmtree(dir);
	return 0;
}

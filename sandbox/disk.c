#include "sandbox/disk.h"

#include <sys/statvfs.h>

int
disk_space(const char *path, struct disk_space *ret)
{
	struct statvfs fs;

	if (statvfs(path, &fs) < 0 || fs.f_blocks == 0)
		return -1;
	ret->free = (uint64_t)fs.f_bavail * fs.f_frsize;
	ret->total = (uint64_t)fs.f_blocks * fs.f_frsize;
	return 0;
}

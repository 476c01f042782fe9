/* Free space of a file system. */
#ifndef GATEHOUSE_DISK_H
#define GATEHOUSE_DISK_H

#include <stdint.h>

struct disk_space {
	uint64_t free, total;	/* bytes; free: for ordinary users */
};

/* One statvfs: quick on a local file system. -1: unknown. */
int disk_space(const char *path, struct disk_space *ret);

#endif

#include "base/rmtree.h"

#include <ftw.h>
#include <stdio.h>

static int
remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st, (void)flag, (void)ftw;
	(void)remove(path);
	return 0;
}

void
rmtree(const char *path)
{
	(void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

#include "tests/tmpdir.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

static char dir[64];

const char *
tmpdir_make(void)
{
	REQUIRE(mem_copy_str(dir, sizeof(dir), "/tmp/gatehouse-test-XXXXXX") == 0);
	REQUIRE(mkdtemp(dir));
	return dir;
}

static int
remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st, (void)flag, (void)ftw;
	return remove(path);
}

void
tmpdir_remove(void)
{
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *
tmpdir_path(const char *name)
{
	static char paths[4][256];
	static unsigned next;
	char *p = paths[next++ % 4];

	REQUIRE(mem_format(p, 256, "%s/%s", dir, name) == 0);
	return p;
}

void
tmpdir_write(const char *name, const char *text)
{
	FILE *f = fopen(tmpdir_path(name), "w");

	REQUIRE(f);
	REQUIRE(fwrite(text, 1, strlen(text), f) == strlen(text));
	REQUIRE(fclose(f) == 0);
	REQUIRE(chmod(tmpdir_path(name), 0600) == 0);
}

char *
tmpdir_read(const char *name)
{
	FILE *f = fopen(tmpdir_path(name), "r");
	char *text = mem_alloc(65536);

	REQUIRE(f);
	REQUIRE(fread(text, 1, 65535, f) < 65535);
	fclose(f);
	return text;
}

/*
 * Runs a fuzz target without libFuzzer: every file of its corpus as it is, each
 * prefix of it and each byte flipped (bounded), so that any compiler finds what
 * a fuzzer found once.  Linked with one target; the corpus folder is
 * tests/fuzz/corpus/NAME of a program called fuzz_NAME. Prints TAP.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define FILE_MAX (1 << 20)
#define VARIANTS_MAX 2048

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An exact heap copy: a read behind the end is seen by ASan. */
static void
run(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	REQUIRE(copy);
	if (size > 0)
		memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static void
run_variants(uint8_t *data, size_t size)
{
	size_t step = size / VARIANTS_MAX + 1;

	run(data, size);
	for (size_t i = 0; i < size; i += step) {
		run(data, i);
		for (int bit = 0; bit < 8; bit += 3) {
			data[i] ^= (uint8_t)(1 << bit);
			run(data, size);
			data[i] ^= (uint8_t)(1 << bit);
		}
	}
}

static size_t
read_file(const char *dir, const char *name, uint8_t *data)
{
	CLEANUP_FREE char *path = mem_printf("%s/%s", dir, name);
	FILE *f = fopen(path, "rb");

	if (!f) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		exit(1);
	}
	size_t n = fread(data, 1, FILE_MAX, f);

	fclose(f);
	return n;
}

static char *
corpus_of(const char *program)
{
	const char *top = getenv("TOP_SRCDIR");
	const char *name = strstr(program, "fuzz_");

	for (const char *p = name; p; p = strstr(p + 1, "fuzz_"))
		name = p;
	REQUIRE(name);
	return mem_printf("%s/tests/fuzz/corpus/%s", top ? top : ".", name + 5);
}

static int
visible(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

int
main(int argc, char **argv)
{
	CLEANUP_FREE char *dir = corpus_of(argv[0]);
	uint8_t *data = mem_alloc(FILE_MAX);
	struct dirent **files = NULL;
	int n = scandir(dir, &files, visible, alphasort);

	(void)argc;
	if (n <= 0) {
		printf("1..1\nnot ok 1 - corpus of %s\n", dir);
		mem_free(data);
		return 1;
	}
	printf("1..%d\n", n);
	for (int i = 0; i < n; i++) {
		fprintf(stderr, "%s\n", files[i]->d_name);
		run_variants(data, read_file(dir, files[i]->d_name, data));
		printf("ok %d - %s\n", i + 1, files[i]->d_name);
		fflush(stdout);
		free(files[i]);
	}
	free(files);
	mem_free(data);
	return 0;
}

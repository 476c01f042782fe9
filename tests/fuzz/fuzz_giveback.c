/* What a command hands back: foreign bytes that become variables. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "sandbox/env_refuse.h"
#include "sandbox/giveback.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(const char *data, size_t size, bool snapshot)
{
	struct giveback gb;

	giveback_parse(&gb, data, size, snapshot);
	REQUIRE(!gb.dir || gb.dir[0] == '/');
	REQUIRE(gb.exports.bytes <= VARS_MAX);
	REQUIRE(snapshot || (!gb.functions && !gb.aliases));
	for (size_t i = 0; i < gb.exports.n; i++) {
		const char *name = gb.exports.list[i].name;
		REQUIRE(env_may_persist(name) ||
		    (snapshot && strcmp(name, "PATH") == 0));
		REQUIRE(!strpbrk(name, "= \n\"'$`\\"));
	}
	giveback_done(&gb);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = mem_dup(size ? (const void *)data : "", size + !size);

	check(copy, size, false);
	check(copy, size, true);
	mem_free(copy);
	return 0;
}

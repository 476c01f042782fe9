/*
 * Any bytes get a verdict within a linear number of steps; what is silent holds
 * no control characters; the same bytes get the same verdict; isolation never
 * makes it stricter, a deny list never milder.
 */
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "gateway/gate/classify.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const deny[] = { "rm *", "git push *" };
	struct gate_ctx ctx = { .workspace = "/home/user/workspace",
		.home = "/home/user", .state_dir = "/home/user/.gatehouse" };
	struct gate_verdict v, w;
	const char *s = (const char *)data;

	gate_classify(&ctx, s, size, &v);
	REQUIRE(v.steps <= 4000 * size + 4000000);
	REQUIRE((v.level == GATE_ALLOW) == (v.nrules == 0));
	REQUIRE(v.nrules <= GATE_RULES_MAX && v.ncommands <= GATE_COMMANDS_MAX);
	for (size_t i = 0; i < v.nrules; i++)
		REQUIRE(v.rules[i].key[0] && v.rules[i].why[0]);
	if (v.level == GATE_ALLOW) {
		REQUIRE(utf8_valid(s, size));
		REQUIRE(!memchr(s, '\r', size) && !memchr(s, '\033', size));
	}
	gate_classify(&ctx, s, size, &w);
	REQUIRE(w.level == v.level && w.nrules == v.nrules);
	gate_verdict_done(&w);

	ctx.deny = deny;
	ctx.ndeny = ARRAY_LEN(deny);
	gate_classify(&ctx, s, size, &w);
	REQUIRE(w.level >= v.level);
	gate_verdict_done(&w);
	ctx.isolated = true;
	REQUIRE(gate_effective(&ctx, &v) <= v.level);
	gate_verdict_done(&v);
	return 0;
}

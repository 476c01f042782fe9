/* Whatever the bytes: valid names, values without a NUL, no crash. */
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "gateway/dotenv.h"
#include "gateway/env.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dotenv env;
	struct report rep;

	dotenv_init(&env);
	report_init(&rep);
	dotenv_parse(&env, "f", (const char *)data, size, &rep);
	for (size_t i = 0; i < env.n; i++) {
		const struct dotenv_var *var = &env.vars[i];

		REQUIRE(env_name_valid(var->name, strlen(var->name)));
		REQUIRE(utf8_valid(var->value, strlen(var->value)));
		REQUIRE(strlen(var->value) <= size);
		REQUIRE(dotenv_find(&env, var->name) >= var);
	}
	dotenv_done(&env);
	report_done(&rep);
	return 0;
}

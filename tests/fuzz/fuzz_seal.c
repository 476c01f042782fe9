/* The launcher's first frame: whatever the bytes, it parses or is refused, and
 * a sandbox is permitted only with all that makes it one. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Before mem.h, whose noreturn is a macro. */
#include "sandbox/native-init/helper.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct seal seal;
	struct wire_in in;

	memset(&seal, 0, sizeof(seal));
	if (wire_in_init(&in, data, size) != LAUNCHER_SEAL)
		return 0;
	bool good = seal_parse(&seal, &in);

	REQUIRE(!good || !seal.local_user || seal.local_uid != 0);
	REQUIRE(seal.sealed);
	REQUIRE(good || (!seal.local && !seal.native));
	if (seal.native) {
		REQUIRE(seal.uid != 0 && seal.gid != 0 && seal.filters[BOX_FULL].program &&
			seal.filters[BOX_FULL].len >= 8 &&
			seal.filters[BOX_FULL].len % 8 == 0 &&
			(!seal.bare || seal.filters[BOX_BARE].program) &&
			seal.state_dir[0] == '/');
		REQUIRE(seal.network < BOX_NETWORK_END &&
			(seal.network != BOX_NETWORK_FULL || seal.uplink[0] == '/'));
		for (size_t i = 0; i < seal.nbinds; i++)
			REQUIRE(seal.binds[i].source[0] == '/' && seal.binds[i].target[0] != '/');
	}
	/* Only once. */
	(void)wire_in_init(&in, data, size);
	REQUIRE(!seal_parse(&seal, &in));
	for (size_t i = 0; i < BOX_BINDS_MAX; i++) {
		free(seal.binds[i].source);
		free(seal.binds[i].target);
	}
	free(seal.state_dir);
	free(seal.image);
	free(seal.uplink);
	for (int i = 0; i < BOX_NLEVELS; i++)
		free(seal.filters[i].program);
	return 0;
}

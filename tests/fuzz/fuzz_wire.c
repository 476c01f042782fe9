/* The first byte picks a frame layout; what a reader accepts is whole and
 * survives being written and read again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
read_strv(struct wire_in *in)
{
	size_t n;
	const char **v = wire_get_strv(in, &n);

	if (!wire_in_end(in)) {
		free(v);
		return;
	}
	REQUIRE(v && !v[n]);
	struct wire_out out;
	struct wire_in back;
	size_t again;

	wire_out_init(&out, 7);
	wire_put_strv(&out, v);
	REQUIRE(!out.bad);
	REQUIRE(wire_in_init(&back, out.data, out.len) == 7);
	const char **w = wire_get_strv(&back, &again);
	REQUIRE(wire_in_end(&back) && again == n);
	for (size_t i = 0; i < n; i++)
		REQUIRE(strcmp(v[i], w[i]) == 0);
	free(w);
	free(v);
	wire_out_done(&out);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_in in;
	size_t len;

	if (size == 0)
		return 0;
	(void)wire_in_init(&in, data + 1, size - 1);
	switch (data[0] & 3) {
	case 0:
		read_strv(&in);
		break;
	case 1: {
		const char *s = wire_get_str(&in);
		REQUIRE(in.bad ? *s == 0 : strlen(s) < size);
		break;
	}
	case 2: {
		const unsigned char *b = wire_get_bytes(&in, &len);
		REQUIRE(in.bad ? len == 0 : b + len <= data + size);
		break;
	}
	default:
		(void)wire_get_u32(&in);
		(void)wire_get_u64(&in);
		(void)wire_get_str(&in);
		(void)wire_get_bytes(&in, &len);
		REQUIRE(!wire_in_end(&in) || in.left == 0);
	}
	return 0;
}

/* A patch as a model may write it, put into a text. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/agent/v4a.h"

/* "..." is a name like any other. */
static bool
climbs(const char *path)
{
	for (const char *p = path; (p = strstr(p, "..")); p++)
		if ((p == path || p[-1] == '/') && (p[2] == '/' || !p[2]))
			return true;
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char text[] = "one\n\ttwo\nthree\nfour\nint main(void)\n{\n"
	    "\treturn 0;\n}\n";
	char *copy = mem_dup(size ? (const void *)data : "", size + !size);
	struct v4a v;
	struct err err = { ERR_NONE, "" };
	int rc = v4a_parse(&v, copy, size, &err);

	REQUIRE(rc == 0 ? v.n > 0 : err.code != ERR_NONE);
	for (size_t i = 0; rc == 0 && i < v.n; i++) {
		CLEANUP_BUF struct buf out;

		REQUIRE(v.files[i].path && !climbs(v.files[i].path));
		REQUIRE(v.files[i].kind != V4A_MOVE || v.files[i].to);
		buf_init(&out, 1 << 16);
		if (v.files[i].kind == V4A_UPDATE &&
		    v4a_apply(&out, &v.files[i], text, sizeof(text) - 1, &err) == 0)
			REQUIRE(!out.over);
	}
	v4a_done(&v);
	mem_free(copy);
	return 0;
}

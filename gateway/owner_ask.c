/* What commands do with a client: one question, or finding out who owns. */
#include "gateway/owner_client.h"

#include <string.h>

#include "base/mem.h"
#include "gateway/owner.h"

#define CLAIM_STEP_MS 100

struct json *
owner_ask(const struct home *home, const char *cmd, int timeout_ms,
	struct err *err)
{
	return owner_request(home, json_set_str(json_object(), "cmd", cmd),
		timeout_ms, err);
}

struct json *
owner_request(const struct home *home, struct json *req, int timeout_ms,
	struct err *err)
{
	struct owner_client *c = owner_connect(home, err);
	struct json *frame = NULL;
	int r;

	if (!c) {
		json_free(&req);
		return NULL;
	}
	r = owner_client_send(c, req, err);
	while (r == 0) {
		r = owner_client_receive(c, timeout_ms, &frame, err);
		if (r == 0)
			r = err_set(err, ERR_TIMEOUT, "gatehouse doesn't answer");
		else if (r == 1 &&
		    strcmp(json_get_str(frame, "event", ""), "done") != 0) {
			json_free(&frame);
			r = 0;
		}
	}
	owner_disconnect(&c);
	return r == 1 ? frame : NULL;
}

int
owner_claim(const struct home *home, struct owner_client **ret_client,
	struct err *err)
{
	for (int left = OWNER_WAIT_MS; ; left -= CLAIM_STEP_MS) {
		int fd = owner_lock(home, left > 0 ? CLAIM_STEP_MS : 0, err);

		if (fd >= 0 || !err || err->code != ERR_EXISTS)
			return fd;
		*ret_client = owner_connect(home, NULL);
		if (*ret_client)
			return -2;
		if (left <= 0)
			return -1;
	}
}

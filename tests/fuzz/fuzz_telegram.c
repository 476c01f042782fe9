/* Any answer of getUpdates: messages have no NULL, valid UTF-8 and a key. */
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "platforms/telegram_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_msg(const struct msg *m)
{
	const char *const strings[] = { m->platform, m->account, m->event_id,
		m->chat_id, m->thread_id, m->user_id, m->user_name, m->msg_id,
		m->reply_to, m->text, m->press_id, m->press_data };

	for (size_t i = 0; i < ARRAY_LEN(strings); i++) {
		REQUIRE(strings[i]);
		REQUIRE(utf8_valid(strings[i], strlen(strings[i])));
	}
	REQUIRE(m->event_id[0] && m->account[0]);
	REQUIRE(m->kind != MSG_TEXT || (m->chat_id[0] && m->msg_id[0]));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct telegram_self self = { "7000001", "gate_demo_bot" };
	struct telegram_batch b;
	struct err err;
	struct json *root = json_parse((const char *)data, size, &err);

	if (!root)
		return 0;
	if (telegram_batch_init(&b, root, &self, &err) == 0) {
		REQUIRE(b.n + b.skipped <= b.updates);
		for (size_t i = 0; i < b.n; i++)
			check_msg(&b.msgs[i]);
	}
	telegram_batch_done(&b);
	return 0;
}

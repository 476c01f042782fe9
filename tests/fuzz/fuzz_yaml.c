/* Whatever the bytes: a sound tree, or an error. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/config_edit.h"
#include "gateway/config_yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *
look(void *arg, const char *name)
{
	(void)arg;
	return name[0] == 'A' ? "value" : NULL;
}

static size_t
check(const struct ytree *node, unsigned depth)
{
	size_t n = 1;

	REQUIRE(depth <= YTREE_DEPTH_MAX + 1);
	REQUIRE((node->kind == YTREE_TEXT) == (node->text != NULL));
	if (node->text) {
		char *missing = NULL;
		char *text = ytree_expand(node->text, look, NULL, &missing);

		REQUIRE((text == NULL) == (missing != NULL));
		mem_free(text);
		mem_free(missing);
	}
	for (const struct ytree *c = node->first; c; c = c->next) {
		REQUIRE((node->kind == YTREE_MAP) == (c->key != NULL));
		REQUIRE(node->kind != YTREE_MAP || ytree_get(node, c->key) == c);
		n += check(c, depth + 1);
	}
	return n;
}

/* A change that is accepted can be read back, and made again. */
static void
check_edit(const uint8_t *data, size_t size)
{
	static const char *const items[] = { "5" };
	const struct config_edit edit = { "agent.max_turns", items, 1, false, true };
	struct err err = { .code = ERR_NONE };
	char *text = config_edit_yaml((const char *)data, size, &edit, &err);
	char *again;

	if (!text) {
		REQUIRE(err.code == ERR_CONFIG);
		return;
	}
	again = config_edit_yaml(text, strlen(text), &edit, &err);
	REQUIRE(again && strcmp(text, again) == 0);
	mem_free(text);
	mem_free(again);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct report rep;
	struct ytree *root;

	report_init(&rep);
	root = ytree_parse("f", (const char *)data, size, &rep);
	REQUIRE((root == NULL) == (rep.errors > 0));
	if (root)
		REQUIRE(check(root, 0) <= YTREE_NODES_MAX + 1);
	ytree_free(&root);
	report_done(&rep);
	check_edit(data, size);
	return 0;
}

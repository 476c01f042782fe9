/* Between config.c and its parts. */
#ifndef GATEHOUSE_CONFIG_PRIV_H
#define GATEHOUSE_CONFIG_PRIV_H

#include "gateway/config.h"
#include "gateway/config_table.h"
#include "gateway/dotenv.h"

struct config_reader {
	struct config *cfg;
	const struct config_input *in;
	struct dotenv dotenv;
	struct report *rep;
};

/* .env under the process environment; empty counts as absent. */
const char *config_look(struct config_reader *r, const char *name,
	struct config_origin *ret_origin);
struct config_origin *config_origin_of(struct config *cfg,
	const struct config_key *key);
/* config_file.c: everything that config.yaml says. */
void config_read_file(struct config_reader *r);
/* config_check.c: values that don't fit together; after all sources. */
void config_check(struct config_reader *r);

#endif

/* `gatehouse config ...` */
#ifndef GATEHOUSE_CONFIG_CMD_H
#define GATEHOUSE_CONFIG_CMD_H

struct cli_ctx;

int config_check_main(struct cli_ctx *ctx);
int config_path_main(struct cli_ctx *ctx);
int config_set_main(struct cli_ctx *ctx);	/* config_set.c */
int config_dump_docs_main(struct cli_ctx *ctx);

#endif

/*
 * `gatehouse sessions ...`: looking at stored conversations and tidying up;
 * and `gatehouse backup`.
 * What only reads opens the database read-only, also beside a living owner;
 * what changes goes through the owner, or takes its lock when there is none.
 */
#ifndef GATEHOUSE_SESSIONS_CMD_H
#define GATEHOUSE_SESSIONS_CMD_H

struct cli_ctx;

int sessions_list_main(struct cli_ctx *ctx);
int sessions_show_main(struct cli_ctx *ctx);
int sessions_export_main(struct cli_ctx *ctx);
int sessions_search_main(struct cli_ctx *ctx);
int sessions_rename_main(struct cli_ctx *ctx);
int sessions_delete_main(struct cli_ctx *ctx);
int sessions_prune_main(struct cli_ctx *ctx);
int backup_main(struct cli_ctx *ctx);

#endif

/* `gatehouse approvals list`: what was asked, and what became of it. */
#ifndef GATEHOUSE_APPROVALS_CMD_H
#define GATEHOUSE_APPROVALS_CMD_H

struct cli_ctx;

int approvals_list_main(struct cli_ctx *ctx);

#endif

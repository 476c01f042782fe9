/*
 * `gatehouse approvals`: what was asked and decided (list), what is allowed for
 * longer (grants), and taking that back (revoke).
 */
#ifndef GATEHOUSE_APPROVALS_CMD_H
#define GATEHOUSE_APPROVALS_CMD_H

struct cli_ctx;

int approvals_list_main(struct cli_ctx *ctx);
int approvals_grants_main(struct cli_ctx *ctx);
int approvals_revoke_main(struct cli_ctx *ctx);

#endif

/* gatehouse sandbox exec: one command in a sandbox of its own. */
#ifndef GATEHOUSE_SANDBOX_CLI_H
#define GATEHOUSE_SANDBOX_CLI_H

struct cli_ctx;

int sandbox_exec_main(struct cli_ctx *ctx);

#endif

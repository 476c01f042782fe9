/* `gatehouse sandbox list`: the sandboxes that are open now. */
#ifndef GATEHOUSE_SANDBOX_LIST_H
#define GATEHOUSE_SANDBOX_LIST_H

struct cli_ctx;

int sandbox_list_main(struct cli_ctx *ctx);

#endif

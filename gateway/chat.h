/* `gatehouse chat`: the operator's own console. */
#ifndef GATEHOUSE_CHAT_H
#define GATEHOUSE_CHAT_H

struct cli_ctx;

int chat_main(struct cli_ctx *ctx);

#endif

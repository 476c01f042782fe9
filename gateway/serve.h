/* `gatehouse run`: the gateway. */
#ifndef GATEHOUSE_SERVE_H
#define GATEHOUSE_SERVE_H

struct cli_ctx;

int serve_main(struct cli_ctx *ctx);

#endif

/*
 * `gatehouse status`: what the configuration says, and what the running owner
 * says about itself.  Changes nothing and needs no owner.
 */
#ifndef GATEHOUSE_STATUS_H
#define GATEHOUSE_STATUS_H

struct cli_ctx;

int status_main(struct cli_ctx *ctx);

#endif

/* gatehouse sandbox put and get: files into and out of a workspace. */
#ifndef GATEHOUSE_SANDBOX_FILES_H
#define GATEHOUSE_SANDBOX_FILES_H

struct cli_ctx;

int sandbox_put_main(struct cli_ctx *ctx);
int sandbox_get_main(struct cli_ctx *ctx);

#endif

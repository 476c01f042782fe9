/* `gatehouse version`: what this build is and stands on. */
#ifndef GATEHOUSE_VERSION_H
#define GATEHOUSE_VERSION_H

struct cli_ctx;

const char *version_text(void);		/* "0.1.0" */
int version_main(struct cli_ctx *ctx);

#endif

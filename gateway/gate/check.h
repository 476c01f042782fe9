/* `gatehouse gate check`: shows what the gate would decide, runs nothing. */
#ifndef GATEHOUSE_GATE_CHECK_H
#define GATEHOUSE_GATE_CHECK_H

struct cli_ctx;

/* Exit status: 0 allow, 10 ask, 20 never; with --stdin 0. */
int gate_check_main(struct cli_ctx *ctx);

#endif

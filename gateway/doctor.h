/*
 * `gatehouse doctor`: tries what a start needs and says what is wrong and how
 * to cure it.  One line a finding.
 */
#ifndef GATEHOUSE_DOCTOR_H
#define GATEHOUSE_DOCTOR_H

struct cli_ctx;

int doctor_main(struct cli_ctx *ctx);

#endif

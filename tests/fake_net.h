/*
 * base/resolve.h and base/dial.h on the hand-moved clock.  Link before
 * libbase.a.  Names have the addresses that the test says, a connection is one
 * end of a socket pair.  Held everywhere: only an address that is public, or
 * that the test named with fake_net_permit(), is ever dialled, and only one
 * that the last answer for the name had, or that was asked for as such.
 */
#ifndef GATEHOUSE_TESTS_FAKE_NET_H
#define GATEHOUSE_TESTS_FAKE_NET_H

#include "base/dial.h"
#include "base/resolve.h"

void fake_net_reset(void);
/* addresses: separated by blanks; "" unknown; NULL: never answers. The answer
 * holds until the next call for that name. */
void fake_net_name(const char *name, const char *addresses, msec_t latency);
void fake_net_permit(const char *address);
void fake_net_own(const char *address);	/* dial_is_own() says yes */
void fake_net_fail_dial(enum err_code code);	/* ERR_NONE: they work again */
void fake_net_hang_dial(bool hang);

unsigned fake_net_look_ups(void);
unsigned fake_net_dials(void);
const char *fake_net_dialled(void);	/* "1.2.3.4:80" of the last one */
/* The server's end of the last connection; the test closes it. -1: none. */
int fake_net_server(void);

#endif

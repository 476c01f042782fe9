/*
 * The environment of a command, built from nothing: the basics, what the
 * operator passes through (never credentials), the login shell's exports, what
 * earlier commands exported.  Pure.
 */
#ifndef GATEHOUSE_ENV_H
#define GATEHOUSE_ENV_H

#include "base/err.h"
#include "sandbox/vars.h"

#define ENV_MAX (256 * 1024)	/* bytes of a whole environment */

struct env_spec {
	const char *home, *user;	/* as commands see them */
	const char *const *passthrough;	/* names, NULL-terminated; NULL: none */
	const char *const *environ;	/* where their values come from; or NULL */
	const char *timezone;		/* TZ; NULL or "": as in environ */
	const char *const *refuse;	/* more credential names; NULL: none */
	const char *const *backend;	/* NAME=value of the backend's; NULL: none */
	const struct vars *login;	/* exports of the snapshot; NULL: none */
	const struct vars *exports;	/* of earlier commands; NULL: none */
};

/* ret: uninitialised; vars_done() it. */
void env_build(struct vars *ret, const struct env_spec *spec);

/*
 * Names of passthrough that are refused, joined with ", "; NULL if none; caller
 * frees.  For one warning at the start.
 */
char *env_passthrough_refused(const char *const *passthrough,
	const char *const *refuse);

#endif

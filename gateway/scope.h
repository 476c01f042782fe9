/*
 * Which conversations share a sandbox and its workspace
 * (gateway.sandbox_scope).  Made of ids, escaped as in session keys.  Pure.
 */
#ifndef GATEHOUSE_SCOPE_H
#define GATEHOUSE_SCOPE_H

#include "gateway/route.h"

enum sandbox_scope { SCOPE_SESSION, SCOPE_USER, SCOPE_SHARED };

enum sandbox_scope scope_parse(const char *name);	/* of the configuration */
/*
 * The scope of a sandbox_key.  SCOPE_USER: of who wrote; a writer without an id
 * shares with nobody.  Caller frees.
 */
char *scope_text(enum sandbox_scope scope, const char *session_key,
	const struct origin *origin);

#endif

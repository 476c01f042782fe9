/*
 * Keys of Hermes' files that mean nothing to this version.  They are no
 * mistakes: one gives a note, or, where ignoring it would make somebody less
 * safe than the file says, an error.
 */
#ifndef GATEHOUSE_CONFIG_KNOWN_H
#define GATEHOUSE_CONFIG_KNOWN_H

#include <stddef.h>

struct config_known {
	const char *path;	/* "a.b": this key; "a.*": it and all below */
	/* Not NULL: only these values may be ignored ("a|b"), others stop the start. */
	const char *harmless;
	const char *note;	/* NULL: "not used by this version" */
};

/* By canonical path; NULL if it isn't one. */
const struct config_known *config_known_find(const char *path);
/* Its names, for suggestions. */
size_t config_known_count(void);
const struct config_known *config_known_at(size_t i);

#endif

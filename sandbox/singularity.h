/*
 * Apptainer or Singularity: an instance a sandbox, by the command line tool,
 * started through the launcher.  Two names of one backend; which of the two
 * programs it is, is found out.
 */
#ifndef GATEHOUSE_SINGULARITY_H
#define GATEHOUSE_SINGULARITY_H

#include <stdbool.h>
#include <stdint.h>

#include "sandbox/backend.h"

/* Strings and lists (NULL-terminated) are borrowed while the backend lives. */
struct singularity_opts {
	const char *helper;	/* path of gatehouse-helper */
	const char *scratch;	/* for images and overlays; NULL: the state dir */
	const char *const *binds;	/* "SOURCE:TARGET[:ro|rw]" */
	const char *const *environ;	/* where its variables are looked up */
	bool persistent;	/* what is written beside the workspace is kept */
	uint64_t memory;	/* bytes; 0: no limit */
	unsigned cpu_milli;	/* 1000: one processor; 0: no limit */
};

#define SINGULARITY_IMAGE "docker://nikolaik/python-nodejs:python3.11-nodejs20"

extern const struct backend backend_singularity;
extern const struct backend backend_apptainer;

/* Pure, for the check of the configuration too: -1 and the reason. */
int singularity_image_check(const char *image, struct err *err);

#endif

/*
 * Where commands run: the one place that decides backend, image and lifetime,
 * for sessions that come from a platform and for the operator's own console
 * (rules 5.1).  Pure; read once at start.
 */
#ifndef GATEHOUSE_OVERRIDE_H
#define GATEHOUSE_OVERRIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "gateway/config.h"
#include "gateway/report.h"

/* A word of the configuration and where it stood. "" = absent. */
struct override_word {
	const char *text;
	const char *name;	/* "terminal.backend", "TERMINAL_ENV" */
	const char *file;	/* NULL: not from a file */
	unsigned line;
};

struct override_in {
	struct override_word gateway_backend;
	struct override_word gateway_image;
	int64_t gateway_lifetime_s;	/* -1: absent */
	struct override_word terminal_backend;	/* terminal.backend or TERMINAL_ENV */
	struct override_word native_image, docker_image, singularity_image;
	int64_t terminal_lifetime_s;
};

/* Strings are static or borrowed from the input; image "": the default. */
struct override {
	const char *backend, *image;		/* of sessions from platforms */
	int64_t lifetime_s;
	const char *console_backend, *console_image;
	int64_t console_lifetime_s;
	bool overridden;	/* gateway.terminal_backend is set */
	bool host_commands;	/* backend is local: warned about at each start */
};

/* -1 after errors in rep; warnings and notes go there too. */
int override_decide(const struct override_in *in, struct override *ret,
	struct report *rep);
/* The same from the configuration (config_opts.c). */
int override_resolve(const struct config *cfg, struct override *ret,
	struct report *rep);
/* Table for the documentation: backend, form of its image, default. */
void override_print_docs(FILE *out);
/* "Gateway terminal backend override: B (image: I)"; caller frees. */
char *override_line(const struct override *o);

#endif

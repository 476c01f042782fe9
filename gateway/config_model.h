/* Which model answers, decided from the configuration alone. Pure. */
#ifndef GATEHOUSE_CONFIG_MODEL_H
#define GATEHOUSE_CONFIG_MODEL_H

#include <stdbool.h>

#include "gateway/config.h"

enum model_choice {
	MODEL_SERVER,		/* at base_url */
	MODEL_PROBE_LOCAL,	/* ask 127.0.0.1:11434 and :8080, else the demo */
	MODEL_DEMO,
};

/* Strings are borrowed from the configuration or static. */
struct config_model {
	enum model_choice choice;
	const char *base_url;
	const char *api_key;	/* "" = none */
	const char *name;	/* "" = the server's first (MODEL_PROBE_LOCAL) */
	const char *why;	/* "config.yaml", "OPENROUTER_API_KEY", ... */
};

/*
 * config.yaml, else OPENROUTER_API_KEY, else OPENAI_API_KEY, else (may_probe:
 * the operator's own console) a server on this machine, else the demo.
 */
struct config_model config_model_choice(const struct config *cfg,
	bool may_probe);

#endif

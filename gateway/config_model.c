#include "gateway/config_model.h"

#include <string.h>

#define OPENROUTER_URL "https://openrouter.ai/api/v1"
#define OPENROUTER_MODEL "openrouter/auto"
#define OPENAI_URL "https://api.openai.com/v1"
#define OPENAI_MODEL "gpt-5-mini"

static const char *
first(const char *a, const char *b)
{
	return *a ? a : b;
}

static struct config_model
server(const char *url, const char *key, const char *name, const char *why)
{
	return (struct config_model){ MODEL_SERVER, url, key, name, why };
}

struct config_model
config_model_choice(const struct config *cfg, bool may_probe)
{
	const char *provider = cfg->model.provider;
	const char *url = cfg->model.base_url;
	const char *key = cfg->model.api_key;
	const char *name = cfg->model.name;
	const char *openai_url = first(cfg->keys.openai_base_url, OPENAI_URL);
	bool is_auto = strcmp(provider, "auto") == 0;

	if (strcmp(provider, "demo") == 0)
		return (struct config_model){ MODEL_DEMO, "", "", "", "config.yaml" };
	if (strcmp(provider, "openrouter") == 0)
		return server(first(url, OPENROUTER_URL),
			first(key, cfg->keys.openrouter),
			first(name, OPENROUTER_MODEL), "config.yaml");
	if (strcmp(provider, "openai") == 0)
		return server(first(url, openai_url), first(key, cfg->keys.openai),
			first(name, OPENAI_MODEL), "config.yaml");
	/* A key from the environment never goes to a server that the file names. */
	if (!is_auto || *url)
		return server(url, key, name, "config.yaml");
	if (*cfg->keys.openrouter)
		return server(OPENROUTER_URL, cfg->keys.openrouter,
			first(name, OPENROUTER_MODEL), "OPENROUTER_API_KEY");
	if (*cfg->keys.openai)
		return server(openai_url, cfg->keys.openai,
			first(name, OPENAI_MODEL), "OPENAI_API_KEY");
	if (may_probe)
		return (struct config_model){ MODEL_PROBE_LOCAL, "", "", name, "" };
	return (struct config_model){ MODEL_DEMO, "", "", "", "" };
}

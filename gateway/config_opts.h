/*
 * Fills the option structs that lower floors declare.  Strings are borrowed
 * from the configuration, which must outlive their users.
 */
#ifndef GATEHOUSE_CONFIG_OPTS_H
#define GATEHOUSE_CONFIG_OPTS_H

#include "base/http.h"
#include "gateway/config.h"
#include "gateway/config_docker.h"
#include "gateway/override.h"
#include "gateway/reset_policy.h"
#include "platforms/telegram.h"
#include "sandbox/local.h"
#include "sandbox/native.h"
#include "sandbox/ssh.h"
#include "sandbox/sandbox.h"
#include "sandbox/singularity.h"

/* Everything sandboxes_new() needs; own memory is freed by _done. */
struct config_sandbox {
	struct sandbox_opts opts;
	struct native_opts native;
	struct local_opts local;
	struct config_docker docker;
	struct ssh_opts ssh;
	struct singularity_opts singularity;
	struct native_bind *binds;
	char **bind_texts;
	char *local_cwd, *ssh_cwd, *helper;
};
void config_sandbox_init(struct config_sandbox *s, const struct config *cfg,
	const struct override *where, const char *const *environ);
void config_sandbox_done(struct config_sandbox *s);

/* Lists of native.network_*, borrowed. */
struct egress_opts config_egress(const struct config *cfg);
/* terminal.<backend>_image; NULL: the backend's default. */
const char *config_image(const struct config *cfg, const char *backend);

struct http_opts config_http_opts(const struct config *cfg);
struct telegram_opts config_telegram_opts(const struct config *cfg);
/* Telegram is to be served: on, and there is a token. */
bool config_telegram_on(const struct config *cfg);

struct reset_rules config_reset_rules(const struct config *cfg);

/* Ids that may talk: the platform's own list and the gateway's. */
struct config_people {
	const char **users;	/* NULL-terminated; borrowed strings */
	bool allow_all;
};
void config_people_init(struct config_people *p, const struct config *cfg);
void config_people_done(struct config_people *p);

#endif

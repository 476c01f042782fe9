#include "gateway/agent/retry.h"

#define TRIES_MAX 3
#define WAIT_FIRST 2000
#define WAIT_MAX 60000
#define WAITED_MAX 300000	/* longer nobody waits for an answer in a chat */

void
retry_init(struct retry *r)
{
	*r = (struct retry){ 0 };
}

/* Up to a quarter of ms, so that many runs don't come back in one moment. */
static msec_t
jitter(msec_t ms, uint64_t random)
{
	return (msec_t)(random % (uint64_t)(ms / 4 + 1));
}

msec_t
retry_next(struct retry *r, const struct model_result *res, uint64_t random)
{
	msec_t wait = (msec_t)WAIT_FIRST << r->tries;

	if (res->error != MODEL_ERR_RETRY || res->retry_after_ms < 0 ||
	    r->tries >= TRIES_MAX)
		return -1;
	if (wait > WAIT_MAX)
		wait = WAIT_MAX;
	wait -= jitter(wait, random);
	/* what the server asks for is the least */
	if (res->retry_after_ms > 0)
		wait = res->retry_after_ms + jitter(WAIT_FIRST, random);
	if (r->waited + wait > WAITED_MAX)
		return -1;
	r->tries++;
	r->waited += wait;
	return wait;
}

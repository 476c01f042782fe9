#include "gateway/gate/operator.h"

#include "base/log.h"
#include "base/mem.h"

struct permit *
gate_permit_operator(const struct permit_terms *terms)
{
	/* A run's generation would mean that a model asked. */
	REQUIRE(terms->generation == 0);
	log_debug("gate", NULL, "the operator's own command in %s",
	    terms->sandbox);
	return permit_issue(terms);
}

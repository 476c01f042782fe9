#include "gateway/agent/model.h"

void
model_free(struct model **model)
{
	struct model *m = *model;

	*model = NULL;
	if (m)
		m->type->free(m);
}

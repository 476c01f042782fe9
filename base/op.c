#include "base/op.h"

#include "base/mem.h"

#define OP_MAGIC 0x6f705f31u
#define OP_DEAD 0x6f705f30u

static size_t live;

void
op_init(struct op *op, const struct op_type *type)
{
	REQUIRE(type && type->cancel);
	op->magic = OP_MAGIC;
	op->type = type;
	live++;
}

void
op_finish(struct op *op)
{
	REQUIRE(op->magic == OP_MAGIC);
	op->magic = OP_DEAD;
	live--;
}

void
op_cancel(struct op **opp)
{
	if (!opp || !*opp)
		return;
	struct op *op = STEAL(*opp);
	op_finish(op);
	op->type->cancel(op);
}

size_t
op_live(void)
{
	return live;
}

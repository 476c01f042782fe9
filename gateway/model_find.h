/*
 * Which model answers: what the configuration says, else (the operator's own
 * console only) an OpenAI-compatible server on this machine, else the stand-in.
 */
#ifndef GATEHOUSE_MODEL_FIND_H
#define GATEHOUSE_MODEL_FIND_H

#include "base/http.h"
#include "base/loop.h"
#include "base/op.h"
#include "gateway/agent/model.h"
#include "gateway/config_model.h"

/* The model is yours. */
typedef void model_find_cb(void *arg, struct model *model);
struct op *model_find(struct loop *loop, struct http *http,
	const struct config_model *wanted, model_find_cb *cb, void *arg);

#endif

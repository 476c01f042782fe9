/* One simple command: its words resolved, its redirections looked at. */
#ifndef GATEHOUSE_GATE_SIMPLE_H
#define GATEHOUSE_GATE_SIMPLE_H

#include "gateway/gate/walk.h"

void simple_walk(struct walk *w, const struct sh_node *n,
	const struct gate_flow *in, struct gate_flow *ret_out);
/* Checks targets; changes *in where the input comes from a redirection. True
 * if the output goes to a file. */
bool simple_redirections(struct walk *w, const struct sh_redir *r,
	struct gate_flow *in);
/* functions.c: a definition; the functions that a branch which may not have run
 * defined; a call. */
void walk_function(struct walk *w, const struct sh_node *n);
void walk_doubt_functions(struct walk *w, const struct walk_func *old);
void walk_call(struct walk *w, struct walk_func *f, struct gate_cmd *c);
void walk_uncalled(struct walk *w);
void walk_deny(struct walk *w, const char *glob);
const char *gate_readable(struct arena *a, const char *s);

#endif

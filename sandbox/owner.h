/*
 * Who owns what outlives a process of ours: PID-START-WORLD, a process of one
 * boot of one machine (and of one PID namespace).  Whoever can't be judged from
 * here lives.
 */
#ifndef GATEHOUSE_SANDBOX_OWNER_H
#define GATEHOUSE_SANDBOX_OWNER_H

#define OWNER_TEXT_MAX 64

enum owner_is {
	OWNER_NONE,		/* the text names no owner */
	OWNER_SELF,
	OWNER_LIVING,
	OWNER_DEAD,
	OWNER_ELSEWHERE,	/* another boot, or another PID namespace of this one */
};

void owner_self(char out[OWNER_TEXT_MAX]);
/* Of a name that ends with an owner; *ret: that end, NULL if there is none. */
enum owner_is owner_judge(const char *name, const char **ret);

#endif

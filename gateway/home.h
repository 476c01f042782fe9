/*
 * The state directory: where it is, that it is ours and private, and the
 * instance id that everything we own carries.
 */
#ifndef GATEHOUSE_HOME_H
#define GATEHOUSE_HOME_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

#define HOME_PROFILE "main"
#define HOME_INSTANCE_MAX 33

struct home {
	char *dir;		/* absolute */
	bool exists;
	uid_t uid;		/* whose it is, if it exists */
	bool gave_up_root;	/* for gateway.user */
	bool tightened;		/* its mode was too open and has been corrected */
};

/*
 * --home DIR, else GATEHOUSE_HOME, else ~/.gatehouse.  Looks, creates nothing:
 * an absent directory is no error.
 */
int home_find(struct home *home, const char *option, const char *const *environ,
	struct err *err);
/* One of another owner is an error, with the cure. */
int home_check(const struct home *home, struct err *err);
void home_done(struct home *home);
/* Makes it (0700) or corrects a mode that lets others in. */
int home_create(struct home *home, struct err *err);
/* DIR/name; caller frees. */
char *home_path(const struct home *home, const char *name);

/*
 * The random id of this installation, bound to the machine and to the
 * directory's inode: a restored or cloned copy gets a new one (rules 3.8).
 */
int home_instance(const struct home *home, char ret_id[HOME_INSTANCE_MAX],
	bool *ret_new, struct err *err);

#endif

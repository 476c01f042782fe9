/*
 * A private sshd on loopback with keys of its own, for tests of backend ssh.
 * Started by root it serves an account that exists for it alone (its view of
 * /etc/passwd is its own) and root; else only ourselves.
 */
#ifndef GATEHOUSE_TEST_REAL_SSHD_H
#define GATEHOUSE_TEST_REAL_SSHD_H

#include <stdbool.h>
#include <sys/types.h>

struct sshd {
	char dir[64];		/* its files; removed at the stop */
	char key[96], other_key[96], known_hosts[96];
	const char *user;	/* the account; NULL: ours */
	unsigned port;
	pid_t pid;		/* 0: not running */
};

/* False: there is no sshd or ssh-keygen here, or it would not start (why). */
bool sshd_start(struct sshd *s, const char **why);
void sshd_stop(struct sshd *s);		/* and every session of it */
void sshd_restart(struct sshd *s);	/* same port and keys */
void sshd_new_host_key(struct sshd *s);	/* takes effect at the restart */
/* Ends the processes of open sessions, as a cut line does; sshd goes on. */
void sshd_cut(struct sshd *s);

#endif

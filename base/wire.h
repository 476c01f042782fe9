/*
 * Frames between the gateway, the launcher and what the launcher starts: one
 * SOCK_SEQPACKET message = one frame = a u32 type and typed fields, descriptors
 * beside it.  Both ends are one build on one machine, so numbers are in native
 * order.  Readers check every size; the first bad field makes the whole frame
 * bad, so a parser tests once, at its end (wire_in_end).
 *
 * Depends on libc only: the static helper links it too.
 */
#ifndef GATEHOUSE_WIRE_H
#define GATEHOUSE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Of all frames; goes up with every change. Helper and gateway must agree. */
#define WIRE_VERSION "4"
#define WIRE_VERSION_EXIT 4	/* the helper's status when they don't */

/* Below the smallest usual wmem_default (208 KiB), which bounds a message. */
#define WIRE_FRAME_MAX (160u * 1024)
#define WIRE_FDS_MAX 16
#define WIRE_STRV_MAX 4096

/* Gateway to launcher. */
enum launcher_frame {
	LAUNCHER_SEAL = 1,	/* see seal_parse in native-init/seal.c */
	LAUNCHER_SPAWN,		/* strv argv, strv env, str cwd, u32 flags | fds: channel, 0, 1.. */
	LAUNCHER_OPEN,		/* u32 box, str workspace below the sealed root, u32 level | fds: channel */
	LAUNCHER_KILL,		/* u32 box */
	LAUNCHER_TEND,		/* u32 verb, str workspace as above | fds: channel */
};

enum { SPAWN_KEEP = 1, SPAWN_TERMINAL = 2 };	/* flags of LAUNCHER_SPAWN */

/* The channel of one child: the keeper's side of it, then the gateway's. */
enum child_frame {
	CHILD_STARTED = 32,	/* u32 pid */
	CHILD_FAILED,		/* u32 errno, str step; nothing ran */
	CHILD_EXITED,		/* u32 wait status, u32 leftovers */
	CHILD_DEAD,		/* the tree is gone */
	CHILD_KILL,		/* from the gateway */
};

struct wire_out {
	unsigned char *data;	/* NULL until the first field */
	size_t len, size;
	bool bad;		/* over WIRE_FRAME_MAX or out of memory */
};

void wire_out_init(struct wire_out *out, uint32_t type);
void wire_out_done(struct wire_out *out);
void wire_put_u32(struct wire_out *out, uint32_t v);
void wire_put_u64(struct wire_out *out, uint64_t v);
void wire_put_bytes(struct wire_out *out, const void *data, size_t len);
void wire_put_str(struct wire_out *out, const char *s);	/* NULL like "" */
void wire_put_strv(struct wire_out *out, const char *const *v);	/* NULL: empty */

struct wire_in {
	const unsigned char *data;
	size_t left;
	bool bad;
};

/* Returns the type; 0 if the frame is too short. data must outlive `in`. */
uint32_t wire_in_init(struct wire_in *in, const void *data, size_t len);
uint32_t wire_get_u32(struct wire_in *in);	/* 0 if bad */
uint64_t wire_get_u64(struct wire_in *in);
/* Points into the frame; not aligned. */
const void *wire_get_bytes(struct wire_in *in, size_t *ret_len);
/* Without NUL inside, NUL-terminated in the frame; "" if bad. */
const char *wire_get_str(struct wire_in *in);
/* Array ends with NULL, strings point into the frame; free() it. NULL if bad. */
const char **wire_get_strv(struct wire_in *in, size_t *ret_n);
bool wire_in_end(const struct wire_in *in);	/* all read, nothing bad */

/* 0, or -1 with errno (EMSGSIZE for a bad frame). flags as for sendmsg(2). */
int wire_send(int fd, const struct wire_out *out, const int *fds, size_t nfds,
	int flags);
/*
 * Length of the frame, 0 at the end of the connection, -1 with errno.  A frame
 * larger than size, or with more descriptors than max_fds, is EBADMSG and
 * everything that came with it is closed.  Descriptors are close-on-exec.
 */
ssize_t wire_recv(int fd, void *data, size_t size, int *fds, size_t max_fds,
	size_t *ret_nfds, int flags);

#endif

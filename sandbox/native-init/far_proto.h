/*
 * A command on the far side of a byte stream: in a container, on another
 * machine.  The helper runs there (`gatehouse-helper far ID`) and talks frames
 * on its standard input and output; what carries them is the transport's
 * business.  A frame is a type byte, a u32 length and that many bytes; all
 * numbers have the most significant byte first, for the other machine may be
 * of another kind.
 *
 * The helper says FAR_MAGIC first; what came before is noise of a login shell
 * or an error message of the transport's other end.
 */
#ifndef GATEHOUSE_FAR_PROTO_H
#define GATEHOUSE_FAR_PROTO_H

#include <stddef.h>
#include <stdint.h>

#define FAR_MAGIC "\x01gatehouse-far-1\n"
#define FAR_MAGIC_LEN (sizeof(FAR_MAGIC) - 1)
#define FAR_HEADER 5
#define FAR_FRAME_MAX (64u * 1024)	/* bytes after the header */
#define FAR_ENV_MAX (1024u * 1024)
#define FAR_SCRIPT_MAX (9u * 1024 * 1024)
#define FAR_INPUT_MAX (17u * 1024 * 1024)	/* waiting for the command */
#define FAR_ID_MAX 64

enum far_frame {
	/* near to far, in this order */
	FAR_START = 1,	/* u32 flags, u32 seconds until it is ended, directory */
	FAR_ENV,	/* "NAME=value\0"..., any number of frames, cut anywhere */
	FAR_SCRIPT,	/* the same */
	FAR_RUN,	/* all is there: go */
	FAR_INPUT,	/* bytes for the command's standard input */
	FAR_INPUT_END,
	FAR_KILL,	/* any time; the end of the stream means the same */

	/* far to near */
	FAR_STARTED = 32,	/* u32 pid, u32 1: a bash, 0: /bin/sh */
	FAR_FAILED,	/* u32 errno, step; nothing ran, the last frame */
	FAR_OUT,	/* bytes of standard output, or of both */
	FAR_ERR,	/* of standard error, with FAR_SPLIT */
	FAR_GIVEN,	/* of the give-back descriptor; whole at FAR_EXITED */
	FAR_EXITED,	/* u32 wait status, u32 processes left behind */
	FAR_DEAD,	/* the tree is gone; the last frame */
	FAR_TAKEN,	/* u32 bytes of input that the command's pipe took */
	FAR_DEAF,	/* nobody there reads input any more */
};

enum far_flags {
	FAR_KEEP = 1,		/* children outlive the shell */
	FAR_SPLIT = 2,
	FAR_STDIN = 4,		/* else /dev/null */
	FAR_NO_USERNS = 8,	/* new user namespaces are refused to it */
};

/* What `gatehouse-helper far-kill` prints. */
#define FAR_KILL_DEAD "dead\n"
#define FAR_KILL_ALIVE "alive\n"

static inline void
far_put_u32(unsigned char *p, uint32_t v)
{
	p[0] = (unsigned char)(v >> 24);
	p[1] = (unsigned char)(v >> 16);
	p[2] = (unsigned char)(v >> 8);
	p[3] = (unsigned char)v;
}

static inline uint32_t
far_get_u32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	    (uint32_t)p[2] << 8 | p[3];
}

#endif

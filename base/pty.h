/*
 * A new pseudo-terminal.  Libc only: the helper links it, too.  Never blocks.
 */
#ifndef GATEHOUSE_PTY_H
#define GATEHOUSE_PTY_H

#define PTY_ROWS 30
#define PTY_COLS 120

/*
 * From this multiplexer ("/dev/ptmx"), PTY_ROWS by PTY_COLS: ret[0] is our
 * side, ret[1] the program's.  Both close-on-exec; neither becomes anybody's
 * controlling terminal.  -1: errno.
 */
int pty_open(const char *multiplexer, int ret[2]);

#endif

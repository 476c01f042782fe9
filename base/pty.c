#include "base/pty.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

int
pty_open(const char *multiplexer, int ret[2])
{
	struct winsize size = { .ws_row = PTY_ROWS, .ws_col = PTY_COLS };
	int locked = 0;

	ret[0] = open(multiplexer, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (ret[0] < 0)
		return -1;
	ret[1] = -1;
	/* By the descriptor, not by a name that may mean another mount. */
	if (ioctl(ret[0], TIOCSPTLCK, &locked) == 0 &&
	    ioctl(ret[0], TIOCSWINSZ, &size) == 0)
		ret[1] = ioctl(ret[0], TIOCGPTPEER,
			O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (ret[1] >= 0)
		return 0;
	int errnum = errno;
	close(ret[0]);
	errno = errnum;
	return -1;
}

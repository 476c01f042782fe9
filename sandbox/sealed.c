#include "sandbox/sealed.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"

int
sealed_fd(const void *data, size_t len, bool readonly, struct err *err)
{
	int fd = memfd_create("gatehouse", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	const char *p = data;
	size_t left = len;

	while (fd >= 0 && left) {
		ssize_t n = write(fd, p, left);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			close(fd);
			fd = -1;
			break;
		}
		p += n;
		left -= (size_t)n;
	}
	if (fd < 0 || lseek(fd, 0, SEEK_SET) < 0 || fcntl(fd, F_ADD_SEALS,
	    F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0) {
		err_set_errno(err, errno, "the text of a command could not be handed over");
		if (fd >= 0)
			close(fd);
		return -1;
	}
	if (!readonly)
		return fd;
	CLEANUP_FREE char *path = mem_printf("/proc/self/fd/%d", fd);
	int again = open(path, O_RDONLY | O_CLOEXEC);
	if (again < 0)
		err_set_errno(err, errno, "the input of a command");
	close(fd);
	return again;
}

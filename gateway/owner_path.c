#include "gateway/owner_path.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"
#include "gateway/owner.h"

#define LOCK_NAME "gatehouse.lock"
#define SOCKET_NAME "control.sock"
#define BACKLOG 64
#define RETRY_MS 50

static int
open_dir(const struct home *home, struct err *err)
{
	int dir = open(home->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return err_set_errno(err, errno, "state directory %s", home->dir);
	return dir;
}

static int
new_socket(int dir, struct sockaddr_un *addr, struct err *err)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return err_set_errno(err, errno, "can't make a socket");
	memset(addr, 0, sizeof(*addr));
	addr->sun_family = AF_UNIX;
	REQUIRE(mem_format(addr->sun_path, sizeof(addr->sun_path),
		"/proc/self/fd/%d/" SOCKET_NAME, dir) == 0);
	return fd;
}

int
owner_path_listen(const struct home *home, struct err *err)
{
	CLEANUP_CLOSE int dir = open_dir(home, err);
	struct sockaddr_un addr;
	int fd = dir < 0 ? -1 : new_socket(dir, &addr, err);

	if (fd < 0)
		return -1;
	/* Whoever left it is dead: we hold the lock. */
	unlinkat(dir, SOCKET_NAME, 0);
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    fchmodat(dir, SOCKET_NAME, 0600, 0) || listen(fd, BACKLOG) ||
	    fcntl(fd, F_SETFL, O_NONBLOCK)) {
		err_set_errno(err, errno, "can't listen on %s/" SOCKET_NAME, home->dir);
		close(fd);
		return -1;
	}
	return fd;
}

int
owner_path_connect(const struct home *home, struct err *err)
{
	CLEANUP_CLOSE int dir = open_dir(home, err);
	struct sockaddr_un addr;
	int fd = dir < 0 ? -1 : new_socket(dir, &addr, err);
	int e;

	if (fd < 0)
		return -1;
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		return fd;
	e = errno;
	close(fd);
	if (e == ENOENT || e == ECONNREFUSED)
		return err_set(err, ERR_NOT_FOUND, "no gatehouse runs for %s",
			home->dir);
	return err_set_errno(err, e, "can't reach %s/" SOCKET_NAME, home->dir);
}

void
owner_path_remove(const struct home *home)
{
	CLEANUP_FREE char *path = home_path(home, SOCKET_NAME);

	unlink(path);
}

static pid_t
read_pid(int fd)
{
	char text[32];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return (pid_t)strtol(text, NULL, 10);
}

pid_t
owner_path_holder(const struct home *home)
{
	CLEANUP_FREE char *path = home_path(home, LOCK_NAME);
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK)
		return 0;
	return read_pid(fd);
}

int
owner_lock(const struct home *home, int wait_ms, struct err *err)
{
	CLEANUP_FREE char *path = home_path(home, LOCK_NAME);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	char text[32];

	if (fd < 0)
		return err_set_errno(err, errno, "can't open %s", path);
	while (flock(fd, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK && errno != EINTR) {
			err_set_errno(err, errno, "can't lock %s", path);
			close(fd);
			return -1;
		}
		if (wait_ms <= 0) {
			err_set(err, ERR_EXISTS, "gatehouse runs already for %s (pid %d)",
				home->dir, (int)read_pid(fd));
			close(fd);
			return -1;
		}
		(void)poll(NULL, 0, RETRY_MS);
		wait_ms -= RETRY_MS;
	}
	/* The pid is for people; without it the lock still holds. */
	if (mem_format(text, sizeof(text), "%d\n", (int)getpid()) ||
	    ftruncate(fd, 0) || pwrite(fd, text, strlen(text), 0) < 0)
		return fd;
	return fd;
}

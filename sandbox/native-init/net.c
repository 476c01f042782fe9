/*
 * The network of a sandbox: a namespace of its own with nothing but loopback.
 * For a filtered network the gateway's proxy listens there.  Its sockets are
 * made here, inside, and handed out, because a socket belongs for ever to the
 * namespace it was made in: no route, no address and no right leads out.
 */
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sandbox/native-init/helper.h"

#define BACKLOG 64	/* the gateway takes so many at a time anyway */

static void
raise_loopback(struct box *box)
{
	struct ifreq ifr;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	/* The only interface there is; servers of a command's own need it. */
	memset(&ifr, 0, sizeof(ifr));
	memcpy(ifr.ifr_name, "lo", 3);
	ifr.ifr_flags = IFF_UP;
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &ifr) < 0)
		box_fail(box, BOX_STEP_LOOPBACK);
	close(fd);
}

static int
listen_at(int family, const void *address, socklen_t len)
{
	const int one = 1;
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	if ((family == AF_INET6 &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)) < 0) ||
	    bind(fd, address, len) < 0 || listen(fd, BACKLOG) < 0) {
		int errnum = errno;
		close(fd);
		errno = errnum;
		return -1;
	}
	return fd;
}

void
net_setup(struct box *box)
{
	const struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_port = htons(BOX_PROXY_PORT),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
		.sin6_port = htons(BOX_PROXY_PORT),
		.sin6_addr = IN6ADDR_LOOPBACK_INIT };

	raise_loopback(box);
	/* Only if the seal permits a way out at all. */
	if (box->seal->network != BOX_NETWORK_FILTERED)
		return;
	int fd = listen_at(AF_INET, &in, sizeof(in));
	if (fd < 0)
		box_fail(box, BOX_STEP_LISTEN);
	box->listeners[box->nlisteners++] = fd;
	/* A kernel without IPv6 has no ::1; nobody is led there. */
	fd = listen_at(AF_INET6, &in6, sizeof(in6));
	if (fd >= 0)
		box->listeners[box->nlisteners++] = fd;
}

/* Queries the kernel about a local socket. */
#ifndef FFTD_RING_SOCKET_H
#define FFTD_RING_SOCKET_H

#include <linux/sockios.h>
#include <stdbool.h>
#include <sys/ioctl.h>

/* Returns whether the other end of this AF_UNIX socket has unread data; never after it was closed.
 * A packet counts hundreds of bytes. The kernel subtracts the last of them only
 * after it has reported EPOLLOUT, hence the comparison with 1. */
static inline bool socket_is_unread(int fd)
{
    int unread = 0;
    return ioctl(fd, SIOCOUTQ, &unread) == 0 && unread > 1;
}

#endif

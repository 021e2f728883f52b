/* What the kernel knows of a local socket. */
#ifndef FFTD_CORE_SOCKET_H
#define FFTD_CORE_SOCKET_H

#include <linux/sockios.h>
#include <stdbool.h>
#include <sys/ioctl.h>

/* Whether the peer has something to read yet that was sent over this AF_UNIX socket; once it has
 * closed its end, it has not. A packet takes hundreds of bytes; of the last one's the kernel takes
 * one off only after it has said, by EPOLLOUT, that there is room. */
static inline bool socket_is_unread(int fd)
{
    int unread = 0;
    return ioctl(fd, SIOCOUTQ, &unread) == 0 && unread > 1;
}

#endif

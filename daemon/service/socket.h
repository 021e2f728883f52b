/* What local sockets have in common. */
#ifndef FFTD_SERVICE_SOCKET_H
#define FFTD_SERVICE_SOCKET_H

#include <errno.h>
#include <linux/sockios.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* Returns whether the other end of this AF_UNIX socket has unread data; never after it was closed.
 * A packet counts hundreds of bytes. The kernel subtracts the last of them only
 * after it has reported EPOLLOUT, hence the comparison with 1. */
static inline bool socket_is_unread(int fd)
{
    int unread = 0;
    return ioctl(fd, SIOCOUTQ, &unread) == 0 && unread > 1;
}

/* Returns the user whose process connected, as the kernel recorded it. */
static inline uid_t socket_uid(int fd)
{
    struct ucred credentials = {.uid = (uid_t)-1};
    socklen_t size = sizeof credentials;
    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size);
    return credentials.uid;
}

#define SOCKET_MAX_FDS 3u

/* Sends a packet with copies of these descriptors, at most SOCKET_MAX_FDS. Never blocks. Returns 0
 * or -errno. */
static inline int socket_send(int socket, const void *bytes, size_t count, const int *fds,
                              unsigned fd_count)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(SOCKET_MAX_FDS * sizeof(int))];
    } ancillary = {.bytes = {0}};
    struct iovec part = {.iov_base = (void *)bytes, .iov_len = count};
    struct msghdr packet = {.msg_iov = &part, .msg_iovlen = 1};
    if (fd_count > 0) {
        packet.msg_control = &ancillary;
        packet.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
        ancillary.header.cmsg_level = SOL_SOCKET;
        ancillary.header.cmsg_type = SCM_RIGHTS;
        ancillary.header.cmsg_len = CMSG_LEN(fd_count * sizeof(int));
        memcpy(CMSG_DATA(&ancillary.header), fds, fd_count * sizeof(int));
    }
    return sendmsg(socket, &packet, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

#endif

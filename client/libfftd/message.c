#include "message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int message_send(int socket_fd, enum fftd_request kind, uint64_t value, uint32_t generation)
{
    const struct fftd_message request = {
        .magic = FFTD_FRAMES_MAGIC,
        .kind = kind,
        .value = value,
        .generation = generation,
    };
    ssize_t sent = send(socket_fd, &request, sizeof request, MSG_DONTWAIT | MSG_NOSIGNAL);
    return sent < 0 ? -errno : 0;
}

/* Takes the descriptors out of a packet, and closes surplus ones. */
static void take_fds(struct msghdr *packet, int fd[MESSAGE_FDS])
{
    unsigned count = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(packet); c != NULL; c = CMSG_NXTHDR(packet, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t bytes = c->cmsg_len - CMSG_LEN(0);
        for (size_t i = 0; i < bytes / sizeof(int); i++) {
            int received;
            memcpy(&received, CMSG_DATA(c) + i * sizeof(int), sizeof received);
            if (count < MESSAGE_FDS)
                fd[count++] = received;
            else
                close(received);
        }
    }
}

void message_close_fds(const int fd[MESSAGE_FDS])
{
    for (unsigned i = 0; i < MESSAGE_FDS; i++)
        if (fd[i] >= 0)
            close(fd[i]);
}

int message_receive(int socket_fd, struct fftd_message *ret, int fd[MESSAGE_FDS])
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(MESSAGE_FDS * sizeof(int))];
    } control;
    struct iovec iov = {.iov_base = ret, .iov_len = sizeof *ret};
    struct msghdr packet = {
        .msg_iov = &iov,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = sizeof control,
    };
    for (unsigned i = 0; i < MESSAGE_FDS; i++)
        fd[i] = -1;
    ssize_t bytes = recvmsg(socket_fd, &packet, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    /* A daemon that refuses a client before it has read the request resets the connection, but
     * its reply can still be read after the error. */
    if (bytes < 0 && errno == ECONNRESET)
        bytes = recvmsg(socket_fd, &packet, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (bytes < 0)
        return errno == EAGAIN || errno == EINTR ? -EAGAIN : -EPIPE;
    if (bytes == 0)
        return -EPIPE;
    take_fds(&packet, fd);
    if (bytes != sizeof *ret || (packet.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) ||
        ret->magic != FFTD_FRAMES_MAGIC || ret->result > 0 || ret->result < -4095) {
        message_close_fds(fd);
        /* The kernel leaves out descriptors for which this process has no numbers left. */
        return (packet.msg_flags & MSG_CTRUNC) && fd[MESSAGE_FDS - 1] < 0 ? -EMFILE : -EPROTO;
    }
    return 0;
}

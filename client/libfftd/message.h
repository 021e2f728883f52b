/* The packets of the frames socket (fftd/ring.h), without any state. */
#ifndef LIBFFTD_MESSAGE_H
#define LIBFFTD_MESSAGE_H

#include <fftd/ring.h>

/* Sends one request without blocking. 0 or -errno. */
int message_send(int socket_fd, enum fftd_request kind, uint64_t value, uint32_t generation);

/* Descriptors that come with one reply. */
#define MESSAGE_FDS 3u

/* Receives one reply without blocking. fd[] gets its descriptors, which the caller closes, or -1.
 * -EAGAIN: there is no reply; -EPIPE: the connection has ended; -EPROTO: the packet is not a reply;
 * -EMFILE: this process has too few descriptors left. */
int message_receive(int socket_fd, struct fftd_message *ret, int fd[MESSAGE_FDS]);

/* Closes what message_receive returned. */
void message_close_fds(const int fd[MESSAGE_FDS]);

#endif

/* The helper process of a gst: source, and the socket to it (core/gst_link.h).
 *
 * The process is in a group of its own, so that what a terminal sends to the daemon does not reach
 * it, and inherits no descriptor but its socket and stderr. It ends with the daemon.
 *
 * Threads: one at a time. */
#ifndef FFTD_CAPTURE_GST_HELPER_H
#define FFTD_CAPTURE_GST_HELPER_H

#include <sys/types.h>

#include "core/error.h"
#include "core/gst_link.h"

struct gst_helper {
    pid_t pid;  /* 0: there is none */
    int socket; /* or -1 */
};

/* Starts the program that FFTD_GST_HELPER names, or else the one that was installed with this
 * program or built beside it. -ENOENT: there is none; the text says which package has it. */
int gst_helper_start(struct gst_helper *ret, struct error *why);

/* Kills the helper. A thread waits for its end, which a driver may delay. */
void gst_helper_stop(struct gst_helper *helper);

/* Sends a message, with a descriptor unless fd is -1. Never blocks. -ENODEV: it does not read. A
 * helper that has ended gets nothing: gst_helper_receive returns its last messages and the reason.
 */
int gst_helper_send(const struct gst_helper *helper, struct gst_link_message *message, int fd,
                    struct error *why);

/* Takes the next message; its kind and texts are valid, all else is as the helper has sent it.
 * Never blocks. -EAGAIN: there is none; -ENODEV: the helper has ended, or has sent something
 * else. */
int gst_helper_receive(const struct gst_helper *helper, struct gst_link_message *ret,
                       struct error *why);

#endif

/* The connection to the daemon: attaching, reconnecting, and the requests about held frames. */
#ifndef LIBFFTD_LINK_H
#define LIBFFTD_LINK_H

#include "handle.h"

/* Creates the descriptors that last as long as the camera. After a failure link_finish closes those
 * that were created. */
int link_init(struct fftd *camera);
void link_finish(struct fftd *camera);

/* Connects and asks for the ring, or arms the timer to try again. Waits up to timeout_ms in the
 * daemon's queue of connections if that is full; with 0 it never blocks. */
void link_start(struct fftd *camera, int timeout_ms);

/* Asks for the ring again on the existing connection. Never blocks. */
void link_ask(struct fftd *camera);

/* Waits up to timeout_ms (-1: for ever) for an event and handles it. Handling never blocks.
 * Returns 0, or -EINTR after a signal. */
int link_step(struct fftd *camera, int timeout_ms);

/* Asks the daemon to hold a frame of the current ring, and waits up to 2 s for its answer, which
 * is returned. Requests that are due from earlier are sent first. -EPIPE, -ETIMEDOUT or -EPROTO
 * if there was no answer; the link is then down. */
int link_hold(struct fftd *camera, unsigned slot, uint64_t sequence);

/* Takes the replies that have come, and sends the requests that the current map's holds call for
 * and that fit into request[]. The others follow with the replies. Never blocks. */
void link_update_holds(struct fftd *camera);

/* Tells a daemon that waits for it that the frames up to this one are not needed any more. Never
 * blocks. */
void link_tell_read(struct fftd *camera, uint64_t sequence);

/* Returns the time of the clock of all timeouts, in ms. */
int64_t link_now_ms(void);

#endif

/* A daemon of a command's own, which filters a recording: no other daemon is needed, disturbed or
 * asked. It reads the recording through a pipe, and waits for this program, which reads its ring.
 * Two processes: the daemon, and a feeder, which writes the recording into the pipe. Both end with
 * this program, however it ends. */
#ifndef FFTD_CTL_PRIVATE_DAEMON_H
#define FFTD_CTL_PRIVATE_DAEMON_H

#include <fftd/fftd.h>

#include "ctl.h"
#include "recording/input.h"

/* What the feeder tells, in memory that both share. */
struct feeding {
    uint64_t fed;    /* frames that the daemon got; complete once has_ended is set */
    bool has_ended;  /* there are no more */
    bool is_damaged; /* for this reason */
    char why[INPUT_WHY_BYTES];
};

struct private_daemon {
    char dir[64]; /* its runtime directory */
    pid_t pid, feeder;
    int status; /* the daemon's exit code; -1: it runs */
    struct feeding *feeding;
    struct fftd *camera; /* NULL: not connected yet */
};

/* Starts both. The feeder leaves out the first `skip` frames. The
 * caller closes the input of this process. 0 or an exit code; private_daemon_stop is called in both
 * cases. */
int private_daemon_start(struct private_daemon *ret, const struct ctl *ctl, struct input *input,
                         const char *filter, uint64_t skip);

/* Connects to the daemon if it is ready. -EAGAIN: not yet; -EPIPE: it has ended. */
int private_daemon_connect(struct private_daemon *daemon);

/* Waits for the daemon's end. */
void private_daemon_await_end(struct private_daemon *daemon);

/* Returns whether this program has got all frames, if it has got this many. */
bool private_daemon_has_fed(const struct private_daemon *daemon, uint64_t count);

/* Ends both, if they run, and removes what they leave. */
void private_daemon_stop(struct private_daemon *daemon);

#endif

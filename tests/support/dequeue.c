#include "support/dequeue.h"

#include <errno.h>
#include <poll.h>

#include "support/cmocka.h"

int dequeue_wait(struct capture *capture, struct capture_frame *ret, struct error *why)
{
    int r;
    do {
        struct pollfd poll_fd = {.fd = capture->fd, .events = POLLIN};
        assert_int_equal(poll(&poll_fd, 1, 60000), 1);
        r = capture_dequeue(capture, ret, why);
    } while (r == -EAGAIN);
    return r;
}

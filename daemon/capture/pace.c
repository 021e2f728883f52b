/* The timer uses absolute times, so that a tick that is taken late does not delay the next ones:
 * tick n is due n periods after the first. Frames carry the time at which their tick was due.
 * The tick of an unpaced clock is due when it is taken. */
#include "capture/pace.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "core/clock.h"

void pace_fraction(double rate, uint32_t *ret_num, uint32_t *ret_den)
{
    /* The fractions that cameras and broadcasters use for 29.97 or 12.5, then thousandths. */
    static const uint32_t denominators[] = {1, 2, 3, 4, 1001};
    for (unsigned i = 0; i < sizeof denominators / sizeof denominators[0]; i++) {
        uint32_t den = denominators[i];
        double num = rate * den;
        if (den == 1001)
            num = round(num / 1000.0) * 1000.0;
        else
            num = round(num);
        if (num >= 1.0 && fabs(num / den - rate) < 0.001 * fmin(1.0, rate)) {
            *ret_num = (uint32_t)num;
            *ret_den = den;
            return;
        }
    }
    uint32_t den = 1000;
    while (rate * den < 1000.0 && den < 1000000)
        den *= 10;
    *ret_num = (uint32_t)fmax(1.0, round(rate * den));
    *ret_den = den;
}

int pace_init(struct pace *ret, uint32_t num, uint32_t den, struct error *why)
{
    const bool unpaced = num == 0;
    const int fd = unpaced ? eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)
                           : timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (fd < 0)
        return error_set(why, errno, "frame clock: cannot be created: %s", strerror(errno));
    *ret = (struct pace){.fd = fd};
    if (!unpaced)
        ret->period_ns = NS_PER_S * den >= num ? NS_PER_S * den / num : 1;
    return 0;
}

void pace_finish(struct pace *pace)
{
    if (pace->fd >= 0)
        close(pace->fd);
    pace->fd = -1;
}

void pace_block(struct pace *pace)
{
    eventfd_t count;
    if (!pace->ready)
        return;
    eventfd_read(pace->fd, &count);
    pace->ready = false;
}

void pace_unblock(struct pace *pace)
{
    if (pace->period_ns != 0 || pace->ready)
        return;
    eventfd_write(pace->fd, 1);
    pace->ready = true;
}

int pace_start(struct pace *pace, struct error *why)
{
    if (pace->period_ns == 0) {
        pace->ticks = 0;
        pace_unblock(pace);
        return 0;
    }
    int64_t now_ns = clock_now_ns();
    struct itimerspec when = {
        .it_value = clock_timespec(now_ns),
        .it_interval = clock_timespec(pace->period_ns),
    };
    if (timerfd_settime(pace->fd, TFD_TIMER_ABSTIME, &when, NULL) < 0)
        return error_set(why, errno, "frame clock: timerfd_settime: %s", strerror(errno));
    pace->start_ns = now_ns;
    pace->ticks = 0;
    return 0;
}

void pace_stop(struct pace *pace)
{
    const struct itimerspec never = {0};
    if (pace->period_ns == 0)
        pace_block(pace);
    else
        timerfd_settime(pace->fd, 0, &never, NULL);
}

uint64_t pace_take(struct pace *pace)
{
    uint64_t passed;
    if (pace->period_ns == 0) {
        pace->start_ns = clock_now_ns();
        pace->ticks += pace->ready;
        return pace->ready;
    }
    if (read(pace->fd, &passed, sizeof passed) != (ssize_t)sizeof passed)
        return 0;
    pace->ticks += passed;
    return passed;
}

int64_t pace_due_ns(const struct pace *pace)
{
    return pace->start_ns + (int64_t)(pace->ticks - 1) * pace->period_ns; /* unpaced: start_ns */
}

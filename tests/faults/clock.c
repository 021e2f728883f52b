/* A library for LD_PRELOAD that lets the clock of the day jump, and no other.
 *
 * $FFTD_CLOCK names a file with the seconds, which may be negative, by which CLOCK_REALTIME is
 * wrong from then on. It is read again at each call, so that a test can change it. Timers of the
 * kernel keep the real time: a program may only have them on CLOCK_MONOTONIC. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long long offset(void)
{
    const char *path = getenv("FFTD_CLOCK");
    char text[24] = "";
    const int saved = errno;
    int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    ssize_t size = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;

    if (fd >= 0)
        close(fd);
    errno = saved;
    return size > 0 ? strtoll(text, NULL, 10) : 0;
}

/* glibc names parameters of its own.
 * NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */
int clock_gettime(clockid_t clock, struct timespec *now)
{
    int r = (int)syscall(SYS_clock_gettime, clock, now);
    if (r == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += (time_t)offset();
    return r;
}

time_t time(time_t *ret)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (ret != NULL)
        *ret = now.tv_sec;
    return now.tv_sec;
}

/* glibc's declaration says that the second argument is never NULL. */
int gettimeofday(struct timeval *restrict ret, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    *ret = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
    return 0;
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

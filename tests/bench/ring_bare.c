/* A minimal implementation: one buffer and one counter, and the writer calls FUTEX_WAKE. Clients
 * cannot detect a torn frame, so it is not usable, but no other can be much faster. */
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bench/ring_bench.h"

static struct ring_board *shared;

static const char *missing(void)
{
    return NULL;
}

static void start(struct ring_board *board)
{
    shared = board;
}

static uint8_t *begin(void)
{
    return shared->bare_frame;
}

static void publish(void)
{
    __atomic_fetch_add(&shared->bare_futex, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &shared->bare_futex, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void stop(void)
{
}

static void client(struct ring_board *board, unsigned index)
{
    const struct timespec patience = {.tv_nsec = 200000000};
    uint32_t seen = 0;
    bench_ready(board);
    while (!bench_is_over(board, index)) {
        uint32_t now = __atomic_load_n(&board->bare_futex, __ATOMIC_ACQUIRE);
        if (now == seen) {
            syscall(SYS_futex, &board->bare_futex, FUTEX_WAIT, seen, &patience, NULL, 0);
            continue;
        }
        seen = now;
        bench_take(board, index, board->bare_frame);
    }
}

const struct ring_subject ring_bare = {
    .name = "bare",
    .missing = missing,
    .start = start,
    .begin = begin,
    .publish = publish,
    .stop = stop,
    .client = client,
};

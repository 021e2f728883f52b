/* A minimal implementation: one buffer and one counter, and the writer calls FUTEX_WAKE. Clients
 * cannot detect a torn frame, so it is not usable, but no other can be much faster.
 *
 * bare8 is the same with eight buffers in turn, as a ring has them that keeps earlier frames for
 * late clients. Eight frames do not stay in the caches of a processor as one does. */
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
    board->bare_frames = 1;
}

static void start_8(struct ring_board *board)
{
    shared = board;
    board->bare_frames = RING_BARE_FRAMES;
}

static uint8_t *frame_of(struct ring_board *board, uint32_t number)
{
    return board->bare_frame[number % board->bare_frames];
}

static uint8_t *begin(void)
{
    return frame_of(shared, shared->bare_futex + 1);
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
        bench_take(board, index, frame_of(board, seen));
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

const struct ring_subject ring_bare8 = {
    .name = "bare8",
    .missing = missing,
    .start = start_8,
    .begin = begin,
    .publish = publish,
    .stop = stop,
    .client = client,
};

/* fftd's ring, its server and libfftd, unchanged. The frame is written where clients read it.
 * Clients read every frame: one that had to wait for a processor finds the frames it missed in the
 * ring. */
#include <string.h>

#include "bench/ring_bench.h"
#include "support/frames.h"

#include "fftd/fftd.h"

#define SLOTS 8

static struct frames frames;
static struct ring *ring;
static struct ring_write write_slot;

static const char *missing(void)
{
    return NULL;
}

static void start(struct ring_board *board)
{
    frames_start(&frames, NULL, RING_MAX_CLIENTS);
    strcpy(board->place, frames.dir);
    ring = frames_ring(FFTD_FOURCC('N', 'V', '1', '2'), RING_WIDTH, RING_HEIGHT, SLOTS, 1, 1);
    frames_set_ring(&frames, ring);
}

static uint8_t *begin(void)
{
    ring_begin(ring, &write_slot);
    return write_slot.data;
}

static void publish(void)
{
    const struct ring_meta meta = {0};
    ring_publish(ring, &write_slot, &meta);
}

static void stop(void)
{
    frames_stop(&frames);
    frames_remove(&frames);
    ring_destroy(ring);
}

static void client(struct ring_board *board, unsigned index)
{
    struct fftd *camera;
    struct fftd_frame frame;
    const bool gets_stuck = (int)index == board->stuck_client;
    bench_require(fftd_open(&camera, board->place) == 0, "cannot attach to fftd's ring");
    bench_ready(board);
    while (!bench_is_over(board, index)) {
        if (fftd_wait(camera, 200) != 1 || fftd_next(camera, &frame) < 0)
            continue;
        /* The worst case is a client that never releases its slot. */
        if (gets_stuck)
            fftd_hold(camera, &frame);
        bench_take(board, index, frame.plane[0]);
        if (!fftd_frame_valid(camera, &frame))
            bench_untake(board, index);
        if (gets_stuck)
            fftd_release(camera, &frame);
    }
    fftd_close(camera);
}

const struct ring_subject ring_fftd = {
    .name = "fftd",
    .missing = missing,
    .start = start,
    .begin = begin,
    .publish = publish,
    .stop = stop,
    .client = client,
};

/* Writer, server, waker and readers in one process and at one mapping, so that ThreadSanitizer sees
 * both sides of every word they share (make SAN=thread test-unit). Without it this still checks
 * that no frame that counts as whole is torn.
 *
 * Pixels are written by atomic stores here, since reading them while they may be overwritten is the
 * nature of a seqlock (daemon/ring/slot.h). But who holds a frame reads it by plain loads: then the
 * order of everything, from the writer's last store through the hold to the release and the next
 * store, has to be there, or the sanitizer says so. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "support/cmocka.h"
#include "support/frames.h"

#include "../client/libfftd/handle.h"
#include "ring/private.h"

#define GREY    FFTD_FOURCC('R', '8', ' ', ' ')
#define WIDTH   256u
#define HEIGHT  16u
#define WORDS   (WIDTH * HEIGHT / 8)
#define SLOTS   6
#define FRAMES  600u
#define READERS 4

static struct frames frames;
static struct ring *ring;

struct reader {
    pthread_t thread;
    bool holds;
    unsigned whole, torn, overtaken, refused;
};

static uint64_t word_of(uint64_t sequence, unsigned index)
{
    return (sequence << 16 | index) * 0x9e3779b97f4a7c15u;
}

static void publish(void)
{
    struct ring_write write;
    const struct ring_meta meta = {0};
    const uint64_t sequence = ring_newest(ring) + 1;
    ring_begin(ring, &write);
    uint64_t *word = (uint64_t *)write.data;
    for (unsigned i = 0; i < WORDS; i++)
        __atomic_store_n(&word[i], word_of(sequence, i), __ATOMIC_RELAXED);
    ring_publish(ring, &write, &meta);
}

/* ---- readers ---- */

static bool matches_atomically(const struct fftd_frame *frame)
{
    const uint64_t *word = (const uint64_t *)frame->plane[0];
    bool match = true;
    for (unsigned i = 0; i < WORDS; i++) {
        match &= __atomic_load_n(&word[i], __ATOMIC_RELAXED) == word_of(frame->sequence, i);
        if (i % (WORDS / 4) == 0)
            sched_yield(); /* time enough to be overtaken, now and then */
    }
    return match;
}

static bool matches_plainly(const struct fftd_frame *frame)
{
    const uint64_t *word = (const uint64_t *)frame->plane[0];
    bool match = true;
    for (unsigned i = 0; i < WORDS; i++)
        match &= word[i] == word_of(frame->sequence, i);
    return match;
}

static void read_held(struct reader *reader, struct fftd *camera, const struct fftd_frame *frame)
{
    int r = fftd_hold(camera, frame);
    if (r < 0) {
        reader->refused++;
        return;
    }
    bool match = matches_plainly(frame) && fftd_frame_valid(camera, frame);
    ++*(match ? &reader->whole : &reader->torn);
    fftd_release(camera, frame);
}

static void read_quickly(struct reader *reader, struct fftd *camera, const struct fftd_frame *frame)
{
    bool match = matches_atomically(frame);
    if (!fftd_frame_valid(camera, frame))
        reader->overtaken++;
    else
        ++*(match ? &reader->whole : &reader->torn);
}

/* Puts the writer's own mapping in the place of the client's, or the client's back. */
static void swap_mapping(struct fftd *camera, const uint8_t **base)
{
    const uint8_t *other = camera->current->base;
    camera->current->base = *base;
    *base = other;
}

static void *reader_main(void *context)
{
    struct reader *reader = context;
    struct fftd *camera;
    struct fftd_frame frame = {0};
    const uint8_t *base = ring->memory.mapping->base;
    if (fftd_open(&camera, frames.dir) < 0)
        abort();
    swap_mapping(camera, &base);
    while (frame.sequence < FRAMES) {
        if (fftd_wait(camera, 1000) < 1 || fftd_frame(camera, &frame) < 0)
            continue;
        if (reader->holds)
            read_held(reader, camera, &frame);
        else
            read_quickly(reader, camera, &frame);
    }
    swap_mapping(camera, &base);
    fftd_close(camera);
    return NULL;
}

/* ---- the test ---- */

static void whoever_reads_reads_whole_frames(void **state)
{
    struct reader reader[READERS] = {{.holds = true}, {.holds = true}, {0}, {0}};
    (void)state;
    for (unsigned i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&reader[i].thread, NULL, reader_main, &reader[i]), 0);
    for (unsigned n = 0; n < FRAMES; n++) {
        const struct timespec pause = {.tv_nsec = 500000};
        if (n % 8 == 0) /* in between as fast as it goes */
            nanosleep(&pause, NULL);
        publish();
    }
    for (unsigned i = 0; i < READERS; i++) {
        pthread_join(reader[i].thread, NULL);
        print_message("# reader %u: %u whole, %u overtaken, %u not held\n", i, reader[i].whole,
                      reader[i].overtaken, reader[i].refused);
        assert_int_equal(reader[i].torn, 0);
        assert_true(reader[i].whole > 0);
    }
}

static int setup(void **state)
{
    (void)state;
    frames_start(&frames, NULL, READERS);
    ring = frames_ring(GREY, WIDTH, HEIGHT, SLOTS, 1, 1);
    frames_set_ring(&frames, ring);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    frames_stop(&frames);
    frames_remove(&frames);
    ring_destroy(ring);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whoever_reads_reads_whole_frames),
    };
    return cmocka_run_group_tests_name("ring_threads", tests, setup, teardown);
}

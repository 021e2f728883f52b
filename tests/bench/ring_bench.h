/* The interface between the subjects of make bench-ring and the program that runs them (ring.c).
 *
 * A subject is a method to pass frames to other processes. A run has one subject, one writer and
 * some clients, each in its own process. The writer puts a stamp into each frame and publishes it;
 * a client that has received the frame reads the stamp. */
#ifndef FFTD_BENCH_RING_H
#define FFTD_BENCH_RING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define RING_WIDTH       1280u
#define RING_HEIGHT      720u
#define RING_FRAME_BYTES (RING_WIDTH * RING_HEIGHT * 3 / 2) /* NV12 */
#define RING_MAX_CLIENTS 64u
#define RING_MAX_FRAMES  4096u
#define RING_BARE_FRAMES 8u /* as many as the slots of a daemon by default */

/* Shared memory of all processes of a run. */
struct ring_board {
    unsigned clients, frames;
    int stuck_client; /* stops in the middle of reading a frame; -1: none does */
    bool copies;      /* clients copy frames away, instead of looking at each row */
    char place[64];   /* a directory or name of the subject; set by start */

    bool serving; /* start has returned */
    bool stop;    /* no more frames will come */
    unsigned ready, written;
    unsigned late; /* frames that the writer began half a period or more late */
    int64_t publish_ns[RING_MAX_FRAMES];
    struct {
        unsigned last;  /* number of the newest frame seen, from 1 */
        unsigned first; /* number of the first frame seen */
        unsigned seen;  /* frames used, all of them whole */
        int64_t cpu_us; /* processor time between the first and the newest */
        int64_t latency_ns[RING_MAX_FRAMES];
    } client[RING_MAX_CLIENTS];

    /* The state of the subjects `bare` and `bare8`. */
    uint32_t bare_futex, bare_frames;
    uint8_t bare_frame[RING_BARE_FRAMES][RING_FRAME_BYTES];
};

struct ring_subject {
    const char *name;
    /* Returns why the subject cannot be measured here, or NULL if it can. */
    const char *(*missing)(void);

    /* Called by the writer: prepare for clients; return the address of the next frame; publish it;
     * end. */
    void (*start)(struct ring_board *board);
    uint8_t *(*begin)(void);
    void (*publish)(void);
    void (*stop)(void);

    /* Runs a client: connects, calls bench_ready, and calls bench_take for each frame. */
    void (*client)(struct ring_board *board, unsigned index);

    /* Removes the files of a killed writer, after all processes have ended. May be NULL. */
    void (*clean)(const struct ring_board *board, pid_t writer);
};

extern const struct ring_subject ring_fftd, ring_bare, ring_bare8, ring_memsink, ring_shmsink;

void bench_ready(struct ring_board *board);

/* Called by a client that can read a frame: notes the time and uses the frame. The stuck client
 * stops here instead. */
void bench_take(struct ring_board *board, unsigned index, const uint8_t *frame);

/* Reports that the frame of the last bench_take was torn. */
void bench_untake(struct ring_board *board, unsigned index);

/* Whether the client has seen the last frame, or the run has stopped. */
bool bench_is_over(const struct ring_board *board, unsigned index);

/* Ends the program with `what` unless `ok`, because the benchmark itself has failed. */
void bench_require(bool ok, const char *what);

#endif

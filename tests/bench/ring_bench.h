/* What the subjects of make bench-ring share with the program that runs them (ring.c).
 *
 * A run is one writer and some clients, each a process of its own, around one subject: a way of
 * handing frames to other processes. The writer puts a stamp into each frame and hands it over; a
 * client that has it in hand reads the stamp. */
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

/* What all processes of a run see. */
struct ring_board {
    unsigned clients, frames;
    int stuck_client; /* stops in the middle of reading a frame; -1: nobody does */
    bool copies;      /* clients copy frames away, instead of looking at each row */
    char place[64];   /* of the subject: a directory, a name; set by start */

    bool serving; /* start has returned */
    bool stop;    /* no more frames will come */
    unsigned ready, written;
    unsigned late; /* frames the writer came to by half a period or more too late */
    int64_t publish_ns[RING_MAX_FRAMES];
    struct {
        unsigned last;  /* number of the newest frame seen, from 1 */
        unsigned first; /* and of the first */
        unsigned seen;  /* frames used, all of them whole */
        int64_t cpu_us; /* processor time between the first and the newest */
        int64_t latency_ns[RING_MAX_FRAMES];
    } client[RING_MAX_CLIENTS];

    /* All that the subject `bare` is. */
    uint32_t bare_futex;
    uint8_t bare_frame[RING_FRAME_BYTES];
};

struct ring_subject {
    const char *name;
    /* Why it cannot be measured here; NULL: it can. */
    const char *(*missing)(void);

    /* The writer's: makes ready for clients; where the next frame is to be written; hands it over;
     * ends. */
    void (*start)(struct ring_board *board);
    uint8_t *(*begin)(void);
    void (*publish)(void);
    void (*stop)(void);

    /* A client's whole life: connects, says bench_ready, calls bench_take for each frame. */
    void (*client)(struct ring_board *board, unsigned index);

    /* After all of them have ended: removes what a writer that was killed has left. May be NULL. */
    void (*clean)(const struct ring_board *board, pid_t writer);
};

extern const struct ring_subject ring_fftd, ring_bare, ring_memsink, ring_shmsink;

void bench_ready(struct ring_board *board);

/* A frame is in the client's hands: takes the time, and uses it. Before that, the stuck client
 * stops for good. */
void bench_take(struct ring_board *board, unsigned index, const uint8_t *frame);

/* What bench_take used turned out not to be a whole frame. */
void bench_untake(struct ring_board *board, unsigned index);

/* Whether the client has seen the last frame, or none will come. */
bool bench_is_over(const struct ring_board *board, unsigned index);

/* Ends the program: the bench itself is broken. */
void bench_require(bool ok, const char *what);

#endif

/* A frames socket and a ring to test clients against: as in the daemon, the server has its own
 * thread. The writer is in the test's. */
#ifndef FFTD_TESTS_FRAMES_H
#define FFTD_TESTS_FRAMES_H

#include <pthread.h>
#include <semaphore.h>
#include <sys/types.h>

#include "ring/ring.h"

struct sd_event;

/* The longest that a test waits. Working code takes milliseconds, but a sanitizer, an emulator and
 * a busy machine may each take ten times as long. */
#define FRAMES_PATIENCE_MS 60000

struct frames {
    char dir[32]; /* the runtime directory, for fftd_open */
    struct sd_event *event;
    struct ring_server *server;
    struct listener *listener;
    pthread_t thread;
    int call_fd; /* wakes the thread for the call below */
    void (*call)(struct frames *frames, void *context);
    void *context;
    sem_t called;
};

/* Creates a runtime directory (or takes `dir`, if not NULL) and serves its socket, without a ring.
 * A failure ends the program. */
void frames_start(struct frames *frames, const char *dir, unsigned max_clients);

/* Stops serving; the directory stays. */
void frames_stop(struct frames *frames);

/* Removes the runtime directory. */
void frames_remove(struct frames *frames);

/* Calls a function in the server's thread and waits until it returns. */
void frames_call(struct frames *frames, void (*call)(struct frames *frames, void *context),
                 void *context);

void frames_set_ring(struct frames *frames, struct ring *ring);
struct ring_server_stats frames_stats(struct frames *frames);

/* Waits until the server has this number of clients and held slots. Returns false on time-out. */
bool frames_settle(struct frames *frames, unsigned clients, unsigned held_slots);

/* Waits until the process sleeps. Returns false on time-out. */
bool frames_asleep(pid_t pid);

/* Creates a ring of packed frames. Each picture depends only on its sequence number. */
struct ring *frames_ring(uint32_t fourcc, uint32_t width, uint32_t height, unsigned slots,
                         uint32_t generation, uint64_t first_sequence);

/* Draws the picture of a sequence number. */
void frames_draw(const struct fftd_format *format, uint8_t *frame, uint64_t sequence);

/* Writes and publishes the next frame. Its filter_serial is ten times its sequence. Frames 3, 7, 11
 * and so on carry measures. */
void frames_publish(struct ring *ring);

/* The measures of the frame with that number; false: it has none. */
bool frames_measures(uint64_t sequence, struct fftd_measures *ret);

/* Writes the matches of the frame with that number, and returns how many it has. */
unsigned frames_matches_of(uint64_t sequence, struct fftd_match ret[FFTD_MAX_MATCHES]);

/* Whether the bytes equal the frame of a sequence number. Reads each byte once. */
bool frames_match(const struct fftd_format *format, const uint8_t *frame, uint64_t sequence);

#endif

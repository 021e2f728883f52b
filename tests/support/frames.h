/* A frames socket and a ring to test clients against: the server in a thread of its own, as in
 * the daemon, the writer in the test's. */
#ifndef FFTD_TESTS_FRAMES_H
#define FFTD_TESTS_FRAMES_H

#include <pthread.h>
#include <semaphore.h>
#include <sys/types.h>

#include "ring/ring.h"

struct sd_event;

/* No test waits longer for what has to come. What works takes milliseconds, but a sanitizer, an
 * emulator and a busy machine may each make ten of one. */
#define FRAMES_PATIENCE_MS 20000

struct frames {
    char dir[32]; /* the runtime directory, to give to fftd_open */
    struct sd_event *event;
    struct ring_server *server;
    pthread_t thread;
    int call_fd; /* wakes the thread for the call below */
    void (*call)(struct frames *frames, void *context);
    void *context;
    sem_t called;
};

/* Creates a runtime directory (or takes `dir`, if not NULL) and serves its socket, without a ring.
 * Failures end the program: there is nothing to test then. */
void frames_start(struct frames *frames, const char *dir, unsigned max_clients);

/* Stops serving; the directory stays. */
void frames_stop(struct frames *frames);

/* Removes the runtime directory. */
void frames_remove(struct frames *frames);

/* Runs something in the server's thread and waits for its end. */
void frames_call(struct frames *frames, void (*call)(struct frames *frames, void *context),
                 void *context);

void frames_set_ring(struct frames *frames, struct ring *ring);
struct ring_server_stats frames_stats(struct frames *frames);

/* Waits until the server has that many clients and held slots; false when patience ends. */
bool frames_settle(struct frames *frames, unsigned clients, unsigned held_slots);

/* Waits until the process sleeps; false when patience ends. */
bool frames_asleep(pid_t pid);

/* A ring of packed frames; its pictures are deterministic in their sequence number. */
struct ring *frames_ring(uint32_t fourcc, uint32_t width, uint32_t height, unsigned slots,
                         uint32_t generation, uint64_t first_sequence);

/* Draws the picture with that number. */
void frames_draw(const struct fftd_format *format, uint8_t *frame, uint64_t sequence);

/* Writes and publishes the next frame, filter_serial being ten times its sequence. */
void frames_publish(struct ring *ring);

/* Whether the bytes are those of the frame with that sequence; reads each of them once. */
bool frames_match(const struct fftd_format *format, const uint8_t *frame, uint64_t sequence);

#endif

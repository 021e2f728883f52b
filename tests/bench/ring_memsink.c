/* uStreamer's memory sink, version 2 of its layout as in uStreamer 4.9, on both sides: uStreamer
 * itself writes only frames of a V4L2 camera, and its reader reports milliseconds. This file does
 * the same: one frame in POSIX shared memory, guarded by flock() on its descriptor, which is tried
 * once per millisecond for at most a second. A client copies the frame under the lock, and checks
 * for another once per millisecond. If uStreamer is installed, ustreamer-dump must be able to read
 * the sink, or nothing is measured. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/ring_bench.h"

#define MAGIC        0xCAFEBABECAFEBABEull
#define VERSION      2
#define MAX_BYTES    33554432
#define FOURCC_NV12  0x3231564e
#define LOCK_SECONDS 1
#define POLL_US      1000

/* The types are uStreamer's, so the layout depends on the machine and the compiler. */
struct memsink {
    uint64_t magic;
    uint32_t version;
    uint64_t id;
    size_t used;
    unsigned width, height, format, stride;
    bool online, key;
    long double grab_s, encode_begin_s, encode_end_s;
    long double last_client_s;
    uint8_t data[MAX_BYTES];
};

static int memory_fd;
static struct memsink *memory;
static uint8_t *frame;

static long double now_s(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (long double)ts.tv_sec + (long double)ts.tv_nsec / 1e9L;
}

static bool lock(void)
{
    const long double deadline_s = now_s() + LOCK_SECONDS;
    while (flock(memory_fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK || now_s() > deadline_s)
            return false;
        usleep(POLL_US);
    }
    return true;
}

static void unlock(void)
{
    flock(memory_fd, LOCK_UN);
}

static void map_sink(const char *name, int flags)
{
    memory_fd = shm_open(name, flags, 0600);
    bench_require(memory_fd >= 0, "cannot open the shared memory");
    if (flags & O_CREAT)
        bench_require(ftruncate(memory_fd, sizeof *memory) == 0, "cannot size the shared memory");
    memory = mmap(NULL, sizeof *memory, PROT_READ | PROT_WRITE, MAP_SHARED, memory_fd, 0);
    bench_require(memory != MAP_FAILED, "cannot map the shared memory");
    frame = malloc(RING_FRAME_BYTES);
    bench_require(frame != NULL, "out of memory");
}

static char name_of_sink[64];

static void start(struct ring_board *board)
{
    snprintf(board->place, sizeof board->place, "/fftd-bench-%d", getpid());
    strcpy(name_of_sink, board->place);
    map_sink(board->place, O_RDWR | O_CREAT | O_EXCL);
}

static uint8_t *begin(void)
{
    return frame;
}

static void publish(void)
{
    static uint64_t id;
    if (!lock())
        return; /* the frame is skipped */
    memory->id = ++id;
    memcpy(memory->data, frame, RING_FRAME_BYTES);
    memory->used = RING_FRAME_BYTES;
    memory->width = RING_WIDTH;
    memory->height = RING_HEIGHT;
    memory->format = FOURCC_NV12;
    memory->stride = RING_WIDTH;
    memory->online = true;
    memory->grab_s = now_s();
    memory->version = VERSION;
    memory->magic = MAGIC;
    unlock();
}

static void stop(void)
{
}

static void clean(const struct ring_board *board, pid_t writer)
{
    (void)writer;
    shm_unlink(board->place);
}

/* Makes uStreamer's client read some frames, which must equal `frame`. */
static bool is_read_by_ustreamer(void)
{
    char command[160];
    bool same = true;
    uint8_t *read = malloc(RING_FRAME_BYTES);
    snprintf(command, sizeof command, "ustreamer-dump --sink %s --count 3 --output - 2>/dev/null",
             name_of_sink);
    FILE *dump = popen(command, "r"); /* NOLINT: no part is foreign input */
    bench_require(read != NULL && dump != NULL, "cannot run ustreamer-dump");
    for (unsigned n = 0; n < 3; n++)
        same = fread(read, RING_FRAME_BYTES, 1, dump) == 1 &&
               memcmp(read, frame, RING_FRAME_BYTES) == 0 && same;
    same = fgetc(dump) == EOF && same;
    pclose(dump);
    free(read);
    return same;
}

static const char *missing(void)
{
    struct ring_board board;
    if (system("ustreamer-dump --version >/dev/null 2>&1") != 0) { /* NOLINT: likewise */
        printf("uStreamer is not installed, so its reader does not check this memory sink\n");
        return NULL;
    }
    start(&board);
    for (unsigned i = 0; i < RING_FRAME_BYTES; i++)
        frame[i] = (uint8_t)(i * 7 + i / RING_WIDTH);
    pid_t writer = fork();
    if (writer == 0)
        for (;;) {
            publish();
            usleep(20000);
        }
    bool same = is_read_by_ustreamer();
    kill(writer, SIGKILL);
    waitpid(writer, NULL, 0);
    clean(&board, writer);
    return same ? NULL : "ustreamer-dump cannot read this memory sink";
}

/* Copies a new frame into `frame`. Returns whether there was one. */
static bool get(struct ring_board *board, unsigned index, uint64_t *last_id)
{
    bool is_new = false;
    if (!lock())
        return false;
    if (memory->magic == MAGIC && memory->id != *last_id) {
        *last_id = memory->id;
        is_new = true;
        memcpy(frame, memory->data, memory->used <= RING_FRAME_BYTES ? memory->used : 0);
        if ((int)index == board->stuck_client)
            bench_take(board, index, frame);
    }
    memory->last_client_s = now_s();
    unlock();
    return is_new;
}

static void client(struct ring_board *board, unsigned index)
{
    uint64_t last_id = 0;
    map_sink(board->place, O_RDWR);
    bench_ready(board);
    while (!bench_is_over(board, index)) {
        if (get(board, index, &last_id))
            bench_take(board, index, frame);
        else
            usleep(POLL_US);
    }
}

const struct ring_subject ring_memsink = {
    .name = "uStreamer memsink",
    .missing = missing,
    .start = start,
    .begin = begin,
    .publish = publish,
    .stop = stop,
    .client = client,
    .clean = clean,
};

/* What it costs to hand a frame to N readers, and how long it takes to reach them.
 *
 *     build/tests/bench/ring [--clients N]... [--seconds S] [--rate FPS] [--copy 0|1]
 *
 * Frames of 1280x720 NV12, written and published at the rate of a camera; every client is a process
 * that waits, takes the newest frame and looks at every row, or copies it away. Subjects:
 *
 *   fftd   the ring, the frames socket and libfftd as they are
 *   bare   the least there could be: one buffer, a counter, FUTEX_WAKE by the writer itself
 *
 * One JSON object a line: latency from publication to the frame in the client's hands, the time the
 * writer spent in publishing, processor time a client needs, frames missed by all clients. */
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/frames.h"

#include "fftd/fftd.h"

#define NV12        FFTD_FOURCC('N', 'V', '1', '2')
#define WIDTH       1280u
#define HEIGHT      720u
#define FRAME_BYTES (WIDTH * HEIGHT * 3 / 2)
#define MAX_FRAMES  8192u
#define MAX_CLIENTS 64u

/* What the processes share, besides the subject's own means. */
struct board {
    unsigned ready;
    struct {
        unsigned frames;
        uint64_t missed;
        int64_t cpu_us;
        int64_t latency_ns[MAX_FRAMES];
    } client[MAX_CLIENTS];
    /* The bare subject's buffer. */
    uint32_t bare_futex;
    int64_t bare_published_ns;
    uint8_t bare_frame[FRAME_BYTES];
};

struct subject {
    const char *name;
    void (*start)(struct board *board);
    void (*client)(struct board *board, unsigned index, unsigned frame_count);
    int64_t (*publish)(struct board *board, const uint8_t *frame); /* returns ns spent publishing */
    void (*stop)(struct board *board);
};

static bool copying;

static int64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void note(struct board *board, unsigned index, int64_t published_ns)
{
    unsigned n = board->client[index].frames;
    if (n < MAX_FRAMES)
        board->client[index].latency_ns[n] = now_ns() - published_ns;
    board->client[index].frames = n + 1;
}

/* What a client does with a frame. With many clients on few processors copying is what they spend
 * their time on, and waiting for each other's copies would hide what is measured here. */
static void use(const uint8_t *frame)
{
    static uint8_t copy[FRAME_BYTES];
    unsigned sum = 0;
    if (copying)
        memcpy(copy, frame, FRAME_BYTES);
    for (unsigned row = 0; row < HEIGHT; row++)
        sum += frame[row * WIDTH];
    __asm__ volatile("" ::"r"(copy), "r"(sum) : "memory"); /* or the compiler leaves it all out */
}

/* ---- fftd ---- */

static struct frames frames;
static struct ring *ring;

static void fftd_start(struct board *board)
{
    (void)board;
    frames_start(&frames, NULL, MAX_CLIENTS);
    ring = frames_ring(NV12, WIDTH, HEIGHT, 8, 1, 1);
    frames_set_ring(&frames, ring);
}

static void fftd_client(struct board *board, unsigned index, unsigned frame_count)
{
    struct fftd *camera;
    struct fftd_frame frame = {0};
    if (fftd_open(&camera, frames.dir) < 0)
        _exit(1);
    __atomic_fetch_add(&board->ready, 1, __ATOMIC_RELEASE);
    while (frame.sequence < frame_count && fftd_wait(camera, 2000) == 1) {
        if (fftd_frame(camera, &frame) < 0)
            continue;
        note(board, index, frame.published_ns);
        board->client[index].missed += frame.missed;
        use(frame.plane[0]);
        board->client[index].missed += !fftd_frame_valid(camera, &frame);
    }
    fftd_close(camera);
}

static int64_t fftd_publish(struct board *board, const uint8_t *frame)
{
    struct ring_write write;
    const struct ring_meta meta = {0};
    (void)board;
    ring_begin(ring, &write);
    memcpy(write.data, frame, FRAME_BYTES);
    int64_t start_ns = now_ns();
    ring_publish(ring, &write, &meta);
    return now_ns() - start_ns;
}

static void fftd_stop(struct board *board)
{
    (void)board;
    frames_stop(&frames);
    frames_remove(&frames);
    ring_destroy(ring);
}

/* ---- bare ---- */

static void bare_nothing(struct board *board)
{
    board->bare_futex = 0;
}

static void bare_client(struct board *board, unsigned index, unsigned frame_count)
{
    uint32_t seen = 0;
    __atomic_fetch_add(&board->ready, 1, __ATOMIC_RELEASE);
    while (seen < frame_count) {
        uint32_t now = __atomic_load_n(&board->bare_futex, __ATOMIC_ACQUIRE);
        if (now == seen) {
            syscall(SYS_futex, &board->bare_futex, FUTEX_WAIT, seen, NULL, NULL, 0);
            continue;
        }
        note(board, index, __atomic_load_n(&board->bare_published_ns, __ATOMIC_RELAXED));
        board->client[index].missed += seen != 0 ? now - seen - 1 : 0;
        seen = now;
        use(board->bare_frame);
    }
}

static int64_t bare_publish(struct board *board, const uint8_t *frame)
{
    memcpy(board->bare_frame, frame, FRAME_BYTES);
    int64_t start_ns = now_ns();
    __atomic_store_n(&board->bare_published_ns, start_ns, __ATOMIC_RELAXED);
    __atomic_fetch_add(&board->bare_futex, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &board->bare_futex, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    return now_ns() - start_ns;
}

static const struct subject subjects[] = {
    {"fftd", fftd_start, fftd_client, fftd_publish, fftd_stop},
    {"bare", bare_nothing, bare_client, bare_publish, bare_nothing},
};

/* ---- running and reporting ---- */

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static double quantile_us(const int64_t *sorted_ns, size_t count, double fraction)
{
    return count == 0 ? 0 : (double)sorted_ns[(size_t)((double)(count - 1) * fraction)] / 1e3;
}

static void report(const struct subject *subject, struct board *board, unsigned clients,
                   int64_t *publish_ns, unsigned frame_count)
{
    static int64_t all_ns[MAX_FRAMES * MAX_CLIENTS];
    size_t count = 0;
    uint64_t missed = 0;
    double cpu_us = 0;
    for (unsigned i = 0; i < clients; i++) {
        unsigned n = board->client[i].frames;
        memcpy(all_ns + count, board->client[i].latency_ns, n * sizeof *all_ns);
        count += n;
        missed += board->client[i].missed;
        cpu_us += (double)board->client[i].cpu_us / frame_count / clients;
    }
    qsort(all_ns, count, sizeof *all_ns, compare);
    qsort(publish_ns, frame_count, sizeof *publish_ns, compare);
    printf("{\"bench\": \"ring\", \"subject\": \"%s\", \"clients\": %u, \"frames\": %u, "
           "\"latency_p50_us\": %.0f, \"latency_p99_us\": %.0f, \"publish_p50_us\": %.1f, "
           "\"publish_p99_us\": %.1f, \"client_cpu_us_per_frame\": %.0f, \"missed\": %llu}\n",
           subject->name, clients, frame_count, quantile_us(all_ns, count, 0.5),
           quantile_us(all_ns, count, 0.99), quantile_us(publish_ns, frame_count, 0.5),
           quantile_us(publish_ns, frame_count, 0.99), cpu_us, (unsigned long long)missed);
    fflush(stdout);
}

static void client_main(const struct subject *subject, struct board *board, unsigned index,
                        unsigned frame_count)
{
    struct rusage usage;
    subject->client(board, index, frame_count);
    getrusage(RUSAGE_SELF, &usage);
    board->client[index].cpu_us =
        (int64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
        usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
    _exit(0);
}

static void run(const struct subject *subject, unsigned clients, unsigned frame_count, unsigned fps)
{
    static uint8_t picture[FRAME_BYTES];
    static int64_t publish_ns[MAX_FRAMES];
    struct board *board =
        mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED)
        exit(1);
    subject->start(board);
    for (unsigned i = 0; i < clients; i++)
        if (fork() == 0)
            client_main(subject, board, i, frame_count);
    while (__atomic_load_n(&board->ready, __ATOMIC_ACQUIRE) < clients)
        poll(NULL, 0, 1);

    int64_t due_ns = now_ns();
    for (unsigned n = 0; n < frame_count; n++) {
        due_ns += 1000000000 / fps;
        const struct timespec due = {due_ns / 1000000000, due_ns % 1000000000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
        memset(picture, (int)n, 4096);
        publish_ns[n] = subject->publish(board, picture);
    }
    while (wait(NULL) > 0)
        continue;
    subject->stop(board);
    report(subject, board, clients, publish_ns, frame_count);
    munmap(board, sizeof *board);
}

int main(int argc, char **argv)
{
    static unsigned counts[16] = {0, 1, 8, 32};
    unsigned count_count = 4, seconds = 3, fps = 60;
    bool given = false;
    for (int i = 1; i + 1 < argc; i += 2) {
        unsigned value = (unsigned)strtoul(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--clients") == 0 && value <= MAX_CLIENTS) {
            count_count = given ? count_count : 0;
            given = true;
            counts[count_count++ % 16] = value;
        } else if (strcmp(argv[i], "--seconds") == 0) {
            seconds = value;
        } else if (strcmp(argv[i], "--rate") == 0 && value > 0) {
            fps = value;
        } else if (strcmp(argv[i], "--copy") == 0) {
            copying = value != 0;
        } else {
            fprintf(stderr, "ring: %s %s: expected --clients, --seconds, --rate or --copy\n",
                    argv[i], argv[i + 1]);
            return 64;
        }
    }
    unsigned frame_count = seconds * fps < MAX_FRAMES ? seconds * fps : MAX_FRAMES;
    for (unsigned i = 0; i < count_count; i++)
        for (unsigned s = 0; s < sizeof subjects / sizeof *subjects; s++)
            run(&subjects[s], counts[i], frame_count, fps);
    return 0;
}

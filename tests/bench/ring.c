/* Measures the cost and the latency of passing a frame to N other processes.
 *
 *     build/tests/bench/ring [--clients N]... [--seconds S] [--rate FPS] [--copy 0|1] [--only NAME]
 *                            [--json FILE]
 *
 * Frames are 1280x720 NV12 at the rate of a camera. Clients take each frame when it arrives and
 * read every row. The subjects run one after another for each number of clients: fftd; uStreamer's
 * memory sink; GStreamer's shmsink and shmsrc; `bare`, a minimal implementation; and `bare8`, the
 * same with eight buffers.
 *
 * It measures the time from the complete frame at the writer until a client can read it; the
 * duration of the writer's call; the processor time of a client per frame; and the frames that
 * clients missed. A last run shows the effect on the others when one client stops in the middle of
 * a frame.
 *
 * On a busy machine the writer and the clients run late. The writer does not catch up, because no
 * camera sends bursts, and no client could read them in time. It continues one period later, and
 * the result includes the number of such delays. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/ring_bench.h"

#define WARM_FRAMES      30u /* not counted */
#define STUCK_FRAME      (WARM_FRAMES + 30u)
#define STUCK_CLIENTS    8u
#define CONNECT_PATIENCE 20 /* seconds */
#define END_PATIENCE     3  /* seconds more than the frames should take */
#define NS_PER_S         1000000000ll

/* At the beginning of every frame. */
struct stamp {
    int64_t ns; /* when the writer had all of it */
    uint64_t number;
};

struct options {
    unsigned clients[16], count;
    unsigned frames, fps;
    bool copies;
    const char *only;
    FILE *json;
};

static const struct ring_subject *const subjects[] = {&ring_fftd, &ring_memsink, &ring_shmsink,
                                                      &ring_bare, &ring_bare8};
#define SUBJECT_COUNT (sizeof subjects / sizeof subjects[0])

static int64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

static int64_t cpu_us(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (int64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
           usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

void bench_require(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "ring bench: %s\n", what);
    _exit(1);
}

/* ---- clients ---- */

void bench_ready(struct ring_board *board)
{
    __atomic_fetch_add(&board->ready, 1, __ATOMIC_RELEASE);
}

bool bench_is_over(const struct ring_board *board, unsigned index)
{
    return __atomic_load_n(&board->client[index].last, __ATOMIC_RELAXED) == board->frames ||
           __atomic_load_n(&board->stop, __ATOMIC_ACQUIRE);
}

/* Uses a frame as a client does. By default it does not copy: with many clients on few processors,
 * waiting for each other's copies would hide the latency. */
static void use(const struct ring_board *board, const uint8_t *frame)
{
    static uint8_t copy[RING_FRAME_BYTES];
    unsigned sum = 0;
    if (board->copies)
        memcpy(copy, frame, RING_FRAME_BYTES);
    for (unsigned row = 0; row < RING_HEIGHT; row++)
        sum += frame[row * RING_WIDTH];
    __asm__ volatile("" ::"r"(copy), "r"(sum) : "memory"); /* keeps the loop */
}

void bench_take(struct ring_board *board, unsigned index, const uint8_t *frame)
{
    const int64_t taken_ns = now_ns();
    struct stamp stamp;
    memcpy(&stamp, frame, sizeof stamp);
    if (stamp.number <= board->client[index].last || stamp.number > board->frames)
        return;
    if ((int)index == board->stuck_client && stamp.number >= STUCK_FRAME)
        raise(SIGSTOP);
    use(board, frame);
    if (stamp.number > WARM_FRAMES) {
        if (board->client[index].seen == 0) {
            board->client[index].first = (unsigned)stamp.number;
            board->client[index].cpu_us = -cpu_us();
        }
        board->client[index].latency_ns[board->client[index].seen++] = taken_ns - stamp.ns;
    }
    if (stamp.number == board->frames)
        board->client[index].cpu_us += cpu_us();
    __atomic_store_n(&board->client[index].last, (unsigned)stamp.number, __ATOMIC_RELAXED);
}

void bench_untake(struct ring_board *board, unsigned index)
{
    if (board->client[index].seen > 0)
        board->client[index].seen--;
}

static void wait_for(const bool *flag)
{
    while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE))
        poll(NULL, 0, 1);
}

static pid_t start_client(const struct ring_subject *subject, struct ring_board *board,
                          unsigned index)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    wait_for(&board->serving);
    subject->client(board, index);
    /* Clients that missed the last frame are finished here. */
    if (board->client[index].last != board->frames)
        board->client[index].cpu_us += cpu_us();
    _exit(0);
}

/* ---- the writer ---- */

/* Waits until a frame is due. Returns that time, or the current time if it is much later. */
static int64_t wait_until(struct ring_board *board, int64_t due_ns, int64_t patience_ns)
{
    const bool slept = now_ns() < due_ns; /* otherwise the subject's call caused the delay */
    const struct timespec due = {due_ns / NS_PER_S, due_ns % NS_PER_S};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
    const int64_t came_ns = now_ns();
    if (came_ns - due_ns <= patience_ns)
        return due_ns;
    board->late += slept;
    return came_ns;
}

static void write_frames(const struct ring_subject *subject, struct ring_board *board, unsigned fps)
{
    static uint8_t picture[RING_FRAME_BYTES];
    const int64_t period_ns = NS_PER_S / fps;
    int64_t due_ns = now_ns();
    for (unsigned n = 1; n <= board->frames; n++) {
        due_ns = wait_until(board, due_ns + period_ns, period_ns / 2);
        uint8_t *frame = subject->begin();
        memcpy(frame, picture, RING_FRAME_BYTES);
        const struct stamp stamp = {now_ns(), n};
        memcpy(frame, &stamp, sizeof stamp);
        subject->publish();
        board->publish_ns[n - 1] = now_ns() - stamp.ns;
        __atomic_store_n(&board->written, n, __ATOMIC_RELEASE);
    }
}

static pid_t start_writer(const struct ring_subject *subject, struct ring_board *board,
                          unsigned fps)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    subject->start(board);
    __atomic_store_n(&board->serving, true, __ATOMIC_RELEASE);
    const int64_t deadline_ns = now_ns() + CONNECT_PATIENCE * NS_PER_S;
    while (__atomic_load_n(&board->ready, __ATOMIC_ACQUIRE) < board->clients) {
        bench_require(now_ns() < deadline_ns, "clients do not connect");
        poll(NULL, 0, 1);
    }
    write_frames(subject, board, fps);
    wait_for(&board->stop);
    subject->stop();
    _exit(0);
}

/* ---- a run ---- */

static bool clients_have_all(const struct ring_board *board)
{
    if (__atomic_load_n(&board->written, __ATOMIC_ACQUIRE) < board->frames)
        return false;
    for (unsigned i = 0; i < board->clients; i++)
        if ((int)i != board->stuck_client && board->client[i].last != board->frames)
            return false;
    return true;
}

/* Waits until all clients have all frames, or for END_PATIENCE seconds. */
static void wait_for_end(struct ring_board *board, unsigned fps)
{
    int64_t deadline_ns = now_ns() + CONNECT_PATIENCE * NS_PER_S;
    while (__atomic_load_n(&board->written, __ATOMIC_ACQUIRE) == 0 && now_ns() < deadline_ns)
        poll(NULL, 0, 20);
    deadline_ns = now_ns() + (board->frames / fps + END_PATIENCE) * NS_PER_S;
    while (now_ns() < deadline_ns && !clients_have_all(board))
        poll(NULL, 0, 20);
}

static void run(const struct ring_subject *subject, struct ring_board *board, unsigned fps)
{
    pid_t client[RING_MAX_CLIENTS];
    const unsigned clients = board->clients;
    for (unsigned i = 0; i < clients; i++)
        client[i] = start_client(subject, board, i);
    pid_t writer = start_writer(subject, board, fps);
    wait_for_end(board, fps);
    /* Clients that the stuck client blocks would continue after its end. */
    if (board->written < board->frames)
        kill(writer, SIGKILL);
    __atomic_store_n(&board->stop, true, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < clients; i++) {
        if ((int)i == board->stuck_client)
            kill(client[i], SIGKILL);
        waitpid(client[i], NULL, 0);
    }
    waitpid(writer, NULL, 0);
    if (subject->clean != NULL)
        subject->clean(board, writer);
}

/* ---- the report ---- */

struct summary {
    double p50_us, p99_us;                 /* from the writer to a client */
    double publish_p50_us, publish_p99_us; /* what the writer's call took */
    double cpu_us;                         /* a client's, a frame */
    uint64_t lost, wanted;
};

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static double quantile_us(int64_t *values_ns, size_t count, double fraction)
{
    qsort(values_ns, count, sizeof *values_ns, compare);
    return count == 0 ? 0 : (double)values_ns[(size_t)((double)(count - 1) * fraction)] / 1e3;
}

static void summarize(struct ring_board *board, struct summary *ret)
{
    static int64_t all_ns[RING_MAX_FRAMES * RING_MAX_CLIENTS];
    const unsigned counted = board->frames - WARM_FRAMES;
    size_t count = 0;
    double cpu_us_sum = 0;
    unsigned judged = 0;
    *ret = (struct summary){0};
    for (unsigned i = 0; i < board->clients; i++) {
        if ((int)i == board->stuck_client)
            continue;
        const unsigned seen = board->client[i].seen;
        memcpy(all_ns + count, board->client[i].latency_ns, seen * sizeof *all_ns);
        count += seen;
        ret->wanted += counted;
        ret->lost += counted - seen;
        cpu_us_sum += seen > 0 ? (double)board->client[i].cpu_us / seen : 0;
        judged++;
    }
    ret->p50_us = quantile_us(all_ns, count, 0.5);
    ret->p99_us = quantile_us(all_ns, count, 0.99);
    ret->cpu_us = judged > 0 ? cpu_us_sum / judged : 0;
    if (board->written > WARM_FRAMES) {
        const unsigned calls = board->written - WARM_FRAMES;
        ret->publish_p50_us = quantile_us(board->publish_ns + WARM_FRAMES, calls, 0.5);
        ret->publish_p99_us = quantile_us(board->publish_ns + WARM_FRAMES, calls, 0.99);
    }
}

static void print_head(const struct options *options)
{
    printf("%ux%u NV12 at %u a second, %u frames counted, clients %s; times in us\n\n"
           "%7s  %-18s %10s %10s   %10s %10s   %10s   %s\n",
           RING_WIDTH, RING_HEIGHT, options->fps, options->frames - WARM_FRAMES,
           options->copies ? "copy each" : "look at every row", "clients", "subject", "read p50",
           "p99", "write p50", "p99", "client CPU", "frames lost");
}

static void print_run(const struct options *options, const struct ring_subject *subject,
                      const struct ring_board *board, const struct summary *s)
{
    char who[32];
    snprintf(who, sizeof who, board->stuck_client >= 0 ? "%u, 1 stuck" : "%u",
             board->clients - (board->stuck_client >= 0));
    printf("%7s  %-18s ", who, subject->name);
    if (board->clients > 0)
        printf("%10.0f %10.0f   ", s->p50_us, s->p99_us);
    else
        printf("%10s %10s   ", "-", "-");
    printf("%10.1f %10.1f   ", s->publish_p50_us, s->publish_p99_us);
    if (board->clients > 0)
        printf("%10.0f   %llu of %llu", s->cpu_us, (unsigned long long)s->lost,
               (unsigned long long)s->wanted);
    if (board->written < board->frames)
        printf("; the writer was held up: %u of %u frames", board->written, board->frames);
    if (board->late > 0)
        printf("; the machine was late for %u frames", board->late);
    printf("\n");
    fflush(stdout);
    if (options->json == NULL)
        return;
    fprintf(
        options->json,
        "{\"bench\": \"ring\", \"subject\": \"%s\", \"clients\": %u, \"stuck\": %d, "
        "\"frames\": %u, \"written\": %u, \"latency_p50_us\": %.0f, \"latency_p99_us\": %.0f, "
        "\"publish_p50_us\": %.1f, \"publish_p99_us\": %.1f, \"client_cpu_us_per_frame\": %.0f, "
        "\"lost\": %llu, \"wanted\": %llu, \"late\": %u}\n",
        subject->name, board->clients, board->stuck_client >= 0, board->frames, board->written,
        s->p50_us, s->p99_us, s->publish_p50_us, s->publish_p99_us, s->cpu_us,
        (unsigned long long)s->lost, (unsigned long long)s->wanted, board->late);
}

static void measure(const struct options *options, const struct ring_subject *subject,
                    unsigned clients, bool stuck)
{
    struct ring_board *board =
        mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct summary summary;
    bench_require(board != MAP_FAILED, "out of memory");
    board->clients = clients;
    board->frames = options->frames;
    board->copies = options->copies;
    board->stuck_client = stuck ? 0 : -1;
    run(subject, board, options->fps);
    summarize(board, &summary);
    print_run(options, subject, board, &summary);
    munmap(board, sizeof *board);
}

/* Checks in a child process, because loading libraries starts threads, and the writers and clients
 * that are forked here must not inherit any. */
static bool is_missing(const struct ring_subject *subject)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        const char *why = subject->missing();
        if (why != NULL)
            printf("%s is not measured: %s\n", subject->name, why);
        exit(why != NULL);
    }
    waitpid(pid, &status, 0);
    return status != 0;
}

static void measure_all(const struct options *options)
{
    bool missing[SUBJECT_COUNT];
    for (unsigned s = 0; s < SUBJECT_COUNT; s++)
        missing[s] = (options->only != NULL && strcmp(subjects[s]->name, options->only) != 0) ||
                     is_missing(subjects[s]);
    print_head(options);
    for (unsigned i = 0; i < options->count; i++)
        for (unsigned s = 0; s < SUBJECT_COUNT; s++)
            if (!missing[s])
                measure(options, subjects[s], options->clients[i], false);
    for (unsigned s = 0; s < SUBJECT_COUNT; s++)
        if (!missing[s])
            measure(options, subjects[s], STUCK_CLIENTS + 1, true);
}

static bool parse_option(struct options *options, const char *name, const char *text)
{
    static bool given;
    const unsigned value = (unsigned)strtoul(text, NULL, 10);
    if (strcmp(name, "--clients") == 0 && value <= RING_MAX_CLIENTS) {
        options->count = given ? options->count : 0;
        given = true;
        options->clients[options->count++ % 16] = value;
    } else if (strcmp(name, "--seconds") == 0 && value > 0) {
        options->frames = value;
    } else if (strcmp(name, "--rate") == 0 && value > 0) {
        options->fps = value;
    } else if (strcmp(name, "--copy") == 0) {
        options->copies = value != 0;
    } else if (strcmp(name, "--only") == 0) {
        options->only = text;
    } else if (strcmp(name, "--json") == 0) {
        options->json = fopen(text, "w");
        bench_require(options->json != NULL, text);
    } else {
        return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    struct options options = {.clients = {0, 1, 8, 32}, .count = 4, .frames = 3, .fps = 60};
    for (int i = 1; i < argc; i += 2) {
        if (i + 1 < argc && parse_option(&options, argv[i], argv[i + 1]))
            continue;
        fprintf(stderr,
                "ring: %s: expected --clients 0 .. %u, --seconds, --rate, --copy, --only "
                "or --json, and a value\n",
                argv[i], RING_MAX_CLIENTS);
        return 64;
    }
    options.frames = options.frames * options.fps + WARM_FRAMES;
    bench_require(options.frames <= RING_MAX_FRAMES,
                  "too many frames: expected fewer seconds or a lower rate");
    measure_all(&options);
    if (options.json != NULL)
        fclose(options.json);
    return 0;
}

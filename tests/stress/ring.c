/* The ring under fire, for STRESS_SECONDS (60): one writer at 60 frames a second and 32 clients.
 *
 *    8 keep up         want every frame and compare every byte of it
 *    8 are slow        hold a frame for up to 200 ms and then compare it
 *    8 are killed      hold two frames and die at any moment, to be started again
 *    4 come and go     open, read a frame, close
 *    4 send garbage    of any size and kind, or ask without ever reading the answers
 *
 * The clients and what kills them are processes; the writer and the server are this one, which has
 * been measured without any client before. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/cmocka.h"
#include "support/frames.h"

#include "fftd/fftd.h"

#define NV12          FFTD_FOURCC('N', 'V', '1', '2')
#define SLOTS         32
#define FPS           60u
#define CLIENTS       32
#define QUIET_SECONDS 5u /* measured without clients first */
#define MAX_FRAMES    (FPS * 3600)

enum role { KEEPING_UP, SLOW, KILLED, COMING, GARBAGE };
static const char *const role_names[] = {"keep up", "slow", "killed", "come and go", "garbage"};

static const enum role roles[CLIENTS] = {
    KEEPING_UP, KEEPING_UP, KEEPING_UP, KEEPING_UP, KEEPING_UP, KEEPING_UP, KEEPING_UP, KEEPING_UP,
    SLOW,       SLOW,       SLOW,       SLOW,       SLOW,       SLOW,       SLOW,       SLOW,
    KILLED,     KILLED,     KILLED,     KILLED,     KILLED,     KILLED,     KILLED,     KILLED,
    COMING,     COMING,     COMING,     COMING,     GARBAGE,    GARBAGE,    GARBAGE,    GARBAGE,
};

/* The counters of all clients. The successor of a killed client continues its counters. */
struct board {
    bool stop;
    char dir[32];
    uint64_t kills;
    struct {
        uint64_t accepted; /* valid after every byte was compared */
        uint64_t torn;     /* valid, but different from the published frame */
        uint64_t lost;     /* missed, or overwritten while being read */
        uint64_t held;
        uint64_t refused; /* holds that the server refused */
        uint64_t failed;  /* failed calls */
        uint64_t newest;  /* the last frame taken; 0: none yet */
    } client[CLIENTS];
};
static struct board *board;

/* Figures that are measured twice, without and with clients. */
static struct phase {
    unsigned count;
    unsigned blocked; /* publications in which the writer's thread had to wait */
    unsigned waits;   /* of the writer for those that keep up */
    int64_t wall_ns[MAX_FRAMES];
    int64_t cpu_ns[MAX_FRAMES];
    int64_t alone_ns[MAX_FRAMES]; /* processor time into a ring that nobody reads, in turns */
} quiet, beginning, stormy, ending;

static long rss_before_kb, rss_after_kb;
static unsigned fds_before, fds_after;
static struct ring_server_stats stats_after;

#define add(counter) ((void)__atomic_fetch_add(&(counter), 1, __ATOMIC_RELAXED))

/* Returns a random number in 0 .. sides - 1. Each process has its own generator (xorshift). */
static unsigned roll(unsigned sides)
{
    static uint64_t state;
    if (state == 0)
        state = (uint64_t)getpid() * 0x9e3779b97f4a7c15u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state >> 32) % sides;
}

static bool is_over(void)
{
    return __atomic_load_n(&board->stop, __ATOMIC_ACQUIRE);
}

static void rest_ms(int ms)
{
    poll(NULL, 0, ms);
}

static int64_t clock_ns(clockid_t clock)
{
    struct timespec ts;
    clock_gettime(clock, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* ---- clients ---- */

static struct fftd *open_camera(unsigned me)
{
    struct fftd *camera = NULL;
    int r = -ETIMEDOUT;
    /* On a busy machine the server may need longer than one call waits. */
    for (unsigned tries = 0; (r == -ETIMEDOUT || r == -EAGAIN) && tries < 30 && !is_over(); tries++)
        r = fftd_open(&camera, board->dir);
    if (r < 0 || fftd_wait(camera, FRAMES_PATIENCE_MS) != 1) {
        if (!is_over())
            add(board->client[me].failed);
        _exit(1);
    }
    return camera;
}

static void judge(struct fftd *camera, unsigned me, const struct fftd_frame *frame)
{
    bool match = frames_match(frame->format, frame->plane[0], frame->sequence);
    if (!fftd_frame_valid(camera, frame))
        add(board->client[me].lost);
    else
        add(*(match ? &board->client[me].accepted : &board->client[me].torn));
}

static void keep_up(unsigned me)
{
    struct fftd *camera = open_camera(me);
    struct fftd_frame frame;
    /* Begin with the newest, because the oldest is overwritten soon. */
    if (fftd_frame(camera, &frame) == 0)
        __atomic_store_n(&board->client[me].newest, frame.sequence, __ATOMIC_RELEASE);
    while (!is_over()) {
        if (fftd_wait(camera, 1000) < 0)
            add(board->client[me].failed);
        while (fftd_next(camera, &frame) == 0) {
            board->client[me].lost += frame.missed;
            judge(camera, me, &frame);
            __atomic_store_n(&board->client[me].newest, frame.sequence, __ATOMIC_RELEASE);
        }
    }
    fftd_close(camera);
}

static void be_slow(unsigned me)
{
    struct fftd *camera = open_camera(me);
    struct fftd_frame frame;
    while (!is_over()) {
        if (fftd_wait(camera, 1000) < 1 || fftd_frame(camera, &frame) < 0)
            continue;
        int r = fftd_hold(camera, &frame);
        if (r < 0) {
            add(*(r == -EBUSY || r == -ENOENT ? &board->client[me].refused
                                              : &board->client[me].failed));
            rest_ms(20);
            continue;
        }
        add(board->client[me].held);
        rest_ms(20 + (int)roll(180));
        judge(camera, me, &frame);
        fftd_release(camera, &frame);
    }
    fftd_close(camera);
}

static void hold_until_killed(unsigned me)
{
    struct fftd *camera = open_camera(me);
    struct fftd_frame frame[2];
    for (unsigned n = 0;; n++) {
        struct fftd_frame *mine = &frame[n % 2];
        while (fftd_wait(camera, 1000) < 1 || fftd_frame(camera, mine) < 0)
            continue;
        if (n >= 2)
            fftd_release(camera, &frame[(n + 1) % 2]);
        if (fftd_hold(camera, mine) == 0)
            add(board->client[me].held);
        judge(camera, me, mine);
    }
}

static void come_and_go(unsigned me)
{
    while (!is_over()) {
        struct fftd *camera = open_camera(me);
        struct fftd_frame frame;
        if (fftd_frame(camera, &frame) == 0)
            judge(camera, me, &frame);
        fftd_close(camera);
        rest_ms((int)roll(20));
    }
}

static void send_garbage(unsigned me)
{
    static uint8_t junk[4096];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/frames", board->dir);
    while (!is_over()) {
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        struct fftd_message message = {
            .magic = FFTD_FRAMES_MAGIC, .kind = roll(5), .value = roll(3), .generation = 1};
        for (size_t i = 0; i < sizeof junk; i++)
            junk[i] = (uint8_t)roll(256);
        if (roll(2) != 0)
            memcpy(junk, &message, sizeof message);
        if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
            for (unsigned n = roll(20); n > 0; n--)
                if (send(fd, junk, roll(3) != 0 ? sizeof message : roll(sizeof junk),
                         MSG_NOSIGNAL) > 0)
                    add(board->client[me].accepted);
        rest_ms((int)roll(10));
        close(fd);
    }
}

static pid_t start_client(unsigned me)
{
    static void (*const mains[])(unsigned) = {keep_up, be_slow, hold_until_killed, come_and_go,
                                              send_garbage};
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    mains[roles[me]](me);
    _exit(0);
}

/* Starts all clients, and repeatedly kills and replaces those of role KILLED. */
static void supervise(void)
{
    pid_t pid[CLIENTS];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (unsigned i = 0; i < CLIENTS; i++)
        pid[i] = start_client(i);
    while (!is_over()) {
        rest_ms((int)roll(60));
        unsigned victim = roll(CLIENTS);
        if (roles[victim] != KILLED)
            continue;
        kill(pid[victim], SIGKILL);
        waitpid(pid[victim], NULL, 0);
        pid[victim] = start_client(victim);
        add(board->kills);
    }
    for (unsigned i = 0; i < CLIENTS; i++) {
        if (roles[i] == KILLED)
            kill(pid[i], SIGKILL);
        waitpid(pid[i], NULL, 0);
    }
    _exit(0);
}

/* ---- the daemon's side ---- */

static unsigned count_fds(void)
{
    unsigned count = 0;
    for (int fd = 0; fd < 4096; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static long rss_kb(void)
{
    char text[128] = "";
    FILE *file = fopen("/proc/self/statm", "r");
    if (file != NULL && fgets(text, sizeof text, file) == NULL)
        text[0] = '\0';
    if (file != NULL)
        fclose(file);
    const char *resident = strchr(text, ' '); /* the second number, in pages */
    return resident != NULL ? strtol(resident, NULL, 10) * (sysconf(_SC_PAGESIZE) / 1024) : 0;
}

/* How often this thread gave up the processor to wait for something. Being preempted does not
 * count. */
static long count_waits(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

/* How many of those who keep up have begun, and the newest frame that all of these have taken. */
static unsigned look_at_readers(uint64_t *ret_newest)
{
    unsigned begun = 0;
    *ret_newest = UINT64_MAX;
    for (unsigned i = 0; i < CLIENTS; i++) {
        const uint64_t newest = __atomic_load_n(&board->client[i].newest, __ATOMIC_ACQUIRE);
        if (roles[i] != KEEPING_UP || newest == 0)
            continue;
        begun++;
        if (newest < *ret_newest)
            *ret_newest = newest;
    }
    return begun;
}

/* Waits for those who keep up, as far as they have taken a frame, if the machine is so busy that
 * they are a quarter of the ring behind: what they lose then is not the ring's fault. It is that of
 * one who does not come for long enough. */
static void wait_for_readers(const struct ring *ring, struct phase *phase)
{
    static bool is_vain;
    const int64_t until_ns = clock_ns(CLOCK_MONOTONIC) + FRAMES_PATIENCE_MS * (int64_t)1000000;
    uint64_t newest;
    bool waited = false;
    while (look_at_readers(&newest) > 0 && ring_newest(ring) > newest + SLOTS / 4 && !is_vain &&
           !is_over()) {
        rest_ms(1);
        waited = true;
        is_vain = clock_ns(CLOCK_MONOTONIC) >= until_ns;
    }
    phase->waits += waited;
}

/* Returns the processor time that a publication takes which nobody waits for. */
static int64_t publish_alone(void)
{
    static struct ring *ring;
    const struct ring_meta meta = {0};
    struct ring_write write;
    if (ring == NULL)
        ring = frames_ring(NV12, 320, 180, SLOTS, 1, 1);
    ring_begin(ring, &write);
    frames_draw(ring_format(ring), write.data, ring_newest(ring) + 1);
    const int64_t begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    ring_publish(ring, &write, &meta);
    return clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
}

static void write_frames(struct ring *ring, struct phase *phase, unsigned frame_count)
{
    int64_t due_ns = clock_ns(CLOCK_MONOTONIC);
    for (unsigned i = 0; i < frame_count && phase->count < MAX_FRAMES; i++) {
        const unsigned n = phase->count;
        due_ns += 1000000000 / FPS;
        const struct timespec due = {due_ns / 1000000000, due_ns % 1000000000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
        wait_for_readers(ring, phase);
        phase->alone_ns[n] = publish_alone();
        struct ring_write write;
        const struct ring_meta meta = {0};
        ring_begin(ring, &write);
        frames_draw(ring_format(ring), write.data, ring_newest(ring) + 1);
        const long waits = count_waits();
        int64_t wall_ns = clock_ns(CLOCK_MONOTONIC);
        int64_t cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        ring_publish(ring, &write, &meta);
        phase->cpu_ns[n] = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
        phase->wall_ns[n] = clock_ns(CLOCK_MONOTONIC) - wall_ns;
        phase->blocked += count_waits() > waits;
        phase->count++;
    }
}

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static double quantile_us(int64_t *values_ns, unsigned count, double fraction)
{
    qsort(values_ns, count, sizeof *values_ns, compare);
    return (double)values_ns[(unsigned)((count - 1) * fraction)] / 1e3;
}

static void print_phase(const char *name, struct phase *phase)
{
    print_message(
        "# publishing %s: %u frames, p50 %.1f us, p99 %.1f us; processor time p50 %.1f us, "
        "p99 %.1f us, to nobody meanwhile p50 %.1f us; the writer waited for readers %u times\n",
        name, phase->count, quantile_us(phase->wall_ns, phase->count, 0.5),
        quantile_us(phase->wall_ns, phase->count, 0.99),
        quantile_us(phase->cpu_ns, phase->count, 0.5),
        quantile_us(phase->cpu_ns, phase->count, 0.99),
        quantile_us(phase->alone_ns, phase->count, 0.5), phase->waits);
}

static unsigned count_of(enum role role)
{
    unsigned count = 0;
    for (unsigned i = 0; i < CLIENTS; i++)
        count += roles[i] == role;
    return count;
}

static void print_roles(void)
{
    for (unsigned role = 0; role <= GARBAGE; role++) {
        unsigned long long sum[6] = {0};
        for (unsigned i = 0; i < CLIENTS; i++) {
            if (roles[i] != role)
                continue;
            sum[0] += board->client[i].accepted;
            sum[1] += board->client[i].lost;
            sum[2] += board->client[i].torn;
            sum[3] += board->client[i].held;
            sum[4] += board->client[i].refused;
            sum[5] += board->client[i].failed;
        }
        print_message("# %-12s %8llu accepted, %llu lost, %llu torn, %llu held, %llu refused, "
                      "%llu failed\n",
                      role_names[role], sum[0], sum[1], sum[2], sum[3], sum[4], sum[5]);
    }
}

/* Prints one line, which tests/tools/run.py always shows. */
static void print_figures(void)
{
    unsigned long long accepted = 0, torn = 0, kept_up = 0, lost = 0;
    for (unsigned i = 0; i < CLIENTS; i++) {
        if (roles[i] == GARBAGE) /* counts packets */
            continue;
        accepted += board->client[i].accepted;
        torn += board->client[i].torn;
        if (roles[i] != KEEPING_UP)
            continue;
        kept_up += board->client[i].accepted;
        lost += board->client[i].lost;
    }
    print_message("# figures: publish p99 %.1f us (%.1f of processor time) to nobody, %.1f (%.1f) "
                  "to %d clients; who keeps up lost %llu of %llu frames; %llu of all %llu torn; "
                  "%llu killed; descriptors %u, then %u; memory %ld KiB, then %ld\n",
                  quantile_us(quiet.wall_ns, quiet.count, 0.99),
                  quantile_us(quiet.cpu_ns, quiet.count, 0.99),
                  quantile_us(stormy.wall_ns, stormy.count, 0.99),
                  quantile_us(stormy.cpu_ns, stormy.count, 0.99), CLIENTS, lost, kept_up + lost,
                  torn, accepted + torn, (unsigned long long)board->kills, fds_before, fds_after,
                  rss_before_kb, rss_after_kb);
}

static int run_storm(void **state)
{
    const char *text = getenv("STRESS_SECONDS");
    unsigned seconds = text != NULL ? (unsigned)strtoul(text, NULL, 10) : 60;
    struct frames frames;
    (void)state;

    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int go[2];
    if (board == MAP_FAILED || pipe2(go, O_CLOEXEC) < 0)
        return -1;
    /* Forked while there is only one thread. */
    pid_t supervisor = fork();
    if (supervisor == 0) {
        char byte;
        close(go[1]);
        if (read(go[0], &byte, 1) == 1)
            supervise();
        _exit(0);
    }
    frames_start(&frames, NULL, 64);
    struct ring *ring = frames_ring(NV12, 320, 180, SLOTS, 1, 1);
    frames_set_ring(&frames, ring);
    strcpy(board->dir, frames.dir);

    write_frames(ring, &quiet, QUIET_SECONDS * FPS);
    rss_before_kb = rss_kb();
    fds_before = count_fds();
    if (write(go[1], "", 1) != 1)
        return -1;
    const int64_t until_ns = clock_ns(CLOCK_MONOTONIC) + FRAMES_PATIENCE_MS * (int64_t)1000000;
    uint64_t newest;
    while (look_at_readers(&newest) < count_of(KEEPING_UP) && clock_ns(CLOCK_MONOTONIC) < until_ns)
        write_frames(ring, &beginning, 1);
    write_frames(ring, &stormy, seconds * FPS);
    __atomic_store_n(&board->stop, true, __ATOMIC_RELEASE);
    while (waitpid(supervisor, NULL, WNOHANG) == 0)
        write_frames(ring, &ending, 1); /* so that no client waits forever */
    frames_settle(&frames, 0, 0);
    stats_after = frames_stats(&frames);
    rss_after_kb = rss_kb();
    fds_after = count_fds();

    print_phase("without clients", &quiet);
    print_phase("in the storm", &stormy);
    print_roles();
    print_figures();
    frames_stop(&frames);
    frames_remove(&frames);
    ring_destroy(ring);
    return 0;
}

/* ---- what must hold ---- */

static void who_keeps_up_loses_nothing(void **state)
{
    (void)state;
    for (unsigned i = 0; i < CLIENTS; i++) {
        if (roles[i] != KEEPING_UP)
            continue;
        assert_int_equal(board->client[i].lost, 0);
        assert_int_equal(board->client[i].failed, 0);
        assert_true(board->client[i].accepted + SLOTS > stormy.count);
    }
}

static void nobody_accepts_a_torn_frame(void **state)
{
    (void)state;
    for (unsigned i = 0; i < CLIENTS; i++)
        assert_int_equal(board->client[i].torn, 0);
}

static void what_is_held_stays(void **state)
{
    (void)state;
    uint64_t held = 0;
    for (unsigned i = 0; i < CLIENTS; i++) {
        if (roles[i] != SLOW)
            continue;
        held += board->client[i].held;
        assert_int_equal(board->client[i].lost, 0);
        assert_int_equal(board->client[i].failed, 0);
    }
    assert_true(held > 0);
}

/* A writer that woke the clients itself would need ten times as long for every frame as for one
 * that nobody waits for, which it publishes in turns with them. The medians show that; the slowest
 * frames show only how busy the machine is. */
static void clients_cost_the_writer_nothing(void **state)
{
    (void)state;
    double alone_us = quantile_us(stormy.alone_ns, stormy.count, 0.5);
    double with_us = quantile_us(stormy.cpu_ns, stormy.count, 0.5);
    assert_true(with_us < 2 * alone_us + 30);
    assert_int_equal(stormy.blocked, 0);
}

static void nothing_grows(void **state)
{
    (void)state;
    assert_true(board->kills > 0);
    assert_int_equal(stats_after.clients, 0);
    assert_int_equal(stats_after.held_slots, 0);
    assert_true(fds_after <= fds_before + 1); /* the event loop's timer, made when first needed */
    assert_true(rss_after_kb < rss_before_kb + 1024);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_keeps_up_loses_nothing),
        cmocka_unit_test(nobody_accepts_a_torn_frame),
        cmocka_unit_test(what_is_held_stays),
        cmocka_unit_test(clients_cost_the_writer_nothing),
        cmocka_unit_test(nothing_grows),
    };
    return cmocka_run_group_tests(tests, run_storm, NULL);
}

/* A client that is stopped, by a debugger or by the terminal, wherever it is at that moment: every
 * frame reaches all the others, by its own wake-up. Nothing is published before everybody has the
 * frame before, so that the next one's wake-up cannot make up for one that was lost. */
#include <errno.h>
#include <linux/futex.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/cmocka.h"
#include "support/frames.h"

#include "fftd/fftd.h"
#include "ring/private.h"

#define GREY    FFTD_FOURCC('R', '8', ' ', ' ')
#define CLIENTS 6
#define STOPPED 3 /* in the middle: some sleep before it, some after it */
#define FRAMES  200

struct client {
    sem_t woken;       /* posted for every frame the client has */
    uint64_t sequence; /* of the newest one */
};

static struct fixture {
    struct frames frames;
    struct ring *ring;
    void (*stop_here)(struct fftd *camera, const struct fftd_frame *frame); /* NULL: anywhere */
    pid_t pid[CLIENTS];
    struct client *client; /* shared with them */
} fixture;

static void tell(unsigned me, uint64_t sequence)
{
    fixture.client[me].sequence = sequence;
    sem_post(&fixture.client[me].woken);
}

/* ---- clients ---- */

static void read_by_library(unsigned me)
{
    struct fftd *camera;
    struct fftd_frame frame;
    if (fftd_open(&camera, fixture.frames.dir) < 0)
        _exit(1);
    tell(me, 0);
    for (;;) {
        while (fftd_wait(camera, -1) != 1 || fftd_next(camera, &frame) < 0)
            continue;
        if (me == STOPPED && fixture.stop_here != NULL)
            fixture.stop_here(camera, &frame);
        tell(me, frame.sequence);
    }
}

/* What fftd/ring.h tells those to do who have nothing but the memory. */
static void read_by_futex(unsigned me)
{
    struct fftd_ring_header *header = fixture.ring->header;
    uint64_t seen = 0;
    tell(me, 0);
    for (;;) {
        uint32_t word = __atomic_load_n(&header->futex, __ATOMIC_ACQUIRE);
        uint64_t newest = __atomic_load_n(&header->newest, __ATOMIC_ACQUIRE);
        if (FFTD_NEWEST_SEQUENCE(newest) == seen) {
            syscall(SYS_futex, &header->futex, FUTEX_WAIT, word, NULL, NULL, 0);
            continue;
        }
        seen = FFTD_NEWEST_SEQUENCE(newest);
        tell(me, seen);
    }
}

static void hold_and_stop(struct fftd *camera, const struct fftd_frame *frame)
{
    fftd_hold(camera, frame);
    raise(SIGSTOP);
}

/* Asks to hold a frame, and never takes the answer. */
static void ask_and_stop(struct fftd *camera, const struct fftd_frame *frame)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const struct fftd_message message = {.magic = FFTD_FRAMES_MAGIC,
                                         .kind = FFTD_REQUEST_HOLD,
                                         .value = frame->sequence,
                                         .generation = 1};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    (void)camera;
    memcpy(address.sun_path, fixture.frames.dir, sizeof fixture.frames.dir);
    strcat(address.sun_path, "/frames");
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) < 0 ||
        send(fd, &message, sizeof message, 0) != sizeof message)
        _exit(1);
    raise(SIGSTOP);
}

/* ---- the writer ---- */

static bool has_woken(unsigned index)
{
    struct timespec deadline;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += FRAMES_PATIENCE_MS / 1000;
    while (sem_timedwait(&fixture.client[index].woken, &deadline) < 0)
        if (errno != EINTR)
            return false;
    return true;
}

static void start_clients(void (*life)(unsigned me))
{
    for (unsigned i = 0; i < CLIENTS; i++) {
        fixture.pid[i] = fork();
        assert_true(fixture.pid[i] >= 0);
        if (fixture.pid[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            life(i);
        }
        assert_true(has_woken(i));
    }
}

static void stop_asleep(void)
{
    assert_true(frames_asleep(fixture.pid[STOPPED]));
    kill(fixture.pid[STOPPED], SIGSTOP);
}

static void wait_until_stopped(void)
{
    int status;
    assert_int_equal(waitpid(fixture.pid[STOPPED], &status, WUNTRACED), fixture.pid[STOPPED]);
    assert_true(WIFSTOPPED(status));
}

static void publish_to_the_others(void)
{
    frames_publish(fixture.ring);
    for (unsigned i = 0; i < CLIENTS; i++) {
        if (i == STOPPED)
            continue;
        assert_true(has_woken(i));
        assert_int_equal(fixture.client[i].sequence, ring_newest(fixture.ring));
    }
}

/* Every frame reaches those that run; the one that was stopped, once it may go on, is there again.
 */
static void assert_nobody_else_notices(void)
{
    for (unsigned n = 0; n < FRAMES; n++)
        publish_to_the_others();
    assert_int_equal(sem_trywait(&fixture.client[STOPPED].woken), -1);
    kill(fixture.pid[STOPPED], SIGCONT);
    assert_true(has_woken(STOPPED));
}

static int setup(void **state)
{
    (void)state;
    fixture.client = mmap(NULL, sizeof *fixture.client * CLIENTS, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (fixture.client == MAP_FAILED)
        return -1;
    for (unsigned i = 0; i < CLIENTS; i++)
        sem_init(&fixture.client[i].woken, 1, 0);
    fixture.stop_here = NULL;
    frames_start(&fixture.frames, NULL, CLIENTS + 1);
    fixture.ring = frames_ring(GREY, 64, 16, 8, 1, 1);
    frames_set_ring(&fixture.frames, fixture.ring);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (unsigned i = 0; i < CLIENTS; i++) {
        if (fixture.pid[i] <= 0)
            continue;
        kill(fixture.pid[i], SIGKILL);
        waitpid(fixture.pid[i], NULL, 0);
        fixture.pid[i] = 0;
    }
    frames_stop(&fixture.frames);
    frames_remove(&fixture.frames);
    ring_destroy(fixture.ring);
    return munmap(fixture.client, sizeof *fixture.client * CLIENTS);
}

/* ---- where it is stopped ---- */

static void asleep_in_the_library(void **state)
{
    (void)state;
    start_clients(read_by_library);
    stop_asleep();
    wait_until_stopped();
    assert_nobody_else_notices();
}

static void asleep_on_the_futex(void **state)
{
    (void)state;
    start_clients(read_by_futex);
    stop_asleep();
    wait_until_stopped();
    assert_nobody_else_notices();
}

static void holding_a_frame(void **state)
{
    (void)state;
    fixture.stop_here = hold_and_stop;
    start_clients(read_by_library);
    publish_to_the_others();
    wait_until_stopped();
    assert_nobody_else_notices();
}

static void between_a_request_and_its_answer(void **state)
{
    (void)state;
    fixture.stop_here = ask_and_stop;
    start_clients(read_by_library);
    publish_to_the_others();
    wait_until_stopped();
    assert_nobody_else_notices();
}

/* Nobody else is there, so the writer itself wakes the client: stopped while it sleeps on its word,
 * stopped for longer than its socket has room, and killed. */
static void alone(void **state)
{
    (void)state;
    fixture.pid[STOPPED] = fork();
    assert_true(fixture.pid[STOPPED] >= 0);
    if (fixture.pid[STOPPED] == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        read_by_library(STOPPED);
    }
    assert_true(has_woken(STOPPED));
    for (unsigned n = 0; n < FRAMES; n++) {
        assert_true(n % 2 == 0 || frames_asleep(fixture.pid[STOPPED]));
        frames_publish(fixture.ring);
        assert_true(has_woken(STOPPED));
    }
    stop_asleep();
    wait_until_stopped();
    for (unsigned n = 0; n < 10 * FRAMES; n++)
        frames_publish(fixture.ring);
    kill(fixture.pid[STOPPED], SIGCONT);
    while (fixture.client[STOPPED].sequence < ring_newest(fixture.ring))
        assert_true(has_woken(STOPPED));
    kill(fixture.pid[STOPPED], SIGKILL);
    for (unsigned n = 0; n < FRAMES; n++)
        frames_publish(fixture.ring);
    assert_true(frames_settle(&fixture.frames, 0, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(asleep_in_the_library, setup, teardown),
        cmocka_unit_test_setup_teardown(asleep_on_the_futex, setup, teardown),
        cmocka_unit_test_setup_teardown(holding_a_frame, setup, teardown),
        cmocka_unit_test_setup_teardown(between_a_request_and_its_answer, setup, teardown),
        cmocka_unit_test_setup_teardown(alone, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

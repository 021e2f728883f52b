/* Readers are woken by the writer or by the thread. No thread runs in most of these tests, so
 * whatever arrives was sent by the writer, and the semaphore counts what it has handed over. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "support/cmocka.h"
#include "support/frames.h"

#include "ring/private.h"

#define READERS 2

struct reader {
    struct ring_listener listener;
    uint32_t word;
    int fd; /* the client's end of the socket */
};

static struct fixture {
    struct waker waker;
    uint32_t ring_word;
    struct reader reader[READERS];
} fixture;

static int setup(void **state)
{
    (void)state;
    fixture = (struct fixture){0};
    fixture.waker.futex = &fixture.ring_word;
    sem_init(&fixture.waker.work, 0, 0);
    for (unsigned i = 0; i < READERS; i++) {
        struct reader *reader = &fixture.reader[i];
        int fd[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) < 0)
            return -1;
        reader->fd = fd[0];
        reader->listener = (struct ring_listener){.fd = fd[1], .word = &reader->word};
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (unsigned i = 0; i < READERS; i++) {
        close(fixture.reader[i].fd);
        close(fixture.reader[i].listener.fd);
    }
    return sem_destroy(&fixture.waker.work);
}

static void add(unsigned index)
{
    waker_add(&fixture.waker, &fixture.reader[index].listener);
}

/* The bytes that have come to the reader since the last call. */
static ssize_t bytes_of(unsigned index)
{
    char bytes[4096];
    const ssize_t got = recv(fixture.reader[index].fd, bytes, sizeof bytes, MSG_DONTWAIT);
    return got < 0 ? 0 : got;
}

/* Returns how many sleepers it has woken: 0 or 1. */
static long wake(const uint32_t *word)
{
    return syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Returns whether a round was handed over since the last call. */
static bool was_handed_over(void)
{
    return sem_trywait(&fixture.waker.work) == 0;
}

/* ---- sleeping ---- */

struct sleeper {
    pthread_t thread;
    const uint32_t *word;
    pid_t tid;  /* atomic; 0 until it is about to sleep */
    bool woken; /* atomic */
};

static void *sleep_on_word(void *context)
{
    struct sleeper *sleeper = context;
    const struct timespec patience = {.tv_sec = FRAMES_PATIENCE_MS / 1000};
    const uint32_t seen = __atomic_load_n(sleeper->word, __ATOMIC_ACQUIRE);
    __atomic_store_n(&sleeper->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
    const long r = syscall(SYS_futex, sleeper->word, FUTEX_WAIT, seen, &patience, NULL, 0);
    __atomic_store_n(&sleeper->woken, r == 0, __ATOMIC_RELEASE);
    return NULL;
}

static void fall_asleep(struct sleeper *sleeper, const uint32_t *word)
{
    *sleeper = (struct sleeper){.word = word};
    assert_int_equal(pthread_create(&sleeper->thread, NULL, sleep_on_word, sleeper), 0);
    while (__atomic_load_n(&sleeper->tid, __ATOMIC_ACQUIRE) == 0)
        poll(NULL, 0, 1);
    assert_true(frames_asleep(sleeper->tid));
}

static void assert_woken(struct sleeper *sleeper)
{
    pthread_join(sleeper->thread, NULL);
    assert_true(sleeper->woken);
}

static void do_nothing(int signal)
{
    (void)signal;
}

/* Ends the sleep before anybody ends it, as a time limit does. */
static void leave_early(struct sleeper *sleeper)
{
    const struct sigaction action = {.sa_handler = do_nothing};
    sigaction(SIGUSR1, &action, NULL);
    pthread_kill(sleeper->thread, SIGUSR1);
    pthread_join(sleeper->thread, NULL);
    assert_false(sleeper->woken);
}

/* Both readers sleep on their words, and are moved to the common word. */
static void gather_both(struct sleeper sleeper[READERS])
{
    for (unsigned i = 0; i < READERS; i++) {
        add(i);
        fall_asleep(&sleeper[i], &fixture.reader[i].word);
    }
    waker_gather(&fixture.waker);
    assert_int_equal(fixture.waker.gathered, READERS);
}

/* ---- tests ---- */

static void who_sleeps_on_its_word_is_woken_by_the_writer(void **state)
{
    struct sleeper sleeper;
    (void)state;
    add(0);
    fall_asleep(&sleeper, &fixture.reader[0].word);
    waker_wake(&fixture.waker);
    assert_woken(&sleeper);
    assert_int_equal(fixture.reader[0].word, 1);
    assert_int_equal(bytes_of(0), 0);
    assert_false(was_handed_over());
}

static void who_does_not_gets_a_byte(void **state)
{
    (void)state;
    add(0);
    waker_wake(&fixture.waker);
    assert_int_equal(fixture.reader[0].word, 1);
    assert_int_equal(bytes_of(0), 1);
    assert_false(was_handed_over());
}

static void a_client_without_a_word_gets_a_byte(void **state)
{
    (void)state;
    fixture.reader[0].listener.word = NULL;
    add(0);
    waker_wake(&fixture.waker);
    assert_int_equal(bytes_of(0), 1);
    assert_int_equal(fixture.reader[0].word, 0);
    assert_false(was_handed_over());
}

static void the_second_reader_leaves_both_to_the_thread(void **state)
{
    (void)state;
    for (unsigned n = 0; n < 3; n++) {
        add(0);
        waker_wake(&fixture.waker);
        assert_int_equal(bytes_of(0), 1);
        assert_false(was_handed_over());

        add(1);
        waker_wake(&fixture.waker);
        assert_int_equal(bytes_of(0) + bytes_of(1), 0);
        assert_true(was_handed_over());

        waker_remove(&fixture.waker, &fixture.reader[0].listener);
        waker_wake(&fixture.waker);
        assert_int_equal(bytes_of(0), 0);
        assert_int_equal(bytes_of(1), 1);
        assert_false(was_handed_over());
        waker_remove(&fixture.waker, &fixture.reader[1].listener);
    }
}

/* The server or the thread has the list: the writer goes on, and nobody is forgotten. */
static void a_locked_list_is_left_to_the_thread(void **state)
{
    (void)state;
    add(0);
    lock_take(&fixture.waker.lock);
    waker_wake(&fixture.waker);
    lock_release(&fixture.waker.lock);
    assert_int_equal(bytes_of(0), 0);
    assert_true(was_handed_over());
}

static void a_full_socket_costs_nothing(void **state)
{
    (void)state;
    const int fd = fixture.reader[0].listener.fd; /* a blocking one, as the client might make it */
    while (send(fd, "x", 1, MSG_DONTWAIT) == 1)
        continue;
    assert_int_equal(errno, EAGAIN);
    add(0);
    alarm(120);
    for (unsigned n = 0; n < 1000; n++)
        waker_wake(&fixture.waker);
    alarm(0);
    assert_int_equal(fixture.reader[0].word, 1000);
    assert_false(was_handed_over());
}

static void a_closed_socket_costs_nothing(void **state)
{
    (void)state;
    close(fixture.reader[0].fd);
    fixture.reader[0].fd = -1;
    add(0);
    waker_wake(&fixture.waker); /* a SIGPIPE would end the test */
    assert_false(was_handed_over());
}

/* However many sleep on the ring's own word, the writer wakes one of them. */
static void those_on_the_rings_word_are_left_to_the_thread(void **state)
{
    struct sleeper sleeper[3];
    (void)state;
    for (unsigned i = 0; i < 3; i++)
        fall_asleep(&sleeper[i], &fixture.ring_word);
    waker_wake(&fixture.waker);
    assert_true(was_handed_over());
    assert_int_equal(syscall(SYS_futex, &fixture.ring_word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0), 2);
    for (unsigned i = 0; i < 3; i++)
        assert_woken(&sleeper[i]);
}

static void the_gathered_are_woken_on_the_common_word(void **state)
{
    struct sleeper sleeper[READERS];
    (void)state;
    gather_both(sleeper);
    for (unsigned i = 0; i < READERS; i++)
        assert_int_equal(wake(&fixture.reader[i].word), 0);
    waker_round(&fixture.waker);
    for (unsigned i = 0; i < READERS; i++) {
        assert_woken(&sleeper[i]);
        assert_int_equal(fixture.reader[i].word, 1);
        assert_int_equal(bytes_of(i), 0);
    }
    assert_int_equal(fixture.waker.gathered, 0);
}

/* However many threads a client has, and however often they are gathered. */
static void one_sleeper_of_a_client_is_gathered(void **state)
{
    struct sleeper sleeper[2];
    (void)state;
    add(0);
    add(1);
    for (unsigned i = 0; i < 2; i++)
        fall_asleep(&sleeper[i], &fixture.reader[0].word);
    for (unsigned n = 0; n < 3; n++)
        waker_gather(&fixture.waker);
    assert_int_equal(fixture.waker.gathered, 1);
    waker_round(&fixture.waker);
    assert_woken(&sleeper[0]);
    assert_int_equal(wake(&fixture.reader[0].word), 1);
    assert_woken(&sleeper[1]);
}

static void a_lone_reader_is_not_gathered(void **state)
{
    struct sleeper sleeper;
    (void)state;
    add(0);
    fall_asleep(&sleeper, &fixture.reader[0].word);
    waker_gather(&fixture.waker);
    assert_int_equal(fixture.waker.gathered, 0);
    waker_wake(&fixture.waker);
    assert_woken(&sleeper);
}

static void who_has_left_the_common_word_gets_a_byte(void **state)
{
    struct sleeper sleeper[READERS];
    (void)state;
    gather_both(sleeper);
    leave_early(&sleeper[0]);
    waker_round(&fixture.waker);
    assert_woken(&sleeper[1]);
    assert_int_equal(bytes_of(0), 1);
}

static void who_has_left_and_sleeps_again_is_woken(void **state)
{
    struct sleeper sleeper[READERS];
    (void)state;
    gather_both(sleeper);
    leave_early(&sleeper[0]);
    fall_asleep(&sleeper[0], &fixture.reader[0].word);
    waker_round(&fixture.waker);
    assert_woken(&sleeper[0]);
    assert_woken(&sleeper[1]);
}

/* The thread of a client that was dropped sleeps on. It must not stand for one that has left. */
static void the_sleeper_of_a_dropped_client_hides_nobody(void **state)
{
    struct sleeper sleeper[READERS];
    (void)state;
    gather_both(sleeper);
    waker_remove(&fixture.waker, &fixture.reader[1].listener);
    leave_early(&sleeper[0]);
    waker_wake(&fixture.waker);
    assert_true(was_handed_over()); /* the writer wakes no more than one reader */
    waker_round(&fixture.waker);
    assert_woken(&sleeper[1]);
    assert_int_equal(bytes_of(0), 1);
}

/* Returns how many sleepers the waker has gathered, once they are as many as are expected. */
static unsigned await_gathered(struct waker *waker, unsigned expected)
{
    unsigned gathered = 0;
    for (unsigned ms = 0; gathered < expected && ms < FRAMES_PATIENCE_MS; ms++) {
        poll(NULL, 0, 1);
        lock_take(&waker->lock);
        gathered = waker->gathered;
        lock_release(&waker->lock);
    }
    return gathered;
}

static void the_thread_gathers_after_a_round(void **state)
{
    struct waker waker;
    struct sleeper sleeper[READERS], second[READERS];
    (void)state;
    assert_int_equal(waker_start(&waker, &fixture.ring_word, NULL), 0);
    /* Of two sleepers each, a round wakes one; the other one is asleep when it is over. */
    for (unsigned i = 0; i < READERS; i++) {
        fall_asleep(&sleeper[i], &fixture.reader[i].word);
        fall_asleep(&second[i], &fixture.reader[i].word);
        waker_add(&waker, &fixture.reader[i].listener);
    }
    waker_wake(&waker);
    for (unsigned i = 0; i < READERS; i++)
        assert_woken(&sleeper[i]);
    assert_int_equal(await_gathered(&waker, READERS), READERS);
    waker_wake(&waker);
    for (unsigned i = 0; i < READERS; i++)
        assert_woken(&second[i]);
    waker_stop(&waker);
}

static void the_thread_wakes_both(void **state)
{
    struct waker waker;
    struct sleeper on_word, on_ring;
    struct pollfd second = {.fd = fixture.reader[1].fd, .events = POLLIN};
    (void)state;
    assert_int_equal(waker_start(&waker, &fixture.ring_word, NULL), 0);
    waker_add(&waker, &fixture.reader[0].listener);
    waker_add(&waker, &fixture.reader[1].listener);
    fall_asleep(&on_word, &fixture.reader[0].word);
    fall_asleep(&on_ring, &fixture.ring_word);
    waker_wake(&waker);
    assert_woken(&on_word);
    assert_woken(&on_ring);
    assert_int_equal(poll(&second, 1, FRAMES_PATIENCE_MS), 1);
    waker_stop(&waker);
}

#define waker_test(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        waker_test(who_sleeps_on_its_word_is_woken_by_the_writer),
        waker_test(who_does_not_gets_a_byte),
        waker_test(a_client_without_a_word_gets_a_byte),
        waker_test(the_second_reader_leaves_both_to_the_thread),
        waker_test(a_locked_list_is_left_to_the_thread),
        waker_test(a_full_socket_costs_nothing),
        waker_test(a_closed_socket_costs_nothing),
        waker_test(those_on_the_rings_word_are_left_to_the_thread),
        waker_test(the_gathered_are_woken_on_the_common_word),
        waker_test(one_sleeper_of_a_client_is_gathered),
        waker_test(a_lone_reader_is_not_gathered),
        waker_test(who_has_left_the_common_word_gets_a_byte),
        waker_test(who_has_left_and_sleeps_again_is_woken),
        waker_test(the_sleeper_of_a_dropped_client_hides_nobody),
        waker_test(the_thread_wakes_both),
        waker_test(the_thread_gathers_after_a_round),
    };
    return cmocka_run_group_tests_name("ring_waker", tests, NULL, NULL);
}

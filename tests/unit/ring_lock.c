/* The lock of the waker's list excludes, and wakes everybody who waits for it. */
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "support/cmocka.h"
#include "support/frames.h"

#include "ring/lock.h"

#define WAITERS 3
#define ROUNDS  20000

static struct list_lock lock;
static unsigned count;    /* protected by the lock */
static unsigned given_up; /* rounds in which try_often did not get it */

static int setup(void **state)
{
    (void)state;
    lock = (struct list_lock){LOCK_FREE};
    count = 0;
    /* A waiter that is never woken would hang the test. */
    alarm(120);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    alarm(0);
    return 0;
}

static void who_tries_does_not_wait(void **state)
{
    (void)state;
    assert_true(lock_try(&lock));
    assert_false(lock_try(&lock));
    lock_release(&lock);
    assert_true(lock_try(&lock));
    lock_release(&lock);
    assert_int_equal(lock.state, LOCK_FREE);
}

struct waiter {
    pthread_t thread;
    pid_t tid; /* atomic; 0 until it is about to wait */
};

static void *wait_for_lock(void *context)
{
    struct waiter *waiter = context;
    __atomic_store_n(&waiter->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
    lock_take(&lock);
    count++;
    lock_release(&lock);
    return NULL;
}

/* One release wakes one of them, who must wake the next. */
static void all_who_wait_get_it_in_turn(void **state)
{
    struct waiter waiter[WAITERS] = {0};
    (void)state;
    lock_take(&lock);
    for (unsigned i = 0; i < WAITERS; i++) {
        assert_int_equal(pthread_create(&waiter[i].thread, NULL, wait_for_lock, &waiter[i]), 0);
        while (__atomic_load_n(&waiter[i].tid, __ATOMIC_ACQUIRE) == 0)
            poll(NULL, 0, 1);
        assert_true(frames_asleep(waiter[i].tid));
    }
    assert_int_equal(count, 0);
    lock_release(&lock);
    for (unsigned i = 0; i < WAITERS; i++)
        pthread_join(waiter[i].thread, NULL);
    assert_int_equal(count, WAITERS);
    assert_int_equal(lock.state, LOCK_FREE);
}

/* Long enough for another thread to enter, if the lock lets it. The caller holds the lock. */
static void count_slowly(void)
{
    const unsigned seen = count;
    for (volatile unsigned i = 0; i < 50; i++)
        continue;
    count = seen + 1;
}

static void *take_often(void *context)
{
    (void)context;
    for (unsigned n = 0; n < ROUNDS; n++) {
        lock_take(&lock);
        count_slowly();
        lock_release(&lock);
    }
    return NULL;
}

static void *try_often(void *context)
{
    (void)context;
    given_up = 0;
    for (unsigned n = 0; n < ROUNDS; n++) {
        if (!lock_try(&lock)) {
            given_up++;
            continue;
        }
        count_slowly();
        lock_release(&lock);
    }
    return NULL;
}

/* In the daemon the server and the waker's thread wait for it, and the writer tries it. */
static void it_excludes(void **state)
{
    void *(*const work[])(void *) = {take_often, take_often, try_often};
    pthread_t thread[3];
    (void)state;
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, work[i], NULL), 0);
    for (unsigned i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(count, 3 * ROUNDS - given_up);
    assert_int_equal(lock.state, LOCK_FREE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(who_tries_does_not_wait, setup, teardown),
        cmocka_unit_test_setup_teardown(all_who_wait_get_it_in_turn, setup, teardown),
        cmocka_unit_test_setup_teardown(it_excludes, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

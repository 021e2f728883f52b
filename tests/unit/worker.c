/* Jobs beside the main thread: whose turn it is, and how they end. */
#include "support/cmocka.h"

#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include <systemd/sd-event.h>

#include "bus/worker.h"
#include "core/clock.h"

#define PATIENCE_NS (60 * NS_PER_S)

static sd_event *event;
static struct worker *worker;
static char order[100]; /* what has ended, in its order */
static sem_t gate;      /* lets one job run */

struct test_job {
    struct job job;
    char name;
    unsigned repeats;   /* how often `done` asks for more */
    bool is_unprepared; /* `prepare` fails */
    bool has_run;
};

static void note(char name)
{
    const size_t length = strlen(order);
    assert_true(length + 1 < sizeof order);
    order[length] = name;
}

static bool prepare(struct job *job)
{
    return !((struct test_job *)job)->is_unprepared;
}

static void run(struct job *job)
{
    while (sem_trywait(&gate) < 0 && !atomic_load(&job->cancelled))
        ;
    ((struct test_job *)job)->has_run = true;
}

static void done(struct job *job, bool is_cancelled)
{
    struct test_job *test = (struct test_job *)job;
    note(is_cancelled ? '-' : test->has_run ? '+' : '!');
    note(test->name);
    test->has_run = false;
    if (!is_cancelled && test->repeats > 0) {
        test->repeats--;
        job_repeat(job);
    }
}

static void add(struct test_job *test, char name, uid_t uid)
{
    test->job = (struct job){.uid = uid, .prepare = prepare, .run = run, .done = done};
    test->name = name;
    worker_add(worker, &test->job);
}

/* Opens the gate for one job after the other until all of this has ended. */
static void expect(const char *wanted)
{
    const int64_t end_ns = clock_now_ns() + PATIENCE_NS;
    while (strlen(order) < strlen(wanted)) {
        int open = 0;
        sem_getvalue(&gate, &open);
        if (open == 0)
            sem_post(&gate);
        assert_true(sd_event_run(event, 10000) >= 0);
        assert_true(clock_now_ns() < end_ns);
    }
    assert_string_equal(order, wanted);
}

static int set_up(void **state)
{
    struct error why;
    (void)state;
    memset(order, 0, sizeof order);
    sem_init(&gate, 0, 0);
    assert_true(sd_event_new(&event) >= 0);
    return worker_create(&worker, event, "test", &why);
}

static int tear_down(void **state)
{
    (void)state;
    const int r = worker_destroy(worker);
    sd_event_unref(event);
    sem_destroy(&gate);
    return r;
}

/* One user's many jobs come one by one between those of others, however late these come. */
static void users_take_turns(void **state)
{
    static struct test_job many[6], few[2], late;
    (void)state;
    for (unsigned i = 0; i < 6; i++)
        add(&many[i], (char)('a' + i), 1);
    add(&few[0], 'x', 2);
    add(&few[1], 'y', 2);
    expect("+a+b+x");
    add(&late, 'z', 3);
    expect("+a+b+x+c+y+d+z+e+f");
}

static void jobs_that_wait_are_cancelled_at_once(void **state)
{
    static struct test_job first, second, third;
    (void)state;
    add(&first, 'a', 1);
    add(&second, 'b', 1);
    add(&third, 'c', 1);
    job_cancel(&second.job);
    assert_string_equal(order, "-b");
    expect("-b+a+c");
}

static void a_job_that_runs_sees_that_it_is_cancelled(void **state)
{
    static struct test_job first, second;
    (void)state;
    add(&first, 'a', 1);
    add(&second, 'b', 2);
    job_cancel(&first.job);
    assert_string_equal(order, ""); /* it belongs to the worker until it has run */
    expect("-a+b");
}

/* What a job was prepared for may have changed until it has run. */
static void a_repeated_job_comes_before_all_others(void **state)
{
    static struct test_job first = {.repeats = 2}, second;
    (void)state;
    add(&first, 'a', 1);
    add(&second, 'b', 2);
    expect("+a+a+a+b");
}

static void a_job_that_cannot_be_prepared_does_not_run(void **state)
{
    static struct test_job first, second = {.is_unprepared = true}, third;
    (void)state;
    add(&first, 'a', 1);
    add(&second, 'b', 1);
    add(&third, 'c', 1);
    expect("+a!b+c");
}

/* At the end nothing waits for the gate, and each job is returned to its owner. */
static void the_end_cancels_all_jobs(void **state)
{
    static struct test_job jobs[3];
    (void)state;
    for (unsigned i = 0; i < 3; i++)
        add(&jobs[i], (char)('a' + i), 1);
    assert_int_equal(worker_destroy(worker), 0);
    worker = NULL;
    assert_string_equal(order, "-b-c-a");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(users_take_turns),
        TEST(jobs_that_wait_are_cancelled_at_once),
        TEST(a_job_that_runs_sees_that_it_is_cancelled),
        TEST(a_repeated_job_comes_before_all_others),
        TEST(a_job_that_cannot_be_prepared_does_not_run),
        TEST(the_end_cancels_all_jobs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* A reloaded configuration is applied as a whole or not at all. The newest one always wins, and
 * settings that a camera cannot take yet are not forgotten. */
#include "support/cmocka.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "config/config.h"
#include "bus/reload.h"
#include "camera/reconcile.h"
#include "support/faked_camera.h"

static struct reload reload;
static struct config asked; /* what main.c keeps: the configuration in use */
static unsigned answers;
static char problem[512];

static int setup(void **state)
{
    (void)state;
    faked_camera_reset();
    memset(&reload, 0, sizeof reload);
    answers = 0;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    stop();
    assert_int_equal(fake_engine.engines, 0);
    assert_int_equal(fake_capture.opened, fake_capture.closed);
    return 0;
}

static void start_and_publish(void)
{
    asked = config;
    start();
    fake_capture_offer();
    WAIT_FOR(status.published == 1);
}

static void take_answer(struct reload_waiter *waiter, const char *text)
{
    (void)waiter;
    answers++;
    snprintf(problem, sizeof problem, "%s", text != NULL ? text : "");
}

static int reload_config(const struct config *wanted)
{
    static struct reload_waiter waiters[4];
    static unsigned used;
    struct reload_waiter *waiter = &waiters[used++ % 4];
    struct error why = {""};
    waiter->done = take_answer;
    return reload_apply(&reload, camera, &asked, wanted, waiter, &why);
}

static int reload_all(const char *source, const char *controls, const char *filter)
{
    struct config wanted = asked;
    strcpy(wanted.camera.source.uri, source);
    assert_int_equal(settings_parse(&wanted.camera.controls, controls, NULL), 0);
    assert_int_equal(filter_chain_parse(&wanted.filter, filter, NULL), 0);
    return reload_config(&wanted);
}

static void reload_with(const char *source, const char *controls)
{
    assert_in_range(reload_all(source, controls, "none"), 0, 1);
}

/* Waits for the end of every reload. */
static void settle(void)
{
    WAIT_FOR((reload_settle(&reload, camera, &asked, &status), !reload_is_pending(&reload)));
}

static void assert_filter(const char *expected)
{
    struct filter_chain chain;
    char text[FILTER_TEXT_BYTES];
    camera_get_filter(camera, CAMERA_MAIN, &chain);
    filter_chain_print(&chain, text, sizeof text);
    assert_string_equal(text, expected);
}

static void ignore_controls(void *context, int result, const char *why,
                            const struct capture_controls *controls)
{
    (void)context, (void)result, (void)why, (void)controls;
}

static void assert_controls(const char *expected)
{
    char text[SETTINGS_TEXT_BYTES];
    pthread_mutex_lock(&fake_capture.lock);
    settings_print(&fake_capture.controls, text, sizeof text);
    pthread_mutex_unlock(&fake_capture.lock);
    assert_string_equal(text, expected);
}

static void test_a_source_is_changed(void **state)
{
    (void)state;
    start_and_publish();
    reload_with("fake:b", "none");
    settle();
    assert_string_equal(status.uri, "fake:b");
    assert_string_equal(asked.camera.source.uri, "fake:b");
    assert_int_equal(answers, 1);
    assert_string_equal(problem, "");
    fake_capture_offer();
    WAIT_FOR(status.published == 2);
}

/* The view is a part of the reload, also where that waits for a source. */
static void test_the_view_follows_the_file(void **state)
{
    struct config wanted;
    (void)state;
    start_and_publish();
    wanted = asked;
    wanted.engine.options.recipe.view = VIEW_DIFFERENCE;
    assert_int_equal(reload_config(&wanted), 1);
    settle();
    assert_int_equal(camera_get_view(camera, CAMERA_MAIN), VIEW_DIFFERENCE);
    assert_int_equal(asked.engine.options.recipe.view, VIEW_DIFFERENCE);
    camera_set_view(camera, CAMERA_MAIN, VIEW_SPECTRUM); /* by a client */
    wanted.engine.options.recipe.view = VIEW_PICTURE;
    fake_capture.refused = "fake:b";
    strcpy(wanted.camera.source.uri, "fake:b");
    assert_int_equal(reload_config(&wanted), 1);
    settle();
    assert_string_not_equal(problem, "");
    assert_int_equal(camera_get_view(camera, CAMERA_MAIN), VIEW_SPECTRUM);
    strcpy(wanted.camera.source.uri, "fake:c");
    assert_int_equal(reload_config(&wanted), 1);
    settle();
    assert_int_equal(camera_get_view(camera, CAMERA_MAIN), VIEW_PICTURE);
}

static void test_the_newest_of_three_quick_reloads_wins(void **state)
{
    (void)state;
    start_and_publish();
    /* None of the results is seen before the last one is asked for. */
    reload_with("fake:b", "none");
    reload_with("fake:c", "none");
    reload_with("fake:camera", "none");
    settle();
    assert_int_equal(answers, 3);
    assert_string_equal(status.uri, "fake:camera");
    pthread_mutex_lock(&fake_capture.lock);
    assert_string_equal(fake_capture.uri, "fake:camera");
    pthread_mutex_unlock(&fake_capture.lock);
    fake_capture_offer();
    WAIT_FOR(status.published == 2);
}

/* The source comes last, so the rest would be applied by then. */
static void test_a_source_that_does_not_open_changes_nothing(void **state)
{
    (void)state;
    config.camera.controls = (struct settings){.count = 0};
    assert_int_equal(settings_parse(&config.camera.controls, "gain=2", NULL), 0);
    start_and_publish();
    fake_capture.refused = "fake:b";
    assert_int_equal(reload_all("fake:b", "gain=7, focus=3", "gain:ac=0.5"), 1);
    settle();
    assert_int_equal(answers, 1);
    assert_non_null(strstr(problem, "the previous one stays in use: fake:b does not open"));
    assert_string_equal(status.uri, "fake:camera");
    assert_string_equal(asked.camera.source.uri, "fake:camera");
    assert_filter("none");
    assert_controls("gain=2");
    WAIT_FOR((fake_capture_offer(),
              status.published > 1 && status.filter_serial == status.wanted_serial));
    assert_string_equal(status.filter_problem, "");

    /* The file has not changed, but what was wrong may have. */
    pthread_mutex_lock(&fake_capture.lock);
    fake_capture.refused = NULL;
    pthread_mutex_unlock(&fake_capture.lock);
    assert_int_equal(reload_all("fake:b", "gain=7, focus=3", "gain:ac=0.5"), 1);
    settle();
    assert_string_equal(problem, "");
    assert_string_equal(status.uri, "fake:b");
    assert_filter("gain:dc=1,ac=0.5");
    assert_controls("gain=7, focus=3");
}

static void test_a_filter_of_a_client_outlives_a_reload_that_fails(void **state)
{
    (void)state;
    struct filter_chain chain;
    uint64_t serial;
    start_and_publish();
    fake_capture.refused = "fake:b";
    assert_int_equal(reload_all("fake:b", "none", "gain:ac=0.5"), 1);
    assert_int_equal(filter_chain_parse(&chain, "gain:ac=0.25", NULL), 0);
    assert_int_equal(camera_set_filter(camera, CAMERA_MAIN, &chain, 0, &serial, NULL), 0);
    settle();
    assert_filter("gain:dc=1,ac=0.25");
    look();
    assert_int_equal(status.wanted_serial, serial);
}

/* A filter and a view that are set while a source opens hold, whether the source is taken or
 * not. */
static void test_a_filter_and_a_view_are_set_while_a_source_opens(void **state)
{
    (void)state;
    struct filter_chain chain;
    uint64_t serial;
    start_and_publish();
    for (int result = -ENODEV; result <= 0; result += ENODEV) {
        pthread_mutex_lock(&fake_capture.lock);
        fake_capture.slow = "fake:b";
        pthread_mutex_unlock(&fake_capture.lock);
        assert_int_equal(reload_all("fake:b", "none", "gain:ac=0.5"), 1);
        WAIT_FOR(status.state == CAMERA_STARTING);
        serial = camera_set_view(camera, CAMERA_MAIN, result == 0 ? VIEW_PICTURE : VIEW_DIFFERENCE);
        assert_filter("gain:dc=1,ac=0.5");
        fake_capture_opens(result);
        settle();
        assert_filter(result == 0 ? "gain:dc=1,ac=0.5" : "none");
        assert_int_equal(camera_get_view(camera, CAMERA_MAIN),
                         result == 0 ? VIEW_PICTURE : VIEW_DIFFERENCE);
        OFFER_UNTIL(status.filter_serial == status.wanted_serial);
        assert_int_equal(status.filter_serial, serial);
        assert_int_equal(status.view, camera_get_view(camera, CAMERA_MAIN));
    }
    pthread_mutex_lock(&fake_capture.lock);
    fake_capture.slow = "fake:c";
    pthread_mutex_unlock(&fake_capture.lock);
    assert_int_equal(reload_all("fake:c", "none", "gain:ac=0.25"), 1);
    assert_int_equal(filter_chain_parse(&chain, "gain:ac=0.75", NULL), 0);
    assert_int_equal(camera_set_filter(camera, CAMERA_MAIN, &chain, 0, &serial, NULL), 0);
    WAIT_FOR(status.state == CAMERA_STARTING);
    fake_capture_opens(0);
    settle();
    assert_filter("gain:dc=1,ac=0.75");
    OFFER_UNTIL(status.filter_serial == serial);
}

/* The result may come between the main loop's look at the events and its look at the status. */
static void test_a_reload_that_fails_is_undone_when_that_is_seen(void **state)
{
    (void)state;
    start_and_publish();
    fake_capture.refused = "fake:b";
    assert_int_equal(reload_all("fake:b", "none", "gain:ac=0.5"), 1);
    assert_int_equal(reload_all("fake:c", "none", "gain:ac=0.5"), 1);
    do
        camera_get_status(camera, CAMERA_MAIN, &status);
    while (!reload_settle(&reload, camera, &asked, &status));
    assert_int_equal(answers, 1);
    settle();
    assert_int_equal(answers, 2);
    assert_string_equal(problem, "");
    assert_string_equal(status.uri, "fake:c");
    assert_filter("gain:dc=1,ac=0.5");
    for (unsigned i = 0; i < 20; i++)
        look();
    assert_filter("gain:dc=1,ac=0.5");
}

/* A failure changes nothing, so it does not name a new filter either. */
static void test_a_source_without_a_filter_leaves_the_serial(void **state)
{
    (void)state;
    start_and_publish();
    assert_int_equal(reload_all("fake:c", "none", "gain:ac=0.5"), 1);
    settle();
    pthread_mutex_lock(&fake_capture.lock);
    fake_capture.refused = "fake:b";
    pthread_mutex_unlock(&fake_capture.lock);
    assert_int_equal(reload_all("fake:b", "none", "gain:ac=0.5"), 1);
    settle();
    look();
    assert_non_null(strstr(problem, "fake:b does not open"));
    assert_int_equal(status.wanted_serial, 2);
}

/* A control that a client has set stays, although the configuration names another value. */
static void test_a_control_of_a_client_outlives_a_reload_that_fails(void **state)
{
    (void)state;
    struct settings settings = {.count = 0};
    assert_int_equal(settings_parse(&config.camera.controls, "gain=2", NULL), 0);
    start_and_publish();
    assert_int_equal(settings_parse(&settings, "gain=5", NULL), 0);
    assert_int_equal(camera_ask_controls(camera, &settings, ignore_controls, NULL), 0);
    fake_capture.refused = "fake:b";
    assert_int_equal(reload_all("fake:b", "gain=7", "none"), 1);
    settle();
    assert_controls("gain=5");
}

/* Frames of the new source never have the filter of the old one. */
static void test_a_source_starts_with_the_filter_that_came_with_it(void **state)
{
    (void)state;
    start_and_publish();
    FAKE_ENGINE_SET(gate_closed, true);
    assert_int_equal(reload_all("fake:b", "none", "gain:ac=0.5"), 1);
    WAIT_FOR(fake_engine_get(&fake_engine.waiting_at_gate) == 1);
    fake_capture_offer();
    for (unsigned i = 0; i < 20; i++)
        look();
    assert_false(reload_settle(&reload, camera, &asked, &status));
    assert_string_equal(status.uri, "fake:camera");
    assert_int_equal(status.published, 1);
    FAKE_ENGINE_SET(gate_closed, false);
    settle();
    assert_string_equal(problem, "");
    assert_string_equal(status.uri, "fake:b");
    WAIT_FOR(status.published == 2);
    assert_int_equal(status.filter_serial, status.wanted_serial);
}

static unsigned answered;

static void count_answer(void *context, int result, const char *why,
                         const struct capture_controls *controls)
{
    (void)context, (void)why, (void)controls;
    assert_int_equal(result, 0);
    answered++;
}

/* Controls that a client sets while a source is prepared are those of the source that is used. */
static void test_controls_wait_for_a_source_that_is_prepared(void **state)
{
    struct settings settings = {.count = 0};
    (void)state;
    start_and_publish();
    answered = 0;
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(settings_parse(&settings, i == 0 ? "gain=4" : "gain=5", NULL), 0);
        FAKE_ENGINE_SET(gate_closed, true);
        FAKE_ENGINE_SET(design_result, i == 0 ? -ENOMEM : 0);
        assert_int_equal(reload_all("fake:b", "gain=9", "gain:ac=0.5"), 1);
        WAIT_FOR(fake_engine_get(&fake_engine.waiting_at_gate) == 1);
        assert_int_equal(camera_ask_controls(camera, &settings, count_answer, NULL), 0);
        for (unsigned k = 0; k < 20; k++)
            look();
        assert_int_equal(answered, i);
        FAKE_ENGINE_SET(gate_closed, false);
        settle();
        assert_string_equal(status.uri, i == 0 ? "fake:camera" : "fake:b");
        WAIT_FOR(answered == i + 1);
        assert_controls(i == 0 ? "gain=4" : "gain=5");
    }
}

/* ---- sources that no engine suits ---- */

static void set_size(const char *uri, uint32_t width, uint32_t height)
{
    pthread_mutex_lock(&fake_capture.lock);
    fake_capture.sized = uri;
    fake_capture.sized_width = width;
    fake_capture.sized_height = height;
    pthread_mutex_unlock(&fake_capture.lock);
}

/* The picture, its filter and its ring are as before a reload that failed for this reason. */
static void assert_nothing_has_changed(const char *reason, const char *filter, uint64_t serial)
{
    settle();
    if (strstr(problem, reason) == NULL)
        fail_msg("\"%s\", expected \"%s\"", problem, reason);
    assert_string_equal(status.uri, "fake:camera");
    assert_string_equal(asked.camera.source.uri, "fake:camera");
    assert_filter(filter);
    assert_int_equal(status.wanted_serial, serial);
    const uint64_t published = status.published;
    OFFER_UNTIL(status.published > published + 2);
    assert_int_equal(status.state, CAMERA_ONLINE);
    assert_int_equal(status.filter_serial, serial);
    assert_int_equal(status.generation, 1);
    assert_int_equal(status.format.width, fake_capture.width);
    assert_string_equal(status.filter_problem, "");
}

static void test_a_source_without_its_filter_is_given_up(void **state)
{
    (void)state;
    start_and_publish();
    FAKE_ENGINE_SET(design_result, -ENOMEM);
    assert_int_equal(reload_all("fake:b", "none", "gain:ac=0.5"), 1);
    assert_nothing_has_changed("the response does not fit", "none", 1);
    FAKE_ENGINE_SET(design_result, 0);
    FAKE_ENGINE_SET(create_result, -ENOMEM);
    assert_int_equal(reload_all("fake:b", "none", "gaussian-blur:sigma=5"), 1);
    assert_nothing_has_changed("the kernels do not build", "none", 1);
    FAKE_ENGINE_SET(create_result, 0);
    assert_int_equal(reload_all("fake:b", "none", "gain:ac=0.5"), 1);
    settle();
    assert_string_equal(problem, "");
    OFFER_UNTIL(status.filter_serial == status.wanted_serial);
    assert_string_equal(status.uri, "fake:b");
}

/* The view was asked for while the source opened, whose filter then needs too much memory. */
static void test_a_view_outlives_a_source_without_its_filter(void **state)
{
    (void)state;
    config.engine.memory_mib = 100;
    fake_engine.stage_bytes = 60u << 20; /* an engine is counted twice */
    fake_capture.slow = "fake:b";
    start_and_publish();
    assert_int_equal(reload_all("fake:b", "none", "gain:ac=0.5"), 1);
    WAIT_FOR(status.state == CAMERA_STARTING);
    const uint64_t serial = camera_set_view(camera, CAMERA_MAIN, VIEW_DIFFERENCE);
    fake_capture_opens(0);
    settle();
    assert_non_null(strstr(problem, "MiB"));
    assert_filter("none");
    OFFER_UNTIL(status.filter_serial == serial);
    assert_int_equal(status.view, VIEW_DIFFERENCE);
}

static void test_a_source_without_an_engine_is_given_up(void **state)
{
    (void)state;
    start_and_publish();
    set_size("fake:b", 64, 48);
    FAKE_ENGINE_SET(create_result, -ENOMEM);
    reload_with("fake:b", "none");
    assert_nothing_has_changed("the kernels do not build", "none", 1);
    FAKE_ENGINE_SET(create_result, 0);
    reload_with("fake:b", "none");
    settle();
    assert_string_equal(problem, "");
    assert_string_equal(status.uri, "fake:b");
    OFFER_UNTIL(status.generation == 2 && status.state == CAMERA_ONLINE);
    assert_int_equal(status.format.width, 64);
}

/* The old engine goes on although the newest one has been closed, and a build has failed before. */
static void test_a_source_without_a_ring_is_given_up(void **state)
{
    struct rlimit limit, small;
    (void)state;
    start_and_publish();
    set_size("fake:b", 64, 48);
    FAKE_ENGINE_SET(create_result, -ENOMEM);
    reload_with("fake:b", "none");
    assert_nothing_has_changed("the kernels do not build", "none", 1);
    FAKE_ENGINE_SET(create_result, 0);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small = (struct rlimit){.rlim_cur = 4096, .rlim_max = limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    reload_with("fake:b", "none");
    settle();
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_nothing_has_changed("ring", "none", 1);
    reload_with("fake:b", "none");
    settle();
    assert_string_equal(problem, "");
    OFFER_UNTIL(status.generation == 2 && status.state == CAMERA_ONLINE);
}

static void test_a_source_of_a_size_that_does_not_suit_is_given_up(void **state)
{
    static const char lens[] = "undistort:fx=30,fy=30,cx=15,cy=7,size=32/16";
    static const char *const reasons[] = {"frames of 7x1 cannot be filtered",
                                          "does not have the proportions of the frames, 48x48"};
    char text[FILTER_TEXT_BYTES];
    (void)state;
    start_and_publish();
    use_filter(lens);
    struct filter_chain chain;
    camera_get_filter(camera, CAMERA_MAIN, &chain);
    filter_chain_print(&chain, text, sizeof text);
    for (unsigned i = 0; i < 2; i++) {
        set_size("fake:b", i == 0 ? 7 : 48, i == 0 ? 1 : 48);
        assert_int_equal(reload_all("fake:b", "none", lens), 1);
        assert_nothing_has_changed(reasons[i], text, 2);
    }
    assert_int_equal(fake_engine_get(&fake_engine.engines_created), 2);
    set_size("fake:b", 64, 32);
    assert_int_equal(reload_all("fake:b", "none", lens), 1);
    settle();
    assert_string_equal(problem, "");
    OFFER_UNTIL(status.generation == 2 && status.state == CAMERA_ONLINE);
}

/* What could not be applied is not desired any more, so nothing later fails because of it. */
static void test_a_filter_that_failed_stops_no_source(void **state)
{
    (void)state;
    struct filter_chain chain;
    uint64_t serial;
    start_and_publish();
    FAKE_ENGINE_SET(create_result, -ENOMEM);
    assert_int_equal(filter_chain_parse(&chain, "gaussian-blur:sigma=5", NULL), 0);
    assert_int_equal(camera_set_filter(camera, CAMERA_MAIN, &chain, 0, &serial, NULL), 0);
    WAIT_FOR(status.failed_serial == serial);
    FAKE_ENGINE_SET(create_result, 0);
    set_size("fake:b", 64, 48);
    const unsigned created = fake_engine_get(&fake_engine.engines_created);
    struct config wanted = asked;
    strcpy(wanted.camera.source.uri, "fake:b");
    assert_int_equal(reload_config(&wanted), 1);
    settle();
    assert_string_equal(problem, "");
    assert_filter("none");
    OFFER_UNTIL(status.generation == 2 && status.state == CAMERA_ONLINE);
    assert_int_equal(status.filter_serial, 1);
    assert_int_equal(fake_engine_get(&fake_engine.engines_created), created + 1);
}

/* The controls and the view of a reload come with its filter or not at all. */
static void test_a_reload_without_its_filter_changes_nothing(void **state)
{
    struct config wanted;
    (void)state;
    assert_int_equal(settings_parse(&config.camera.controls, "gain=2", NULL), 0);
    start_and_publish();
    wanted = asked;
    wanted.engine.options.recipe.view = VIEW_EDGES;
    assert_int_equal(settings_parse(&wanted.camera.controls, "gain=7", NULL), 0);
    assert_int_equal(filter_chain_parse(&wanted.filter, "gaussian-blur:sigma=5", NULL), 0);
    FAKE_ENGINE_SET(create_result, -ENOMEM);
    assert_int_equal(reload_config(&wanted), 1);
    settle();
    assert_non_null(strstr(problem, "the kernels do not build"));
    assert_filter("none");
    assert_int_equal(camera_get_view(camera, CAMERA_MAIN), VIEW_PICTURE);
    assert_controls("gain=2");
    publish(2);
    assert_int_equal(status.filter_serial, 1);
    FAKE_ENGINE_SET(create_result, 0);
    assert_int_equal(reload_config(&wanted), 1);
    settle();
    assert_string_equal(problem, "");
    WAIT_FOR((fake_capture_offer(), status.filter_serial == 3 && status.view == VIEW_EDGES));
    assert_controls("gain=7");
}

/* Without an engine, a filter waits for the camera's first frames, and a reload does not. */
static void test_a_filter_of_a_camera_that_is_absent(void **state)
{
    (void)state;
    struct error why;
    fake_capture.open_result = -ENODEV;
    asked = config;
    assert_int_equal(camera_start(&camera, &config, NULL, true, &why), 0);
    WAIT_FOR(status.state == CAMERA_LOST);
    assert_int_equal(reload_all("fake:camera", "none", "sharpen:amount=1,sigma=1"), 0);
    pthread_mutex_lock(&fake_capture.lock);
    fake_capture.open_result = 0;
    pthread_mutex_unlock(&fake_capture.lock);
    WAIT_FOR((fake_capture_offer(), status.filter_serial == 2));
}

/* The format of a camera that is absent is not known. When it is, the state says that the filter
 * does not suit, until another one is asked for. */
static void test_a_filter_does_not_suit_a_camera_that_appears(void **state)
{
    (void)state;
    struct error why;
    fake_capture.open_result = -ENODEV;
    asked = config;
    assert_int_equal(camera_start(&camera, &config, NULL, true, &why), 0);
    WAIT_FOR(status.state == CAMERA_LOST);
    assert_int_equal(
        reload_all("fake:camera", "none", "undistort:fx=30,fy=30,cx=15,cy=7,size=32/32"), 0);
    pthread_mutex_lock(&fake_capture.lock);
    fake_capture.open_result = 0;
    pthread_mutex_unlock(&fake_capture.lock);
    WAIT_FOR(status.state == CAMERA_FAILED);
    assert_non_null(strstr(status.state_reason, "does not have the proportions of the frames"));
    assert_int_equal(status.failed_serial, 2);
    use_filter("sharpen");
    assert_int_equal(status.filter_serial, 3);
    assert_int_equal(status.state, CAMERA_ONLINE);
}

/* An engine is lost while another source is prepared on it. */
static void test_an_engine_fails_while_a_source_is_prepared(void **state)
{
    (void)state;
    start_and_publish();
    FAKE_ENGINE_SET(hold, true);
    fake_capture_offer();
    WAIT_FOR(fake_engine_get(&fake_engine.submitted) == 4); /* with the two of the warm-up */
    FAKE_ENGINE_SET(gate_closed, true);
    assert_int_equal(reload_all("fake:b", "none", "gain:ac=0.5"), 1);
    WAIT_FOR(fake_engine_get(&fake_engine.waiting_at_gate) == 1);
    FAKE_ENGINE_SET(collect_result, -EIO);
    fake_engine_let_go();
    WAIT_FOR(status.engine_failures == 1);
    FAKE_ENGINE_SET(collect_result, 0);
    FAKE_ENGINE_SET(gate_closed, false);
    settle();
    assert_string_equal(problem, "");
    assert_string_equal(status.uri, "fake:b");
    OFFER_UNTIL(status.filter_serial == status.wanted_serial);
}

/* The camera's thread would wake at once, again and again, for an engine that it does not ask for
 * before the source is settled. */
static void test_no_engine_is_due_while_a_source_is_prepared(void **state)
{
    static struct reconciler reconciler;
    struct output *output = &reconciler.path.output[0];
    (void)state;
    start_and_publish();
    output->name = "main";
    output->report.heartbeat_ns = clock_now_ns();
    output->applied.engine_retry_ns = 1;
    reconciler.applied.pause_ns = INT64_MAX;
    reconciler.source_change.phase = SOURCE_CHANGE_PREPARING;
    assert_true(reconcile_deadline_ns(&reconciler) > output->report.heartbeat_ns);
    reconciler.source_change.phase = SOURCE_CHANGE_SETTLED;
    assert_int_equal(reconcile_deadline_ns(&reconciler), 1);
}

static void test_a_source_is_changed_during_a_pause(void **state)
{
    (void)state;
    config.camera.idle = CONFIG_IDLE_PAUSE;
    start_and_publish();
    WAIT_FOR(status.state == CAMERA_PAUSED);
    pthread_mutex_lock(&fake_capture.lock);
    fake_capture.description = "another camera";
    pthread_mutex_unlock(&fake_capture.lock);
    events = 0;
    reload_with("fake:b", "none");
    settle();
    assert_string_equal(status.uri, "fake:b");
    assert_string_equal(status.source, "another camera");
    assert_int_equal(status.state, CAMERA_PAUSED);
    WAIT_FOR(events & CAMERA_EVENT_STATE);
    assert_int_equal(fake_capture_get(&fake_capture.started), 1);
}

static void test_controls_are_set(void **state)
{
    (void)state;
    start_and_publish();
    reload_with("fake:camera", "gain=2, focus=3");
    WAIT_FOR(fake_capture_get(&fake_capture.controls.count) == 2);
    assert_controls("gain=2, focus=3");
}

static void test_controls_wait_for_a_camera_that_is_away(void **state)
{
    (void)state;
    start_and_publish();
    fake_capture_fail(-ENODEV, -ENODEV);
    WAIT_FOR(status.state == CAMERA_LOST);
    reload_with("fake:camera", "gain=2");
    look();
    reload_with("fake:camera", "gain=2");
    assert_controls("none");
    fake_capture_fail(0, 0);
    fake_capture_offer();
    WAIT_FOR(status.published == 2);
    assert_controls("gain=2");
}

static void test_a_control_that_is_rejected_costs_the_others_nothing(void **state)
{
    (void)state;
    start_and_publish();
    fake_capture.lacks = "zoom";
    reload_with("fake:camera", "zoom=1, gain=2");
    WAIT_FOR(fake_capture_get(&fake_capture.controls.count) == 1);
    assert_controls("gain=2");
}

static void test_a_filter_is_changed_only_if_it_differs(void **state)
{
    (void)state;
    start_and_publish();
    reload_with("fake:camera", "none");
    look();
    assert_int_equal(status.wanted_serial, 1);
    assert_int_equal(reload_all("fake:camera", "none", "sharpen:amount=1,sigma=1"), 1);
    settle();
    assert_int_equal(status.wanted_serial, 2);
    assert_int_equal(status.used_serial, 2);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_source_is_changed),
        TEST(test_the_view_follows_the_file),
        TEST(test_the_newest_of_three_quick_reloads_wins),
        TEST(test_a_source_that_does_not_open_changes_nothing),
        TEST(test_a_filter_of_a_client_outlives_a_reload_that_fails),
        TEST(test_a_filter_and_a_view_are_set_while_a_source_opens),
        TEST(test_a_reload_that_fails_is_undone_when_that_is_seen),
        TEST(test_a_source_without_a_filter_leaves_the_serial),
        TEST(test_a_control_of_a_client_outlives_a_reload_that_fails),
        TEST(test_a_source_starts_with_the_filter_that_came_with_it),
        TEST(test_controls_wait_for_a_source_that_is_prepared),
        TEST(test_a_source_without_its_filter_is_given_up),
        TEST(test_a_view_outlives_a_source_without_its_filter),
        TEST(test_a_source_without_an_engine_is_given_up),
        TEST(test_a_source_without_a_ring_is_given_up),
        TEST(test_a_source_of_a_size_that_does_not_suit_is_given_up),
        TEST(test_a_filter_that_failed_stops_no_source),
        TEST(test_a_reload_without_its_filter_changes_nothing),
        TEST(test_a_filter_of_a_camera_that_is_absent),
        TEST(test_a_filter_does_not_suit_a_camera_that_appears),
        TEST(test_an_engine_fails_while_a_source_is_prepared),
        TEST(test_no_engine_is_due_while_a_source_is_prepared),
        TEST(test_a_source_is_changed_during_a_pause),
        TEST(test_controls_are_set),
        TEST(test_controls_wait_for_a_camera_that_is_away),
        TEST(test_a_control_that_is_rejected_costs_the_others_nothing),
        TEST(test_a_filter_is_changed_only_if_it_differs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

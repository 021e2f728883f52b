/* The designer alone, on a fake engine: responses with notches beside the chain. */
#include "support/cmocka.h"

#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "camera/designer.h"
#include "core/clock.h"
#include "core/format.h"
#include "support/fake_engine.h"

#define PATIENCE_NS (60 * NS_PER_S)
#define PATIENCE_MS 60000

static const struct notches TWO = {2, {{0.1, 0.2, 0.02}, {0.3, -0.1, 0.03}}};

static struct config config;
static struct designer *designer;
static struct engine *engine;
static int wake_fd;

/* Takes the next design, which must come and succeed. */
static struct design take(bool is_fading)
{
    struct design design;
    struct pollfd fd = {.fd = wake_fd, .events = POLLIN};
    eventfd_t count;
    while (!designer_take(designer, is_fading, &design)) {
        assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
        eventfd_read(wake_fd, &count);
    }
    assert_int_equal(design.result, 0);
    assert_non_null(design.response);
    return design;
}

static void request(const char *text, uint64_t serial, unsigned fade_frames)
{
    struct filter_chain chain;
    assert_int_equal(filter_chain_parse(&chain, text, NULL), 0);
    designer_request_filter(designer, &chain, VIEW_PICTURE, serial, fade_frames, NULL);
}

/* Takes a design and applies it. */
static struct design apply(bool is_fading)
{
    const struct design design = take(is_fading);
    if (engine != NULL && engine != design.engine)
        designer_return_engine(designer, engine, false);
    engine = design.engine;
    engine_apply(engine, design.response, design.serial);
    return design;
}

static int setup(void **state)
{
    struct engine_frames frames = {.captured = format_by_name("GREY")->fourcc};
    struct error why;
    (void)state;
    fake_engine_reset();
    config = (struct config){.engine = {.device = "fake",
                                        .options = {.margin = -1, .in_flight = 2},
                                        .build_timeout_s = 60}};
    assert_int_equal(filter_chain_parse(&config.filter, "auto-notch", NULL), 0);
    wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    engine = NULL;
    assert_int_equal(designer_create(&designer, &config, wake_fd, &why), 0);
    if (format_layout(&frames.format, frames.captured, 64, 48, 64, &why) < 0)
        fail_msg("%s", why.text);
    designer_request_engine(designer, &frames);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    if (engine != NULL)
        designer_return_engine(designer, engine, false);
    assert_int_equal(designer_destroy(designer, clock_now_ns() + PATIENCE_NS), 0);
    close(wake_fd);
    assert_int_equal(fake_engine.engines, 0);
    assert_int_equal(fake_engine.responses, 0);
    return 0;
}

static void notches_are_beside_the_chain(void **state)
{
    (void)state;
    assert_int_equal(apply(false).notches.count, 0);
    designer_request_notches(designer, &TWO);
    const struct design notched = take(false);
    assert_true(notches_equal(&notched.notches, &TWO));
    assert_int_equal(notched.response->stages, 3);
    assert_int_equal(notched.serial, 1);
    engine_apply(engine, notched.response, notched.serial);

    /* Another chain that removes waves has them, too, and one that does not has none. */
    request("gain:dc=1 | auto-notch", 2, 0);
    assert_int_equal(apply(false).notches.count, 2);
    assert_int_equal(fake_engine_get(&fake_engine.engines_created), 1);
    request("gain:dc=1", 3, 0);
    assert_int_equal(apply(false).notches.count, 0);
}

static void a_full_chain_has_those_for_which_there_is_room(void **state)
{
    char text[1000] = "auto-notch";
    (void)state;
    apply(false);
    for (unsigned i = 2; i < FILTER_MAX_STAGES; i++)
        strncat(text, " | gain:dc=1", sizeof text - strlen(text) - 1);
    designer_request_notches(designer, &TWO);
    apply(false);
    request(text, 2, 0);
    const struct design design = apply(false);
    assert_int_equal(design.notches.count, 1);
    assert_int_equal(design.serial, 2);
}

static void notches_do_not_end_a_fade(void **state)
{
    struct design design;
    (void)state;
    apply(false);
    request("gain:dc=0.5 | auto-notch", 2, 10);
    assert_int_equal(apply(false).notches.count, 0);
    assert_true(engine_is_fading(engine));
    const unsigned designs = fake_engine_get(&fake_engine.designs);
    designer_request_notches(designer, &TWO);
    while (fake_engine_get(&fake_engine.designs) == designs ||
           designer_get_state(designer) != DESIGNER_IDLE)
        usleep(1000);
    assert_false(designer_take(designer, true, &design));
    assert_int_equal(apply(false).notches.count, 2);

    /* A filter with a fade is not kept waiting, and begins with the notches. */
    request("auto-notch", 3, 10);
    assert_int_equal(apply(true).notches.count, 2);
    assert_int_equal(fake_engine_get(&fake_engine.fades), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(notches_are_beside_the_chain, setup, teardown),
        cmocka_unit_test_setup_teardown(a_full_chain_has_those_for_which_there_is_room, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(notches_do_not_end_a_fade, setup, teardown),
    };
    return cmocka_run_group_tests_name("designer", tests, NULL, NULL);
}

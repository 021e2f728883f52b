/* The designer alone, on a fake engine: filters for which there is no memory. */
#include "support/cmocka.h"

#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "designer/designer.h"
#include "core/clock.h"
#include "core/format.h"
#include "support/fake_engine.h"

#define PATIENCE_NS (60 * NS_PER_S)
#define PATIENCE_MS 60000

static struct config config;
static struct designer *designer;
static struct engine *engine;
static int wake_fd;

/* Takes the next design, which must come and succeed. */
static struct design take(void)
{
    struct design design;
    struct pollfd fd = {.fd = wake_fd, .events = POLLIN};
    eventfd_t count;
    while (!designer_take(designer, false, &design)) {
        assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
        eventfd_read(wake_fd, &count);
    }
    assert_int_equal(design.result, 0);
    assert_non_null(design.response);
    return design;
}

static void request(const char *text, uint64_t serial)
{
    struct filter_chain chain;
    assert_int_equal(filter_chain_parse(&chain, text, NULL), 0);
    designer_request_filter(designer, &chain, VIEW_PICTURE, serial, 0, NULL);
}

/* Takes a design and applies it. */
static struct design apply(void)
{
    const struct design design = take();
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
                                        .memory_mib = 100,
                                        .build_timeout_s = 60}};
    assert_int_equal(filter_chain_parse(&config.filter, "gain:dc=1", NULL), 0);
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

static void a_filter_beyond_the_budget_leaves_the_one_before(void **state)
{
    struct design design;
    struct pollfd fd = {.fd = wake_fd, .events = POLLIN};
    struct filter_chain chain;
    struct error why;
    eventfd_t count;
    (void)state;
    const struct design before = apply();
    assert_int_equal(before.memory.device, 0);

    /* Two engines of one stage are within the 100 MiB, and two of two stages are not. */
    FAKE_ENGINE_SET(stage_bytes, 30u << 20);
    request("gain:dc=0.5 | gain:dc=2", 2);
    while (!designer_take(designer, false, &design)) {
        assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
        eventfd_read(wake_fd, &count);
    }
    assert_int_equal(fake_engine_get(&fake_engine.engines_created), 1);
    assert_int_equal(design.result, -EINVAL);
    assert_int_equal(design.result_serial, 2);
    assert_null(design.engine);
    assert_non_null(strstr(design.why.text, "GREY needs 120 MiB of memory (stages 120 MiB, "));
    assert_non_null(strstr(design.why.text, "the limit is 100 MiB (engine.memory)"));
    assert_int_equal(filter_chain_parse(&chain, "gain:dc=0.5 | gain:dc=2", NULL), 0);
    assert_int_equal(designer_check_memory(designer, &before.frames, &chain, VIEW_PICTURE, &why),
                     -EINVAL);
    assert_string_equal(why.text, design.why.text);

    request("gain:dc=0.5", 3);
    const struct design after = apply();
    assert_true(after.memory.host > 60u << 20 && after.memory.host < 100u << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_filter_beyond_the_budget_leaves_the_one_before, setup,
                                        teardown),
    };
    return cmocka_run_group_tests_name("designer", tests, NULL, NULL);
}

/* The thread that observes frames: what it finds reaches the frames that follow, and what makes it
 * forget. How well waves are found is tests/unit/periodic.c's. */
#include "camera/adapter.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/cmocka.h"

#include "core/clock.h"
#include "core/format.h"
#include "core/luma.h"

#define WIDTH       192
#define HEIGHT      256
#define INTERVAL_NS (NS_PER_S / 30)
#define PATIENCE_NS (120 * NS_PER_S)
#define FX          0.21
#define FY          0.13
#define AMPLITUDE   20.0 /* of 255 */

static const struct filter_adaptation off = {.removes_waves = false};
static const struct filter_adaptation on = {.removes_waves = true,
                                            .waves = {.min_amplitude = 1, .max_waves = 8}};

struct fixture {
    struct adapter *adapter;
    uint32_t fourcc;
    double top;
    uint8_t *plane;
    int64_t captured_ns;
};

static void start(struct fixture *f, const char *format)
{
    struct error why;
    *f = (struct fixture){.captured_ns = NS_PER_S};
    f->fourcc = format_by_name(format)->fourcc;
    f->top = (1u << format_by_name(format)->bits) - 1;
    f->plane = calloc(HEIGHT, luma_row_bytes(format_by_name(format), WIDTH));
    assert_int_equal(adapter_create(&f->adapter, &why), 0);
    adapter_set_source(f->adapter, 1, f->fourcc, WIDTH, HEIGHT);
}

static void end(struct fixture *f)
{
    assert_int_equal(adapter_destroy(f->adapter, clock_now_ns() + PATIENCE_NS), 0);
    free(f->plane);
}

/* Blocks, a gradient and one wave that does not move, in 8 or 16 bits. */
static void draw(struct fixture *f)
{
    for (unsigned i = 0; i < WIDTH * HEIGHT; i++) {
        const unsigned x = i % WIDTH, y = i / WIDTH;
        const double level = 80 + 0.2 * x + 0.1 * y + (x / 37 % 2 == y / 53 % 2 ? 30 : 0) +
                             AMPLITUDE * cos(2 * M_PI * (FX * x + FY * y));
        const unsigned code = (unsigned)lrint(level * f->top / 255);
        if (f->top > 255) {
            f->plane[2 * i] = (uint8_t)code;
            f->plane[2 * i + 1] = (uint8_t)(code >> 8);
        } else {
            f->plane[i] = (uint8_t)code;
        }
    }
}

/* Offers a frame, and returns its correction. */
static const struct correction *offer(struct fixture *f)
{
    const struct capture_frame frame = {
        .plane = {f->plane},
        .stride = {(uint32_t)luma_row_bytes(format_by_fourcc(f->fourcc), WIDTH)},
        .captured_ns = f->captured_ns,
        .memory = -1};
    adapter_offer(f->adapter, &frame);
    return adapter_correct(f->adapter, f->captured_ns);
}

static void configure(struct fixture *f, const struct filter_adaptation *wanted)
{
    struct error why;
    assert_int_equal(adapter_configure(f->adapter, wanted, &why), 0);
}

static struct adapter_status status_of(const struct fixture *f)
{
    struct adapter_status status;
    adapter_get_status(f->adapter, &status);
    return status;
}

/* Offers frames until one is corrected. Each is offered until it was observed, so that the time in
 * which frames are captured does not depend on how fast this machine is. */
static const struct correction *wait_for_correction(struct fixture *f)
{
    const int64_t deadline_ns = clock_now_ns() + PATIENCE_NS;
    const struct correction *correction;
    do {
        const uint64_t observed = status_of(f).observed;
        f->captured_ns += INTERVAL_NS;
        do {
            correction = offer(f);
            usleep(500);
            assert_true(clock_now_ns() < deadline_ns);
        } while (status_of(f).observed == observed);
    } while (correction == NULL);
    return correction;
}

static void waves_are_in_units_of_samples(void **state)
{
    (void)state;
    static const char *const formats[] = {"GREY", "Y12"};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        struct fixture f;
        start(&f, formats[i]);
        draw(&f);
        configure(&f, &on);
        const struct correction *correction = wait_for_correction(&f);
        assert_null(correction->row_gain);
        assert_int_equal(correction->wave_count, 1);
        const struct wave *wave = &correction->wave[0];
        assert_true(fabs(fabs(wave->fx) - FX) < 1e-3);
        assert_true(fabs(hypot(wave->re, wave->im) / (AMPLITUDE * f.top / 255) - 1) < 0.05);
        const struct adapter_status status = status_of(&f);
        assert_int_equal(status.wave_count, 1);
        assert_true(status.wave[0].is_removed);
        assert_true(fabs(status.wave[0].amplitude / AMPLITUDE - 1) < 0.05);
        end(&f);
    }
}

static void only_a_chain_that_adapts_observes(void **state)
{
    struct fixture f;
    (void)state;
    start(&f, "GREY");
    draw(&f);
    configure(&f, &off);
    for (unsigned i = 0; i < 10; i++)
        assert_null(offer(&f));
    assert_int_equal(status_of(&f).observed, 0);
    configure(&f, &on);
    wait_for_correction(&f);
    configure(&f, &off);
    assert_null(offer(&f));
    end(&f);
}

/* Freezing keeps what was found; other things to look for, and other frames, do not. */
static void what_makes_it_forget(void **state)
{
    struct fixture f;
    struct filter_adaptation frozen = on, other = on;
    (void)state;
    start(&f, "GREY");
    draw(&f);
    configure(&f, &on);
    wait_for_correction(&f);
    const int64_t since_ns = status_of(&f).wave[0].since_ns;

    frozen.is_frozen = true;
    configure(&f, &frozen);
    adapter_set_source(f.adapter, 1, f.fourcc, WIDTH, HEIGHT);
    assert_non_null(wait_for_correction(&f));
    assert_int_equal(status_of(&f).wave[0].since_ns, since_ns);
    assert_true(status_of(&f).wanted.is_frozen);

    other.waves.min_amplitude = 2;
    configure(&f, &other);
    assert_null(adapter_correct(f.adapter, f.captured_ns));
    assert_int_equal(status_of(&f).wave_count, 0);
    wait_for_correction(&f);
    assert_true(status_of(&f).wave[0].since_ns > since_ns);

    adapter_set_source(f.adapter, 2, f.fourcc, WIDTH, HEIGHT);
    assert_null(adapter_correct(f.adapter, f.captured_ns));
    assert_int_equal(status_of(&f).observed, 0);
    wait_for_correction(&f);
    adapter_set_source(f.adapter, 2, f.fourcc, WIDTH, HEIGHT / 2);
    assert_null(offer(&f));
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(waves_are_in_units_of_samples),
                                       cmocka_unit_test(only_a_chain_that_adapts_observes),
                                       cmocka_unit_test(what_makes_it_forget)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

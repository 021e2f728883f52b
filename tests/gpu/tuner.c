/* Tests of the search for settings. Its result is never slower than the initial settings, and
 * tuner_find and an engine find it in the cache; the comparison of devices is found there, too. */
#include <errno.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/cmocka.h"
#include "support/device.h"

#include "gpu/cache.h"
#include "engine/comparison.h"
#include "engine/engine_private.h"

#define STEPS        5 /* each step builds kernels */
#define NARROW_STEPS 2 /* before kernels with 16 lanes */

/* Combinations on a CPU: the initial one; two others each of three lanes, radices, columns and
 * twiddles; three others of four sizes; one other each of two rows and skews. */
#define MOST_ON_CPU  (1 + 2 + 2 + 2 + 2 + 3 + 1 + 1)

static char dir[] = "/tmp/fftd-test-XXXXXX";

static const struct engine_options options = {.tune = ENGINE_TUNE_AUTO, .in_flight = 1};

static struct engine *make_engine_on(struct gpu_device *gpu)
{
    struct fftd_format format;
    struct engine *engine;
    struct error why;
    assert_int_equal(format_layout(&format, format_by_name("GREY")->fourcc, 60, 48, 1, &why), 0);
    if (engine_create(&engine, gpu, &format, &options, 0, dir, NULL, &why) < 0)
        fail_msg("%s", why.text);
    return engine;
}

static struct engine *make_engine(void)
{
    return make_engine_on(device);
}

static void remove_files(const char *kind)
{
    char pattern[64];
    glob_t files;
    snprintf(pattern, sizeof pattern, "%s/*.%s", dir, kind);
    if (glob(pattern, 0, NULL, &files) == 0)
        for (size_t i = 0; i < files.gl_pathc; i++)
            unlink(files.gl_pathv[i]);
    globfree(&files);
}

static void test_what_is_found_is_kept(void **state)
{
    (void)state;
    struct engine *engine = make_engine();
    const struct tuner_subject subject = engine->component[0].subject;
    struct transform_tuning best, found;
    struct tuner_progress progress;
    struct tuner *tuner;
    struct error why, warning = {""};
    const unsigned steps = device_compiles_wide_lanes() ? STEPS : NARROW_STEPS;
    assert_false(engine_is_tuned(engine));
    engine_destroy(engine);

    assert_false(tuner_find(&found, &subject, dir, &warning));
    assert_int_equal(tuner_create(&tuner, &subject, false, &why), 0);
    for (unsigned i = 1; i <= steps; i++) {
        if (tuner_step(tuner, &why) < 0)
            fail_msg("%s", why.text);
        tuner_get_progress(tuner, &progress);
        assert_int_equal(progress.tried, i);
        assert_true(progress.total >= i);
        assert_true(progress.best_ms <= progress.default_ms);
        if (gpu_device_is_cpu(device)) /* no combination is measured twice */
            assert_in_range(progress.total, i, MOST_ON_CPU);
    }
    tuner_get_best(tuner, &best);
    assert_int_equal(tuner_keep(tuner, dir, &why), 0);
    tuner_destroy(tuner);

    assert_true(tuner_find(&found, &subject, dir, &warning));
    assert_string_equal(warning.text, "");
    assert_int_equal(found.lanes, best.lanes);
    assert_int_equal(found.column_group, best.column_group);
    assert_int_equal(found.length_x, best.length_x);
    assert_int_equal(found.twiddles, best.twiddles);
    engine = make_engine();
    assert_true(engine_is_tuned(engine));
    engine_destroy(engine);

    /* Another precision is another subject. */
    struct tuner_subject other = subject;
    other.precision = RECIPE_HALF;
    assert_false(tuner_find(&found, &other, dir, &warning));
    assert_string_equal(warning.text, "");
}

/* Finds the only file of this kind. */
static void find_kept(const char *kind, char path[128], uint64_t *ret_key)
{
    char pattern[64];
    glob_t files;
    snprintf(pattern, sizeof pattern, "%s/*.%s", dir, kind);
    assert_int_equal(glob(pattern, 0, NULL, &files), 0);
    assert_int_equal(files.gl_pathc, 1);
    snprintf(path, 128, "%s", files.gl_pathv[0]);
    *ret_key = strtoull(strrchr(path, '/') + 1, NULL, 16);
    globfree(&files);
}

/* Damaged or invalid settings in a file cause only a warning. */
static void test_nonsense_is_not_used(void **state)
{
    (void)state;
    struct error why;
    uint64_t key;
    size_t size;
    char path[128];
    find_kept("tuning", path, &key);
    uint32_t *fields = cache_read(dir, "tuning", key, &size, &why);
    assert_non_null(fields);
    fields[2] = 3; /* lanes: not a power of two */
    assert_int_equal(cache_write(dir, "tuning", key, fields, size, &why), 0);
    struct engine *engine = make_engine();
    assert_false(engine_is_tuned(engine));
    assert_non_null(strstr(engine_warning(engine), "ignored"));
    engine_destroy(engine);

    fields[2] = 1u << 20;
    assert_int_equal(cache_write(dir, "tuning", key, fields, size, &why), 0);
    engine = make_engine();
    assert_false(engine_is_tuned(engine));
    engine_destroy(engine);

    assert_int_equal(truncate(path, 50), 0);
    engine = make_engine();
    assert_false(engine_is_tuned(engine));
    assert_non_null(strstr(engine_warning(engine), "checksum"));
    engine_destroy(engine);
    free(fields);
}

static void test_search_without_a_place_is_refused(void **state)
{
    (void)state;
    struct engine *engine = make_engine();
    const struct engine_compared compared = {device, "auto"};
    struct engine_search *search;
    struct error why;
    assert_int_equal(engine_search_create(&search, engine, false, &compared, "", &why), -EINVAL);
    assert_non_null(strstr(why.text, "cache_dir"));
    engine_destroy(engine);
}

static unsigned settings_to_try(const struct tuner_subject *subject)
{
    struct tuner_progress progress;
    struct tuner *tuner;
    struct error why;
    if (tuner_create(&tuner, subject, false, &why) < 0)
        fail_msg("%s", why.text);
    tuner_get_progress(tuner, &progress);
    tuner_destroy(tuner);
    return progress.total;
}

/* The defaults for Midgard use a radix at which kernels do not spill, and groups that fit. The
 * search also tries fewer registers. If the technique is free, it starts with the staged one. */
static void test_midgard_has_few_registers(void **state)
{
    (void)state;
    struct engine *engine = make_engine();
    struct tuner_subject subject = engine->component[0].subject;
    struct gpu_device gpu = *device;
    struct transform_tuning tuning;
    subject.device = &gpu;
    subject.any_technique = false;
    subject.technique = TRANSFORM_FUSED;
    gpu.type = CL_DEVICE_TYPE_GPU;
    gpu.midgard = false;
    const unsigned usual = settings_to_try(&subject);
    gpu.midgard = true;
    tuner_start(&tuning, &subject);
    assert_int_equal(tuning.technique, TRANSFORM_FUSED);
    assert_int_equal(tuning.max_radix, 8);
    assert_int_equal(tuning.column_group, 64);
    assert_int_equal(tuning.row_group, 64);
    assert_int_equal(settings_to_try(&subject), usual + 1); /* radix 4 */

    subject.technique = TRANSFORM_STAGED;
    const unsigned staged = settings_to_try(&subject);
    subject.any_technique = true;
    subject.technique = TRANSFORM_FUSED;
    tuner_start(&tuning, &subject);
    assert_int_equal(tuning.technique, TRANSFORM_STAGED);
    assert_int_equal(tuning.column_group, 64);
    /* One to three stages per dispatch and three group sizes, except the initial combination, and
     * all of them with radix 4; and the fused defaults. */
    assert_int_equal(settings_to_try(&subject), staged + (3 * 3 - 1) + 3 * 3 + 1);
    engine_destroy(engine);
}

/* Where a technique cannot handle a size, each other one is tried once, the cheapest first, unless
 * only that one is allowed. */
static void test_techniques_fall_back(void **state)
{
    (void)state;
    struct engine *engine = make_engine();
    struct tuner_subject subject = engine->component[0].subject;
    struct gpu_device gpu = *device;
    struct transform_tuning tuning;
    subject.device = &gpu;
    gpu.type = CL_DEVICE_TYPE_GPU;
    for (unsigned midgard = 0; midgard <= 1; midgard++) {
        gpu.midgard = midgard;
        subject.any_technique = true;
        tuner_start(&tuning, &subject);
        const enum transform_technique first = tuning.technique;
        assert_int_equal(first, midgard ? TRANSFORM_STAGED : TRANSFORM_FUSED);
        assert_true(tuner_fall_back(&tuning, &subject));
        assert_int_not_equal(tuning.technique, first);
        assert_false(tuner_fall_back(&tuning, &subject));
        subject.any_technique = false;
        tuner_start(&tuning, &subject);
        assert_false(tuner_fall_back(&tuning, &subject));
    }
    engine_destroy(engine);
}

/* Short filters begin with the direct technique where it is taken to be faster, and may try the
 * others; other filters do not know it. Their settings are kept apart. */
static void test_short_filters_begin_directly(void **state)
{
    static const struct taps_reach few = {.is_short = true, .radius = 1};
    static const struct taps_reach many = {.is_short = true, .radius = TAPS_MAX_PLAIN_RADIUS};
    (void)state;
    struct engine *engine = make_engine();
    struct tuner_subject subject = engine->component[0].subject;
    struct gpu_device cpu = *device;
    struct transform_tuning tuning, found;
    struct error warning = {""};
    engine_destroy(engine);
    cpu.type = CL_DEVICE_TYPE_CPU;
    subject.device = &cpu;
    subject.any_technique = true;
    tuner_start(&tuning, &subject);
    assert_int_equal(tuning.technique, cpu.midgard ? TRANSFORM_STAGED : TRANSFORM_FUSED);
    const unsigned without = settings_to_try(&subject), tiles = cpu.midgard ? 0 : 1;

    subject.reach = many;
    tuner_start(&tuning, &subject);
    assert_int_not_equal(tuning.technique, TRANSFORM_DIRECT);
    assert_int_equal(settings_to_try(&subject), without + 1 + tiles);

    subject.reach = (struct taps_reach){.radius = 16};
    tuner_start(&tuning, &subject);
    assert_int_not_equal(tuning.technique, TRANSFORM_DIRECT);
    assert_int_equal(settings_to_try(&subject), without + tiles);

    subject.reach = few;
    tuner_start(&tuning, &subject);
    assert_int_equal(tuning.technique, TRANSFORM_DIRECT);
    assert_true(taps_reach_equal(tuning.recipe.reach, few));
    assert_true(settings_to_try(&subject) > 1);
    assert_true(tuner_fall_back(&tuning, &subject));
    assert_int_not_equal(tuning.technique, TRANSFORM_DIRECT);
    assert_false(tuner_find(&found, &subject, dir, &warning));
}

/* Whole frames are measured on both devices, and the times are found in the cache. The device
 * itself is the CPU device here, and a copy of it stands for a GPU beside it. */
static void test_devices_are_compared(void **state)
{
    (void)state;
    struct gpu_device gpu = *device;
    struct comparison kept = {.device_ms = 0}, found;
    struct error why, warning = {""};
    gpu.type = CL_DEVICE_TYPE_GPU;
    snprintf(gpu.cpu_name, sizeof gpu.cpu_name, "%s", device->name);
    struct engine *engine = make_engine_on(&gpu);
    const struct comparison_subject subject = engine_subject(engine, &gpu);
    engine_destroy(engine);

    struct gpu_device *cpu;
    if (gpu_device_open(&cpu, "cpu", &why) < 0) {
        printf("skipped: %s\n", why.text);
        skip();
    }
    assert_string_equal(comparison_cpu_device(&gpu), device->name);
    if (engine_time(&gpu, &subject, dir, &kept.device_ms, &why) < 0 ||
        engine_time(cpu, &subject, dir, &kept.cpu_ms, &why) < 0)
        fail_msg("%s", why.text);
    gpu_device_close(cpu);
    assert_true(kept.device_ms > 0 && kept.device_ms < 1000);
    assert_true(kept.cpu_ms > 0 && kept.cpu_ms < 1000);

    assert_false(comparison_find(&found, &subject, dir, &warning));
    assert_int_equal(comparison_keep(&subject, dir, &kept, &why), 0);
    assert_true(comparison_find(&found, &subject, dir, &warning));
    assert_string_equal(warning.text, "");
    assert_memory_equal(&found.device_ms, &kept.device_ms, sizeof(double));
    assert_memory_equal(&found.cpu_ms, &kept.cpu_ms, sizeof(double));
    assert_string_equal(found.device, gpu.name);
    assert_string_equal(found.cpu_device, device->name);

    /* Another CPU device, and other kernels, are another subject. */
    snprintf(gpu.cpu_name, sizeof gpu.cpu_name, "another CPU");
    assert_false(comparison_find(&found, &subject, dir, &warning));
    snprintf(gpu.cpu_name, sizeof gpu.cpu_name, "%s", device->name);
    struct comparison_subject other = subject;
    other.options.recipe.warped = true;
    assert_false(comparison_find(&found, &other, dir, &warning));
    other = subject; /* the field of motion is not compared */
    other.options.recipe.motion = 32;
    assert_true(comparison_find(&found, &other, dir, &warning));
    assert_string_equal(warning.text, "");
}

/* Damaged or invalid times in a file cause only a warning. */
static void test_nonsense_is_not_compared(void **state)
{
    (void)state;
    struct gpu_device gpu = *device;
    struct error why;
    gpu.type = CL_DEVICE_TYPE_GPU;
    snprintf(gpu.cpu_name, sizeof gpu.cpu_name, "%s", device->name);
    struct engine *engine = make_engine_on(&gpu);
    const struct comparison_subject subject = engine_subject(engine, &gpu);
    engine_destroy(engine);
    const struct comparison nonsense[] = {{.device_ms = 1, .cpu_ms = 0},
                                          {.device_ms = -1, .cpu_ms = 1},
                                          {.device_ms = (double)NAN, .cpu_ms = 1},
                                          {.device_ms = 1, .cpu_ms = (double)INFINITY}};
    for (size_t i = 0; i < sizeof nonsense / sizeof nonsense[0]; i++) {
        struct comparison found;
        struct error warning = {""};
        assert_int_equal(comparison_keep(&subject, dir, &nonsense[i], &why), 0);
        assert_false(comparison_find(&found, &subject, dir, &warning));
        assert_non_null(strstr(warning.text, "ignored"));
    }

    const struct comparison sense = {.device_ms = 2, .cpu_ms = 1};
    char path[128];
    uint64_t key;
    assert_int_equal(comparison_keep(&subject, dir, &sense, &why), 0);
    find_kept("comparison", path, &key);
    assert_int_equal(truncate(path, 40), 0);
    struct comparison found;
    struct error warning = {""};
    assert_false(comparison_find(&found, &subject, dir, &warning));
    assert_non_null(strstr(warning.text, "checksum"));
}

/* A search for a CPU ends with its last settings. */
static void test_a_cpu_is_not_compared(void **state)
{
    (void)state;
    struct gpu_device *cpu;
    struct error why;
    if (gpu_device_open(&cpu, "cpu", &why) < 0) {
        printf("skipped: %s\n", why.text);
        skip();
    }
    assert_null(comparison_cpu_device(cpu));
    gpu_device_close(cpu);
}

static int setup(void **state)
{
    device_setup(state);
    return mkdtemp(dir) != NULL ? 0 : -1;
}

static int teardown(void **state)
{
    device_teardown(state);
    remove_files("clbin");
    remove_files("tuning");
    remove_files("comparison");
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_found_is_kept),
        cmocka_unit_test(test_nonsense_is_not_used),
        cmocka_unit_test(test_search_without_a_place_is_refused),
        cmocka_unit_test(test_midgard_has_few_registers),
        cmocka_unit_test(test_techniques_fall_back),
        cmocka_unit_test(test_short_filters_begin_directly),
        cmocka_unit_test(test_devices_are_compared),
        cmocka_unit_test(test_nonsense_is_not_compared),
        cmocka_unit_test(test_a_cpu_is_not_compared),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

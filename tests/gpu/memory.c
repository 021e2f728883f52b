/* Tests of frames that kernels read without a copy: shared with their source, or imported as
 * dma-bufs; and of results that kernels store without a copy. In every format the result equals
 * that of a copied frame, and lent frames are returned. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "support/cmocka.h"

/* A memfd replaces the dma-buf, because it can be mapped too. */
#include "faults/import.c" /* NOLINT: linked instead of preloaded */

#include "support/device.h"
#include "support/reference.h"
#include "support/store.h"

#include "gpu/device_private.h"
#include "engine/engine.h"

#define WIDTH  64
#define HEIGHT 48
#define FRAMES 3 /* fewer than rounds, so that each is used again */
#define ROUNDS 8

static struct engine *make_engine(const char *format_name, enum recipe_planes planes,
                                  struct fftd_format *ret_format)
{
    const struct format_info *info = format_by_name(format_name);
    const struct engine_options options = {.border = PLAN_MIRROR,
                                           .margin = 8,
                                           .recipe.planes = planes,
                                           .in_flight = 2,
                                           .recipe.captured = info->fourcc,
                                           .tune = ENGINE_TUNE_OFF};
    struct engine *engine = NULL;
    struct engine_response *response = NULL;
    struct filter_chain chain;
    struct error why;
    if (format_layout(ret_format,
                      engine_published(&(struct recipe){.planes = planes}, info->fourcc), WIDTH,
                      HEIGHT, 64, &why) < 0 ||
        engine_create(&engine, device, ret_format, &options, 4, NULL, NULL, &why) < 0 ||
        filter_chain_parse(&chain, "gaussian-blur:sigma=1", &why) < 0 ||
        engine_design(engine, &chain, &response, &why) < 0)
        fail_msg("%s: %s", format_name, why.text);
    engine_apply(engine, response, 1);
    return engine;
}

static struct frame_memory *make_memory(const struct engine *engine)
{
    struct frame_memory *memory;
    struct error why;
    if (engine_memory_create(&memory, engine, &why) < 0)
        fail_msg("%s", why.text);
    return memory;
}

static void fill(uint8_t *frame, size_t bytes, uint64_t seed)
{
    for (size_t i = 0; i < bytes; i++)
        frame[i] = (uint8_t)(60 + 130 * reference_noise(&seed));
}

static struct engine_job job_of(const struct fftd_format *layout, const uint8_t *frame,
                                uint8_t *out) /* NOLINT: the engine writes it */
{
    struct engine_job job = {.out = out, .is_dispatched = true};
    for (unsigned p = 0; p < layout->plane_count; p++) {
        job.in[p] = frame + layout->plane[p].offset;
        job.in_stride[p] = layout->plane[p].stride;
    }
    return job;
}

static struct engine_copies filter_frame(struct engine *engine, const struct engine_job *job)
{
    struct engine_done done;
    struct error why;
    if (engine_submit(engine, job, &why) < 0 || engine_collect(engine, true, &done, &why) < 0)
        fail_msg("%s", why.text);
    return done.copies;
}

/* Bytes of planes first .. end - 1 without the padding of rows. */
static uint64_t plane_bytes(const struct fftd_format *layout, unsigned first, unsigned end)
{
    uint64_t bytes = 0;
    for (unsigned p = first; p < end; p++)
        bytes += (uint64_t)layout->plane[p].row_bytes * layout->plane[p].rows;
    return bytes;
}

/* A frame as its source sees it. */
struct place {
    uint8_t *at;
    int fd;
};

static void take_place(struct frame_memory *memory, enum memory_mode mode, unsigned index,
                       size_t bytes, struct place *ret)
{
    struct error why = {{0}};
    struct place place = {.fd = -1};
    if (mode == MEMORY_SHARED) {
        if (frame_memory_share(memory, index, bytes, &why) < 0)
            fail_msg("%s", why.text);
        place.at = frame_memory_address(memory, index);
        assert_int_equal((uintptr_t)place.at % (uintptr_t)sysconf(_SC_PAGESIZE), 0);
    } else {
        place.fd = memfd_create("frame", MFD_CLOEXEC);
        assert_int_equal(ftruncate(place.fd, (off_t)bytes), 0);
        place.at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, place.fd, 0);
        assert_ptr_not_equal(place.at, MAP_FAILED);
        if (frame_memory_import(memory, index, place.fd, bytes, &why) < 0)
            fail_msg("%s", why.text);
        close(place.fd);
    }
    *ret = place;
}

/* Waits for buffers to be released. A driver may do that some time after the last command has
 * completed; rusticl does it in another thread. */
static void assert_released(const struct account *account)
{
    static const struct timespec moment = {.tv_nsec = 1000000};
    struct account now = {0};
    for (int tries = 0; tries < 60000; tries++) {
        pthread_mutex_lock(&lock);
        now = *account;
        pthread_mutex_unlock(&lock);
        if (now.released == now.imported)
            return;
        nanosleep(&moment, NULL);
    }
    fail_msg("%u of %u buffers were released within 10 s", now.released, now.imported);
}

/* Skips the test on devices with their own memory, to and from which each frame must be sent. */
static void need_shared_memory(void)
{
    if (!device->unified_memory) {
        print_message("skipped: the device does not work in the host's memory\n");
        skip();
    }
}

/* Checks a device that imports memory of the host, and one that maps it. */
static void check_import_and_map(void (*check)(void))
{
    import_memory_fn *import_host = device->import_host;
    const unsigned before = host_memory.imported;
    check();
    assert_true(host_memory.imported > before);
    assert_released(&host_memory);
    const unsigned after = host_memory.imported;
    device->import_host = NULL;
    check();
    device->import_host = import_host;
    assert_int_equal(host_memory.imported, after);
}

static void check_output(const char *name, enum recipe_planes planes)
{
    struct fftd_format format, layout;
    struct engine *engine = make_engine(name, planes, &format);
    struct frame_memory *memory = make_memory(engine);
    struct store store;
    struct error why;
    layout = memory->layout;
    const uint64_t filtered = format.plane[memory->plane_count - 1].offset +
                              plane_bytes(&format, memory->plane_count - 1, memory->plane_count);
    engine_memory_destroy(memory);
    if (store_create(&store, engine, &format, 0, &why) < 0)
        fail_msg("%s", why.text);
    assert_true(engine_output_suits(store.output, engine));
    uint8_t *in = malloc(layout.frame_bytes), *expected = calloc(1, format.frame_bytes);
    for (unsigned round = 0; round < ROUNDS; round++) {
        fill(in, layout.frame_bytes, round + 1);
        struct engine_job job = job_of(&layout, in, expected);
        struct engine_copies copies = filter_frame(engine, &job);
        assert_in_range(copies.out_bytes, filtered, format.frame_bytes);
        const uint64_t passed = copies.passed_bytes;
        job.output = store.output;
        job.output_frame = round % STORE_FRAMES;
        job.out = store.frame[round % STORE_FRAMES];
        copies = filter_frame(engine, &job);
        assert_int_equal(copies.out_bytes, 0);
        assert_int_equal(copies.passed_bytes, passed);
        if (!store_holds(&store, round % STORE_FRAMES, &format, expected))
            fail_msg("%s: another result in round %u", name, round);
    }
    assert_int_equal(store_count_released(&store), 0);
    engine_output_destroy(store.output);
    engine_destroy(engine); /* the arguments of its kernels keep memory in some drivers */
    assert_true(store_is_released(&store));
    store_free(&store);
    free(expected);
    free(in);
}

static void check_format(const char *name, enum recipe_planes planes, enum memory_mode mode)
{
    struct fftd_format format;
    struct engine *engine = make_engine(name, planes, &format);
    struct frame_memory *memory = make_memory(engine);
    const struct fftd_format *layout = &memory->layout;
    const size_t bytes = layout->frame_bytes;
    uint8_t *expected = calloc(2, format.frame_bytes), *out = expected + format.frame_bytes;
    struct place place[FRAMES];
    for (unsigned i = 0; i < FRAMES; i++)
        take_place(memory, mode, i, bytes, &place[i]);
    for (unsigned round = 0; round < ROUNDS; round++) {
        const unsigned index = round % FRAMES;
        uint8_t *frame =
            mode == MEMORY_SHARED ? frame_memory_address(memory, index) : place[index].at;
        fill(frame, bytes, round + 1);
        struct engine_job job = job_of(layout, frame, expected);
        struct engine_copies copies = filter_frame(engine, &job);
        assert_int_equal(copies.in_bytes, plane_bytes(layout, 0, memory->plane_count));
        const uint64_t passed = plane_bytes(&format, memory->plane_count, format.plane_count);
        assert_int_equal(copies.passed_bytes, passed);
        job = job_of(layout, frame, out);
        job.memory = memory;
        job.frame = index;
        for (unsigned p = 0; p < memory->plane_count; p++)
            job.in[p] = NULL; /* the host must not read it */
        copies = filter_frame(engine, &job);
        assert_int_equal(copies.in_bytes, 0);
        assert_int_equal(copies.passed_bytes, passed);
        if (memcmp(expected, out, format.frame_bytes) != 0)
            fail_msg("%s, %s: another result in round %u", name, memory_mode_names[mode], round);
    }
    for (unsigned i = 0; i < FRAMES && mode == MEMORY_IMPORTED; i++)
        munmap(place[i].at, bytes);
    engine_memory_destroy(memory);
    engine_destroy(engine);
    free(expected);
}

/* With colour, and luma alone. */
static void check_both(const char *name, enum memory_mode mode)
{
    check_format(name, RECIPE_LUMA, mode);
    check_format(name, RECIPE_LUMA_ONLY, mode);
}

static const char *const names[] = {"GREY", "YUYV", "NV12", "RGB24", "SRGGB10"};

static void shared_frames_are_filtered_where_they_are(void **state)
{
    (void)state;
    need_shared_memory();
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        check_both(names[i], MEMORY_SHARED);
    check_format("NV12", RECIPE_ALL, MEMORY_SHARED);
}

/* As every device's memory can be treated as its own, so can that of one in the host's. */
static void shared_frames_are_sent_from_where_they_are(void **state)
{
    (void)state;
    const bool unified = device->unified_memory;
    device->unified_memory = false;
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        check_both(names[i], MEMORY_SHARED);
    check_format("NV12", RECIPE_ALL, MEMORY_SHARED);
    device->unified_memory = unified;
}

static void imported_frames_are_filtered_where_they_are(void **state)
{
    (void)state;
    need_shared_memory();
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        check_both(names[i], MEMORY_IMPORTED);
    check_format("NV12", RECIPE_ALL, MEMORY_IMPORTED);
    assert_int_equal(dma_bufs.imported, 11 * FRAMES);
    assert_released(&dma_bufs);
}

static void check_outputs(void)
{
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        check_output(names[i], RECIPE_LUMA);
        check_output(names[i], RECIPE_LUMA_ONLY);
    }
    check_output("NV12", RECIPE_ALL);
}

static void results_are_stored_where_they_are_read(void **state)
{
    (void)state;
    need_shared_memory();
    check_import_and_map(check_outputs);
}

static void results_are_sent_to_where_they_are_read(void **state)
{
    (void)state;
    const bool unified = device->unified_memory;
    const unsigned before = host_memory.imported;
    device->unified_memory = false;
    check_outputs();
    device->unified_memory = unified;
    assert_int_equal(host_memory.imported, before);
}

/* Which is why these results are copied. */
static void memory_that_others_share_is_not_stored_into(void **state)
{
    (void)state;
    need_shared_memory();
    struct fftd_format format, narrow;
    struct engine *engine = make_engine("NV12", RECIPE_LUMA, &format);
    struct store store;
    struct error why;
    assert_int_equal(store_create(&store, engine, &format, 128, &why), -EOPNOTSUPP);
    assert_non_null(strstr(why.text, "expected the start of a page"));
    assert_int_equal(store_count_released(&store), 0);
    store_free(&store);
    engine_destroy(engine);

    /* 50 rows of 50 bytes end in the middle of a cache line, and chroma follows. */
    const struct engine_options options = {.border = PLAN_MIRROR,
                                           .margin = 8,
                                           .recipe.planes = RECIPE_LUMA,
                                           .in_flight = 2,
                                           .tune = ENGINE_TUNE_OFF};
    assert_int_equal(format_layout(&narrow, format.fourcc, 50, 50, 1, &why), 0);
    if (engine_create(&engine, device, &narrow, &options, 4, NULL, NULL, &why) < 0)
        fail_msg("%s", why.text);
    assert_int_equal(store_create(&store, engine, &narrow, 0, &why), -EOPNOTSUPP);
    assert_non_null(strstr(why.text, "2500 bytes: expected a multiple of 64"));
    store_free(&store);
    engine_destroy(engine);
}

/* The buffer then ends with the cache line, which belongs to the frame's last page. */
static void results_may_end_within_a_cache_line(void **state)
{
    (void)state;
    need_shared_memory();
    const struct engine_options options = {.border = PLAN_MIRROR,
                                           .margin = 8,
                                           .recipe.planes = RECIPE_LUMA,
                                           .in_flight = 2,
                                           .tune = ENGINE_TUNE_OFF};
    struct fftd_format format;
    struct engine *engine;
    struct store store;
    struct error why;
    const uint32_t grey = format_by_name("GREY")->fourcc;
    if (format_layout(&format, grey, 50, 50, 1, &why) < 0 ||
        engine_create(&engine, device, &format, &options, 4, NULL, NULL, &why) < 0 ||
        store_create(&store, engine, &format, 0, &why) < 0) {
        fail_msg("%s", why.text);
        return;
    }
    assert_int_equal(format.frame_bytes, 2500);
    uint8_t *in = malloc(format.frame_bytes);
    fill(in, format.frame_bytes, 7);
    struct engine_job job = job_of(&format, in, store.frame[0]); /* H = 1 */
    job.output = store.output;
    assert_int_equal(filter_frame(engine, &job).out_bytes, 0);
    assert_true(store_holds(&store, 0, &format, in));
    engine_output_destroy(store.output);
    engine_destroy(engine);
    assert_true(store_is_released(&store));
    store_free(&store);
    free(in);
}

/* Imports one frame and refuses the next. */
static cl_mem import_one(cl_context context, cl_mem_flags flags,
                         const cl_import_properties_arm *properties, void *memory, size_t size,
                         cl_int *ret_code)
{
    static bool has_imported;
    has_imported = !has_imported;
    if (has_imported)
        return import_memory(context, flags, properties, memory, size, ret_code);
    *ret_code = CL_INVALID_OPERATION;
    return NULL;
}

static void memory_that_is_not_imported_is_left_alone(void **state)
{
    (void)state;
    need_shared_memory();
    struct fftd_format format;
    struct engine *engine = make_engine("NV12", RECIPE_LUMA, &format);
    import_memory_fn *import_host = device->import_host;
    const unsigned before = host_memory.imported;
    struct store store;
    struct error why;
    device->import_host = import_one;
    assert_int_equal(store_create(&store, engine, &format, 0, &why), -EOPNOTSUPP);
    device->import_host = import_host;
    assert_string_equal(why.text, "clImportMemoryARM: CL_INVALID_OPERATION");
    assert_int_equal(host_memory.imported, before + 1);
    assert_released(&host_memory);
    assert_int_equal(store_count_released(&store), 0); /* it is still the caller's */
    store_free(&store);
    engine_destroy(engine);
}

static void check_early_output(void)
{
    struct fftd_format format;
    struct engine *engine = make_engine("GREY", RECIPE_LUMA, &format);
    uint8_t *in = malloc(2 * format.frame_bytes), *expected = in + format.frame_bytes;
    struct engine_done done;
    struct store store;
    struct error why;
    fill(in, format.frame_bytes, 7);
    struct engine_job job = job_of(&format, in, expected);
    filter_frame(engine, &job);
    assert_int_equal(store_create(&store, engine, &format, 0, &why), 0);
    for (unsigned i = 0; i < 2; i++) {
        job.output = store.output;
        job.output_frame = i;
        job.out = store.frame[i];
        assert_int_equal(engine_submit(engine, &job, &why), 0);
    }
    engine_output_destroy(store.output);
    assert_int_equal(store_count_released(&store), 0); /* both are still to be collected */
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(engine_collect(engine, true, &done, &why), 0);
        assert_true(store_holds(&store, i, &format, expected));
    }
    engine_destroy(engine);
    assert_true(store_is_released(&store));
    store_free(&store);
    free(in);
}

static void output_may_go_before_its_frames_are_done(void **state)
{
    (void)state;
    need_shared_memory();
    check_import_and_map(check_early_output);
}

static void check_early_end(struct engine *engine, const struct fftd_format *format,
                            enum memory_mode mode)
{
    uint8_t *out = malloc(2 * format->frame_bytes), *expected = out + format->frame_bytes;
    struct frame_memory *memory = make_memory(engine);
    struct engine_done done;
    struct place place;
    struct error why;
    take_place(memory, mode, 0, memory->layout.frame_bytes, &place);
    fill(place.at, memory->layout.frame_bytes, 7);
    struct engine_job job = job_of(&memory->layout, place.at, expected);
    filter_frame(engine, &job);
    job = job_of(&memory->layout, place.at, out);
    job.memory = memory;
    assert_int_equal(engine_submit(engine, &job, &why), 0);
    engine_memory_destroy(memory);
    if (mode == MEMORY_IMPORTED)
        munmap(place.at, format->frame_bytes);
    assert_int_equal(engine_collect(engine, true, &done, &why), 0);
    assert_memory_equal(out, expected, format->frame_bytes);
    free(out);
}

/* A camera can close while its frames are in flight; the device keeps the memory. */
static void memory_may_go_before_its_frames_are_done(void **state)
{
    (void)state;
    need_shared_memory();
    struct fftd_format format;
    struct engine *engine = make_engine("GREY", RECIPE_LUMA, &format);
    check_early_end(engine, &format, MEMORY_SHARED);
    check_early_end(engine, &format, MEMORY_IMPORTED);
    engine_destroy(engine);
    assert_released(&dma_bufs);
}

static void memory_may_go_before_its_frames_are_sent(void **state)
{
    (void)state;
    const bool unified = device->unified_memory;
    device->unified_memory = false;
    struct fftd_format format;
    struct engine *engine = make_engine("GREY", RECIPE_LUMA, &format);
    check_early_end(engine, &format, MEMORY_SHARED);
    engine_destroy(engine);
    device->unified_memory = unified;
}

static void memory_serves_engines_that_read_alike(void **state)
{
    (void)state;
    struct fftd_format format;
    struct engine *grey = make_engine("GREY", RECIPE_LUMA, &format);
    struct engine *luma = make_engine("NV12", RECIPE_LUMA, &format);
    struct engine *all = make_engine("NV12", RECIPE_ALL, &format);
    struct engine *wide = make_engine("YUYV", RECIPE_LUMA, &format);
    struct frame_memory *memory = make_memory(luma);
    assert_true(engine_memory_suits(memory, luma));
    assert_true(engine_memory_suits(memory, grey)); /* same layout as NV12's first plane */
    assert_false(engine_memory_suits(memory, all));
    assert_false(engine_memory_suits(memory, wide));
    engine_destroy(luma); /* the memory may outlive its first engine */
    struct place place;
    take_place(memory, MEMORY_SHARED, 0, 1, &place);
    engine_memory_destroy(memory);
    engine_destroy(grey);
    engine_destroy(all);
    engine_destroy(wide);
}

/* One that a CPU filters as `technique` says; `denoised`: after a step besides. */
static struct engine *make_other(enum engine_technique technique, bool denoised,
                                 struct fftd_format *ret_format)
{
    const struct format_info *info = format_by_name("NV12");
    struct engine_options options = {.border = PLAN_MIRROR,
                                     .margin = 8,
                                     .technique = technique,
                                     .recipe.planes = RECIPE_LUMA,
                                     .recipe.captured = info->fourcc,
                                     .in_flight = 2,
                                     .tune = ENGINE_TUNE_OFF};
    struct engine *engine = NULL;
    struct engine_response *response = NULL;
    struct filter_chain chain;
    struct error why;
    if (filter_chain_parse(&chain,
                           denoised ? "denoise:strength=1 | gaussian-blur:sigma=1"
                                    : "gaussian-blur:sigma=1",
                           &why) < 0)
        fail_msg("%s", why.text);
    engine_set_reach(&options, device);
    options.recipe = recipe_of(&chain, &options.recipe);
    if (format_layout(ret_format, info->fourcc, WIDTH, HEIGHT, 64, &why) < 0 ||
        engine_create(&engine, device, ret_format, &options, 4, NULL, NULL, &why) < 0 ||
        engine_design(engine, &chain, &response, &why) < 0)
        fail_msg("%s", why.text);
    engine_apply(engine, response, 1);
    return engine;
}

/* The last engine would wait for all that such an engine does after it has read the frame. */
static void check_slow(const struct engine *last, const struct frame_memory *memory,
                       enum engine_technique technique, bool denoised)
{
    struct fftd_format format;
    struct engine *engine = make_other(technique, denoised, &format);
    assert_true(engine_memory_suits(memory, engine));
    assert_false(engine_reads_before(last, engine, memory));
    engine_destroy(engine);
}

/* When the last engine has finished a frame, the one before it has also read it. So it may be
 * overwritten before that one's result is collected. */
static void engines_read_a_frame_one_after_the_other(void **state)
{
    (void)state;
    need_shared_memory();
    if (!gpu_device_is_cpu(device))
        skip();
    if (!device_unmaps_in_turn()) {
        print_message("skipped: the driver unmaps nothing that another queue is still to map\n");
        skip();
    }
    import_memory_fn *const import = device->import_dma_buf;
    device->import_dma_buf = NULL; /* imported frames have no such order */
    struct fftd_format format;
    const struct filter_chain none = {.count = 0};
    struct engine_response *response = NULL;
    struct engine_done done;
    struct error why;
    struct engine *last = make_other(ENGINE_DIRECT, false, &format);
    struct engine *engine = make_other(ENGINE_DIRECT, false, &format);
    struct frame_memory *memory = make_memory(last);
    device->import_dma_buf = import;
    const size_t bytes = memory->layout.frame_bytes;
    uint8_t *expected = calloc(3, format.frame_bytes);
    uint8_t *out[] = {expected + format.frame_bytes, expected + 2 * format.frame_bytes};
    struct place place;
    take_place(memory, MEMORY_SHARED, 0, bytes, &place);
    assert_true(engine_reads_before(last, engine, memory));
    assert_false(engine_reads_before(last, engine, NULL));
    check_slow(last, memory, ENGINE_DIRECT, true);
    check_slow(last, memory, ENGINE_FUSED, false);
    check_slow(last, memory, ENGINE_STAGED, false);
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint8_t *frame = frame_memory_address(memory, 0);
        fill(frame, bytes, round + 1);
        struct engine_job job = job_of(&memory->layout, frame, expected);
        filter_frame(engine, &job);
        job.memory = memory;
        job.out = out[0];
        assert_int_equal(engine_submit(engine, &job, &why), 0);
        job.out = out[1];
        assert_int_equal(filter_frame(last, &job).in_bytes, 0);
        fill(frame_memory_address(memory, 0), memory->layout.plane[0].row_bytes * HEIGHT, 0);
        assert_int_equal(engine_collect(engine, true, &done, &why), 0);
        assert_int_equal(done.copies.in_bytes, 0);
        assert_memory_equal(out[0], expected, format.frame_bytes);
        assert_memory_equal(out[1], expected, format.frame_bytes);
    }
    assert_int_equal(engine_design(last, &none, &response, &why), 0);
    engine_apply(last, response, 2);
    assert_false(engine_reads_before(last, engine, memory)); /* the host copies its frames */
    engine_memory_destroy(memory);
    engine_destroy(last);
    engine_destroy(engine);
    free(expected);
}

static void what_the_device_does_not_take_is_refused(void **state)
{
    (void)state;
    struct fftd_format format;
    struct engine *engine = make_engine("GREY", RECIPE_LUMA, &format);
    struct frame_memory *memory = make_memory(engine);
    struct error why;
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_int_equal(frame_memory_import(memory, 0, null, format.frame_bytes, &why), -EOPNOTSUPP);
    assert_string_equal(why.text, "clImportMemoryARM: CL_INVALID_OPERATION");
    assert_int_equal(frame_memory_import(memory, 0, null, 1000, &why), -EOPNOTSUPP);
    assert_non_null(strstr(why.text, "a dma-buf has 1000 bytes: expected at least 3072"));
    close(null);
    engine_memory_destroy(memory);
    engine_destroy(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_frames_are_filtered_where_they_are),
        cmocka_unit_test(shared_frames_are_sent_from_where_they_are),
        cmocka_unit_test(imported_frames_are_filtered_where_they_are),
        cmocka_unit_test(results_are_stored_where_they_are_read),
        cmocka_unit_test(results_are_sent_to_where_they_are_read),
        cmocka_unit_test(memory_that_others_share_is_not_stored_into),
        cmocka_unit_test(results_may_end_within_a_cache_line),
        cmocka_unit_test(memory_that_is_not_imported_is_left_alone),
        cmocka_unit_test(output_may_go_before_its_frames_are_done),
        cmocka_unit_test(memory_may_go_before_its_frames_are_done),
        cmocka_unit_test(memory_may_go_before_its_frames_are_sent),
        cmocka_unit_test(memory_serves_engines_that_read_alike),
        cmocka_unit_test(engines_read_a_frame_one_after_the_other),
        cmocka_unit_test(what_the_device_does_not_take_is_refused),
    };
    return cmocka_run_group_tests_name("memory", tests, device_setup, device_teardown);
}

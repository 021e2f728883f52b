/* Fields of motion that the device finds, beside those of the processor and beside motion that is
 * known (support/flow.h). FFTD_TEST_CLIPS=all measures more and larger pairs, FFTD_TEST_SEED
 * chooses others. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"
#include "support/device.h"
#include "support/flow.h"
#include "support/trials.h"

#include "engine/field/field.h"

#define IN_FLIGHT 3

static uint64_t first_seed(void)
{
    const char *seed = getenv("FFTD_TEST_SEED");
    return seed != NULL ? strtoull(seed, NULL, 10) : 9000;
}

/* A field on the device, with as many frames in flight as there may be. */
struct fields {
    struct field *field;
    struct field_frame *frame[IN_FLIGHT];
    cl_command_queue queue[IN_FLIGHT];
    unsigned width, height, pitch, frames;
    struct motion_grid grid;
};

/* The forms of the kernels: a work-item has a column of a cell, or a whole cell. */
static const unsigned forms[] = {1, 8};

static void fields_make(struct fields *ret, unsigned width, unsigned height, unsigned block,
                        unsigned lanes, float scale)
{
    struct error why = {""}, warning = {""};
    const struct field_size size = {.width = width,
                                    .height = height,
                                    .pitch = width + 5,
                                    .scale = scale,
                                    .block = block,
                                    .lanes = lanes,
                                    .in_flight = IN_FLIGHT};
    *ret = (struct fields){.width = width, .height = height, .pitch = size.pitch};
    int r = field_prepare(&ret->field, device, &size, &why);
    if (r == 0)
        r = field_build(ret->field, true, NULL, &warning, &why);
    if (r < 0)
        fail_msg("%s", why.text);
    assert_int_equal(field_build(ret->field, false, NULL, &warning, &why), 0);
    for (unsigned i = 0; i < IN_FLIGHT; i++) {
        assert_int_equal(opencl_make_queue(&ret->queue[i], device, 0, &why), 0);
        assert_int_equal(field_frame_create(&ret->frame[i], ret->field, ret->queue[i], &why), 0);
    }
    ret->grid = *field_grid(ret->field);
}

static void fields_clear(struct fields *fields)
{
    for (unsigned i = 0; i < IN_FLIGHT; i++) {
        field_frame_destroy(fields->frame[i]);
        clReleaseCommandQueue(fields->queue[i]);
    }
    field_destroy(fields->field);
}

/* Enqueues a picture, whose samples are in units of `scale`. Returns the number of its frame. */
static unsigned fields_enqueue(struct fields *fields, const float *picture, float scale,
                               bool is_first)
{
    const unsigned i = fields->frames++ % IN_FLIGHT;
    struct error why;
    float *samples = calloc((size_t)fields->pitch * fields->height, sizeof *samples);
    assert_non_null(samples);
    for (size_t y = 0; y < fields->height; y++)
        for (size_t x = 0; x < fields->pitch; x++)
            samples[y * fields->pitch + x] =
                x < fields->width ? picture[y * fields->width + x] / scale : 1e4F;
    const cl_mem buffer =
        device_buffer((size_t)fields->pitch * fields->height * sizeof *samples, samples);
    cl_event last;
    assert_int_equal(field_frame_enqueue(fields->frame[i], fields->field, fields->queue[i], buffer,
                                         is_first, &last, &why),
                     0);
    clReleaseEvent(last);
    clFlush(fields->queue[i]);
    clReleaseMemObject(buffer);
    free(samples);
    return i;
}

/* Waits for a marker, because clFinish of rusticl 22.3 returns at once after a clFlush. */
static const struct motion_vector *fields_get(struct fields *fields, unsigned i)
{
    cl_event event;
    assert_int_equal(clEnqueueMarkerWithWaitList(fields->queue[i], 0, NULL, &event), CL_SUCCESS);
    assert_int_equal(clWaitForEvents(1, &event), CL_SUCCESS);
    clReleaseEvent(event);
    return field_frame_vectors(fields->frame[i]);
}

static const struct motion_vector *fields_compare(struct fields *fields, const float *last,
                                                  const float *next)
{
    const unsigned first = fields_enqueue(fields, last, 1, true);
    const unsigned second = fields_enqueue(fields, next, 1, false);
    assert_null(fields_get(fields, first));
    const struct motion_vector *vector = fields_get(fields, second);
    assert_non_null(vector);
    return vector;
}

static int by_size(const void *a, const void *b)
{
    const double p = *(const double *)a, q = *(const double *)b;
    return (p > q) - (p < q);
}

/* Of all blocks of some pairs: of the device [0] and of the processor [1]. */
struct figures {
    double *error[2], *apart; /* from what is true, and from each other */
    size_t count, sure[2], sure_close[2];
};

static void add_error(struct figures *figures, unsigned of, double error, float confidence)
{
    figures->error[of][figures->count] = error;
    figures->sure[of] += confidence >= MOTION_FIELD_SURE;
    figures->sure_close[of] += confidence >= MOTION_FIELD_SURE && error <= 0.1;
}

static void measure(struct figures *figures, struct fields *fields, const struct flow *flow)
{
    const struct motion_grid *grid = &fields->grid;
    const size_t count = (size_t)grid->columns * grid->rows;
    struct motion_field *field;
    assert_int_equal(motion_field_create(&field, flow->width, flow->height, grid->block, NULL), 0);
    motion_field_observe(field, flow->last);
    const struct motion_vector *other = motion_field_observe(field, flow->next);
    const struct motion_vector *vector = fields_compare(fields, flow->last, flow->next);
    const size_t bytes = (figures->count + count) * sizeof(double);
    figures->error[0] = realloc(figures->error[0], bytes);
    figures->error[1] = realloc(figures->error[1], bytes);
    figures->apart = realloc(figures->apart, bytes);
    for (unsigned row = 0; row < grid->rows; row++)
        for (unsigned column = 0; column < grid->columns; column++, vector++, other++) {
            const double x = 0.5 * grid->block - 0.5 + column * grid->hop;
            const double y = 0.5 * grid->block - 0.5 + row * grid->hop;
            const struct motion_vector *const found[] = {vector, other};
            for (unsigned i = 0; i < 2; i++)
                add_error(
                    figures, i,
                    flow_error(flow, x, y, grid->block, (double)found[i]->dx, (double)found[i]->dy),
                    found[i]->confidence);
            figures->apart[figures->count++] =
                hypot((double)(vector->dx - other->dx), (double)(vector->dy - other->dy));
        }
    motion_field_destroy(field);
}

/* Of pairs of all kinds, with noise of sigma 5 at mid grey. */
static void find_flows(unsigned lanes)
{
    /* Medians of all blocks, in pixels, of leaves and particles: those of
     * tests/unit/motion_field.c.
     */
    static const double most[FLOW_KINDS][2] = {
        [FLOW_STILL] = {0.02, 0.015},    [FLOW_PAN] = {0.02, 0.015},
        [FLOW_ROTATION] = {0.03, 0.015}, [FLOW_ZOOM] = {0.03, 0.015},
        [FLOW_PARALLAX] = {0.06, 0.03},  [FLOW_OCCLUSION] = {0.04, 0.02},
        [FLOW_VORTEX] = {0.06, 0.03},    [FLOW_SHEAR] = {0.08, 0.04},
    };
    const bool is_all = trials_are_all();
    const unsigned pairs = trials_count(4, 1);
    const unsigned width = is_all ? 320 : 192, height = is_all ? 240 : 144;
    size_t sure = 0, sure_close = 0, sure_too = 0;
    struct fields fields;
    printf("# figures: lanes: %u\n", lanes);
    fields_make(&fields, width, height, 32, lanes, 1);
    for (unsigned i = 0; i < 2 * FLOW_KINDS; i++) {
        const unsigned kind = i / 2, particles = i % 2;
        struct figures figures = {.count = 0};
        if (!is_all && (kind + particles) % 2 == 1)
            continue;
        for (unsigned pair = 0; pair < pairs; pair++) {
            struct flow flow;
            flow_make(&flow, kind, particles == 1, width, height, is_all ? 20 : 10, 5,
                      first_seed() + 10 * pair + kind);
            measure(&figures, &fields, &flow);
            flow_clear(&flow);
        }
        const size_t count = figures.count;
        qsort(figures.error[0], count, sizeof(double), by_size);
        qsort(figures.error[1], count, sizeof(double), by_size);
        qsort(figures.apart, count, sizeof(double), by_size);
        const double median = figures.error[0][count / 2], other = figures.error[1][count / 2];
        printf("# figures: %s, %s: median error %.4f px (processor: %.4f), nine in ten within %.3f "
               "(%.3f); %.3f (%.3f) are sure, %.4f (%.4f) of them within 0.1 px; half of the "
               "vectors are within %.6f px of the processor's, nine in ten within %.4f\n",
               particles ? "particles" : "leaves", flow_names[kind], median, other,
               figures.error[0][count * 9 / 10], figures.error[1][count * 9 / 10],
               (double)figures.sure[0] / count, (double)figures.sure[1] / count,
               (double)figures.sure_close[0] / fmax(figures.sure[0], 1),
               (double)figures.sure_close[1] / fmax(figures.sure[1], 1), figures.apart[count / 2],
               figures.apart[count * 9 / 10]);
        assert_true(median <= (is_all ? 1 : 4) * most[kind][particles]);
        assert_true(median <= (is_all ? 1.2 : 1.5) * other + 0.002); /* few have 88 blocks */
        assert_true(figures.apart[count / 2] < 0.02);
        /* Where each block is found from the smaller size, both do the same. */
        if (kind == FLOW_STILL)
            assert_true(figures.apart[count * 9 / 10] < 1e-3);
        sure += figures.sure[0];
        sure_close += figures.sure_close[0];
        sure_too += figures.sure[1];
        free(figures.error[0]);
        free(figures.error[1]);
        free(figures.apart);
    }
    printf("# figures: %zu blocks are sure, %.4f of them within 0.1 px; of the processor's %zu\n",
           sure, (double)sure_close / sure, sure_too);
    assert_true(sure_close >= 0.95 * sure);
    assert_true(sure >= 0.95 * sure_too);
    fields_clear(&fields);
}

static void flows_are_found_by_items(void **state)
{
    (void)state;
    find_flows(forms[0]);
}

static void flows_are_found_by_vectors(void **state)
{
    (void)state;
    find_flows(forms[1]);
}

/* The median error of blocks whose content was in the first picture. */
static double error_of_pan(double dx, double dy, unsigned block, unsigned lanes)
{
    struct flow flow;
    struct fields fields;
    double error[1024] = {0};
    unsigned count = 0;
    flow_make_pan(&flow, 256, 192, dx, dy, 5, first_seed() + 78);
    fields_make(&fields, 256, 192, block, lanes, 1);
    const struct motion_grid *grid = &fields.grid;
    const struct motion_vector *vector = fields_compare(&fields, flow.last, flow.next);
    for (unsigned row = 0; row < grid->rows; row++)
        for (unsigned column = 0; column < grid->columns; column++, vector++) {
            const double x = column * grid->hop - dx, y = row * grid->hop - dy;
            if (x >= 0 && y >= 0 && x + block <= 256 && y + block <= 192)
                error[count++] = hypot((double)vector->dx - dx, (double)vector->dy - dy);
        }
    qsort(error, count, sizeof *error, by_size);
    fields_clear(&fields);
    flow_clear(&flow);
    return error[count / 2];
}

static void pans_are_found_in_blocks_of_all_sizes(void **state)
{
    (void)state;
    static const double shift[][3] = {{16, 3.3, -1.6}, {32, 20, 0}, {32, -28.3, 28.3}, {64, 3, -7}};
    for (unsigned i = 0; i < 2 * sizeof shift / sizeof *shift; i++) {
        const double *to = shift[i / 2];
        const unsigned block = (unsigned)to[0], lanes = forms[i % 2];
        const double error = error_of_pan(to[1], to[2], block, lanes);
        printf(
            "# figures: lanes: %u, blocks of %u pixels, shift %.1f, %.1f: median error %.4f px\n",
            lanes, block, to[1], to[2], error);
        assert_true(error < (block == 16 ? 0.1 : 0.05));
    }
}

/* This includes the edges of pictures whose sides are not whole numbers of cells, and blocks whose
 * neighbours move differently. */
static void both_forms_find_the_same(void **state)
{
    (void)state;
    static const struct {
        unsigned width, height, block;
        enum flow_kind kind;
        double dx, dy; /* shift of a pan: out of the picture or into it at all edges */
    } cases[] = {{192, 144, 32, FLOW_PAN, 2.4, 1.7},  {192, 144, 32, FLOW_PAN, -2.4, -1.7},
                 {203, 149, 32, FLOW_ROTATION, 0, 0}, {90, 70, 16, FLOW_STILL, 0, 0},
                 {193, 135, 64, FLOW_ZOOM, 0, 0},     {192, 144, 32, FLOW_OCCLUSION, 0, 0},
                 {192, 144, 64, FLOW_PARALLAX, 0, 0}};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        const unsigned width = cases[i].width, height = cases[i].height;
        struct flow flow;
        struct fields fields[2];
        const struct motion_vector *vector[2];
        double farthest = 0, unlike = 0;
        const uint64_t seed = first_seed() + 90 + i;
        if (cases[i].kind == FLOW_PAN)
            flow_make_pan(&flow, width, height, cases[i].dx, cases[i].dy, 5, seed);
        else
            flow_make(&flow, cases[i].kind, true, width, height, 4, 5, seed);
        for (unsigned k = 0; k < 2; k++) {
            fields_make(&fields[k], width, height, cases[i].block, forms[k], 1);
            vector[k] = fields_compare(&fields[k], flow.last, flow.next);
        }
        const struct motion_grid *grid = &fields[0].grid;
        for (unsigned b = 0; b < grid->columns * grid->rows; b++) {
            const struct motion_vector *p = vector[0] + b, *q = vector[1] + b;
            farthest = fmax(farthest, hypot((double)(p->dx - q->dx), (double)(p->dy - q->dy)));
            unlike = fmax(unlike, fabs((double)(p->confidence - q->confidence)));
        }
        printf("# figures: %s, %u x %u, blocks of %u pixels: vectors differ by up to %.6f px, "
               "confidences by up to %.6f\n",
               flow_names[cases[i].kind], width, height, cases[i].block, farthest, unlike);
        assert_true(farthest < 1e-4);
        assert_true(unlike < 1e-4);
        for (unsigned k = 0; k < 2; k++)
            fields_clear(&fields[k]);
        flow_clear(&flow);
    }
}

static void what_nothing_explains_is_unsure(void **state)
{
    (void)state;
    struct fields fields;
    struct flow one, other;
    unsigned sure = 0;
    fields_make(&fields, 192, 144, 32, 0, 1);
    flow_make(&one, FLOW_STILL, false, 192, 144, 0, 5, first_seed() + 31);
    flow_make(&other, FLOW_STILL, false, 192, 144, 0, 5, first_seed() + 32);
    const unsigned count = fields.grid.columns * fields.grid.rows;
    const struct motion_vector *vector = fields_compare(&fields, one.last, other.last);
    for (unsigned i = 0; i < count; i++)
        sure += vector[i].confidence >= MOTION_FIELD_SURE;
    printf("# figures: of a cut %u of %u are sure\n", sure, count);
    assert_true(sure <= 0.02 * count);
    for (unsigned i = 0; i < 192 * 144; i++) /* no numbers, and too large ones */
        other.last[i] = i % 3 == 0 ? NAN : i % 3 == 1 ? INFINITY : -1e38F;
    vector = fields_compare(&fields, one.last, other.last);
    for (unsigned i = 0; i < count; i++)
        assert_true(isfinite(vector[i].dx) && isfinite(vector[i].dy) && vector[i].confidence >= 0 &&
                    vector[i].confidence < MOTION_FIELD_SURE);
    flow_clear(&one);
    flow_clear(&other);
    fields_clear(&fields);
}

/* Each frame is compared with the one before it, in another queue, also when many are in flight;
 * and samples may have other units. */
static void frames_in_flight_follow_each_other(void **state)
{
    (void)state;
    enum { PICTURES = 5 };
    struct flow flow[PICTURES];
    struct fields fields, alone;
    unsigned frame[PICTURES];
    fields_make(&fields, 128, 96, 32, 0, 255.F / 4095);
    fields_make(&alone, 128, 96, 32, 0, 1);
    const size_t bytes = fields.grid.columns * fields.grid.rows * sizeof(struct motion_vector);
    struct motion_vector *expected = malloc(PICTURES * bytes);
    for (unsigned i = 0; i < PICTURES; i++)
        flow_make_pan(&flow[i], 128, 96, i, -0.5 * i, 2, first_seed() + 60);
    for (unsigned i = 1; i < PICTURES; i++)
        memcpy((char *)expected + i * bytes, fields_compare(&alone, flow[i - 1].next, flow[i].next),
               bytes);
    for (unsigned i = 0; i < PICTURES; i++) {
        frame[i] = fields_enqueue(&fields, flow[i].next, 255.F / 4095, false);
        if (i + 1 < IN_FLIGHT)
            continue;
        const unsigned done = i + 1 - IN_FLIGHT;
        const struct motion_vector *vector = fields_get(&fields, frame[done]);
        const struct motion_vector *right = (void *)((char *)expected + done * bytes);
        if (done == 0) {
            assert_null(vector);
            continue;
        }
        for (unsigned k = 0; k < fields.grid.columns * fields.grid.rows; k++)
            assert_true(hypotf(vector[k].dx - right[k].dx, vector[k].dy - right[k].dy) < 0.01F);
    }
    fields_clear(&fields);
    fields_clear(&alone);
    free(expected);
    for (unsigned i = 0; i < PICTURES; i++)
        flow_clear(&flow[i]);
}

static void pictures_that_are_too_small_are_refused(void **state)
{
    (void)state;
    struct field *field = NULL;
    struct error why = {""};
    const struct field_size size = {
        .width = 320, .height = 40, .pitch = 320, .scale = 1, .block = 64, .in_flight = 1};
    assert_int_equal(field_prepare(&field, device, &size, &why), -EINVAL);
    assert_string_equal(why.text,
                        "motion cannot be estimated in blocks of 64 pixels in pictures of 320 x 40 "
                        "pixels: expected pictures of at least 64 x 64");
    assert_null(field);
    field_destroy(NULL);
    field_frame_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flows_are_found_by_items),
        cmocka_unit_test(flows_are_found_by_vectors),
        cmocka_unit_test(pans_are_found_in_blocks_of_all_sizes),
        cmocka_unit_test(both_forms_find_the_same),
        cmocka_unit_test(what_nothing_explains_is_unsure),
        cmocka_unit_test(frames_in_flight_follow_each_other),
        cmocka_unit_test(pictures_that_are_too_small_are_refused),
    };
    return cmocka_run_group_tests(tests, device_setup, device_teardown);
}

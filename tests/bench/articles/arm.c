/* ARM's mixed-radix transform of rows. arm.cl describes the kernels. */
#include "arm.h"

#include <math.h>
#include <stdio.h>

void arm_factor(struct pipeline *p, struct arm_axis *axis, uint32_t length, const uint32_t *radices)
{
    static const uint32_t all[] = {8, 7, 5, 4, 3, 2, 0};
    uint32_t rest = length;
    axis->length = axis->pitch = length;
    axis->stage_count = 0;
    for (const uint32_t *radix = radices != NULL ? radices : all; *radix != 0; radix++)
        for (; rest % *radix == 0 && axis->stage_count < ARM_MAX_STAGES; rest /= *radix)
            axis->radix[axis->stage_count++] = *radix;
    if (rest != 1 || axis->stage_count == 0)
        pipeline_fail(p, "a length of %u has a factor that is no product of its radices", length);
}

uint32_t arm_digit_reversed(const struct arm_axis *axis, uint32_t n)
{
    uint32_t nx = axis->radix[0];
    for (unsigned i = 1; i < axis->stage_count; i++) {
        const uint32_t ny = axis->radix[i], ni = nx * ny;
        n = n * ny % ni + n / nx % ny + n / ni * ni;
        nx = ni;
    }
    return n;
}

/* (cos, sin) of nx j times the stage's angle: leg j = 1 .. radix - 1, nx = 0 .. span - 1. */
static cl_mem make_table(struct pipeline *p, uint32_t span, uint32_t radix)
{
    const size_t bytes = (size_t)span * (radix - 1) * 2 * sizeof(float);
    float *table = pipeline_memory(p, bytes), *entry = table;
    for (uint32_t j = 1; table != NULL && j < radix; j++)
        for (uint32_t nx = 0; nx < span; nx++) {
            const double phi = 2 * M_PI * nx * j / (span * radix);
            *entry++ = (float)cos(phi);
            *entry++ = (float)sin(phi);
        }
    return pipeline_buffer(p, bytes, table);
}

void arm_make_tables(struct pipeline *p, struct arm_axis *axis)
{
    cl_uint *index = pipeline_memory(p, axis->length * sizeof *index);
    for (uint32_t n = 0; index != NULL && !pipeline_has_ended(p) && n < axis->length; n++)
        index[n] = arm_digit_reversed(axis, n);
    axis->index = pipeline_buffer(p, axis->length * sizeof *index, index);
    uint32_t span = axis->radix[0];
    for (unsigned i = 1; i < axis->stage_count && !axis->sines; i++) {
        axis->table[i] = make_table(p, span, axis->radix[i]);
        span *= axis->radix[i];
    }
}

float complex *arm_host_roots(struct pipeline *p, uint32_t n)
{
    float complex *roots = pipeline_memory(p, n * sizeof *roots);
    for (uint32_t k = 0; roots != NULL && k < n; k++)
        roots[k] = (float complex)cexp(2 * M_PI * I * k / n);
    return roots;
}

cl_mem arm_roots(struct pipeline *p, uint32_t n)
{
    return pipeline_buffer(p, n * sizeof(float complex), arm_host_roots(p, n));
}

/* ---- on the device ---- */

static void add(struct pipeline *p, bool row_by_row, uint32_t rows)
{
    if (row_by_row)
        pipeline_repeat(p, rows);
}

void arm_add_rows(struct pipeline *p, cl_program program, const struct arm_axis *axis,
                  uint32_t rows, cl_mem in, cl_mem out, bool row_by_row)
{
    const size_t down = row_by_row ? 1 : rows;
    pipeline_launch(p, program, "digit_reverse", (struct shape){axis->length, down, 0, 0, 0},
                    "bbbu", in, out, axis->index, axis->pitch);
    add(p, row_by_row, rows);
    uint32_t span = 1;
    for (unsigned i = 0; i < axis->stage_count; i++) {
        const uint32_t radix = axis->radix[i];
        const struct shape shape = {axis->length / radix, down, 0, 0, 0};
        char name[24];
        snprintf(name, sizeof name, "%s_%u", i == 0 ? "first" : "stage", radix);
        if (i == 0)
            pipeline_launch(p, program, name, shape, "bu", out, axis->pitch);
        else if (axis->sines)
            pipeline_launch(p, program, name, shape, "buuf", out, axis->pitch, span,
                            2 * M_PI / (span * radix));
        else
            pipeline_launch(p, program, name, shape, "buub", out, axis->pitch, span,
                            axis->table[i]);
        add(p, row_by_row, rows);
        span *= radix;
    }
}

/* ---- on the host ---- */

static void butterfly(float complex *at, uint32_t span, uint32_t radix, uint32_t nx,
                      const float complex *roots, uint32_t n, bool inverse)
{
    float complex leg[8];
    const uint32_t turn = n / (span * radix);
    for (uint32_t j = 0; j < radix; j++) {
        const float complex w = roots[j * nx * turn];
        leg[j] = at[j * span] * (inverse ? w : conjf(w));
    }
    for (uint32_t k = 0; k < radix; k++) {
        float complex sum = leg[0];
        for (uint32_t j = 1; j < radix; j++) {
            const float complex w = roots[j * k % radix * (n / radix)];
            sum += leg[j] * (inverse ? w : conjf(w));
        }
        at[k * span] = sum;
    }
}

void arm_host_rows(float complex *out, const float complex *in, const struct arm_axis *axis,
                   const float complex *roots, uint32_t rows, bool inverse)
{
    const uint32_t n = axis->length;
    for (uint32_t row = 0; row < rows; row++) {
        float complex *at = out + (size_t)row * axis->pitch;
        for (uint32_t i = 0; i < n; i++)
            at[i] = in[(size_t)row * axis->pitch + arm_digit_reversed(axis, i)];
        uint32_t span = 1;
        for (unsigned stage = 0; stage < axis->stage_count; stage++) {
            const uint32_t radix = axis->radix[stage] > 1 ? axis->radix[stage] : 1;
            for (uint32_t kx = 0; kx < n / radix; kx++)
                butterfly(at + kx % span + kx / span * (span * radix), span, radix, kx % span,
                          roots, n, inverse);
            span *= radix;
        }
    }
}

/* FFTW on the processor: r2c and c2r in single precision, planned by measurement, on all cores. Its
 * threads and the product's are OpenMP's; run with OMP_WAIT_POLICY=passive, or they keep the cores
 * busy while others are measured. */
#include "fft.h"

#include <errno.h>
#include <fftw3.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct run {
    const struct scene *scene;
    float *image, *result;
    fftwf_complex *spectrum;
    fftwf_plan forward, inverse;
};

static int core_count(void)
{
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

static void print_version(char *text, size_t size)
{
    snprintf(text, size, "%s, MEASURE, %d threads", fftwf_version, core_count());
}

static void run_close(void *state)
{
    struct run *run = state;
    if (run == NULL)
        return;
    if (run->forward != NULL)
        fftwf_destroy_plan(run->forward);
    if (run->inverse != NULL)
        fftwf_destroy_plan(run->inverse);
    fftwf_free(run->image);
    fftwf_free(run->result);
    fftwf_free(run->spectrum);
    free(run);
}

static int run_open(void **ret, const struct subject *subject, const struct scene *scene,
                    struct cost *cost, struct error *why)
{
    const int width = (int)scene->width, height = (int)scene->height;
    const size_t count = (size_t)scene->width * scene->height;
    struct run *run = calloc(1, sizeof *run);
    (void)subject;
    if (run == NULL)
        return error_set(why, ENOMEM, "out of memory while creating a run");
    fftwf_init_threads();
    fftwf_plan_with_nthreads(core_count());
    run->scene = scene;
    run->image = fftwf_alloc_real(count);
    run->result = fftwf_alloc_real(count);
    run->spectrum = fftwf_alloc_complex((scene->width / 2 + 1) * (size_t)scene->height);
    if (run->image != NULL && run->result != NULL && run->spectrum != NULL) {
        run->forward =
            fftwf_plan_dft_r2c_2d(height, width, run->image, run->spectrum, FFTW_MEASURE);
        run->inverse =
            fftwf_plan_dft_c2r_2d(height, width, run->spectrum, run->result, FFTW_MEASURE);
    }
    if (run->forward == NULL || run->inverse == NULL) {
        run_close(run);
        return error_set(why, ENOMEM, "FFTW has no plan");
    }
    memcpy(run->image, scene->samples, count * sizeof *run->image);
    cost->bytes_per_pixel = NAN;
    *ret = run;
    return 0;
}

static int run_enqueue(void *state, struct error *why)
{
    const struct run *run = state;
    const long count = (long)(run->scene->width / 2 + 1) * run->scene->height;
    const float *response = run->scene->response;
    float *spectrum = (float *)run->spectrum;
    (void)why;
    fftwf_execute(run->forward);
#pragma omp parallel for simd
    for (long i = 0; i < count; i++) {
        spectrum[2 * i] *= response[i];
        spectrum[2 * i + 1] *= response[i];
    }
    fftwf_execute(run->inverse);
    return 0;
}

static int run_finish(void *state, struct error *why)
{
    (void)state;
    (void)why;
    return 0;
}

static int run_read(void *state, float *result, struct error *why)
{
    const struct run *run = state;
    (void)why;
    memcpy(result, run->result, (size_t)run->scene->width * run->scene->height * sizeof *result);
    return 0;
}

static const struct subject subjects[] = {{.name = "FFTW r2c", .error_limit = 1e-5}};

const struct peer peer_fftw = {
    .name = "FFTW",
    .version = print_version,
    .subjects = subjects,
    .subject_count = sizeof subjects / sizeof subjects[0],
    .open = run_open,
    .enqueue = run_enqueue,
    .finish = run_finish,
    .read = run_read,
    .close = run_close,
};

/* Measures the search for settings: what it finds, compared with the settings that it begins with.
 *
 *     build/tests/bench/search [COUNT] [WIDTH HEIGHT]
 *
 * Searches COUNT times (default 5) for the fastest settings of 8-bit frames (default 1280x720), on
 * the device that FFTD_DEVICE names (default `auto`). Each line has the time and the processor time
 * of one search, the ratio that it reports, and the ratio measured afterwards by turns, which is
 * the median of PAIRS pairs. A ratio below 1 is a gain. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/clock.h"
#include "gpu/device_private.h"
#include "transform/transform.h"
#include "transform/tuner.h"

#define PAIRS  41
#define FRAMES 20 /* frames of each; the fastest one counts */
#define MARGIN 16
#define GREY   128

static struct gpu_device *device;
static cl_command_queue queue;
static cl_mem image, result;

static void check(int r, const struct error *why)
{
    if (r >= 0)
        return;
    fprintf(stderr, "search: %s\n", why->text);
    exit(1);
}

static double processor_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- one combination of settings ----------------------------------------------------------- */

struct run {
    struct transform *transform;
    struct transform_frame *frame;
    cl_mem response;
};

static void open_run(struct run *run, const struct tuner_subject *subject,
                     const struct transform_tuning *tuning)
{
    struct error why, warning;
    const cl_float zero = 0;
    check(transform_create(&run->transform, device, &subject->image, &subject->border, tuning, NULL,
                           &warning, &why),
          &why);
    const size_t bytes = transform_response_bytes(run->transform);
    check(opencl_make_buffer(&run->response, device->context, CL_MEM_READ_ONLY, bytes, NULL, &why),
          &why);
    clEnqueueFillBuffer(queue, run->response, &zero, sizeof(cl_short), 0, bytes, 0, NULL, NULL);
    check(transform_frame_create(&run->frame, run->transform, &why), &why);
}

static void close_run(struct run *run)
{
    transform_frame_destroy(run->frame);
    opencl_release_buffer(run->response);
    transform_destroy(run->transform);
}

static double time_frame(struct run *run)
{
    const struct transform_buffers buffers = {
        .image = image, .result = result, .response.numbers = run->response};
    cl_event first = NULL, last = NULL;
    cl_ulong start = 0, end = 0;
    struct error why;
    check(transform_frame_enqueue(run->frame, queue, &buffers, &first, &last, &why), &why);
    clFinish(queue);
    clGetEventProfilingInfo(first, CL_PROFILING_COMMAND_START, sizeof start, &start, NULL);
    clGetEventProfilingInfo(last, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
    clReleaseEvent(first);
    clReleaseEvent(last);
    return (double)(end - start);
}

static double time_fastest(struct run *run)
{
    double least = time_frame(run);
    for (unsigned i = 1; i < FRAMES; i++) {
        const double time = time_frame(run);
        least = time < least ? time : least;
    }
    return least;
}

static int compare_numbers(const void *a, const void *b)
{
    const double first = *(const double *)a, second = *(const double *)b;
    return (first > second) - (first < second);
}

/* Returns the median ratio of the times of `found` to those of `initial`. */
static double find_ratio(const struct tuner_subject *subject,
                         const struct transform_tuning *initial,
                         const struct transform_tuning *found)
{
    struct run run[2];
    double ratio[PAIRS];
    open_run(&run[0], subject, initial);
    open_run(&run[1], subject, found);
    for (unsigned i = 0; i < PAIRS; i++) {
        double time[2];
        const unsigned first = i % 2;
        time[first] = time_fastest(&run[first]);
        time[!first] = time_fastest(&run[!first]);
        ratio[i] = time[1] / time[0];
    }
    close_run(&run[0]);
    close_run(&run[1]);
    qsort(ratio, PAIRS, sizeof ratio[0], compare_numbers);
    return ratio[PAIRS / 2];
}

/* ---- searches ------------------------------------------------------------------------------ */

static void search(const struct tuner_subject *subject)
{
    const int64_t start_ns = clock_now_ns();
    const double start_s = processor_s();
    struct transform_tuning initial, found;
    struct tuner_progress progress;
    struct tuner *tuner;
    struct error why;
    check(tuner_create(&tuner, subject, false, &why), &why);
    int r = tuner_step(tuner, &why);
    tuner_get_best(tuner, &initial);
    while (r > 0)
        r = tuner_step(tuner, &why);
    check(r, &why);
    tuner_get_best(tuner, &found);
    tuner_get_progress(tuner, &progress);
    tuner_destroy(tuner);
    const double took_s = (double)(clock_now_ns() - start_ns) / NS_PER_S;
    const double processor = processor_s() - start_s;
    printf("%u combinations, %.1f s, processor %.1f s, reported %.3f, measured %.3f\n",
           progress.tried, took_s, processor, progress.best_ms / progress.default_ms,
           find_ratio(subject, &initial, &found));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const unsigned count = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 5;
    const uint32_t width = argc > 3 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1280;
    const uint32_t height = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 720;
    const char *selector = getenv("FFTD_DEVICE");
    const size_t bytes = (size_t)width * height;
    const cl_uchar grey = GREY;
    struct error why;
    check(gpu_device_open(&device, selector != NULL ? selector : "auto", &why), &why);
    check(opencl_make_queue(&queue, device, CL_QUEUE_PROFILING_ENABLE, &why), &why);
    check(opencl_make_buffer(&image, device->context, CL_MEM_READ_WRITE, bytes, NULL, &why), &why);
    check(opencl_make_buffer(&result, device->context, CL_MEM_READ_WRITE, bytes, NULL, &why), &why);
    clEnqueueFillBuffer(queue, image, &grey, sizeof grey, 0, bytes, 0, NULL, NULL);
    const struct tuner_subject subject = {
        .device = device,
        .image = {.count = 1,
                  .width = width,
                  .height = height,
                  .stride = width,
                  .step = 1,
                  .kind = SAMPLE_U8,
                  .bits = 8},
        .border = {.mode = PLAN_MIRROR, .margin_x = MARGIN, .margin_y = MARGIN},
        .any_technique = true};
    for (unsigned i = 0; i < count; i++)
        search(&subject);
    opencl_release_buffer(image);
    opencl_release_buffer(result);
    clReleaseCommandQueue(queue);
    gpu_device_close(device);
    return 0;
}

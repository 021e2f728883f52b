/* Compares the techniques: the time of the kernels of a frame over the reach of the filter, and
 * which technique the engine chooses before it has measured any.
 *
 *     build/tests/bench/techniques [--seconds S] [--rounds N] [--radii 1,2,...] [--filters LIST]
 *                                  [--half] [--tune] [--json FILE] [SIZE...]
 *
 * The device is FFTD_DEVICE, or `auto`. Filters: `kernel`, random numbers, no sum of few products;
 * `symmetric`, the same on opposite sides of its middle; `blur`, a Gaussian whose sigma is a third
 * of the radius; `sharpen`, what that blur removes is added. All techniques take turns in each
 * round. With --tune each is measured with the settings that a quick search finds for it.
 *
 * On a GPU times are those of a frame alone, from the start of the first kernel to the end of the
 * last one, and of a frame while IN_FLIGHT of them overlap, by the clock; each is compared with the
 * fastest of its kind. On a CPU they are processor time of all threads, which other programs on the
 * machine hardly change. */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/clock.h"
#include "filters/filter.h"
#include "filters/filter_image.h"
#include "gpu/device_private.h"
#include "transform/transform_private.h"
#include "transform/tuner.h"

#define MAX_RADII  32
#define MAX_ROUNDS 64
#define BURST      4    /* frames between two looks at the clock */
#define IN_FLIGHT  3    /* frames at a time, as in the daemon */
#define PLACES     8    /* frames used in turn, so that none is in a near cache, as in the daemon */
#define FLIGHT     200  /* frames */
#define MOST_LOSS  0.15 /* of the fastest time, which the choice may take longer */

enum mode { ALONE, OVERLAPPING, MODES };

static struct {
    double seconds;
    unsigned rounds, radius_count, radius[MAX_RADII];
    const char *filters;
    bool half, tune;
    FILE *json;
} options = {.seconds = 0.2, .rounds = 5, .filters = "kernel,symmetric,blur,sharpen"};

static struct gpu_device *device;
static unsigned choices, slow_choices[MODES];
static const char *const mode_names[] = {"alone", "in flight"}; /* on a CPU there is only one */

static void fail(const char *what, const struct error *why)
{
    fprintf(stderr, "techniques: %s: %s\n", what, why->text);
    exit(1);
}

/* ---- filters ------------------------------------------------------------------------------- */

/* Named kernel-RADIUS or symmetric-RADIUS. */
static int load_kernel(const struct filter_image **ret, const char *name, struct error *why)
{
    static struct filter_image *image[2][TAPS_MAX_TILE_RADIUS + 1];
    const bool is_symmetric = name[0] == 's';
    const unsigned radius = (unsigned)strtoul(strchr(name, '-') + 1, NULL, 10);
    const unsigned side = 2 * radius + 1, count = side * side;
    struct filter_image **kept = &image[is_symmetric][radius];
    uint64_t seed = radius + 1;
    char *text = NULL;
    size_t size;
    if (*kept == NULL) {
        double value[(2 * TAPS_MAX_TILE_RADIUS + 1) * (2 * TAPS_MAX_TILE_RADIUS + 1)];
        for (unsigned i = 0; i < count; i++) {
            seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
            value[i] = (double)(seed % 1000) / 1000 - 0.45;
        }
        FILE *out = open_memstream(&text, &size);
        if (out == NULL)
            return error_set(why, ENOMEM, "out of memory while making a kernel");
        for (unsigned i = 0; i < count; i++)
            fprintf(out, "%g%s", is_symmetric && i > count / 2 ? value[count - 1 - i] : value[i],
                    i % side + 1 == side ? "\n" : " ");
        fclose(out);
        const int r = filter_image_parse(kept, name, text, size, why);
        free(text);
        if (r < 0)
            return r;
    }
    *ret = *kept;
    return 0;
}

static struct filter_chain make_chain(const char *filter, unsigned radius)
{
    struct filter_chain chain;
    struct error why;
    char text[128];
    const double sigma = fmax(radius / 3., 0.5);
    if (strcmp(filter, "blur") == 0)
        snprintf(text, sizeof text, "gaussian-blur:sigma=%g", sigma);
    else if (strcmp(filter, "sharpen") == 0)
        snprintf(text, sizeof text, "sharpen:sigma=%g", sigma);
    else
        snprintf(text, sizeof text, "convolve:image=%s-%u,normalise=sum", filter, radius);
    if (filter_chain_parse(&chain, text, &why) < 0)
        fail(text, &why);
    return chain;
}

/* ---- runs ---------------------------------------------------------------------------------- */

struct run {
    enum transform_technique technique;
    struct transform *transform;
    struct transform_frame *frame[IN_FLIGHT];
    struct transform_buffers buffers;
    double ms[MODES][MAX_ROUNDS];
    char description[96];
};

struct place {
    struct transform_image image;
    cl_command_queue queue, flight[IN_FLIGHT];
    cl_mem in[PLACES], out[PLACES];
};

static cl_mem make_buffer(size_t size, void *data)
{
    cl_int code;
    const cl_mem_flags flags = CL_MEM_READ_WRITE | (data != NULL ? CL_MEM_COPY_HOST_PTR : 0);
    cl_mem buffer = clCreateBuffer(device->context, flags, size, data, &code);
    if (code != CL_SUCCESS) {
        fprintf(stderr, "techniques: clCreateBuffer: %d\n", code);
        exit(1);
    }
    return buffer;
}

static void search(struct transform_tuning *ret, const struct tuner_subject *subject)
{
    struct tuner *tuner;
    struct error why;
    int r = tuner_create(&tuner, subject, false, &why);
    while (r == 0 && (r = tuner_step(tuner, &why)) > 0)
        r = 0;
    if (r < 0)
        return;
    tuner_get_best(tuner, ret);
    tuner_destroy(tuner);
}

static struct tuner_subject subject_of(const struct place *place, const struct filter_chain *chain,
                                       const struct recipe *recipe)
{
    const uint32_t margin = (uint32_t)ceil(2 * filter_chain_support(chain));
    return (struct tuner_subject){
        .device = device,
        .image = place->image,
        .border = {.mode = PLAN_MIRROR, .margin_x = margin, .margin_y = margin},
        .precision = recipe->precision,
        .reach = recipe->reach};
}

/* Returns false if the technique cannot do it. */
static bool make_run(struct run *run, const struct place *place, const struct filter_chain *chain,
                     const struct recipe *recipe, enum transform_technique technique)
{
    struct recipe own = *recipe;
    if (technique == TRANSFORM_HALF_RATE) {
        const struct taps_samples samples = {.sub_x = 1, .sub_y = 1, .bits = 8};
        own.reach = taps_half_reach_of(chain, &samples, transform_half_radius(device));
    }
    struct tuner_subject subject = subject_of(place, chain, &own);
    struct transform_tuning tuning;
    struct error why, warning;
    *run = (struct run){.technique = technique};
    subject.technique = technique;
    if (isinf(transform_techniques[technique]->cost(&subject)))
        return false;
    tuner_start(&tuning, &subject);
    if (options.tune)
        search(&tuning, &subject);
    tuning.recipe = own;
    int r = transform_create(&run->transform, device, &place->image, &subject.border, &tuning, NULL,
                             &warning, &why);
    if (r == -ERANGE)
        return false;
    for (unsigned i = 0; i < IN_FLIGHT && r == 0; i++)
        r = transform_frame_create(&run->frame[i], run->transform, &why);
    if (r < 0)
        fail("transform", &why);
    const size_t size = transform_response_bytes(run->transform);
    void *values = malloc(size);
    if (values == NULL)
        abort();
    if (transform_response_fill(run->transform, values, chain, 1, 1, &run->buffers.response.band,
                                &why) < 0)
        fail("response", &why);
    run->buffers.response.numbers = make_buffer(size, values);
    free(values);
    transform_describe(run->transform, run->description, sizeof run->description);
    return true;
}

static void end_run(struct run *run)
{
    for (unsigned i = 0; i < IN_FLIGHT; i++)
        transform_frame_destroy(run->frame[i]);
    transform_destroy(run->transform);
    clReleaseMemObject(run->buffers.response.numbers);
}

static double processor_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void enqueue(struct run *run, const struct place *place, unsigned number,
                    struct transform_frame *frame, cl_command_queue queue, cl_event event[2])
{
    struct error why;
    run->buffers.image = place->in[number % PLACES];
    run->buffers.result = place->out[number % PLACES];
    if (transform_frame_enqueue(frame, queue, &run->buffers, event != NULL ? &event[0] : NULL,
                                event != NULL ? &event[1] : NULL, &why) < 0)
        fail("frame", &why);
    clFlush(queue);
}

static double frame_ms(struct run *run, const struct place *place, unsigned number)
{
    cl_event event[2];
    cl_ulong start = 0, end = 0;
    enqueue(run, place, number, run->frame[0], place->queue, event);
    clFinish(place->queue);
    clGetEventProfilingInfo(event[0], CL_PROFILING_COMMAND_START, sizeof start, &start, NULL);
    clGetEventProfilingInfo(event[1], CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
    clReleaseEvent(event[0]);
    clReleaseEvent(event[1]);
    return (double)(end - start) / 1e6;
}

/* Frames that overlap, by the clock. */
static double flight_ms(struct run *run, const struct place *place)
{
    const int64_t begun_ns = clock_now_ns();
    for (unsigned i = 0; i < FLIGHT; i++)
        enqueue(run, place, i, run->frame[i % IN_FLIGHT], place->flight[i % IN_FLIGHT], NULL);
    for (unsigned i = 0; i < IN_FLIGHT; i++)
        clFinish(place->flight[i]);
    return (double)(clock_now_ns() - begun_ns) / 1e6 / FLIGHT;
}

/* One turn: processor time of a frame, or the shortest time of its kernels. */
static double turn_ms(struct run *run, const struct place *place)
{
    const int64_t until_ns = clock_now_ns() + (int64_t)(options.seconds * 1e9);
    const bool is_cpu = gpu_device_is_cpu(device);
    double least = HUGE_VAL;
    unsigned number = 0;
    frame_ms(run, place, number++);
    do {
        double sum = 0;
        const double before = processor_ms();
        for (unsigned i = 0; i < BURST; i++) {
            const double ms = frame_ms(run, place, number++);
            sum = is_cpu ? sum : fmin(i == 0 ? ms : sum, ms);
        }
        least = fmin(least, is_cpu ? (processor_ms() - before) / BURST : sum);
    } while (clock_now_ns() < until_ns);
    return least;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static enum transform_technique
choice_of(const struct place *place, const struct filter_chain *chain, const struct recipe *recipe)
{
    struct tuner_subject subject = subject_of(place, chain, recipe);
    struct transform_tuning tuning;
    subject.any_technique = true;
    tuner_start(&tuning, &subject);
    return tuning.technique;
}

/* Half the rate calls itself direct, as taps do. */
static const char *name_of(enum transform_technique technique)
{
    return technique == TRANSFORM_HALF_RATE ? "half rate" : transform_techniques[technique]->name;
}

/* Puts the median of the rounds into the first place. */
static double settle(double ms[MAX_ROUNDS])
{
    qsort(ms, options.rounds, sizeof ms[0], compare);
    return ms[0] = ms[options.rounds / 2];
}

static void write_json(const struct place *place, const char *filter, unsigned radius,
                       const struct run *run, bool is_chosen)
{
    if (options.json == NULL)
        return;
    fprintf(options.json,
            "{\"bench\": \"techniques\", \"device\": \"%s\", \"size\": \"%ux%u\", "
            "\"filter\": \"%s\", \"radius\": %u, \"technique\": \"%s\", \"ms\": %.5f, ",
            device->name, place->image.width, place->image.height, filter, radius,
            name_of(run->technique), run->ms[ALONE][0]);
    if (!gpu_device_is_cpu(device))
        fprintf(options.json, "\"flight_ms\": %.5f, ", run->ms[OVERLAPPING][0]);
    fprintf(options.json, "\"chosen\": %s}\n", is_chosen ? "true" : "false");
    fflush(options.json);
}

/* Counts and prints by how much the choice is slower than the fastest technique. */
static void judge(const struct run *run, unsigned count, enum transform_technique choice,
                  enum mode mode)
{
    double best = HUGE_VAL, chosen = NAN;
    for (unsigned i = 0; i < count; i++) {
        best = fmin(best, run[i].ms[mode][0]);
        if (run[i].technique == choice)
            chosen = run[i].ms[mode][0];
    }
    const double loss = chosen / best - 1;
    if (loss > 0)
        printf(", %s slower by %.0f %%%s", mode_names[mode], 100 * loss,
               loss > MOST_LOSS ? ": too slow" : "");
    slow_choices[mode] += loss > MOST_LOSS;
}

static void measure(const struct place *place, const char *filter, unsigned radius)
{
    const struct filter_chain chain = make_chain(filter, radius);
    const enum mode modes = gpu_device_is_cpu(device) ? OVERLAPPING : MODES;
    struct recipe settings = {.precision = options.half ? RECIPE_HALF : RECIPE_FLOAT,
                              .captured = format_by_name("GREY")->fourcc,
                              .reach = {.is_short = true,
                                        .radius = transform_tile_radius(device),
                                        .half_radius = transform_half_radius(device)}};
    const struct recipe engines = recipe_of(&chain, &settings);
    const enum transform_technique choice = choice_of(place, &chain, &engines);
    settings.reach.radius = TAPS_MAX_TILE_RADIUS;
    const struct recipe recipe = recipe_of(&chain, &settings);
    struct run run[TRANSFORM_TECHNIQUES];
    unsigned count = 0;
    for (unsigned t = 0; t < TRANSFORM_TECHNIQUES; t++)
        if (t != TRANSFORM_STAGED && make_run(&run[count], place, &chain, &recipe, t))
            count++;
    for (unsigned round = 0; round < options.rounds; round++)
        for (unsigned i = 0; i < count; i++) {
            run[i].ms[ALONE][round] = turn_ms(&run[i], place);
            if (modes > OVERLAPPING)
                run[i].ms[OVERLAPPING][round] = flight_ms(&run[i], place);
        }
    printf("%5ux%-5u %-10s %3u ", place->image.width, place->image.height, filter, radius);
    for (unsigned i = 0; i < count; i++) {
        for (enum mode mode = 0; mode < modes; mode++)
            settle(run[i].ms[mode]);
        printf(" %s %9.1f", run[i].description, 1e3 * run[i].ms[ALONE][0]);
        if (modes > OVERLAPPING)
            printf(" (%.1f)", 1e3 * run[i].ms[OVERLAPPING][0]);
        printf(" us");
        write_json(place, filter, radius, &run[i], run[i].technique == choice);
    }
    printf("  choice: %s", name_of(choice));
    for (enum mode mode = 0; mode < modes; mode++)
        judge(run, count, choice, mode);
    printf("\n");
    choices++;
    fflush(stdout);
    for (unsigned i = 0; i < count; i++)
        end_run(&run[i]);
}

static void measure_size(uint32_t width, uint32_t height)
{
    static const char *const filters[] = {"kernel", "symmetric", "blur", "sharpen"};
    struct place place = {.image = {.count = 1,
                                    .width = width,
                                    .height = height,
                                    .stride = width,
                                    .step = 1,
                                    .kind = SAMPLE_U8,
                                    .bits = 8}};
    const size_t size = (size_t)width * height;
    struct error why;
    uint8_t *pixels = malloc(size);
    if (pixels == NULL)
        abort();
    uint32_t seed = 1;
    for (size_t i = 0; i < size; i++)
        pixels[i] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
    if (opencl_make_queue(&place.queue, device, CL_QUEUE_PROFILING_ENABLE, &why) < 0)
        fail("queue", &why);
    for (unsigned i = 0; i < IN_FLIGHT; i++)
        if (opencl_make_queue(&place.flight[i], device, 0, &why) < 0)
            fail("queue", &why);
    for (unsigned i = 0; i < PLACES; i++) {
        place.in[i] = make_buffer(size, pixels);
        place.out[i] = make_buffer(size, NULL);
    }
    free(pixels);
    for (unsigned f = 0; f < sizeof filters / sizeof filters[0]; f++)
        for (unsigned i = 0; i < options.radius_count; i++)
            if (strstr(options.filters, filters[f]) != NULL)
                measure(&place, filters[f], options.radius[i]);
    for (unsigned i = 0; i < PLACES; i++) {
        clReleaseMemObject(place.in[i]);
        clReleaseMemObject(place.out[i]);
    }
    for (unsigned i = 0; i < IN_FLIGHT; i++)
        clReleaseCommandQueue(place.flight[i]);
    clReleaseCommandQueue(place.queue);
}

static void take_radii(char *text)
{
    options.radius_count = 0;
    for (char *at = strtok(text, ","); at != NULL && options.radius_count < MAX_RADII;
         at = strtok(NULL, ","))
        options.radius[options.radius_count++] = (unsigned)strtoul(at, NULL, 10);
}

static void take_options(int argc, char **argv)
{
    static const struct option names[] = {
        {"seconds", required_argument, NULL, 's'}, {"rounds", required_argument, NULL, 'r'},
        {"radii", required_argument, NULL, 'i'},   {"filters", required_argument, NULL, 'f'},
        {"half", no_argument, NULL, 'h'},          {"tune", no_argument, NULL, 't'},
        {"json", required_argument, NULL, 'j'},    {0}};
    static char radii[] = "1,2,3,4,5,7,9,12,16,20,24,30";
    take_radii(radii);
    for (int c; (c = getopt_long(argc, argv, "", names, NULL)) != -1;)
        switch (c) {
        case 's':
            options.seconds = strtod(optarg, NULL);
            break;
        case 'r':
            options.rounds = (unsigned)fmin(strtod(optarg, NULL), MAX_ROUNDS);
            break;
        case 'i':
            take_radii(optarg);
            break;
        case 'f':
            options.filters = optarg;
            break;
        case 'h':
            options.half = true;
            break;
        case 't':
            options.tune = true;
            break;
        case 'j':
            options.json = fopen(optarg, "w");
            break;
        default:
            exit(2);
        }
}

int main(int argc, char **argv)
{
    const char *selector = getenv("FFTD_DEVICE");
    struct error why;
    take_options(argc, argv);
    if (gpu_device_open(&device, selector != NULL ? selector : "auto", &why) < 0)
        fail("device", &why);
    filter_image_set_loader(load_kernel);
    printf("%s: %s of a frame, median of %u rounds\n", device->name,
           gpu_device_is_cpu(device) ? "processor time" : "kernels (in brackets: in flight)",
           options.rounds);
    if (optind == argc)
        measure_size(1280, 720);
    for (int i = optind; i < argc; i++) {
        unsigned width, height;
        /* NOLINTNEXTLINE(cert-err34-c): the bench's user sees the size */
        if (sscanf(argv[i], "%5ux%5u", &width, &height) != 2) {
            fprintf(stderr, "techniques: %s is no size: expected WIDTHxHEIGHT\n", argv[i]);
            return 2;
        }
        measure_size(width, height);
    }
    for (enum mode mode = 0; mode < (gpu_device_is_cpu(device) ? OVERLAPPING : MODES); mode++)
        printf("%s: %u of %u choices are slower than the fastest technique by more than %.0f %%\n",
               mode_names[mode], slow_choices[mode], choices, 100 * MOST_LOSS);
    gpu_device_close(device);
    return 0;
}

/* fftd's transform beside its peers.
 *
 *     build/tests/bench/fft [--seconds S] [--only TEXT] [--json FILE] [--pile-up] [WIDTHxHEIGHT]...
 *
 * S is the time to measure at each size, without the setup. With --only, only subjects that have
 * TEXT in their name, or one of several between |, are measured, and the first subject, to which
 * ratios refer. FILE is replaced.
 * Every subject submits each frame as soon as it is enqueued, on OpenCL by clFlush; with --pile-up
 * only the last one, which shows what the flushes cost. FFTD_DEVICE selects the device.
 * BENCH_CACHE, a directory, keeps fftd's built kernels and its tuner's results. */
#include "fft.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "filters/filter.h"
#include "transform/plan.h"
#include "core/text.h"

/* fft.mk writes one line PEER(name) for each peer that could be built. */
#define PEER(name) extern const struct peer peer_##name;
#include "bench-peers.inc"
#undef PEER
#define PEER(name) &peer_##name,
static const struct peer *const peers[] = {
#include "bench-peers.inc"
};
#undef PEER

#define PEER_COUNT (sizeof peers / sizeof peers[0])
#define MAX_ROWS   64
#define MAX_SIZES  32
#define MIN_LENGTH 16

struct size {
    uint32_t width, height;
};

struct options {
    double seconds;
    const char *only, *json;
    bool pile_up;
    struct size sizes[MAX_SIZES];
    unsigned size_count;
};

static const struct size default_sizes[] = {{640, 480},   {1280, 720},  {1920, 1080},
                                            {3840, 2160}, {1000, 1000}, {1366, 768}};

static bool parse_length(uint32_t *ret, const char **text)
{
    char *end;
    const unsigned long length = strtoul(*text, &end, 10);
    if (end == *text || length < MIN_LENGTH || length > PLAN_MAX_LENGTH)
        return false;
    *ret = (uint32_t)length;
    *text = end;
    return true;
}

static bool parse_size(struct options *options, const char *text)
{
    struct size size;
    if (options->size_count == MAX_SIZES || !parse_length(&size.width, &text) || *text++ != 'x' ||
        !parse_length(&size.height, &text) || *text != '\0')
        return false;
    options->sizes[options->size_count++] = size;
    return true;
}

static int parse(struct options *ret, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (argv[i][0] != '-' && parse_size(ret, argv[i]))
            continue;
        if (strcmp(argv[i], "--pile-up") == 0) {
            ret->pile_up = true;
            continue;
        }
        double number;
        if (strcmp(argv[i], "--seconds") == 0 && value != NULL &&
            text_to_number(&number, value) == 0 && number > 0) {
            ret->seconds = number;
        } else if (strcmp(argv[i], "--only") == 0 && value != NULL) {
            ret->only = value;
        } else if (strcmp(argv[i], "--json") == 0 && value != NULL) {
            ret->json = value;
        } else {
            fprintf(stderr,
                    "fft: %s %s: expected --seconds S, --only TEXT, --json FILE, --pile-up or "
                    "WIDTHxHEIGHT, from %dx%d to %dx%d\n",
                    argv[i], value != NULL ? value : "", MIN_LENGTH, MIN_LENGTH, PLAN_MAX_LENGTH,
                    PLAN_MAX_LENGTH);
            return -EINVAL;
        }
        i++;
    }
    if (ret->size_count == 0) {
        memcpy(ret->sizes, default_sizes, sizeof default_sizes);
        ret->size_count = sizeof default_sizes / sizeof default_sizes[0];
    }
    return 0;
}

/* "AMD EPYC, 2 cores" */
static void machine_name(char *text, size_t size)
{
    char line[256], model[128] = "unknown processor";
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "model name : %127[^\n]", model) == 1)
            break;
    if (file != NULL)
        fclose(file);
    snprintf(text, size, "%s, %ld cores", model, sysconf(_SC_NPROCESSORS_ONLN));
}

/* ---- a scene ---- */

static void scene_close(struct scene *scene)
{
    free((void *)scene->pixels);
    free((void *)scene->samples);
    free((void *)scene->response);
}

/* Draws noise on a slope, which has energy at every frequency. No two pixels can be exchanged
 * unnoticed. */
static void draw(uint8_t *pixels, float *samples, uint32_t width, uint32_t height)
{
    uint32_t state = 1;
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++) {
            state = state * 1664525u + 1013904223u; /* Numerical Recipes */
            const size_t i = (size_t)y * width + x;
            pixels[i] = (uint8_t)(32 + (state >> 25) + 64 * (x + y) / (width + height));
            samples[i] = pixels[i];
        }
}

static void sample_response(float *response, const struct filter_chain *chain, uint32_t width,
                            uint32_t height)
{
    for (uint32_t v = 0; v < height; v++)
        for (uint32_t u = 0; u <= width / 2; u++) {
            const double fx = (double)u / width;
            const double fy = (v <= height / 2 ? (double)v : (double)v - height) / height;
            *response++ = (float)(creal(filter_chain_response(chain, fx, fy)) / width / height);
        }
}

static int scene_open(struct scene *scene, const struct filter_chain *chain, struct error *why)
{
    const size_t count = (size_t)scene->width * scene->height;
    uint8_t *pixels = malloc(count);
    float *samples = malloc(count * sizeof *samples);
    float *response = malloc((scene->width / 2 + 1) * (size_t)scene->height * sizeof *response);
    scene->pixels = pixels;
    scene->samples = samples;
    scene->response = response;
    if (pixels == NULL || samples == NULL || response == NULL) {
        scene_close(scene);
        return error_set(why, ENOMEM, "out of memory while creating a frame of %ux%u", scene->width,
                         scene->height);
    }
    draw(pixels, samples, scene->width, scene->height);
    sample_response(response, chain, scene->width, scene->height);
    return 0;
}

/* ---- sizes ---- */

static bool is_wanted(const char *name, const char *only)
{
    char text[128];
    bool is_found = only == NULL;
    while (!is_found && *only != '\0') {
        const size_t length = strcspn(only, "|");
        snprintf(text, sizeof text, "%.*s", (int)length, only);
        is_found = strstr(name, text) != NULL;
        only += length + (only[length] == '|');
    }
    return is_found;
}

static unsigned open_rows(struct row *rows, const struct scene *scene, const char *only)
{
    unsigned count = 0;
    for (size_t p = 0; p < PEER_COUNT; p++)
        for (unsigned s = 0; s < peers[p]->subject_count && count < MAX_ROWS; s++) {
            const struct subject *subject = &peers[p]->subjects[s];
            if (count > 0 && !is_wanted(subject->name, only))
                continue;
            rows[count] = (struct row){.peer = peers[p], .subject = subject};
            fft_row_open(&rows[count++], scene);
        }
    return count;
}

static void bench_size(const struct options *options, struct scene *scene, struct report_head *head,
                       FILE *json)
{
    static struct row rows[MAX_ROWS];
    const unsigned count = open_rows(rows, scene, options->only);
    fft_measure(rows, count, options->seconds);
    if (getloadavg(&head->load, 1) != 1)
        head->load = 0;
    fft_report_text(head, scene, rows, count);
    if (json != NULL)
        fft_report_json(json, head, scene, rows, count);
    for (unsigned i = 0; i < count; i++)
        fft_row_close(&rows[i]);
}

static int bench(const struct options *options, const struct gpu_device *device,
                 cl_command_queue queue, FILE *json, struct error *why)
{
    char machine[160], version[96];
    struct filter_chain chain;
    int r = filter_chain_parse(&chain, fft_chain, why);
    machine_name(machine, sizeof machine);
    struct report_head head = {.device = gpu_device_name(device), .machine = machine};
    printf("%s on %s\n", head.device, machine);
    for (size_t p = 0; p < PEER_COUNT; p++) {
        peers[p]->version(version, sizeof version);
        printf("%s%s %s", p > 0 ? "; " : "", peers[p]->name, version);
    }
    printf("\nratio: time to the first row's; B/pixel, disp: main memory moved and kernels "
           "dispatched for a frame; size: of the transform\n%s\n",
           options->pile_up ? "frames pile up: nothing is flushed until the last is enqueued"
                            : "every frame is submitted by itself: clFlush, or the launch of its "
                              "graph; pairs two by two");
    for (unsigned i = 0; i < options->size_count && r == 0; i++) {
        struct scene scene = {.device = device,
                              .queue = queue,
                              .width = options->sizes[i].width,
                              .height = options->sizes[i].height};
        r = scene_open(&scene, &chain, why);
        if (r < 0)
            break;
        bench_size(options, &scene, &head, json);
        scene_close(&scene);
    }
    return r;
}

int main(int argc, char **argv)
{
    struct options options = {.seconds = 6};
    const char *selector = getenv("FFTD_DEVICE");
    struct gpu_device *device = NULL;
    cl_command_queue queue = NULL;
    FILE *json = NULL;
    struct error why = {""};
    cl_int code;
    if (parse(&options, argc, argv) < 0)
        return 64;
    int r = gpu_device_open(&device, selector != NULL ? selector : "auto", &why);
    if (r < 0)
        goto out;
    queue = clCreateCommandQueue(device->context, device->id, 0, &code);
    if (code != CL_SUCCESS) {
        r = opencl_fail(&why, code, "clCreateCommandQueue");
        goto out;
    }
    if (options.json != NULL && (json = fopen(options.json, "w")) == NULL) {
        r = error_set(&why, errno, "%s: %s", options.json, strerror(errno));
        goto out;
    }
    if (options.pile_up)
        fft_let_frames_pile_up();
    r = bench(&options, device, queue, json, &why);
out:
    if (r < 0)
        fprintf(stderr, "fft: %s\n", why.text);
    if (json != NULL)
        fclose(json);
    if (queue != NULL)
        clReleaseCommandQueue(queue);
    gpu_device_close(device);
    return r < 0 ? 1 : 0;
}

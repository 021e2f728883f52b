/* Rebuilds and measures the techniques of the published work on FFT image filtering on GPUs.
 *
 *     build/tests/bench/articles [OPTION]... [ROW]...
 *
 * ROW is 1 .. 9 (docs/ARTICLES.md); without one, all rows are measured.
 *     --seconds S    the time for each group of techniques that are compared
 *     --group NAME   only groups whose name begins with NAME
 *     --json FILE    replaces FILE by one JSON line for each technique
 *     --quick        only checks that the results are right, at small sizes
 *     --small        for simulated devices: checks the results of the groups that are small in any
 *                    case, and writes them without times
 * FFTD_DEVICE selects the device. The exit code is 1 if a result is not right, and 0 if techniques
 * are only refused by the device. */
#include "private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/text.h"

#define ROWS 9

static void (*const rows[ROWS])(struct bench *bench) = {
    row_intel_passes, row_intel_twiddles, row_intel_further, row_vectorised,
    row_mixed_radix,  row_two_dimensions, row_convolution,   row_openvx,
};

struct options {
    const char *json, *group;
    double seconds;
    bool quick, small, row[ROWS];
};

static int parse(struct options *ret, int argc, char **argv)
{
    bool any = false;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        double number;
        if (argv[i][0] >= '1' && argv[i][0] <= '0' + ROWS && argv[i][1] == '\0') {
            any = ret->row[argv[i][0] - '1'] = true;
        } else if (strcmp(argv[i], "--quick") == 0) {
            ret->quick = true;
        } else if (strcmp(argv[i], "--small") == 0) {
            ret->small = true;
        } else if (strcmp(argv[i], "--seconds") == 0 && value != NULL &&
                   text_to_number(&number, value) == 0 && number > 0) {
            ret->seconds = number;
            i++;
        } else if (strcmp(argv[i], "--group") == 0 && value != NULL) {
            ret->group = value;
            i++;
        } else if (strcmp(argv[i], "--json") == 0 && value != NULL) {
            ret->json = value;
            i++;
        } else {
            fprintf(stderr,
                    "articles: %s: expected --quick, --small, --group NAME, --seconds S, --json "
                    "FILE or a row "
                    "from 1 to "
                    "%d\n",
                    argv[i], ROWS);
            return -EINVAL;
        }
    }
    for (unsigned i = 0; i < ROWS && !any; i++)
        ret->row[i] = true;
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

static void today(char *text, size_t size)
{
    const time_t now = time(NULL);
    struct tm tm;
    if (strftime(text, size, "%Y-%m-%d", gmtime_r(&now, &tm)) == 0)
        *text = '\0';
}

bool bench_is_quick(const struct bench *bench)
{
    return bench->quick;
}

const struct gpu_device *bench_device(const struct bench *bench)
{
    return bench->device;
}

cl_command_queue bench_queue(const struct bench *bench)
{
    return bench->queue;
}

static int bench_open(struct bench *bench, const struct options *options, struct error *why)
{
    const char *selector = getenv("FFTD_DEVICE");
    cl_int code;
    machine_name(bench->machine, sizeof bench->machine);
    today(bench->date, sizeof bench->date);
    bench->seconds = options->seconds;
    bench->quick = options->quick;
    bench->small = options->small;
    bench->group = options->group != NULL ? options->group : "";
    const int r = gpu_device_open(&bench->device, selector != NULL ? selector : "auto", why);
    if (r < 0)
        return r;
    bench->queue = clCreateCommandQueue(bench->device->context, bench->device->id, 0, &code);
    if (code == CL_SUCCESS)
        bench->counters = clCreateBuffer(bench->device->context, CL_MEM_READ_WRITE,
                                         2 * sizeof(cl_uint), NULL, &code);
    if (code != CL_SUCCESS)
        return opencl_fail(why, code, "creating a queue");
    if (options->json != NULL && (bench->json = fopen(options->json, "w")) == NULL)
        return error_set(why, errno, "%s: %s", options->json, strerror(errno));
    return 0;
}

static void bench_close(struct bench *bench)
{
    pipeline_programs_release();
    if (bench->json != NULL)
        fclose(bench->json);
    if (bench->counters != NULL)
        clReleaseMemObject(bench->counters);
    if (bench->queue != NULL)
        clReleaseCommandQueue(bench->queue);
    gpu_device_close(bench->device);
}

int main(int argc, char **argv)
{
    struct options options = {.seconds = 3};
    struct bench bench = {0};
    struct error why = {""};
    if (parse(&options, argc, argv) < 0)
        return 64;
    const int r = bench_open(&bench, &options, &why);
    if (r < 0)
        fprintf(stderr, "articles: %s\n", why.text);
    else
        printf("%s on %s; ms a frame, and ratio to the first\n", gpu_device_name(bench.device),
               bench.machine);
    for (unsigned i = 0; i < ROWS && r == 0; i++)
        if (options.row[i] && rows[i] != NULL)
            rows[i](&bench);
    const unsigned wrong = bench.wrong;
    bench_close(&bench);
    return r < 0 || wrong > 0 ? 1 : 0;
}

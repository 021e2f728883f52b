/* Rebuilds and measures the techniques of the published work on FFT image filtering on GPUs.
 *
 *     build/tests/bench/articles [OPTION]... [ROW]...
 *
 * ROW is 1 .. 8 (docs/ARTICLES.md); without one, all rows are measured.
 *     --sizes SIZES    quick, small, published or large, as articles.h explains
 *     --seconds S      the time for each group of techniques that are compared, if 15 turns take
 *                      less
 *     --group NAME     only groups whose name begins with NAME
 *     --json FILE      replaces FILE by one JSON line for the run and one for each technique
 *     --commit COMMIT  what is measured, for FILE
 *     --quick          only checks that the results are right, at quick sizes
 *     --simulated      for simulated devices: the same for some groups only; prints each technique
 *                      before it runs, for counts.py
 *     --kernels FOLDER the kernel files of this folder instead of those that were built in
 * FFTD_DEVICE selects the device. The exit code is 1 if anything failed, and 0 if techniques are
 * only refused because the device lacks something. */
#include "private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/text.h"

#define ROWS 8

static void (*const rows[ROWS])(struct bench *bench) = {
    row_intel_passes, row_intel_twiddles, row_intel_further, row_vectorised,
    row_mixed_radix,  row_two_dimensions, row_convolution,   row_openvx,
};

struct options {
    const char *json, *commit;
    bool row[ROWS];
};

static const char *const sizes_names[] = {"quick", "small", "published", "large"};

static int parse_sizes(enum sizes *ret, const char *text)
{
    for (unsigned i = 0; i <= SIZES_LARGE; i++)
        if (strcmp(text, sizes_names[i]) == 0) {
            *ret = (enum sizes)i;
            return 0;
        }
    return -EINVAL;
}

/* Parses an option with a value. -EINVAL: it is none, or the value is wrong. */
static int parse_value(struct options *options, struct bench *bench, const char *name,
                       const char *value)
{
    if (value == NULL)
        return -EINVAL;
    if (strcmp(name, "--sizes") == 0)
        return parse_sizes(&bench->sizes, value);
    if (strcmp(name, "--seconds") == 0)
        return text_to_number(&bench->seconds, value) == 0 && bench->seconds > 0 ? 0 : -EINVAL;
    if (strcmp(name, "--group") == 0)
        bench->group = value;
    else if (strcmp(name, "--json") == 0)
        options->json = value;
    else if (strcmp(name, "--commit") == 0)
        options->commit = value;
    else if (strcmp(name, "--kernels") == 0)
        bench->kernels = value;
    else
        return -EINVAL;
    return 0;
}

static int parse(struct options *options, struct bench *bench, int argc, char **argv)
{
    bool any = false;
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] >= '1' && argv[i][0] <= '0' + ROWS && argv[i][1] == '\0') {
            any = options->row[argv[i][0] - '1'] = true;
        } else if (strcmp(argv[i], "--quick") == 0) {
            bench->sizes = SIZES_QUICK;
            bench->untimed = true;
        } else if (strcmp(argv[i], "--simulated") == 0) {
            bench->sizes = SIZES_QUICK;
            bench->simulated = bench->untimed = true;
        } else if (parse_value(options, bench, argv[i], argv[i + 1]) == 0) {
            i++;
        } else {
            fprintf(stderr,
                    "articles: %s: expected --sizes quick, small, published or large, --seconds S, "
                    "--group NAME, --json FILE, --commit COMMIT, --quick, --simulated, --kernels "
                    "FOLDER or a row from 1 to %d; row 9 has the figures of other rows\n",
                    argv[i], ROWS);
            return -EINVAL;
        }
    }
    if (options->json != NULL && options->commit == NULL) {
        fprintf(stderr, "articles: --json needs --commit: results are of a commit\n");
        return -EINVAL;
    }
    for (unsigned i = 0; i < ROWS && !any; i++)
        options->row[i] = true;
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

enum sizes bench_sizes(const struct bench *bench)
{
    return bench->sizes;
}

bool bench_is_quick(const struct bench *bench)
{
    return bench->sizes == SIZES_QUICK;
}

const struct gpu_device *bench_device(const struct bench *bench)
{
    return bench->device;
}

cl_command_queue bench_queue(const struct bench *bench)
{
    return bench->queue;
}

/* The line of the run, which the following lines belong to. */
static int open_json(struct bench *bench, const struct options *options, struct error *why)
{
    char machine[160], date[16];
    double load = 0;
    if ((bench->json = fopen(options->json, "w")) == NULL)
        return error_set(why, errno, "%s: %s", options->json, strerror(errno));
    machine_name(machine, sizeof machine);
    today(date, sizeof date);
    if (getloadavg(&load, 1) != 1)
        load = -1;
    fprintf(bench->json,
            "{\"bench\": \"articles\", \"device\": \"%s\", \"machine\": \"%s\", \"load\": %.2f, "
            "\"date\": \"%s\", \"commit\": \"%s\", \"sizes\": \"%s\"}\n",
            gpu_device_name(bench->device), machine, load, date, options->commit,
            sizes_names[bench->sizes]);
    return 0;
}

static int bench_open(struct bench *bench, const struct options *options, struct error *why)
{
    const char *selector = getenv("FFTD_DEVICE");
    cl_int code;
    const int r = gpu_device_open(&bench->device, selector != NULL ? selector : "auto", why);
    if (r < 0)
        return r;
    bench->queue = clCreateCommandQueue(bench->device->context, bench->device->id, 0, &code);
    if (code == CL_SUCCESS)
        bench->counters = clCreateBuffer(bench->device->context, CL_MEM_READ_WRITE,
                                         2 * sizeof(cl_uint), NULL, &code);
    if (code != CL_SUCCESS)
        return opencl_fail(why, code, "creating a queue");
    return options->json != NULL ? open_json(bench, options, why) : 0;
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
    struct options options = {0};
    struct bench bench = {.seconds = 1, .sizes = SIZES_PUBLISHED, .group = ""};
    struct error why = {""};
    if (parse(&options, &bench, argc, argv) < 0)
        return 64;
    const int r = bench_open(&bench, &options, &why);
    if (r < 0)
        fprintf(stderr, "articles: %s\n", why.text);
    else
        printf("%s; ms a frame, and ratio to the first\n", gpu_device_name(bench.device));
    for (unsigned i = 0; i < ROWS && r == 0; i++)
        if (options.row[i])
            rows[i](&bench);
    if (r == 0 && bench.measured == 0)
        fprintf(stderr, "articles: no group of these rows begins with \"%s\"\n", bench.group);
    if (bench.failed > 0)
        fprintf(stderr, "articles: %u failed\n", bench.failed);
    const bool failed = r < 0 || bench.failed > 0 || bench.measured == 0;
    bench_close(&bench);
    return failed ? 1 : 0;
}

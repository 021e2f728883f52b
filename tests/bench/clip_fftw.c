/* A Gaussian blur by FFTW as one would write it for this task alone: the peer of make bench-clip.
 *
 *     clip_fftw CLIP WIDTH HEIGHT PADDED_X PADDED_Y SIGMA frames|split|band SECONDS RESULT
 *
 * CLIP has 8-bit grey frames without headers. They are mirrored to the padded size, transformed in
 * single precision and in place, multiplied, transformed back, rounded and clamped. Two threads
 * share the work: with `frames` each filters frames of its own, with `split` FFTW shares out each
 * transform. `band` is `frames` without the columns of the spectrum at which the blur is below
 * 2^-24, which fftd leaves out, too. Prints frames a second, and writes the first frame's result to
 * RESULT. The transforms are planned by measurement, and everything is in memory before the clock
 * starts. */
#include <errno.h>
#include <fcntl.h>
#include <fftw3.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define THREADS 2

struct clip {
    const uint8_t *frames;
    unsigned count, width, height;
};

struct filter {
    int padded_x, padded_y;
    int band; /* columns of the spectrum that are transformed and multiplied; the others become 0 */
    float *response; /* [padded_y][padded_x / 2 + 1], with the scale of both transforms */
    int *columns;    /* which column of the frame each padded one is a copy of */
    int *rows;
};

struct worker {
    pthread_t thread;
    const struct clip *clip;
    const struct filter *filter;
    unsigned index, step; /* filters frames index, index + step, ... */
    double deadline_s;
    float *plane; /* rows of padded_x + 2 floats, in which the spectrum has room */
    fftwf_plan forward[2], inverse[2]; /* one after the other; the second may be NULL */
    uint8_t *results;                  /* one frame for each of the clip, as a ring has */
    unsigned long done;
};

static void fail(const char *what)
{
    fprintf(stderr, "clip_fftw: %s: %s\n", what, strerror(errno));
    exit(1);
}

static double number(const char *text)
{
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    if (errno != 0 || end == text || *end != '\0' || !(value > 0) || value > 1e6) {
        fprintf(stderr, "clip_fftw: %s: expected a number above 0\n", text);
        exit(64);
    }
    return value;
}

static void *allocate(size_t bytes)
{
    void *memory = fftwf_malloc(bytes);
    if (memory == NULL)
        fail("memory");
    memset(memory, 0, bytes);
    return memory;
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The pad is split between both edges, and the frame mirrored in it without repeating the edge. */
static int *mirror_map(int padded, int length)
{
    int *map = allocate((size_t)padded * sizeof *map);
    const int after = (padded - length + 1) / 2;
    for (int i = 0; i < padded; i++) {
        int place = i < length + after ? i : i - padded;
        if (place < 0)
            place = -place;
        if (place >= length)
            place = 2 * (length - 1) - place;
        map[i] = place;
    }
    return map;
}

static void make_filter(struct filter *ret, const struct clip *clip, int x, int y, double sigma)
{
    const int bins = x / 2 + 1;
    *ret = (struct filter){.padded_x = x, .padded_y = y, .band = bins};
    const double pi = acos(-1.0);
    ret->response = allocate((size_t)bins * (size_t)y * sizeof *ret->response);
    ret->columns = mirror_map(x, (int)clip->width);
    ret->rows = mirror_map(y, (int)clip->height);
    for (int v = 0; v < y; v++) {
        for (int u = 0; u < bins; u++) {
            double fx = (double)u / x, fy = (double)(v <= y / 2 ? v : v - y) / y;
            double value = exp(-2.0 * pi * pi * sigma * sigma * (fx * fx + fy * fy));
            ret->response[(size_t)v * (size_t)bins + (size_t)u] = (float)(value / x / y);
        }
    }
}

static void load(const struct worker *worker, const uint8_t *frame)
{
    const struct filter *filter = worker->filter;
    const int width = (int)worker->clip->width, stride = filter->padded_x + 2;
    for (int y = 0; y < filter->padded_y; y++) {
        const uint8_t *from = frame + (size_t)filter->rows[y] * (size_t)width;
        float *to = worker->plane + (size_t)y * (size_t)stride;
        for (int x = 0; x < width; x++)
            to[x] = from[x];
        for (int x = width; x < filter->padded_x; x++)
            to[x] = from[filter->columns[x]];
    }
}

/* exp(-2 (pi sigma f)^2) is 2^-24 at f = sqrt(12 log 2) / (pi sigma). */
static int band_of(int x, double sigma)
{
    const int last = (int)(x * sqrt(12 * log(2.0)) / (acos(-1.0) * sigma));
    return last < x / 2 ? last + 1 : x / 2 + 1;
}

static void multiply(const struct worker *worker)
{
    const struct filter *filter = worker->filter;
    const size_t bins = (size_t)filter->padded_x / 2 + 1, band = (size_t)filter->band;
    for (int y = 0; y < filter->padded_y; y++) {
        float *row = worker->plane + (size_t)y * 2 * bins;
        const float *response = filter->response + (size_t)y * bins;
        for (size_t i = 0; i < band; i++) {
            row[2 * i] *= response[i];
            row[2 * i + 1] *= response[i];
        }
        memset(row + 2 * band, 0, (bins - band) * 2 * sizeof *row);
    }
}

static void execute(const fftwf_plan plan[2])
{
    for (int i = 0; i < 2 && plan[i] != NULL; i++)
        fftwf_execute(plan[i]);
}

static void store(const struct worker *worker, uint8_t *result)
{
    const int width = (int)worker->clip->width, height = (int)worker->clip->height;
    for (int y = 0; y < height; y++) {
        const float *from = worker->plane + (size_t)y * (size_t)(worker->filter->padded_x + 2);
        uint8_t *to = result + (size_t)y * (size_t)width;
        for (int x = 0; x < width; x++)
            to[x] = (uint8_t)rintf(fminf(fmaxf(from[x], 0.0f), 255.0f));
    }
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    const struct clip *clip = worker->clip;
    const size_t bytes = (size_t)clip->width * clip->height;
    for (unsigned i = worker->index; now_s() < worker->deadline_s; i += worker->step) {
        const size_t place = i % clip->count * bytes;
        load(worker, clip->frames + place);
        execute(worker->forward);
        multiply(worker);
        execute(worker->inverse);
        store(worker, worker->results + place);
        worker->done++;
    }
    return NULL;
}

static void make_worker(struct worker *worker)
{
    const struct filter *filter = worker->filter;
    const int x = filter->padded_x, y = filter->padded_y;
    worker->plane = allocate((size_t)(x + 2) * (size_t)y * sizeof *worker->plane);
    fftwf_complex *spectrum = (fftwf_complex *)worker->plane;
    const int bins = x / 2 + 1, band = filter->band;
    if (band == bins) {
        worker->forward[0] = fftwf_plan_dft_r2c_2d(y, x, worker->plane, spectrum, FFTW_MEASURE);
        worker->inverse[0] = fftwf_plan_dft_c2r_2d(y, x, spectrum, worker->plane, FFTW_MEASURE);
    } else {
        worker->forward[0] = fftwf_plan_many_dft_r2c(1, &x, y, worker->plane, NULL, 1, x + 2,
                                                     spectrum, NULL, 1, bins, FFTW_MEASURE);
        worker->forward[1] = fftwf_plan_many_dft(1, &y, band, spectrum, NULL, bins, 1, spectrum,
                                                 NULL, bins, 1, FFTW_FORWARD, FFTW_MEASURE);
        worker->inverse[0] = fftwf_plan_many_dft(1, &y, band, spectrum, NULL, bins, 1, spectrum,
                                                 NULL, bins, 1, FFTW_BACKWARD, FFTW_MEASURE);
        worker->inverse[1] = fftwf_plan_many_dft_c2r(1, &x, y, spectrum, NULL, 1, bins,
                                                     worker->plane, NULL, 1, x + 2, FFTW_MEASURE);
    }
    if (worker->forward[0] == NULL || worker->inverse[0] == NULL ||
        (band < bins && (worker->forward[1] == NULL || worker->inverse[1] == NULL)))
        fail("FFTW has no plan");
}

static void map_clip(struct clip *ret, const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &status) < 0)
        fail(path);
    const size_t bytes = (size_t)ret->width * ret->height;
    ret->count = (unsigned)((size_t)status.st_size / bytes);
    ret->frames = mmap(NULL, bytes * ret->count, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (ret->count == 0 || ret->frames == MAP_FAILED)
        fail(path);
    close(fd);
}

static void write_result(const char *path, const uint8_t *frame, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(frame, 1, bytes, file) != bytes || fclose(file) != 0)
        fail(path);
}

int main(int argc, char **argv)
{
    if (argc != 10) {
        fprintf(stderr, "usage: clip_fftw CLIP WIDTH HEIGHT PADDED_X PADDED_Y SIGMA "
                        "frames|split|band SECONDS RESULT\n");
        return 64;
    }
    struct clip clip = {.width = (unsigned)number(argv[2]), .height = (unsigned)number(argv[3])};
    struct filter filter;
    const unsigned workers = strcmp(argv[7], "split") == 0 ? 1 : THREADS;
    map_clip(&clip, argv[1]);
    make_filter(&filter, &clip, (int)number(argv[4]), (int)number(argv[5]), number(argv[6]));
    if (strcmp(argv[7], "band") == 0)
        filter.band = band_of(filter.padded_x, number(argv[6]));
    fftwf_init_threads();
    fftwf_plan_with_nthreads(workers == 1 ? THREADS : 1);

    const size_t bytes = (size_t)clip.width * clip.height;
    uint8_t *results = allocate(bytes * clip.count);
    struct worker worker[THREADS];
    for (unsigned i = 0; i < workers; i++) {
        worker[i] = (struct worker){
            .clip = &clip, .filter = &filter, .index = i, .step = workers, .results = results};
        make_worker(&worker[i]);
    }
    const double start_s = now_s();
    for (unsigned i = 0; i < workers; i++) {
        worker[i].deadline_s = start_s + number(argv[8]);
        errno = pthread_create(&worker[i].thread, NULL, work, &worker[i]);
        if (errno != 0)
            fail("pthread_create");
    }
    unsigned long done = 0;
    for (unsigned i = 0; i < workers; i++) {
        pthread_join(worker[i].thread, NULL);
        done += worker[i].done;
    }
    printf("%.2f\n", (double)done / (now_s() - start_s));
    write_result(argv[9], results, bytes);
    return 0;
}

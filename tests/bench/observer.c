/* Times what the observer does with the frames of a camera, without the daemon:
 *
 *     build/tests/bench/observer [PATTERN [WIDTHxHEIGHT]]
 *
 * for each case whose name has PATTERN in it (default: all; 1280x720). A line has the milliseconds
 * of processor time that an observed frame takes at 30 a second: the mean of the first SEARCH
 * frames, then the median and the mean of the others. After these it has the share of the frames
 * that is observed at 30 and at 60 a second within the observer's third of a processor, and what is
 * found in the end. For the shares, time passes as the frames' stamps say, so that they depend on
 * processor time alone. */
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/format.h"
#include "estimators/luma.h"
#include "observer/estimators.h"
#include "support/clip.h"

#define FRAMES  60u /* a clip has no more than 64 */
#define SEARCH  8u
#define SHARE   3 /* as in observer.c */
#define SIGMA   2
#define SEED    20261129u
#define MAINS   100.1 /* Hz */
#define DEPTH   0.15
#define PERIODS 3.337 /* periods of the light in a frame's height */

struct kind {
    const char *name;
    bool is_panning, has_waves, has_flicker;
    bool removes_waves, removes_flicker, takes_measures;
};

/* columns: panning, waves, flicker; auto-notch, deflicker, measures */
static const struct kind KINDS[] = {
    {"nothing", 1, 0, 0, 0, 0, 0},
    {"measures-still", 0, 0, 0, 0, 0, 1},
    {"measures-panning", 1, 0, 0, 0, 0, 1},
    {"notch-clean-still", 0, 0, 0, 1, 0, 0},
    {"notch-clean-panning", 1, 0, 0, 1, 0, 0},
    {"notch-waves-still", 0, 1, 0, 1, 0, 0},
    {"notch-waves-panning", 1, 1, 0, 1, 0, 0},
    {"deflicker-clean-still", 0, 0, 0, 0, 1, 0},
    {"deflicker-clean-panning", 1, 0, 0, 0, 1, 0},
    {"deflicker-mains-still", 0, 0, 1, 0, 1, 0},
    {"deflicker-mains-panning", 1, 0, 1, 0, 1, 0},
    {"both-clean-still", 0, 0, 0, 1, 1, 0},
    {"both-clean-panning", 1, 0, 0, 1, 1, 0},
    {"both-found-still", 0, 1, 1, 1, 1, 0},
    {"both-found-panning", 1, 1, 1, 1, 1, 0},
    {"all-found-panning", 1, 1, 1, 1, 1, 1},
};

/* cycles/pixel, grey levels, and cycles a frame by which the phase moves */
static const struct {
    double fx, fy, amplitude, drift;
} WAVES[] = {
    {0.2113, 0.0871, 6, 0.013},
    {0.3307, -0.1533, 4, -0.021},
    {0.0913, 0.2719, 3, 0.034},
    {0.4019, 0.3011, 5, -0.007},
};

struct bench {
    unsigned width, height;
    struct clip clip[2]; /* still, panning */
    float *work;
    uint8_t *bytes; /* FRAMES frames of luma */
};

static void *must(void *memory)
{
    if (memory != NULL)
        return memory;
    fprintf(stderr, "observer: out of memory\n");
    exit(1);
}

/* ---- frames ---- */

static void add_waves(const struct bench *bench, unsigned frame)
{
    for (unsigned k = 0; k < sizeof WAVES / sizeof *WAVES; k++) {
        const double complex along = cexp(2 * M_PI * I * WAVES[k].fx);
        for (unsigned y = 0; y < bench->height; y++) {
            float *row = bench->work + (size_t)y * bench->width;
            double complex turn = WAVES[k].amplitude *
                                  cexp(2 * M_PI * I * (WAVES[k].fy * y + WAVES[k].drift * frame));
            for (unsigned x = 0; x < bench->width; x++, turn *= along)
                row[x] += (float)creal(turn);
        }
    }
}

static void add_flicker(const struct bench *bench, unsigned frame, double rate_hz)
{
    for (unsigned y = 0; y < bench->height; y++) {
        const double cycles = MAINS * frame / rate_hz + PERIODS * y / bench->height;
        const float light = (float)(1 + DEPTH * cos(2 * M_PI * cycles));
        float *row = bench->work + (size_t)y * bench->width;
        for (unsigned x = 0; x < bench->width; x++)
            row[x] *= light;
    }
}

static void draw(const struct bench *bench, const struct kind *kind, double rate_hz)
{
    const size_t size = (size_t)bench->width * bench->height;
    for (unsigned frame = 0; frame < FRAMES; frame++) {
        uint8_t *to = bench->bytes + frame * size;
        clip_frame(&bench->clip[kind->is_panning], frame, bench->work);
        if (kind->has_flicker)
            add_flicker(bench, frame, rate_hz);
        if (kind->has_waves)
            add_waves(bench, frame);
        for (size_t i = 0; i < size; i++)
            to[i] = (uint8_t)lrintf(fminf(fmaxf(bench->work[i], 0), 255));
    }
}

/* ---- observation ---- */

struct outcome {
    unsigned count; /* observed frames */
    double spent_ms[FRAMES];
    struct findings found;
};

static void observe(const struct bench *bench, const struct kind *kind, double rate_hz,
                    bool observes_all, struct outcome *ret)
{
    const struct format_info *format = format_by_name("GREY");
    const size_t size = (size_t)bench->width * bench->height;
    const struct estimators_job job = {
        .takes_measures = kind->takes_measures,
        .wanted = {.removes_waves = kind->removes_waves,
                   .waves = {PERIODIC_MIN_AMPLITUDE, CORRECTION_MAX_WAVES},
                   .removes_flicker = kind->removes_flicker},
        .frames = {.source_number = 1,
                   .fourcc = format->fourcc,
                   .width = bench->width,
                   .height = bench->height,
                   .is_full_range = true},
    };
    struct observed_frame frame = {
        .frames = job.frames, .bytes = must(malloc(size)), .capacity = size};
    struct estimators *estimators;
    struct error why = {""};
    int64_t next_ns = 0;
    *ret = (struct outcome){.count = 0};
    if (estimators_create(&estimators, &why) < 0)
        must(NULL);
    estimators_adopt(estimators, &job, &why);
    for (unsigned i = 0; i < FRAMES; i++) {
        const int64_t now_ns = NS_PER_S + (int64_t)(i * NS_PER_S / rate_hz);
        if (!observes_all && now_ns < next_ns)
            continue;
        const int64_t begun_ns = clock_processor_ns();
        memcpy(frame.bytes, bench->bytes + i * size, size);
        frame.number = i + 1;
        frame.captured_ns = frame.scene_ns = now_ns;
        estimators_observe(estimators, &frame, &ret->found);
        const int64_t spent_ns = clock_processor_ns() - begun_ns;
        next_ns = (next_ns > now_ns ? next_ns : now_ns) + SHARE * spent_ns;
        ret->spent_ms[ret->count++] = (double)spent_ns / NS_PER_MS;
    }
    estimators_destroy(estimators);
    free(frame.bytes);
}

/* ---- report ---- */

static int compare(const void *a, const void *b)
{
    const double p = *(const double *)a, q = *(const double *)b;
    return (p > q) - (p < q);
}

static double mean(const double *number, unsigned count)
{
    double sum = 0;
    for (unsigned i = 0; i < count; i++)
        sum += number[i];
    return sum / count;
}

static void print_findings(const struct findings *found)
{
    for (unsigned i = 0; i < found->wave_count; i++)
        printf("  %.6f,%.6f:%.4f", found->wave[i].fx, found->wave[i].fy, found->wave[i].amplitude);
    if (found->has_flicker)
        printf("  %.3f Hz, depth %.5f", found->flicker_report.frequency_hz,
               found->flicker_report.depth);
    if (isfinite(found->measures.sharpness))
        printf("  sharpness %.5f noise %.4f shift %.4f,%.4f", (double)found->measures.sharpness,
               (double)found->measures.noise, (double)found->measures.shift_x,
               (double)found->measures.shift_y);
    printf("\n");
}

static void run(const struct bench *bench, const struct kind *kind)
{
    struct outcome every, some;
    draw(bench, kind, 30);
    observe(bench, kind, 30, true, &every);
    double *later = every.spent_ms + SEARCH;
    const double search_ms = mean(every.spent_ms, SEARCH), mean_ms = mean(later, FRAMES - SEARCH);
    qsort(later, FRAMES - SEARCH, sizeof *later, compare);
    printf("%-24s %6.2f %6.2f %6.2f ms", kind->name, search_ms, later[(FRAMES - SEARCH) / 2],
           mean_ms);
    observe(bench, kind, 30, false, &some);
    printf("  %3.0f %%", 100.0 * some.count / FRAMES);
    if (kind->has_flicker)
        draw(bench, kind, 60);
    observe(bench, kind, 60, false, &some);
    printf(" %3.0f %%", 100.0 * some.count / FRAMES);
    print_findings(&every.found);
    fflush(stdout);
}

static bool take_size(const char *text, struct bench *ret)
{
    char *end;
    ret->width = (unsigned)strtoul(text, &end, 10);
    if (*end != 'x')
        return false;
    ret->height = (unsigned)strtoul(end + 1, &end, 10);
    return *end == '\0' && ret->width > 0 && ret->height > 0;
}

int main(int count, char **argument)
{
    const char *pattern = count > 1 ? argument[1] : "";
    struct bench bench = {.width = 1280, .height = 720};
    if (count > 2 && !take_size(argument[2], &bench)) {
        fprintf(stderr, "usage: observer [PATTERN [WIDTHxHEIGHT]]\n");
        return 1;
    }
    const size_t size = (size_t)bench.width * bench.height;
    bench.work = must(calloc(size, sizeof *bench.work));
    bench.bytes = must(calloc(size, FRAMES));
    for (unsigned i = 0; i < 2; i++)
        clip_make(&bench.clip[i], CLIP_NATURAL, bench.width, bench.height, i == 1, SIGMA, SEED);
    for (unsigned i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
        if (strstr(KINDS[i].name, pattern) != NULL)
            run(&bench, &KINDS[i]);
    for (unsigned i = 0; i < 2; i++)
        clip_clear(&bench.clip[i]);
    free(bench.work);
    free(bench.bytes);
    return 0;
}

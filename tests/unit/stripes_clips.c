/* The estimate of stripes and bad pixels on random clips that are as hard as cameras: textures,
 * edges and walls, panned, shaken, zoomed or still, with noise, clipping, 8 bits and odd sizes.
 *
 * FFTD_TEST_SEED sets the seed. FFTD_TEST_CLIPS=all takes 48 clips, and prints a figure for each.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/cmocka.h"
#include "support/reference.h"
#include "support/trials.h"

#include "calibration/stripes.h"

#define FRAMES 64
#define MARGIN 160 /* px by which the scene is larger than a frame */

enum scene { TEXTURE, BLOCKS, WALL, PLAIN, DISCS, FOLIAGE, SCENES };
enum motion { PAN, ACROSS, DOWN, SHAKE, ZOOM, STILL, MOTIONS };
static const char *const scene_names[] = {"texture", "blocks", "wall", "plain", "discs", "foliage"};
static const char *const motion_names[] = {"pan", "across", "down", "shake", "zoom", "still"};

struct clip {
    unsigned width, height;
    enum scene scene;
    enum motion motion;
    unsigned scene_width, scene_height;
    float *light;        /* of the scene */
    float *column, *row; /* grey levels */
    float *gain;         /* of each column */
    float *fault;        /* of each pixel: what is added; -1000: it is dead */
    double noise, speed, angle, brightness;
    double at[2]; /* the position of the frame in the scene */
    double zoom;
    uint64_t seed;
};

static double uniform(struct clip *clip, double low, double high)
{
    return low + (high - low) * reference_noise(&clip->seed);
}

static double log_uniform(struct clip *clip, double low, double high)
{
    return low * pow(high / low, reference_noise(&clip->seed));
}

/* Nearly normal, with a standard deviation of 1: the sum of eight numbers of 16 bits. */
static double normal(struct clip *clip)
{
    double sum = 0;
    for (unsigned i = 0; i < 2; i++) {
        const uint64_t bits = (uint64_t)(reference_noise(&clip->seed) * 0x1p53);
        sum += (double)((bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff)) / 65536;
    }
    return (sum - 3) * M_SQRT2;
}

/* ---- scenes ---- */

static void add_texture(struct clip *clip, double contrast, unsigned finest)
{
    const unsigned width = clip->scene_width, height = clip->scene_height;
    for (unsigned size = finest; size <= 128; size *= 2) {
        const unsigned columns = width / size + 2, rows = height / size + 2;
        float *knot = malloc(columns * rows * sizeof *knot);
        for (unsigned i = 0; i < columns * rows; i++)
            knot[i] = (float)(contrast * sqrt(size) * normal(clip));
        for (unsigned y = 0; y < height; y++)
            for (unsigned x = 0; x < width; x++) {
                const float *at = knot + y / size * columns + x / size;
                const float u = (float)(x % size) / (float)size,
                            v = (float)(y % size) / (float)size;
                clip->light[y * width + x] += (1 - v) * ((1 - u) * at[0] + u * at[1]) +
                                              v * ((1 - u) * at[columns] + u * at[columns + 1]);
            }
        free(knot);
    }
}

static void add_shapes(struct clip *clip, unsigned count, bool is_round)
{
    const int width = (int)clip->scene_width, height = (int)clip->scene_height;
    for (unsigned i = 0; i < count; i++) {
        const int left = (int)uniform(clip, -40, width), top = (int)uniform(clip, -40, height);
        const int across = (int)log_uniform(clip, 6, 90);
        const int down = is_round ? across : (int)log_uniform(clip, 6, 160);
        const double level = uniform(clip, -60, 60);
        for (int y = top < 0 ? 0 : top; y < top + down && y < height; y++)
            for (int x = left < 0 ? 0 : left; x < left + across && x < width; x++)
                if (!is_round || hypot(x - left - across / 2., y - top - down / 2.) < across / 2.)
                    clip->light[y * width + x] = (float)level;
    }
}

static void draw_scene(struct clip *clip)
{
    const unsigned width = clip->scene_width, height = clip->scene_height;
    const double contrast = log_uniform(clip, 0.5, 2);
    switch (clip->scene) {
    case TEXTURE:
        add_texture(clip, contrast, 2);
        break;
    case BLOCKS:
        add_shapes(clip, width * height / 1500, false);
        add_texture(clip, contrast / 3, 2);
        break;
    case WALL:
        for (unsigned y = 0; y < height; y++)
            for (unsigned x = 0; x < width; x++) {
                const unsigned course = y / 16, along = x + course % 2 * 16, brick = along / 32;
                const bool is_joint = y % 16 < 2 || along % 32 < 2;
                clip->light[y * width + x] =
                    (float)(is_joint ? -40 : 10 * sin(7 * brick + 3 * course));
            }
        add_texture(clip, contrast / 2, 2);
        break;
    case PLAIN:
        add_shapes(clip, width * height / 12000, true);
        add_texture(clip, contrast / 3, 32);
        break;
    case DISCS:
        add_shapes(clip, width * height / 400, true);
        break;
    case FOLIAGE:
        add_texture(clip, 4 * contrast, 2);
        break;
    case SCENES:
        break;
    }
}

/* ---- the camera ---- */

static void draw_sensor(struct clip *clip)
{
    const size_t count = (size_t)clip->width * clip->height;
    const double columns = log_uniform(clip, 0.3, 4), rows = log_uniform(clip, 0.3, 4);
    const double gains = uniform(clip, 0, 1) < 0.25 ? 0.003 : 0;
    const unsigned faults = (unsigned)((double)count * uniform(clip, 0, 0.001));
    for (unsigned x = 0; x < clip->width; x++) {
        clip->column[x] = (float)(columns * normal(clip));
        clip->gain[x] = (float)(1 + gains * normal(clip));
    }
    for (unsigned y = 0; y < clip->height; y++)
        clip->row[y] = (float)(rows * normal(clip));
    for (unsigned i = 0; i < faults; i++)
        clip->fault[(size_t)uniform(clip, 0, (double)count)] =
            uniform(clip, 0, 1) < 0.2 ? -1000 : (float)log_uniform(clip, 15, 200);
}

static void make_clip(struct clip *clip, uint64_t seed, unsigned number, unsigned widest)
{
    *clip = (struct clip){.seed = seed + 1000003 * (uint64_t)number};
    clip->scene = (enum scene)(number % SCENES);
    clip->motion = (enum motion)((number / SCENES + number) % MOTIONS);
    clip->width = (unsigned)uniform(clip, widest / 2., widest);
    clip->height = (unsigned)(clip->width * uniform(clip, 0.5, 0.8));
    clip->scene_width = clip->width + MARGIN;
    clip->scene_height = clip->height + MARGIN;
    clip->light = calloc((size_t)clip->scene_width * clip->scene_height, sizeof *clip->light);
    clip->column = calloc(clip->width, sizeof *clip->column);
    clip->gain = calloc(clip->width, sizeof *clip->gain);
    clip->row = calloc(clip->height, sizeof *clip->row);
    clip->fault = calloc((size_t)clip->width * clip->height, sizeof *clip->fault);
    clip->noise = log_uniform(clip, 1, 4);
    clip->speed = log_uniform(clip, 0.4, 8);
    clip->angle = uniform(clip, 0, 2 * M_PI);
    clip->brightness = uniform(clip, 60, 180);
    draw_scene(clip);
    draw_sensor(clip);
}

static void free_clip(struct clip *clip)
{
    free(clip->light);
    free(clip->column);
    free(clip->gain);
    free(clip->row);
    free(clip->fault);
}

/* Returns a place that goes back and forth within the margin. */
static double bounce(double way)
{
    const double range = MARGIN - 8, turn = fmod(fabs(way), 2 * range);
    return 4 + (turn < range ? turn : 2 * range - turn);
}

static void move(struct clip *clip, unsigned frame)
{
    const double way = clip->speed * frame;
    clip->zoom = 1;
    clip->at[0] = clip->at[1] = MARGIN / 2.;
    switch (clip->motion) {
    case PAN:
    case ZOOM:
        clip->at[0] = bounce(MARGIN / 2. + way * cos(clip->angle));
        clip->at[1] = bounce(MARGIN / 2. + way * sin(clip->angle));
        if (clip->motion == ZOOM)
            clip->zoom = 1 - 0.05 * (0.5 - 0.5 * cos(frame / 30.));
        break;
    case ACROSS:
        clip->at[0] = bounce(MARGIN / 2. + way);
        break;
    case DOWN:
        clip->at[1] = bounce(MARGIN / 2. + way);
        break;
    case SHAKE:
        for (unsigned i = 0; i < 2; i++)
            clip->at[i] += 10 * sin(frame * (0.7 + 0.31 * i) + clip->angle) +
                           6 * sin(frame * (1.9 - 0.43 * i));
        break;
    case STILL:
    case MOTIONS:
        break;
    }
}

/* The light that falls on a pixel, in grey levels. */
static double light_at(const struct clip *clip, unsigned x, unsigned y)
{
    const double from_x = clip->at[0] + clip->zoom * x, from_y = clip->at[1] + clip->zoom * y;
    const unsigned left = (unsigned)from_x, top = (unsigned)from_y;
    const float u = (float)(from_x - left), v = (float)(from_y - top);
    const float *at = clip->light + (size_t)top * clip->scene_width + left;
    const float *below = at + clip->scene_width;
    return clip->brightness + (double)((1 - v) * ((1 - u) * at[0] + u * at[1]) +
                                       v * ((1 - u) * below[0] + u * below[1]));
}

static double to_8_bits(double level)
{
    return rint(fmin(fmax(level, 0), 255));
}

/* Fills in what the camera delivers, and what a perfect one would. */
static void capture(struct clip *clip, unsigned frame, float *captured, float *perfect)
{
    move(clip, frame);
    const double lamp = 1 + 0.01 * sin(frame / 9.);
    for (unsigned y = 0; y < clip->height; y++)
        for (unsigned x = 0; x < clip->width; x++) {
            const size_t i = (size_t)y * clip->width + x;
            const double light = lamp * light_at(clip, x, y), noise = clip->noise * normal(clip);
            const double fault = (double)clip->fault[i];
            const double level = fault < 0
                                     ? 0
                                     : light * (double)clip->gain[x] +
                                           (double)(clip->column[x] + clip->row[y]) + noise + fault;
            captured[i] = (float)(to_8_bits(level) / 255);
            if (perfect != NULL)
                perfect[i] = (float)to_8_bits(light);
        }
}

/* ---- the result ---- */

struct result {
    double before, after, oracle; /* PSNR, dB: to the light, without noise */
    double healthy;               /* PSNR where no pixel is faulty */
    double columns, rows;         /* rms of what is left, grey levels */
    unsigned faults, missed, false_alarms;
    double seconds, stillness;
};

static double psnr(double squares, size_t count)
{
    return 10 * log10(255 * 255 * (double)count / fmax(squares, 1e-9));
}

static double left_rms(const float *truth, const double *found, unsigned count)
{
    double sum = 0, squares = 0;
    for (unsigned i = 0; i < count; i++) {
        const double off = (double)truth[i] - 255 * found[i];
        sum += off;
        squares += off * off;
    }
    return sqrt(fmax(0, squares / count - sum / count * sum / count));
}

static bool is_bad(const struct stripes *stripes, size_t i)
{
    return stripes->bad[i] != 0;
}

/* What the daemon makes of a pixel (calibration.h). */
static double corrected(const struct clip *clip, const struct stripes *stripes,
                        const float *captured, unsigned x, unsigned y, bool with_bad)
{
    const size_t i = (size_t)y * clip->width + x;
    const unsigned width = clip->width, height = clip->height;
    if (!with_bad || !is_bad(stripes, i))
        return 255 * ((double)captured[i] - stripes->column.offset[x] - stripes->row.offset[y]);
    double sum = 0;
    unsigned count = 0;
    const struct {
        bool is_there;
        unsigned x, y;
    } beside[] = {{x > 0, x - 1, y},
                  {x + 1 < width, x + 1, y},
                  {y > 0, x, y - 1},
                  {y + 1 < height, x, y + 1}};
    for (unsigned k = 0; k < 4; k++)
        if (beside[k].is_there && !is_bad(stripes, (size_t)beside[k].y * width + beside[k].x)) {
            sum += corrected(clip, stripes, captured, beside[k].x, beside[k].y, false);
            count++;
        }
    return count > 0 ? sum / count : 255 * (double)captured[i];
}

static void judge(struct clip *clip, const struct stripes *stripes, struct result *ret)
{
    const size_t count = (size_t)clip->width * clip->height;
    float *captured = malloc(count * sizeof *captured), *perfect = malloc(count * sizeof *perfect);
    double before = 0, after = 0, healthy = 0, oracle = 0;
    size_t healthy_count = 0, all = 0;
    for (unsigned frame = 0; frame < FRAMES; frame += FRAMES / 4) {
        capture(clip, frame, captured, perfect);
        for (unsigned y = 0; y < clip->height; y++)
            for (unsigned x = 0; x < clip->width; x++) {
                const size_t i = (size_t)y * clip->width + x;
                const double truth = (double)perfect[i], raw = 255 * (double)captured[i];
                const double off =
                    to_8_bits(corrected(clip, stripes, captured, x, y, true)) - truth;
                before += (raw - truth) * (raw - truth);
                after += off * off;
                all++;
                if (clip->fault[i] == 0) {
                    const double known =
                        to_8_bits(raw - (double)(clip->column[x] + clip->row[y])) - truth;
                    healthy += off * off;
                    oracle += known * known;
                    healthy_count++;
                }
            }
    }
    for (size_t i = 0; i < count; i++) {
        ret->faults += clip->fault[i] != 0;
        ret->missed += clip->fault[i] != 0 && !is_bad(stripes, i);
        ret->false_alarms += clip->fault[i] == 0 && is_bad(stripes, i);
    }
    ret->before = psnr(before, all);
    ret->after = psnr(after, all);
    ret->healthy = psnr(healthy, healthy_count);
    ret->oracle = psnr(oracle, healthy_count);
    ret->columns = left_rms(clip->column, stripes->column.offset, clip->width);
    ret->rows = left_rms(clip->row, stripes->row.offset, clip->height);
    free(captured);
    free(perfect);
}

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void calibrate(struct clip *clip, struct result *ret)
{
    struct stripes stripes;
    *ret = (struct result){0};
    assert_int_equal(stripes_init(&stripes, clip->width, clip->height, 1, FRAMES), 0);
    for (unsigned frame = 0; frame < FRAMES; frame++) {
        capture(clip, frame, stripes.level, NULL);
        const double begin = cpu_seconds();
        assert_int_equal(stripes_add(&stripes), 0);
        ret->seconds += cpu_seconds() - begin;
    }
    const double begin = cpu_seconds();
    assert_int_equal(stripes_solve(&stripes), 0);
    ret->seconds += cpu_seconds() - begin;
    ret->stillness = stripes_stillness(&stripes);
    judge(clip, &stripes, ret);
    stripes_finish(&stripes);
}

static void add_result(struct result *sum, const struct result *one)
{
    sum->before += one->before;
    sum->after += one->after;
    sum->healthy += one->healthy;
    sum->oracle += one->oracle;
    sum->columns += one->columns;
    sum->rows += one->rows;
    sum->faults += one->faults;
    sum->missed += one->missed;
    sum->false_alarms += one->false_alarms;
    sum->seconds += one->seconds;
}

static void print_sum(const char *which, const struct result *sum, unsigned count)
{
    printf("# figures: mean of %u that %s: %.2f dB before, %.2f after, %.2f where no pixel is bad, "
           "where the true offsets give %.2f; %.2f of columns and %.2f of rows left; of %u bad "
           "pixels %u missed, and %u others; %.2f s\n",
           count, which, sum->before / count, sum->after / count, sum->healthy / count,
           sum->oracle / count, sum->columns / count, sum->rows / count, sum->faults, sum->missed,
           sum->false_alarms, sum->seconds / count);
}

static void clips_are_corrected(void **state)
{
    (void)state;
    const char *text = getenv("FFTD_TEST_SEED");
    const uint64_t seed = text != NULL ? strtoull(text, NULL, 10) : 1;
    const unsigned count = trials_count(48, 12), widest = trials_are_all() ? 400 : 180;
    struct result moving = {0}, still = {0};
    unsigned moving_count = 0, still_count = 0;
    for (unsigned i = 0; i < count; i++) {
        struct clip clip;
        struct result r;
        make_clip(&clip, seed, i, widest);
        calibrate(&clip, &r);
        if (trials_are_all())
            printf("# figures: %u, %s %s, %ux%u, noise of %.1f: %.1f dB before, %.1f after, %.1f "
                   "where no pixel is bad, of %.1f; %.2f of columns and %.2f of rows left; of %u "
                   "bad pixels %u missed, and %u others; %.2f s; stillness %.2f\n",
                   i, scene_names[clip.scene], motion_names[clip.motion], clip.width, clip.height,
                   clip.noise, r.before, r.after, r.healthy, r.oracle, r.columns, r.rows, r.faults,
                   r.missed, r.false_alarms, r.seconds, r.stillness);
        add_result(clip.motion == STILL ? &still : &moving, &r);
        *(clip.motion == STILL ? &still_count : &moving_count) += 1;
        assert_true((r.stillness > 0.5) == (clip.motion == STILL));
        free_clip(&clip);
    }
    print_sum("move", &moving, moving_count);
    assert_true(moving.after > moving.before + (moving_count > 1 ? 2 * moving_count : 0));
    assert_true(moving.healthy > moving.oracle - 2 * moving_count);
    assert_true(moving.missed <= 2 + moving.faults / 10);
    assert_true(moving.false_alarms <= 10 * moving_count);
    if (still_count == 0) /* there is one clip only */
        return;
    print_sum("are still", &still, still_count);
    assert_true(still.after > still.before + 1.5 * still_count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clips_are_corrected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

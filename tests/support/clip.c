#include "support/clip.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MARGIN 200u /* for panning */

/* Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014. */
static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

double clip_uniform(uint64_t *state, double from, double to)
{
    return from + (to - from) * (double)(next(state) >> 11) / 9007199254740992.0;
}

double clip_normal(uint64_t *state)
{
    const double u = clip_uniform(state, 1e-12, 1);
    return sqrt(-2 * log(u)) * cos(2 * M_PI * clip_uniform(state, 0, 1));
}

double clip_corners(uint64_t *state)
{
    const bool has_some = clip_uniform(state, 0, 1) < 0.5;
    return has_some ? clip_uniform(state, 0.5, 1) : 1;
}

/* Adds noise with a period of about `cell` pixels, smooth between its points. */
static void add_octave(struct clip *clip, uint64_t *state, double cell, double amplitude)
{
    const unsigned columns = (unsigned)(clip->canvas_width / cell) + 3;
    const unsigned rows = (unsigned)(clip->canvas_height / cell) + 3;
    double *point = malloc((size_t)columns * rows * sizeof *point);
    const double off_x = clip_uniform(state, 0, 1);
    const double off_y = clip_uniform(state, 0, 1);
    for (size_t i = 0; i < (size_t)columns * rows; i++)
        point[i] = amplitude * clip_normal(state);
    for (unsigned y = 0; y < clip->canvas_height; y++) {
        const double v = y / cell + off_y;
        const unsigned j = (unsigned)v;
        const double b = (v - j) * (v - j) * (3 - 2 * (v - j));
        for (unsigned x = 0; x < clip->canvas_width; x++) {
            const double u = x / cell + off_x;
            const unsigned i = (unsigned)u;
            const double a = (u - i) * (u - i) * (3 - 2 * (u - i));
            const double *p = point + (size_t)j * columns + i;
            clip->canvas[(size_t)y * clip->canvas_width + x] +=
                (float)((1 - b) * ((1 - a) * p[0] + a * p[1]) +
                        b * ((1 - a) * p[columns] + a * p[columns + 1]));
        }
    }
    free(point);
}

static void add_shapes(struct clip *clip, uint64_t *state, unsigned count)
{
    for (unsigned k = 0; k < count; k++) {
        const double x0 = clip_uniform(state, 0, clip->canvas_width);
        const double y0 = clip_uniform(state, 0, clip->canvas_height);
        const double a = clip_uniform(state, 8, clip->canvas_width * 0.25);
        const double b = clip_uniform(state, 8, clip->canvas_height * 0.25);
        const double angle = clip_uniform(state, 0, M_PI);
        const double level = clip_uniform(state, -40, 40);
        const bool is_round = clip_uniform(state, 0, 1) < 0.5;
        const double cosine = cos(angle), sine = sin(angle);
        for (unsigned y = 0; y < clip->canvas_height; y++)
            for (unsigned x = 0; x < clip->canvas_width; x++) {
                const double u = ((x - x0) * cosine + (y - y0) * sine) / a;
                const double v = ((y - y0) * cosine - (x - x0) * sine) / b;
                if (is_round ? u * u + v * v < 1 : fabs(u) < 1 && fabs(v) < 1)
                    clip->canvas[(size_t)y * clip->canvas_width + x] += (float)level;
            }
    }
}

static double stripe(double phase, double share)
{
    return phase - floor(phase) < share ? 1 : -1;
}

/* The texture's level in pixels, averaged over each pixel's area. */
struct texture {
    enum clip_scene scene;
    double period, other, cosine, sine, share, contrast, jitter;
    uint64_t seed;
};

static double texture_at(const struct texture *t, double x, double y)
{
    const double u = x * t->cosine + y * t->sine;
    const double v = y * t->cosine - x * t->sine;
    switch (t->scene) {
    case CLIP_BLINDS:
        return t->contrast * stripe(v / t->period, t->share);
    case CLIP_BRICKS: {
        const double row = floor(v / t->period);
        const bool is_mortar = stripe(v / t->period, 0.15) > 0 ||
                               stripe(u / t->other + (fmod(fabs(row), 2) < 1 ? 0 : 0.5),
                                      0.15 * t->period / t->other) > 0;
        uint64_t brick = t->seed + (uint64_t)(int64_t)(row * 7919 + floor(u / t->other) * 104729);
        return is_mortar ? t->contrast : -t->contrast + t->jitter * clip_normal(&brick);
    }
    case CLIP_FABRIC: {
        const double bend = t->jitter * sin(u / 61) + t->jitter * sin(v / 47 + 1);
        return t->contrast * (sin(2 * M_PI * (u + bend) / t->period) * 0.6 +
                              sin(2 * M_PI * (v - bend) / t->other) * 0.6 +
                              0.4 * sin(2 * M_PI * (u + bend) / t->period) *
                                  sin(2 * M_PI * (v - bend) / t->other));
    }
    case CLIP_GRATING:
        return t->contrast * sin(2 * M_PI * u / t->period);
    case CLIP_CHECKERBOARD:
        return t->contrast * stripe(u / (2 * t->period), 0.5) * stripe(v / (2 * t->period), 0.5);
    case CLIP_NATURAL:
    case CLIP_SMOOTH:
    case CLIP_SCENES:
        break;
    }
    return 0;
}

/* Gratings cover 15 to 85 percent of a frame; the others, from 25 percent to all of it. */
static void add_texture(struct clip *clip, uint64_t *state, enum clip_scene scene)
{
    struct texture t = {.scene = scene, .seed = *state};
    t.period = clip_uniform(state, 3.5, 20);
    t.other = scene == CLIP_BRICKS ? t.period * clip_uniform(state, 2, 3.5)
                                   : clip_uniform(state, 3.5, 20);
    const double angle = clip_uniform(state, 0, 1) < 0.5 ? 0 : clip_uniform(state, -0.6, 0.6);
    t.cosine = cos(angle);
    t.sine = sin(angle);
    t.share = clip_uniform(state, 0.2, 0.8);
    t.contrast = clip_uniform(state, 8, 45);
    t.jitter = clip_uniform(state, 0, 4);
    const bool is_whole = scene != CLIP_GRATING && clip_uniform(state, 0, 1) < 0.4;
    const double share_x = is_whole ? 3 : sqrt(clip_uniform(state, 0.15, 0.85));
    const double share_y = is_whole ? 3 : sqrt(clip_uniform(state, 0.15, 0.85));
    const double left = clip->canvas_width / 2.0 +
                        (clip_uniform(state, 0, 1 - fmin(share_x, 1)) - 0.5) * clip->width;
    const double top = clip->canvas_height / 2.0 +
                       (clip_uniform(state, 0, 1 - fmin(share_y, 1)) - 0.5) * clip->height;
    for (unsigned y = 0; y < clip->canvas_height; y++)
        for (unsigned x = 0; x < clip->canvas_width; x++) {
            if (!is_whole && (x < left || x >= left + share_x * clip->width || y < top ||
                              y >= top + share_y * clip->height))
                continue;
            double sum = 0;
            for (int j = 0; j < 3; j++)
                for (int i = 0; i < 3; i++)
                    sum += texture_at(&t, x + (i - 1) / 3.0, y + (j - 1) / 3.0);
            clip->canvas[(size_t)y * clip->canvas_width + x] += (float)(sum / 9);
        }
}

void clip_make(struct clip *ret, enum clip_scene scene, unsigned width, unsigned height,
               bool is_panning, double sigma, uint64_t seed)
{
    uint64_t state = seed;
    struct clip clip = {.width = width, .height = height, .sigma = sigma};
    clip.seed = seed;
    clip.sensor = seed;
    clip.corners = clip.contrast = 1;
    clip.canvas_width = width + 2 * MARGIN;
    clip.canvas_height = height + 2 * MARGIN;
    clip.canvas = calloc((size_t)clip.canvas_width * clip.canvas_height, sizeof *clip.canvas);
    if (is_panning) {
        clip.pan_x = clip_uniform(&state, -5, 5);
        clip.pan_y = clip_uniform(&state, -3, 3);
    }
    const double slope_x = clip_uniform(&state, -30, 30);
    const double slope_y = clip_uniform(&state, -30, 30);
    for (unsigned y = 0; y < clip.canvas_height; y++)
        for (unsigned x = 0; x < clip.canvas_width; x++)
            clip.canvas[(size_t)y * clip.canvas_width + x] =
                (float)(120 + slope_x * ((double)x / clip.canvas_width - 0.5) +
                        slope_y * ((double)y / clip.canvas_height - 0.5));
    if (scene == CLIP_NATURAL) {
        const double size = clip_uniform(&state, 6, 14);
        for (unsigned cell = 256; cell >= 2; cell /= 2)
            add_octave(&clip, &state, cell * clip_uniform(&state, 0.8, 1.2),
                       size * pow(cell / 64.0, 0.8));
        add_shapes(&clip, &state, 12);
    } else {
        add_shapes(&clip, &state, 3);
    }
    if (scene != CLIP_NATURAL && scene != CLIP_SMOOTH)
        add_texture(&clip, &state, scene);
    *ret = clip;
}

void clip_clear(struct clip *clip)
{
    free(clip->canvas);
    memset(clip, 0, sizeof *clip);
}

/* The light falls with the square of the distance from the centre, which moves with the frame. */
static float shading(const struct clip *clip, unsigned x, unsigned y)
{
    const double u = 2.0 * x / (clip->width - 1) - 1;
    const double v = 2.0 * y / (clip->height - 1) - 1;
    return (float)(1 - (1 - clip->corners) * (u * u + v * v) / 2);
}

/* The sum of four uniform numbers is near enough to a normal one, and fast. Deviation: sqrt(1/3).
 */
static double quick_normal(uint64_t *state)
{
    const uint64_t bits = next(state);
    return ((double)(bits & 0xffff) + (double)(bits >> 16 & 0xffff) +
            (double)(bits >> 32 & 0xffff) + (double)(bits >> 48)) /
               65536 -
           2;
}

void clip_frame(const struct clip *clip, unsigned index, float *ret)
{
    uint64_t state = clip->seed * 1000003 + index, sensor = clip->sensor + 0x5eed;
    const float contrast = (float)clip->contrast;
    const double x0 = fmin(fmax(MARGIN + clip->pan_x * ((double)index - 32), 0), 2 * MARGIN - 2);
    const double y0 = fmin(fmax(MARGIN + clip->pan_y * ((double)index - 32), 0), 2 * MARGIN - 2);
    const unsigned ix = (unsigned)x0;
    const unsigned iy = (unsigned)y0;
    const float a = (float)(x0 - ix);
    const float b = (float)(y0 - iy);
    for (unsigned y = 0; y < clip->height; y++) {
        const float *p = clip->canvas + (size_t)(iy + y) * clip->canvas_width + ix;
        const float *q = p + clip->canvas_width;
        for (unsigned x = 0; x < clip->width; x++) {
            const double noise = quick_normal(&state) * sqrt(3) * clip->sigma;
            float level =
                (1 - b) * ((1 - a) * p[x] + a * p[x + 1]) + b * ((1 - a) * q[x] + a * q[x + 1]);
            if (contrast != 1)
                level = fmaxf(120 + contrast * (level - 120), 0);
            if (clip->uneven > 0)
                level *= (float)(1 + quick_normal(&sensor) * sqrt(3) * clip->uneven);
            const float sum = shading(clip, x, y) * level + (float)noise;
            ret[(size_t)y * clip->width + x] = sum < 0 ? 0 : sum > 255 ? 255 : sum;
        }
    }
}

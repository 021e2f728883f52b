/* The pictures of the test scenes: each is a function from a pixel to a colour.
 *
 *   bars       eight colour bars at 75%, and a grey ramp below
 *   zoneplate  frequency grows with the distance from the centre: at (dx, dy) pixels from it the
 *              luma wave has dx/L and dy/L cycles a pixel, L the longer side. So no frequency
 *              exceeds 0.5, and 0.5 is reached in the middles of the two edges that bound the
 *              longer side: the effect of a filter on every frequency is visible at once.
 *   noise      see pattern_draw.c; it has no still part
 *   scene      a landscape with a house and a tree: gradients, straight edges, round edges and
 *              texture, in the luma range 0.2 .. 0.8, and an object that moves over it
 *   moire      the same without the object and with periodic noise: see pattern_moire */
#include "capture/pattern_scene.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "core/text.h"

#define PI 3.14159265358979323846

struct colour {
    float y, cb, cr;
};

/* Amplitudes add up to less than 0.2, the distance of the landscape's luma from both ends of the
 * range. The first two are a halftone screen, turned by 32 degrees; the third is banding, as under
 * mains light. */
const struct pattern_wave pattern_moire[PATTERN_MOIRE_WAVES] = {
    {0.21, 0.13, 0.08},
    {-0.13, 0.21, 0.06},
    {0.00, 0.34, 0.05},
};

static struct colour colour_rgb(float r, float g, float b)
{
    float y = 0.299f * r + 0.587f * g + 0.114f * b;
    return (struct colour){y, (b - y) / 1.772f, (r - y) / 1.402f};
}

static struct colour colour_mix(struct colour a, struct colour b, float part)
{
    return (struct colour){
        a.y + (b.y - a.y) * part,
        a.cb + (b.cb - a.cb) * part,
        a.cr + (b.cr - a.cr) * part,
    };
}

static void put(struct pattern_line line, uint32_t x, struct colour colour)
{
    line.y[x] = colour.y;
    line.cb[x] = colour.cb;
    line.cr[x] = colour.cr;
}

static float clamp01(float value)
{
    return fminf(fmaxf(value, 0.0f), 1.0f);
}

/* ---- bars ---- */

static void draw_bars(const struct pattern_canvas *canvas, uint32_t row, struct pattern_line line)
{
    bool ramp = row >= canvas->height - canvas->height / 4;
    for (uint32_t x = 0; x < canvas->width; x++) {
        /* White, yellow, cyan, green, magenta, red, blue, black: luma falls from left to right. */
        unsigned bar = 7 - (unsigned)((uint64_t)x * 8 / canvas->width);
        struct colour colour =
            colour_rgb(bar & 2 ? 0.75f : 0.0f, bar & 4 ? 0.75f : 0.0f, bar & 1 ? 0.75f : 0.0f);
        if (ramp)
            colour = (struct colour){.y = canvas->width > 1 ? (float)x / (canvas->width - 1) : 0};
        put(line, x, colour);
    }
}

/* ---- zoneplate ---- */

static void draw_zoneplate(const struct pattern_canvas *canvas, uint32_t row,
                           struct pattern_line line)
{
    double longer = fmax(canvas->width, canvas->height);
    double dy = row - (canvas->height - 1) / 2.0;
    for (uint32_t x = 0; x < canvas->width; x++) {
        double dx = x - (canvas->width - 1) / 2.0;
        put(line, x,
            (struct colour){
                .y = (float)(0.5 + 0.5 * cos(PI * (dx * dx + dy * dy) / longer)),
                .cb = (float)(0.3 * dx / canvas->width),
                .cr = (float)(0.3 * dy / canvas->height),
            });
    }
}

/* ---- the landscape ---- */

static float hash_unit(int32_t x, int32_t y, uint32_t seed)
{
    uint32_t h = (uint32_t)x * 0x9e3779b1u ^ (uint32_t)y * 0x85ebca77u ^ seed * 0xc2b2ae3du;
    h = (h ^ h >> 15) * 0x2c1b3c6du;
    h = (h ^ h >> 12) * 0x297a2d39u;
    return (float)((h ^ h >> 15) >> 8) * 0x1p-24f;
}

/* Random values on a lattice of unit cells, smoothly interpolated. */
static float value_noise(float x, float y, uint32_t seed)
{
    float cell_x = floorf(x), cell_y = floorf(y);
    int32_t i = (int32_t)cell_x, j = (int32_t)cell_y;
    float u = x - cell_x, v = y - cell_y;
    u = u * u * (3.0f - 2.0f * u);
    v = v * v * (3.0f - 2.0f * v);
    float top = hash_unit(i, j, seed) * (1.0f - u) + hash_unit(i + 1, j, seed) * u;
    float bottom = hash_unit(i, j + 1, seed) * (1.0f - u) + hash_unit(i + 1, j + 1, seed) * u;
    return top * (1.0f - v) + bottom * v;
}

/* A natural texture: octaves of noise, each half as strong as the previous one. 0 .. 1. */
static float texture(float x, float y, unsigned octaves, uint32_t seed)
{
    float sum = 0.0f, strength = 0.5f;
    for (unsigned i = 0; i < octaves; i++) {
        sum += strength * value_noise(x, y, seed + i);
        x *= 2.03f;
        y *= 2.03f;
        strength *= 0.5f;
    }
    return sum / (1.0f - 2.0f * strength);
}

/* A point of the landscape. The unit of length is the shorter side of the picture, the origin its
 * centre, so that the picture has the same proportions at any size. */
struct point {
    float x, y;
    float px; /* pixels a unit */
    uint32_t seed;
};

/* The part of the pixel that a shape covers whose border is `distance` units from the point.
 * Edges are one pixel soft, as behind a lens. */
static float cover(struct point p, float distance)
{
    return clamp01(0.5f - distance * p.px);
}

static float disk(struct point p, float x, float y, float radius)
{
    return cover(p, hypotf(p.x - x, p.y - y) - radius);
}

static float box(struct point p, float left, float top, float right, float bottom)
{
    float outside_x = fmaxf(left - p.x, p.x - right);
    float outside_y = fmaxf(top - p.y, p.y - bottom);
    return cover(p, fmaxf(outside_x, outside_y));
}

static struct colour sky(struct point p)
{
    float height = clamp01(0.55f + p.y);
    struct colour colour =
        colour_mix(colour_rgb(0.28f, 0.48f, 0.85f), colour_rgb(0.95f, 0.85f, 0.72f), height);
    float cloud = clamp01(2.5f * texture(3.0f * p.x, 7.0f * p.y, 5, p.seed) - 1.2f);
    colour = colour_mix(colour, colour_rgb(0.97f, 0.96f, 0.95f), cloud * (1.0f - 0.6f * height));
    return colour_mix(colour, colour_rgb(1.0f, 0.95f, 0.70f), disk(p, 0.42f, -0.28f, 0.07f));
}

static struct colour hills(struct point p, struct colour colour)
{
    float ridge = 0.12f - 0.30f * texture(2.2f * p.x + 9.0f, 0.5f, 5, p.seed + 11);
    float rock = texture(14.0f * p.x, 20.0f * p.y, 5, p.seed + 17);
    struct colour far = colour_mix(colour_rgb(0.25f, 0.30f, 0.42f), colour_rgb(0.62f, 0.64f, 0.70f),
                                   clamp01(1.6f * rock - 0.3f));
    colour = colour_mix(colour, far, cover(p, ridge - p.y));

    float meadow = 0.13f + 0.03f * sinf(4.0f * p.x);
    float grass = texture(40.0f * p.x, 60.0f * p.y, 4, p.seed + 23);
    float patch = texture(3.0f * p.x, 9.0f * p.y, 3, p.seed + 29);
    struct colour near = colour_mix(colour_rgb(0.16f, 0.30f, 0.08f),
                                    colour_rgb(0.58f, 0.68f, 0.25f), 0.6f * grass + 0.4f * patch);
    return colour_mix(colour, near, cover(p, meadow - p.y));
}

static struct colour house(struct point p, struct colour colour)
{
    const struct colour glass = colour_rgb(0.10f, 0.13f, 0.20f);
    float plaster = texture(30.0f * p.x, 30.0f * p.y, 3, p.seed + 31);
    struct colour wall =
        colour_mix(colour_rgb(0.80f, 0.74f, 0.64f), colour_rgb(0.93f, 0.89f, 0.80f), plaster);
    colour = colour_mix(colour, wall, box(p, -0.42f, -0.02f, -0.08f, 0.25f));
    /* The gable: below both slopes and above the eaves. */
    float slope = 0.7f * fabsf(p.x + 0.25f) - 0.17f - p.y;
    float roof = fminf(cover(p, fmaxf(slope, p.y + 0.01f)), 1.0f);
    colour = colour_mix(colour, colour_rgb(0.62f, 0.22f, 0.14f), roof);
    colour = colour_mix(colour, glass, box(p, -0.38f, 0.04f, -0.31f, 0.13f));
    colour = colour_mix(colour, glass, box(p, -0.19f, 0.04f, -0.12f, 0.13f));
    colour = colour_mix(colour, wall, box(p, -0.349f, 0.04f, -0.341f, 0.13f));
    colour = colour_mix(colour, wall, box(p, -0.159f, 0.04f, -0.151f, 0.13f));
    return colour_mix(colour, colour_rgb(0.36f, 0.20f, 0.10f),
                      box(p, -0.285f, 0.08f, -0.215f, 0.25f));
}

static struct colour tree(struct point p, struct colour colour)
{
    float bark = texture(60.0f * p.x, 9.0f * p.y, 3, p.seed + 37);
    colour = colour_mix(
        colour, colour_mix(colour_rgb(0.20f, 0.13f, 0.08f), colour_rgb(0.44f, 0.32f, 0.22f), bark),
        box(p, 0.185f, 0.05f, 0.225f, 0.32f));
    float leaves = texture(22.0f * p.x, 22.0f * p.y, 5, p.seed + 41);
    float ragged = 0.15f + 0.06f * (leaves - 0.5f);
    struct colour crown = colour_mix(colour_rgb(0.05f, 0.16f, 0.04f),
                                     colour_rgb(0.42f, 0.58f, 0.18f), clamp01(2 * leaves - 0.5f));
    return colour_mix(colour, crown, disk(p, 0.2f, 0.0f, ragged));
}

static void draw_landscape(const struct pattern_canvas *canvas, uint32_t row,
                           struct pattern_line line)
{
    struct point p = {.px = fminf(canvas->width, canvas->height), .seed = canvas->seed};
    p.y = ((float)row + 0.5f - 0.5f * (float)canvas->height) / p.px;
    for (uint32_t x = 0; x < canvas->width; x++) {
        p.x = ((float)x + 0.5f - 0.5f * (float)canvas->width) / p.px;
        struct colour colour = tree(p, house(p, hills(p, sky(p))));
        colour.y = 0.2f + 0.6f * clamp01(colour.y);
        colour.cb *= 0.8f;
        colour.cr *= 0.8f;
        put(line, x, colour);
    }
}

static void draw_moire(const struct pattern_canvas *canvas, uint32_t row, struct pattern_line line)
{
    draw_landscape(canvas, row, line);
    for (unsigned i = 0; i < PATTERN_MOIRE_WAVES; i++) {
        const struct pattern_wave *wave = &pattern_moire[i];
        for (uint32_t x = 0; x < canvas->width; x++)
            line.y[x] += (float)(wave->amplitude * cos(2.0 * PI * (wave->fx * x + wave->fy * row)));
    }
}

/* ---- the moving object ---- */

/* A framed card with a ramp of colours, unlike anything in the landscape. */
static void draw_card(const struct pattern_canvas *canvas, uint32_t row, struct pattern_line line)
{
    uint32_t border = (canvas->width < canvas->height ? canvas->width : canvas->height) / 10;
    float v = (float)row / (float)canvas->height;
    for (uint32_t x = 0; x < canvas->width; x++) {
        float u = (float)x / (float)canvas->width;
        bool inside = x >= border && x + border < canvas->width && row >= border &&
                      row + border < canvas->height;
        put(line, x,
            inside ? (struct colour){0.3f + 0.4f * u, 0.4f * (u - 0.5f), 0.4f * (0.5f - v)}
                   : (struct colour){0.8f, 0.0f, 0.0f});
    }
}

const struct pattern_scene pattern_object_scene = {"card", PATTERN_STILL, draw_card};

static const struct pattern_scene scenes[] = {
    {"bars", PATTERN_STILL, draw_bars},
    {"zoneplate", PATTERN_STILL, draw_zoneplate},
    {"noise", PATTERN_NOISE, NULL},
    {"moire", PATTERN_STILL, draw_moire},
    {"scene", PATTERN_OBJECT, draw_landscape},
};

#define SCENE_COUNT (sizeof scenes / sizeof scenes[0])

int pattern_find(const struct pattern_scene **ret, const char *name, struct error *why)
{
    char known[128] = "", quoted[TEXT_QUOTE_BYTES];
    for (unsigned i = 0; i < SCENE_COUNT; i++) {
        if (strcmp(scenes[i].name, name) == 0) {
            *ret = &scenes[i];
            return 0;
        }
        text_append(known, sizeof known, "%s%s", i == 0 ? "" : ", ", scenes[i].name);
    }
    return error_set(why, EINVAL, "test scene %s is unknown: expected one of %s",
                     text_quote(quoted, name), known);
}

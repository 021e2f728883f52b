#include "support/flow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/leaves.h"
#include "support/scene.h"

#define SCALE  2  /* pixels of a canvas to one of a picture */
#define MARGIN 64 /* pixels of a picture */
#define TAPS   6
#define PHASES 1024

const char *const flow_names[FLOW_KINDS] = {"still",    "pan",       "rotation", "zoom",
                                            "parallax", "occlusion", "vortex",   "shear"};

struct canvas {
    unsigned width, height;
    float *samples;
};

static double between(uint64_t *seed, double from, double to)
{
    return from + (to - from) * scene_uniform(seed);
}

static void add_particles(struct canvas *canvas, uint64_t *seed)
{
    const double density = between(seed, 0.02, 0.06) / (SCALE * SCALE);
    const unsigned count = (unsigned)(density * canvas->width * canvas->height);
    for (size_t i = 0; i < (size_t)canvas->width * canvas->height; i++)
        canvas->samples[i] = 20;
    for (unsigned p = 0; p < count; p++) {
        const double x = between(seed, 0, canvas->width), y = between(seed, 0, canvas->height);
        const double radius = SCALE * between(seed, 0.5, 0.9), level = between(seed, 60, 220);
        const int reach = (int)ceil(4 * radius);
        for (int v = (int)y - reach; v <= (int)y + reach; v++)
            for (int u = (int)x - reach; u <= (int)x + reach; u++)
                if (u >= 0 && v >= 0 && u < (int)canvas->width && v < (int)canvas->height)
                    canvas->samples[(size_t)v * canvas->width + (unsigned)u] +=
                        (float)(level * exp(-0.5 * ((u - x) * (u - x) + (v - y) * (v - y)) /
                                            (radius * radius)));
    }
}

static void paint(struct canvas *canvas, bool has_particles, uint64_t *seed)
{
    if (has_particles) {
        add_particles(canvas, seed);
        return;
    }
    struct leaves leaves;
    const double size = hypot(canvas->width, canvas->height);
    leaves_make(&leaves, size, between(seed, 0.2, 1), seed);
    for (size_t i = 0; i < (size_t)canvas->width * canvas->height; i++)
        canvas->samples[i] = 128;
    const struct leaves_view view = {.blur_px = SCALE * between(seed, 0.5, 0.9)};
    leaves_draw(&leaves, &view, canvas->width, canvas->height, canvas->samples);
    leaves_clear(&leaves);
}

/* Lanczos' interpolation; what is painted has next to nothing above half of a canvas' bandwidth. */
static void make_taps(float taps[PHASES][TAPS])
{
    for (unsigned p = 0; p < PHASES; p++) {
        double sum = 0, tap[TAPS];
        for (int t = 0; t < TAPS; t++) {
            const double x = M_PI * (t - 2 - (p + 0.5) / PHASES);
            sum += tap[t] = sin(x) / x * sin(x / 3) / (x / 3);
        }
        for (int t = 0; t < TAPS; t++)
            taps[p][t] = (float)(tap[t] / sum);
    }
}

static float sample(const struct canvas *canvas, float taps[PHASES][TAPS], double x, double y)
{
    const double u = fmin(fmax(SCALE * (x + MARGIN), 2), canvas->width - 4.0);
    const double v = fmin(fmax(SCALE * (y + MARGIN), 2), canvas->height - 4.0);
    const unsigned left = (unsigned)u - 2, top = (unsigned)v - 2;
    const float *wx = taps[(unsigned)(PHASES * (u - floor(u)))];
    const float *wy = taps[(unsigned)(PHASES * (v - floor(v)))];
    float sum = 0;
    for (unsigned j = 0; j < TAPS; j++) {
        const float *p = canvas->samples + (size_t)(top + j) * canvas->width + left;
        float line = 0;
        for (unsigned i = 0; i < TAPS; i++)
            line += wx[i] * p[i];
        sum += wy[j] * line;
    }
    return sum;
}

static void motion_at(const struct flow_motion *m, double x, double y, double ret[2])
{
    const double rx = x - m->x0, ry = y - m->y0, r2 = rx * rx + ry * ry + 1e-9;
    ret[0] = m->dx + m->xx * rx + m->xy * ry;
    ret[1] = m->dy + m->yx * rx + m->yy * ry;
    if (m->radius > 0) { /* its largest velocity is at about 1.12 radii */
        const double speed = m->swirl * 1.4 * m->radius / sqrt(r2) *
                             (1 - exp(-1.2564 * r2 / (m->radius * m->radius)));
        ret[0] -= speed * ry / sqrt(r2);
        ret[1] += speed * rx / sqrt(r2);
    }
    if (m->wavelength > 0) {
        const double k = 2 * M_PI / m->wavelength;
        ret[0] += m->shear / k * sin(k * ry);
        ret[1] += m->shear / k * sin(k * rx + 1);
    }
}

static bool covers(const struct flow *flow, unsigned layer, double x, double y)
{
    if (layer == 0)
        return true;
    const double u = 2 * (x - flow->left[layer]) / flow->size[layer][0] - 1;
    const double v = 2 * (y - flow->top[layer]) / flow->size[layer][1] - 1;
    return flow->is_disc[layer] ? u * u + v * v < 1 : fabs(u) < 1 && fabs(v) < 1;
}

/* The nearest layer at a place of the second picture. */
static unsigned layer_at(const struct flow *flow, double x, double y)
{
    for (unsigned k = flow->layers; k-- > 1;) {
        double moved[2];
        motion_at(&flow->motion[k], x, y, moved);
        if (covers(flow, k, x - moved[0], y - moved[1]))
            return k;
    }
    return 0;
}

void flow_at(const struct flow *flow, double x, double y, double ret[2])
{
    motion_at(&flow->motion[layer_at(flow, x, y)], x, y, ret);
}

unsigned flow_seen(const struct flow *flow, double middle_x, double middle_y, double side,
                   double ret[FLOW_LAYERS][2])
{
    unsigned count[FLOW_LAYERS] = {0}, seen = 0;
    for (int j = 0; j < 8; j++)
        for (int i = 0; i < 8; i++)
            count[layer_at(flow, middle_x + side * ((i + 0.5) / 8 - 0.5),
                           middle_y + side * ((j + 0.5) / 8 - 0.5))]++;
    count[layer_at(flow, middle_x, middle_y)] = 64;
    for (unsigned k = 0; k < flow->layers; k++)
        if (count[k] >= 16)
            motion_at(&flow->motion[k], middle_x, middle_y, ret[seen++]);
    return seen;
}

double flow_error(const struct flow *flow, double middle_x, double middle_y, double side, double dx,
                  double dy)
{
    double seen[FLOW_LAYERS][2], least = INFINITY;
    const unsigned count = flow_seen(flow, middle_x, middle_y, side, seen);
    for (unsigned k = 0; k < count; k++)
        least = fmin(least, hypot(dx - seen[k][0], dy - seen[k][1]));
    return least;
}

static void draw_motion(struct flow *flow, double most, uint64_t *seed)
{
    const double width = flow->width, height = flow->height;
    struct flow_motion *m = flow->motion;
    const double towards = between(seed, 0, 2 * M_PI), pan = between(seed, 0, 3);
    const double far = between(seed, 0, most);
    for (unsigned k = 0; k < FLOW_LAYERS; k++)
        m[k] = (struct flow_motion){.x0 = width * between(seed, 0.3, 0.7),
                                    .y0 = height * between(seed, 0.3, 0.7)};
    flow->layers = 1;
    m->dx = pan * cos(towards);
    m->dy = pan * sin(towards);
    const double angle = between(seed, -4, 4) * M_PI / 180, zoom = between(seed, -0.04, 0.04);
    switch (flow->kind) {
    case FLOW_STILL:
        m->dx = m->dy = 0;
        break;
    case FLOW_PAN:
        m->dx = far * cos(towards);
        m->dy = far * sin(towards);
        break;
    case FLOW_ROTATION: /* x - v(x) is x, turned back */
        m->xx = m->yy = 1 - cos(angle);
        m->xy = -sin(angle);
        m->yx = sin(angle);
        break;
    case FLOW_ZOOM:
        m->xx = m->yy = zoom;
        break;
    case FLOW_PARALLAX:
        flow->layers = 3;
        for (unsigned k = 1; k < 3; k++) {
            m[k].dx = m->dx * (1 + 1.5 * k);
            m[k].dy = m->dy * (1 + 1.5 * k);
            flow->left[k] = between(seed, 0, 0.6) * width;
            flow->top[k] = between(seed, 0.3, 0.6) * height;
            flow->size[k][0] = between(seed, 0.25, 0.6) * width;
            flow->size[k][1] = between(seed, 0.4, 1) * height;
        }
        break;
    case FLOW_OCCLUSION: {
        const double other = between(seed, 0, 2 * M_PI);
        flow->layers = 2;
        m[1].dx = far * cos(other);
        m[1].dy = far * sin(other);
        flow->size[1][0] = between(seed, 0.2, 0.5) * width;
        flow->size[1][1] = between(seed, 0.2, 0.5) * height;
        flow->left[1] = 0.5 * width - flow->size[1][0] * between(seed, 0.3, 0.7);
        flow->top[1] = 0.5 * height - flow->size[1][1] * between(seed, 0.3, 0.7);
        flow->is_disc[1] = scene_uniform(seed) < 0.5;
        break;
    }
    case FLOW_VORTEX:
        m->swirl = between(seed, 1, 4);
        m->radius = between(seed, 40, 120);
        break;
    case FLOW_SHEAR:
        m->shear = between(seed, 0.01, 0.05);
        m->wavelength = between(seed, 150, 400);
        break;
    case FLOW_KINDS:
        break;
    }
}

/* Shot noise and read noise have the same power at a level of 128. */
static float expose(double level, double sigma, uint64_t *seed)
{
    const double power = 0.5 * sigma * sigma * (1 + fmax(level, 0) / 128);
    const double noise = sigma > 0 ? sqrt(power) * scene_normal(seed) : 0;
    return (float)round(fmin(fmax(level + noise, 0), 255));
}

static void render(struct flow *ret, bool has_particles, double sigma, uint64_t seed)
{
    static float taps[PHASES][TAPS];
    const unsigned width = ret->width, height = ret->height;
    make_taps(taps);
    struct canvas canvas[FLOW_LAYERS];
    for (unsigned k = 0; k < ret->layers; k++) {
        canvas[k] =
            (struct canvas){SCALE * (width + 2 * MARGIN), SCALE * (height + 2 * MARGIN), NULL};
        canvas[k].samples =
            calloc((size_t)canvas[k].width * canvas[k].height, sizeof *canvas[k].samples);
        paint(&canvas[k], has_particles, &seed);
    }
    const size_t count = (size_t)width * height;
    ret->last = malloc(count * sizeof *ret->last);
    ret->next = malloc(count * sizeof *ret->next);
    for (unsigned y = 0; y < height; y++)
        for (unsigned x = 0; x < width; x++) {
            unsigned first = ret->layers - 1;
            while (!covers(ret, first, x, y))
                first--;
            const unsigned second = layer_at(ret, x, y);
            double moved[2];
            motion_at(&ret->motion[second], x, y, moved);
            ret->last[(size_t)y * width + x] =
                expose((double)sample(&canvas[first], taps, x, y), sigma, &seed);
            ret->next[(size_t)y * width + x] = expose(
                (double)sample(&canvas[second], taps, x - moved[0], y - moved[1]), sigma, &seed);
        }
    for (unsigned k = 0; k < ret->layers; k++)
        free(canvas[k].samples);
}

void flow_make(struct flow *ret, enum flow_kind kind, bool has_particles, unsigned width,
               unsigned height, double most, double sigma, uint64_t seed)
{
    *ret = (struct flow){.kind = kind, .width = width, .height = height};
    draw_motion(ret, most, &seed);
    render(ret, has_particles, sigma, seed);
}

void flow_make_pan(struct flow *ret, unsigned width, unsigned height, double dx, double dy,
                   double sigma, uint64_t seed)
{
    *ret = (struct flow){.kind = FLOW_PAN, .width = width, .height = height, .layers = 1};
    ret->motion[0] = (struct flow_motion){.dx = dx, .dy = dy};
    render(ret, false, sigma, seed);
}

void flow_make_similarity(struct flow *ret, unsigned width, unsigned height,
                          const struct similarity *moved, double share, const double thing[2],
                          double sigma, uint64_t seed)
{
    const struct similarity back = similarity_inverse(moved);
    const double zoom = exp(back.log_zoom);
    const double cosine = zoom * cos(back.angle_rad), sine = zoom * sin(back.angle_rad);
    *ret = (struct flow){.width = width, .height = height, .layers = share > 0 ? 2 : 1};
    ret->motion[0] = (struct flow_motion){.dx = -back.dx,
                                          .dy = -back.dy,
                                          .xx = 1 - cosine,
                                          .xy = sine,
                                          .yx = -sine,
                                          .yy = 1 - cosine,
                                          .x0 = 0.5 * (width - 1),
                                          .y0 = 0.5 * (height - 1)};
    ret->motion[1] = (struct flow_motion){.dx = thing[0], .dy = thing[1]};
    const double part = fmin(share * between(&seed, 1.2, 2.5), 1); /* of the width */
    ret->size[1][0] = part * width;
    ret->size[1][1] = fmin(share / part, 1) * height;
    ret->left[1] = between(&seed, 0, 1) * (width - ret->size[1][0]);
    ret->top[1] = between(&seed, 0, 1) * (height - ret->size[1][1]);
    render(ret, false, sigma, seed);
}

void flow_clear(struct flow *flow)
{
    free(flow->last);
    free(flow->next);
}

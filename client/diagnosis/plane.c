/* How well a line explains the spectrum in all directions at once; detail.h has the maths.
 *
 * Profiles along different directions have different frequencies, so what they leave cannot be
 * compared: a wall of bricks leaves much along some of them, whatever the blur. Here, each line has
 * to explain the same frequencies. */
#include <math.h>
#include <stdlib.h>

#include "core/normal.h"
#include "detail_private.h"

#define LOWEST     0.03 /* cycles/pixel; below it is the scene's composition */
#define HIGHEST    0.47
#define NOISE      1.5   /* standard errors of a power, which is one of many that windows mix */
#define TURNS      5u    /* iterations of the Gauss-Newton method */
#define ODD        2.    /* the error of the logarithm whose weight is one half */
#define BETWEEN    0.008 /* cycles/pixel: windowed squares mix frequencies that close */
#define LEAST_BLUR 2e-4  /* power that passes at the zeros of any blur */

/* The law of a scene's power: a power law with a bend, which depends on the direction. */
enum { TERMS = 8 };
static const double usual[TERMS] = {0, -2.2, -15, 0, 0, 0, 0, 0};

struct sample {
    double level, error, weight, blur; /* the logarithm, what is added to a law, ... */
    double term[TERMS];
};

static double line_at(double size, double f)
{
    const double x = M_PI * size * f;
    return fabs(x) < 1e-6 ? 1 : pow(sin(x) / x, 2);
}

/* Every other frequency of a half plane but those on the axes, where stripes and borders are. */
static unsigned sample(const struct detail *detail, double size, double degrees, struct sample *ret)
{
    const double c = cos(degrees * M_PI / 180), s = sin(degrees * M_PI / 180);
    const unsigned side = detail->side;
    unsigned count = 0;
    for (unsigned y = 0; y < side; y++)
        for (unsigned x = side / 2 + 2; x < side; x++) {
            const double fx = frequency_at(detail, x), fy = frequency_at(detail, y);
            const double r = hypot(fx, fy), u = fx * c + fy * s, logarithm = log(r / 0.1);
            const double cosine = (fx * fx - fy * fy) / (r * r), sine = 2 * fx * fy / (r * r);
            const size_t at = (size_t)y * side + x;
            if ((x + y) % 2 != 0 || (y + 2 > side / 2 && y < side / 2 + 2) || r < LOWEST ||
                r > HIGHEST)
                continue;
            const double sigma = NOISE * sqrt(fmax(detail->error[at], 0)) + 1e-9;
            const double near = (line_at(size, u - BETWEEN) + line_at(size, u + BETWEEN)) / 2;
            ret[count++] =
                (struct sample){.level = log(fmax(detail->power[at], 0) + sigma),
                                .error = sigma,
                                .weight = 1 / r,
                                .blur = (line_at(size, u) + near) / 2 + LEAST_BLUR,
                                .term = {1, logarithm, r * r - 0.01, logarithm * logarithm, cosine,
                                         sine, cosine * cosine - sine * sine, 2 * cosine * sine}};
        }
    return count;
}

/* Takes one step towards the best terms. Returns what the terms before it leave. */
static double turn(const struct sample *samples, unsigned count, double value[TERMS])
{
    double product[TERMS + 1][TERMS] = {{0}}, step[TERMS], cost = 0, weights = 0;
    for (unsigned n = 0; n < count; n++) {
        const struct sample *at = &samples[n];
        double logarithm = 0;
        for (unsigned i = 0; i < TERMS; i++)
            logarithm += value[i] * at->term[i];
        const double own = exp(fmin(logarithm, 60)) * at->blur, all = own + at->error;
        const double error = at->level - log(all), share = own / all;
        const double odd = 1 + error * error / (ODD * ODD), w = at->weight / odd * share;
        for (unsigned i = 0; i < TERMS; i++) {
            for (unsigned k = 0; k <= i; k++)
                product[i][k] += w * share * at->term[i] * at->term[k];
            product[TERMS][i] += w * at->term[i] * error;
        }
        cost += at->weight * log(odd);
        weights += at->weight;
    }
    for (unsigned i = 0; i < TERMS; i++)
        product[i][i] += i > 0 ? 1e-4 * weights : 0;
    normal_solve(&product[0][0], TERMS, TERMS, step);
    for (unsigned i = 0; i < TERMS; i++)
        value[i] += fmin(fmax(step[i], -3), 3);
    return ODD * ODD * cost / weights;
}

double detail_plane_cost(const struct detail *detail, double size, double degrees)
{
    struct sample *samples = malloc((size_t)detail->side * detail->side / 2 * sizeof *samples);
    double value[TERMS], cost = INFINITY;
    if (samples == NULL)
        return cost;
    const unsigned count = sample(detail, size, degrees, samples);
    double middle = 0, weights = 0;
    for (unsigned n = 0; n < count; n++) {
        middle += samples[n].weight * (samples[n].level - usual[1] * samples[n].term[1] -
                                       usual[2] * samples[n].term[2]);
        weights += samples[n].weight;
    }
    for (unsigned i = 0; i < TERMS; i++)
        value[i] = i > 0 ? usual[i] : middle / weights;
    for (unsigned i = 0; i < TURNS; i++)
        cost = turn(samples, count, value);
    free(samples);
    return isfinite(cost) ? cost : INFINITY;
}

/* Looks for a better direction and length, with smaller and smaller steps. */
double detail_plane_refine(const struct detail *detail, double *size, double *degrees)
{
    double cost = detail_plane_cost(detail, *size, *degrees), step = 4;
    while (step > 0.6) {
        const double tries[4][2] = {{*size, *degrees + step},
                                    {*size, *degrees - step},
                                    {*size * (1 + 0.01 * step), *degrees},
                                    {*size / (1 + 0.01 * step), *degrees}};
        bool is_better = false;
        for (unsigned i = 0; i < 4; i++) {
            const double own = detail_plane_cost(detail, tries[i][0], tries[i][1]);
            if (own >= cost)
                continue;
            cost = own;
            *size = tries[i][0];
            *degrees = tries[i][1];
            is_better = true;
        }
        if (!is_better)
            step /= 2;
    }
    return cost;
}

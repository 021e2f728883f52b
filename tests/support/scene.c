#include "support/scene.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

/* splitmix64, by Sebastiano Vigna. */
double scene_uniform(uint64_t *seed)
{
    uint64_t z = (*seed += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) / 9007199254740992.0;
}

double scene_normal(uint64_t *seed)
{
    const double length = sqrt(-2 * log(1 - scene_uniform(seed)));
    return length * cos(2 * M_PI * scene_uniform(seed));
}

void scene_make(struct scene *scene, double size, uint64_t *seed)
{
    double power = 0;
    for (unsigned i = 0; i < SCENE_WAVES; i++) {
        /* As many waves in each octave, which is the 1/f spectrum of natural pictures. */
        const double f = 0.35 * pow(0.35 * size, -scene_uniform(seed));
        const double angle = 2 * M_PI * scene_uniform(seed);
        scene->fx[i] = f * cos(angle);
        scene->fy[i] = f * sin(angle);
        scene->amplitude[i] = pow(f, -0.2) * (0.5 + scene_uniform(seed));
        scene->phase[i] = 2 * M_PI * scene_uniform(seed);
        power += scene->amplitude[i] * scene->amplitude[i] / 2;
    }
    for (unsigned i = 0; i < SCENE_WAVES; i++)
        scene->amplitude[i] *= 32 / sqrt(power);
    for (unsigned i = 0; i < SCENE_DISCS; i++) {
        scene->x[i] = (scene_uniform(seed) - 0.5) * size;
        scene->y[i] = (scene_uniform(seed) - 0.5) * size;
        scene->radius[i] = size * (0.02 + 0.12 * scene_uniform(seed));
        scene->level[i] = 100 * (scene_uniform(seed) - 0.5);
    }
}

/* One wave is a product of a number for the column and one for the row. */
static void add_wave(const struct scene *scene, unsigned wave, const double centre[2],
                     double angle_rad, unsigned width, unsigned height, float *samples)
{
    const double c = cos(angle_rad), s = sin(angle_rad), turn = 2 * M_PI;
    const double fx = scene->fx[wave] * c + scene->fy[wave] * s;
    const double fy = scene->fy[wave] * c - scene->fx[wave] * s;
    double complex *column = calloc(width, sizeof *column);
    for (unsigned i = 0; i < width; i++)
        column[i] = cexp(I * turn * fx * (i - 0.5 * (width - 1)));
    for (unsigned j = 0; j < height; j++) {
        const double complex row =
            scene->amplitude[wave] *
            cexp(I * (scene->phase[wave] +
                      turn * (fy * (j - 0.5 * (height - 1)) + scene->fx[wave] * centre[0] +
                              scene->fy[wave] * centre[1])));
        for (unsigned i = 0; i < width; i++)
            samples[(size_t)j * width + i] +=
                (float)(creal(row) * creal(column[i]) - cimag(row) * cimag(column[i]));
    }
    free(column);
}

void scene_draw(const struct scene *scene, double x, double y, double angle_rad, unsigned width,
                unsigned height, float *ret)
{
    const double c = cos(angle_rad), s = sin(angle_rad);
    for (size_t i = 0; i < (size_t)width * height; i++)
        ret[i] = 128;
    for (unsigned i = 0; i < SCENE_WAVES; i++)
        add_wave(scene, i, (double[]){x, y}, angle_rad, width, height, ret);
    for (unsigned d = 0; d < SCENE_DISCS; d++)
        for (unsigned j = 0; j < height; j++)
            for (unsigned i = 0; i < width; i++) {
                const double u = i - 0.5 * (width - 1), v = j - 0.5 * (height - 1);
                const double px = x + c * u - s * v - scene->x[d];
                const double py = y + s * u + c * v - scene->y[d];
                const double inside = scene->radius[d] - sqrt(px * px + py * py);
                if (inside > -4)
                    ret[(size_t)j * width + i] +=
                        (float)(scene->level[d] * (inside > 4 ? 1 : 0.5 + 0.5 * erf(inside / 1.2)));
            }
    for (size_t i = 0; i < (size_t)width * height; i++)
        ret[i] = ret[i] < 0 ? 0 : ret[i] > 255 ? 255 : ret[i];
}

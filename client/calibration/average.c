#include "average.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/format.h"

int average_init(struct average *ret, uint32_t width, uint32_t height, const char *captured)
{
    const struct format_info *info = captured != NULL ? format_by_name(captured) : NULL;
    const bool is_mosaic = info != NULL && info->family == FAMILY_MOSAIC;
    *ret = (struct average){.width = width,
                            .height = height,
                            .is_mosaic = is_mosaic,
                            .red_x = is_mosaic ? info->red_x : 0,
                            .red_y = is_mosaic ? info->red_y : 0,
                            .sum = calloc((size_t)width * height, sizeof *ret->sum)};
    return ret->sum != NULL ? 0 : -ENOMEM;
}

void average_finish(struct average *average)
{
    free(average->sum);
    average->sum = NULL;
}

/* Returns which colour the mosaic has there: 0 red, 1 green, 2 blue. */
static unsigned own_colour(const struct average *average, uint32_t x, uint32_t y)
{
    const bool red_column = (x & 1) == average->red_x, red_row = (y & 1) == average->red_y;
    return red_column != red_row ? 1 : red_row ? 0 : 2;
}

static double level_at(const struct average *average, const struct pixels *frame, uint32_t x,
                       uint32_t y)
{
    const double white = (1u << frame->layout->bits) - 1;
    if (average->is_mosaic)
        return pixels_sample(frame, own_colour(average, x, y), x, y) / white;
    if (frame->layout->family != FFTD_FAMILY_RGB)
        return pixels_sample(frame, 0, x, y) / white;
    return (0.299 * pixels_sample(frame, 0, x, y) + 0.587 * pixels_sample(frame, 1, x, y) +
            0.114 * pixels_sample(frame, 2, x, y)) /
           white;
}

int average_add(struct average *average, const struct pixels *frame, float *level)
{
    double total = 0, *sum = average->sum;
    if (frame->format->width != average->width || frame->format->height != average->height ||
        (average->is_mosaic && frame->layout->family != FFTD_FAMILY_RGB))
        return -EINVAL;
    for (uint32_t y = 0; y < average->height; y++)
        for (uint32_t x = 0; x < average->width; x++) {
            const double one = level_at(average, frame, x, y);
            *sum++ += one;
            average->white += one >= 1 - 1e-9;
            total += one;
            if (level != NULL)
                *level++ = (float)one;
        }
    const double mean = total / ((double)average->width * average->height);
    average->level_sum += mean;
    average->level_square_sum += mean * mean;
    average->frames++;
    return 0;
}

double average_level(const struct average *average)
{
    return average->level_sum / average->frames;
}

double average_white_share(const struct average *average)
{
    return (double)average->white /
           ((double)average->width * (double)average->height * average->frames);
}

double average_unsteadiness(const struct average *average)
{
    const double mean = average_level(average);
    return sqrt(fmax(0, average->level_square_sum / average->frames - mean * mean));
}

/* A PFM stores its rows from bottom to top; a negative scale means little-endian. */
void average_write(const struct average *average, FILE *file)
{
    fprintf(file, "Pf\n%u %u\n-1.0\n", average->width, average->height);
    for (uint32_t y = average->height; y-- > 0;)
        for (uint32_t x = 0; x < average->width; x++) {
            const double sum = average->sum[(size_t)y * average->width + x];
            const union {
                float number;
                uint32_t bits;
            } pixel = {.number = (float)(sum * (1. / average->frames))};
            for (unsigned byte = 0; byte < 4; byte++)
                putc((int)(pixel.bits >> 8 * byte & 0xff), file);
        }
}

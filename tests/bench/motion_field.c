/* Writes pairs of pictures with known motion, and what the field of motion finds in them, for
 * tests/bench/motion_field.py: KIND PARTICLES SEED. For each pair, on standard output: width,
 * height, columns, rows and milliseconds as doubles; both pictures as bytes; for each block dx, dy,
 * confidence, and what is true (up to three vectors, then NaN) as doubles. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "estimators/motion/motion_field.h"
#include "support/flow.h"

#define WIDTH  320u
#define HEIGHT 240u
#define BLOCK  32u

static double processor_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

static void write_picture(const float *samples)
{
    for (unsigned i = 0; i < WIDTH * HEIGHT; i++)
        putchar((int)samples[i]);
}

int main(int argc, char **argv)
{
    struct flow flow;
    struct motion_field *field;
    struct motion_grid grid;
    if (argc != 4 || motion_grid_make(&grid, WIDTH, HEIGHT, BLOCK, NULL) < 0 ||
        motion_field_create(&field, WIDTH, HEIGHT, BLOCK, NULL) < 0)
        return EXIT_FAILURE;
    flow_make(&flow, (enum flow_kind)strtol(argv[1], NULL, 10), strtol(argv[2], NULL, 10) != 0,
              WIDTH, HEIGHT, 20, 5, strtoull(argv[3], NULL, 10));
    motion_field_observe(field, flow.last);
    const double begin = processor_ms();
    const struct motion_vector *vector = motion_field_observe(field, flow.next);
    const double head[] = {WIDTH, HEIGHT, grid.columns, grid.rows, processor_ms() - begin};
    fwrite(head, sizeof head, 1, stdout);
    write_picture(flow.last);
    write_picture(flow.next);
    for (unsigned row = 0; row < grid.rows; row++)
        for (unsigned column = 0; column < grid.columns; column++, vector++) {
            double seen[FLOW_LAYERS][2];
            unsigned count = flow_seen(&flow, 0.5 * BLOCK - 0.5 + column * grid.hop,
                                       0.5 * BLOCK - 0.5 + row * grid.hop, BLOCK, seen);
            for (; count < FLOW_LAYERS; count++)
                seen[count][0] = seen[count][1] = (double)NAN;
            const double found[] = {(double)vector->dx, (double)vector->dy,
                                    (double)vector->confidence};
            fwrite(found, sizeof found, 1, stdout);
            fwrite(seen, sizeof seen, 1, stdout);
        }
    motion_field_destroy(field);
    flow_clear(&flow);
    return EXIT_SUCCESS;
}

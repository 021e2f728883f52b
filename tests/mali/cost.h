/* A model of the time that a device takes for the staged technique, without the device. The planner
 * has the same counts in short (daemon/transform/plan.c); this model also knows directions, bytes
 * and bands. Pure.
 *
 * The time of a dispatch is a fixed time plus the largest of three: its words (instructions of an
 * arithmetic pipe), its accesses (load and store instructions) and its bytes of main memory, each
 * divided by the device's rate. Words and accesses of an item are counted in what a compiler makes
 * of the kernels, by the radix and the place of its stage. */
#ifndef FFTD_TESTS_MALI_COST_H
#define FFTD_TESTS_MALI_COST_H

#include <stdbool.h>

#define COST_MAX_RADIX   16
#define COST_BUTTERFLIES 2 /* that an item computes, of one radix */

/* Work of a dispatch: words of arithmetic, accesses through the load/store pipes, and bytes of main
 * memory. */
struct cost_work {
    double words, accesses, bytes;
};

/* What a device does in a second, and the time of a dispatch besides its work. */
struct cost_rates {
    double words, accesses, bytes;
    double dispatch_s;
};

/* Where a stage is along its axis. The first one down columns loads or stores the image. The last
 * one along rows has only a forward entry, which includes the product and its own inverse. */
enum cost_place { COST_FIRST, COST_INNER, COST_LAST };

/* Indices of cost_device.item. */
enum cost_precision { COST_FLOAT, COST_HALF };
enum cost_axis { COST_COLUMNS, COST_ROWS };
enum cost_direction { COST_FORWARD, COST_INVERSE };

struct cost_stage {
    enum cost_precision precision;
    enum cost_axis axis;
    enum cost_place place;
    enum cost_direction direction;
    unsigned radix; /* 2 .. COST_MAX_RADIX */
};

/* Of one item. 0 words: not counted. */
struct cost_item {
    float words, accesses;
};

struct cost_device {
    struct cost_rates rates;
    struct cost_item item[2][2][3][2][COST_MAX_RADIX + 1];
};

/* The Mali-T760 of an RK3288. Its items are counted by `make mali-costs`. */
extern const struct cost_device cost_midgard;

/* Seconds of a dispatch. */
double cost_seconds(const struct cost_rates *rates, const struct cost_work *work);

/* The place of stage `stage` of stage_count. A single one counts as the one that does more: down
 * columns the first one, along rows the last one. */
enum cost_place cost_place(enum cost_axis axis, unsigned stage, unsigned stage_count);

/* Whether the inverse of a stage is part of its forward direction. */
bool cost_is_in_forward(const struct cost_stage *stage);

/* Adds the words and accesses of a stage of that many complex numbers. Returns false, and adds
 * nothing, if no such item has been counted. */
bool cost_add_stage(struct cost_work *work, const struct cost_device *device,
                    const struct cost_stage *stage, double numbers);

#endif

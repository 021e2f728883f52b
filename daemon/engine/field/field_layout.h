/* The layout of the buffers of a field of motion, and the source of its kernels. */
#ifndef FFTD_ENGINE_FIELD_LAYOUT_H
#define FFTD_ENGINE_FIELD_LAYOUT_H

#include <stddef.h>

#include "core/error.h"
#include "estimators/motion/motion_field.h"
#include "estimators/motion/motion_scale.h"

/* The pictures, as floats in a buffer of the device. */
struct field_size {
    unsigned width, height, pitch; /* pixels, pixels, and numbers from row to row */
    float scale;                   /* what makes 0 .. 255 of them */
    unsigned block;                /* 16, 32 or 64 pixels */
    unsigned in_flight;            /* frames at most */
    unsigned lanes; /* 1: an item has a column of a cell, as suits a GPU; more: a whole cell, as
                       suits a CPU; 0: as suits the device */
};

/* Work-items of a group: of field_usual; of most others; and of field_search. */
#define FIELD_USUAL_GROUP  256
#define FIELD_GROUP        64
#define FIELD_SEARCH_GROUP MOTION_SEARCH_SIDE

/* The modes of field_choose. */
enum field_choice { CHOOSE_SEARCHED, CHOOSE_COARSE, CHOOSE_AGAIN, CHOOSE_BESIDE };

struct field_layout {
    struct field_size size;
    struct motion_grid grid;
    unsigned scales;
    struct field_scale {
        struct motion_size picture;
        unsigned cell_columns, cell_rows;
        unsigned columns, rows;                 /* blocks */
        unsigned picture_at, cell_at, block_at; /* where it begins: pixels, cells, blocks */
    } scale[MOTION_MAX_SCALES];                 /* the full size first */
    unsigned pixels, cells, blocks;             /* totals of all sizes */
};

int field_layout_make(struct field_layout *ret, const struct field_size *size, struct error *why);

/* Returns NULL without memory. */
char *field_layout_source(const struct field_layout *layout);

/* The buffers of a frame in flight. */
enum field_buffer {
    FIELD_DERIVED,
    FIELD_STILL,
    FIELD_MOVED,
    FIELD_PEAKS,
    FIELD_VECTORS, /* a pair: the first has the final vectors; so has FIELD_LEFT */
    FIELD_VECTORS_2,
    FIELD_LEFT,
    FIELD_LEFT_2,
    FIELD_AROUND,
    FIELD_OWN,
    FIELD_CERTAINTY,
    FIELD_PREDICTED,
    FIELD_REST,
    FIELD_USUAL, /* what is usual of `left`, for each size */
    FIELD_NOISE, /* what is usual of `rest` */
    FIELD_RESULT,
    FIELD_BUFFERS
};

size_t field_layout_bytes(const struct field_layout *layout, enum field_buffer buffer);

#endif

/* A recipe: everything that an engine must be able to do for a chain of filters, or for both chains
 * of a fade. Pure.
 *
 * Each field of struct recipe has one row in the table of recipe.c, which says who needs it: a
 * field without a row does not pass tests/unit/recipe.c. Equality, union, text, cache key, the
 * check of a chain, and the constants of the kernels all follow from the rows, so a feature cannot
 * be forgotten in one of them. */
#ifndef FFTD_FILTERS_RECIPE_H
#define FFTD_FILTERS_RECIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/curve.h"
#include "filters/denoise.h"
#include "filters/filter.h"
#include "core/mosaic.h"
#include "filters/stack.h"
#include "filters/taps.h"
#include "filters/view.h"

enum recipe_precision { RECIPE_FLOAT, RECIPE_HALF };

/* The planes that are filtered: luma, while colour passes through; all planes; luma, and colour is
 * not published (format_luma). */
enum recipe_planes { RECIPE_LUMA, RECIPE_ALL, RECIPE_LUMA_ONLY };

/* The bits of published samples: as many as are published otherwise, or 16, which only frames
 * without colour can have (Y16). */
enum recipe_depth { RECIPE_DEPTH_AUTO, RECIPE_DEPTH_16 };

/* The least width and height of a frame; the most is FFTD_MAX_SIDE. */
#define RECIPE_MIN_SIDE    16

#define RECIPE_MAX_NUMBERS 6
#define RECIPE_KEY_BYTES   512

/* The fields, each with its type: DECLARE(type, name). */
#define RECIPE_FIELDS(DECLARE)                                                                     \
    /* Settings, which are the same for every chain. Precision is that of spectrum and response;   \
     * arithmetic is float. Every view except the picture shows luma, whatever the planes are.     \
     * `captured` is the fourcc of captured frames if it differs from the published one, or 0.     \
     * `captured_width` and `captured_height` are their size if published ones are smaller, or 0.  \
     * `stride` is then that of struct taps_samples, or 0. `crop_edge` is the part of the          \
     * frequencies over which H falls to 0; 0 means a tenth. `demosaic` has no effect if           \
     * `captured` is no mosaic. */                                                                 \
    DECLARE(enum recipe_precision, precision)                                                      \
    DECLARE(enum recipe_planes, planes)                                                            \
    DECLARE(enum recipe_depth, depth)                                                              \
    DECLARE(uint32_t, captured)                                                                    \
    DECLARE(uint32_t, captured_width)                                                              \
    DECLARE(uint32_t, captured_height)                                                             \
    DECLARE(uint32_t, stride)                                                                      \
    DECLARE(double, crop_edge)                                                                     \
    DECLARE(enum demosaic, demosaic)                                                               \
    /* What the chain needs. H has an imaginary part, which costs more memory traffic; frames have \
     * a correction (correction.h), which costs time in every load; captured samples are corrected \
     * by a table (calibration.h); pixels are moved by a table, or by a similarity of the frame,   \
     * and made by cubic convolution (warp.h); frames are moved by a shift, with complex_response, \
     * which costs memory; the spectrum has a threshold (filter_kind.h). */                        \
    DECLARE(bool, complex_response)                                                                \
    DECLARE(bool, corrections)                                                                     \
    DECLARE(bool, calibrated)                                                                      \
    DECLARE(bool, warped)                                                                          \
    DECLARE(bool, similarities)                                                                    \
    DECLARE(bool, cubic)                                                                           \
    DECLARE(bool, shifts)                                                                          \
    DECLARE(bool, thresholds)                                                                      \
    /* Captured samples become medians; filtered ones become black or white at a level in grey     \
     * levels of 255 (0: they do not). Like the curve, the level is for luma, red, green and blue; \
     * the chroma of YUV has none. */                                                              \
    DECLARE(bool, median)                                                                          \
    DECLARE(double, binarise)                                                                      \
    /* How far the filter reaches, in luma or all colours and in planes of chroma, so that an      \
     * engine may convolve instead of transforming. As settings: whether it may (is_short),        \
     * and the greatest radii with which it may transform tiles, and blur at half the rate. */     \
    DECLARE(struct taps_reach, reach)                                                              \
    DECLARE(struct taps_reach, chroma_reach)                                                       \
    DECLARE(struct denoise_settings, denoise)                                                      \
    /* How frames are joined to those before them (stack.h), with similarities, and whether fine   \
     * details of what is shown are weighed by their noise. */                                     \
    DECLARE(enum stack_model, stack)                                                               \
    DECLARE(bool, weighs_details)                                                                  \
    DECLARE(struct curve, curve)                                                                   \
    /* Settings, too, of which the view is the last word of a description. `motion`: the device    \
     * finds fields of motion of what is captured, in blocks of that many pixels; 0: it does not.  \
     */                                                                                            \
    DECLARE(uint32_t, motion)                                                                      \
    DECLARE(struct view_limits, edges)                                                             \
    DECLARE(enum view_kind, view)

#define RECIPE_DECLARE(type, name) type name;
struct recipe {
    RECIPE_FIELDS(RECIPE_DECLARE)
};

/* How the values of members are compared and described. */
struct recipe_type {
    /* Sets all numbers that distinguish two values, and returns how many there are. */
    unsigned (*numbers)(double ret[RECIPE_MAX_NUMBERS], const void *value);
    /* Returns what a description says about the value of a member with this name; NULL: nothing. */
    const char *(*describe)(const void *value, const char *name);
    /* For values that need not be equal: makes a what is able to do both and their blends, and
     * returns whether an engine with a can do what needs b. NULL: they must be equal. (For flags
     * both follow from what is set.) */
    void (*unite)(void *a, const void *b);
    bool (*covers)(const void *a, const void *b);
};

/* A row of the table. A setting has none of the functions. */
struct recipe_member {
    const char *name;
    size_t offset, size; /* in the record */
    const struct recipe_type *type;
    bool (*is_needed)(const struct filter_chain *chain); /* the value of a bool for a chain */
    /* that of other types */
    void (*get)(void *ret, const struct filter_chain *chain, const struct recipe *settings);
    const char *refusal;  /* what recipe_check says; NULL: it does not check the member */
    const char *constant; /* a flag's name in kernels; NULL: it has none */
    bool is_load;         /* kernels that only load captured samples need the constant */
    bool is_luma;         /* only the first component needs it: luma, or all colours */
    unsigned table_bytes; /* for each sample, in the table of the load */
};

struct recipe_table {
    const struct recipe_member *member;
    unsigned count;
};

extern const struct recipe_type recipe_flag;   /* a bool */
extern const struct recipe_table recipe_table; /* the members of struct recipe */

/* Functions for the records of any table, of which those below are for struct recipe. Tests call
 * them with a table of their own. */
bool recipe_table_equal(const struct recipe_table *table, const void *a, const void *b);
bool recipe_table_unite(const struct recipe_table *table, void *a, const void *b);
void recipe_table_describe(const struct recipe_table *table, const void *recipe, char *text,
                           size_t size);
void recipe_table_key(const struct recipe_table *table, const void *recipe,
                      char text[RECIPE_KEY_BYTES]);

/* Returns whether a step before the transform loads captured samples, and the transform its planes.
 */
static inline bool recipe_loads_before(const struct recipe *recipe)
{
    return recipe->denoise.block > 0 || recipe->stack != STACK_NOT;
}

/* Returns whether published frames are smaller than captured ones. */
static inline bool recipe_is_smaller(const struct recipe *recipe)
{
    return recipe->captured_width != 0;
}

/* What a chain needs, with the settings of another recipe. */
struct recipe recipe_of(const struct filter_chain *chain, const struct recipe *settings);

/* The recipe of a component other than the first. */
struct recipe recipe_of_chroma(const struct recipe *recipe);

static inline bool recipe_equal(const struct recipe *a, const struct recipe *b)
{
    return recipe_table_equal(&recipe_table, a, b);
}

/* Sets in a every flag that is set in b, and makes a reach as far as both. Returns false if the two
 * differ in anything else, such as a curve: then no engine can filter both, and a is of no use. */
static inline bool recipe_unite(struct recipe *a, const struct recipe *b)
{
    return recipe_table_unite(&recipe_table, a, b);
}

/* Checks whether an engine with this recipe can filter a chain. The empty chain needs nothing.
 * -EINVAL with a text that says what the chain does and which engine is expected. */
int recipe_check(const struct recipe *recipe, const struct filter_chain *chain, struct error *why);

/* Checks whether an engine can be built for frames and can filter a chain there, as far as that
 * follows from both and from the settings `planes`, `depth`, `captured...` and `view` of a recipe.
 * The engine refuses what this function refuses; everybody else asks before changing anything. It
 * reads the size of the format, and the fourcc if `captured` is 0. It takes less than a
 * millisecond: what depends on each single pixel (the places of undistort inside the frame, the
 * brightness of flat) is left to engine_design, and which sides a smaller picture can have to
 * engine_create. -EINVAL: the frames are too small or too large, the published ones are not
 * smaller, or cannot be made smaller, colour would have 16 bits, the chain moves pixels and leaves
 * their colour behind, or a stage is for frames of another size; -ERANGE: pixels at the edges move
 * too far (warp.h). */
int recipe_check_frames(const struct recipe *recipe, const struct fftd_format *format,
                        const struct filter_chain *chain, struct error *why);

/* Writes what a recipe needs beyond a plain recipe, each preceded by a comma: ", corrections,
 * denoised, view peaks". */
static inline void recipe_describe(const struct recipe *recipe, char *text, size_t size)
{
    recipe_table_describe(&recipe_table, recipe, text, size);
}

/* Writes all members with their values, from which the names of cached files are made. */
static inline void recipe_key(const struct recipe *recipe, char text[RECIPE_KEY_BYTES])
{
    recipe_table_key(&recipe_table, recipe, text);
}

/* Writes the #define lines of kernels: of all members, or of those that a load needs. */
#define RECIPE_CONSTANT_BYTES 512
void recipe_constants(const struct recipe *recipe, bool is_load, char text[RECIPE_CONSTANT_BYTES]);

/* Returns the bytes for each sample in the table with which captured samples are loaded; 0: there
 * is no such table. */
size_t recipe_load_bytes(const struct recipe *recipe);

#endif

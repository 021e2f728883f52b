#include "estimators/motion/motion_scale.h"

#include <math.h>
#include <string.h>

#include "estimators/motion/motion_constants.h"

#define FINE_SEARCHES 8u /* one block in that many is, at the full size */

static int limit(int value, int least, int most)
{
    return value < least ? least : value > most ? most : value;
}

struct trial {
    float dx[MAX_TRIED], dy[MAX_TRIED];
    unsigned count;
};

static void try_shift(struct trial *trial, float dx, float dy)
{
    for (unsigned i = 0; i < trial->count; i++)
        if (lrintf(trial->dx[i]) == lrintf(dx) && lrintf(trial->dy[i]) == lrintf(dy))
            return;
    if (trial->count == MAX_TRIED)
        return;
    trial->dx[trial->count] = dx;
    trial->dy[trial->count++] = dy;
}

/* The mean square of a block's gradient. */
static float mean_gradient2(const struct motion_scale *scale, unsigned column, unsigned row)
{
    float sum = 0;
    for (unsigned y = row * scale->hop; y < row * scale->hop + scale->cells; y++)
        for (unsigned x = column * scale->hop; x < column * scale->hop + scale->cells; x++) {
            const struct cell_still *still =
                &scale->pictures.still[(size_t)y * scale->pictures.columns + x];
            sum += still->xx + still->yy;
        }
    return sum / (float)(scale->cells * scale->cells * MOTION_CELL * MOTION_CELL);
}

/* Takes the shift with which both pictures differ least, and returns the variance of what differs.
 * Looks for others that do nearly as well, if it is asked to. */
static float choose(const struct motion_scale *scale, unsigned column, unsigned row,
                    const struct trial *trial, bool finds_rivals)
{
    struct motion_block *block = &scale->block[row * scale->columns + column];
    float difference[MAX_TRIED] = {0}, least = INFINITY;
    unsigned best = 0;
    for (unsigned i = 0; i < trial->count; i++) {
        difference[i] = motion_level_difference(
            &scale->pictures, (int)(column * scale->hop * MOTION_CELL),
            (int)(row * scale->hop * MOTION_CELL), (int)(scale->cells * MOTION_CELL),
            (int)lrintf(trial->dx[i]), (int)lrintf(trial->dy[i]));
        if (difference[i] < least) {
            least = difference[i];
            best = i;
        }
    }
    block->dx = trial->dx[best];
    block->dy = trial->dy[best];
    const float rival = AMBIGUOUS * least + BETWEEN * mean_gradient2(scale, column, row);
    for (unsigned i = 0; finds_rivals && i < trial->count; i++)
        if (difference[i] < rival &&
            hypotf(trial->dx[i] - block->dx, trial->dy[i] - block->dy) > SAME)
            block->is_ambiguous = true;
    return least;
}

/* Searches around a block, whose side may differ from the square that is compared. */
static void search_block(struct motion_search *search, const struct motion_scale *scale,
                         unsigned column, unsigned row, struct motion_peak *ret)
{
    const struct motion_level *pictures = &scale->pictures;
    const int spare = ((int)(scale->cells * MOTION_CELL) - (int)MOTION_SEARCH_SIDE) / 2;
    const int x = (int)(column * scale->hop * MOTION_CELL) + spare;
    const int y = (int)(row * scale->hop * MOTION_CELL) + spare;
    motion_search_square(search, pictures,
                         (unsigned)limit(x, 0, (int)(pictures->width - MOTION_SEARCH_SIDE)),
                         (unsigned)limit(y, 0, (int)(pictures->height - MOTION_SEARCH_SIDE)), ret);
}

void motion_start_search(struct motion_search *search, struct motion_peak *peaks,
                         struct motion_scale *scale)
{
    for (unsigned row = 0; row < scale->rows; row++)
        for (unsigned column = 0; column < scale->columns; column++)
            search_block(search, scale, column, row,
                         peaks + ((size_t)row * scale->columns + column) * MOTION_SEARCH_PEAKS);
    for (unsigned row = 0; row < scale->rows; row++)
        for (unsigned column = 0; column < scale->columns; column++) {
            struct trial trial = {.count = 0};
            try_shift(&trial, 0, 0);
            for (unsigned y = row > 0 ? row - 1 : 0; y <= row + 1 && y < scale->rows; y++)
                for (unsigned x = column > 0 ? column - 1 : 0;
                     x <= column + 1 && x < scale->columns; x++) {
                    const struct motion_peak *peak =
                        peaks + ((size_t)y * scale->columns + x) * MOTION_SEARCH_PEAKS;
                    for (unsigned p = 0; p < MOTION_SEARCH_PEAKS; p++)
                        if (p == 0 || (x == column && y == row))
                            try_shift(&trial, (float)peak[p].dx, (float)peak[p].dy);
                }
            scale->block[row * scale->columns + column] = (struct motion_block){.dx = 0};
            (void)choose(scale, column, row, &trial, true);
        }
}

/* Searches where both pictures differ much, though they are moved as the smaller size says: things
 * that move otherwise may be too small to be seen there. What was found is handed on to the right
 * and down, then to the left and up. */
static void search_again(struct motion_search *search, struct motion_scale *scale,
                         bool is_full_size)
{
    const unsigned count = scale->columns * scale->rows;
    memcpy(scale->sorted, scale->left, count * sizeof *scale->left);
    const float usual = UNUSUAL * motion_scale_quartile(scale->sorted, count);
    unsigned budget = is_full_size ? count / FINE_SEARCHES : count;
    for (unsigned i = 0; i < 2 * count; i++) {
        const bool is_back = i >= count;
        const unsigned at = is_back ? 2 * count - 1 - i : i;
        const unsigned column = at % scale->columns, row = at / scale->columns;
        const float enough = usual + BETWEEN * mean_gradient2(scale, column, row);
        if (scale->left[at] <= enough)
            continue;
        struct motion_block *block = &scale->block[at];
        struct trial trial = {.count = 0};
        try_shift(&trial, block->dx, block->dy);
        if (is_back ? column + 1 < scale->columns : column > 0)
            try_shift(&trial, block[is_back ? 1 : -1].dx, block[is_back ? 1 : -1].dy);
        const int line = (int)scale->columns;
        if (is_back ? row + 1 < scale->rows : row > 0)
            try_shift(&trial, block[is_back ? line : -line].dx, block[is_back ? line : -line].dy);
        if (trial.count > 1)
            scale->left[at] = choose(scale, column, row, &trial, false);
        if (scale->left[at] <= enough || is_back || budget == 0)
            continue;
        budget--;
        struct motion_peak peak[MOTION_SEARCH_PEAKS];
        search_block(search, scale, column, row, peak);
        for (unsigned p = 0; p < MOTION_SEARCH_PEAKS; p++)
            try_shift(&trial, (float)peak[p].dx, (float)peak[p].dy);
        scale->left[at] = choose(scale, column, row, &trial, false);
    }
}

void motion_start_from(struct motion_search *search, const struct motion_scale *coarse,
                       struct motion_scale *scale, bool is_full_size)
{
    const float ratio = 0.5F * (float)scale->hop / (float)coarse->hop;
    const float first =
        (0.25F * (float)scale->cells - 0.5F * (float)coarse->cells) / (float)coarse->hop;
    for (unsigned row = 0; row < scale->rows; row++)
        for (unsigned column = 0; column < scale->columns; column++) {
            const struct motion_quad quad =
                motion_scale_at(coarse, first + ratio * (float)column, first + ratio * (float)row);
            const size_t at = (size_t)row * scale->columns + column;
            struct trial trial = {.count = 0};
            bool is_ambiguous = true;
            try_shift(&trial, 2 * quad.dx, 2 * quad.dy);
            for (unsigned i = 0; i < 4; i++) {
                try_shift(&trial, 2 * quad.block[i]->dx, 2 * quad.block[i]->dy);
                is_ambiguous = is_ambiguous && quad.block[i]->is_ambiguous;
            }
            scale->block[at] = (struct motion_block){.is_ambiguous = is_ambiguous};
            scale->left[at] = choose(scale, column, row, &trial, false);
        }
    search_again(search, scale, is_full_size);
}

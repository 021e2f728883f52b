/* How a frame becomes a sheet, and which of its cells are blank. The Makefile has -O3 for this
 * file. */
#include <string.h>

#include "core/vectors.h"
#include "estimators/periodic_sheet.h"

/* A cell is blank if 4 % of its SHEET_LANES^2 pixels are cut off. If too few cells were left, up to
 * a quarter may be: a wave is measured better from incomplete cells than from none. */
#define LEAST_LEFT    0.25 /* share of the cells */
/* This share of a whole frame's scatter is added to that of the cells that are left. If these are a
 * narrow strip, their own is near 0, and says little about how far a frequency is off. */
#define LEAST_SCATTER 0.01

static const unsigned CUT[] = {10, 26, 64};

static double share_left(const struct sheet *sheet)
{
    unsigned left = 0;
    for (unsigned y = 0; y < sheet->cells_y; y++)
        for (unsigned x = 0; x < sheet->cells_x; x++)
            left += !sheet_is_blank(sheet, x, y);
    return (double)left / (sheet->cells_x * sheet->cells_y);
}

static void choose_cut(struct sheet *sheet)
{
    for (unsigned i = 0; i < sizeof CUT / sizeof CUT[0]; i++) {
        sheet->cut = CUT[i];
        if (share_left(sheet) > LEAST_LEFT)
            return;
    }
}

/* Gives all loaded pixels of a cell their mean. rows: those of them that are in it. */
static void blank_cell(struct sheet *sheet, unsigned cell_x, const unsigned *row, unsigned rows)
{
    const unsigned left = cell_x * SHEET_LANES;
    const unsigned right = sheet_cell_end(cell_x, sheet->width);
    double sum = 0;
    for (unsigned i = 0; i < rows; i++)
        for (unsigned x = left; x < right; x++)
            sum += (double)sheet->pixel[(size_t)row[i] * sheet->stride + x];
    const float mean = (float)(sum / ((right - left) * rows));
    for (unsigned i = 0; i < rows; i++)
        for (unsigned x = left; x < right; x++)
            sheet->pixel[(size_t)row[i] * sheet->stride + x] = mean;
}

static struct sheet_moments moments_of(const float *window, unsigned cell, unsigned side)
{
    struct sheet_moments ret = {0};
    for (unsigned i = cell * SHEET_LANES; i < sheet_cell_end(cell, side); i++)
        sheet_add_moments(&ret, window, i, side);
    return ret;
}

/* Blank cells move the centre of what is left, and reduce its scatter. Both decide how strongly an
 * error in a frequency shows. */
static void blank_cut_cells(struct sheet *sheet)
{
    const struct sheet_moments *all_x = &sheet->along_x, *all_y = &sheet->along_y;
    const double whole = all_x->all * all_y->all;
    const double whole_xx = all_x->second * all_y->all, whole_yy = all_x->all * all_y->second;
    double seen = whole, first_x = all_x->first * all_y->all, first_y = all_x->all * all_y->first;
    struct sheet_scatter left = {whole_xx, all_x->first * all_y->first, whole_yy};
    for (unsigned first = 0, end; first < sheet->rows; first = end) {
        const unsigned cell_y = sheet->row[first] / SHEET_LANES;
        struct sheet_moments y = {0};
        for (end = first; end < sheet->rows && sheet->row[end] / SHEET_LANES == cell_y; end++)
            sheet_add_moments(&y, sheet->window_y, sheet->row[end], sheet->height);
        for (unsigned cell_x = 0; cell_x < sheet->cells_x; cell_x++)
            if (sheet_is_blank(sheet, cell_x, cell_y)) {
                const struct sheet_moments x = moments_of(sheet->window_x, cell_x, sheet->width);
                blank_cell(sheet, cell_x, sheet->row + first, end - first);
                seen -= x.all * y.all;
                first_x -= x.first * y.all;
                first_y -= x.all * y.first;
                left.xx -= x.second * y.all;
                left.xy -= x.first * y.first;
                left.yy -= x.all * y.second;
            }
    }
    sheet->seen = seen / whole;
    left.xx -= first_x * first_x / seen;
    left.xy -= first_x * first_y / seen;
    left.yy -= first_y * first_y / seen;
    if (sheet->seen < 1) {
        left.xx += LEAST_SCATTER * whole_xx;
        left.yy += LEAST_SCATTER * whole_yy;
    }
    sheet->scatter = left;
}

/* Copies a row, and counts for each cell how many samples are cut off in it. */
static ALWAYS_INLINE void load_row(const struct sheet *sheet, float *restrict to,
                                   const float *restrict from, unsigned short *restrict cell)
{
    for (unsigned x = 0; x < sheet->width; x++) {
        const float low = from[x] > 0 ? from[x] : 0; /* also false if it is not a number */
        to[x] = low < 255 ? low : 255;
    }
    const unsigned whole = sheet->width / SHEET_LANES;
    for (unsigned c = 0; c < whole; c++) {
        unsigned count = 0;
        for (unsigned l = 0; l < SHEET_LANES; l++)
            count += (to[c * SHEET_LANES + l] < 0.5F) + (to[c * SHEET_LANES + l] > 254.5F);
        cell[c] += (unsigned short)count;
    }
    for (unsigned x = whole * SHEET_LANES; x < sheet->width; x++)
        cell[whole] += (unsigned short)((to[x] < 0.5F) + (to[x] > 254.5F));
}

VECTORS static void load_rows(struct sheet *sheet, const float *luma)
{
    for (unsigned i = 0; i < sheet->rows; i++) {
        const unsigned y = sheet->row[i];
        load_row(sheet, sheet->pixel + (size_t)y * sheet->stride, luma + (size_t)y * sheet->width,
                 sheet->saturated + (size_t)(y / SHEET_LANES) * sheet->cells_x);
    }
}

void sheet_load(struct sheet *sheet, const float *luma)
{
    memset(sheet->saturated, 0, (size_t)sheet->cells_x * sheet->cells_y * sizeof *sheet->saturated);
    load_rows(sheet, luma);
    choose_cut(sheet);
    blank_cut_cells(sheet);
}

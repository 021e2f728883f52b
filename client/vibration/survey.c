#include "survey.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define MOST_WORK 2e8 /* steps times frequencies times places: about four seconds */

/* Squares of side x side blocks, whose means are searched. */
struct cells {
    unsigned side, columns, rows;
};

/* A frequency that a cell has. */
struct sighting {
    double hz, weight;
    bool is_taken;
};

static struct cells make_cells(const struct series *series)
{
    struct cells ret;
    const double frequencies = 2. * series->count + 1; /* about as many as modes_find tries */
    for (ret.side = 1;; ret.side++) {
        ret.columns = (series->columns + ret.side - 1) / ret.side;
        ret.rows = (series->rows + ret.side - 1) / ret.side;
        const double places = (double)ret.columns * ret.rows;
        if (places == 1 || places * series->count * frequencies <= MOST_WORK)
            return ret;
    }
}

/* Lists the places of a cell's blocks. Returns their number. */
static unsigned list_blocks(const struct series *series, const struct cells *cells, unsigned cell,
                            unsigned *place)
{
    const unsigned left = cell % cells->columns * cells->side;
    const unsigned top = cell / cells->columns * cells->side;
    unsigned count = 0;
    for (unsigned row = top; row < top + cells->side && row < series->rows; row++)
        for (unsigned column = left; column < left + cells->side && column < series->columns;
             column++)
            place[count++] = series->named + row * series->columns + column;
    return count;
}

/* Joins sightings of one frequency: the heaviest one and those within the width of a line. Returns
 * their weighted mean, or 0 if none is left. */
static double join(struct sighting *sighting, unsigned count, double width_hz)
{
    const struct sighting *heaviest = NULL;
    double sum = 0, weights = 0;
    for (unsigned i = 0; i < count; i++)
        if (!sighting[i].is_taken && (heaviest == NULL || sighting[i].weight > heaviest->weight))
            heaviest = &sighting[i];
    if (heaviest == NULL)
        return 0;
    const double middle_hz = heaviest->hz;
    for (unsigned i = 0; i < count; i++)
        if (!sighting[i].is_taken && fabs(sighting[i].hz - middle_hz) < width_hz) {
            sighting[i].is_taken = true;
            sum += sighting[i].weight * sighting[i].hz;
            weights += sighting[i].weight;
        }
    return sum / weights;
}

static int add_line(struct survey *survey, const struct series *series, double hz)
{
    struct survey_line *line = &survey->line[survey->count];
    struct mode *mode;
    const int r = survey_fit(&mode, series, hz);
    if (r < 0)
        return r;
    *line = (struct survey_line){.hz = hz};
    for (unsigned i = 0; i < series->places - series->named; i++) {
        if (!survey_is_moving(&mode[i]))
            continue;
        line->blocks++;
        if (mode[i].px > line->mode.px) {
            line->mode = mode[i];
            line->place = series->named + i;
        }
    }
    free(mode);
    survey->count += line->blocks > 0;
    return 0;
}

static int by_amplitude(const void *a, const void *b)
{
    const double p = ((const struct survey_line *)a)->mode.px;
    const double q = ((const struct survey_line *)b)->mode.px;
    return (p < q) - (p > q);
}

static int search_cells(const struct series *series, const struct cells *cells,
                        struct sighting *sighting, unsigned *ret_count, double *ret_width_hz,
                        void (*progress)(void *, unsigned, unsigned), void *context)
{
    const unsigned total = cells->columns * cells->rows;
    unsigned *place = malloc((size_t)cells->side * cells->side * sizeof *place);
    bool is_known = false;
    int r = place != NULL ? 0 : -ENOMEM;
    for (unsigned i = 0; i < total && r == 0; i++) {
        struct modes modes;
        const unsigned count = list_blocks(series, cells, i, place);
        r = modes_find(&modes, NULL, series, place, count, total);
        if (r == -ENODATA) {
            r = 0;
            continue;
        }
        is_known = true;
        *ret_width_hz = fmax(*ret_width_hz, 1 / modes.seconds);
        for (unsigned k = 0; k < modes.count && r == 0; k++) {
            const double precision = modes.mode[k].px / modes.mode[k].px_error;
            sighting[(*ret_count)++] =
                (struct sighting){.hz = modes.mode[k].hz, .weight = precision * precision};
        }
        if (progress != NULL)
            progress(context, i + 1, total);
    }
    free(place);
    return r == 0 && !is_known ? -ENODATA : r;
}

int survey_find(struct survey *ret, const struct series *series,
                void (*progress)(void *context, unsigned done, unsigned total), void *context)
{
    const struct cells cells = make_cells(series);
    struct sighting *sighting =
        malloc((size_t)cells.columns * cells.rows * MODES_MOST * sizeof *sighting);
    unsigned count = 0;
    double width_hz = 0, hz;
    *ret = (struct survey){0};
    if (sighting == NULL)
        return -ENOMEM;
    int r = search_cells(series, &cells, sighting, &count, &width_hz, progress, context);
    while (r == 0 && ret->count < SURVEY_MOST && (hz = join(sighting, count, width_hz)) > 0)
        r = add_line(ret, series, hz);
    free(sighting);
    qsort(ret->line, ret->count, sizeof *ret->line, by_amplitude);
    return r;
}

int survey_fit(struct mode **ret, const struct series *series, double hz)
{
    const unsigned blocks = series->places - series->named;
    struct mode *mode = calloc(blocks, sizeof *mode);
    int r = mode != NULL ? 0 : -ENOMEM;
    for (unsigned i = 0; i < blocks && r == 0; i++) {
        r = modes_fit(&mode[i], series, series->named + i, hz);
        r = r == -ENODATA ? 0 : r;
    }
    if (r < 0)
        free(mode);
    else
        *ret = mode;
    return r;
}

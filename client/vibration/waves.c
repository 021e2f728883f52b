#include "waves.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "core/order.h"

#define MOST_FREQUENCIES 16. /* for each step: the times may be wrong */

/* Half the rate at which pictures come: the shortest tenth of the intervals counts, because longer
 * ones are of fields that were left out. */
static int find_most_hz(struct waves *waves)
{
    double *interval = malloc(waves->count * sizeof *interval);
    if (interval == NULL)
        return -ENOMEM;
    for (unsigned i = 0; i < waves->count; i++)
        interval[i] = waves->row[i].to_s - waves->row[i].from_s;
    qsort(interval, waves->count, sizeof *interval, order_doubles);
    waves->most_hz = fmin(WAVES_HIGHEST * 0.5 / interval[waves->count / 10],
                          MOST_FREQUENCIES * waves->count / WAVES_OVERSAMPLING / waves->seconds);
    free(interval);
    return 0;
}

/* Makes the trends orthonormal under the weights, and takes them from the shifts. */
static void remove_trend(struct waves *waves)
{
    for (unsigned i = 0; i < waves->count; i++) {
        struct waves_row *row = &waves->row[i];
        row->trend[0] = row->to_s - row->from_s;
        row->trend[1] = row->to_s * row->to_s - row->from_s * row->from_s;
    }
    for (unsigned k = 0; k < WAVES_TREND; k++) {
        for (unsigned j = 0; j < k; j++) {
            double both = 0;
            for (unsigned i = 0; i < waves->count; i++)
                both += waves->row[i].weight * waves->row[i].trend[j] * waves->row[i].trend[k];
            for (unsigned i = 0; i < waves->count; i++)
                waves->row[i].trend[k] -= both * waves->row[i].trend[j];
        }
        double power = 0, with[2] = {0, 0};
        for (unsigned i = 0; i < waves->count; i++)
            power += waves->row[i].weight * waves->row[i].trend[k] * waves->row[i].trend[k];
        const double scale = power > 0 ? 1 / sqrt(power) : 0;
        for (unsigned i = 0; i < waves->count; i++) {
            struct waves_row *row = &waves->row[i];
            row->trend[k] *= scale;
            for (unsigned axis = 0; axis < 2; axis++)
                with[axis] += row->weight * row->trend[k] * row->moved[axis];
        }
        for (unsigned i = 0; i < waves->count; i++)
            for (unsigned axis = 0; axis < 2; axis++)
                waves->row[i].moved[axis] -= with[axis] * waves->row[i].trend[k];
    }
}

/* Fills a row with the mean of the places at a step. False: none is known. */
static bool fill_row(struct waves_row *ret, const struct series *series, unsigned step,
                     const unsigned *place, unsigned count)
{
    double dx = 0, dy = 0, weights = 0;
    for (unsigned i = 0; i < count; i++) {
        const struct series_shift *shift = series_shift_of(series, step, place[i]);
        dx += (double)shift->confidence * (double)shift->dx;
        dy += (double)shift->confidence * (double)shift->dy;
        weights += (double)shift->confidence;
    }
    if (weights == 0)
        return false;
    *ret = (struct waves_row){.from_s = series_seconds_to(series, series->step[step].from_ns),
                              .to_s = series_seconds_to(series, series->step[step].to_ns),
                              .weight = weights / count,
                              .moved = {dx / weights, dy / weights}};
    return true;
}

int waves_create(struct waves *ret, const struct series *series, const unsigned *place,
                 unsigned count, unsigned fewest)
{
    *ret = (struct waves){.row = malloc((series->count + 1) * sizeof *ret->row)};
    if (ret->row == NULL)
        return -ENOMEM;
    for (unsigned i = 0; i < series->count; i++)
        ret->count += fill_row(&ret->row[ret->count], series, i, place, count);
    if (ret->count == 0 || ret->count < fewest)
        return -ENODATA;
    const double begin_s = ret->row[0].from_s, end_s = ret->row[ret->count - 1].to_s;
    const double middle_s = (begin_s + end_s) / 2;
    ret->seconds = end_s - begin_s;
    ret->phase_s = -middle_s;
    for (unsigned i = 0; i < ret->count; i++) {
        struct waves_row *row = &ret->row[i];
        row->from_s -= middle_s;
        row->to_s -= middle_s;
        row->weight *= 0.5 + 0.5 * cos(M_PI * (row->from_s + row->to_s) / ret->seconds);
    }
    remove_trend(ret);
    return find_most_hz(ret);
}

void waves_finish(struct waves *waves)
{
    free(waves->row);
    waves->row = NULL;
}

/* ---- one frequency ---- */

void waves_turn_to(struct waves *waves, double hz, double step_hz)
{
    for (unsigned i = 0; i < waves->count; i++) {
        struct waves_row *row = &waves->row[i];
        row->turn[0] = cexp(I * (2 * M_PI * hz * row->from_s));
        row->turn[1] = cexp(I * (2 * M_PI * hz * row->to_s));
        row->onward[0] = cexp(I * (2 * M_PI * step_hz * row->from_s));
        row->onward[1] = cexp(I * (2 * M_PI * step_hz * row->to_s));
    }
}

static double complex product(double complex a, double complex b)
{
    /* C's own product also looks for infinities. */
    return creal(a) * creal(b) - cimag(a) * cimag(b) +
           I * (creal(a) * cimag(b) + cimag(a) * creal(b));
}

struct waves_wave waves_fit(struct waves *waves)
{
    double cc = 0, cs = 0, ss = 0, with_trend[2][WAVES_TREND] = {{0}}, with_moved[2][2] = {{0}};
    for (unsigned i = 0; i < waves->count; i++) {
        struct waves_row *row = &waves->row[i];
        const double c = creal(row->turn[1]) - creal(row->turn[0]);
        const double s = cimag(row->turn[1]) - cimag(row->turn[0]);
        const double wc = row->weight * c, ws = row->weight * s;
        cc += wc * c;
        cs += wc * s;
        ss += ws * s;
        for (unsigned k = 0; k < WAVES_TREND; k++) {
            with_trend[0][k] += wc * row->trend[k];
            with_trend[1][k] += ws * row->trend[k];
        }
        for (unsigned axis = 0; axis < 2; axis++) {
            with_moved[axis][0] += wc * row->moved[axis];
            with_moved[axis][1] += ws * row->moved[axis];
        }
        row->turn[0] = product(row->turn[0], row->onward[0]);
        row->turn[1] = product(row->turn[1], row->onward[1]);
    }
    const double most = cc + ss;
    for (unsigned k = 0; k < WAVES_TREND; k++) {
        cc -= with_trend[0][k] * with_trend[0][k];
        cs -= with_trend[0][k] * with_trend[1][k];
        ss -= with_trend[1][k] * with_trend[1][k];
    }
    struct waves_wave ret = {{0, 0}, 0};
    const double determinant = cc * ss - cs * cs;
    if (!(determinant > 1e-6 * most * most))
        return ret; /* these times do not tell cosine and sine apart */
    for (unsigned axis = 0; axis < 2; axis++) {
        const double *with = with_moved[axis];
        const double a = (ss * with[0] - cs * with[1]) / determinant;
        const double b = (cc * with[1] - cs * with[0]) / determinant;
        ret.axis[axis] = a - I * b;
        ret.power += a * with[0] + b * with[1];
    }
    return ret;
}

struct waves_wave waves_fit_at(struct waves *waves, double hz)
{
    waves_turn_to(waves, hz, 0);
    return waves_fit(waves);
}

void waves_add(struct waves *waves, double hz, const struct waves_wave *wave, double sign)
{
    waves_turn_to(waves, hz, 0);
    for (unsigned axis = 0; axis < 2; axis++) {
        double with[WAVES_TREND] = {0};
        for (unsigned i = 0; i < waves->count; i++) {
            const struct waves_row *row = &waves->row[i];
            const double moved = creal(product(wave->axis[axis], row->turn[1] - row->turn[0]));
            for (unsigned k = 0; k < WAVES_TREND; k++)
                with[k] += row->weight * row->trend[k] * moved;
        }
        for (unsigned i = 0; i < waves->count; i++) {
            struct waves_row *row = &waves->row[i];
            double moved = creal(product(wave->axis[axis], row->turn[1] - row->turn[0]));
            for (unsigned k = 0; k < WAVES_TREND; k++)
                moved -= with[k] * row->trend[k];
            row->moved[axis] += sign * moved;
        }
    }
}

/* The frequency near `hz` that explains most: twice the vertex of a parabola through three powers,
 * which a line under a Hann window resembles near its peak. */
double waves_refine(struct waves *waves, double hz)
{
    const double widths[] = {0.25 / waves->seconds, 0.03 / waves->seconds};
    for (unsigned i = 0; i < 2; i++) {
        double power[3];
        for (int k = 0; k < 3; k++)
            power[k] = waves_fit_at(waves, hz + (k - 1) * widths[i]).power;
        const double bend = power[0] - 2 * power[1] + power[2];
        const double to = bend < 0 ? 0.5 * (power[0] - power[2]) / bend : 0;
        hz += fmin(fmax(to, -1), 1) * widths[i];
    }
    return hz;
}

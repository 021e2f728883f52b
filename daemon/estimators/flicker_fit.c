#include "estimators/flicker_fit.h"

#include <complex.h>
#include <math.h>
#include <string.h>

#define SLOW        4u /* terms */
#define MAX_COLUMNS (SLOW + 2 * FLICKER_HARMONICS + 2 + 1)
#define UNSEEN      0.003 /* of a column's squares; what is left of it then says nothing */
#define SINGULAR    1e-10
#define MAX_STEP_HZ 0.3
#define MAX_STEP    0.2 /* cycles per height of the frame */

/* Normal equations; the last column is the values. */
struct sums {
    unsigned columns;
    double product[MAX_COLUMNS][MAX_COLUMNS]; /* without the bins' means */
    double square[MAX_COLUMNS];               /* with them */
    unsigned samples;
};

struct span {
    double middle_s, half_s; /* of the time */
    double middle_px;        /* of the rows */
    double attenuation[FLICKER_HARMONICS];
};

static double complex times(double complex a, double complex b)
{
    return (creal(a) * creal(b) - cimag(a) * cimag(b)) +
           (creal(a) * cimag(b) + cimag(a) * creal(b)) * I;
}

static double complex turned(double cycles)
{
    const double phase = 2 * M_PI * (cycles - floor(cycles));
    return cos(phase) + sin(phase) * I;
}

/* What the mean over a bin leaves of a wave. */
static double attenuation(const struct rows *rows, double rows_cycles)
{
    const double one = sin(M_PI * rows_cycles);
    return fabs(one) < 1e-9 ? 1 : sin(M_PI * rows_cycles * rows->bin_px) / (one * rows->bin_px);
}

static double bin_middle(const struct rows *rows, double offset_px, int bin)
{
    return (bin + 0.5) * rows->bin_px + offset_px - 0.5;
}

static struct span span_of(const struct rows *rows, const double *time_s, const struct fit *fit)
{
    struct span span = {.middle_px = 0.5 * rows->height};
    const double first_s = time_s[0], last_s = time_s[rows->count - 1];
    span.middle_s = 0.5 * (first_s + last_s);
    span.half_s = fmax(0.5 * (last_s - first_s), 1e-3);
    for (unsigned h = 0; h < FLICKER_HARMONICS; h++)
        span.attenuation[h] = attenuation(rows, (h + 1) * fit->rows_cycles);
    return span;
}

/* Fills one equation; `phasor` is exp(2 pi i (f t + c r)) at the middle of the bin. */
static void fill_columns(const struct fit_options *options, const struct fit *fit,
                         const struct span *span, double complex phasor, double time_s, double row,
                         double *column)
{
    const double t = (time_s - span->middle_s) / span->half_s;
    const double r = (row - span->middle_px) / span->middle_px;
    unsigned at = 0;
    column[at++] = t;
    column[at++] = t * t;
    column[at++] = r;
    column[at++] = r * r;
    double slope = 0; /* of the waves, per cycle */
    double complex power = 1;
    for (unsigned h = 0; h < options->harmonics; h++) {
        power = times(power, phasor);
        const double c = span->attenuation[h] * creal(power),
                     s = span->attenuation[h] * cimag(power);
        column[at++] = c;
        column[at++] = -s;
        slope -= 2 * M_PI * (h + 1) * (fit->re[h] * s + fit->im[h] * c);
    }
    if (options->moves_frequency)
        column[at++] = slope * (time_s - span->middle_s);
    if (options->moves_rows_cycles)
        column[at++] = slope * (row - span->middle_px);
}

/* Adds the equations of one bin, without its mean. */
static void add_bin(struct sums *sums, const struct rows *rows, const double *time_s,
                    const struct fit_options *options, const struct fit *fit,
                    const struct span *span, const double complex *frame_phasor, int bin)
{
    const unsigned n = sums->columns;
    double sum[MAX_COLUMNS] = {0}, column[MAX_COLUMNS];
    double product[MAX_COLUMNS][MAX_COLUMNS];
    unsigned count = 0;
    const double complex bin_phasor = turned(fit->rows_cycles * bin_middle(rows, 0, bin));
    memset(product, 0, sizeof product);
    for (unsigned k = 0; k < rows->count; k++) {
        const struct rows_frame *frame = &rows->frame[k];
        if (!rows_is_valid(rows, frame, bin))
            continue;
        fill_columns(options, fit, span, times(bin_phasor, frame_phasor[k]), time_s[k],
                     bin_middle(rows, frame->offset_px, bin), column);
        column[n - 1] = frame->value[bin - frame->first_bin];
        for (unsigned i = 0; i < n; i++) {
            sum[i] += column[i];
            for (unsigned j = 0; j <= i; j++)
                product[i][j] += column[i] * column[j];
        }
        count++;
    }
    if (count < 3)
        return;
    sums->samples += count;
    for (unsigned i = 0; i < n; i++) {
        sums->square[i] += product[i][i];
        for (unsigned j = 0; j <= i; j++)
            sums->product[i][j] += product[i][j] - sum[i] * sum[j] / count;
    }
}

static void add_all(struct sums *sums, const struct rows *rows, const double *time_s,
                    const struct fit_options *options, const struct fit *fit,
                    const struct span *span)
{
    double complex frame_phasor[ROWS_FRAMES];
    int first = rows->frame[0].first_bin, end = first;
    for (unsigned k = 0; k < rows->count; k++) {
        const struct rows_frame *frame = &rows->frame[k];
        const int frame_end = frame->first_bin + (int)frame->bins;
        first = frame->first_bin < first ? frame->first_bin : first;
        end = frame_end > end ? frame_end : end;
        frame_phasor[k] =
            turned(fit->frequency_hz * time_s[k] + fit->rows_cycles * frame->offset_px);
    }
    for (int bin = first; bin < end; bin += (int)options->bin_step)
        add_bin(sums, rows, time_s, options, fit, span, frame_phasor, bin);
}

/* Solves the normal equations by Cholesky's method. A column that the ones before it and the bins'
 * means explain stays out, with a solution of 0. Returns the squares that are left after the slow
 * terms and after the waves. */
static void solve(struct sums *sums, unsigned waves_end, double *solution, double *ret_before,
                  double *ret_after)
{
    const unsigned n = sums->columns - 1; /* the values' row of the factor is its solution */
    double(*l)[MAX_COLUMNS] = sums->product;
    bool used[MAX_COLUMNS] = {false};
    for (unsigned j = 0; j < n; j++) {
        double pivot = l[j][j];
        for (unsigned k = 0; k < j; k++)
            pivot -= l[j][k] * l[j][k];
        used[j] = pivot > UNSEEN * sums->square[j] && pivot > 1e-12;
        for (unsigned i = j; i <= n; i++) {
            double rest = l[i][j];
            for (unsigned k = 0; k < j; k++)
                rest -= l[i][k] * l[j][k];
            l[i][j] = used[j] ? rest / sqrt(pivot) : 0;
        }
    }
    double left = l[n][n];
    for (unsigned j = 0; j < waves_end; j++) {
        if (j == SLOW)
            *ret_before = left;
        left -= l[n][j] * l[n][j];
    }
    *ret_after = left;
    for (unsigned j = n; j-- > 0;) {
        double rest = l[n][j];
        for (unsigned i = j + 1; i < n; i++)
            rest -= l[i][j] * solution[i];
        solution[j] = used[j] ? rest / l[j][j] : 0;
    }
}

/* The sum of squares of the errors of the fundamental's two amplitudes, for values with errors of
 * 1: two elements of the diagonal of the inverse of the normal equations. Infinite: they are not
 * determined. Slow terms and harmonics that the others explain stay out. */
static double amplitude_errors(const struct sums *sums, unsigned waves_end)
{
    const unsigned n = sums->columns - 1;
    double l[MAX_COLUMNS][MAX_COLUMNS], errors = 0;
    bool used[MAX_COLUMNS] = {false};
    for (unsigned j = 0; j < n; j++) {
        const bool is_needed = (j >= SLOW && j < SLOW + 2) || j >= waves_end;
        for (unsigned i = j; i < n; i++) {
            double rest = sums->product[i][j];
            for (unsigned k = 0; k < j; k++)
                rest -= l[i][k] * l[j][k];
            if (i == j) {
                used[j] = rest > SINGULAR * sums->square[j];
                if (!used[j] && is_needed)
                    return INFINITY;
                l[j][j] = sqrt(fmax(rest, 0));
            } else {
                l[i][j] = used[j] ? rest / l[j][j] : 0;
            }
        }
    }
    for (unsigned which = SLOW; which < SLOW + 2; which++) {
        double column[MAX_COLUMNS] = {0};
        for (unsigned i = which; i < n; i++) {
            double rest = i == which;
            for (unsigned k = which; k < i; k++)
                rest -= l[i][k] * column[k];
            column[i] = used[i] ? rest / l[i][i] : 0;
            errors += column[i] * column[i];
        }
    }
    return errors;
}

static double limited(double value, double limit)
{
    return fmax(-limit, fmin(limit, value));
}

/* Moves the frequencies, such that phases stay in the middle of the history. */
static void move(struct fit *fit, const struct span *span, double hz, double rows_cycles)
{
    fit->frequency_hz += hz;
    fit->rows_cycles += rows_cycles;
    for (unsigned h = 0; h < FLICKER_HARMONICS; h++) {
        const double complex amplitude =
            times(fit->re[h] + fit->im[h] * I,
                  turned(-(double)(h + 1) * (hz * span->middle_s + rows_cycles * span->middle_px)));
        fit->re[h] = creal(amplitude);
        fit->im[h] = cimag(amplitude);
    }
}

void fit_step(const struct rows *rows, const double *time_s, const struct fit_options *options,
              struct fit *fit)
{
    const unsigned waves_end = SLOW + 2 * options->harmonics;
    struct sums sums = {.columns =
                            waves_end + options->moves_frequency + options->moves_rows_cycles + 1};
    double solution[MAX_COLUMNS] = {0}, before = 0, after = 0;
    fit->explained = 0;
    fit->samples = 0;
    if (rows->count == 0)
        return;
    const struct span span = span_of(rows, time_s, fit);
    add_all(&sums, rows, time_s, options, fit, &span);
    const double errors = amplitude_errors(&sums, waves_end);
    solve(&sums, waves_end, solution, &before, &after);
    fit->samples = sums.samples;
    fit->explained = before > 0 ? 1 - after / before : 0;
    for (unsigned h = 0; h < FLICKER_HARMONICS; h++) {
        const bool is_fitted = h < options->harmonics;
        fit->re[h] = is_fitted ? solution[SLOW + 2 * h] : 0;
        fit->im[h] = is_fitted ? solution[SLOW + 2 * h + 1] : 0;
    }
    fit->error = sqrt(errors * fmax(after, 0) / fmax(sums.samples - (double)sums.columns, 1)) /
                 hypot(fit->re[0], fit->im[0]);
    double hz = 0, rows_cycles = 0;
    if (options->moves_frequency)
        hz = limited(solution[waves_end], MAX_STEP_HZ);
    if (options->moves_rows_cycles)
        rows_cycles =
            limited(solution[waves_end + options->moves_frequency], MAX_STEP / rows->height);
    move(fit, &span, hz, rows_cycles);
}

double fit_value(const struct fit *fit, const struct rows *rows, double offset_px, int bin,
                 double time_s)
{
    const double complex phasor =
        turned(fit->frequency_hz * time_s + fit->rows_cycles * bin_middle(rows, offset_px, bin));
    double complex power = 1;
    double value = 0;
    for (unsigned h = 0; h < FLICKER_HARMONICS; h++) {
        power = times(power, phasor);
        value += attenuation(rows, (h + 1) * fit->rows_cycles) *
                 (fit->re[h] * creal(power) - fit->im[h] * cimag(power));
    }
    return value;
}

void fit_advance(struct fit *fit, double time_s)
{
    for (unsigned h = 0; h < FLICKER_HARMONICS; h++) {
        const double complex amplitude =
            times(fit->re[h] + fit->im[h] * I, turned((h + 1) * fit->frequency_hz * time_s));
        fit->re[h] = creal(amplitude);
        fit->im[h] = cimag(amplitude);
    }
}

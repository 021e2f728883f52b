#include "core/normal.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

void normal_solve(double *product, unsigned stride, unsigned columns, double *solution)
{
    const unsigned n = columns;
    for (unsigned j = 0; j < n; j++) {
        double *own = product + (size_t)j * stride;
        const double whole = own[j];
        double pivot = whole;
        for (unsigned k = 0; k < j; k++)
            pivot -= own[k] * own[k];
        const bool is_used = pivot > 1e-9 * whole && pivot > 1e-12;
        own[j] = is_used ? sqrt(pivot) : 0;
        for (unsigned i = j + 1; i <= n; i++) {
            double *row = product + (size_t)i * stride;
            double rest = row[j];
            for (unsigned k = 0; k < j; k++)
                rest -= row[k] * own[k];
            row[j] = is_used ? rest / own[j] : 0;
        }
    }
    for (unsigned j = n; j-- > 0;) {
        double rest = product[(size_t)n * stride + j];
        for (unsigned i = j + 1; i < n; i++)
            rest -= product[(size_t)i * stride + j] * solution[i];
        const double pivot = product[(size_t)j * stride + j];
        solution[j] = pivot > 0 ? rest / pivot : 0;
    }
}

double normal_variance(const double *factor, unsigned stride, unsigned columns, unsigned column,
                       double *work)
{
    double variance = 0;
    for (unsigned i = column; i < columns; i++) {
        const double *row = factor + (size_t)i * stride;
        double rest = i == column;
        for (unsigned k = column; k < i; k++)
            rest -= row[k] * work[k];
        if (i == column && row[i] <= 0)
            return INFINITY;
        work[i] = row[i] > 0 ? rest / row[i] : 0;
        variance += work[i] * work[i];
    }
    return variance;
}

/* Normal equations of least squares, by Cholesky's method. Pure.
 *
 * Row i of the products begins at product[i * stride]; only its first i + 1 numbers are used. Row
 * `columns` holds the products with the values. Columns that are not determined stay out.
 *
 * Source of the maths: Golub and Van Loan, Matrix Computations. */
#ifndef FFTD_CORE_NORMAL_H
#define FFTD_CORE_NORMAL_H

/* Fills the solution, one number for each column; the products become their factor. */
void normal_solve(double *product, unsigned stride, unsigned columns, double *solution);

/* The variance of one number of the solution, for values with errors of 1; from the factor that
 * normal_solve() left. work: as many numbers as columns. Infinite: it is not determined. */
double normal_variance(const double *factor, unsigned stride, unsigned columns, unsigned column,
                       double *work);

#endif

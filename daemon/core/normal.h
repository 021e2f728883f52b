/* Normal equations of least squares, by Cholesky's method. Pure.
 *
 * `product` has the products of the columns with each other, of which only the lower triangle is
 * used, and in row `columns` their products with the values. Row i begins at product[i * stride].
 * Columns that the values do not determine get 0.
 *
 * Source of the maths: Golub and Van Loan, Matrix Computations. */
#ifndef FFTD_CORE_NORMAL_H
#define FFTD_CORE_NORMAL_H

/* Fills the solution, one number for each column, and replaces the products by their factor. */
void normal_solve(double *product, unsigned stride, unsigned columns, double *solution);

/* Returns the variance of one number of the solution if the values have variance 1; INFINITY if it
 * is not determined. factor: what normal_solve() made of the products. work: scratch memory for
 * `columns` numbers. */
double normal_variance(const double *factor, unsigned stride, unsigned columns, unsigned column,
                       double *work);

#endif

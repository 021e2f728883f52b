/* Orders of numbers, for qsort. Pure. */
#ifndef FFTD_CORE_ORDER_H
#define FFTD_CORE_ORDER_H

static inline int order_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline int order_floats(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

#endif

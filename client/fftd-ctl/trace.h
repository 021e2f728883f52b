/* The last values of a number that changes, and a small line chart of them. */
#ifndef FFTD_CTL_TRACE_H
#define FFTD_CTL_TRACE_H

#include <stdbool.h>
#include <stddef.h>

#define TRACE_VALUES 60 /* the last minute, at one value a second */

/* All zero: no values. */
struct trace {
    double value[TRACE_VALUES]; /* a queue */
    unsigned count, next;
};

/* NaN is a gap. */
void trace_add(struct trace *trace, double value);

/* Writes the newest `columns` values, as far as there are that many, as characters of eight
 * heights: from the least of them to the greatest. Gaps are spaces. Cuts to size. */
void trace_draw(const struct trace *trace, unsigned columns, bool is_utf8, char *text, size_t size);

#endif

/* The last values of a changing number, and a small line chart of them. */
#ifndef FFTD_COMMON_TRACE_H
#define FFTD_COMMON_TRACE_H

#include <stdbool.h>
#include <stddef.h>

#define TRACE_VALUES 60 /* the last minute, at one value a second */

/* Initialize it with zeros: no values. */
struct trace {
    double value[TRACE_VALUES]; /* a ring buffer */
    unsigned count, next;
};

/* Adds a value; NaN is a gap. */
void trace_add(struct trace *trace, double value);

/* Writes at most the newest `columns` values as characters of eight heights, scaled from the least
 * to the greatest of them. Gaps are spaces. The text is cut to `size` bytes. */
void trace_draw(const struct trace *trace, unsigned columns, bool is_utf8, char *text, size_t size);

#endif

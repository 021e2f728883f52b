#include "trace.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define HEIGHTS 8

void trace_add(struct trace *trace, double value)
{
    trace->value[trace->next] = value;
    trace->next = (trace->next + 1) % TRACE_VALUES;
    if (trace->count < TRACE_VALUES)
        trace->count++;
}

/* Returns the value that came `ago` values before the newest one. */
static double value_at(const struct trace *trace, unsigned ago)
{
    return trace->value[(trace->next + TRACE_VALUES - 1 - ago) % TRACE_VALUES];
}

void trace_draw(const struct trace *trace, unsigned columns, bool is_utf8, char *text, size_t size)
{
    static const char *const blocks[HEIGHTS] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const marks[HEIGHTS] = {"_", ".", ",", "-", "=", "+", "*", "#"};
    const char *const *shape = is_utf8 ? blocks : marks;
    const unsigned shown = trace->count < columns ? trace->count : columns;
    double least = INFINITY, greatest = -INFINITY;
    size_t at = 0;

    for (unsigned i = 0; i < shown; i++) {
        least = fmin(least, value_at(trace, i)); /* fmin leaves NaN out */
        greatest = fmax(greatest, value_at(trace, i));
    }
    text[0] = '\0';
    for (unsigned i = shown; i > 0; i--) {
        const double value = value_at(trace, i - 1);
        const char *character = " ";
        if (isfinite(value)) {
            const double height = greatest > least ? (value - least) / (greatest - least) : 0;
            character = shape[(unsigned)(height * (HEIGHTS - 1) + 0.5)];
        }
        if (at + strlen(character) >= size)
            return;
        at += (size_t)snprintf(text + at, size - at, "%s", character);
    }
}

/* Writes metrics, family by family, in one of the two formats that Prometheus reads. */
#ifndef FFTD_COMMON_METRICS_H
#define FFTD_COMMON_METRICS_H

#include <stdint.h>
#include <stdio.h>

enum metrics_format {
    METRICS_OPENMETRICS, /* OpenMetrics 1.0, which scrapers ask for */
    METRICS_PROMETHEUS,  /* text format 0.0.4, which node_exporter's textfile collector reads */
};

struct metrics {
    FILE *file;
    enum metrics_format format;
    const char *camera; /* the value of the label `name` that every series has; UTF-8 */
};

/* Types of metrics that both formats have. */
enum metric_type { METRIC_GAUGE, METRIC_COUNTER, METRIC_SUMMARY, METRIC_HISTOGRAM };

/* Begins a family. All its samples must follow before the next family begins. A counter's name is
 * given without _total. The unit is NULL or the last word of the name. */
void metrics_family(const struct metrics *out, const char *name, enum metric_type type,
                    const char *unit, const char *help);

/* A series may have another label, whose text is UTF-8; label NULL: it has none. */
void metrics_gauge(const struct metrics *out, const char *name, const char *label, const char *text,
                   double value);
void metrics_counter(const struct metrics *out, const char *name, const char *label,
                     const char *text, uint64_t value);

/* Writes, in seconds, `count` durations that add up to sum_ns. */
void metrics_summary(const struct metrics *out, const char *name, const char *label,
                     const char *text, uint64_t count, uint64_t sum_ns);

/* Writes a bucket: how many durations were at most edge_ns. Call it with growing edges, and then
 * metrics_histogram with the count and the sum of all durations. */
void metrics_bucket(const struct metrics *out, const char *name, const char *label,
                    const char *text, uint64_t edge_ns, uint64_t upto_count);
void metrics_histogram(const struct metrics *out, const char *name, const char *label,
                       const char *text, uint64_t count, uint64_t sum_ns);

/* Ends the text. */
void metrics_end(const struct metrics *out);

#endif

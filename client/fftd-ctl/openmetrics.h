/* Writes OpenMetrics text (openmetrics.io, version 1.0), family by family.
 *
 * Only gauges, counters and histograms, since these are the types that Prometheus' older text
 * format has too: node_exporter's textfile collector reads that one, in which what is new here
 * (# UNIT, # EOF) is a comment. */
#ifndef FFTD_CTL_OPENMETRICS_H
#define FFTD_CTL_OPENMETRICS_H

#include <stdint.h>
#include <stdio.h>

/* Ends with one whose name is NULL. Values are UTF-8. */
struct metric_label {
    const char *name;
    const char *value;
};

/* Begins a family; its samples follow, then no more of it. unit is NULL, or what name ends with. */
void openmetrics_family(FILE *file, const char *name, const char *type, const char *unit,
                        const char *help);

void openmetrics_gauge(FILE *file, const char *name, const struct metric_label *labels,
                       double value);
void openmetrics_counter(FILE *file, const char *name, const struct metric_label *labels,
                         uint64_t value);

/* What was measured count times, in all sum_ns; below_count[i] of them took at most edge_ns[i],
 * edges and counts growing. Written in seconds. */
struct metric_histogram {
    uint64_t count;
    uint64_t sum_ns;
    unsigned buckets;
    const uint64_t *edge_ns;
    const uint64_t *below_count;
};
void openmetrics_histogram(FILE *file, const char *name, const struct metric_label *labels,
                           const struct metric_histogram *histogram);

/* Ends the text. */
void openmetrics_end(FILE *file);

#endif

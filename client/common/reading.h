/* Reads properties of the daemon that several commands and fftd-view show. */
#ifndef FFTD_COMMON_READING_H
#define FFTD_COMMON_READING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bus.h"

/* Writes "NV12 640x360" into text, or "-" while the format is not known. */
void reading_format(sd_bus_message *properties, char *text, size_t size);

/* Writes the name of the format of captured frames; "" if the daemon does not say. */
void reading_captured(sd_bus_message *properties, char text[16]);

/* Writes "NV12 640x360, made of 1280x720" if published frames are smaller than captured ones;
 * otherwise returns false. */
bool reading_smaller(sd_bus_message *properties, char *text, size_t size);

/* Returns a quantile ("p50_ns") of the time from capture to publication since the daemon's start,
 * in ms. */
double reading_latency_ms(sd_bus_message *properties, const char *quantile);

/* Reads the number of frames since the daemon's start and the sum of these times; both are 0 if the
 * properties have neither. */
void reading_latency_sum(sd_bus_message *properties, uint64_t *ret_count, uint64_t *ret_sum_ns);

#define READING_WHY_BYTES 600

/* Returns whether the daemon failed to make this filter and went back to the previous one. */
bool reading_has_failed(sd_bus_message *properties, uint64_t serial);

/* Writes that the newest change of the filter has failed, and why; nothing if it has not. */
void reading_problem(sd_bus_message *properties, char text[READING_WHY_BYTES]);

/* Returns whether no frame has been published yet with this filter or a newer one, or it has
 * failed. If so, writes the reason as the predicate of a sentence: "is being prepared". */
bool reading_is_pending(sd_bus_message *properties, uint64_t serial, char text[READING_WHY_BYTES]);

/* Returns the source's description, or its URI while it has none. */
const char *reading_source(sd_bus_message *properties);

/* The measures of frames (ring.h) with their units, in the order in which they are shown. */
struct reading_measure {
    const char *name;
    const char *unit; /* begins with a space, or is empty */
    /* The same as a metric, in the units of Prometheus, which uses shares of one instead of 0 ..
     * 255. Axes of one family are adjacent. */
    const char *family, *metric_unit;
    const char *axis; /* the value of the label `axis`; NULL: no label */
    double scale;
    const char *help; /* NULL: the family's was given */
};
extern const struct reading_measure reading_measures[];
extern const unsigned reading_measure_count;

/* Returns what is shown behind a value: its unit, or the word for a state. */
const char *reading_measure_unit(const struct reading_measure *measure, double value);

#endif

/* Writes the reply to GetStats as metrics. */
#ifndef FFTD_COMMON_EXPORT_H
#define FFTD_COMMON_EXPORT_H

#include <stdio.h>

#include <systemd/sd-bus.h>

#include "metrics.h"

/* The caller checks ferror(file). */
void export_stats(sd_bus_message *stats, enum metrics_format format, FILE *file);

/* Writes that the daemon with this name does not answer. */
void export_absence(const char *name, enum metrics_format format, FILE *file);

#endif

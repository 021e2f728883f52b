/* What GetStats answered, as OpenMetrics text. */
#ifndef FFTD_CTL_EXPORT_H
#define FFTD_CTL_EXPORT_H

#include <stdio.h>

#include <systemd/sd-bus.h>

void export_stats(sd_bus_message *stats, FILE *file);

#endif

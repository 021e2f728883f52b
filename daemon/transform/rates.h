/* Measures the rates of a device for the model of transform/cost.h. A kernel that copies shows how
 * fast its memory is; its arithmetic follows from its clock and the number of its cores. */
#ifndef FFTD_TRANSFORM_RATES_H
#define FFTD_TRANSFORM_RATES_H

#include <stdbool.h>

#include "transform/cost.h"
#include "core/error.h"
#include "gpu/devfreq.h"
#include "gpu/device.h"

struct rates {
    struct cost_rates cost;
    char device[256]; /* as gpu_device_name says it */
    bool is_counted;  /* the model's items were counted for such a device */
    unsigned cores;
    double clock_hz;
    char clock_source[DEVFREQ_PATH_BYTES]; /* the file or the OpenCL value with the clock */
};

/* Measures for about half a second, in which the device should have nothing else to do. The clock
 * is that of the fastest copies, and of a GPU is read from an entry of devfreq, the folder
 * DEVFREQ_FOLDER. -ENODATA: nothing says the clock; -EIO, -ENOMEM: the device does not copy. */
int rates_measure(struct rates *ret, struct gpu_device *device, const char *devfreq,
                  struct error *why);

#endif

#include "print.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sysexits.h>
#include <unistd.h>

#include "capture/capture.h"
#include "gpu/device.h"
#include "transform/forecast.h"
#include "transform/rates.h"
#include "service/log.h"

/* Takes the standard output away from libraries, whose output goes to the standard error from now
 * on: some drivers of OpenCL print a line when they are loaded. NULL: not possible. */
static FILE *take_output(void)
{
    const int own = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    if (own < 0)
        return NULL;
    FILE *out = fdopen(own, "w");
    if (out == NULL)
        close(own);
    else
        dup2(STDERR_FILENO, STDOUT_FILENO);
    return out;
}

int print_devices(bool json)
{
    FILE *own = take_output(), *out = own != NULL ? own : stdout;
    fputs(json ? "{\"cameras\": " : "Cameras:\n", out);
    if (capture_list_devices(out, json) == 0 && !json)
        fputs("none\n", out);
    fputs(json ? ", \"opencl\": " : "\nOpenCL devices:\n", out);
    if (gpu_device_list(out, json) == 0 && !json)
        fputs("none\n", out);
    if (json)
        fputs("}\n", out);
    if (own != NULL)
        fclose(own);
    return EX_OK;
}

static int measure_device(struct rates *ret, const char *selector, struct error *why)
{
    struct gpu_device *device;
    int r = gpu_device_open(&device, selector, why);
    if (r < 0)
        return r;
    r = rates_measure(ret, device, DEVFREQ_FOLDER, why);
    gpu_device_close(device);
    return r;
}

int print_plan(const struct config *config, bool measured, bool json)
{
    struct error why;
    struct rates rates = {0};
    const struct forecast_request request = {.device = config->engine.device,
                                             .measured = measured ? &rates : NULL,
                                             .width = config->camera.source.width,
                                             .height = config->camera.source.height,
                                             .options = &config->engine.options,
                                             .filter = &config->filter};
    FILE *own = take_output(), *out = own != NULL ? own : stdout;
    int code = EX_OK;
    int r = measured ? measure_device(&rates, config->engine.device, &why) : 0;
    if (r < 0)
        code = r == -ENODEV ? EX_UNAVAILABLE : EX_OSERR;
    else if ((r = gpu_forecast(out, &request, json, &why)) < 0)
        code = r == -ENOMEM ? EX_OSERR : EX_USAGE;
    if (code != EX_OK)
        log_error("%s", why.text);
    if (own != NULL)
        fclose(own);
    return code;
}

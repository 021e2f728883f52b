#include "print.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "capture/capture.h"
#include "gpu/device.h"
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

int print_end(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return EX_OK;
    log_error("stdout: %s", strerror(errno));
    return EX_IOERR;
}

int print_config(const struct config *config)
{
    if (config->saved.problem.text[0] != '\0')
        log_warning("%s", config->saved.problem.text);
    config_print(config, stdout);
    return print_end();
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

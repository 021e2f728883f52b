#include "usage.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include <fftd/fftd.h>

int usage_error(const char *program, const char *format, ...)
{
    va_list args;
    fprintf(stderr, "%s: ", program);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "; see %s --help\n", program);
    return EX_USAGE;
}

int usage_check_camera(const char *program, const char *name)
{
    char path[PATH_MAX];
    return fftd_runtime_dir(name, path, sizeof path) == 0
               ? 0
               : usage_error(program, "--name %s: expected the name of a camera, or a directory",
                             name);
}

void usage_name_camera(const char *camera, char *ret, size_t size)
{
    size_t length = strlen(camera);
    while (length > 1 && camera[length - 1] == '/')
        length--;
    size_t start = length;
    while (start > 0 && camera[start - 1] != '/')
        start--;
    snprintf(ret, size, "%.*s", (int)(length - start), camera + start);
}

bool usage_parse_count(const char *text, uint64_t most, uint64_t *ret)
{
    char *end;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0' || *text < '0' || *text > '9' || value < 1 || value > most)
        return false;
    *ret = value;
    return true;
}

#include "usage.h"

#include <stdarg.h>
#include <stdio.h>
#include <sysexits.h>

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

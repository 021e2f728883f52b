#include "core/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int error_set(struct error *why, int err, const char *format, ...)
{
    if (why != NULL) {
        va_list args;
        va_start(args, format);
        vsnprintf(why->text, sizeof why->text, format, args);
        va_end(args);
    }
    return -err;
}

int error_prefix(struct error *why, int err, const char *format, ...)
{
    if (why != NULL) {
        char context[sizeof why->text];
        char rest[sizeof why->text];
        va_list args;
        va_start(args, format);
        vsnprintf(context, sizeof context, format, args);
        va_end(args);
        memcpy(rest, why->text, sizeof rest);
        /* If both do not fit, the end of the text is cut, because the context says where to look.
         */
        int used = snprintf(why->text, sizeof why->text, "%.*s: ", 200, context);
        snprintf(why->text + used, sizeof why->text - (size_t)used, "%.*s",
                 (int)(sizeof why->text - (size_t)used - 1), rest);
    }
    return -err;
}

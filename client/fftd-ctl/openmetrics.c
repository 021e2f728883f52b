#include "openmetrics.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void write_escaped(FILE *file, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\n')
            fputs("\\n", file);
        else if (*text == '"' || *text == '\\')
            fprintf(file, "\\%c", *text);
        else
            putc(*text, file);
    }
}

void openmetrics_family(FILE *file, const char *name, const char *type, const char *unit,
                        const char *help)
{
    fprintf(file, "# TYPE %s %s\n", name, type);
    if (unit != NULL)
        fprintf(file, "# UNIT %s %s\n", name, unit);
    fprintf(file, "# HELP %s ", name);
    write_escaped(file, help);
    putc('\n', file);
}

/* NAME SUFFIX {labels, le}; le may be NULL. */
static void write_series(FILE *file, const char *name, const char *suffix,
                         const struct metric_label *labels, const char *le)
{
    const char *before = "{";
    fprintf(file, "%s%s", name, suffix);
    for (; labels->name != NULL; labels++) {
        fprintf(file, "%s%s=\"", before, labels->name);
        write_escaped(file, labels->value);
        putc('"', file);
        before = ",";
    }
    if (le != NULL) {
        fprintf(file, "%sle=\"%s\"", before, le);
        before = ",";
    }
    fputs(*before == ',' ? "} " : " ", file);
}

/* The shortest decimal that reads back as the same number. */
static const char *shortest(char text[32], double value)
{
    if (isnan(value))
        return "NaN";
    if (isinf(value))
        return value > 0 ? "+Inf" : "-Inf";
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, 32, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    return text;
}

/* As it has to be in a label, where 1 and 1.0 would be different series. */
static const char *canonical(char text[32], double value)
{
    if (shortest(text, value) == text && strpbrk(text, ".e") == NULL)
        strcat(text, ".0");
    return text;
}

void openmetrics_gauge(FILE *file, const char *name, const struct metric_label *labels,
                       double value)
{
    char text[32];
    write_series(file, name, "", labels, NULL);
    fprintf(file, "%s\n", shortest(text, value));
}

void openmetrics_counter(FILE *file, const char *name, const struct metric_label *labels,
                         uint64_t value)
{
    write_series(file, name, "_total", labels, NULL);
    fprintf(file, "%" PRIu64 "\n", value);
}

void openmetrics_histogram(FILE *file, const char *name, const struct metric_label *labels,
                           const struct metric_histogram *histogram)
{
    const uint64_t ns_per_s = 1000000000;
    char le[32];
    for (unsigned i = 0; i < histogram->buckets; i++) {
        write_series(file, name, "_bucket", labels,
                     canonical(le, (double)histogram->edge_ns[i] / (double)ns_per_s));
        fprintf(file, "%" PRIu64 "\n", histogram->below_count[i]);
    }
    write_series(file, name, "_bucket", labels, "+Inf");
    fprintf(file, "%" PRIu64 "\n", histogram->count);
    write_series(file, name, "_count", labels, NULL);
    fprintf(file, "%" PRIu64 "\n", histogram->count);
    write_series(file, name, "_sum", labels, NULL);
    fprintf(file, "%" PRIu64 ".%09" PRIu64 "\n", histogram->sum_ns / ns_per_s,
            histogram->sum_ns % ns_per_s);
}

void openmetrics_end(FILE *file)
{
    fputs("# EOF\n", file);
}

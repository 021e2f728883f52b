#include "metrics.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "core/clock.h"
#include "core/text.h"

static void write_escaped(FILE *file, const char *text, bool escape_quotes)
{
    for (; *text != '\0'; text++) {
        if (*text == '\n')
            fputs("\\n", file);
        else if (*text == '\\' || (*text == '"' && escape_quotes))
            fprintf(file, "\\%c", *text);
        else
            putc(*text, file);
    }
}

void metrics_family(const struct metrics *out, const char *name, enum metric_type type,
                    const char *unit, const char *help)
{
    static const char *const names[] = {
        [METRIC_GAUGE] = "gauge",
        [METRIC_COUNTER] = "counter",
        [METRIC_SUMMARY] = "summary",
        [METRIC_HISTOGRAM] = "histogram",
    };
    const bool is_openmetrics = out->format == METRICS_OPENMETRICS;
    /* The text format has no families: TYPE and HELP name the series itself. */
    const char *suffix = type == METRIC_COUNTER && !is_openmetrics ? "_total" : "";
    fprintf(out->file, "# TYPE %s%s %s\n", name, suffix, names[type]);
    if (unit != NULL && is_openmetrics)
        fprintf(out->file, "# UNIT %s %s\n", name, unit);
    fprintf(out->file, "# HELP %s%s ", name, suffix);
    write_escaped(out->file, help, is_openmetrics);
    putc('\n', out->file);
}

static void write_label(FILE *file, char before, const char *name, const char *value)
{
    fprintf(file, "%c%s=\"", before, name);
    write_escaped(file, value, true);
    putc('"', file);
}

/* Writes NAME SUFFIX {name="CAMERA",label="text",le="LE"}. label and le may be NULL. */
static void write_series(const struct metrics *out, const char *name, const char *suffix,
                         const char *label, const char *text, const char *le)
{
    fprintf(out->file, "%s%s", name, suffix);
    write_label(out->file, '{', "name", out->camera);
    if (label != NULL)
        write_label(out->file, ',', label, text);
    if (le != NULL)
        write_label(out->file, ',', "le", le);
    fputs("} ", out->file);
}

/* Returns the shortest decimal that reads back as the same number. */
static const char *shortest(char text[TEXT_NUMBER_BYTES], double value)
{
    if (isnan(value))
        return "NaN";
    if (isinf(value))
        return value > 0 ? "+Inf" : "-Inf";
    text_from_number(value, text, TEXT_NUMBER_BYTES);
    return text;
}

/* Returns the form that OpenMetrics requires in the label le: 1 and 1.0 are different series. */
static const char *canonical(char text[TEXT_NUMBER_BYTES], double value)
{
    if (shortest(text, value) == text && strpbrk(text, ".e") == NULL)
        strcat(text, ".0");
    return text;
}

void metrics_gauge(const struct metrics *out, const char *name, const char *label, const char *text,
                   double value)
{
    char number[TEXT_NUMBER_BYTES];
    write_series(out, name, "", label, text, NULL);
    fprintf(out->file, "%s\n", shortest(number, value));
}

void metrics_counter(const struct metrics *out, const char *name, const char *label,
                     const char *text, uint64_t value)
{
    write_series(out, name, "_total", label, text, NULL);
    fprintf(out->file, "%" PRIu64 "\n", value);
}

void metrics_summary(const struct metrics *out, const char *name, const char *label,
                     const char *text, uint64_t count, uint64_t sum_ns)
{
    write_series(out, name, "_count", label, text, NULL);
    fprintf(out->file, "%" PRIu64 "\n", count);
    write_series(out, name, "_sum", label, text, NULL);
    fprintf(out->file, "%" PRIu64 ".%09" PRIu64 "\n", sum_ns / NS_PER_S, sum_ns % NS_PER_S);
}

void metrics_bucket(const struct metrics *out, const char *name, const char *label,
                    const char *text, uint64_t edge_ns, uint64_t upto_count)
{
    char le[TEXT_NUMBER_BYTES];
    write_series(out, name, "_bucket", label, text,
                 canonical(le, (double)edge_ns / (double)NS_PER_S));
    fprintf(out->file, "%" PRIu64 "\n", upto_count);
}

void metrics_histogram(const struct metrics *out, const char *name, const char *label,
                       const char *text, uint64_t count, uint64_t sum_ns)
{
    write_series(out, name, "_bucket", label, text, "+Inf");
    fprintf(out->file, "%" PRIu64 "\n", count);
    metrics_summary(out, name, label, text, count, sum_ns);
}

void metrics_end(const struct metrics *out)
{
    if (out->format == METRICS_OPENMETRICS)
        fputs("# EOF\n", out->file);
}

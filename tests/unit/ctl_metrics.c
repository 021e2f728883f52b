/* The metrics of fftd-ctl. A strict reader checks OpenMetrics; it is itself tested with texts that
 * it must refuse. */
#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"

#include "common/metrics.h"

/* ---- a reader of OpenMetrics 1.0; its functions return false for a wrong text ---- */

#define MAX_SERIES 200
#define MAX_TEXT   512

struct reader {
    const char *at;
    /* The family being read. */
    char family[MAX_TEXT], type[16], unit[64];
    bool has_type, has_unit, has_help, has_samples;
    /* The histogram being read: its labels without le. */
    char histogram[MAX_TEXT];
    double last_le, last_count;
    bool in_buckets;
    unsigned families, series;
    char seen_family[MAX_SERIES][MAX_TEXT], seen_series[MAX_SERIES][MAX_TEXT];
};

static bool follows(struct reader *reader, const char *text)
{
    if (strncmp(reader->at, text, strlen(text)) != 0)
        return false;
    reader->at += strlen(text);
    return true;
}

static bool read_name(struct reader *reader, char name[MAX_TEXT], const char *also)
{
    size_t length = 0;
    while (isalnum((unsigned char)reader->at[length]) || reader->at[length] == '_' ||
           (reader->at[length] != '\0' && strchr(also, reader->at[length]) != NULL))
        length++;
    if (length == 0 || length >= MAX_TEXT || isdigit((unsigned char)reader->at[0]))
        return false;
    snprintf(name, MAX_TEXT, "%.*s", (int)length, reader->at);
    reader->at += length;
    return true;
}

/* Reads up to `end`, which is left. A backslash must come before a backslash, a quote or an n. */
static bool read_escaped(struct reader *reader, char end)
{
    while (*reader->at != end) {
        if (*reader->at == '\0' || *reader->at == '\n')
            return false;
        if (*reader->at == '\\') {
            reader->at++;
            if (*reader->at == '\0' || strchr("\\\"n", *reader->at) == NULL)
                return false;
        } else if (*reader->at == '"') {
            return false;
        }
        reader->at++;
    }
    return true;
}

static bool read_number(struct reader *reader, double *ret)
{
    char *end;
    if (*reader->at == ' ' || strchr("+-.0123456789N", *reader->at) == NULL)
        return false;
    *ret = strtod(reader->at, &end);
    if (end == reader->at)
        return false;
    reader->at = end;
    return true;
}

static bool is_new(char seen[MAX_SERIES][MAX_TEXT], unsigned *count, const char *text)
{
    for (unsigned i = 0; i < *count; i++)
        if (strcmp(seen[i], text) == 0)
            return false;
    if (*count == MAX_SERIES)
        return false;
    snprintf(seen[(*count)++], MAX_TEXT, "%s", text);
    return true;
}

static bool begin_family(struct reader *reader, const char *name)
{
    if (strcmp(reader->family, name) == 0)
        return !reader->has_samples; /* metadata must come before samples */
    if (reader->in_buckets)
        return false;
    snprintf(reader->family, MAX_TEXT, "%s", name);
    reader->has_type = reader->has_unit = reader->has_help = reader->has_samples = false;
    return is_new(reader->seen_family, &reader->families, name);
}

static bool read_metadata(struct reader *reader)
{
    char what[MAX_TEXT], name[MAX_TEXT], word[MAX_TEXT];
    if (!read_name(reader, what, "") || !follows(reader, " ") || !read_name(reader, name, ":") ||
        !follows(reader, " ") || !begin_family(reader, name))
        return false;
    if (strcmp(what, "HELP") == 0 && !reader->has_help) {
        reader->has_help = true;
        return read_escaped(reader, '\n');
    }
    if (!read_name(reader, word, ""))
        return false;
    if (strcmp(what, "TYPE") == 0 && !reader->has_type) {
        reader->has_type = true;
        snprintf(reader->type, sizeof reader->type, "%.15s", word);
        return strcmp(word, "gauge") == 0 || strcmp(word, "counter") == 0 ||
               strcmp(word, "summary") == 0 || strcmp(word, "histogram") == 0;
    }
    if (strcmp(what, "UNIT") == 0 && !reader->has_unit) {
        size_t length = strlen(name), unit = strlen(word);
        reader->has_unit = true;
        return length > unit && name[length - unit - 1] == '_' &&
               strcmp(name + length - unit, word) == 0;
    }
    return false;
}

static bool append(char to[MAX_TEXT], const char *name, const char *value, ptrdiff_t bytes)
{
    size_t used = strlen(to);
    int length = snprintf(to + used, MAX_TEXT - used, "%s=%.*s,", name, (int)bytes, value);
    return used + (size_t)length < MAX_TEXT;
}

/* Reads {name="value",...}. The label le is returned separately. */
static bool read_labels(struct reader *reader, char labels[MAX_TEXT], char le[MAX_TEXT])
{
    char name[MAX_TEXT];
    labels[0] = le[0] = '\0';
    if (!follows(reader, "{"))
        return true;
    do {
        if (!read_name(reader, name, "") || !follows(reader, "=\""))
            return false;
        const char *value = reader->at;
        if (!read_escaped(reader, '"'))
            return false;
        if (!append(strcmp(name, "le") == 0 ? le : labels, name, value, reader->at - value))
            return false;
        reader->at++;
    } while (follows(reader, ","));
    return follows(reader, "}");
}

static bool check_bucket(struct reader *reader, const char *labels, const char *le, double value)
{
    double edge = strtod(le + strlen("le="), NULL);
    if (!reader->in_buckets || strcmp(reader->histogram, labels) != 0) {
        if (reader->in_buckets)
            return false; /* the previous histogram has no +Inf */
        reader->in_buckets = true;
        snprintf(reader->histogram, MAX_TEXT, "%s", labels);
    } else if (edge <= reader->last_le || value < reader->last_count) {
        return false;
    }
    if (strpbrk(le + strlen("le="), ".eI") == NULL)
        return false; /* not canonical */
    reader->last_le = edge;
    reader->last_count = value;
    return true;
}

static bool check_sample(struct reader *reader, const char *suffix, const char *labels,
                         const char *le, double value)
{
    if (strcmp(reader->type, "gauge") == 0)
        return suffix[0] == '\0' && le[0] == '\0';
    if (strcmp(reader->type, "counter") == 0)
        return strcmp(suffix, "_total") == 0 && le[0] == '\0' && value >= 0;
    if (strcmp(reader->type, "summary") == 0)
        return (strcmp(suffix, "_count") == 0 || strcmp(suffix, "_sum") == 0) && le[0] == '\0' &&
               value >= 0;
    if (strcmp(suffix, "_bucket") == 0)
        return le[0] != '\0' && check_bucket(reader, labels, le, value);
    if (le[0] != '\0' || strcmp(reader->histogram, labels) != 0)
        return false;
    if (strcmp(suffix, "_count") == 0) {
        reader->in_buckets = false;
        return isinf(reader->last_le) && value == reader->last_count;
    }
    return strcmp(suffix, "_sum") == 0 && !reader->in_buckets;
}

static bool read_sample(struct reader *reader)
{
    char name[MAX_TEXT], labels[MAX_TEXT], le[MAX_TEXT], series[MAX_TEXT];
    double value;
    const char *start = reader->at;
    if (!read_name(reader, name, ":") || !read_labels(reader, labels, le))
        return false;
    snprintf(series, sizeof series, "%.*s", (int)(reader->at - start), start);
    if (!follows(reader, " ") || !read_number(reader, &value))
        return false;
    size_t length = strlen(reader->family);
    reader->has_samples = true;
    return reader->has_type && strncmp(name, reader->family, length) == 0 &&
           is_new(reader->seen_series, &reader->series, series) &&
           check_sample(reader, name + length, labels, le, value);
}

/* Returns the first error in the text; NULL: it is OpenMetrics. */
static const char *find_fault(const char *text)
{
    struct reader *reader = calloc(1, sizeof *reader);
    reader->at = text;
    bool sound = true;
    while (sound && !follows(reader, "# EOF\n"))
        sound = (follows(reader, "# ") ? read_metadata(reader) : read_sample(reader)) &&
                follows(reader, "\n");
    const char *fault = sound && *reader->at == '\0' && !reader->in_buckets ? NULL : reader->at;
    free(reader);
    return fault;
}

/* ---- the tests ---- */

static char *written;
static size_t written_bytes;

static struct metrics begin(enum metrics_format format)
{
    return (struct metrics){open_memstream(&written, &written_bytes), format, "front"};
}

static void end(const struct metrics *out)
{
    metrics_end(out);
    fclose(out->file);
}

static void write_every_type(enum metrics_format format)
{
    const uint64_t edges[] = {1000000, 500000000, 2000000000};
    const uint64_t counts[] = {0, 3, 7};
    const struct metrics out = begin(format);
    metrics_family(&out, "a_clients", METRIC_GAUGE, NULL, "Clients.");
    metrics_gauge(&out, "a_clients", NULL, NULL, 3);
    metrics_gauge(&out, "a_clients", "side", "rear", 0.1);
    metrics_family(&out, "a_frames", METRIC_COUNTER, NULL, "Frames.");
    metrics_counter(&out, "a_frames", NULL, NULL, UINT64_MAX);
    metrics_family(&out, "a_step_seconds", METRIC_SUMMARY, "seconds", "Steps.");
    metrics_summary(&out, "a_step_seconds", "side", "rear", 3, 2000000001);
    metrics_family(&out, "a_time_seconds", METRIC_HISTOGRAM, "seconds", "Time.");
    for (unsigned i = 0; i < 3; i++)
        metrics_bucket(&out, "a_time_seconds", NULL, NULL, edges[i], counts[i]);
    metrics_histogram(&out, "a_time_seconds", NULL, NULL, 9, 12000000345);
    end(&out);
}

static void every_type_is_written_as_openmetrics_says(void **state)
{
    (void)state;
    write_every_type(METRICS_OPENMETRICS);
    assert_string_equal(written, "# TYPE a_clients gauge\n"
                                 "# HELP a_clients Clients.\n"
                                 "a_clients{name=\"front\"} 3\n"
                                 "a_clients{name=\"front\",side=\"rear\"} 0.1\n"
                                 "# TYPE a_frames counter\n"
                                 "# HELP a_frames Frames.\n"
                                 "a_frames_total{name=\"front\"} 18446744073709551615\n"
                                 "# TYPE a_step_seconds summary\n"
                                 "# UNIT a_step_seconds seconds\n"
                                 "# HELP a_step_seconds Steps.\n"
                                 "a_step_seconds_count{name=\"front\",side=\"rear\"} 3\n"
                                 "a_step_seconds_sum{name=\"front\",side=\"rear\"} 2.000000001\n"
                                 "# TYPE a_time_seconds histogram\n"
                                 "# UNIT a_time_seconds seconds\n"
                                 "# HELP a_time_seconds Time.\n"
                                 "a_time_seconds_bucket{name=\"front\",le=\"0.001\"} 0\n"
                                 "a_time_seconds_bucket{name=\"front\",le=\"0.5\"} 3\n"
                                 "a_time_seconds_bucket{name=\"front\",le=\"2.0\"} 7\n"
                                 "a_time_seconds_bucket{name=\"front\",le=\"+Inf\"} 9\n"
                                 "a_time_seconds_count{name=\"front\"} 9\n"
                                 "a_time_seconds_sum{name=\"front\"} 12.000000345\n"
                                 "# EOF\n");
    assert_null(find_fault(written));
    free(written);
}

/* TYPE and HELP have the full name of a counter, and there is no end mark. */
static void every_type_is_written_as_the_text_format_says(void **state)
{
    (void)state;
    write_every_type(METRICS_PROMETHEUS);
    assert_string_equal(written, "# TYPE a_clients gauge\n"
                                 "# HELP a_clients Clients.\n"
                                 "a_clients{name=\"front\"} 3\n"
                                 "a_clients{name=\"front\",side=\"rear\"} 0.1\n"
                                 "# TYPE a_frames_total counter\n"
                                 "# HELP a_frames_total Frames.\n"
                                 "a_frames_total{name=\"front\"} 18446744073709551615\n"
                                 "# TYPE a_step_seconds summary\n"
                                 "# HELP a_step_seconds Steps.\n"
                                 "a_step_seconds_count{name=\"front\",side=\"rear\"} 3\n"
                                 "a_step_seconds_sum{name=\"front\",side=\"rear\"} 2.000000001\n"
                                 "# TYPE a_time_seconds histogram\n"
                                 "# HELP a_time_seconds Time.\n"
                                 "a_time_seconds_bucket{name=\"front\",le=\"0.001\"} 0\n"
                                 "a_time_seconds_bucket{name=\"front\",le=\"0.5\"} 3\n"
                                 "a_time_seconds_bucket{name=\"front\",le=\"2.0\"} 7\n"
                                 "a_time_seconds_bucket{name=\"front\",le=\"+Inf\"} 9\n"
                                 "a_time_seconds_count{name=\"front\"} 9\n"
                                 "a_time_seconds_sum{name=\"front\"} 12.000000345\n");
    free(written);
}

static void texts_are_escaped(void **state)
{
    (void)state;
    const struct metrics out = begin(METRICS_OPENMETRICS);
    metrics_family(&out, "a", METRIC_GAUGE, NULL, "\"Two\"\nlines \\ one.");
    metrics_gauge(&out, "a", "odd", "a\"b\\c\nd\xc3\xa9,}", 1);
    end(&out);
    assert_string_equal(written, "# TYPE a gauge\n"
                                 "# HELP a \\\"Two\\\"\\nlines \\\\ one.\n"
                                 "a{name=\"front\",odd=\"a\\\"b\\\\c\\nd\xc3\xa9,}\"} 1\n"
                                 "# EOF\n");
    assert_null(find_fault(written));
    free(written);
}

static void quotes_in_help_are_not_escaped_in_the_text_format(void **state)
{
    (void)state;
    const struct metrics text = begin(METRICS_PROMETHEUS);
    metrics_family(&text, "a", METRIC_GAUGE, NULL, "\"Two\"\nlines \\ one.");
    metrics_gauge(&text, "a", "odd", "a\"b\\c\nd\xc3\xa9,}", 1);
    end(&text);
    assert_string_equal(written, "# TYPE a gauge\n"
                                 "# HELP a \"Two\"\\nlines \\\\ one.\n"
                                 "a{name=\"front\",odd=\"a\\\"b\\\\c\\nd\xc3\xa9,}\"} 1\n");
    free(written);
}

static void numbers_come_back_exactly(void **state)
{
    (void)state;
    static const double numbers[] = {0,     -0.25,  0.1,  1.0 / 3,  1e300,
                                     8e-06, 5e-324, 1e21, INFINITY, -INFINITY};
    for (unsigned i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        const struct metrics out = begin(METRICS_OPENMETRICS);
        metrics_gauge(&out, "a", NULL, NULL, numbers[i]);
        fclose(out.file);
        assert_true(strtod(strchr(written, ' '), NULL) == numbers[i]);
        free(written);
    }
    const struct metrics out = begin(METRICS_OPENMETRICS);
    metrics_gauge(&out, "a", NULL, NULL, NAN);
    fclose(out.file);
    assert_string_equal(written, "a{name=\"front\"} NaN\n");
    free(written);
}

static void what_is_not_openmetrics_is_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "# EOF",
        "a 1\n# EOF\n",                                   /* no type */
        "# TYPE a gauge\na 1\n",                          /* no end */
        "# TYPE a gauge\na 1\n# EOF\n\n",                 /* text after the end */
        "# TYPE a gauge\na  1\n# EOF\n",                  /* two spaces */
        "# TYPE a gauge\na one\n# EOF\n",                 /* no number */
        "# TYPE a gauge\na 1\na 2\n# EOF\n",              /* twice the same */
        "# TYPE a gauge\na 1\n# HELP a x\n# EOF\n",       /* too late */
        "# TYPE a gauge\n# TYPE a gauge\na 1\n# EOF\n",   /* twice */
        "# TYPE a state\na 1\n# EOF\n",                   /* no such type */
        "# TYPE a counter\na 1\n# EOF\n",                 /* no _total */
        "# TYPE a counter\na_total -1\n# EOF\n",          /* below zero */
        "# TYPE a gauge\n# UNIT a seconds\na 1\n# EOF\n", /* not in the name */
        "# TYPE a gauge\na{b=\"c} 1\n# EOF\n",            /* no closing quote */
        "# TYPE a gauge\na{b=\"c\\d\"} 1\n# EOF\n",       /* no such escape */
        "# TYPE a gauge\na{1b=\"c\"} 1\n# EOF\n",         /* no name */
        "# TYPE a gauge\na 1\n# TYPE b gauge\nb 1\n# TYPE a gauge\na{b=\"c\"} 1\n# EOF\n",
        "# TYPE a histogram\na_bucket{le=\"1.0\"} 1\na_count 1\na_sum 1\n# EOF\n", /* no +Inf */
        "# TYPE a histogram\na_bucket{le=\"+Inf\"} 1\na_count 2\na_sum 1\n# EOF\n",
        "# TYPE a histogram\na_bucket{le=\"1.0\"} 2\na_bucket{le=\"+Inf\"} 1\na_count 1\n# EOF\n",
        "# TYPE a histogram\na_bucket{le=\"2.0\"} 1\na_bucket{le=\"1.0\"} 1\n# EOF\n",
        "# TYPE a histogram\na_bucket{le=\"1\"} 1\na_bucket{le=\"+Inf\"} 1\na_count 1\n# EOF\n",
        "# TYPE a histogram\na_bucket{le=\"+Inf\"} 1\n# EOF\n", /* no count */
    };
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (find_fault(wrong[i]) == NULL)
            fail_msg("accepted: %s", wrong[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_is_written_as_openmetrics_says),
        cmocka_unit_test(every_type_is_written_as_the_text_format_says),
        cmocka_unit_test(texts_are_escaped),
        cmocka_unit_test(quotes_in_help_are_not_escaped_in_the_text_format),
        cmocka_unit_test(numbers_come_back_exactly),
        cmocka_unit_test(what_is_not_openmetrics_is_refused),
    };
    return cmocka_run_group_tests_name("ctl_metrics", tests, NULL, NULL);
}

/* Prints the results as a table and as JSON. Ratios refer to the first row, fftd. */
#include "fft.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const states[] = {
    [ROW_OK] = "ok", [ROW_REFUSED] = "refused", [ROW_WRONG] = "wrong", [ROW_FAILED] = "failed"};
static const char *const modes[] = {[ONE_AT_A_TIME] = "one at a time", [IN_FLIGHT] = "in flight"};

static double ratio(const struct row *rows, const struct row *row, int mode)
{
    return rows[0].state == ROW_OK ? row->ms[mode] / rows[0].ms[mode] : NAN;
}

/* Returns the dispatches per frame; a pair shares them. */
static double dispatches(const struct row *row)
{
    return row->cost.dispatches > 0 ? (double)row->cost.dispatches / row->cost.frames : NAN;
}

/* A number in a column of the given width; a dash if there is none. */
static void print_number(int columns, int decimals, double number)
{
    if (isnan(number))
        printf("%*s", columns, "-");
    else
        printf("%*.*f", columns, decimals, number);
}

static void print_row(const struct row *rows, const struct row *row)
{
    char error[32];
    printf("%-30s", row->subject->name);
    if (row->state != ROW_OK) {
        printf(" %s: %s\n", states[row->state], row->why.text);
        return;
    }
    for (int mode = 0; mode < MODE_COUNT; mode++) {
        print_number(mode == IN_FLIGHT ? 12 : 10, 3, row->ms[mode]);
        print_number(7, 2, ratio(rows, row, mode));
    }
    print_number(9, 1, row->cost.bytes_per_pixel);
    print_number(6, row->cost.frames > 1, dispatches(row));
    snprintf(error, sizeof error, row->subject->eight_bits ? "%.3f LSB" : "%.1e", row->error);
    printf("%12s  %ux%u\n", error, row->cost.padded_x, row->cost.padded_y);
}

void fft_report_text(const struct report_head *head, const struct scene *scene,
                     const struct row *rows, unsigned count)
{
    printf("\n%ux%u, load %.1f\n%-30s%10s%7s%12s%7s%9s%6s%12s  %s\n", scene->width, scene->height,
           head->load, "", "one, ms", "ratio", "flight, ms", "ratio", "B/pixel", "disp", "error",
           "size");
    for (unsigned i = 0; i < count; i++)
        print_row(rows, &rows[i]);
    fflush(stdout);
}

static void print_json_text(FILE *file, const char *key, const char *text)
{
    fprintf(file, ", \"%s\": \"", key);
    for (const char *c = text; *c != '\0'; c++)
        if (*c == '"' || *c == '\\')
            fprintf(file, "\\%c", *c);
        else
            fputc((unsigned char)*c < ' ' ? ' ' : *c, file);
    fputc('"', file);
}

static void print_json_number(FILE *file, const char *key, double number)
{
    if (isfinite(number))
        fprintf(file, ", \"%s\": %.6g", key, number);
    else
        fprintf(file, ", \"%s\": null", key);
}

static void print_json_row(FILE *file, const struct report_head *head, const struct scene *scene,
                           const struct row *rows, const struct row *row, int mode)
{
    char version[96];
    const bool ok = row->state == ROW_OK;
    row->peer->version(version, sizeof version);
    fprintf(file, "{\"bench\": \"fft\", \"size\": \"%ux%u\"", scene->width, scene->height);
    print_json_text(file, "device", head->device);
    print_json_text(file, "machine", head->machine);
    print_json_number(file, "load", head->load);
    print_json_text(file, "subject", row->subject->name);
    print_json_text(file, "version", version);
    print_json_text(file, "mode", modes[mode]);
    print_json_text(file, "state", states[row->state]);
    if (!ok)
        print_json_text(file, "reason", row->why.text);
    print_json_number(file, "ms", ok ? row->ms[mode] : NAN);
    print_json_text(file, "peer", rows[0].subject->name);
    print_json_number(file, "ratio", ok ? ratio(rows, row, mode) : NAN);
    print_json_number(file, "bytes_per_pixel", ok ? row->cost.bytes_per_pixel : NAN);
    print_json_number(file, "dispatches", ok ? dispatches(row) : NAN);
    print_json_number(file, "error", ok || row->state == ROW_WRONG ? row->error : NAN);
    print_json_text(file, "error_unit", row->subject->eight_bits ? "LSB" : "relative L2");
    if (mode == IN_FLIGHT)
        print_json_number(file, "frames_in_flight", ok ? row->in_flight * row->cost.frames : NAN);
    print_json_number(file, "samples", row->sample_count[mode]);
    fprintf(file, "}\n");
}

void fft_report_json(void *stdio_file, const struct report_head *head, const struct scene *scene,
                     const struct row *rows, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        for (int mode = 0; mode < MODE_COUNT; mode++)
            print_json_row(stdio_file, head, scene, rows, &rows[i], mode);
    fflush(stdio_file);
}

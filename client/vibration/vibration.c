#include "vibration.h"

#include <errno.h>
#include <stdlib.h>

#include "common/json.h"

/* ---- taking ---- */

static int make_room(struct vibration *vibration, uint32_t blocks)
{
    free(vibration->vectors);
    free(vibration->confidences);
    vibration->vectors = malloc(2 * (size_t)blocks * sizeof *vibration->vectors);
    vibration->confidences = malloc(blocks);
    vibration->capacity = blocks;
    return vibration->vectors != NULL && vibration->confidences != NULL ? 0 : -ENOMEM;
}

/* Copies a frame's field. -ENODATA, -ENOENT: there is none, or no more. */
static int copy_field(struct vibration *vibration, const struct fftd *camera,
                      const struct fftd_frame *frame, struct fftd_motion *field)
{
    int r;
    while ((r = fftd_frame_motion(camera, frame, field, vibration->vectors, vibration->confidences,
                                  vibration->capacity)) == -ENOBUFS) {
        r = make_room(vibration, (uint32_t)field->columns * field->rows);
        if (r < 0)
            return r;
    }
    return r;
}

int vibration_take(struct vibration *vibration, const struct fftd *camera,
                   const struct fftd_frame *frame)
{
    struct fftd_motion field;
    vibration->frames += vibration->series.count > 0 ? 1 + frame->missed : 0;
    int r = copy_field(vibration, camera, frame, &field);
    if (r == -ENODATA || r == -ENOENT)
        return 0;
    if (r == 0 && vibration->series.block == 0)
        r = series_begin(&vibration->series, vibration->region, vibration->regions,
                         vibration->with_blocks, &field, &vibration->wrong);
    return r < 0
               ? r
               : series_add(&vibration->series, &field, vibration->vectors, vibration->confidences);
}

/* ---- finding ---- */

int vibration_find(struct vibration *vibration, void (*progress)(void *, unsigned, unsigned),
                   void *context)
{
    int r = 0;
    unsigned known = 0;
    for (unsigned i = 0; i < vibration->regions && r == 0; i++) {
        r = modes_find(&vibration->modes[i], &vibration->spectrum[i], &vibration->series, &i, 1,
                       vibration->regions);
        known += r == 0;
        r = r == -ENODATA ? 0 : r;
    }
    if (r == 0 && known == 0)
        return -ENODATA;
    if (r == 0 && vibration->is_surveyed)
        r = survey_find(&vibration->survey, &vibration->series, progress, context);
    return r == -ENODATA ? 0 : r;
}

const struct modes *vibration_known(const struct vibration *vibration)
{
    unsigned i = 0;
    while (i + 1 < vibration->regions && vibration->spectrum[i].px == NULL)
        i++;
    return &vibration->modes[i];
}

double vibration_strongest_hz(const struct vibration *vibration)
{
    const struct mode *most = NULL;
    if (vibration->survey.count > 0)
        return vibration->survey.line[0].hz;
    for (unsigned i = 0; i < vibration->regions; i++)
        if (vibration->modes[i].count > 0 &&
            (most == NULL || vibration->modes[i].mode[0].px > most->px))
            most = &vibration->modes[i].mode[0];
    return most != NULL ? most->hz : 0;
}

int vibration_draw(const struct vibration *vibration, struct picture *ret)
{
    struct chart_panel panel[VIBRATION_MOST_REGIONS];
    unsigned count = 0;
    for (unsigned i = 0; i < vibration->regions; i++)
        if (vibration->spectrum[i].px != NULL)
            panel[count++] = (struct chart_panel){.title = vibration->series.place[i].name,
                                                  .place = i,
                                                  .modes = &vibration->modes[i],
                                                  .spectrum = &vibration->spectrum[i]};
    return chart_draw(ret, &vibration->series, panel, count);
}

void vibration_finish(struct vibration *vibration)
{
    for (unsigned i = 0; i < vibration->regions; i++)
        free(vibration->spectrum[i].px);
    series_finish(&vibration->series);
    free(vibration->vectors);
    free(vibration->confidences);
}

/* ---- writing ---- */

static void print_mode(FILE *file, const struct mode *mode)
{
    fprintf(file, "  %8.3f Hz +- %.3f  %8.4f px +- %.4f  along %4.0f deg  phase %4.0f deg\n",
            mode->hz, mode->hz_error, mode->px, mode->px_error, mode->angle_deg, mode->phase_deg);
}

void vibration_write_text(const struct vibration *vibration, FILE *file)
{
    const struct series *series = &vibration->series;
    fprintf(file, "%u fields in %.2f s\n", series->count, series_seconds(series));
    for (unsigned i = 0; i < vibration->regions; i++) {
        const struct modes *modes = &vibration->modes[i];
        const struct series_place *place = &series->place[i];
        if (modes->steps < MODES_FEWEST_STEPS) {
            fprintf(file, "%s: nothing there can be followed\n", place->name);
            continue;
        }
        fprintf(file, "%s (%u block%s), %.2f to %.2f Hz:\n", place->name, place->blocks,
                place->blocks == 1 ? "" : "s", modes->least_hz, modes->most_hz);
        for (unsigned k = 0; k < modes->count; k++)
            print_mode(file, &modes->mode[k]);
        if (modes->count == 0)
            fprintf(file, "  nothing vibrates beyond the noise of %.4f px\n", modes->noise_px);
    }
    for (unsigned i = 0; i < vibration->survey.count; i++) {
        const struct survey_line *line = &vibration->survey.line[i];
        const struct series_place *place = &series->place[line->place];
        if (i == 0)
            fprintf(file, "blocks:\n");
        print_mode(file, &line->mode);
        fprintf(file, "           %u of %u blocks, most of all at %u,%u,%ux%u\n", line->blocks,
                series->places - series->named, place->left, place->top, place->width,
                place->height);
    }
}

static void write_axis(struct json *json, const char *key, const struct mode_axis *axis)
{
    json_open(json, key, '{');
    json_number(json, "Pixels", axis->px);
    json_number(json, "Phase", axis->phase_deg);
    json_close(json, '}');
}

static void write_mode(struct json *json, const struct mode *mode)
{
    json_number(json, "Hz", mode->hz);
    json_number(json, "HzDeviation", mode->hz_error);
    json_number(json, "Pixels", mode->px);
    json_number(json, "PixelsDeviation", mode->px_error);
    json_number(json, "PixelsAcross", mode->minor_px);
    json_number(json, "Angle", mode->angle_deg);
    json_number(json, "Phase", mode->phase_deg);
    write_axis(json, "Right", &mode->x);
    write_axis(json, "Down", &mode->y);
}

static void write_place(struct json *json, const struct series_place *place)
{
    json_integer(json, "X", place->left);
    json_integer(json, "Y", place->top);
    json_integer(json, "Width", place->width);
    json_integer(json, "Height", place->height);
}

static void write_region(struct json *json, const struct series_place *place,
                         const struct modes *modes)
{
    json_open(json, NULL, '{');
    json_text(json, "Name", place->name);
    write_place(json, place);
    json_integer(json, "Blocks", place->blocks);
    json_integer(json, "Fields", modes->steps);
    json_number(json, "LeastHz", modes->least_hz);
    json_number(json, "MostHz", modes->most_hz);
    json_number(json, "NoisePixels", modes->noise_px);
    json_open(json, "Modes", '[');
    for (unsigned i = 0; i < modes->count; i++) {
        json_open(json, NULL, '{');
        write_mode(json, &modes->mode[i]);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_close(json, '}');
}

void vibration_write_json(const struct vibration *vibration, FILE *file)
{
    const struct series *series = &vibration->series;
    struct json json = {.file = file};
    json_open(&json, NULL, '{');
    json_integer(&json, "Fields", series->count);
    json_number(&json, "Seconds", series_seconds(series));
    json_integer(&json, "Frames", vibration->frames);
    json_signed(&json, "BeganNs", series->step[0].from_ns);
    json_integer(&json, "Block", series->block);
    json_open(&json, "Regions", '[');
    for (unsigned i = 0; i < vibration->regions; i++)
        write_region(&json, &series->place[i], &vibration->modes[i]);
    json_close(&json, ']');
    json_open(&json, "Blocks", '[');
    for (unsigned i = 0; i < vibration->survey.count; i++) {
        const struct survey_line *line = &vibration->survey.line[i];
        json_open(&json, NULL, '{');
        write_mode(&json, &line->mode);
        write_place(&json, &series->place[line->place]);
        json_integer(&json, "Blocks", line->blocks);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_close(&json, '}');
}

void vibration_write_csv(const struct vibration *vibration, FILE *file)
{
    const struct series *series = &vibration->series;
    double at[VIBRATION_MOST_REGIONS][2] = {{0}};
    fputs("time_s", file);
    for (unsigned i = 0; i < vibration->regions; i++)
        fprintf(file, ",%s_dx,%s_dy,%s_confidence", series->place[i].name, series->place[i].name,
                series->place[i].name);
    for (unsigned step = 0; step < series->count; step++) {
        const struct series_step *times = &series->step[step];
        if (step == 0 || times->from_ns != series->step[step - 1].to_ns) {
            fprintf(file, "\n%.6f", series_seconds_to(series, times->from_ns));
            for (unsigned i = 0; i < vibration->regions; i++)
                fputs(",0,0,", file);
        }
        fprintf(file, "\n%.6f", series_seconds_to(series, times->to_ns));
        for (unsigned i = 0; i < vibration->regions; i++) {
            const struct series_shift *shift = series_shift_of(series, step, i);
            if (series_begins_at(series, step, i) || shift->confidence == 0)
                at[i][0] = at[i][1] = 0;
            at[i][0] += (double)shift->dx;
            at[i][1] += (double)shift->dy;
            fprintf(file, ",%.5f,%.5f,", at[i][0], at[i][1]);
            if (shift->confidence > 0)
                fprintf(file, "%.3f", (double)shift->confidence);
        }
    }
    fputc('\n', file);
}

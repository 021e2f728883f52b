/* When something is worth saying, and in which words. The thresholds are just above what clean
 * photographs and clean clips show (tests/bench/diagnose.py measures both sides). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "lines.h"
#include "private.h"
#include "sector.h"

#define LEAST_WAVES       0.6   /* grey levels, RMS */
#define LEAST_SCREEN      1.0   /* grey levels, RMS */
#define UPRIGHT           0.02  /* cycles/pixel from an axis */
#define LEAST_DEPTH       0.035 /* the least depth of flicker that is reported */
#define OFF_MAINS         0.006 /* relative error that the frequency of mains may have */
#define LEAST_STRIPES     0.6   /* grey levels, RMS */
#define STANDS_STILL      0.3   /* stripes_stillness of a scene that hardly moves */
#define STILL_STRIPES     0.8   /* the same as LEAST_STRIPES for such a scene */
#define LEAST_HOT         8u    /* pixels */
#define LEAST_EXCESS      15.   /* grey levels by which a hot pixel differs from its neighbours */
#define STILL_EXCESS      3.    /* times the mean range of samples around a pixel */
#define MEDIAN_NOISE      0.94  /* mean square change of unit noise by a median of nine */
#define MEDIAN_STRIPES    0.78  /* the same of stripes, which three of the nine share */
#define LEAST_NOISE       3.0   /* grey levels */
#define LEAST_IN_DARK     1.8   /* the same in the dark; clips without it have up to 1.5 */
#define UNSURE_NOISE      8.5   /* LEAST_NOISE where texture may be taken for it */
#define LEAST_FLOOR       0.01  /* the least that is not 0 in the stage, which refuses 0 */
#define LEAST_CORNER      0.66  /* brighter corners are no shading */
#define MEASURED_CORNER   0.75  /* the same where the picture moves */
#define AGREEMENT         0.2   /* how far the half with the least shading agrees with the whole */
#define WHITE_AGREEMENT   0.7   /* the same beside white areas, which have no slopes */
#define LEAST_CLIPPED     0.12  /* share of the samples that are black or white */
#define LEAST_WHITE       0.05  /* the same of white alone, which a scene hardly has of itself */
#define DARK              40.   /* mean level */
#define BRIGHT            215.
#define LEAST_SHAKE       1.0    /* pixels, RMS */
#define ROUNDING          0.29   /* standard deviation of the error of whole numbers */
#define DISK_ERROR        0.003  /* power of what is not known of a blur, relative to the scene's */
#define LINE_ERROR        0.0065 /* the least for a line (docs/results/2026-11-28-diagnose.md) */
#define LINE_GROWTH       7e-5   /* what a line has for each squared pixel of its length */
#define LEAST_SURE        0.5    /* share of the shifts between frames that are known well */

#define WRITE(array, ...) snprintf(array, sizeof(array), __VA_ARGS__)

static void add_figure(struct diagnosis_finding *finding, const char *name, double value)
{
    if (finding->figures < DIAGNOSIS_FIGURES)
        finding->figure[finding->figures++] = (struct diagnosis_figure){name, value};
}

static double mean_level(const struct diagnosis *diagnosis)
{
    return diagnosis->measured.mean / diagnosis->measured.count;
}

static double clipped_share(const struct diagnosis *diagnosis)
{
    return diagnosis->measured.clipped / diagnosis->measured.count;
}

/* ---- what changes from frame to frame ---- */

/* Returns how far a wave has drifted since it was first found, in 1/width. */
static double drift(const struct diagnosis *diagnosis, const struct periodic_report *wave)
{
    double least = INFINITY;
    for (unsigned i = 0; i < diagnosis->followed.firsts; i++) {
        const struct periodic_report *first = &diagnosis->followed.first[i];
        least = fmin(least, hypot(first->fx - wave->fx, first->fy - wave->fy));
    }
    least *= diagnosis->format.width;
    return least < 4 ? least : 0; /* another wave */
}

static double line_rms(const struct diagnosis *diagnosis, bool of_rows)
{
    return (of_rows ? diagnosis->line_rows : diagnosis->line_columns) / diagnosis->measured.count;
}

/* Columns and rows that differ at random have every frequency along both axes: also a lattice. */
static bool find_screen(const struct diagnosis *diagnosis, struct detail_screen *ret)
{
    if (!detail_find_screen(diagnosis->captured, ret) || ret->rms < LEAST_SCREEN)
        return false;
    const bool is_upright = fmin(fabs(ret->fx), fabs(ret->fy)) < UPRIGHT;
    return !is_upright || (line_rms(diagnosis, true) < STILL_STRIPES &&
                           line_rms(diagnosis, false) < STILL_STRIPES);
}

/* Returns whether a wave is one of the lattice of a screen. */
static bool is_of_screen(const struct detail_screen *screen, const struct periodic_report *wave)
{
    const double squares = screen->fx * screen->fx + screen->fy * screen->fy;
    const double a = (wave->fx * screen->fx + wave->fy * screen->fy) / squares;
    const double b = (wave->fy * screen->fx - wave->fx * screen->fy) / squares;
    return fabs(a - round(a)) < 0.06 && fabs(b - round(b)) < 0.06 && fabs(a) + fabs(b) < 3.5;
}

/* Returns whether a wave is a sum of stripes rather than periodic: columns or rows that differ at
 * random have every frequency along their axis. */
static bool is_stripe(const struct diagnosis *diagnosis, const struct periodic_report *wave)
{
    const bool of_columns = fabs(wave->fy) < 0.5 / diagnosis->format.height;
    const bool of_rows = fabs(wave->fx) < 0.5 / diagnosis->format.width;
    return (of_columns || of_rows) && line_rms(diagnosis, of_rows) >= STILL_STRIPES;
}

static bool judge_periodic(const struct diagnosis *diagnosis, struct diagnosis_finding *ret)
{
    const struct followed *followed = &diagnosis->followed;
    const struct periodic_report *strongest = NULL;
    struct detail_screen screen;
    const bool has_screen = find_screen(diagnosis, &screen);
    double squares = 0, most = 0;
    unsigned count = 0;
    for (unsigned i = 0; i < followed->waves; i++) {
        const struct periodic_report *wave = &followed->wave[i];
        if (!wave->is_removed || is_stripe(diagnosis, wave) ||
            (has_screen && is_of_screen(&screen, wave)))
            continue;
        squares += wave->amplitude * wave->amplitude / 2;
        most = fmax(most, drift(diagnosis, wave));
        strongest = strongest != NULL ? strongest : wave;
        count++;
    }
    ret->annoyance = sqrt(squares);
    if (ret->annoyance < LEAST_WAVES)
        return false;
    WRITE(ret->text,
          "periodic noise of the camera: %u wave%s, the strongest of %.1f grey levels at %.4f/%.4f "
          "cycles/pixel, %s",
          count, count > 1 ? "s" : "", strongest->amplitude, strongest->fx, strongest->fy,
          most > 0.3 ? "which drifts" : "which stands");
    WRITE(ret->stage, "auto-notch");
    if (most <= 0.3)
        WRITE(ret->advice, "`fftd-ctl filter keep` then makes fixed notches of what was found");
    add_figure(ret, "waves", count);
    add_figure(ret, "amplitude", strongest->amplitude);
    add_figure(ret, "fx", strongest->fx);
    add_figure(ret, "fy", strongest->fy);
    add_figure(ret, "drifts", most > 0.3);
    return true;
}

static bool judge_flicker(const struct diagnosis *diagnosis, struct diagnosis_finding *ret)
{
    const struct flicker_report *flicker = &diagnosis->flicker;
    const double hz = flicker->frequency_hz;
    if (!diagnosis->flicker_model.is_valid || flicker->depth < LEAST_DEPTH)
        return false;
    /* Where the picture moves through dark corners, its rows change like those of a slow band. */
    const double bands = hz * flicker->line_time_ns / 1e9 * diagnosis->format.height;
    if (bands < 1 && diagnosis->has_gain && diagnosis->gain.is_measured &&
        diagnosis->gain.corner < MEASURED_CORNER)
        return false;
    const bool is_mains = fabs(hz / 100 - 1) < OFF_MAINS || fabs(hz / 120 - 1) < OFF_MAINS;
    ret->annoyance = flicker->depth * mean_level(diagnosis) / sqrt(2);
    const bool is_known = is_mains || flicker->repeats_hz == 0;
    const double period_rows = 1e9 / (hz * flicker->line_time_ns);
    if (is_known)
        WRITE(ret->text,
              "flickering light: bands at %.1f Hz, as of %s, %.1f %% deep; a row takes %.1f us", hz,
              is_mains ? "the mains" : "a dimmed lamp (PWM)", 100 * flicker->depth,
              flicker->line_time_ns / 1e3);
    else
        WRITE(ret->text,
              "flickering light: bands of %.0f rows, as of a dimmed lamp (PWM), %.1f %% deep, at "
              "%.1f Hz, or multiples of %.1f Hz more",
              period_rows, 100 * flicker->depth, hz, flicker->repeats_hz);
    WRITE(ret->stage, "deflicker");
    if (is_mains)
        WRITE(ret->advice,
              "better, if the camera can: an exposure of a multiple of %.2f ms, or its "
              "control power_line_frequency",
              1000 / (hz < 110 ? 100. : 120.));
    add_figure(ret, "frequency_hz", hz);
    add_figure(ret, "repeats_hz", is_known ? 0 : flicker->repeats_hz);
    add_figure(ret, "period_rows", period_rows);
    add_figure(ret, "depth", flicker->depth);
    if (is_known)
        add_figure(ret, "line_time_us", flicker->line_time_ns / 1e3);
    return true;
}

struct found_noise {
    struct noise_result model;
    bool is_known; /* false: texture may have been taken for it */
};

/* Frames whole pixels apart tell the noise best. Those that are parts of a pixel apart leave some
 * texture, and a single picture does not tell its finest texture from noise: of these two, the
 * smaller one is nearer to the truth. */
static struct found_noise find_noise(const struct diagnosis *diagnosis)
{
    const struct measured *measured = &diagnosis->measured;
    const double spatial = measured->noisy > 0 ? measured->noise / measured->noisy : 0;
    struct noise_result exact = noise_solve(&diagnosis->noise);
    if (exact.sigma <= 0 && noise_is_white(&diagnosis->found))
        exact = noise_solve(&diagnosis->found);
    const struct noise_result loose = noise_solve(&diagnosis->loose);
    if (exact.sigma > 0)
        return (struct found_noise){exact, true};
    return (struct found_noise){
        .model = loose.sigma > 0 && loose.sigma < spatial
                     ? loose
                     : (struct noise_result){.sigma = spatial, .floor = spatial}};
}

/* Returns the least noise that is reported where noise is known. Shot noise grows with the square
 * root of the level, so in the dark fewer grey levels are more than that. */
static double least_noise(const struct diagnosis *diagnosis)
{
    const double share = fmin(mean_level(diagnosis) / DARK, 1);
    return fmax(LEAST_NOISE * sqrt(fmax(share, 0)), LEAST_IN_DARK);
}

/* Returns whether noise is reported, and `denoise` is in the chain. */
static bool is_noise_reported(const struct diagnosis *diagnosis, const struct found_noise *noise)
{
    if (noise->is_known)
        return noise->model.sigma >= least_noise(diagnosis);
    return noise->model.sigma >= UNSURE_NOISE && clipped_share(diagnosis) < LEAST_CLIPPED &&
           mean_level(diagnosis) >= DARK;
}

static bool judge_noise(const struct diagnosis *diagnosis, struct diagnosis_finding *ret)
{
    const struct found_noise noise = find_noise(diagnosis);
    const struct noise_result model = noise.model;
    ret->annoyance = model.sigma;
    if (!is_noise_reported(diagnosis, &noise))
        return false;
    if (model.shot > 0) {
        WRITE(ret->text,
              "noise of %.1f grey levels; it grows with the light: %.1f at black, shot "
              "%.3f",
              model.sigma, model.floor, model.shot);
        WRITE(ret->stage, "denoise:sigma=%.2f,shot=%.3f", fmax(model.floor, LEAST_FLOOR),
              model.shot);
    } else {
        WRITE(ret->text, "noise of %.1f grey levels", model.sigma);
        WRITE(ret->stage, "denoise:sigma=%.2f", model.sigma);
    }
    WRITE(ret->advice, "more light or a longer exposure with less gain also helps");
    add_figure(ret, "sigma", model.sigma);
    add_figure(ret, "shot", model.shot);
    return true;
}

static bool judge_shake(const struct diagnosis *diagnosis, struct diagnosis_finding *ret)
{
    struct shake shake;
    if (shake_judge(&shake, diagnosis->shift, diagnosis->frames) < 0)
        return false;
    ret->annoyance = 3 * shake.rms_px;
    if (shake.rms_px < LEAST_SHAKE || shake.sure < LEAST_SURE)
        return false;
    const double limit = fmin(fmax(ceil(2 * shake.most_px), 4), 64);
    WRITE(ret->text, "the camera shakes by %.1f pixels (RMS), at most %.1f", shake.rms_px,
          shake.most_px);
    WRITE(ret->stage, "stabilise:limit=%g", limit);
    WRITE(ret->advice, "formats with colour need engine.planes = \"all\" for it");
    add_figure(ret, "rms_px", shake.rms_px);
    add_figure(ret, "most_px", shake.most_px);
    return true;
}

/* ---- what stays where it is ---- */

/* The mean over all frames; stripes_solve leaves those of both halves. */
static double mean_at(const struct stripes *stripes, size_t i)
{
    return 255 * (double)(stripes->sum[0][i] + stripes->sum[1][i]) / 2;
}

/* The mean range of the samples around a pixel, by one of many. */
static double mean_range(const struct stripes *stripes, uint32_t width, uint32_t height)
{
    double sum = 0;
    unsigned count = 0;
    for (uint32_t y = 1; y + 1 < height; y += 3)
        for (uint32_t x = 1; x + 1 < width; x += 3, count++) {
            const size_t i = (size_t)y * width + x;
            const double a = mean_at(stripes, i - 1), b = mean_at(stripes, i + 1);
            const double c = mean_at(stripes, i - width), d = mean_at(stripes, i + width);
            sum += fmax(fmax(a, b), fmax(c, d)) - fmin(fmin(a, b), fmin(c, d));
        }
    return sum / count;
}

/* Returns by how much a pixel differs from its eight neighbours on average, if it differs by
 * `least` from all of them, and they less from each other: no lens makes such a point. 0: it does
 * not. */
static double excess(const struct stripes *stripes, uint32_t width, size_t i, double least)
{
    double low = INFINITY, high = -INFINITY, sum = 0;
    const double own = mean_at(stripes, i);
    for (int v = -1; v <= 1; v++)
        for (int u = -1; u <= 1; u++) {
            const size_t k = i + (size_t)(u + v * (int)width);
            if (k == i)
                continue;
            low = fmin(low, mean_at(stripes, k));
            high = fmax(high, mean_at(stripes, k));
            sum += mean_at(stripes, k);
        }
    const double beyond = fmax(own - high, low - own);
    return beyond >= least && beyond > high - low ? own - sum / 8 : 0;
}

void findings_list_hot(const struct diagnosis *diagnosis, findings_hot_pixel call, void *context)
{
    const struct stripes *stripes = &diagnosis->stripes;
    const uint32_t width = diagnosis->format.width, height = diagnosis->format.height;
    if (diagnosis->frames < 2)
        return;
    /* In a scene that stands still, its own points are told by how much else differs that much. */
    const bool is_still = stripes_stillness(stripes) > STANDS_STILL;
    const double least =
        fmax(LEAST_EXCESS, is_still ? STILL_EXCESS * mean_range(stripes, width, height) : 0);
    for (uint32_t y = 1; y + 1 < height; y++)
        for (uint32_t x = 1; x + 1 < width; x++) {
            const size_t i = (size_t)y * width + x;
            const double off = stripes->bad[i] != 0 ? excess(stripes, width, i, least) : 0;
            if (off != 0)
                call(context, i, off);
        }
}

struct hot {
    unsigned count;
    double squares, most;
};

static void count_hot(void *context, size_t at, double off)
{
    struct hot *hot = context;
    (void)at;
    hot->count++;
    hot->squares += off * off;
    hot->most = fmax(hot->most, fabs(off));
}

void findings_take_median(const struct diagnosis *diagnosis, const float *from, float *luma)
{
    const uint32_t width = diagnosis->format.width, height = diagnosis->format.height;
    for (uint32_t y = 1; y + 1 < height; y++)
        for (uint32_t x = 1; x + 1 < width; x++) {
            float around[9];
            for (unsigned k = 0; k < 9; k++)
                around[k] = from[(size_t)(y + k / 3 - 1) * width + x + k % 3 - 1];
            luma[(size_t)y * width + x] = lines_median(around, 9);
        }
}

/* Returns what a median would take from the scene's details, as a mean square: what it changes in
 * the last frame, without its waves, flicker and hot pixels, less what it changes of noise and of
 * stripes. */
static double cost_of_median(const struct diagnosis *diagnosis)
{
    const size_t count = (size_t)diagnosis->format.width * diagnosis->format.height;
    const double sigma = find_noise(diagnosis).model.sigma;
    float *smooth = malloc(count * sizeof *smooth);
    double sum = 0;
    if (smooth == NULL)
        return 0;
    memcpy(smooth, diagnosis->luma, count * sizeof *smooth);
    findings_take_median(diagnosis, diagnosis->luma, smooth);
    for (size_t i = 0; i < count; i++) {
        const double change = (double)smooth[i] - (double)diagnosis->luma[i];
        sum += change * change;
    }
    free(smooth);
    const double columns = line_rms(diagnosis, false), rows = line_rms(diagnosis, true);
    const double stripes = diagnosis->has_stripes ? columns * columns + rows * rows : 0;
    return sum / (double)count - MEDIAN_NOISE * sigma * sigma - MEDIAN_STRIPES * stripes;
}

static bool judge_hot(const struct diagnosis *diagnosis, struct diagnosis_finding *ret)
{
    struct hot hot = {0};
    findings_list_hot(diagnosis, count_hot, &hot);
    ret->annoyance =
        sqrt(hot.squares / ((double)diagnosis->format.width * diagnosis->format.height));
    if (hot.count < LEAST_HOT)
        return false;
    WRITE(ret->text, "%u hot or dead pixels, off by up to %.0f grey levels", hot.count, hot.most);
    if (cost_of_median(diagnosis) < ret->annoyance * ret->annoyance)
        WRITE(ret->stage, "median");
    WRITE(ret->advice,
          "record them with `fftd-ctl calibrate stripes` while the camera pans, or with "
          "`fftd-ctl calibrate dark`, and add the stage that it prints: it replaces just these "
          "pixels");
    add_figure(ret, "pixels", hot.count);
    add_figure(ret, "most", hot.most);
    return true;
}

static bool judge_shading(const struct diagnosis *diagnosis, struct diagnosis_finding *ret)
{
    const struct shading_gain gain = diagnosis->gain;
    if (!diagnosis->has_gain)
        return false;
    ret->annoyance = 0.3 * (1 - gain.corner) * mean_level(diagnosis);
    /* In the dark, each grey level is a visible step. */
    const bool is_white = clipped_share(diagnosis) >= LEAST_CLIPPED;
    if (gain.is_measured ? gain.corner > MEASURED_CORNER
                         : gain.corner > LEAST_CORNER || mean_level(diagnosis) < DARK ||
                               gain.agreement < (is_white ? WHITE_AGREEMENT : AGREEMENT))
        return false;
    if (gain.is_measured)
        WRITE(ret->text,
              "dark corners: they have %.1f %% of the light of the middle (standard error %.1f)",
              100 * gain.corner, 100 * gain.error);
    else
        WRITE(ret->text, "dark corners: they have about %.0f %% of the light of the middle",
              100 * gain.corner);
    WRITE(ret->stage, "vignette:a=%.3f,b=%.3f", gain.a, gain.b);
    WRITE(ret->advice,
          "%s`fftd-ctl calibrate flat` in front of an evenly lit surface is more exact",
          gain.is_measured ? "" : "move the camera a little meanwhile to have them measured; ");
    add_figure(ret, "corner", gain.corner);
    add_figure(ret, "a", gain.a);
    add_figure(ret, "b", gain.b);
    if (gain.is_measured)
        add_figure(ret, "error", gain.error);
    return true;
}

/* ---- details ---- */

static bool judge_screen(const struct diagnosis *diagnosis, struct diagnosis_finding *ret)
{
    struct detail_screen screen;
    if (!find_screen(diagnosis, &screen))
        return false;
    const double f = hypot(screen.fx, screen.fy);
    ret->annoyance = screen.rms;
    WRITE(ret->text,
          "a halftone screen or moire: %.1f grey levels, %.1f pixels from dot to dot, at %.0f "
          "degrees",
          screen.rms, 1 / f, atan2(screen.fy, screen.fx) * 180 / M_PI);
    for (unsigned i = 0; i < screen.points; i++)
        text_append(ret->stage, sizeof ret->stage, "%snotch:at=%.4f/%.4f,width=0.04",
                    i > 0 ? " | " : "", screen.point[i][0], screen.point[i][1]);
    WRITE(ret->advice,
          "if the camera or the print moves closer or turns: lowpass:shape=butterworth,"
          "cutoff=%.3f,order=4",
          0.65 * f);
    add_figure(ret, "period_px", 1 / f);
    add_figure(ret, "fx", screen.fx);
    add_figure(ret, "fy", screen.fy);
    return true;
}

static bool judge_blur(const struct diagnosis *diagnosis, struct diagnosis_finding *ret)
{
    const struct detail_shape shape = diagnosis->blur;
    if (shape.blur != (ret->kind == DIAGNOSIS_DEFOCUS ? DETAIL_DISK : DETAIL_LINE))
        return false;
    ret->annoyance = 4 + shape.size_px;
    add_figure(ret, "size_px", shape.size_px);
    const struct found_noise found = find_noise(diagnosis);
    const double sigma = fmax(found.model.sigma, ROUNDING);
    /* `denoise` leaves about a quarter of the noise's power. A blur is never known exactly, so
     * there is always some error that looks like noise. */
    const double left = is_noise_reported(diagnosis, &found) ? 0.25 : 1;
    /* A longer line mixes in more from beyond the borders, and does more harm if its direction is
     * slightly wrong. */
    const double error = shape.blur == DETAIL_DISK
                             ? DISK_ERROR
                             : fmax(LINE_ERROR, LINE_GROWTH * shape.size_px * shape.size_px);
    const double noise = fmin(error + left * sigma * sigma / shape.power, 1);
    if (shape.blur == DETAIL_DISK) {
        WRITE(ret->text, "out of focus: a point becomes a disk of a radius of %.1f pixels",
              shape.size_px);
        WRITE(ret->stage, "wiener:blur=disk,size=%.2f,noise=%.3g", shape.size_px, noise);
        WRITE(ret->advice, "focusing the lens is better");
    } else {
        WRITE(ret->text, "blurred by motion: a point becomes a line of %.1f pixels at %.0f degrees",
              shape.size_px, shape.angle_deg);
        WRITE(ret->stage, "wiener:blur=motion,size=%.2f,angle=%.0f,noise=%.3g", shape.size_px,
              shape.angle_deg, noise);
        WRITE(ret->advice, "a shorter exposure is better");
        add_figure(ret, "angle_deg", shape.angle_deg);
    }
    add_figure(ret, "gain", shape.gain);
    return true;
}

/* ---- columns and rows ---- */

/* Adds the sector that takes out columns or rows best, with the scene of the last frame and beside
 * what takes out a blur. */
static void add_sector(const struct diagnosis *diagnosis, bool of_rows, double stripes,
                       struct diagnosis_finding *ret)
{
    const bool is_disk = diagnosis->blur.blur == DETAIL_DISK;
    struct diagnosis_finding blur = {.kind = is_disk ? DIAGNOSIS_DEFOCUS : DIAGNOSIS_MOTION};
    struct filter_chain other = {0};
    char stage[SECTOR_TEXT];
    /* In a scene that stands still, what varies slowly in its own columns is taken for stripes. */
    if (diagnosis->has_stripes)
        stripes = line_rms(diagnosis, of_rows);
    if (!judge_blur(diagnosis, &blur) || filter_chain_parse(&other, blur.stage, NULL) < 0)
        other.count = 0;
    sector_choose(&(struct sector_view){.luma = diagnosis->luma,
                                        .width = diagnosis->format.width,
                                        .height = diagnosis->format.height,
                                        .of_rows = of_rows,
                                        .has_stripes = diagnosis->has_stripes,
                                        .stripes = stripes,
                                        .noise = find_noise(diagnosis).model.sigma,
                                        .other = &other},
                  stage);
    if (stage[0] != '\0')
        text_append(ret->stage, sizeof ret->stage, "%s%s", ret->stage[0] != '\0' ? " | " : "",
                    stage);
}

static bool judge_stripes(const struct diagnosis *diagnosis, struct diagnosis_finding *ret)
{
    const struct stripes *stripes = &diagnosis->stripes;
    if (diagnosis->frames < 2)
        return false;
    /* A scene that stands still tells the same of its own lines and of the sensor's, and little
     * that varies slowly. */
    const bool is_still = stripes_stillness(stripes) > STANDS_STILL;
    const double least = is_still ? STILL_STRIPES : LEAST_STRIPES;
    double columns = 255 * stripes_rms(&stripes->column), rows = 255 * stripes_rms(&stripes->row);
    if (is_still) {
        columns = fmax(columns, line_rms(diagnosis, false));
        rows = fmax(rows, line_rms(diagnosis, true));
    } else {
        /* Stripes, unlike the light of the lens, are also in what the frames have in common. */
        columns = fmin(columns, 2 * line_rms(diagnosis, false));
        rows = fmin(rows, 2 * line_rms(diagnosis, true));
    }
    ret->annoyance = hypot(columns, rows);
    if (columns < least && rows < least)
        return false;
    WRITE(ret->text, "fixed stripes: columns differ by %.1f grey levels, rows by %.1f", columns,
          rows);
    if (columns >= least)
        add_sector(diagnosis, false, columns, ret);
    if (rows >= least)
        add_sector(diagnosis, true, rows, ret);
    WRITE(ret->advice,
          "record them with `fftd-ctl calibrate stripes` while the camera pans, and add the stage "
          "that it prints: it removes just these stripes, and leaves lines of the scene alone");
    add_figure(ret, "columns", columns);
    add_figure(ret, "rows", rows);
    return true;
}

/* ---- exposure ---- */

/* Noise and waves reach black in a picture that is too dark; it lacks light, not range. */
static bool is_dark(const struct diagnosis *diagnosis)
{
    return mean_level(diagnosis) <= DARK &&
           diagnosis->measured.burnt_out / diagnosis->measured.count < LEAST_CLIPPED / 4;
}

static bool judge_clipping(const struct diagnosis *diagnosis, struct diagnosis_finding *ret)
{
    const struct measured *measured = &diagnosis->measured;
    const double clipped = clipped_share(diagnosis);
    const double white = measured->burnt_out / measured->count;
    ret->annoyance = 60 * clipped;
    if ((clipped < LEAST_CLIPPED && white < LEAST_WHITE) || is_dark(diagnosis))
        return false;
    WRITE(ret->text, "%.0f %% of the picture is white and %.0f %% black, without detail",
          100 * white, 100 * (clipped - white));
    WRITE(ret->advice, "no filter brings it back: %s",
          white > clipped / 2 ? "less exposure or gain does" : "more exposure or light does");
    add_figure(ret, "white", white);
    add_figure(ret, "black", clipped - white);
    return true;
}

static bool judge_exposure(const struct diagnosis *diagnosis, struct diagnosis_finding *ret)
{
    const double mean = mean_level(diagnosis);
    if (!is_dark(diagnosis) && (mean < BRIGHT || clipped_share(diagnosis) >= LEAST_CLIPPED))
        return false;
    ret->annoyance = mean <= DARK ? DARK - mean : mean - BRIGHT;
    WRITE(ret->text, "the picture is too %s: its mean is %.0f of 255",
          mean <= DARK ? "dark" : "bright", mean);
    WRITE(ret->advice, "%s exposure or gain helps, which `fftd-ctl camera` sets",
          mean <= DARK ? "more" : "less");
    add_figure(ret, "mean", mean);
    return true;
}

const struct diagnosis_fault diagnosis_faults[DIAGNOSIS_KINDS] = {
    [DIAGNOSIS_PERIODIC] = {"periodic-noise", judge_periodic, false},
    [DIAGNOSIS_SCREEN] = {"screen", judge_screen, false},
    [DIAGNOSIS_FLICKER] = {"flicker", judge_flicker, true},
    [DIAGNOSIS_STRIPES] = {"stripes", judge_stripes, false},
    [DIAGNOSIS_HOT] = {"hot-pixels", judge_hot, false},
    [DIAGNOSIS_SHADING] = {"shading", judge_shading, true},
    [DIAGNOSIS_DEFOCUS] = {"defocus", judge_blur, false},
    [DIAGNOSIS_MOTION] = {"motion-blur", judge_blur, false},
    [DIAGNOSIS_NOISE] = {"noise", judge_noise, false},
    [DIAGNOSIS_SHAKE] = {"shake", judge_shake, false},
    [DIAGNOSIS_CLIPPING] = {"clipping", judge_clipping, true},
    [DIAGNOSIS_EXPOSURE] = {"exposure", judge_exposure, true},
};

#include "core/text.h"
#include "lens.h"
#include "lines.h"
#include "private.h"

#include <complex.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PERIODIC_FRAMES 24u /* more of them hardly tell more, and each takes long */
#define DETAIL_FRAMES   6u
#define BLUR_FRAMES     48u
#define BEYOND          4.f  /* grey levels; filters and codecs overshoot by less */
#define MOST_PATH       0.15 /* smaller sides; a frame that has moved more begins another scene */
#define NEAR_PATH       8.   /* pixels between frames whose shift is not known, at most */
#define MOST_PART       0.16 /* pixels between frames that are compared, beyond whole ones */
#define NEAR_BLACK      10.f /* grey levels */
#define NEAR_WHITE      245.f
#define LENS_STILL      0.9 /* stripes_stillness from which on stripes are left in for the lens */
#define BLUR_STILL      0.5 /* the same for blur, which the scene's own lines would change more */
#define SLOW            12u /* what varies over more than this part of an axis may be the lens */
#define NEAR_BYTES      (64u << 20)

const char *diagnosis_name(enum diagnosis_kind kind)
{
    return diagnosis_faults[kind].name;
}

/* ---- memory ---- */

int diagnosis_create(struct diagnosis **ret, const struct diagnosis_format *format)
{
    if (format->width < DIAGNOSIS_MIN_SIDE || format->height < DIAGNOSIS_MIN_SIDE ||
        format->width > DIAGNOSIS_MAX_SIDE || format->height > DIAGNOSIS_MAX_SIDE ||
        format->mosaic_step < 1 || format->mosaic_step > 2)
        return -EINVAL;
    struct diagnosis *diagnosis = calloc(1, sizeof *diagnosis);
    if (diagnosis == NULL)
        return -ENOMEM;
    const size_t bytes = (size_t)format->width * format->height * sizeof(float);
    diagnosis->format = *format;
    diagnosis->luma = malloc(bytes);
    diagnosis->scratch = malloc(bytes);
    bool has_memory = diagnosis->luma != NULL && diagnosis->scratch != NULL;
    diagnosis->nears = (unsigned)fmin(fmax((double)NEAR_BYTES / (double)bytes, 2), NEAR_FRAMES);
    for (unsigned i = 0; i < diagnosis->nears; i++) {
        diagnosis->near[i] = malloc(bytes);
        has_memory = has_memory && diagnosis->near[i] != NULL;
    }
    diagnosis->row_gain = malloc(format->height * sizeof *diagnosis->row_gain);
    if (!has_memory || diagnosis->row_gain == NULL) {
        diagnosis_destroy(diagnosis);
        return -ENOMEM;
    }
    *ret = diagnosis;
    return 0;
}

void diagnosis_destroy(struct diagnosis *diagnosis)
{
    if (diagnosis == NULL)
        return;
    for (unsigned i = 0; i < diagnosis->frames; i++)
        free(diagnosis->frame[i]);
    stripes_finish(&diagnosis->stripes);
    for (unsigned i = 0; i < NEAR_FRAMES; i++)
        free(diagnosis->near[i]);
    detail_destroy(diagnosis->captured);
    detail_destroy(diagnosis->corrected);
    shading_destroy(diagnosis->shading);
    wave_fit_destroy(diagnosis->waves);
    flicker_frame_destroy(diagnosis->bands);
    measurer_destroy(diagnosis->measurer);
    motion_destroy(diagnosis->motion);
    free(diagnosis->followed.model);
    free(diagnosis->luma);
    free(diagnosis->scratch);
    free(diagnosis->row_gain);
    free(diagnosis);
}

/* ---- frames ---- */

static size_t count_pixels(const struct diagnosis *diagnosis)
{
    return (size_t)diagnosis->format.width * diagnosis->format.height;
}

int diagnosis_add(struct diagnosis *diagnosis, const float *luma, int64_t captured_ns)
{
    const size_t count = count_pixels(diagnosis);
    if (diagnosis->frames == DIAGNOSIS_MAX_FRAMES)
        return 0;
    uint16_t *frame = malloc(count * sizeof *frame);
    if (frame == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++)
        frame[i] = (uint16_t)lrintf(fminf(fmaxf(luma[i], 0), 255) * STORED_STEPS);
    diagnosis->captured_ns[diagnosis->frames] = captured_ns;
    diagnosis->frame[diagnosis->frames++] = frame;
    return 0;
}

void diagnosis_load(const struct diagnosis *diagnosis, unsigned index, float *ret)
{
    for (size_t i = 0; i < count_pixels(diagnosis); i++)
        ret[i] = (float)diagnosis->frame[index][i] / STORED_STEPS;
}

/* ---- the first look: what changes from frame to frame ---- */

static unsigned every(unsigned frames, unsigned most)
{
    return (frames + most - 1) / most;
}

static int look_for_waves(struct diagnosis *diagnosis, struct periodic *periodic,
                          struct flicker *flicker, diagnosis_progress progress, void *context)
{
    const unsigned step = every(diagnosis->frames, PERIODIC_FRAMES);
    struct followed *followed = &diagnosis->followed;
    struct flicker_report report;
    struct flicker_model model;
    followed->model = calloc(PERIODIC_FRAMES + 1, sizeof *followed->model);
    if (followed->model == NULL)
        return -ENOMEM;
    for (unsigned i = 0; i < diagnosis->frames; i++) {
        diagnosis_load(diagnosis, i, diagnosis->luma);
        if (i % step == 0) {
            periodic_observe(periodic, diagnosis->luma, diagnosis->captured_ns[i]);
            periodic_get_model(periodic, &followed->model[followed->models++]);
            if (followed->firsts == 0)
                followed->firsts = periodic_reports(periodic, followed->first);
        }
        flicker_observe(flicker, diagnosis->luma, diagnosis->captured_ns[i]);
        if (flicker_report(flicker, &report) && flicker_model_get(flicker, &model)) {
            diagnosis->flicker = report;
            diagnosis->flicker_model = model;
        }
        if (progress != NULL)
            progress(context, i + 1, 2 * diagnosis->frames);
    }
    followed->waves = periodic_reports(periodic, followed->wave);
    return 0;
}

static int look_first(struct diagnosis *diagnosis, diagnosis_progress progress, void *context)
{
    const uint32_t width = diagnosis->format.width, height = diagnosis->format.height;
    const struct periodic_options options = {.min_amplitude = PERIODIC_MIN_AMPLITUDE,
                                             .max_waves = CORRECTION_MAX_WAVES};
    struct periodic *periodic = NULL;
    struct flicker *flicker = NULL;
    int r = periodic_create(&periodic, width, height, &options, NULL);
    if (r == 0)
        r = flicker_create(&flicker, width, height, NULL, NULL);
    if (r == 0)
        r = look_for_waves(diagnosis, periodic, flicker, progress, context);
    periodic_destroy(periodic);
    flicker_destroy(flicker);
    return r;
}

/* ---- the second look: what stays, in frames without waves and flicker ---- */

/* Returns the waves found at a frame, or the first ones found later. */
static const struct wave_model *model_at(const struct diagnosis *diagnosis, unsigned index)
{
    const struct followed *followed = &diagnosis->followed;
    unsigned at = index / every(diagnosis->frames, PERIODIC_FRAMES);
    while (at + 1 < followed->models && followed->model[at].count == 0)
        at++;
    return &followed->model[at];
}

void diagnosis_subtract_waves(const struct diagnosis *diagnosis,
                              const struct correction *correction, float *luma)
{
    const uint32_t width = diagnosis->format.width, height = diagnosis->format.height;
    for (unsigned k = 0; k < correction->wave_count; k++) {
        const struct wave *wave = &correction->wave[k];
        const double complex step = cexp(2 * M_PI * I * wave->fx);
        for (uint32_t y = 0; y < height; y++) {
            double complex at = (wave->re + I * wave->im) * cexp(2 * M_PI * I * wave->fy * y);
            for (uint32_t x = 0; x < width; x++, at *= step)
                luma[(size_t)y * width + x] -= (float)creal(at);
        }
    }
}

static void correct(struct diagnosis *diagnosis, unsigned index)
{
    struct correction correction = {0};
    const uint32_t width = diagnosis->format.width, height = diagnosis->format.height;
    diagnosis_load(diagnosis, index, diagnosis->luma);
    wave_fit_frame(diagnosis->waves, model_at(diagnosis, index), diagnosis->luma, &correction);
    diagnosis_subtract_waves(diagnosis, &correction, diagnosis->luma);
    if (!flicker_frame_fit(diagnosis->bands, &diagnosis->flicker_model, diagnosis->luma, 0,
                           diagnosis->row_gain))
        for (uint32_t y = 0; y < height; y++)
            diagnosis->row_gain[y] = 1;
    for (size_t i = 0; i < (size_t)width * height; i++)
        diagnosis->luma[i] *= diagnosis->row_gain[i / width];
}

/* Clipping and brightness are measured in captured frames, noise in corrected ones. */
static void measure(struct diagnosis *diagnosis, const float *luma, struct measures *ret)
{
    const struct diagnosis_format *format = &diagnosis->format;
    const struct measures_picture picture = {.samples = luma,
                                             .width = format->width,
                                             .height = format->height,
                                             .black = format->black,
                                             .white = format->white};
    measurer_measure(diagnosis->measurer, &picture, ret);
}

static int look_at_details(struct diagnosis *diagnosis, unsigned index)
{
    const struct diagnosis_format *format = &diagnosis->format;
    const float *luma = diagnosis->near[index % diagnosis->nears];
    struct measured *sum = &diagnosis->measured;
    struct measures measures;
    double x, y;
    diagnosis_load(diagnosis, index, diagnosis->scratch);
    measure(diagnosis, diagnosis->scratch, &measures);
    sum->count++;
    sum->mean += (double)measures.mean;
    sum->clipped += (double)measures.clipped;
    sum->burnt_out += (double)measures.burnt_out;
    detail_begin(diagnosis->captured, diagnosis->scratch, format->black, format->white);
    detail_add(diagnosis->captured, &(struct detail_view){.luma = diagnosis->scratch}, &x, &y);
    detail_end(diagnosis->captured);
    measure(diagnosis, luma, &measures);
    if (isfinite(measures.noise)) {
        sum->noisy++;
        sum->noise += (double)measures.noise;
    }
    shading_add(diagnosis->shading, luma);
    const double columns =
        lines_deviation(luma, format->width, format->height, format->mosaic_step, false);
    const double rows =
        lines_deviation(luma, format->width, format->height, format->mosaic_step, true);
    diagnosis->line_columns += columns;
    diagnosis->line_rows += rows;
    return columns < 0 || rows < 0 ? -ENOMEM : 0;
}

/* Compares a frame with the one of the last few whose shift is nearest to whole pixels, because a
 * fraction of a pixel leaves texture in the difference. Adds the result to `exact` if the shift is
 * near enough, and otherwise to `loose`, which may be NULL. `places` has all frames. */
static int compare(const struct diagnosis *diagnosis, const struct path_place *places,
                   unsigned index, struct noise_sums *exact, struct noise_sums *loose)
{
    const struct path_place own = places[index];
    double least = INFINITY, dx = 0, dy = 0;
    const float *nearest = NULL;
    for (unsigned i = index > diagnosis->nears ? index - diagnosis->nears : 0; i < index; i++) {
        const double x = own.x - places[i].x, y = own.y - places[i].y;
        const double part = fmax(fabs(x - round(x)), fabs(y - round(y)));
        if (places[i].path != own.path)
            continue;
        if (part >= least)
            continue;
        nearest = diagnosis->near[i % diagnosis->nears];
        least = part;
        dx = x;
        dy = y;
    }
    struct noise_sums *sums = least < MOST_PART ? exact : loose;
    if (nearest == NULL || sums == NULL)
        return 0;
    return noise_compare(sums, &(struct noise_pair){.before = nearest,
                                                    .luma = diagnosis->luma,
                                                    .width = diagnosis->format.width,
                                                    .height = diagnosis->format.height,
                                                    .dx = (int)lround(dx),
                                                    .dy = (int)lround(dy)});
}

/* Makes the corrected frame the newest of those that are kept. */
static void keep_near(struct diagnosis *diagnosis, unsigned index)
{
    float **near = &diagnosis->near[index % diagnosis->nears];
    float *last = *near;
    *near = diagnosis->luma;
    diagnosis->luma = last;
}

static int follow_path(struct diagnosis *diagnosis, unsigned index)
{
    const struct path_place *last = &diagnosis->place[index > 0 ? index - 1 : 0];
    struct motion motion;
    motion_observe(diagnosis->motion, diagnosis->luma, &motion);
    diagnosis->shift[index] = (struct shake_shift){.dx = motion.dx,
                                                   .dy = motion.dy,
                                                   .captured_ns = diagnosis->captured_ns[index],
                                                   .is_sure = motion.is_sure && index > 0};
    /* A picture without details does not tell its shift, and needs none. */
    const bool is_same = index > 0 && (motion.is_sure || motion.is_plain);
    diagnosis->place[index] =
        is_same ? (struct path_place){last->x + motion.dx, last->y + motion.dy, last->path}
                : (struct path_place){0, 0, last->path + 1};
    const int r = compare(diagnosis, diagnosis->place, index, &diagnosis->noise, &diagnosis->loose);
    keep_near(diagnosis, index);
    return r;
}

/* Moves black and white to the ends of the full range where the picture shows that it uses it:
 * many files and cameras do not say which range they use. */
static void find_range(struct diagnosis *diagnosis)
{
    struct diagnosis_format *format = &diagnosis->format;
    size_t darker = 0, brighter = 0;
    for (size_t i = 0; i < count_pixels(diagnosis); i++) {
        const float level = (float)diagnosis->frame[0][i] / STORED_STEPS;
        darker += level < format->black - BEYOND;
        brighter += level > format->white + BEYOND;
    }
    if (1000 * (darker + brighter) > count_pixels(diagnosis)) {
        format->black = 0;
        format->white = 255;
    }
}

static int look_at_frames(struct diagnosis *diagnosis, diagnosis_progress progress, void *context)
{
    const unsigned step = every(diagnosis->frames, DETAIL_FRAMES);
    int r = 0;
    for (unsigned i = 0; i < diagnosis->frames && r == 0; i++) {
        correct(diagnosis, i);
        if (diagnosis->frames > 1) {
            for (size_t k = 0; k < count_pixels(diagnosis); k++)
                diagnosis->stripes.level[k] = diagnosis->luma[k] / 255;
            r = stripes_add(&diagnosis->stripes);
        }
        if (r == 0)
            r = follow_path(diagnosis, i);
        if (r == 0 && ((i + 1) % step == 0 || i + 1 == diagnosis->frames))
            r = look_at_details(diagnosis, i);
        if (progress != NULL)
            progress(context, diagnosis->frames + i + 1, 2 * diagnosis->frames);
    }
    return r == 0 && diagnosis->frames > 1 ? stripes_solve(&diagnosis->stripes) : r;
}

/* ---- the third look: details, without what the sensor adds to single pixels ---- */

/* Replaces a pixel by the mean of its neighbours. */
static void repair(void *context, size_t at, double off)
{
    struct diagnosis *diagnosis = context;
    const size_t width = diagnosis->format.width;
    float *p = diagnosis->luma + at;
    (void)off;
    *p = (p[-1] + p[1] + *(p - width) + p[width]) / 4;
}

/* Subtracts columns or rows that differ, but not what varies slowly: that may be the lens. */
static void subtract_stripes(struct diagnosis *diagnosis, const struct stripes_axis *axis)
{
    const size_t width = diagnosis->format.width, height = diagnosis->format.height;
    const bool is_column = axis == &diagnosis->stripes.column;
    const uint32_t most = axis->length / SLOW;
    for (uint32_t i = 0; i < axis->length; i++) {
        /* As many lines to both sides, so that a slope cancels out. */
        const uint32_t side = i < axis->length - 1 - i ? i : axis->length - 1 - i;
        const uint32_t reach = side < most ? side : most;
        double around = 0;
        for (uint32_t k = i - reach; k <= i + reach; k++)
            around += axis->offset[k] / (2 * reach + 1);
        const float off = (float)(255 * (axis->offset[i] - around));
        for (size_t k = 0; k < (is_column ? height : width); k++)
            diagnosis->luma[is_column ? k * width + i : i * width + k] -= off;
    }
}

/* Removes what the sensor adds to a frame, as far as it is known. Stripes are left in if the scene
 * stands still, because its own lines look like them. */
static void clean(struct diagnosis *diagnosis, unsigned index, double still)
{
    correct(diagnosis, index);
    findings_list_hot(diagnosis, repair, diagnosis);
    diagnosis->has_stripes =
        diagnosis->frames < 2 || stripes_stillness(&diagnosis->stripes) >= still;
    if (diagnosis->has_stripes)
        return;
    subtract_stripes(diagnosis, &diagnosis->stripes.column);
    subtract_stripes(diagnosis, &diagnosis->stripes.row);
}

/* Adds up what frames have in common, for as long as each shows most of the first one. */
static int look_at_blur(struct diagnosis *diagnosis)
{
    const struct diagnosis_format *format = &diagnosis->format;
    struct detail *detail = diagnosis->corrected;
    const double most = MOST_PATH * fmin(format->width, format->height);
    const unsigned first = diagnosis->frames > BLUR_FRAMES ? diagnosis->frames - BLUR_FRAMES : 0;
    const bool has_noise = noise_solve(&diagnosis->noise).sigma > 0;
    double x = 0, y = 0;
    unsigned scene = 1;
    int r = 0;
    for (unsigned i = first; i < diagnosis->frames && r == 0; i++) {
        const struct path_place *own = &diagnosis->place[i];
        const struct path_place *last = &diagnosis->place[i > first ? i - 1 : i];
        const bool is_same = own->path == last->path;
        struct detail_view view = {.reach = is_same ? 1 : NEAR_PATH};
        view.dx = x + (is_same ? own->x - last->x : 0);
        view.dy = y + (is_same ? own->y - last->y : 0);
        clean(diagnosis, i, BLUR_STILL);
        view.luma = diagnosis->luma;
        if (i == first || hypot(view.dx, view.dy) >= most || !detail_add(detail, &view, &x, &y)) {
            if (i > first)
                detail_end(detail);
            detail_begin(detail, diagnosis->luma, format->black, format->white);
            view.dx = view.dy = 0;
            detail_add(detail, &view, &x, &y);
            scene++;
        }
        diagnosis->seen[i] = (struct path_place){x, y, scene};
        if (has_noise)
            continue;
        /* Much noise makes shifts between single frames unsure. The details of the whole scene
         * together give a sure shift, and from that the noise. */
        r = compare(diagnosis, diagnosis->seen, i, &diagnosis->found, NULL);
        keep_near(diagnosis, i);
    }
    detail_end(detail);
    detail_find_blur(detail, &diagnosis->blur);
    return r;
}

/* Marks what is cut off, or nearly. The corrected frame does not tell: white areas have bands. */
static void mark_cut_off(struct diagnosis *diagnosis, unsigned index)
{
    diagnosis_load(diagnosis, index, diagnosis->scratch);
    for (size_t i = 0; i < count_pixels(diagnosis); i++)
        if (diagnosis->scratch[i] < NEAR_BLACK || diagnosis->scratch[i] > NEAR_WHITE)
            diagnosis->luma[i] = NAN;
}

/* Adds frames of a scene, from the first to before the last. */
static void look_at_scene(struct diagnosis *diagnosis, struct lens *lens, unsigned first,
                          unsigned last)
{
    const unsigned views = last - first < LENS_VIEWS ? last - first : LENS_VIEWS;
    for (unsigned i = 0; i < views && views > 1; i++) {
        const unsigned index = first + i * (last - first - 1) / (views - 1);
        clean(diagnosis, index, LENS_STILL);
        mark_cut_off(diagnosis, index);
        lens_add(lens, diagnosis->luma, diagnosis->place[index].x - diagnosis->place[first].x,
                 diagnosis->place[index].y - diagnosis->place[first].y);
    }
    lens_end(lens);
}

/* Finds the light of the lens, from all scenes, or else from single frames. */
static int look_at_lens(struct diagnosis *diagnosis)
{
    const struct diagnosis_format *format = &diagnosis->format;
    const struct path_place *place = diagnosis->place;
    const double most = LENS_REACH * fmin(format->width, format->height);
    struct lens *lens;
    const int r =
        lens_create(&lens, format->width, format->height,
                    diagnosis->flicker_model.is_valid ? diagnosis->flicker_model.rows_cycles : 0);
    if (r < 0)
        return r;
    for (unsigned first = 0, last; first < diagnosis->frames; first = last) {
        for (last = first + 1; last < diagnosis->frames; last++)
            if (place[last].path != place[first].path ||
                hypot(place[last].x - place[first].x, place[last].y - place[first].y) > most)
                break;
        look_at_scene(diagnosis, lens, first, last);
    }
    diagnosis->has_gain =
        lens_solve(lens, &diagnosis->gain) || shading_solve(diagnosis->shading, &diagnosis->gain);
    lens_destroy(lens);
    return 0;
}

static int look_again(struct diagnosis *diagnosis, diagnosis_progress progress, void *context)
{
    const uint32_t width = diagnosis->format.width, height = diagnosis->format.height;
    find_range(diagnosis);
    int r = wave_fit_create(&diagnosis->waves, width, height, NULL);
    if (r == 0)
        r = flicker_frame_create(&diagnosis->bands, width, height, NULL);
    if (r == 0)
        r = measurer_create(&diagnosis->measurer, width, height, NULL);
    if (r == 0)
        r = motion_create(&diagnosis->motion, width, height, NULL);
    if (r == 0 && diagnosis->frames > 1)
        r = stripes_init(&diagnosis->stripes, width, height, diagnosis->format.mosaic_step,
                         diagnosis->frames);
    if (r == 0)
        r = detail_create(&diagnosis->captured, width, height);
    if (r == 0)
        r = detail_create(&diagnosis->corrected, width, height);
    if (r == 0)
        r = shading_create(&diagnosis->shading, width, height);
    if (r == 0)
        r = look_at_frames(diagnosis, progress, context);
    if (r == 0)
        r = look_at_lens(diagnosis);
    return r == 0 ? look_at_blur(diagnosis) : r;
}

/* ---- findings ---- */

static int by_annoyance(const void *a, const void *b)
{
    const struct diagnosis_finding *x = a, *y = b;
    return (x->annoyance < y->annoyance) - (x->annoyance > y->annoyance);
}

/* Joins the stages in the order of the kinds, in which the engine takes their steps. */
static void join(struct diagnosis_result *result)
{
    for (enum diagnosis_kind kind = 0; kind < DIAGNOSIS_KINDS; kind++)
        for (unsigned i = 0; i < result->count; i++) {
            const struct diagnosis_finding *finding = &result->finding[i];
            if (finding->kind == kind && finding->stage[0] != '\0')
                text_append(result->chain, sizeof result->chain, "%s%s",
                            result->chain[0] != '\0' ? " | " : "", finding->stage);
        }
}

int diagnosis_finish(struct diagnosis *diagnosis, struct diagnosis_result *ret,
                     diagnosis_progress progress, void *context)
{
    struct diagnosis_result result = {.frames = diagnosis->frames};
    int r = diagnosis->frames > 0 ? look_first(diagnosis, progress, context) : -ENODATA;
    if (r == 0)
        r = look_again(diagnosis, progress, context);
    for (enum diagnosis_kind kind = 0; kind < DIAGNOSIS_KINDS && r == 0; kind++) {
        struct diagnosis_finding finding = {.kind = kind};
        if (diagnosis_faults[kind].judge(diagnosis, &finding))
            result.finding[result.count++] = finding;
    }
    if (r < 0)
        return r;
    qsort(result.finding, result.count, sizeof result.finding[0], by_annoyance);
    join(&result);
    *ret = result;
    return 0;
}

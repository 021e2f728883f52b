#include "observer/estimators.h"

#include <errno.h>
#include <stdlib.h>

#include "observer/blur_noise.h"
#include "observer/measuring.h"
#include "observer/moving.h"
#include "observer/turn.h"
#include "core/clock.h"
#include "core/format.h"
#include "estimators/luma.h"
#include "estimators/match.h"

_Static_assert(FILTER_MAX_MATCHES == FFTD_MAX_MATCHES, "a frame has a place for each template");

struct estimators {
    struct estimators_job job; /* the job that was adopted */
    float *luma;

    /* NULL: not wanted. */
    struct measuring *measuring;
    struct moving *moving;
    struct matcher *matcher;
    struct periodic *periodic;
    struct flicker *flicker;
    struct wave_fit *fit;     /* fits waves to frames that are observed for flicker */
    struct wave_model fitted; /* what was subtracted from the last such frame */
    struct blur_noise *noise;

    int64_t flicker_since_ns; /* 0: there is none */
    struct turn waves_turn;   /* shares time between `periodic` and `flicker` */
};

void estimators_hold(const struct filter_adaptation *wanted)
{
    for (unsigned i = 0; i < wanted->match_count; i++)
        filter_image_hold(wanted->match_image[i]);
    filter_image_hold(wanted->noise.blur.image);
}

void estimators_drop(const struct filter_adaptation *wanted)
{
    for (unsigned i = 0; i < wanted->match_count; i++)
        filter_image_drop(wanted->match_image[i]);
    filter_image_drop(wanted->noise.blur.image);
}

bool observed_frames_equal(const struct observed_frames *a, const struct observed_frames *b)
{
    return a->source_number == b->source_number && a->fourcc == b->fourcc && a->width == b->width &&
           a->height == b->height && a->is_full_range == b->is_full_range &&
           a->demosaic == b->demosaic;
}

bool estimators_same_waves(const struct filter_adaptation *a, const struct filter_adaptation *b)
{
    return a->removes_waves == b->removes_waves &&
           a->waves.min_amplitude == b->waves.min_amplitude &&
           a->waves.max_waves == b->waves.max_waves;
}

bool estimators_same_flicker(const struct filter_adaptation *a, const struct filter_adaptation *b)
{
    return a->removes_flicker == b->removes_flicker &&
           a->flicker.frequency_hz == b->flicker.frequency_hz &&
           a->flicker.line_time_us == b->flicker.line_time_us;
}

bool estimators_same_noise(const struct filter_adaptation *a, const struct filter_adaptation *b)
{
    return a->estimates_noise == b->estimates_noise && blur_equal(&a->noise.blur, &b->noise.blur) &&
           a->noise.falloff == b->noise.falloff;
}

static bool wants_match(const struct estimators_job *job)
{
    return job->takes_measures && job->wanted.match_count > 0;
}

/* Images never change, so two of them are the same only if they are one. */
bool estimators_same_match(const struct estimators_job *a, const struct estimators_job *b)
{
    const unsigned count = a->wanted.match_count;
    bool is_same = wants_match(a) == wants_match(b) && count == b->wanted.match_count;
    for (unsigned i = 0; is_same && i < count; i++)
        is_same = a->wanted.match_image[i] == b->wanted.match_image[i];
    return is_same;
}

/* ---- life ---- */

/* Destroys an estimator, or does nothing if it is NULL. */
#define FORGET(estimator, destroy) (destroy(estimator), (estimator) = NULL)

static void forget(struct estimators *estimators)
{
    FORGET(estimators->measuring, measuring_destroy);
    FORGET(estimators->moving, moving_destroy);
    FORGET(estimators->matcher, matcher_destroy);
    FORGET(estimators->periodic, periodic_destroy);
    FORGET(estimators->flicker, flicker_destroy);
    FORGET(estimators->fit, wave_fit_destroy);
    FORGET(estimators->noise, blur_noise_destroy);
    FORGET(estimators->luma, free);
}

int estimators_create(struct estimators **ret, struct error *why)
{
    struct estimators *estimators = calloc(1, sizeof *estimators);
    if (estimators == NULL)
        return error_set(why, ENOMEM, "out of memory for estimators");
    *ret = estimators;
    return 0;
}

void estimators_destroy(struct estimators *estimators)
{
    if (estimators == NULL)
        return;
    forget(estimators);
    free(estimators);
}

void estimators_adopt(struct estimators *estimators, const struct estimators_job *job,
                      struct error *why)
{
    const struct estimators_job *before = &estimators->job;
    const struct filter_adaptation *wanted = &job->wanted;
    const uint32_t width = job->frames.width, height = job->frames.height;
    if (!observed_frames_equal(&job->frames, &before->frames))
        forget(estimators);
    if (!job->takes_measures)
        FORGET(estimators->measuring, measuring_destroy);
    if (job->motion_block == 0)
        FORGET(estimators->moving, moving_destroy);
    if (!estimators_same_match(job, before))
        FORGET(estimators->matcher, matcher_destroy);
    if (!estimators_same_waves(wanted, &before->wanted))
        FORGET(estimators->periodic, periodic_destroy);
    if (!estimators_same_flicker(wanted, &before->wanted))
        FORGET(estimators->flicker, flicker_destroy);
    if (estimators->periodic == NULL || estimators->flicker == NULL)
        FORGET(estimators->fit, wave_fit_destroy);
    if (!estimators_same_noise(wanted, &before->wanted))
        FORGET(estimators->noise, blur_noise_destroy);
    estimators->job = *job;

    if (estimators->luma == NULL)
        estimators->luma = malloc((size_t)width * height * sizeof(float));
    if (estimators->luma == NULL) {
        error_set(why, ENOMEM, "out of memory for the luma of a frame");
        return;
    }
    /* If one cannot be made, the others still work. */
    if (job->takes_measures && estimators->measuring == NULL)
        measuring_create(&estimators->measuring, width, height, why);
    if (job->motion_block > 0 && estimators->moving == NULL)
        moving_create(&estimators->moving, width, height, job->motion_block, why);
    if (wants_match(job) && estimators->matcher == NULL)
        matcher_create(&estimators->matcher, width, height, wanted->match_image,
                       wanted->match_count, why);
    if (wanted->removes_waves && estimators->periodic == NULL) {
        estimators->waves_turn = (struct turn){0};
        periodic_create(&estimators->periodic, width, height, &wanted->waves, why);
    }
    if (wanted->removes_flicker && estimators->flicker == NULL) {
        estimators->flicker_since_ns = 0;
        flicker_create(&estimators->flicker, width, height, &wanted->flicker, why);
    }
    if (wanted->estimates_noise && estimators->noise == NULL)
        blur_noise_create(&estimators->noise, width, height, &wanted->noise, why);
    if (estimators->periodic != NULL)
        periodic_freeze(estimators->periodic, wanted->is_frozen);
}

/* ---- observation ---- */

/* Without flicker, waves are looked for in each observed frame. */
static bool is_turn_of_waves(const struct estimators *estimators)
{
    return estimators->flicker == NULL || turn_is_due(&estimators->waves_turn);
}

static void observe_waves(struct estimators *estimators, const struct observed_frame *frame,
                          struct findings *ret)
{
    struct periodic *periodic = estimators->periodic;
    struct fftd_measures *measures = &ret->measures;
    if (periodic == NULL)
        return;
    if (is_turn_of_waves(estimators))
        periodic_observe(periodic, estimators->luma, frame->captured_ns);
    periodic_get_model(periodic, &ret->waves);
    ret->wave_count = periodic_reports(periodic, ret->wave);
    measures->peaks = ret->wave_count;
    measures->peak_strength = ret->wave_count > 0 ? (float)ret->wave[0].amplitude : 0;
}

/* Subtracts the known waves from the frame. They show in its rows, as bands of light do, and would
 * be taken for a part of those bands, or for a scene that stands still. */
static void subtract_waves(struct estimators *estimators, const struct wave_model *model)
{
    const struct observed_frames *frames = &estimators->job.frames;
    struct error why;
    if (wave_model_adds(model, &estimators->fitted, frames->width, frames->height))
        flicker_cut(estimators->flicker);
    estimators->fitted = *model;
    if (estimators->fit == NULL &&
        (model->count == 0 ||
         wave_fit_create(&estimators->fit, frames->width, frames->height, &why) < 0))
        return; /* without memory the waves stay */
    wave_fit_find(estimators->fit, model, estimators->luma);
    wave_fit_subtract(estimators->fit, estimators->luma);
}

static void observe_flicker(struct estimators *estimators, const struct observed_frame *frame,
                            struct findings *ret)
{
    struct fftd_measures *measures = &ret->measures;
    if (estimators->flicker == NULL)
        return;
    subtract_waves(estimators, &ret->waves);
    flicker_observe(estimators->flicker, estimators->luma, frame->scene_ns);
    flicker_model_get(estimators->flicker, &ret->flicker);
    ret->has_flicker = flicker_report(estimators->flicker, &ret->flicker_report);
    if (!ret->has_flicker)
        estimators->flicker_since_ns = 0;
    else if (estimators->flicker_since_ns == 0)
        estimators->flicker_since_ns = frame->captured_ns;
    ret->flicker_since_ns = estimators->flicker_since_ns;
    measures->flicker_hz = ret->has_flicker ? (float)ret->flicker_report.frequency_hz : 0;
    measures->flicker_depth = ret->has_flicker ? (float)ret->flicker_report.depth : 0;
}

static void find_matches(struct estimators *estimators, struct findings *ret)
{
    struct match match[FILTER_MAX_MATCHES];
    if (estimators->matcher == NULL)
        return;
    matcher_find(estimators->matcher, estimators->luma, match);
    ret->match_count = estimators->job.wanted.match_count;
    for (unsigned i = 0; i < ret->match_count; i++)
        ret->match[i] = (struct fftd_match){
            .x = (float)match[i].x, .y = (float)match[i].y, .score = (float)match[i].score};
}

void estimators_observe(struct estimators *estimators, const struct observed_frame *frame,
                        struct findings *ret)
{
    const struct format_info *format = format_by_fourcc(frame->frames.fourcc);
    const uint32_t width = frame->frames.width;
    *ret = (struct findings){.frames = frame->frames, .measures = MEASURING_NOTHING};
    if (estimators->luma == NULL)
        return;
    const int64_t begun_ns = clock_processor_ns();
    luma_read(estimators->luma, format, frame->frames.demosaic, width, frame->frames.height,
              frame->bytes, luma_row_bytes(format, width));
    if (estimators->measuring != NULL) {
        ret->picture_state =
            measuring_observe(estimators->measuring, frame, estimators->luma, &ret->measures);
        ret->measured_number = frame->number;
    }
    if (estimators->moving != NULL) {
        ret->motion = moving_observe(estimators->moving, frame, estimators->luma,
                                     &ret->has_similarity, &ret->similarity);
        ret->motion_bytes = moving_bytes(width, frame->frames.height, estimators->job.motion_block);
    }
    find_matches(estimators, ret);
    if (estimators->noise != NULL)
        ret->noise = blur_noise_observe(estimators->noise, estimators->luma);
    const int64_t waves_begun_ns = clock_processor_ns();
    observe_waves(estimators, frame, ret);
    const int64_t waves_ns = clock_processor_ns() - waves_begun_ns;
    observe_flicker(estimators, frame, ret); /* last, because it changes the luma */
    if (estimators->flicker != NULL)
        turn_account(&estimators->waves_turn, waves_ns, clock_processor_ns() - begun_ns - waves_ns);
}

#include "observer/correcting.h"

#include <errno.h>
#include <stdlib.h>

#include "core/format.h"
#include "estimators/luma.h"

void correcting_finish(struct correcting *correcting)
{
    wave_fit_destroy(correcting->fit);
    flicker_frame_destroy(correcting->flicker);
    free(correcting->luma);
    correcting->fit = NULL;
    correcting->flicker = NULL;
    correcting->luma = NULL;
}

/* Brings waves into the unit of the samples that the engine corrects. */
static void scale_waves(struct correction *correction, uint32_t fourcc)
{
    const double step = luma_step(format_by_fourcc(fourcc));
    for (unsigned i = 0; i < correction->wave_count; i++) {
        correction->wave[i].re *= step;
        correction->wave[i].im *= step;
    }
    correction->top *= step;
}

/* Makes the luma that corrections are fitted in. For frames of another size or format, forgets what
 * was fitted. */
static int prepare(struct correcting *correcting, const struct observed_frames *frames)
{
    if (correcting->luma != NULL && observed_frames_equal(&correcting->fitted, frames))
        return 0;
    correcting_finish(correcting);
    correcting->luma = malloc((size_t)frames->width * frames->height * sizeof *correcting->luma);
    if (correcting->luma == NULL)
        return -ENOMEM;
    correcting->fitted = *frames;
    return 0;
}

static void fit_waves(struct correcting *correcting, const struct observed_frames *frames,
                      const struct wave_model *model, const struct capture_frame *frame)
{
    struct error why;
    if (model->count == 0) {
        if (correcting->fit != NULL) /* what returns later begins at the model's frequency */
            wave_fit_find(correcting->fit, model, NULL);
        return;
    }
    if (prepare(correcting, frames) < 0)
        return; /* without memory the waves stay, and the next frame tries again */
    if (correcting->fit == NULL &&
        wave_fit_create(&correcting->fit, frames->width, frames->height, &why) < 0)
        return;
    const struct format_info *format = format_by_fourcc(frames->fourcc);
    const unsigned *row;
    const unsigned rows = wave_fit_rows(correcting->fit, model, &row);
    if (format->kind == SAMPLE_BAYER) /* a pixel needs its neighbours */
        luma_read(correcting->luma, format, frames->demosaic, frames->width, frames->height,
                  frame->plane[0], frame->stride[0]);
    else
        for (unsigned i = 0; i < rows; i++)
            luma_read(correcting->luma + (size_t)row[i] * frames->width, format, frames->demosaic,
                      frames->width, 1, frame->plane[0] + (size_t)row[i] * frame->stride[0],
                      frame->stride[0]);
    wave_fit_frame(correcting->fit, model, correcting->luma, &correcting->correction);
    scale_waves(&correcting->correction, frames->fourcc);
}

/* While there is no flicker, and none is suspected, frames are not looked at. */
static void fit_flicker(struct correcting *correcting, const struct observed_frames *frames,
                        const struct flicker_model *model, bool has_more_waves,
                        const struct capture_frame *frame)
{
    const struct format_info *format = format_by_fourcc(frames->fourcc);
    struct error why;
    if (!model->is_valid && !model->is_suspected) {
        flicker_frame_destroy(correcting->flicker);
        correcting->flicker = NULL;
        return;
    }
    if (prepare(correcting, frames) < 0 ||
        (correcting->flicker == NULL &&
         flicker_frame_create(&correcting->flicker, frames->width, frames->height, &why) < 0))
        return; /* as for waves */
    luma_read(correcting->luma, format, frames->demosaic, frames->width, frames->height,
              frame->plane[0], frame->stride[0]);
    if (correcting->correction.wave_count > 0) /* waves show in the rows, as bands do */
        wave_fit_subtract(correcting->fit, correcting->luma);
    if (has_more_waves)
        flicker_frame_cut(correcting->flicker);
    if (flicker_frame_fit(correcting->flicker, model, correcting->luma, capture_scene_ns(frame),
                          correcting->row_gain))
        correcting->correction.row_gain = correcting->row_gain;
}

const struct correction *correcting_fit(struct correcting *correcting,
                                        const struct observed_frames *frames,
                                        const struct wave_model *waves,
                                        const struct flicker_model *flicker,
                                        const struct capture_frame *frame)
{
    struct correction *correction = &correcting->correction;
    const bool has_more_waves =
        wave_model_adds(waves, &correcting->waves, frames->width, frames->height);
    *correction = (struct correction){.row_gain = NULL};
    correcting->waves = *waves;
    fit_waves(correcting, frames, waves, frame);
    fit_flicker(correcting, frames, flicker, has_more_waves, frame);
    return correction->wave_count > 0 || correction->row_gain != NULL ? correction : NULL;
}

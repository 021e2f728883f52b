#include "designer/frames.h"

/* Rows of a published frame begin on cache lines, and where graphics APIs can import them. */
#define ROW_ALIGN_BYTES 64

bool engine_frames_equal(const struct engine_frames *a, const struct engine_frames *b)
{
    return a->captured == b->captured && a->width == b->width && a->height == b->height &&
           a->format.fourcc == b->format.fourcc && a->format.width == b->format.width &&
           a->format.height == b->format.height;
}

/* Returns the stride of struct taps_samples, or 0 if the sizes do not have this ratio. */
static uint32_t stride_of(const struct engine_frames *frames)
{
    return frames->width == TAPS_STRIDE * frames->format.width &&
                   frames->height == TAPS_STRIDE * frames->format.height
               ? TAPS_STRIDE
               : 0;
}

void engine_frames_set_captured(struct recipe *recipe, const struct engine_frames *frames)
{
    const bool are_smaller =
        frames->width != frames->format.width || frames->height != frames->format.height;
    recipe->captured = frames->captured;
    recipe->captured_width = are_smaller ? frames->width : 0;
    recipe->captured_height = are_smaller ? frames->height : 0;
    recipe->stride = stride_of(frames);
}

int engine_frames_lay_out(struct fftd_format *ret, const struct engine_frames *frames,
                          uint32_t align, struct error *why)
{
    return format_layout(ret, frames->captured, frames->width, frames->height, align, why);
}

int engine_frames_describe(struct engine_frames *ret, const struct config *config,
                           const struct fftd_format *captured, struct error *why)
{
    const struct filter_chain none = {.count = 0};
    const struct config_output *output = &config->output;
    struct recipe settings = config->engine.options.recipe;
    struct engine_frames frames = {
        .captured = captured->fourcc, .width = captured->width, .height = captured->height};
    struct fftd_format *format = &frames.format;
    int r = recipe_check_frames(&settings, captured, &none, why);
    if (r == 0)
        r = format_layout(format, engine_published(&settings, captured->fourcc),
                          output->width != 0 ? output->width : captured->width,
                          output->height != 0 ? output->height : captured->height, ROW_ALIGN_BYTES,
                          why);
    if (r < 0)
        return r;
    engine_frames_set_captured(&settings, &frames);
    r = recipe_check_frames(&settings, format, &none, why);
    if (r < 0)
        return r;
    format->rate_num = captured->rate_num;
    format->rate_den = captured->rate_den;
    format->primaries = captured->primaries;
    format->transfer = captured->transfer;
    format->matrix = captured->matrix;
    format->full_range = captured->full_range;
    *ret = frames;
    return 0;
}

#include "diagnosis/intake.h"

#include <errno.h>
#include <stdlib.h>

static bool is_limited(const struct pixels *pixels)
{
    return pixels->layout->family == FFTD_FAMILY_YUV && !pixels->format->full_range;
}

int intake_begin(struct intake *intake, const struct pixels *pixels, const char *captured,
                 size_t most_bytes)
{
    const struct fftd_format *format = pixels->format;
    const size_t count = (size_t)format->width * format->height, most = most_bytes / 2 / count;
    if (most < intake->wanted)
        intake->wanted = most < INTAKE_FEWEST ? INTAKE_FEWEST : (unsigned)most;
    /* Luma alone has no samples of a mosaic; it is taken as it is. */
    int r = average_init(&intake->average, format->width, format->height,
                         pixels->layout->family == FFTD_FAMILY_RGB ? captured : NULL);
    const struct diagnosis_format wanted = {.width = format->width,
                                            .height = format->height,
                                            .black = is_limited(pixels) ? 16 : 0,
                                            .white = is_limited(pixels) ? 235 : 255,
                                            .mosaic_step = intake->average.is_mosaic ? 2 : 1};
    intake->level = malloc(count * sizeof *intake->level);
    if (r == 0 && intake->level == NULL)
        r = -ENOMEM;
    return r < 0 ? r : diagnosis_create(&intake->diagnosis, &wanted);
}

int intake_add(struct intake *intake, const struct pixels *pixels, uint64_t sequence,
               int64_t captured_ns)
{
    const size_t count = (size_t)intake->average.width * intake->average.height;
    if (intake->got > 0 && sequence <= intake->newest)
        return 0;
    int r = average_add(&intake->average, pixels, intake->level);
    for (size_t i = 0; r == 0 && i < count; i++)
        intake->level[i] *= 255;
    if (r == 0)
        r = diagnosis_add(intake->diagnosis, intake->level, captured_ns);
    if (r == 0) {
        intake->newest = sequence;
        intake->got++;
    }
    return r;
}

void intake_finish(struct intake *intake)
{
    average_finish(&intake->average);
    free(intake->level);
}

/* Any bytes as an image of a filter: refused with a reason, or taken. What is taken has a size
 * within the limits and finite pixels. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "filters/filter_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct filter_image *image)
{
    const size_t count = (size_t)image->columns * image->rows;
    if (count == 0 || count > FILTER_IMAGE_MAX_PIXELS || image->columns > FILTER_IMAGE_MAX_SIDE ||
        image->rows > FILTER_IMAGE_MAX_SIDE || strcmp(image->name, "fuzz.pgm") != 0)
        abort();
    for (size_t i = 0; i < count; i++)
        if (!(fabs((double)image->pixel[i]) <= FILTER_IMAGE_MAX_NUMBER))
            abort();
    if (!isfinite(image->sum) || !(image->square_sum >= 0))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct filter_image *image = NULL;
    struct error why = {""};
    uint8_t *bytes = malloc(size > 0 ? size : 1); /* exactly as long, for the address sanitizer */
    if (bytes == NULL)
        return 0;
    memcpy(bytes, data, size);
    if (filter_image_parse(&image, "fuzz.pgm", bytes, size, &why) == 0)
        check(image);
    else if (why.text[0] == '\0' || image != NULL)
        abort();
    filter_image_destroy(image);
    free(bytes);
    return 0;
}

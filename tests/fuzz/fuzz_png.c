/* Any bytes as a PNG: refused with a reason, or decoded into a PGM that is an image. The checksums
 * of PNG are right in few inputs that a fuzzer makes, so the seeds matter. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "config/png.h"
#include "filters/filter_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char *pgm = NULL;
    size_t count = 0;
    struct filter_image *image = NULL;
    struct error why = {""};
    uint8_t *bytes = malloc(size > 0 ? size : 1); /* exactly as long, for the address sanitizer */
    if (bytes == NULL)
        return 0;
    memcpy(bytes, data, size);
    if (png_decode(&pgm, &count, "fuzz.png", bytes, size, NULL, &why) != 0) {
        if (why.text[0] == '\0' || pgm != NULL)
            abort();
    } else if (filter_image_parse(&image, "fuzz.png", pgm, count, &why) != 0) {
        abort();
    }
    filter_image_destroy(image);
    free(pgm);
    free(bytes);
    return 0;
}

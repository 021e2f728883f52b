/* Y4M headers from anyone. What is accepted must be a layout that a frame can have. */
#include <stdlib.h>
#include <string.h>

#include "capture/y4m.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    struct fftd_format format;
    struct error why;
    size_t used = 0;
    if (y4m_parse_header(bytes, count, &format, &used, &why) == 0) {
        const struct format_info *info = format_by_fourcc(format.fourcc);
        if (info == NULL || format.width == 0 || format.width > FFTD_MAX_SIDE ||
            format.height == 0 || format.height > FFTD_MAX_SIDE || format.frame_bytes == 0 ||
            format.rate_den == 0 || used > count || bytes[used - 1] != '\n')
            abort();
    }
    if (y4m_parse_frame(bytes, count, &used, &why) == 0 &&
        (used > count || bytes[used - 1] != '\n'))
        abort();
    return 0;
}

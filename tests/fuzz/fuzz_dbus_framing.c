/* Any bytes as what a peer of the control socket sends, the first one saying after how many lines
 * the authentication ends: every piece is within the limits, no byte is passed on twice or lost,
 * and it does not matter in which parts the bytes arrive. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/client_limits.h"
#include "core/dbus_framing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static ptrdiff_t next(bool has_begun, const uint8_t *data, size_t size)
{
    uint8_t *bytes = malloc(size); /* exactly as long as it is, for the address sanitizer */
    if (bytes == NULL && size > 0)
        abort();
    if (size > 0)
        memcpy(bytes, data, size);
    const ptrdiff_t length = dbus_framing_next(has_begun, bytes, size);
    free(bytes);
    return length;
}

/* What the whole buffer's first piece is must not depend on the bytes after it. */
static void check_piece(bool has_begun, const uint8_t *data, size_t length)
{
    if (length > (has_begun ? LIMIT_MESSAGE_BYTES : LIMIT_LINE_BYTES) || length == 0)
        abort();
    if (next(has_begun, data, length) != (ptrdiff_t)length)
        abort();
    if (next(has_begun, data, length - 1) != 0 || next(has_begun, data, length / 2) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    unsigned lines = data[0] % 8;
    const uint8_t *at = data + 1;
    size_t left = size - 1;
    ptrdiff_t length;
    while ((length = next(lines == 0, at, left)) > 0) {
        if ((size_t)length > left)
            abort();
        check_piece(lines == 0, at, (size_t)length);
        at += length;
        left -= (size_t)length;
        lines -= lines > 0;
    }
    /* An incomplete piece never exceeds the limit, so a buffer of that size is enough. */
    if (length == 0 && left > (lines == 0 ? LIMIT_MESSAGE_BYTES - 1 : LIMIT_LINE_BYTES))
        abort();
    return 0;
}

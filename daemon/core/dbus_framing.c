#include "core/dbus_framing.h"

#include <errno.h>
#include <string.h>

#include "core/client_limits.h"

#define HEADER_BYTES 16u /* the fixed part, with the length of the fields that follow */

static ptrdiff_t next_line(const uint8_t *bytes, size_t count)
{
    const uint8_t *end = memchr(bytes, '\n', count);
    const size_t length = end != NULL ? (size_t)(end - bytes) + 1 : count;
    if (length > LIMIT_LINE_BYTES)
        return -EMSGSIZE;
    return end == NULL ? 0 : (ptrdiff_t)length;
}

static uint32_t read_word(const uint8_t *bytes, bool big_endian)
{
    uint32_t word = 0;
    for (unsigned i = 0; i < 4; i++)
        word |= (uint32_t)bytes[i] << 8 * (big_endian ? 3 - i : i);
    return word;
}

static ptrdiff_t next_message(const uint8_t *bytes, size_t count)
{
    if (count < HEADER_BYTES)
        return 0;
    if ((bytes[0] != 'l' && bytes[0] != 'B') || bytes[3] != 1)
        return -EBADMSG;
    const uint64_t body = read_word(bytes + 4, bytes[0] == 'B');
    const uint64_t fields = read_word(bytes + 12, bytes[0] == 'B');
    const uint64_t length = HEADER_BYTES + (fields + 7) / 8 * 8 + body;
    if (length > LIMIT_MESSAGE_BYTES)
        return -EMSGSIZE;
    return count < length ? 0 : (ptrdiff_t)length;
}

ptrdiff_t dbus_framing_next(bool has_begun, const uint8_t *bytes, size_t count)
{
    return has_begun ? next_message(bytes, count) : next_line(bytes, count);
}

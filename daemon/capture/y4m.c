/* A colour space is read as the format that has the same planes: mono as GREY, 420jpeg as YUV420,
 * FFmpeg's mono10 .. mono16 as Y10 .. Y16. The other sitings of 4:2:0 chroma have the same planes.
 * Planar 4:2:2, 4:4:4 and deep colour match no format. They are refused, because converting them
 * would be the user's choice. */
#include "capture/y4m.h"

#include <errno.h>
#include <string.h>

#include "capture/capture.h"
#include "core/text.h"

#define MAGIC "YUV4MPEG2"
#define FRAME "FRAME"

/* Other names of 420jpeg, which differ from it in where chroma is sited. */
static const char *const sitings[] = {"420", "420mpeg2", "420paldv"};
#define SITING_COUNT (sizeof sitings / sizeof sitings[0])

struct header {
    uint32_t width, height;
    uint32_t rate_num, rate_den;
    const char *colour;
    enum { RANGE_UNKNOWN, RANGE_LIMITED, RANGE_FULL } range;
};

/* Reads the digits up to `end`, at most nine of them, so that nothing overflows. */
static int parse_number(const char *text, const char *end, uint32_t *ret)
{
    uint32_t number = 0;
    if (text == end || end - text > 9)
        return -EINVAL;
    for (; text < end; text++) {
        if (*text < '0' || *text > '9')
            return -EINVAL;
        number = number * 10 + (uint32_t)(*text - '0');
    }
    *ret = number;
    return 0;
}

static int parse_rate(const char *text, uint32_t *ret_num, uint32_t *ret_den)
{
    uint32_t num, den;
    const char *colon = strchr(text, ':');
    if (colon == NULL || parse_number(text, colon, &num) < 0 ||
        parse_number(colon + 1, text + strlen(text), &den) < 0)
        return -EINVAL;
    if (num == 0 || den == 0) { /* 0:0 is "unknown" */
        *ret_num = 0;
        *ret_den = 1;
        return num == 0 ? 0 : -EINVAL;
    }
    double rate = (double)num / den;
    if (rate < CAPTURE_MIN_RATE || rate > CAPTURE_MAX_RATE)
        return -EINVAL;
    *ret_num = num;
    *ret_den = den;
    return 0;
}

/* Reads one parameter, which begins with its letter. The aspect ratio, comments and unknown letters
 * are ignored. */
static int parse_parameter(const char *word, struct header *header)
{
    const char *value = word + 1;
    const char *end = value + strlen(value);
    switch (word[0]) {
    case 'W':
        return parse_number(value, end, &header->width);
    case 'H':
        return parse_number(value, end, &header->height);
    case 'F':
        return parse_rate(value, &header->rate_num, &header->rate_den);
    case 'I':
        return strlen(value) == 1 && strchr("?ptbm", value[0]) != NULL ? 0 : -EINVAL;
    case 'C':
        header->colour = value;
        return 0;
    case 'X':
        if (strcmp(value, "COLORRANGE=FULL") == 0)
            header->range = RANGE_FULL;
        else if (strcmp(value, "COLORRANGE=LIMITED") == 0)
            header->range = RANGE_LIMITED;
        return 0;
    default:
        return 0;
    }
}

/* Returns whether the format has the planes of Y4M: one for each component, in their order. */
static bool has_y4m_planes(const struct format_info *info)
{
    if (info->y4m == NULL || info->plane_count != (info->family == FAMILY_YUV ? 3 : 1))
        return false;
    for (unsigned c = 0; c < info->plane_count; c++)
        if (info->component[c].plane != c)
            return false;
    return true;
}

static const struct format_info *format_of_colour(const char *colour)
{
    unsigned count;
    const struct format_info *table = format_table(&count);
    for (unsigned i = 0; i < SITING_COUNT; i++)
        if (strcmp(sitings[i], colour) == 0)
            colour = "420jpeg";
    for (unsigned i = 0; i < count; i++)
        if (has_y4m_planes(&table[i]) && strcmp(table[i].y4m, colour) == 0)
            return &table[i];
    return NULL;
}

static int refuse_colour(const char *colour, struct error *why)
{
    char known[256] = "", quoted[TEXT_QUOTE_BYTES];
    unsigned count;
    const struct format_info *table = format_table(&count);
    for (unsigned i = 0; i < SITING_COUNT; i++)
        text_append(known, sizeof known, "%s, ", sitings[i]);
    for (unsigned i = 0, shown = 0; i < count; i++)
        if (has_y4m_planes(&table[i]))
            text_append(known, sizeof known, "%s%s", shown++ == 0 ? "" : ", ", table[i].y4m);
    return error_set(why, EOPNOTSUPP, "Y4M colour space %s is not supported: expected one of %s",
                     text_quote(quoted, colour), known);
}

static int format_of_header(const struct header *header, struct fftd_format *ret, struct error *why)
{
    const struct format_info *info = format_of_colour(header->colour);
    if (info == NULL)
        return refuse_colour(header->colour, why);
    struct fftd_format format;
    int r = format_layout(&format, info->fourcc, header->width, header->height, 1, why);
    if (r < 0)
        return r;
    if (header->range != RANGE_UNKNOWN)
        format.full_range = header->range == RANGE_FULL;
    format.rate_num = header->rate_num;
    format.rate_den = header->rate_den;
    *ret = format;
    return 0;
}

/* Copies the line at the start of bytes, without its newline, as text. */
static int take_line(const uint8_t *bytes, size_t count, char line[Y4M_MAX_HEADER],
                     size_t *ret_bytes)
{
    if (count > Y4M_MAX_HEADER)
        count = Y4M_MAX_HEADER;
    const uint8_t *newline = memchr(bytes, '\n', count);
    if (newline == NULL || memchr(bytes, '\0', (size_t)(newline - bytes)) != NULL)
        return -EINVAL;
    size_t length = (size_t)(newline - bytes);
    memcpy(line, bytes, length);
    line[length] = '\0';
    *ret_bytes = length + 1;
    return 0;
}

bool y4m_is_y4m(const uint8_t *bytes, size_t count)
{
    size_t length = strlen(MAGIC);
    return count > length && memcmp(bytes, MAGIC, length) == 0 &&
           (bytes[length] == ' ' || bytes[length] == '\n');
}

int y4m_parse_header(const uint8_t *bytes, size_t count, struct fftd_format *ret, size_t *ret_bytes,
                     struct error *why)
{
    char line[Y4M_MAX_HEADER], quoted[TEXT_QUOTE_BYTES];
    size_t length;
    if (!y4m_is_y4m(bytes, count))
        return error_set(why, EINVAL, "does not begin with " MAGIC);
    if (take_line(bytes, count, line, &length) < 0)
        return error_set(why, EINVAL, "the Y4M header is not a line of text of at most %d bytes",
                         Y4M_MAX_HEADER);

    struct header header = {.rate_den = 1, .colour = "420"};
    char *rest = line + strlen(MAGIC);
    for (char *word; (word = strsep(&rest, " ")) != NULL;) {
        if (word[0] != '\0' && parse_parameter(word, &header) < 0)
            return error_set(why, EINVAL,
                             "Y4M parameter %s: expected W and H in pixels, F as frames:seconds "
                             "(%g .. %g a second, 0:0 unknown), I one of ? p t b m",
                             text_quote(quoted, word), CAPTURE_MIN_RATE, CAPTURE_MAX_RATE);
    }
    if (header.width == 0 || header.height == 0)
        return error_set(why, EINVAL, "the Y4M header has no width W or no height H");
    int r = format_of_header(&header, ret, why);
    if (r < 0)
        return r;
    *ret_bytes = length;
    return 0;
}

int y4m_parse_frame(const uint8_t *bytes, size_t count, size_t *ret_bytes, struct error *why)
{
    char line[Y4M_MAX_HEADER];
    size_t length, word = strlen(FRAME);
    if (take_line(bytes, count, line, &length) < 0 || strncmp(line, FRAME, word) != 0 ||
        (line[word] != '\0' && line[word] != ' '))
        return error_set(why, EINVAL, "expected a line beginning with " FRAME);
    *ret_bytes = length;
    return 0;
}

/* The colour spaces taken are those whose planes lie as one of our formats has them: 4:2:0 of any
 * siting is YUV420, mono is GREY (FFmpeg's mono10 .. mono16 are Y10 .. Y16). Planar 4:2:2, 4:4:4
 * and deep colour have no format of ours, and what they would have to become is for the user to
 * say, not for us to guess. */
#include "capture/y4m.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "capture/capture.h"
#include "core/text.h"

#define MAGIC "YUV4MPEG2"
#define FRAME "FRAME"

static const struct {
    const char *y4m, *name;
} colour_spaces[] = {
    {"420", "YUV420"}, {"420jpeg", "YUV420"}, {"420mpeg2", "YUV420"}, {"420paldv", "YUV420"},
    {"mono", "GREY"},  {"mono10", "Y10"},     {"mono12", "Y12"},      {"mono16", "Y16"},
};

struct header {
    uint32_t width, height;
    uint32_t rate_num, rate_den;
    const char *colour;
    enum { RANGE_UNSAID, RANGE_LIMITED, RANGE_FULL } range;
};

/* Digits up to `end`, at most nine of them: no overflow, nothing else between. */
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

/* One parameter, its letter first. Aspect ratio, comments and letters unknown do not matter. */
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

static int format_of_header(const struct header *header, struct fftd_format *ret, struct error *why)
{
    char known[256] = "", quoted[TEXT_QUOTE_BYTES];
    for (unsigned i = 0; i < sizeof colour_spaces / sizeof colour_spaces[0]; i++) {
        text_append(known, sizeof known, "%s%s", i == 0 ? "" : ", ", colour_spaces[i].y4m);
        if (strcmp(colour_spaces[i].y4m, header->colour) != 0)
            continue;
        struct fftd_format format;
        int r = format_layout(&format, format_by_name(colour_spaces[i].name)->fourcc, header->width,
                              header->height, 1, why);
        if (r < 0)
            return r;
        if (header->range != RANGE_UNSAID)
            format.full_range = header->range == RANGE_FULL;
        format.rate_num = header->rate_num;
        format.rate_den = header->rate_den;
        *ret = format;
        return 0;
    }
    return error_set(why, EINVAL, "Y4M colour space %s has no format here: expected one of %s",
                     text_quote(quoted, header->colour), known);
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

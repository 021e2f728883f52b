/* Files' bytes become pixels. The bytes may come from anyone: nothing is read beyond their end, and
 * sizes are checked before memory is allocated for them. */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filters/filter_image.h"
#include "core/text.h"

#define WORD_BYTES 64 /* for a number in a file; longer ones are refused */

struct reader {
    const unsigned char *at, *end;
    const char *name;
};

/* ---- common to all formats ---- */

static bool is_space(unsigned char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static bool is_digit(unsigned char byte)
{
    return byte >= '0' && byte <= '9';
}

/* A zero byte would end a word early. */
static char letter(unsigned char byte)
{
    return byte != 0 ? (char)byte : '?';
}

static int create(struct filter_image **ret, const struct reader *reader, double columns,
                  double rows, struct error *why)
{
    if (!(columns >= 1 && rows >= 1 && columns <= FILTER_IMAGE_MAX_SIDE &&
          rows <= FILTER_IMAGE_MAX_SIDE && columns * rows <= FILTER_IMAGE_MAX_PIXELS))
        return error_set(
            why, EINVAL,
            "image %s has %.10gx%.10g pixels: expected 1x1 .. %ux%u, at most %u in all",
            reader->name, columns, rows, FILTER_IMAGE_MAX_SIDE, FILTER_IMAGE_MAX_SIDE,
            FILTER_IMAGE_MAX_PIXELS);
    const size_t count = (size_t)columns * (size_t)rows;
    struct filter_image *image = calloc(1, sizeof *image + count * sizeof image->pixel[0]);
    if (image == NULL)
        return error_set(why, ENOMEM, "out of memory for image %s of %gx%g pixels", reader->name,
                         columns, rows);
    snprintf(image->name, sizeof image->name, "%s", reader->name);
    image->columns = (unsigned)columns;
    image->rows = (unsigned)rows;
    *ret = image;
    return 0;
}

static int check_number(const struct reader *reader, double number, size_t column, size_t row,
                        struct error *why)
{
    if (fabs(number) <= FILTER_IMAGE_MAX_NUMBER) /* false for NaN */
        return 0;
    return error_set(why, EINVAL,
                     "image %s: the pixel in column %zu of row %zu is %g: expected %g .. %g",
                     reader->name, column + 1, row + 1, number, -FILTER_IMAGE_MAX_NUMBER,
                     FILTER_IMAGE_MAX_NUMBER);
}

static int truncated(const struct reader *reader, size_t found, size_t expected, const char *unit,
                     struct error *why)
{
    return error_set(why, EINVAL, "image %s is truncated: it has %zu of %zu %s", reader->name,
                     found, expected, unit);
}

/* ---- the headers of PGM and PFM ---- */

/* Skips white space, and comments up to the end of their line. */
static void skip_space(struct reader *reader)
{
    bool in_comment = false;
    for (; reader->at < reader->end; reader->at++) {
        in_comment = in_comment ? *reader->at != '\n' : *reader->at == '#';
        if (!in_comment && !is_space(*reader->at))
            return;
    }
}

static bool read_word(struct reader *reader, char word[WORD_BYTES])
{
    size_t length = 0;
    skip_space(reader);
    for (; reader->at < reader->end && !is_space(*reader->at) && length < WORD_BYTES - 1;
         reader->at++)
        word[length++] = letter(*reader->at);
    word[length] = '\0';
    return length > 0 && (reader->at == reader->end || is_space(*reader->at));
}

static int read_header_number(struct reader *reader, double *ret, const char *what,
                              struct error *why)
{
    char word[WORD_BYTES], quoted[TEXT_QUOTE_BYTES];
    if (!read_word(reader, word) || text_to_number(ret, word) < 0)
        return error_set(why, EINVAL, "image %s: %s in its header is %s: expected a number",
                         reader->name, what, text_quote(quoted, word));
    return 0;
}

static int read_size(struct filter_image **ret, struct reader *reader, struct error *why)
{
    double columns = 0, rows = 0;
    reader->at += 2; /* the signature */
    int r = read_header_number(reader, &columns, "the width", why);
    if (r == 0)
        r = read_header_number(reader, &rows, "the height", why);
    if (r == 0 && (columns != rint(columns) || rows != rint(rows)))
        r = error_set(why, EINVAL, "image %s: its size is %gx%g: expected whole numbers",
                      reader->name, columns, rows);
    return r < 0 ? r : create(ret, reader, columns, rows, why);
}

/* Skips the white space that ends a header. Returns the number of bytes after it. */
static size_t end_header(struct reader *reader)
{
    if (reader->at < reader->end)
        reader->at++;
    return (size_t)(reader->end - reader->at);
}

static int check_end(const struct reader *reader, size_t left, size_t expected, struct error *why)
{
    if (left < expected)
        return truncated(reader, left, expected, "bytes of pixels", why);
    if (left > expected)
        return error_set(why, EINVAL, "image %s: %zu bytes follow its pixels: expected its end",
                         reader->name, left - expected);
    return 0;
}

/* ---- PGM ---- */

static int read_raw_pgm(struct filter_image *image, struct reader *reader, unsigned white,
                        struct error *why)
{
    const size_t count = (size_t)image->columns * image->rows, size = white > 255 ? 2 : 1;
    int r = check_end(reader, end_header(reader), count * size, why);
    for (size_t i = 0; r == 0 && i < count; i++, reader->at += size) {
        const unsigned sample =
            size == 2 ? (unsigned)reader->at[0] << 8 | reader->at[1] : reader->at[0];
        image->pixel[i] = (float)sample;
    }
    return r;
}

static int read_plain_pgm(struct filter_image *image, struct reader *reader, struct error *why)
{
    const size_t count = (size_t)image->columns * image->rows;
    for (size_t i = 0; i < count; i++) {
        unsigned sample = 0, digits = 0;
        skip_space(reader);
        for (; reader->at < reader->end && is_digit(*reader->at) && digits < 6; digits++)
            sample = sample * 10 + (*reader->at++ - '0');
        if (digits == 0 && reader->at == reader->end)
            return truncated(reader, i, count, "pixels", why);
        if (digits == 0 || (reader->at < reader->end && !is_space(*reader->at)))
            return error_set(why, EINVAL,
                             "image %s: the pixel in column %zu of row %zu is not a whole number",
                             reader->name, i % image->columns + 1, i / image->columns + 1);
        image->pixel[i] = (float)sample;
    }
    skip_space(reader);
    return check_end(reader, (size_t)(reader->end - reader->at), 0, why);
}

static int read_pgm(struct filter_image **ret, struct reader *reader, bool raw, struct error *why)
{
    struct filter_image *image = NULL;
    double white;
    int r = read_size(&image, reader, why);
    if (r < 0)
        return r;
    r = read_header_number(reader, &white, "the maximum", why);
    if (r == 0 && !(white >= 1 && white <= 65535 && white == rint(white)))
        r = error_set(why, EINVAL,
                      "image %s: the maximum in its header is %g: expected a whole number, "
                      "1 .. 65535",
                      reader->name, white);
    if (r == 0)
        r = raw ? read_raw_pgm(image, reader, (unsigned)white, why)
                : read_plain_pgm(image, reader, why);
    for (size_t i = 0; r == 0 && i < (size_t)image->columns * image->rows; i++) {
        if ((double)image->pixel[i] > white)
            r = error_set(why, EINVAL,
                          "image %s: the pixel in column %zu of row %zu is %g: expected at most "
                          "the header's maximum, %g",
                          reader->name, i % image->columns + 1, i / image->columns + 1,
                          (double)image->pixel[i], white);
        image->pixel[i] = (float)((double)image->pixel[i] / white);
    }
    if (r < 0)
        filter_image_destroy(image);
    else
        *ret = image;
    return r;
}

/* ---- PFM ---- */

static float float_at(const unsigned char *bytes, bool little_endian)
{
    const union {
        uint32_t bits;
        float number;
    } value = {.bits = little_endian ? (uint32_t)bytes[3] << 24 | (uint32_t)bytes[2] << 16 |
                                           (uint32_t)bytes[1] << 8 | bytes[0]
                                     : (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
                                           (uint32_t)bytes[2] << 8 | bytes[3]};
    return value.number;
}

static int read_pfm(struct filter_image **ret, struct reader *reader, struct error *why)
{
    struct filter_image *image = NULL;
    double scale;
    int r = read_size(&image, reader, why);
    if (r < 0)
        return r;
    const unsigned columns = image->columns, rows = image->rows;
    r = read_header_number(reader, &scale, "the scale", why);
    if (r == 0 && scale == 0)
        r = error_set(why, EINVAL,
                      "image %s: the scale in its header is 0: expected a negative number for "
                      "little-endian pixels, or a positive one",
                      reader->name);
    if (r == 0)
        r = check_end(reader, end_header(reader), (size_t)columns * rows * 4, why);
    for (size_t i = 0; r == 0 && i < (size_t)columns * rows; i++, reader->at += 4) {
        const size_t row = rows - 1 - i / columns, column = i % columns;
        const float number = float_at(reader->at, scale < 0);
        image->pixel[row * columns + column] = number;
        r = check_number(reader, (double)number, column, row, why);
    }
    if (r < 0)
        filter_image_destroy(image);
    else
        *ret = image;
    return r;
}

/* ---- rows of numbers ---- */

/* Returns whether a byte separates numbers of a row. A line break ends the row. */
static bool is_between(unsigned char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == ',';
}

/* Reads the next number of the line. Returns false at its end. */
static bool read_cell(struct reader *reader, char word[WORD_BYTES])
{
    size_t length = 0;
    while (reader->at < reader->end && is_between(*reader->at))
        reader->at++;
    if (reader->at < reader->end && *reader->at == '#')
        while (reader->at < reader->end && *reader->at != '\n')
            reader->at++;
    for (; reader->at < reader->end && *reader->at != '\n' && !is_between(*reader->at) &&
           *reader->at != '#' && length < WORD_BYTES - 1;
         reader->at++)
        word[length++] = letter(*reader->at);
    word[length] = '\0';
    return length > 0;
}

/* Reads all rows, or only counts columns and rows if `pixel` is NULL. */
static int read_rows(const struct reader *from, float *pixel, unsigned *ret_columns,
                     unsigned *ret_rows, struct error *why)
{
    struct reader reader = *from;
    unsigned columns = 0, rows = 0;
    size_t index = 0;
    while (reader.at < reader.end) {
        char word[WORD_BYTES], quoted[TEXT_QUOTE_BYTES];
        unsigned in_row = 0;
        for (; read_cell(&reader, word); in_row++, index++) {
            double number;
            if (text_to_number(&number, word) < 0)
                return error_set(
                    why, EINVAL,
                    "image %s: %s in row %u is not a number: expected PNG, PGM (P2, P5), "
                    "PFM (Pf) or rows of numbers",
                    from->name, text_quote(quoted, word), rows + 1);
            int r = check_number(from, number, in_row, rows, why);
            if (r < 0)
                return r;
            if (pixel != NULL)
                pixel[index] = (float)number;
        }
        reader.at += reader.at < reader.end; /* the line break */
        if (in_row > 0 && rows > 0 && in_row != columns)
            return error_set(why, EINVAL,
                             "image %s: row %u has %u numbers: expected %u, as in the rows above",
                             from->name, rows + 1, in_row, columns);
        columns = in_row > 0 ? in_row : columns;
        rows += in_row > 0;
    }
    *ret_columns = columns;
    *ret_rows = rows;
    return 0;
}

static int read_text(struct filter_image **ret, const struct reader *reader, struct error *why)
{
    unsigned columns, rows;
    struct filter_image *image = NULL;
    const size_t count = (size_t)(reader->end - reader->at);
    if (count > FILTER_IMAGE_MAX_TEXT)
        return error_set(why, EINVAL,
                         "image %s has %zu bytes of text: expected at most %u, or PNG, PGM or PFM",
                         reader->name, count, FILTER_IMAGE_MAX_TEXT);
    int r = read_rows(reader, NULL, &columns, &rows, why);
    if (r == 0 && rows == 0)
        r = error_set(why, EINVAL, "image %s has no numbers: expected rows of them", reader->name);
    if (r == 0)
        r = create(&image, reader, columns, rows, why);
    if (r == 0)
        r = read_rows(reader, image->pixel, &columns, &rows, why);
    if (r < 0)
        filter_image_destroy(image);
    else
        *ret = image;
    return r;
}

/* ---- any format ---- */

static bool begins(const struct reader *reader, const char *text)
{
    const size_t length = strlen(text);
    return (size_t)(reader->end - reader->at) >= length && memcmp(reader->at, text, length) == 0;
}

/* Names the format of a file that people may expect to work. */
static int refuse_known(const struct reader *reader, struct error *why)
{
    static const struct {
        const char *signature, *name;
    } known[] = {{"\x89PNG", "a damaged PNG"},
                 {"\xff\xd8\xff", "a JPEG"},
                 {"P1", "a bitmap (P1)"},
                 {"P3", "in colour (P3)"},
                 {"P4", "a bitmap (P4)"},
                 {"P6", "in colour (P6)"},
                 {"P7", "a PAM (P7)"},
                 {"PF", "in colour (PF)"},
                 {"GIF8", "a GIF"},
                 {"II*", "a TIFF"},
                 {"MM", "a TIFF"},
                 {"BM", "a BMP"}};
    for (unsigned i = 0; i < sizeof known / sizeof known[0]; i++)
        if (begins(reader, known[i].signature))
            return error_set(why, EINVAL,
                             "image %s is %s: expected PNG, grey PGM (P2, P5), PFM (Pf) or rows "
                             "of numbers",
                             reader->name, known[i].name);
    return 0;
}

/* What filters ask of an image, computed once: the main thread checks chains, too, and has no time
 * to look at each pixel. */
static void sum_up(struct filter_image *image)
{
    const size_t columns = image->columns, count = columns * image->rows;
    const float *row = image->pixel;
    image->lowest = image->highest = image->pixel[0];
    for (size_t i = 0; i < count; i++) {
        const size_t x = i % columns;
        const double pixel = (double)image->pixel[i];
        const double right = (double)row[x + 1 < columns ? x + 1 : 0] - pixel;
        const double below =
            (double)image->pixel[i + columns < count ? i + columns : i + columns - count] - pixel;
        image->sum += pixel;
        image->square_sum += pixel * pixel;
        image->slopes_along_rows += right * right;
        image->slopes_along_columns += below * below;
        image->lowest = fminf(image->lowest, image->pixel[i]);
        image->highest = fmaxf(image->highest, image->pixel[i]);
        row += x + 1 == columns ? columns : 0;
    }
}

int filter_image_parse(struct filter_image **ret, const char *name, const void *bytes, size_t count,
                       struct error *why)
{
    struct filter_image *image = NULL;
    struct reader reader = {.at = bytes, .end = (const unsigned char *)bytes + count, .name = name};
    if (count == 0)
        return error_set(why, EINVAL, "image %s is empty", name);
    if (count > FILTER_IMAGE_MAX_BYTES)
        return error_set(why, EINVAL, "image %s has %zu bytes: expected at most %u", name, count,
                         FILTER_IMAGE_MAX_BYTES);
    int r = refuse_known(&reader, why);
    if (r == 0)
        r = begins(&reader, "P5")   ? read_pgm(&image, &reader, true, why)
            : begins(&reader, "P2") ? read_pgm(&image, &reader, false, why)
            : begins(&reader, "Pf") ? read_pfm(&image, &reader, why)
                                    : read_text(&image, &reader, why);
    if (r < 0 || image == NULL)
        return r;
    sum_up(image);
    *ret = image;
    return 0;
}

/* libpng reports errors by longjmp. The caller of the function with setjmp therefore has a struct
 * with everything that must be freed, and no variable of that function changes after setjmp. */
#include "config/png.h"

#include <errno.h>
#include <png.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filters/filter_image.h"

#define HEADER_BYTES    32 /* room for the header of a PGM */
#define SIGNATURE_BYTES 8

struct decoder {
    const char *name;
    const unsigned char *at;
    size_t left;
    const atomic_bool *cancelled;
    struct error *why;
    png_structp png;
    png_infop info;
    png_bytep pixels; /* grey and alpha, row by row */
    png_bytepp rows;
    unsigned columns, row_count, sample_bytes;
};

bool png_is_png(const unsigned char *bytes, size_t count)
{
    return count >= SIGNATURE_BYTES && png_sig_cmp(bytes, 0, SIGNATURE_BYTES) == 0;
}

/* ---- what libpng calls ---- */

static _Noreturn void on_error(png_structp png, png_const_charp text)
{
    const struct decoder *decoder = png_get_error_ptr(png);
    error_set(decoder->why, EINVAL, "image %s is no valid PNG: %s", decoder->name, text);
    png_longjmp(png, 1);
}

/* Ignores warnings, for example of a wrong profile: they change no pixel here. */
static void on_warning(png_structp png, png_const_charp text)
{
    (void)png;
    (void)text;
}

static void on_read(png_structp png, png_bytep to, size_t count)
{
    struct decoder *decoder = png_get_io_ptr(png);
    if (count > decoder->left)
        png_error(png, "it is truncated");
    memcpy(to, decoder->at, count);
    decoder->at += count;
    decoder->left -= count;
}

static void on_row(png_structp png, png_uint_32 row, int pass)
{
    const struct decoder *decoder = png_get_error_ptr(png);
    (void)row, (void)pass;
    if (atomic_load(decoder->cancelled))
        png_error(png, "it is no longer needed");
}

/* ---- decoding ---- */

static int check_size(const struct decoder *decoder)
{
    const unsigned columns = png_get_image_width(decoder->png, decoder->info);
    const unsigned rows = png_get_image_height(decoder->png, decoder->info);
    if (columns > FILTER_IMAGE_MAX_SIDE || rows > FILTER_IMAGE_MAX_SIDE ||
        (size_t)columns * rows > FILTER_IMAGE_MAX_PIXELS)
        return error_set(decoder->why, EINVAL,
                         "image %s has %ux%u pixels: expected 1x1 .. %ux%u, at most %u in all",
                         decoder->name, columns, rows, FILTER_IMAGE_MAX_SIDE, FILTER_IMAGE_MAX_SIDE,
                         FILTER_IMAGE_MAX_PIXELS);
    return 0;
}

/* Every kind of PNG becomes grey and alpha, of 8 or 16 bits. */
static void ask_for_grey_and_alpha(const struct decoder *decoder)
{
    const bool is_16 = png_get_bit_depth(decoder->png, decoder->info) == 16;
    png_set_expand(decoder->png); /* palettes, fewer bits, a transparent colour */
    png_set_rgb_to_gray(decoder->png, PNG_ERROR_ACTION_NONE, PNG_RGB_TO_GRAY_DEFAULT,
                        PNG_RGB_TO_GRAY_DEFAULT);
    png_set_add_alpha(decoder->png, is_16 ? UINT16_MAX : UINT8_MAX, PNG_FILLER_AFTER);
    png_set_interlace_handling(decoder->png);
    png_read_update_info(decoder->png, decoder->info);
}

static int make_rows(struct decoder *decoder)
{
    const size_t stride = png_get_rowbytes(decoder->png, decoder->info);
    decoder->columns = png_get_image_width(decoder->png, decoder->info);
    decoder->row_count = png_get_image_height(decoder->png, decoder->info);
    decoder->sample_bytes = png_get_bit_depth(decoder->png, decoder->info) / 8;
    decoder->pixels = calloc(decoder->row_count, stride);
    decoder->rows = calloc(decoder->row_count, sizeof *decoder->rows);
    if (decoder->pixels == NULL || decoder->rows == NULL)
        return error_set(decoder->why, ENOMEM, "out of memory for image %s of %ux%u pixels",
                         decoder->name, decoder->columns, decoder->row_count);
    for (unsigned i = 0; i < decoder->row_count; i++)
        decoder->rows[i] = decoder->pixels + i * stride;
    return 0;
}

static int decode(struct decoder *decoder)
{
    if (setjmp(png_jmpbuf(decoder->png)) != 0)
        return -EINVAL; /* on_error has said why */
    png_set_read_fn(decoder->png, decoder, on_read);
    if (decoder->cancelled != NULL)
        png_set_read_status_fn(decoder->png, on_row);
    png_read_info(decoder->png, decoder->info);
    if (check_size(decoder) < 0)
        return -EINVAL;
    ask_for_grey_and_alpha(decoder);
    if (make_rows(decoder) < 0)
        return -ENOMEM;
    png_read_image(decoder->png, decoder->rows);
    png_read_end(decoder->png, NULL);
    return 0;
}

/* ---- the PGM ---- */

static unsigned sample_at(const unsigned char *bytes, unsigned sample_bytes)
{
    return sample_bytes == 1 ? bytes[0] : (unsigned)bytes[0] << 8 | bytes[1];
}

static int write_pgm(const struct decoder *decoder, unsigned char **ret, size_t *ret_count)
{
    const unsigned size = decoder->sample_bytes, white = size == 1 ? UINT8_MAX : UINT16_MAX;
    const size_t pixels = (size_t)decoder->columns * decoder->row_count;
    unsigned char *pgm = malloc(HEADER_BYTES + pixels * size);
    if (pgm == NULL)
        return error_set(decoder->why, ENOMEM, "out of memory for image %s of %ux%u pixels",
                         decoder->name, decoder->columns, decoder->row_count);
    unsigned char *to = pgm + snprintf((char *)pgm, HEADER_BYTES, "P5 %u %u %u\n", decoder->columns,
                                       decoder->row_count, white);
    for (size_t i = 0; i < pixels; i++) {
        const unsigned char *from = decoder->pixels + 2 * i * size;
        const uint64_t drawn = (uint64_t)sample_at(from, size) * sample_at(from + size, size);
        const unsigned grey = (unsigned)((drawn + white / 2) / white);
        if (size == 2)
            *to++ = (unsigned char)(grey >> 8);
        *to++ = (unsigned char)grey;
    }
    *ret = pgm;
    *ret_count = (size_t)(to - pgm);
    return 0;
}

int png_decode(unsigned char **ret, size_t *ret_count, const char *name, const unsigned char *bytes,
               size_t count, const atomic_bool *cancelled, struct error *why)
{
    struct decoder decoder = {
        .name = name, .at = bytes, .left = count, .cancelled = cancelled, .why = why};
    decoder.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &decoder, on_error, on_warning);
    if (decoder.png != NULL)
        decoder.info = png_create_info_struct(decoder.png);
    int r = decoder.info == NULL ? error_set(why, ENOMEM, "out of memory for image %s", name)
                                 : decode(&decoder);
    if (r == 0)
        r = write_pgm(&decoder, ret, ret_count);
    free(decoder.rows);
    free(decoder.pixels);
    png_destroy_read_struct(&decoder.png, &decoder.info, NULL);
    return r;
}

#include "filters/filter_image.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"

static filter_image_loader *loader;

void filter_image_destroy(struct filter_image *image)
{
    free(image);
}

bool filter_image_equal(const struct filter_image *a, const struct filter_image *b)
{
    if (a == b)
        return true;
    if (a == NULL || b == NULL || strcmp(a->name, b->name) != 0 || a->columns != b->columns ||
        a->rows != b->rows)
        return false;
    for (size_t i = 0; i < (size_t)a->columns * a->rows; i++)
        if (a->pixel[i] != b->pixel[i])
            return false;
    return true;
}

bool filter_image_is_symmetric(const struct filter_image *image)
{
    const unsigned columns = image->columns, rows = image->rows;
    for (unsigned y = 0; y < rows; y++)
        for (unsigned x = 0; x < columns; x++) {
            /* The middle of an even number is the later one, and the first pixel has no opposite.
             */
            const unsigned mirror_x = columns / 2 * 2 - x, mirror_y = rows / 2 * 2 - y;
            const bool inside = mirror_x < columns && mirror_y < rows;
            if (image->pixel[(size_t)y * columns + x] !=
                (inside ? image->pixel[(size_t)mirror_y * columns + mirror_x] : 0))
                return false;
        }
    return true;
}

/* The number of holders is not part of what an image shows, so it may change in a const one. */
static atomic_uint *holders(const struct filter_image *image)
{
    return &((struct filter_image *)image)->holders;
}

void filter_image_hold(const struct filter_image *image)
{
    if (image != NULL)
        atomic_fetch_add_explicit(holders(image), 1, memory_order_relaxed);
}

/* An image is destroyed only after its last holder was seen to have dropped it. */
void filter_image_drop(const struct filter_image *image)
{
    if (image != NULL)
        atomic_fetch_sub_explicit(holders(image), 1, memory_order_release);
}

bool filter_image_is_held(const struct filter_image *image)
{
    return atomic_load_explicit(holders(image), memory_order_acquire) > 0;
}

bool filter_image_is_name(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789._-";
    const size_t length = strlen(name);
    return length > 0 && length < FILTER_IMAGE_NAME_BYTES && name[0] != '.' && name[0] != '-' &&
           strspn(name, allowed) == length;
}

void filter_image_set_loader(filter_image_loader *with)
{
    loader = with;
}

int filter_image_load(const struct filter_image **ret, const char *name, struct error *why)
{
    char quoted[TEXT_QUOTE_BYTES];
    if (!filter_image_is_name(name))
        return error_set(why, EINVAL,
                         "%s is not the name of an image: expected the name of a file, without its "
                         "directory, of letters, digits and . _ -, such as blur.pgm",
                         text_quote(quoted, name));
    if (loader == NULL)
        return error_set(why, ENOENT, "image %s cannot be read here", name);
    return loader(ret, name, why);
}

double complex filter_phase(double turns)
{
    return cos(2 * M_PI * turns) - I * sin(2 * M_PI * turns);
}

/* Sums columns first, in a loop whose additions do not depend on each other. */
double complex filter_image_transform(const struct filter_image *image, double fx, double fy)
{
    double real[FILTER_IMAGE_KERNEL_SIDE] = {0}, imag[FILTER_IMAGE_KERNEL_SIDE] = {0};
    double complex sum = 0;
    for (unsigned y = 0; y < image->rows; y++) {
        const float *row = image->pixel + (size_t)y * image->columns;
        const double complex factor = filter_phase(fy * y);
        const double re = creal(factor), im = cimag(factor);
        for (unsigned x = 0; x < image->columns; x++) {
            real[x] += re * (double)row[x];
            imag[x] += im * (double)row[x];
        }
    }
    for (unsigned x = 0; x < image->columns; x++)
        sum += (real[x] + I * imag[x]) * filter_phase(fx * x);
    return sum;
}

#include "image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct image *image_create(const void *data, size_t bytes)
{
    struct image *image = malloc(sizeof *image + bytes);
    if (image == NULL)
        return NULL;
    *image = (struct image){.references = 1, .status = 200, .bytes = bytes};
    memcpy(image->data, data, bytes);
    return image;
}

struct image *image_error(unsigned status, const char *what)
{
    char text[IMAGE_ERROR_BYTES];
    snprintf(text, sizeof text, "%.*s\n", IMAGE_ERROR_BYTES - 2, what);
    struct image *image = image_create(text, strlen(text));
    if (image != NULL)
        image->status = status;
    return image;
}

struct image *image_ref(struct image *image)
{
    __atomic_add_fetch(&image->references, 1, __ATOMIC_RELAXED);
    return image;
}

void image_unref(struct image *image)
{
    if (image != NULL && __atomic_sub_fetch(&image->references, 1, __ATOMIC_ACQ_REL) == 0)
        free(image);
}

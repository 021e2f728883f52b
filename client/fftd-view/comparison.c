#include "comparison.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <microhttpd.h>

#include "encoder.h"
#include "common/bus.h"
#include "common/shot.h"

#define FRESH_NS INT64_C(200000000)

static int write_part(FILE *file, struct encoder *encoder, const char *name,
                      const struct fftd_format *format, const uint8_t *memory)
{
    struct image *jpeg;
    int r = encoder_load(encoder, format, memory);
    if (r < 0)
        return r;
    r = encoder_picture(encoder, &jpeg);
    if (r < 0)
        return r;
    fprintf(file,
            "--fftd\r\nContent-Disposition: form-data; name=\"%s\"; filename=\"%s.jpg\"\r\n"
            "Content-Type: image/jpeg\r\n\r\n",
            name, name);
    fwrite(jpeg->data, 1, jpeg->bytes, file);
    fputs("\r\n", file);
    image_unref(jpeg);
    return 0;
}

static struct image *write_parts(struct encoder *encoder, const struct shot *shot)
{
    struct image *image = NULL;
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    if (file == NULL)
        return NULL;
    int r = write_part(file, encoder, "before", &shot->format, shot->memory[0]);
    if (r == 0)
        r = write_part(file, encoder, "after", &shot->format, shot->memory[1]);
    fputs("--fftd--\r\n", file);
    if (fclose(file) == 0 && r == 0 && (image = image_create(text, bytes)) != NULL)
        image->sequence = shot->sequence;
    free(text);
    return r == -ENOMEM || image != NULL
               ? image
               : image_error(MHD_HTTP_SERVICE_UNAVAILABLE, "the frame cannot be shown");
}

static struct image *ask(struct daemon_bus *bus, void *encoder)
{
    sd_bus_error error = SD_BUS_ERROR_NULL;
    sd_bus_message *reply = NULL;
    struct shot shot = {0};
    int r = daemon_bus_open(bus);
    if (r == 0)
        r = sd_bus_call_method(bus->bus, NULL, bus_path(bus->bus), BUS_INTERFACE, "Snapshot",
                               &error, &reply, NULL);
    if (r >= 0)
        r = shot_read(&shot, reply, true);
    /* Returns the daemon's memory before the frames are encoded. */
    sd_bus_message_unref(reply);
    struct image *image = r < 0 ? daemon_bus_error(bus, r, &error) : write_parts(encoder, &shot);
    /* The answer to a call that timed out may still arrive, and must not answer the next call. */
    if (r < 0)
        daemon_bus_close(bus);
    sd_bus_error_free(&error);
    shot_finish(&shot);
    return image;
}

const struct asked_kind comparison_kind = {.fresh_ns = FRESH_NS, .ask = ask};

/* Finds the source that a URI names, and checks the parts of a request that all sources share. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "capture/openers.h"
#include "core/secret.h"
#include "core/text.h"

static const struct {
    const char *scheme;
    int (*open)(struct capture **ret, const char *path, const struct capture_request *request,
                struct error *why);
} sources[] = {
    {"v4l2:", capture_open_v4l2}, {"pattern:", capture_open_pattern}, {"file:", capture_open_file},
    {"pipe:", capture_open_pipe}, {"gst:", capture_open_gst},
};

static int check_request(const struct capture_request *request, struct error *why)
{
    if ((request->width == 0) != (request->height == 0))
        return error_set(why, EINVAL, "size %ux%u: expected both width and height, or neither",
                         request->width, request->height);
    /* Written so that NaN also fails. */
    bool has_rate = request->rate >= CAPTURE_MIN_RATE && request->rate <= CAPTURE_MAX_RATE;
    if (request->rate != 0.0 && request->rate != (double)INFINITY && !has_rate)
        return error_set(why, EINVAL, "rate %g: expected %g .. %g frames a second", request->rate,
                         CAPTURE_MIN_RATE, CAPTURE_MAX_RATE);
    if (request->buffers != 0 &&
        (request->buffers < CAPTURE_MIN_BUFFERS || request->buffers > CAPTURE_MAX_BUFFERS))
        return error_set(why, EINVAL, "buffers %u: expected %d .. %d", request->buffers,
                         CAPTURE_MIN_BUFFERS, CAPTURE_MAX_BUFFERS);
    return 0;
}

int capture_open(struct capture **ret, const struct capture_request *request, struct error *why)
{
    int r = check_request(request, why);
    if (r < 0)
        return r;
    struct capture_request filled = *request;
    if (filled.buffers == 0)
        filled.buffers = CAPTURE_DEFAULT_BUFFERS;
    for (unsigned i = 0; i < sizeof sources / sizeof sources[0]; i++) {
        size_t length = strlen(sources[i].scheme);
        if (strncmp(filled.uri, sources[i].scheme, length) == 0)
            return sources[i].open(ret, filled.uri + length, &filled, why);
    }
    char shown[TEXT_QUOTE_BYTES], quoted[TEXT_QUOTE_BYTES];
    return error_set(why, EINVAL,
                     "source %s: expected v4l2:/dev/videoN, pattern:SCENE, file:PATH, pipe:- or "
                     "gst:PIPELINE",
                     text_quote(quoted, secret_hide(shown, sizeof shown, filled.uri)));
}

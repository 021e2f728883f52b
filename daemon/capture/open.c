/* Finds the source that a URI names. */
#include <errno.h>
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

int capture_open(struct capture **ret, const struct capture_request *request, struct error *why)
{
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

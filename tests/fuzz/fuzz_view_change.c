/* Any bytes as the body of a request that changes a filter, which fftd-view parses: what is
 * accepted is within the limits, and what is refused says why in one line and leaves nothing
 * behind. */
#include <stdlib.h>
#include <string.h>

#include "fftd-view/change_request.h"

#define WHY_BYTES 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_accepted(const struct change_request *request, size_t body_bytes)
{
    size_t changes = 0, bytes = 0;
    for (; change_request_word(request, changes, 0) != NULL; changes++) {
        size_t words = 0;
        for (; change_request_word(request, changes, words) != NULL; words++)
            bytes += strlen(change_request_word(request, changes, words));
        if (words > CHANGE_REQUEST_WORDS)
            abort();
    }
    if (changes == 0 || changes > CHANGE_REQUEST_MAX || bytes > body_bytes ||
        change_request_word(request, SIZE_MAX, 0) != NULL)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct change_request request = {.serial = 7};
    char why[WHY_BYTES] = "";
    char *body = malloc(size); /* exactly as long as it is, for the address sanitizer */
    if ((body == NULL && size > 0) || size > CHANGE_REQUEST_BYTES) {
        free(body);
        return 0;
    }
    if (size > 0)
        memcpy(body, data, size);
    if (change_request_parse(&request, body, size, why, sizeof why) == 0) {
        check_accepted(&request, size);
        change_request_finish(&request);
    } else if (why[0] == '\0' || strchr(why, '\n') != NULL || request.root != NULL ||
               request.changes != NULL || request.serial != 7) {
        abort();
    }
    free(body);
    return 0;
}

/* The body of a request that changes a filter, in JSON:
 *
 *     {"changes": [["set", "1", "cutoff", "0.2"], ["remove", "2"]], "serial": 7, "fade": 30}
 *
 * `changes` are those of the daemon's EditFilter, word by word; the daemon checks their meaning.
 * They are made only if the filter has the serial `serial`; 0 or none: always. `fade` is the number
 * of frames over which they are blended; 0 or none: at once. Pure: no sockets, no state. */
#ifndef FFTD_VIEW_CHANGE_REQUEST_H
#define FFTD_VIEW_CHANGE_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include "core/client_limits.h"

/* The longest chain has 32 KiB, and a message to fftd must hold it. */
#define CHANGE_REQUEST_BYTES (40 * 1024)
#define CHANGE_REQUEST_MAX   64 /* changes, like EditFilter's limit */
#define CHANGE_REQUEST_WORDS 4  /* in one change */
_Static_assert(CHANGE_REQUEST_BYTES <= LIMIT_MESSAGE_BYTES, "a request fits into a message");

struct json_object;

struct change_request {
    struct json_object *root;    /* owns the changes; NULL: nothing is owned */
    struct json_object *changes; /* NULL: none */
    uint64_t serial;
    uint32_t fade_frames;
};

/* Parses a body. Returns 0 or -EINVAL; `why` then says in one line what is wrong. */
int change_request_parse(struct change_request *ret, const char *text, size_t bytes, char *why,
                         size_t why_size);

/* Returns a word of a change; both indices count from 0. It is UTF-8 without NUL bytes. NULL: there
 * is no such word or change. */
const char *change_request_word(const struct change_request *request, size_t change, size_t word);

void change_request_finish(struct change_request *request); /* a zeroed one is allowed */

#endif

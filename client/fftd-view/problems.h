/* Looks for what is wrong with a camera's picture when a browser asks for it: client/diagnosis
 * judges frames before the filter, as `fftd-ctl diagnose` does.
 *
 * There is one search at a time for all cameras, because each takes a processor and memory. Its
 * thread ends with it. The functions may be called from any thread, unless stated otherwise. */
#ifndef FFTD_VIEW_PROBLEMS_H
#define FFTD_VIEW_PROBLEMS_H

#include "image.h"

#define PROBLEMS_TYPE "multipart/form-data; boundary=fftd"

struct problems;

int problems_create(struct problems **ret); /* 0 or -errno */

/* Ends the search and frees everything. No other thread may use it any more. NULL is allowed. */
void problems_destroy(struct problems *problems);

/* Begins a search at the camera of this place (camera_options), unless one is running. The place
 * must stay valid, and places are compared by their address. Returns the answer, which the caller
 * unrefs: the state of the search, as problems_get does. NULL: out of memory. */
struct image *problems_start(struct problems *problems, const char *place);

/* Returns, for the camera of this place, as multipart/form-data, a part `state` in JSON:
 *
 *     {"doing": "looking at frames", "done": 3, "total": 90}
 *     {"frames": 90, "chain": "...", "findings": [{"kind": "noise", "annoyance": 2.1, "text":
 * "...", "stage": "...", "advice": "..."}]}
 *
 * With findings there are PNG parts `before0`, `after0` and so on, for those that can be shown. An
 * image with another status than 200 says what is wrong, or that there was no search. The caller
 * unrefs it. NULL: out of memory. */
struct image *problems_get(struct problems *problems, const char *place);

#endif

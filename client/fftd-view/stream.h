/* A stream of one camera's pictures to one browser. It is endless multipart/x-mixed-replace with
 * one JPEG file per part, or a clip of some seconds as a Matroska file. It holds one picture at a
 * time. A browser that has read one gets the newest one next. */
#ifndef FFTD_VIEW_STREAM_H
#define FFTD_VIEW_STREAM_H

#include "view_camera.h"

#define STREAM_TYPE   "multipart/x-mixed-replace; boundary=fftd"
#define STREAM_CLIP_S 60 /* the longest clip */

/* Queues the answer, which begins with the picture `first`, whose reference it takes over. clip_s
 * is the length of a clip, by the capture times of its frames; 0: no clip. The caller has
 * incremented *count, which is decremented atomically at the end of the stream. */
enum MHD_Result stream_respond(struct MHD_Connection *connection, struct camera *camera,
                               struct image *first, unsigned clip_s, unsigned *count);

#endif

/* A stream of one camera's pictures to one browser: multipart/x-mixed-replace without an end, a
 * JPEG file each part, or a clip of some seconds as a Matroska file. It holds one picture at a
 * time. A browser that has read one gets the newest one next. */
#ifndef FFTD_VIEW_STREAM_H
#define FFTD_VIEW_STREAM_H

#include "view_camera.h"

#define STREAM_TYPE   "multipart/x-mixed-replace; boundary=fftd"
#define STREAM_CLIP_S 60 /* at most */

/* clip_s: the length of a clip, by the times at which its frames were captured; 0: no clip. Queues
 * the answer, which begins with this picture, whose reference is taken over. *count has been raised
 * for the stream, and is lowered at its end, atomically. */
enum MHD_Result stream_respond(struct MHD_Connection *connection, struct camera *camera,
                               struct image *first, unsigned clip_s, unsigned *count);

#endif

/* The camera's own thread: it waits for the source, the engine and the mailbox, moves frames, and
 * reconciles. It sleeps in one ppoll. Every timeout is a deadline of the source, the engine or the
 * reconciler, so no timer wakes the thread while frames flow. */
#ifndef FFTD_CAMERA_THREAD_H
#define FFTD_CAMERA_THREAD_H

/* pthread_create's function; its argument is a struct reconciler. It returns once stop is desired,
 * after it has published the frames in flight, closed the source and returned the engine; then the
 * mailbox says that it has ended. */
void *camera_thread(void *argument);

#endif

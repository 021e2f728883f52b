/* The times of the kernels that this program enqueues. */
#ifndef FFTD_TESTS_MALI_PROFILE_H
#define FFTD_TESTS_MALI_PROFILE_H

#define PROFILE_MAX 64

/* Begins to measure, on queues with CL_QUEUE_PROFILING_ENABLE. */
void profile_begin(void);

/* Returns how many kernels were enqueued since the last call, at most PROFILE_MAX, and the seconds
 * that each has taken. All of them have ended. */
unsigned profile_take(double seconds[PROFILE_MAX]);

#endif

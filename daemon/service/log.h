/* Log messages. If stderr is a stream to the journal, they are structured journal entries
 * (FFTD_CAMERA=), or lines with "<N>" priorities if the journal's socket is not reachable.
 * Otherwise they are lines "fftd[CAMERA]: ..." on stderr. Any thread may log; log_init must be
 * called before there are several. */
#ifndef FFTD_SERVICE_LOG_H
#define FFTD_SERVICE_LOG_H

#include <syslog.h>

/* Hides messages whose priority number is above max_priority (LOG_INFO until this is called). The
 * name is empty until the camera has one; messages have no FFTD_CAMERA= until then. */
void log_init(const char *camera_name, int max_priority);
void log_message(int priority, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...)   log_message(LOG_ERR, __VA_ARGS__)
#define log_warning(...) log_message(LOG_WARNING, __VA_ARGS__)
#define log_notice(...)  log_message(LOG_NOTICE, __VA_ARGS__)
#define log_info(...)    log_message(LOG_INFO, __VA_ARGS__)
#define log_debug(...)   log_message(LOG_DEBUG, __VA_ARGS__)

#endif

/* Messages for people: structured journal entries (FFTD_CAMERA=) where the journal reads our
 * stderr, or lines with "<N>" priorities if it does not take them; else "fftd[CAMERA]: ..." on
 * stderr. Any thread; log_init before there are several. */
#ifndef FFTD_LOG_H
#define FFTD_LOG_H

#include <syslog.h>

/* Messages of a priority number above max_priority are not shown (LOG_INFO until this is called).
 */
void log_init(const char *camera_name, int max_priority);
void log_message(int priority, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...)   log_message(LOG_ERR, __VA_ARGS__)
#define log_warning(...) log_message(LOG_WARNING, __VA_ARGS__)
#define log_notice(...)  log_message(LOG_NOTICE, __VA_ARGS__)
#define log_info(...)    log_message(LOG_INFO, __VA_ARGS__)
#define log_debug(...)   log_message(LOG_DEBUG, __VA_ARGS__)

#endif

/* Messages for people: to stderr, with "<N>" priorities when the journal reads it, and as
 * structured journal entries (FFTD_CAMERA=, FFTD_SEQUENCE=) when systemd runs us. Any thread. */
#ifndef FFTD_LOG_H
#define FFTD_LOG_H

#include <syslog.h>

void log_init(const char *camera_name, int max_priority);
void log_message(int priority, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...)   log_message(LOG_ERR, __VA_ARGS__)
#define log_warning(...) log_message(LOG_WARNING, __VA_ARGS__)
#define log_notice(...)  log_message(LOG_NOTICE, __VA_ARGS__)
#define log_info(...)    log_message(LOG_INFO, __VA_ARGS__)
#define log_debug(...)   log_message(LOG_DEBUG, __VA_ARGS__)

#endif

/* Each message is one write and one line, so lines of several threads never mix, and no path or
 * name in a message can look like another message.
 *
 * systemd sets JOURNAL_STREAM to the device and inode of its stream to the journal. The variable
 * may be inherited by a process whose stderr is something else, so both are compared. Structured
 * entries use a socket of the journal that a sandbox may hide, and sd_journal_send does not report
 * that. If the socket is not there, lines with priorities go to the stream instead. */
#include "service/log.h"

#define SD_JOURNAL_SUPPRESS_LOCATION /* the location would always be this file */

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

#include "core/text.h"

#define MESSAGE_BYTES  4096
#define JOURNAL_SOCKET "/run/systemd/journal/socket"

/* Set by log_init, before there are threads. */
static char camera[64];
static int threshold = LOG_INFO;
static enum { TO_TERMINAL, TO_STREAM, TO_JOURNAL } target;

static bool stderr_is_journal(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    char ours[64];
    struct stat about;
    if (stream == NULL || fstat(STDERR_FILENO, &about) < 0)
        return false;
    snprintf(ours, sizeof ours, "%ju:%ju", (uintmax_t)about.st_dev, (uintmax_t)about.st_ino);
    return strcmp(stream, ours) == 0;
}

void log_init(const char *camera_name, int max_priority)
{
    snprintf(camera, sizeof camera, "%s", camera_name);
    threshold = max_priority;
    target = TO_TERMINAL;
    if (stderr_is_journal())
        target = access(JOURNAL_SOCKET, W_OK) == 0 ? TO_JOURNAL : TO_STREAM;
}

static const char *word_for(int priority)
{
    if (priority <= LOG_ERR)
        return "error: ";
    if (priority == LOG_WARNING)
        return "warning: ";
    return "";
}

static void write_line(int priority, const char *message)
{
    char line[MESSAGE_BYTES + 128];
    int length;
    if (target != TO_TERMINAL)
        length = snprintf(line, sizeof line, "<%d>%s\n", priority, message);
    else if (camera[0] == '\0')
        length = snprintf(line, sizeof line, "fftd: %s%s\n", word_for(priority), message);
    else
        length =
            snprintf(line, sizeof line, "fftd[%s]: %s%s\n", camera, word_for(priority), message);
    /* There is nowhere to report that stderr is closed. */
    ssize_t unused = write(STDERR_FILENO, line, (size_t)length);
    (void)unused;
}

void log_message(int priority, const char *format, ...)
{
    if (priority > threshold)
        return;
    char message[MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    text_clean(message);

    /* Without a camera's name the message goes to stderr, so that FFTD_CAMERA is never empty. */
    if (target == TO_JOURNAL && camera[0] != '\0' &&
        sd_journal_send("MESSAGE=%s", message, "PRIORITY=%d", priority, "FFTD_CAMERA=%s", camera,
                        "SYSLOG_IDENTIFIER=fftd", NULL) >= 0)
        return;
    write_line(priority, message);
}

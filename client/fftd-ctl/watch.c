/* Implements `watch`: the state of a daemon, drawn in place once a second.
 *
 * One loop waits for the next second, a key, a signal or the bus. If the daemon ends, it tries to
 * connect again once a second. */
#include <errno.h>
#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/text.h"
#include "daemon.h"
#include "commands.h"
#include "common/reading.h"

#define INTERVAL_US   1000000u
#define MAX_MEASURES  16
#define LABEL_COLUMNS 34 /* the width of what precedes a chart */
#define TRACE_VALUES  60 /* the last minute, at one value a second */
#define HEIGHTS       8
#define LINE_BYTES    4096

/* The terminal, drawn in place, line by line, with ECMA-48 control sequences. */
struct screen {
    bool reads_keys; /* stdin is also a terminal */
    bool is_utf8;    /* the locale says so */
    struct termios before;
    unsigned columns, rows; /* the size at screen_begin */
    unsigned line;
};

/* The last values of a changing number. All zero: none. */
struct trace {
    double value[TRACE_VALUES]; /* a ring buffer */
    unsigned count, next;
};

struct watch {
    const struct ctl *ctl;
    sd_bus *bus; /* NULL: there is no daemon */
    struct screen screen;
    char notice[128]; /* the last end or start of the daemon; empty: none was seen */
    struct trace rate, latency, measure[MAX_MEASURES];
    uint64_t latency_count, latency_sum_ns; /* one second ago */
    sd_bus_message *first; /* what the daemon said when the watch, or the daemon, began */
};

/* ---- the screen ---- */

/* Switches to the alternate screen, and stdin to single keys without echo.
 * Ctrl-C still sends SIGINT. stdout must be a terminal. */
static void screen_enter(struct screen *screen)
{
    setlocale(LC_CTYPE, "");
    screen->is_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    screen->reads_keys = tcgetattr(STDIN_FILENO, &screen->before) == 0;
    if (screen->reads_keys) {
        struct termios keys = screen->before;
        keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        keys.c_cc[VMIN] = 1;
        keys.c_cc[VTIME] = 0;
        tcsetattr(STDIN_FILENO, TCSANOW, &keys);
    }
    fputs("\033[?1049h\033[?25l", stdout); /* the alternate screen, without a cursor */
    fflush(stdout);
}

/* Restores the terminal. */
static void screen_leave(struct screen *screen)
{
    fputs("\033[?25h\033[?1049l", stdout);
    fflush(stdout);
    if (screen->reads_keys)
        tcsetattr(STDIN_FILENO, TCSANOW, &screen->before);
}

/* Begins to draw all lines again, and asks for the terminal's size. */
static void screen_begin(struct screen *screen)
{
    struct winsize size;
    const bool is_known =
        ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
    screen->columns = is_known ? size.ws_col : 80;
    screen->rows = is_known ? size.ws_row : 24;
    screen->line = 0;
    fputs("\033[?2026h\033[H", stdout); /* begins a synchronized update; cursor home */
}

/* Returns how many bytes of a UTF-8 text fill at most `columns` columns, one per character. */
static size_t fit(const char *text, unsigned columns)
{
    size_t at = 0;
    for (unsigned column = 0; text[at] != '\0'; column++) {
        if (column == columns)
            break;
        do
            at++;
        while (((unsigned char)text[at] & 0xc0u) == 0x80u); /* the rest of the character */
    }
    return at;
}

/* Draws the next line, cut to the terminal's width. Lines below the last row are left out. The text
 * must not have control characters. */
static __attribute__((format(printf, 3, 4))) void screen_line(struct screen *screen, bool is_bold,
                                                              const char *format, ...)
{
    char text[LINE_BYTES];
    va_list args;

    if (screen->line >= screen->rows)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    /* The row is cleared first: after a line that fills it, the cursor stays on its last character.
     */
    fputs(screen->line++ > 0 ? "\r\n\033[K" : "\033[K", stdout);
    printf("%s%.*s%s", is_bold ? "\033[1m" : "", (int)fit(text, screen->columns), text,
           is_bold ? "\033[0m" : "");
}

/* Clears the rows below the last line, and shows what was drawn. */
static void screen_end(struct screen *screen)
{
    if (screen->line < screen->rows)
        fputs("\r\n\033[J", stdout);
    fputs("\033[?2026l", stdout);
    fflush(stdout);
}

/* ---- line charts ---- */

/* Adds a value; NaN is a gap. */
static void trace_add(struct trace *trace, double value)
{
    trace->value[trace->next] = value;
    trace->next = (trace->next + 1) % TRACE_VALUES;
    if (trace->count < TRACE_VALUES)
        trace->count++;
}

/* Returns the value that came `ago` values before the newest one. */
static double value_at(const struct trace *trace, unsigned ago)
{
    return trace->value[(trace->next + TRACE_VALUES - 1 - ago) % TRACE_VALUES];
}

/* Writes at most the newest `columns` values as characters of eight heights, scaled from the least
 * to the greatest of them. Gaps are spaces. The text is cut to `size` bytes. */
static void trace_draw(const struct trace *trace, unsigned columns, bool is_utf8, char *text,
                       size_t size)
{
    static const char *const blocks[HEIGHTS] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const marks[HEIGHTS] = {"_", ".", ",", "-", "=", "+", "*", "#"};
    const char *const *shape = is_utf8 ? blocks : marks;
    const unsigned shown = trace->count < columns ? trace->count : columns;
    double least = INFINITY, greatest = -INFINITY;
    size_t at = 0;

    for (unsigned i = 0; i < shown; i++) {
        least = fmin(least, value_at(trace, i)); /* fmin leaves NaN out */
        greatest = fmax(greatest, value_at(trace, i));
    }
    text[0] = '\0';
    for (unsigned i = shown; i > 0; i--) {
        const double value = value_at(trace, i - 1);
        const char *character = " ";
        if (isfinite(value)) {
            const double height = greatest > least ? (value - least) / (greatest - least) : 0;
            character = shape[(unsigned)(height * (HEIGHTS - 1) + 0.5)];
        }
        if (at + strlen(character) >= size)
            return;
        at += (size_t)snprintf(text + at, size - at, "%s", character);
    }
}

/* ---- reading ---- */

static void note(struct watch *watch, const char *text)
{
    char clock[16];
    const time_t now = time(NULL);
    struct tm local;
    strftime(clock, sizeof clock, "%H:%M:%S", localtime_r(&now, &local));
    snprintf(watch->notice, sizeof watch->notice, "%s at %s", text, clock);
}

/* Returns the mean latency of the last second's frames; NaN: there were none. */
static double read_latency_ms(struct watch *watch, sd_bus_message *stats)
{
    uint64_t count, sum_ns;
    reading_latency_sum(stats, &count, &sum_ns);
    const bool is_known = watch->latency_count > 0 && count > watch->latency_count;
    const double ms = is_known ? (double)(sum_ns - watch->latency_sum_ns) /
                                     (double)(count - watch->latency_count) / 1e6
                               : NAN;
    watch->latency_count = count;
    watch->latency_sum_ns = sum_ns;
    return ms;
}

/* p NULL: the daemon did not answer; this second becomes a gap in all charts. */
static void read_all(struct watch *watch, sd_bus_message *p)
{
    trace_add(&watch->rate, p != NULL ? bus_double(p, "Rate") : NAN);
    trace_add(&watch->latency, p != NULL ? read_latency_ms(watch, p) : NAN);
    for (unsigned i = 0; i < reading_measure_count && i < MAX_MEASURES; i++)
        trace_add(&watch->measure[i], p != NULL ? bus_measure(p, reading_measures[i].name) : NAN);
}

/* ---- drawing ---- */

/* Draws a label and a number, and a chart of the last minute if there is room for one. */
static void draw_chart(struct watch *watch, const char *text, const struct trace *trace)
{
    char chart[TRACE_VALUES * 4 + 1] = "";
    const unsigned columns = watch->screen.columns;
    if (columns > LABEL_COLUMNS)
        trace_draw(trace, columns - LABEL_COLUMNS, watch->screen.is_utf8, chart, sizeof chart);
    screen_line(&watch->screen, false, "%-*s%s", LABEL_COLUMNS, text, chart);
}

static void draw_text(struct watch *watch, const char *label, const char *text)
{
    if (*text != '\0')
        screen_line(&watch->screen, false, "%-17s%s", label, text);
}

static void draw_frames(struct watch *watch, sd_bus_message *p)
{
    char text[128];
    const double now_ms = value_at(&watch->latency, 0);
    snprintf(text, sizeof text, "%-17s%.1f per second", "rate", bus_double(p, "Rate"));
    draw_chart(watch, text, &watch->rate);
    snprintf(text, sizeof text, isfinite(now_ms) ? "%-17s%.2f ms" : "%-17s-", "latency", now_ms);
    draw_chart(watch, text, &watch->latency);
    snprintf(text, sizeof text, "p50 %.2f ms, p99 %.2f ms since the daemon's start",
             reading_latency_ms(p, "p50_ns"), reading_latency_ms(p, "p99_ns"));
    draw_text(watch, "", text);
    snprintf(text, sizeof text, "%u, frame %" PRIu64, bus_u32(p, "Clients"),
             bus_u64(p, "Sequence"));
    draw_text(watch, "clients", text);
}

/* Draws the counters that have risen since the watch began. Published frames always rise. */
static void draw_counters(struct watch *watch, sd_bus_message *p)
{
    char text[512] = "";
    const char *name;
    uint64_t now;
    if (!bus_find_entries(p, "Counters", "a{st}"))
        return;
    while (sd_bus_message_read(p, "{st}", &name, &now) > 0) {
        const uint64_t first = bus_counter(watch->first, "Counters", name);
        if (now > first && strcmp(name, "published") != 0)
            text_append(text, sizeof text, "%s%s +%" PRIu64 " (%" PRIu64 ")",
                        text[0] != '\0' ? ", " : "", name, now - first, now);
    }
    draw_text(watch, "counted meanwhile", text[0] != '\0' ? text : "nothing but frames");
}

static void draw_measures(struct watch *watch, sd_bus_message *p)
{
    for (unsigned i = 0; i < reading_measure_count && i < MAX_MEASURES; i++) {
        char text[128];
        const double value = bus_measure(p, reading_measures[i].name);
        if (!isfinite(value))
            continue;
        snprintf(text, sizeof text, "%-17s%.4g%s", reading_measures[i].name, value,
                 reading_measure_unit(&reading_measures[i], value));
        draw_chart(watch, text, &watch->measure[i]);
    }
}

static void draw(struct watch *watch, sd_bus_message *p)
{
    struct screen *screen = &watch->screen;
    char format[64], problem[READING_WHY_BYTES];
    screen_begin(screen);
    if (p == NULL) {
        screen_line(screen, true, "fftd-ctl watch: no daemon answers; waiting for it (q ends)");
        draw_text(watch, "", watch->notice);
        screen_end(screen);
        return;
    }
    const char *reason = bus_text(p, "StateReason");
    screen_line(screen, true, "%s: %s%s%s (q ends)", bus_text(p, "Name"), bus_text(p, "State"),
                *reason != '\0' ? ": " : "", reason);
    draw_text(watch, "", watch->notice);
    draw_text(watch, "camera", reading_source(p));
    reading_format(p, format, sizeof format);
    reading_smaller(p, format, sizeof format);
    draw_text(watch, "format", format);
    draw_text(watch, "device", bus_text(p, "Device"));
    draw_text(watch, "filter", bus_text(p, "Filter"));
    reading_problem(p, problem);
    draw_text(watch, "", problem);
    draw_frames(watch, p);
    draw_counters(watch, p);
    draw_measures(watch, p);
    screen_end(screen);
}

/* ---- the loop ---- */

static void lose(struct watch *watch, const char *why)
{
    sd_bus_close_unref(watch->bus);
    watch->bus = NULL;
    note(watch, why);
}

/* Asks the daemon, and draws its answer or its absence. */
static void refresh(struct watch *watch)
{
    sd_bus_message *properties = NULL;
    const bool was_there = watch->bus != NULL;
    if (!was_there && daemon_try_open(watch->ctl, &watch->bus) < 0)
        watch->bus = NULL;
    int r =
        watch->bus != NULL ? daemon_try_get_all(watch->ctl, watch->bus, &properties) : -ENOTCONN;
    if (r < 0 && watch->bus != NULL && was_there)
        lose(watch, r == -ETIMEDOUT ? "the daemon stopped to answer" : "the daemon has ended");
    else if (r < 0 && watch->bus != NULL)
        watch->bus = sd_bus_close_unref(watch->bus);
    if (r >= 0 && !was_there) {
        watch->first = sd_bus_message_unref(watch->first);
        watch->latency_count = 0;
        note(watch, "connected to the daemon again");
    }
    if (r >= 0 && watch->first == NULL)
        watch->first = sd_bus_message_ref(properties);
    read_all(watch, properties);
    draw(watch, properties);
    sd_bus_message_unref(properties);
}

/* Returns whether the command is to end. */
static bool handle_signal(struct watch *watch, int signals_fd)
{
    struct signalfd_siginfo info;
    if (read(signals_fd, &info, sizeof info) != (ssize_t)sizeof info)
        return false;
    if (info.ssi_signo != SIGTSTP)
        return info.ssi_signo != SIGWINCH;
    screen_leave(&watch->screen);
    raise(SIGSTOP);
    screen_enter(&watch->screen);
    return false;
}

static bool is_end_key(struct watch *watch)
{
    char key;
    const ssize_t bytes = read(STDIN_FILENO, &key, 1);
    if (bytes == 0 || (bytes < 0 && errno != EINTR))
        watch->screen.reads_keys = false; /* the terminal has hung up */
    return bytes == 1 && (key == 'q' || key == 'Q');
}

/* Reads the daemon's signals, because the daemon disconnects peers that do not. Returns whether it
 * is still there. */
static bool read_bus(struct watch *watch)
{
    int r;
    while ((r = sd_bus_process(watch->bus, NULL)) > 0)
        continue;
    if (r < 0)
        lose(watch, "the daemon has ended");
    return r >= 0;
}

/* Waits until the next refresh is due. Returns whether the command is to end. */
static bool pause_until(struct watch *watch, uint64_t until_us, int signals_fd)
{
    uint64_t now_us;
    while ((now_us = clock_now_us()) < until_us) {
        if (watch->bus != NULL && !read_bus(watch))
            draw(watch, NULL);
        struct pollfd fds[] = {
            {.fd = signals_fd, .events = POLLIN},
            {.fd = watch->screen.reads_keys ? STDIN_FILENO : -1, .events = POLLIN},
            {.fd = watch->bus != NULL ? sd_bus_get_fd(watch->bus) : -1, .events = POLLIN},
        };
        if (poll(fds, sizeof fds / sizeof fds[0], (int)((until_us - now_us) / 1000 + 1)) <= 0)
            continue;
        if (fds[0].revents != 0)
            return handle_signal(watch, signals_fd);
        if (fds[1].revents != 0 && is_end_key(watch))
            return true;
    }
    return false;
}

static int watch_until_end(struct watch *watch)
{
    sigset_t handled, before;
    sigemptyset(&handled);
    sigaddset(&handled, SIGINT);
    sigaddset(&handled, SIGTERM);
    sigaddset(&handled, SIGHUP);
    sigaddset(&handled, SIGWINCH);
    sigaddset(&handled, SIGTSTP);
    sigprocmask(SIG_BLOCK, &handled, &before);
    const int signals_fd = signalfd(-1, &handled, SFD_CLOEXEC);
    if (signals_fd < 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        return ctl_fail(watch->ctl, EX_OSERR, "signalfd: %s", strerror(errno));
    }
    screen_enter(&watch->screen);
    do
        refresh(watch);
    while (!ferror(stdout) && !pause_until(watch, clock_now_us() + INTERVAL_US, signals_fd));
    screen_leave(&watch->screen);
    close(signals_fd);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return ctl_finish(watch->ctl);
}

int command_watch(const struct ctl *ctl)
{
    struct watch watch = {.ctl = ctl};
    if (ctl->json)
        return ctl_fail(ctl, EX_USAGE,
                        "watch draws on a terminal; for JSON use `%s --json stats --watch`",
                        ctl_program(ctl));
    if (!isatty(STDOUT_FILENO))
        return ctl_fail(ctl, EX_USAGE,
                        "watch: stdout is not a terminal; use `%s stats --watch` there",
                        ctl_program(ctl));
    int code = daemon_open(ctl, &watch.bus);
    if (code != 0)
        return code;
    /* A slower daemon is shown as silent. Keys are not read during a call. */
    sd_bus_set_method_call_timeout(watch.bus, DAEMON_PATIENCE_US);
    code = watch_until_end(&watch);
    sd_bus_message_unref(watch.first);
    sd_bus_close_unref(watch.bus);
    return code;
}

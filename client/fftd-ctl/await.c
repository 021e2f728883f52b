#include "await.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/reading.h"
#include "core/clock.h"
#include "daemon.h"

/* A filter that needs no new engine is in use after two or three frames. */
#define MOMENT_US      500000
#define LEAST_REPLY_US 2000000
#define PROGRESS_US    250000
#define PROGRESS_CHAR  78

/* Signals that are read before the daemon is asked again, so that a flood of them is not waited
 * out. */
#define MAX_SIGNALS    100

enum stage {
    STAGE_WAITING,
    STAGE_IN_FORCE,   /* a frame has the change */
    STAGE_NO_FRAMES,  /* the next frame has it, whenever that comes */
    STAGE_SUPERSEDED, /* another change followed */
    STAGE_FAILED,
    STAGE_UNKNOWN /* the daemon has ended, or does not answer */
};

struct outcome {
    enum stage stage;
    uint64_t frame;              /* STAGE_IN_FORCE: the number of the first frame with the change */
    uint64_t newer;              /* STAGE_SUPERSEDED: the serial of the other change */
    char why[READING_WHY_BYTES]; /* the predicate of a sentence, unless it is in force */
    char detail[100];            /* STAGE_WAITING: what takes long; empty: nothing yet */
};

struct wait {
    const struct ctl *ctl;
    sd_bus *bus;
    uint64_t serial, begin_us, deadline_us;
    bool on_terminal; /* progress is shown in place */
    bool is_told;
};

/* ---- what the daemon says ---- */

static void read_outcome(sd_bus_message *properties, uint64_t serial, struct outcome *ret)
{
    const uint64_t newest = bus_u64(properties, "Serial");
    const char *state = bus_text(properties, "State");
    const bool is_pending = reading_is_pending(properties, serial, ret->why);
    ret->frame = bus_u64(properties, "FirstSequence");
    ret->newer = newest;
    snprintf(ret->detail, sizeof ret->detail, "%s", bus_text(properties, "Preparing"));
    if (reading_has_failed(properties, serial)) {
        ret->stage = STAGE_FAILED;
    } else if (bus_u64(properties, "PublishedSerial") == serial) {
        ret->stage = STAGE_IN_FORCE;
    } else if (newest > serial || !is_pending) {
        snprintf(ret->why, sizeof ret->why, "was superseded by filter %" PRIu64, newest);
        ret->stage = STAGE_SUPERSEDED;
    } else if (newest < serial) { /* and another one has failed since */
        snprintf(ret->why, sizeof ret->why, "cannot be used: the log says why");
        ret->stage = STAGE_FAILED;
    } else if (strcmp(state, "paused") == 0) {
        const bool is_ready = bus_u64(properties, "AppliedSerial") == serial;
        if (is_ready)
            snprintf(ret->why, sizeof ret->why,
                     "is ready for the next frame: the camera is paused until somebody reads");
        ret->stage = is_ready ? STAGE_NO_FRAMES : STAGE_WAITING;
    } else {
        const bool comes = (strcmp(state, "online") == 0 || strcmp(state, "starting") == 0) &&
                           !bus_bool(properties, "SourceOpening");
        ret->stage = comes ? STAGE_WAITING : STAGE_NO_FRAMES;
    }
}

/* Asks for as long as the wait may take, but at least for two seconds: a busy daemon is not a mute
 * one. */
static void look(const struct wait *wait, struct outcome *ret)
{
    sd_bus_message *properties = NULL;
    const uint64_t now_us = clock_now_us();
    sd_bus_set_method_call_timeout(wait->bus, wait->deadline_us > now_us + LEAST_REPLY_US
                                                  ? wait->deadline_us - now_us
                                                  : LEAST_REPLY_US);
    const int r = daemon_try_get_all(wait->ctl, wait->bus, &properties);
    if (r >= 0) {
        read_outcome(properties, wait->serial, ret);
    } else {
        const bool is_mute = r == -ETIMEDOUT;
        snprintf(ret->why, sizeof ret->why, "may be in force: the daemon %s",
                 is_mute ? "does not answer" : "has ended");
        ret->stage = STAGE_UNKNOWN;
    }
    sd_bus_message_unref(properties);
}

/* ---- waiting ---- */

/* Shortens a line that is too long, at a comma if there is one. */
static void cut(char *line)
{
    if (strlen(line) <= PROGRESS_CHAR)
        return;
    line[PROGRESS_CHAR] = '\0';
    char *const clause = strrchr(line, ',');
    if (clause != NULL)
        *clause = '\0';
}

static void show_progress(struct wait *wait, const struct outcome *outcome)
{
    const uint64_t passed_us = clock_now_us() - wait->begin_us;
    if (passed_us < MOMENT_US || (wait->is_told && !wait->on_terminal))
        return;
    wait->is_told = true;
    if (!wait->on_terminal) {
        fprintf(stderr, "fftd-ctl: filter %" PRIu64 " is being prepared\n", wait->serial);
        return;
    }
    char line[200];
    snprintf(line, sizeof line, "filter %" PRIu64 " is being prepared, %.1f s%s%s", wait->serial,
             (double)passed_us / 1e6, outcome->detail[0] != '\0' ? ": " : "", outcome->detail);
    cut(line);
    fprintf(stderr, "\r%-*s", PROGRESS_CHAR, line);
}

static void end_progress(const struct wait *wait)
{
    if (wait->is_told && wait->on_terminal)
        fprintf(stderr, "\r%*s\r", PROGRESS_CHAR, "");
}

/* Reads what the daemon has sent. Returns whether that was something. */
static bool read_signals(sd_bus *bus)
{
    int r = 0, count = 0;
    while (count < MAX_SIGNALS && (r = sd_bus_process(bus, NULL)) > 0)
        count++;
    return count > 0 || r < 0;
}

/* Sleeps until the daemon has announced something, or the wait is over. */
static void wait_for_signal(struct wait *wait, const struct outcome *outcome)
{
    while (!read_signals(wait->bus)) {
        const uint64_t now_us = clock_now_us();
        if (now_us >= wait->deadline_us)
            return;
        show_progress(wait, outcome);
        const uint64_t moment_us = wait->begin_us + MOMENT_US;
        uint64_t until_us = wait->deadline_us;
        if (!wait->is_told && moment_us > now_us && moment_us < until_us)
            until_us = moment_us;
        else if (wait->is_told && wait->on_terminal && now_us + PROGRESS_US < until_us)
            until_us = now_us + PROGRESS_US;
        if (sd_bus_wait(wait->bus, until_us - now_us) < 0)
            return;
    }
}

static bool wait_until(struct wait *wait, struct outcome *ret)
{
    for (;;) {
        look(wait, ret);
        if (ret->stage != STAGE_WAITING)
            return true;
        if (clock_now_us() >= wait->deadline_us)
            return false;
        wait_for_signal(wait, ret);
    }
}

/* ---- the result ---- */

static int print_json(const struct wait *wait, const struct outcome *outcome, double seconds)
{
    struct json json = {.file = stdout};
    json_open(&json, NULL, '{');
    json_integer(&json, "Serial", wait->serial);
    if (outcome->stage == STAGE_IN_FORCE) {
        json_integer(&json, "Frame", outcome->frame);
        json_number(&json, "Seconds", seconds);
    } else if (outcome->stage == STAGE_SUPERSEDED) {
        json_integer(&json, "SupersededBy", outcome->newer);
    } else if (outcome->stage != STAGE_WAITING) {
        json_text(&json, "Pending", outcome->why);
    }
    json_close(&json, '}');
    return ctl_finish(wait->ctl);
}

/* Waits, and prints the reason for a failure. *ret_seconds: how long it took. */
static int await(struct wait *wait, struct outcome *ret, double *ret_seconds)
{
    const struct ctl *ctl = wait->ctl;
    const double timeout_s = ctl->timeout_s > 0 ? ctl->timeout_s : AWAIT_DEFAULT_S;
    wait->deadline_us = wait->begin_us + (uint64_t)(timeout_s * 1e6);
    wait->on_terminal = isatty(STDERR_FILENO) && !ctl->json;
    wait->is_told = ctl->json;
    const bool is_known = wait_until(wait, ret);
    *ret_seconds = (double)(clock_now_us() - wait->begin_us) / 1e6;
    end_progress(wait);
    if (!is_known)
        return ctl_fail(ctl, EX_TEMPFAIL,
                        "filter %" PRIu64 " is still being prepared after %.4g s%s%s; it comes "
                        "into force when it is ready",
                        wait->serial, timeout_s, ret->detail[0] != '\0' ? ", " : "", ret->detail);
    if (ret->stage == STAGE_FAILED || ret->stage == STAGE_UNKNOWN)
        return ctl_fail(ctl, ret->stage == STAGE_FAILED ? EX_DATAERR : EX_TEMPFAIL,
                        "filter %" PRIu64 " %s", wait->serial, ret->why);
    return 0;
}

int await_change(const struct ctl *ctl, sd_bus *bus, uint64_t serial, uint64_t begin_us)
{
    struct wait wait = {.ctl = ctl, .bus = bus, .serial = serial, .begin_us = begin_us};
    struct outcome outcome = {.stage = STAGE_WAITING};
    double seconds = 0;
    const int code = ctl->no_wait ? 0 : await(&wait, &outcome, &seconds);
    if (code != 0 || ctl->silent)
        return code;
    if (ctl->json)
        return print_json(&wait, &outcome, seconds);
    printf("filter %" PRIu64, serial);
    if (outcome.stage == STAGE_IN_FORCE)
        printf(" is in force with frame %" PRIu64 ", after %.2f s", outcome.frame, seconds);
    else if (outcome.stage != STAGE_WAITING)
        printf(" %s", outcome.why);
    putchar('\n');
    return ctl_finish(ctl);
}

/* Implements `tune`: starts the daemon's search and shows its progress. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "daemon.h"
#include "commands.h"

#define POLL_S 0.25

static void print_progress(sd_bus_message *tuning, bool screen)
{
    const double best_ms = bus_double(tuning, "BestMilliseconds");
    const unsigned tried = bus_u32(tuning, "Tried"), total = bus_u32(tuning, "Total");
    if (!screen || tried == 0)
        return;
    fprintf(stderr, "\r%3u of %u settings tried, best %.3f ms a frame, initially %.3f  ", tried,
            total, best_ms, bus_double(tuning, "DefaultMilliseconds"));
}

static int print_result(const struct ctl *ctl, sd_bus_message *tuning)
{
    const char *problem = bus_text(tuning, "Problem");
    const double default_ms = bus_double(tuning, "DefaultMilliseconds");
    const double best_ms = bus_double(tuning, "BestMilliseconds");
    if (*problem != '\0')
        return ctl_fail(ctl, EX_TEMPFAIL, "the search found no settings: %s", problem);
    if (ctl->json) {
        sd_bus_message_rewind(tuning, true);
        return daemon_print_json(ctl, tuning);
    }
    if (best_ms < default_ms)
        printf("%.3f ms a frame on the device instead of %.3f, %.0f %% less; saved for the next "
               "start\n",
               best_ms, default_ms, 100 * (1 - best_ms / default_ms));
    else
        printf("%.3f ms a frame on the device: the initial settings are the fastest found\n",
               best_ms);
    return ctl_finish(ctl);
}

/* Waits until the search has ended. An interrupt stops the search. */
static int wait_for_end(const struct ctl *ctl, sd_bus *bus)
{
    const struct timespec pause = {.tv_nsec = (long)(POLL_S * 1e9)};
    const bool screen = !ctl->json && isatty(STDERR_FILENO);
    bool stopping = false;
    for (;;) {
        sd_bus_message *tuning = NULL;
        if (ctl_interrupted && !stopping) {
            stopping = true;
            daemon_call(ctl, bus, NULL, "StopTuning", NULL);
        }
        int code = daemon_call(ctl, bus, &tuning, "GetTuning", NULL);
        const bool running = code == 0 && bus_bool(tuning, "Running");
        if (running)
            print_progress(tuning, screen);
        else if (screen)
            fputc('\n', stderr);
        if (code == 0 && !running)
            code = print_result(ctl, tuning);
        sd_bus_message_unref(tuning);
        if (!running)
            return code;
        nanosleep(&pause, NULL);
    }
}

int command_tune(const struct ctl *ctl)
{
    const char *depth = ctl->argc > 0 ? ctl->argv[0] : "quick";
    sd_bus *bus = NULL;
    if (strcmp(depth, "quick") != 0 && strcmp(depth, "exhaustive") != 0 &&
        strcmp(depth, "stop") != 0)
        return ctl_fail(ctl, EX_USAGE, "tune %s: expected quick, exhaustive or stop", depth);
    int code = daemon_open(ctl, &bus);
    if (code == 0 && strcmp(depth, "stop") == 0) {
        code = daemon_call(ctl, bus, NULL, "StopTuning", NULL);
        if (code == 0)
            code = ctl_finish_silently(ctl);
    } else if (code == 0) {
        ctl_catch_signals();
        code = daemon_call(ctl, bus, NULL, "Tune", "s", depth);
        if (code == 0)
            code = wait_for_end(ctl, bus);
    }
    sd_bus_unref(bus);
    return code;
}

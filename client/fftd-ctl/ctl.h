/* What the commands of fftd-ctl share: the options, the exit codes, how to fail.
 *
 * fftd-ctl talks to the daemon through its public sockets only: the control socket by D-Bus, the
 * frames socket by libfftd. Single-threaded; one command, then exit. */
#ifndef FFTD_CTL_H
#define FFTD_CTL_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sysexits.h>

/* Options beside --name, --runtime-dir and --json, which every command takes. */
enum {
    TAKES_WATCH = 1,
    TAKES_COUNT = 2,
    TAKES_OUTPUT = 4,
    TAKES_RAW = 8,
    TAKES_OPENMETRICS = 16,
};

struct ctl {
    const char *name;        /* "default" unless --name */
    const char *runtime_dir; /* NULL unless --runtime-dir */
    bool json;
    double watch_s; /* 0: once */
    uint64_t count; /* 0: no end */
    const char *output;
    bool raw;
    bool openmetrics;
    int argc; /* operands after the command's name */
    char **argv;
};

struct command {
    const char *name;
    const char *operands; /* "CHAIN..." as usage shows it */
    const char *summary;
    const char *help; /* what --help says beside usage and summary */
    unsigned takes;
    int min_operands, max_operands;    /* max -1: any number */
    int (*run)(const struct ctl *ctl); /* returns an exit code */
};

/* Prints "fftd-ctl: MESSAGE" to stderr, or {"error": ..., "code": ...} after --json; returns
 * code. */
int ctl_fail(const struct ctl *ctl, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The exit code for a failed system call on something the user named. */
int ctl_exit_code(int negative_errno);

/* The directory of the chosen daemon's sockets, into path[PATH_MAX]; 0 or an exit code. */
int ctl_runtime_dir(const struct ctl *ctl, char path[PATH_MAX]);

/* Fails with what to do about a daemon that does not answer in this directory. */
int ctl_no_daemon(const struct ctl *ctl, const char *dir, int negative_errno);

/* Reads a whole number from 1 on that is the whole text; false: it is none. */
bool ctl_parse_count(const char *text, uint64_t *ret);

/* Of CLOCK_MONOTONIC: for how long something takes, whoever sets the clock meanwhile. */
uint64_t ctl_now_us(void);

/* Flushes stdout; a full disk or a closed pipe must not pass for success. */
int ctl_finish(const struct ctl *ctl);

/* status.c, stats.c */
int command_list(const struct ctl *ctl);
int command_status(const struct ctl *ctl);
int command_stats(const struct ctl *ctl);

/* filter.c: the subcommands of `filter`, and `set` */
int command_filter(const struct ctl *ctl);
int command_set(const struct ctl *ctl);
int command_reload(const struct ctl *ctl);

/* camera.c: the subcommands of `camera` */
int command_camera(const struct ctl *ctl);

/* snapshot.c, frames.c */
int command_snapshot(const struct ctl *ctl);
int command_frames(const struct ctl *ctl);

/* tune.c */
int command_tune(const struct ctl *ctl);

/* tools.c: what the daemon's program does when it does not serve */
int command_check(const struct ctl *ctl);
int command_devices(const struct ctl *ctl);

#endif

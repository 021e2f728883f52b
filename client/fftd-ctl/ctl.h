/* Options, exit codes and error messages, which all commands of fftd-ctl share.
 *
 * fftd-ctl uses only the daemon's public sockets: the control socket through D-Bus, the frames
 * socket through libfftd. It has one thread, and runs one command. */
#ifndef FFTD_CTL_H
#define FFTD_CTL_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sysexits.h>

/* The values of an option that may be repeated. */
#define CTL_MAX_TEXTS 32
struct ctl_texts {
    const char *text[CTL_MAX_TEXTS];
    unsigned count;
};

struct ctl {
    const char *name;        /* the value of --name; "default" without it */
    const char *runtime_dir; /* NULL unless --runtime-dir */
    bool json;
    double watch_s; /* 0: once */
    uint64_t count; /* 0: no end */
    const char *output;
    bool raw;
    bool openmetrics;
    bool prometheus;
    bool csv;
    uint64_t if_serial; /* change the filter only if it has this serial; 0: always */
    bool apply;         /* diagnose: change the filter */
    const char *report; /* diagnose: the HTML file; NULL: none */
    uint32_t fade;      /* frames over which a change of the filter is blended; 0: none */
    bool no_wait;       /* print the serial of a change, and do not wait until it is in force */
    bool silent;        /* a change prints nothing, because stdout has something else */
    double timeout_s;   /* how long to wait for that; 0: AWAIT_DEFAULT_S */
    bool all;           /* save the camera's controls, too */
    const char *config; /* the configuration to save into; NULL: the daemon's */
    /* For `motion`. */
    double seconds;             /* 0: not given */
    struct ctl_texts regions;   /* [NAME=]X,Y,WxH */
    const char *plot, *picture; /* files; NULL: none */
    double at_hz;               /* 0: not given */
    /* For `convert`. */
    const char *filter;              /* a chain; "none" without the option */
    const char *size, *pixel_format; /* the layout of raw frames; NULL: not given */
    double fps;                      /* their rate; 0: not given */
    struct ctl_texts settings;       /* KEY=VALUE, for the daemon */
    bool resume, two_pass, compare;
    uint64_t given; /* which options were given (options.h) */
    int argc;       /* operands after the command's name */
    char **argv;
};

/* Prints "fftd-ctl: MESSAGE" to stderr, or {"error": ..., "code": ...} after --json. Returns
 * code. */
int ctl_fail(const struct ctl *ctl, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Writes the directory of the chosen daemon's sockets into path[]. 0 or an exit code. */
int ctl_runtime_dir(const struct ctl *ctl, char path[PATH_MAX]);

/* "fftd-ctl" with the option that chose the daemon, for commands to paste into a shell. */
#define CTL_PROGRAM_BYTES (4 * PATH_MAX + 64) /* each "'" of a path becomes four characters */
const char *ctl_program(const struct ctl *ctl);

/* Reports that a daemon has no such output. Returns an exit code. */
int ctl_no_output(const struct ctl *ctl, const char *dir);

/* Reports that no daemon can be reached in this directory, and what to do. Returns an exit code. */
int ctl_no_daemon(const struct ctl *ctl, const char *dir, int negative_errno);

/* From now on SIGINT and SIGTERM only set ctl_interrupted, and end a system call that waits. */
void ctl_catch_signals(void);
extern volatile sig_atomic_t ctl_interrupted;

/* Ends a command that has nothing to report: prints {} with --json. Returns an exit code. */
int ctl_finish_silently(const struct ctl *ctl);

/* Flushes stdout, and reports a write error. A closed pipe counts as success. Returns an exit
 * code. */
int ctl_finish(const struct ctl *ctl);

#endif

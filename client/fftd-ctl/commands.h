/* The commands of fftd-ctl. Each returns an exit code, and prints the reason for a failure. */
#ifndef FFTD_CTL_COMMANDS_H
#define FFTD_CTL_COMMANDS_H

#include "ctl.h"

struct command {
    const char *name;
    const char *operands;              /* for the usage line: "CHAIN..." */
    const char *summary;               /* begins with a verb */
    const char *help;                  /* printed by --help after usage and summary */
    const char *takes;                 /* its own options, with a space between two: "count raw" */
    int min_operands, max_operands;    /* max -1: any number */
    int (*run)(const struct ctl *ctl); /* returns an exit code */
};

/* commands.c: all of them, in the order of the help */
extern const struct command command_table[];
extern const unsigned command_count;

/* status.c, stats.c */
int command_list(const struct ctl *ctl);
int command_output(const struct ctl *ctl);
int command_status(const struct ctl *ctl);
int command_stats(const struct ctl *ctl);

/* watch.c */
int command_watch(const struct ctl *ctl);

/* filter.c: the subcommands of `filter`; change.c: `set` */
int command_filter(const struct ctl *ctl);
int command_set(const struct ctl *ctl);
int command_reload(const struct ctl *ctl);

/* filter_plot.c: filter plot FILE [CHAIN...]; after a failure there is no file */
int filter_plot(const struct ctl *ctl);

/* filter_save.c: filter save, into the configuration or a preset */
int filter_save(const struct ctl *ctl);

/* view.c */
int command_view(const struct ctl *ctl);

/* camera.c: the subcommands of `camera` */
int command_camera(const struct ctl *ctl);

/* snapshot.c, frames.c */
int command_snapshot(const struct ctl *ctl);
int command_frames(const struct ctl *ctl);

/* convert.c */
int command_convert(const struct ctl *ctl);
extern const char convert_help[];

/* calibrate.c */
int command_calibrate(const struct ctl *ctl);

/* diagnose.c */
int command_diagnose(const struct ctl *ctl);
extern const char diagnose_help[];

/* motion.c */
int command_motion(const struct ctl *ctl);
extern const char motion_help[];

/* tune.c */
int command_tune(const struct ctl *ctl);

/* report.c */
int command_report(const struct ctl *ctl);

/* tools.c: run the daemon's program */
int command_check(const struct ctl *ctl);
int command_devices(const struct ctl *ctl);

#endif

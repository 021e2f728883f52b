/* Compiles in idle time what the next change of the filter may need: engines for the chains of
 * docs/FILTERS.md and of the presets, which processes of their own build and throw away. What stays
 * are their programs in the caches of fftd and of the driver. The first output does it for all.
 *
 * The process is fftd again, with --compile-ahead (ahead_main), and starts a second one where
 * there are two processors and memory for it. Both have the lowest priority of the scheduler
 * (SCHED_IDLE), are the first that die if memory runs out, and are killed as soon as anything is
 * requested of the designer. So they delay no frame and no change, and neither a crash of the
 * compiler nor the memory that it retains is the daemon's.
 *
 * On a CPU there is a second use: while a change waits, a process with the daemon's priority
 * compiles what that change needs (ahead_compile). Otherwise no frame could be filtered, because
 * PoCL (seen with 3.1) holds one lock both to compile a kernel and to run any.
 *
 * Threads: the designer's, without its lock; ahead_allow is called before there are others. */
#ifndef FFTD_DESIGNER_AHEAD_H
#define FFTD_DESIGNER_AHEAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "config/config.h"
#include "designer/builder.h"

#define AHEAD_MAX_OPTIONS 64

struct ahead {
    char *option[AHEAD_MAX_OPTIONS]; /* the process is started with: keys that engines depend on */
    unsigned option_count;           /* 0: nothing is compiled ahead */
    pid_t pid;                       /* 0: no process runs */
    int status;                      /* how the last one ended, as waitpid() reports it */
    bool is_interrupted;             /* it was killed here, and may begin again */
    int64_t due_ns;                  /* when the next one begins, if nothing is requested */
    /* What the newest process compiles for, or has compiled for. */
    bool is_done;
    struct engine_frames frames;
    enum view_kind view;
};

/* Lets processes be started, as programs that are not fftd must not. */
void ahead_allow(void);

/* Keeps what a process needs to know of the configuration. Without memory, or where
 * engine.compile_ahead forbids it, nothing is compiled ahead. */
void ahead_init(struct ahead *ret, const struct config *config);

/* Ends the process, if one runs, and frees the rest. */
void ahead_finish(struct ahead *ahead);

/* Starts a process if the designer has been idle for long enough and the newest engine is one for
 * which nothing has been compiled yet. Returns when to call it again; INT64_MAX: after the next
 * request. */
int64_t ahead_step(struct ahead *ahead, const struct builder *builder);

/* Compiles what an engine for these frames needs in a process with the priority of the daemon, and
 * waits for it. After this time the process is killed: -ETIMEDOUT. -EIO: the compiler crashed. The
 * builder compiles what is still missing, but nothing after an error, because that would stop all
 * frames. */
int ahead_compile(struct ahead *ahead, const struct builder *builder,
                  const struct engine_frames *frames, const struct filter_chain *chain,
                  int64_t timeout_ns, struct error *why);

/* Kills the process, if one runs, and waits from now on for the time that must be idle. Does not
 * wait for its end. */
void ahead_interrupt(struct ahead *ahead);

/* The main function of that process: builds an engine for each likely chain, or for the configured
 * one alone, runs a frame through it and destroys it. Leaves out chains that these frames do not
 * suit. Returns an exit code.
 *
 * what: "1280x720:NV12+640x360@4711,2": size and format of captured frames; sizes of the outputs,
 * if the camera has several, with 0x0 if none is smaller; the daemon's process, with which this one
 * ends; and the number of processes that share the work, the others of which this one starts. With
 * "=" before "@", only the configured filter is built, and the daemon waits for it. Without "@",
 * the process outlives its parent and keeps the priority that it was started with. */
int ahead_main(const struct config *config, const char *what);

#endif

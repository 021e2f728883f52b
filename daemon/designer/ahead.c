#include "designer/ahead.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config/key.h"
#include "core/clock.h"
#include "core/format.h"
#include "core/text.h"
#include "service/child.h"
#include "service/log.h"

/* A user who tries filters makes the next change sooner than that, and most daemons of tests have
 * ended. */
#define IDLE_NS       (5 * NS_PER_S)
#define LOOK_NS       (1 * NS_PER_S)
#define WAIT_MS       10
/* What the process takes with PoCL and its compiler, and what is left for other programs. */
#define HOST_BYTES    (512ull << 20)
/* More would mostly compile what another compiles at the same time. */
#define MAX_PROCESSES 2

static bool is_allowed;

void ahead_allow(void)
{
    is_allowed = true;
}

/* Returns whether engines, or what they need to be built, depend on a key. */
static bool is_needed(const char *key)
{
    return strcmp(key, "output.size") == 0 || strcmp(key, "output.measures") == 0 ||
           strcmp(key, "output.motion") == 0 || strcmp(key, "output.motion_by") == 0 ||
           (strncmp(key, "engine.", strlen("engine.")) == 0 &&
            strcmp(key, "engine.compile_ahead") != 0 && strcmp(key, "engine.view") != 0);
}

static bool add_option(struct ahead *ahead, const char *key, const char *value)
{
    if (ahead->option_count == AHEAD_MAX_OPTIONS ||
        asprintf(&ahead->option[ahead->option_count], "--set=%s=%s", key, value) < 0)
        return false;
    ahead->option_count++;
    return true;
}

void ahead_init(struct ahead *ret, const struct config *config)
{
    char value[CONFIG_TEXT];
    unsigned count;
    const struct config_key *keys = config_keys(&count);
    bool is_complete = true;
    *ret = (struct ahead){.due_ns = INT64_MAX};
    if (!is_allowed || !config->engine.compile_ahead || config->engine.cache_dir[0] == '\0')
        return;
    for (unsigned i = 0; i < count && is_complete; i++) {
        if (!is_needed(keys[i].name))
            continue;
        config_key_print(config, &keys[i], value, sizeof value);
        is_complete = add_option(ret, keys[i].name, value);
    }
    if (!is_complete)
        ahead_finish(ret);
}

/* A process that exits without being killed is not started again: it would do the same. */
static void reap(struct ahead *ahead, int flags)
{
    const pid_t pid = ahead->pid != 0 ? waitpid(ahead->pid, &ahead->status, flags) : 0;
    if (pid == 0 || (pid < 0 && errno == EINTR))
        return;
    ahead->pid = 0;
    ahead->is_done = !ahead->is_interrupted;
}

static void wait_for_end(struct ahead *ahead, int64_t deadline_ns)
{
    while (ahead->pid != 0 && clock_now_ns() < deadline_ns) {
        reap(ahead, WNOHANG);
        if (ahead->pid != 0)
            poll(NULL, 0, WAIT_MS);
    }
}

static void end(struct ahead *ahead)
{
    if (ahead->pid != 0)
        kill(ahead->pid, SIGKILL);
    while (ahead->pid != 0)
        reap(ahead, 0);
}

void ahead_interrupt(struct ahead *ahead)
{
    if (ahead->pid != 0) {
        ahead->is_interrupted = true;
        kill(ahead->pid, SIGKILL); /* not reaped yet: the number is still its own */
        reap(ahead, WNOHANG);
    }
    ahead->due_ns = clock_now_ns() + IDLE_NS;
}

void ahead_finish(struct ahead *ahead)
{
    end(ahead);
    for (unsigned i = 0; i < ahead->option_count; i++)
        free(ahead->option[i]);
    ahead->option_count = 0;
}

/* ---- starting ---- */

/* Appends the sizes of outputs, for engines that share loads. */
static void put_sizes(char *text, size_t size, struct engine_loads *loads)
{
    uint32_t sizes[ENGINE_MAX_LOAD_SIZES][2] = {{0, 0}};
    unsigned count = loads != NULL ? engine_loads_sizes(loads, sizes) : 0;
    if (loads != NULL && count == 0)
        count = 1; /* none is smaller */
    for (unsigned i = 0; i < count; i++)
        text_append(text, size, "+%ux%u", sizes[i][0], sizes[i][1]);
}

/* processes: how many share the work. filter: the option with the only chain to compile for; NULL:
 * all that are likely. */
static void start(struct ahead *ahead, const struct engine_frames *frames, enum view_kind of_view,
                  struct engine_loads *loads, int processes, char *filter)
{
    char name[] = "fftd", what[300], view[60];
    char *arguments[AHEAD_MAX_OPTIONS + 5] = {name, what, view};
    snprintf(what, sizeof what, "--compile-ahead=%ux%u:%s", frames->width, frames->height,
             format_by_fourcc(frames->captured)->name);
    put_sizes(what, sizeof what, loads);
    text_append(what, sizeof what, "%s@%d,%d", filter != NULL ? "=" : "", (int)getpid(), processes);
    snprintf(view, sizeof view, "--set=engine.view=%s", view_names[of_view]);
    memcpy(arguments + 3, ahead->option, ahead->option_count * sizeof *arguments);
    arguments[3 + ahead->option_count] = filter;
    /* The child's output, which is that of compilers, is discarded. */
    const struct child_options options = {.path = "/proc/self/exe", .arguments = arguments};
    const int r = child_start(&ahead->pid, &options);
    if (r == 0)
        return;
    ahead->pid = 0;
    ahead->is_done = true;
    log_debug("nothing is compiled ahead: %s", strerror(r));
}

static bool is_done_for(const struct ahead *ahead, const struct builder *builder)
{
    return ahead->is_done && engine_frames_equal(&ahead->frames, &builder->frames) &&
           ahead->view == builder->built.view;
}

/* Returns how many processes may compile at once, each with an engine: no more than there are
 * processors, nor than memory holds beside the engines in use. 0: not even one. */
static int count_processes(const struct builder *builder)
{
    const struct budget *budget = &builder->memory.budget;
    const struct budget_use *use = &builder->use;
    cpu_set_t processors;
    const bool is_known = sched_getaffinity(0, sizeof processors, &processors) == 0;
    const int limit =
        is_known && CPU_COUNT(&processors) < MAX_PROCESSES ? CPU_COUNT(&processors) : MAX_PROCESSES;
    int count = 0;
    uint64_t host = use->host, device = use->device;
    while (count < limit) {
        host += use->host / 2 + HOST_BYTES;
        device += use->device / 2;
        if (host > budget->host || (!budget->is_shared && device > budget->device))
            break;
        count++;
    }
    return count;
}

int64_t ahead_step(struct ahead *ahead, const struct builder *builder)
{
    reap(ahead, WNOHANG);
    if (ahead->pid != 0)
        return clock_now_ns() + LOOK_NS;
    const int count = count_processes(builder);
    if (ahead->option_count == 0 || builder->memory.share.output > 0 || builder->engine == NULL ||
        is_done_for(ahead, builder) || count == 0)
        return INT64_MAX;
    if (ahead->due_ns == INT64_MAX)
        ahead->due_ns = clock_now_ns() + IDLE_NS;
    if (clock_now_ns() < ahead->due_ns)
        return ahead->due_ns;
    ahead->is_done = ahead->is_interrupted = false;
    ahead->frames = builder->frames;
    ahead->view = builder->built.view;
    start(ahead, &ahead->frames, ahead->view, builder->options.loads, count, NULL);
    return clock_now_ns() + LOOK_NS;
}

int ahead_compile(struct ahead *ahead, const struct builder *builder,
                  const struct engine_frames *frames, const struct filter_chain *chain,
                  int64_t timeout_ns, struct error *why)
{
    static const char option[] = "--filter=";
    const bool was_done = ahead->is_done;
    if (ahead->option_count == 0 || !gpu_device_is_cpu(builder->memory.outline) ||
        count_processes(builder) == 0)
        return 0;
    char *filter = malloc(sizeof option + FILTER_TEXT_BYTES);
    if (filter == NULL)
        return 0;
    memcpy(filter, option, sizeof option);
    filter_chain_print(chain, filter + sizeof option - 1, FILTER_TEXT_BYTES);
    end(ahead); /* one that was killed may not have ended yet */
    ahead->status = 0;
    start(ahead, frames, builder->options.recipe.view, builder->options.loads, 1, filter);
    wait_for_end(ahead, clock_now_ns() + timeout_ns);
    const bool is_late = ahead->pid != 0;
    end(ahead);
    ahead->is_done = was_done;
    free(filter);
    if (is_late)
        return error_set(why, ETIMEDOUT,
                         "the device's driver has not compiled its kernels within %g s "
                         "(engine.build_timeout); another attempt continues where this one stopped",
                         (double)timeout_ns / (double)NS_PER_S);
    if (WIFSIGNALED(ahead->status) && WTERMSIG(ahead->status) == SIGKILL)
        return error_set(why, EIO,
                         "the compiler of the device's driver was killed, probably because memory "
                         "ran out; engine.compile_ahead = false compiles in fftd itself");
    if (WIFSIGNALED(ahead->status))
        return error_set(why, EIO,
                         "the compiler of the device's driver was killed by signal %d (%s)",
                         WTERMSIG(ahead->status), strsignal(WTERMSIG(ahead->status)));
    return 0;
}

#include "designer/ahead.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "config/preset.h"
#include "core/format.h"
#include "filters/filter_kind.h"
#include "gpu/cache.h"
#include "gpu/program.h"
#include "service/log.h"

#define MAX_BUILT  128
#define CACHE_KIND "ahead"

struct work {
    struct builder builder;
    struct fftd_format captured;
    struct engine_frames frames;
    uint32_t size[ENGINE_MAX_LOAD_SIZES][2]; /* the outputs' widths and heights */
    unsigned size_count;                     /* 0: there is one output */
    bool is_awaited;                         /* the daemon waits for the configured filter */
    int parent;                              /* the daemon; 0: it was started by hand */
    int share_count;                         /* processes that share the chains, with this one */
    int share;                               /* which of them this one is, from 0 */
    struct {
        struct recipe recipe;
        double support_px;
    } built[MAX_BUILT];
    unsigned built_count;
};

/* Gives way to every other process unless it is waited for, and exits when the daemon does. Threads
 * inherit it. */
static void step_back(const struct work *work)
{
    const struct sched_param none = {.sched_priority = 0};
    if (work->parent == 0)
        return;
    if (!work->is_awaited)
        sched_setscheduler(0, SCHED_IDLE, &none);
    const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)!write(fd, "1000", 4);
        close(fd);
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != work->parent) /* it has ended already */
        _exit(EX_OK);
}

/* Starts the processes that share the chains, and says to each which it is. Called before the
 * OpenCL library is loaded, whose threads a fork would lose. */
static void share_out(struct work *work)
{
    const pid_t parent = getpid();
    for (int i = 1; i < work->share_count; i++) {
        if (fork() != 0)
            continue; /* if that fails, wait_for_shares finds one too few */
        work->share = i;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(EX_OK);
        return;
    }
}

/* Returns whether the other processes compiled their shares. */
static bool wait_for_shares(const struct work *work)
{
    int status, count = 1;
    while (wait(&status) > 0)
        count += WIFEXITED(status) && WEXITSTATUS(status) == EX_OK;
    return count == work->share_count;
}

static bool parse(struct work *work, const char *what)
{
    char name[20];
    unsigned width, height;
    int length = 0, part = 0;
    /* The daemon has written it. NOLINTNEXTLINE(cert-err34-c) */
    if (sscanf(what, "%5ux%5u:%19[A-Za-z0-9]%n", &width, &height, name, &length) < 3)
        return false;
    for (; what[length] == '+' && work->size_count < ENGINE_MAX_LOAD_SIZES; length += part) {
        uint32_t *size = work->size[work->size_count++];
        /* NOLINTNEXTLINE(cert-err34-c) */
        if (sscanf(what + length, "+%5ux%5u%n", &size[0], &size[1], &part) < 2)
            return false;
    }
    work->share_count = 1;
    work->is_awaited = what[length] == '=';
    length += work->is_awaited;
    part = 0;
    /* NOLINTNEXTLINE(cert-err34-c) */
    if (what[length] == '@' && sscanf(what + length, "@%d%n", &work->parent, &part) < 1)
        return false;
    length += part;
    /* NOLINTNEXTLINE(cert-err34-c) */
    if (what[length] != '\0' && sscanf(what + length, ",%d", &work->share_count) < 1)
        return false;
    if (work->share_count < 1 || work->share_count > MAX_BUILT)
        return false;
    const struct format_info *info = format_by_name(name);
    return info != NULL &&
           format_layout(&work->captured, info->fourcc, width, height, 1, NULL) == 0;
}

/* Returns whether this process can skip the chain: its engine is in the list, or it is another
 * process's turn. Every process lists all engines, so they agree on the turns. */
static bool is_done(struct work *work, const struct filter_chain *chain)
{
    struct recipe settings = work->builder.options.recipe;
    engine_frames_set_captured(&settings, &work->frames);
    const struct recipe recipe = recipe_of(chain, &settings);
    const double support_px = filter_chain_support(chain);
    for (unsigned i = 0; i < work->built_count; i++)
        if (recipe_equal(&recipe, &work->built[i].recipe) &&
            support_px == work->built[i].support_px)
            return true;
    const unsigned turn = work->built_count;
    if (work->built_count < MAX_BUILT) {
        work->built[work->built_count].recipe = recipe;
        work->built[work->built_count++].support_px = support_px;
    }
    return (int)turn % work->share_count != work->share;
}

/* Builds what the daemon would, whose engine has another recipe. */
static void compile(struct work *work, const struct filter_chain *chain)
{
    struct builder *builder = &work->builder;
    const struct builder_fade none = {.frames = 0};
    struct engine_response *response = NULL;
    struct error why;
    if (recipe_check_frames(&builder->options.recipe, &work->captured, chain, &why) < 0 ||
        is_done(work, chain))
        return;
    builder->frames = work->frames;
    builder->support_px = 0;
    builder->built = (struct recipe){.captured = UINT32_MAX}; /* equal to no other */
    if (builder_design(builder, NULL, chain, &none, &response, &why) == 0)
        engine_response_free(response);
    if (builder->engine != NULL)
        builder_close_engine(builder, builder->engine);
}

static void compile_preset(void *context, const char *name)
{
    struct filter_chain chain;
    struct error why;
    if (config_load_preset(&chain, NULL, name, &why) == 0)
        compile(context, &chain);
}

static void compile_all(struct work *work)
{
    unsigned count;
    const struct filter_kind *const *kinds = filter_kinds(&count);
    struct filter_chain chain = {.count = 0};
    struct error why;
    compile(work, &chain);
    for (unsigned i = 0; i < count; i++)
        if (filter_chain_parse(&chain, kinds[i]->example, &why) == 0)
            compile(work, &chain);
    config_list_presets(compile_preset, work);
}

/* Returns a key of everything that the result depends on, or nearly: what is missing in the caches
 * is compiled when it is needed. */
static uint64_t key_of(const struct work *work, const struct config *config, const char *what)
{
    const char *texts[] = {FFTD_VERSION, gpu_device_identity(work->builder.memory.outline)};
    const uint64_t sources = program_sources_hash();
    uint64_t key = cache_hash(CACHE_HASH_START, &sources, sizeof sources);
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++)
        key = cache_hash(key, texts[i], strlen(texts[i]));
    key = cache_hash(key, what, strcspn(what, "@,"));
    return cache_hash(key, &config->engine.options, sizeof config->engine.options);
}

int ahead_main(const struct config *config, const char *what)
{
    static struct work work;
    const struct engine_observer observer = {.on_build = NULL};
    const char *cache_dir = config->engine.cache_dir;
    struct error why;
    size_t size;
    if (!parse(&work, what)) {
        log_error("--compile-ahead=%s: expected "
                  "WIDTHxHEIGHT:FORMAT[+WIDTHxHEIGHT...][=][@PID][,PROCESSES]",
                  what);
        return EX_USAGE;
    }
    step_back(&work);
    share_out(&work);
    int r = engine_frames_describe(&work.frames, config, &work.captured, &why);
    if (r == 0)
        r = builder_init(&work.builder, NULL, config, NULL, &observer, &why);
    if (r < 0) {
        log_error("%s", why.text);
        return EX_UNAVAILABLE;
    }
    static struct designer_plan plan;
    if (work.size_count > 0 &&
        engine_loads_create(&plan.loads, work.size, work.size_count, &why) == 0)
        work.builder.memory.share.plan = &plan;
    const uint64_t key = key_of(&work, config, what);
    if (work.is_awaited) {
        compile(&work, &config->filter);
    } else if (cache_read(cache_dir, CACHE_KIND, key, &size, &why) == NULL) {
        compile_all(&work);
        if (work.share == 0 && wait_for_shares(&work))
            cache_write(cache_dir, CACHE_KIND, key, what, strlen(what), &why);
    }
    builder_finish(&work.builder);
    engine_loads_destroy(plan.loads);
    return EX_OK;
}

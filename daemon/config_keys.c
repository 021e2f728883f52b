/* The table of keys, in the order of config/fftd.conf. */
#include "config.h"

#include <string.h>

#define MIN_SIDE 16 /* pixels */

static bool is_name(const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789_-";
    return *text != '\0' && text[strspn(text, allowed)] == '\0';
}

/* Which schemes there are is the capture layer's business. */
static bool is_uri(const char *text)
{
    size_t scheme = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789");
    return scheme > 0 && text[scheme] == ':' && text[scheme + 1] != '\0';
}

static bool is_not_empty(const char *text)
{
    return *text != '\0';
}

static const char *const idle_names[] = {
    [CONFIG_IDLE_RUN] = "run", [CONFIG_IDLE_PAUSE] = "pause", NULL};
static const char *const precision_names[] = {
    [ENGINE_FLOAT] = "float", [ENGINE_HALF] = "half", NULL};
static const char *const planes_names[] = {[ENGINE_LUMA] = "luma", [ENGINE_ALL] = "all", NULL};
static const char *const technique_names[] = {
    [ENGINE_AUTO] = "auto", [ENGINE_FUSED] = "fused", [ENGINE_STAGED] = "staged", NULL};
static const char *const tune_names[] = {[ENGINE_TUNE_OFF] = "off",
                                         [ENGINE_TUNE_AUTO] = "auto",
                                         [ENGINE_TUNE_EXHAUSTIVE] = "exhaustive",
                                         NULL};
static const char *const border_names[] = {[PLAN_MIRROR] = "mirror",
                                           [PLAN_REPLICATE] = "replicate",
                                           [PLAN_CONSTANT] = "constant",
                                           [PLAN_WRAP] = "wrap",
                                           NULL};

#define FIELD(member)                                                                              \
    .offset = offsetof(struct config, member), .size = sizeof(((struct config *)NULL)->member)

static const struct config_key keys[] = {
    {
        .name = "name",
        .initial = "default",
        .summary = "what clients and logs call this camera",
        .type = CONFIG_STRING,
        FIELD(name),
        .valid = is_name,
        .expects = "letters, digits, _ and -",
    },
    {
        .name = "camera.source",
        .initial = "v4l2:/dev/video0",
        .summary = "where frames come from",
        .type = CONFIG_STRING,
        FIELD(source),
        .live = true,
        .valid = is_uri,
        .expects = "SCHEME:WHAT, such as v4l2:/dev/video0, pattern:zoneplate or file:clip.y4m",
    },
    {
        .name = "camera.size",
        .initial = "auto",
        .summary = "frame size to ask for",
        .type = CONFIG_SIZE,
        FIELD(width),
        .live = true,
        .unit = "pixels",
        .min = MIN_SIDE,
        .max = FFTD_MAX_SIDE,
        .word = "auto",
    },
    {
        .name = "camera.fps",
        .initial = "auto",
        .summary = "frame rate to ask for",
        .type = CONFIG_NUMBER,
        FIELD(rate),
        .live = true,
        .unit = "frames/s",
        .min = 0.1,
        .max = 1000,
        .word = "auto",
    },
    {
        .name = "camera.format",
        .initial = "auto",
        .summary = "pixel format to ask for",
        .type = CONFIG_FORMAT,
        FIELD(fourcc),
        .live = true,
        .word = "auto",
    },
    {
        .name = "camera.buffers",
        .initial = "auto",
        .summary = "frames the driver may hold",
        .type = CONFIG_UINT,
        FIELD(buffers),
        .live = true,
        .min = 2,
        .max = 32,
        .word = "auto",
    },
    {
        .name = "camera.memory",
        .initial = "auto",
        .summary = "how frames come to the OpenCL device",
        .type = CONFIG_CHOICE,
        FIELD(memory),
        .live = true,
        .choices = frame_way_names,
    },
    {
        .name = "camera.loop",
        .initial = "false",
        .summary = "file: begin again at the end",
        .type = CONFIG_BOOL,
        FIELD(loop),
        .live = true,
    },
    {
        .name = "camera.seed",
        .initial = "1",
        .summary = "pattern: of its noise",
        .type = CONFIG_UINT,
        FIELD(seed),
        .live = true,
        .max = INT32_MAX,
    },
    {
        .name = "camera.stall_timeout",
        .initial = "2",
        .summary = "without a frame for so long, recovery begins",
        .type = CONFIG_NUMBER,
        FIELD(stall_timeout_s),
        .unit = "s",
        .min = 0.1,
        .max = 3600,
    },
    {
        .name = "camera.idle",
        .initial = "run",
        .summary = "what it does while nobody reads its frames",
        .type = CONFIG_CHOICE,
        FIELD(idle),
        .choices = idle_names,
    },
    {
        .name = "camera.controls",
        .initial = "none",
        .summary = "the camera's own controls, set whenever it is opened",
        .type = CONFIG_SETTINGS,
        FIELD(controls),
        .live = true,
    },
    {
        .name = "engine.device",
        .initial = "auto",
        .summary = "which OpenCL device does the work",
        .type = CONFIG_STRING,
        FIELD(device),
        .valid = is_not_empty,
        .expects = "auto, gpu, cpu, accelerator, an index or part of a name",
    },
    {
        .name = "engine.precision",
        .initial = "float",
        .summary = "how intermediate results are stored; arithmetic is always float",
        .type = CONFIG_CHOICE,
        FIELD(engine.precision),
        .choices = precision_names,
    },
    {
        .name = "engine.planes",
        .initial = "luma",
        .summary = "which planes are filtered",
        .type = CONFIG_CHOICE,
        FIELD(engine.planes),
        .choices = planes_names,
    },
    {
        .name = "engine.technique",
        .initial = "auto",
        .summary = "how the transform is cut into kernels",
        .type = CONFIG_CHOICE,
        FIELD(engine.technique),
        .choices = technique_names,
    },
    {
        .name = "engine.border",
        .initial = "mirror",
        .summary = "what lies outside the image",
        .type = CONFIG_CHOICE,
        FIELD(engine.border),
        .choices = border_names,
    },
    {
        .name = "engine.border_value",
        .initial = "0",
        .summary = "with border = constant: its brightness",
        .type = CONFIG_NUMBER,
        FIELD(engine.border_value),
        .unit = "of full scale",
        .min = 0,
        .max = 1,
    },
    {
        .name = "engine.margin",
        .initial = "auto",
        .summary = "pixels added to each axis at least",
        .type = CONFIG_INT,
        FIELD(engine.margin),
        .unit = "px",
        .min = 0,
        .max = 4096,
        .word = "auto",
        .word_value = -1,
    },
    {
        .name = "engine.in_flight",
        .initial = "2",
        .summary = "frames on the device at once",
        .type = CONFIG_UINT,
        FIELD(engine.in_flight),
        .unit = "frames",
        .min = 1,
        .max = ENGINE_MAX_IN_FLIGHT,
    },
    {
        .name = "engine.frame_timeout",
        .initial = "5",
        .summary = "a device that keeps a frame for so long has hung",
        .type = CONFIG_NUMBER,
        FIELD(frame_timeout_s),
        .unit = "s",
        .min = 0.1,
        .max = 3600,
    },
    {
        .name = "engine.build_timeout",
        .initial = "60",
        .summary = "a driver that builds another engine for so long has hung",
        .type = CONFIG_NUMBER,
        FIELD(build_timeout_s),
        .unit = "s",
        .min = 1,
        .max = 3600,
    },
    {
        .name = "engine.tune",
        .initial = "auto",
        .summary = "search for the fastest plan on this device",
        .type = CONFIG_CHOICE,
        FIELD(engine.tune),
        .choices = tune_names,
    },
    {
        .name = "engine.cache_dir",
        .initial = "auto",
        .summary = "where compiled kernels and tuning results are kept",
        .type = CONFIG_STRING,
        FIELD(cache_dir),
        .valid = is_not_empty,
        .expects = "auto, none or a path",
    },
    {
        .name = "filter",
        .initial = "none",
        .summary = "what is done to the spectrum",
        .type = CONFIG_FILTER,
        FIELD(filter),
        .live = true,
    },
    {
        .name = "output.slots",
        .initial = "8",
        .summary = "frames in the ring",
        .type = CONFIG_UINT,
        FIELD(slots),
        .unit = "frames",
        .min = FFTD_MIN_SLOTS,
        .max = FFTD_MAX_SLOTS,
    },
    {
        .name = "output.checksum",
        .initial = "false",
        .summary = "whether frames carry a checksum",
        .type = CONFIG_BOOL,
        FIELD(checksum),
    },
    {
        .name = "output.max_clients",
        .initial = "64",
        .summary = "readers at once",
        .type = CONFIG_UINT,
        FIELD(max_clients),
        .unit = "clients",
        .min = 1,
        .max = 1024,
    },
    {
        .name = "output.runtime_dir",
        .initial = "auto",
        .summary = "where the sockets lie",
        .type = CONFIG_STRING,
        FIELD(runtime_dir),
        .valid = is_not_empty,
        .expects = "auto or a path",
    },
    {
        .name = "output.frames",
        .initial = "unlimited",
        .summary = "stop after so many",
        .type = CONFIG_UINT64,
        FIELD(frames),
        .unit = "frames",
        .min = 1,
        .max = INT32_MAX, /* what libconfig reads */
        .word = "unlimited",
    },
};

#define KEY_COUNT (sizeof keys / sizeof keys[0])

const struct config_key *config_keys(unsigned *ret_count)
{
    *ret_count = KEY_COUNT;
    return keys;
}

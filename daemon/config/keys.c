/* The table of keys, in the order of config/fftd.conf. */
#include "config/config.h"

#include <math.h>
#include <string.h>

#include "config/preset.h"
#include "config/type.h"
#include "core/client_limits.h"

#define MIN_SIDE 16 /* pixels */

_Static_assert(sizeof(enum recipe_precision) == sizeof(uint32_t) &&
                   sizeof(enum plan_border) == sizeof(uint32_t),
               "config_type_choice stores enums in 32 bits");
_Static_assert(offsetof(struct capture_request, height) ==
                   offsetof(struct capture_request, width) + sizeof(uint32_t),
               "config_type_size stores both at once");
_Static_assert(offsetof(struct config_output, height) ==
                   offsetof(struct config_output, width) + sizeof(uint32_t),
               "config_type_size stores both at once");

/* The capture layer checks which schemes exist. */
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
    [RECIPE_FLOAT] = "float", [RECIPE_HALF] = "half", NULL};
static const char *const planes_names[] = {
    [RECIPE_LUMA] = "luma", [RECIPE_ALL] = "all", [RECIPE_LUMA_ONLY] = "luma-only", NULL};
static const char *const demosaic_names[] = {
    [DEMOSAIC_BILINEAR] = "bilinear", [DEMOSAIC_GRADIENTS] = "gradients", NULL};
static const char *const technique_names[] = {
    [ENGINE_AUTO] = "auto",     [ENGINE_FUSED] = "fused", [ENGINE_STAGED] = "staged",
    [ENGINE_DIRECT] = "direct", [ENGINE_TILES] = "tiles", NULL};
static const char *const tune_names[] = {[ENGINE_TUNE_OFF] = "off",
                                         [ENGINE_TUNE_AUTO] = "auto",
                                         [ENGINE_TUNE_EXHAUSTIVE] = "exhaustive",
                                         NULL};
static const char *const motion_names[] = {[CONFIG_MOTION_OFF] = "off",
                                           [CONFIG_MOTION_16] = "16",
                                           [CONFIG_MOTION_32] = "32",
                                           [CONFIG_MOTION_64] = "64",
                                           NULL};
static const char *const motion_by_names[] = {[CONFIG_MOTION_AUTO] = "auto",
                                              [CONFIG_MOTION_DEVICE] = "device",
                                              [CONFIG_MOTION_OBSERVER] = "observer",
                                              NULL};
static const char *const border_names[] = {[PLAN_MIRROR] = "mirror",
                                           [PLAN_REPLICATE] = "replicate",
                                           [PLAN_CONSTANT] = "constant",
                                           [PLAN_WRAP] = "wrap",
                                           NULL};

#define SIZE_OF(member) sizeof(((struct config *)NULL)->member)
#define FIELD(member)   .offset = offsetof(struct config, member), .size = SIZE_OF(member)
/* Two fields, the second one after the first. */
#define FIELDS(first, second)                                                                      \
    .offset = offsetof(struct config, first), .size = SIZE_OF(first) + SIZE_OF(second)

static const struct config_key keys[] = {
    {
        .name = "name",
        .initial = "default",
        .summary = "the name of this camera for clients and logs",
        .type = &config_type_string,
        FIELD(name),
        .valid = config_is_name,
        .expects = "letters, digits, _ and -",
    },
    {
        .name = "camera.source",
        .initial = "v4l2:/dev/video0",
        .summary = "the source of the frames",
        .type = &config_type_string,
        FIELD(camera.source.uri),
        .live = true,
        .valid = is_uri,
        .expects = "SCHEME:WHAT, such as v4l2:/dev/video0, pattern:zoneplate, file:clip.y4m or "
                   "gst:videotestsrc",
    },
    {
        .name = "camera.size",
        .initial = "auto",
        .summary = "the frame size to ask for",
        .type = &config_type_size,
        FIELDS(camera.source.width, camera.source.height),
        .live = true,
        .unit = "pixels",
        .min = MIN_SIDE,
        .max = FFTD_MAX_SIDE,
        .word = "auto",
    },
    {
        .name = "camera.fps",
        .initial = "auto",
        .summary = "the frame rate to ask for",
        .type = &config_type_number,
        FIELD(camera.source.rate),
        .live = true,
        .unit = "frames/s",
        .min = 0.1,
        .max = 1000,
        .word = "auto",
        .second_word = "max",
        .second_value = INFINITY,
    },
    {
        .name = "camera.format",
        .initial = "auto",
        .summary = "the pixel format to ask for",
        .type = &config_type_format,
        FIELD(camera.source.fourcc),
        .live = true,
        .word = "auto",
    },
    {
        .name = "camera.buffers",
        .initial = "auto",
        .summary = "the number of frames that the driver may hold",
        .type = &config_type_whole,
        FIELD(camera.source.buffers),
        .live = true,
        .min = CAPTURE_MIN_BUFFERS,
        .max = CAPTURE_MAX_BUFFERS,
        .word = "auto",
    },
    {
        .name = "camera.memory",
        .initial = "auto",
        .summary = "how frames reach the OpenCL device",
        .type = &config_type_choice,
        FIELD(camera.source.memory),
        .live = true,
        .choices = memory_mode_names,
    },
    {
        .name = "camera.loop",
        .initial = "false",
        .summary = "for file: and gst: sources, whether to start again at the end",
        .type = &config_type_bool,
        FIELD(camera.source.loop),
        .live = true,
    },
    {
        .name = "camera.seed",
        .initial = "1",
        .summary = "for pattern: sources, the seed of the noise",
        .type = &config_type_whole,
        FIELD(camera.source.seed),
        .live = true,
        .max = INT32_MAX,
    },
    {
        .name = "camera.stall_timeout",
        .initial = "2",
        .summary = "recovery begins after this time without a frame",
        .type = &config_type_number,
        FIELD(camera.stall_timeout_s),
        .unit = "s",
        .min = 0.1,
        .max = 3600,
    },
    {
        .name = "camera.idle",
        .initial = "run",
        .summary = "whether the camera pauses while no client reads its frames",
        .type = &config_type_choice,
        FIELD(camera.idle),
        .choices = idle_names,
    },
    {
        .name = "camera.controls",
        .initial = "none",
        .summary = "the camera's own controls, set whenever it is opened",
        .type = &config_type_settings,
        FIELD(camera.controls),
        .live = true,
    },
    {
        .name = "engine.device",
        .initial = "auto",
        .summary = "the OpenCL device that filters",
        .type = &config_type_string,
        FIELD(engine.device),
        .valid = is_not_empty,
        .expects = "auto, gpu, cpu, accelerator, an index or part of a name",
    },
    {
        .name = "engine.precision",
        .initial = "float",
        .summary = "how intermediate results are stored; arithmetic is always float",
        .type = &config_type_choice,
        FIELD(engine.options.recipe.precision),
        .choices = precision_names,
    },
    {
        .name = "engine.planes",
        .initial = "luma",
        .summary = "which planes are filtered, and whether colour is published",
        .type = &config_type_choice,
        FIELD(engine.options.recipe.planes),
        .choices = planes_names,
    },
    {
        .name = "engine.depth",
        .initial = "auto",
        .summary = "the bits of published samples, if these have no colour",
        .type = &config_type_choice,
        FIELD(engine.options.recipe.depth),
        .choices = config_depth_names,
    },
    {
        .name = "engine.demosaic",
        .initial = "gradients",
        .summary = "how the missing colours of a sensor's mosaic are interpolated",
        .type = &config_type_choice,
        FIELD(engine.options.recipe.demosaic),
        .choices = demosaic_names,
    },
    {
        .name = "engine.view",
        .initial = "picture",
        .summary = "what is published: the filtered picture, or what shows the filter's work",
        .type = &config_type_choice,
        FIELD(engine.options.recipe.view),
        .live = true,
        .choices = view_names,
    },
    {
        .name = "engine.edge_low",
        .initial = "0",
        .summary = "with view = edges: the least level of an edge",
        .type = &config_type_number,
        FIELD(engine.options.recipe.edges.low),
        .unit = "of full scale",
        .min = 0,
        .max = 1,
    },
    {
        .name = "engine.edge_high",
        .initial = "0",
        .summary = "with view = edges: the least level to which an edge must lead",
        .type = &config_type_number,
        FIELD(engine.options.recipe.edges.high),
        .unit = "of full scale",
        .min = 0,
        .max = 1,
    },
    {
        .name = "engine.technique",
        .initial = "auto",
        .summary = "how frames are filtered, by a transform or directly",
        .type = &config_type_choice,
        FIELD(engine.options.technique),
        .choices = technique_names,
    },
    {
        .name = "engine.border",
        .initial = "mirror",
        .summary = "what is assumed outside the image",
        .type = &config_type_choice,
        FIELD(engine.options.border),
        .choices = border_names,
    },
    {
        .name = "engine.border_value",
        .initial = "0",
        .summary = "with border = constant: the brightness outside",
        .type = &config_type_number,
        FIELD(engine.options.border_value),
        .unit = "of full scale",
        .min = 0,
        .max = 1,
    },
    {
        .name = "engine.margin",
        .initial = "auto",
        .summary = "the least number of pixels added to each axis",
        .type = &config_type_whole,
        FIELD(engine.options.margin),
        .unit = "px",
        .min = 0,
        .max = 4096,
        .word = "auto",
        .word_value = -1,
    },
    {
        .name = "engine.in_flight",
        .initial = "2",
        .summary = "the number of frames on the device at the same time",
        .type = &config_type_whole,
        FIELD(engine.options.in_flight),
        .unit = "frames",
        .min = 1,
        .max = ENGINE_MAX_IN_FLIGHT,
    },
    {
        .name = "engine.memory",
        .initial = "auto",
        .summary = "the most memory that frames and their filters may take",
        .type = &config_type_whole,
        FIELD(engine.memory_mib),
        .unit = "MiB",
        .min = 16,
        .max = 1 << 24,
        .word = "auto",
    },
    {
        .name = "engine.frame_timeout",
        .initial = "5",
        .summary = "a device that needs longer for a frame has hung",
        .type = &config_type_number,
        FIELD(engine.frame_timeout_s),
        .unit = "s",
        .min = 0.1,
        .max = 3600,
    },
    {
        .name = "engine.build_timeout",
        .initial = "60",
        .summary = "a driver that needs longer to build another engine has hung",
        .type = &config_type_number,
        FIELD(engine.build_timeout_s),
        .unit = "s",
        .min = 1,
        .max = 3600,
    },
    {
        .name = "engine.tune",
        .initial = "auto",
        .summary = "whether to search for the fastest settings on this device",
        .type = &config_type_choice,
        FIELD(engine.options.tune),
        .choices = tune_names,
    },
    {
        .name = "engine.compile_ahead",
        .initial = "true",
        .summary = "whether to compile in idle time what the next filter may need",
        .type = &config_type_bool,
        FIELD(engine.compile_ahead),
    },
    {
        .name = "engine.cache_dir",
        .initial = "auto",
        .summary = "the directory of compiled kernels and tuning results",
        .type = &config_type_string,
        FIELD(engine.cache_dir),
        .valid = is_not_empty,
        .expects = "auto, none or a path",
    },
    {
        .name = "filter",
        .initial = "none",
        .summary = "the filter that frames pass through",
        .type = &config_type_filter,
        FIELD(filter),
        .live = true,
    },
    {
        .name = "output.size",
        .initial = "auto",
        .summary = "the size of published frames, at most that of captured ones",
        .type = &config_type_size,
        FIELDS(output.width, output.height),
        .unit = "pixels",
        .min = MIN_SIDE,
        .max = FFTD_MAX_SIDE,
        .word = "auto",
    },
    {
        .name = "output.slots",
        .initial = "8",
        .summary = "the number of frames in the ring",
        .type = &config_type_whole,
        FIELD(output.slots),
        .unit = "frames",
        .min = FFTD_MIN_SLOTS,
        .max = FFTD_MAX_SLOTS,
    },
    {
        .name = "output.checksum",
        .initial = "false",
        .summary = "whether each frame carries a checksum",
        .type = &config_type_bool,
        FIELD(output.checksum),
    },
    {
        .name = "output.measures",
        .initial = "false",
        .summary = "whether frames carry measures of their sharpness, noise and light",
        .type = &config_type_bool,
        FIELD(output.measures),
    },
    {
        .name = "output.lossless",
        .initial = "false",
        .summary = "whether sources that can wait do so for readers that ask for it",
        .type = &config_type_bool,
        FIELD(output.lossless),
    },
    {
        .name = "output.motion",
        .initial = "off",
        .summary = "the size of blocks whose motion frames carry, in pixels",
        .type = &config_type_choice,
        FIELD(output.motion),
        .choices = motion_names,
    },
    {
        .name = "output.motion_by",
        .initial = "auto",
        .summary = "what finds motion: the device for each frame, or the observer for some",
        .type = &config_type_choice,
        FIELD(output.motion_by),
        .choices = motion_by_names,
    },
    {
        .name = "output.max_clients",
        .initial = "64",
        .summary = "the number of clients that may read at the same time",
        .type = &config_type_whole,
        FIELD(output.max_clients),
        .unit = "clients",
        .min = 1,
        .max = LIMIT_CLIENTS,
    },
    {
        .name = "output.watch_unfiltered",
        .initial = "false",
        .summary = "whether watchers may take snapshots from before the filter",
        .type = &config_type_bool,
        FIELD(output.watch_unfiltered),
        .live = true,
    },
    {
        .name = "output.runtime_dir",
        .initial = "auto",
        .summary = "the directory of the sockets",
        .type = &config_type_string,
        FIELD(output.runtime_dir),
        .valid = is_not_empty,
        .expects = "auto or a path",
    },
    {
        .name = "output.frames",
        .initial = "unlimited",
        .summary = "stop after this number of published frames",
        .type = &config_type_whole,
        FIELD(output.frames),
        .unit = "frames",
        .min = 1,
        .max = INT32_MAX, /* what libconfig reads */
        .word = "unlimited",
    },
    {
        .name = "control.allow_save",
        .initial = "false",
        .summary = "whether clients that may change the filter may save it for every start",
        .type = &config_type_bool,
        FIELD(control.allow_save),
        .live = true,
    },
    {
        .name = "outputs",
        .initial = "()",
        .summary = "more pictures of the camera, each with a ring of its own",
        .live = true,
        .type = &config_type_outputs,
        FIELD(outputs),
    },
};

const char *const config_saved_names[CONFIG_SAVED_KEYS] = {
    [CONFIG_SAVED_FILTER] = "filter", [CONFIG_SAVED_CONTROLS] = "camera.controls"};

#define KEY_COUNT (sizeof keys / sizeof keys[0])

const struct config_key *config_keys(unsigned *ret_count)
{
    *ret_count = KEY_COUNT;
    return keys;
}

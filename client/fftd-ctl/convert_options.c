/* The options of `convert`, which has more of its own than it shares with other commands. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"

static const char help[] =
    "Usage: fftd-ctl [OPTION...] convert IN OUT\n\n"
    "Filters a recording. Every frame is filtered once, in order, and none is lost,\n"
    "however fast or slow either side is. No daemon needs to run: an fftd of its own\n"
    "filters the frames, and leaves other ones alone.\n\n"
    "IN is Y4M, raw frames, or whatever the program ffmpeg reads: AVI, MP4, MKV, and\n"
    "pictures as in-%05d.png. - is standard input, which is Y4M or raw.\n"
    "OUT is .y4m, .raw, .mkv or .avi (FFV1: no bit is lost), .mp4, .mov or .webm\n"
    "(8 bits, lossy), or pictures: out-%05d.png, .pgm, .ppm, .tif, .bmp. - is\n"
    "standard output. All but Y4M and raw frames need the program ffmpeg.\n"
    "Pictures keep their numbers, which have to be without a gap.\n\n"
    "  -f, --filter CHAIN         the filter, as for `filter set` (default: none)\n"
    "      --size WxH             IN has raw frames of this size,\n"
    "      --pixel-format FORMAT  in this format: GREY, Y10, Y16, NV12, RGB24 ...\n"
    "      --fps N                and at this rate\n"
    "      --raw                  OUT gets raw frames, whatever its name\n"
    "      --two-pass             look at all of IN first; filters that adapt\n"
    "                             then have what they found from the first frame on\n"
    "      --compare              put each frame before the filter to the left of it\n"
    "      --resume               continue OUT.part after this program was killed;\n"
    "                             without one, begin (only .y4m and .raw)\n"
    "      --set KEY=VALUE        any key of fftd.conf(5); may be repeated\n"
    "      --json                 print the number of frames, or the error, as JSON\n\n"
    "OUT is called OUT.part until it is complete. Exit codes: 64 wrong options or\n"
    "filter, 65 IN is damaged (the frames before it are converted) or not supported,\n"
    "66 there is no IN, 69 fftd, ffmpeg or the OpenCL device is missing, 70 frames\n"
    "were lost because the device failed, 73 or 74 OUT cannot be written, 75\n"
    "interrupted, or nothing found to keep, 78 the filter does not suit the frames.\n\n"
    "Examples:\n"
    "  fftd-ctl convert in.mp4 out.mkv --filter preset:moire\n"
    "  fftd-ctl convert in.avi out.mp4 --filter auto-notch --two-pass\n"
    "  fftd-ctl convert scan-%04d.tif clean-%04d.tif --filter 'sharpen:amount=0.5'\n"
    "  fftd-ctl convert in.raw out.raw --size 640x480 --pixel-format Y16 --resume\n";

enum { SIZE = 256, PIXELS, FPS, RAW, TWO_PASS, COMPARE, RESUME, SET, JSON };

static const struct option options[] = {
    {"filter", required_argument, NULL, 'f'},
    {"size", required_argument, NULL, SIZE},
    {"pixel-format", required_argument, NULL, PIXELS},
    {"fps", required_argument, NULL, FPS},
    {"raw", no_argument, NULL, RAW},
    {"two-pass", no_argument, NULL, TWO_PASS},
    {"compare", no_argument, NULL, COMPARE},
    {"resume", no_argument, NULL, RESUME},
    {"set", required_argument, NULL, SET},
    {"json", no_argument, NULL, JSON},
    {"help", no_argument, NULL, 'h'},
    {0},
};

bool convert_is_meant(int argc, char **argv)
{
    const int at = argc > 2 && strcmp(argv[1], "--json") == 0 ? 2 : 1;
    return argc > at && strcmp(argv[at], "convert") == 0;
}

static int take_rate(struct ctl *ctl, const char *text)
{
    char *end;
    ctl->fps = strtod(text, &end);
    return *end == '\0' && ctl->fps >= 0.1 && ctl->fps <= 1000.0
               ? 0
               : ctl_fail(ctl, EX_USAGE, "--fps %s: expected 0.1 .. 1000 frames a second", text);
}

static int take_setting(struct ctl *ctl, const char *text)
{
    if (ctl->setting_count == CTL_MAX_SETTINGS)
        return ctl_fail(ctl, EX_USAGE, "--set: expected at most %d of them", CTL_MAX_SETTINGS);
    ctl->setting[ctl->setting_count++] = text;
    return 0;
}

/* Returns 0 or an exit code; -1: help is asked for. */
static int take_option(struct ctl *ctl, int option, const char *given)
{
    switch (option) {
    case 'f':
        ctl->filter = optarg;
        return 0;
    case SIZE:
        ctl->size = optarg;
        return 0;
    case PIXELS:
        ctl->pixel_format = optarg;
        return 0;
    case FPS:
        return take_rate(ctl, optarg);
    case RAW:
        ctl->raw = true;
        return 0;
    case TWO_PASS:
        ctl->two_pass = true;
        return 0;
    case COMPARE:
        ctl->compare = true;
        return 0;
    case RESUME:
        ctl->resume = true;
        return 0;
    case SET:
        return take_setting(ctl, optarg);
    case JSON:
        ctl->json = true;
        return 0;
    case 'h':
        return -1;
    case ':':
        return ctl_fail(ctl, EX_USAGE, "%.100s: expected a value after it", given);
    default:
        return ctl_fail(ctl, EX_USAGE, "no such option: %.100s; see fftd-ctl convert --help",
                        given);
    }
}

int convert_main(int argc, char **argv)
{
    struct ctl ctl = {.name = "default", .filter = "none"};
    int option, code = 0;
    for (int i = 1; i < argc; i++)
        ctl.json |= strcmp(argv[i], "--json") == 0; /* decides how errors are printed */
    while (code == 0 && (option = getopt_long(argc, argv, ":hf:", options, NULL)) != -1)
        code = take_option(&ctl, option, argv[optind - 1]);
    if (code > 0)
        return code;
    if (code < 0) {
        fputs(help, stdout);
        return ctl_finish(&ctl);
    }
    ctl.argc = argc - optind - 1;
    ctl.argv = argv + optind + 1;
    if (ctl.argc != 2)
        return ctl_fail(&ctl, EX_USAGE, "convert: expected IN OUT; see fftd-ctl convert --help");
    return command_convert(&ctl);
}

/* Lists the cameras, the formats of each, and the format that fftd would choose: as text and as
 * JSON. Listing changes nothing: formats are tried, never set. */
#include "capture/capture.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/v4l2_device.h"
#include "capture/v4l2_negotiate.h"
#include "core/text.h"

static void print_json_string(FILE *out, const char *text)
{
    char json[TEXT_JSON_BYTES(sizeof((struct error *)NULL)->text)];
    fputs(text_to_json(json, sizeof json, text), out);
}

/* ---- JSON ---- */

static void print_rates_json(FILE *out, const struct video_device *device, uint32_t pixelformat,
                             uint32_t width, uint32_t height)
{
    struct video_rate rate;
    for (unsigned i = 0; video_next_rate(device, pixelformat, width, height, i, &rate); i++)
        fprintf(out, "%s{\"min\": %.6g, \"max\": %.6g}", i == 0 ? "" : ", ", rate.min, rate.max);
}

static void print_sizes_json(FILE *out, const struct video_device *device, uint32_t pixelformat)
{
    struct video_size size;
    for (unsigned i = 0; video_next_size(device, pixelformat, i, &size); i++) {
        fprintf(out,
                "%s{\"min_width\": %u, \"max_width\": %u, \"step_width\": %u, "
                "\"min_height\": %u, \"max_height\": %u, \"step_height\": %u, \"rates\": [",
                i == 0 ? "" : ", ", size.min_width, size.max_width, size.step_width,
                size.min_height, size.max_height, size.step_height);
        print_rates_json(out, device, pixelformat, size.max_width, size.max_height);
        fprintf(out, "]}");
    }
}

static void print_offers_json(FILE *out, const struct video_device *device)
{
    struct video_offer offers[VIDEO_MAX_OFFERS];
    unsigned count = video_offers(device, offers);
    for (unsigned i = 0; i < count; i++) {
        char name[8];
        fprintf(out, "%s{\"format\": \"%s\", \"supported\": %s, \"converted\": %s, \"sizes\": [",
                i == 0 ? "" : ", ", video_format_name(&offers[i], name),
                offers[i].info != NULL ? "true" : "false", offers[i].emulated ? "true" : "false");
        print_sizes_json(out, device, offers[i].pixelformat);
        fprintf(out, "]}");
    }
}

/* ---- text ---- */

/* One line for each supported format, and one line for all others. */
static void print_offers(FILE *out, const struct video_device *device)
{
    struct video_offer offers[VIDEO_MAX_OFFERS];
    unsigned count = video_offers(device, offers), others = 0;
    for (unsigned i = 0; i < count; i++) {
        char sizes[1024];
        if (offers[i].info == NULL)
            continue;
        video_sizes(device, offers[i].pixelformat, sizes, sizeof sizes);
        fprintf(out, "    %-7s %s%s\n", offers[i].info->name, sizes,
                offers[i].emulated ? " (converted by libv4l2)" : "");
    }
    for (unsigned i = 0; i < count; i++) {
        char name[8];
        if (offers[i].info == NULL)
            fprintf(out, "%s%s", others++ == 0 ? "    not supported: " : " ",
                    video_format_name(&offers[i], name));
    }
    if (others != 0)
        fprintf(out, "\n");
}

/* ---- the choice ---- */

/* The result of capture_open with an empty request, and the reason. */
struct choice {
    const struct format_info *info;
    uint32_t width, height;
    double rate; /* the highest; 0: the driver does not report it */
    bool emulated;
    double faster_rate; /* the rate of another format at this size; 0: none is faster */
    const struct format_info *faster; /* the format that fftd would choose for that rate */
};

static int try_choice(const struct video_device *device, const struct capture_request *request,
                      struct v4l2_format *ret_format, const struct format_info **ret_info)
{
    struct video_layout layout;
    int r = video_choose(device, request, ret_format, NULL);
    if (r == 0)
        r = video_layout(&layout, ret_format, NULL);
    if (r == 0)
        *ret_info = format_by_fourcc(layout.format.fourcc);
    return r;
}

static void find_faster(const struct video_device *device, struct choice *choice)
{
    struct video_offer offers[VIDEO_MAX_OFFERS];
    unsigned count = video_offers(device, offers);
    double best = 0.0;
    for (unsigned i = 0; i < count; i++) {
        if (offers[i].info == NULL)
            continue;
        double rate = video_max_rate(device, offers[i].pixelformat, choice->width, choice->height);
        best = rate > best ? rate : best;
    }
    const struct capture_request request = {
        .width = choice->width, .height = choice->height, .rate = best};
    struct v4l2_format format;
    if (choice->rate > 0.0 && best > 1.01 * choice->rate &&
        try_choice(device, &request, &format, &choice->faster) == 0)
        choice->faster_rate = best;
}

static int choose(const struct video_device *device, struct choice *ret)
{
    const struct capture_request anything = {.width = 0};
    struct v4l2_format format = {0};
    struct choice choice = {.info = NULL};
    int r = try_choice(device, &anything, &format, &choice.info);
    if (r < 0)
        return r;
    choice.width = video_format_pix(&format).width;
    choice.height = video_format_pix(&format).height;
    const uint32_t pixelformat = video_format_pix(&format).pixelformat;
    choice.rate = video_max_rate(device, pixelformat, choice.width, choice.height);
    struct video_offer offers[VIDEO_MAX_OFFERS];
    unsigned count = video_offers(device, offers);
    for (unsigned i = 0; i < count; i++)
        choice.emulated |= offers[i].pixelformat == pixelformat && offers[i].emulated;
    find_faster(device, &choice);
    *ret = choice;
    return 0;
}

static void print_choice(FILE *out, const struct video_device *device)
{
    struct choice choice;
    if (choose(device, &choice) < 0) {
        fprintf(out, "    fftd supports none of these formats\n");
        return;
    }
    fprintf(out, "    fftd would choose %s %ux%u", choice.info->name, choice.width, choice.height);
    if (choice.rate > 0.0)
        fprintf(out, ", up to %.4g fps", choice.rate);
    fprintf(out, "\n        %s: %s%s\n", choice.info->name, video_merit(choice.info),
            choice.emulated ? "; libv4l2 converts it from the camera's format" : "");
    fprintf(out, "        %ux%u: the camera's current size; camera.size sets another\n",
            choice.width, choice.height);
    if (choice.faster_rate > 0.0)
        fprintf(out, "        camera.fps = %.4g would choose %s, which reaches that rate\n",
                choice.faster_rate, choice.faster->name);
}

static void print_choice_json(FILE *out, const struct video_device *device)
{
    struct choice choice;
    if (choose(device, &choice) < 0) {
        fprintf(out, "null");
        return;
    }
    fprintf(out,
            "{\"format\": \"%s\", \"width\": %u, \"height\": %u, \"rate\": %.6g, "
            "\"converted\": %s, \"reason\": ",
            choice.info->name, choice.width, choice.height, choice.rate,
            choice.emulated ? "true" : "false");
    print_json_string(out, video_merit(choice.info));
    if (choice.faster_rate > 0.0)
        fprintf(out, ", \"faster\": {\"format\": \"%s\", \"rate\": %.6g}", choice.faster->name,
                choice.faster_rate);
    fprintf(out, "}");
}

/* ---- both ---- */

static void print_camera(FILE *out, const struct video_device *device, const char *path, bool json)
{
    if (json) {
        fprintf(out, "{\"source\": \"v4l2:%s\", \"name\": ", path);
        print_json_string(out, device->card);
        fprintf(out, ", \"driver\": ");
        print_json_string(out, device->driver);
        fprintf(out, ", \"bus\": ");
        print_json_string(out, device->bus);
        fprintf(out, ", \"multiplanar\": %s, \"choice\": ", device->multi ? "true" : "false");
        print_choice_json(out, device);
        fprintf(out, ", \"formats\": [");
        print_offers_json(out, device);
        fprintf(out, "]}");
        return;
    }
    fprintf(out, "v4l2:%s: %s (driver %s, %s, %s)\n", path, device->card, device->driver,
            device->bus, device->multi ? "multi-planar" : "single-planar");
    print_offers(out, device);
    print_choice(out, device);
}

static void print_unusable(FILE *out, const char *path, const struct error *why, bool json)
{
    if (json) {
        fprintf(out, "{\"source\": \"v4l2:%s\", \"error\": ", path);
        print_json_string(out, why->text);
        fprintf(out, "}");
    } else {
        fprintf(out, "v4l2:%s\n", why->text);
    }
}

static int is_video_node(const struct dirent *entry)
{
    const char *digits = entry->d_name + strlen("video");
    return strncmp(entry->d_name, "video", strlen("video")) == 0 && digits[0] != '\0' &&
           strspn(digits, "0123456789") == strlen(digits);
}

/* Prints one node. False: it is not a camera (an output, a codec, a camera's metadata). */
static bool print_node(FILE *out, const char *name, bool json, bool first)
{
    char path[300];
    snprintf(path, sizeof path, "/dev/%s", name);
    struct video_device device;
    struct error why = {""};
    int r = video_open(&device, path, &why);
    if (r == -EINVAL)
        return false;
    if (json && !first)
        fprintf(out, ", ");
    if (r < 0) {
        print_unusable(out, path, &why, json);
        return true;
    }
    print_camera(out, &device, path, json);
    video_close(&device);
    return true;
}

int capture_list_devices(void *stdio_file, bool json)
{
    FILE *out = stdio_file;
    struct dirent **names = NULL;
    int count = scandir("/dev", &names, is_video_node, versionsort);
    int cameras = 0;
    if (json)
        fprintf(out, "[");
    for (int i = 0; i < count; i++) {
        cameras += print_node(out, names[i]->d_name, json, cameras == 0);
        free(names[i]);
    }
    free(names);
    if (json)
        fprintf(out, "]");
    return cameras;
}

/* Every format that vivid and fftd both know, end to end: vivid's own test pattern is captured,
 * filtered by the real engine, published, read by a client of the frames socket, and compared with
 * the filter's definition in double precision, every byte. The pattern stands still, so that a
 * frame captured by itself is the input of any published one.
 *
 * VM_FORMATS=all takes every format on both kinds of device. Otherwise one goes for those that
 * share all code between camera and client, since each program takes an emulated processor most of
 * a minute to compile; capturing alone is tested with every format, by v4l2.c.
 *
 * Runs as root where vivid can be loaded (the test machine); is skipped elsewhere. */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/cmocka.h"
#include "support/frames.h"
#include "support/reference.h"

#include "camera/camera.h"
#include "capture/capture.h"
#include "core/clock.h"
#include "filters/filter.h"
#include "core/format.h"
#include "fftd/fftd.h"
#include "service/log.h"

#define SKIPPED          77
#define WIDTH            320u
#define HEIGHT           180u
#define PIXELS           (WIDTH * HEIGHT)
#define SOURCE           "v4l2:/dev/video7"
/* Not the same in x and y, and strong enough that colours leave their range. */
#define FILTER           "sharpen:amount=1,sigma=2 | notch:at=0.1/0.05,width=0.05"
/* No wait is longer. What works takes a minute where the processor is emulated: kernels are
 * compiled. */
#define PATIENCE_NS      (180 * NS_PER_S)
#define FRAME_PATIENCE_S 10

static bool multi_planar;
static struct filter_chain chain;
static struct frames frames; /* the socket that clients read from */
/* Formats with the same luma plane share a program. */
static char cache_dir[] = "/tmp/formats-XXXXXX";

/* What a test has open; a failed one leaves it to its end. */
static struct capture *capture;
static struct camera *camera;
static struct fftd *client;

/* ---- vivid ---- */

static int shell(const char *command)
{
    return system(command); /* NOLINT: fixed commands, in a machine made for it */
}

/* Squares of all colours, without the text that shows the time. */
static int load(void **state)
{
    char command[320];
    (void)state;
    snprintf(command, sizeof command,
             "modprobe -q vivid n_devs=1 node_types=0x1 num_inputs=1 input_types=0 vid_cap_nr=7 "
             "multiplanar=%d && udevadm settle && "
             "v4l2-ctl -d 7 --set-ctrl=osd_text_mode=2,test_pattern=4",
             multi_planar ? 2 : 1);
    return shell(command);
}

static int unload(void **state)
{
    (void)state;
    return shell("modprobe -r vivid");
}

static void close_capture(void)
{
    capture_close(capture);
    capture = NULL;
}

/* Ends what the test has begun. */
static int let_go(void **state)
{
    const int64_t deadline_ns = clock_now_ns() + PATIENCE_NS;
    (void)state;
    close_capture();
    fftd_close(client);
    client = NULL;
    frames_set_ring(&frames, NULL);
    while (camera_stop(camera) == -EBUSY)
        if (clock_now_ns() > deadline_ns)
            return -1;
    camera = NULL;
    return 0;
}

/* ---- pictures: what went in and what came out ---- */

struct picture {
    struct fftd_format format; /* packed */
    uint8_t bytes[4 * WIDTH * HEIGHT];
};

static struct picture pack(uint32_t fourcc, const uint8_t *const *plane, const uint32_t *stride)
{
    struct picture picture = {.bytes = {0}};
    struct error why;
    if (format_layout(&picture.format, fourcc, WIDTH, HEIGHT, 1, &why) < 0)
        fail_msg("%s", why.text);
    assert_true(picture.format.frame_bytes <= sizeof picture.bytes);
    for (unsigned p = 0; p < picture.format.plane_count; p++) {
        const struct fftd_plane *to = &picture.format.plane[p];
        for (uint32_t y = 0; y < to->rows; y++)
            memcpy(picture.bytes + to->offset + (size_t)y * to->stride,
                   plane[p] + (size_t)y * stride[p], to->row_bytes);
    }
    return picture;
}

static struct picture captured(const struct format_info *info)
{
    struct capture_frame frame;
    struct error why = {""};
    const struct capture_request request = {
        .uri = SOURCE, .width = WIDTH, .height = HEIGHT, .rate = 30, .fourcc = info->fourcc};
    if (capture_open(&capture, &request, &why) < 0 ||
        capture_start(capture, MEMORY_COPIED, NULL, &why) < 0)
        fail_msg("%s", why.text);
    int r;
    do {
        struct pollfd poll_fd = {.fd = capture->fd, .events = POLLIN};
        if (poll(&poll_fd, 1, FRAME_PATIENCE_S * 1000) == 0)
            fail_msg("no frame captured in %d s", FRAME_PATIENCE_S);
        r = capture_dequeue(capture, &frame, &why);
    } while (r == -EAGAIN);
    if (r < 0)
        fail_msg("%s", why.text);
    return pack(info->fourcc, frame.plane, frame.stride);
}

static void start_camera(const struct format_info *info)
{
    struct config config;
    struct error why;
    config_defaults(&config);
    snprintf(config.camera.source.uri, sizeof config.camera.source.uri, SOURCE);
    snprintf(config.engine.cache_dir, sizeof config.engine.cache_dir, "%s", cache_dir);
    config.camera.source.width = WIDTH;
    config.camera.source.height = HEIGHT;
    config.camera.source.rate = 10;
    config.camera.source.fourcc = info->fourcc;
    config.output.checksum = true;
    config.engine.options.margin = 24;
    config.engine.options.tune = ENGINE_TUNE_OFF;
    config.filter = chain;
    if (camera_start(&camera, &config, NULL, false, &why) < 0)
        fail_msg("%s", why.text);
}

/* Until frames of the filter are published, and what they are filtered by. */
static struct camera_status wait_for_frames(void)
{
    struct camera_status status;
    const int64_t deadline_ns = clock_now_ns() + PATIENCE_NS;
    for (;;) {
        struct pollfd poll_fd = {.fd = camera_fd(camera), .events = POLLIN};
        poll(&poll_fd, 1, 1000);
        unsigned events[CONFIG_MAX_OUTPUTS];
        camera_take_events(camera, events);
        camera_get_status(camera, CAMERA_MAIN, &status);
        if (status.published > 0 && status.filter_serial == status.wanted_serial)
            return status;
        if (status.state != CAMERA_STARTING && status.state != CAMERA_ONLINE)
            fail_msg("%s: %s", camera_state_names[status.state], status.state_reason);
        if (clock_now_ns() > deadline_ns)
            fail_msg("no frame filtered in %d s: %s, engine \"%s\"", (int)(PATIENCE_NS / NS_PER_S),
                     camera_state_names[status.state], status.engine);
    }
}

static struct picture read_frame(uint64_t serial)
{
    struct fftd_frame frame;
    const int64_t deadline_ns = clock_now_ns() + FRAME_PATIENCE_S * NS_PER_S;
    while (clock_now_ns() < deadline_ns) {
        if (fftd_wait(client, 1000) != 1 || fftd_frame(client, &frame) < 0)
            continue;
        assert_int_equal(frame.filter_serial, serial);
        const bool is_whole = fftd_frame_checksum(&frame) == frame.checksum;
        const struct picture picture = pack(frame.format->fourcc, frame.plane, frame.stride);
        if (fftd_frame_valid(client, &frame)) {
            assert_true(is_whole);
            return picture;
        }
    }
    fail_msg("the client got no frame in %d s", FRAME_PATIENCE_S);
    return (struct picture){.bytes = {0}};
}

/* From the engine's description of itself: "... 320x180 in 336x192, ...". */
static void read_padded(const char *engine, uint32_t ret_padded[2])
{
    const char *in = strstr(engine, " in ");
    char *times = NULL, *end = NULL;
    if (in != NULL)
        ret_padded[0] = (uint32_t)strtoul(in + strlen(" in "), &times, 10);
    if (times != NULL && *times == 'x')
        ret_padded[1] = (uint32_t)strtoul(times + 1, &end, 10);
    if (end == NULL || end == times + 1)
        fail_msg("no padded size in \"%s\"", engine);
}

/* A frame as a client gets it, and the padded size it was filtered at. */
static struct picture published(const struct format_info *info, uint32_t ret_padded[2])
{
    start_camera(info);
    const struct camera_status status = wait_for_frames();
    read_padded(status.engine, ret_padded);
    frames_set_ring(&frames, camera_ring(camera, CAMERA_MAIN));
    assert_int_equal(fftd_open(&client, frames.dir), 0);
    return read_frame(status.filter_serial);
}

/* ---- what should come out ---- */

static unsigned sample_at(const struct format_info *info, const struct picture *picture, unsigned x,
                          unsigned y)
{
    const uint8_t *at = picture->bytes + (size_t)y * picture->format.plane[0].stride +
                        info->offset + (size_t)x * info->step;
    return info->bits > 8 ? at[0] | (unsigned)at[1] << 8 : at[0];
}

/* A pixel's red, green and blue, or its luma alone; returns how many. */
static unsigned colours_at(const struct format_info *info, const struct picture *picture,
                           const double *samples, unsigned x, unsigned y, double ret[3])
{
    switch (info->kind) {
    case SAMPLE_RGB8:
        for (unsigned c = 0; c < 3; c++)
            ret[c] = picture->bytes[(size_t)y * picture->format.plane[0].stride +
                                    (size_t)x * info->step + info->rgb[c]];
        return 3;
    case SAMPLE_BAYER:
        for (unsigned c = 0; c < 3; c++)
            ret[c] =
                reference_mosaic(info->name, DEMOSAIC_GRADIENTS, samples, WIDTH, HEIGHT, x, y, c) *
                255 / ((1u << info->bits) - 1);
        return 3;
    case SAMPLE_U8:
    case SAMPLE_U16:
    case SAMPLE_F32:
        break;
    }
    ret[0] = sample_at(info, picture, x, y);
    return 1;
}

static double clamp(double value, double top)
{
    return value < 0 ? 0 : value > top ? top : value;
}

/* Compares what is filtered with the definition and marks its bytes; returns the largest
 * difference. */
static double compare_filtered(const struct format_info *info, const struct picture *in,
                               const struct picture *out, const uint32_t padded[2], uint8_t *seen)
{
    static double samples[PIXELS], colour[PIXELS][3], luma[PIXELS], filtered[PIXELS];
    const struct format_info *result = format_by_fourcc(out->format.fourcc);
    const double top = (1u << result->bits) - 1;
    const unsigned sample_bytes = result->bits > 8 ? 2 : 1;
    unsigned colours = 0;
    for (unsigned i = 0; i < PIXELS && info->kind == SAMPLE_BAYER; i++)
        samples[i] = sample_at(info, in, i % WIDTH, i / WIDTH);
    for (unsigned i = 0; i < PIXELS; i++) {
        double *c = colour[i];
        colours = colours_at(info, in, samples, i % WIDTH, i / WIDTH, c);
        luma[i] = colours == 1 ? c[0] : 0.299 * c[0] + 0.587 * c[1] + 0.114 * c[2];
    }
    const struct reference reference = {.width = WIDTH,
                                        .height = HEIGHT,
                                        .padded_x = padded[0],
                                        .padded_y = padded[1],
                                        .border = PLAN_MIRROR,
                                        .sub_x = 1,
                                        .sub_y = 1,
                                        .chain = &chain};
    reference_filter(&reference, luma, filtered);

    double worst = 0;
    for (unsigned i = 0; i < PIXELS; i++)
        for (unsigned c = 0; c < colours; c++) {
            const size_t at = (size_t)(i / WIDTH) * out->format.plane[0].stride +
                              (size_t)(i % WIDTH) * result->step +
                              (colours == 1 ? result->offset : result->rgb[c]);
            const double expected = clamp(colour[i][c] + filtered[i] - luma[i], top);
            const double got =
                sample_bytes == 2 ? out->bytes[at] | out->bytes[at + 1] << 8 : out->bytes[at];
            if (fabs(got - expected) > 1)
                fail_msg("at %u, %u component %u: %.0f, expected %.2f", i % WIDTH, i / WIDTH, c,
                         got, expected);
            worst = fmax(worst, fabs(got - expected));
            memset(seen + at, 1, sample_bytes);
        }
    return worst;
}

/* What is not filtered came through as it was: chroma, unused bytes. (Of a mosaic's pixels the
 * fourth byte is nobody's.) */
static void compare_rest(const struct picture *in, const struct picture *out, const uint8_t *seen)
{
    if (in->format.fourcc != out->format.fourcc)
        return;
    for (uint32_t i = 0; i < out->format.frame_bytes; i++)
        if (!seen[i] && out->bytes[i] != in->bytes[i])
            fail_msg("byte %u: %u, expected %u", i, out->bytes[i], in->bytes[i]);
}

/* ---- tests ---- */

static void arrives_filtered(void **state)
{
    const struct format_info *info = *state;
    uint32_t padded[2] = {0};
    struct picture in = captured(info);
    close_capture();
    struct picture out = published(info, padded);
    assert_int_equal(out.format.fourcc, format_published(info->fourcc));
    uint8_t seen[sizeof out.bytes] = {0};
    const double worst = compare_filtered(info, &in, &out, padded, seen);
    compare_rest(&in, &out, seen);
    const struct format_info *result = format_by_fourcc(out.format.fourcc);
    print_message("%s -> %s: largest difference %.3f of %u\n", info->name, result->name, worst,
                  (1u << result->bits) - 1);
}

/* What stands for the rest: luma in a plane of its own, alone, with one and with two planes of
 * chroma (these share a program); luma among chroma; more than 8 bits; colours; a mosaic, of more
 * than 8 bits. With multi-planar devices two and three buffers a frame; all else is the same there.
 */
static bool is_chosen(const struct format_info *info)
{
    static const char *const single[] = {"GREY", "NV12",  "YUV420", "UYVY",
                                         "Y12",  "RGB24", "SGRBG10"};
    static const char *const multi[] = {"NV12", "NV16", "YVU420"};
    const char *all = getenv("VM_FORMATS");
    const char *const *names = multi_planar ? multi : single;
    size_t count = multi_planar ? sizeof multi / sizeof multi[0] : sizeof single / sizeof single[0];
    bool chosen = all != NULL && strcmp(all, "all") == 0;
    for (size_t i = 0; i < count; i++)
        chosen |= strcmp(info->name, names[i]) == 0;
    return chosen;
}

static int test_device(const char *name, bool multi)
{
    unsigned formats, count = 0;
    const struct format_info *table = format_table(&formats);
    struct CMUnitTest *tests = calloc(formats, sizeof *tests);
    multi_planar = multi;
    for (unsigned i = 0; i < formats; i++)
        if (is_chosen(&table[i]))
            tests[count++] = (struct CMUnitTest){
                .name = table[i].name,
                .test_func = arrives_filtered,
                .teardown_func = let_go,
                .initial_state = (void *)&table[i],
            };
    const int failed = _cmocka_run_group_tests(name, tests, count, load, unload);
    free(tests);
    return failed;
}

int main(void)
{
    struct error why;
    log_init("test", LOG_WARNING);
    /* PoCL's optimiser takes three quarters of the time; it is not what is tested. */
    setenv("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable", 1);
    if (filter_chain_parse(&chain, FILTER, &why) < 0 || mkdtemp(cache_dir) == NULL)
        return 1;
    if (load(NULL) != 0)
        return SKIPPED;
    if (unload(NULL) != 0)
        return 1;
    frames_start(&frames, NULL, 4);
    int failed = test_device("formats single-planar", false);
    failed += test_device("formats multi-planar", true);
    frames_stop(&frames);
    frames_remove(&frames);
    return failed;
}

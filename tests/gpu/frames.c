/* What recipe_check_frames says of frames and a chain is what the engine says when it is built for
 * the frames and designs the chain. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "support/chains.h"
#include "support/cmocka.h"
#include "support/device.h"

#include "engine/engine.h"

#define LENS "undistort:fx=30,fy=30,cx=15,cy=11,k1=-0.1"

struct check {
    const char *format;
    uint32_t width, height;
    enum recipe_planes planes;
    enum view_kind view;
    const char *chain;
    int expected;
    const char *reason;
};

static const struct check checks[] = {
    /* The smallest frames, and long ones. */
    {"GREY", 16, 16, RECIPE_LUMA, VIEW_PICTURE, "sharpen", 0, NULL},
    {"NV12", 16, 16, RECIPE_ALL, VIEW_PICTURE, "sharpen", 0, NULL},
    {"YUYV", 16, 16, RECIPE_LUMA, VIEW_PICTURE, "gaussian-blur:sigma=9", 0, NULL},
    {"RGB24", 17, 16, RECIPE_ALL, VIEW_PICTURE, "sharpen", 0, NULL},
    {"SRGGB8", 16, 16, RECIPE_LUMA_ONLY, VIEW_PICTURE, "denoise:sigma=5", 0, NULL},
    {"GREY", 8192, 16, RECIPE_LUMA, VIEW_PICTURE, "sharpen", 0, NULL},
    {"GREY", 16, 8192, RECIPE_LUMA, VIEW_PICTURE, "sharpen", 0, NULL},
    {"GREY", 15, 16, RECIPE_LUMA, VIEW_PICTURE, "none", -EINVAL, "expected 16x16 .. 8192x8192"},
    {"GREY", 7, 1, RECIPE_LUMA, VIEW_PICTURE, "none", -EINVAL, "frames of 7x1 cannot"},
    {"GREY", 8193, 16, RECIPE_LUMA, VIEW_PICTURE, "none", -EINVAL, "frames of 8193x16 cannot"},
    {"GREY", 16, 8193, RECIPE_LUMA, VIEW_PICTURE, "none", -EINVAL, "frames of 16x8193 cannot"},

    /* What moves, and colours that do not. */
    {"NV12", 32, 24, RECIPE_LUMA, VIEW_PICTURE, "stabilise", -EINVAL, "stabilise moves pixels"},
    {"YUYV", 32, 24, RECIPE_LUMA, VIEW_PICTURE, LENS, -EINVAL, "leaves the colour of YUYV"},
    {"XBGR32", 32, 24, RECIPE_LUMA, VIEW_PICTURE, "stabilise", -EINVAL, "expected engine.planes"},
    {"SRGGB8", 32, 24, RECIPE_LUMA, VIEW_PICTURE, "stabilise", -EINVAL, "expected engine.planes"},
    {"SRGGB8", 32, 24, RECIPE_LUMA, VIEW_PICTURE, LENS, 0, NULL},
    {"GREY", 32, 24, RECIPE_LUMA, VIEW_PICTURE, "stabilise | " LENS, 0, NULL},
    {"NV12", 32, 24, RECIPE_ALL, VIEW_PICTURE, "stabilise", 0, NULL},
    {"NV12", 32, 24, RECIPE_LUMA, VIEW_PICTURE, "stabilise:model=similarity", -EINVAL,
     "stabilise moves pixels"},
    {"NV12", 32, 24, RECIPE_LUMA, VIEW_PICTURE, "stack", -EINVAL, "stack moves pixels"},
    {"XBGR32", 32, 24, RECIPE_LUMA, VIEW_PICTURE, "stabilise:model=similarity", 0, NULL},
    {"NV12", 32, 24, RECIPE_LUMA_ONLY, VIEW_PICTURE, LENS, 0, NULL},
    {"NV12", 32, 24, RECIPE_LUMA, VIEW_DIFFERENCE, "stabilise", 0, NULL},

    /* What is for frames of another size, or no calibration at all. */
    {"GREY", 32, 24, RECIPE_LUMA, VIEW_PICTURE, "dark:image=levels", -EINVAL, "3x2 pixels"},
    {"GREY", 32, 24, RECIPE_LUMA, VIEW_PICTURE, "flat:image=levels", -EINVAL, "expected 32x24"},
    {"GREY", 32, 24, RECIPE_LUMA, VIEW_PICTURE, LENS ",size=320/240", 0, NULL},
    {"GREY", 32, 24, RECIPE_LUMA, VIEW_PICTURE, LENS ",size=320/320", -EINVAL, "proportions"},
    {"GREY", 32, 24, RECIPE_LUMA, VIEW_PICTURE, LENS ",k4=-100", -EINVAL, "to no place"},
    {"GREY", 4096, 16, RECIPE_LUMA, VIEW_PICTURE, "undistort:fx=30,fy=30,cx=2000,cy=7,zoom=10",
     -ERANGE, "expected less than 1024"},
};

static int build(const struct recipe *recipe, const struct fftd_format *published,
                 const struct filter_chain *chain, struct error *why)
{
    const struct engine_options options = {
        .recipe = *recipe, .margin = -1, .in_flight = 1, .technique = ENGINE_STAGED};
    struct engine_response *response = NULL;
    struct engine *engine = NULL;
    int r = engine_create(&engine, device, published, &options, filter_chain_support(chain), NULL,
                          NULL, why);
    if (r == 0)
        r = engine_design(engine, chain, &response, why);
    engine_response_free(response);
    engine_destroy(engine);
    return r;
}

/* Frames that are too large for the tables of formats are laid out here. */
static struct fftd_format publish(const struct check *check, uint32_t captured)
{
    struct fftd_format ret;
    const uint32_t fourcc = engine_published(&(struct recipe){.planes = check->planes}, captured);
    if (format_layout(&ret, fourcc, check->width, check->height, 64, NULL) < 0)
        ret = (struct fftd_format){
            .fourcc = fourcc, .width = check->width, .height = check->height, .plane_count = 1};
    return ret;
}

static void the_engine_agrees(void **state)
{
    (void)state;
    chains_use_images();
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        const struct check *check = &checks[i];
        const struct filter_chain chain = chain_of(check->chain);
        const struct recipe settings = {.planes = check->planes,
                                        .view = check->view,
                                        .captured = format_by_name(check->format)->fourcc};
        const struct recipe recipe = recipe_of(&chain, &settings);
        const struct fftd_format published = publish(check, settings.captured);
        struct error said = {""}, met = {""};
        if (device_is_simulated() && check->width + check->height > 100)
            continue;
        const int r = recipe_check_frames(&recipe, &published, &chain, &said);
        const int built = build(&recipe, &published, &chain, &met);
        if (r != check->expected || built != r || strcmp(said.text, met.text) != 0 ||
            (check->reason != NULL && strstr(said.text, check->reason) == NULL))
            fail_msg("%s %ux%u, %s: %d \"%s\", the engine %d \"%s\"", check->format, check->width,
                     check->height, check->chain, r, said.text, built, met.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_engine_agrees),
    };
    return cmocka_run_group_tests(tests, device_setup, device_teardown);
}

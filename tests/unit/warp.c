/* The table that moves pixels: of which chains, in which units, and what is refused. Its numbers
 * are compared with a model in tests/gpu/undistort.c, and with OpenCV's in
 * tests/integration/peers_undistort.py. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"

#include "filters/warp.h"

#define WIDTH  40u
#define HEIGHT 30u

static int16_t table[WIDTH * HEIGHT][2];

static const struct warp_image whole = {.width = WIDTH,
                                        .height = HEIGHT,
                                        .frame_width = WIDTH,
                                        .frame_height = HEIGHT,
                                        .sub_x = 1,
                                        .sub_y = 1};

static int fill(const struct warp_image *image, const char *text, struct error *why)
{
    struct filter_chain chain;
    if (filter_chain_parse(&chain, text, why) < 0)
        fail_msg("%s", why->text);
    return warp_fill(table, image, &chain, why);
}

static bool is_needed(const char *text)
{
    struct filter_chain chain;
    struct error why;
    if (filter_chain_parse(&chain, text, &why) < 0)
        fail_msg("%s", why.text);
    return warp_is_needed(&chain);
}

static void only_chains_that_move_pixels_need_a_table(void **state)
{
    struct error why;
    (void)state;
    assert_false(is_needed("none"));
    assert_false(is_needed("gain | vignette"));
    assert_true(is_needed("gain | undistort:fx=40,fy=40,cx=20,cy=15"));
    memset(table, 1, sizeof table);
    assert_int_equal(fill(&whole, "gain", &why), 0);
    for (unsigned i = 0; i < WIDTH * HEIGHT; i++)
        assert_true(table[i][0] == 0 && table[i][1] == 0);
    memset(table, 1, sizeof table);
    assert_int_equal(fill(&whole, "undistort:fx=40,fy=40,cx=20,cy=15", &why), 0);
    for (unsigned i = 0; i < WIDTH * HEIGHT; i++)
        assert_true(table[i][0] == 0 && table[i][1] == 0); /* a lens without distortion */
}

/* With a zoom of 2 the places are half as far from the axis, in units of 1/32. */
static void moves_are_in_units(void **state)
{
    struct error why;
    (void)state;
    assert_int_equal(fill(&whole, "undistort:fx=40,fy=50,cx=10,cy=20,zoom=2", &why), 0);
    for (int y = 0; y < (int)HEIGHT; y++)
        for (int x = 0; x < (int)WIDTH; x++) {
            const int16_t *entry = table[y * (int)WIDTH + x];
            assert_int_equal(entry[0], -16 * (x - 10));
            assert_int_equal(entry[1], -16 * (y - 20));
        }
}

/* With a zoom of 1/2 most places are beyond the frame, and become those of its edge. */
static void places_beyond_the_frame_are_at_its_edge(void **state)
{
    struct error why;
    (void)state;
    assert_int_equal(fill(&whole, "undistort:fx=40,fy=40,cx=10,cy=20,zoom=0.5", &why), 0);
    for (int y = 0; y < (int)HEIGHT; y++)
        for (int x = 0; x < (int)WIDTH; x++) {
            const int16_t *entry = table[y * (int)WIDTH + x];
            const int column = 10 + 2 * (x - 10), row = 20 + 2 * (y - 20);
            assert_int_equal(x + entry[0] / 32, column < 0 ? 0 : column > 39 ? 39 : column);
            assert_int_equal(y + entry[1] / 32, row < 0 ? 0 : row > 29 ? 29 : row);
        }
}

/* A sample of chroma is in the middle of its pixels, and moves half as many samples as they do. */
static void chroma_moves_with_luma(void **state)
{
    const struct warp_image chroma = {.width = 20,
                                      .height = 15,
                                      .frame_width = WIDTH,
                                      .frame_height = HEIGHT,
                                      .sub_x = 2,
                                      .sub_y = 2};
    struct error why;
    (void)state;
    assert_int_equal(fill(&chroma, "undistort:fx=40,fy=40,cx=10.5,cy=20.5,zoom=2", &why), 0);
    for (int y = 0; y < 15; y++)
        for (int x = 0; x < 20; x++) {
            assert_int_equal(table[y * 20 + x][0], -16 * (x - 5));
            assert_int_equal(table[y * 20 + x][1], -16 * (y - 10));
        }
}

static void another_size_is_scaled_or_refused(void **state)
{
    static int16_t expected[WIDTH * HEIGHT][2];
    struct error why = {""};
    (void)state;
    assert_int_equal(fill(&whole, "undistort:fx=40,fy=50,cx=9.5,cy=19.5,k1=-0.2", &why), 0);
    memcpy(expected, table, sizeof table);
    assert_int_equal(
        fill(&whole, "undistort:fx=160,fy=200,cx=39.5,cy=79.5,k1=-0.2,size=160/120", &why), 0);
    assert_memory_equal(table, expected, sizeof table);
    assert_int_equal(fill(&whole, "undistort:fx=40,fy=40,cx=20,cy=15,size=160/90", &why), -EINVAL);
    assert_non_null(strstr(why.text, "size = 160/90"));
    assert_non_null(strstr(why.text, "40x30"));
}

/* Distances that the table cannot hold, and places that do not exist. */
static void absurd_lenses_are_refused(void **state)
{
    struct error why = {""};
    static int16_t row[4000][2];
    const struct warp_image wide = {
        .width = 4000, .height = 1, .frame_width = 4000, .frame_height = 1, .sub_x = 1, .sub_y = 1};
    struct filter_chain chain;
    (void)state;
    assert_int_equal(fill(&whole, "undistort:fx=9,fy=9,cx=20,cy=15,k4=-1", &why), -EINVAL);
    assert_non_null(strstr(why.text, "to no place"));
    assert_int_equal(
        filter_chain_parse(&chain, "undistort:fx=1000,fy=1000,cx=2000,cy=0,zoom=5", &why), 0);
    assert_int_equal(warp_fill(row, &wide, &chain, &why), -ERANGE);
    assert_non_null(strstr(why.text, "would move by 1600, 0 samples"));
}

/* ---- fish-eye lenses ---- */

/* At 45 degrees from the axis a fish-eye draws pi/4 where a rectilinear lens draws 1. */
static void a_fisheye_bends_with_the_angle(void **state)
{
    struct error why;
    (void)state;
    assert_int_equal(fill(&whole, "undistort:model=fisheye,fx=16,fy=16,cx=20,cy=15", &why), 0);
    assert_int_equal(table[15 * WIDTH + 20][0], 0);
    assert_int_equal(table[15 * WIDTH + 36][0], lrint(32 * 16 * (M_PI / 4 - 1)));
    assert_int_equal(table[15 * WIDTH + 36][1], 0);
    assert_int_equal(table[29 * WIDTH + 20][1], lrint(32 * (16 * atan(14. / 16) - 14)));
    /* Of k1 .. k4 each has the next even power of the angle, pi/4 here. */
    for (unsigned k = 1; k <= 4; k++) {
        char text[128];
        snprintf(text, sizeof text, "undistort:model=fisheye,fx=16,fy=16,cx=20,cy=15,k%u=0.1", k);
        assert_int_equal(fill(&whole, text, &why), 0);
        assert_int_equal(table[15 * WIDTH + 36][0],
                         lrint(32 * fmin(16 * (M_PI / 4 * (1 + 0.1 * pow(M_PI / 4, 2 * k)) - 1),
                                         WIDTH - 1. - 36)));
    }
}

/* ---- tables from a file ---- */

static struct filter_image *maps;

static int load_maps(const struct filter_image **ret, const char *name, struct error *why)
{
    (void)name, (void)why;
    *ret = maps;
    return 0;
}

/* Makes a table of `rows` rows for all columns, then all rows, of frames; each number is that of
 * `at` plus its index in the half. */
static void make_maps(unsigned columns, unsigned rows, double column, double row, double scale)
{
    char text[128];
    const int header = snprintf(text, sizeof text, "Pf\n%u %u\n-1\n", columns, rows);
    const size_t count = (size_t)columns * rows;
    uint8_t *bytes = malloc((size_t)header + 4 * count);
    float *numbers = malloc(4 * count);
    struct error why;
    const unsigned half = rows / 2;
    for (unsigned y = 0; y < rows; y++)
        for (unsigned x = 0; x < columns; x++) /* a PFM begins with its last row */
            numbers[(size_t)(rows - 1 - y) * columns + x] =
                (float)(scale * (y < half ? x + column : y - half + row));
    memcpy(bytes, text, (size_t)header);
    memcpy(bytes + header, numbers, 4 * count);
    filter_image_destroy(maps);
    if (filter_image_parse(&maps, "maps.pfm", bytes, (size_t)header + 4 * count, &why) < 0)
        fail_msg("%s", why.text);
    filter_image_set_loader(load_maps);
    free(bytes);
    free(numbers);
}

static void a_file_says_where_pixels_are(void **state)
{
    const struct warp_image chroma = {.width = WIDTH / 2,
                                      .height = HEIGHT / 2,
                                      .frame_width = WIDTH,
                                      .frame_height = HEIGHT,
                                      .sub_x = 2,
                                      .sub_y = 2};
    struct error why;
    (void)state;
    make_maps(WIDTH, 2 * HEIGHT, 2, -1.25, 1);
    assert_int_equal(fill(&whole, "remap:image=maps.pfm", &why), 0);
    for (int y = 0; y < (int)HEIGHT; y++)
        for (int x = 0; x < (int)WIDTH; x++) { /* beyond the frame is its edge */
            const int16_t *entry = table[y * (int)WIDTH + x];
            assert_int_equal(entry[0], x + 2 < (int)WIDTH ? 64 : 32 * ((int)WIDTH - 1 - x));
            assert_int_equal(entry[1], y > 1 ? -40 : -32 * y);
        }
    /* A sample of chroma is in the middle of four pixels, and half as far away from its place. */
    assert_int_equal(fill(&chroma, "remap:image=maps.pfm", &why), 0);
    assert_int_equal(table[5 * WIDTH / 2 + 5][0], 32);
    assert_int_equal(table[5 * WIDTH / 2 + 5][1], -20);
}

static void to_captured(const struct warp_middle *middle, double at[2])
{
    const double x = at[0], y = at[1];
    at[0] = middle->off[0] + middle->by[0] * x + middle->by[1] * y;
    at[1] = middle->off[1] + middle->by[2] * x + middle->by[3] * y;
}

/* A place that moves in the result is where its place in the captured frame moves. */
static void carry(const struct warp_middle *middle)
{
    const struct similarity captured = {.dx = 3, .dy = -2, .angle_rad = 0.1, .log_zoom = -0.2};
    struct similarity result = captured;
    double at[2] = {7, -5}, before[2] = {7, -5};
    warp_carry(middle, &result);
    similarity_move(&result, at);
    to_captured(middle, at);
    to_captured(middle, before);
    similarity_move(&captured, before);
    assert_true(fabs(at[0] - before[0]) < 1e-9 && fabs(at[1] - before[1]) < 1e-9);
}

static struct warp_middle find_middle(const char *text)
{
    struct filter_chain chain;
    assert_int_equal(filter_chain_parse(&chain, text, NULL), 0);
    return warp_find_middle(&chain, WIDTH, HEIGHT);
}

/* Lenses that zoom, tables that turn by 180 degrees, and mirrors. */
static void motion_is_carried_through_the_middle(void **state)
{
    const struct warp_middle mirror = {.by = {-1, 0, 0, 1}, .off = {4, 0}};
    (void)state;
    struct warp_middle middle = find_middle("gain");
    assert_true(middle.by[0] == 1 && middle.by[1] == 0 && middle.by[2] == 0 && middle.by[3] == 1);
    carry(&middle);
    middle = find_middle("undistort:fx=40,fy=40,cx=10,cy=20,zoom=2");
    assert_true(fabs(middle.by[0] - 0.5) < 1e-9 && fabs(middle.by[3] - 0.5) < 1e-9);
    assert_true(fabs(middle.off[0] - (10 - 19.5) / 2) < 1e-9);
    carry(&middle);
    make_maps(WIDTH, 2 * HEIGHT, 1. - WIDTH, 1. - HEIGHT, -1);
    middle = find_middle("remap:image=maps.pfm");
    assert_true(fabs(middle.by[0] + 1) < 1e-9 && fabs(middle.by[3] + 1) < 1e-9);
    carry(&middle);
    carry(&mirror);
}

static void refuse_maps(const char *reason)
{
    struct filter_chain chain;
    struct error why = {""};
    assert_int_equal(filter_chain_parse(&chain, "remap:image=maps.pfm", &why), 0);
    assert_int_equal(warp_check(&chain, WIDTH, HEIGHT, &why), -EINVAL);
    if (strstr(why.text, reason) == NULL)
        fail_msg("%s: expected %s", why.text, reason);
}

static void tables_of_other_frames_are_refused(void **state)
{
    (void)state;
    make_maps(WIDTH, HEIGHT, 0, 0, 1);
    refuse_maps("image maps.pfm has 40x30 numbers: expected 40x60 for frames of 40x30");
    make_maps(WIDTH, 2 * HEIGHT + 1, 0, 0, 1);
    refuse_maps("has 40x61 numbers: expected 40x60");
    make_maps(WIDTH + 1, 2 * HEIGHT, 0, 0, 1);
    refuse_maps("has 41x60 numbers: expected 40x60");
    make_maps(WIDTH, 2 * HEIGHT, 0, 0, 1. / WIDTH);
    refuse_maps("the highest number of image maps.pfm is 0.975: expected columns and rows");
}

static void refuse_chain(const char *text, const char *reason)
{
    struct filter_chain chain = {.count = 7};
    struct error why = {""};
    assert_int_equal(filter_chain_parse(&chain, text, &why), -EINVAL);
    assert_int_equal(chain.count, 7);
    if (strstr(why.text, reason) == NULL)
        fail_msg("%s: expected %s", why.text, reason);
}

#define LENS "undistort:fx=40,fy=40,cx=20,cy=15"

static void chains_that_cannot_work_are_refused(void **state)
{
    (void)state;
    refuse_chain(LENS " | gain | " LENS, "stage 3: the chain has undistort already");
    refuse_chain(LENS " | remap:image=maps.pfm", "stage 2: the chain has undistort already");
    refuse_chain("undistort:model=fisheye,fx=40,fy=40,cx=20,cy=15,k5=0.5",
                 "k5 = 0.5, but model = fisheye has only k1 .. k4");
    refuse_chain("undistort:model=fish,fx=40,fy=40,cx=20,cy=15", "model = fish");
    refuse_chain("auto-notch | " LENS, "auto-notch corrects pixels where they are captured");
    refuse_chain(LENS " | deflicker", "deflicker corrects pixels where they are captured");
    refuse_chain("undistort:fx=40,fy=40,cx=20", "cy is missing");
    refuse_chain("undistort:fx=0,fy=40,cx=20,cy=15", "fx = 0 is out of range");
    refuse_chain(LENS ",k1=nan", "k1 = nan");
    refuse_chain(LENS ",size=0/4", "size = 0/4 is not the size of a picture");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_chains_that_move_pixels_need_a_table),
        cmocka_unit_test(moves_are_in_units),
        cmocka_unit_test(places_beyond_the_frame_are_at_its_edge),
        cmocka_unit_test(chroma_moves_with_luma),
        cmocka_unit_test(another_size_is_scaled_or_refused),
        cmocka_unit_test(absurd_lenses_are_refused),
        cmocka_unit_test(a_fisheye_bends_with_the_angle),
        cmocka_unit_test(a_file_says_where_pixels_are),
        cmocka_unit_test(motion_is_carried_through_the_middle),
        cmocka_unit_test(tables_of_other_frames_are_refused),
        cmocka_unit_test(chains_that_cannot_work_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

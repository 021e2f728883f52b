/* estimators/match.h, beside the sums of its definition in double precision. */
#include "estimators/match.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"

#define MAX_PIXELS (320 * 200)

static float luma[MAX_PIXELS];

static uint32_t random_state;

static double uniform(void)
{
    random_state = random_state * 1664525u + 1013904223u;
    return random_state / 4294967296.0;
}

/* A picture of blocks with noise. */
static void draw(unsigned width, unsigned height, uint32_t seed)
{
    random_state = seed;
    for (unsigned y = 0; y < height; y++)
        for (unsigned x = 0; x < width; x++)
            luma[y * width + x] =
                (float)(40 + 100 * ((x / 9 * 7 + y / 11 * 5) % 13) / 13.0 + 60 * uniform());
}

static struct filter_image *make_image(unsigned columns, unsigned rows)
{
    struct filter_image *image =
        calloc(1, sizeof *image + (size_t)columns * rows * sizeof image->pixel[0]);
    image->columns = columns;
    image->rows = rows;
    strcpy(image->name, "t.txt");
    return image;
}

static void complete(struct filter_image *image)
{
    image->sum = image->square_sum = 0;
    for (unsigned i = 0; i < image->columns * image->rows; i++) {
        image->sum += (double)image->pixel[i];
        image->square_sum += pow((double)image->pixel[i], 2);
    }
}

/* A part of the picture in another brightness and contrast. */
static struct filter_image *cut(unsigned width, unsigned left, unsigned top, unsigned columns,
                                unsigned rows, double contrast)
{
    struct filter_image *image = make_image(columns, rows);
    for (unsigned y = 0; y < rows; y++)
        for (unsigned x = 0; x < columns; x++)
            image->pixel[y * columns + x] =
                (float)(0.4 + contrast * (double)luma[(top + y) * width + left + x] / 255);
    complete(image);
    return image;
}

static struct match find(unsigned width, unsigned height, const struct filter_image *image)
{
    struct matcher *matcher;
    struct match match;
    struct error why;
    const struct filter_image *const images[] = {image};
    assert_int_equal(matcher_create(&matcher, width, height, images, 1, &why), 0);
    matcher_find(matcher, luma, &match);
    matcher_find(matcher, luma, &match); /* the second search does not depend on the first */
    matcher_destroy(matcher);
    return match;
}

/* By the definition. */
static double score_at(unsigned width, const struct filter_image *image, unsigned left,
                       unsigned top)
{
    const double count = image->columns * image->rows;
    double mean = 0, product = 0, variation = 0, image_variation = 0;
    for (unsigned y = 0; y < image->rows; y++)
        for (unsigned x = 0; x < image->columns; x++)
            mean += (double)luma[(top + y) * width + left + x] / count;
    for (unsigned y = 0; y < image->rows; y++)
        for (unsigned x = 0; x < image->columns; x++) {
            const double a = (double)image->pixel[y * image->columns + x] - image->sum / count;
            const double b = (double)luma[(top + y) * width + left + x] - mean;
            product += a * b;
            image_variation += a * a;
            variation += b * b;
        }
    return product / sqrt(image_variation * variation);
}

static void parts_of_the_picture_are_found(void **state)
{
    /* Pictures of one square and of many; templates at edges, of one row, and as large as both. */
    static const struct {
        unsigned width, height, left, top, columns, rows;
    } cases[] = {
        {60, 50, 21, 17, 8, 8},       {60, 50, 0, 0, 9, 7},      {60, 50, 52, 40, 8, 10},
        {320, 200, 211, 140, 31, 24}, {320, 200, 63, 61, 5, 40}, {320, 200, 289, 0, 31, 31},
        {320, 200, 40, 199, 30, 1},   {60, 50, 0, 0, 60, 50},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const unsigned columns = cases[i].columns, rows = cases[i].rows;
        draw(cases[i].width, cases[i].height, (uint32_t)i);
        struct filter_image *image =
            cut(cases[i].width, cases[i].left, cases[i].top, columns, rows, 0.3);
        const struct match match = find(cases[i].width, cases[i].height, image);
        const unsigned x = cases[i].left + columns / 2, y = cases[i].top + rows / 2;
        assert_true(fabs(match.x - x) < 0.5 && fabs(match.y - y) < 0.5);
        assert_true(match.score > 0.99999 && match.score <= 1);
        free(image);
    }
}

/* Returns the best place of all, of the template's first pixel. */
static double best_score(unsigned width, unsigned height, const struct filter_image *image,
                         unsigned *ret_left, unsigned *ret_top)
{
    double best = -2;
    for (unsigned y = 0; y + image->rows <= height; y++)
        for (unsigned x = 0; x + image->columns <= width; x++) {
            const double score = score_at(width, image, x, y);
            if (score > best) {
                best = score;
                *ret_left = x;
                *ret_top = y;
            }
        }
    return best;
}

/* Of a template that is not in the picture, nor its negative. */
static void the_best_place_is_that_of_the_definition(void **state)
{
    const unsigned width = 150, height = 90;
    (void)state;
    for (uint32_t seed = 1; seed <= 4; seed++) {
        draw(width, height, seed);
        struct filter_image *image = cut(width, 30 * seed, 10 * seed, 13, 16, -1);
        random_state = seed;
        for (unsigned k = 0; k < 13 * 16; k++)
            image->pixel[k] += (float)(0.2 * uniform());
        complete(image);
        unsigned left = 0, top = 0;
        const double best = best_score(width, height, image, &left, &top);
        const struct match match = find(width, height, image);
        assert_true(best < 0.9);
        assert_true(fabs(match.score - best) < 1e-5);
        assert_true(fabs(match.x - (left + 6)) <= 0.5 && fabs(match.y - (top + 8)) <= 0.5);
        free(image);
    }
}

static void assert_is_best(unsigned width, unsigned height, const struct filter_image *image,
                           struct match match)
{
    unsigned left = 0, top = 0;
    const double best = best_score(width, height, image, &left, &top);
    const unsigned x = left + image->columns / 2, y = top + image->rows / 2;
    if (!(fabs(match.x - x) <= 0.5 && fabs(match.y - y) <= 0.5 && fabs(match.score - best) < 1e-5))
        fail_msg("template of %ux%u: %g at %g, %g instead of %g at %u, %u", image->columns,
                 image->rows, match.score, match.x, match.y, best, x, y);
}

/* Plain rectangles of random sizes that hide each other, with some noise. */
static void draw_rectangles(unsigned width, unsigned height, uint32_t seed)
{
    random_state = seed;
    for (unsigned i = 0; i < 150; i++) {
        const unsigned left = (unsigned)(uniform() * width), top = (unsigned)(uniform() * height);
        const unsigned columns = i == 0 ? width : 8 + (unsigned)(uniform() * 40);
        const unsigned rows = i == 0 ? height : 8 + (unsigned)(uniform() * 40);
        const float level = (float)(40 + 180 * uniform());
        for (unsigned y = i == 0 ? 0 : top; y < top + rows && y < height; y++)
            for (unsigned x = i == 0 ? 0 : left; x < left + columns && x < width; x++)
                luma[y * width + x] = level;
    }
    for (unsigned i = 0; i < width * height; i++)
        luma[i] += (float)(12 * uniform());
}

/* Templates of random sizes from random places, with noise of their own. In the first two pictures
 * they are looked for in blocks of 2 and 4 pixels, and in the third one, whose texture is fine,
 * pixel by pixel. */
static void sixteen_templates_are_where_the_definition_says(void **state)
{
    const unsigned width = 180, height = 130, count = FILTER_MAX_MATCHES;
    (void)state;
    for (uint32_t seed = 1; seed <= 3; seed++) {
        struct filter_image *image[FILTER_MAX_MATCHES];
        struct match match[FILTER_MAX_MATCHES], again[FILTER_MAX_MATCHES];
        struct matcher *matcher;
        struct error why = {""};
        if (seed < 3)
            draw_rectangles(width, height, seed);
        else
            draw(width, height, seed);
        for (unsigned i = 0; i < count; i++) {
            const unsigned columns = 16 + (unsigned)(uniform() * 40);
            const unsigned rows = 16 + (unsigned)(uniform() * 40);
            image[i] = cut(width, (unsigned)(uniform() * (width - columns)),
                           (unsigned)(uniform() * (height - rows)), columns, rows, 0.3);
            for (unsigned k = 0; k < columns * rows; k++)
                image[i]->pixel[k] += (float)(0.02 * uniform());
            complete(image[i]);
        }
        const struct filter_image *const *images = (const struct filter_image *const *)image;
        assert_int_equal(matcher_create(&matcher, width, height, images, count, &why), 0);
        matcher_find(matcher, luma, match);
        matcher_find(matcher, luma, again);
        matcher_destroy(matcher);
        assert_memory_equal(match, again, sizeof match);
        for (unsigned i = 0; i < count; i++) {
            assert_is_best(width, height, image[i], match[i]);
            const struct match alone = find(width, height, image[i]);
            assert_true(fabs(alone.x - match[i].x) < 1e-3 && fabs(alone.y - match[i].y) < 1e-3);
            free(image[i]);
        }
    }
}

static void find_all(unsigned width, unsigned height, struct filter_image **image, unsigned count,
                     struct match *ret)
{
    struct matcher *matcher;
    struct error why;
    assert_int_equal(matcher_create(&matcher, width, height,
                                    (const struct filter_image *const *)image, count, &why),
                     0);
    matcher_find(matcher, luma, ret);
    matcher_destroy(matcher);
}

/* Fine texture, in which some templates are the same, or negatives of each other, or not in the
 * picture at all. */
static void templates_of_fine_texture_do_not_hide_each_other(void **state)
{
    const unsigned width = 180, height = 130, count = FILTER_MAX_MATCHES;
    struct filter_image *image[FILTER_MAX_MATCHES];
    struct match match[FILTER_MAX_MATCHES];
    (void)state;
    draw(width, height, 5);
    for (unsigned i = 0; i < count; i++) {
        const unsigned columns = 40 + (unsigned)(uniform() * 20);
        const unsigned rows = 40 + (unsigned)(uniform() * 20);
        const unsigned left = (unsigned)(uniform() * (width - columns));
        const unsigned top = (unsigned)(uniform() * (height - rows));
        if (i % 4 == 1) {
            image[i] = make_image(image[i - 1]->columns, image[i - 1]->rows);
            for (unsigned k = 0; k < image[i]->columns * image[i]->rows; k++)
                image[i]->pixel[k] = i < 8 ? image[i - 1]->pixel[k] : 1 - image[i - 1]->pixel[k];
        } else {
            image[i] = cut(width, left, top, columns, rows, 0.3);
        }
        for (unsigned k = 0; k < columns * rows && i % 4 == 3; k++)
            image[i]->pixel[k] = (float)uniform();
        complete(image[i]);
    }
    find_all(width, height, image, count, match);
    for (unsigned i = 0; i < count; i++) {
        assert_is_best(width, height, image[i], match[i]);
        free(image[i]);
    }
}

/* Makes a template of squares of 4 x 4 pixels, and of details within them that have more than half
 * of its variation. */
static struct filter_image *draw_details(unsigned side, float *details)
{
    struct filter_image *image = make_image(side, side);
    for (unsigned y = 0; y < side; y += 4)
        for (unsigned x = 0; x < side; x += 4) {
            const float level = (float)(0.35 + 0.3 * uniform());
            for (unsigned k = 0; k < 16; k++) {
                const unsigned at = (y + k / 4) * side + x + k % 4;
                /* In each square the second half is the negative of the first. */
                details[at] = k < 8 ? (float)(0.34 * (uniform() - 0.5)) : -details[at - 2 * side];
                image->pixel[at] = level + details[at];
            }
        }
    complete(image);
    return image;
}

static void plant(unsigned width, unsigned left, unsigned top, const struct filter_image *image,
                  const float *details, double of_squares, double of_details)
{
    for (unsigned y = 0; y < image->rows; y++)
        for (unsigned x = 0; x < image->columns; x++) {
            const unsigned at = y * image->columns + x;
            const double square = (double)(image->pixel[at] - details[at]) - 0.5;
            luma[(top + y) * width + left + x] =
                (float)(128 + 255 * (of_squares * square + of_details * (double)details[at]));
        }
}

/* A place where all details are right and nothing else is less like the template than one where
 * details are faint and all else is right. */
static void details_alone_do_not_decide(void **state)
{
    const unsigned width = 180, height = 130, side = 48;
    static float details[48 * 48];
    struct filter_image *image[4];
    struct match match[4];
    (void)state;
    draw(width, height, 8);
    for (unsigned i = 1; i < 4; i++)
        image[i] = cut(width, 20 * i, 10 * i, side, side, 0.3);
    image[0] = draw_details(side, details);
    plant(width, 5, 7, image[0], details, 0, 1);
    plant(width, 110, 60, image[0], details, 1, 0.15);
    find_all(width, height, image, 4, match);
    assert_true(fabs(match[0].x - (110 + 24)) < 0.5 && fabs(match[0].y - (60 + 24)) < 0.5);
    for (unsigned i = 0; i < 4; i++) {
        assert_is_best(width, height, image[i], match[i]);
        free(image[i]);
    }
}

/* At the edges of the picture, where the last blocks are not whole. */
static void places_at_the_edges_are_found(void **state)
{
    const unsigned width = 163, height = 127;
    static const unsigned sizes[] = {32, 33, 35, 38, 39};
    (void)state;
    draw_rectangles(width, height, 9);
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        const unsigned side = sizes[k], right = width - side, bottom = height - side;
        const unsigned place[4][2] = {{0, 0}, {right, 0}, {0, bottom}, {right, bottom}};
        const struct filter_image *image[4];
        struct match match[4];
        struct matcher *matcher;
        struct error why;
        for (unsigned i = 0; i < 4; i++)
            image[i] = cut(width, place[i][0], place[i][1], side, side, 0.5);
        assert_int_equal(matcher_create(&matcher, width, height, image, 4, &why), 0);
        matcher_find(matcher, luma, match);
        matcher_destroy(matcher);
        for (unsigned i = 0; i < 4; i++) {
            const unsigned x = place[i][0] + side / 2, y = place[i][1] + side / 2;
            assert_true(fabs(match[i].x - x) < 0.5);
            assert_true(fabs(match[i].y - y) < 0.5);
            assert_true(match[i].score > 0.99999);
            free((void *)image[i]);
        }
    }
}

static uint64_t allocated(void)
{
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/* Not more, and not less than a quarter of it. */
static void the_memory_is_what_is_counted(void **state)
{
    static const struct {
        unsigned width, height, count, least, most;
        bool is_fine;
    } cases[] = {
        {320, 200, 1, 32, 32, false},  {320, 200, 16, 20, 60, false}, {320, 200, 16, 40, 60, true},
        {320, 200, 3, 120, 180, true}, {320, 200, 16, 2, 9, false},   {180, 130, 2, 130, 130, true},
    };
    (void)state;
    if (allocated() == 0) /* sanitizers and valgrind count nothing */
        skip();
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const unsigned width = cases[c].width, height = cases[c].height, count = cases[c].count;
        struct filter_image *image[FILTER_MAX_MATCHES];
        struct matcher *matcher;
        struct error why;
        if (cases[c].is_fine)
            draw(width, height, (uint32_t)c);
        else
            draw_rectangles(width, height, (uint32_t)c);
        for (unsigned i = 0; i < count; i++) {
            const unsigned range = cases[c].most - cases[c].least + 1;
            const unsigned columns = cases[c].least + (unsigned)(uniform() * range);
            const unsigned rows = cases[c].least + (unsigned)(uniform() * range);
            image[i] = cut(width, 0, 0, columns, rows, 0.3);
        }
        const struct filter_image *const *images = (const struct filter_image *const *)image;
        const uint64_t before = allocated();
        assert_int_equal(matcher_create(&matcher, width, height, images, count, &why), 0);
        const uint64_t taken = allocated() - before;
        const uint64_t counted = matcher_bytes(width, height, images, count);
        if (taken > counted || taken < counted / 4)
            fail_msg("case %zu: %" PRIu64 " bytes taken, %" PRIu64 " counted", c, taken, counted);
        matcher_destroy(matcher);
        for (unsigned i = 0; i < count; i++)
            free(image[i]);
    }
}

/* Draws a smooth hill around x0, y0 in rows of `columns` pixels. */
static void draw_hill(float *pixel, unsigned columns, unsigned rows, double x0, double y0,
                      double low, double height)
{
    for (unsigned y = 0; y < rows; y++)
        for (unsigned x = 0; x < columns; x++)
            pixel[(size_t)y * columns + x] =
                (float)(low + height * exp(-(pow(x - x0, 2) + pow(y - y0, 2)) / 18));
}

static void places_are_found_between_pixels(void **state)
{
    const unsigned width = 100, height = 80;
    struct filter_image *image = make_image(21, 21);
    (void)state;
    draw_hill(image->pixel, 21, 21, 10, 10, 0, 1);
    complete(image);
    for (unsigned k = 0; k < 20; k++) {
        const double x0 = 40 + 0.07 * k, y0 = 50 - 0.11 * k;
        draw_hill(luma, width, height, x0, y0, 50, 120);
        const struct match match = find(width, height, image);
        assert_true(fabs(match.x - x0) < 0.03 && fabs(match.y - y0) < 0.03);
        assert_true(match.score > 0.98);
    }
    free(image);
}

static void a_picture_without_contrast_has_no_place(void **state)
{
    struct filter_image *image = make_image(8, 8);
    struct matcher *matcher = NULL;
    struct error why;
    (void)state;
    for (unsigned i = 0; i < 64; i++)
        image->pixel[i] = (float)(i % 8);
    complete(image);
    for (unsigned i = 0; i < 60 * 40; i++)
        luma[i] = 100 + 0.4F * (float)(i % 2);
    const struct match match = find(60, 40, image);
    assert_true(isnan(match.x) && isnan(match.y) && match.score == 0);

    /* A template that is too large does not hide the others. */
    struct filter_image *slim = make_image(3, 20);
    struct match both[2];
    const struct filter_image *const images[] = {image, slim};
    for (unsigned i = 0; i < 60; i++)
        slim->pixel[i] = luma[i] = (float)(i * i % 17 * 10);
    complete(slim);
    assert_int_equal(matcher_create(&matcher, 7, 40, images, 2, &why), 0);
    assert_string_equal(why.text, "match: image t.txt has 8 x 8 pixels, frames 7 x 40: expected a "
                                  "template that fits in");
    matcher_find(matcher, luma, both);
    assert_true(isnan(both[0].x) && isnan(both[0].y) && both[0].score == 0);
    assert_true(isfinite(both[1].x) && both[1].score > 0);
    matcher_destroy(matcher);
    free(image);
    free(slim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_the_picture_are_found),
        cmocka_unit_test(the_best_place_is_that_of_the_definition),
        cmocka_unit_test(sixteen_templates_are_where_the_definition_says),
        cmocka_unit_test(templates_of_fine_texture_do_not_hide_each_other),
        cmocka_unit_test(details_alone_do_not_decide),
        cmocka_unit_test(places_at_the_edges_are_found),
        cmocka_unit_test(the_memory_is_what_is_counted),
        cmocka_unit_test(places_are_found_between_pixels),
        cmocka_unit_test(a_picture_without_contrast_has_no_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

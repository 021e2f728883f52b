/* The lines of textures are told from interference by their frequencies, computed here from what
 * the textures are. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/clip.h"
#include "support/cmocka.h"

#include "estimators/periodic_texture.h"

#define WIDTH  320
#define HEIGHT 240
#define DX     (0.15 / WIDTH)
#define DY     (0.15 / HEIGHT)

/* A line of a lattice, as a camera shows it: less whole cycles per pixel. */
static struct texture_line lattice(double m, double n, double amplitude)
{
    static const double a[2] = {0.1037, 0.0311};
    static const double b[2] = {-0.0219, 0.1471};
    const double fx = m * a[0] + n * b[0];
    const double fy = m * a[1] + n * b[1];
    return (struct texture_line){{fx - round(fx), fy - round(fy)}, amplitude};
}

static void harmonics_are_related(void **state)
{
    (void)state;
    for (unsigned k = 2; k <= 5; k++) {
        const struct texture_line line[] = {lattice(1, 0, 20), lattice(k, 0, 20.0 / k)};
        bool is_member[2] = {false};
        texture_relate(line, 2, DX, DY, is_member);
        assert_true(is_member[0] && is_member[1]);
        /* Whichever is asked for. */
        const struct texture_line other[] = {line[1], line[0]};
        memset(is_member, 0, sizeof is_member);
        texture_relate(other, 2, DX, DY, is_member);
        assert_true(is_member[0] && is_member[1]);
    }
}

static void checkerboards_are_related(void **state)
{
    (void)state;
    /* The product of two square waves has odd multiples of both. */
    const struct texture_line line[] = {lattice(1, 1, 20), lattice(1, -1, 20), lattice(3, 1, 7)};
    bool is_member[3] = {false};
    texture_relate(line, 3, DX, DY, is_member);
    assert_true(is_member[0] && is_member[1] && is_member[2]);
}

static void corners_are_related(void **state)
{
    (void)state;
    /* Lines of a checkerboard whose strongest are not followed. No three of them are related. */
    const struct texture_line line[] = {lattice(7, 1, 8.4), lattice(7, -1, 8.6),
                                        lattice(1, -9, 7.2), lattice(1, -11, 4.6)};
    /* Two strong waves, and their products where they saturate the picture. */
    const struct texture_line product[] = {lattice(1, 0, 40), lattice(0, 1, 30), lattice(2, -1, 1),
                                           lattice(-1, 2, 1)};
    bool is_member[4] = {false};
    texture_relate(line, 4, DX, DY, is_member);
    assert_false(is_member[0] || is_member[1] || is_member[2] || is_member[3]);
    texture_relate_corners(line, 4, DX, DY, is_member);
    assert_true(is_member[0] && is_member[1] && is_member[2] && is_member[3]);
    memset(is_member, 0, sizeof is_member);
    texture_relate_corners(product, 4, DX, DY, is_member);
    assert_false(is_member[0] || is_member[1]);
}

static void weaves_are_related(void **state)
{
    (void)state;
    /* The product of two sines, one along each axis, has no other lines. */
    const struct texture_line line[] = {{{0.094, 0.089}, 2.9}, {{0.094, -0.089}, 2.8}};
    /* Two waves beside an axis, and two that differ in strength. */
    const struct texture_line near[] = {{{0.2, 0.3 / HEIGHT}, 3}, {{0.2, -0.3 / HEIGHT}, 3}};
    const struct texture_line uneven[] = {line[0], {line[1].f, 5}};
    bool is_member[2] = {false};
    texture_relate(near, 2, DX, DY, is_member);
    texture_relate(uneven, 2, DX, DY, is_member);
    assert_false(is_member[0] || is_member[1]);
    texture_relate(line, 2, DX, DY, is_member);
    assert_true(is_member[0] && is_member[1]);
}

static void fundamentals_exceed_their_harmonics(void **state)
{
    (void)state;
    /* No stripes have a fifth harmonic that strong: these are two waves, and a chance. */
    const struct texture_line line[] = {lattice(1, 0, 6), lattice(5, 0, 36)};
    bool is_member[2] = {false};
    texture_relate(line, 2, DX, DY, is_member);
    assert_false(is_member[0] || is_member[1]);
}

static void strong_lines_do_not_suffer_from_weak_ones(void **state)
{
    (void)state;
    /* What two strong waves leave where they saturate the picture. */
    const struct texture_line line[] = {lattice(1, 0, 40), lattice(0, 1, 30), lattice(1, 1, 0.2)};
    bool is_member[3] = {false};
    texture_relate(line, 3, DX, DY, is_member);
    assert_false(is_member[0] || is_member[1]);
    assert_true(is_member[2]);
}

static void independent_waves_are_not_related(void **state)
{
    (void)state;
    uint64_t seed = 11;
    unsigned related = 0;
    const unsigned trials = 20000;
    for (unsigned i = 0; i < trials; i++) {
        struct texture_line line[4];
        bool is_member[4] = {false};
        for (unsigned k = 0; k < 4; k++)
            line[k] = (struct texture_line){
                {clip_uniform(&seed, -0.5, 0.5), clip_uniform(&seed, -0.5, 0.5)},
                clip_uniform(&seed, 5, 50)};
        texture_relate(line, 4, DX, DY, is_member);
        texture_relate_corners(line, 4, DX, DY, is_member);
        related += is_member[0];
    }
    printf("# figures: %u of %u sets of four independent waves are related by chance\n", related,
           trials);
    assert_in_range(related, 0, trials / 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(harmonics_are_related),
        cmocka_unit_test(checkerboards_are_related),
        cmocka_unit_test(corners_are_related),
        cmocka_unit_test(weaves_are_related),
        cmocka_unit_test(fundamentals_exceed_their_harmonics),
        cmocka_unit_test(strong_lines_do_not_suffer_from_weak_ones),
        cmocka_unit_test(independent_waves_are_not_related),
    };
    return cmocka_run_group_tests_name("periodic_texture", tests, NULL, NULL);
}

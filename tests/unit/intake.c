/* Tests which times a diagnosis gives its frames if a busy daemon has lost others between them. */
#include "support/cmocka.h"

#include <stdlib.h>

#include "diagnosis/intake.h"
#include "diagnosis/private.h"

#define SIDE        64u
#define FRAMES      30u
#define INTERVAL_NS 40000000

/* When a published frame was captured. Frames were lost after the tenth and after the 22nd. */
static int64_t time_of(uint64_t sequence)
{
    const uint64_t lost = (sequence > 10 ? 7 : 0) + (sequence > 22 ? 3 : 0);
    return 1000000007 + (int64_t)(sequence + lost) * INTERVAL_NS;
}

static struct frames_moment moment_of(uint64_t sequence)
{
    return (struct frames_moment){sequence, time_of(sequence)};
}

static struct fftd_format grey(void)
{
    return (struct fftd_format){.fourcc = FFTD_FOURCC('R', '8', ' ', ' '),
                                .width = SIDE,
                                .height = SIDE,
                                .frame_bytes = SIDE * SIDE,
                                .plane_count = 1,
                                .full_range = 1,
                                .plane = {{.stride = SIDE, .row_bytes = SIDE, .rows = SIDE}}};
}

static void take_frames(struct intake *intake, bool knows_times)
{
    static uint8_t level[SIDE * SIDE];
    const struct fftd_format format = grey();
    struct pixels pixels;
    assert_int_equal(pixels_from_memory(&pixels, &format, level, sizeof level), 0);
    assert_int_equal(intake_begin(intake, &pixels, NULL, 1u << 30), 0);
    for (uint64_t i = 1; i <= FRAMES; i++) {
        /* Every third time the next frame is already there; none was lost between the two. */
        const uint64_t newest = i % 3 == 0 ? i + 1 : i;
        assert_int_equal(intake_add(intake, &pixels, i, time_of(i) + 1234567,
                                    knows_times ? moment_of(newest) : (struct frames_moment){0}),
                         0);
    }
    assert_int_equal(intake->got, FRAMES);
}

static void frames_have_their_own_times(void **state)
{
    (void)state;
    struct intake intake = {.wanted = FRAMES};
    take_frames(&intake, true);
    intake_set_times(&intake, moment_of(0));
    for (unsigned i = 0; i < FRAMES; i++)
        assert_in_range(intake.diagnosis->captured_ns[i] - time_of(i + 1) + 1, 0, 2);
    diagnosis_destroy(intake.diagnosis);
    intake_finish(&intake);
}

static void times_stay_where_none_is_known(void **state)
{
    (void)state;
    struct intake intake = {.wanted = FRAMES};
    take_frames(&intake, false);
    intake_set_times(&intake, (struct frames_moment){0});
    for (unsigned i = 0; i < FRAMES; i++)
        assert_int_equal(intake.diagnosis->captured_ns[i], time_of(i + 1) + 1234567);
    diagnosis_destroy(intake.diagnosis);
    intake_finish(&intake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_have_their_own_times),
        cmocka_unit_test(times_stay_where_none_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

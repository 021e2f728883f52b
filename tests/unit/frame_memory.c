/* Which frames a device can read where they are (core/frame_memory.h). */
#include "support/cmocka.h"

#include <errno.h>
#include <string.h>

#include "core/format.h"
#include "core/frame_memory.h"

/* NV12 in rows of 192 bytes, luma filtered. */
static struct frame_memory make_memory(unsigned plane_count)
{
    struct frame_memory memory = {.plane_count = plane_count, .can_import = true};
    assert_int_equal(
        format_layout(&memory.layout, FFTD_FOURCC('N', 'V', '1', '2'), 160, 120, 64, NULL), 0);
    return memory;
}

static void check(const struct frame_memory *memory, enum memory_mode mode, size_t offset,
                  uint32_t stride, const char *expected)
{
    const size_t offsets[] = {0, offset};
    const uint32_t strides[] = {192, stride};
    struct error why = {""};
    int r = frame_memory_check(memory, mode, offsets, strides, &why);
    assert_int_equal(r, *expected == '\0' ? 0 : -EOPNOTSUPP);
    assert_string_equal(why.text, expected);
}

static void test_frames_must_lie_as_the_device_reads_them(void **state)
{
    (void)state;
    const struct frame_memory luma = make_memory(1), all = make_memory(2);
    check(&luma, MEMORY_SHARED, 12345, 1, ""); /* it does not read chroma */
    check(&all, MEMORY_SHARED, 192 * 120, 192, "");
    check(&all, MEMORY_IMPORTED, 192 * 120, 160,
          "rows of plane 1 are 160 bytes apart, but the device reads them 192 apart");
    check(&all, MEMORY_IMPORTED, 192 * 128, 192,
          "plane 1 begins at byte 24576, but the device reads it from byte 23040");
}

static void test_devices_differ(void **state)
{
    (void)state;
    struct frame_memory memory = make_memory(1);
    check(&memory, MEMORY_IMPORTED, 0, 0, "");
    memory.can_import = false;
    check(&memory, MEMORY_IMPORTED, 0, 0, "the device cannot import dma-bufs");
}

static void test_what_the_device_keeps_comes_on_top(void **state)
{
    (void)state;
    const struct frame_memory memory = {.held = 3};
    assert_int_equal(frame_memory_count(NULL, 4), 4);
    assert_int_equal(frame_memory_count(&memory, 4), 7);
    assert_int_equal(frame_memory_count(&memory, FRAME_MEMORY_MAX - 2), FRAME_MEMORY_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frames_must_lie_as_the_device_reads_them),
        cmocka_unit_test(test_devices_differ),
        cmocka_unit_test(test_what_the_device_keeps_comes_on_top),
    };
    return cmocka_run_group_tests_name("frame_memory", tests, NULL, NULL);
}

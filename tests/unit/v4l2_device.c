/* What a camera says about itself. The ioctl of the C library is replaced by a camera's. */
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>

#include "support/cmocka.h"

#include "capture/v4l2_device.h"

int ioctl(int fd, unsigned long request, ...)
{
    va_list args;
    va_start(args, request);
    struct v4l2_capability *capability = va_arg(args, struct v4l2_capability *);
    va_end(args);
    assert_true(fd >= 0 && request == VIDIOC_QUERYCAP);
    *capability = (struct v4l2_capability){
        .driver = "evil\x1b[2J",
        .card = "a\x1b]0;b\x07 \xc2\x9b\n\xc3\xa9\xff",
        .bus_info = "usb\x7f",
        .capabilities = V4L2_CAP_VIDEO_CAPTURE_MPLANE | V4L2_CAP_STREAMING,
    };
    return 0;
}

/* A webcam sends its own name, and fftd --list-devices shows it on a terminal. */
static void names_cannot_command_a_terminal(void **state)
{
    (void)state;
    struct video_device device;
    struct error why = {""};
    if (video_open(&device, "/dev/null", &why) < 0)
        fail_msg("%s", why.text);
    assert_string_equal(device.driver, "evil?[2J");
    assert_string_equal(device.card, "a?]0;b? ?? \xc3\xa9?");
    assert_string_equal(device.bus, "usb?");
    video_close(&device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_cannot_command_a_terminal),
    };
    return cmocka_run_group_tests_name("v4l2_device", tests, NULL, NULL);
}

/* Tests where lines and messages end, and which are refused before they are collected. */
#include <errno.h>
#include <string.h>

#include "support/cmocka.h"

#include "core/client_limits.h"
#include "core/dbus_framing.h"

/* A message's fixed header. */
static void make_header(uint8_t header[16], char endian, uint32_t body, uint32_t fields)
{
    memset(header, 0, 16);
    header[0] = (uint8_t)endian;
    header[1] = 1;
    header[3] = 1;
    for (unsigned i = 0; i < 4; i++) {
        const unsigned shift = 8 * (endian == 'B' ? 3 - i : i);
        header[4 + i] = (uint8_t)(body >> shift);
        header[12 + i] = (uint8_t)(fields >> shift);
    }
}

static void lines_end_with_a_newline(void **state)
{
    static const char stream[] = "\0AUTH EXTERNAL\r\nDATA\r\n\nBEGIN\r\nl";
    static const ptrdiff_t lengths[] = {16, 6, 1, 7};
    const uint8_t *at = (const uint8_t *)stream;
    size_t left = sizeof stream - 1;
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        for (ptrdiff_t part = 0; part < lengths[i]; part++)
            assert_int_equal(dbus_framing_next(false, at, (size_t)part), 0);
        assert_int_equal(dbus_framing_next(false, at, left), lengths[i]);
        at += lengths[i];
        left -= (size_t)lengths[i];
    }
    assert_int_equal(dbus_framing_next(false, at, left), 0);
}

static void a_line_without_end_is_refused(void **state)
{
    uint8_t line[LIMIT_LINE_BYTES + 1];
    (void)state;
    memset(line, 'A', sizeof line);
    assert_int_equal(dbus_framing_next(false, line, LIMIT_LINE_BYTES), 0);
    assert_int_equal(dbus_framing_next(false, line, sizeof line), -EMSGSIZE);
}

static void messages_end_where_they_say(void **state)
{
    static uint8_t bytes[LIMIT_MESSAGE_BYTES + 1];
    static const struct {
        char endian;
        uint32_t body, fields;
        ptrdiff_t length;
    } cases[] = {
        {'l', 0, 0, 16},
        {'l', 5, 1, 16 + 8 + 5},
        {'B', 5, 8, 16 + 8 + 5},
        {'B', 256, 9, 16 + 16 + 256},
        {'l', LIMIT_MESSAGE_BYTES - 16, 0, LIMIT_MESSAGE_BYTES},
        {'l', LIMIT_MESSAGE_BYTES - 15, 0, -EMSGSIZE},
        {'B', UINT32_MAX, UINT32_MAX, -EMSGSIZE},
        {'l', 0, UINT32_MAX, -EMSGSIZE},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        make_header(bytes, cases[i].endian, cases[i].body, cases[i].fields);
        assert_int_equal(dbus_framing_next(true, bytes, 15), 0);
        if (cases[i].length > 16)
            assert_int_equal(dbus_framing_next(true, bytes, (size_t)cases[i].length - 1), 0);
        assert_int_equal(dbus_framing_next(true, bytes, sizeof bytes), cases[i].length);
        if (cases[i].length < 0) /* known from the header alone */
            assert_int_equal(dbus_framing_next(true, bytes, 16), cases[i].length);
    }
}

static void garbage_is_refused(void **state)
{
    uint8_t header[16];
    (void)state;
    make_header(header, 'l', 0, 0);
    header[0] = 'x';
    assert_int_equal(dbus_framing_next(true, header, 16), -EBADMSG);
    make_header(header, 'l', 0, 0);
    header[3] = 2;
    assert_int_equal(dbus_framing_next(true, header, 16), -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_end_with_a_newline),
        cmocka_unit_test(a_line_without_end_is_refused),
        cmocka_unit_test(messages_end_where_they_say),
        cmocka_unit_test(garbage_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

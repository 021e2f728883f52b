/* Messages are cut to fit, never overrun, and keep what matters. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/error.h"

static void set_writes_and_returns(void **state)
{
    (void)state;
    struct error why;
    assert_int_equal(error_set(&why, EINVAL, "width = %d: expected 1 .. %d", 0, 8192), -EINVAL);
    assert_string_equal(why.text, "width = 0: expected 1 .. 8192");
    assert_int_equal(error_set(NULL, ENOENT, "unheard"), -ENOENT);
}

static void set_cuts_what_does_not_fit(void **state)
{
    (void)state;
    struct error why;
    char longer[2 * sizeof why.text];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    error_set(&why, EINVAL, "%s", longer);
    assert_int_equal(strlen(why.text), sizeof why.text - 1);
}

static void prefix_says_where(void **state)
{
    (void)state;
    struct error why;
    error_set(&why, EINVAL, "unknown key");
    assert_int_equal(error_prefix(&why, EINVAL, "%s:%d", "fftd.conf", 3), -EINVAL);
    assert_string_equal(why.text, "fftd.conf:3: unknown key");
}

static void prefix_keeps_the_head_of_both(void **state)
{
    (void)state;
    struct error why;
    char longer[2 * sizeof why.text];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    error_set(&why, EINVAL, "reason %s", longer);
    error_prefix(&why, EINVAL, "place");
    assert_int_equal(strlen(why.text), sizeof why.text - 1);
    assert_memory_equal(why.text, "place: reason x", 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_writes_and_returns),
        cmocka_unit_test(set_cuts_what_does_not_fit),
        cmocka_unit_test(prefix_says_where),
        cmocka_unit_test(prefix_keeps_the_head_of_both),
    };
    return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}

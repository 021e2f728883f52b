/* How many connections a socket serves, in all and of one user. */
#include <errno.h>

#include "support/cmocka.h"

#include "core/admission.h"

#define OWN 500 /* the daemon's user */

static void the_limit_counts_all_users(void **state)
{
    (void)state;
    struct admission admission;
    struct admission_entry entry[3] = {0};
    struct error why;
    admission_init(&admission, 2, 2, OWN);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(admission_check(&admission, i, &why), 0);
        admission_enter(&admission, &entry[i], i);
    }
    assert_int_equal(admission_check(&admission, 7, &why), -EUSERS);
    assert_string_equal(why.text, "client limit of 2 reached");
    admission_leave(&entry[0]);
    assert_int_equal(admission_check(&admission, 7, &why), 0);
}

static void one_user_leaves_places_for_others(void **state)
{
    (void)state;
    struct admission admission;
    struct admission_entry entry[4] = {0};
    struct error why;
    admission_init(&admission, 4, 2, OWN);
    admission_enter(&admission, &entry[0], 1000);
    admission_enter(&admission, &entry[1], 0);
    admission_enter(&admission, &entry[2], 1000);
    assert_int_equal(admission_check(&admission, 1000, &why), -EUSERS);
    assert_string_equal(why.text, "limit of 2 clients of user 1000 reached");
    assert_int_equal(admission_check(&admission, 0, &why), 0);
    admission_leave(&entry[2]);
    assert_int_equal(admission_check(&admission, 1000, &why), 0);
}

/* They could stop the daemon, so a limit would only be in their way. */
static void root_and_the_daemons_user_have_only_the_limit_in_all(void **state)
{
    (void)state;
    static const uint32_t users[] = {0, OWN};
    for (unsigned u = 0; u < 2; u++) {
        struct admission admission;
        struct admission_entry entry[4] = {0};
        struct error why;
        admission_init(&admission, 4, 2, OWN);
        for (unsigned i = 0; i < 4; i++) {
            assert_int_equal(admission_check(&admission, users[u], &why), 0);
            admission_enter(&admission, &entry[i], users[u]);
        }
        assert_int_equal(admission_check(&admission, users[u], &why), -EUSERS);
        assert_string_equal(why.text, "client limit of 4 reached");
    }
}

static void places_leave_in_any_order_and_only_once(void **state)
{
    (void)state;
    static const unsigned orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {1, 2, 0}};
    for (unsigned o = 0; o < 4; o++) {
        struct admission admission;
        struct admission_entry entry[3] = {0};
        admission_init(&admission, 3, 3, OWN);
        for (unsigned i = 0; i < 3; i++)
            admission_enter(&admission, &entry[i], 5);
        for (unsigned i = 0; i < 3; i++) {
            admission_leave(&entry[orders[o][i]]);
            admission_leave(&entry[orders[o][i]]);
            assert_int_equal(admission.count, 2 - i);
        }
        assert_null(admission.entries);
    }
}

/* A successor serves the clients of the previous process even if its own limit is lower. */
static void entering_ignores_the_limits(void **state)
{
    (void)state;
    struct admission admission;
    struct admission_entry entry[2] = {0};
    admission_init(&admission, 1, 1, OWN);
    admission_enter(&admission, &entry[0], 1);
    admission_enter(&admission, &entry[1], 1);
    assert_int_equal(admission.count, 2);
    admission_leave(&entry[0]);
    assert_int_equal(admission_check(&admission, 2, NULL), -EUSERS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_limit_counts_all_users),
        cmocka_unit_test(one_user_leaves_places_for_others),
        cmocka_unit_test(root_and_the_daemons_user_have_only_the_limit_in_all),
        cmocka_unit_test(places_leave_in_any_order_and_only_once),
        cmocka_unit_test(entering_ignores_the_limits),
    };
    return cmocka_run_group_tests_name("admission", tests, NULL, NULL);
}

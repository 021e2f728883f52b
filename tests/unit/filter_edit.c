/* Changes of a chain: each does what it says, and one that fails changes nothing. */
#include <errno.h>
#include <string.h>

#include "support/cmocka.h"
#include "support/chains.h"

#include "filters/filter_edit.h"

#define CHAIN "gain:dc=1 | notch:at=0.25/0,width=0.1 | sharpen:amount=1 | notch:at=0/0.25,width=0.1"

static void assert_chain(const struct filter_chain *chain, const char *expected)
{
    const struct filter_chain wanted = chain_of(expected);
    assert_true(filter_chain_equal(chain, &wanted));
}

static void stages_are_added_anywhere(void **state)
{
    (void)state;
    struct filter_chain chain = chain_of("none");
    assert_int_equal(filter_edit_add(&chain, "gain:dc=2", 0, NULL), 0);
    assert_int_equal(filter_edit_add(&chain, "gain:dc=1", 1, NULL), 0);
    assert_int_equal(filter_edit_add(&chain, "gain:dc=4", 3, NULL), 0);
    assert_int_equal(filter_edit_add(&chain, "gain:dc=3", 3, NULL), 0);
    assert_chain(&chain, "gain:dc=1 | gain:dc=2 | gain:dc=3 | gain:dc=4");
}

static void stages_are_removed_by_number_or_kind(void **state)
{
    (void)state;
    struct filter_chain chain = chain_of(CHAIN);
    assert_int_equal(filter_edit_remove(&chain, "4", NULL), 0);
    assert_int_equal(filter_edit_remove(&chain, "sharpen", NULL), 0);
    assert_int_equal(filter_edit_remove(&chain, "1", NULL), 0);
    assert_chain(&chain, "notch:at=0.25/0,width=0.1");
    assert_int_equal(filter_edit_remove(&chain, "notch", NULL), 0);
    assert_chain(&chain, "none");
}

static void stages_are_moved(void **state)
{
    static const struct {
        const char *name;
        double position;
        const char *expected;
    } cases[] = {
        {"1", 3, "gain:dc=2 | gain:dc=3 | gain:dc=1 | sharpen:amount=1"},
        {"3", 1, "gain:dc=3 | gain:dc=1 | gain:dc=2 | sharpen:amount=1"},
        {"sharpen", 1, "sharpen:amount=1 | gain:dc=1 | gain:dc=2 | gain:dc=3"},
        {"1", 4, "gain:dc=2 | gain:dc=3 | sharpen:amount=1 | gain:dc=1"},
        {"2", 2, "gain:dc=1 | gain:dc=2 | gain:dc=3 | sharpen:amount=1"},
    };
    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct filter_chain chain =
            chain_of("gain:dc=1 | gain:dc=2 | gain:dc=3 | sharpen:amount=1");
        assert_int_equal(filter_edit_move(&chain, cases[i].name, cases[i].position, NULL), 0);
        assert_chain(&chain, cases[i].expected);
    }
}

static void parameters_need_to_agree_only_at_the_end(void **state)
{
    (void)state;
    struct filter_chain chain = chain_of("gain | bandpass:low=0.1,high=0.2");
    struct error why;
    assert_int_equal(filter_edit_set(&chain, "bandpass", "low", "0.3", NULL), 0);
    assert_int_equal(filter_edit_check(&chain, &why), -EINVAL);
    assert_non_null(strstr(why.text, "bandpass: low = 0.3"));
    assert_int_equal(filter_edit_set(&chain, "2", "high", "0.4", NULL), 0);
    assert_int_equal(filter_edit_check(&chain, NULL), 0);
    assert_chain(&chain, "gain | bandpass:low=0.3,high=0.4");
}

static void a_full_chain_takes_no_more(void **state)
{
    struct filter_chain chain = {.count = 0};
    struct error why;
    (void)state;
    for (unsigned i = 0; i < FILTER_MAX_STAGES; i++)
        assert_int_equal(filter_edit_add(&chain, i == 0 ? "sharpen" : "gain", 1, NULL), 0);
    assert_int_equal(filter_edit_add(&chain, "gain", 0, &why), -EINVAL);
    assert_non_null(strstr(why.text, "full"));
    assert_int_equal(filter_edit_move(&chain, "sharpen", 1, NULL), 0);
    assert_string_equal(chain.stage[0].kind->name, "sharpen");
    assert_int_equal(chain.count, FILTER_MAX_STAGES);
}

static int change(struct filter_chain *chain, unsigned number, struct error *why)
{
    switch (number) {
    case 0:
        return filter_edit_add(chain, "wobble", 0, why);
    case 1:
        return filter_edit_add(chain, "gain", 6, why);
    case 2:
        return filter_edit_add(chain, "gain", 1.5, why);
    case 3:
        return filter_edit_remove(chain, "notch", why);
    case 4:
        return filter_edit_remove(chain, "5", why);
    case 5:
        return filter_edit_remove(chain, "0", why);
    case 6:
        return filter_edit_remove(chain, "lowpass", why);
    case 7:
        return filter_edit_move(chain, "1", 5, why);
    case 8:
        return filter_edit_move(chain, "1", 0, why);
    case 9:
        return filter_edit_set(chain, "1", "dc", "x", why);
    default:
        return filter_edit_set(chain, "9", "dc", "1", why);
    }
}

static void what_fails_changes_nothing(void **state)
{
    static const struct {
        int result;
        const char *words[2];
    } cases[] = {
        {-EINVAL, {"wobble", "lowpass"}},    {-EINVAL, {"position 6", "1 .. 5"}},
        {-EINVAL, {"1.5", "1 .. 5"}},        {-ENOENT, {"2 stages", "1 .. 4"}},
        {-ENOENT, {"stage 5", "1 .. 4"}},    {-ENOENT, {"stage 0", "1 .. 4"}},
        {-ENOENT, {"lowpass", "gain:dc"}},   {-EINVAL, {"position 5", "1 .. 4"}},
        {-EINVAL, {"position 0", "1 .. 4"}}, {-EINVAL, {"dc", "x"}},
        {-ENOENT, {"stage 9", "1 .. 4"}},
    };
    (void)state;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct filter_chain chain = chain_of(CHAIN);
        struct error why = {""};
        assert_int_equal(change(&chain, i, &why), cases[i].result);
        for (unsigned w = 0; w < 2; w++)
            if (strstr(why.text, cases[i].words[w]) == NULL)
                fail_msg("\"%s\" does not name %s", why.text, cases[i].words[w]);
        assert_chain(&chain, CHAIN);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stages_are_added_anywhere),
        cmocka_unit_test(stages_are_removed_by_number_or_kind),
        cmocka_unit_test(stages_are_moved),
        cmocka_unit_test(parameters_need_to_agree_only_at_the_end),
        cmocka_unit_test(a_full_chain_takes_no_more),
        cmocka_unit_test(what_fails_changes_nothing),
    };
    return cmocka_run_group_tests_name("filter_edit", tests, NULL, NULL);
}

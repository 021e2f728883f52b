/* Which requests fftd-view answers, by their headers. */
#include <stddef.h>

#include "support/cmocka.h"

#include "fftd-view/http/access.h"

static const char *const names[] = {"cameras.example", NULL};

static unsigned check_host(const char *host)
{
    return access_check(&(struct access_request){.host = host, .host_count = host != NULL}, names);
}

static void the_host_must_be_this_machine(void **state)
{
    static const char *const allowed[] = {
        "localhost", "LocalHost:8787", "127.0.0.1",       "127.0.0.1:1",
        "[::1]",     "[::1]:65535",    "cameras.example", "CAMERAS.example:443"};
    static const char *const refused[] = {"",
                                          "localhost:",
                                          "localhost:123456",
                                          "localhost:8a",
                                          "localhost.",
                                          "localhost:80:80",
                                          "127.0.0.10",
                                          "127.0.0.1.evil.example",
                                          "[::1",
                                          "::1",
                                          "evil.example",
                                          "evil.cameras.example",
                                          "localhost ",
                                          "localhost/",
                                          "user@localhost",
                                          "localhost:80@evil.example"};
    (void)state;
    for (unsigned i = 0; i < sizeof allowed / sizeof allowed[0]; i++)
        assert_int_equal(check_host(allowed[i]), 0);
    for (unsigned i = 0; i < sizeof refused / sizeof refused[0]; i++)
        assert_int_equal(check_host(refused[i]), 421);
    assert_int_equal(check_host(NULL), 400);
    const struct access_request twice = {.host = "localhost", .host_count = 2};
    assert_int_equal(access_check(&twice, names), 400);
}

static unsigned check_origin(const char *origin, const char *fetch_site, bool is_page)
{
    return access_check(&(struct access_request){.host = "localhost:8787",
                                                 .host_count = 1,
                                                 .origin = origin,
                                                 .fetch_site = fetch_site,
                                                 .is_page = is_page},
                        names);
}

static void the_origin_must_be_the_page(void **state)
{
    static const char *const refused[] = {"",
                                          "null",
                                          "localhost:8787",
                                          "http://localhost",
                                          "http://localhost:8788",
                                          "http://",
                                          "ftp://localhost:8787",
                                          "http://localhost:8787.evil.example",
                                          "http://evil.example/http://localhost:8787",
                                          "http://localhost:8787/"};
    (void)state;
    assert_int_equal(check_origin("http://localhost:8787", NULL, false), 0);
    assert_int_equal(check_origin("https://LOCALHOST:8787", "same-origin", false), 0);
    for (unsigned i = 0; i < sizeof refused / sizeof refused[0]; i++)
        assert_int_equal(check_origin(refused[i], NULL, true), 403);
}

static void other_sites_may_link_to_the_page_alone(void **state)
{
    (void)state;
    assert_int_equal(check_origin(NULL, "none", false), 0);
    assert_int_equal(check_origin(NULL, "cross-site", true), 0);
    assert_int_equal(check_origin(NULL, "cross-site", false), 403);
    assert_int_equal(check_origin(NULL, "same-site", false), 403);
    assert_int_equal(check_origin(NULL, "anything", false), 403);
}

#define TOKEN "0123456789abcdef"

static struct access_change good_change(void)
{
    return (struct access_change){.origin = "http://localhost",
                                  .authorization = "Bearer " TOKEN,
                                  .content_type = "application/json",
                                  .content_length = "40"};
}

static unsigned check_change(struct access_change change)
{
    return access_check_change(&change, TOKEN, 40);
}

static void a_change_needs_origin_and_token(void **state)
{
    static const char *const refused[] = {"",
                                          "Bearer",
                                          "Bearer ",
                                          TOKEN,
                                          "Basic " TOKEN,
                                          "Bearer  " TOKEN,
                                          "Bearer " TOKEN "0",
                                          "Bearer 0123456789abcdeF",
                                          "Bearer 1123456789abcdef",
                                          "Bearer 0123456789abcde"};
    struct access_change change = good_change();
    (void)state;
    assert_int_equal(check_change(change), 0);
    change.authorization = "bearer " TOKEN;
    assert_int_equal(check_change(change), 0);
    for (unsigned i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        change.authorization = refused[i];
        assert_int_equal(check_change(change), 401);
    }
    change.authorization = NULL;
    assert_int_equal(check_change(change), 401);
    change.origin = NULL;
    assert_int_equal(check_change(change), 403);
}

static void a_change_is_json_of_a_known_length(void **state)
{
    static const char *const other_types[] = {"", "text/plain", "application/json5",
                                              "text/plain;application/json", "application/"};
    static const char *const no_lengths[] = {"", "-1", "+1", "4 0", "40,40", "0x10"};
    static const char *const large[] = {"41", "0000041", "400", "18446744073709551617",
                                        "99999999999999999999999999999999999999"};
    struct access_change change = good_change();
    (void)state;
    for (unsigned i = 0; i < sizeof no_lengths / sizeof no_lengths[0]; i++) {
        change.content_length = no_lengths[i];
        assert_int_equal(check_change(change), 411);
    }
    for (unsigned i = 0; i < sizeof large / sizeof large[0]; i++) {
        change.content_length = large[i];
        assert_int_equal(check_change(change), 413);
    }
    change = good_change();
    change.transfer_encoding = "chunked";
    assert_int_equal(check_change(change), 411);
    change.content_type = "Application/JSON; charset=utf-8";
    change.transfer_encoding = NULL;
    assert_int_equal(check_change(change), 0);
    for (unsigned i = 0; i < sizeof other_types / sizeof other_types[0]; i++) {
        change.content_type = other_types[i];
        assert_int_equal(check_change(change), 415);
    }
    change.content_type = NULL;
    assert_int_equal(check_change(change), 415);
}

static void names_have_no_port(void **state)
{
    (void)state;
    assert_true(access_is_name("a-1.example"));
    assert_false(access_is_name(""));
    assert_false(access_is_name("a:80"));
    assert_false(access_is_name("*"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_host_must_be_this_machine),
        cmocka_unit_test(the_origin_must_be_the_page),
        cmocka_unit_test(other_sites_may_link_to_the_page_alone),
        cmocka_unit_test(a_change_needs_origin_and_token),
        cmocka_unit_test(a_change_is_json_of_a_known_length),
        cmocka_unit_test(names_have_no_port),
    };
    return cmocka_run_group_tests_name("view_access", tests, NULL, NULL);
}

/* No secret of a source is left in what is shown of it, however it is written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"

#include "core/secret.h"

#define TEXT_BYTES 1024

static void secrets_are_hidden(void **state)
{
    (void)state;
    static const struct {
        const char *text, *shown;
    } cases[] = {
        /* URIs */
        {"rtsp://admin:geheim@10.0.0.1:554/Streaming/Channels/101",
         "rtsp://***@10.0.0.1:554/Streaming/Channels/101"},
        {"gst:rtspsrc location=rtsp://admin@h/1 latency=0 ! rtph264depay",
         "gst:rtspsrc location=rtsp://***@h/1 latency=0 ! rtph264depay"},
        {"rtsp://admin:p@s/s:w#rd@h/1 ! decodebin", "rtsp://***@h/1 ! decodebin"},
        {"rtsp://admin:p?w@h/1 ! decodebin", "rtsp://*** ! decodebin"},
        {"location=\"rtsp://admin:two words@h/1\" ! x", "location=\"rtsp://***@h/1\" ! x"},
        {"location='rtsp://admin:two words@h/1' ! x", "location='rtsp://***@h/1' ! x"},
        {"location = \"rtsp://a:two words@h/1\"", "location = \"rtsp://***@h/1\""},
        {"location=rtsp://a:two\\ words@h/1 ! x", "location=rtsp://***@h/1 ! x"},
        {"rtsp://\"a:two words@h/1\" ! x", "rtsp://***@h/1\" ! x"},
        {"http://h/video.cgi?usr=admin&pwd=geheim", "http://h/video.cgi?***"},
        {"srt://h:9000?mode=caller&passphrase=geheim ! tsdemux", "srt://h:9000?*** ! tsdemux"},
        {"http://h/?u=a&url=rtsp%3A%2F%2Fadmin%3Ageheim%40h2", "http://***"},
        {"uri=rtsp%3A%2F%2Fadmin%3Ageheim%40h2%2Fa%3Fb", "uri=rtsp%3A%2F%2F***%40h2%2Fa%3F***"},
        {"gst:rtsp://a:geheim@h/1 ! decodebin", "gst:rtsp://***@h/1 ! decodebin"},
        {"proxy=admin:geheim@h:3128 ! x", "proxy=***@h:3128 ! x"},
        {"rtsp://h/user=admin&password=geheim&channel=1 ! x", "rtsp://h/user=*** ! x"},
        {"(URL: http://a:b@h/?t=geheim, Redirect to: (NULL))",
         "(URL: http://***@h/?*** Redirect to: (NULL))"},
        {"'rtsp://a:b@h' cannot be opened", "'rtsp://***@h' cannot be opened"},
        {"can't open 'rtsp://a:b c@h' now", "can't open 'rtsp://***@h' now"},
        {"first:geheim@a,http://b/", "***@a,http://b/"},
        /* properties */
        {"rtspsrc user-id=admin user-pw=geheim latency=0 ! x",
         "rtspsrc user-id=*** user-pw=*** latency=0 ! x"},
        {"a user-pw = geheim ! x", "a user-pw = *** ! x"},
        {"a user-pw=\"two \\\" words\" ! x", "a user-pw=\"***\" ! x"},
        {"a user-pw=\"two words", "a user-pw=\"***"},
        {"a user-pw=\"two\"words ! x", "a user-pw=\"*** ! x"},
        {"a user-pw='two words' ! x", "a user-pw='***' ! x"},
        {"a user-pw=two\\ words ! x", "a user-pw=*** ! x"},
        {"a user-pw=ge\"heim ! x", "a user-pw=*** ! x"},
        {"a user-pw=(string)\"two words\" ! x", "a user-pw=(string)\"***\" ! x"},
        {"a b::passphrase=geheim ! x", "a b::passphrase=*** ! x"},
        {"a PassWord=geheim Secret=a authToken=b stream-key=c streamkey=d api_key=e",
         "a PassWord=*** Secret=*** authToken=*** stream-key=*** streamkey=*** api_key=***"},
        {"a srtp-key=(buffer)0123 ! x", "a srtp-key=(buffer)*** ! x"},
        {"souphttpsrc cookies=\"<a=1, b=2>\" location=http://h/",
         "souphttpsrc cookies=\"***\" location=http://h/"},
        {"extra-headers=\"h,Authorization=(string)\\\"Basic YTpi\\\"\" ! x",
         "extra-headers=\"h,Authorization=(string)\\\"***\" ! x"},
        /* other texts */
        {"Authorization: Basic YTpi\nnext", "Authorization:***\nnext"},
        {"{\"password\": \"a b\", \"x\": 1}", "{\"password\":***"},
        {"    source = \"gst:rtspsrc location=\\\"rtsp://a:two words@h/1\\\" ! x\";",
         "    source = \"gst:rtspsrc location=\\\"rtsp://***@h/1\\\" ! x\";"},
        {"", ""},
        {" \t", " \t"},
    };
    char shown[TEXT_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_string_equal(secret_hide(shown, sizeof shown, cases[i].text), cases[i].shown);
        assert_int_equal(secret_is_in(cases[i].text), strcmp(cases[i].text, shown) != 0);
    }
}

static void what_is_no_secret_is_shown(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "v4l2:/dev/video0",
        "v4l2:/dev/v4l/by-id/usb-046d_HD_Pro_Webcam_C920-video-index0",
        "pattern:moire",
        "file:/srv/clips/a=b.y4m",
        "gst:videotestsrc is-live=true pattern=checkers-1 ! video/x-raw,width=640,height=480",
        "gst:rtspsrc location=rtsp://10.0.0.1:554/Streaming/Channels/101 latency=0 ! decodebin",
        "gst:libcamerasrc camera-name=\"/base/soc/i2c0mux/i2c@1/imx219@10\" ! queue",
        "gst:filesrc location=\"a b.mkv\" ! decodebin ! videorate max-rate=5",
        "gst:videotestsrc ! nosuchelement: no element \"nosuchelement\"",
        "lost: /dev/video0: No such file or directory; fftd keeps trying to recover it",
        "fftd@front.service: Main process exited, code=exited, status=1/FAILURE",
        "at most 3 users may have a key; none has a password",
        "online: vivid (platform:vivid-000), NV12 640x360 at 30 fps; can't be imported",
    };
    char shown[TEXT_BYTES];
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_string_equal(secret_hide(shown, sizeof shown, texts[i]), texts[i]);
        assert_false(secret_is_in(texts[i]));
    }
}

static void an_error_about_a_source_names_no_secret(void **state)
{
    (void)state;
    static const struct {
        const char *source, *text, *shown;
    } cases[] = {
        {"gst:rtspsrc user-pw=geheim", "could not set property \"user-pw\" to \"geheim\"",
         "could not set property \"user-pw\" to \"***\""},
        {"rtsp://admin:ge%40he%2Fim@h/", "login of admin with ge@he/im failed",
         "login of *** with *** failed"},
        {"rtsp://admin:geheim@h/", "http://admin:geh", "http://***:geh"},
        {"rtsp://admin:geheim@h/", "cannot reach rtsp://admin:geheim@h/",
         "cannot reach rtsp://***@h/"},
        {"a user-pw=two\\ words", "bad value two words", "bad value ***"},
        {"a user-pw=abc", "abc is in abcd", "*** is in abcd"},
        {"http://h/?channel=12&token=geheim", "geheim is refused for channel",
         "*** is refused for ***"},
        {"gst:videotestsrc", "no element \"x\"", "no element \"x\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[TEXT_BYTES];
        strcpy(text, cases[i].text);
        secret_hide_of(cases[i].source, text, sizeof text);
        assert_string_equal(text, cases[i].shown);
    }
}

static void what_does_not_fit_is_cut(void **state)
{
    (void)state;
    static const char text[] = "gst:rtspsrc location=rtsp://admin:geheim@h/1 user-pw=x ! queue";
    static const char all[] = "gst:rtspsrc location=rtsp://***@h/1 user-pw=*** ! queue";
    for (size_t size = 1; size < sizeof text; size++) {
        char shown[sizeof text], *exact = malloc(size), *error = malloc(size);
        assert_non_null(exact);
        assert_non_null(error);
        secret_hide(exact, size, text);
        assert_int_equal(strlen(exact), size - 1 < sizeof all - 1 ? size - 1 : sizeof all - 1);
        assert_memory_equal(exact, all, strlen(exact));
        snprintf(error, size, "%s",
                 "x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x x");
        snprintf(shown, sizeof shown, "%s", error);
        secret_hide_of("user-pw=x", error, size); /* too short to be hidden */
        assert_string_equal(error, shown);
        snprintf(error, size, "%s",
                 "abc abc abc abc abc abc abc abc abc abc abc abc abc abc abc a");
        secret_hide_of("user-pw=abc", error, size);
        assert_null(strstr(error, "abc"));
        free(exact);
        free(error);
    }
}

/* ---- random texts ---- */

static unsigned random_below(unsigned *seed, unsigned limit)
{
    *seed = *seed * 1103515245u + 12345u;
    return (*seed >> 16) % limit;
}

static const char *pick(unsigned *seed, const char *const from[], size_t count)
{
    return from[random_below(seed, (unsigned)count)];
}

#define PICK(seed, from) pick(seed, from, sizeof(from) / sizeof(from)[0])

/* Writes a secret that is recognized as a whole. Its middle can have anything but spaces. */
static void write_secret(char *secret, unsigned *seed)
{
    static const char any[] = "abcXYZ019@:/?#&=%+!$*'\"\\.,;-_~";
    const unsigned length = random_below(seed, 12);
    strcpy(secret, "GEHEIM");
    for (unsigned i = 0; i < length; i++)
        secret[6 + i] = any[random_below(seed, sizeof any - 1)];
    strcpy(secret + 6 + length, "GEHEIM");
}

/* A pipeline with one secret somewhere, and with innocent parts around it. */
static void write_pipeline(char text[TEXT_BYTES], const char *secret, unsigned *seed)
{
    static const char *const innocent[] = {"videotestsrc is-live=true",
                                           "video/x-raw,format=NV12,width=640",
                                           "name=x \"y z\"",
                                           "filesrc location='a b'",
                                           "rtspsrc location=rtsp://h/1?",
                                           "queue",
                                           "it's",
                                           "caps=\"video/x-raw, width=(int)5\"",
                                           "a = b"};
    static const char *const before[] = {"rtspsrc location=rtsp://admin:",
                                         "http://",
                                         "srt://h:9000?passphrase=",
                                         "user-pw=",
                                         "user-pw = ",
                                         "token=(string)",
                                         "http://h/a?b=c&d=",
                                         "Password:",
                                         "x.secret=",
                                         "uri=rtsp%3a%2F%2Fu%3a",
                                         "proxy=admin:x"};
    const unsigned at = random_below(seed, 4), count = at + 1 + random_below(seed, 3);
    text[0] = '\0';
    for (unsigned i = 0; i < count; i++) {
        if (i > 0)
            strcat(text, " ! ");
        if (i != at) {
            strcat(text, PICK(seed, innocent));
            continue;
        }
        const char *begin = PICK(seed, before);
        strcat(text, begin);
        strcat(text, secret);
        if (strstr(begin, "Fu%3a") != NULL || strstr(begin, "admin:") != NULL ||
            strcmp(begin, "http://") == 0)
            strcat(text, random_below(seed, 2) ? "@h/1" : "%40h");
    }
}

static void random_secrets_are_hidden(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 200000; seed++) {
        unsigned random = seed;
        char secret[32], text[TEXT_BYTES], shown[2 * TEXT_BYTES], again[2 * TEXT_BYTES];
        write_secret(secret, &random);
        write_pipeline(text, secret, &random);
        secret_hide(shown, sizeof shown, text);
        if (strstr(shown, "GEHEIM") != NULL)
            fail_msg("seed %u: %s is shown as %s", seed, text, shown);
        secret_hide(again, sizeof again, shown);
        if (strstr(again, "GEHEIM") != NULL || strlen(again) > strlen(shown))
            fail_msg("seed %u: %s is shown as %s", seed, shown, again);
    }
}

/* Any bytes: no read behind the end, and only what was in the text or the mark is shown. */
static void any_bytes_are_taken(void **state)
{
    (void)state;
    static const char any[] = "ab :/@?=&\"'\\()%34Fupwkey-\n\x80\xff";
    for (unsigned seed = 1; seed <= 100000; seed++) {
        unsigned random = seed;
        const size_t length = random_below(&random, 40);
        char *text = malloc(length + 1), *shown = malloc(4 * length + 4);
        assert_non_null(text);
        assert_non_null(shown);
        for (size_t i = 0; i < length; i++)
            text[i] = any[random_below(&random, sizeof any - 1)];
        text[length] = '\0';
        secret_hide(shown, 4 * length + 4, text);
        assert_int_equal(secret_is_in(text), strcmp(text, shown) != 0 || strstr(text, "***"));
        char error[64];
        snprintf(error, sizeof error, "%s", text);
        secret_hide_of(text, error, sizeof error);
        free(text);
        free(shown);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secrets_are_hidden),
        cmocka_unit_test(what_is_no_secret_is_shown),
        cmocka_unit_test(an_error_about_a_source_names_no_secret),
        cmocka_unit_test(what_does_not_fit_is_cut),
        cmocka_unit_test(random_secrets_are_hidden),
        cmocka_unit_test(any_bytes_are_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

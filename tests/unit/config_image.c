/* Images of filters, from files. */
#include <errno.h>
#include <png.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/cmocka.h"

#include "config/image.h"
#include "config/preset.h"

static char directory[] = "/tmp/fftd-images-XXXXXX";

static char *path_of(const char *name)
{
    static char path[200];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int set_up(void **state)
{
    (void)state;
    config_use_images();
    return mkdtemp(directory) == NULL || setenv("FFTD_IMAGE_DIR", directory, 1) < 0;
}

static int tear_down(void **state)
{
    static const char *const names[] = {"a.txt", "b.txt",  "pipe",     "link.txt",
                                        "hole",  "broken", "drawn.png"};
    (void)state;
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        unlink(path_of(names[i]));
    rmdir(path_of("folder"));
    config_forget_images();
    return rmdir(directory);
}

static const struct filter_image *load(const char *name)
{
    const struct filter_image *image = NULL;
    struct error why = {""};
    if (filter_image_load(&image, name, &why) != 0)
        fail_msg("%s: %s", name, why.text);
    return image;
}

static void expect_refused(const char *name, int r, const char *said)
{
    const struct filter_image *image = NULL;
    struct error why = {""};
    assert_int_equal(filter_image_load(&image, name, &why), r);
    assert_null(image);
    if (strstr(why.text, said) == NULL)
        fail_msg("\"%s\" does not contain \"%s\"", why.text, said);
}

static void content_is_shared_until_it_changes(void **state)
{
    (void)state;
    write_file("a.txt", "1 2 3");
    const struct filter_image *first = load("a.txt");
    assert_ptr_equal(load("a.txt"), first);
    write_file("a.txt", "1 2 3"); /* the same again */
    assert_ptr_equal(load("a.txt"), first);
    write_file("a.txt", "1 2 4"); /* in the same tick of the clock, of the same size */
    const struct filter_image *second = load("a.txt");
    assert_ptr_not_equal(second, first);
    assert_true(second->pixel[2] == 4 && first->pixel[2] == 3);
    assert_int_equal(symlink("a.txt", path_of("link.txt")), 0);
    assert_true(load("link.txt")->pixel[2] == 4);
}

static void held_images_stay(void **state)
{
    struct filter_chain chain = {.count = 0}, parsed;
    (void)state;
    write_file("b.txt", "5 6");
    assert_int_equal(config_filter(&parsed, "convolve:image=b.txt", NULL), 0);
    filter_chain_assign(&chain, &parsed);
    for (unsigned i = 0; i < 600; i++) { /* more than can be kept */
        char text[20];
        snprintf(text, sizeof text, "%u", i);
        write_file("a.txt", text);
        assert_true(load("a.txt")->pixel[0] == (float)i);
        config_trim_images();
    }
    config_forget_images();
    assert_true(chain.stage[0].image->pixel[1] == 6);
    assert_ptr_equal(load("b.txt"), chain.stage[0].image);
    filter_chain_drop(&chain);
}

/* Writes 3x2 pixels of one of libpng's formats as an image editor would. */
static void draw(png_uint_32 format, const void *pixels)
{
    png_image png = {.version = PNG_IMAGE_VERSION, .width = 3, .height = 2, .format = format};
    assert_true(png_image_write_to_file(&png, path_of("drawn.png"), 0, pixels, 0, NULL));
}

/* Each thread's images stay until it trims them, whatever others do meanwhile. ThreadSanitizer and
 * AddressSanitizer see more than the pixels. */
static void *load_and_trim(void *context)
{
    bool *is_right = context;
    *is_right = true;
    for (unsigned i = 0; i < 300 && *is_right; i++) {
        struct filter_chain chain;
        struct error why;
        *is_right =
            config_filter(&chain, i % 2 ? "mask:image=a.txt" : "mask:image=b.txt", &why) == 0;
        for (unsigned k = 0; k < 100 && *is_right; k++)
            *is_right = chain.stage[0].image->pixel[0] == (i % 2 ? 7 : 8);
        config_forget_images();
    }
    return NULL;
}

static void threads_share_images(void **state)
{
    pthread_t thread[4];
    bool is_right[4];
    (void)state;
    write_file("a.txt", "7");
    write_file("b.txt", "8");
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, load_and_trim, &is_right[i]), 0);
    for (unsigned i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    for (unsigned i = 0; i < 4; i++)
        assert_true(is_right[i]);
}

static void loading_is_cancelled(void **state)
{
    static const uint8_t plain[6] = {1, 2, 3, 4, 5, 6};
    static const struct filter_image *image;
    atomic_bool cancelled = false;
    struct error why = {""};
    (void)state;
    draw(PNG_FORMAT_GRAY, plain);
    config_cancel_images(&cancelled);
    assert_int_equal(filter_image_load(&image, "drawn.png", &why), 0);
    atomic_store(&cancelled, true);
    assert_int_equal(filter_image_load(&image, "drawn.png", &why), -ECANCELED);
    config_cancel_images(NULL);
    assert_int_equal(filter_image_load(&image, "drawn.png", &why), 0);
}

static void other_files_are_refused(void **state)
{
    (void)state;
    write_file("a.txt", "1");
    write_file("b.txt", "1");
    expect_refused("c.txt", -ENOENT, "unknown image c.txt: expected one of a.txt, b.txt");
    expect_refused("../etc/passwd", -EINVAL, "../etc/passwd is not the name of an image");
    expect_refused("..", -EINVAL, ".. is not the name of an image");
    expect_refused("", -EINVAL, "'' is not the name of an image");
    assert_int_equal(mkdir(path_of("folder"), 0700), 0);
    expect_refused("folder", -EINVAL, "/folder is a directory: expected a regular file");
    assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
    expect_refused("pipe", -EINVAL, "/pipe is a pipe: expected a regular file");
    write_file("hole", "");
    expect_refused("hole", -EINVAL, "image hole is empty");
    assert_int_equal(truncate(path_of("hole"), FILTER_IMAGE_MAX_BYTES + 1), 0);
    expect_refused("hole", -EFBIG, "/hole has 68157441 bytes: expected at most");
    assert_int_equal(truncate(path_of("hole"), FILTER_IMAGE_MAX_BYTES), 0);
    expect_refused("hole", -EINVAL, "image hole has 68157440 bytes of text");
    write_file("broken", "P5 9 9 255\n123");
    expect_refused("broken", -EINVAL, "image broken is truncated");
}

static void expect_pixels(const double *wanted, double white)
{
    const struct filter_image *image = load("drawn.png");
    assert_int_equal(image->columns, 3);
    assert_int_equal(image->rows, 2);
    for (unsigned i = 0; i < 6; i++)
        assert_float_equal(image->pixel[i], wanted[i] / white, 1e-7);
}

static void png_images_are_grey(void **state)
{
    static const double grey[] = {0, 1, 128, 254, 255, 77};
    static const double deep[] = {0, 1, 256, 32768, 65534, 65535};
    uint8_t plain[6], colour[6][3], drawn[6][2];
    uint16_t linear[6];
    (void)state;
    for (unsigned i = 0; i < 6; i++) {
        plain[i] = (uint8_t)grey[i];
        memset(colour[i], plain[i], sizeof colour[i]);
        drawn[i][0] = plain[i];
        drawn[i][1] = UINT8_MAX;
        linear[i] = (uint16_t)deep[i];
    }
    draw(PNG_FORMAT_GRAY, plain);
    expect_pixels(grey, UINT8_MAX);
    draw(PNG_FORMAT_RGB, colour);
    expect_pixels(grey, UINT8_MAX);
    draw(PNG_FORMAT_GA, drawn);
    expect_pixels(grey, UINT8_MAX);
    draw(PNG_FORMAT_LINEAR_Y, linear);
    expect_pixels(deep, UINT16_MAX);

    /* Half of the third pixel is erased, and all of the fourth. */
    drawn[2][1] = 127;
    drawn[3][1] = 0;
    draw(PNG_FORMAT_GA, drawn);
    expect_pixels((double[]){0, 1, 64, 0, 255, 77}, UINT8_MAX);

    /* Of equal light green counts most and blue least. */
    static const uint8_t primaries[6][3] = {{255, 0, 0}, {0, 255, 0}, {0, 0, 255}, {9, 9, 9}};
    draw(PNG_FORMAT_RGB, primaries);
    const float *pixel = load("drawn.png")->pixel;
    assert_true(pixel[1] > pixel[0] && pixel[0] > pixel[2] && pixel[2] > 0);
}

static void damaged_png_images_are_refused(void **state)
{
    static const uint8_t plain[6] = {1, 2, 3, 4, 5, 6};
    (void)state;
    draw(PNG_FORMAT_GRAY, plain);
    struct stat file;
    assert_int_equal(stat(path_of("drawn.png"), &file), 0);
    for (off_t length = file.st_size - 1; length >= 8; length--) {
        assert_int_equal(truncate(path_of("drawn.png"), length), 0);
        expect_refused("drawn.png", -EINVAL, "image drawn.png is no valid PNG: it is truncated");
    }
    assert_int_equal(truncate(path_of("drawn.png"), 7), 0);
    expect_refused("drawn.png", -EINVAL, "image drawn.png is a damaged PNG");

    uint8_t *wide = calloc(9000, 1);
    assert_non_null(wide);
    png_image png = {
        .version = PNG_IMAGE_VERSION, .width = 9000, .height = 1, .format = PNG_FORMAT_GRAY};
    assert_true(png_image_write_to_file(&png, path_of("drawn.png"), 0, wide, 0, NULL));
    free(wide);
    expect_refused("drawn.png", -EINVAL, "drawn.png has 9000x1 pixels: expected 1x1 .. 8192x8192");

    draw(PNG_FORMAT_GRAY, plain);
    FILE *damaged = fopen(path_of("drawn.png"), "r+");
    assert_non_null(damaged);
    assert_int_equal(fseek(damaged, -20, SEEK_END), 0); /* in the compressed pixels */
    assert_int_not_equal(fputc('!', damaged), EOF);
    assert_int_equal(fclose(damaged), 0);
    expect_refused("drawn.png", -EINVAL, "image drawn.png is no valid PNG: ");
}

static void chains_say_what_is_wrong(void **state)
{
    static const struct {
        const char *chain, *said;
    } cases[] = {
        {"convolve:image=c.txt", "convolve: unknown image c.txt: expected one of"},
        {"convolve:image=a/b", "convolve: a/b is not the name of an image"},
        {"convolve:image=broken", "convolve: image broken is truncated"},
        {"convolve:image=a.txt,kernel=1 2", "both kernel and image are given"},
        {"convolve", "kernel is missing: expected a kernel in numbers or an image"},
        {"convolve:image=b.txt,normalise=sum", "the kernel's sum is 0: expected at least 0.001"},
        {"mask", "mask: image is missing: expected the name of an image"},
        {"mask:image=broken", "mask: image broken is truncated"},
        {"match:gain=1", "match: image is missing"},
        {"match:image=a.txt", "match: image a.txt is of one brightness"},
        {"match:image=hole", "match: image hole is of one brightness"},
        {"wiener", "wiener: size is missing: expected 0.1 .. 50 px"},
        {"wiener:blur=image", "wiener: image is missing"},
        {"wiener:blur=disk,size=2,image=a.txt", "expected it only with blur = image"},
        {"wiener:blur=image,image=b.txt", "the sum of image b.txt is 0: expected a point spread"},
        {"gain:dc=1 | convolve:image=hole", "stage 2: convolve: image hole has 1x256 pixels"},
    };
    (void)state;
    write_file("broken", "P5 9 9 255\n123");
    write_file("a.txt", "1");
    write_file("b.txt", "1 -1");
    char column[2 * 256 + 1] = "";
    for (unsigned i = 0; i < 256; i++)
        memcpy(column + 2 * (size_t)i, "1\n", 3);
    write_file("hole", column);
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct filter_chain chain = {.count = 7};
        struct error why = {""};
        assert_true(config_filter(&chain, cases[i].chain, &why) < 0);
        assert_int_equal(chain.count, 7);
        if (strstr(why.text, cases[i].said) == NULL)
            fail_msg("\"%s\" does not contain \"%s\"", why.text, cases[i].said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(content_is_shared_until_it_changes),
        cmocka_unit_test(held_images_stay),
        cmocka_unit_test(threads_share_images),
        cmocka_unit_test(loading_is_cancelled),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(png_images_are_grey),
        cmocka_unit_test(damaged_png_images_are_refused),
        cmocka_unit_test(chains_say_what_is_wrong),
    };
    return cmocka_run_group_tests_name("config_image", tests, set_up, tear_down);
}

/* Files and assignments: accepted values are read back, errors name the place and the reason, and
 * nothing is applied in part. */
#include <dirent.h>
#include <errno.h>
#include <libconfig.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/cmocka.h"

#include "config/config.h"
#include "config/key.h"
#include "config/value.h"
#include "config/preset.h"
#include "core/format.h"

#define SHIPPED "config/fftd.conf" /* tests run from the top of the tree */
#define PRESETS "config/presets"
#define MANUAL  "docs/man/fftd.conf.5"

static char directory[64];
static char path[128]; /* the file under test */

static int make_directory(void **state)
{
    (void)state;
    strcpy(directory, "/tmp/fftd-test-XXXXXX");
    if (mkdtemp(directory) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/cam.conf", directory);
    return 0;
}

static int remove_directory(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(directory);
}

static void write_bytes(const void *bytes, size_t length)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static void assert_holds(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("'%s' does not hold '%s'", text, part);
}

static void load(struct config *config, const char *text)
{
    struct error why = {""};
    write_bytes(text, strlen(text));
    if (config_load(config, path, &why) != 0)
        fail_msg("%s", why.text);
}

static void set(struct config *config, const char *assignment)
{
    struct error why = {""};
    if (config_set(config, assignment, "--set", &why) != 0)
        fail_msg("%s", why.text);
}

static const struct config_key *find_key(const char *name)
{
    const struct config_key *key = config_key_find(name, "--set", NULL);
    assert_non_null(key);
    return key;
}

static void assert_equal(const struct config *a, const struct config *b)
{
    unsigned count;
    const struct config_key *keys = config_keys(&count);
    for (unsigned i = 0; i < count; i++) {
        char text_a[FILTER_TEXT_BYTES], text_b[FILTER_TEXT_BYTES];
        config_key_print(a, &keys[i], text_a, sizeof text_a);
        config_key_print(b, &keys[i], text_b, sizeof text_b);
        if (strcmp(text_a, text_b) != 0)
            fail_msg("%s: '%s' is not '%s'", keys[i].name, text_a, text_b);
    }
}

/* ---- the table ---- */

static void defaults_are_what_the_table_says(void **state)
{
    (void)state;
    struct config config;
    config_defaults(&config);
    unsigned count;
    const struct config_key *keys = config_keys(&count);
    for (unsigned i = 0; i < count; i++) {
        char text[FILTER_TEXT_BYTES], expects[CONFIG_EXPECTS_BYTES];
        config_key_print(&config, &keys[i], text, sizeof text);
        assert_string_equal(text, keys[i].initial);
        assert_ptr_equal(find_key(keys[i].name), &keys[i]);
        assert_true(strlen(keys[i].summary) > 0);
        config_value_expects(&keys[i], expects, sizeof expects);
        assert_in_range(strlen(expects), 4, sizeof expects - 2);
    }
    assert_int_equal(config.engine.options.margin, -1);
    assert_int_equal(config.engine.options.border, PLAN_MIRROR);
    assert_int_equal(config.engine.options.in_flight, 2);
    assert_int_equal(config.camera.source.width, 0);
    assert_true(config.camera.source.rate == 0);
    assert_int_equal(config.output.frames, 0);
    assert_int_equal(config.filter.count, 0);
}

/* No two keys share a field. */
static void fields_do_not_overlap(void **state)
{
    (void)state;
    unsigned count;
    const struct config_key *keys = config_keys(&count);
    for (unsigned i = 0; i < count; i++)
        for (unsigned j = 0; j < i; j++)
            assert_true(keys[i].offset + keys[i].size <= keys[j].offset ||
                        keys[j].offset + keys[j].size <= keys[i].offset);
}

static void every_type_is_set_and_read(void **state)
{
    (void)state;
    struct config config;
    config_defaults(&config);
    set(&config, "name=front_door-2");
    set(&config, "camera.source = file:a b=c.y4m");
    set(&config, "camera.size=1280x720");
    set(&config, "camera.fps=29.97");
    set(&config, "camera.format=nv12");
    set(&config, "camera.buffers=8");
    set(&config, "camera.loop=true");
    set(&config, "camera.seed=2147483647");
    set(&config, "engine.precision=half");
    set(&config, "engine.planes=luma-only");
    assert_int_equal(config.engine.options.recipe.planes, RECIPE_LUMA_ONLY);
    set(&config, "engine.planes=all");
    assert_int_equal(config.engine.options.recipe.demosaic, DEMOSAIC_GRADIENTS);
    set(&config, "engine.demosaic=bilinear");
    assert_int_equal(config.engine.options.recipe.demosaic, DEMOSAIC_BILINEAR);
    set(&config, "engine.technique=staged");
    set(&config, "engine.tune=exhaustive");
    set(&config, "engine.border=wrap");
    set(&config, "engine.border_value=0.5");
    set(&config, "engine.margin=32");
    set(&config, "filter=lowpass:cutoff=0.1|sharpen");
    set(&config, "output.frames=2147483647");
    assert_string_equal(config.name, "front_door-2");
    assert_string_equal(config.camera.source.uri, "file:a b=c.y4m");
    assert_int_equal(config.camera.source.width, 1280);
    assert_int_equal(config.camera.source.height, 720);
    assert_true(config.camera.source.rate == 29.97);
    assert_int_equal(config.camera.source.fourcc, FFTD_FOURCC('N', 'V', '1', '2'));
    assert_int_equal(config.camera.source.buffers, 8);
    assert_true(config.camera.source.loop);
    assert_int_equal(config.camera.source.seed, 2147483647);
    assert_int_equal(config.engine.options.recipe.precision, RECIPE_HALF);
    assert_int_equal(config.engine.options.recipe.planes, RECIPE_ALL);
    assert_int_equal(config.engine.options.technique, ENGINE_STAGED);
    assert_int_equal(config.engine.options.tune, ENGINE_TUNE_EXHAUSTIVE);
    assert_int_equal(config.engine.options.border, PLAN_WRAP);
    assert_true(config.engine.options.border_value == 0.5);
    assert_int_equal(config.engine.options.margin, 32);
    assert_int_equal(config.filter.count, 2);
    assert_int_equal(config.output.frames, 2147483647);

    char fps[16];
    set(&config, "camera.fps=max");
    assert_true(isinf(config.camera.source.rate));
    config_key_print(&config, find_key("camera.fps"), fps, sizeof fps);
    assert_string_equal(fps, "max");
    set(&config, "camera.size=auto");
    set(&config, "camera.fps=auto");
    set(&config, "camera.format=auto");
    set(&config, "engine.margin=auto");
    set(&config, "output.frames=unlimited");
    assert_int_equal(config.camera.source.width + config.camera.source.height, 0);
    assert_true(config.camera.source.rate == 0);
    assert_int_equal(config.camera.source.fourcc, 0);
    assert_int_equal(config.engine.options.margin, -1);
    assert_int_equal(config.output.frames, 0);
}

/* One key at a time is changed, compared and copied; no other one follows. */
static void keys_are_compared_and_copied(void **state)
{
    (void)state;
    static const char *const changes[] = {
        "name=other",         "camera.source=file:a", "camera.size=640x480",
        "camera.fps=25",      "camera.format=NV12",   "camera.buffers=4",
        "camera.memory=mmap", "camera.loop=true",     "camera.controls=gain=1",
        "engine.margin=8",    "engine.border=wrap",   "filter=sharpen",
        "output.slots=9",     "output.checksum=true", "output.frames=7",
    };
    unsigned count;
    const struct config_key *keys = config_keys(&count);
    for (size_t c = 0; c < sizeof changes / sizeof changes[0]; c++) {
        struct config config, changed;
        config_defaults(&config);
        config_defaults(&changed);
        set(&changed, changes[c]);
        size_t length = strcspn(changes[c], "=");
        for (unsigned i = 0; i < count; i++) {
            bool is_changed =
                strlen(keys[i].name) == length && strncmp(keys[i].name, changes[c], length) == 0;
            assert_int_equal(config_key_equal(&config, &changed, &keys[i]), !is_changed);
            if (!is_changed)
                config_key_copy(&config, &changed, &keys[i]);
        }
        for (unsigned i = 0; i < count; i++)
            if (!config_key_equal(&config, &changed, &keys[i]))
                config_key_copy(&config, &changed, &keys[i]);
        assert_equal(&config, &changed);
    }

    struct config a, b;
    config_defaults(&a);
    config_defaults(&b);
    set(&a, "camera.size=640x480");
    set(&b, "camera.size=640x481");
    const struct config_key *size = find_key("camera.size");
    assert_false(config_key_equal(&a, &b, size));
    config_key_copy(&a, &b, size);
    assert_int_equal(a.camera.source.height, 481);
    /* What a longer text has left behind in the field is not part of its value. */
    set(&a, "name=longer");
    set(&a, "name=x");
    set(&b, "name=x");
    assert_true(config_key_equal(&a, &b, find_key("name")));
}

static void assignments_are_refused_with_reasons(void **state)
{
    (void)state;
    static const struct {
        const char *assignment;
        const char *says[2];
    } cases[] = {
        {"camera.fps", {"--set: camera.fps: expected KEY=VALUE"}},
        {"", {"--set: '': expected KEY=VALUE"}},
        {"=3", {"unknown key ''"}},
        {"camera.fsp=3",
         {"unknown key camera.fsp: expected one of source, size, fps", "did you mean camera.fps?"}},
        {"precision=half",
         {"expected one of name, camera.*, engine.*, filter, output.*",
          "did you mean engine.precision?"}},
        {"engine.prec=half",
         {"unknown key engine.prec: expected one of device, precision, planes"}},
        {"output.slot=4", {"expected one of size, slots, checksum", "did you mean output.slots?"}},
        {"camera=3", {"unknown key camera"}},
        {"camera.=3", {"unknown key camera.: expected one of source"}},
        {"camera.fps=fast",
         {"camera.fps = fast: expected a number 0.1 .. 1000 frames/s, auto or max"}},
        {"camera.fps=inf", {"camera.fps = inf: expected a number"}},
        {"camera.fps=nan", {"camera.fps = nan: expected a number"}},
        {"camera.fps=0", {"camera.fps = 0: expected a number 0.1"}},
        {"camera.fps=-1", {"camera.fps = -1: expected a number 0.1"}},
        {"camera.fps=1001", {"camera.fps = 1001: expected a number 0.1"}},
        {"camera.fps=-inf", {"camera.fps = -inf: expected a number 0.1"}},
        {"camera.buffers=1", {"camera.buffers = 1: expected a whole number 2 .. 32"}},
        {"camera.buffers=33", {"camera.buffers = 33: expected a whole number 2 .. 32"}},
        {"camera.fps=1e999", {"expected a number"}},
        {"camera.buffers=4.5", {"camera.buffers = 4.5: expected a whole number 2 .. 32"}},
        {"camera.seed=-1", {"camera.seed = -1: expected a whole number 0"}},
        {"camera.loop=yes", {"camera.loop = yes: expected true or false"}},
        {"camera.size=640",
         {"camera.size = 640: expected WIDTHxHEIGHT, 16x16 .. 8192x8192 pixels, or auto"}},
        {"output.size=640x",
         {"output.size = 640x: expected WIDTHxHEIGHT, 16x16 .. 8192x8192 pixels, or auto"}},
        {"camera.size=640x", {"expected WIDTHxHEIGHT"}},
        {"camera.size=640x480x2", {"expected WIDTHxHEIGHT"}},
        {"camera.size=000000000000000000000000000000000000640x480", {"expected WIDTHxHEIGHT"}},
        {"camera.size=15x480", {"expected WIDTHxHEIGHT"}},
        {"camera.size=640.5x480", {"expected WIDTHxHEIGHT"}},
        {"camera.size=99999x480", {"expected WIDTHxHEIGHT"}},
        {"camera.format=NV13",
         {"camera.format = NV13: expected one of GREY, Y10", "SRGGB16, or auto"}},
        {"camera.source=/dev/video0",
         {"camera.source = /dev/video0: expected SCHEME:WHAT, such as v4l2:/dev/video0"}},
        {"camera.source=", {"camera.source = '': expected"}},
        {"camera.source=v4l2:", {"expected SCHEME:WHAT"}},
        {"name=a/b", {"name = a/b: expected letters, digits, _ and -"}},
        {"name=", {"name = ''"}},
        {"name=..", {"name = ..: expected letters"}},
        {"engine.device=", {"engine.device = ''"}},
        {"engine.precision=quarter", {"engine.precision = quarter: expected one of float, half"}},
        {"engine.demosaic=cubic", {"engine.demosaic = cubic: expected one of bilinear, gradients"}},
        {"engine.in_flight=4", {"expected a whole number 1 .. 3 frames"}},
        {"engine.margin=-1", {"engine.margin = -1: expected a whole number 0 .. 4096 px, or auto"}},
        {"output.slots=3", {"output.slots = 3: expected a whole number 4 .. 64 frames"}},
        {"filter=lowpas", {"--set: filter: unknown filter lowpas"}},
        {"filter=lowpass:cutoff=nan", {"--set: filter: lowpass: cutoff = nan is not a number"}},
        {"filter=preset:no-such",
         {"--set: filter: unknown preset no-such: expected one of checkerboard, column-noise, ",
          "moire"}},
        {"filter=preset:unshrp", {"did you mean unsharp?"}},
        {"filter=preset:../presets/unsharp", {"unknown preset ../presets/unsharp"}},
        {"filter=preset:", {"unknown preset ''"}},
    };
    setenv("FFTD_PRESET_DIR", PRESETS, 1);
    struct config config, before;
    config_defaults(&config);
    before = config;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error why = {""};
        assert_true(config_set(&config, cases[i].assignment, "--set", &why) < 0);
        for (unsigned s = 0; s < 2 && cases[i].says[s] != NULL; s++)
            assert_holds(why.text, cases[i].says[s]);
        assert_memory_equal(&config, &before, sizeof config);
    }
    unsetenv("FFTD_PRESET_DIR");
}

/* A name that is cut would send its reader to a preset that does not exist. */
static void presets_are_named_whole(void **state)
{
    (void)state;
    char folder[] = "/tmp/fftd-presets-XXXXXX", file[128];
    struct filter_chain chain;
    struct error why = {""};
    assert_non_null(mkdtemp(folder));
    for (unsigned i = 0; i < 100; i++) {
        snprintf(file, sizeof file, "%s/preset-%02u.conf", folder, i);
        FILE *preset = fopen(file, "w");
        assert_non_null(preset);
        fclose(preset);
    }
    setenv("FFTD_PRESET_DIR", folder, 1);
    assert_int_equal(config_filter(&chain, "preset:x", &why), -ENOENT);
    unsigned named = 0, more = 0;
    int length = 0;
    const char *at = strstr(why.text, "preset-00");
    /* NOLINTNEXTLINE(cert-err34-c): the daemon has written these numbers */
    for (unsigned number; at != NULL && sscanf(at, "preset-%2u%n", &number, &length) == 1;
         at += strncmp(at + length, ", ", 2) == 0 ? length + 2 : length)
        assert_int_equal(number, named++);
    /* NOLINTNEXTLINE(cert-err34-c) */
    assert_int_equal(sscanf(at, " and %u more%n", &more, &length), 1);
    assert_int_equal(at[length], '\0');
    assert_int_equal(named + more, 100);
    assert_true(named > 20);
    for (unsigned i = 0; i < 100; i++) {
        snprintf(file, sizeof file, "%s/preset-%02u.conf", folder, i);
        unlink(file);
    }
    rmdir(folder);
    unsetenv("FFTD_PRESET_DIR");
}

static void too_long_is_refused(void **state)
{
    (void)state;
    static const char *const keys[] = {"name=", "camera.source=file:", "filter="};
    struct config config, before;
    config_defaults(&config);
    before = config;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        char assignment[8000];
        strcpy(assignment, keys[i]);
        memset(assignment + strlen(keys[i]), 'x', 7000);
        for (size_t length = 300; length <= 7000; length += 6700) {
            struct error why = {""};
            assignment[length] = '\0';
            assert_true(config_set(&config, assignment, "--set", &why) < 0);
            assert_true(strlen(why.text) > 0);
            memset(assignment + length, 'x', 1);
        }
    }
    assert_memory_equal(&config, &before, sizeof config);
}

/* ---- files ---- */

static void the_shipped_file_is_the_defaults(void **state)
{
    (void)state;
    struct config defaults, config;
    struct error why = {""};
    config_defaults(&defaults);
    config_defaults(&config);
    /* These keys differ from their defaults, so that the test notices if the file lacks one. */
    set(&config, "name=other");
    set(&config, "camera.size=64x64");
    set(&config, "engine.border=wrap");
    set(&config, "output.slots=5");
    if (config_load(&config, SHIPPED, &why) != 0)
        fail_msg("%s", why.text);
    assert_equal(&config, &defaults);
}

static void the_shipped_file_has_every_key(void **state)
{
    (void)state;
    config_t tree;
    config_init(&tree);
    if (config_read_file(&tree, SHIPPED) != CONFIG_TRUE)
        fail_msg("%s:%d: %s", SHIPPED, config_error_line(&tree), config_error_text(&tree));
    unsigned count;
    const struct config_key *keys = config_keys(&count);
    for (unsigned i = 0; i < count; i++)
        if (config_lookup(&tree, keys[i].name) == NULL)
            fail_msg("%s lacks %s", SHIPPED, keys[i].name);
    config_destroy(&tree);
}

static void the_manual_has_every_key(void **state)
{
    (void)state;
    char text[32768], entry[128];
    FILE *file = fopen(MANUAL, "r");
    assert_non_null(file);
    size_t length = fread(text, 1, sizeof text - 1, file);
    text[length] = '\0';
    assert_int_equal(fclose(file), 0);
    unsigned count;
    const struct config_key *keys = config_keys(&count);
    for (unsigned i = 0; i < count; i++) {
        snprintf(entry, sizeof entry, "\n.It Va %s No = ", keys[i].name);
        if (strstr(text, entry) == NULL)
            fail_msg("%s lacks %s", MANUAL, keys[i].name);
    }
}

static void a_file_sets_what_it_names(void **state)
{
    (void)state;
    struct config config;
    config_defaults(&config);
    load(&config,
         "# a camera\n"
         "camera = { source = \"pattern:moire\"; size = \"640x480\"; fps = 30; loop = true; };\n"
         "engine = { margin = 16; border_value = 1; };\n"
         "filter = ( { type = \"lowpass\"; shape = \"ideal\"; cutoff = 0.1; },\n"
         "           { type = \"notch\"; at = [0.25, 0.0]; width = 0.01; },\n"
         "           { type = \"notch\"; at = (0, -0.25); width = 1e-2; order = 3; },\n"
         "           { type = \"notch\"; at = \"0.125/0.125\"; width = 0.01; } );\n");
    assert_string_equal(config.camera.source.uri, "pattern:moire");
    assert_int_equal(config.camera.source.height, 480);
    assert_true(config.camera.source.rate == 30);
    assert_true(config.camera.source.loop);
    assert_int_equal(config.engine.options.margin, 16);
    assert_true(config.engine.options.border_value == 1);
    assert_int_equal(config.output.slots, 8);
    char text[FILTER_TEXT_BYTES];
    filter_chain_print(&config.filter, text, sizeof text);
    assert_string_equal(text, "lowpass:shape=ideal,cutoff=0.1,order=2 | "
                              "notch:at=0.25/0,width=0.01,shape=gaussian,order=2 | "
                              "notch:at=0/-0.25,width=0.01,shape=gaussian,order=3 | "
                              "notch:at=0.125/0.125,width=0.01,shape=gaussian,order=2");
    load(&config, "filter = \"sharpen\";");
    assert_int_equal(config.filter.count, 1);
    assert_int_equal(config.camera.source.height, 480);
    load(&config, "filter = ();");
    assert_int_equal(config.filter.count, 0);
    load(&config, "");
    assert_int_equal(config.camera.source.height, 480);
    load(&config, "output = { frames = 0x7fffffff; }; /* 99999999999 @include */ # @include\n"
                  "camera = { source = \"file:@include 99999999999 \\\" /* # \"; };");
    assert_int_equal(config.output.frames, 0x7fffffff);
    assert_string_equal(config.camera.source.uri, "file:@include 99999999999 \" /* #");
    load(&config,
         "camera = { controls = { auto_exposure = \"Manual Mode\"; gain = 7; flip = true; }; };");
    config_key_print(&config, find_key("camera.controls"), text, sizeof text);
    assert_string_equal(text, "auto_exposure=Manual Mode, gain=7, flip=true");
    load(&config, "camera = { controls = \"gain=8\"; };");
    assert_int_equal(config.camera.controls.count, 1);
    load(&config, "camera = { controls = { }; };");
    assert_int_equal(config.camera.controls.count, 0);
}

static void files_are_refused_with_their_line(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *says[2];
    } cases[] = {
        {"camera = {\n  widht = 3;\n};",
         {":2: unknown key camera.widht: expected one of source, size"}},
        {"\n\ncolour = 1;", {":3: unknown key colour: expected one of name, camera.*"}},
        {"lens = { f = 1; };", {":1: unknown key lens"}},
        {"camera = 3;", {":1: camera is a value: expected a group"}},
        {"camera = ( 3 );", {":1: camera is a list"}},
        {"name = { a = 1; };", {":1: name is a group { ... }: expected letters"}},
        {"camera = { fps = \"30\"; };",
         {":1: camera.fps = \"30\" is in quotes: expected a number 0.1"}},
        {"camera = { fps = \"fast\"; };", {":1: camera.fps = fast: expected a number 0.1"}},
        {"camera = { fps = true; };", {":1: camera.fps = true: expected a number"}},
        {"camera = { fps = [ 30, 25 ]; };", {":1: camera.fps is an array"}},
        {"camera = { loop = \"true\"; };",
         {":1: camera.loop = \"true\" is in quotes: expected true or false"}},
        {"camera = { loop = 1; };", {":1: camera.loop = 1: expected true or false"}},
        {"camera = { size = 640; };", {":1: camera.size = 640: expected WIDTHxHEIGHT"}},
        {"camera = { source = 640; };", {":1: camera.source = 640: expected SCHEME"}},
        {"output = {\n slots = 400; };",
         {":2: output.slots = 400: expected a whole number 4 .. 64"}},
        {"engine = { margin = \"16\"; };", {":1: engine.margin = \"16\" is in quotes"}},
        {"output = { slots = \"16\"; };", {":1: output.slots = \"16\" is in quotes"}},
        {"output = { frames = \"16\"; };", {":1: output.frames = \"16\" is in quotes"}},
        {"output = { slots = 4294967304; };",
         {":1: 4294967304 is out of range: expected at most 2147483647"}},
        {"output = { slots = 0x100000008; };", {":1: 0x100000008 is out of range"}},
        {"output = { slots = 4294967304L; };", {":1: output.slots = 4294967304: expected"}},
        {"engine = { border_value = 1e400; };",
         {":1: engine.border_value = inf: expected a number"}},
        {"name = \"a\";\nname = \"b\";", {":2: duplicate", "expected every key once"}},
        {"camera = {\n  fps = 30\n  size = ;\n};", {":3: syntax error: expected KEY = VALUE;"}},
        {"camera = {", {"syntax error"}},
        {"camera = {\n source = \"file:a\n fps = 30; }",
         {":2: the string that begins here has no end"}},
        {"name = \"abc\\", {":1: the string that begins here"}},
        {"\xff\xfe\x00", {":1: syntax error"}},
        {"@include \"other.conf\"", {":1: @include: expected one complete file"}},
        {"name = \"a\";\n  @include \"/\"", {":2: @include"}},
        {"filter = \"lowpass:cutoff=0.7\";",
         {":1: filter: lowpass: cutoff = 0.7 is out of range: expected 0.0001 .. 0.5"}},
        {"filter = 3;", {":1: filter: unknown filter 3"}},
        {"camera = { controls = {\n gain = 1;\n Gain = 2; }; };",
         {":3: camera.controls: Gain is not the name of a control"}},
        {"camera = { controls = {\n gain = (1, 2); }; };",
         {":2: camera.controls.gain is a list ( ... ): expected a value"}},
        {"camera = { controls = \"gain\"; };", {":1: camera.controls: gain: expected NAME=VALUE"}},
        {"filter = { type = \"sharpen\"; };", {":1: filter is a group"}},
        {"filter = ( \"sharpen\" );", {":1: filter: expected each stage as { type"}},
        {"filter = ( {\n amount = 1; } );", {"filter: expected each stage as { type"}},
        {"filter = ( { type = 3; } );", {"filter: expected each stage as { type"}},
        {"filter = ( { type = \"sharpen\"; },\n { type = \"lowpas\"; } );",
         {":2: filter: unknown filter lowpas", "did you mean lowpass?"}},
        {"filter = ( { type = \"lowpass\";\n cutof = 0.1; } );",
         {":2: filter: lowpass: unknown parameter cutof: expected one of shape",
          "did you mean cutoff?"}},
        {"filter = ( { type = \"lowpass\";\n cutoff = 0.7; } );",
         {":2: filter: lowpass: cutoff = 0.7 is out of range"}},
        {"filter = ( { type = \"lowpass\"; cutoff = \"0.1\"; } );",
         {":1: filter: lowpass: cutoff = \"0.1\" is in quotes: expected a number"}},
        {"filter = ( { type = \"convolve\"; kernel = [1, 2]; } );",
         {"convolve: kernel is an array", "expected a text of its rows"}},
        {"filter = ( { type = \"convolve\"; kernel = ( \"1 2\", \"3 4\" ); } );",
         {"convolve: kernel is a list", "expected a text of its rows"}},
        {"filter = ( { type = \"convolve\"; kernel = \"1 2/3\"; } );", {"is not a kernel"}},
        {"filter = ( { type = \"lowpass\"; cutoff = (0.1, 0.2); } );",
         {":1: filter: lowpass: cutoff is a list", "expected a value"}},
        {"filter = ( { type = \"lowpass\"; cutoff = { a = 1; }; } );",
         {":1: filter: lowpass: cutoff is a group"}},
        {"filter = ( { type = \"lowpass\"; } );", {":1: filter: lowpass: cutoff is missing"}},
        {"filter = ( { type = \"notch\"; at = [0.1, 0.2, 0.3]; width = 0.1; } );",
         {":1: filter: notch: at is an array"}},
        {"filter = ( { type = \"notch\"; at = 0.1; width = 0.1; } );",
         {":1: filter: notch: at = 0.1 is not a pair"}},
        {"filter = ( { type = \"bandpass\"; low = 0.2; high = 0.1; } );",
         {":1: filter: bandpass: low = 0.2 must be below"}},
    };
    struct config config, before;
    config_defaults(&config);
    before = config;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct error why = {""};
        write_bytes(cases[i].text, strlen(cases[i].text));
        assert_int_equal(config_load(&config, path, &why), -EINVAL);
        assert_memory_equal(why.text, path, strlen(path));
        for (unsigned s = 0; s < 2 && cases[i].says[s] != NULL; s++)
            assert_holds(why.text, cases[i].says[s]);
        assert_memory_equal(&config, &before, sizeof config);
    }
}

static void stages_are_counted(void **state)
{
    (void)state;
    char text[4096] = "filter = ( { type = \"sharpen\"; }";
    for (unsigned i = 1; i < FILTER_MAX_STAGES; i++)
        strcat(text, ", { type = \"sharpen\"; }");
    struct config config;
    struct error why = {""};
    config_defaults(&config);
    size_t full = strlen(text);
    strcat(text, " );");
    load(&config, text);
    assert_int_equal(config.filter.count, FILTER_MAX_STAGES);
    strcpy(text + full, ",\n { type = \"sharpen\"; } );");
    write_bytes(text, strlen(text));
    assert_int_equal(config_load(&config, path, &why), -EINVAL);
    assert_holds(why.text, ":1: filter has 33 stages: expected at most 32");
}

static void nothing_is_half_applied(void **state)
{
    (void)state;
    struct config config, before;
    struct error why = {""};
    config_defaults(&config);
    before = config;
    static const char text[] = "name = \"other\";\n"
                               "camera = { fps = 30; loop = true; };\n"
                               "filter = ( { type = \"sharpen\"; } );\n"
                               "output = { slots = 9; max_clients = 0; };\n";
    write_bytes(text, strlen(text));
    assert_int_equal(config_load(&config, path, &why), -EINVAL);
    assert_holds(why.text, ":4: output.max_clients = 0: expected a whole number 1 .. 1024");
    assert_memory_equal(&config, &before, sizeof config);
}

static void what_is_no_file_is_refused(void **state)
{
    (void)state;
    struct config config, before;
    struct error why = {""};
    config_defaults(&config);
    before = config;
    unlink(path);
    assert_int_equal(config_load(&config, path, &why), -ENOENT);
    assert_holds(why.text, path);
    assert_holds(why.text, "No such file");
    assert_int_equal(config_load(&config, directory, &why), -EINVAL);
    assert_holds(why.text, "Is a directory");

    static const char zero[] = "name = \"a\";\0name";
    write_bytes(zero, sizeof zero);
    assert_int_equal(config_load(&config, path, &why), -EINVAL);
    assert_holds(why.text, "contains a zero byte");

    char *large = malloc(300000);
    assert_non_null(large);
    memset(large, ' ', 300000);
    write_bytes(large, 300000);
    free(large);
    assert_int_equal(config_load(&config, path, &why), -EINVAL);
    assert_holds(why.text, "the file is too large: expected at most 262144 bytes");
    assert_memory_equal(&config, &before, sizeof config);
}

static void an_unreadable_file_is_refused(void **state)
{
    (void)state;
    struct config config;
    struct error why = {""};
    config_defaults(&config);
    write_bytes("", 0);
    assert_int_equal(chmod(path, 0), 0);
    /* root may read every file, so the test changes its user for this call. */
    assert_int_equal(chmod(directory, 0755), 0);
    if (geteuid() == 0 && (setegid(65534) < 0 || seteuid(65534) < 0) && access(path, R_OK) == 0) {
        puts("skipped: this root reads every file, and may not act as other users");
        skip();
    }
    int r = config_load(&config, path, &why);
    assert_int_equal(seteuid(getuid()), 0);
    assert_int_equal(setegid(getgid()), 0);
    assert_int_equal(unlink(path), 0); /* the next test writes it */
    assert_int_equal(r, -EACCES);
    assert_holds(why.text, path);
    assert_holds(why.text, "Permission denied");
}

/* ---- printing ---- */

static void what_is_printed_loads_again(void **state)
{
    (void)state;
    struct config config, back;
    struct error why = {""};
    config_defaults(&config);
    for (int changed = 0; changed < 2; changed++) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        config_print(&config, file);
        assert_int_equal(fclose(file), 0);
        memset(&back, 0, sizeof back);
        config_defaults(&back);
        if (config_load(&back, path, &why) != 0)
            fail_msg("%s", why.text);
        assert_equal(&back, &config);

        set(&config, "camera.source=file:a \"quoted\" \\ path\twith a tab");
        set(&config, "camera.size=641x479");
        set(&config, "camera.fps=29.97002997002997");
        set(&config, "camera.format=YUV420");
        set(&config, "camera.loop=true");
        set(&config, "camera.seed=2147483647");
        set(&config, "engine.margin=0");
        set(&config, "filter=notch:at=0.1/-0.3,width=0.012345678901234567 | sharpen");
        set(&config, "output.frames=300");
        set(&config, "output.runtime_dir=/run/x");
    }
}

/* ---- outputs ---- */

static void outputs_are_read_and_printed(void **state)
{
    (void)state;
    static const char list[] =
        "( { name = \"small\"; size = \"640x360\"; fps = 10; filter = \"gaussian-blur:sigma=2\"; },"
        " { name = \"edges-1\"; planes = \"luma-only\"; depth = 16; edge = 0.25; filter = ( { type "
        "= "
        "\"gain\"; "
        "dc = 2; } ); "
        "} )";
    struct config config, again, of;
    char text[1024], printed[FILTER_TEXT_BYTES], assignment[FILTER_TEXT_BYTES + 16];
    config_defaults(&config);
    assert_int_equal(config_output_count(&config), 1);
    assert_string_equal(config_output_name(&config, 0), "main");
    snprintf(text, sizeof text, "engine = { planes = \"all\"; };\noutputs = %s;", list);
    load(&config, text);
    assert_int_equal(config_output_count(&config), 3);
    assert_string_equal(config_output_name(&config, 2), "edges-1");
    assert_true(config_output_fps(&config, 1) == 10 && config_output_fps(&config, 2) == 0);

    config_of_output(&of, &config, 1);
    assert_int_equal(of.output.width, 640);
    assert_int_equal(of.output.height, 360);
    assert_int_equal(of.engine.options.recipe.planes, RECIPE_ALL);
    assert_int_equal(of.filter.count, 1);
    config_of_output(&of, &config, 2);
    assert_int_equal(of.output.width, 0);
    assert_int_equal(of.engine.options.recipe.planes, RECIPE_LUMA_ONLY);
    assert_int_equal(of.engine.options.recipe.depth, RECIPE_DEPTH_16);
    assert_true(of.engine.options.recipe.crop_edge == 0.25);
    config_of_output(&of, &config, 0);
    assert_true(of.engine.options.recipe.crop_edge == 0); /* the default */
    assert_int_equal(of.engine.options.recipe.planes, RECIPE_ALL);
    assert_int_equal(of.engine.options.recipe.depth, RECIPE_DEPTH_AUTO);
    assert_int_equal(of.filter.count, 0);

    const struct config_key *key = find_key("outputs");
    config_key_print(&config, key, printed, sizeof printed);
    config_defaults(&again);
    assert_false(config_key_equal(&config, &again, key));
    snprintf(assignment, sizeof assignment, "outputs=%s", printed);
    set(&again, assignment);
    assert_true(config_key_equal(&config, &again, key));
    set(&again, "outputs=()");
    assert_int_equal(config_output_count(&again), 1);
}

static void places_of_outputs_are_freed_and_used_again(void **state)
{
    (void)state;
    static const char list[] = "( { name = \"a\"; }, { name = \"b\"; filter = \"gain:dc=2\"; } )";
    const struct config_key *key = find_key("outputs");
    const struct config_named_output c = {.name = "c", .fps = 5};
    struct config_named_output set_from_text = {.name = ""};
    struct config config, other;
    struct error why;
    char text[256], printed[FILTER_TEXT_BYTES];
    config_defaults(&config);
    snprintf(text, sizeof text, "outputs = %s;", list);
    load(&config, text);
    config_clear_output(&config, 1);
    assert_false(config_has_output(&config, 1));
    assert_true(config_has_output(&config, 0) && config_has_output(&config, 2));
    assert_int_equal(config_find_output(&config, "a"), -ENOENT);
    assert_int_equal(config_find_output(&config, ""), -ENOENT);
    assert_int_equal(config_find_output(&config, "b"), 2);
    config_key_print(&config, key, printed, sizeof printed);
    assert_null(strstr(printed, "\"a\""));
    assert_int_equal(strncmp(printed, "( { name = \"b\"", 14), 0);

    /* Lists are compared whatever their order and their places are. */
    config_put_output(&config, 5, &c);
    assert_int_equal(config_output_count(&config), 6);
    config_defaults(&other);
    load(&other, "outputs = ( { name = \"c\"; fps = 5; }, "
                 "{ name = \"b\"; filter = \"gain:dc=2\"; } );");
    assert_true(config_key_equal(&config, &other, key));
    load(&other, "outputs = ( { name = \"c\"; fps = 6; }, "
                 "{ name = \"b\"; filter = \"gain:dc=2\"; } );");
    assert_false(config_key_equal(&config, &other, key));
    config_clear_output(&config, 5);
    assert_int_equal(config_output_count(&config), 3);
    config_clear_output(&config, 2);
    assert_int_equal(config_output_count(&config), 1);
    config_key_print(&config, key, printed, sizeof printed);
    assert_string_equal(printed, "()");

    assert_int_equal(config_set_output(&set_from_text, "size", "64x48", "output", &why), 0);
    assert_int_equal(set_from_text.height, 48);
    assert_int_equal(config_set_output(&set_from_text, "size", "1x1", "output", &why), -EINVAL);
    assert_non_null(strstr(why.text, "output: outputs.size = 1x1: expected"));
    assert_int_equal(config_set_output(&set_from_text, "sizes", "1", "output", &why), -EINVAL);
    assert_non_null(strstr(why.text, "unknown key sizes of an output"));
}

/* On failure nothing changes. */
static void bad_outputs_are_refused(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"", "--set: outputs: expected ( { name ="},
        {"none", "--set: outputs: expected ( { name ="},
        {"( ); name = \"x\"", "--set: outputs: expected ( { name ="},
        {"( {", "syntax error"},
        {"( { name = \"main\"; } )", "outputs.name = main: expected letters, digits and hyphens"},
        {"( { name = \"-a\"; } )", "outputs.name = -a: expected letters"},
        {"( { name = \"0123456789012345678901234567890x\"; } )", "at most 31 bytes"},
        {"( { name = \"a\"; fps = 2000; } )", "outputs.fps = 2000: expected a number 0.01 .. 1000"},
        {"( { name = \"a\"; filter = { }; } )", "outputs.filter is a group { ... }"},
        {"( { name = \"a\"; }, { name = \"a\"; } )", "two outputs are named a"},
    };
    struct config config;
    config_defaults(&config);
    set(&config, "outputs=( { name = \"kept\"; } )");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char assignment[256];
        struct error why = {""};
        snprintf(assignment, sizeof assignment, "outputs=%s", bad[i][0]);
        assert_int_equal(config_set(&config, assignment, "--set", &why), -EINVAL);
        assert_holds(why.text, bad[i][1]);
        assert_int_equal(config_output_count(&config), 2);
        assert_string_equal(config_output_name(&config, 1), "kept");
    }
}

/* ---- presets ---- */

/* For presets with recorded frames, which are as large as those of the camera. */
static int load_any_image(const struct filter_image **ret, const char *name, struct error *why)
{
    static struct filter_image image = {.name = "any.pfm", .columns = 0, .rows = 0};
    (void)name;
    (void)why;
    *ret = &image;
    return 0;
}

static void every_preset_loads(void **state)
{
    (void)state;
    filter_image_set_loader(load_any_image);
    DIR *presets = opendir(PRESETS);
    assert_non_null(presets);
    setenv("FFTD_PRESET_DIR", PRESETS, 1);
    unsigned count = 0;
    for (const struct dirent *entry; (entry = readdir(presets)) != NULL;) {
        char name[300], assignment[320];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof name, "%s", entry->d_name);
        char *suffix = strstr(name, ".conf");
        assert_non_null(suffix);
        *suffix = '\0';

        struct filter_chain chain;
        struct config config;
        struct error why = {""};
        snprintf(assignment, sizeof assignment, "preset:%s", name);
        if (config_filter(&chain, assignment, &why) != 0)
            fail_msg("%s", why.text);
        assert_in_range(chain.count, 1, FILTER_MAX_STAGES);
        /* Only the preset that draws on black changes the mean brightness. */
        double mean = creal(filter_chain_response(&chain, 0, 0));
        assert_true(fabs(mean - (strcmp(name, "edges") == 0 ? 0 : 1)) < 1e-4);
        config_defaults(&config);
        snprintf(assignment, sizeof assignment, "filter=preset:%s", name);
        set(&config, assignment);
        assert_memory_equal(&config.filter, &chain, sizeof chain);
        count++;
    }
    closedir(presets);
    filter_image_set_loader(NULL);
    unsetenv("FFTD_PRESET_DIR");
    assert_in_range(count, 10, 100);
}

static void no_presets_is_said(void **state)
{
    (void)state;
    struct filter_chain chain;
    struct error why = {""};
    setenv("FFTD_PRESET_DIR", directory, 1);
    unlink(path);
    assert_int_equal(config_filter(&chain, "preset:unsharp", &why), -ENOENT);
    assert_holds(why.text, "unknown preset unsharp: /tmp/");
    assert_holds(why.text, " contains no presets");
    write_bytes("filter = ();", 12);
    assert_int_equal(config_filter(&chain, "preset:cam", &why), 0);
    assert_int_equal(config_filter(&chain, "preset:can", &why), -ENOENT);
    assert_string_equal(why.text, "unknown preset can: expected one of cam; did you mean cam?");
    unsetenv("FFTD_PRESET_DIR");
}

static void presets_hold_a_filter_only(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"summary = \"empty\";", "filter is missing"},
        {"filter = \"preset:unsharp\";", ":1: filter: unknown filter preset"},
        {"filter = 3;", ":1: filter is a value: expected a chain in quotes or a list"},
        {"filter = ();\nname = \"x\";", ":2: unknown key name: expected filter or summary"},
        {"filter = ( { type = \"lowpass\"; } );", ":1: filter: lowpass: cutoff is missing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct filter_chain chain = {.count = 5};
        struct error why = {""};
        write_bytes(cases[i].text, strlen(cases[i].text));
        assert_int_equal(config_load_preset_file(&chain, NULL, path, &why), -EINVAL);
        assert_holds(why.text, cases[i].says);
        assert_int_equal(chain.count, 5);
    }
}

/* ---- the environment ---- */

static const char *const variables[] = {"RUNTIME_DIRECTORY", "XDG_RUNTIME_DIR", "CACHE_DIRECTORY",
                                        "XDG_CACHE_HOME", "HOME"};

static void finish_in(struct config *config, const char *const values[5])
{
    char *before[5];
    for (unsigned i = 0; i < 5; i++) {
        const char *value = getenv(variables[i]);
        before[i] = value != NULL ? strdup(value) : NULL;
        if (values[i] != NULL)
            setenv(variables[i], values[i], 1);
        else
            unsetenv(variables[i]);
    }
    struct error why = {""};
    int r = config_finish(config, &why);
    for (unsigned i = 0; i < 5; i++) {
        if (before[i] != NULL)
            setenv(variables[i], before[i], 1);
        else
            unsetenv(variables[i]);
        free(before[i]);
    }
    if (r != 0)
        fail_msg("%s", why.text);
}

static void directories_follow_the_environment(void **state)
{
    (void)state;
    char in_tmp[64];
    snprintf(in_tmp, sizeof in_tmp, "/tmp/fftd-%u/cam", (unsigned)geteuid());
    const struct {
        const char *values[5];
        const char *runtime_dir, *cache_dir;
    } cases[] = {
        {{"/run/fftd/x", "/run/user/7", "/var/cache/fftd", "/c", "/home/u"},
         "/run/fftd/x",
         "/var/cache/fftd"},
        {{"/run/fftd/x:/run/other", NULL, "/var/cache/a:/var/cache/b", NULL, NULL},
         "/run/fftd/x",
         "/var/cache/a"},
        {{NULL, "/run/user/7", NULL, "/c", "/home/u"}, "/run/user/7/fftd/cam", "/c/fftd"},
        {{"", "", "", "", "/home/u"}, in_tmp, "/home/u/.cache/fftd"},
        {{NULL, "relative", NULL, "relative", "relative"}, in_tmp, ""},
        {{NULL, NULL, NULL, NULL, NULL}, in_tmp, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct config config;
        config_defaults(&config);
        set(&config, "name=cam");
        finish_in(&config, cases[i].values);
        assert_string_equal(config.output.runtime_dir, cases[i].runtime_dir);
        assert_string_equal(config.engine.cache_dir, cases[i].cache_dir);
    }
    struct config config;
    config_defaults(&config);
    set(&config, "output.runtime_dir=/srv/cam");
    set(&config, "engine.cache_dir=none");
    finish_in(&config, cases[0].values);
    assert_string_equal(config.output.runtime_dir, "/srv/cam");
    assert_string_equal(config.engine.cache_dir, "");
    finish_in(&config, cases[0].values);
    assert_string_equal(config.engine.cache_dir, "");
}

static void keys_have_to_agree(void **state)
{
    (void)state;
    struct config config;
    struct error why = {""};
    config_defaults(&config);
    set(&config, "camera.size=641x480");
    assert_int_equal(config_finish(&config, &why), 0);
    set(&config, "camera.format=YUYV");
    struct config before = config;
    assert_int_equal(config_finish(&config, &why), -EINVAL);
    assert_holds(why.text, "camera.size with camera.format: size 641x480 does not suit YUYV");
    assert_memory_equal(&config, &before, sizeof config);

    char assignment[256] = "output.runtime_dir=/";
    memset(assignment + strlen(assignment), 'd', 120);
    config_defaults(&config);
    set(&config, assignment);
    assert_int_equal(config_finish(&config, &why), -ENAMETOOLONG);
    assert_holds(why.text, "expected a path of at most 91 bytes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_what_the_table_says),
        cmocka_unit_test(fields_do_not_overlap),
        cmocka_unit_test(every_type_is_set_and_read),
        cmocka_unit_test(keys_are_compared_and_copied),
        cmocka_unit_test(assignments_are_refused_with_reasons),
        cmocka_unit_test(too_long_is_refused),
        cmocka_unit_test(the_shipped_file_is_the_defaults),
        cmocka_unit_test(the_shipped_file_has_every_key),
        cmocka_unit_test(the_manual_has_every_key),
        cmocka_unit_test(a_file_sets_what_it_names),
        cmocka_unit_test(files_are_refused_with_their_line),
        cmocka_unit_test(stages_are_counted),
        cmocka_unit_test(nothing_is_half_applied),
        cmocka_unit_test(what_is_no_file_is_refused),
        cmocka_unit_test(an_unreadable_file_is_refused),
        cmocka_unit_test(what_is_printed_loads_again),
        cmocka_unit_test(outputs_are_read_and_printed),
        cmocka_unit_test(places_of_outputs_are_freed_and_used_again),
        cmocka_unit_test(bad_outputs_are_refused),
        cmocka_unit_test(every_preset_loads),
        cmocka_unit_test(no_presets_is_said),
        cmocka_unit_test(presets_are_named_whole),
        cmocka_unit_test(presets_hold_a_filter_only),
        cmocka_unit_test(directories_follow_the_environment),
        cmocka_unit_test(keys_have_to_agree),
    };
    return cmocka_run_group_tests_name("config", tests, make_directory, remove_directory);
}

/* Reads any bytes as a configuration file, as a preset, and line by line as --set assignments. What
 * is accepted must print as a file that loads to the same values. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config/config.h"
#include "config/preset.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* libconfig 1.5 leaks a few bytes of each file that it refuses right after a string. */
const char *__lsan_default_suppressions(void); /* NOLINT: the name is LeakSanitizer's */
const char *__lsan_default_suppressions(void)  /* NOLINT */
{
    return "leak:libconfig.so";
}

/* A file in memory, opened through /proc. */
struct memory_file {
    int fd;
    char path[64];
};

static struct memory_file make_file(const void *data, size_t size)
{
    struct memory_file file;
    file.fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (file.fd < 0 || write(file.fd, data, size) != (ssize_t)size)
        abort();
    snprintf(file.path, sizeof file.path, "/proc/self/fd/%d", file.fd);
    return file;
}

static char *print(const struct config *config, size_t *ret_size)
{
    char *text = NULL;
    FILE *stream = open_memstream(&text, ret_size);
    if (stream == NULL)
        abort();
    config_print(config, stream);
    if (fclose(stream) != 0)
        abort();
    return text;
}

static void check(const struct config *config)
{
    size_t size, size_again;
    char *text = print(config, &size);
    struct memory_file file = make_file(text, size);
    struct config back;
    config_defaults(&back);
    if (config_load(&back, file.path, NULL) != 0)
        abort();
    char *again = print(&back, &size_again);
    if (size != size_again || memcmp(text, again, size) != 0)
        abort();
    close(file.fd);
    free(text);
    free(again);
}

static void load(const uint8_t *data, size_t size)
{
    struct memory_file file = make_file(data, size);
    struct config config;
    struct filter_chain chain;
    struct error why = {""};
    config_defaults(&config);
    if (config_load(&config, file.path, &why) == 0)
        check(&config);
    else if (why.text[0] == '\0')
        abort();
    config_load_preset_file(&chain, NULL, file.path, &why);
    close(file.fd);
}

static void assign(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (text == NULL)
        return;
    memcpy(text, data, size);
    text[size] = '\0';
    struct config config;
    config_defaults(&config);
    for (char *line = text, *rest; line != NULL; line = rest) {
        rest = strchr(line, '\n');
        if (rest != NULL)
            *rest++ = '\0';
        config_set(&config, line, "--set", NULL);
    }
    check(&config);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    load(data, size);
    assign(data, size);
    return 0;
}

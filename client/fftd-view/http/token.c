#include "token.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sysexits.h>

#include "common/output.h"

int token_create(char token[TOKEN_BYTES])
{
    unsigned char random[(TOKEN_BYTES - 1) / 2];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return errno != 0 ? -errno : -EIO;
    for (unsigned i = 0; i < sizeof random; i++)
        snprintf(token + (size_t)2 * i, 3, "%02x", random[i]);
    return 0;
}

int token_publish(const char *address, const char *token, char *ret_why, size_t size)
{
    const char *directory = getenv("RUNTIME_DIRECTORY");
    char path[PATH_MAX];
    struct output_file output;
    if (directory == NULL && getenv("INVOCATION_ID") != NULL && getenv("JOURNAL_STREAM") != NULL) {
        snprintf(ret_why, size,
                 "--control: the token would be in the journal; the unit needs RuntimeDirectory=");
        return EX_CONFIG;
    }
    if (directory == NULL) {
        fprintf(stderr, "fftd-view: to change filters, open %s#token=%s\n", address, token);
        return 0;
    }
    snprintf(path, sizeof path, "%.*s/address", (int)strcspn(directory, ":"), directory);
    int r = output_open(&output, path, OUTPUT_PRIVATE);
    if (r == 0) {
        fprintf(output.file, "%s#token=%s\n", address, token);
        r = output_close(&output);
    }
    if (r < 0) {
        snprintf(ret_why, size, "cannot write %s: %s", path, strerror(-r));
        return EX_CANTCREAT;
    }
    fprintf(stderr, "fftd-view: to change filters, open the address in %s\n", path);
    return 0;
}

#include "token.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sysexits.h>
#include <unistd.h>

int token_create(char token[TOKEN_BYTES])
{
    unsigned char random[(TOKEN_BYTES - 1) / 2];
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return errno != 0 ? -errno : -EIO;
    for (unsigned i = 0; i < sizeof random; i++)
        snprintf(token + (size_t)2 * i, 3, "%02x", random[i]);
    return 0;
}

/* Creates a new file, because another program could have the old one open. */
static int write_file(const char *path, const char *address, const char *token)
{
    unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (file == NULL) {
        int r = -errno;
        if (fd >= 0)
            close(fd);
        return r;
    }
    fprintf(file, "%s#token=%s\n", address, token);
    return fclose(file) == 0 ? 0 : -errno;
}

int token_publish(const char *address, const char *token, char *ret_why, size_t size)
{
    const char *directory = getenv("RUNTIME_DIRECTORY");
    char path[PATH_MAX];
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
    int r = write_file(path, address, token);
    if (r < 0) {
        snprintf(ret_why, size, "cannot write %s: %s", path, strerror(-r));
        return EX_CANTCREAT;
    }
    fprintf(stderr, "fftd-view: to change filters, open the address in %s\n", path);
    return 0;
}

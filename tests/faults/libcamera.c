/* Lets libcamera's virtual cameras run where the kernel has no /dev/udmabuf: a buffer is the memfd
 * itself, which can be mapped and passed on like a DMA buffer, but not given to a device. The
 * cameras are those of the file FFTD_VIRTUAL_CAMERAS. */
/* Both kinds of functions are defined here. */
#undef _FILE_OFFSET_BITS
#undef _TIME_BITS

#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <linux/dma-buf.h>
#include <linux/udmabuf.h>

#define CAMERAS "/pipeline/virtual/virtual.yaml" /* below a folder that only root may write to */

static const char *replace(const char *path)
{
    const size_t length = strlen(path);
    const char *cameras = getenv("FFTD_VIRTUAL_CAMERAS");
    if (strcmp(path, "/dev/udmabuf") == 0)
        return "/dev/null";
    if (cameras != NULL && length > strlen(CAMERAS) &&
        strcmp(path + length - strlen(CAMERAS), CAMERAS) == 0)
        return cameras;
    return path;
}

/* The C library's headers name these parameters in a way that programs must not.
 * NOLINTBEGIN(readability-inconsistent-declaration-parameter-name) */
#define NEXT(name, ...) ((int (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name))

int open(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    const int mode = va_arg(list, int);
    va_end(list);
    return NEXT("open", const char *, int, ...)(replace(path), flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    const int mode = va_arg(list, int);
    va_end(list);
    return NEXT("open64", const char *, int, ...)(replace(path), flags, mode);
}

int stat(const char *restrict path, struct stat *restrict ret)
{
    return NEXT("stat", const char *, struct stat *)(replace(path), ret);
}

int stat64(const char *restrict path, struct stat64 *restrict ret)
{
    return NEXT("stat64", const char *, struct stat64 *)(replace(path), ret);
}

int ioctl(int fd, unsigned long request, ...)
{
    va_list list;
    va_start(list, request);
    void *const argument = va_arg(list, void *);
    va_end(list);
    if (request == UDMABUF_CREATE)
        return fcntl(((const struct udmabuf_create *)argument)->memfd, F_DUPFD_CLOEXEC, 0);
    if (request == DMA_BUF_IOCTL_SYNC)
        return 0; /* only the processor writes and reads it */
    return NEXT("ioctl", int, unsigned long, ...)(fd, request, argument);
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */

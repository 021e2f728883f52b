/* A library for LD_PRELOAD that makes one allocation of the program fail.
 *
 * $FFTD_ALLOCATIONS names a file with a struct plan, which a test shares with the program. Only
 * allocations by the program itself and by libsystemd count: drivers of OpenCL, and libconfig, do
 * not survive one that fails. */
#include <link.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { OF_PROGRAM = 1, OF_LIBSYSTEMD = 2 };

struct plan {
    _Atomic uint32_t owner; /* whose allocations count: OF_... */
    _Atomic uint32_t failed;
    _Atomic int64_t left; /* allocations before the one that fails; negative: none fails */
};

struct range {
    uintptr_t begin, end;
    uint32_t owner;
};

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

static struct plan *plan;
static struct range ranges[8];
static unsigned range_count;

static int add_object(struct dl_phdr_info *info, size_t size, void *context)
{
    const uint32_t owner = info->dlpi_name[0] == '\0'                          ? OF_PROGRAM
                           : strstr(info->dlpi_name, "/libsystemd.so") != NULL ? OF_LIBSYSTEMD
                                                                               : 0;
    (void)size, (void)context;
    for (unsigned i = 0; owner != 0 && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        const uintptr_t begin = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD && (part->p_flags & PF_X) != 0 && range_count < 8)
            ranges[range_count++] = (struct range){begin, begin + part->p_memsz, owner};
    }
    return 0;
}

__attribute__((constructor)) static void open_plan(void)
{
    const char *path = getenv("FFTD_ALLOCATIONS");
    const int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    dl_iterate_phdr(add_object, NULL);
    void *memory = mmap(NULL, sizeof *plan, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (memory != MAP_FAILED)
        plan = memory;
}

/* Counts an allocation; whether it fails. */
static bool fails(const void *caller)
{
    const uintptr_t at = (uintptr_t)caller;
    uint32_t owner = 0;

    if (plan == NULL || plan->left < 0)
        return false;
    for (unsigned i = 0; i < range_count; i++)
        if (at >= ranges[i].begin && at < ranges[i].end)
            owner = ranges[i].owner;
    if (owner != plan->owner)
        return false;
    if (plan->left-- != 0)
        return false;
    plan->failed++;
    errno = ENOMEM;
    return true;
}

#define FAILS fails(__builtin_return_address(0))

void *malloc(size_t size)
{
    return FAILS ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return FAILS ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    return FAILS ? NULL : __libc_realloc(memory, size);
}

void *reallocarray(void *memory, size_t count, size_t size)
{
    size_t bytes;
    if (FAILS || __builtin_mul_overflow(count, size, &bytes))
        return NULL;
    return __libc_realloc(memory, bytes);
}

static char *copy(const char *text, size_t length)
{
    char *memory = __libc_malloc(length + 1);
    if (memory == NULL)
        return NULL;
    memcpy(memory, text, length);
    memory[length] = '\0';
    return memory;
}

char *strdup(const char *text)
{
    return FAILS ? NULL : copy(text, strlen(text));
}

char *strndup(const char *text, size_t size)
{
    return FAILS ? NULL : copy(text, strnlen(text, size));
}

int vasprintf(char **ret, const char *format, va_list values)
{
    va_list again;
    if (FAILS)
        return -1;
    va_copy(again, values);
    const int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    *ret = length < 0 ? NULL : __libc_malloc((size_t)length + 1);
    return *ret == NULL ? -1 : vsnprintf(*ret, (size_t)length + 1, format, values);
}

int asprintf(char **ret, const char *format, ...)
{
    va_list values;
    if (FAILS)
        return -1;
    va_start(values, format);
    const int length = vasprintf(ret, format, values);
    va_end(values);
    return length;
}

/* A library for LD_PRELOAD that makes one allocation of the program fail.
 *
 * $FFTD_ALLOCATIONS names a file with a struct plan, which a test shares with the program. Only
 * allocations by the program itself and by libsystemd count: drivers of OpenCL, and libconfig, do
 * not survive one that fails. Whoever frees it, a block is the one's who allocated it: what is left
 * at the end of the program is a leak. */
#include <link.h>
#include <pthread.h>
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
    _Atomic int32_t live; /* blocks of both that are not freed */
};

struct range {
    uintptr_t begin, end;
    uint32_t owner;
};

/* libc's functions, under names of this file, and those that take their place. The compiler does
 * not see that they are malloc and its kin, about which it has opinions. */
void *libc_malloc(size_t size) __asm__("__libc_malloc");
void *libc_calloc(size_t count, size_t size) __asm__("__libc_calloc");
void *libc_memalign(size_t alignment, size_t size) __asm__("__libc_memalign");
void *libc_realloc(void *memory, size_t size) __asm__("__libc_realloc");
void libc_free(void *memory) __asm__("__libc_free");

void *faulty_malloc(size_t size) __asm__("malloc");
void *faulty_calloc(size_t count, size_t size) __asm__("calloc");
void *faulty_aligned_alloc(size_t alignment, size_t size) __asm__("aligned_alloc");
void *faulty_realloc(void *memory, size_t size) __asm__("realloc");
void *faulty_reallocarray(void *memory, size_t count, size_t size) __asm__("reallocarray");
void faulty_free(void *memory) __asm__("free");
char *faulty_strdup(const char *text) __asm__("strdup");
char *faulty_strndup(const char *text, size_t size) __asm__("strndup");
int faulty_vasprintf(char **ret, const char *format, va_list values) __asm__("vasprintf")
    __attribute__((format(printf, 2, 0)));
int faulty_asprintf(char **ret, const char *format, ...) __asm__("asprintf")
    __attribute__((format(printf, 2, 3)));

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

static void close_plan(void)
{
    plan = NULL;
}

__attribute__((constructor)) static void open_plan(void)
{
    const char *path = getenv("FFTD_ALLOCATIONS");
    const int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    dl_iterate_phdr(add_object, NULL);
    struct plan *memory = mmap(NULL, sizeof *plan, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (memory == MAP_FAILED)
        return;
    memory->live = 0;
    plan = memory;
    /* Not for the programs that it runs, such as the linker of a driver's compiler. */
    unsetenv("FFTD_ALLOCATIONS");
    pthread_atfork(NULL, NULL, close_plan);
}

/* 0: neither of both. */
static uint32_t owner_of(const void *caller)
{
    const uintptr_t at = (uintptr_t)caller;
    for (unsigned i = 0; i < range_count; i++)
        if (at >= ranges[i].begin && at < ranges[i].end)
            return ranges[i].owner;
    return 0;
}

/* ---- blocks that are not freed: a hash table with open addressing ---- */

#define BLOCKS 65536u

static void *const removed = &plan; /* where a block was, and others may follow */
static void *blocks[BLOCKS];
static pthread_mutex_t blocks_lock = PTHREAD_MUTEX_INITIALIZER;

static unsigned place_of(const void *block)
{
    return (unsigned)(((uintptr_t)block >> 4) * 2654435761u % BLOCKS);
}

static void *track(void *block, const void *caller)
{
    if (plan == NULL || block == NULL || owner_of(caller) == 0)
        return block;
    pthread_mutex_lock(&blocks_lock);
    unsigned at = place_of(block);
    for (unsigned n = 0; n < BLOCKS && blocks[at] != NULL && blocks[at] != removed; n++)
        at = (at + 1) % BLOCKS;
    blocks[at] = block;
    plan->live++;
    pthread_mutex_unlock(&blocks_lock);
    return block;
}

static void untrack(const void *block)
{
    if (plan == NULL || block == NULL)
        return;
    pthread_mutex_lock(&blocks_lock);
    unsigned at = place_of(block);
    for (unsigned n = 0; n < BLOCKS && blocks[at] != NULL && blocks[at] != block; n++)
        at = (at + 1) % BLOCKS;
    if (blocks[at] == block) {
        blocks[at] = removed;
        plan->live--;
    }
    pthread_mutex_unlock(&blocks_lock);
}

/* ---- what fails ---- */

/* Counts an allocation; whether it fails. */
static bool fails(const void *caller)
{
    if (plan == NULL || plan->left < 0 || owner_of(caller) != plan->owner)
        return false;
    if (plan->left-- != 0)
        return false;
    plan->failed++;
    errno = ENOMEM;
    return true;
}

#define CALLER __builtin_return_address(0)
#define FAILS  fails(CALLER)

void *faulty_malloc(size_t size)
{
    return FAILS ? NULL : track(libc_malloc(size), CALLER);
}

void *faulty_calloc(size_t count, size_t size)
{
    return FAILS ? NULL : track(libc_calloc(count, size), CALLER);
}

void *faulty_aligned_alloc(size_t alignment, size_t size)
{
    return FAILS ? NULL : track(libc_memalign(alignment, size), CALLER);
}

static void *resize(void *memory, size_t size, const void *caller)
{
    untrack(memory); /* before: another thread may get its address as soon as it is free */
    void *moved = libc_realloc(memory, size);
    if (moved == NULL && size > 0)
        track(memory, caller);
    return track(moved, caller);
}

void *faulty_realloc(void *memory, size_t size)
{
    return FAILS ? NULL : resize(memory, size, CALLER);
}

void *faulty_reallocarray(void *memory, size_t count, size_t size)
{
    size_t bytes;
    if (FAILS || __builtin_mul_overflow(count, size, &bytes))
        return NULL;
    return resize(memory, bytes, CALLER);
}

void faulty_free(void *memory)
{
    untrack(memory);
    libc_free(memory);
}

static char *copy(const char *text, size_t length, const void *caller)
{
    char *memory = track(libc_malloc(length + 1), caller);
    if (memory == NULL)
        return NULL;
    memcpy(memory, text, length);
    memory[length] = '\0';
    return memory;
}

char *faulty_strdup(const char *text)
{
    return FAILS ? NULL : copy(text, strlen(text), CALLER);
}

char *faulty_strndup(const char *text, size_t size)
{
    return FAILS ? NULL : copy(text, strnlen(text, size), CALLER);
}

static __attribute__((format(printf, 2, 0))) int print(char **ret, const char *format,
                                                       va_list values, const void *caller)
{
    va_list again;
    if (fails(caller))
        return -1;
    va_copy(again, values);
    const int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    *ret = length < 0 ? NULL : track(libc_malloc((size_t)length + 1), caller);
    return *ret == NULL ? -1 : vsnprintf(*ret, (size_t)length + 1, format, values);
}

int faulty_vasprintf(char **ret, const char *format, va_list values)
{
    return print(ret, format, values, CALLER);
}

int faulty_asprintf(char **ret, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    const int length = print(ret, format, values, CALLER);
    va_end(values);
    return length;
}

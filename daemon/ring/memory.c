/* The ring's memory: a memfd that only the mapping made here can write.
 *
 * - It is preallocated: without enough memory, creating it fails, instead of a SIGBUS in the middle
 *   of a frame.
 * - It is sealed against shrinking and growing, so that no client's mapping loses its pages, and
 *   against further seals.
 * - It is sealed against future writing once it is mapped. From then on the kernel refuses every
 *   other way to write it, for each user and even for this process. Without that seal a reader who
 *   may open /dev/udmabuf can turn a read-only descriptor into a writable DMA buffer. The device
 *   itself respects the seal since Linux 6.13, and since 6.12.7 and 6.1.122 of the older series.
 * - Devices reach it through the same mapping: their drivers lock its pages or import them
 *   (engine/output.c), which the seal does not forbid, so that nothing has to be made before it.
 * - Clients get a descriptor opened with O_RDONLY; the mode 0400 keeps them from opening the file
 *   for writing through /proc. On kernels before 5.1, which do not know the last seal, these two
 *   are what protects the ring. */
#include "ring/private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

/* Definitions that older headers lack. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

static int memfd_open(void)
{
    int fd = memfd_create("fftd-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    /* Kernels before 6.3 do not know the last flag. */
    if (fd < 0 && errno == EINVAL)
        fd = memfd_create("fftd-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    return fd;
}

static int seal(int fd)
{
    const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    int r = fcntl(fd, F_ADD_SEALS, seals | F_SEAL_FUTURE_WRITE);
    if (r < 0 && errno == EINVAL) /* a kernel before 5.1 */
        r = fcntl(fd, F_ADD_SEALS, seals);
    return r;
}

/* Allocates and maps the memory behind `fd`, then opens the descriptor for readers. */
static int fill(struct ring_memory *memory, int fd, size_t bytes, struct error *why)
{
    const int r = -posix_fallocate(fd, 0, (off_t)bytes);
    if (r < 0)
        return error_set(why, -r, "ring: cannot allocate %zu bytes of shared memory: %s", bytes,
                         strerror(-r));
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (base == MAP_FAILED)
        return error_set(why, errno, "ring: cannot map %zu bytes: %s", bytes, strerror(errno));
    struct ring_mapping *mapping = malloc(sizeof *mapping);
    if (mapping == NULL) {
        munmap(base, bytes);
        return error_set(why, ENOMEM, "ring: out of memory");
    }
    *mapping = (struct ring_mapping){1, base, bytes};
    memory->mapping = mapping;
    if (fchmod(fd, 0400) < 0 || seal(fd) < 0)
        return error_set(why, errno, "ring: cannot seal the memfd: %s", strerror(errno));
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    memory->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (memory->fd < 0)
        return error_set(why, errno,
                         "ring: cannot reopen the memfd for reading (is /proc mounted?): %s",
                         strerror(errno));
    return 0;
}

/* Refuses a size that is too large for the machine: allocating it would start the out-of-memory
 * killer instead of failing. */
static int check_size(size_t bytes, struct error *why)
{
    struct sysinfo info;
    if (sysinfo(&info) < 0)
        return 0;
    uint64_t total = (uint64_t)info.totalram * info.mem_unit;
    if (bytes > total / 2)
        return error_set(why, ENOMEM,
                         "ring: %zu MB of shared memory: expected at most half of this machine's "
                         "%llu MB",
                         bytes >> 20, (unsigned long long)(total >> 20));
    return 0;
}

int ring_memory_create(struct ring_memory *ret, size_t bytes, struct error *why)
{
    struct ring_memory memory = {.fd = -1};
    int r = check_size(bytes, why);
    if (r < 0)
        return r;
    const int fd = memfd_open();
    if (fd < 0)
        return error_set(why, errno, "ring: cannot create a memfd: %s", strerror(errno));
    r = fill(&memory, fd, bytes, why);
    close(fd);
    if (r < 0)
        ring_memory_finish(&memory);
    else
        *ret = memory;
    return r;
}

struct ring_mapping *ring_keep_mapped(struct ring *ring)
{
    struct ring_mapping *mapping = ring->memory.mapping;
    __atomic_fetch_add(&mapping->references, 1, __ATOMIC_RELAXED);
    return mapping;
}

void ring_unmap(struct ring_mapping *mapping)
{
    /* The thread that unmaps comes after all accesses by others. */
    if (mapping == NULL || __atomic_sub_fetch(&mapping->references, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    munmap(mapping->base, mapping->bytes);
    free(mapping);
}

void ring_memory_finish(struct ring_memory *memory)
{
    ring_unmap(memory->mapping);
    if (memory->fd >= 0)
        close(memory->fd);
    *memory = (struct ring_memory){.fd = -1};
}

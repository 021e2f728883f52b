/* The ring's memory: a memfd that clients can only read.
 *
 * - It is preallocated: without enough memory, creating it fails, instead of a SIGBUS in the middle
 *   of a frame.
 * - It is sealed against shrinking and growing, so that no client's mapping loses its pages, and
 *   against further seals. F_SEAL_FUTURE_WRITE is not set, because a successor of this process has
 *   to map the ring for writing.
 * - Clients get a descriptor opened with O_RDONLY, through which the kernel neither writes nor maps
 *   with PROT_WRITE. The mode 0400 keeps them from opening it for writing through /proc. The
 *   daemon's own descriptor is older than that mode. */
#include "ring/private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

static int memfd_open(void)
{
    int fd = memfd_create("fftd-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    /* Kernels before 6.3 do not know the last flag. */
    if (fd < 0 && errno == EINVAL)
        fd = memfd_create("fftd-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    return fd;
}

/* Opens the descriptor for clients and maps the memory for the writer. */
static int open_and_map(struct ring_memory *memory, struct error *why)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", memory->fd);
    memory->client_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (memory->client_fd < 0)
        return error_set(why, errno,
                         "ring: cannot reopen the memfd for reading (is /proc mounted?): %s",
                         strerror(errno));
    void *base =
        mmap(NULL, memory->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, memory->fd, 0);
    if (base == MAP_FAILED)
        return error_set(why, errno, "ring: cannot map %zu bytes: %s", memory->bytes,
                         strerror(errno));
    memory->base = base;
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
    struct ring_memory memory = {.fd = -1, .client_fd = -1, .bytes = bytes};
    int r = check_size(bytes, why);
    if (r < 0)
        return r;

    memory.fd = memfd_open();
    if (memory.fd < 0) {
        r = error_set(why, errno, "ring: cannot create a memfd: %s", strerror(errno));
        goto fail;
    }
    r = -posix_fallocate(memory.fd, 0, (off_t)bytes);
    if (r < 0) {
        error_set(why, -r, "ring: cannot allocate %zu bytes of shared memory: %s", bytes,
                  strerror(-r));
        goto fail;
    }
    if (fchmod(memory.fd, 0400) < 0 ||
        fcntl(memory.fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
        r = error_set(why, errno, "ring: cannot seal the memfd: %s", strerror(errno));
        goto fail;
    }
    r = open_and_map(&memory, why);
    if (r < 0)
        goto fail;
    *ret = memory;
    return 0;
fail:
    ring_memory_finish(&memory);
    return r;
}

int ring_memory_adopt(struct ring_memory *ret, int fd, struct error *why)
{
    const int wanted = F_SEAL_SHRINK | F_SEAL_GROW;
    struct ring_memory memory = {.fd = fd, .client_fd = -1};
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS);
    int r;

    if (seals < 0 || (seals & wanted) != wanted || fstat(fd, &st) < 0 ||
        st.st_size < (off_t)sizeof(struct fftd_ring_header)) {
        r = error_set(why, EPROTO, "ring: the previous process left something that is not a ring");
        goto fail;
    }
    memory.bytes = (size_t)st.st_size;
    r = open_and_map(&memory, why);
    if (r < 0)
        goto fail;
    *ret = memory;
    return 0;
fail:
    ring_memory_finish(&memory);
    return r;
}

void ring_memory_finish(struct ring_memory *memory)
{
    if (memory->base != NULL)
        munmap(memory->base, memory->bytes);
    if (memory->client_fd >= 0)
        close(memory->client_fd);
    if (memory->fd >= 0)
        close(memory->fd);
    *memory = (struct ring_memory){.fd = -1, .client_fd = -1};
}

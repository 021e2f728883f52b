#include "word.h"

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "map.h"

int word_open(const uint32_t **ret, int fd)
{
    struct stat st;
    if (!map_is_sound(fd) || fstat(fd, &st) < 0 || st.st_size < (off_t)sizeof **ret)
        return -EPROTO;
    void *base = mmap(NULL, sizeof **ret, PROT_READ, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED)
        return -errno;
    *ret = base;
    return 0;
}

void word_close(const uint32_t *word)
{
    if (word != NULL)
        munmap((void *)word, sizeof *word);
}

uint32_t word_load(const uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

int word_sleep(const uint32_t *word, uint32_t seen, int timeout_ms)
{
    /* The system call expects two longs, whatever the size of the C library's time_t. */
    const long timeout[2] = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};
    if (syscall(SYS_futex, word, FUTEX_WAIT, seen, timeout, NULL, 0) == 0 || errno == EAGAIN)
        return 0;
    /* If a sandbox forbids the call, the caller waits on the socket at once. */
    return errno == EINTR ? -EINTR : -ETIMEDOUT;
}

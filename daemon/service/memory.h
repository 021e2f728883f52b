/* The memory that this process may use. */
#ifndef FFTD_SERVICE_MEMORY_H
#define FFTD_SERVICE_MEMORY_H

#include <stdint.h>

/* Returns the bytes of the machine's memory, or the least limit of the process's control groups
 * (memory.max, of either version) if that is smaller. MemoryMax= of a unit is such a limit. root:
 * the directory that has /proc and /sys, "" for this machine. */
uint64_t service_memory_bytes(const char *root);

#endif

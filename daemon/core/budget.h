/* A budget of memory, and what is to be taken from it. Pure. Sizes are in bytes, in 64 bits on
 * every machine, and sums stay at the largest number instead of wrapping around. */
#ifndef FFTD_CORE_BUDGET_H
#define FFTD_CORE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"

/* The most memory that may be taken from the host and from the device. Where the device works in
 * the host's memory (is_shared), everything counts against `host`. */
struct budget {
    uint64_t host, device;
    bool is_shared;
};

/* The budget on a machine: `mib` of each kind, or, if that is 0, three quarters of what the process
 * may use of the host's memory and of what the device has. The rest of the host's, at least 384 MiB
 * unless that is more than three quarters, is for programs, drivers, other processes, and for the
 * compilation of kernels. A process with 32-bit addresses gets at most half of them. */
struct budget budget_of(unsigned mib, uint64_t host_bytes, uint64_t device_bytes, bool is_shared);

#define BUDGET_PARTS 16

struct budget_need {
    struct {
        const char *name; /* static */
        uint64_t host, device;
    } part[BUDGET_PARTS];
    unsigned count;
};

/* Adds memory under a name, or to what has that name. */
void budget_add(struct budget_need *need, const char *name, uint64_t host, uint64_t device);

/* What a need takes from a budget. */
struct budget_use {
    uint64_t host, device; /* device: 0 if the memory is shared */
};
struct budget_use budget_use_of(const struct budget *budget, const struct budget_need *need);

/* -EINVAL if the need exceeds the budget: "WHAT needs 15.2 GiB (denoise 12.0 GiB, ring 2.0 GiB,
 * frames 1.1 GiB); the limit is 4.0 GiB (engine.memory)", with the largest parts. */
int budget_check(const struct budget *budget, const struct budget_need *need, const char *what,
                 struct error *why);

#endif

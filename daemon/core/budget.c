#include "core/budget.h"

#include <errno.h>
#include <string.h>

#include "core/text.h"

#define SHOWN_PARTS 3

static uint64_t add(uint64_t a, uint64_t b)
{
    return a + b < a ? UINT64_MAX : a + b;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* PoCL and its compiler took 110 to 180 MiB, and twice that with the pages of their files. */
#define LEAST_REST ((uint64_t)384 << 20)

static uint64_t default_of_host(uint64_t bytes)
{
    const uint64_t quarter = bytes / 4;
    const uint64_t rest = quarter > LEAST_REST ? quarter : LEAST_REST;
    return bytes > quarter + rest ? bytes - rest : quarter;
}

struct budget budget_of(unsigned mib, uint64_t host_bytes, uint64_t device_bytes, bool is_shared)
{
    const uint64_t wanted = (uint64_t)mib << 20;
    struct budget ret = {.host = mib > 0 ? wanted : default_of_host(host_bytes),
                         .device = mib > 0 ? wanted : device_bytes / 4 * 3,
                         .is_shared = is_shared};
    if (is_shared && mib == 0)
        ret.host = least(ret.host, ret.device);
    if (is_shared)
        ret.device = ret.host;
    /* Half of the addresses. The other half is for programs, stacks, and gaps between mappings. */
    ret.host = least(ret.host, SIZE_MAX / 2);
    return ret;
}

void budget_add(struct budget_need *need, const char *name, uint64_t host, uint64_t device)
{
    unsigned i = 0;
    while (i < need->count && strcmp(need->part[i].name, name) != 0)
        i++;
    if (i == need->count) {
        i -= i == BUDGET_PARTS; /* with too many names, the last one stands for the others */
        need->count = i + 1;
        need->part[i].name = name;
    }
    need->part[i].host = add(need->part[i].host, host);
    need->part[i].device = add(need->part[i].device, device);
}

struct budget_use budget_use_of(const struct budget *budget, const struct budget_need *need)
{
    struct budget_use ret = {0, 0};
    for (unsigned i = 0; i < need->count; i++) {
        ret.host = add(ret.host, need->part[i].host);
        ret.device = add(ret.device, need->part[i].device);
    }
    if (budget->is_shared) {
        ret.host = add(ret.host, ret.device);
        ret.device = 0;
    }
    return ret;
}

/* Appends the largest parts of what exceeds the budget. */
static void name_parts(const struct budget *budget, const struct budget_need *need, bool of_device,
                       char *text, size_t size)
{
    uint64_t bytes[BUDGET_PARTS];
    for (unsigned i = 0; i < need->count; i++)
        bytes[i] = budget->is_shared ? add(need->part[i].host, need->part[i].device)
                   : of_device       ? need->part[i].device
                                     : need->part[i].host;
    for (unsigned n = 0; n < SHOWN_PARTS && n < need->count; n++) {
        unsigned most = 0;
        char number[TEXT_NUMBER_BYTES];
        for (unsigned i = 1; i < need->count; i++)
            if (bytes[i] > bytes[most])
                most = i;
        if (bytes[most] > 0)
            text_append(text, size, "%s%s %s", n > 0 ? ", " : "", need->part[most].name,
                        text_from_bytes(number, bytes[most]));
        bytes[most] = 0;
    }
}

int budget_check(const struct budget *budget, const struct budget_need *need, const char *what,
                 struct error *why)
{
    const struct budget_use use = budget_use_of(budget, need);
    const bool of_device = use.device > budget->device;
    char parts[200] = "", needed[TEXT_NUMBER_BYTES], limit[TEXT_NUMBER_BYTES];
    if (use.host <= budget->host && !of_device)
        return 0;
    name_parts(budget, need, of_device, parts, sizeof parts);
    text_from_bytes(needed, of_device ? use.device : use.host);
    text_from_bytes(limit, of_device ? budget->device : budget->host);
    return error_set(why, EINVAL, "%s needs %s of %smemory (%s); the limit is %s (engine.memory)",
                     what, needed, of_device ? "the device's " : "", parts, limit);
}

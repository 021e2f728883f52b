/* Files that only save time: built programs, tuned settings. One file an entry, named by the hash
 * of everything its contents depend on. A damaged binary makes some drivers (PoCL, rusticl) abort
 * the process, so nothing is handed over whose length and checksum do not match what was written.
 * Files are written beside and renamed, so a crash leaves the old one or none. */
#ifndef FFTD_GPU_CACHE_H
#define FFTD_GPU_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

/* FNV-1a, 64 bit (Fowler, Noll, Vo), to be continued from CACHE_HASH_START. */
#define CACHE_HASH_START 0xcbf29ce484222325u
uint64_t cache_hash(uint64_t hash, const void *bytes, size_t size);

/* Whether there is a directory to keep anything in. */
bool cache_exists(const char *dir);

/* What was kept as DIR/KEY.KIND; the caller frees it. NULL: nothing is, or nothing that can be
 * used, which `warning` then tells (it is untouched otherwise). */
void *cache_read(const char *dir, const char *kind, uint64_t key, size_t *ret_size,
                 struct error *warning);

/* Keeps it, making the directory where it is missing. Returns 0 or -errno with the reason. */
int cache_write(const char *dir, const char *kind, uint64_t key, const void *bytes, size_t size,
                struct error *why);

#endif

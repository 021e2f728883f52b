/* The cache of built programs and tuned settings; without it fftd only starts more slowly. Each
 * entry is one file, named after the hash of everything its contents depend on. Some drivers (PoCL,
 * rusticl) abort the process on a damaged binary, so a file with a wrong length or checksum is
 * never returned. Files are written under a temporary name and renamed, so a crash leaves the old
 * file or none. */
#ifndef FFTD_GPU_CACHE_H
#define FFTD_GPU_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

/* FNV-1a, 64 bit (Fowler, Noll, Vo), to be continued from CACHE_HASH_START. */
#define CACHE_HASH_START 0xcbf29ce484222325u
uint64_t cache_hash(uint64_t hash, const void *bytes, size_t size);

/* Returns whether a cache directory is configured. */
bool cache_exists(const char *dir);

/* Reads DIR/KEY.KIND; the caller frees the result. NULL: there is no such file, or it is not
 * usable. `warning` is set only if it is not usable. */
void *cache_read(const char *dir, const char *kind, uint64_t key, size_t *ret_size,
                 struct error *warning);

/* Writes DIR/KEY.KIND and creates the directory if necessary. Returns 0 or -errno with the reason.
 */
int cache_write(const char *dir, const char *kind, uint64_t key, const void *bytes, size_t size,
                struct error *why);

/* Writes a text as DIR/NAME, which is replaced once the new file is on the disk, and creates the
 * directory if necessary; NULL: removes the file. Returns 0 or -errno with the reason. */
int cache_replace(const char *dir, const char *name, const char *text, struct error *why);

#endif

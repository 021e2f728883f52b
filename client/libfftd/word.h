/* The wake-up word: four bytes that the daemon increments for this client alone, and on which the
 * client can sleep. */
#ifndef LIBFFTD_WORD_H
#define LIBFFTD_WORD_H

#include <stdint.h>

/* Maps the word behind the descriptor, which remains the caller's. -EPROTO: the memory could
 * shrink. */
int word_open(const uint32_t **ret, int fd);

/* Unmaps the word. NULL is allowed. */
void word_close(const uint32_t *word);

/* Acquire: what the daemon stored before it incremented the word is visible after this load. */
uint32_t word_load(const uint32_t *word);

/* Sleeps until the daemon wakes this client, but at most timeout_ms, and not at all if the word is
 * no longer `seen`. Returns 0 if the word may have changed; -EINTR after a signal; -ETIMEDOUT. */
int word_sleep(const uint32_t *word, uint32_t seen, int timeout_ms);

#endif

/* The secret of one run of fftd-view, which allows its owner to change filters. It is in the
 * address that the operator opens, after a '#': browsers do not send that part. */
#ifndef FFTD_VIEW_TOKEN_H
#define FFTD_VIEW_TOKEN_H

#include <stddef.h>

#define TOKEN_BYTES 33 /* 128 bits in hexadecimal, and a NUL */

/* 0 or -errno. */
int token_create(char token[TOKEN_BYTES]);

/* Shows the operator the address with the token. It is written to the file `address` in systemd's
 * RuntimeDirectory=, which only this user and root can read, or to stderr if there is no such
 * directory. It is never written to the journal, which is stderr under systemd. Returns 0 or an
 * exit code; *ret_why then says what is wrong. */
int token_publish(const char *address, const char *token, char *ret_why, size_t size);

#endif

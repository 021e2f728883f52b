/* The secret of one run of fftd-view: who has it may change filters. It is part of the address that
 * the operator opens, behind a '#', which browsers do not send. */
#ifndef FFTD_VIEW_TOKEN_H
#define FFTD_VIEW_TOKEN_H

#include <stddef.h>

#define TOKEN_BYTES 33 /* 128 bits in hexadecimal, and a NUL */

/* 0 or -errno. */
int token_create(char token[TOKEN_BYTES]);

/* Tells the operator the address with the token: in the file `address` in systemd's
 * RuntimeDirectory=, which only this user and root can read, or on stderr if there is none. Under
 * systemd stderr is the journal, so there it is refused. 0 or an exit code; *ret_why then says what
 * is wrong. */
int token_publish(const char *address, const char *token, char *ret_why, size_t size);

#endif

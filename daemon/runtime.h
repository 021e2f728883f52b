/* The runtime directory: where one daemon's sockets lie, and the proof that there is only one
 * daemon of that name; and what systemd hands over in its stead. Main thread only.
 *
 * The directory itself is what is locked (flock), so nothing is left behind by a crash and there
 * is no moment in which two daemons both believe to be the first. */
#ifndef FFTD_RUNTIME_H
#define FFTD_RUNTIME_H

#include "core/error.h"

struct runtime;

/* Creates the directory (mode 0700, missing parents too) unless it is there, checks that nobody
 * else can put things into it, and claims it. -EADDRINUSE: a live daemon has it; -EPERM: it, or a
 * directory on the way that lies where everybody may write, belongs to somebody else or is open
 * to others. To be called before anything slow or exclusive (camera, engine). */
int runtime_create(struct runtime **ret, const char *path, struct error *why);

/* A listening non-blocking socket of this type (SOCK_SEQPACKET or SOCK_STREAM): the one systemd
 * handed over under this FileDescriptorName, or a new one bound in the directory, mode 0600; the
 * stale socket of a dead daemon is replaced. The caller owns the descriptor. -EADDRINUSE: somebody
 * listens there without having claimed the directory (a systemd socket unit, say). */
int runtime_listen(struct runtime *runtime, const char *name, int type, struct error *why);

/* A descriptor that a process before this one had the service manager keep, under a name that
 * begins with this prefix; the caller's from then on. -ENOENT: there is none, or no other one. */
#define RUNTIME_NAME_BYTES 256
int runtime_take_kept(struct runtime *runtime, const char *prefix, char name[RUNTIME_NAME_BYTES]);

/* Removes the sockets that runtime_listen bound, and the directory if runtime_create made it and
 * it is empty. NULL is allowed. */
void runtime_destroy(struct runtime *runtime);

#endif

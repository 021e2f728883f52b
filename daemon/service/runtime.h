/* The runtime directory, which holds the sockets of one daemon and ensures that there is only one
 * daemon of that name; and the descriptors that systemd passes to the process. Main thread only.
 *
 * The directory itself is locked (flock). A crash therefore leaves nothing behind, and only one of
 * two daemons that start at once gets the directory. */
#ifndef FFTD_SERVICE_RUNTIME_H
#define FFTD_SERVICE_RUNTIME_H

#include "core/error.h"

struct runtime;

/* Creates the directory and missing parents (mode 0700), checks that no other user can create files
 * in it, and locks it. -EADDRINUSE: another daemon runs in it; -EPERM: another user owns it or may
 * write to it, or to a parent inside a directory such as /tmp. Must be called before anything slow
 * or exclusive (camera, engine). */
int runtime_create(struct runtime **ret, const char *path, struct error *why);

/* Returns a listening non-blocking socket of this type (SOCK_SEQPACKET or SOCK_STREAM). It is the
 * one that systemd passed with this FileDescriptorName, or a new one in the directory (mode 0600),
 * which replaces that of a dead daemon. A name may begin with folders, which are created:
 * "a/frames" then has the mode and the group of "frames". The caller owns the descriptor.
 * -EADDRINUSE: a process listens there that has not locked the directory (for example systemd, for
 * a socket unit). */
int runtime_listen(struct runtime *runtime, const char *name, int type, struct error *why);

/* Removes the socket that runtime_listen bound under this name, if it did, and the folders that are
 * empty then. */
void runtime_remove(struct runtime *runtime, const char *name);

/* Returns a descriptor that a previous process gave to systemd to keep, whose name begins with this
 * prefix. The caller owns it. -ENOENT: there is none left. */
#define RUNTIME_NAME_BYTES 256
int runtime_take_kept(struct runtime *runtime, const char *prefix, char name[RUNTIME_NAME_BYTES]);

/* Removes the sockets that runtime_listen bound, and the directory if runtime_create made it and it
 * is empty. Closes the descriptors from systemd that were not taken. NULL is allowed. */
void runtime_destroy(struct runtime *runtime);

#endif

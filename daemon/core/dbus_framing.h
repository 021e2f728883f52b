/* Finds where D-Bus messages end in a stream of bytes (D-Bus Specification 0.41, "Message Format"
 * and "Authentication Protocol"), so that the size of what a peer sends can be limited before a
 * library collects it. Checks nothing else: that is the library's job. Pure. */
#ifndef FFTD_CORE_DBUS_FRAMING_H
#define FFTD_CORE_DBUS_FRAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns how many of the first `count` bytes are the next line of the authentication or, after it
 * (`has_begun`), the next message; 0: it is not complete yet. -EMSGSIZE: it is too long; -EBADMSG:
 * it is no message. Both limits are in core/client_limits.h. To be called again with the bytes
 * after it. Whether messages follow a line is the receiver's decision: a client may send BEGIN
 * before it is authenticated. */
ptrdiff_t dbus_framing_next(bool has_begun, const uint8_t *bytes, size_t count);

#endif

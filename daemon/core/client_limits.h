/* Every limit on what clients may take from the daemon, and what happens at it. docs/SECURITY.md
 * and docs/man/fftd.8 repeat some figures. (fftd-view limits what a browser sends: change_request.h
 * there.)
 */
#ifndef FFTD_CORE_CLIENT_LIMITS_H
#define FFTD_CORE_CLIENT_LIMITS_H

/* ---- a message to `control` or `control-watch` ---- */

/* The most bytes of a message, header included. A peer that sends a longer one is disconnected.
 * Each peer of a socket may take that much memory. To change it, write another multiple of 1024
 * here, and replace the figure in docs/man/fftd.8 (search for KiB) and in point 9 of
 * docs/SECURITY.md. Nothing else repeats it: bus/peer.c, core/dbus_framing.c,
 * fftd-view/change_request.h and the tests use this line. To check it, run
 * `make -s all test-programs`, build/tests/unit/bus_peer, build/tests/unit/dbus_framing and
 * INTEGRATION_TESTS="bus_budget attacks" make -s test-integration (the documents' figures, too). */
#define LIMIT_MESSAGE_BYTES      65536u
/* The smallest default of net.core.wmem_max, which is the most that bus/peer.c accepts for the
 * limit. The least is the 40 KiB of CHANGE_REQUEST_BYTES: the longest chain and what may
 * surround it (fftd-view/change_request.h). bus/peer.c passes whole messages to sd-bus through
 * a socket pair whose buffer holds one, so the daemon does not start where wmem_max is below
 * the limit. */
#define LIMIT_MESSAGE_CEILING    163840u

/* ---- each listening socket ---- */

/* Connections that wait to be accepted. The next one blocks, or fails with EAGAIN. Ceiling:
 * net.core.somaxconn. For a socket of systemd's, its unit has the limit. */
#define LIMIT_BACKLOG            64
/* Connections that are accepted in an interval; the others wait. The interval is short, because all
 * users wait for its end when the connections of one have used it up. */
#define LIMIT_ACCEPTS            64u
#define LIMIT_ACCEPT_INTERVAL_US 15625u

/* ---- each of the sockets `control` and `control-watch` ---- */

/* Connections in all, and of a user other than root and the daemon's. The next one is closed, and
 * the first of these is logged. Each takes LIMIT_MESSAGE_BYTES of memory, and has one slow call at
 * a time (bus/slow_call.h), so that these also limit how many of them wait. */
#define LIMIT_PEERS              32
#define LIMIT_PEERS_OF_USER      16
/* Bytes of a line of the handshake. */
#define LIMIT_LINE_BYTES         1024u
/* From the connection to the end of the handshake, and from the first byte of a message to its
 * last. A slower peer is disconnected. Time in which the main loop was busy does not count. */
#define LIMIT_HANDSHAKE_US       3000000
#define LIMIT_MESSAGE_US         3000000
/* Replies and signals that a peer leaves unread. With more it is disconnected. */
#define LIMIT_UNREAD_MESSAGES    64
/* Changes of one EditFilter, and points of one GetResponse. More are an error of the call. */
#define LIMIT_CHANGES            64
#define LIMIT_POINTS             256
/* Snapshots whose memory clients have not released, in all and of one user. The next one is Busy.
 */
#define LIMIT_LOANS              8
#define LIMIT_LOANS_OF_USER      4
/* Seconds after which a snapshot that was sent becomes empty. */
#define LIMIT_LOAN_S             60

/* ---- the socket `frames` ---- */

/* The greatest output.max_clients. The next client gets EUSERS. Ceiling: FileDescriptorStoreMax= of
 * systemd/fftd@.service, less two for rings. */
#define LIMIT_CLIENTS            1024
/* A user's part of output.max_clients, and one client's part of the frames that all may hold; the
 * next client gets EUSERS, the next hold EBUSY. Rounded up: one of 1 is somebody's. */
#define LIMIT_SHARE(all)         (((all) + 1) / 2)
/* From a connection to its first request. A slower client is disconnected. */
#define LIMIT_FIRST_REQUEST_US   3000000u
/* Requests of one client. Later ones wait in its socket until the second is over. */
#define LIMIT_REQUESTS_A_SECOND  4096u
/* Replies that a client leaves unread, in bytes; the kernel raises this to its minimum, a handful
 * of replies. With more the client is disconnected. */
#define LIMIT_REPLY_BYTES        1

#endif

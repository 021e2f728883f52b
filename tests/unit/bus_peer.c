/* The longest message that a peer may send reaches the bus, whatever size the kernel gives to
 * buffers by default. Where the kernel cannot hold it, the start says so. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support/cmocka.h"

#include "bus/peer.h"
#include "core/client_limits.h"
#include "core/clock.h"

#define PATIENCE_NS (60 * NS_PER_S)

/* What net.core.wmem_default and net.core.wmem_max are for this program, in bytes; 0: the kernel's
 * own. */
static int wmem_default, wmem_max;

/* These take the place of libc's functions in this program. */
int setsockopt(int fd, int level, int optname, const void *optval, socklen_t optlen)
{
    if (level == SOL_SOCKET && optname == SO_SNDBUF && wmem_max != 0 &&
        *(const int *)optval > wmem_max)
        optval = &wmem_max;
    return (int)syscall(SYS_setsockopt, fd, level, optname, optval, optlen);
}

int socketpair(int domain, int type, int protocol, int fds[2])
{
    const int half = wmem_default / 2; /* the kernel doubles it */
    const int r = (int)syscall(SYS_socketpair, domain, type, protocol, fds);
    for (unsigned i = 0; r == 0 && wmem_default != 0 && i < 2; i++)
        setsockopt(fds[i], SOL_SOCKET, SO_SNDBUF, &half, sizeof half);
    return r;
}

static sd_event *event;
static struct admission admission;
static int client; /* the other end of the peer's connection */

static int connect_peer(void **state)
{
    static struct peer_services services;
    struct peer *peer;
    int fds[2];
    (void)state;
    wmem_default = wmem_max = 0;
    assert_true(sd_event_new(&event) >= 0);
    services = (struct peer_services){.event = event};
    admission_init(&admission, 1, 1, geteuid());
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    client = fds[0];
    wmem_default = 4608; /* the least that the kernel allows */
    assert_int_equal(peer_create(&peer, &services, fds[1], geteuid(), true), 0);
    assert_int_equal(peer_start(peer, &admission), 0);
    return 0;
}

static int disconnect_peer(void **state)
{
    (void)state;
    close(client);
    peer_destroy((struct peer *)admission.entries);
    sd_event_unref(event);
    return 0;
}

/* Sends bytes to the peer, and receives `size` bytes of its answer. */
static void exchange(const void *bytes, size_t count, char *answer, size_t size)
{
    const int64_t end_ns = clock_now_ns() + PATIENCE_NS;
    size_t sent = 0, received = 0;
    while (received < size) {
        assert_true(clock_now_ns() < end_ns);
        assert_true(sd_event_run(event, 10000) >= 0);
        ssize_t n = send(client, (const char *)bytes + sent, count - sent, MSG_NOSIGNAL);
        sent += n > 0 ? (size_t)n : 0;
        n = recv(client, answer + received, size - received, 0);
        assert_int_not_equal(n, 0); /* the peer has hung up */
        received += n > 0 ? (size_t)n : 0;
    }
}

/* Appends a header field of the D-Bus Specification, "Message Format", to a message. */
static size_t put_field(uint8_t *message, size_t at, uint8_t code, char type, const char *text)
{
    at = (at + 7) / 8 * 8;
    const size_t length = strlen(text);
    const uint8_t head[] = {code, 1, (uint8_t)type, 0};
    memcpy(message + at, head, sizeof head);
    at += sizeof head;
    message[at] = (uint8_t)length;
    at += type == 'g' ? 1 : 4;
    memcpy(message + at, text, length + 1);
    return at + length + 1;
}

static void put_word(uint8_t *message, size_t at, size_t value)
{
    for (unsigned i = 0; i < 4; i++)
        message[at + i] = (uint8_t)(value >> 8 * i);
}

/* Makes a call of org.freedesktop.DBus.Peer.Ping with an array of bytes that fills the message. */
static void make_longest_message(uint8_t message[LIMIT_MESSAGE_BYTES])
{
    static const uint8_t call[] = {'l', 1, 0, 1};
    memset(message, 0, LIMIT_MESSAGE_BYTES);
    memcpy(message, call, sizeof call);
    put_word(message, 8, 7); /* its serial number */
    size_t at = put_field(message, 16, 1, 'o', "/");
    at = put_field(message, at, 2, 's', "org.freedesktop.DBus.Peer");
    at = put_field(message, at, 3, 's', "Ping");
    at = put_field(message, at, 8, 'g', "ay");
    put_word(message, 12, at - 16);
    at = (at + 7) / 8 * 8;
    put_word(message, 4, LIMIT_MESSAGE_BYTES - at);
    put_word(message, at, LIMIT_MESSAGE_BYTES - at - 4);
}

static void the_longest_message_is_answered(void **state)
{
    static const char hello[] = "\0AUTH ANONYMOUS 66\r\n", begin[] = "BEGIN\r\n";
    static uint8_t message[LIMIT_MESSAGE_BYTES];
    char answer[16];
    (void)state;
    exchange(hello, sizeof hello - 1, answer, 3);
    assert_memory_equal(answer, "OK ", 3);
    assert_int_equal(send(client, begin, sizeof begin - 1, MSG_NOSIGNAL), sizeof begin - 1);
    while (answer[0] != '\n') /* the rest of the line */
        exchange(NULL, 0, answer, 1);
    make_longest_message(message);
    exchange(message, sizeof message, answer, sizeof answer);
    assert_int_equal(answer[1], 2); /* a reply, and not an error */
}

static void a_kernel_without_room_is_reported(void **state)
{
    struct error why = {""};
    (void)state;
    assert_int_equal(peer_check_buffers(&why), 0);
    wmem_max = LIMIT_MESSAGE_BYTES / 2;
    assert_int_equal(peer_check_buffers(&why), -ENOBUFS);
    assert_non_null(strstr(why.text, "raise net.core.wmem_max"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_longest_message_is_answered, connect_peer,
                                        disconnect_peer),
        cmocka_unit_test(a_kernel_without_room_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

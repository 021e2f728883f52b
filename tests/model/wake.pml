/* Waking (daemon/ring/waker.c) and waiting: by the futex word, and by the wake-up
 * socket.
 *
 * A writer publishes FRAMES frames; a semaphore wakes the waker; a reader waits until it has
 * seen the last frame. Property: no reader misses a wake-up, that is, no execution ends with a
 * reader asleep (an invalid end state). Variants that must fail:
 *
 *   BUMP_FIRST    the futex word changes before newest does
 *   LOOK_FIRST    the reader looks at newest before it loads the word
 *   WAKE_FIRST    the waker forgets the rounds asked for after waking, not before
 *   DRAIN_LATE    the reader empties the socket after it has looked at newest, not before */

#define FRAMES 3
#define SOCKET_BYTES 2 /* full after two: a byte that does not fit is dropped */

byte newest, word, rounds;
bool asleep;       /* in FUTEX_WAIT */
byte in_socket;
bool done;         /* the writer is */

active proctype writer() {
    byte n;
    for (n : 1 .. FRAMES) {
#ifdef BUMP_FIRST
        word++;
        rounds++;
        newest = n;
#else
        newest = n;
        word++;
        rounds++;
#endif
    }
    done = true
}

active proctype waker() {
    do
    :: rounds > 0 ->
#ifndef WAKE_FIRST
        rounds = 0; /* sem_wait, then sem_trywait until there is none */
#endif
        asleep = false;
        atomic { if :: in_socket < SOCKET_BYTES -> in_socket++ :: else fi };
#ifdef WAKE_FIRST
        rounds = 0;
#endif
    :: done && rounds == 0 -> break
    od
}

active proctype futex_reader() {
    byte seen, last;
    do
    :: last == FRAMES -> break
    :: else ->
#ifdef LOOK_FIRST
        if
        :: newest > last -> last = newest
        :: else ->
            seen = word;
            atomic { if :: word == seen -> asleep = true :: else fi };
            !asleep
        fi
#else
        seen = word;
        if
        :: newest > last -> last = newest
        :: else ->
            /* The kernel compares and queues in one step. */
            atomic { if :: word == seen -> asleep = true :: else fi };
            !asleep
        fi
#endif
    od
}

active proctype socket_reader() {
    byte last;
    do
    :: last == FRAMES -> break
    :: else ->
        if
        :: newest > last -> last = newest
        :: else ->
#ifdef DRAIN_LATE
            in_socket = 0;
            in_socket > 0
#else
            in_socket > 0; /* epoll_wait */
            in_socket = 0
#endif
        fi
    od
}

/* Waking (daemon/ring/waker.c) and waiting: by the futex word of the ring, by the wake-up socket,
 * and by the client's own wake-up word (client/libfftd/fftd.c).
 *
 * A writer publishes FRAMES frames. After each it either wakes the readers itself, if the lock of
 * their list is free, or a semaphore wakes the waker, which does it. A reader waits until it has
 * seen the last frame. Property: no reader misses a wake-up, that is, no execution ends with a
 * reader asleep (an invalid end state). Variants that must fail:
 *
 *   BUMP_FIRST    the futex word changes before newest does
 *   LOOK_FIRST    the reader looks at newest before it loads the ring's word
 *   WAKE_FIRST    the waker forgets the rounds asked for after waking, not before
 *   DRAIN_LATE    the reader empties the socket after it has looked at newest, not before
 *   LOCK_MISSED   the writer finds the list locked, and asks for no round
 *   OWN_LATE      the client's word changes after its sleepers have been woken
 *   OWN_LOOK      the reader looks at newest before it loads its own word
 *   BYTE_SPARED   a client that does not sleep on its word gets no byte */

#define FRAMES 2
#define SOCKET_BYTES 1 /* full after one: a byte that does not fit is dropped */

byte newest, word, rounds;
bool asleep;       /* in FUTEX_WAIT, on the ring's word */
byte in_socket;    /* of the client without a word of its own */
byte own_word;
bool own_asleep;
byte own_socket;
bool locked;       /* the list of clients */
bool done;         /* the writer is */

/* Both clients, by whoever holds the lock. */
inline wake_clients(nobody) {
    atomic { if :: in_socket < SOCKET_BYTES -> in_socket++ :: else fi };
#ifndef OWN_LATE
    own_word++;
#endif
    atomic { nobody = !own_asleep; own_asleep = false };
#ifdef OWN_LATE
    own_word++;
#endif
#ifndef BYTE_SPARED
    atomic { if :: nobody && own_socket < SOCKET_BYTES -> own_socket++ :: else fi };
#endif
    nobody = false
}

active proctype writer() {
    byte n;
    bool mine, nobody;
    for (n : 1 .. FRAMES) {
#ifdef BUMP_FIRST
        word++;
        newest = n;
#else
        newest = n;
        word++;
#endif
        if
        :: true -> rounds++ /* there are many */
        :: true ->          /* there are few */
            atomic { mine = !locked; if :: mine -> locked = true :: else fi };
            if
            :: mine ->
                wake_clients(nobody);
                locked = false;
                mine = false;
                /* One at most is woken here; the round is for the others. */
                atomic { if :: asleep -> asleep = false; rounds++ :: else fi }
            :: else ->
#ifndef LOCK_MISSED
                rounds++
#else
                skip
#endif
            fi
        fi
    }
    done = true
}

active proctype waker() {
    bool nobody;
    do
    :: rounds > 0 ->
#ifndef WAKE_FIRST
        rounds = 0; /* sem_wait, then sem_trywait until there is none */
#endif
        atomic { !locked -> locked = true };
        wake_clients(nobody);
        locked = false;
        asleep = false;
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

active proctype word_reader() {
    byte seen, last;
    bool patient; /* sleeps there for ever: what it waits for must not come by a time-out */
    if :: patient = true :: patient = false fi;
    do
    :: last == FRAMES -> break
    :: else ->
#ifndef OWN_LOOK
        seen = own_word;
#endif
        if
        :: newest > last -> last = newest
        :: else ->
#ifdef OWN_LOOK
            seen = own_word;
#endif
            atomic { if :: own_word == seen -> own_asleep = true :: else fi };
            if
            :: !own_asleep
            :: atomic { own_asleep && !patient -> own_asleep = false }; /* its time is over */
                own_socket > 0;
                own_socket = 0
            fi
        fi
    od
}

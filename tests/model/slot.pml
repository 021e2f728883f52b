/* The slot protocol (daemon/ring/slot.h, client/libfftd/slot.h) on a machine that reorders.
 *
 * A writer puts frames 1 .. FRAMES into one slot, each with the same number in every word; a reader
 * takes them. Property: what the reader accepts is one whole frame, and the one it asked for.
 *
 * The machine: a store goes into a buffer, from which it reaches memory at any time and in any
 * order, as far as no fence or release store says otherwise; loads happen in any order, as far as
 * no acquire says otherwise. Each of the four orders can be taken out, and so can each of the
 * reader's checks, by a macro; every such variant must fail:
 *
 *   NO_RELEASE_FENCE   slot_open without its fence          NO_RELEASE_STORE  slot_close relaxed
 *   NO_ACQUIRE_LOAD    slot_enter relaxed                    NO_ACQUIRE_FENCE  slot_intact without
 *   NO_ODD             slot_open does not touch the lock     NO_SECOND_LOOK    slot_intact missing
 *   NO_SEQUENCE        the number is not compared */

#define FRAMES 2

#define LOCK 0
#define SEQUENCE 1
#define DATA0 2
#define DATA1 3
#define WORDS 4

byte memory[WORDS];
bool buffered[WORDS];
byte buffer[WORDS];

inline store(word, value) {
    /* Two stores to one word keep their order on every machine. */
    atomic { !buffered[word] -> buffered[word] = true; buffer[word] = value }
}

inline drain() {
    (!buffered[LOCK] && !buffered[SEQUENCE] && !buffered[DATA0] && !buffered[DATA1])
}

active proctype machine() {
    byte word;
end:
    do
    :: atomic {
           select(word : 0 .. WORDS - 1);
           if
           :: buffered[word] -> memory[word] = buffer[word]; buffered[word] = false
           :: else
           fi
       }
    od
}

active proctype writer() {
    byte n;
    for (n : 1 .. FRAMES) {
#ifndef NO_ODD
        store(LOCK, 2 * n - 1);
#endif
#ifndef NO_RELEASE_FENCE
        drain();
#endif
        store(SEQUENCE, 0);
        if
        :: store(DATA0, n); store(DATA1, n)
        :: store(DATA1, n); store(DATA0, n)
        fi;
        store(SEQUENCE, n);
#ifndef NO_RELEASE_STORE
        drain();
#endif
        store(LOCK, 2 * n);
    }
}

/* One look at the slot: the loads in any order that the acquires allow. */
active proctype reader() {
    byte first, second, sequence, data0, data1, wanted;
    bool did_first, did_second, did_sequence, did_data0, did_data1;
    select(wanted : 1 .. FRAMES);
    do
    :: !did_first -> first = memory[LOCK]; did_first = true
#ifdef NO_ACQUIRE_LOAD
#define MAY_READ true
#else
#define MAY_READ did_first
#endif
    :: MAY_READ && !did_sequence -> sequence = memory[SEQUENCE]; did_sequence = true
    :: MAY_READ && !did_data0 -> data0 = memory[DATA0]; did_data0 = true
    :: MAY_READ && !did_data1 -> data1 = memory[DATA1]; did_data1 = true
#ifdef NO_ACQUIRE_FENCE
    :: did_first && !did_second -> second = memory[LOCK]; did_second = true
#else
    :: did_first && did_sequence && did_data0 && did_data1 && !did_second ->
        second = memory[LOCK]; did_second = true
#endif
    :: did_first && did_second && did_sequence && did_data0 && did_data1 -> break
    od;

#ifdef NO_SECOND_LOOK
    second = first;
#endif
#ifdef NO_SEQUENCE
    sequence = wanted;
#endif
    if
    :: first % 2 == 0 && second == first && sequence == wanted ->
        assert(data0 == wanted && data1 == wanted)
    :: else
    fi
}

/* Lending slots (daemon/ring/hold.c, ring.c): the writer and the server contend for owner words.
 *
 * The smallest ring that lends: SLOTS = open + newest + 1. The writer keeps OPEN frames in flight
 * for ever and never waits; the server takes a slot for a client by the number of its frame, and
 * gives it back. Properties: a slot that is lent holds the frame it was lent for until it is given
 * back; the writer always finds a slot. Variants that must fail:
 *
 *   NO_RECHECK    the number is not compared again after the slot was taken
 *   NO_BOUND      as many slots are lent as clients ask for
 *   NO_CLAIM      the writer looks at the owner and takes the slot in two steps */

#define OPEN 2
#define SLOTS 4
#define LENDS 1
#define FRAMES 5
#define CLIENTS 2
#define WRITER 255

/* Promela cannot interrupt an expression by an #ifdef. */
#ifdef NO_BOUND
#define MAY_LEND true
#else
#define MAY_LEND (owner[i] > 0 || held < LENDS)
#endif

byte owner[SLOTS];
byte sequence[SLOTS];
byte newest, newest_slot = SLOTS;
byte held;

inline find_oldest() {
    d_step {
        slot = SLOTS;
        i = 0;
        do
        :: i < SLOTS ->
            if
            :: owner[i] == 0 && i != newest_slot && (slot == SLOTS || sequence[i] < sequence[slot]) ->
                slot = i
            :: else
            fi;
            i++
        :: else -> break
        od;
        i = 0
    }
}

active proctype writer() {
    byte i, slot, n, first, count;
    byte open[OPEN];
    for (n : 1 .. FRAMES) {
        do
        :: count < OPEN ->
            find_oldest();
            /* The limit on held slots ensures that there always is one. */
            assert(slot < SLOTS);
#ifdef NO_CLAIM
            owner[slot] = WRITER;
            sequence[slot] = 0;
            open[(first + count) % OPEN] = slot; count++
#else
            if
            :: atomic { owner[slot] == 0 -> owner[slot] = WRITER };
                sequence[slot] = 0;
                open[(first + count) % OPEN] = slot; count++
            :: owner[slot] != 0 /* taken by the server meanwhile: on to the next */
            fi
#endif
        :: else -> break
        od;
        slot = open[first];
        first = (first + 1) % OPEN; count--;
        sequence[slot] = n;
        owner[slot] = 0;
        newest_slot = slot;
        newest = n
    }
}

/* The server is one process; its clients take turns in holding and releasing. */
active proctype server() {
    byte i, wanted, client, rounds;
    byte lent[CLIENTS] = SLOTS;
    byte lent_for[CLIENTS];
    for (rounds : 1 .. 4) {
        select(client : 0 .. CLIENTS - 1);
        if
        :: lent[client] != SLOTS ->
            assert(sequence[lent[client]] == lent_for[client]);
            atomic {
                owner[lent[client]]--;
                if :: owner[lent[client]] == 0 -> held-- :: else fi
            };
            lent[client] = SLOTS
        :: lent[client] == SLOTS && newest > 0 ->
            /* The newest frame, or the one before it. */
            if
            :: wanted = newest
            :: newest > 1 -> wanted = newest - 1
            fi;
            i = 0;
            do
            :: i < SLOTS && sequence[i] != wanted -> i++
            :: else -> break
            od;
            if
            :: i == SLOTS
            :: i < SLOTS ->
                if
                :: atomic {
                       owner[i] != WRITER && MAY_LEND -> if :: owner[i] == 0 -> held++ :: else fi;
                       owner[i]++
                   };
#ifndef NO_RECHECK
                    if
                    :: sequence[i] != wanted ->
                        atomic { owner[i]--; if :: owner[i] == 0 -> held-- :: else fi }
                    :: else -> lent[client] = i; lent_for[client] = wanted
                    fi
#else
                    lent[client] = i; lent_for[client] = wanted
#endif
                :: owner[i] == WRITER
                :: owner[i] == 0 && held >= LENDS
                fi
            fi
        :: else
        fi;
        /* A client looks at what it holds whenever it likes. */
        for (client : 0 .. CLIENTS - 1) {
            if
            :: lent[client] != SLOTS -> assert(sequence[lent[client]] == lent_for[client])
            :: else
            fi
        };
        i = 0
    }
}

/* The common word (daemon/ring/waker.c): between two rounds the waker moves readers that sleep on
 * their own words to a word of the daemon's, where a round wakes all of them at once. wake.pml has
 * the other ways to be woken.
 *
 * Two clients sleep on their words. Either may be patient, or end its sleep at any time and wait
 * for a byte. The second may be dropped while it sleeps on the common word; its thread then sleeps
 * on. Property: no reader misses a wake-up, that is, no execution ends with a reader asleep.
 * Variants that must fail:
 *
 *   COUNT_IGNORED     who was moved gets no other wake-up, although some have left
 *   COUNT_LOWERED     the count falls when a client is dropped, whose thread still sleeps there
 *   ROUND_SPARED      the round does not wake the common word's sleepers */

#define FRAMES 2
#define CLIENTS 2

mtype = { awake, on_own, on_common };

byte newest, rounds;
byte word[CLIENTS];
mtype place[CLIENTS] = awake;
bool in_socket[CLIENTS]; /* full after one byte */
bool moved[CLIENTS];     /* listener.gathered */
byte gathered;
bool listed[CLIENTS] = true;
bool stray;  /* a thread of a dropped client sleeps on the common word */
bool locked; /* the list of clients */
bool done;   /* the writer is */

active proctype writer() {
    byte n;
    for (n : 1 .. FRAMES) {
        newest = n;
        rounds++
    }
    done = true
}

inline change_words() {
    for (c : 0 .. CLIENTS - 1) {
        word[c]++
    }
}

/* In one step for all sleepers: none can come here meanwhile, and whoever leaves is not counted. */
inline wake_common() {
    atomic {
        woken = stray;
        stray = false;
        for (c : 0 .. CLIENTS - 1) {
            if
            :: place[c] == on_common -> place[c] = awake; woken++
            :: else
            fi
        }
    }
}

inline wake_one() {
    atomic {
        nobody = place[c] != on_own;
        if :: !nobody -> place[c] = awake :: else fi
    };
    if :: nobody -> in_socket[c] = true :: else fi;
    nobody = false
}

active proctype waker() {
    byte c, woken;
    bool nobody, complete;
    do
    :: rounds > 0 ->
        rounds = 0;
        atomic { !locked -> locked = true };
        change_words();
#ifndef ROUND_SPARED
        wake_common();
#else
        woken = gathered;
#endif
#ifndef COUNT_IGNORED
        complete = gathered > 0 && woken == gathered;
#else
        complete = true;
#endif
        gathered = 0;
        for (c : 0 .. CLIENTS - 1) {
            if
            :: listed[c] && !(moved[c] && complete) -> wake_one()
            :: else
            fi;
            moved[c] = false
        }
        woken = 0;
        complete = false;
        locked = false
    :: rounds == 0 && !done -> /* half of the time to the next frame is over */
        atomic { !locked -> locked = true };
        for (c : 0 .. CLIENTS - 1) {
            atomic {
                if
                :: listed[c] && !moved[c] && place[c] == on_own ->
                    place[c] = on_common;
                    moved[c] = true;
                    gathered++
                :: else
                fi
            }
        }
        locked = false
    :: done && rounds == 0 -> break
    od
}

active [CLIENTS] proctype reader() {
    byte me = _pid - 2;
    byte seen, last;
    bool patient;
    if :: patient = true :: patient = false fi;
    do
    :: last == FRAMES -> break
    :: else ->
        seen = word[me];
        if
        :: newest > last -> last = newest
        :: else ->
            atomic { if :: word[me] == seen -> place[me] = on_own :: else fi };
            if
            :: place[me] == awake
            :: atomic { place[me] != awake && !patient -> place[me] = awake };
                in_socket[me];
                in_socket[me] = false
            :: atomic { me == 1 && place[me] == on_common && !locked ->
                place[me] = awake; stray = true; listed[me] = false;
#ifdef COUNT_LOWERED
                gathered--
#endif
                };
                break
            fi
        fi
    od
}

/* bench/peer.h: a server behind two pipes, the requests it gets, and the clocks that watch it.
 *
 * Every failure ends the program with a message: a measurement of something broken is worth
 * nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef enum PeerEra {
    PEER_ERA_LEGACY, /* 2025-11-25: a session, opened by `initialize` */
    PEER_ERA_MODERN, /* 2026-07-28: every request names version and client in `_meta` */
    PEER_N_ERAS
} PeerEra;

const char *peer_era_name(PeerEra era);

/* How to start it. */
typedef struct PeerProgram {
    const char *name;
    const char *const *argv; /* ends with NULL */
    bool is_echo;            /* answers any line with itself */
    bool is_scan;            /* answers calls, and knows no handshake */
    bool is_ours;            /* the goals are for it */
    bool on_sockets;         /* its pipes are socket pairs */
    bool is_node; /* slow to start, and threads of its own: fewer rounds, and not pinned then */
} PeerProgram;

typedef struct Peer {
    const PeerProgram *program;
    PeerEra era;
    pid_t pid;
    int to;   /* its stdin; does not block */
    int from; /* its stdout; blocks */
    char *buffer;
    size_t n_answer; /* of each answer to the current traffic, newline included; 0: not known */
} Peer;

/* Requests of one size and era, all of one length, with different ids, back to back. */
typedef struct PeerTraffic {
    char *block;
    size_t n_message; /* newline included */
    size_t n_messages;
    size_t depth; /* in flight at most when pipelined */
} PeerTraffic;

enum {
    PEER_SIZE_MAX = 0 /* in place of a size: as much as the request limit of 1 MiB permits */
};

/* `size`: bytes of the one string in the arguments. `depth`: requests in flight at most. */
void peer_traffic_init(PeerTraffic *t, PeerEra era, size_t size, size_t depth);
void peer_traffic_deinit(PeerTraffic *t);

/* Runs a program to its end; true: it exited with 0. */
bool peer_program_succeeds(const char *const *argv);

/* Starts the program with the affinity of the caller. alloc_fd: for the allocation counter, or -1.
 */
void peer_start(Peer *peer, const PeerProgram *program, PeerEra era, int alloc_fd);

/* What opens the conversation: `initialize` and its notification; nothing in the modern era. */
void peer_open(Peer *peer);

/* Sends one request and checks its answer: the right id and text, no error. Later answers must be
 * as long as this one. */
void peer_check(Peer *peer, const PeerTraffic *t);

/* Closes its stdin, waits for its end. */
void peer_stop(Peer *peer);

/* One request written, one whole answer read; nanoseconds. */
uint64_t peer_round_trip(Peer *peer, const PeerTraffic *t, size_t index);

/* Keeps depth requests in flight until the time is over or n_calls are done, whichever comes first,
 * then reads the rest; returns the number of calls. */
size_t peer_pipeline(Peer *peer, const PeerTraffic *t, uint64_t for_ns, size_t n_calls);

/* Spawns the program and waits for the first answer (of `initialize`, or of a call in the modern
 * era); nanoseconds. */
uint64_t peer_start_time(const PeerProgram *program, PeerEra era, const PeerTraffic *t);

/* CPU time of one start, all threads, user and system, in nanoseconds: `to_list` from the start of
 * the process to its answer to `tools/list`, which must hold `wanted`; `to_end` to its end, which
 * follows that of its stdin. */
typedef struct PeerStartCpu {
    uint64_t to_list;
    uint64_t to_end;
} PeerStartCpu;

PeerStartCpu peer_start_cpu(const PeerProgram *program, PeerEra era, const char *wanted);

/* Spawns a program that neither reads nor writes, and waits for the end of its stdout; nanoseconds.
 */
uint64_t peer_empty_time(const PeerProgram *program);

/* CPU time of all its threads so far, user and system. */
uint64_t peer_cpu_ns(const Peer *peer);

/* Resident bytes, exact (smaps_rollup), and those of them that are its own heap, stack and data. */
void peer_memory(const Peer *peer, size_t *ret_resident, size_t *ret_anonymous);

/* Where the calling process runs from now on, and what it starts. Of the cores that it may use. */
typedef enum PeerPlace {
    PEER_PLACE_ANYWHERE,
    PEER_PLACE_FIRST_CORE,
    PEER_PLACE_LAST_CORE /* interrupts like the first */
} PeerPlace;

void peer_place(PeerPlace place);

/* The same for another process, which has one thread. */
void peer_place_process(pid_t pid, PeerPlace place);

/* Keeps every core from halting, with one process of the lowest class (SCHED_IDLE) on each, which
 * end with this one. */
void peer_keep_awake(void);

/* Ends the program if nothing called this again for two minutes: a server that stopped answering.
 */
void peer_watchdog(void);

_Noreturn void peer_die(const char *who, const char *what);

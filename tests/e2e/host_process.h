/* tests/e2e/host_process.h: a `toolwire host --diagnostics` in a folder of its own, and what the
 * system knows of it. Every failure fails the test.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct HostProcess {
    pid_t pid; /* 0: ended */
    char folder[32];
    char socket[64];
    char schema[64];
    const atomic_long *live_bytes; /* allocated and not freed; NULL: not counted */
} HostProcess;

/* Returns when it accepts connections. live_bytes: the library that counts them
 * (support/live_bytes.c), or NULL. */
void host_process_start(HostProcess *host, const char *program, const char *live_bytes);

/* Its open descriptors. */
size_t host_process_descriptors(const HostProcess *host);

/* Its resident memory, exact. */
size_t host_process_resident_kib(const HostProcess *host);

/* SIGTERM; returns its exit status, or -signal. What it leaves in the folder stays. */
int host_process_terminate(HostProcess *host);

/* After a failure: kills what still runs, removes what is left. May run twice. */
void host_process_clean(HostProcess *host);

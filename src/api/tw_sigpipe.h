/* api/tw_sigpipe.h: a peer that has gone is an error of write(2), without touching how the process
 * treats SIGPIPE: a library does not own that. Thread: any. */
#pragma once

#include <stdbool.h>

#ifndef _WIN32
#include <signal.h>
#endif

typedef struct ApiSigpipe {
#ifndef _WIN32
    sigset_t old;
#endif
    bool is_ours; /* the signal was neither blocked nor pending before; never on Windows */
} ApiSigpipe;

/* Blocks SIGPIPE in the calling thread. */
void api_sigpipe_block(ApiSigpipe *saved);

/* Takes away one that came meanwhile, and restores what was before. */
void api_sigpipe_restore(const ApiSigpipe *saved);

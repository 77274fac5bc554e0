/* api/tw_signals.h: what the program does about the signals that ask it to end, kept while we serve
 * in its place.
 *
 * They wait (on this thread; what other threads do is the program's) where neither we nor the
 * program would hear of them: before ours is there, and while the program's comes back. Where
 * signals are no such thing (Windows) there is nothing to keep. Thread: any.
 */
#pragma once

#include "app/end_signals.h"

#ifndef _WIN32
#include <signal.h>
#endif

typedef struct ApiSignals {
#ifdef _WIN32
    char nothing;
#else
    sigset_t mask;
    struct sigaction actions[END_SIGNALS_N];
#endif
} ApiSignals;

/* Lets them wait, and remembers how it was. */
void api_signals_save(ApiSignals *saved);

/* Lets them wait again. */
void api_signals_block(void);

/* Those that the program had not blocked itself arrive; nothing else of the mask changes. */
void api_signals_unblock(const ApiSignals *saved);

/* The program's own actions are back; to be called after the last watch has gone, which leaves the
 * default action. Then as unblock. */
void api_signals_restore(const ApiSignals *saved);

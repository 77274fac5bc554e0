#include "api/tw_signals.h"

#include <pthread.h>
#include <stddef.h>

static void signals_block(sigset_t *ret_mask)
{
    sigset_t set;

    (void)sigemptyset(&set);
    for (size_t i = 0; i < END_SIGNALS_N; i++) {
        (void)sigaddset(&set, end_signals[i]);
    }
    (void)pthread_sigmask(SIG_BLOCK, &set, ret_mask);
}

void api_signals_block(void)
{
    signals_block(NULL);
}

void api_signals_save(ApiSignals *saved)
{
    signals_block(&saved->mask);
    for (size_t i = 0; i < END_SIGNALS_N; i++) {
        (void)sigaction(end_signals[i], NULL, &saved->actions[i]);
    }
}

void api_signals_unblock(const ApiSignals *saved)
{
    sigset_t set;

    (void)sigemptyset(&set);
    for (size_t i = 0; i < END_SIGNALS_N; i++) {
        if (sigismember(&saved->mask, end_signals[i]) == 0) {
            (void)sigaddset(&set, end_signals[i]);
        }
    }
    (void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

void api_signals_restore(const ApiSignals *saved)
{
    for (size_t i = 0; i < END_SIGNALS_N; i++) {
        (void)sigaction(end_signals[i], &saved->actions[i], NULL);
    }
    api_signals_unblock(saved);
}

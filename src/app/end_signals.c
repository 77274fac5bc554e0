#include "app/end_signals.h"

#include <signal.h>
#include <stddef.h>

const int end_signals[END_SIGNALS_N] = {SIGTERM, SIGINT, SIGHUP};

void end_signals_block(void)
{
    sigset_t set;

    (void)sigemptyset(&set);
    for (size_t i = 0; i < END_SIGNALS_N; i++) {
        (void)sigaddset(&set, end_signals[i]);
    }
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
}

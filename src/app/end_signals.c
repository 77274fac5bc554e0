#include "app/end_signals.h"

#include <signal.h>
#include <stddef.h>

const int end_signals[END_SIGNALS_N] = {SIGTERM, SIGINT, SIGHUP};
const int end_signals_reload = SIGHUP;

static void end_signals_mask(int how)
{
    sigset_t set;

    (void)sigemptyset(&set);
    for (size_t i = 0; i < END_SIGNALS_N; i++) {
        (void)sigaddset(&set, end_signals[i]);
    }
    (void)sigprocmask(how, &set, NULL);
}

void end_signals_block(void)
{
    end_signals_mask(SIG_BLOCK);
}

void end_signals_unblock(void)
{
    end_signals_mask(SIG_UNBLOCK);
}

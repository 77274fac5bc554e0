#include "api/tw_signals.h"
#include "api/tw_sigpipe.h"

void api_signals_save(ApiSignals *saved)
{
    *saved = (ApiSignals){0};
}

void api_signals_block(void) {}

void api_signals_unblock(const ApiSignals *saved)
{
    (void)saved;
}

void api_signals_restore(const ApiSignals *saved)
{
    (void)saved;
}

void api_sigpipe_block(ApiSigpipe *saved)
{
    *saved = (ApiSigpipe){0};
}

void api_sigpipe_restore(const ApiSigpipe *saved)
{
    (void)saved;
}

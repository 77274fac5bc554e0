#include "api/tw_sigpipe.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

void api_sigpipe_block(ApiSigpipe *saved)
{
    sigset_t pipe_only;
    sigset_t pending;

    (void)sigemptyset(&pipe_only);
    (void)sigaddset(&pipe_only, SIGPIPE);
    (void)sigpending(&pending);
    (void)pthread_sigmask(SIG_BLOCK, &pipe_only, &saved->old);
    saved->is_ours = sigismember(&saved->old, SIGPIPE) == 0 && sigismember(&pending, SIGPIPE) == 0;
}

void api_sigpipe_restore(const ApiSigpipe *saved)
{
    static const struct timespec at_once = {0, 0};
    sigset_t pipe_only;

    if (saved->is_ours) {
        (void)sigemptyset(&pipe_only);
        (void)sigaddset(&pipe_only, SIGPIPE);
        while (sigtimedwait(&pipe_only, NULL, &at_once) < 0 && errno == EINTR) {
        }
    }
    (void)pthread_sigmask(SIG_SETMASK, &saved->old, NULL);
}

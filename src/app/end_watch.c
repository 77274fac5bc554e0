#include "app/end_signals.h"

#include "base/limits.h"
#include "io/error_text.h"
#include "io/watchdog.h"

static int64_t end_bound_ms(int64_t drain_ms)
{
    if (drain_ms == END_TAKES_ITS_TIME) {
        return INT64_MAX;
    }
    return (drain_ms > 0 ? drain_ms : LIMIT_DRAIN_MS) + END_COMMANDS_MS + LIMIT_END_LATE_MS;
}

void end_signals_watch(IoLoop *loop, const LogSink *log, int64_t drain_ms, int except)
{
    int signals[END_SIGNALS_N];
    IoWatchdogConfig config = {.log = log, .end_ms = end_bound_ms(drain_ms), .signals = signals};
    int r;

    for (size_t i = 0; i < END_SIGNALS_N; i++) {
        if (end_signals[i] != except) {
            signals[config.n_signals++] = end_signals[i];
        }
    }
    r = io_watchdog_start(loop, &config);
    if (r != 0) {
        logsink_write(log, LOGSINK_LEVEL_WARN, "loop", "nobody watches over the loop: %s",
                      io_error_text(-r));
    }
}

void end_signals_set_drain(IoLoop *loop, int64_t drain_ms)
{
    io_watchdog_set_end_ms(loop, end_bound_ms(drain_ms));
}

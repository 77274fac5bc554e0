/* io/watchdog.h: notices, from a thread of its own, that the loop does not come round.
 *
 * Two things keep a loop from turning: a peer whose turn does not end, and a mistake of ours.
 *
 *   turns   Who pumps for a peer says so (io_turn_begin, io_turn_end) and asks between two steps
 *           whether the turn is over (io_turn_is_over): then it ends that peer. It is over when the
 *           loop's thread has run for turn_ms within it. That is time of the processor, not of the
 *           clock: a process that is stopped (SIGSTOP, a debugger), a machine that sleeps or is
 *           busy with others, and a disk that is slow cost nobody anything. (Where the system does
 *           not count it for a thread, the watchdog counts its own looks, which stop, too.)
 *   end     After a signal that asks the process to end: if the loop has not come round for
 *           quiet_ms, or the process is still there after end_ms, or a second signal comes while
 *           the loop does not come round, the watchdog logs it and ends the process. Its looks are
 *           counted here as well, each for at most twice its period.
 *
 * A turn costs two stores and a load, and no look at a clock. The watchdog sleeps while no turn is
 * begun, and looks four times within turn_ms else. Thread: loop.
 */
#pragma once

#include "base/logsink.h"
#include "io/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct IoWatchdogConfig {
    const LogSink *log; /* borrowed until io_loop_free; its write_fn is called on another thread */
    int64_t turn_ms;    /* 0: LIMIT_TURN_MS */
    int64_t quiet_ms;   /* 0: LIMIT_END_QUIET_MS */
    int64_t end_ms;     /* how long the process may take to end */
    const int *signals; /* those that ask it to end; at most IO_WATCHDOG_SIGNALS; copied */
    size_t n_signals;
} IoWatchdogConfig;

#define IO_WATCHDOG_SIGNALS 4

/* Once for a loop, on its thread, after the loop's own io_signal_new: a signal that waits is
 * delivered from here on. Ends with io_loop_free. 0 or a negative errno. */
int io_watchdog_start(IoLoop *loop, const IoWatchdogConfig *config);

/* Settings were read again. */
void io_watchdog_set_end_ms(IoLoop *loop, int64_t end_ms);

/* Whose turn it is, for the log. Where it is always the same text, a constant with that text. */
typedef struct IoTurnName IoTurnName;
struct IoTurnName {
    const char *text;
    IoTurnName *next; /* this and the next: io_turn_name's */
    size_t n;
};

/* The same text is the same name. Lives as long as the loop. */
const IoTurnName *io_turn_name(IoLoop *loop, const char *text);

/* Pairs. Turns within a turn belong to the outermost. */
void io_turn_begin(IoLoop *loop, const IoTurnName *name);
void io_turn_end(IoLoop *loop);

/* The turn under way is of that name, and has taken too long. */
bool io_turn_is_over(const IoLoop *loop, const IoTurnName *name);

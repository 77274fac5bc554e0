/* app/end_signals.h: the signals that ask a program which serves to end, and how long its commands
 * then have. Thread: loop. */
#pragma once

#include "base/logsink.h"
#include "io/loop.h"

#include <stdint.h>

#define END_SIGNALS_N 3

/* SIGTERM, SIGINT, SIGHUP; on Windows Ctrl-Break, Ctrl-C and the end of the console. */
extern const int end_signals[END_SIGNALS_N];

/* Of them, the one that asks a program which runs for long to read its settings again, instead of
 * ending it: SIGHUP; 0 where there is none. */
extern const int end_signals_reload;

/* What commands get between TERM and KILL when the program ends: less than EXEC_RUN_GRACE_MS,
 * because those who have sent SIGTERM are seen to send SIGKILL after 2 s. */
#define END_COMMANDS_MS 500

/* From here on they wait, until the process has ended. */
void end_signals_block(void);

/* They need not any more: one that came meanwhile arrives now. */
void end_signals_unblock(void);

/* The end depends on others: only a loop that does not come round cuts it short. */
#define END_TAKES_ITS_TIME INT64_MAX

/* From here on a watchdog (io/watchdog.h) sees to it that a peer whose turn does not end is ended,
 * and that one of these signals, but for `except` (0: none), ends the process, whatever the loop
 * does; drain_ms: what calls in flight have then, 0: LIMIT_DRAIN_MS. After all io_signal_new. Ends
 * with the loop. */
void end_signals_watch(IoLoop *loop, const LogSink *log, int64_t drain_ms, int except);
void end_signals_set_drain(IoLoop *loop, int64_t drain_ms);

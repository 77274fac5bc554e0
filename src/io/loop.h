/* io/loop.h: the one thread that owns everything: libuv's loop, timers, signals, and the door for
 * other threads.
 *
 * Nothing of libuv shows in this header. Objects made here outlive their free until the loop has
 * let go of them; no callback comes after free. Thread: loop, but for io_loop_post.
 */
#pragma once

#include "base/compiler.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct IoLoop IoLoop;
typedef struct IoTimer IoTimer;

/* Standard descriptors (0, 1, 2) that are closed become /dev/null first, for good. 0, -ENOMEM, or
 * the errno of what the system refused. Gives *ret. */
int io_loop_new(IoLoop **ret);

/* Everything made on the loop must have been freed before; closes what is still closing, calls the
 * tasks that are still posted, reaps the children that were killed, and kills what is left of
 * retired ones (io/process.h). */
IoLoop *io_loop_free(IoLoop *loop);

/* Runs until io_loop_stop, or until nothing is left that could happen. The descriptors are looked
 * at once at least, whatever is due; the hooks of io_before_wait are called after the last event.
 * 0, or a negative errno. */
int io_loop_run(IoLoop *loop);
void io_loop_stop(IoLoop *loop);

/* Monotonic, as of this turn of the loop: cheap, and the same for all that happens in one turn. */
int64_t io_loop_now_ms(const IoLoop *loop);

/* Reads the clock again, for those who have worked long inside one turn. */
void io_loop_update_now(IoLoop *loop);

/* A piece of work for the loop thread; the memory is the caller's until fn has been called. */
typedef struct IoTask IoTask;
struct IoTask {
    void (*fn)(IoTask *task);
    IoTask *next; /* the loop's */
};

/* Lets the loop call task->fn, in order of posting. A posted task keeps the loop running. Thread:
 * any. */
void io_loop_post(IoLoop *loop, IoTask *task);

/* While held, io_loop_run does not end for want of work: somebody on another thread may still post.
 * Thread: loop. */
void io_loop_hold(IoLoop *loop);
void io_loop_release(IoLoop *loop);

/* Calls fn once a turn, after the events and before the loop waits for more: where answers that
 * gathered are sent in one write. The one that was made last comes first: so a hub, on which all
 * else stands, sees what the others have set going in this turn. Gives *ret; does not keep the loop
 * running. */
typedef struct IoBeforeWait IoBeforeWait;
int io_before_wait_new(IoBeforeWait **ret, IoLoop *loop, void (*fn)(void *context), void *context);
IoBeforeWait *io_before_wait_free(IoBeforeWait *hook);

/* Are they being called? What gathers now may have to wait for the next turn. */
bool io_loop_is_settling(const IoLoop *loop);

/* One shot at a time. `background`: does not keep the loop running. Gives *ret. */
int io_timer_new(IoTimer **ret, IoLoop *loop, bool background, void (*fn)(void *context),
                 void *context);
IoTimer *io_timer_free(IoTimer *timer);

/* Fires once, at due_ms on the clock of io_loop_now_ms; starting again moves it. INT64_MAX stops.
 */
void io_timer_start_at(IoTimer *timer, int64_t due_ms);
void io_timer_stop(IoTimer *timer);

/* Calls fn for every arrival of the signal; does not keep the loop running. On Windows: SIGINT
 * (Ctrl-C), SIGBREAK (Ctrl-Break), 1 (SIGHUP: the console is closed); SIGTERM never comes. */
typedef struct IoSignal IoSignal;
int io_signal_new(IoSignal **ret, IoLoop *loop, int signum, void (*fn)(void *context, int signum),
                  void *context);
IoSignal *io_signal_free(IoSignal *signal);

/* Once per process, before any write: a peer that has gone is an error of write(2), never the end
 * of the process. */
void io_ignore_sigpipe(void);

/* Once per process, at its start: a file that may not grow (RLIMIT_FSIZE) is an error of write(2),
 * as a disk that is full is. Programs that it starts have the signal as it is by default. */
void io_ignore_sigxfsz(void);

/* Once per process, for one that serves many clients: it may open as many descriptors as the system
 * lets it. The programs that it starts may open as many as before: some cannot use high numbers. */
void io_allow_many_descriptors(void);

/* Calls fn once, when the process that started this one has gone (its pid is no longer our
 * parent's): an event where the system has one, else looked at every period_ms. Does nothing for a
 * process that never had one (parent 1). */
typedef struct IoParentWatch IoParentWatch;
int io_parent_watch_new(IoParentWatch **ret, IoLoop *loop, int64_t period_ms,
                        void (*fn)(void *context), void *context);
IoParentWatch *io_parent_watch_free(IoParentWatch *watch);

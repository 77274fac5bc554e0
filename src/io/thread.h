/* io/thread.h: threads, and what they wait for one another with.
 *
 * Objects are embedded: none of them allocates, so that waiting for an answer costs no heap. They
 * may not be moved or copied once they are initialised. Thread: any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Room for the system's own object, whatever it is; checked where that is known (thread.c). */
typedef union IoThreadRoom {
    char bytes[128];
    void *align_pointer;
    int64_t align_integer;
} IoThreadRoom;

typedef struct IoMutex {
    IoThreadRoom room;
} IoMutex;

/* 0 or a negative errno. What is initialised must be deinitialised, once, when nobody uses it. */
int io_mutex_init(IoMutex *mutex);
void io_mutex_deinit(IoMutex *mutex);
void io_mutex_lock(IoMutex *mutex);
void io_mutex_unlock(IoMutex *mutex);

typedef struct IoCondition {
    IoThreadRoom room;
} IoCondition;

int io_condition_init(IoCondition *condition);
void io_condition_deinit(IoCondition *condition);

/* Wakes one of those that wait, or all. */
void io_condition_signal(IoCondition *condition);
void io_condition_broadcast(IoCondition *condition);

/* With the mutex locked, which is released while waiting. Both may return without a reason: what is
 * waited for is looked at again. */
void io_condition_wait(IoCondition *condition, IoMutex *mutex);

/* At most so long, by a clock that nobody sets. False: the time has passed. */
bool io_condition_wait_for(IoCondition *condition, IoMutex *mutex, uint64_t timeout_ns);

/* Counts: each post lets one wait go on, also one that comes later. */
typedef struct IoSemaphore {
    IoThreadRoom room;
} IoSemaphore;

/* Its count is 0. */
int io_semaphore_init(IoSemaphore *semaphore);
void io_semaphore_deinit(IoSemaphore *semaphore);
void io_semaphore_post(IoSemaphore *semaphore);
void io_semaphore_wait(IoSemaphore *semaphore);

typedef struct IoThread {
    IoThreadRoom room;
} IoThread;

/* Calls fn(context) on a thread of its own. 0 or a negative errno (fn is not called then). */
int io_thread_start(IoThread *thread, void (*fn)(void *context), void *context);

/* Waits for its end; once for each that was started. */
void io_thread_join(IoThread *thread);

/* Is the caller this thread? */
bool io_thread_is_self(const IoThread *thread);

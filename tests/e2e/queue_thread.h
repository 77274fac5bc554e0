/* tests/e2e/queue_thread.h: stops the queue's thread of a running hub, and nothing else of it, so
 * that a test decides what happens before, during and after a commit. By ptrace: the hub must be
 * a child of this process. Every failure fails the test.
 */
#pragma once

#include "e2e/queue_hub.h"

#include <stdbool.h>
#include <sys/types.h>

typedef struct QueueThread {
    pid_t tid;
    bool is_stopped; /* and traced */
    bool is_in_step; /* between the two stops of a call */
} QueueThread;

/* Finds the thread: the one that writes a large job to the disk. False: the system does not let
 * processes be traced, or does not tell what a thread writes. */
bool queue_thread_find(QueueThread *thread, const QueueHub *hub);

/* It does nothing from now on, once it has done what it was at. */
void queue_thread_stop(QueueThread *thread);

/* It goes on until its next call of the system that concerns the queue's file: stopped before that
 * call, or after it, in turn. False: it has nothing more to do, has told the loop so, and runs. */
bool queue_thread_step(QueueThread *thread);

/* It runs, and is not traced. Does nothing if it runs already. */
void queue_thread_go(QueueThread *thread);

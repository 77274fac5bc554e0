/* io/work.h: work that would keep the loop from its events, on threads beside it.
 *
 * A worker takes values and gives values: it shares nothing with the loop's objects but what its
 * owner has made for that (an atomic flag, an atomic count). Thread: as said below.
 */
#pragma once

#include "io/loop.h"

#include <stddef.h>

/* Calls fn(context, 0) … fn(context, n - 1), each on a thread of its own, the last one on the
 * caller's, and returns when all have returned. If the system gives fewer threads, the calls that
 * have none come one after the other on the caller's. Thread: any. */
void io_work_fan(size_t n, void (*fn)(void *context, size_t i), void *context);

/* Cores that this process may use; at least 1. Thread: any. */
size_t io_work_cores(void);

/* Calls work(context) on another thread, and, when it has returned, done(context) on the loop's.
 * Keeps the loop running until then; there is no way to take it back, so an owner that goes first
 * leaves the context to done. 0, -ENOMEM, another negative errno (neither is called then). Thread:
 * loop. */
int io_work_start(IoLoop *loop, void (*work)(void *context), void (*done)(void *context),
                  void *context);

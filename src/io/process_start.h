/* io/process_start.h: fork, what happens in the child, and exec; for io/process.c alone.
 *
 * libuv's uv_spawn has no place for code between fork and exec, and the system forgets what was
 * asked of it for the end of a parent (PR_SET_PDEATHSIG) at every fork. So the fork is ours.
 */
#pragma once

#include <sys/types.h>

#include "io/guard.h"
#include "io/process.h"

/* Starts the program of spec, which leads a session and a group of its own, has theirs[i] as its
 * descriptor i (-1: ours of that number), default signal actions and an empty signal mask. Borrows
 * everything. Returns when the program runs: 0; or does not: a negative errno, and nothing is left
 * to reap. Thread: any; the child dies with this one if spec says so, and then its group is on the
 * list of the guard as *ret_entry (may be NULL), which the caller releases. */
int io_process_start(const IoProcessSpec *spec, const int theirs[3], pid_t *ret_pid,
                     IoGuardEntry **ret_entry);

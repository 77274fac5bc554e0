/* io/guard.h: what ends the groups of our children when we are killed and can end nothing
 * ourselves.
 *
 * The system kills a child with its parent (PR_SET_PDEATHSIG), but not what the child has started:
 * `npx` is a chain of three programs. So a process that has such children has a guard: a process of
 * its own, begun with the first of them, that waits for the end of a pipe which we hold open, and
 * for ours. When that comes, in whatever way, it sends TERM to every group on its list, KILL after
 * GUARD_GRACE_MS to what is left, and ends. The list is memory that we share with it: an entry
 * costs no system call, waits for nobody, and a child makes its own before it runs its program, so
 * that no moment is left in which it runs and is not on the list.
 *
 * The guard is in a session of its own, not our child, has every signal blocked and holds nothing
 * but these two: no terminal, no socket of ours, no folder. It keeps a copy of our memory
 * as that was when it began, as any process that was forked does. If it is killed the next child
 * begins another, which has the same list. A group that ended must leave the list before a stranger
 * can have its number; see io_guard_set_leaderless.
 *
 * What it does not end: processes that have moved to a group of their own. Where the system cannot
 * watch a process (Linux before 5.3), a copy of us that was forked and executes no program keeps it
 * from its work, since it holds the pipe. Not on Windows, where a job does the same (io/process.h).
 */
#pragma once

#include <stdatomic.h>
#include <sys/types.h>

/* How long what heeds TERM has to end, once we are dead. */
#define GUARD_GRACE_MS 2000

/* Groups on the list at once. A child beyond has no entry: it dies with us, but what it has started
 * need not. 16 KiB, of which only the pages that are used exist. */
#define GUARD_MAX_GROUPS 4096

typedef _Atomic(pid_t) IoGuardEntry;

/* An entry for a child that is about to be started, and the guard, if there is none. NULL: no entry
 * is left, or no guard can be had; which is no reason not to start the child. The functions below
 * take NULL and do nothing. Thread: any. */
IoGuardEntry *io_guard_take(void);

/* The group with that number is there. May be called in a child between fork and exec. */
void io_guard_set_group(IoGuardEntry *entry, pid_t group);

/* The group's leader was reaped: if a process with its number is found from now on it is a
 * stranger, and the group is gone. As long as the group has a member the system gives its number to
 * nobody. */
void io_guard_set_leaderless(IoGuardEntry *entry);

/* The group has gone, or is nobody's business any more. Returns NULL. */
IoGuardEntry *io_guard_release(IoGuardEntry *entry);

/* io/watch.h: tells when a file has changed, by any of the ways in which programs change files:
 * written in place, replaced by a rename, removed and made again.
 *
 * The folder is watched where the system can do that, and the file is looked at every few seconds
 * in any case (links to elsewhere, folders that come later). Changes that follow each other within
 * a moment are told as one, after the file has been quiet; one that never is quiet is told of once
 * a second. A file that is not there is not told of as a change: there would be nothing to
 * read. It is when it is back; that it has gone can be told apart. Thread: loop.
 */
#pragma once

#include "io/loop.h"

typedef struct IoWatch IoWatch;

/* Tells of what differs from the file as it is now: make the watch first, then read the file.
 * Borrows nothing; does not keep the loop running. fn may free the watch. 0, -ENOMEM, another
 * negative errno. Gives *ret. */
int io_watch_new(IoWatch **ret, IoLoop *loop, const char *path, void (*fn)(void *context),
                 void *context);

/* missing comes when a file that was there has gone, and once until it is back. May free the watch,
 * too. */
void io_watch_tell_missing(IoWatch *watch, void (*missing)(void *context), void *context);
IoWatch *io_watch_free(IoWatch *watch);

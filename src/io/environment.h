/* io/environment.h: the environment that this process was started with. Thread: any, as long as
 * nobody sets a variable. */
#pragma once

#include "base/span.h"

#include <stdbool.h>

/* NULL-terminated, each NAME=value. Borrowed from the system; never NULL. */
const char *const *io_environment(void);

/* Does an entry (NAME=value) set that variable? On Windows names have no case. */
bool io_environment_sets(const char *entry, Span name);

/* Ours, with those of `extra` (NULL-terminated) in place of the ones of the same names: for a
 * child. Gives *ret (mem_free), NULL-terminated; the strings stay borrowed, from the system and
 * from extra. 0, -ENOMEM. */
int io_environment_with(const char *const *extra, const char ***ret);

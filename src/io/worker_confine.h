/* io/worker_confine.h: what a worker (io/worker.h) takes from itself. Private to io/worker*.c. */
#pragma once

#include <stddef.h>

/* For good: limits of memory, files and processes, and, where the kernel has it, a list of the few
 * system calls that are left. 0 or a negative errno. */
int worker_confine(size_t max_memory);

/* tests/e2e/process_state.h: what the system knows of a process that a test has started. Every
 * failure fails the test.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <sys/types.h>

/* Its open descriptors. */
size_t process_descriptors(pid_t pid);

/* Its resident memory, exact. */
size_t process_resident_kib(pid_t pid);

/* A page in which the process that is started next counts what it has allocated and not freed
 * (library: support/live_bytes.c), and an environment that makes it do so, until end. Returns what
 * end wants. */
int process_live_begin(const atomic_long **ret_live, const char *library);
void process_live_end(int fd);

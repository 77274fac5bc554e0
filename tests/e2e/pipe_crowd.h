/* tests/e2e/pipe_crowd.h: add-ins in processes of their own, which answer in any order, and may be
 * killed at any time.
 *
 * The add-in N has the tool echo_N, whose data are its arguments. It answers what it has in random
 * order and some of it later; one answer in CROWD_TWICE comes twice, and one in CROWD_REFUSED is an
 * `error` message with the code CROWD_CODE.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CROWD_TWICE   64
#define CROWD_REFUSED 50
#define CROWD_CODE    "CROWD_REFUSES"

/* Forks one that connects to the pipe at path, and goes with its hub or with this process. */
pid_t crowd_start(const char *path, size_t number, uint64_t seed);

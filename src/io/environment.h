/* io/environment.h: the environment that this process was started with. Thread: any, as long as
 * nobody sets a variable. */
#pragma once

/* NULL-terminated, each NAME=value. Borrowed from the system; never NULL. */
const char *const *io_environment(void);

/* providers/exec_env.h: the environment that commands are started with.
 *
 * A short list of our own variables, none of which is likely to be a secret, and what the tools
 * file says. Thread: loop (it reads the process's environment).
 */
#pragma once

#include "base/arena.h"
#include "providers/tools_file.h"

#include <stddef.h>

/* "NAME=value"…, NULL-terminated, all copied into the arena; of one name the last counts. 0,
 * -ENOMEM. */
int exec_env_make(const char *const **ret, Arena *arena, const ToolsFileVariable *variables,
                  size_t n_variables);

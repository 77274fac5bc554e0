/* app/config_user.h: where the user's own configuration lies. Thread: any. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* $XDG_CONFIG_HOME/toolwire/config.json, by default in ~/.config; on Windows in %APPDATA%. False if
 * there is no such folder, or its name is too long. */
bool config_user_path(char *ret, size_t size);

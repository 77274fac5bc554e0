#include "app/config_user.h"

#include <stdio.h>
#include <stdlib.h>

bool config_user_path(char *ret, size_t size)
{
    const char *folder = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    int n;

    if (folder != NULL && folder[0] == '/') {
        n = snprintf(ret, size, "%s/toolwire/config.json", folder);
    } else if (home != NULL && home[0] != '\0') {
        n = snprintf(ret, size, "%s/.config/toolwire/config.json", home);
    } else {
        return false;
    }
    return n > 0 && (size_t)n < size;
}

#include "app/config_user.h"

#include <stdio.h>
#include <stdlib.h>

bool config_user_path(char *ret, size_t size)
{
    const char *folder = getenv("APPDATA");
    int n;

    if (folder == NULL || folder[0] == '\0') {
        return false;
    }
    n = snprintf(ret, size, "%s\\toolwire\\config.json", folder);
    return n > 0 && (size_t)n < size;
}

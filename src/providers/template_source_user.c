#include "providers/template_source.h"

#include <stdio.h>
#include <stdlib.h>

bool template_source_user_folder(char *ret, size_t size)
{
    const char *folder = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    int n;

    if (folder != NULL && folder[0] == '/') {
        n = snprintf(ret, size, "%s/toolwire/templates", folder);
    } else if (home != NULL && home[0] != '\0') {
        n = snprintf(ret, size, "%s/.config/toolwire/templates", home);
    } else {
        return false;
    }
    return n > 0 && (size_t)n < size;
}

#include "providers/template_source.h"

#include <stdio.h>
#include <stdlib.h>

bool template_source_user_folder(char *ret, size_t size)
{
    const char *folder = getenv("APPDATA");
    int n;

    if (folder == NULL || folder[0] == '\0') {
        return false;
    }
    n = snprintf(ret, size, "%s\\toolwire\\templates", folder);
    return n > 0 && (size_t)n < size;
}

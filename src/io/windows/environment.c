#include "io/environment.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

const char *const *io_environment(void)
{
    static const char *const none[] = {NULL};
    union {
        char **in;
        const char *const *out;
    } same = {.in = _environ};

    return same.in == NULL ? none : same.out;
}

bool io_environment_sets(const char *entry, Span name)
{
    return _strnicmp(entry, name.p, name.n) == 0 && entry[name.n] == '=';
}

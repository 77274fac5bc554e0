#include "io/environment.h"

#include <stddef.h>
#include <stdlib.h>

const char *const *io_environment(void)
{
    static const char *const none[] = {NULL};
    union {
        char **in;
        const char *const *out;
    } same = {.in = _environ};

    return same.in == NULL ? none : same.out;
}

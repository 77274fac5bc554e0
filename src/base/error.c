#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int err_trace(int r, const char *what, const char *file, int line)
{
    if (r < 0 && getenv("TOOLWIRE_TRACE") != NULL) {
        fprintf(stderr, "trace: %s %d (%s) at %s:%d\n", what, r, strerror(-r), file, line);
    }
    return r;
}

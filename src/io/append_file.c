/* The order in which old files move; the rest is the system's (append_file_posix.c,
 * windows/append_file.c). */
#include "io/append_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/error.h"

/* A point, ten digits and a NUL. */
#define APPEND_SUFFIX_BYTES 12

/* PATH.number, or PATH itself for 0. */
static void append_name(char *out, size_t size, const char *path, uint32_t number)
{
    if (number == 0) {
        (void)snprintf(out, size, "%s", path);
    } else {
        (void)snprintf(out, size, "%s.%lu", path, (unsigned long)number);
    }
}

int append_file_shift(const char *path, uint32_t keep)
{
    size_t size = strlen(path) + APPEND_SUFFIX_BYTES;
    CLEANUP(mem_freep) char *from = mem_alloc(size);
    CLEANUP(mem_freep) char *to = mem_alloc(size);

    if (from == NULL || to == NULL) {
        return err_raise(-ENOMEM);
    }
    for (uint32_t i = keep; i-- > 0;) {
        int r;

        append_name(from, size, path, i);
        append_name(to, size, path, i + 1);
        r = append_file_rename(from, to);
        /* There have not been so many yet, or the last attempt came so far. */
        if (r != 0 && r != -ENOENT) {
            return err_pass(r);
        }
    }
    return 0;
}

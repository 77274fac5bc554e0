#include "support/guard.h"

#include "support/cmocka.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

GuardBuffer guard_copy(const void *data, size_t n)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t readable = (n + page - 1) / page * page + (n == 0 ? page : 0);
    GuardBuffer g = {.map_size = readable + page, .n = n};
    char *base = mmap(NULL, g.map_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(base != MAP_FAILED);
    assert_int_equal(mprotect(base + readable, page, PROT_NONE), 0);
    g.map = base;
    g.p = base + readable - n;
    if (n > 0) {
        memcpy(g.p, data, n);
    }
    return g;
}

void guard_free(GuardBuffer *g)
{
    if (g->map != NULL) {
        (void)munmap(g->map, g->map_size);
    }
    *g = (GuardBuffer){0};
}

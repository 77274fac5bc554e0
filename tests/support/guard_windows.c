#include "support/guard.h"

#include "support/cmocka.h"

#include <string.h>
#include <windows.h>

GuardBuffer guard_copy(const void *data, size_t n)
{
    SYSTEM_INFO info;
    DWORD before;
    size_t page;
    size_t readable;
    char *base;
    GuardBuffer g;

    GetSystemInfo(&info);
    page = info.dwPageSize;
    readable = (n + page - 1) / page * page + (n == 0 ? page : 0);
    g = (GuardBuffer){.map_size = readable + page, .n = n};
    base = VirtualAlloc(NULL, g.map_size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    assert_non_null(base);
    assert_true(VirtualProtect(base + readable, page, PAGE_NOACCESS, &before));
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
        (void)VirtualFree(g->map, 0, MEM_RELEASE);
    }
    *g = (GuardBuffer){0};
}

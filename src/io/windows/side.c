#include "io/windows/side.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/error.h"

int win_side_open(WinSide **ret, IoLoop *loop, int fd, bool reads, bool writes,
                  const WinSideOps *ops, void *context)
{
    HANDLE given = win_handle(fd);
    HANDLE handle = NULL;
    DWORD mode;
    DWORD type;
    int r;

    if (given == INVALID_HANDLE_VALUE) {
        return err_raise(-EBADF);
    }
    if (!DuplicateHandle(GetCurrentProcess(), given, GetCurrentProcess(), &handle, 0, FALSE,
                         DUPLICATE_SAME_ACCESS)) {
        return err_raise(win_error());
    }
    type = GetFileType(handle);
    if (type == FILE_TYPE_CHAR && GetConsoleMode(handle, &mode)) {
        r = win_side_open_uv(ret, loop, handle, true, reads);
    } else if (type == FILE_TYPE_PIPE && !win_is_synchronous(handle)) {
        r = win_side_open_uv(ret, loop, handle, false, reads);
    } else {
        r = win_side_open_thread(ret, loop, handle, reads, writes);
    }
    if (r != 0) {
        return err_pass(r);
    }
    (*ret)->ops = ops;
    (*ret)->context = context;
    return 0;
}

int win_side_read(WinSide *side, bool is_on)
{
    return side->kind->read(side, is_on);
}

size_t win_side_buffer(WinSide *side, size_t n, char **ret_p)
{
    if (n > side->cap) {
        char *grown = mem_alloc(n);

        if (grown != NULL) {
            (void)mem_free(side->buffer);
            side->buffer = grown;
            side->cap = n;
        }
    }
    *ret_p = side->buffer;
    return n < side->cap ? n : side->cap;
}

int win_side_write(WinSide *side, size_t n)
{
    int r = side->kind->write(side, n);

    side->is_writing = r == 0;
    return r;
}

bool win_side_has_taken(const WinSide *side)
{
    return !side->is_writing || side->kind->has_taken(side);
}

bool win_side_has_bytes(const WinSide *side)
{
    return side->kind->has_bytes(side);
}

bool win_side_has_hung_up(const WinSide *side)
{
    return side->kind->has_hung_up(side);
}

void win_side_close(WinSide *side)
{
    if (!side->is_closed) {
        side->is_closed = true;
        side->kind->close(side);
    }
}

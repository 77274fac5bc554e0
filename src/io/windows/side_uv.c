/* Sides that libuv can wait for: overlapped pipes and consoles. */
#include "io/windows/side.h"

#include <errno.h>
#include <io.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/loop_internal.h"

typedef struct UvSide {
    WinSide side; /* first: the two are cast into each other */
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_pipe_t pipe;
        uv_tty_t tty;
    } uv;
    uv_write_t request;
    HANDLE handle; /* libuv's */
    bool is_pipe;
    bool is_reading;
} UvSide;

static void side_on_room(uv_handle_t *handle, size_t want, uv_buf_t *ret)
{
    UvSide *uv = handle->data;
    char *p = NULL;
    size_t n = 0;

    (void)want;
    if (!uv->side.is_closed) {
        uv->side.ops->room(uv->side.context, &p, &n);
    }
    /* Without room libuv reports ENOBUFS; the owner knows why. */
    *ret = uv_buf_init(p, n < UINT32_MAX ? (unsigned)n : UINT32_MAX);
}

static void side_on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *room)
{
    UvSide *uv = stream->data;

    (void)room;
    if (n == 0 || uv->side.is_closed) {
        return; /* libuv changed its mind; or we did, in side_on_room */
    }
    if (n < 0) {
        uv->is_reading = false;
        (void)uv_read_stop(&uv->uv.stream);
    }
    uv->side.ops->got(uv->side.context, n == UV_EOF ? 0 : n < 0 ? io_uv_result((int)n) : n);
}

static int uv_side_read(WinSide *side, bool is_on)
{
    UvSide *uv = (UvSide *)side;
    int r;

    if (uv->is_reading == is_on) {
        return 0;
    }
    r = is_on ? io_uv_result(uv_read_start(&uv->uv.stream, side_on_room, side_on_read))
              : io_uv_result(uv_read_stop(&uv->uv.stream));
    uv->is_reading = is_on && r == 0;
    return r;
}

static void side_on_written(uv_write_t *request, int status)
{
    UvSide *uv = request->data;

    uv->side.is_writing = false;
    if (!uv->side.is_closed) {
        uv->side.ops->written(uv->side.context, io_uv_result(status));
    }
}

static int uv_side_write(WinSide *side, size_t n)
{
    UvSide *uv = (UvSide *)side;
    uv_buf_t bytes = uv_buf_init(side->buffer, (unsigned)n);

    uv->request.data = uv;
    return io_uv_result(uv_write(&uv->request, &uv->uv.stream, &bytes, 1, side_on_written));
}

static bool uv_side_has_taken(const WinSide *side)
{
    return uv_stream_get_write_queue_size(&((const UvSide *)side)->uv.stream) == 0;
}

static bool uv_side_has_bytes(const WinSide *side)
{
    const UvSide *uv = (const UvSide *)side;
    DWORD n = 0;

    return uv->is_pipe && PeekNamedPipe(uv->handle, NULL, 0, NULL, &n, NULL) && n > 0;
}

static bool uv_side_has_hung_up(const WinSide *side)
{
    const UvSide *uv = (const UvSide *)side;

    return uv->is_pipe && win_pipe_is_closing(uv->handle);
}

static void side_on_closed(uv_handle_t *handle)
{
    UvSide *uv = handle->data;
    const WinSideOps *ops = uv->side.ops;
    void *context = uv->side.context;

    (void)mem_free(uv->side.buffer);
    (void)mem_free(uv);
    if (ops != NULL) {
        ops->closed(context);
    }
}

static void uv_side_close(WinSide *side)
{
    uv_close(&((UvSide *)side)->uv.handle, side_on_closed);
}

static const WinSideKind uv_side_kind = {
    .read = uv_side_read,
    .write = uv_side_write,
    .has_taken = uv_side_has_taken,
    .has_bytes = uv_side_has_bytes,
    .has_hung_up = uv_side_has_hung_up,
    .close = uv_side_close,
};

/* libuv knows pipes by their descriptors, and closes them. */
static int side_open_pipe(UvSide *uv, IoLoop *loop, int fd)
{
    (void)uv_pipe_init(&loop->uv, &uv->uv.pipe, 0);
    uv->uv.handle.data = uv;
    return io_uv_result(uv_pipe_open(&uv->uv.pipe, fd));
}

int win_side_open_uv(WinSide **ret, IoLoop *loop, HANDLE handle, bool is_console, bool reads)
{
    UvSide *uv = mem_alloc_array(1, sizeof(*uv));
    int fd = -1;
    int r = uv == NULL ? err_raise(-ENOMEM) : win_descriptor(handle, &fd);

    if (r != 0) {
        win_close(&handle);
        (void)mem_free(uv);
        return err_pass(r);
    }
    uv->side.kind = &uv_side_kind;
    uv->handle = handle;
    uv->is_pipe = !is_console;
    r = is_console ? io_uv_result(uv_tty_init(&loop->uv, &uv->uv.tty, fd, reads))
                   : side_open_pipe(uv, loop, fd);
    uv->uv.handle.data = uv;
    if (r == 0) {
        *ret = &uv->side;
        return 0;
    }
    (void)_close(fd);
    if (is_console) {
        (void)mem_free(uv); /* libuv knows nothing of it */
    } else {
        uv_side_close(&uv->side);
    }
    return err_raise(r);
}

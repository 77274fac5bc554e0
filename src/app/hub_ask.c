#include "app/hub_ask.h"

#include <errno.h>
#include <stdint.h>

#include "app/hub_place.h"
#include "base/alloc.h"
#include "base/error.h"
#include "frame/http1.h"
#include "frame/http1_writer.h"
#include "io/descriptor_look.h"
#include "io/loop.h"
#include "io/place.h"
#include "io/stream.h"
#include "io/unix_socket.h"

/* How often a hub is tried, a millisecond apart, that has no room for one more at the moment. */
#define ASK_CONNECT_TRIES 2000

/* A target with an id and a few parameters, and its head. */
#define ASK_REQUEST_BYTES ((size_t)64 * 1024)

typedef struct Ask {
    IoLoop *loop;
    IoStream *stream;
    Http1Reader reader;
    Http1Writer writer;
    Bytes *out;
    HubAnswer answer;
    bool is_done;
    int r;
} Ask;

/* ---- the wire ---- */

static void ask_stop(Ask *ask, int r)
{
    ask->r = r;
    io_loop_stop(ask->loop);
}

static int ask_reserve(void *context, size_t want, char **ret_p, size_t *ret_n)
{
    Ask *ask = context;
    int r = http1_reader_reserve(&ask->reader, want, ret_p, ret_n);

    return r > 0 ? err_raise(-EPROTO) : err_pass(r);
}

static void ask_commit(void *context, size_t n)
{
    http1_reader_commit(&((Ask *)context)->reader, n);
}

static size_t ask_pull(void *context, Span *slices, size_t max)
{
    return http1_writer_pull(&((Ask *)context)->writer, slices, max);
}

static void ask_consumed(void *context, size_t n)
{
    http1_writer_consumed(&((Ask *)context)->writer, n);
}

static void ask_on_input(void *context)
{
    Ask *ask = context;
    Http1Event event;
    int r;

    while ((r = http1_reader_next(&ask->reader, &event)) == 0) {
        if (event.kind == HTTP1_EVENT_HEAD) {
            ask->answer =
                (HubAnswer){.status = event.head->status, .is_last = !event.head->keeps_alive};
        } else if (event.kind == HTTP1_EVENT_BODY) {
            r = bytes_append_span(ask->out, event.body);
        } else {
            ask->is_done = true;
        }
        if (r != 0 || ask->is_done) {
            break;
        }
    }
    if (ask->is_done) {
        ask_stop(ask, 0);
    } else if (r != HTTP1_E_AGAIN) {
        ask_stop(ask, r < 0 ? err_pass(r) : HUB_ASK_E_LOST);
    }
}

static void ask_on_end(void *context)
{
    ask_stop(context, HUB_ASK_E_LOST);
}

static void ask_on_failed(void *context, int r)
{
    ask_stop(context, r == -ENOMEM ? err_pass(r) : HUB_ASK_E_LOST);
}

static const IoStreamOps ask_ops = {
    .reserve = ask_reserve,
    .commit = ask_commit,
    .pull = ask_pull,
    .consumed = ask_consumed,
    .input = ask_on_input,
    .end = ask_on_end,
    .failed = ask_on_failed,
};

/* ---- the hub ---- */

/* Under /tmp anybody can have made the socket. */
static int ask_connect(const char *path, int *ret_fd)
{
    int n_tries = 0;
    int fd = -1;
    int r;

    if (!unix_socket_is_there(path)) {
        return HUB_ASK_E_NO_HUB;
    }
    while ((r = unix_socket_connect(path, &fd)) == -EAGAIN && ++n_tries < ASK_CONNECT_TRIES) {
        io_place_nap();
    }
    if (r != 0) {
        return HUB_ASK_E_NO_HUB;
    }
    if (!unix_socket_peer_is_trusted(fd)) {
        io_fd_close(fd);
        return HUB_ASK_E_NO_HUB;
    }
    *ret_fd = fd;
    return 0;
}

static int ask_find(const char *state_folder, int *ret_fd)
{
    CLEANUP(mem_freep) char *front = NULL;
    CLEANUP(mem_freep) char *path = NULL;
    int r = hub_place(&front, state_folder, NULL);

    if (r == 0) {
        r = hub_place_queue(&path, front);
    }
    if (r != 0) {
        return r == -ENOMEM ? err_pass(r) : HUB_ASK_E_NO_HUB;
    }
    return ask_connect(path, ret_fd);
}

/* Takes fd. */
static int ask_exchange(Ask *ask, int fd, Span method, Span target)
{
    Http1Field host = {SPAN("Host"), SPAN("localhost")};
    int r = io_loop_new(&ask->loop);

    if (r == 0) {
        r = io_stream_new(&ask->stream, ask->loop, fd, fd, &ask_ops, ask);
    }
    if (r != 0) {
        io_fd_close(fd);
        return err_pass(r);
    }
    /* As if more would follow, so that only a hub that ends closes the connection. */
    r = http1_writer_request(&ask->writer, method, target, &host, 1, true, SPAN_NULL);
    if (r != 0) {
        return r < 0 ? err_pass(r) : HUB_ASK_E_LOST;
    }
    ask->r = HUB_ASK_E_LOST;
    io_stream_flush(ask->stream);
    r = io_loop_run(ask->loop);
    return r != 0 ? err_pass(r) : ask->r;
}

int hub_ask(const char *state_folder, Span method, Span target, Bytes *out, HubAnswer *ret,
            Diag *reterr_diag)
{
    Ask ask = {.out = out};
    int fd = -1;
    int r;

    io_ignore_sigpipe();
    r = ask_find(state_folder, &fd);
    if (r != 0) {
        return r;
    }
    http1_reader_init(&ask.reader, HTTP1_RESPONSES, HTTP1_LIMITS_DEFAULT(UINT64_MAX));
    http1_writer_init(&ask.writer, ASK_REQUEST_BYTES);
    r = ask_exchange(&ask, fd, method, target);
    ask.stream = io_stream_free(ask.stream);
    ask.loop = io_loop_free(ask.loop);
    http1_writer_deinit(&ask.writer);
    http1_reader_deinit(&ask.reader);
    *ret = ask.answer;
    return r > 0 ? diag_set(reterr_diag, r, "the hub has gone, or its answer cannot be read") : r;
}

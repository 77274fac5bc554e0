#include "providers/parent_wire.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "io/descriptor_look.h"
#include "io/error_text.h"
#include "io/unix_socket.h"

/* Output that waits: requests go one at a time. */
#define WIRE_OUTPUT_BYTES ((size_t)LIMIT_CALLSOCK_MESSAGE_BYTES + LEN32_HEADER_BYTES)

/* "the parent at" and the path of a socket. */
#define WIRE_TURN_BYTES 160

/* ---- messages out ---- */

static int wire_begin(void *context, Bytes **ret_bytes)
{
    ParentWire *wire = context;

    return len32_writer_begin(&wire->writer, ret_bytes);
}

static void wire_begin_sending(ParentWire *wire, size_t n_ahead)
{
    wire->n_ahead = n_ahead;
    wire->is_unsent = true;
}

static int wire_commit_message(void *context)
{
    ParentWire *wire = context;
    size_t n_ahead = len32_writer_pending(&wire->writer);
    int r = len32_writer_commit(&wire->writer);

    if (r == 0) {
        wire_begin_sending(wire, n_ahead);
    }
    return r;
}

/* Written now, while the lender waits; what the system does not take is copied after all. */
static int wire_commit_lent(void *context, BytesLent lent)
{
    ParentWire *wire = context;
    size_t n_ahead = len32_writer_pending(&wire->writer);
    int r = len32_writer_commit_lent(&wire->writer, lent);

    if (r != 0) {
        return r;
    }
    wire_begin_sending(wire, n_ahead);
    io_stream_flush_now(wire->stream);
    return err_pass(len32_writer_own(&wire->writer));
}

static void wire_abort(void *context)
{
    ParentWire *wire = context;

    len32_writer_abort(&wire->writer);
}

/* ---- the stream ---- */

static int wire_reserve(void *context, size_t want, char **ret_p, size_t *ret_n)
{
    ParentWire *wire = context;
    int r = len32_reader_reserve(&wire->reader, want, ret_p, ret_n);

    if (r == 0) {
        wire->n_room = *ret_n;
    }
    return err_fold(r);
}

static void wire_commit(void *context, size_t n)
{
    ParentWire *wire = context;

    wire->is_filled = n == wire->n_room;
    len32_reader_commit(&wire->reader, n);
}

static size_t wire_pull(void *context, Span *slices, size_t max)
{
    ParentWire *wire = context;

    return len32_writer_pull(&wire->writer, slices, max);
}

static void wire_consumed(void *context, size_t n)
{
    ParentWire *wire = context;

    if (n > wire->n_ahead) {
        wire->is_unsent = false;
    }
    wire->n_ahead -= n < wire->n_ahead ? n : wire->n_ahead;
    len32_writer_consumed(&wire->writer, n);
}

/* Does anything lie behind the message that was read last? Reading ends where a large message ends:
 * what follows is still in the system then. */
static bool wire_has_more(const ParentWire *wire)
{
    return parent_wire_has_begun(wire) || (wire->is_filled && io_fd_is_readable(wire->fd));
}

static void wire_on_input(void *context)
{
    ParentWire *wire = context;
    Span message = SPAN_NULL;
    int r;

    /* A wire that was closed meanwhile has nothing to read, opened again or not. */
    while ((r = len32_reader_next(&wire->reader, &message)) == 0) {
        wire->ops->message(wire->context, message, wire_has_more(wire));
        if (wire->stream != NULL && io_stream_is_overdue(wire->stream)) {
            break;
        }
    }
    if (r == LEN32_E_TOO_LARGE) {
        wire->ops->oversize(wire->context, len32_reader_declared(&wire->reader));
    }
    wire->ops->settle(wire->context);
}

static void wire_on_end(void *context)
{
    ParentWire *wire = context;
    Span rest;
    int r = len32_reader_finish(&wire->reader, &rest);

    wire->ops->ended(wire->context,
                     r == LEN32_E_INCOMPLETE ? SPAN("in the middle of an answer") : SPAN_NULL);
}

static void wire_on_failed(void *context, int r)
{
    ParentWire *wire = context;

    wire->ops->ended(wire->context, span_from_str(io_stream_error_text(r)));
}

static void wire_flush(void *context)
{
    ParentWire *wire = context;

    io_stream_flush_now(wire->stream);
}

static const IoStreamOps wire_stream_ops = {
    .reserve = wire_reserve,
    .commit = wire_commit,
    .pull = wire_pull,
    .consumed = wire_consumed,
    .input = wire_on_input,
    .end = wire_on_end,
    .failed = wire_on_failed,
};

/* ---- life ---- */

static void wire_init_frames(ParentWire *wire)
{
    wire->n_room = 0;
    wire->is_filled = false;
    wire->n_ahead = 0;
    wire->is_unsent = false;
    len32_reader_init(&wire->reader, LEN32_ORDER_BE, LIMIT_CALLSOCK_MESSAGE_BYTES);
    len32_writer_init(&wire->writer, LEN32_ORDER_BE, LIMIT_CALLSOCK_MESSAGE_BYTES,
                      WIRE_OUTPUT_BYTES);
}

void parent_wire_init(ParentWire *wire, IoLoop *loop, const char *path, const ParentWireOps *ops,
                      void *context)
{
    char turn[WIRE_TURN_BYTES];

    *wire = PARENT_WIRE_NULL;
    wire->loop = loop;
    wire->path = path;
    (void)snprintf(turn, sizeof(turn), "the parent at %s", path);
    wire->turn = io_turn_name(loop, turn);
    wire->ops = ops;
    wire->context = context;
    wire->sink = (CallsockSink){.begin = wire_begin,
                                .commit = wire_commit_message,
                                .commit_lent = wire_commit_lent,
                                .abort = wire_abort,
                                .flush = wire_flush,
                                .context = wire};
    wire_init_frames(wire);
}

void parent_wire_deinit(ParentWire *wire)
{
    wire->stream = io_stream_free(wire->stream);
    len32_reader_deinit(&wire->reader);
    len32_writer_deinit(&wire->writer);
}

void parent_wire_close(ParentWire *wire)
{
    parent_wire_deinit(wire);
    wire_init_frames(wire);
}

/* Is it one whom we may tell what we are asked? Any user can listen in a folder like /tmp. 0, a
 * negative errno, PARENT_WIRE_E_FOREIGN. */
static int wire_check_peer(int fd, Diag *reterr_diag)
{
    long uid = 0;
    int r = unix_socket_peer_ids(fd, &uid, NULL);

    if (r != 0) {
        return diag_set(reterr_diag, r, "%s", io_error_text(-r));
    }
    if (!unix_socket_peer_is_trusted(fd) && uid < 0) {
        return diag_set(reterr_diag, PARENT_WIRE_E_FOREIGN,
                        "it belongs to another user, and only parents of this user are trusted");
    }
    if (!unix_socket_peer_is_trusted(fd)) {
        return diag_set(reterr_diag, PARENT_WIRE_E_FOREIGN,
                        "it belongs to another user (uid %ld), and only parents of this user (uid "
                        "%ld) or root are trusted",
                        uid, unix_socket_own_uid());
    }
    return 0;
}

int parent_wire_open(ParentWire *wire, Diag *reterr_diag)
{
    int fd = -1;
    int r = unix_socket_connect(wire->path, &fd);

    if (r != 0) {
        return diag_set(reterr_diag, r, "%s", io_error_text(-r));
    }
    r = wire_check_peer(fd, reterr_diag);
    if (r == 0) {
        r = io_stream_new(&wire->stream, wire->loop, fd, fd, &wire_stream_ops, wire);
        if (r != 0) {
            (void)diag_set(reterr_diag, r, "%s", io_error_text(-r));
        }
    }
    if (r != 0) {
        io_fd_close(fd);
        return r > 0 ? r : err_pass(r);
    }
    io_stream_set_turn(wire->stream, wire->turn);
    wire->fd = fd;
    return 0;
}

bool parent_wire_has_hung_up(const ParentWire *wire)
{
    return io_stream_has_hung_up(wire->stream);
}

bool parent_wire_has_stirred(const ParentWire *wire)
{
    return io_fd_is_readable(wire->fd);
}

void parent_wire_flush(ParentWire *wire)
{
    if (wire->stream != NULL && len32_writer_pending(&wire->writer) > 0) {
        io_stream_flush(wire->stream);
    }
}

bool parent_wire_keeps_much(const ParentWire *wire)
{
    return wire->reader.in.cap > LIMIT_KEEP_BYTES || outq_keeps_much(&wire->writer.out);
}

void parent_wire_trim(ParentWire *wire)
{
    len32_reader_trim(&wire->reader);
    outq_trim(&wire->writer.out);
}

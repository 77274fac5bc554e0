#include "frame/len32.h"

#include "base/error.h"

static uint32_t len32_load(Len32Order order, const char *p)
{
    const unsigned char *b = (const unsigned char *)p;

    if (order == LEN32_ORDER_BE) {
        return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
    }
    return (uint32_t)b[3] << 24 | (uint32_t)b[2] << 16 | (uint32_t)b[1] << 8 | b[0];
}

static Span len32_store(Len32Order order, size_t n, char header[LEN32_HEADER_BYTES])
{
    for (size_t i = 0; i < LEN32_HEADER_BYTES; i++) {
        size_t shift = 8 * (order == LEN32_ORDER_BE ? LEN32_HEADER_BYTES - 1 - i : i);

        header[i] = (char)(unsigned char)(n >> shift);
    }
    return span_make(header, LEN32_HEADER_BYTES);
}

void len32_reader_init(Len32Reader *reader, Len32Order order, uint32_t max_bytes)
{
    size_t max_frame = max_bytes;

    *reader = (Len32Reader){.order = order, .max_bytes = max_bytes};
    max_frame =
        max_frame > SIZE_MAX - LEN32_HEADER_BYTES ? SIZE_MAX : max_frame + LEN32_HEADER_BYTES;
    inq_init(&reader->in, max_frame);
}

void len32_reader_deinit(Len32Reader *reader)
{
    inq_deinit(&reader->in);
    *reader = LEN32_READER_NULL;
}

static int len32_reader_outcome(int r)
{
    return r == INQ_E_FULL ? LEN32_E_FULL : err_pass(r);
}

/* The frame that the unread bytes begin with, in bytes, header included. 0, LEN32_E_AGAIN if its
 * header has not come, LEN32_E_TOO_LARGE. */
static int len32_reader_peek(Len32Reader *reader, Span unread, size_t *ret_frame)
{
    if (reader->too_large) {
        return LEN32_E_TOO_LARGE;
    }
    if (unread.n < LEN32_HEADER_BYTES) {
        return LEN32_E_AGAIN;
    }
    reader->declared = len32_load(reader->order, unread.p);
    if (reader->declared > reader->max_bytes) {
        reader->too_large = true;
        return LEN32_E_TOO_LARGE;
    }
    *ret_frame = LEN32_HEADER_BYTES + (size_t)reader->declared;
    return 0;
}

int len32_reader_feed(Len32Reader *reader, const void *data, size_t n)
{
    if (reader->too_large) {
        return LEN32_E_TOO_LARGE;
    }
    return len32_reader_outcome(inq_append(&reader->in, data, n));
}

/* Room inside a frame of `frame` bytes that is larger than what is usually read at once. */
static int len32_reader_reserve_frame(Len32Reader *reader, size_t frame, size_t want, size_t *ret_n)
{
    size_t arrived = reader->in.end - reader->in.head;
    size_t missing = frame - arrived;
    size_t room;
    int r;

    /* The peer pays first: no more is allocated ahead than it has sent already, or than one read
     * takes. */
    if (want < arrived) {
        want = arrived;
    }
    r = inq_reserve_exact(&reader->in, want < missing ? want : missing);
    if (r != 0) {
        return len32_reader_outcome(r);
    }
    room = inq_room(&reader->in);
    *ret_n = room < missing ? room : missing;
    return 0;
}

int len32_reader_reserve(Len32Reader *reader, size_t want, char **ret_p, size_t *ret_n)
{
    Span unread = inq_unread(&reader->in);
    size_t frame = 0;
    int r = len32_reader_peek(reader, unread, &frame);

    if (r == LEN32_E_TOO_LARGE) {
        return r;
    }
    if (r == 0 && frame > unread.n && frame > want) {
        r = len32_reader_reserve_frame(reader, frame, want, ret_n);
    } else {
        r = len32_reader_outcome(inq_reserve(&reader->in, want));
        if (r == 0) {
            *ret_n = inq_room(&reader->in);
        }
    }
    if (r == 0) {
        *ret_p = reader->in.data + reader->in.end;
    }
    return r;
}

void len32_reader_commit(Len32Reader *reader, size_t n)
{
    inq_commit(&reader->in, n);
}

int len32_reader_next(Len32Reader *reader, Span *ret_message)
{
    Span unread = inq_unread(&reader->in);
    size_t frame = 0;
    int r = len32_reader_peek(reader, unread, &frame);

    if (r != 0) {
        return r;
    }
    if (frame > unread.n) {
        return LEN32_E_AGAIN;
    }
    *ret_message = span_make(unread.p + LEN32_HEADER_BYTES, frame - LEN32_HEADER_BYTES);
    inq_skip(&reader->in, frame);
    return 0;
}

Span len32_reader_refused(const Len32Reader *reader)
{
    Span unread = inq_unread(&reader->in);

    return reader->too_large
               ? span_make(unread.p + LEN32_HEADER_BYTES, unread.n - LEN32_HEADER_BYTES)
               : SPAN_NULL;
}

int len32_reader_finish(const Len32Reader *reader, Span *ret_rest)
{
    Span unread = inq_unread(&reader->in);

    if (reader->too_large) {
        return LEN32_E_TOO_LARGE;
    }
    if (unread.n == 0) {
        return 0;
    }
    *ret_rest = unread;
    return LEN32_E_INCOMPLETE;
}

void len32_reader_trim(Len32Reader *reader)
{
    inq_trim(&reader->in);
}

void len32_writer_init(Len32Writer *writer, Len32Order order, uint32_t max_bytes,
                       size_t max_pending)
{
    *writer = (Len32Writer){.order = order, .max_bytes = max_bytes};
    outq_init(&writer->out, max_pending);
}

void len32_writer_deinit(Len32Writer *writer)
{
    outq_deinit(&writer->out);
    *writer = LEN32_WRITER_NULL;
}

static int len32_writer_outcome(int r)
{
    return r == OUTQ_E_FULL ? LEN32_E_FULL : err_pass(r);
}

int len32_writer_push(Len32Writer *writer, Span message)
{
    char header[LEN32_HEADER_BYTES];
    Span prefix;

    if (message.n > writer->max_bytes) {
        return LEN32_E_TOO_LARGE;
    }
    prefix = len32_store(writer->order, message.n, header);
    return len32_writer_outcome(outq_push(&writer->out, prefix, message, SPAN_NULL));
}

int len32_writer_push_taken(Len32Writer *writer, Bytes *message)
{
    char header[LEN32_HEADER_BYTES];
    Span prefix;

    if (message->n > writer->max_bytes) {
        return LEN32_E_TOO_LARGE;
    }
    prefix = len32_store(writer->order, message->n, header);
    return len32_writer_outcome(outq_push_taken(&writer->out, prefix, message, SPAN_NULL));
}

int len32_writer_begin(Len32Writer *writer, Bytes **ret_bytes)
{
    return len32_writer_outcome(outq_begin(&writer->out, LEN32_HEADER_BYTES, ret_bytes));
}

int len32_writer_commit(Len32Writer *writer)
{
    size_t n = outq_composed(&writer->out).n;
    char header[LEN32_HEADER_BYTES];
    Span prefix;

    if (n > writer->max_bytes) {
        outq_abort(&writer->out);
        return LEN32_E_TOO_LARGE;
    }
    prefix = len32_store(writer->order, n, header);
    return len32_writer_outcome(outq_commit(&writer->out, prefix, SPAN_NULL));
}

int len32_writer_commit_lent(Len32Writer *writer, BytesLent lent)
{
    size_t n = outq_composed(&writer->out).n;
    char header[LEN32_HEADER_BYTES];
    Span prefix;

    if (n > writer->max_bytes || lent.span.n > writer->max_bytes - n) {
        outq_abort(&writer->out);
        return LEN32_E_TOO_LARGE;
    }
    prefix = len32_store(writer->order, n + lent.span.n, header);
    return len32_writer_outcome(outq_commit_lent(&writer->out, prefix, SPAN_NULL, lent));
}

void len32_writer_abort(Len32Writer *writer)
{
    outq_abort(&writer->out);
}

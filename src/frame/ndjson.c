#include "frame/ndjson.h"

#include <string.h>

#include "base/error.h"

/* CR and newline, and one byte more so that a line of max_bytes + CR can be told from a longer one.
 */
#define NDJSON_OVERHEAD 3

void ndjson_reader_init(NdjsonReader *reader, size_t max_bytes)
{
    *reader = (NdjsonReader){.max_bytes = max_bytes};
    inq_init(&reader->in,
             max_bytes > SIZE_MAX - NDJSON_OVERHEAD ? SIZE_MAX : max_bytes + NDJSON_OVERHEAD);
}

void ndjson_reader_deinit(NdjsonReader *reader)
{
    inq_deinit(&reader->in);
    *reader = NDJSON_READER_NULL;
}

void ndjson_reader_watch(NdjsonReader *reader, void (*dropped)(void *context, Span piece),
                         void *context)
{
    reader->dropped = dropped;
    reader->context = context;
}

static void ndjson_reader_show(const NdjsonReader *reader, const char *p, size_t n)
{
    if (reader->dropped != NULL && n > 0) {
        reader->dropped(reader->context, span_make(p, n));
    }
}

/* What inq says, in this module's words. */
static int ndjson_reader_outcome(int r)
{
    return r == INQ_E_FULL ? NDJSON_E_FULL : err_pass(r);
}

/* The newline in n bytes at p, or NULL. */
static const char *ndjson_reader_search(NdjsonReader *reader, const char *p, size_t n)
{
    const char *newline = n == 0 ? NULL : memchr(p, '\n', n);

    reader->n_scanned += newline == NULL ? n : (size_t)(newline - p) + 1;
    return newline;
}

int ndjson_reader_feed(NdjsonReader *reader, const void *data, size_t n)
{
    const char *p = data;

    if (n == 0) {
        return 0;
    }
    /* Bytes of a line that is being skipped are not even copied. If bytes are unread, next has not
     * been called since they came, and the newline may be among them: then it decides. */
    if (reader->skipping && inq_unread(&reader->in).n == 0) {
        const char *newline = ndjson_reader_search(reader, p, n);
        size_t n_dropped = newline == NULL ? n : (size_t)(newline - p) + 1;
        int r = inq_append(&reader->in, p + n_dropped, n - n_dropped);

        if (r == 0) {
            ndjson_reader_show(reader, p, newline == NULL ? n : n_dropped - 1);
            reader->skipping = newline == NULL;
        }
        return ndjson_reader_outcome(r);
    }
    return ndjson_reader_outcome(inq_append(&reader->in, data, n));
}

int ndjson_reader_reserve(NdjsonReader *reader, size_t want, char **ret_p, size_t *ret_n)
{
    int r = inq_reserve(&reader->in, want);

    if (r != 0) {
        return ndjson_reader_outcome(r);
    }
    *ret_p = reader->in.data + reader->in.end;
    *ret_n = inq_room(&reader->in);
    return 0;
}

void ndjson_reader_commit(NdjsonReader *reader, size_t n)
{
    inq_commit(&reader->in, n);
}

static Span ndjson_strip_cr(Span line)
{
    if (line.n > 0 && line.p[line.n - 1] == '\r') {
        line.n--;
    }
    return line;
}

/* The first byte settles it for all lines but blank and indented ones. */
static bool ndjson_is_blank(Span line)
{
    for (size_t i = 0; i < line.n; i++) {
        if (line.p[i] != ' ' && line.p[i] != '\t' && line.p[i] != '\r') {
            return false;
        }
    }
    return true;
}

/* No newline has come: waits for it, or gives the line up if it cannot become a legal one. */
static int ndjson_reader_wait(NdjsonReader *reader, Span line)
{
    bool is_too_long = !reader->skipping && ndjson_strip_cr(line).n > reader->max_bytes;

    if (reader->skipping || is_too_long) {
        ndjson_reader_show(reader, line.p, line.n);
        inq_skip(&reader->in, line.n);
        reader->n_searched = 0;
        reader->skipping = true;
        reader->unreported = reader->unreported || (is_too_long && reader->dropped != NULL);
        return is_too_long && reader->dropped == NULL ? NDJSON_E_TOO_LONG : NDJSON_E_AGAIN;
    }
    reader->n_searched = line.n;
    return NDJSON_E_AGAIN;
}

int ndjson_reader_next(NdjsonReader *reader, Span *ret_message)
{
    for (;;) {
        Span unread = inq_unread(&reader->in);
        size_t from = reader->n_searched;
        const char *newline = NULL;
        Span line;

        if (reader->unreported && !reader->skipping) {
            reader->unreported = false;
            return NDJSON_E_TOO_LONG;
        }
        if (from < unread.n) {
            newline = ndjson_reader_search(reader, unread.p + from, unread.n - from);
        }
        if (newline == NULL) {
            return ndjson_reader_wait(reader, unread);
        }
        line = ndjson_strip_cr(span_make(unread.p, (size_t)(newline - unread.p)));
        inq_skip(&reader->in, (size_t)(newline - unread.p) + 1);
        reader->n_searched = 0;
        if (reader->skipping) {
            ndjson_reader_show(reader, line.p, line.n);
            reader->skipping = false;
            continue;
        }
        if (line.n > reader->max_bytes) {
            ndjson_reader_show(reader, line.p, line.n);
            return NDJSON_E_TOO_LONG;
        }
        if (!ndjson_is_blank(line)) {
            *ret_message = line;
            return 0;
        }
    }
}

int ndjson_reader_finish(const NdjsonReader *reader, Span *ret_rest)
{
    Span rest = ndjson_strip_cr(inq_unread(&reader->in));

    if (reader->unreported) {
        return NDJSON_E_TOO_LONG;
    }
    if (reader->skipping || ndjson_is_blank(rest)) {
        return 0;
    }
    *ret_rest = rest;
    return NDJSON_E_INCOMPLETE;
}

void ndjson_reader_trim(NdjsonReader *reader)
{
    inq_trim(&reader->in);
}

void ndjson_writer_init(NdjsonWriter *writer, size_t max_bytes, size_t max_pending)
{
    *writer = (NdjsonWriter){.max_bytes = max_bytes};
    outq_init(&writer->out, max_pending);
}

void ndjson_writer_deinit(NdjsonWriter *writer)
{
    outq_deinit(&writer->out);
    *writer = NDJSON_WRITER_NULL;
}

static int ndjson_writer_outcome(int r)
{
    return r == OUTQ_E_FULL ? NDJSON_E_FULL : err_pass(r);
}

static int ndjson_writer_check(const NdjsonWriter *writer, Span message)
{
    if (message.n > writer->max_bytes) {
        return NDJSON_E_TOO_LONG;
    }
    if (message.n > 0 && memchr(message.p, '\n', message.n) != NULL) {
        return NDJSON_E_NEWLINE;
    }
    return 0;
}

int ndjson_writer_push(NdjsonWriter *writer, Span message)
{
    int r = ndjson_writer_check(writer, message);

    if (r != 0) {
        return r;
    }
    return ndjson_writer_outcome(outq_push(&writer->out, SPAN_NULL, message, SPAN("\n")));
}

int ndjson_writer_push_taken(NdjsonWriter *writer, Bytes *message)
{
    int r = ndjson_writer_check(writer, bytes_span(message));

    if (r != 0) {
        return r;
    }
    return ndjson_writer_outcome(outq_push_taken(&writer->out, SPAN_NULL, message, SPAN("\n")));
}

int ndjson_writer_begin(NdjsonWriter *writer, Bytes **ret_bytes)
{
    return ndjson_writer_outcome(outq_begin(&writer->out, 0, ret_bytes));
}

int ndjson_writer_commit(NdjsonWriter *writer)
{
    int r = ndjson_writer_check(writer, outq_composed(&writer->out));

    if (r != 0) {
        outq_abort(&writer->out);
        return r;
    }
    return ndjson_writer_outcome(outq_commit(&writer->out, SPAN_NULL, SPAN("\n")));
}

int ndjson_writer_commit_lent(NdjsonWriter *writer, BytesLent lent)
{
    Span composed = outq_composed(&writer->out);
    int r = ndjson_writer_check(writer, composed);

    if (r == 0) {
        r = ndjson_writer_check(writer, lent.span);
    }
    if (r == 0 && lent.span.n > writer->max_bytes - composed.n) {
        r = NDJSON_E_TOO_LONG;
    }
    if (r != 0) {
        outq_abort(&writer->out);
        return r;
    }
    return ndjson_writer_outcome(outq_commit_lent(&writer->out, SPAN_NULL, SPAN("\n"), lent));
}

void ndjson_writer_abort(NdjsonWriter *writer)
{
    outq_abort(&writer->out);
}

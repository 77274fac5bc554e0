#include "frame/sse.h"

#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"

/* A field's name, colon and blank, and some more for names that nobody knows. */
#define SSE_LINE_EXTRA 32

/* How far a line's end is looked for at a time: among lines that end in CR, the search for an LF
 * would else go through all that has come, once for each of them. */
#define SSE_BLOCK_BYTES 256

static size_t sse_max_line(const SseReader *reader)
{
    return reader->max_bytes > SIZE_MAX - SSE_LINE_EXTRA ? SIZE_MAX
                                                         : reader->max_bytes + SSE_LINE_EXTRA;
}

void sse_reader_init(SseReader *reader, size_t max_bytes)
{
    *reader = (SseReader){.max_bytes = max_bytes, .retry_ms = -1};
    inq_init(&reader->in, sse_max_line(reader));
    bytes_init(&reader->data, max_bytes);
    bytes_init(&reader->type, max_bytes);
    bytes_init(&reader->id_next, max_bytes);
    bytes_init(&reader->id, max_bytes);
}

void sse_reader_deinit(SseReader *reader)
{
    inq_deinit(&reader->in);
    bytes_deinit(&reader->data);
    bytes_deinit(&reader->type);
    bytes_deinit(&reader->id_next);
    bytes_deinit(&reader->id);
    *reader = SSE_READER_NULL;
}

/* What inq says, in this module's words. */
static int sse_outcome(int r)
{
    return r == INQ_E_FULL ? SSE_E_FULL : err_pass(r);
}

int sse_reader_feed(SseReader *reader, const void *data, size_t n)
{
    if (reader->too_large) {
        return SSE_E_TOO_LARGE;
    }
    return sse_outcome(inq_append(&reader->in, data, n));
}

int sse_reader_reserve(SseReader *reader, size_t want, char **ret_p, size_t *ret_n)
{
    int r = reader->too_large ? SSE_E_TOO_LARGE : sse_outcome(inq_reserve(&reader->in, want));

    if (r != 0) {
        return r;
    }
    *ret_p = reader->in.data + reader->in.end;
    *ret_n = inq_room(&reader->in);
    return 0;
}

void sse_reader_commit(SseReader *reader, size_t n)
{
    inq_commit(&reader->in, n);
}

Span sse_reader_last_id(const SseReader *reader)
{
    return bytes_span(&reader->id);
}

static int sse_refuse(SseReader *reader)
{
    reader->too_large = true;
    return SSE_E_TOO_LARGE;
}

/* Passes what is no line: the mark at the beginning, and the LF of a CRLF. False if that cannot be
 * decided yet. */
static bool sse_pass_marks(SseReader *reader)
{
    static const Span mark = SPAN_INIT("\xEF\xBB\xBF");
    Span unread = inq_unread(&reader->in);

    if (unread.n == 0) {
        return false;
    }
    if (!reader->behind_start) {
        if (unread.n < mark.n && span_starts_with(mark, unread)) {
            return false;
        }
        reader->behind_start = true;
        if (span_starts_with(unread, mark)) {
            inq_skip(&reader->in, mark.n);
        }
    } else if (reader->after_cr) {
        reader->after_cr = false;
        inq_skip(&reader->in, unread.p[0] == '\n' ? 1 : 0);
    }
    return true;
}

/* The first line among the unread bytes, without its end; false if that has not come. */
static bool sse_find_line(SseReader *reader, Span *ret_line)
{
    Span unread = inq_unread(&reader->in);

    while (reader->n_searched < unread.n) {
        const char *from = unread.p + reader->n_searched;
        size_t n = unread.n - reader->n_searched;
        const char *lf;
        const char *end;

        n = n < SSE_BLOCK_BYTES ? n : SSE_BLOCK_BYTES;
        reader->n_scanned += n;
        lf = memchr(from, '\n', n);
        end = memchr(from, '\r', lf == NULL ? n : (size_t)(lf - from));
        end = end == NULL ? lf : end;
        if (end != NULL) {
            *ret_line = span_make(unread.p, (size_t)(end - unread.p));
            return true;
        }
        reader->n_searched += n;
    }
    return false;
}

/* Whether the event under way has room for n bytes in place of n_old. */
static bool sse_fits(const SseReader *reader, size_t n_old, size_t n)
{
    size_t n_now = reader->data.n + reader->type.n + (reader->has_id ? reader->id_next.n : 0);

    return n <= reader->max_bytes && n_now - n_old <= reader->max_bytes - n;
}

/* Nothing has changed unless 0. */
static int sse_replace(SseReader *reader, Bytes *field, size_t n_old, Span value)
{
    int r;

    if (!sse_fits(reader, n_old, value.n)) {
        return sse_refuse(reader);
    }
    r = value.n > field->cap ? bytes_reserve(field, value.n - field->n) : 0;
    if (r == 0) {
        bytes_clear(field);
        r = bytes_append_span(field, value);
    }
    return err_fold(r);
}

static int sse_take_data(SseReader *reader, Span value)
{
    size_t n = value.n + (reader->has_data ? 1 : 0);
    int r;

    if (!sse_fits(reader, 0, n)) {
        return sse_refuse(reader);
    }
    r = bytes_reserve(&reader->data, n);
    if (r == 0 && reader->has_data) {
        r = bytes_append_byte(&reader->data, '\n');
    }
    r = r != 0 ? r : bytes_append_span(&reader->data, value);
    if (r == 0) {
        reader->has_data = true;
    }
    return err_fold(r);
}

static int sse_take_id(SseReader *reader, Span value)
{
    int r;

    if (value.n > 0 && memchr(value.p, '\0', value.n) != NULL) {
        return 0;
    }
    r = sse_replace(reader, &reader->id_next, reader->has_id ? reader->id_next.n : 0, value);
    if (r == 0) {
        reader->has_id = true;
    }
    return r;
}

static void sse_take_retry(SseReader *reader, Span value)
{
    uint64_t ms = 0;

    if (text_parse_u64(value, &ms) == 0 && ms <= (uint64_t)LIMIT_TIME_MS) {
        reader->retry_ms = (int64_t)ms;
    }
}

/* One line that is not empty. 0, -ENOMEM with nothing changed, SSE_E_TOO_LARGE. */
static int sse_take_field(SseReader *reader, Span line)
{
    const char *colon = memchr(line.p, ':', line.n);
    Span name = line;
    Span value = SPAN_NULL;
    int r = 0;

    if (colon != NULL) {
        name.n = (size_t)(colon - line.p);
        value = span_make(colon + 1, line.n - name.n - 1);
        if (value.n > 0 && value.p[0] == ' ') {
            value = span_make(value.p + 1, value.n - 1);
        }
    }
    if (span_equals(name, SPAN("data"))) {
        r = sse_take_data(reader, value);
    } else if (span_equals(name, SPAN("event"))) {
        r = sse_replace(reader, &reader->type, reader->type.n, value);
    } else if (span_equals(name, SPAN("id"))) {
        r = sse_take_id(reader, value);
    } else if (span_equals(name, SPAN("retry"))) {
        sse_take_retry(reader, value);
    } else {
        return 0; /* a comment, or a field that nobody knows */
    }
    reader->has_field = true;
    return r;
}

/* The empty line behind an event; whether there is one to be given. */
static bool sse_end_event(SseReader *reader)
{
    if (reader->has_id) {
        Bytes id = reader->id;

        reader->id = reader->id_next;
        reader->id_next = id;
        bytes_clear(&reader->id_next);
    }
    reader->has_id = false;
    reader->has_field = false;
    reader->given = true;
    return reader->has_data;
}

static void sse_start_event(SseReader *reader)
{
    reader->given = false;
    reader->has_data = false;
    bytes_clear_keep(&reader->data, LIMIT_KEEP_BYTES);
    bytes_clear(&reader->type);
}

int sse_reader_next(SseReader *reader, SseEvent *ret_event)
{
    if (reader->given) {
        sse_start_event(reader);
    }
    while (!reader->too_large && sse_pass_marks(reader)) {
        Span line = SPAN_NULL;
        int r;

        if (!sse_find_line(reader, &line)) {
            if (inq_unread(&reader->in).n > sse_max_line(reader)) {
                return sse_refuse(reader);
            }
            return SSE_E_AGAIN;
        }
        if (line.n > sse_max_line(reader)) {
            return sse_refuse(reader);
        }
        r = line.n == 0 ? 0 : sse_take_field(reader, line);
        if (r != 0) {
            return r;
        }
        reader->after_cr = line.p[line.n] == '\r';
        reader->n_searched = 0;
        inq_skip(&reader->in, line.n + 1);
        if (line.n > 0) {
            continue;
        }
        if (sse_end_event(reader)) {
            *ret_event = (SseEvent){bytes_span(&reader->type), bytes_span(&reader->data),
                                    bytes_span(&reader->id)};
            return 0;
        }
        sse_start_event(reader);
    }
    return reader->too_large ? SSE_E_TOO_LARGE : SSE_E_AGAIN;
}

int sse_reader_finish(const SseReader *reader)
{
    if (reader->too_large) {
        return SSE_E_TOO_LARGE;
    }
    return reader->has_field || inq_unread(&reader->in).n > 0 ? SSE_E_INCOMPLETE : 0;
}

/* The writing half of frame/sse.h. */
#include "frame/sse.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"

/* Whether it fits into one line. */
static bool sse_is_line(Span s)
{
    return s.n == 0 || (memchr(s.p, '\n', s.n) == NULL && memchr(s.p, '\r', s.n) == NULL);
}

static bool sse_is_word(Span s)
{
    return sse_is_line(s) && (s.n == 0 || memchr(s.p, '\0', s.n) == NULL);
}

static int sse_put_line(Bytes *out, Span name, Span value)
{
    int r = bytes_append_span(out, name);

    r = r != 0 ? r : bytes_append_span(out, value);
    return r != 0 ? r : bytes_append_byte(out, '\n');
}

/* Takes the first line off *rest, with CR, LF or CRLF behind it; false behind the last. */
static bool sse_take_line(Span *rest, Span *ret_line)
{
    size_t n = 0;
    size_t end;

    if (rest->p == NULL) {
        return false;
    }
    while (n < rest->n && rest->p[n] != '\n' && rest->p[n] != '\r') {
        n++;
    }
    *ret_line = span_make(rest->p, n);
    if (n == rest->n) {
        *rest = SPAN_NULL;
        return true;
    }
    end = n + 1 < rest->n && rest->p[n] == '\r' && rest->p[n + 1] == '\n' ? n + 2 : n + 1;
    *rest = span_make(rest->p + end, rest->n - end);
    return true;
}

/* Each line of data as a field. */
static int sse_put_data(Bytes *out, Span data)
{
    Span rest = data;
    Span line = SPAN_NULL;
    int r = 0;

    if (sse_is_line(data)) {
        return sse_put_line(out, SPAN("data: "), data);
    }
    while (r == 0 && sse_take_line(&rest, &line)) {
        r = sse_put_line(out, SPAN("data: "), line);
    }
    return r;
}

/* Everything before the data. */
static int sse_put_front(Bytes *out, const SseEvent *event)
{
    int r = 0;

    if (event->type.n > 0) {
        r = sse_put_line(out, SPAN("event: "), event->type);
    }
    if (r == 0 && event->id.n > 0) {
        r = sse_put_line(out, SPAN("id: "), event->id);
    }
    return r;
}

/* What bytes say, in this module's words; nothing stays behind what was there before. */
static int sse_put_outcome(Bytes *out, size_t n_before, int r)
{
    if (r != 0) {
        out->n = n_before;
    }
    return r == BYTES_E_FULL ? SSE_E_FULL : err_pass(r);
}

int sse_write_event(Bytes *out, const SseEvent *event)
{
    size_t n_before = out->n;
    int r;

    if (!sse_is_word(event->type) || !sse_is_word(event->id)) {
        return SSE_E_FIELD;
    }
    r = sse_put_front(out, event);
    r = r != 0 ? r : sse_put_data(out, event->data);
    r = r != 0 ? r : bytes_append_byte(out, '\n');
    return sse_put_outcome(out, n_before, r);
}

int sse_write_event_lent(Bytes *out, const SseEvent *event, BytesLent *ret_lent)
{
    size_t n_before = out->n;
    BytesLent lent;
    int r;

    *ret_lent = BYTES_LENT_NULL;
    if (event->data.n < BYTES_LEND_MIN || !sse_is_line(event->data)) {
        return sse_write_event(out, event);
    }
    if (!sse_is_word(event->type) || !sse_is_word(event->id)) {
        return SSE_E_FIELD;
    }
    r = sse_put_front(out, event);
    r = r != 0 ? r : bytes_append_span(out, SPAN("data: "));
    lent = (BytesLent){out->n - n_before, event->data};
    r = r != 0 ? r : bytes_append_span(out, SPAN("\n\n"));
    if (r == 0) {
        *ret_lent = lent;
    }
    return sse_put_outcome(out, n_before, r);
}

int sse_write_comment(Bytes *out, Span comment)
{
    size_t n_before = out->n;
    int r;

    if (!sse_is_word(comment)) {
        return SSE_E_FIELD;
    }
    r = sse_put_line(out, comment.n > 0 ? SPAN(": ") : SPAN(":"), comment);
    r = r != 0 ? r : bytes_append_byte(out, '\n');
    return sse_put_outcome(out, n_before, r);
}

int sse_write_retry(Bytes *out, uint64_t retry_ms)
{
    size_t n_before = out->n;

    return sse_put_outcome(out, n_before,
                           bytes_append_format(out, "retry: %" PRIu64 "\n", retry_ms));
}

/* How far a call is, on its way from a parent to a bridge that asked for it. */
#include <math.h>

#include "base/error.h"
#include "dialect/callsock/message.h"
#include "dialect/callsock/message_internal.h"
#include "json/writer.h"

static size_t skip_blanks(Span text, size_t i)
{
    while (i < text.n &&
           (text.p[i] == ' ' || text.p[i] == '\t' || text.p[i] == '\n' || text.p[i] == '\r')) {
        i++;
    }
    return i;
}

bool callsock_is_progress(Span message)
{
    size_t i = skip_blanks(message, 0);

    if (i >= message.n || message.p[i] != '{') {
        return false;
    }
    i = skip_blanks(message, i + 1);
    return span_starts_with(span_make(message.p + i, message.n - i), SPAN("\"progress\""));
}

/* A number as it was spelt; empty: there is none. */
static Span read_number(JsonValue object, Span name, double *ret)
{
    JsonValue value;

    return json_get(object, name, &value) && json_double(value, ret) == 0 ? json_span(value)
                                                                          : SPAN_NULL;
}

int callsock_progress_read(CallProgress *ret, Arena *arena, Span message, Diag *reterr_diag)
{
    CallProgress progress = {.total = CALL_NO_TOTAL};
    JsonValue object;
    JsonValue value;
    JsonValue root;
    int r = callsock_message_parse(&root, arena, message, reterr_diag);

    if (r != 0) {
        return r < 0 ? err_pass(r) : r;
    }
    if (json_count(root) != 1 || !json_get(root, SPAN("progress"), &object) ||
        json_kind(object) != JSON_OBJECT) {
        return diag_set(reterr_diag, CALLSOCK_E_VALUE, "progress: expected object, alone");
    }
    progress.spelt = read_number(object, SPAN("progress"), &progress.progress);
    if (progress.spelt.n == 0) {
        return diag_set(reterr_diag, CALLSOCK_E_VALUE, "progress.progress: expected number");
    }
    progress.spelt_total = read_number(object, SPAN("total"), &progress.total);
    if (json_get(object, SPAN("message"), &value) && json_kind(value) == JSON_STRING) {
        r = json_string_exact(value, arena, &progress.message);
    }
    if (r == 0) {
        *ret = progress;
    }
    return err_fold(r);
}

static void write_number(JsonWriter *w, const char *name, Span spelt, double number)
{
    if (spelt.n > 0) {
        json_write_key(w, span_from_str(name));
        json_write_raw(w, spelt);
    } else if (isfinite(number)) {
        json_write_key(w, span_from_str(name));
        json_write_double(w, number);
    }
}

int callsock_progress_write(Bytes *out, const CallProgress *progress)
{
    size_t start = out->n;
    JsonWriter w;
    int r;

    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("progress"));
    json_write_object(&w);
    write_number(&w, "progress", progress->spelt, progress->progress);
    if (progress->spelt_total.n > 0 || progress->total >= 0) {
        write_number(&w, "total", progress->spelt_total, progress->total);
    }
    if (progress->message.n > 0) {
        json_write_key(&w, SPAN("message"));
        json_write_exact(&w, progress->message);
    }
    json_write_end_object(&w);
    json_write_end_object(&w);
    r = json_writer_finish(&w);
    out->n = r == 0 ? out->n : start;
    return r < 0 ? err_pass(r) : r;
}

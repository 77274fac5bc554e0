#include "dialect/pipe/message.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "base/rfc3339.h"
#include "dialect/pipe/message_internal.h"
#include "json/writer.h"

/* Room for any 64-bit number. */
#define OUT_INT_SIZE 24

static const char *const type_words[PIPE_N_TYPES] = {
    [PIPE_TOOL_CALL] = "\",\"type\":\"tool_call\",\"timestamp\":\"",
    [PIPE_TOOL_RESULT] = "\",\"type\":\"tool_result\",\"timestamp\":\"",
    [PIPE_PING] = "\",\"type\":\"ping\",\"timestamp\":\"",
    [PIPE_PONG] = "\",\"type\":\"pong\",\"timestamp\":\"",
    [PIPE_ERROR] = "\",\"type\":\"error\",\"timestamp\":\"",
    [PIPE_TOOL_PROGRESS] = "\",\"type\":\"tool_progress\",\"timestamp\":\"",
    [PIPE_TOOL_CANCEL] = "\",\"type\":\"tool_cancel\",\"timestamp\":\"",
    [PIPE_TOOLS_CHANGED] = "\",\"type\":\"tools_changed\",\"timestamp\":\"",
};

PipeOut pipe_out_begin(Bytes *bytes, const PipeHead *head, PipeType type, BytesLent *lent)
{
    PipeOut o = {.bytes = bytes, .start = bytes->n, .lent = lent};
    char timestamp[RFC3339_SIZE];

    rfc3339_format(head->unix_ms, timestamp);
    pipe_out_span(&o, SPAN("{\"id\":\""));
    pipe_out_span(&o, span_from_str(head->id));
    pipe_out_span(&o, span_from_str(type_words[type]));
    pipe_out_span(&o, span_from_str(timestamp));
    pipe_out_span(&o, SPAN("\",\"payload\":{"));
    return o;
}

int pipe_out_finish(PipeOut *o)
{
    pipe_out_span(o, SPAN("}}"));
    if (o->r != 0) {
        o->bytes->n = o->start;
        if (o->lent != NULL) {
            *o->lent = BYTES_LENT_NULL;
        }
    }
    return o->r < 0 ? err_pass(o->r) : o->r;
}

void pipe_out_reserve(PipeOut *o, size_t n)
{
    if (o->lent != NULL && n >= BYTES_LEND_MIN) {
        return;
    }
    /* If there is not so much room the appends will say so, should they need it. */
    if (o->r == 0 && bytes_reserve(o->bytes, n) < 0) {
        o->r = err_raise(-ENOMEM);
    }
}

void pipe_out_span(PipeOut *o, Span json)
{
    if (o->r == 0) {
        o->r = bytes_append_span(o->bytes, json);
    }
}

void pipe_out_string(PipeOut *o, Span text)
{
    JsonWriter w;

    if (o->r == 0) {
        json_writer_init(&w, o->bytes, JSON_STYLE_COMPACT);
        json_write_exact(&w, text);
        o->r = json_writer_finish(&w);
    }
}

void pipe_out_int(PipeOut *o, int64_t value)
{
    char text[OUT_INT_SIZE];

    (void)snprintf(text, sizeof(text), "%lld", (long long)value);
    pipe_out_span(o, span_from_str(text));
}

void pipe_out_large(PipeOut *o, Span json)
{
    if (json.n < BYTES_LEND_MIN || o->lent == NULL || o->lent->span.p != NULL || o->r != 0) {
        pipe_out_span(o, json);
        return;
    }
    *o->lent = (BytesLent){.at = o->bytes->n - o->start, .span = json};
}

Span pipe_words_or(Span text, const char *words)
{
    return text.n > 0 ? text : span_from_str(words);
}

int pipe_write_call(Bytes *out, const PipeHead *head, Span tool_name, JsonValue args)
{
    return pipe_write_call_lent(out, head, tool_name, args, NULL);
}

int pipe_write_call_lent(Bytes *out, const PipeHead *head, Span tool_name, JsonValue args,
                         BytesLent *ret_lent)
{
    Span json = args.node != NULL ? json_span(args) : SPAN("{}");
    PipeOut o = pipe_out_begin(out, head, PIPE_TOOL_CALL, ret_lent);

    pipe_out_span(&o, SPAN("\"tool_name\":"));
    pipe_out_string(&o, tool_name);
    pipe_out_reserve(&o, json.n);
    pipe_out_span(&o, SPAN(",\"args\":"));
    pipe_out_large(&o, json);
    return pipe_out_finish(&o);
}

int pipe_write_read(Bytes *out, const PipeHead *head, Span uri)
{
    PipeOut o = pipe_out_begin(out, head, PIPE_TOOL_CALL, NULL);

    pipe_out_span(&o, SPAN("\"tool_name\":\"" PIPE_READ_RESOURCE "\",\"args\":{\"uri\":"));
    pipe_out_string(&o, uri);
    pipe_out_span(&o, SPAN("}"));
    return pipe_out_finish(&o);
}

int pipe_write_list(Bytes *out, const PipeHead *head)
{
    PipeOut o = pipe_out_begin(out, head, PIPE_TOOL_CALL, NULL);

    pipe_out_span(&o, SPAN("\"tool_name\":\"" PIPE_LIST_TOOLS "\",\"args\":{\"" PIPE_UNDERSTANDS
                           "\":[\"tool_progress\",\"tools_changed\"]}"));
    return pipe_out_finish(&o);
}

/* As it was spelt, if somebody did; else the shortest that reads back as the same. */
static void out_number(PipeOut *o, double value, Span spelt)
{
    char text[JSON_DOUBLE_SIZE];

    pipe_out_span(o, spelt.n > 0 ? spelt : span_make(text, json_format_double(value, text)));
}

int pipe_write_progress(Bytes *out, const PipeHead *head, Span call_id,
                        const CallProgress *progress)
{
    PipeOut o = pipe_out_begin(out, head, PIPE_TOOL_PROGRESS, NULL);

    pipe_out_span(&o, SPAN("\"call_id\":"));
    pipe_out_string(&o, call_id);
    pipe_out_span(&o, SPAN(",\"progress\":"));
    /* JSON has no infinity; the largest number still grows and never shrinks. */
    out_number(&o, progress->progress < DBL_MAX ? progress->progress : DBL_MAX, progress->spelt);
    if (progress->spelt_total.n > 0 || (progress->total >= 0 && isfinite(progress->total))) {
        pipe_out_span(&o, SPAN(",\"total\":"));
        out_number(&o, progress->total, progress->spelt_total);
    }
    if (progress->message.n > 0) {
        pipe_out_span(&o, SPAN(",\"message\":"));
        pipe_out_string(&o, progress->message);
    }
    return pipe_out_finish(&o);
}

int pipe_write_cancel(Bytes *out, const PipeHead *head, Span call_id)
{
    PipeOut o = pipe_out_begin(out, head, PIPE_TOOL_CANCEL, NULL);

    pipe_out_span(&o, SPAN("\"call_id\":"));
    pipe_out_string(&o, call_id);
    return pipe_out_finish(&o);
}

int pipe_write_changed(Bytes *out, const PipeHead *head)
{
    PipeOut o = pipe_out_begin(out, head, PIPE_TOOLS_CHANGED, NULL);

    return pipe_out_finish(&o);
}

int pipe_write_ping(Bytes *out, const PipeHead *head)
{
    PipeOut o = pipe_out_begin(out, head, PIPE_PING, NULL);

    return pipe_out_finish(&o);
}

int pipe_write_pong(Bytes *out, const PipeHead *head)
{
    PipeOut o = pipe_out_begin(out, head, PIPE_PONG, NULL);

    return pipe_out_finish(&o);
}

int pipe_write_error(Bytes *out, const PipeHead *head, Span code, Span message, Span call_id)
{
    PipeOut o = pipe_out_begin(out, head, PIPE_ERROR, NULL);

    pipe_out_span(&o, SPAN("\"code\":"));
    pipe_out_string(&o, code);
    pipe_out_span(&o, SPAN(",\"message\":"));
    pipe_out_string(&o, message);
    if (call_id.n > 0) {
        pipe_out_span(&o, SPAN(",\"call_id\":"));
        pipe_out_string(&o, call_id);
    }
    return pipe_out_finish(&o);
}

#include "agent/model_stream.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"

/* Kept between events: covers the common one, a few hundred bytes, for hundreds of streams. */
#define STREAM_KEEP_BYTES ((size_t)8 * 1024)

/* Ids and names of services are short. */
#define STREAM_ID_BYTES   ((size_t)256)
#define STREAM_NAME_BYTES ((size_t)1024)

void model_stream_init(ModelStream *stream, const ModelDialect *dialect, const ModelNames *names,
                       bool is_events, size_t max_bytes, uint64_t id_seed)
{
    *stream = (ModelStream){.dialect = dialect,
                            .names = names,
                            .id_seed = id_seed,
                            .is_events = is_events,
                            .max_bytes = max_bytes};
    sse_reader_init(&stream->sse, LIMIT_MODEL_EVENT_BYTES);
    bytes_init(&stream->body, LIMIT_MODEL_EVENT_BYTES);
    arena_init(&stream->arena, MODEL_INPUT_ARENA_BYTES(LIMIT_MODEL_EVENT_BYTES));
}

void model_stream_deinit(ModelStream *stream)
{
    for (size_t i = 0; i < stream->n_tools; i++) {
        bytes_deinit(&stream->tools[i].id);
        bytes_deinit(&stream->tools[i].name);
        bytes_deinit(&stream->tools[i].input);
    }
    stream->tools = mem_free(stream->tools);
    sse_reader_deinit(&stream->sse);
    bytes_deinit(&stream->body);
    arena_deinit(&stream->arena);
    *stream = MODEL_STREAM_NULL;
}

int model_stream_feed(ModelStream *stream, const void *data, size_t n)
{
    int r;

    if (stream->has_failed || stream->is_done || stream->is_over) {
        return 0;
    }
    r = stream->is_events ? sse_reader_feed(&stream->sse, data, n)
                          : bytes_append(&stream->body, data, n);
    if (r > 0) {
        model_stream_fail(stream, false, "the answer has an event that is too large");
        r = 0;
    }
    return r;
}

void model_stream_end(ModelStream *stream)
{
    stream->has_ended = true;
}

/* ---- what dialects say ---- */

void model_stream_fail(ModelStream *stream, bool is_transient, const char *format, ...)
{
    va_list args;

    if (stream->has_failed) {
        return;
    }
    va_start(args, format);
    (void)vsnprintf(stream->failure, sizeof(stream->failure), format, args);
    va_end(args);
    stream->has_failed = true;
    stream->is_transient = is_transient;
}

/* The bytes count for the size of the answer. */
static void stream_count(ModelStream *stream, size_t n)
{
    stream->n_bytes += n;
    if (stream->n_bytes > stream->max_bytes) {
        model_stream_fail(stream, false, "the answer is larger than %zu bytes", stream->max_bytes);
    }
}

void model_stream_say(ModelStream *stream, Span text)
{
    stream_count(stream, text.n);
    stream->text = text;
}

ModelStreamTool *model_stream_find_tool(ModelStream *stream, int64_t index)
{
    for (size_t i = stream->n_tools; i > 0; i--) {
        if (index < 0 || stream->tools[i - 1].index == index) {
            return &stream->tools[i - 1];
        }
    }
    return NULL;
}

int model_stream_add_tool(ModelStream *stream, int64_t index, ModelStreamTool **ret)
{
    *ret = NULL;
    if (stream->n_tools == LIMIT_MODEL_TOOLS) {
        model_stream_fail(stream, false, "the answer calls more than %d tools", LIMIT_MODEL_TOOLS);
        return 0;
    }
    if (stream->n_tools == stream->cap_tools) {
        size_t more = stream->cap_tools == 0 ? 4 : stream->cap_tools * 2;
        void *grown = mem_realloc(stream->tools, more * sizeof(*stream->tools));

        if (grown == NULL) {
            return err_raise(-ENOMEM);
        }
        stream->tools = grown;
        stream->cap_tools = more;
    }
    *ret = &stream->tools[stream->n_tools++];
    **ret = (ModelStreamTool){.index = index};
    bytes_init(&(*ret)->id, STREAM_ID_BYTES);
    bytes_init(&(*ret)->name, STREAM_NAME_BYTES);
    bytes_init(&(*ret)->input, LIMIT_MODEL_TOOL_BYTES);
    return 0;
}

int model_stream_extend(ModelStream *stream, Bytes *part, Span more)
{
    int r = bytes_append_span(part, more);

    if (r > 0) {
        model_stream_fail(stream, false, "the answer calls a tool with more than %zu bytes",
                          part->max_bytes);
        return 0;
    }
    stream_count(stream, more.n);
    return r;
}

void model_stream_stop(ModelStream *stream, ModelStop stop)
{
    stream->stop = stop;
    stream->has_stop = true;
}

void model_stream_done(ModelStream *stream)
{
    for (size_t i = 0; i < stream->n_tools; i++) {
        stream->tools[i].is_complete = true;
    }
    stream->is_done = true;
}

/* ---- what is given ---- */

static int give_tool(ModelStream *stream, ModelEvent *ret)
{
    ModelStreamTool *tool = &stream->tools[stream->n_given];
    uint32_t number = (uint32_t)stream->n_given++;
    int r = 0;

    *ret = (ModelEvent){.kind = MODEL_TOOL};
    arena_reset(&stream->arena, STREAM_KEEP_BYTES);
    if (tool->id.n == 0) {
        char id[MODEL_ID_SIZE];

        r = bytes_append_span(&tool->id, model_id_make(id, stream->id_seed, number));
    }
    if (r == 0) {
        r = model_input_read(&stream->arena, bytes_span(&tool->input), &ret->input,
                             &ret->is_bad_json);
    }
    ret->id = bytes_span(&tool->id);
    ret->name = model_name_from_wire(stream->names, bytes_span(&tool->name));
    return r;
}

static void give_end(ModelStream *stream, ModelEvent *ret)
{
    stream->is_over = true;
    *ret = (ModelEvent){.kind = MODEL_END,
                        .stop = stream->n_tools > 0 ? MODEL_STOP_TOOLS : stream->stop,
                        .n_input_tokens = stream->n_input_tokens,
                        .n_output_tokens = stream->n_output_tokens};
}

static void give_failure(ModelStream *stream, ModelEvent *ret)
{
    stream->is_over = true;
    *ret = (ModelEvent){.kind = MODEL_FAILED, .text = span_from_str(stream->failure)};
}

/* ---- what comes ---- */

static int stream_take(ModelStream *stream, Span data)
{
    JsonDoc doc;
    int r;

    if (stream->dialect->is_end_mark != NULL && stream->dialect->is_end_mark(data)) {
        model_stream_done(stream);
        return 0;
    }
    if (text_trim(data).n == 0) {
        return 0; /* some keep a silent stream alive with these */
    }
    arena_reset(&stream->arena, STREAM_KEEP_BYTES);
    r = json_parse(&doc, &stream->arena, data.p, data.n, NULL, NULL);
    if (r < 0) {
        return err_pass(r);
    }
    if (r != 0 || json_kind(json_root(&doc)) != JSON_OBJECT) {
        model_stream_fail(stream, false, "the answer is not what a model's service sends: %.*s",
                          (int)(data.n < 80 ? data.n : 80), data.p);
        return 0;
    }
    return stream->dialect->take(stream, json_root(&doc));
}

/* The body has ended and all of it is taken. */
static void stream_finish(ModelStream *stream)
{
    if (stream->is_done || stream->has_failed) {
        return;
    }
    if (stream->has_stop) {
        model_stream_done(stream);
        return;
    }
    model_stream_fail(stream, true, "the answer was cut before its end");
}

/* One more event of the body. 0, -ENOMEM, MODEL_STREAM_E_AGAIN. */
static int stream_pull(ModelStream *stream)
{
    SseEvent event;
    int r;

    if (stream->is_events) {
        r = sse_reader_next(&stream->sse, &event);
        if (r == 0) {
            return stream_take(stream, event.data);
        }
        if (r == SSE_E_TOO_LARGE) {
            model_stream_fail(stream, false, "the answer has an event that is too large");
            return 0;
        }
        if (r < 0) {
            return err_pass(r);
        }
    }
    if (!stream->has_ended) {
        return MODEL_STREAM_E_AGAIN;
    }
    if (!stream->is_events && stream->body.n > 0) {
        r = stream_take(stream, bytes_span(&stream->body));
        bytes_clear(&stream->body); /* text may still point into its storage */
        return r;
    }
    stream_finish(stream);
    return 0;
}

int model_stream_next(ModelStream *stream, ModelEvent *ret)
{
    int r;

    while (!stream->is_over) {
        if (stream->has_failed) {
            give_failure(stream, ret);
            return 0;
        }
        if (stream->text.n > 0) {
            *ret = (ModelEvent){.kind = MODEL_TEXT, .text = stream->text};
            stream->text = SPAN_NULL;
            return 0;
        }
        if (stream->n_given < stream->n_tools && stream->tools[stream->n_given].is_complete) {
            r = give_tool(stream, ret);
            stream->is_over = r != 0;
            return r != 0 ? err_fold(r) : 0;
        }
        if (stream->is_done) {
            give_end(stream, ret);
            return 0;
        }
        r = stream_pull(stream);
        if (r == MODEL_STREAM_E_AGAIN) {
            return r;
        }
        if (r != 0) {
            stream->is_over = true;
            return err_fold(r);
        }
    }
    return MODEL_STREAM_E_OVER;
}

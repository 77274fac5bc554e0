/* What a stream of Anthropic's messages says; model_anthropic_write.c has the other direction.
 *
 *     message_start, (content_block_start, content_block_delta…, content_block_stop)…,
 *     message_delta, message_stop; ping and error anywhere
 *
 * The type is in the data, too, and that is what counts: intermediaries drop the event's name. */
#include "agent/model_anthropic.h"

#include <errno.h>

#include "agent/model_error.h"
#include "agent/model_stream.h"
#include "base/compiler.h"
#include "base/error.h"

typedef struct StopWord {
    const char *word;
    ModelStop stop;
} StopWord;

static const StopWord stops[] = {
    {"max_tokens", MODEL_STOP_LENGTH},
    {"model_context_window_exceeded", MODEL_STOP_LENGTH},
    {"refusal", MODEL_STOP_REFUSED},
};

static int64_t index_of(JsonValue event)
{
    JsonValue value;
    int64_t index = 0;

    if (!json_get(event, SPAN("index"), &value) || json_int64(value, &index) != 0 || index < 0) {
        return 0;
    }
    return index;
}

static bool type_is(JsonValue object, Span type)
{
    JsonValue value;

    return json_get(object, SPAN("type"), &value) && json_kind(value) == JSON_STRING &&
           json_string_equals(value, type);
}

static void take_usage(ModelStream *stream, JsonValue object)
{
    JsonValue usage;
    JsonValue value;

    if (!json_get(object, SPAN("usage"), &usage)) {
        return;
    }
    if (json_get(usage, SPAN("input_tokens"), &value)) {
        (void)json_uint64(value, &stream->n_input_tokens);
    }
    if (json_get(usage, SPAN("output_tokens"), &value)) {
        (void)json_uint64(value, &stream->n_output_tokens);
    }
}

static int take_message_start(ModelStream *stream, JsonValue event)
{
    JsonValue message;

    if (json_get(event, SPAN("message"), &message)) {
        take_usage(stream, message);
    }
    return 0;
}

/* A tool: its input comes in pieces, unless the block begins with all of it. */
static int take_tool_start(ModelStream *stream, int64_t index, JsonValue block)
{
    ModelStreamTool *tool = NULL;
    JsonValue input;
    Span id = SPAN_NULL;
    Span name = SPAN_NULL;
    int r = model_member_text(&stream->arena, block, SPAN("id"), &id);

    if (r == 0) {
        r = model_member_text(&stream->arena, block, SPAN("name"), &name);
    }
    if (r == 0) {
        r = model_stream_add_tool(stream, index, &tool);
    }
    if (r != 0 || tool == NULL) {
        return r;
    }
    r = model_stream_extend(stream, &tool->id, id);
    if (r == 0) {
        r = model_stream_extend(stream, &tool->name, name);
    }
    if (r == 0 && json_get(block, SPAN("input"), &input) && json_count(input) > 0) {
        r = model_stream_extend(stream, &tool->input, json_span(input));
    }
    return r;
}

static int take_block_start(ModelStream *stream, JsonValue event)
{
    JsonValue block;
    Span text = SPAN_NULL;
    int r = 0;

    if (!json_get(event, SPAN("content_block"), &block)) {
        return 0;
    }
    if (type_is(block, SPAN("tool_use"))) {
        return take_tool_start(stream, index_of(event), block);
    }
    if (type_is(block, SPAN("text"))) {
        r = model_member_text(&stream->arena, block, SPAN("text"), &text);
        model_stream_say(stream, text);
    }
    return r;
}

static int take_block_delta(ModelStream *stream, JsonValue event)
{
    ModelStreamTool *tool = model_stream_find_tool(stream, index_of(event));
    JsonValue delta;
    Span text = SPAN_NULL;
    int r = 0;

    if (!json_get(event, SPAN("delta"), &delta)) {
        return 0;
    }
    if (type_is(delta, SPAN("text_delta"))) {
        r = model_member_text(&stream->arena, delta, SPAN("text"), &text);
        model_stream_say(stream, text);
    } else if (type_is(delta, SPAN("input_json_delta")) && tool != NULL && !tool->is_complete) {
        r = model_member_text(&stream->arena, delta, SPAN("partial_json"), &text);
        if (r == 0) {
            r = model_stream_extend(stream, &tool->input, text);
        }
    }
    return r;
}

static int take_block_stop(ModelStream *stream, JsonValue event)
{
    ModelStreamTool *tool = model_stream_find_tool(stream, index_of(event));

    if (tool != NULL) {
        tool->is_complete = true;
    }
    return 0;
}

static int take_message_delta(ModelStream *stream, JsonValue event)
{
    JsonValue delta;
    JsonValue reason;
    ModelStop stop = MODEL_STOP_END;

    take_usage(stream, event);
    if (!json_get(event, SPAN("delta"), &delta) || !json_get(delta, SPAN("stop_reason"), &reason) ||
        json_kind(reason) != JSON_STRING) {
        return 0;
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(stops); i++) {
        if (json_string_equals(reason, span_from_str(stops[i].word))) {
            stop = stops[i].stop;
        }
    }
    model_stream_stop(stream, stop);
    return 0;
}

static int take_message_stop(ModelStream *stream, JsonValue event)
{
    (void)event;
    model_stream_done(stream);
    return 0;
}

static int take_error(ModelStream *stream, JsonValue event)
{
    ModelError error;
    int r = model_error_read(&error, &stream->arena, event);

    if (r == 0) {
        model_stream_fail(stream, error.is_transient, "%s", error.text);
    }
    return r;
}

typedef struct EventType {
    const char *type;
    int (*take)(ModelStream *stream, JsonValue event);
} EventType;

static const EventType types[] = {
    {"content_block_delta", take_block_delta},
    {"content_block_start", take_block_start},
    {"content_block_stop", take_block_stop},
    {"message_start", take_message_start},
    {"message_delta", take_message_delta},
    {"message_stop", take_message_stop},
    {"error", take_error},
};

static int anthropic_take(ModelStream *stream, JsonValue event)
{
    for (size_t i = 0; i < TW_ARRAY_SIZE(types); i++) {
        if (type_is(event, span_from_str(types[i].type))) {
            return types[i].take(stream, event);
        }
    }
    return 0;
}

const ModelDialect model_anthropic = {
    .name = "anthropic",
    .path = "/v1/messages",
    .write = model_anthropic_write,
    .take = anthropic_take,
    .is_end_mark = NULL,
};

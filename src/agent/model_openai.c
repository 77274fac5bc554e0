/* What a stream of chat completions says; model_openai_write.c has the other direction.
 *
 * The services differ in small things, of which all are accepted: calls of tools without an id or
 * an index, or all with index 0; arguments in pieces, whole, or as an object; no [DONE]; the reason
 * "stop" behind calls; chunks without choices; a whole message instead of a stream. */
#include "agent/model_openai.h"

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
    {"stop", MODEL_STOP_END},
    {"tool_calls", MODEL_STOP_TOOLS},
    {"function_call", MODEL_STOP_TOOLS},
    {"length", MODEL_STOP_LENGTH},
    {"content_filter", MODEL_STOP_REFUSED},
};

/* The call that a piece belongs to. */
static int tool_of(ModelStream *stream, JsonValue piece, Span id, Span name, ModelStreamTool **ret)
{
    int64_t index = -1;
    JsonValue value;
    ModelStreamTool *tool;
    bool is_same = true;

    if (json_get(piece, SPAN("index"), &value) && (json_int64(value, &index) != 0 || index < 0)) {
        index = -1;
    }
    tool = model_stream_find_tool(stream, index);
    if (tool != NULL && id.n > 0 && tool->id.n > 0) {
        is_same = span_equals(bytes_span(&tool->id), id);
    } else if (tool != NULL && index < 0 && name.n > 0) {
        is_same = tool->name.n == 0;
    }
    if (tool != NULL && is_same) {
        *ret = tool;
        return 0;
    }
    return model_stream_add_tool(stream, index, ret);
}

/* Arguments are a string with JSON in it; of some services an object. */
static int take_arguments(ModelStream *stream, ModelStreamTool *tool, JsonValue function)
{
    JsonValue value;
    Span text = SPAN_NULL;
    int r;

    if (!json_get(function, SPAN("arguments"), &value)) {
        return 0;
    }
    if (json_kind(value) == JSON_OBJECT) {
        return model_stream_extend(stream, &tool->input, json_span(value));
    }
    r = json_string_exact(value, &stream->arena, &text);
    if (r < 0) {
        return err_pass(r);
    }
    return r == 0 ? model_stream_extend(stream, &tool->input, text) : 0;
}

static int take_tool(ModelStream *stream, JsonValue piece)
{
    ModelStreamTool *tool = NULL;
    JsonValue function;
    Span id = SPAN_NULL;
    Span name = SPAN_NULL;
    int r;

    if (json_kind(piece) != JSON_OBJECT) {
        return 0;
    }
    r = model_member_text(&stream->arena, piece, SPAN("id"), &id);
    if (r != 0 || !json_get(piece, SPAN("function"), &function) ||
        json_kind(function) != JSON_OBJECT) {
        return r;
    }
    r = model_member_text(&stream->arena, function, SPAN("name"), &name);
    if (r == 0) {
        r = tool_of(stream, piece, id, name, &tool);
    }
    if (r != 0 || tool == NULL) {
        return r;
    }
    if (tool->id.n == 0) {
        r = model_stream_extend(stream, &tool->id, id);
    }
    if (r == 0 && tool->name.n == 0) {
        r = model_stream_extend(stream, &tool->name, name);
    }
    return r == 0 ? take_arguments(stream, tool, function) : r;
}

/* A delta, or a whole message. */
static int take_delta(ModelStream *stream, JsonValue delta)
{
    JsonValue tools;
    Span text = SPAN_NULL;
    int r = model_member_text(&stream->arena, delta, SPAN("content"), &text);

    if (r == 0 && text.n == 0) {
        r = model_member_text(&stream->arena, delta, SPAN("refusal"), &text);
    }
    if (r != 0) {
        return err_pass(r);
    }
    model_stream_say(stream, text);
    if (!json_get(delta, SPAN("tool_calls"), &tools) || json_kind(tools) != JSON_ARRAY) {
        return 0;
    }
    for (JsonIter it = json_iter(tools); r == 0 && json_iter_next(&it);) {
        r = take_tool(stream, it.value);
    }
    return r;
}

static void take_reason(ModelStream *stream, JsonValue choice)
{
    JsonValue value;
    ModelStop stop = MODEL_STOP_END;

    if (!json_get(choice, SPAN("finish_reason"), &value) || json_kind(value) != JSON_STRING ||
        json_string_length(value) == 0) {
        return;
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(stops); i++) {
        if (json_string_equals(value, span_from_str(stops[i].word))) {
            stop = stops[i].stop;
        }
    }
    model_stream_stop(stream, stop == MODEL_STOP_TOOLS ? MODEL_STOP_END : stop);
}

static int take_choices(ModelStream *stream, JsonValue choices)
{
    int r = 0;

    for (JsonIter it = json_iter(choices); r == 0 && json_iter_next(&it);) {
        JsonValue part;
        int64_t index = 0;

        if (json_kind(it.value) != JSON_OBJECT || (json_get(it.value, SPAN("index"), &part) &&
                                                   json_int64(part, &index) == 0 && index != 0)) {
            continue; /* we ask for one answer */
        }
        if (json_get(it.value, SPAN("delta"), &part) ||
            json_get(it.value, SPAN("message"), &part)) {
            r = take_delta(stream, part);
        }
        take_reason(stream, it.value);
        break;
    }
    return r;
}

static void take_usage(ModelStream *stream, JsonValue usage)
{
    JsonValue value;

    if (json_get(usage, SPAN("prompt_tokens"), &value)) {
        (void)json_uint64(value, &stream->n_input_tokens);
    }
    if (json_get(usage, SPAN("completion_tokens"), &value)) {
        (void)json_uint64(value, &stream->n_output_tokens);
    }
}

static int openai_take(ModelStream *stream, JsonValue event)
{
    JsonValue value;

    if (json_get(event, SPAN("error"), &value) && json_kind(value) != JSON_NULL) {
        ModelError error;
        int r = model_error_read(&error, &stream->arena, event);

        if (r == 0) {
            model_stream_fail(stream, error.is_transient, "%s", error.text);
        }
        return r;
    }
    if (json_get(event, SPAN("usage"), &value)) {
        take_usage(stream, value);
    }
    if (json_get(event, SPAN("choices"), &value) && json_kind(value) == JSON_ARRAY) {
        return take_choices(stream, value);
    }
    return 0;
}

static bool openai_is_end_mark(Span data)
{
    return span_equals(data, SPAN("[DONE]"));
}

const ModelDialect model_openai = {
    .name = "openai",
    .path = "/chat/completions",
    .write = model_openai_write,
    .take = openai_take,
    .is_end_mark = openai_is_end_mark,
};

/* A request as Anthropic's messages want it: roles take turns, no text is blank, results of tools
 * stand first in their message, ids are letters, digits, '_' and '-'. */
#include "agent/model_anthropic.h"

#include "agent/model_ids.h"
#include "agent/model_input.h"
#include "agent/model_write.h"
#include "base/error.h"
#include "base/limits.h"

/* Ids of calls; those of other services in a conversation that goes on here may be longer. */
#define WIRE_ID_MAX 64

static void write_type(JsonWriter *w, const char *type)
{
    json_write_key(w, SPAN("type"));
    json_write_string(w, span_from_str(type));
}

static void write_image(JsonWriter *w, const AgentBlock *block)
{
    write_type(w, "image");
    json_write_key(w, SPAN("source"));
    json_write_object(w);
    write_type(w, "base64");
    json_write_key(w, SPAN("media_type"));
    json_write_string(w, block->mime);
    json_write_key(w, SPAN("data"));
    json_write_exact(w, block->text);
    json_write_end_object(w);
}

/* An input that is no object, which a model may have written, would spoil the whole request. */
static void write_input(JsonWriter *w, Span input)
{
    Span object = SPAN_NULL;
    bool is_bad = false;
    Arena arena;
    int r;

    arena_init(&arena, MODEL_INPUT_ARENA_BYTES(input.n));
    r = model_input_read(&arena, input, &object, &is_bad);
    json_write_raw(w, r == 0 && !is_bad ? object : SPAN("{}"));
    w->r = w->r != 0 ? w->r : r;
    arena_deinit(&arena);
}

static void write_block(JsonWriter *w, const AgentBlock *block)
{
    json_write_object(w);
    switch (block->kind) {
    case AGENT_BLOCK_TEXT:
        write_type(w, "text");
        json_write_key(w, SPAN("text"));
        json_write_exact(w, block->text);
        break;
    case AGENT_BLOCK_IMAGE:
        write_image(w, block);
        break;
    case AGENT_BLOCK_TOOL_USE:
        write_type(w, "tool_use");
        json_write_key(w, SPAN("id"));
        json_write_exact(w, block->id);
        json_write_key(w, SPAN("name"));
        model_write_name(w, block->name);
        json_write_key(w, SPAN("input"));
        write_input(w, block->input);
        break;
    case AGENT_BLOCK_TOOL_RESULT:
        write_type(w, "tool_result");
        json_write_key(w, SPAN("tool_use_id"));
        json_write_exact(w, block->id);
        json_write_key(w, SPAN("content"));
        json_write_exact(w, block->text);
        if (block->is_error) {
            json_write_key(w, SPAN("is_error"));
            json_write_bool(w, true);
        }
        break;
    }
    json_write_end_object(w);
}

static bool block_counts(const AgentBlock *block)
{
    return block->kind != AGENT_BLOCK_TEXT || !model_text_is_blank(block->text);
}

static bool message_counts(const AgentMessage *message)
{
    for (size_t i = 0; i < message->n_blocks; i++) {
        if (block_counts(&message->blocks[i])) {
            return true;
        }
    }
    return false;
}

static void write_blocks(JsonWriter *w, const AgentMessage *message, bool results)
{
    for (size_t i = 0; i < message->n_blocks; i++) {
        const AgentBlock *block = &message->blocks[i];

        if ((block->kind == AGENT_BLOCK_TOOL_RESULT) == results && block_counts(block)) {
            write_block(w, block);
        }
    }
}

/* Messages of one role that follow one another are one message. */
static size_t write_turn(JsonWriter *w, const ModelRequest *request, size_t first)
{
    bool is_assistant = request->messages[first].is_assistant;
    size_t end = first;

    json_write_object(w);
    json_write_key(w, SPAN("role"));
    json_write_string(w, is_assistant ? SPAN("assistant") : SPAN("user"));
    json_write_key(w, SPAN("content"));
    json_write_array(w);
    while (end < request->n_messages && (request->messages[end].is_assistant == is_assistant ||
                                         !message_counts(&request->messages[end]))) {
        end++;
    }
    for (size_t i = first; i < end; i++) {
        write_blocks(w, &request->messages[i], true);
    }
    for (size_t i = first; i < end; i++) {
        write_blocks(w, &request->messages[i], false);
    }
    json_write_end_array(w);
    json_write_end_object(w);
    return end;
}

static void write_messages(JsonWriter *w, const ModelRequest *request)
{
    json_write_key(w, SPAN("messages"));
    json_write_array(w);
    for (size_t i = 0; i < request->n_messages;) {
        if (message_counts(&request->messages[i])) {
            i = write_turn(w, request, i);
        } else {
            i++;
        }
    }
    json_write_end_array(w);
}

static void write_tool(JsonWriter *w, const AgentToolSpec *tool)
{
    json_write_object(w);
    json_write_key(w, SPAN("name"));
    model_write_name(w, tool->name);
    if (tool->description.n > 0) {
        json_write_key(w, SPAN("description"));
        json_write_exact(w, tool->description);
    }
    json_write_key(w, SPAN("input_schema"));
    model_write_schema(w, tool->schema);
    json_write_end_object(w);
}

static int write_request(Bytes *out, const ModelRequest *request, const ModelBody *body)
{
    JsonWriter w;

    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("model"));
    json_write_string(&w, body->model);
    json_write_key(&w, SPAN("max_tokens"));
    json_write_uint(&w, request->max_tokens > 0 ? request->max_tokens : LIMIT_MODEL_TOKENS);
    json_write_key(&w, SPAN("stream"));
    json_write_bool(&w, true);
    if (!model_text_is_blank(request->system)) {
        json_write_key(&w, SPAN("system"));
        json_write_exact(&w, request->system);
    }
    write_messages(&w, request);
    if (request->n_tools > 0) {
        json_write_key(&w, SPAN("tools"));
        json_write_array(&w);
        for (size_t i = 0; i < request->n_tools; i++) {
            write_tool(&w, &request->tools[i]);
        }
        json_write_end_array(&w);
    }
    json_write_end_object(&w);
    return json_writer_finish(&w);
}

int model_anthropic_write(Bytes *out, const ModelRequest *request, const ModelBody *body)
{
    ModelRequest sent;
    Arena arena;
    int r;

    arena_init(&arena, SIZE_MAX);
    r = model_ids_make(&arena, request, WIRE_ID_MAX, &sent);
    r = r != 0 ? err_pass(r) : write_request(out, &sent, body);
    arena_deinit(&arena);
    return r;
}

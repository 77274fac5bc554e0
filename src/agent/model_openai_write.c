/* A request as chat completions want it. Where services differ, the form that all of them take:
 * content as a string unless there are pictures, "" and not null beside calls. */
#include "agent/model_openai.h"

#include "agent/model_ids.h"
#include "agent/model_write.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/limits.h"

static void write_role(JsonWriter *w, const char *role)
{
    json_write_key(w, SPAN("role"));
    json_write_string(w, span_from_str(role));
}

/* data:image/png;base64,… */
static void write_data_url(JsonWriter *w, const AgentBlock *block)
{
    Bytes url;
    int r;

    bytes_init(&url, LIMIT_MODEL_REQUEST_BYTES);
    r = bytes_append_span(&url, SPAN("data:"));
    if (r == 0) {
        r = bytes_append_span(&url, block->mime);
    }
    if (r == 0) {
        r = bytes_append_span(&url, SPAN(";base64,"));
    }
    if (r == 0) {
        r = bytes_append_span(&url, block->text);
    }
    if (r == 0) {
        json_write_string(w, bytes_span(&url));
    } else if (w->r == 0) {
        w->r = r;
    }
    bytes_deinit(&url);
}

static void write_part(JsonWriter *w, const AgentBlock *block)
{
    json_write_object(w);
    json_write_key(w, SPAN("type"));
    if (block->kind == AGENT_BLOCK_TEXT) {
        json_write_string(w, SPAN("text"));
        json_write_key(w, SPAN("text"));
        json_write_exact(w, block->text);
    } else {
        json_write_string(w, SPAN("image_url"));
        json_write_key(w, SPAN("image_url"));
        json_write_object(w);
        json_write_key(w, SPAN("url"));
        write_data_url(w, block);
        json_write_end_object(w);
    }
    json_write_end_object(w);
}

static size_t count_blocks(const AgentMessage *message, AgentBlockKind kind)
{
    size_t n = 0;

    for (size_t i = 0; i < message->n_blocks; i++) {
        n += message->blocks[i].kind == kind;
    }
    return n;
}

/* All texts of a message as one string. */
static void write_texts(JsonWriter *w, const AgentMessage *message)
{
    Bytes all;
    int r = 0;

    bytes_init(&all, LIMIT_MODEL_REQUEST_BYTES);
    for (size_t i = 0; i < message->n_blocks && r == 0; i++) {
        if (message->blocks[i].kind != AGENT_BLOCK_TEXT) {
            continue;
        }
        if (all.n > 0) {
            r = bytes_append_span(&all, SPAN("\n\n"));
        }
        if (r == 0) {
            r = bytes_append_span(&all, message->blocks[i].text);
        }
    }
    if (r == 0) {
        json_write_exact(w, bytes_span(&all));
    } else if (w->r == 0) {
        w->r = r;
    }
    bytes_deinit(&all);
}

static void write_content(JsonWriter *w, const AgentMessage *message)
{
    json_write_key(w, SPAN("content"));
    if (count_blocks(message, AGENT_BLOCK_IMAGE) == 0) {
        write_texts(w, message);
        return;
    }
    json_write_array(w);
    for (size_t i = 0; i < message->n_blocks; i++) {
        if (message->blocks[i].kind == AGENT_BLOCK_IMAGE ||
            (message->blocks[i].kind == AGENT_BLOCK_TEXT &&
             !model_text_is_blank(message->blocks[i].text))) {
            write_part(w, &message->blocks[i]);
        }
    }
    json_write_end_array(w);
}

static void write_call(JsonWriter *w, const AgentBlock *block)
{
    json_write_object(w);
    json_write_key(w, SPAN("id"));
    json_write_exact(w, block->id);
    json_write_key(w, SPAN("type"));
    json_write_string(w, SPAN("function"));
    json_write_key(w, SPAN("function"));
    json_write_object(w);
    json_write_key(w, SPAN("name"));
    model_write_name(w, block->name);
    json_write_key(w, SPAN("arguments"));
    json_write_exact(w, block->input.n > 0 ? block->input : SPAN("{}"));
    json_write_end_object(w);
    json_write_end_object(w);
}

static void write_assistant(JsonWriter *w, const AgentMessage *message)
{
    size_t n_calls = count_blocks(message, AGENT_BLOCK_TOOL_USE);

    if (n_calls == 0 && count_blocks(message, AGENT_BLOCK_TEXT) == 0) {
        return;
    }
    json_write_object(w);
    write_role(w, "assistant");
    json_write_key(w, SPAN("content"));
    write_texts(w, message);
    if (n_calls > 0) {
        json_write_key(w, SPAN("tool_calls"));
        json_write_array(w);
        for (size_t i = 0; i < message->n_blocks; i++) {
            if (message->blocks[i].kind == AGENT_BLOCK_TOOL_USE) {
                write_call(w, &message->blocks[i]);
            }
        }
        json_write_end_array(w);
    }
    json_write_end_object(w);
}

/* There is no mark for a result that is an error but its words. */
static void write_result(JsonWriter *w, const AgentBlock *block)
{
    Bytes text;
    int r;

    json_write_object(w);
    write_role(w, "tool");
    json_write_key(w, SPAN("tool_call_id"));
    json_write_exact(w, block->id);
    json_write_key(w, SPAN("content"));
    if (!block->is_error) {
        json_write_exact(w, block->text);
    } else {
        bytes_init(&text, LIMIT_MODEL_REQUEST_BYTES);
        r = bytes_append_span(&text, SPAN("error: "));
        if (r == 0) {
            r = bytes_append_span(&text, block->text);
        }
        json_write_exact(w, bytes_span(&text));
        bytes_deinit(&text);
        w->r = w->r != 0 ? w->r : r;
    }
    json_write_end_object(w);
}

/* Results stand in messages of their own, right behind the calls. */
static void write_user(JsonWriter *w, const AgentMessage *message)
{
    for (size_t i = 0; i < message->n_blocks; i++) {
        if (message->blocks[i].kind == AGENT_BLOCK_TOOL_RESULT) {
            write_result(w, &message->blocks[i]);
        }
    }
    if (count_blocks(message, AGENT_BLOCK_TEXT) + count_blocks(message, AGENT_BLOCK_IMAGE) == 0) {
        return;
    }
    json_write_object(w);
    write_role(w, "user");
    write_content(w, message);
    json_write_end_object(w);
}

static void write_messages(JsonWriter *w, const ModelRequest *request)
{
    json_write_key(w, SPAN("messages"));
    json_write_array(w);
    if (request->system.n > 0) {
        json_write_object(w);
        write_role(w, "system");
        json_write_key(w, SPAN("content"));
        json_write_exact(w, request->system);
        json_write_end_object(w);
    }
    for (size_t i = 0; i < request->n_messages; i++) {
        if (request->messages[i].is_assistant) {
            write_assistant(w, &request->messages[i]);
        } else {
            write_user(w, &request->messages[i]);
        }
    }
    json_write_end_array(w);
}

static void write_tool(JsonWriter *w, const AgentToolSpec *tool)
{
    json_write_object(w);
    json_write_key(w, SPAN("type"));
    json_write_string(w, SPAN("function"));
    json_write_key(w, SPAN("function"));
    json_write_object(w);
    json_write_key(w, SPAN("name"));
    model_write_name(w, tool->name);
    if (tool->description.n > 0) {
        json_write_key(w, SPAN("description"));
        json_write_exact(w, tool->description);
    }
    json_write_key(w, SPAN("parameters"));
    model_write_schema(w, tool->schema);
    json_write_end_object(w);
    json_write_end_object(w);
}

static int write_request(Bytes *out, const ModelRequest *request, const ModelBody *body)
{
    JsonWriter w;

    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("model"));
    json_write_string(&w, body->model);
    json_write_key(&w, SPAN("stream"));
    json_write_bool(&w, true);
    /* The old name is refused by the newest models of the one, and the only one known to others. */
    json_write_key(&w, body->is_first_party ? SPAN("max_completion_tokens") : SPAN("max_tokens"));
    json_write_uint(&w, request->max_tokens > 0 ? request->max_tokens : LIMIT_MODEL_TOKENS);
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

int model_openai_write(Bytes *out, const ModelRequest *request, const ModelBody *body)
{
    ModelRequest sent;
    Arena arena;
    int r;

    arena_init(&arena, SIZE_MAX);
    r = model_ids_make(&arena, request, 0, &sent);
    r = r != 0 ? err_pass(r) : write_request(out, &sent, body);
    arena_deinit(&arena);
    return r;
}

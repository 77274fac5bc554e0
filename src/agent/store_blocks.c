/* A message as it lies on disk: an array of blocks,
 *
 *     {"type":"text","text":…}   {"type":"image","mime":…,"data":…}
 *     {"type":"tool_use","id":…,"name":…,"input":{…}}
 *     {"type":"tool_result","id":…,"text":…,"is_error":true}
 *
 * Members that are not known, and blocks of types that are not, are passed over when they are read:
 * they are a later version's. */
#include <errno.h>

#include "agent/store_impl.h"
#include "base/error.h"
#include "json/writer.h"

static const Span blocks_types[] = {
    [AGENT_BLOCK_TEXT] = SPAN_INIT("text"),
    [AGENT_BLOCK_IMAGE] = SPAN_INIT("image"),
    [AGENT_BLOCK_TOOL_USE] = SPAN_INIT("tool_use"),
    [AGENT_BLOCK_TOOL_RESULT] = SPAN_INIT("tool_result"),
};

/* ---- writing ---- */

static void blocks_member(JsonWriter *w, Span key, Span text)
{
    json_write_key(w, key);
    json_write_exact(w, text);
}

/* An input that is no object, which a model may well write, is kept as none. */
static int blocks_write_input(JsonWriter *w, Span input, Arena *scratch)
{
    JsonDoc doc;
    int r = json_parse(&doc, scratch, input.p, input.n, NULL, NULL);

    if (r == -ENOMEM) {
        return r;
    }
    json_write_key(w, SPAN("input"));
    if (r == 0 && json_kind(json_root(&doc)) == JSON_OBJECT) {
        json_write_value(w, json_root(&doc));
    } else {
        json_write_raw(w, SPAN("{}"));
    }
    return 0;
}

static int blocks_write_one(JsonWriter *w, const AgentBlock *block, Arena *scratch)
{
    int r = 0;

    json_write_object(w);
    blocks_member(w, SPAN("type"), blocks_types[block->kind]);
    switch (block->kind) {
    case AGENT_BLOCK_TEXT:
        blocks_member(w, SPAN("text"), block->text);
        break;
    case AGENT_BLOCK_IMAGE:
        blocks_member(w, SPAN("mime"), block->mime);
        blocks_member(w, SPAN("data"), block->text);
        break;
    case AGENT_BLOCK_TOOL_USE:
        blocks_member(w, SPAN("id"), block->id);
        blocks_member(w, SPAN("name"), block->name);
        r = blocks_write_input(w, block->input, scratch);
        break;
    case AGENT_BLOCK_TOOL_RESULT:
        blocks_member(w, SPAN("id"), block->id);
        blocks_member(w, SPAN("text"), block->text);
        if (block->is_error) {
            json_write_key(w, SPAN("is_error"));
            json_write_bool(w, true);
        }
        break;
    }
    json_write_end_object(w);
    return r;
}

int store_blocks_write(Bytes *out, const AgentMessage *message, Arena *scratch)
{
    JsonWriter w;
    int r = 0;
    int r_written;

    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_array(&w);
    for (size_t i = 0; r == 0 && i < message->n_blocks; i++) {
        r = blocks_write_one(&w, &message->blocks[i], scratch);
    }
    json_write_end_array(&w);
    r_written = json_writer_finish(&w);
    return r != 0 ? r : r_written;
}

/* ---- reading ---- */

/* What is not there, or no string, is empty. 0, -ENOMEM. */
static int blocks_text(JsonValue block, Span key, Arena *arena, Span *ret)
{
    JsonValue v;

    *ret = SPAN("");
    if (!json_get(block, key, &v) || json_kind(v) != JSON_STRING) {
        return 0;
    }
    return json_string_exact(v, arena, ret) == 0 ? 0 : err_raise(-ENOMEM);
}

static bool blocks_type(JsonValue block, AgentBlockKind *ret)
{
    JsonValue type;

    if (json_kind(block) != JSON_OBJECT || !json_get(block, SPAN("type"), &type) ||
        json_kind(type) != JSON_STRING) {
        return false;
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(blocks_types); i++) {
        if (json_string_equals(type, blocks_types[i])) {
            *ret = (AgentBlockKind)i;
            return true;
        }
    }
    return false;
}

static int blocks_read_one(AgentBlock *ret, JsonValue block, Arena *arena)
{
    Span text_key = ret->kind == AGENT_BLOCK_IMAGE ? SPAN("data") : SPAN("text");
    JsonValue v;
    int r = blocks_text(block, text_key, arena, &ret->text);

    r = r != 0 ? r : blocks_text(block, SPAN("mime"), arena, &ret->mime);
    r = r != 0 ? r : blocks_text(block, SPAN("id"), arena, &ret->id);
    r = r != 0 ? r : blocks_text(block, SPAN("name"), arena, &ret->name);
    if (r != 0) {
        return r;
    }
    ret->is_error = json_get(block, SPAN("is_error"), &v) && json_kind(v) == JSON_TRUE;
    ret->input = json_get(block, SPAN("input"), &v) && json_kind(v) == JSON_OBJECT ? json_span(v)
                                                                                   : SPAN("{}");
    return 0;
}

int store_blocks_read(AgentMessage *ret, Span text, bool is_assistant, Arena *arena, Arena *scratch)
{
    AgentBlock *blocks;
    JsonValue root;
    JsonDoc doc;
    size_t n = 0;
    int r = json_parse(&doc, scratch, text.p, text.n, NULL, NULL);

    if (r != 0) {
        return r < 0 ? r : STORE_BLOCKS_E_DAMAGED;
    }
    root = json_root(&doc);
    if (json_kind(root) != JSON_ARRAY) {
        return STORE_BLOCKS_E_DAMAGED;
    }
    blocks = arena_alloc_array(arena, (size_t)json_count(root) + 1, sizeof(*blocks));
    if (blocks == NULL) {
        return err_raise(-ENOMEM);
    }
    for (JsonIter it = json_iter(root); r == 0 && json_iter_next(&it);) {
        if (blocks_type(it.value, &blocks[n].kind)) {
            r = blocks_read_one(&blocks[n++], it.value, arena);
        }
    }
    *ret = (AgentMessage){.is_assistant = is_assistant, .blocks = blocks, .n_blocks = n};
    return r;
}

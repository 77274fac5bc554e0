#include "dialect/mcp/render_content.h"

#include <string.h>

#include "base/error.h"
#include "dialect/mcp/render_part.h"

/* The kinds of content block, and since when. */
typedef struct BlockKind {
    Span type;
    McpPart part;
    uint32_t bit;
    McpRevision first;
} BlockKind;

static const BlockKind block_kinds[] = {
    {{"text", 4}, MCP_PART_TEXT, CALL_CONTENT_TEXT, MCP_2024_11_05},
    {{"image", 5}, MCP_PART_IMAGE, CALL_CONTENT_IMAGE, MCP_2024_11_05},
    {{"audio", 5}, MCP_PART_AUDIO, CALL_CONTENT_AUDIO, MCP_2025_03_26},
    {{"resource", 8}, MCP_PART_EMBEDDED, CALL_CONTENT_RESOURCE, MCP_2024_11_05},
    {{"resource_link", 13}, MCP_PART_LINK, CALL_CONTENT_LINK, MCP_2025_06_18},
};

static const BlockKind *block_kind_find(JsonValue block)
{
    JsonValue type;

    if (!json_get(block, SPAN("type"), &type)) {
        return NULL;
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(block_kinds); i++) {
        if (json_string_equals(type, block_kinds[i].type)) {
            return &block_kinds[i];
        }
    }
    return NULL;
}

static bool content_must_be_walked(McpRevision revision, const CallResult *result)
{
    uint32_t kinds = result->content_kinds;

    /* The newest revision knows all that there is. */
    if (revision == MCP_N_REVISIONS - 1 || result->n_pieces == 0) {
        return false;
    }
    if ((kinds & CALL_CONTENT_UNKNOWN) != 0) {
        return true;
    }
    /* Contents of a resource that was read are not blocks, and have no kinds. */
    if (result->kind == CALL_RESULT_RESOURCE) {
        return false;
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(block_kinds); i++) {
        if ((kinds & block_kinds[i].bit) != 0 && revision < block_kinds[i].first) {
            return true;
        }
    }
    return kinds == 0;
}

size_t mcp_content_size(const CallResult *result)
{
    size_t n = 0;

    for (size_t i = 0; i < result->n_pieces; i++) {
        n += result->pieces[i].n;
    }
    return n;
}

/* The pieces as one array, parsed. */
static int content_parse(Arena *scratch, const CallResult *result, JsonValue *ret)
{
    size_t n = mcp_content_size(result) + 2;
    char *text = arena_alloc(scratch, n);
    char *at = text;
    JsonDoc doc;
    int r;

    if (text == NULL) {
        return err_raise(-ENOMEM);
    }
    *at++ = '[';
    for (size_t i = 0; i < result->n_pieces; i++) {
        if (result->pieces[i].n > 0) {
            memcpy(at, result->pieces[i].p, result->pieces[i].n);
            at += result->pieces[i].n;
        }
    }
    *at = ']';
    r = json_parse(&doc, scratch, text, n, NULL, NULL);
    if (r > 0) {
        return MCP_CONTENT_E_MALFORMED;
    }
    if (r < 0) {
        return err_pass(r);
    }
    *ret = json_root(&doc);
    return 0;
}

static bool block_is_whole(McpRevision revision, JsonValue block)
{
    const BlockKind *kind = block_kind_find(block);

    return kind != NULL && revision >= kind->first &&
           mcp_part_is_whole(revision, kind->part, block);
}

static bool prompt_message_is_whole(McpRevision revision, JsonValue message)
{
    bool is_whole = json_kind(message) == JSON_OBJECT;

    for (JsonIter it = json_iter(message); is_whole && json_iter_next(&it);) {
        is_whole =
            !json_string_equals(it.key, SPAN("content")) || block_is_whole(revision, it.value);
    }
    return is_whole;
}

static bool element_is_whole(McpRevision revision, CallResultKind kind, JsonValue element)
{
    switch (kind) {
    case CALL_RESULT_PROMPT:
        return prompt_message_is_whole(revision, element);
    case CALL_RESULT_RESOURCE:
        return mcp_part_is_whole(revision, MCP_PART_CONTENTS, element);
    default:
        return block_is_whole(revision, element);
    }
}

static bool content_is_whole(const McpContent *content)
{
    bool is_whole = true;

    for (JsonIter it = json_iter(content->elements); is_whole && json_iter_next(&it);) {
        is_whole = element_is_whole(content->revision, content->result->kind, it.value);
    }
    return is_whole;
}

int mcp_content_prepare(McpContent *ret, Arena *scratch, McpRevision revision,
                        const CallResult *result)
{
    int r = 0;

    *ret = (McpContent){.result = result, .revision = revision, .elements = JSON_VALUE_NULL};
    if (!content_must_be_walked(revision, result)) {
        return 0;
    }
    if (result->elements.node != NULL) {
        ret->elements = result->elements;
    } else {
        r = content_parse(scratch, result, &ret->elements);
    }
    /* Mostly nothing has to be replaced. */
    if (r == 0 && content_is_whole(ret)) {
        ret->elements = JSON_VALUE_NULL;
    }
    return r;
}

static void out_fact(McpOut *o, Span before, Span fact)
{
    if (fact.n > 0) {
        mcp_out_span(o, before);
        mcp_out_span(o, fact);
    }
}

static void out_audio_facts(McpOut *o, JsonValue block)
{
    Span data = mcp_string_inside(block, SPAN("data"));
    size_t n = data.n / 4 * 3;

    if (span_ends_with(data, SPAN("=="))) {
        n -= 2;
    } else if (span_ends_with(data, SPAN("="))) {
        n -= 1;
    }
    MCP_OUT(o, "[audio");
    out_fact(o, SPAN(", "), mcp_string_inside(block, SPAN("mimeType")));
    MCP_OUT(o, ", ");
    mcp_out_int(o, (int64_t)n);
    MCP_OUT(o, " bytes");
}

static void out_link_facts(McpOut *o, JsonValue block)
{
    JsonValue size;

    MCP_OUT(o, "[resource link");
    out_fact(o, SPAN(": "), mcp_string_inside(block, SPAN("uri")));
    out_fact(o, SPAN(", "), mcp_string_inside(block, SPAN("name")));
    out_fact(o, SPAN(", "), mcp_string_inside(block, SPAN("mimeType")));
    if (json_get(block, SPAN("size"), &size) && json_kind(size) == JSON_NUMBER) {
        MCP_OUT(o, ", ");
        mcp_out_span(o, json_span(size));
        MCP_OUT(o, " bytes");
    }
}

/* A text that says what the client cannot be shown. Annotations exist in every revision and tell
 * for whom it is, so they stay. */
static void out_stand_in(McpOut *o, JsonValue block, const BlockKind *kind)
{
    JsonValue annotations;

    MCP_OUT(o, "{\"type\":\"text\",\"text\":\"");
    if (kind != NULL && kind->bit == CALL_CONTENT_AUDIO) {
        out_audio_facts(o, block);
    } else if (kind != NULL && kind->bit == CALL_CONTENT_LINK) {
        out_link_facts(o, block);
    } else {
        MCP_OUT(o, "[content of kind '");
        mcp_out_span(o, mcp_string_inside(block, SPAN("type")));
        MCP_OUT(o, "', which this revision of the protocol does not have");
    }
    MCP_OUT(o, "]\"");
    if (json_get(block, SPAN("annotations"), &annotations)) {
        MCP_OUT(o, ",\"annotations\":");
        mcp_out_span(o, json_span(annotations));
    }
    MCP_OUT(o, "}");
}

static void out_block(McpOut *o, McpRevision revision, JsonValue block)
{
    const BlockKind *kind = block_kind_find(block);

    if (kind == NULL || revision < kind->first) {
        out_stand_in(o, block, kind);
    } else {
        mcp_out_part(o, revision, kind->part, block);
    }
}

/* {"role":…,"content":block} */
static void out_prompt_message(McpOut *o, McpRevision revision, JsonValue message)
{
    MCP_OUT(o, "{");
    for (JsonIter it = json_iter(message); it.is_object && json_iter_next(&it);) {
        mcp_out_comma(o);
        mcp_out_span(o, json_span(it.key));
        MCP_OUT(o, ":");
        if (json_string_equals(it.key, SPAN("content"))) {
            out_block(o, revision, it.value);
        } else {
            mcp_out_span(o, json_span(it.value));
        }
    }
    MCP_OUT(o, "}");
}

void mcp_out_content(McpOut *o, const McpContent *content)
{
    const CallResult *result = content->result;

    if (content->elements.node == NULL) {
        for (size_t i = 0; i < result->n_pieces; i++) {
            mcp_out_large(o, result->pieces[i]);
        }
        return;
    }
    for (JsonIter it = json_iter(content->elements); json_iter_next(&it);) {
        mcp_out_comma(o);
        if (result->kind == CALL_RESULT_PROMPT) {
            out_prompt_message(o, content->revision, it.value);
        } else if (result->kind == CALL_RESULT_RESOURCE) {
            mcp_out_part(o, content->revision, MCP_PART_CONTENTS, it.value);
        } else {
            out_block(o, content->revision, it.value);
        }
    }
}

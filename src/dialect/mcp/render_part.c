#include "dialect/mcp/render_part.h"

/* A member that not every revision has. */
typedef struct PartRule {
    McpPart part;
    Span member;
    McpRevision first;
    McpRevision last;
} PartRule;

#define RULE(part_, member_, first_, last_)                                                        \
    {                                                                                              \
        .part = MCP_PART_##part_, .member = {(member_), sizeof(member_) - 1}, .first = (first_),   \
        .last = (last_)                                                                            \
    }
#define SINCE(part_, member_, first_) RULE(part_, member_, first_, MCP_N_REVISIONS - 1)

static const PartRule part_rules[] = {
    SINCE(TOOL, "annotations", MCP_2025_03_26),
    SINCE(TOOL, "title", MCP_2025_06_18),
    SINCE(TOOL, "outputSchema", MCP_2025_06_18),
    SINCE(TOOL, "_meta", MCP_2025_06_18),
    SINCE(TOOL, "icons", MCP_2025_11_25),
    RULE(TOOL, "execution", MCP_2025_11_25, MCP_2025_11_25),
    SINCE(RESOURCE, "title", MCP_2025_06_18),
    SINCE(RESOURCE, "_meta", MCP_2025_06_18),
    SINCE(RESOURCE, "icons", MCP_2025_11_25),
    SINCE(TEMPLATE, "title", MCP_2025_06_18),
    SINCE(TEMPLATE, "_meta", MCP_2025_06_18),
    SINCE(TEMPLATE, "icons", MCP_2025_11_25),
    SINCE(PROMPT, "title", MCP_2025_06_18),
    SINCE(PROMPT, "_meta", MCP_2025_06_18),
    SINCE(PROMPT, "icons", MCP_2025_11_25),
    SINCE(PROMPT_ARGUMENT, "title", MCP_2025_06_18),
    SINCE(TEXT, "_meta", MCP_2025_06_18),
    SINCE(IMAGE, "_meta", MCP_2025_06_18),
    SINCE(AUDIO, "_meta", MCP_2025_06_18),
    SINCE(EMBEDDED, "_meta", MCP_2025_06_18),
    SINCE(LINK, "icons", MCP_2025_11_25),
    SINCE(CONTENTS, "_meta", MCP_2025_06_18),
};

/* A member whose value holds parts in turn: one object, or an array of them. */
typedef struct PartInner {
    McpPart part;
    Span member;
    McpPart inner;
} PartInner;

static const PartInner part_inners[] = {
    {MCP_PART_PROMPT, {"arguments", 9}, MCP_PART_PROMPT_ARGUMENT},
    {MCP_PART_EMBEDDED, {"resource", 8}, MCP_PART_CONTENTS},
};

/* In legacy eras a tool's structured result is an object, and its schema says so; clients refuse
 * the whole list over one that does not. */
static bool output_schema_fits(McpRevision revision, JsonValue schema)
{
    JsonValue type;

    return revision >= MCP_FIRST_MODERN ||
           (json_get(schema, SPAN("type"), &type) && json_string_equals(type, SPAN("object")));
}

static bool part_keeps(McpRevision revision, McpPart part, JsonValue key, JsonValue value)
{
    for (size_t i = 0; i < TW_ARRAY_SIZE(part_rules); i++) {
        const PartRule *rule = &part_rules[i];

        if (rule->part == part && json_string_equals(key, rule->member)) {
            if (revision < rule->first || revision > rule->last) {
                return false;
            }
            return part != MCP_PART_TOOL || !span_equals(rule->member, SPAN("outputSchema")) ||
                   output_schema_fits(revision, value);
        }
    }
    return true;
}

static const PartInner *part_inner_find(McpPart part, JsonValue key)
{
    for (size_t i = 0; i < TW_ARRAY_SIZE(part_inners); i++) {
        if (part_inners[i].part == part && json_string_equals(key, part_inners[i].member)) {
            return &part_inners[i];
        }
    }
    return NULL;
}

/* Whether all members of the object itself are known; inner parts are not looked into. */
static bool part_is_whole(McpRevision revision, McpPart part, JsonValue value)
{
    if (json_kind(value) != JSON_OBJECT) {
        return true;
    }
    for (JsonIter it = json_iter(value); json_iter_next(&it);) {
        if (!part_keeps(revision, part, it.key, it.value)) {
            return false;
        }
    }
    return true;
}

static bool inner_is_whole(McpRevision revision, McpPart inner, JsonValue value)
{
    if (json_kind(value) != JSON_ARRAY) {
        return part_is_whole(revision, inner, value);
    }
    for (JsonIter it = json_iter(value); json_iter_next(&it);) {
        if (!part_is_whole(revision, inner, it.value)) {
            return false;
        }
    }
    return true;
}

static void out_key(McpOut *o, JsonValue key)
{
    mcp_out_comma(o);
    mcp_out_span(o, json_span(key));
    MCP_OUT(o, ":");
}

/* One object without inner parts. */
static void out_flat(McpOut *o, McpRevision revision, McpPart part, JsonValue value)
{
    if (part_is_whole(revision, part, value)) {
        mcp_out_span(o, json_span(value));
        return;
    }
    MCP_OUT(o, "{");
    for (JsonIter it = json_iter(value); json_iter_next(&it);) {
        if (part_keeps(revision, part, it.key, it.value)) {
            out_key(o, it.key);
            mcp_out_span(o, json_span(it.value));
        }
    }
    MCP_OUT(o, "}");
}

static void out_inner(McpOut *o, McpRevision revision, McpPart inner, JsonValue value)
{
    if (json_kind(value) != JSON_ARRAY) {
        out_flat(o, revision, inner, value);
        return;
    }
    MCP_OUT(o, "[");
    for (JsonIter it = json_iter(value); json_iter_next(&it);) {
        mcp_out_comma(o);
        out_flat(o, revision, inner, it.value);
    }
    MCP_OUT(o, "]");
}

bool mcp_part_is_whole(McpRevision revision, McpPart part, JsonValue value)
{
    if (!part_is_whole(revision, part, value)) {
        return false;
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(part_inners); i++) {
        JsonValue held;

        if (part_inners[i].part == part && json_get(value, part_inners[i].member, &held) &&
            !inner_is_whole(revision, part_inners[i].inner, held)) {
            return false;
        }
    }
    return true;
}

void mcp_out_part(McpOut *o, McpRevision revision, McpPart part, JsonValue value)
{
    if (mcp_part_is_whole(revision, part, value)) {
        mcp_out_span(o, json_span(value));
        return;
    }
    MCP_OUT(o, "{");
    for (JsonIter it = json_iter(value); json_iter_next(&it);) {
        const PartInner *inner = part_inner_find(part, it.key);

        if (!part_keeps(revision, part, it.key, it.value)) {
            continue;
        }
        out_key(o, it.key);
        if (inner != NULL) {
            out_inner(o, revision, inner->inner, it.value);
        } else {
            mcp_out_span(o, json_span(it.value));
        }
    }
    MCP_OUT(o, "}");
}

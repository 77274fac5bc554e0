/* The members of params: found, and of the kind that they must be. */
#include "dialect/mcp/server_internal.h"

#include <string.h>

#include "base/error.h"

bool mcp_check_string(McpServer *server, const McpInbound *in, JsonValue v, const char *path,
                      bool is_required, Span *ret)
{
    int r;

    if (v.node == NULL) {
        if (is_required) {
            mcp_refuse_format(server, in, MCP_ERROR_INVALID_PARAMS, "%s is missing", path);
        }
        return !is_required;
    }
    if (TW_LIKELY(json_string_plain(v, ret))) {
        return true;
    }
    r = json_string_exact(v, &server->arena, ret);
    if (r == JSON_E_KIND) {
        mcp_refuse_format(server, in, MCP_ERROR_INVALID_PARAMS, "%s must be a string", path);
    } else {
        mcp_server_fail(server, err_fold(r));
    }
    return r == 0;
}

bool mcp_check_object(McpServer *server, const McpInbound *in, JsonValue v, const char *path,
                      bool is_required, JsonValue *ret)
{
    if (v.node == NULL) {
        if (is_required) {
            mcp_refuse_format(server, in, MCP_ERROR_INVALID_PARAMS, "%s is missing", path);
        }
        return !is_required;
    }
    if (json_kind(v) != JSON_OBJECT) {
        mcp_refuse_format(server, in, MCP_ERROR_INVALID_PARAMS, "%s must be an object", path);
        return false;
    }
    *ret = v;
    return true;
}

static JsonValue member(JsonValue object, Span name)
{
    JsonValue v = JSON_VALUE_NULL;

    if (object.node != NULL) {
        (void)json_get(object, name, &v);
    }
    return v;
}

bool mcp_take_string(McpServer *server, const McpInbound *in, JsonValue object, Span name,
                     const char *path, bool is_required, Span *ret)
{
    return mcp_check_string(server, in, member(object, name), path, is_required, ret);
}

bool mcp_take_object(McpServer *server, const McpInbound *in, JsonValue object, Span name,
                     const char *path, bool is_required, JsonValue *ret)
{
    return mcp_check_object(server, in, member(object, name), path, is_required, ret);
}

/* Where a member of that name belongs, or NULL. Its length tells nearly all of them apart. */
static JsonValue *slot_of(McpParams *params, Span name)
{
    Span wanted;
    JsonValue *slot;

    switch (name.n) {
    case 3:
        wanted = SPAN("uri");
        slot = &params->uri;
        break;
    case 4:
        wanted = name.p[0] == 't' ? SPAN("task") : SPAN("name");
        slot = name.p[0] == 't' ? &params->task : &params->name;
        break;
    case 5:
        wanted = SPAN("_meta");
        slot = &params->meta;
        break;
    case 6:
        wanted = name.p[0] == 't' ? SPAN("taskId") : SPAN("cursor");
        slot = name.p[0] == 't' ? &params->task_id : &params->cursor;
        break;
    case 9:
        wanted = SPAN("arguments");
        slot = &params->arguments;
        break;
    case 12:
        wanted = SPAN("requestState");
        slot = &params->state;
        break;
    case 14:
        wanted = SPAN("inputResponses");
        slot = &params->responses;
        break;
    default:
        return NULL;
    }
    return memcmp(name.p, wanted.p, wanted.n) == 0 ? slot : NULL;
}

int mcp_params_read(McpParams *ret, JsonValue params, Arena *arena)
{
    for (JsonIter it = json_iter(params); json_iter_next(&it);) {
        JsonValue *slot;
        Span name;
        int r;

        if (TW_UNLIKELY(!json_string_plain(it.key, &name))) {
            r = json_string(it.key, arena, &name);
            if (r != 0) {
                return err_fold(r);
            }
        }
        slot = slot_of(ret, name);
        if (slot != NULL) {
            *slot = it.value;
        }
    }
    return 0;
}

#include "dialect/mcp/jsonrpc.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

static bool is_id(JsonValue v)
{
    return json_kind(v) == JSON_STRING || (json_kind(v) == JSON_NUMBER && json_number_is_whole(v));
}

/* name has the length of `wanted`. */
TW_INLINE void read_member(Span name, Span wanted, JsonValue value, JsonValue *ret)
{
    if (memcmp(name.p, wanted.p, wanted.n) == 0) {
        *ret = value;
    }
}

/* A member whose name is written with escapes, which nobody does but who looks for a gap. */
static void read_escaped_member(JsonrpcMessage *ret, const JsonIter *it, JsonValue *ret_version,
                                JsonValue *ret_method)
{
    const struct {
        Span name;
        JsonValue *value;
    } members[] = {
        {SPAN("jsonrpc"), ret_version}, {SPAN("id"), &ret->id},
        {SPAN("method"), ret_method},   {SPAN("params"), &ret->params},
        {SPAN("result"), &ret->result}, {SPAN("error"), &ret->error},
    };

    for (size_t i = 0; i < TW_ARRAY_SIZE(members); i++) {
        if (json_string_equals(it->key, members[i].name)) {
            *members[i].value = it->value;
            return;
        }
    }
}

/* The members of the envelope, in one walk; of equal names the last counts. Most names have a
 * length of their own, which settles the matter before any byte is compared. */
static void read_members(JsonrpcMessage *ret, JsonValue message, JsonValue *ret_version,
                         JsonValue *ret_method)
{
    for (JsonIter it = json_iter(message); json_iter_next(&it);) {
        Span name;

        if (TW_UNLIKELY(!json_string_plain(it.key, &name))) {
            read_escaped_member(ret, &it, ret_version, ret_method);
            continue;
        }
        switch (name.n) {
        case 2:
            read_member(name, SPAN("id"), it.value, &ret->id);
            break;
        case 5:
            read_member(name, SPAN("error"), it.value, &ret->error);
            break;
        case 6:
            read_member(name, SPAN("method"), it.value, ret_method);
            read_member(name, SPAN("params"), it.value, &ret->params);
            read_member(name, SPAN("result"), it.value, &ret->result);
            break;
        case 7:
            read_member(name, SPAN("jsonrpc"), it.value, ret_version);
            break;
        default:
            break;
        }
    }
}

static void set_invalid(JsonrpcMessage *ret, const char *problem)
{
    ret->kind = JSONRPC_INVALID;
    ret->problem = problem;
}

int jsonrpc_read(JsonrpcMessage *ret, JsonValue message, Arena *arena)
{
    JsonValue version = JSON_VALUE_NULL;
    JsonValue method = JSON_VALUE_NULL;
    bool has_id;

    *ret = (JsonrpcMessage){.kind = JSONRPC_REQUEST};
    if (json_kind(message) != JSON_OBJECT) {
        set_invalid(ret, "a message is a JSON object");
        return 0;
    }
    read_members(ret, message, &version, &method);
    if (method.node != NULL && json_kind(method) == JSON_STRING) {
        int r = json_string(method, arena, &ret->method);

        if (r != 0) {
            return err_fold(r);
        }
    }
    has_id = ret->id.node != NULL;
    if (method.node == NULL && (ret->result.node != NULL || ret->error.node != NULL)) {
        ret->kind = JSONRPC_RESPONSE;
    } else if (method.node != NULL && !has_id) {
        ret->kind = JSONRPC_NOTIFICATION;
    } else if (has_id && !is_id(ret->id)) {
        ret->id = JSON_VALUE_NULL;
        set_invalid(ret, "id must be a string or an integer");
    } else if (has_id && json_span(ret->id).n > JSONRPC_MAX_ID_BYTES) {
        ret->id = JSON_VALUE_NULL;
        set_invalid(ret, "id is longer than 1,024 bytes");
    } else if (method.node == NULL) {
        set_invalid(ret, "a message has a method, a result or an error");
    } else if (version.node == NULL || !json_string_equals(version, SPAN("2.0"))) {
        set_invalid(ret, "jsonrpc must be \"2.0\"");
    } else if (json_kind(method) != JSON_STRING) {
        set_invalid(ret, "method must be a string");
    }
    return 0;
}

Span jsonrpc_look_id(const JsonLook *look, Arena *arena)
{
    Span text = json_look_id(look);
    JsonDoc doc;

    if (text.n == 0 || text.n > JSONRPC_MAX_ID_BYTES ||
        json_parse(&doc, arena, text.p, text.n, NULL, NULL) != 0 || !is_id(json_root(&doc))) {
        return SPAN_NULL;
    }
    return text;
}

/* A string that is written with escapes: a quote, its content decoded, a quote. No plain one looks
 * the same by accident, since a plain one holds no quote inside. */
static int key_of_escaped(JsonValue id, Arena *arena, Span *ret)
{
    char *p = arena_alloc(arena, id.node->size);
    size_t n;

    if (p == NULL) {
        return err_raise(-ENOMEM);
    }
    p[0] = '"';
    n = json_string_decode_exact(id, p + 1) + 1;
    p[n] = '"';
    *ret = span_make(p, n + 1);
    return 0;
}

int jsonrpc_id_key(JsonValue id, Arena *arena, Span *ret)
{
    char text[24];
    int64_t number;
    Span plain;

    if (!is_id(id)) {
        return JSONRPC_E_ID;
    }
    if (json_kind(id) == JSON_STRING) {
        if (!json_string_plain(id, &plain)) {
            return key_of_escaped(id, arena, ret);
        }
        *ret = json_span(id);
        return 0;
    }
    *ret = json_span(id);
    if (((id.node->tag & JSON_NODE_INTEGER) != 0 && !span_equals(*ret, SPAN("-0"))) ||
        json_int64(id, &number) != 0) {
        return 0;
    }
    (void)snprintf(text, sizeof(text), "%" PRId64, number);
    *ret = arena_copy(arena, span_from_str(text));
    return ret->p != NULL ? 0 : err_raise(-ENOMEM);
}

#include "dialect/agent/message.h"

#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "dialect/agent/message_internal.h"
#include "json/writer.h"

/* Room for any 64-bit number. */
#define OUT_INT_SIZE 24

/* Of a word that is not known, so much is repeated. */
#define SHOWN_BYTES 80

static const char *const kind_names[AGENT_N_KINDS] = {
    [AGENT_KIND_USER_MESSAGE] = "user_message",
    [AGENT_KIND_CLEAR_HISTORY] = "clear_history",
    [AGENT_KIND_GET_STATUS] = "get_status",
    [AGENT_KIND_INTERRUPT] = "interrupt",
    [AGENT_KIND_LIST_CONVERSATIONS] = "list_conversations",
    [AGENT_KIND_LOAD_CONVERSATION] = "load_conversation",
    [AGENT_KIND_DELETE_CONVERSATION] = "delete_conversation",
    [AGENT_KIND_NEW_CONVERSATION] = "new_conversation",
    [AGENT_KIND_TOOL_APPROVAL] = "tool_approval",
};

static const char *const type_names[AGENT_N_TYPES] = {
    [AGENT_TYPE_READY] = "ready",       [AGENT_TYPE_TOKEN] = "token",
    [AGENT_TYPE_TOOL_USE] = "tool_use", [AGENT_TYPE_TOOL_RESULT] = "tool_result",
    [AGENT_TYPE_DONE] = "done",         [AGENT_TYPE_ERROR] = "error",
    [AGENT_TYPE_STATUS] = "status",     [AGENT_TYPE_TOOL_PROGRESS] = "tool_progress",
};

static const char *const state_names[AGENT_N_STATES] = {
    [AGENT_STATE_IDLE] = "idle",
    [AGENT_STATE_THINKING] = "thinking",
    [AGENT_STATE_USING_TOOL] = "using_tool",
    [AGENT_STATE_SHUTTING_DOWN] = "shutting_down",
};

const char *agent_kind_name(AgentKind kind)
{
    return kind_names[kind];
}

const char *agent_type_name(AgentType type)
{
    return type_names[type];
}

const char *agent_state_name(AgentState state)
{
    return state_names[state];
}

/* ---- reading ---- */

int agent_message_parse(JsonValue *ret, Arena *arena, Span line, Diag *reterr_diag)
{
    JsonDoc doc;
    JsonValue root;
    Diag why;
    int r = json_parse(&doc, arena, line.p, line.n, NULL, &why);

    if (r < 0) {
        return err_pass(r);
    }
    if (r > 0) {
        size_t at = why.offset == DIAG_NO_OFFSET ? 0 : why.offset;

        (void)diag_set(reterr_diag, AGENT_MESSAGE_E_SYNTAX, "Invalid JSON at byte %zu: %s", at,
                       why.message);
        diag_set_place(reterr_diag, line.p, line.n, at);
        return AGENT_MESSAGE_E_SYNTAX;
    }
    root = json_root(&doc);
    if (json_kind(root) != JSON_OBJECT) {
        (void)diag_set(reterr_diag, AGENT_MESSAGE_E_SYNTAX,
                       "Invalid message at byte %u: expected an object, got %s", root.node->start,
                       json_kind_name(json_kind(root)));
        diag_set_place(reterr_diag, line.p, line.n, root.node->start);
        return AGENT_MESSAGE_E_SYNTAX;
    }
    *ret = root;
    return 0;
}

bool agent_message_member(JsonValue object, const char *name, const char *other, JsonValue *ret)
{
    const char *names[] = {name, other};

    for (size_t i = 0; i < TW_ARRAY_SIZE(names); i++) {
        JsonValue value;

        if (names[i] != NULL && json_get(object, span_from_str(names[i]), &value) &&
            json_kind(value) != JSON_NULL) {
            *ret = value;
            return true;
        }
    }
    return false;
}

int agent_message_wrong(Diag *reterr_diag, const char *where, const char *name, const char *how)
{
    (void)diag_set(reterr_diag, AGENT_MESSAGE_E_FIELD, "Invalid request: %s%s %s", where, name,
                   how);
    diag_set_field(reterr_diag, "%s%s", where, name);
    return AGENT_MESSAGE_E_FIELD;
}

static int message_check_text(int r, const char *where, const char *name, size_t max, Span text,
                              Diag *reterr_diag)
{
    if (r == JSON_E_KIND) {
        return agent_message_wrong(reterr_diag, where, name, "must be a string");
    }
    if (r != 0) {
        return err_fold(r);
    }
    return text.n > max ? agent_message_wrong(reterr_diag, where, name, "is too long") : 0;
}

int agent_message_text(Arena *arena, JsonValue object, const char *where, const char *name,
                       const char *other, size_t max, Span *ret, Diag *reterr_diag)
{
    JsonValue value;
    int r = 0;

    *ret = SPAN_NULL;
    if (agent_message_member(object, name, other, &value)) {
        r = json_string_exact(value, arena, ret);
    }
    return message_check_text(r, where, name, max, *ret, reterr_diag);
}

int agent_message_utf8(Arena *arena, JsonValue object, const char *where, const char *name,
                       const char *other, size_t max, Span *ret, Diag *reterr_diag)
{
    JsonValue value;
    int r = 0;

    *ret = SPAN_NULL;
    if (agent_message_member(object, name, other, &value)) {
        r = json_string(value, arena, ret);
    }
    return message_check_text(r, where, name, max, *ret, reterr_diag);
}

int agent_message_unknown(Diag *reterr_diag, const char *what, JsonValue value)
{
    Span shown = SPAN_NULL;

    if (value.node == NULL) {
        return diag_set(reterr_diag, AGENT_MESSAGE_E_KIND, "Missing %s", what);
    }
    /* What has to be escaped is shown so: the words go into logs. */
    if (!json_string_plain(value, &shown)) {
        shown = json_span(value);
    }
    return diag_set(reterr_diag, AGENT_MESSAGE_E_KIND, "Unknown %s: %.*s", what,
                    (int)(shown.n < SHOWN_BYTES ? shown.n : SHOWN_BYTES), shown.p);
}

/* ---- writing ---- */

AgentOut agent_out_begin(Bytes *bytes)
{
    return (AgentOut){.bytes = bytes, .start = bytes->n};
}

int agent_out_finish(AgentOut *o)
{
    if (o->r != 0) {
        o->bytes->n = o->start;
    }
    return o->r < 0 ? err_pass(o->r) : o->r;
}

void agent_out_span(AgentOut *o, Span json)
{
    if (o->r == 0) {
        o->r = bytes_append_span(o->bytes, json);
    }
}

void agent_out_string(AgentOut *o, Span text)
{
    JsonWriter w;

    if (o->r == 0) {
        json_writer_init(&w, o->bytes, JSON_STYLE_COMPACT);
        json_write_exact(&w, text);
        o->r = json_writer_finish(&w);
    }
}

void agent_out_int(AgentOut *o, int64_t value)
{
    char text[OUT_INT_SIZE];
    char *at = text + sizeof(text);
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

    do {
        *--at = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (value < 0) {
        *--at = '-';
    }
    agent_out_span(o, span_make(at, (size_t)(text + sizeof(text) - at)));
}

void agent_out_json(AgentOut *o, Span json)
{
    size_t from = 0;

    if (json.n == 0 ||
        (memchr(json.p, '\n', json.n) == NULL && memchr(json.p, '\r', json.n) == NULL)) {
        agent_out_span(o, json);
        return;
    }
    for (size_t i = 0; i <= json.n; i++) {
        if (i == json.n || json.p[i] == '\n' || json.p[i] == '\r') {
            agent_out_span(o, span_make(json.p + from, i - from));
            from = i + 1;
        }
    }
}

void agent_out_member(AgentOut *o, Span before, Span text)
{
    if (text.n > 0) {
        agent_out_span(o, before);
        agent_out_string(o, text);
    }
}

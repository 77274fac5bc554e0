#include "dialect/agent/message.h"

#include <stdio.h>

#include "base/error.h"
#include "base/limits.h"
#include "dialect/agent/message_internal.h"
#include "json/look.h"

/* What reading a request carries along. */
typedef struct RequestRead {
    AgentRequest request;
    Arena *arena;
    JsonValue root;
    Diag *diag;
} RequestRead;

static int read_wrong(RequestRead *read, const char *name, const char *how)
{
    return agent_message_wrong(read->diag, "", name, how);
}

/* An id, or another text of the outermost object that is as short. */
static int read_short(RequestRead *read, const char *name, const char *other, Span *ret)
{
    return agent_message_text(read->arena, read->root, "", name, other, LIMIT_AGENT_ID_BYTES, ret,
                              read->diag);
}

/* The request's own id. A number is told back as text, with the words that it is none. */
static int read_id(RequestRead *read)
{
    JsonValue value;
    Span id;
    int r;

    if (!agent_message_member(read->root, "id", NULL, &value)) {
        return diag_set(read->diag, AGENT_MESSAGE_E_NO_ID, "Invalid request: it has no id");
    }
    if (json_kind(value) == JSON_NUMBER && json_span(value).n <= LIMIT_AGENT_ID_BYTES) {
        read->request.id = json_span(value);
        return read_wrong(read, "id", "must be a string");
    }
    r = json_string_exact(value, read->arena, &id);
    if (r == JSON_E_KIND) {
        return diag_set(read->diag, AGENT_MESSAGE_E_NO_ID, "Invalid request: id must be a string");
    }
    if (r != 0) {
        return err_fold(r);
    }
    if (id.n == 0 || id.n > LIMIT_AGENT_ID_BYTES) {
        return diag_set(read->diag, AGENT_MESSAGE_E_NO_ID,
                        "Invalid request: id must have 1 to %d bytes", LIMIT_AGENT_ID_BYTES);
    }
    read->request.id = id;
    return 0;
}

static int read_kind(RequestRead *read)
{
    JsonValue value = JSON_VALUE_NULL;

    if (agent_message_member(read->root, "kind", NULL, &value)) {
        for (size_t i = 0; i < AGENT_N_KINDS; i++) {
            if (json_string_equals(value, span_from_str(agent_kind_name((AgentKind)i)))) {
                read->request.kind = (AgentKind)i;
                return 0;
            }
        }
    }
    return agent_message_unknown(read->diag, "request kind", value);
}

/* A member of `metadata`, or of the request itself, where some peers put it. */
static int read_metadata_text(RequestRead *read, JsonValue metadata, const char *name,
                              const char *other, size_t max, Span *ret)
{
    int r = 0;

    *ret = SPAN_NULL;
    if (metadata.node != NULL) {
        r = agent_message_text(read->arena, metadata, "metadata.", name, other, max, ret,
                               read->diag);
    }
    if (r == 0 && ret->n == 0) {
        r = agent_message_text(read->arena, read->root, "", name, other, max, ret, read->diag);
    }
    return r < 0 ? err_pass(r) : r;
}

static int read_metadata(RequestRead *read)
{
    AgentRequest *request = &read->request;
    JsonValue metadata = JSON_VALUE_NULL;
    int r;

    if (agent_message_member(read->root, "metadata", NULL, &metadata) &&
        json_kind(metadata) != JSON_OBJECT) {
        return read_wrong(read, "metadata", "must be an object");
    }
    r = read_metadata_text(read, metadata, "conversationId", "conversation_id",
                           LIMIT_AGENT_ID_BYTES, &request->conversation_id);
    if (r == 0) {
        r = read_metadata_text(read, metadata, "userId", "user_id", LIMIT_AGENT_ID_BYTES,
                               &request->user_id);
    }
    if (r == 0) {
        r = read_metadata_text(read, metadata, "title", NULL, LIMIT_AGENT_LINE_BYTES,
                               &request->title);
    }
    return r < 0 ? err_pass(r) : r;
}

/* One attachment; where: "attachments[2].". */
static int read_attachment(RequestRead *read, JsonValue value, const char *where,
                           AgentAttachment *ret)
{
    struct {
        const char *name;
        const char *other;
        Span *text;
    } members[] = {
        {"path", NULL, &ret->path},
        {"data", NULL, &ret->data},
        {"mime", "mime_type", &ret->mime},
        {"name", NULL, &ret->name},
    };

    if (json_kind(value) != JSON_OBJECT) {
        return agent_message_wrong(read->diag, where, "path", "is missing: expected an object");
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(members); i++) {
        int r = agent_message_utf8(read->arena, value, where, members[i].name, members[i].other,
                                   LIMIT_AGENT_LINE_BYTES, members[i].text, read->diag);

        if (r != 0) {
            return r < 0 ? err_pass(r) : r;
        }
    }
    if (ret->path.n == 0 && ret->data.n == 0) {
        return agent_message_wrong(read->diag, where, "path", "is missing");
    }
    return 0;
}

/* Appends the elements of an array of attachments. */
static int read_attachment_list(RequestRead *read, JsonValue list, const char *name)
{
    size_t n = read->request.n_attachments;
    size_t n_all = n + json_count(list);
    AgentAttachment *all;

    if (n_all > LIMIT_AGENT_ATTACHMENTS) {
        return read_wrong(read, name, "has too many elements");
    }
    all = arena_alloc_array(read->arena, n_all + 1, sizeof(*all));
    if (all == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < n; i++) {
        all[i] = read->request.attachments[i];
    }
    for (JsonIter it = json_iter(list); json_iter_next(&it); n++) {
        char where[64];
        int r;

        (void)snprintf(where, sizeof(where), "%s[%zu].", name, n - read->request.n_attachments);
        r = read_attachment(read, it.value, where, &all[n]);
        if (r != 0) {
            return r < 0 ? err_pass(r) : r;
        }
    }
    read->request.attachments = all;
    read->request.n_attachments = n_all;
    return 0;
}

/* `images`: an array, or, as shells send it, the text of one in a string. */
static int read_images(RequestRead *read)
{
    JsonValue value;
    JsonDoc doc;
    Span text;
    int r;

    if (!agent_message_member(read->root, "images", NULL, &value)) {
        return 0;
    }
    if (json_kind(value) == JSON_STRING) {
        r = json_string(value, read->arena, &text);
        if (r != 0) {
            return err_fold(r);
        }
        if (text.n == 0) {
            return 0;
        }
        r = json_parse(&doc, read->arena, text.p, text.n, NULL, NULL);
        if (r < 0) {
            return err_pass(r);
        }
        if (r > 0) {
            return read_wrong(read, "images", "must be the JSON text of an array");
        }
        value = json_root(&doc);
    }
    if (json_kind(value) != JSON_ARRAY) {
        return read_wrong(read, "images", "must be an array, or the JSON text of one");
    }
    return read_attachment_list(read, value, "images");
}

static int read_user_message(RequestRead *read)
{
    JsonValue value;
    int r = agent_message_text(read->arena, read->root, "", "message", NULL, LIMIT_AGENT_LINE_BYTES,
                               &read->request.message, read->diag);

    if (r != 0) {
        return r < 0 ? err_pass(r) : r;
    }
    if (agent_message_member(read->root, "attachments", NULL, &value)) {
        r = json_kind(value) == JSON_ARRAY ? read_attachment_list(read, value, "attachments")
                                           : read_wrong(read, "attachments", "must be an array");
    }
    if (r == 0) {
        r = read_images(read);
    }
    if (r == 0 && read->request.message.n == 0 && read->request.n_attachments == 0) {
        bool is_there = agent_message_member(read->root, "message", NULL, &value);

        return read_wrong(read, "message", is_there ? "is empty" : "is missing");
    }
    return r < 0 ? err_pass(r) : r;
}

static int read_tool_approval(RequestRead *read)
{
    JsonValue value;
    int r = read_short(read, "toolId", "tool_use_id", &read->request.tool_id);

    if (r != 0) {
        return r < 0 ? err_pass(r) : r;
    }
    if (read->request.tool_id.n == 0) {
        return read_wrong(read, "toolId", "is missing");
    }
    if (!agent_message_member(read->root, "approved", NULL, &value) ||
        !json_bool(value, &read->request.approved)) {
        return read_wrong(read, "approved", "must be true or false");
    }
    return 0;
}

/* What its kind demands. */
static int read_members(RequestRead *read)
{
    switch (read->request.kind) {
    case AGENT_KIND_USER_MESSAGE:
        return read_user_message(read);
    case AGENT_KIND_INTERRUPT:
        return read_short(read, "requestId", "request_id", &read->request.request_id);
    case AGENT_KIND_TOOL_APPROVAL:
        return read_tool_approval(read);
    case AGENT_KIND_LOAD_CONVERSATION:
    case AGENT_KIND_DELETE_CONVERSATION:
        return read->request.conversation_id.n > 0
                   ? 0
                   : read_wrong(read, "conversationId", "is missing");
    default:
        return 0;
    }
}

int agent_request_read(AgentRequest *ret, Arena *arena, Span line, Diag *reterr_diag)
{
    RequestRead read = {.arena = arena, .diag = reterr_diag};
    int r = agent_message_parse(&read.root, arena, line, reterr_diag);

    if (r == AGENT_MESSAGE_E_SYNTAX) {
        int looked = json_look_text_id(line, arena, &read.request.id);

        if (read.request.id.n > LIMIT_AGENT_ID_BYTES) {
            read.request.id = SPAN_NULL;
        }
        r = looked < 0 ? looked : r;
    }
    if (r == 0) {
        r = read_id(&read);
    }
    if (r == 0) {
        r = read_kind(&read);
    }
    if (r == 0) {
        r = read_metadata(&read);
    }
    if (r == 0) {
        r = read_members(&read);
    }
    if (r < 0) {
        return err_pass(r);
    }
    *ret = r == 0 ? read.request : (AgentRequest){.id = read.request.id};
    return r;
}

/* From a sound envelope to a served request: era, `_meta`, state, method.
 *
 * The checks come in this order, and the first that fails is answered:
 *
 *     an id that is open already                               -32600
 *     `_meta` names a protocol version: the modern era
 *         what it names is not a string                        -32602
 *         any version but 2026-07-28, whatever the method      -32022
 *         in a batch                                           -32600
 *         other members of `_meta`                             -32602
 *     shutting down, and the method is not a legacy ping       -32600, an invalid transition
 *     legacy, no session yet, not initialize and not ping      -32602, names the versions
 *     a method that this era or this server does not have      -32601
 *     params                                                   -32602
 */
#include "dialect/mcp/server_internal.h"

#include <stdio.h>

#include "base/error.h"

enum {
    ERA_LEGACY = 1u << 0,
    ERA_MODERN = 1u << 1,
    ERA_BOTH = ERA_LEGACY | ERA_MODERN,
    ERA_TASKS = 1u << 2, /* the one legacy revision that has them in its core */
};

typedef enum Need {
    NEED_NOTHING,
    NEED_TOOLS,
    NEED_RESOURCES,
    NEED_PROMPTS,
    NEED_COMPLETIONS,
    NEED_LOGGING,
    NEED_TASKS,
    NEED_TASK_LIST,
} Need;

typedef struct Method {
    Span name;
    unsigned eras;
    Need need;
    void (*serve)(McpServer *server, const McpInbound *in); /* NULL: a call */
    CallVerb verb;
} Method;

static void answer_empty(McpServer *server, const McpInbound *in)
{
    McpReply reply = mcp_reply_to(server, in);
    McpOut out;
    int r;

    mcp_about_received(server, in, 0);
    r = mcp_out_begin(&out, server, in->batch, false);
    if (r == 0) {
        r = mcp_render_empty(out.bytes, &reply);
    }
    mcp_server_fail(server, mcp_out_end(&out, r));
}

static const char *state_name(McpState state)
{
    static const char *const names[] = {
        [MCP_STATE_UNINITIALIZED] = "Uninitialized",
        [MCP_STATE_INITIALIZING] = "Initializing",
        [MCP_STATE_READY] = "Ready",
        [MCP_STATE_SHUTTING] = "Shutting",
        [MCP_STATE_CLOSED] = "Closed",
    };

    return names[state];
}

static void refuse_transition(McpServer *server, const McpInbound *in)
{
    Span method = in->message->method;

    mcp_refuse_format(server, in, MCP_ERROR_INVALID_REQUEST,
                      "invalid transition: %.*s in state %s%s",
                      (int)(method.n < MCP_NAME_BYTES ? method.n : MCP_NAME_BYTES), method.p,
                      state_name(server->state),
                      server->state == MCP_STATE_SHUTTING ? ": the server is shutting down" : "");
}

static void serve_initialize(McpServer *server, const McpInbound *in)
{
    JsonValue capabilities = JSON_VALUE_NULL;
    JsonValue info = JSON_VALUE_NULL;
    McpReply reply = mcp_reply_to(server, in);
    Span version;
    McpOut out;
    int r;

    if (in->batch != NULL) {
        mcp_refuse(server, in, MCP_ERROR_INVALID_REQUEST, "initialize must not be in a batch");
        return;
    }
    if (server->state != MCP_STATE_UNINITIALIZED) {
        refuse_transition(server, in);
        return;
    }
    if (!mcp_take_string(server, in, in->params, SPAN("protocolVersion"), "params.protocolVersion",
                         true, &version) ||
        !mcp_take_object(server, in, in->params, SPAN("capabilities"), "params.capabilities", false,
                         &capabilities) ||
        !mcp_take_object(server, in, in->params, SPAN("clientInfo"), "params.clientInfo", false,
                         &info)) {
        return;
    }
    if (!mcp_revision_parse(version, &reply.revision) || reply.revision > MCP_NEWEST_LEGACY) {
        reply.revision = MCP_NEWEST_LEGACY;
    }
    mcp_about_received(server, in, 0);
    server->about.opens_session = true;
    r = mcp_out_begin(&out, server, NULL, true);
    if (r == 0) {
        r = mcp_render_initialize(out.bytes, &reply, &in->offer);
    }
    r = mcp_out_end(&out, r);
    if (r != 0) {
        mcp_server_fail(server, r);
        return;
    }
    server->has_session = true;
    server->revision = reply.revision;
    server->can = mcp_client_can(capabilities, reply.revision);
    /* The specification leaves it to us what passes until the client says: not what only those who
     * look for a fault want. */
    server->log_level = CALL_LOG_INFO;
    server->announced = in->offer;
    server->state = MCP_STATE_INITIALIZING;
}

static void serve_discover(McpServer *server, const McpInbound *in)
{
    McpReply reply = mcp_reply_to(server, in);
    McpOut out;
    int r;

    mcp_about_received(server, in, 0);
    r = mcp_out_begin(&out, server, in->batch, true);
    if (r == 0) {
        r = mcp_render_discover(out.bytes, &reply, &in->offer);
    }
    mcp_server_fail(server, mcp_out_end(&out, r));
}

static void serve_set_level(McpServer *server, const McpInbound *in)
{
    Span level;

    if (!mcp_take_string(server, in, in->params, SPAN("level"), "params.level", true, &level)) {
        return;
    }
    if (!call_log_level_parse(level, &server->log_level)) {
        mcp_refuse(server, in, MCP_ERROR_INVALID_PARAMS,
                   "params.level must be debug, info, notice, warning, error, critical, alert or "
                   "emergency");
        return;
    }
    answer_empty(server, in);
}

void mcp_serve_unsubscribe(McpServer *server, const McpInbound *in)
{
    Span uri;

    if (mcp_check_string(server, in, in->known.uri, "params.uri", true, &uri)) {
        mcp_unsubscribe(server, uri);
        answer_empty(server, in);
    }
}

/* In the order in which they are looked for. */
static const Method methods[] = {
    {{"tools/call", 10}, ERA_BOTH, NEED_TOOLS, NULL, CALL_TOOL},
    {{"ping", 4}, ERA_LEGACY, NEED_NOTHING, answer_empty, 0},
    {{"tools/list", 10}, ERA_BOTH, NEED_TOOLS, NULL, CALL_LIST_TOOLS},
    {{"resources/read", 14}, ERA_BOTH, NEED_RESOURCES, NULL, CALL_READ},
    {{"resources/list", 14}, ERA_BOTH, NEED_RESOURCES, NULL, CALL_LIST_RESOURCES},
    {{"resources/templates/list", 24}, ERA_BOTH, NEED_RESOURCES, NULL, CALL_LIST_TEMPLATES},
    {{"resources/subscribe", 19}, ERA_LEGACY, NEED_RESOURCES, NULL, CALL_SUBSCRIBE},
    {{"resources/unsubscribe", 21}, ERA_LEGACY, NEED_RESOURCES, mcp_serve_unsubscribe, 0},
    {{"prompts/get", 11}, ERA_BOTH, NEED_PROMPTS, NULL, CALL_PROMPT},
    {{"prompts/list", 12}, ERA_BOTH, NEED_PROMPTS, NULL, CALL_LIST_PROMPTS},
    {{"completion/complete", 19}, ERA_BOTH, NEED_COMPLETIONS, NULL, CALL_COMPLETE},
    {{"tasks/get", 9}, ERA_TASKS | ERA_MODERN, NEED_TASKS, NULL, CALL_TASK_GET},
    {{"tasks/result", 12}, ERA_TASKS, NEED_TASKS, NULL, CALL_TASK_RESULT},
    {{"tasks/update", 12}, ERA_MODERN, NEED_TASKS, NULL, CALL_TASK_UPDATE},
    {{"tasks/cancel", 12}, ERA_TASKS | ERA_MODERN, NEED_TASKS, NULL, CALL_TASK_CANCEL},
    {{"tasks/list", 10}, ERA_TASKS, NEED_TASK_LIST, NULL, CALL_LIST_TASKS},
    {{"logging/setLevel", 16}, ERA_LEGACY, NEED_LOGGING, serve_set_level, 0},
    {{"initialize", 10}, ERA_LEGACY, NEED_NOTHING, serve_initialize, 0},
    {{"server/discover", 15}, ERA_MODERN, NEED_NOTHING, serve_discover, 0},
    {{"subscriptions/listen", 20}, ERA_MODERN, NEED_NOTHING, mcp_serve_listen, 0},
};

static bool is_offered(const McpOffer *offer, Need need)
{
    switch (need) {
    case NEED_TOOLS:
        return offer->tools;
    case NEED_RESOURCES:
        return offer->resources;
    case NEED_PROMPTS:
        return offer->prompts;
    case NEED_COMPLETIONS:
        return offer->completions;
    case NEED_LOGGING:
        return offer->logging;
    case NEED_TASKS:
        return offer->tasks;
    case NEED_TASK_LIST:
        return offer->tasks && offer->lists_tasks;
    case NEED_NOTHING:
        break;
    }
    return true;
}

/* NULL if none of these eras, or not this server, has such a method. */
static const Method *find_method(Span name, unsigned eras, const McpOffer *offer)
{
    for (size_t i = 0; i < TW_ARRAY_SIZE(methods); i++) {
        if (span_equals(methods[i].name, name)) {
            return (methods[i].eras & eras) != 0 && is_offered(offer, methods[i].need) ? &methods[i]
                                                                                       : NULL;
        }
    }
    return NULL;
}

static unsigned eras_of(McpRevision revision)
{
    if (revision >= MCP_FIRST_MODERN) {
        return ERA_MODERN;
    }
    return mcp_has_tasks(revision) ? ERA_LEGACY | ERA_TASKS : ERA_LEGACY;
}

/* "2024-11-05, …": those that begin with initialize. */
typedef struct Versions {
    char text[16 * MCP_N_REVISIONS];
} Versions;

static Versions legacy_versions(void)
{
    Versions versions;
    size_t n = 0;

    for (int i = 0; i <= MCP_NEWEST_LEGACY; i++) {
        n += (size_t)snprintf(versions.text + n, sizeof(versions.text) - n, "%s%s",
                              i == 0 ? "" : ", ", mcp_revision_text((McpRevision)i).p);
    }
    return versions;
}

static void refuse_no_session(McpServer *server, const McpInbound *in)
{
    Versions versions = legacy_versions();

    mcp_refuse_format(server, in, MCP_ERROR_INVALID_PARAMS,
                      "no session: send initialize first (%s), or name %s in %s", versions.text,
                      mcp_revision_text(MCP_FIRST_MODERN).p, MCP_META_PATH("protocolVersion"));
}

static void refuse_method(McpServer *server, const McpInbound *in)
{
    Span method = in->message->method;
    Versions versions;

    if (span_equals(method, SPAN("initialize"))) {
        /* A client that sends both may be of either era: it learns how to go on in each. */
        versions = legacy_versions();
        mcp_refuse_format(server, in, MCP_ERROR_METHOD_NOT_FOUND,
                          "Method not found: initialize in %s, which has none; without %s it opens "
                          "a session of %s",
                          mcp_revision_text(MCP_FIRST_MODERN).p, MCP_META_PATH("protocolVersion"),
                          versions.text);
        return;
    }
    mcp_refuse_format(server, in, MCP_ERROR_METHOD_NOT_FOUND, "Method not found: %.*s",
                      (int)(method.n < MCP_NAME_BYTES ? method.n : MCP_NAME_BYTES), method.p);
}

/* The method, once era and `_meta` are known. */
static void serve_method(McpServer *server, McpInbound *in, bool has_bad_params)
{
    const McpServerConfig *config = &server->config;
    Span name = in->message->method;
    bool is_modern = in->revision >= MCP_FIRST_MODERN;
    bool is_ping = !is_modern && span_equals(name, SPAN("ping"));
    bool is_bare = false;
    const Method *method;

    if (server->state == MCP_STATE_SHUTTING && !is_ping) {
        refuse_transition(server, in);
        return;
    }
    if (!is_modern && !server->has_session && !is_ping && !span_equals(name, SPAN("initialize"))) {
        refuse_no_session(server, in);
        return;
    }
    method = find_method(name, eras_of(in->revision), &in->offer);
    if (method == NULL && !is_modern && in->offer.tools && config->is_tool != NULL) {
        is_bare = config->is_tool(config->context, name);
    }
    if (method == NULL && !is_bare) {
        refuse_method(server, in);
    } else if (is_modern && method->need == NEED_TASKS && !in->takes_tasks) {
        mcp_refuse_undeclared(server, in);
    } else if (has_bad_params) {
        mcp_refuse(server, in, MCP_ERROR_INVALID_PARAMS, "params must be an object");
    } else if (is_bare) {
        mcp_serve_bare_tool(server, in);
    } else if (method->serve != NULL) {
        method->serve(server, in);
    } else {
        mcp_serve_call(server, in, method->name, method->verb);
    }
}

void mcp_serve_request(McpServer *server, const JsonrpcMessage *message, McpBatch *batch)
{
    McpInbound in = {.message = message, .batch = batch, .params = message->params};
    bool has_bad_params = in.params.node != NULL && json_kind(in.params) != JSON_OBJECT;
    int r = jsonrpc_id_key(message->id, &server->arena, &in.key);

    server->had_request = true;
    if (has_bad_params) {
        in.params = JSON_VALUE_NULL;
    }
    if (r == 0 && in.params.node != NULL) {
        r = mcp_params_read(&in.known, in.params, &server->arena);
    }
    if (r != 0) {
        mcp_server_fail(server, err_fold(r));
        return;
    }
    if (mcp_requests_find(&server->requests, in.key) != NULL) {
        mcp_refuse(server, &in, MCP_ERROR_INVALID_REQUEST, "a request of that id is open already");
        return;
    }
    in.offer = server->config.offer(server->config.context);
    if (!mcp_take_meta(server, &in)) {
        return;
    }
    if (!in.offer.logging) {
        in.log_level = CALL_LOG_NONE;
    }
    serve_method(server, &in, has_bad_params);
}

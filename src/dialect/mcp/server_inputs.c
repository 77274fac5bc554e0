/* What a modern client brings back: the answers, checked, and the state that they belong to. */
#include "dialect/mcp/server_internal.h"

#include "base/error.h"
#include "base/limits.h"
#include "dialect/mcp/state.h"
#include "json/writer.h"

/* A schema as deep as JSON may be, and the two objects around it in what was asked. */
#define ASKED_DEPTH (LIMIT_JSON_DEPTH + 2)

/* What a requestState held, and what came with it; node NULL where there is none. */
typedef struct Returned {
    JsonValue asked;
    JsonValue older; /* answers */
    JsonValue newer;
    Span state; /* the provider's */
} Returned;

static void refuse_state(McpServer *server, const McpInbound *in)
{
    mcp_refuse(server, in, MCP_ERROR_INVALID_PARAMS,
               "params.requestState is not what this server gave for this request");
}

/* One JSON object when we sealed it, or empty. False if the request was refused. */
static bool parse_part(McpServer *server, const McpInbound *in, Span text, JsonValue *ret)
{
    JsonLimits limits = {.max_depth = ASKED_DEPTH};
    JsonDoc doc;
    int r;

    if (text.n == 0) {
        return true;
    }
    r = json_parse(&doc, &server->arena, text.p, text.n, &limits, NULL);
    if (r < 0) {
        mcp_server_fail(server, r);
        return false;
    }
    if (r > 0 || json_kind(json_root(&doc)) != JSON_OBJECT) {
        refuse_state(server, in);
        return false;
    }
    *ret = json_root(&doc);
    return true;
}

/* False if the request was refused. */
static bool open_state(McpServer *server, const McpInbound *in, const McpStateBinding *binding,
                       Span text, Returned *ret)
{
    McpStateParts parts;
    int r = mcp_state_open(&server->arena, server->config.sealer, binding, server->now_ms, text,
                           &parts);

    if (r == MCP_STATE_E_FORGED) {
        refuse_state(server, in);
    } else if (r == MCP_STATE_E_EXPIRED) {
        mcp_refuse(server, in, MCP_ERROR_INVALID_PARAMS, "params.requestState has expired");
    } else if (r == MCP_STATE_E_TOO_LARGE) {
        mcp_refuse(server, in, MCP_ERROR_INVALID_PARAMS, "params.requestState is too large");
    } else {
        mcp_server_fail(server, err_fold(r));
    }
    if (r != 0) {
        return false;
    }
    ret->state = parts.own;
    return parse_part(server, in, parts.asked, &ret->asked) &&
           parse_part(server, in, parts.answers, &ret->older);
}

static bool are_objects(McpServer *server, const McpInbound *in, JsonValue responses)
{
    for (JsonIter it = json_iter(responses); json_iter_next(&it);) {
        if (json_kind(it.value) != JSON_OBJECT) {
            mcp_refuse(server, in, MCP_ERROR_INVALID_PARAMS,
                       "params.inputResponses must hold objects only");
            return false;
        }
    }
    return true;
}

/* What was asked under the name of that response; false if nothing was. */
static bool find_asked(JsonValue asked, Span key, CallAskKind *ret_kind, Span *ret_schema)
{
    JsonValue question;
    JsonValue v;

    if (asked.node == NULL || !json_get(asked, key, &question) ||
        !json_get(question, SPAN("kind"), &v) || !mcp_ask_kind_parse(v, ret_kind)) {
        return false;
    }
    *ret_schema = json_get(question, SPAN("schema"), &v) ? json_span(v) : SPAN_NULL;
    return true;
}

/* Writes the responses that answer a question. 0, -ENOMEM; MCP_ANSWER_E_MALFORMED if the request
 * was refused. */
static int write_newer(McpServer *server, const McpInbound *in, const Returned *returned,
                       JsonWriter *w)
{
    for (JsonIter it = json_iter(returned->newer); json_iter_next(&it);) {
        McpProblem problem;
        CallAskKind kind;
        Span schema;
        Span key;
        int r = json_string_exact(it.key, &server->arena, &key);

        if (r != 0) {
            return err_fold(r);
        }
        if (!find_asked(returned->asked, key, &kind, &schema)) {
            continue;
        }
        r = mcp_answer_check(kind, schema, it.value, &problem);
        if (r == MCP_ANSWER_E_MALFORMED) {
            mcp_refuse_format(server, in, MCP_ERROR_INVALID_PARAMS,
                              "params.inputResponses[\"%.*s\"] is malformed: %s",
                              (int)(key.n < MCP_NAME_BYTES ? key.n : MCP_NAME_BYTES), key.p,
                              problem.text);
        }
        if (r != 0) {
            return r;
        }
        json_write_exact_key(w, key);
        json_write_raw(w, json_span(it.value));
    }
    return 0;
}

/* Answers of earlier rounds, but those that were asked for again and have a newer one. */
static int write_older(McpServer *server, const Returned *returned, JsonWriter *w)
{
    JsonValue unused;

    if (returned->older.node == NULL) {
        return 0;
    }
    for (JsonIter it = json_iter(returned->older); json_iter_next(&it);) {
        CallAskKind kind;
        Span schema;
        Span key;
        int r = json_string_exact(it.key, &server->arena, &key);

        if (r != 0) {
            return err_fold(r);
        }
        if (!find_asked(returned->asked, key, &kind, &schema) ||
            !json_get(returned->newer, key, &unused)) {
            json_write_exact_key(w, key);
            json_write_raw(w, json_span(it.value));
        }
    }
    return 0;
}

/* All answers so far as one object; node NULL if there are none. As write_newer. */
static int merge_answers(McpServer *server, const McpInbound *in, const Returned *returned,
                         JsonValue *ret)
{
    Span merged = SPAN_NULL;
    JsonWriter w;
    JsonDoc doc;
    int r;

    json_writer_init(&w, &server->text, JSON_STYLE_COMPACT);
    json_write_object(&w);
    r = write_older(server, returned, &w);
    if (r == 0) {
        r = write_newer(server, in, returned, &w);
    }
    json_write_end_object(&w);
    if (r == 0) {
        /* Room is enough for a whole message and a whole state. */
        r = err_fold(json_writer_finish(&w));
    }
    if (r == 0) {
        merged = arena_copy(&server->arena, bytes_span(&server->text));
        r = merged.p == NULL ? err_raise(-ENOMEM) : 0;
    }
    bytes_clear_keep(&server->text, LIMIT_KEEP_BYTES);
    if (r == 0) {
        r = err_fold(json_parse(&doc, &server->arena, merged.p, merged.n, NULL, NULL));
    }
    if (r == 0) {
        *ret = json_count(json_root(&doc)) > 0 ? json_root(&doc) : JSON_VALUE_NULL;
    }
    return r;
}

bool mcp_take_responses(McpServer *server, const McpInbound *in, bool is_required, JsonValue *ret)
{
    return mcp_check_object(server, in, in->known.responses, "params.inputResponses", is_required,
                            ret) &&
           (ret->node == NULL || are_objects(server, in, *ret));
}

bool mcp_take_inputs(McpServer *server, const McpInbound *in, Span method, Span target,
                     JsonValue arguments, JsonValue *ret_inputs, Span *ret_state)
{
    McpStateBinding binding = {.method = method, .target = target, .arguments = arguments};
    Returned returned = {.asked = JSON_VALUE_NULL};
    Span text = SPAN_NULL;
    int r;

    if (!mcp_check_object(server, in, in->known.responses, "params.inputResponses", false,
                          &returned.newer) ||
        !mcp_check_string(server, in, in->known.state, "params.requestState", false, &text)) {
        return false;
    }
    if (text.p == NULL) {
        /* Nobody knows what was asked, so that nothing can be said but that every answer is an
         * object. They are handed on: a client that knows the questions beforehand may answer them
         * unasked. */
        *ret_inputs = returned.newer;
        return returned.newer.node == NULL || are_objects(server, in, returned.newer);
    }
    if (!open_state(server, in, &binding, text, &returned)) {
        return false;
    }
    *ret_state = returned.state;
    if (returned.newer.node == NULL) {
        *ret_inputs = returned.older;
        return true;
    }
    r = merge_answers(server, in, &returned, ret_inputs);
    mcp_server_fail(server, r < 0 ? r : 0);
    return r == 0;
}

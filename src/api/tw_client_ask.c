/* Questions of the server, answered inside a callback. */
#include <toolwire/error.h>

#include "api/tw_client.h"
#include "base/limits.h"
#include "json/writer.h"

/* JSON-RPC: what a client says that does not do what it is asked. */
#define ASK_REFUSED_CODE (-32601)

struct TwAsk {
    TwClient *client;
    uint64_t number;
    TwAskKind kind;
    JsonValue params; /* node NULL: none */
    Arena arena;      /* strings given out, index of what is given in */
    bool answered;
};

/* ---- reading ---- */

TwAskKind tw_ask_kind(const TwAsk *ask)
{
    return ask->kind;
}

/* A member as text or JSON; "" if it is not there. */
static const char *ask_member(TwAsk *ask, const char *name, bool as_json)
{
    JsonValue v = JSON_VALUE_NULL;
    const char *text;

    (void)api_view_find(ask->params, API_NAME_MEMBER, name, &v);
    text = as_json ? api_view_text(v, &ask->arena) : api_view_string(v, &ask->arena, NULL);
    return text != NULL ? text : "";
}

const char *tw_ask_message(TwAsk *ask)
{
    return ask_member(ask, "message", false);
}

const char *tw_ask_schema(TwAsk *ask)
{
    return ask_member(ask, "requestedSchema", true);
}

const char *tw_ask_url(TwAsk *ask)
{
    return ask_member(ask, "url", false);
}

const char *tw_ask_params(TwAsk *ask)
{
    const char *text = api_view_text(ask->params, &ask->arena);

    return text != NULL ? text : "{}";
}

/* ---- answering ---- */

static int ask_send(TwAsk *ask, Span result)
{
    int r;

    if (ask->answered) {
        return TW_ERROR_OVER;
    }
    r = mcp_peer_answer(ask->client->peer, ask->number, result);
    if (r != 0) {
        return api_error_of(r);
    }
    ask->answered = true;
    return 0;
}

/* {"action": …, "content": …}; content may be NULL. */
static int ask_act(TwAsk *ask, const char *action, const char *content_json)
{
    CLEANUP(bytes_deinit) Bytes out = BYTES_NULL;
    JsonValue content;
    JsonWriter w;
    int r;

    if (ask->kind != TW_ASK_FORM && ask->kind != TW_ASK_URL) {
        return TW_ERROR_ARGUMENT;
    }
    bytes_init(&out, LIMIT_MCP_RESPONSE_BYTES);
    json_writer_init(&w, &out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("action"));
    json_write_string(&w, span_from_str(action));
    if (content_json != NULL) {
        r = api_json_check(content_json, API_JSON_OBJECT, "content", &ask->arena, &content, NULL);
        if (r != 0) {
            return r;
        }
        json_write_key(&w, SPAN("content"));
        json_write_value(&w, content);
    }
    json_write_end_object(&w);
    r = json_writer_finish(&w);
    if (r != 0) {
        return r == BYTES_E_FULL ? TW_ERROR_FULL : api_error_of(r);
    }
    return ask_send(ask, bytes_span(&out));
}

int tw_ask_accept(TwAsk *ask, const char *content_json)
{
    if (ask->kind == TW_ASK_FORM && content_json == NULL) {
        return TW_ERROR_JSON;
    }
    return ask_act(ask, "accept", content_json);
}

int tw_ask_decline(TwAsk *ask)
{
    return ask_act(ask, "decline", NULL);
}

int tw_ask_cancel(TwAsk *ask)
{
    return ask_act(ask, "cancel", NULL);
}

int tw_ask_result(TwAsk *ask, const char *result_json)
{
    CLEANUP(bytes_deinit) Bytes out = BYTES_NULL;
    int r;

    bytes_init(&out, LIMIT_MCP_RESPONSE_BYTES);
    r = api_json_compact(result_json, API_JSON_OBJECT, &ask->arena, &out);
    return r != 0 ? r : ask_send(ask, bytes_span(&out));
}

int tw_ask_refuse(TwAsk *ask, int code, const char *message)
{
    int r;

    if (ask->answered) {
        return TW_ERROR_OVER;
    }
    r = mcp_peer_refuse(ask->client->peer, ask->number, code, api_span(message));
    if (r != 0) {
        return api_error_of(r);
    }
    ask->answered = true;
    return 0;
}

void api_client_on_ask(TwClient *client, const McpClientEvent *event)
{
    TwAsk ask = {.client = client,
                 .number = event->ask,
                 .kind = (TwAskKind)event->ask_kind,
                 .params = event->value};

    arena_init(&ask.arena, SIZE_MAX);
    if (client->options.ask != NULL) {
        client->options.ask(&ask, client->options.user);
    }
    if (!ask.answered) {
        (void)tw_ask_refuse(&ask, ASK_REFUSED_CODE, "this client does not answer that");
    }
    arena_deinit(&ask.arena);
}

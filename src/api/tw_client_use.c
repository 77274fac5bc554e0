/* What a client does with its server: lists, calls, reads, subscriptions. */
#include <toolwire/error.h>

#include "api/tw_client.h"
#include "base/limits.h"
#include "json/writer.h"

/* Pages of one list; a server that never ends is not waited for. */
#define CLIENT_MAX_PAGES 10000

/* ---- params ---- */

static void params_begin(TwClient *client, JsonWriter *w)
{
    bytes_clear_keep(&client->params, LIMIT_KEEP_BYTES);
    json_writer_init(w, &client->params, JSON_STYLE_COMPACT);
    json_write_object(w);
}

static int params_end(TwClient *client, JsonWriter *w)
{
    int r;

    json_write_end_object(w);
    r = json_writer_finish(w);
    if (r == 0) {
        return 0;
    }
    r = r == BYTES_E_FULL ? TW_ERROR_FULL : api_error_of(r);
    return api_client_fail(client, r, tw_error_text(r));
}

static void params_text(JsonWriter *w, Span key, const char *text)
{
    json_write_key(w, key);
    json_write_string(w, span_from_str(text));
}

/* {key: name, "arguments": …}; arguments may be NULL. */
static int params_named(TwClient *client, Span key, const char *name, const char *arguments_json)
{
    CLEANUP(arena_deinit) Arena arena = ARENA_NULL;
    Diag diag = DIAG_NULL;
    JsonValue arguments;
    JsonWriter w;

    if (name == NULL) {
        return api_client_fail(client, TW_ERROR_ARGUMENT, tw_error_text(TW_ERROR_ARGUMENT));
    }
    params_begin(client, &w);
    params_text(&w, key, name);
    if (arguments_json != NULL) {
        int r;

        arena_init(&arena, SIZE_MAX);
        r = api_json_check(arguments_json, API_JSON_OBJECT, "arguments", &arena, &arguments, &diag);
        if (r != 0) {
            return api_client_fail(client, r, diag.message);
        }
        json_write_key(&w, SPAN("arguments"));
        json_write_value(&w, arguments);
    }
    return params_end(client, &w);
}

/* ---- lists ---- */

/* Appends the page's elements to out, and makes params of its cursor. 0: there are more pages. */
enum {
    LIST_LAST_PAGE = 1
};

static int list_add_page(TwClient *client, Span member, TwResult *page, Bytes *out)
{
    JsonValue elements;
    JsonValue cursor;
    JsonWriter w;
    int r = 0;

    if (json_get(page->root, member, &elements)) {
        for (JsonIter it = json_iter(elements); r == 0 && json_iter_next(&it);) {
            if (out->data[out->n - 1] != '[') {
                r = bytes_append_byte(out, ',');
            }
            if (r == 0) {
                r = bytes_append_span(out, json_span(it.value));
            }
        }
    }
    if (r != 0) {
        r = r == BYTES_E_FULL ? TW_ERROR_FULL : api_error_of(r);
        return api_client_fail(client, r, tw_error_text(r));
    }
    if (!json_get(page->root, SPAN("nextCursor"), &cursor) || json_kind(cursor) != JSON_STRING) {
        return LIST_LAST_PAGE;
    }
    params_begin(client, &w);
    json_write_key(&w, SPAN("cursor"));
    json_write_raw(&w, json_span(cursor));
    return params_end(client, &w);
}

/* An element holds no white space that matters, but may hold newlines: none were on the wire. */
static int client_list(TwClient *client, Span method, Span member, TwResult **ret_result)
{
    CLEANUP(bytes_deinit) Bytes out = BYTES_NULL;
    int r = api_client_check(client);

    if (r != 0 || ret_result == NULL) {
        return r != 0 ? r : TW_ERROR_ARGUMENT;
    }
    /* As much as a hundred answers of the largest size. */
    bytes_init(&out, LIMIT_MCP_RESPONSE_BYTES * 100);
    bytes_clear(&client->params);
    r = bytes_append_format(&out, "{\"%.*s\":[", (int)member.n, member.p);
    for (unsigned i = 0; r == 0; i++) {
        TwResult *page = NULL;

        if (i == CLIENT_MAX_PAGES) {
            return api_client_fail(client, TW_ERROR_FULL, "the list has no end");
        }
        r = api_client_ask_server(client, method, &page);
        if (r != 0) {
            return r;
        }
        r = list_add_page(client, member, page, &out);
        tw_result_free(page);
    }
    if (r < 0 || bytes_append_span(&out, SPAN("]}")) != 0) {
        return r < 0 ? r : api_client_fail(client, TW_ERROR_MEMORY, tw_error_text(TW_ERROR_MEMORY));
    }
    *ret_result = api_result_from(bytes_span(&out));
    return *ret_result != NULL
               ? 0
               : api_client_fail(client, TW_ERROR_MEMORY, tw_error_text(TW_ERROR_MEMORY));
}

int tw_client_list_tools(TwClient *client, TwResult **ret_result)
{
    return client_list(client, SPAN("tools/list"), SPAN("tools"), ret_result);
}

int tw_client_list_resources(TwClient *client, TwResult **ret_result)
{
    return client_list(client, SPAN("resources/list"), SPAN("resources"), ret_result);
}

int tw_client_list_templates(TwClient *client, TwResult **ret_result)
{
    return client_list(client, SPAN("resources/templates/list"), SPAN("resourceTemplates"),
                       ret_result);
}

int tw_client_list_prompts(TwClient *client, TwResult **ret_result)
{
    return client_list(client, SPAN("prompts/list"), SPAN("prompts"), ret_result);
}

/* ---- use ---- */

static int client_use(TwClient *client, Span method, Span key, const char *name,
                      const char *arguments_json, TwResult **ret_result)
{
    int r = api_client_check(client);

    if (r == 0) {
        r = params_named(client, key, name, arguments_json);
    }
    return r != 0 ? r : api_client_ask_server(client, method, ret_result);
}

int tw_client_call(TwClient *client, const char *tool, const char *arguments_json,
                   TwResult **ret_result)
{
    return client_use(client, SPAN("tools/call"), SPAN("name"), tool, arguments_json, ret_result);
}

int tw_client_read_resource(TwClient *client, const char *uri, TwResult **ret_result)
{
    return client_use(client, SPAN("resources/read"), SPAN("uri"), uri, NULL, ret_result);
}

int tw_client_get_prompt(TwClient *client, const char *prompt, const char *arguments_json,
                         TwResult **ret_result)
{
    return client_use(client, SPAN("prompts/get"), SPAN("name"), prompt, arguments_json,
                      ret_result);
}

static int client_complete(TwClient *client, const char *type, Span key, const char *name,
                           const char *argument, const char *typed, TwResult **ret_result)
{
    JsonWriter w;
    int r = api_client_check(client);

    if (r != 0) {
        return r;
    }
    if (name == NULL || argument == NULL) {
        return api_client_fail(client, TW_ERROR_ARGUMENT, tw_error_text(TW_ERROR_ARGUMENT));
    }
    params_begin(client, &w);
    json_write_key(&w, SPAN("ref"));
    json_write_object(&w);
    params_text(&w, SPAN("type"), type);
    params_text(&w, key, name);
    json_write_end_object(&w);
    json_write_key(&w, SPAN("argument"));
    json_write_object(&w);
    params_text(&w, SPAN("name"), argument);
    params_text(&w, SPAN("value"), typed != NULL ? typed : "");
    json_write_end_object(&w);
    r = params_end(client, &w);
    return r != 0 ? r : api_client_ask_server(client, SPAN("completion/complete"), ret_result);
}

int tw_client_complete_prompt(TwClient *client, const char *prompt, const char *argument,
                              const char *typed, TwResult **ret_result)
{
    return client_complete(client, "ref/prompt", SPAN("name"), prompt, argument, typed, ret_result);
}

int tw_client_complete_template(TwClient *client, const char *uri_template, const char *variable,
                                const char *typed, TwResult **ret_result)
{
    return client_complete(client, "ref/resource", SPAN("uri"), uri_template, variable, typed,
                           ret_result);
}

/* ---- anything ---- */

static int params_any(TwClient *client, const char *params_json)
{
    CLEANUP(arena_deinit) Arena arena = ARENA_NULL;
    int r;

    bytes_clear_keep(&client->params, LIMIT_KEEP_BYTES);
    if (params_json == NULL) {
        return 0;
    }
    arena_init(&arena, SIZE_MAX);
    r = api_json_compact(params_json, API_JSON_OBJECT, &arena, &client->params);
    return r == 0 ? 0 : api_client_fail(client, r, "params must be a JSON object");
}

int tw_client_request(TwClient *client, const char *method, const char *params_json,
                      TwResult **ret_result)
{
    int r = api_client_check(client);

    if (r != 0 || method == NULL) {
        return r != 0 ? r : TW_ERROR_ARGUMENT;
    }
    r = params_any(client, params_json);
    return r != 0 ? r : api_client_ask_server(client, span_from_str(method), ret_result);
}

int tw_client_notify(TwClient *client, const char *method, const char *params_json)
{
    int r = api_client_check(client);

    if (r != 0 || method == NULL) {
        return r != 0 ? r : TW_ERROR_ARGUMENT;
    }
    r = params_any(client, params_json);
    if (r != 0) {
        return r;
    }
    r = mcp_peer_notify(client->peer, span_from_str(method), bytes_span(&client->params));
    if (r != 0) {
        r = r == MCP_CLIENT_E_ENDED ? TW_ERROR_CLOSED : api_error_of(r);
        return api_client_fail(client, r, tw_error_text(r));
    }
    /* It is written before the loop waits. */
    return tw_client_wait(client, 0);
}

/* ---- subscriptions ---- */

static int subscribe_legacy_each(TwClient *client, Span method, char *const *uris)
{
    int r = 0;

    for (; r == 0 && uris != NULL && *uris != NULL; uris++) {
        r = params_named(client, SPAN("uri"), *uris, NULL);
        if (r == 0) {
            r = api_client_ask_server(client, method, NULL);
        }
    }
    return r;
}

/* List changes come unasked in these revisions. */
static int subscribe_legacy(TwClient *client, const char *const *uris)
{
    char **old = client->subscribed;
    int r = subscribe_legacy_each(client, SPAN("resources/unsubscribe"), old);

    client->subscribed = api_free_list(old);
    if (r != 0) {
        return r;
    }
    if (!api_copy_list(&client->subscribed, uris)) {
        return api_client_fail(client, TW_ERROR_MEMORY, tw_error_text(TW_ERROR_MEMORY));
    }
    r = subscribe_legacy_each(client, SPAN("resources/subscribe"), client->subscribed);
    if (r != 0) {
        client->subscribed = api_free_list(client->subscribed);
    }
    return r;
}

static int subscribe_modern_params(TwClient *client, const char *const *uris)
{
    static const Span lists[] = {
        {"toolsListChanged", 16}, {"resourcesListChanged", 20}, {"promptsListChanged", 18}};
    JsonWriter w;

    params_begin(client, &w);
    json_write_key(&w, SPAN("notifications"));
    json_write_object(&w);
    for (size_t i = 0; i < TW_ARRAY_SIZE(lists); i++) {
        json_write_key(&w, lists[i]);
        json_write_bool(&w, true);
    }
    if (uris != NULL && *uris != NULL) {
        json_write_key(&w, SPAN("resourceSubscriptions"));
        json_write_array(&w);
        for (; *uris != NULL; uris++) {
            json_write_string(&w, span_from_str(*uris));
        }
        json_write_end_array(&w);
    }
    json_write_end_object(&w);
    return params_end(client, &w);
}

static int subscribe_modern(TwClient *client, const char *const *uris)
{
    McpRequestId old = client->listening;
    int r = subscribe_modern_params(client, uris);

    if (r != 0) {
        return r;
    }
    client->finished = false;
    r = mcp_peer_request(client->peer, SPAN("subscriptions/listen"), bytes_span(&client->params),
                         false, &client->waiting);
    if (r != 0) {
        r = r == MCP_CLIENT_E_ENDED ? TW_ERROR_CLOSED : api_error_of(r);
        return api_client_fail(client, r, tw_error_text(r));
    }
    client->listening = client->waiting;
    client->acknowledging = true;
    r = api_client_run(client);
    client->acknowledging = false;
    tw_result_free(client->result);
    client->result = NULL;
    if (r == 0 && old != 0) {
        mcp_peer_cancel(client->peer, old, SPAN("replaced"));
    }
    return r;
}

int tw_client_subscribe(TwClient *client, const char *const *uris)
{
    int r = api_client_check(client);

    if (r != 0) {
        return r;
    }
    return mcp_client_revision(mcp_peer_client(client->peer)) >= MCP_FIRST_MODERN
               ? subscribe_modern(client, uris)
               : subscribe_legacy(client, uris);
}

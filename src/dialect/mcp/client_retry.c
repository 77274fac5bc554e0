/* What a modern server over HTTP refuses and may take the second time: a version that it names
 * itself
 * (-32022), and headers that do not fit a tool whose schema we do not know, or not any more
 * (-32020): the transport learns schemas from every tools/list that passes, so one is asked for
 * here. */
#include "dialect/mcp/client_internal.h"

#include "base/error.h"
#include "dialect/mcp/render.h"

/* Pages of our own tools/list: a server that goes round in circles must not keep the call. */
#define RETRY_MAX_PAGES 100

bool client_names_modern(JsonValue versions)
{
    for (JsonIter it = json_iter(versions); json_iter_next(&it);) {
        if (json_string_equals(it.value, mcp_revision_text(MCP_2026_07_28))) {
            return true;
        }
    }
    return false;
}

static int retry_ask_list(McpClient *client, Span params)
{
    ClientRequest *request = client->refresh;
    int r = 0;

    if (request == NULL) {
        r = client_request_open(client, &request);
        if (r != 0) {
            return err_pass(r);
        }
        request->is_ours = true;
        client->refresh = request;
        client->n_refresh_pages = 0;
    }
    client_request_set_wire(client, request, 0);
    r = client_request_send(client, request,
                            &(ClientText){.method = SPAN("tools/list"), .params = params});
    if (r != 0) {
        client_request_close(client, request);
    }
    return r;
}

/* The list has come, or will not: those that waited for it. */
static void retry_send_waiting(McpClient *client, bool is_listed)
{
    ClientRequest *next;

    for (ClientRequest *request = client->first; request != NULL; request = next) {
        next = request->next;
        if (!request->waits_for_list) {
            continue;
        }
        request->waits_for_list = false;
        if (!is_listed) {
            client_request_end(client, request, MCP_ERROR_HEADER_MISMATCH,
                               SPAN("the server refuses the headers of the call, and does not list "
                                    "its tools"));
        } else if (client_request_send_kept(client, request) != 0) {
            client_request_end(client, request, MCP_CLIENT_CODE_ENDED,
                               SPAN("the request could not be sent"));
        }
    }
}

int client_retry_listed(McpClient *client, JsonValue result)
{
    CLEANUP(bytes_deinit) Bytes params = BYTES_NULL;
    JsonValue cursor;
    int r;

    if (result.node != NULL && json_get(result, SPAN("nextCursor"), &cursor) &&
        json_kind(cursor) == JSON_STRING && ++client->n_refresh_pages < RETRY_MAX_PAGES) {
        bytes_init(&params, SIZE_MAX);
        r = bytes_append_span(&params, SPAN("{\"cursor\":"));
        r = r != 0 ? r : bytes_append_span(&params, json_span(cursor));
        r = r != 0 ? r : bytes_append_byte(&params, '}');
        r = r != 0 ? err_fold(r) : retry_ask_list(client, bytes_span(&params));
        if (r == 0) {
            return 0;
        }
        retry_send_waiting(client, false);
        return r == -ENOBUFS ? 0 : err_pass(r);
    }
    client_request_close(client, client->refresh);
    retry_send_waiting(client, result.node != NULL);
    return 0;
}

static bool retry_is_call(const ClientRequest *request)
{
    return span_equals(span_make(request->kept.data, request->n_method), SPAN("tools/call"));
}

int client_retry(McpClient *client, ClientRequest *request, const ClientError *error,
                 bool *ret_taken)
{
    JsonValue supported;
    int r = 0;

    if (!client->config.is_http || !client_is_modern(client) || request->was_retried ||
        request->kept.n == 0 || request->n_rounds > 0) {
        return 0;
    }
    if (error->code == MCP_ERROR_UNSUPPORTED_VERSION && error->data.node != NULL &&
        json_get(error->data, SPAN("supported"), &supported) && client_names_modern(supported)) {
        request->was_retried = true;
        client_request_set_wire(client, request, 0);
        r = client_request_send_kept(client, request);
    } else if (error->code == MCP_ERROR_HEADER_MISMATCH && retry_is_call(request)) {
        request->was_retried = true;
        request->waits_for_list = true;
        client_request_set_wire(client, request, 0);
        r = client->refresh != NULL ? 0 : retry_ask_list(client, SPAN_NULL);
    } else {
        return 0;
    }
    *ret_taken = true;
    if (r != 0) {
        client_request_end(client, request, MCP_CLIENT_CODE_ENDED,
                           SPAN("the request could not be sent again"));
    }
    return r == -ENOBUFS ? 0 : r;
}

/* Events of one session, for those who come back with Last-Event-ID. */
#include "dialect/mcp/http_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"

struct McpHttpEvent {
    McpHttpEvent *next;
    uint64_t stream;
    uint64_t n;
    size_t n_data;
    char data[];
};

void mcp_http_store_init(McpHttpStore *store, size_t max_bytes)
{
    *store = (McpHttpStore){.max_bytes = max_bytes};
}

static size_t event_cost(size_t n_data)
{
    return sizeof(McpHttpEvent) + n_data;
}

static void drop_first(McpHttpStore *store)
{
    McpHttpEvent *event = store->first;

    store->first = event->next;
    if (store->first == NULL) {
        store->last = NULL;
    }
    store->n_bytes -= event_cost(event->n_data);
    (void)mem_free(event);
}

void mcp_http_store_deinit(McpHttpStore *store)
{
    while (store->first != NULL) {
        drop_first(store);
    }
}

int mcp_http_store_add(McpHttpStore *store, uint64_t stream, uint64_t n, Span data)
{
    McpHttpEvent *event;
    size_t cost;

    if (data.n > store->max_bytes || event_cost(data.n) > store->max_bytes) {
        return MCP_HTTP_STORE_E_FULL;
    }
    cost = event_cost(data.n);
    event = mem_alloc(cost);
    if (event == NULL) {
        return err_raise(-ENOMEM);
    }
    while (cost > store->max_bytes - store->n_bytes) {
        drop_first(store);
    }
    *event = (McpHttpEvent){.stream = stream, .n = n, .n_data = data.n};
    if (data.n > 0) {
        memcpy(event->data, data.p, data.n);
    }
    if (store->last == NULL) {
        store->first = event;
    } else {
        store->last->next = event;
    }
    store->last = event;
    store->n_bytes += cost;
    return 0;
}

void mcp_http_store_forget(McpHttpStore *store, uint64_t stream, Span data)
{
    McpHttpEvent *kept = NULL;
    McpHttpEvent *event = store->first;

    while (event != NULL) {
        McpHttpEvent *next = event->next;

        if (event->stream == stream && span_equals(span_make(event->data, event->n_data), data)) {
            *(kept == NULL ? &store->first : &kept->next) = next;
            store->n_bytes -= event_cost(event->n_data);
            (void)mem_free(event);
        } else {
            kept = event;
        }
        event = next;
    }
    store->last = kept;
}

bool mcp_http_store_next(const McpHttpStore *store, uint64_t stream, uint64_t n, McpHttpStored *at)
{
    const McpHttpEvent *event = at->event == NULL ? store->first : at->event->next;

    while (event != NULL && (event->stream != stream || event->n <= n)) {
        event = event->next;
    }
    if (event == NULL) {
        return false;
    }
    *at = (McpHttpStored){.event = event,
                          .stream = event->stream,
                          .n = event->n,
                          .data = span_make(event->data, event->n_data)};
    return true;
}

Span mcp_http_event_id(char buffer[MCP_HTTP_EVENT_ID_BYTES], uint64_t stream, uint64_t n)
{
    int length = snprintf(buffer, MCP_HTTP_EVENT_ID_BYTES, "%" PRIu64 "-%" PRIu64, stream, n);

    return span_make(buffer, (size_t)length);
}

bool mcp_http_event_id_parse(Span id, uint64_t *ret_stream, uint64_t *ret_n)
{
    const char *dash = id.n == 0 ? NULL : memchr(id.p, '-', id.n);
    uint64_t stream;
    uint64_t n;
    size_t n_stream;

    if (dash == NULL) {
        return false;
    }
    n_stream = (size_t)(dash - id.p);
    if (text_parse_u64(span_make(id.p, n_stream), &stream) != 0 ||
        text_parse_u64(span_make(dash + 1, id.n - n_stream - 1), &n) != 0) {
        return false;
    }
    *ret_stream = stream;
    *ret_n = n;
    return true;
}

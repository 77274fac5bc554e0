/* An HTTP request with an MCP message in it: what its headers say against what the message says,
 * and what is looked at before. Whatever comes in, what goes out is JSON, and a modern call comes
 * out only if the headers name its method and its target.
 *
 * Input: the head of a request, the message behind its empty line, and, behind a NUL, the
 * description of the tool that is called; without it, one that wants three headers. */
#include "fuzz.h"

#include <string.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "dialect/mcp/http_guard.h"
#include "dialect/mcp/server.h"
#include "json/json.h"

typedef struct Peer {
    McpServer *server;
    Bytes out;
    Span description;
    const Http1Head *head;
} Peer;

static int sink_begin(void *context, Bytes **ret)
{
    Peer *peer = context;

    bytes_clear(&peer->out);
    *ret = &peer->out;
    return 0;
}

static int sink_commit(void *context)
{
    Peer *peer = context;
    JsonDoc doc;
    Arena arena;

    arena_init(&arena, (size_t)1 << 28);
    FUZZ_REQUIRE(json_parse(&doc, &arena, peer->out.data, peer->out.n, NULL, NULL) == 0);
    arena_deinit(&arena);
    return 0;
}

static void sink_abort(void *context)
{
    bytes_clear(&((Peer *)context)->out);
}

static int seal(void *context, const Span *pieces, size_t n, uint8_t ret_code[32])
{
    (void)context;
    (void)pieces;
    memset(ret_code, (int)n, 32);
    return 0;
}

static McpOffer get_offer(void *context)
{
    (void)context;
    return (McpOffer){true, true, true, true, true, true, true, true, true};
}

static Span describe(void *context, Span name)
{
    (void)name;
    return ((Peer *)context)->description;
}

/* Said once, and if it is not encoded, the same. */
static void require_header(const Http1Head *head, Span name, Span expected)
{
    Span value = SPAN_NULL;

    FUZZ_REQUIRE(http1_head_find(head, name, &value) == 1);
    if (!span_starts_with(value, SPAN("=?base64?"))) {
        FUZZ_REQUIRE(span_equals(value, expected));
    }
}

static void require_headers(const Http1Head *head, const Call *call)
{
    Span version = SPAN_NULL;

    if (http1_head_find(head, SPAN("MCP-Protocol-Version"), &version) != 1 ||
        !span_equals(version, SPAN("2026-07-28"))) {
        /* Only `initialize` opens a legacy session, and it is not followed by anything. */
        FUZZ_REQUIRE(false);
    }
    switch (call->verb) {
    case CALL_TOOL:
        require_header(head, SPAN("Mcp-Method"), SPAN("tools/call"));
        require_header(head, SPAN("Mcp-Name"), call->target);
        break;
    case CALL_READ:
        require_header(head, SPAN("Mcp-Method"), SPAN("resources/read"));
        require_header(head, SPAN("Mcp-Name"), call->target);
        break;
    case CALL_PROMPT:
        require_header(head, SPAN("Mcp-Method"), SPAN("prompts/get"));
        require_header(head, SPAN("Mcp-Name"), call->target);
        break;
    default:
        FUZZ_REQUIRE(http1_head_find(head, SPAN("Mcp-Method"), NULL) == 1);
        break;
    }
}

static void receive(Peer *peer, Span body)
{
    McpFrom from = {.stream = peer, .head = peer->head, .tool = describe, .context = peer};
    McpEvent event;
    Call *call;

    FUZZ_REQUIRE(mcp_server_receive_from(peer->server, body, &from, 1) == 0);
    while (mcp_server_next(peer->server, &event)) {
        if (event.kind == MCP_EVENT_CALL) {
            require_headers(peer->head, event.call);
        }
        mcp_server_drop(peer->server, event.call);
    }
    while ((call = mcp_server_first_call(peer->server)) != NULL) {
        mcp_server_drop(peer->server, call);
    }
}

static void look(const Http1Head *head)
{
    static const Span hosts[] = {SPAN_INIT("h:8"), SPAN_INIT("[a]"), SPAN_INIT("@")};
    static const Span origins[] = {SPAN_INIT("http://o"), SPAN_INIT("x://o"), SPAN_INIT("https:")};
    McpHttpGuard strict = {.hosts = NULL};
    McpHttpGuard guard = {.hosts = hosts, .n_hosts = 3, .origins = origins, .n_origins = 3};
    McpHttpGuard wide = guard;

    guard.local = SPAN("[a]");
    wide.any_host = true;

    /* What is accepted stays accepted where more is. */
    FUZZ_REQUIRE(mcp_http_guard(&strict, head) != 0 || mcp_http_guard(&guard, head) == 0);
    FUZZ_REQUIRE(mcp_http_guard(&guard, head) != 0 || mcp_http_guard(&wide, head) == 0);
    FUZZ_REQUIRE(mcp_http_guard(&wide, head) != MCP_HTTP_E_HOST);
    (void)mcp_http_accepts(head, SPAN("text/event-stream"));
    (void)mcp_http_is_json(head);
}

static void play(Peer *peer, Span head, Span rest)
{
    const char *nul = rest.n == 0 ? NULL : memchr(rest.p, '\0', rest.n);
    Http1Reader reader;
    Http1Event event;

    if (nul != NULL) {
        peer->description = span_make(nul + 1, rest.n - (size_t)(nul - rest.p) - 1);
        rest.n = (size_t)(nul - rest.p);
    }
    http1_reader_init(&reader, HTTP1_REQUESTS, HTTP1_LIMITS_DEFAULT(UINT64_MAX));
    if (http1_reader_feed(&reader, head.p, head.n) == 0 &&
        http1_reader_next(&reader, &event) == 0) {
        peer->head = event.head;
        look(event.head);
        receive(peer, rest);
    }
    http1_reader_deinit(&reader);
}

/* The length of the head with its empty line; 0 if there is none. */
static size_t head_size(Span input)
{
    for (size_t i = 0; i + 4 <= input.n; i++) {
        if (memcmp(input.p + i, "\r\n\r\n", 4) == 0) {
            return i + 4;
        }
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const McpIdentity identity = {.name = {"f", 1}, .version = {"1", 1}};
    Span input = span_make((const char *)data, size);
    Peer peer = {.description = SPAN("{\"inputSchema\":{\"properties\":{"
                                     "\"s\":{\"type\":\"string\",\"x-mcp-header\":\"S\"},"
                                     "\"i\":{\"type\":\"integer\",\"x-mcp-header\":\"I\"},"
                                     "\"b\":{\"type\":\"boolean\",\"x-mcp-header\":\"B\"}}}}")};
    McpSink sink = {
        .begin = sink_begin, .commit = sink_commit, .abort = sink_abort, .context = &peer};
    McpSealer sealer = {seal, NULL};
    McpServerConfig config = {.identity = &identity,
                              .offer = get_offer,
                              .sink = &sink,
                              .sealer = &sealer,
                              .seed = {5, 6}};
    size_t n_head = head_size(input);

    if (n_head == 0) {
        return 0;
    }
    bytes_init(&peer.out, (size_t)64 * 1024 * 1024);
    FUZZ_REQUIRE(mcp_server_new(&peer.server, &config) == 0);
    play(&peer, span_make(input.p, n_head), span_make(input.p + n_head, input.n - n_head));
    mcp_server_close(peer.server);
    peer.server = mcp_server_free(peer.server);
    bytes_deinit(&peer.out);
    return 0;
}

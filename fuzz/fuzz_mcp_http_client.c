/* A client session over HTTP with a server that says anything.
 *
 * Input: flags (FLAG_*), then lines. What the server does to an exchange, N being its place among
 * those that are open: "hNSSSk…" a head (status, then j: JSON, e: events, x: another type; the rest
 * is a session id and a location), "dN…" data ('~' is a line end), "eNk" an end. What the owner
 * does: "r" a request, "c" cancels it, "a" answers the last question, "t" and "T" let time pass,
 * "q" closes. Whatever happens, every request ends at most once, nothing is told of an exchange
 * that was closed, and in the end all are let go of. */
#include "fuzz.h"

#include <string.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "dialect/mcp/client.h"
#include "dialect/mcp/http_client.h"

enum {
    FLAG_MODE = 3u,    /* McpClientMode */
    FLAG_OLD = 1u << 2 /* HTTP+SSE is known */
};

#define MAX_IDS  4096
#define MAX_OPEN 10

typedef struct World {
    McpClient *client;
    McpHttpClient *http;
    Bytes message;
    int64_t now_ms;
    McpHttpExchange *open[MAX_OPEN];
    McpRequestId last;
    uint64_t ask;
    unsigned char state[MAX_IDS]; /* by id: 1 open, 2 ended */
    bool is_over;
} World;

static int sink_begin(void *context, Bytes **ret)
{
    World *world = context;

    bytes_clear(&world->message);
    *ret = &world->message;
    return 0;
}

static int sink_commit(void *context)
{
    World *world = context;

    return mcp_http_client_send(world->http, bytes_span(&world->message), world->now_ms);
}

static void sink_abort(void *context)
{
    (void)context;
}

static void drain_session(World *world)
{
    McpClientEvent event;

    while (mcp_client_next(world->client, &event)) {
        if (event.kind == MCP_CLIENT_RESULT || event.kind == MCP_CLIENT_ERROR) {
            FUZZ_REQUIRE(event.id < MAX_IDS && world->state[event.id] == 1);
            world->state[event.id] = 2;
        } else if (event.kind == MCP_CLIENT_ASK) {
            world->ask = event.ask;
            FUZZ_REQUIRE(event.id == 0 || world->state[event.id] == 1);
        }
    }
}

static void begin(World *world, McpHttpExchange *exchange)
{
    for (size_t i = 0; i < MAX_OPEN; i++) {
        FUZZ_REQUIRE(world->open[i] != exchange);
        if (world->open[i] == NULL) {
            world->open[i] = exchange;
            return;
        }
    }
    (void)mcp_http_client_end(world->http, exchange, MCP_HTTP_END_UNREACHED, SPAN("full"),
                              world->now_ms);
}

static void forget(World *world, const McpHttpExchange *exchange)
{
    for (size_t i = 0; i < MAX_OPEN; i++) {
        if (world->open[i] == exchange) {
            world->open[i] = NULL;
        }
    }
}

static void drain(World *world)
{
    McpHttpClientEvent event;

    drain_session(world);
    while (mcp_http_client_next(world->http, &event)) {
        switch (event.kind) {
        case MCP_HTTP_CLIENT_BEGIN:
            FUZZ_REQUIRE(event.method != NULL && event.url != NULL);
            begin(world, event.exchange);
            break;
        case MCP_HTTP_CLIENT_CLOSE:
            forget(world, event.exchange);
            break;
        case MCP_HTTP_CLIENT_MESSAGE:
            FUZZ_REQUIRE(
                mcp_client_receive_with(world->client, event.text, event.with, world->now_ms) == 0);
            break;
        case MCP_HTTP_CLIENT_RENEW:
            (void)mcp_client_renew(world->client, world->now_ms);
            break;
        case MCP_HTTP_CLIENT_FAILED:
            FUZZ_REQUIRE(!world->is_over);
            world->is_over = true;
            mcp_client_break(world->client, event.text, world->now_ms);
            break;
        case MCP_HTTP_CLIENT_NOTE:
            break;
        }
        drain_session(world);
    }
}

static void owner_request(World *world)
{
    if (mcp_client_request(world->client, SPAN("tools/call"),
                           SPAN("{\"name\":\"t\",\"arguments\":{\"a\":1}}"), true, world->now_ms,
                           &world->last) == 0 &&
        world->last < MAX_IDS) {
        world->state[world->last] = 1;
    }
}

static void tell_head(World *world, McpHttpExchange *exchange, Span rest)
{
    static const Span types[] = {SPAN_INIT("application/json"), SPAN_INIT("text/event-stream"),
                                 SPAN_INIT("text/html")};
    McpHttpHead head = {.status = 200};

    if (rest.n < 4) {
        return;
    }
    head.status = (unsigned)(unsigned char)rest.p[0] % 6 * 100 +
                  (unsigned)(unsigned char)rest.p[1] % 10 * 10 +
                  (unsigned)(unsigned char)rest.p[2] % 10;
    head.content_type = types[rest.p[3] == 'j' ? 0 : rest.p[3] == 'e' ? 1 : 2];
    head.session_id = span_make(rest.p + 4, rest.n - 4);
    head.location = head.session_id;
    FUZZ_REQUIRE(mcp_http_client_head(world->http, exchange, &head, world->now_ms) == 0);
}

static void tell_data(World *world, McpHttpExchange *exchange, Span rest)
{
    Bytes copy;

    bytes_init(&copy, SIZE_MAX);
    for (size_t i = 0; i < rest.n; i++) {
        FUZZ_REQUIRE(bytes_append_byte(&copy, (char)(rest.p[i] == '~' ? '\n' : rest.p[i])) == 0);
    }
    if (copy.n > 0) {
        FUZZ_REQUIRE(
            mcp_http_client_data(world->http, exchange, bytes_span(&copy), world->now_ms) == 0);
    }
    bytes_deinit(&copy);
}

static void of_exchange(World *world, char what, Span rest)
{
    size_t place = rest.n == 0 ? 0 : (size_t)(unsigned char)rest.p[0] % MAX_OPEN;
    McpHttpExchange *exchange = world->open[place];

    if (rest.n == 0 || exchange == NULL) {
        return;
    }
    rest = span_make(rest.p + 1, rest.n - 1);
    if (what == 'h') {
        tell_head(world, exchange, rest);
    } else if (what == 'd') {
        tell_data(world, exchange, rest);
    } else {
        world->open[place] = NULL;
        FUZZ_REQUIRE(mcp_http_client_end(world->http, exchange,
                                         (McpHttpEnd)(rest.n == 0 ? 0 : rest.p[0] & 3), rest,
                                         world->now_ms) == 0);
    }
}

static void step(World *world, Span line)
{
    Span rest = line.n == 0 ? SPAN_NULL : span_make(line.p + 1, line.n - 1);

    switch (line.n == 0 ? '\0' : line.p[0]) {
    case 'r':
        owner_request(world);
        break;
    case 'c':
        mcp_client_cancel(world->client, world->last, SPAN("x"));
        break;
    case 'a':
        (void)mcp_client_answer(world->client, world->ask, SPAN("{}"), world->now_ms);
        break;
    case 't':
    case 'T':
        world->now_ms += line.p[0] == 't' ? 1000 : 70000;
        mcp_client_advance(world->client, world->now_ms);
        mcp_http_client_advance(world->http, world->now_ms);
        break;
    case 'q':
        mcp_http_client_close(world->http, world->now_ms);
        break;
    case 'h':
    case 'd':
    case 'e':
        of_exchange(world, line.p[0], rest);
        break;
    default:
        break;
    }
    drain(world);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const McpIdentity identity = {.name = SPAN_INIT("f"), .version = SPAN_INIT("1")};
    static World world;
    McpSink sink = {
        .begin = sink_begin, .commit = sink_commit, .abort = sink_abort, .context = &world};
    McpClientConfig session = {.identity = &identity,
                               .mode = (McpClientMode)(size == 0 ? 0 : data[0] & FLAG_MODE),
                               .is_http = true,
                               .legacy_revision = MCP_NEWEST_LEGACY,
                               .can = 15,
                               .sink = &sink,
                               .max_message_bytes = 65536};
    McpHttpClientConfig config = {.url = SPAN("http://h/mcp"),
                                  .max_message_bytes = 65536,
                                  .max_streams = 3,
                                  .is_old = size > 0 && (data[0] & FLAG_OLD) != 0};
    Span left = size == 0 ? SPAN_NULL : span_make((const char *)data + 1, size - 1);

    world = (World){.now_ms = 1};
    bytes_init(&world.message, 1 << 20);
    FUZZ_REQUIRE(mcp_http_client_new(&world.http, &config) == 0);
    FUZZ_REQUIRE(mcp_client_new(&world.client, &session) == 0);
    FUZZ_REQUIRE(mcp_client_start(world.client, world.now_ms) == 0);
    drain(&world);
    while (left.n > 0) {
        const char *end = memchr(left.p, '\n', left.n);
        size_t n = end == NULL ? left.n : (size_t)(end - left.p);

        step(&world, span_make(left.p, n));
        left = n == left.n ? SPAN_NULL : span_make(left.p + n + 1, left.n - n - 1);
    }
    mcp_http_client_abandon(world.http);
    world.is_over = true;
    drain(&world);
    for (size_t i = 0; i < MAX_OPEN; i++) {
        FUZZ_REQUIRE(world.open[i] == NULL);
    }
    world.http = mcp_http_client_free(world.http);
    world.client = mcp_client_free(world.client);
    bytes_deinit(&world.message);
    return 0;
}

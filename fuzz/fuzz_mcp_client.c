/* A client session with a server that says anything.
 *
 * Input: flags (FLAG_*), then lines: what the server says, and between them commands to the owner:
 * "!r" a request, "!c" cancels the last one, "!a" answers the last question, "!n" refuses it, "!t"
 * lets time pass, "!e" the server ends; "!l" before a line makes it the beginning of one that was
 * too long. Whatever happens, what the client sends is JSON, every request ends once, and a session
 * that has failed stays silent. */
#include "fuzz.h"

#include <string.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "dialect/mcp/client.h"

enum {
    FLAG_MODE = 3u,     /* McpClientMode */
    FLAG_CAN = 1u << 2, /* all questions are answered */
    FLAG_LOG = 1u << 3, /* records are wanted */
    FLAG_OLD = 1u << 4, /* asks for 2025-03-26 */
    FLAG_FEW = 1u << 5, /* two requests, two rounds */
};

#define MAX_IDS 4096

typedef struct Owner {
    McpClient *client;
    Bytes message;
    Arena arena;
    int64_t now_ms;
    McpRequestId last;
    uint64_t ask;
    unsigned char state[MAX_IDS]; /* by id: 1 open, 2 ended */
    bool has_failed;
} Owner;

static int sink_begin(void *context, Bytes **ret)
{
    Owner *owner = context;

    bytes_clear(&owner->message);
    *ret = &owner->message;
    return 0;
}

static int sink_commit(void *context)
{
    Owner *owner = context;
    JsonDoc doc;

    arena_reset(&owner->arena, 65536);
    FUZZ_REQUIRE(
        json_parse(&doc, &owner->arena, owner->message.data, owner->message.n, NULL, NULL) == 0);
    FUZZ_REQUIRE(memchr(owner->message.data, '\n', owner->message.n) == NULL);
    FUZZ_REQUIRE(!owner->has_failed);
    return 0;
}

static void sink_abort(void *context)
{
    bytes_clear(&((Owner *)context)->message);
}

static void drain(Owner *owner)
{
    McpClientEvent event;

    while (mcp_client_next(owner->client, &event)) {
        FUZZ_REQUIRE(!owner->has_failed);
        switch (event.kind) {
        case MCP_CLIENT_RESULT:
        case MCP_CLIENT_ERROR:
            FUZZ_REQUIRE(event.id < MAX_IDS && owner->state[event.id] == 1);
            owner->state[event.id] = 2;
            break;
        case MCP_CLIENT_PROGRESS:
            FUZZ_REQUIRE(event.id < MAX_IDS && owner->state[event.id] == 1);
            break;
        case MCP_CLIENT_ASK:
            owner->ask = event.ask;
            break;
        case MCP_CLIENT_RESTART:
            FUZZ_REQUIRE(mcp_client_restarted(owner->client, owner->now_ms) == 0);
            break;
        case MCP_CLIENT_FAILED:
            owner->has_failed = true;
            break;
        default:
            break;
        }
        if (event.value.node != NULL) {
            Span json = json_span(event.value);

            FUZZ_REQUIRE(json.n > 0 && json.p[0] != '\0');
        }
    }
}

static void request(Owner *owner)
{
    static const char *const methods[] = {"tools/call", "tools/list", "resources/read"};
    McpRequestId id = 0;
    int r =
        mcp_client_request(owner->client, span_from_str(methods[owner->now_ms % 3]),
                           SPAN("{\"name\":\"x\"}"), owner->now_ms % 2 == 0, owner->now_ms, &id);

    if (r == 0 && id < MAX_IDS) {
        FUZZ_REQUIRE(owner->state[id] == 0);
        owner->state[id] = 1;
        owner->last = id;
    }
}

static void command(Owner *owner, char what)
{
    switch (what) {
    case 'r':
        request(owner);
        break;
    case 'c':
        mcp_client_cancel(owner->client, owner->last, SPAN("enough"));
        break;
    case 'a':
        FUZZ_REQUIRE(mcp_client_answer(owner->client, owner->ask, SPAN("{\"action\":\"cancel\"}"),
                                       owner->now_ms) == 0);
        break;
    case 'n':
        FUZZ_REQUIRE(mcp_client_refuse(owner->client, owner->ask, -1, SPAN("no"), owner->now_ms) ==
                     0);
        break;
    case 't':
        owner->now_ms += 4999;
        mcp_client_advance(owner->client, owner->now_ms);
        break;
    case 'l':
        FUZZ_REQUIRE(mcp_client_receive_too_long(owner->client, SPAN_NULL, owner->now_ms) == 0);
        break;
    case 'e':
        mcp_client_peer_ended(owner->client, owner->now_ms);
        break;
    default:
        break;
    }
}

static void play(Owner *owner, Span input)
{
    while (input.n > 0) {
        const char *newline = memchr(input.p, '\n', input.n);
        size_t n = newline == NULL ? input.n : (size_t)(newline - input.p);

        owner->now_ms++;
        if (n == 2 && input.p[0] == '!') {
            command(owner, input.p[1]);
        } else if (n > 2 && input.p[0] == '!' && input.p[1] == 'l') {
            FUZZ_REQUIRE(mcp_client_receive_too_long(owner->client, span_make(input.p + 2, n - 2),
                                                     owner->now_ms) == 0);
        } else {
            FUZZ_REQUIRE(mcp_client_receive(owner->client, span_make(input.p, n), owner->now_ms) ==
                         0);
        }
        drain(owner);
        n += newline != NULL;
        input = span_make(input.p + n, input.n - n);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static Owner owner;
    McpIdentity identity = {.name = SPAN("f"), .version = SPAN("0")};
    McpSink sink = {
        .begin = sink_begin, .commit = sink_commit, .abort = sink_abort, .context = &owner};
    unsigned flags = size > 0 ? data[0] : 0;
    McpClientConfig config = {
        .identity = &identity,
        .mode = (McpClientMode)((flags & FLAG_MODE) % 3),
        .legacy_revision = (flags & FLAG_OLD) != 0 ? MCP_2025_03_26 : MCP_2025_11_25,
        .can = (flags & FLAG_CAN) != 0 ? 15u : 0u,
        .log_level = (flags & FLAG_LOG) != 0 ? CALL_LOG_INFO : CALL_LOG_NONE,
        .max_open = (flags & FLAG_FEW) != 0 ? 2 : 0,
        .max_rounds = (flags & FLAG_FEW) != 0 ? 2 : 0,
        .sink = &sink,
    };

    if (size == 0) {
        return 0;
    }
    owner = (Owner){.now_ms = 1};
    bytes_init(&owner.message, SIZE_MAX);
    arena_init(&owner.arena, SIZE_MAX);
    FUZZ_REQUIRE(mcp_client_new(&owner.client, &config) == 0);
    FUZZ_REQUIRE(mcp_client_start(owner.client, owner.now_ms) == 0);
    play(&owner, span_make((const char *)data + 1, size - 1));
    /* What is open ends with the session, and not twice. */
    mcp_client_peer_ended(owner.client, owner.now_ms);
    mcp_client_peer_ended(owner.client, owner.now_ms);
    drain(&owner);
    for (size_t i = 0; owner.has_failed && i < MAX_IDS; i++) {
        FUZZ_REQUIRE(owner.state[i] != 1);
    }
    owner.client = mcp_client_free(owner.client);
    bytes_deinit(&owner.message);
    arena_deinit(&owner.arena);
    return 0;
}

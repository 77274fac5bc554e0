/* Plays lines against a server session whose provider finishes, holds, asks, reports or cancels as
 * the input says. Whatever comes in, every message that goes out is JSON and an envelope, no call
 * is handed out twice, and none is left when the owner has dropped all.
 *
 * Input: a byte of flags (FLAG_*), then lines. The first byte of a line that is no '{' or '[' is a
 * command instead: see play_line. */
#include "fuzz.h"

#include <string.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "dialect/mcp/server.h"
#include "json/json.h"

enum {
    FLAG_SMALL = 1u << 0,    /* messages of at most 200 bytes leave */
    FLAG_FEW = 1u << 1,      /* at most 2 calls at a time */
    FLAG_NO_OFFER = 1u << 2, /* nothing but tools */
    FLAG_LEGACY = 1u << 3,   /* a session of 2025-03-26 is open already */
    FLAG_LEGACY_NEW = 1u << 4,
};

#define MAX_HELD 300

typedef struct Peer {
    McpServer *server;
    unsigned flags;
    Bytes out;
    Call *held[MAX_HELD];
    size_t n_held;
    size_t turn; /* decides what the next call does */
} Peer;

static int sink_begin(void *context, Bytes **ret)
{
    Peer *peer = context;

    bytes_clear(&peer->out);
    *ret = &peer->out;
    return 0;
}

static void require_envelope(JsonValue message)
{
    JsonValue version;

    if (json_kind(message) == JSON_ARRAY) {
        FUZZ_REQUIRE(json_count(message) > 0);
        for (JsonIter it = json_iter(message); json_iter_next(&it);) {
            FUZZ_REQUIRE(json_kind(it.value) == JSON_OBJECT);
            require_envelope(it.value);
        }
        return;
    }
    FUZZ_REQUIRE(json_get(message, SPAN("jsonrpc"), &version));
    FUZZ_REQUIRE(json_string_equals(version, SPAN("2.0")));
}

static int sink_commit(void *context)
{
    Peer *peer = context;
    JsonLimits limits = {.max_depth = 4096};
    JsonDoc doc;
    Arena arena;

    if ((peer->flags & FLAG_SMALL) != 0 && peer->out.n > 200) {
        return 1;
    }
    arena_init(&arena, (size_t)1 << 30);
    FUZZ_REQUIRE(memchr(peer->out.data, '\n', peer->out.n) == NULL);
    FUZZ_REQUIRE(json_parse(&doc, &arena, peer->out.data, peer->out.n, &limits, NULL) == 0);
    require_envelope(json_root(&doc));
    arena_deinit(&arena);
    return 0;
}

static void sink_abort(void *context)
{
    bytes_clear(&((Peer *)context)->out);
}

/* So that a fuzzer can make its own: a forged state must not do harm either. */
static int seal(void *context, const Span *pieces, size_t n, uint8_t ret_code[32])
{
    (void)context;
    (void)pieces;
    memset(ret_code, (int)n, 32);
    return 0;
}

static McpOffer get_offer(void *context)
{
    bool all = (((Peer *)context)->flags & FLAG_NO_OFFER) == 0;

    return (McpOffer){true, all, all, all, all, all, all, all, all};
}

static bool is_tool(void *context, Span method)
{
    (void)context;
    return span_equals(method, SPAN("t"));
}

static void finish_ask(Call *call, unsigned choice)
{
    CallAsk asks[2] = {
        {.key = SPAN("a"),
         .kind = (CallAskKind)(choice % 4),
         .message = SPAN("m"),
         .schema = SPAN("{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}}"),
         .url = SPAN("https://u"),
         .params = SPAN("{\"messages\":[],\"maxTokens\":1}")},
        {.key = SPAN("b\"\\"), .kind = CALL_ASK_ROOTS},
    };
    CallResult result = {.kind = CALL_RESULT_ASK,
                         .asks = asks,
                         .n_asks = choice / 4 % 3,
                         .state = choice % 2 == 0 ? call->state : SPAN("state")};

    call_finish(call, &result);
}

/* A task of that id, in a state that the choice says, with all that belongs to it or without. */
static CallTask make_task(Span id, unsigned choice)
{
    static const Span piece = SPAN_INIT("{\"type\":\"text\",\"text\":\"x\"}");
    static const CallResult good = {
        .kind = CALL_RESULT_TOOL, .pieces = &piece, .n_pieces = 1, .meta = SPAN_INIT("{\"m\":1}")};
    static const CallResult bad = {.kind = CALL_RESULT_ERROR, .error = CALL_ERROR_INTERNAL};
    static const CallAsk ask = {
        .key = SPAN_INIT("a"), .kind = CALL_ASK_FORM, .message = SPAN_INIT("m")};
    bool is_whole = choice / 5 % 2 == 0;

    return (CallTask){.id = id,
                      .status = (CallTaskStatus)(choice % 5),
                      .message = SPAN("\xff"),
                      .created_us = (int64_t)choice - 3,
                      .ttl_ms = (int64_t)choice - 3,
                      .poll_ms = choice % 2,
                      .result = !is_whole              ? NULL
                                : choice / 10 % 2 == 0 ? &good
                                                       : &bad,
                      .asks = &ask,
                      .n_asks = is_whole ? 1 : 0};
}

static void finish(Call *call, unsigned choice)
{
    Span pieces[] = {SPAN("{\"type\":\"text\",\"text\":\"x\"}"), SPAN_NULL};
    CallResult result = CALL_RESULT_TOOL_PIECES(pieces, 1);
    CallTask task = make_task(call->verb == CALL_TOOL ? SPAN("t") : call->target, choice);

    switch (call->verb) {
    case CALL_TOOL:
        if (call->later != CALL_LATER_NEVER) {
            result = (CallResult){.kind = CALL_RESULT_TASK, .tasks = &task, .n_tasks = 1};
        } else if (call->arguments.node != NULL) {
            result.structured = json_span(call->arguments);
        }
        break;
    case CALL_TASK_GET:
    case CALL_TASK_CANCEL:
        result = (CallResult){.kind = CALL_RESULT_TASK, .tasks = &task, .n_tasks = 1};
        break;
    case CALL_LIST_TASKS:
        result = (CallResult){.kind = CALL_RESULT_TASKS,
                              .tasks = &task,
                              .n_tasks = choice % 2,
                              .next_cursor = call->cursor};
        break;
    case CALL_TASK_RESULT:
        break;
    case CALL_TASK_UPDATE:
    case CALL_SUBSCRIBE:
        result = CALL_RESULT_NULL;
        break;
    case CALL_READ:
        pieces[0] = SPAN("{\"uri\":\"u\",\"text\":\"\"}");
        result.kind = CALL_RESULT_RESOURCE;
        break;
    case CALL_PROMPT:
        pieces[0] = SPAN("{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"\"}}");
        result.kind = CALL_RESULT_PROMPT;
        break;
    case CALL_COMPLETE:
        pieces[0] = SPAN("\"v\"");
        result.kind = CALL_RESULT_COMPLETION;
        break;
    default:
        result = (CallResult){.kind = CALL_RESULT_LIST, .next_cursor = call->cursor};
        break;
    }
    call_finish(call, &result);
}

/* Reads all that the call borrows, so that a sanitizer sees what is gone. */
static void touch(const Call *call)
{
    HashSeed seed = {1, 2};
    uint64_t sum = hash_span(seed, call->target) ^ hash_span(seed, call->state) ^
                   hash_span(seed, call->completion.value);

    if (call->arguments.node != NULL) {
        sum ^= hash_span(seed, json_span(call->arguments));
    }
    if (call->inputs.node != NULL) {
        sum ^= hash_span(seed, json_span(call->inputs));
    }
    TW_OPAQUE(sum);
}

static void forget(Peer *peer, const Call *call)
{
    for (size_t i = 0; i < peer->n_held; i++) {
        if (peer->held[i] == call) {
            peer->held[i] = peer->held[--peer->n_held];
            return;
        }
    }
}

static void run(Peer *peer, Call *call)
{
    unsigned choice = (unsigned)peer->turn++;
    CallProgress progress = {.progress = choice, .total = CALL_NO_TOTAL, .message = SPAN("\xff")};

    for (size_t i = 0; i < peer->n_held; i++) {
        FUZZ_REQUIRE(peer->held[i] != call);
    }
    touch(call);
    call_report(call, &progress);
    call_log(call, CALL_LOG_WARNING, SPAN("l"), SPAN("[1]"));
    switch (choice % 5) {
    case 0:
    case 1:
        finish(call, choice / 5);
        break;
    case 2:
        if (peer->n_held < MAX_HELD) {
            FUZZ_REQUIRE(call_keep_arguments(call) == 0);
            peer->held[peer->n_held++] = call;
        } else {
            call_fail(call, CALL_ERROR_BUSY, SPAN_NULL);
        }
        break;
    case 3:
        finish_ask(call, choice / 5);
        break;
    default:
        call_fail(call, (CallError)(1 + choice / 5 % (CALL_N_ERRORS - 1)), SPAN_NULL);
        break;
    }
}

static void serve(Peer *peer)
{
    McpEvent event;

    while (mcp_server_next(peer->server, &event)) {
        if (event.kind == MCP_EVENT_CALL) {
            run(peer, event.call);
        } else {
            forget(peer, event.call);
            mcp_server_drop(peer->server, event.call);
        }
    }
}

static void finish_held(Peer *peer, size_t i)
{
    if (peer->n_held > 0) {
        Call *call = peer->held[i % peer->n_held];

        forget(peer, call);
        touch(call);
        finish(call, (unsigned)i);
    }
}

static void play_line(Peer *peer, Span line, int64_t *now_ms)
{
    char kind = line.n > 0 ? line.p[0] : '\0';
    size_t argument = line.n > 1 ? (uint8_t)line.p[1] : 0;
    JsonLook look;
    CallTask task;

    switch (kind) {
    case 'F':
        finish_held(peer, argument);
        break;
    case 'T':
        peer->turn = argument;
        break;
    case '@':
        *now_ms += (int64_t)argument * 10000;
        mcp_server_advance(peer->server, *now_ms);
        break;
    case 'L':
        mcp_server_list_changed(peer->server, (McpListKind)(argument % 3));
        break;
    case 'U':
        mcp_server_resource_updated(peer->server, span_make(line.p + 1, line.n - 1));
        break;
    case 'K':
        task = make_task(SPAN("t"), (unsigned)argument);
        mcp_server_task_changed(peer->server, &task, SPAN_NULL);
        break;
    case 'S':
        mcp_server_shutdown(peer->server);
        break;
    case 'O':
        json_look_init(&look);
        json_look_feed(&look, span_make(line.p + 1, line.n - 1));
        (void)mcp_server_receive_too_long(peer->server, &look, *now_ms);
        break;
    default:
        (void)mcp_server_receive(peer->server, line, *now_ms);
        break;
    }
    serve(peer);
}

static void play(Peer *peer, Span input)
{
    int64_t now_ms = 1;

    if ((peer->flags & (FLAG_LEGACY | FLAG_LEGACY_NEW)) != 0) {
        Span old = SPAN("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
                        "\"protocolVersion\":\"2025-03-26\",\"capabilities\":{\"roots\":{},"
                        "\"sampling\":{}}}}");
        Span new = SPAN("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
                        "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"roots\":{},"
                        "\"sampling\":{},\"elicitation\":{\"form\":{},\"url\":{}}}}}");

        play_line(peer, (peer->flags & FLAG_LEGACY) != 0 ? old : new, &now_ms);
    }
    while (input.n > 0 && mcp_server_error(peer->server) == 0) {
        const char *end = memchr(input.p, '\n', input.n);
        size_t n = end == NULL ? input.n : (size_t)(end - input.p);

        play_line(peer, span_make(input.p, n), &now_ms);
        n += end == NULL ? 0 : 1;
        input = span_make(input.p + n, input.n - n);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const McpIdentity identity = {.name = {"f", 1}, .version = {"1", 1}};
    Peer peer = {.flags = size > 0 ? data[0] : 0};
    McpSink sink = {
        .begin = sink_begin, .commit = sink_commit, .abort = sink_abort, .context = &peer};
    McpSealer sealer = {seal, NULL};
    McpServerConfig config = {.identity = &identity,
                              .offer = get_offer,
                              .is_tool = is_tool,
                              .context = &peer,
                              .sink = &sink,
                              .sealer = &sealer,
                              .seed = {5, 6},
                              .max_open = (peer.flags & FLAG_FEW) != 0 ? 2 : 0};
    Call *call;

    if (size < 1) {
        return 0;
    }
    bytes_init(&peer.out, (size_t)64 * 1024 * 1024);
    FUZZ_REQUIRE(mcp_server_new(&peer.server, &config) == 0);
    play(&peer, span_make((const char *)data + 1, size - 1));
    mcp_server_close(peer.server);
    while ((call = mcp_server_first_call(peer.server)) != NULL) {
        touch(call);
        mcp_server_drop(peer.server, call);
    }
    FUZZ_REQUIRE(mcp_server_n_calls(peer.server) == 0);
    peer.server = mcp_server_free(peer.server);
    bytes_deinit(&peer.out);
    return 0;
}

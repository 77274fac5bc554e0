/* Plays HTTP requests, disconnects and time against the MCP engine over HTTP, whose provider
 * finishes, holds, asks, reports or detaches as the input says. Whatever comes in, each exchange is
 * answered at most once and not touched after it, what is answered is JSON or events of JSON, and
 * when everything is cancelled no exchange is left open, no call, and no asker held.
 *
 * Input: lines; the first byte of each says what it is: see play_line. */
#include "fuzz.h"

#include <string.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/text.h"
#include "dialect/mcp/http.h"
#include "frame/sse.h"
#include "json/json.h"

#define MAX_X      200
#define MAX_HELD   200
#define MAX_FIELDS 12
#define FIELD_ROOM ((size_t)2048)

typedef struct Exchange {
    Bytes body;
    size_t start;
    void *data;
    unsigned status;
    bool is_in_piece;
    bool is_streaming;
    bool is_complete;
    bool is_lost; /* aborted, or gone, or about to be */
    bool is_broken;
} Exchange;

typedef struct Player {
    McpHttp *http;
    int64_t now_ms;
    Exchange xs[MAX_X];
    size_t n_xs;
    Call *held[MAX_HELD];
    size_t n_held;
    size_t turn; /* decides what the next call does */
    long n_asker_holds;
    char id[65]; /* of the session opened last */
    uint8_t n_randoms;
    char field_text[FIELD_ROOM];
    size_t n_field_text;
    Http1Field fields[MAX_FIELDS];
    size_t n_fields;
} Player;

/* The wire. */

static void answer(Exchange *x, unsigned status, const Http1Field *fields, size_t n_fields)
{
    FUZZ_REQUIRE(!x->is_complete && !x->is_streaming && !x->is_lost);
    FUZZ_REQUIRE(status >= 200 && status < 600);
    for (size_t i = 0; i < n_fields; i++) {
        FUZZ_REQUIRE(fields[i].name.n > 0 && fields[i].value.n > 0);
        FUZZ_REQUIRE(memchr(fields[i].value.p, '\n', fields[i].value.n) == NULL);
    }
    x->status = status;
}

static void require_json(Span text)
{
    JsonLimits limits = {.max_depth = 4096};
    JsonDoc doc;
    Arena arena;

    arena_init(&arena, (size_t)1 << 30);
    FUZZ_REQUIRE(json_parse(&doc, &arena, text.p, text.n, &limits, NULL) == 0);
    arena_deinit(&arena);
}

static int wire_respond(void *context, unsigned status, const Http1Field *fields, size_t n_fields,
                        Span body)
{
    Exchange *x = context;

    answer(x, status, fields, n_fields);
    if (x->is_broken) {
        x->is_lost = true;
        return -1;
    }
    if (body.n > 0) {
        FUZZ_REQUIRE(status != 202 && status != 204);
        require_json(body);
    } else {
        FUZZ_REQUIRE(status == 202 || status == 204);
    }
    x->is_complete = true;
    return 0;
}

static int wire_respond_taken(void *context, unsigned status, const Http1Field *fields,
                              size_t n_fields, Bytes *body)
{
    int r = wire_respond(context, status, fields, n_fields, bytes_span(body));

    if (r == 0) {
        bytes_clear(body);
    }
    return r;
}

static int wire_begin(void *context, unsigned status, const Http1Field *fields, size_t n_fields)
{
    Exchange *x = context;

    answer(x, status, fields, n_fields);
    x->is_streaming = !x->is_broken;
    return x->is_broken ? -1 : 0;
}

static int wire_piece_begin(void *context, Bytes **ret)
{
    Exchange *x = context;

    FUZZ_REQUIRE(x->is_streaming && !x->is_complete && !x->is_lost && !x->is_in_piece);
    if (x->is_broken) {
        return -1;
    }
    x->is_in_piece = true;
    x->start = x->body.n;
    *ret = &x->body;
    return 0;
}

static int wire_piece_commit(void *context)
{
    Exchange *x = context;

    FUZZ_REQUIRE(x->is_in_piece && !x->is_complete && !x->is_lost);
    x->is_in_piece = false;
    return 0;
}

static void wire_piece_abort(void *context)
{
    Exchange *x = context;

    FUZZ_REQUIRE(x->is_in_piece);
    x->is_in_piece = false;
    x->body.n = x->start;
}

static int wire_end(void *context)
{
    Exchange *x = context;

    FUZZ_REQUIRE(x->is_streaming && !x->is_in_piece && !x->is_complete && !x->is_lost);
    x->is_complete = true;
    return 0;
}

static void wire_abort(void *context)
{
    Exchange *x = context;

    FUZZ_REQUIRE(!x->is_complete && !x->is_lost);
    x->is_lost = true;
}

static size_t wire_pending(const void *context)
{
    return ((const Exchange *)context)->body.n;
}

static void wire_set_data(void *context, void *data)
{
    Exchange *x = context;

    FUZZ_REQUIRE(!x->is_complete);
    x->data = data;
}

static void *wire_data(const void *context)
{
    return ((const Exchange *)context)->data;
}

/* The owner and its provider. */

static void finish(Call *call)
{
    Span pieces[] = {SPAN("{\"type\":\"text\",\"text\":\"x\"}")};
    CallResult tool = CALL_RESULT_TOOL_PIECES(pieces, 1);
    CallResult list = {.kind = CALL_RESULT_LIST};
    CallResult nothing = CALL_RESULT_NULL;

    switch (call->verb) {
    case CALL_TOOL:
        call_finish(call, &tool);
        break;
    case CALL_SUBSCRIBE:
        call_finish(call, &nothing);
        break;
    case CALL_READ:
    case CALL_PROMPT:
    case CALL_COMPLETE:
        call_fail(call, CALL_ERROR_INTERNAL, SPAN_NULL);
        break;
    default:
        call_finish(call, &list);
        break;
    }
}

static void ask(Call *call)
{
    CallAsk question = {.key = SPAN("a"), .kind = CALL_ASK_ROOTS};
    CallResult result = {.kind = CALL_RESULT_ASK, .asks = &question, .n_asks = 1};

    call_finish(call, &result);
}

static void owner_call(void *context, void *asker, uint64_t session, Call *call)
{
    Player *player = context;
    size_t choice = player->turn++;
    CallProgress progress = {.progress = (double)choice, .total = CALL_NO_TOTAL};

    (void)session;
    FUZZ_REQUIRE(asker == player);
    if (choice % 2 == 1) {
        call_report(call, &progress);
    }
    if (choice % 7 == 4) {
        call_detach(call);
    }
    if (choice % 5 == 0) {
        finish(call);
    } else if (choice % 5 == 3) {
        ask(call);
    } else if (player->n_held < MAX_HELD) {
        FUZZ_REQUIRE(call_keep_arguments(call) == 0);
        player->held[player->n_held++] = call;
    } else {
        call_fail(call, CALL_ERROR_BUSY, SPAN_NULL);
    }
}

static void owner_cancel(void *context, Call *call)
{
    Player *player = context;

    for (size_t i = 0; i < player->n_held; i++) {
        if (player->held[i] == call) {
            player->held[i] = player->held[--player->n_held];
            return;
        }
    }
}

static void owner_hold(void *context, void *asker)
{
    FUZZ_REQUIRE(asker == context);
    ((Player *)asker)->n_asker_holds++;
}

static void owner_release(void *context, void *asker)
{
    FUZZ_REQUIRE(asker == context && ((Player *)asker)->n_asker_holds > 0);
    ((Player *)asker)->n_asker_holds--;
}

static bool owner_is_same(void *context, const void *asker, const void *other)
{
    (void)context;
    return asker == other;
}

static Span owner_tool(void *context, Span name)
{
    (void)context;
    (void)name;
    return SPAN_NULL;
}

static int owner_random(void *context, uint8_t *ret, size_t n)
{
    Player *player = context;

    memset(ret, 0, n);
    ret[0] = player->n_randoms++;
    (void)snprintf(player->id, sizeof(player->id), "%02x%030d", ret[0], 0);
    return 0;
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

/* The script. */

/* A field for the next request; '$' in it is the session opened last. */
static void add_field(Player *player, Span line)
{
    const char *colon = line.n == 0 ? NULL : memchr(line.p, ':', line.n);
    char *text = player->field_text + player->n_field_text;
    size_t room = FIELD_ROOM - player->n_field_text;
    size_t n_name;
    Span value;
    size_t n = 0;

    if (colon == NULL || player->n_fields == MAX_FIELDS) {
        return;
    }
    n_name = (size_t)(colon - line.p);
    value = text_trim(span_make(colon + 1, line.n - n_name - 1));
    if (span_equals(value, SPAN("$"))) {
        value = span_from_str(player->id);
    }
    if (n_name == 0 || n_name + value.n > room) {
        return;
    }
    memcpy(text, line.p, n_name);
    n += n_name;
    if (value.n > 0) {
        memcpy(text + n, value.p, value.n);
    }
    player->fields[player->n_fields++] =
        (Http1Field){span_make(text, n_name), span_make(text + n, value.n)};
    player->n_field_text += n_name + value.n;
}

static void request(Player *player, Http1Method method, McpHttpPath path, Span body)
{
    char query[80];
    int n_query = snprintf(query, sizeof(query), "session=%s", player->id);
    Http1Head head = {.method = method,
                      .query = span_make(query, (size_t)n_query),
                      .minor = 1,
                      .fields = player->fields,
                      .n_fields = player->n_fields};
    Exchange *x;

    if (player->n_xs < MAX_X) {
        x = &player->xs[player->n_xs++];
        bytes_init(&x->body, (size_t)1 << 20);
        mcp_http_request(player->http, path, &head, body, x, player, player->now_ms);
    }
    player->n_fields = 0;
    player->n_field_text = 0;
}

static void lose(Player *player, Exchange *x)
{
    if (!x->is_complete && x->data != NULL) {
        x->is_lost = true;
        mcp_http_gone(player->http, x, player->now_ms);
        FUZZ_REQUIRE(x->data == NULL);
    }
}

static void play_exchange(Player *player, char kind, size_t argument)
{
    Exchange *x = player->n_xs == 0 ? NULL : &player->xs[argument % player->n_xs];

    if (x == NULL) {
        return;
    }
    if (kind == 'X') {
        lose(player, x);
    } else if (kind == 'B') {
        x->is_broken = true;
    } else if (!x->is_in_piece) {
        x->body.max_bytes = x->body.n;
    }
}

static void play_held(Player *player, char kind, size_t argument)
{
    CallProgress progress = {.progress = 1e6 + (double)player->turn++, .total = CALL_NO_TOTAL};
    Call *call;

    if (player->n_held == 0) {
        return;
    }
    call = player->held[argument % player->n_held];
    if (kind == 'R') {
        call_report(call, &progress);
        return;
    }
    owner_cancel(player, call);
    if (kind == 'F') {
        finish(call);
    } else {
        ask(call);
    }
}

static void play_line(Player *player, Span line)
{
    char kind = line.n > 0 ? line.p[0] : '\0';
    Span rest = line.n > 0 ? span_make(line.p + 1, line.n - 1) : SPAN_NULL;
    size_t argument = rest.n > 0 ? (uint8_t)rest.p[0] : 0;

    switch (kind) {
    case 'H':
        add_field(player, rest);
        break;
    case 'P':
        request(player, HTTP1_METHOD_POST, MCP_HTTP_PATH_MAIN, rest);
        break;
    case 'G':
        request(player, HTTP1_METHOD_GET, MCP_HTTP_PATH_MAIN, rest);
        break;
    case 'D':
        request(player, HTTP1_METHOD_DELETE, MCP_HTTP_PATH_MAIN, rest);
        break;
    case 'S':
        request(player, HTTP1_METHOD_GET, MCP_HTTP_PATH_OLD_STREAM, rest);
        break;
    case 'O':
        request(player, HTTP1_METHOD_POST, MCP_HTTP_PATH_OLD_POST, rest);
        break;
    case 'X':
    case 'B':
    case 'Z':
        play_exchange(player, kind, argument);
        break;
    case 'F':
    case 'A':
    case 'R':
        play_held(player, kind, argument);
        break;
    case 'T':
        player->turn = argument;
        break;
    case '@':
        player->now_ms += (int64_t)argument * 1000;
        mcp_http_advance(player->http, player->now_ms);
        FUZZ_REQUIRE(mcp_http_next_deadline(player->http) > player->now_ms);
        break;
    case 'L':
        mcp_http_list_changed(player->http, (McpListKind)(argument % 3));
        break;
    case 'U':
        mcp_http_resource_updated(player->http, rest);
        break;
    case 'Q':
        mcp_http_shutdown(player->http);
        break;
    default:
        break;
    }
}

static void require_events(Span text)
{
    SseReader reader;
    SseEvent event;

    sse_reader_init(&reader, (size_t)1 << 20);
    while (text.n > 0) {
        size_t n = text.n < 1024 ? text.n : 1024;

        FUZZ_REQUIRE(sse_reader_feed(&reader, text.p, n) == 0);
        text = span_make(text.p + n, text.n - n);
        while (sse_reader_next(&reader, &event) == 0) {
            if (event.data.n > 0 && !span_equals(event.type, SPAN("endpoint"))) {
                require_json(event.data);
            }
        }
    }
    FUZZ_REQUIRE(sse_reader_finish(&reader) == 0);
    sse_reader_deinit(&reader);
}

static void play(Player *player, Span input)
{
    while (input.n > 0) {
        const char *end = memchr(input.p, '\n', input.n);
        size_t n = end == NULL ? input.n : (size_t)(end - input.p);

        play_line(player, span_make(input.p, n));
        n += end == NULL ? 0 : 1;
        input = span_make(input.p + n, input.n - n);
    }
    mcp_http_cancel_all(player->http);
    FUZZ_REQUIRE(mcp_http_n_calls(player->http) == 0);
    FUZZ_REQUIRE(mcp_http_n_sessions(player->http) == 0);
    FUZZ_REQUIRE(mcp_http_n_streams(player->http) == 0);
    FUZZ_REQUIRE(player->n_held == 0);
    player->http = mcp_http_free(player->http);
    FUZZ_REQUIRE(player->n_asker_holds == 0);
    for (size_t i = 0; i < player->n_xs; i++) {
        Exchange *x = &player->xs[i];

        FUZZ_REQUIRE(x->is_complete || x->is_lost);
        FUZZ_REQUIRE(!x->is_in_piece);
        require_events(bytes_span(&x->body));
        bytes_deinit(&x->body);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const McpIdentity identity = {.name = {"f", 1}, .version = {"1", 1}};
    static const McpHttpWire wire = {.respond = wire_respond,
                                     .respond_taken = wire_respond_taken,
                                     .begin = wire_begin,
                                     .piece_begin = wire_piece_begin,
                                     .piece_commit = wire_piece_commit,
                                     .piece_abort = wire_piece_abort,
                                     .end = wire_end,
                                     .abort = wire_abort,
                                     .pending = wire_pending,
                                     .set_data = wire_set_data,
                                     .data = wire_data};
    static const McpHttpOwner owner = {.call = owner_call,
                                       .cancel = owner_cancel,
                                       .hold = owner_hold,
                                       .release = owner_release,
                                       .is_same = owner_is_same,
                                       .tool = owner_tool,
                                       .random = owner_random};
    McpSealer sealer = {seal, NULL};
    Player *player = calloc(1, sizeof(*player));
    McpHttpConfig config = {.server = {.identity = &identity,
                                       .offer = get_offer,
                                       .sealer = &sealer,
                                       .seed = {5, 6},
                                       .max_open = 20},
                            .wire = &wire,
                            .owner = &owner,
                            .context = player,
                            .seed = {7, 8},
                            .old_post_path = SPAN_INIT("/m"),
                            .max_sessions = 3,
                            .session_idle_ms = 100000,
                            .max_stored_bytes = 2000};

    player->now_ms = 1;
    FUZZ_REQUIRE(mcp_http_new(&player->http, &config) == 0);
    play(player, span_make((const char *)data, size));
    free(player);
    return 0;
}

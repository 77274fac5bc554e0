#include "unit/dialect/mcp/session_rig.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/limits.h"

/* The sink. */

static int sink_begin(void *context, Bytes **ret)
{
    Rig *rig = context;

    if (rig->is_refusing) {
        return 1;
    }
    rig->start = rig->sent.n;
    *ret = &rig->sent;
    return 0;
}

static int sink_commit(void *context)
{
    Rig *rig = context;
    int r = 0;

    if (rig->max_message > 0 && rig->sent.n - rig->start > rig->max_message) {
        r = 1;
    }
    if (r == 0) {
        r = bytes_append_byte(&rig->sent, '\n');
    }
    if (r != 0) {
        rig->sent.n = rig->start;
        return r;
    }
    rig->n_sent++;
    return 0;
}

static int sink_commit_lent(void *context, BytesLent lent)
{
    Rig *rig = context;
    size_t at = rig->start + lent.at;
    int r = rig->lend_fails != 0 ? rig->lend_fails : bytes_reserve(&rig->sent, lent.span.n);

    if (r != 0) {
        rig->sent.n = rig->start;
        return r;
    }
    memmove(rig->sent.data + at + lent.span.n, rig->sent.data + at, rig->sent.n - at);
    memcpy(rig->sent.data + at, lent.span.p, lent.span.n);
    rig->sent.n += lent.span.n;
    r = sink_commit(rig);
    rig->n_lent += r == 0 ? 1 : 0;
    return r;
}

static void sink_abort(void *context)
{
    Rig *rig = context;

    rig->sent.n = rig->start;
}

/* Enough for tests: a code that changes with every byte. */
static int seal(void *context, const Span *pieces, size_t n, uint8_t ret_code[32])
{
    uint64_t parts[4] = {1, 2, 3, 4};

    (void)context;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < 4; k++) {
            parts[k] = hash_span((HashSeed){parts[k], k}, pieces[i]) + pieces[i].n;
        }
    }
    memcpy(ret_code, parts, 32);
    return 0;
}

static McpOffer get_offer(void *context)
{
    return ((Rig *)context)->offer;
}

static bool is_tool(void *context, Span method)
{
    (void)context;
    return span_equals(method, SPAN("echo")) || span_equals(method, SPAN("form")) ||
           span_equals(method, SPAN("job"));
}

/* The provider. */

static void finish_text(Call *call, Span json_text)
{
    Span pieces[] = {SPAN("{\"type\":\"text\",\"text\":"), json_text, SPAN("}")};
    CallResult result = CALL_RESULT_TOOL_PIECES(pieces, 3);

    call_finish(call, &result);
}

static void run_echo(Call *call)
{
    JsonValue message;

    if (call->arguments.node == NULL || !json_get(call->arguments, SPAN("message"), &message)) {
        call_fail(call, CALL_ERROR_INVALID_ARGUMENTS, SPAN("message is missing"));
        return;
    }
    finish_text(call, json_span(message));
}

static void run_whole(Call *call)
{
    Span piece = SPAN("{\"type\":\"text\",\"text\":\"as structured content\"}");
    CallResult result = CALL_RESULT_TOOL_PIECES(&piece, 1);

    result.structured = json_span(call->arguments);
    call_finish(call, &result);
}

void rig_hold(Rig *rig, Call *call, Span text)
{
    rig->held[rig->n_held] = call;
    (void)snprintf(rig->tags[rig->n_held], sizeof(rig->tags[0]), "%.*s", (int)text.n, text.p);
    rig->n_held++;
    /* As the router does once start has returned. */
    if (call_keep_arguments(call) != 0) {
        rig->is_out_of_memory = true;
    }
}

static void run_hold(Rig *rig, Call *call)
{
    JsonValue tag;
    Span text = SPAN("x");

    if (call->arguments.node != NULL && json_get(call->arguments, SPAN("tag"), &tag)) {
        (void)json_string_plain(tag, &text);
    }
    rig_hold(rig, call, text);
}

static void run_steps(Call *call)
{
    CallProgress one = {.progress = 1, .total = 2, .message = SPAN("half")};
    CallProgress two = {.progress = 2, .total = 2};

    call_report(call, &one);
    call_report(call, &two);
    finish_text(call, SPAN("\"done\""));
}

static void run_logs(Call *call)
{
    call_log(call, CALL_LOG_DEBUG, SPAN("rig"), SPAN("\"fine print\""));
    call_log(call, CALL_LOG_INFO, SPAN("rig"), SPAN("\"news\""));
    call_log(call, CALL_LOG_ERROR, SPAN_NULL, SPAN("{\"code\":7}"));
    finish_text(call, SPAN("\"done\""));
}

static void run_big(Call *call)
{
    JsonValue v;
    int64_t n = 0;
    char *text;

    if (json_get(call->arguments, SPAN("n"), &v)) {
        (void)json_int64(v, &n);
    }
    text = malloc((size_t)n + 2);
    memset(text, 'b', (size_t)n + 2);
    text[0] = '"';
    text[n + 1] = '"';
    finish_text(call, span_make(text, (size_t)n + 2));
    free(text);
}

static CallAsk make_ask(CallAskKind kind, Span key)
{
    CallAsk ask = {.key = key, .kind = kind};

    switch (kind) {
    case CALL_ASK_FORM:
        ask.message = SPAN("Your name?");
        ask.schema = SPAN("{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"}}}");
        break;
    case CALL_ASK_URL:
        ask.message = SPAN("Log in");
        ask.url = SPAN("https://example.org/login");
        break;
    case CALL_ASK_SAMPLE:
        ask.params = SPAN("{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\","
                          "\"text\":\"hi\"}}],\"maxTokens\":10}");
        break;
    case CALL_ASK_ROOTS:
        break;
    }
    return ask;
}

static void finish_ask(Call *call, const CallAsk *asks, size_t n, Span state)
{
    CallResult result = {.kind = CALL_RESULT_ASK, .asks = asks, .n_asks = n, .state = state};

    call_finish(call, &result);
}

/* The inputs and the state as one text, which shows all of what came back. */
static void finish_inputs(Call *call)
{
    Span inputs = json_span(call->inputs);
    char *text = malloc(2 * inputs.n + call->state.n + 8);
    size_t n = 0;

    text[n++] = '"';
    for (size_t i = 0; i < inputs.n; i++) {
        if (inputs.p[i] == '"' || inputs.p[i] == '\\') {
            text[n++] = '\\';
        }
        text[n++] = inputs.p[i];
    }
    text[n++] = '/';
    if (call->state.n > 0) {
        memcpy(text + n, call->state.p, call->state.n);
        n += call->state.n;
    }
    text[n++] = '"';
    finish_text(call, span_make(text, n));
    free(text);
}

static void run_ask(Call *call, CallAskKind kind)
{
    CallAsk ask = make_ask(kind, SPAN("it"));
    JsonValue v;

    if (call_input(call, SPAN("it"), &v)) {
        finish_inputs(call);
    } else {
        finish_ask(call, &ask, 1, SPAN("s"));
    }
}

/* The form's schema cannot be compiled. */
static void run_badform(Call *call)
{
    CallAsk ask = make_ask(CALL_ASK_FORM, SPAN("it"));
    JsonValue v;

    ask.schema = SPAN("{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\","
                      "\"minLength\":-1}}}");
    if (call_input(call, SPAN("it"), &v)) {
        finish_inputs(call);
    } else {
        finish_ask(call, &ask, 1, SPAN("s"));
    }
}

static void run_both(Call *call)
{
    CallAsk asks[] = {make_ask(CALL_ASK_FORM, SPAN("a")), make_ask(CALL_ASK_ROOTS, SPAN("b\"q"))};
    JsonValue v;

    if (call_input(call, SPAN("a"), &v) && call_input(call, SPAN("b\"q"), &v)) {
        finish_inputs(call);
    } else {
        finish_ask(call, asks, 2, SPAN_NULL);
    }
}

static void run_twice(Call *call)
{
    CallAsk ask = make_ask(CALL_ASK_FORM, SPAN("a"));
    JsonValue v;

    if (!call_input(call, SPAN("a"), &v)) {
        finish_ask(call, &ask, 1, SPAN("round 1"));
    } else if (!call_input(call, SPAN("b"), &v)) {
        ask.key = SPAN("b");
        finish_ask(call, &ask, 1, SPAN("round 2"));
    } else {
        finish_inputs(call);
    }
}

/* A state that is longer than any may be. */
static void run_bloat(Call *call)
{
    CallAsk ask = make_ask(CALL_ASK_FORM, SPAN("it"));
    char *state = malloc(LIMIT_MCP_STATE_BYTES + 1);

    memset(state, 's', LIMIT_MCP_STATE_BYTES + 1);
    finish_ask(call, &ask, 1, span_make(state, LIMIT_MCP_STATE_BYTES + 1));
    free(state);
}

static void run_forever(Call *call)
{
    CallAsk ask = make_ask(CALL_ASK_FORM, SPAN("again"));

    /* The state of the last round, handed back from where it is kept. */
    finish_ask(call, &ask, 1, call->state.n > 0 ? call->state : SPAN("on and on"));
}

static void run_tool(Rig *rig, Call *call)
{
    static const struct {
        const char *name;
        void (*run)(Call *call);
    } simple[] = {
        {"echo", run_echo},       {"whole", run_whole},     {"steps", run_steps},
        {"logs", run_logs},       {"big", run_big},         {"both", run_both},
        {"twice", run_twice},     {"forever", run_forever}, {"bloat", run_bloat},
        {"badform", run_badform},
    };
    static const char *const asking[] = {"form", "url", "sample", "roots"};

    if (rig_task_tool(rig, call)) {
        return;
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(simple); i++) {
        if (span_equals(call->target, span_from_str(simple[i].name))) {
            simple[i].run(call);
            return;
        }
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(asking); i++) {
        if (span_equals(call->target, span_from_str(asking[i]))) {
            run_ask(call, (CallAskKind)i);
            return;
        }
    }
    if (span_equals(call->target, SPAN("hold"))) {
        run_hold(rig, call);
    } else if (span_equals(call->target, SPAN("job"))) {
        finish_text(call, SPAN("\"done\""));
    } else if (span_equals(call->target, SPAN("nothing"))) {
        finish_ask(call, NULL, 0, SPAN_NULL);
    } else {
        call_fail(call, CALL_ERROR_UNKNOWN_TOOL, SPAN_NULL);
    }
}

static void run_list(Call *call)
{
    static const char *const texts[] = {
        "{\"name\":\"echo\",\"inputSchema\":{\"type\":\"object\"}}",
        "{\"uri\":\"test://a\",\"name\":\"a\"}",
        "{\"uriTemplate\":\"test://{x}\",\"name\":\"t\"}",
        "{\"name\":\"greet\"}",
    };
    const char *text = texts[call->verb - CALL_LIST_TOOLS];
    CallResult result = {.kind = CALL_RESULT_LIST};
    JsonDoc doc = JSON_DOC_NULL;
    JsonValue entry;
    Arena arena;

    arena_init(&arena, 65536);
    if (call->has_cursor && !span_equals(call->cursor, SPAN("p2")) && call->cursor.n > 0) {
        call_fail(call, CALL_ERROR_INVALID_CURSOR, SPAN_NULL);
    } else if (json_parse(&doc, &arena, text, strlen(text), NULL, NULL) != 0) {
        call_fail(call, CALL_ERROR_INTERNAL, SPAN_NULL);
    } else {
        entry = json_root(&doc);
        result.entries = &entry;
        /* An empty cursor is a cursor: it leads to the last page, none at all to the first. */
        result.n_entries = 1;
        result.next_cursor = call->has_cursor ? SPAN_NULL : SPAN("p2");
        call_finish(call, &result);
    }
    arena_deinit(&arena);
}

static void run_complete(Call *call)
{
    Span piece =
        call->completion.context.node != NULL ? SPAN("\"with context\"") : SPAN("\"without\"");
    CallResult result = {
        .kind = CALL_RESULT_COMPLETION, .pieces = &piece, .n_pieces = 1, .total = 1};

    if (span_equals(call->completion.argument, SPAN("form"))) {
        run_ask(call, CALL_ASK_FORM);
        return;
    }
    call_finish(call, &result);
}

static void run_resource(Call *call)
{
    Span piece = SPAN("{\"uri\":\"test://a\",\"text\":\"content\"}");
    CallResult result = {.kind = CALL_RESULT_RESOURCE, .pieces = &piece, .n_pieces = 1};

    if (span_equals(call->target, SPAN("test://form")) && call->inputs.node == NULL) {
        run_ask(call, CALL_ASK_FORM);
        return;
    }
    if (!span_starts_with(call->target, SPAN("test://"))) {
        call_fail(call, CALL_ERROR_UNKNOWN_RESOURCE, SPAN_NULL);
        return;
    }
    if (call->verb == CALL_SUBSCRIBE) {
        result = CALL_RESULT_NULL;
    }
    call_finish(call, &result);
}

static void run_prompt(Call *call)
{
    Span piece = SPAN("{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"hello\"}}");
    CallResult result = {.kind = CALL_RESULT_PROMPT,
                         .pieces = &piece,
                         .n_pieces = 1,
                         .content_kinds = CALL_CONTENT_TEXT};

    if (span_equals(call->target, SPAN("greet"))) {
        call_finish(call, &result);
    } else {
        call_fail(call, CALL_ERROR_UNKNOWN_PROMPT, SPAN_NULL);
    }
}

static void run(Rig *rig, Call *call)
{
    rig->n_started++;
    switch (call->verb) {
    case CALL_TOOL:
        run_tool(rig, call);
        break;
    case CALL_READ:
    case CALL_SUBSCRIBE:
        run_resource(call);
        break;
    case CALL_PROMPT:
        run_prompt(call);
        break;
    case CALL_COMPLETE:
        run_complete(call);
        break;
    case CALL_TASK_GET:
    case CALL_TASK_RESULT:
    case CALL_TASK_UPDATE:
    case CALL_TASK_CANCEL:
    case CALL_LIST_TASKS:
        rig_task_run(rig, call);
        break;
    default:
        run_list(call);
        break;
    }
}

/* The owner. */

static void forget(Rig *rig, size_t i)
{
    rig->n_held--;
    memmove(&rig->held[i], &rig->held[i + 1], (rig->n_held - i) * sizeof(rig->held[0]));
    memmove(&rig->tags[i], &rig->tags[i + 1], (rig->n_held - i) * sizeof(rig->tags[0]));
}

static void cancel(Rig *rig, Call *call)
{
    for (size_t i = 0; i < rig->n_held; i++) {
        if (rig->held[i] == call) {
            rig->n_cancelled++;
            (void)snprintf(rig->last_cancelled, sizeof(rig->last_cancelled), "%s", rig->tags[i]);
            forget(rig, i);
            return;
        }
    }
}

void rig_serve(Rig *rig)
{
    McpEvent event;

    while (mcp_server_next(rig->server, &event)) {
        if (event.kind == MCP_EVENT_CALL) {
            run(rig, event.call);
        } else {
            cancel(rig, event.call);
            mcp_server_drop(rig->server, event.call);
        }
    }
}

void rig_init(Rig *rig)
{
    *rig = (Rig){.offer = {.tools = true,
                           .resources = true,
                           .prompts = true,
                           .completions = true,
                           .logging = true,
                           .lists_change = true},
                 .now_ms = 1000,
                 .task_owner = ""};
    rig->identity = (McpIdentity){.name = SPAN("rig"), .version = SPAN("1.0")};
    rig->sink =
        (McpSink){.begin = sink_begin, .commit = sink_commit, .abort = sink_abort, .context = rig};
    rig->sealer = (McpSealer){seal, NULL};
    rig->config = (McpServerConfig){.identity = &rig->identity,
                                    .offer = get_offer,
                                    .is_tool = is_tool,
                                    .context = rig,
                                    .sink = &rig->sink,
                                    .sealer = &rig->sealer,
                                    .seed = {1, 2}};
    bytes_init(&rig->sent, (size_t)1 << 30);
}

void rig_lend(Rig *rig)
{
    rig->sink.commit_lent = sink_commit_lent;
}

int rig_open(Rig *rig)
{
    return mcp_server_new(&rig->server, &rig->config);
}

void rig_deinit(Rig *rig)
{
    Call *call;

    if (rig->server != NULL) {
        mcp_server_close(rig->server);
        while ((call = mcp_server_first_call(rig->server)) != NULL) {
            cancel(rig, call);
            mcp_server_drop(rig->server, call);
        }
        rig->server = mcp_server_free(rig->server);
    }
    bytes_deinit(&rig->sent);
}

int rig_receive(Rig *rig, Span message)
{
    int r = mcp_server_receive(rig->server, message, rig->now_ms);

    if (r == 0) {
        rig_serve(rig);
    }
    return r;
}

int rig_receive_text(Rig *rig, const char *message)
{
    return rig_receive(rig, span_from_str(message));
}

const char *rig_take(Rig *rig)
{
    char *message = rig->sent.data + rig->n_read;
    char *end;

    if (rig->n_read == rig->sent.n) {
        return NULL;
    }
    end = memchr(message, '\n', rig->sent.n - rig->n_read);
    *end = '\0';
    rig->n_read += (size_t)(end - message) + 1;
    return message;
}

Call *rig_held(Rig *rig, const char *tag)
{
    for (size_t i = 0; i < rig->n_held; i++) {
        if (strcmp(rig->tags[i], tag) == 0) {
            return rig->held[i];
        }
    }
    return NULL;
}

/* The call is not held any more. */
Call *rig_release(Rig *rig, const char *tag)
{
    Call *call = rig_held(rig, tag);

    for (size_t i = 0; i < rig->n_held; i++) {
        if (rig->held[i] == call) {
            forget(rig, i);
            break;
        }
    }
    return call;
}

void rig_finish(Rig *rig, const char *tag)
{
    Call *call = rig_release(rig, tag);

    if (call != NULL) {
        finish_text(call, SPAN("\"done\""));
    }
}

void rig_ask(Rig *rig, const char *tag)
{
    Call *call = rig_release(rig, tag);

    if (call != NULL) {
        run_ask(call, CALL_ASK_FORM);
    }
}

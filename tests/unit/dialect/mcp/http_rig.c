#include "unit/dialect/mcp/http_rig.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/cmocka.h"

#include "base/text.h"

/* The wire. */

static void keep_fields(HttpX *x, unsigned status, const Http1Field *fields, size_t n_fields)
{
    size_t n = 0;

    assert_false(x->is_complete || x->is_streaming || x->is_aborted || x->is_gone);
    x->status = status;
    x->fields[0] = '\0';
    for (size_t i = 0; i < n_fields; i++) {
        n += (size_t)snprintf(x->fields + n, sizeof(x->fields) - n, "%.*s: %.*s\n",
                              (int)fields[i].name.n, fields[i].name.p, (int)fields[i].value.n,
                              fields[i].value.p);
        assert_true(n < sizeof(x->fields));
    }
}

static int wire_respond(void *context, unsigned status, const Http1Field *fields, size_t n_fields,
                        Span body)
{
    HttpX *x = context;

    keep_fields(x, status, fields, n_fields);
    if (x->is_broken || bytes_append_span(&x->body, body) != 0) {
        x->is_aborted = true;
        return -EPIPE;
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
    HttpX *x = context;

    keep_fields(x, status, fields, n_fields);
    if (x->is_broken) {
        return -EPIPE;
    }
    x->is_streaming = true;
    return 0;
}

static void assert_streaming(const HttpX *x)
{
    assert_true(x->is_streaming);
    assert_false(x->is_complete || x->is_aborted || x->is_gone);
}

static int wire_piece_begin(void *context, Bytes **ret)
{
    HttpX *x = context;

    assert_streaming(x);
    assert_false(x->is_in_piece);
    if (x->is_broken) {
        return -EPIPE;
    }
    x->is_in_piece = true;
    x->start = x->body.n;
    *ret = &x->body;
    return 0;
}

static int wire_piece_commit(void *context)
{
    HttpX *x = context;

    assert_streaming(x);
    assert_true(x->is_in_piece);
    x->is_in_piece = false;
    return 0;
}

static void wire_piece_abort(void *context)
{
    HttpX *x = context;

    assert_streaming(x);
    x->is_in_piece = false;
    x->body.n = x->start;
}

static int wire_piece_taken(void *context, Span before, Bytes *body, Span after)
{
    HttpX *x = context;
    int r;

    assert_streaming(x);
    assert_false(x->is_in_piece);
    if (x->is_broken) {
        return -EPIPE;
    }
    r = bytes_append_span(&x->body, before);
    r = r != 0 ? r : bytes_append_span(&x->body, bytes_span(body));
    r = r != 0 ? r : bytes_append_span(&x->body, after);
    x->n_taken += r == 0;
    bytes_clear(body);
    return r;
}

static int wire_end(void *context)
{
    HttpX *x = context;

    assert_streaming(x);
    assert_false(x->is_in_piece);
    x->is_complete = true;
    return 0;
}

static void wire_abort(void *context)
{
    HttpX *x = context;

    assert_false(x->is_complete || x->is_gone);
    x->is_aborted = true;
}

static size_t wire_pending(const void *context)
{
    return ((const HttpX *)context)->n_pending;
}

static void wire_set_data(void *context, void *data)
{
    HttpX *x = context;

    assert_false(x->is_complete);
    x->data = data;
}

static void *wire_data(const void *context)
{
    return ((const HttpX *)context)->data;
}

/* The provider. */

static void finish_text(Call *call, Span json_text)
{
    Span pieces[] = {SPAN("{\"type\":\"text\",\"text\":"), json_text, SPAN("}")};
    CallResult result = CALL_RESULT_TOOL_PIECES(pieces, 3);

    call_finish(call, &result);
}

static void run_hold(HttpRig *rig, Call *call)
{
    JsonValue tag;
    Span text = SPAN("x");

    if (call->arguments.node != NULL && json_get(call->arguments, SPAN("tag"), &tag)) {
        (void)json_string_plain(tag, &text);
    }
    assert_true(rig->n_held < HTTP_RIG_MAX_HELD);
    rig->held[rig->n_held] = call;
    (void)snprintf(rig->tags[rig->n_held], sizeof(rig->tags[0]), "%.*s", (int)text.n, text.p);
    rig->n_held++;
    (void)call_keep_arguments(call);
}

static void run_form(Call *call)
{
    CallAsk ask = {.key = SPAN("it"),
                   .kind = CALL_ASK_FORM,
                   .message = SPAN("Name?"),
                   .schema = SPAN("{\"type\":\"object\",\"properties\":{}}")};
    CallResult result = {.kind = CALL_RESULT_ASK, .asks = &ask, .n_asks = 1};
    JsonValue v;

    if (call_input(call, SPAN("it"), &v)) {
        finish_text(call, SPAN("\"hi\""));
    } else {
        call_finish(call, &result);
    }
}

static void run_long(Call *call, size_t n)
{
    static char text[40000];

    assert_true(n <= sizeof(text));
    memset(text, 'b', n);
    text[0] = '"';
    text[n - 1] = '"';
    finish_text(call, span_make(text, n));
}

static void run_big(Call *call)
{
    run_long(call, 5000);
}

static void report(Call *call, double progress)
{
    call_report(call, &(CallProgress){.progress = progress, .total = 2});
}

static void run_task(HttpRig *rig, Call *call)
{
    CallTask task = {.id = SPAN("t1"), .ttl_ms = -1};
    CallResult result = {.kind = CALL_RESULT_TASK, .tasks = &task, .n_tasks = 1};

    (void)snprintf(rig->task_owner, sizeof(rig->task_owner), "%.*s", (int)call->owner.n,
                   call->owner.p);
    if (call->later == CALL_LATER_NEVER) {
        call_fail(call, CALL_ERROR_NEEDS_LATER, SPAN_NULL);
    } else {
        call_finish(call, &result);
    }
}

static void run_tool(HttpRig *rig, Call *call)
{
    Span name = call->target;

    if (span_equals(name, SPAN("echo"))) {
        finish_text(call, SPAN("\"hi\""));
    } else if (span_equals(name, SPAN("hold"))) {
        run_hold(rig, call);
    } else if (span_equals(name, SPAN("steps"))) {
        report(call, 1);
        report(call, 2);
        finish_text(call, SPAN("\"hi\""));
    } else if (span_equals(name, SPAN("stephold"))) {
        report(call, 1);
        run_hold(rig, call);
    } else if (span_equals(name, SPAN("detach"))) {
        call_detach(call);
        run_hold(rig, call);
    } else if (span_equals(name, SPAN("form"))) {
        run_form(call);
    } else if (span_equals(name, SPAN("big"))) {
        run_big(call);
    } else if (span_equals(name, SPAN("large"))) {
        run_long(call, 40000);
    } else if (span_equals(name, SPAN("task"))) {
        run_task(rig, call);
    } else {
        call_fail(call, CALL_ERROR_UNKNOWN_TOOL, SPAN_NULL);
    }
}

/* The owner. */

static void owner_call(void *context, void *asker, uint64_t session, Call *call)
{
    HttpRig *rig = context;
    CallResult nothing = CALL_RESULT_NULL;

    assert_true(asker == &rig->alice || asker == &rig->bob);
    rig->n_calls++;
    rig->session = session;
    if (call->verb == CALL_TOOL) {
        run_tool(rig, call);
    } else if (call->verb == CALL_SUBSCRIBE) {
        call_finish(call, &nothing);
    } else {
        call_fail(call, CALL_ERROR_INTERNAL, SPAN_NULL);
    }
}

static Call *let_go(HttpRig *rig, size_t i)
{
    Call *call = rig->held[i];

    rig->n_held--;
    rig->held[i] = rig->held[rig->n_held];
    memcpy(rig->tags[i], rig->tags[rig->n_held], sizeof(rig->tags[0]));
    return call;
}

static void owner_cancel(void *context, Call *call)
{
    HttpRig *rig = context;

    for (size_t i = 0; i < rig->n_held; i++) {
        if (rig->held[i] == call) {
            (void)let_go(rig, i);
            rig->n_cancelled++;
            return;
        }
    }
}

static void owner_hold(void *context, void *asker)
{
    (void)context;
    ((HttpAsker *)asker)->n_holds++;
}

static void owner_release(void *context, void *asker)
{
    (void)context;
    assert_true(((HttpAsker *)asker)->n_holds > 0);
    ((HttpAsker *)asker)->n_holds--;
}

static bool owner_is_same(void *context, const void *asker, const void *other)
{
    (void)context;
    return ((const HttpAsker *)asker)->who == ((const HttpAsker *)other)->who;
}

static int64_t owner_ends(void *context, const void *x)
{
    const HttpRig *rig = context;

    assert_non_null(x);
    return rig->end_ms == 0 ? INT64_MAX : rig->end_ms;
}

static Span owner_whose(void *context, const void *asker)
{
    return asker == &((HttpRig *)context)->alice ? SPAN("alice") : SPAN("bob");
}

static Span owner_tool(void *context, Span name)
{
    (void)context;
    (void)name;
    return SPAN_NULL;
}

static int owner_random(void *context, uint8_t *ret, size_t n)
{
    HttpRig *rig = context;

    if (rig->random_fails != 0) {
        return rig->random_fails;
    }
    memset(ret, 0xa0, n);
    ret[n - 1] = (uint8_t)rig->n_randoms;
    ret[n - 2] ^= (uint8_t)(rig->n_randoms >> 8);
    rig->n_randoms++;
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
    return (McpOffer){.tools = true,
                      .resources = true,
                      .prompts = true,
                      .completions = true,
                      .logging = true,
                      .lists_change = true,
                      .tasks = true,
                      .lists_tasks = true};
}

/* The rig. */

void http_rig_init(HttpRig *rig)
{
    *rig = (HttpRig){.now_ms = 1000, .alice = {0, 1}, .bob = {0, 2}};
    rig->identity = (McpIdentity){.name = SPAN("rig"), .version = SPAN("1")};
    rig->sealer = (McpSealer){seal, NULL};
    rig->wire = (McpHttpWire){.respond = wire_respond,
                              .respond_taken = wire_respond_taken,
                              .begin = wire_begin,
                              .piece_begin = wire_piece_begin,
                              .piece_commit = wire_piece_commit,
                              .piece_abort = wire_piece_abort,
                              .piece_taken = wire_piece_taken,
                              .end = wire_end,
                              .abort = wire_abort,
                              .pending = wire_pending,
                              .set_data = wire_set_data,
                              .data = wire_data};
    rig->owner = (McpHttpOwner){.call = owner_call,
                                .cancel = owner_cancel,
                                .hold = owner_hold,
                                .release = owner_release,
                                .is_same = owner_is_same,
                                .ends = owner_ends,
                                .whose = owner_whose,
                                .tool = owner_tool,
                                .random = owner_random};
    rig->config = (McpHttpConfig){.server = {.identity = &rig->identity,
                                             .offer = get_offer,
                                             .context = rig,
                                             .sealer = &rig->sealer,
                                             .seed = {1, 2}},
                                  .wire = &rig->wire,
                                  .owner = &rig->owner,
                                  .context = rig,
                                  .seed = {3, 4},
                                  .old_post_path = SPAN("/messages"),
                                  .session_idle_ms = 600000,
                                  .keep_alive_ms = 15000,
                                  .retry_ms = 500};
}

int http_rig_open(HttpRig *rig)
{
    return mcp_http_new(&rig->http, &rig->config);
}

void http_rig_close(HttpRig *rig)
{
    if (rig->http != NULL) {
        for (size_t i = 0; i < rig->n_xs; i++) {
            http_rig_gone(rig, rig->xs[i]);
        }
        mcp_http_cancel_all(rig->http);
        assert_int_equal(mcp_http_n_calls(rig->http), 0);
        assert_int_equal(mcp_http_n_sessions(rig->http), 0);
        assert_int_equal(mcp_http_n_streams(rig->http), 0);
    }
    rig->http = mcp_http_free(rig->http);
    assert_int_equal(rig->n_held, 0);
    assert_int_equal(rig->alice.n_holds, 0);
    assert_int_equal(rig->bob.n_holds, 0);
    for (size_t i = 0; i < rig->n_xs; i++) {
        bytes_deinit(&rig->xs[i]->body);
        free(rig->xs[i]);
    }
    rig->n_xs = 0;
}

static HttpX *new_x(HttpRig *rig)
{
    HttpX *x = calloc(1, sizeof(*x));

    assert_true(rig->n_xs < HTTP_RIG_MAX_X);
    x->rig = rig;
    x->is_broken = rig->breaks_next;
    rig->breaks_next = false;
    bytes_init(&x->body, (size_t)1 << 30);
    rig->xs[rig->n_xs++] = x;
    return x;
}

static Http1Method method_of(const char *name)
{
    static const struct {
        const char *name;
        Http1Method method;
    } methods[] = {{"GET", HTTP1_METHOD_GET},       {"POST", HTTP1_METHOD_POST},
                   {"PUT", HTTP1_METHOD_PUT},       {"HEAD", HTTP1_METHOD_HEAD},
                   {"DELETE", HTTP1_METHOD_DELETE}, {"OPTIONS", HTTP1_METHOD_OPTIONS}};

    for (size_t i = 0; i < TW_ARRAY_SIZE(methods); i++) {
        if (strcmp(methods[i].name, name) == 0) {
            return methods[i].method;
        }
    }
    return HTTP1_METHOD_OTHER;
}

/* "Name: value\n" each. */
static size_t split_fields(const char *text, Http1Field *ret, size_t max)
{
    size_t n = 0;

    while (*text != '\0') {
        const char *end = strchr(text, '\n');
        const char *colon = strchr(text, ':');

        assert_true(end != NULL && colon != NULL && colon < end && n < max);
        ret[n++] = (Http1Field){
            span_make(text, (size_t)(colon - text)),
            text_trim(span_make(colon + 1, (size_t)(end - colon - 1))),
        };
        text = end + 1;
    }
    return n;
}

HttpX *http_rig_send_as(HttpRig *rig, HttpAsker *asker, const char *method, const char *target,
                        const char *fields, const char *body)
{
    Http1Field split[16];
    const char *query = strchr(target, '?');
    size_t n_path = query == NULL ? strlen(target) : (size_t)(query - target);
    Http1Head head = {.method = method_of(method),
                      .method_name = span_from_str(method),
                      .target = span_from_str(target),
                      .path = span_make(target, n_path),
                      .query = query == NULL ? SPAN_NULL : span_from_str(query + 1),
                      .minor = 1,
                      .fields = split,
                      .n_fields = split_fields(fields, split, TW_ARRAY_SIZE(split))};
    McpHttpPath path = MCP_HTTP_PATH_MAIN;
    HttpX *x = new_x(rig);

    if (span_equals(head.path, SPAN("/sse"))) {
        path = MCP_HTTP_PATH_OLD_STREAM;
    } else if (span_equals(head.path, SPAN("/messages"))) {
        path = MCP_HTTP_PATH_OLD_POST;
    }
    mcp_http_request(rig->http, path, &head, span_from_str(body), x, asker, rig->now_ms);
    return x;
}

HttpX *http_rig_send(HttpRig *rig, const char *method, const char *target, const char *fields,
                     const char *body)
{
    return http_rig_send_as(rig, &rig->alice, method, target, fields, body);
}

HttpX *http_rig_post(HttpRig *rig, const char *fields, const char *body)
{
    char all[600];

    (void)snprintf(all, sizeof(all),
                   "Content-Type: application/json\n"
                   "Accept: application/json, text/event-stream\n%s",
                   fields);
    return http_rig_send(rig, "POST", "/mcp", all, body);
}

HttpX *http_rig_modern(HttpRig *rig, const char *accept, const char *method, const char *name,
                       const char *params)
{
    char fields[600];
    char body[1200];

    (void)snprintf(fields, sizeof(fields),
                   "Content-Type: application/json\n%s%s%s"
                   "MCP-Protocol-Version: 2026-07-28\nMcp-Method: %s\n%s%s%s",
                   accept[0] == '\0' ? "" : "Accept: ", accept, accept[0] == '\0' ? "" : "\n",
                   method, name[0] == '\0' ? "" : "Mcp-Name: ", name, name[0] == '\0' ? "" : "\n");
    (void)snprintf(body, sizeof(body),
                   "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s%s%s%s"
                   "\"_meta\":{\"progressToken\":7,"
                   "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                   "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
                   method, name[0] == '\0' ? "" : "\"name\":\"", name, name[0] == '\0' ? "" : "\",",
                   params);
    return http_rig_send(rig, "POST", "/mcp", fields, body);
}

void http_rig_initialize(HttpRig *rig, const char *revision, char id[64])
{
    char body[400];
    HttpX *x;

    (void)snprintf(body, sizeof(body),
                   "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
                   "\"protocolVersion\":\"%s\",\"capabilities\":{\"elicitation\":{}}}}",
                   revision);
    x = http_rig_post(rig, "", body);
    assert_int_equal(x->status, 200);
    assert_non_null(http_rig_field(x, "Mcp-Session-Id"));
    (void)snprintf(id, 64, "Mcp-Session-Id: %s\n", http_rig_field(x, "Mcp-Session-Id"));
    x = http_rig_post(rig, id, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    assert_int_equal(x->status, 202);
}

void http_rig_gone(HttpRig *rig, HttpX *x)
{
    if (x->is_gone || x->is_complete) {
        return;
    }
    x->is_aborted = true; /* nothing may be written from here on */
    mcp_http_gone(rig->http, x, rig->now_ms);
    x->is_gone = true;
}

void http_rig_advance(HttpRig *rig, int64_t ms)
{
    rig->now_ms += ms;
    mcp_http_advance(rig->http, rig->now_ms);
}

const char *http_rig_text(HttpX *x)
{
    size_t from = x->n_read;

    assert_int_equal(bytes_append_byte(&x->body, '\0'), 0);
    x->body.n--;
    x->n_read = x->body.n;
    return x->body.data + from;
}

const char *http_rig_field(HttpX *x, const char *name)
{
    static char value[200];
    Http1Field split[16];
    size_t n = split_fields(x->fields, split, TW_ARRAY_SIZE(split));

    for (size_t i = 0; i < n; i++) {
        if (span_equals(split[i].name, span_from_str(name))) {
            (void)snprintf(value, sizeof(value), "%.*s", (int)split[i].value.n, split[i].value.p);
            return value;
        }
    }
    return NULL;
}

static size_t find_held(const HttpRig *rig, const char *tag)
{
    for (size_t i = 0; i < rig->n_held; i++) {
        if (strcmp(rig->tags[i], tag) == 0) {
            return i;
        }
    }
    fail_msg("no call is held as %s", tag);
    return 0;
}

void http_rig_finish(HttpRig *rig, const char *tag)
{
    finish_text(let_go(rig, find_held(rig, tag)), SPAN("\"done\""));
}

void http_rig_finish_big(HttpRig *rig, const char *tag)
{
    run_big(let_go(rig, find_held(rig, tag)));
}

void http_rig_ask(HttpRig *rig, const char *tag)
{
    run_form(let_go(rig, find_held(rig, tag)));
}

void http_rig_report(HttpRig *rig, const char *tag, double progress)
{
    report(rig->held[find_held(rig, tag)], progress);
}

/* What needs no session: requests of the modern era, refusals, streams, time, and the end. */
#include "dialect/mcp/http.h"

#include "unit/dialect/mcp/http_rig.h"

#include "support/cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialect/mcp/render.h"

#define BOTH "application/json, text/event-stream"

static int set_up(void **state)
{
    HttpRig *rig = malloc(sizeof(*rig));

    http_rig_init(rig);
    assert_int_equal(http_rig_open(rig), 0);
    *state = rig;
    return 0;
}

static int tear_down(void **state)
{
    HttpRig *rig = *state;

    http_rig_close(rig);
    free(rig);
    return 0;
}

static void assert_contains(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("%s is not in: %s", part, text);
    }
}

static void assert_lacks(const char *text, const char *part)
{
    if (strstr(text, part) != NULL) {
        fail_msg("%s is in: %s", part, text);
    }
}

/* How often it is there. */
static size_t count(const char *text, const char *part)
{
    size_t n = 0;

    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part)) {
        n++;
    }
    return n;
}

static void assert_event_fields(HttpX *x)
{
    assert_string_equal(http_rig_field(x, "Content-Type"), "text/event-stream");
    assert_string_equal(http_rig_field(x, "Cache-Control"), "no-cache");
    assert_string_equal(http_rig_field(x, "X-Accel-Buffering"), "no");
}

static void an_answer_that_comes_first_is_json(void **state)
{
    HttpRig *rig = *state;
    HttpX *x = http_rig_modern(rig, BOTH, "tools/call", "echo", "");

    assert_int_equal(x->status, 200);
    assert_true(x->is_complete && !x->is_streaming);
    assert_string_equal(x->fields, "Content-Type: application/json\n");
    assert_true(http_rig_text(x)[0] == '{');
    assert_contains(x->body.data, "\"text\":\"hi\"");
    assert_int_equal(mcp_http_n_sessions(rig->http), 0);
}

static void what_comes_before_the_answer_makes_it_a_stream(void **state)
{
    HttpRig *rig = *state;
    HttpX *x = http_rig_modern(rig, BOTH, "tools/call", "steps", "");
    const char *text = http_rig_text(x);

    assert_int_equal(x->status, 200);
    assert_true(x->is_complete && x->is_streaming);
    assert_event_fields(x);
    assert_null(http_rig_field(x, "Mcp-Session-Id"));
    assert_int_equal(count(text, "event: message\ndata: {\"jsonrpc\""), 3);
    assert_int_equal(count(text, "}\n\n"), 3);
    assert_int_equal(count(text, "notifications/progress"), 2);
    assert_contains(text, "\"text\":\"hi\"");
    /* The modern era has no coming back. */
    assert_lacks(text, "id: ");
    assert_lacks(text, "retry: ");
    assert_int_equal(mcp_http_n_streams(rig->http), 0);
}

static void no_accept_admits_both(void **state)
{
    HttpRig *rig = *state;
    HttpX *x = http_rig_modern(rig, "", "tools/call", "echo", "");

    assert_true(x->status == 200 && !x->is_streaming);
    x = http_rig_modern(rig, "", "tools/call", "steps", "");
    assert_true(x->status == 200 && x->is_streaming && x->is_complete);
}

static void who_takes_only_events_gets_events(void **state)
{
    HttpRig *rig = *state;
    HttpX *x = http_rig_modern(rig, "text/event-stream", "tools/call", "echo", "");

    assert_true(x->status == 200 && x->is_streaming && x->is_complete);
    assert_contains(http_rig_text(x), "event: message\ndata: {");
    /* A refusal is no stream. */
    x = http_rig_modern(rig, "text/event-stream", "no/such", "", "");
    assert_true(x->status == 404 && !x->is_streaming);
    assert_contains(http_rig_text(x), "-32601");
}

static void who_takes_only_json_gets_the_answer_alone(void **state)
{
    HttpRig *rig = *state;
    HttpX *x = http_rig_modern(rig, "application/json", "tools/call", "steps", "");

    assert_true(x->status == 200 && !x->is_streaming && x->is_complete);
    assert_lacks(http_rig_text(x), "progress");
    x = http_rig_modern(rig, "application/json", "tools/call", "hold", "");
    http_rig_advance(rig, 100000);
    assert_int_equal(x->status, 0);
    http_rig_finish(rig, "x");
    assert_true(x->status == 200 && !x->is_streaming && x->is_complete);
}

static void a_subscription_is_a_stream_for_everybody(void **state)
{
    HttpRig *rig = *state;
    HttpX *x = http_rig_modern(rig, "application/json", "subscriptions/listen", "",
                               "\"notifications\":{\"toolsListChanged\":true},");

    assert_true(x->status == 200 && x->is_streaming && !x->is_complete);
    assert_contains(http_rig_text(x), "notifications/subscriptions/acknowledged");
    mcp_http_list_changed(rig->http, MCP_LIST_TOOLS);
    assert_contains(http_rig_text(x), "notifications/tools/list_changed");
}

/* What the session says of a message becomes a status. */
static void refusals_have_their_status(void **state)
{
#define MODERN "MCP-Protocol-Version: 2026-07-28\n"
#define META(version)                                                                              \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" version "\","                      \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"
    static const struct {
        const char *fields;
        const char *body;
        unsigned status;
        const char *part;
    } cases[] = {
        {"", "{", 400, "-32700"},
        {MODERN, "{", 400, "-32700"},
        {"", "17", 400, "-32600"},
        {MODERN, "[]", 400, "-32600"},
        {"", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}", 400, "no session"},
        {MODERN "Mcp-Method: x\n",
         "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{" META("2026-07-28") "}}", 404,
         "-32601"},
        {MODERN "Mcp-Method: y\n",
         "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{" META("2026-07-28") "}}", 400,
         "-32020"},
        {"MCP-Protocol-Version: 2099-01-01\nMcp-Method: x\n",
         "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{" META("2099-01-01") "}}", 400,
         "-32022"},
        {MODERN "Mcp-Method: tools/call\nMcp-Name: nobody\n",
         "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
         "call\",\"params\":{\"name\":\"nobody\"," META("2026-07-28") "}}",
         200, "-32602"},
        /* It asks the user, and the client said that it cannot. */
        {MODERN "Mcp-Method: tools/call\nMcp-Name: form\n",
         "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
         "call\",\"params\":{\"name\":\"form\"," META("2026-07-28") "}}",
         400, "-32021"},
        /* A modern request does not look at sessions. */
        {MODERN "Mcp-Session-Id: nonsense\nLast-Event-ID: 1-1\nMcp-Method: server/discover\n",
         "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{" META(
             "2026-07-28") "}}",
         200, "2026-07-28"},
        {"Mcp-Session-Id: nonsense\n", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", 404,
         "no such session"},
        {"Mcp-Session-Id: a\nMcp-Session-Id: a\n",
         "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", 400, "repeated"},
        {MODERN, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}", 202, ""},
        {MODERN "Mcp-Method: notifications/cancelled\n",
         "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{" META(
             "2026-07-28") "}}",
         202, ""},
        /* What a notification has of headers must be right. */
        {MODERN "Mcp-Method: tools/call\n",
         "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}", 400, "-32020"},
        {MODERN "Mcp-Method: notifications/cancelled\nMcp-Method: notifications/cancelled\n",
         "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}", 400, "-32020"},
        {"MCP-Protocol-Version: 2025-11-25\n",
         "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{" META(
             "2026-07-28") "}}",
         400, "-32020"},
        {"", "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", 400, "no session"},
        {"MCP-Protocol-Version: 2025-11-25\n", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", 400,
         "no session"},
    };
    HttpRig *rig = *state;

    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        HttpX *x = http_rig_post(rig, cases[i].fields, cases[i].body);

        if (x->status != cases[i].status) {
            fail_msg("%zu: %u: %s", i, x->status, http_rig_text(x));
        }
        assert_true(x->is_complete && !x->is_streaming);
        assert_contains(http_rig_text(x), cases[i].part);
        assert_null(http_rig_field(x, "Mcp-Session-Id"));
        assert_int_equal(x->body.n == 0, x->status == 202);
    }
    assert_int_equal(mcp_http_n_sessions(rig->http), 0);
}

static void other_methods_and_types_are_refused(void **state)
{
    static const struct {
        const char *method;
        const char *fields;
        unsigned status;
        const char *allow;
    } cases[] = {
        {"PUT", "", 405, "GET, POST, DELETE"},
        {"HEAD", "", 405, "GET, POST, DELETE"},
        {"OPTIONS", "", 405, "GET, POST, DELETE"},
        {"GET", "MCP-Protocol-Version: 2026-07-28\n", 405, "POST"},
        {"DELETE", "MCP-Protocol-Version: 2026-07-28\n", 405, "POST"},
        {"GET", "MCP-Protocol-Version: 2099-01-01\n", 400, NULL},
        {"DELETE", "MCP-Protocol-Version: never\n", 400, NULL},
        {"GET", "", 400, NULL},
        {"GET", "Accept: application/json\n", 406, NULL},
        {"GET", "Mcp-Session-Id: x\n", 404, NULL},
        {"DELETE", "", 400, NULL},
        {"DELETE", "Mcp-Session-Id: x\n", 404, NULL},
        {"POST", "", 415, NULL},
        {"POST", "Content-Type: text/plain\n", 415, NULL},
        {"POST", "Content-Type: application/json\nAccept: text/html\n", 406, NULL},
        {"POST", "Content-Type: application/json; charset=utf-8\nAccept: */*\n", 200, NULL},
    };
    HttpRig *rig = *state;

    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        HttpX *x = http_rig_send(rig, cases[i].method, "/mcp", cases[i].fields,
                                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
        const char *allow = http_rig_field(x, "Allow");

        if (x->status != cases[i].status) {
            fail_msg("%zu: %u: %s", i, x->status, http_rig_text(x));
        }
        assert_true(x->is_complete);
        assert_int_equal(allow == NULL, cases[i].allow == NULL);
        if (allow != NULL) {
            assert_string_equal(allow, cases[i].allow);
        }
        if (x->status != 200) {
            assert_contains(http_rig_text(x), "\"id\":null");
            assert_string_equal(http_rig_field(x, "Content-Type"), "application/json");
        }
    }
}

static void a_late_answer_becomes_a_stream_that_is_kept_alive(void **state)
{
    HttpRig *rig = *state;
    HttpX *x = http_rig_modern(rig, BOTH, "tools/call", "hold", "");

    assert_int_equal(mcp_http_next_deadline(rig->http), rig->now_ms + 15000);
    http_rig_advance(rig, 14999);
    assert_int_equal(x->status, 0);
    http_rig_advance(rig, 1);
    assert_true(x->status == 200 && x->is_streaming);
    assert_string_equal(http_rig_text(x), ": alive\n\n");
    assert_int_equal(mcp_http_n_streams(rig->http), 1);
    http_rig_advance(rig, 14999);
    assert_string_equal(http_rig_text(x), "");
    /* What is said counts as a sign of life. */
    http_rig_report(rig, "x", 1);
    assert_contains(http_rig_text(x), "notifications/progress");
    http_rig_advance(rig, 14999);
    assert_string_equal(http_rig_text(x), "");
    http_rig_advance(rig, 1);
    assert_string_equal(http_rig_text(x), ": alive\n\n");
    /* Who reads nothing is told nothing. */
    x->n_pending = 1;
    http_rig_advance(rig, 15000);
    assert_string_equal(http_rig_text(x), "");
    x->n_pending = 0;
    http_rig_advance(rig, 15000);
    assert_string_equal(http_rig_text(x), ": alive\n\n");
    http_rig_finish(rig, "x");
    assert_contains(http_rig_text(x), "\"text\":\"done\"");
    assert_true(x->is_complete);
    assert_int_equal(mcp_http_next_deadline(rig->http), INT64_MAX);
}

static void an_answer_may_still_be_json_if_it_comes_in_time(void **state)
{
    HttpRig *rig = *state;
    HttpX *x = http_rig_modern(rig, BOTH, "tools/call", "hold", "");

    http_rig_advance(rig, 14000);
    http_rig_finish(rig, "x");
    assert_true(x->status == 200 && !x->is_streaming && x->is_complete);
    assert_int_equal(mcp_http_next_deadline(rig->http), INT64_MAX);
}

static void a_client_that_goes_cancels(void **state)
{
    HttpRig *rig = *state;
    HttpX *x = http_rig_modern(rig, BOTH, "tools/call", "hold", "");
    HttpX *listen = http_rig_modern(rig, BOTH, "subscriptions/listen", "",
                                    "\"notifications\":{\"toolsListChanged\":true},");

    assert_int_equal(mcp_http_n_calls(rig->http), 1);
    assert_int_equal(mcp_http_n_streams(rig->http), 1);
    http_rig_gone(rig, x);
    assert_int_equal(rig->n_cancelled, 1);
    assert_int_equal(mcp_http_n_calls(rig->http), 0);
    http_rig_gone(rig, listen);
    assert_int_equal(mcp_http_n_streams(rig->http), 0);
    mcp_http_list_changed(rig->http, MCP_LIST_TOOLS);
    /* Those who were served by the same objects before are not mixed up with those who come. */
    x = http_rig_modern(rig, BOTH, "tools/call", "echo", "");
    assert_true(x->status == 200 && x->is_complete);
}

static void a_peer_that_does_not_read_is_let_go(void **state)
{
    HttpRig *rig = *state;
    HttpX *x = http_rig_modern(rig, BOTH, "tools/call", "stephold", "");

    assert_true(x->is_streaming);
    x->body.max_bytes = x->body.n + 20;
    http_rig_report(rig, "x", 1.5);
    assert_true(x->is_aborted);
    /* Not from within the report, but as soon as the owner has time. */
    assert_int_equal(rig->n_cancelled, 0);
    assert_true(rig->alice.n_holds > 0);
    http_rig_report(rig, "x", 1.6);
    assert_true(mcp_http_next_deadline(rig->http) <= rig->now_ms);
    http_rig_advance(rig, 0);
    assert_int_equal(rig->n_cancelled, 1);
    assert_int_equal(rig->alice.n_holds, 0);
    assert_int_equal(mcp_http_n_streams(rig->http), 0);
    assert_int_equal(mcp_http_next_deadline(rig->http), INT64_MAX);
}

static void connections_that_break_harm_nobody(void **state)
{
    HttpRig *rig = *state;
    HttpX *x = http_rig_modern(rig, BOTH, "tools/call", "hold", "\"arguments\":{\"tag\":\"a\"},");
    HttpX *y = http_rig_modern(rig, BOTH, "tools/call", "hold", "\"arguments\":{\"tag\":\"b\"},");
    HttpX *z =
        http_rig_modern(rig, BOTH, "tools/call", "stephold", "\"arguments\":{\"tag\":\"c\"},");
    HttpX *w =
        http_rig_modern(rig, BOTH, "tools/call", "stephold", "\"arguments\":{\"tag\":\"d\"},");

    x->is_broken = true; /* when JSON is sent, */
    http_rig_finish(rig, "a");
    y->is_broken = true; /* when a stream is to begin, */
    http_rig_advance(rig, 15000);
    assert_true(y->is_aborted);
    assert_int_equal(rig->n_cancelled, 1);
    z->is_broken = true; /* when the answer is sent as an event, */
    http_rig_finish(rig, "c");
    assert_true(z->is_aborted);
    w->is_broken = true; /* and when a comment is. */
    http_rig_advance(rig, 15000);
    assert_true(w->is_aborted);
    assert_int_equal(rig->n_cancelled, 2);
    assert_int_equal(mcp_http_n_calls(rig->http), 0);
    x = http_rig_modern(rig, BOTH, "tools/call", "echo", "");
    assert_true(x->status == 200 && x->is_complete);
}

static void subscriptions_are_told_and_ended(void **state)
{
    HttpRig *rig = *state;
    HttpX *tools = http_rig_modern(rig, BOTH, "subscriptions/listen", "",
                                   "\"notifications\":{\"toolsListChanged\":true},");
    HttpX *file = http_rig_modern(rig, BOTH, "subscriptions/listen", "",
                                  "\"notifications\":{\"resourceSubscriptions\":[\"a:b\"]},");

    (void)http_rig_text(tools);
    (void)http_rig_text(file);
    mcp_http_list_changed(rig->http, MCP_LIST_TOOLS);
    assert_contains(http_rig_text(tools), "notifications/tools/list_changed");
    assert_string_equal(http_rig_text(file), "");
    mcp_http_resource_updated(rig->http, SPAN("a:b"));
    mcp_http_resource_updated(rig->http, SPAN("a:c"));
    assert_string_equal(http_rig_text(tools), "");
    assert_int_equal(count(http_rig_text(file), "notifications/resources/updated"), 1);
    http_rig_advance(rig, 15000);
    assert_string_equal(http_rig_text(tools), ": alive\n\n");
    mcp_http_shutdown(rig->http);
    assert_true(tools->is_complete && file->is_complete);
    assert_contains(http_rig_text(tools), "\"resultType\":\"complete\"");
    assert_int_equal(mcp_http_n_streams(rig->http), 0);
}

static void a_subscription_ends_with_what_it_was_asked_with(void **state)
{
    static const char params[] = "\"notifications\":{\"toolsListChanged\":true},";
    HttpRig *rig = *state;
    int64_t end_ms = rig->now_ms + 20000;
    HttpX *lasting = http_rig_modern(rig, BOTH, "subscriptions/listen", "", params);
    HttpX *ending;
    HttpX *call;

    rig->end_ms = end_ms;
    ending = http_rig_modern(rig, BOTH, "subscriptions/listen", "", params);
    call = http_rig_modern(rig, BOTH, "tools/call", "hold", "\"arguments\":{\"tag\":\"a\"},");
    http_rig_advance(rig, 15000);
    assert_int_equal(mcp_http_next_deadline(rig->http), end_ms);
    http_rig_advance(rig, 4999);
    assert_int_equal(mcp_http_n_streams(rig->http), 3);
    mcp_http_list_changed(rig->http, MCP_LIST_TOOLS); /* which puts off the next comment */
    assert_contains(http_rig_text(ending), "list_changed");
    assert_int_equal(mcp_http_next_deadline(rig->http), end_ms);
    http_rig_advance(rig, 1);
    assert_true(ending->is_complete && !ending->is_aborted);
    assert_contains(http_rig_text(ending), "\"id\":1,\"result\":{\"resultType\":\"complete\"");
    assert_false(lasting->is_complete);
    /* A call is in work that was let in: it may finish. */
    assert_int_equal(rig->n_cancelled, 0);
    http_rig_finish(rig, "a");
    assert_true(call->is_complete);
    assert_contains(http_rig_text(call), "\"text\":\"done\"");
    mcp_http_list_changed(rig->http, MCP_LIST_TOOLS);
    assert_contains(http_rig_text(lasting), "list_changed");
    assert_int_equal(mcp_http_n_streams(rig->http), 1);
}

static void the_end_lets_calls_finish_and_nobody_in(void **state)
{
    HttpRig *rig = *state;
    HttpX *late =
        http_rig_modern(rig, BOTH, "tools/call", "hold", "\"arguments\":{\"tag\":\"a\"},");
    HttpX *never =
        http_rig_modern(rig, BOTH, "tools/call", "hold", "\"arguments\":{\"tag\":\"b\"},");
    HttpX *begun =
        http_rig_modern(rig, BOTH, "tools/call", "stephold", "\"arguments\":{\"tag\":\"c\"},");
    HttpX *x;

    mcp_http_shutdown(rig->http);
    mcp_http_shutdown(rig->http);
    x = http_rig_modern(rig, BOTH, "tools/call", "echo", "");
    assert_int_equal(x->status, 503);
    assert_contains(http_rig_text(x), "shutting down");
    assert_int_equal(mcp_http_n_calls(rig->http), 3);
    http_rig_finish(rig, "a");
    assert_true(late->status == 200 && late->is_complete);
    mcp_http_cancel_all(rig->http);
    assert_int_equal(rig->n_cancelled, 2);
    assert_int_equal(mcp_http_n_calls(rig->http), 0);
    assert_true(never->status == 503 && never->is_complete);
    assert_true(begun->status == 200 && begun->is_complete);
    assert_int_equal(mcp_http_next_deadline(rig->http), INT64_MAX);
}

static void an_answer_that_is_too_large_is_an_error(void **state)
{
    HttpRig *rig = malloc(sizeof(*rig));
    HttpX *x;

    (void)state;
    http_rig_init(rig);
    rig->config.server.max_response_bytes = 2000;
    assert_int_equal(http_rig_open(rig), 0);
    x = http_rig_modern(rig, BOTH, "tools/call", "big", "");
    assert_true(x->status == 200 && x->is_complete);
    assert_contains(http_rig_text(x), "too large");
    http_rig_close(rig);
    free(rig);
}

static void a_long_answer_is_handed_over_as_an_event_too(void **state)
{
    HttpRig *rig = *state;
    HttpX *x = http_rig_modern(rig, "text/event-stream", "tools/call", "large", "");
    const char *text = http_rig_text(x);
    const char *end;

    assert_true(x->status == 200 && x->is_streaming && x->is_complete);
    assert_int_equal(x->n_taken, 1);
    assert_ptr_equal(
        strstr(text, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{"), text);
    assert_true(strlen(text) > 40000);
    end = text + strlen(text) - 3;
    assert_string_equal(end, "}\n\n");
    assert_ptr_equal(strchr(strstr(text, "data: "), '\n'), end + 1);
    x = http_rig_modern(rig, "text/event-stream", "tools/call", "step", "");
    assert_int_equal(x->n_taken, 0);
}

static void refusals_of_the_owner_speak_the_protocol(void **state)
{
    HttpRig *rig = *state;
    HttpX *x = calloc(1, sizeof(*x)); /* which the engine has never seen */
    Http1Field fields[8] = {{SPAN("WWW-Authenticate"), SPAN("Bearer")}};

    bytes_init(&x->body, 4096);
    assert_int_equal(mcp_http_refuse(&rig->wire, x, 401, fields, 1, MCP_ERROR_INVALID_REQUEST,
                                     SPAN("say \"who\"")),
                     0);
    assert_int_equal(x->status, 401);
    assert_string_equal(x->fields, "Content-Type: application/json\nWWW-Authenticate: Bearer\n");
    assert_string_equal(http_rig_text(x),
                        "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":"
                        "\"say \\\"who\\\"\"}}");
    assert_true(mcp_http_refuse(&rig->wire, x, 401, fields, 8, 0, SPAN_NULL) < 0);
    bytes_deinit(&x->body);
    free(x);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(an_answer_that_comes_first_is_json),
        TEST(what_comes_before_the_answer_makes_it_a_stream),
        TEST(no_accept_admits_both),
        TEST(who_takes_only_events_gets_events),
        TEST(who_takes_only_json_gets_the_answer_alone),
        TEST(a_subscription_is_a_stream_for_everybody),
        TEST(refusals_have_their_status),
        TEST(other_methods_and_types_are_refused),
        TEST(a_late_answer_becomes_a_stream_that_is_kept_alive),
        TEST(an_answer_may_still_be_json_if_it_comes_in_time),
        TEST(a_client_that_goes_cancels),
        TEST(a_peer_that_does_not_read_is_let_go),
        TEST(connections_that_break_harm_nobody),
        TEST(subscriptions_are_told_and_ended),
        TEST(a_subscription_ends_with_what_it_was_asked_with),
        TEST(the_end_lets_calls_finish_and_nobody_in),
        cmocka_unit_test(an_answer_that_is_too_large_is_an_error),
        TEST(a_long_answer_is_handed_over_as_an_event_too),
        TEST(refusals_of_the_owner_speak_the_protocol),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

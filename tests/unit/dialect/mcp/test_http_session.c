/* Legacy sessions over Streamable HTTP: ids, GET, DELETE, coming back, polling, time. */
#include "dialect/mcp/http.h"

#include "unit/dialect/mcp/http_rig.h"

#include "support/cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PING        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"
#define INITIALIZED "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"
#define INITIALIZE(version)                                                                        \
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"     \
    "\"" version "\",\"capabilities\":{\"elicitation\":{}}}}"
#define CALL(id, name, tag)                                                                        \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" name    \
    "\",\"arguments\":{\"tag\":\"" tag "\"},\"_meta\":{\"progressToken\":9}}}"
#define PRIME(id) "retry: 500\nid: " id "\ndata: \n\n"

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

static void assert_begins(const char *text, const char *part)
{
    if (strncmp(text, part, strlen(part)) != 0) {
        fail_msg("%s does not begin: %s", part, text);
    }
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;

    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part)) {
        n++;
    }
    return n;
}

static HttpX *get(HttpRig *rig, const char *id, const char *last)
{
    char fields[200];

    (void)snprintf(fields, sizeof(fields), "Accept: text/event-stream\n%s%s%s%s", id,
                   last == NULL ? "" : "Last-Event-ID: ", last == NULL ? "" : last,
                   last == NULL ? "" : "\n");
    return http_rig_send(rig, "GET", "/mcp", fields, "");
}

static void initialize_opens_a_session_that_is_named(void **state)
{
    HttpRig *rig = *state;
    HttpX *x = http_rig_post(rig, "", INITIALIZE("2025-11-25"));
    const char *id = http_rig_field(x, "Mcp-Session-Id");
    char fields[100];

    assert_true(x->status == 200 && x->is_complete && !x->is_streaming);
    assert_non_null(id);
    assert_true(strlen(id) >= 32); /* of 16 possible letters each */
    for (size_t i = 0; i < strlen(id); i++) {
        assert_true(id[i] >= 0x21 && id[i] <= 0x7e);
    }
    assert_int_equal(mcp_http_n_sessions(rig->http), 1);
    assert_int_equal(rig->alice.n_holds, 1);
    /* Names of fields have no case; the version is one that has sessions, or is left out. */
    (void)snprintf(fields, sizeof(fields), "mcp-session-id: %s\n", id);
    x = http_rig_post(rig, fields, INITIALIZED);
    assert_true(x->status == 202 && x->body.n == 0 && x->is_complete);
    (void)snprintf(fields, sizeof(fields), "MCP-Session-Id: %s\nMCP-Protocol-Version: 2025-06-18\n",
                   id);
    x = http_rig_post(rig, fields, PING);
    assert_true(x->status == 200 && x->is_complete);
    assert_null(http_rig_field(x, "Mcp-Session-Id"));
    assert_string_equal(http_rig_text(x), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
}

/* A client may name a version that we do not know: what is agreed on is in the answer. */
static void a_session_may_begin_with_an_unknown_version(void **state)
{
    HttpRig *rig = *state;
    HttpX *x = http_rig_post(rig, "MCP-Protocol-Version: 2099-01-01\n", INITIALIZE("2099-01-01"));
    char id[100];
    char fields[200];

    assert_int_equal(x->status, 200);
    assert_contains(http_rig_text(x), "\"protocolVersion\":\"2025-11-25\"");
    (void)snprintf(id, sizeof(id), "Mcp-Session-Id: %s\n", http_rig_field(x, "Mcp-Session-Id"));
    /* It is a session as any other. */
    (void)http_rig_post(rig, id, CALL("1", "hold", "a"));
    (void)http_rig_post(rig, id, CALL("2", "hold", "b"));
    (void)http_rig_post(rig, id, CALL("3", "hold", "c"));
    assert_int_equal(rig->n_held, 3);
    (void)snprintf(fields, sizeof(fields), "%sMCP-Protocol-Version: 2099-01-01\n", id);
    assert_int_equal(http_rig_post(rig, fields, PING)->status, 400);
    /* One of the modern era opens none. */
    x = http_rig_post(rig, "MCP-Protocol-Version: 2026-07-28\n", INITIALIZE("2025-11-25"));
    assert_int_equal(x->status, 400);
    assert_int_equal(mcp_http_n_sessions(rig->http), 1);
}

static void initialize_can_be_answered_by_an_event(void **state)
{
    HttpRig *rig = *state;
    HttpX *x = http_rig_send(rig, "POST", "/mcp",
                             "Content-Type: application/json\nAccept: text/event-stream\n",
                             INITIALIZE("2025-06-18"));

    assert_true(x->status == 200 && x->is_streaming && x->is_complete);
    assert_non_null(http_rig_field(x, "Mcp-Session-Id"));
    assert_begins(http_rig_text(x), "event: message\nid: 1-1\ndata: {");
}

static void sessions_belong_to_who_opened_them(void **state)
{
    HttpRig *rig = *state;
    char id[64];
    char fields[200];
    HttpX *x;

    http_rig_initialize(rig, "2025-11-25", id);
    (void)snprintf(fields, sizeof(fields), "Content-Type: application/json\n%s", id);
    x = http_rig_send_as(rig, &rig->bob, "POST", "/mcp", fields, PING);
    assert_int_equal(x->status, 404);
    x = http_rig_send_as(rig, &rig->bob, "GET", "/mcp", fields, "");
    assert_int_equal(x->status, 404);
    x = http_rig_send_as(rig, &rig->bob, "DELETE", "/mcp", fields, "");
    assert_int_equal(x->status, 404);
    assert_int_equal(mcp_http_n_sessions(rig->http), 1);
    /* Nor is it one of HTTP+SSE. */
    (void)snprintf(fields, sizeof(fields), "/messages?session=%.32s", id + 16);
    x = http_rig_send(rig, "POST", fields, "Content-Type: application/json\n", PING);
    assert_int_equal(x->status, 404);
}

/* By its number, whichever connection a call comes over; who has no session is nobody's. */
static void calls_of_one_session_are_one_clients(void **state)
{
    HttpRig *rig = *state;
    char first[64];
    char second[64];
    uint64_t number;

    http_rig_initialize(rig, "2025-11-25", first);
    http_rig_initialize(rig, "2025-11-25", second);
    (void)http_rig_post(rig, first, CALL("1", "echo", "a"));
    number = rig->session;
    assert_true(number != 0);
    (void)http_rig_post(rig, second, CALL("1", "echo", "a"));
    assert_true(rig->session != number && rig->session != 0);
    (void)http_rig_post(rig, first, CALL("2", "echo", "a"));
    assert_true(rig->session == number);
    (void)http_rig_modern(rig, "application/json, text/event-stream", "tools/call", "echo", "");
    assert_true(rig->session == 0);
}

static void refusals_in_a_session_are_ordinary_answers(void **state)
{
    HttpRig *rig = *state;
    char id[64];
    HttpX *x;

    http_rig_initialize(rig, "2025-11-25", id);
    x = http_rig_post(rig, id, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"no/such\"}");
    assert_int_equal(x->status, 200);
    assert_contains(http_rig_text(x), "-32601");
    x = http_rig_post(rig, id, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}");
    assert_int_equal(x->status, 200);
    assert_contains(http_rig_text(x), "-32602");
    x = http_rig_post(rig, id, "{");
    assert_int_equal(x->status, 400);
    x = http_rig_post(rig, id, "[" PING "]"); /* not in this revision */
    assert_int_equal(x->status, 400);
    x = http_rig_post(rig, id, INITIALIZE("2025-11-25"));
    assert_int_equal(x->status, 400);
    assert_int_equal(mcp_http_n_sessions(rig->http), 1);
}

static void delete_ends_a_session(void **state)
{
    HttpRig *rig = *state;
    char id[64];
    HttpX *waiting;
    HttpX *stream;
    HttpX *begun;
    HttpX *x;

    http_rig_initialize(rig, "2025-06-18", id);
    waiting = http_rig_post(rig, id, CALL("1", "hold", "a"));
    begun = http_rig_post(rig, id, CALL("2", "stephold", "b"));
    stream = get(rig, id, NULL);
    assert_true(stream->is_streaming && !stream->is_complete);
    x = http_rig_send(rig, "DELETE", "/mcp", id, "");
    assert_true(x->status == 204 && x->is_complete && x->body.n == 0);
    assert_int_equal(rig->n_cancelled, 2);
    assert_true(waiting->status == 404 && waiting->is_complete);
    assert_true(begun->is_complete && stream->is_complete);
    assert_int_equal(mcp_http_n_sessions(rig->http), 0);
    assert_int_equal(rig->alice.n_holds, 0);
    assert_int_equal(http_rig_post(rig, id, PING)->status, 404);
    assert_int_equal(get(rig, id, NULL)->status, 404);
    assert_int_equal(http_rig_send(rig, "DELETE", "/mcp", id, "")->status, 404);
}

static void sessions_that_nobody_uses_end(void **state)
{
    HttpRig *rig = *state;
    char id[64];
    char busy[64];
    HttpX *stream;

    http_rig_initialize(rig, "2025-06-18", id);
    http_rig_initialize(rig, "2025-06-18", busy);
    stream = get(rig, busy, NULL);
    http_rig_advance(rig, 599999);
    assert_int_equal(mcp_http_n_sessions(rig->http), 2);
    assert_int_equal(http_rig_post(rig, id, PING)->status, 200);
    http_rig_advance(rig, 599999);
    assert_int_equal(mcp_http_n_sessions(rig->http), 2);
    assert_true(mcp_http_next_deadline(rig->http) <= rig->now_ms + 1);
    http_rig_advance(rig, 1);
    assert_int_equal(mcp_http_n_sessions(rig->http), 1);
    assert_int_equal(http_rig_post(rig, id, PING)->status, 404);
    /* Whose client listens is used; the time counts from when it goes. */
    http_rig_advance(rig, 1000000);
    http_rig_advance(rig, 300000);
    assert_int_equal(mcp_http_n_sessions(rig->http), 1);
    http_rig_gone(rig, stream);
    http_rig_advance(rig, 599999);
    assert_int_equal(mcp_http_n_sessions(rig->http), 1);
    http_rig_advance(rig, 1);
    assert_int_equal(mcp_http_n_sessions(rig->http), 0);
    assert_int_equal(mcp_http_next_deadline(rig->http), INT64_MAX);
}

static void a_call_in_flight_keeps_its_session(void **state)
{
    HttpRig *rig = *state;
    char id[64];
    HttpX *x;

    http_rig_initialize(rig, "2025-06-18", id);
    x = http_rig_post(rig, id, CALL("1", "hold", "a"));
    http_rig_gone(rig, x);
    assert_int_equal(rig->n_cancelled, 0);
    http_rig_advance(rig, 700000);
    assert_int_equal(mcp_http_n_sessions(rig->http), 1);
    http_rig_finish(rig, "a");
    http_rig_advance(rig, 600000);
    assert_int_equal(mcp_http_n_sessions(rig->http), 0);
}

static void the_least_used_session_makes_room(void **state)
{
    HttpRig *rig = malloc(sizeof(*rig));
    char ids[3][64];
    HttpX *x;

    (void)state;
    http_rig_init(rig);
    rig->config.max_sessions = 2;
    assert_int_equal(http_rig_open(rig), 0);
    http_rig_initialize(rig, "2025-06-18", ids[0]);
    http_rig_initialize(rig, "2025-06-18", ids[1]);
    assert_int_equal(http_rig_post(rig, ids[0], PING)->status, 200);
    http_rig_initialize(rig, "2025-06-18", ids[2]);
    assert_int_equal(mcp_http_n_sessions(rig->http), 2);
    assert_int_equal(http_rig_post(rig, ids[1], PING)->status, 404);
    assert_int_equal(http_rig_post(rig, ids[0], PING)->status, 200);
    /* One that is in use does not: then there is no room. */
    (void)get(rig, ids[0], NULL);
    (void)http_rig_post(rig, ids[2], CALL("1", "hold", "a"));
    x = http_rig_post(rig, "", INITIALIZE("2025-06-18"));
    assert_true(x->status == 503 && x->is_complete);
    assert_null(http_rig_field(x, "Mcp-Session-Id"));
    x = http_rig_send(rig, "GET", "/sse", "", "");
    assert_int_equal(x->status, 503);
    assert_int_equal(mcp_http_n_sessions(rig->http), 2);
    http_rig_close(rig);
    free(rig);
}

static void without_random_bytes_there_is_no_session(void **state)
{
    HttpRig *rig = *state;

    rig->random_fails = -EIO;
    assert_int_equal(http_rig_post(rig, "", INITIALIZE("2025-06-18"))->status, 503);
    assert_int_equal(http_rig_send(rig, "GET", "/sse", "", "")->status, 503);
    rig->random_fails = 0;
    assert_int_equal(http_rig_post(rig, "", INITIALIZE("2025-06-18"))->status, 200);
    rig->n_randoms--; /* the same bytes again */
    assert_int_equal(http_rig_post(rig, "", INITIALIZE("2025-06-18"))->status, 503);
    assert_int_equal(mcp_http_n_sessions(rig->http), 1);
}

static void what_concerns_no_request_goes_to_the_get_stream(void **state)
{
    HttpRig *rig = *state;
    char id[64];
    HttpX *x;
    HttpX *y;

    http_rig_initialize(rig, "2025-06-18", id);
    x = get(rig, id, NULL);
    assert_true(x->status == 200 && x->is_streaming && !x->is_complete);
    assert_string_equal(http_rig_field(x, "Content-Type"), "text/event-stream");
    assert_string_equal(http_rig_text(x), "");
    mcp_http_list_changed(rig->http, MCP_LIST_TOOLS);
    assert_string_equal(http_rig_text(x),
                        "event: message\nid: 0-1\ndata: {\"jsonrpc\":\"2.0\",\"method\":"
                        "\"notifications/tools/list_changed\"}\n\n");
    /* A call's own are on its own. */
    y = http_rig_post(rig, id, CALL("1", "steps", "a"));
    assert_int_equal(count(http_rig_text(y), "notifications/progress"), 2);
    assert_string_equal(http_rig_text(x), "");
    http_rig_advance(rig, 15000);
    assert_string_equal(http_rig_text(x), ": alive\n\n");
    mcp_http_shutdown(rig->http);
    assert_true(x->is_complete);
}

static void a_get_stream_ends_with_what_it_was_asked_with(void **state)
{
    HttpRig *rig = *state;
    char id[64];
    HttpX *x;

    http_rig_initialize(rig, "2025-06-18", id);
    rig->end_ms = rig->now_ms + 1000;
    x = get(rig, id, NULL);
    http_rig_advance(rig, 999);
    assert_false(x->is_complete);
    http_rig_advance(rig, 1);
    assert_true(x->is_complete && !x->is_aborted);
    assert_string_equal(http_rig_text(x), "");
    /* The session stays, and who comes back with something new misses nothing. */
    mcp_http_list_changed(rig->http, MCP_LIST_TOOLS);
    rig->end_ms = 0;
    x = get(rig, id, NULL);
    assert_contains(http_rig_text(x), "id: 0-1\n");
    http_rig_advance(rig, 15000);
    assert_string_equal(http_rig_text(x), ": alive\n\n");
}

static void messages_wait_for_a_get_stream(void **state)
{
    HttpRig *rig = *state;
    char id[64];
    HttpX *x;
    HttpX *y;

    http_rig_initialize(rig, "2025-06-18", id);
    mcp_http_list_changed(rig->http, MCP_LIST_TOOLS);
    mcp_http_list_changed(rig->http, MCP_LIST_PROMPTS);
    x = get(rig, id, NULL);
    assert_contains(http_rig_text(x), "id: 0-1\ndata: {\"jsonrpc\":\"2.0\",\"method\":"
                                      "\"notifications/tools/list_changed\"}\n\n"
                                      "event: message\nid: 0-2\n");
    /* Another takes its place, and hears nothing twice unless it asks for it. */
    y = get(rig, id, NULL);
    assert_true(x->is_complete && !y->is_complete);
    assert_string_equal(http_rig_text(y), "");
    http_rig_gone(rig, y);
    mcp_http_list_changed(rig->http, MCP_LIST_RESOURCES);
    x = get(rig, id, "0-1");
    assert_int_equal(count(http_rig_text(x), "event: message\n"), 2);
    mcp_http_list_changed(rig->http, MCP_LIST_TOOLS);
    http_rig_gone(rig, x);
    y = get(rig, id, "nonsense");
    assert_string_equal(http_rig_text(y), "");
}

/* A list that changes often does not fill the store of a client that never listens. */
static void a_change_that_waits_is_told_once(void **state)
{
    HttpRig *rig = *state;
    const char *text;
    char id[64];

    http_rig_initialize(rig, "2025-06-18", id);
    mcp_http_list_changed(rig->http, MCP_LIST_PROMPTS);
    for (int i = 0; i < 10; i++) {
        mcp_http_list_changed(rig->http, MCP_LIST_TOOLS);
    }
    text = http_rig_text(get(rig, id, NULL));
    assert_int_equal(count(text, "event: message\n"), 2);
    assert_contains(text, "prompts/list_changed");
    assert_contains(text, "id: 0-11\ndata: {\"jsonrpc\":\"2.0\",\"method\":"
                          "\"notifications/tools/list_changed\"}\n\n");
}

static void streams_of_2025_11_25_begin_with_a_priming_event(void **state)
{
    HttpRig *rig = *state;
    char id[64];
    HttpX *x;

    http_rig_initialize(rig, "2025-11-25", id);
    x = get(rig, id, NULL);
    assert_string_equal(http_rig_text(x), PRIME("0-0"));
    x = http_rig_post(rig, id, CALL("1", "stephold", "a"));
    assert_begins(http_rig_text(x), PRIME("3-0") "event: message\nid: 3-1\ndata: {");
    http_rig_finish(rig, "a");
    assert_begins(http_rig_text(x), "event: message\nid: 3-2\ndata: {");
    assert_true(x->is_complete);
    x = http_rig_post(rig, id, CALL("1", "hold", "b"));
    http_rig_advance(rig, 15000);
    assert_string_equal(http_rig_text(x), PRIME("4-0") ": alive\n\n");
}

static void disconnecting_cancels_nothing_and_the_rest_can_be_fetched(void **state)
{
    HttpRig *rig = *state;
    char id[64];
    HttpX *x;

    http_rig_initialize(rig, "2025-06-18", id);
    x = http_rig_post(rig, id, CALL("1", "stephold", "a"));
    assert_begins(http_rig_text(x), "event: message\nid: 3-1\n");
    http_rig_gone(rig, x);
    assert_int_equal(mcp_http_n_streams(rig->http), 0);
    http_rig_report(rig, "a", 1.5);
    /* Back, while the call runs: what was missed, and then what comes. */
    x = get(rig, id, "3-1");
    assert_true(x->is_streaming && !x->is_complete);
    assert_int_equal(mcp_http_n_streams(rig->http), 1);
    assert_contains(http_rig_text(x), "id: 3-2\ndata: ");
    http_rig_report(rig, "a", 1.6);
    assert_contains(http_rig_text(x), "id: 3-3\ndata: ");
    http_rig_advance(rig, 15000);
    assert_string_equal(http_rig_text(x), ": alive\n\n");
    http_rig_gone(rig, x);
    http_rig_finish(rig, "a");
    assert_int_equal(mcp_http_n_calls(rig->http), 0);
    /* Back, after it: the answer, and then the end. As often as it is asked for. */
    for (int i = 0; i < 2; i++) {
        x = get(rig, id, "3-2");
        assert_true(x->is_streaming && x->is_complete);
        assert_int_equal(count(http_rig_text(x), "event: message\n"), 2);
        assert_contains(x->body.data, "id: 3-4\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\"");
    }
    assert_int_equal(rig->n_cancelled, 0);
}

static void who_comes_back_takes_over_from_a_dead_connection(void **state)
{
    HttpRig *rig = *state;
    char id[64];
    HttpX *x;
    HttpX *y;

    http_rig_initialize(rig, "2025-06-18", id);
    x = http_rig_post(rig, id, CALL("1", "stephold", "a"));
    y = get(rig, id, "3-0");
    assert_true(x->is_complete && !y->is_complete);
    assert_contains(http_rig_text(y), "id: 3-1\n");
    http_rig_finish(rig, "a");
    assert_contains(http_rig_text(y), "id: 3-2\n");
    assert_true(y->is_complete);
    assert_int_equal(mcp_http_n_streams(rig->http), 0);
}

static void who_names_a_stream_that_is_no_more_does_not_get_the_sessions(void **state)
{
    HttpRig *rig = *state;
    char id[64];
    HttpX *listener;
    HttpX *x;

    http_rig_initialize(rig, "2025-11-25", id);
    listener = get(rig, id, NULL);
    assert_string_equal(http_rig_text(listener), PRIME("0-0"));
    x = get(rig, id, "77-3");
    assert_true(x->status == 405 && x->is_complete && !x->is_streaming);
    assert_contains(http_rig_text(x), "Last-Event-ID");
    /* So with a POST that has not begun: it has no events. */
    x = http_rig_post(rig, id, CALL("1", "hold", "a"));
    assert_int_equal(get(rig, id, "3-0")->status, 405);
    assert_int_equal(x->status, 0);
    http_rig_finish(rig, "a");
    assert_true(x->status == 200 && !x->is_streaming);
    /* And with one that was cancelled, whose client sees a stream end without an answer. */
    x = http_rig_post(rig, id, CALL("2", "stephold", "b"));
    assert_begins(http_rig_text(x), PRIME("4-0") "event: message\nid: 4-1\n");
    (void)http_rig_post(rig, id,
                        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":"
                        "{\"requestId\":2}}");
    assert_true(x->is_complete);
    assert_int_equal(get(rig, id, "4-1")->status, 405);
    /* The one who listens has noticed nothing. */
    mcp_http_list_changed(rig->http, MCP_LIST_TOOLS);
    assert_false(listener->is_complete);
    assert_begins(http_rig_text(listener), "event: message\nid: 0-1\n");
}

static void a_response_that_was_never_begun_is_lost_with_its_connection(void **state)
{
    HttpRig *rig = *state;
    char id[64];
    HttpX *x;

    http_rig_initialize(rig, "2025-06-18", id);
    x = http_rig_post(rig, id, CALL("1", "hold", "a"));
    http_rig_gone(rig, x);
    http_rig_report(rig, "a", 1);
    http_rig_finish(rig, "a");
    assert_int_equal(mcp_http_n_calls(rig->http), 0);
    x = get(rig, id, "3-0");
    assert_int_equal(x->status, 405);
}

static void an_answer_that_cannot_be_kept_is_replaced(void **state)
{
    HttpRig *rig = malloc(sizeof(*rig));
    char id[64];
    HttpX *x;

    (void)state;
    http_rig_init(rig);
    rig->config.max_stored_bytes = 2000;
    assert_int_equal(http_rig_open(rig), 0);
    http_rig_initialize(rig, "2025-11-25", id);
    /* It lets the client go; then the answer is longer than all that may be kept. */
    x = http_rig_post(rig, id, CALL("1", "detach", "a"));
    assert_true(x->is_complete);
    http_rig_finish_big(rig, "a");
    x = get(rig, id, "3-0");
    assert_true(x->is_complete);
    assert_contains(http_rig_text(x), "too large");
    /* To somebody who is there it is sent all the same; unless it turns out that nobody is. */
    x = http_rig_post(rig, id, CALL("1", "stephold", "a"));
    http_rig_finish_big(rig, "a");
    assert_true(x->is_complete && x->body.n > 5000);
    assert_null(strstr(http_rig_text(x), "too large"));
    /* The connection may be lost before all of it has arrived: the last event that was seen says
     * so. */
    x = get(rig, id, "4-1");
    assert_true(x->status == 200 && x->is_complete);
    assert_contains(http_rig_text(x), "id: 4-2\n");
    assert_contains(x->body.data, "too large");
    x = get(rig, id, "4-2");
    assert_int_equal(x->status, 405);
    x = http_rig_post(rig, id, CALL("1", "stephold", "a"));
    x->body.max_bytes = x->body.n + 1000;
    http_rig_finish_big(rig, "a");
    assert_true(x->is_aborted);
    x = get(rig, id, "5-1");
    assert_true(x->is_complete);
    assert_contains(http_rig_text(x), "id: 5-2\n");
    assert_contains(x->body.data, "too large");
    http_rig_close(rig);
    free(rig);
}

static void the_oldest_events_go_first(void **state)
{
    HttpRig *rig = malloc(sizeof(*rig));
    char id[64];
    HttpX *x;

    (void)state;
    http_rig_init(rig);
    rig->config.max_stored_bytes = 1000;
    assert_int_equal(http_rig_open(rig), 0);
    http_rig_initialize(rig, "2025-06-18", id);
    x = http_rig_post(rig, id, CALL("1", "stephold", "a"));
    for (int i = 0; i < 50; i++) {
        http_rig_report(rig, "a", 2 + i);
    }
    http_rig_gone(rig, x);
    x = get(rig, id, "3-1");
    assert_true(count(http_rig_text(x), "event: message\n") < 20);
    assert_contains(x->body.data, "id: 3-51\n");
    http_rig_finish(rig, "a");
    http_rig_close(rig);
    free(rig);
}

static void a_provider_may_let_the_client_go(void **state)
{
    HttpRig *rig = *state;
    char id[64];
    HttpX *x;

    http_rig_initialize(rig, "2025-11-25", id);
    x = http_rig_post(rig, id, CALL("1", "detach", "a"));
    assert_true(x->status == 200 && x->is_streaming && x->is_complete);
    assert_string_equal(http_rig_text(x), PRIME("3-0"));
    http_rig_report(rig, "a", 1);
    x = get(rig, id, "3-0");
    assert_begins(http_rig_text(x), PRIME("3-0") "event: message\nid: 3-1\ndata: ");
    http_rig_finish(rig, "a");
    assert_contains(http_rig_text(x), "\"text\":\"done\"");
    assert_true(x->is_complete);
}

static void where_there_is_no_polling_nobody_is_let_go(void **state)
{
    HttpRig *rig = *state;
    char id[64];
    char fields[200];
    HttpX *x;

    http_rig_initialize(rig, "2025-06-18", id);
    x = http_rig_post(rig, id, CALL("1", "detach", "a"));
    assert_int_equal(x->status, 0);
    http_rig_finish(rig, "a");
    assert_true(x->is_complete && !x->is_streaming);
    /* A client that takes no events could not come back; nor can one of the modern era. */
    http_rig_initialize(rig, "2025-11-25", id);
    (void)snprintf(fields, sizeof(fields),
                   "Content-Type: application/json\nAccept: application/json\n%s", id);
    x = http_rig_send(rig, "POST", "/mcp", fields, CALL("1", "detach", "b"));
    assert_int_equal(x->status, 0);
    http_rig_finish(rig, "b");
    assert_true(x->is_complete && !x->is_streaming);
    x = http_rig_modern(rig, "", "tools/call", "detach", "");
    assert_int_equal(x->status, 0);
    http_rig_finish(rig, "x");
    assert_true(x->is_complete && !x->is_streaming);
}

static void questions_go_by_the_stream_of_their_call(void **state)
{
    HttpRig *rig = *state;
    char id[64];
    char fields[200];
    HttpX *x;
    HttpX *y;

    http_rig_initialize(rig, "2025-06-18", id);
    x = http_rig_post(rig, id, CALL("1", "form", "a"));
    assert_contains(http_rig_text(x), "\"method\":\"elicitation/create\"");
    assert_true(x->is_streaming && !x->is_complete);
    y = http_rig_post(rig, id,
                      "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"action\":\"accept\","
                      "\"content\":{}}}");
    assert_true(y->status == 202 && y->body.n == 0);
    assert_contains(http_rig_text(x), "\"text\":\"hi\"");
    assert_true(x->is_complete);
    /* Without a question there is no answer: who takes only JSON gets a stream then. */
    (void)snprintf(fields, sizeof(fields),
                   "Content-Type: application/json\nAccept: application/json\n%s", id);
    x = http_rig_send(rig, "POST", "/mcp", fields, CALL("2", "form", "a"));
    assert_true(x->is_streaming && !x->is_complete);
    assert_contains(http_rig_text(x), "\"method\":\"elicitation/create\"");
    /* It is not answered: the call ends, and time counts from when it was asked. */
    http_rig_advance(rig, 590000);
    assert_false(x->is_complete);
    assert_true(mcp_http_next_deadline(rig->http) <= rig->now_ms + 15000);
    http_rig_advance(rig, 10000);
    assert_true(x->is_complete);
    assert_contains(http_rig_text(x), "did not answer in time");
}

static void a_question_after_long_work_has_its_full_time(void **state)
{
    HttpRig *rig = *state;
    char id[64];
    HttpX *x;

    http_rig_initialize(rig, "2025-06-18", id);
    x = http_rig_post(rig, id, CALL("1", "hold", "a"));
    http_rig_advance(rig, 500000);
    http_rig_ask(rig, "a");
    http_rig_advance(rig, 500000);
    assert_false(x->is_complete);
    http_rig_advance(rig, 100000);
    assert_true(x->is_complete);
}

static void a_request_that_is_taken_back_is_not_waited_for(void **state)
{
    HttpRig *rig = *state;
    char id[64];
    HttpX *plain;
    HttpX *begun;
    HttpX *asked;
    HttpX *other;

    http_rig_initialize(rig, "2025-06-18", id);
    plain = http_rig_post(rig, id, CALL("1", "hold", "a"));
    begun = http_rig_post(rig, id, CALL("2", "stephold", "b"));
    asked = http_rig_post(rig, id, CALL("3", "form", "c"));
    other = http_rig_post(rig, id, CALL("4", "hold", "d"));
    for (int i = 1; i <= 3; i++) {
        char body[200];

        (void)snprintf(body, sizeof(body),
                       "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                       "\"requestId\":%d}}",
                       i);
        assert_int_equal(http_rig_post(rig, id, body)->status, 202);
    }
    assert_int_equal(rig->n_cancelled, 2);
    assert_true(plain->status == 202 && plain->body.n == 0 && plain->is_complete);
    assert_true(begun->is_complete && asked->is_complete);
    assert_int_equal(mcp_http_n_calls(rig->http), 1);
    assert_int_equal(other->status, 0);
    http_rig_finish(rig, "d");
    assert_true(other->is_complete);
}

static void batches_are_answered_by_one_array(void **state)
{
    HttpRig *rig = *state;
    char id[64];
    HttpX *x;

    http_rig_initialize(rig, "2025-03-26", id);
    x = http_rig_post(rig, id, "[" CALL("1", "echo", "a") "," INITIALIZED "," PING "]");
    /* The same id twice is an error of its own; the array has an answer for each. */
    assert_true(x->status == 200 && !x->is_streaming && x->is_complete);
    assert_begins(http_rig_text(x), "[{");
    assert_int_equal(count(x->body.data, "\"id\":1"), 2);
    x = http_rig_post(rig, id, "[" INITIALIZED "]");
    assert_true(x->status == 202 && x->body.n == 0);
    x = http_rig_post(rig, id, " [" CALL("1", "hold", "a") "," CALL("2", "steps", "b") "]");
    assert_true(x->is_streaming && !x->is_complete);
    http_rig_finish(rig, "a");
    assert_true(x->is_complete);
    assert_contains(http_rig_text(x), "data: [{");
    /* One that holds nothing but what is taken back. */
    x = http_rig_post(
        rig, id,
        "[" CALL("5", "hold", "a") ",{\"jsonrpc\":\"2.0\",\"method\":"
                                   "\"notifications/cancelled\",\"params\":{\"requestId\":5}}]");
    assert_true(x->status == 202 && x->is_complete);
    assert_int_equal(mcp_http_n_calls(rig->http), 0);
}

static void peers_that_do_not_read_may_come_back(void **state)
{
    HttpRig *rig = *state;
    char id[64];
    HttpX *x;

    http_rig_initialize(rig, "2025-06-18", id);
    x = http_rig_post(rig, id, CALL("1", "stephold", "a"));
    x->body.max_bytes = x->body.n + 10;
    http_rig_report(rig, "a", 1.5);
    assert_true(x->is_aborted);
    http_rig_advance(rig, 0);
    assert_int_equal(rig->n_cancelled, 0);
    x = get(rig, id, "3-1");
    assert_contains(http_rig_text(x), "id: 3-2\n");
    http_rig_finish(rig, "a");
    assert_true(x->is_complete);
    /* So with GET streams. */
    x = get(rig, id, NULL);
    x->is_broken = true;
    mcp_http_list_changed(rig->http, MCP_LIST_TOOLS);
    assert_true(x->is_aborted);
    x = get(rig, id, NULL);
    assert_contains(http_rig_text(x), "id: 0-1\n");
    /* A stream that cannot even begin. */
    rig->breaks_next = true;
    x = get(rig, id, NULL);
    assert_true(x->is_aborted);
    assert_int_equal(mcp_http_n_streams(rig->http), 0);
}

static void the_end_of_everything_is_the_end_of_sessions(void **state)
{
    HttpRig *rig = *state;
    char id[64];
    HttpX *x;
    HttpX *asked;

    http_rig_initialize(rig, "2025-06-18", id);
    x = http_rig_post(rig, id, CALL("1", "hold", "a"));
    asked = http_rig_post(rig, id, CALL("2", "form", "b"));
    mcp_http_shutdown(rig->http);
    assert_true(asked->is_complete); /* nobody waits for people now */
    assert_int_equal(http_rig_post(rig, id, PING)->status, 503);
    assert_int_equal(mcp_http_n_calls(rig->http), 1);
    http_rig_finish(rig, "a");
    assert_true(x->status == 200 && x->is_complete);
    mcp_http_cancel_all(rig->http);
    assert_int_equal(mcp_http_n_sessions(rig->http), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(initialize_opens_a_session_that_is_named),
        TEST(a_session_may_begin_with_an_unknown_version),
        TEST(initialize_can_be_answered_by_an_event),
        TEST(sessions_belong_to_who_opened_them),
        TEST(calls_of_one_session_are_one_clients),
        TEST(refusals_in_a_session_are_ordinary_answers),
        TEST(delete_ends_a_session),
        TEST(sessions_that_nobody_uses_end),
        TEST(a_call_in_flight_keeps_its_session),
        cmocka_unit_test(the_least_used_session_makes_room),
        TEST(without_random_bytes_there_is_no_session),
        TEST(what_concerns_no_request_goes_to_the_get_stream),
        TEST(a_get_stream_ends_with_what_it_was_asked_with),
        TEST(messages_wait_for_a_get_stream),
        TEST(a_change_that_waits_is_told_once),
        TEST(streams_of_2025_11_25_begin_with_a_priming_event),
        TEST(disconnecting_cancels_nothing_and_the_rest_can_be_fetched),
        TEST(who_comes_back_takes_over_from_a_dead_connection),
        TEST(who_names_a_stream_that_is_no_more_does_not_get_the_sessions),
        TEST(a_response_that_was_never_begun_is_lost_with_its_connection),
        cmocka_unit_test(an_answer_that_cannot_be_kept_is_replaced),
        cmocka_unit_test(the_oldest_events_go_first),
        TEST(a_provider_may_let_the_client_go),
        TEST(where_there_is_no_polling_nobody_is_let_go),
        TEST(questions_go_by_the_stream_of_their_call),
        TEST(a_question_after_long_work_has_its_full_time),
        TEST(a_request_that_is_taken_back_is_not_waited_for),
        TEST(batches_are_answered_by_one_array),
        TEST(peers_that_do_not_read_may_come_back),
        TEST(the_end_of_everything_is_the_end_of_sessions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

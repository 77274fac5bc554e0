/* HTTP+SSE of 2024-11-05. */
#include "dialect/mcp/http.h"

#include "unit/dialect/mcp/http_rig.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JSON "Content-Type: application/json\n"
#define INITIALIZE                                                                                 \
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"     \
    "\"2024-11-05\",\"capabilities\":{}}}"
#define INITIALIZED "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"
#define CALL(id, name, tag)                                                                        \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" name    \
    "\",\"arguments\":{\"tag\":\"" tag "\"},\"_meta\":{\"progressToken\":9}}}"

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

/* Opens a stream; where to POST is in `where`. */
static HttpX *open_stream(HttpRig *rig, char where[100])
{
    static const char front[] = "event: endpoint\ndata: ";
    HttpX *x = http_rig_send(rig, "GET", "/sse", "Accept: text/event-stream\n", "");
    const char *text = http_rig_text(x);

    assert_true(x->status == 200 && x->is_streaming && !x->is_complete);
    assert_string_equal(http_rig_field(x, "Content-Type"), "text/event-stream");
    assert_string_equal(http_rig_field(x, "X-Accel-Buffering"), "no");
    assert_memory_equal(text, front, strlen(front));
    text += strlen(front);
    (void)snprintf(where, 100, "%.*s", (int)strcspn(text, "\n"), text);
    assert_memory_equal(where, "/messages?session=", 18);
    assert_int_equal(strlen(where), 18 + 32);
    assert_string_equal(text + strlen(where), "\n\n");
    return x;
}

static void post(HttpRig *rig, const char *where, const char *body)
{
    HttpX *x = http_rig_send(rig, "POST", where, JSON, body);

    assert_true(x->status == 202 && x->is_complete && x->body.n == 0);
}

static void answers_come_by_the_stream(void **state)
{
    HttpRig *rig = *state;
    char where[100];
    HttpX *x = open_stream(rig, where);
    const char *text;

    post(rig, where, INITIALIZE);
    text = http_rig_text(x);
    assert_memory_equal(text, "event: message\ndata: {", 22); /* no id: nobody comes back */
    assert_contains(text, "\"protocolVersion\":\"2024-11-05\"");
    assert_contains(text, "}\n\n");
    post(rig, where, INITIALIZED);
    assert_string_equal(http_rig_text(x), "");
    post(rig, where, CALL("1", "steps", "a"));
    text = http_rig_text(x);
    assert_contains(text, "notifications/progress");
    assert_contains(text, "\"text\":\"hi\"");
    post(rig, where, CALL("2", "hold", "a"));
    http_rig_advance(rig, 15000);
    assert_string_equal(http_rig_text(x), ": alive\n\n");
    http_rig_finish(rig, "a");
    assert_contains(http_rig_text(x), "\"text\":\"done\"");
    mcp_http_list_changed(rig->http, MCP_LIST_TOOLS);
    assert_contains(http_rig_text(x), "notifications/tools/list_changed");
    post(rig, where, "{");
    assert_contains(http_rig_text(x), "-32700");
    assert_false(x->is_complete);
    assert_int_equal(mcp_http_n_streams(rig->http), 1);
    assert_int_equal(mcp_http_n_sessions(rig->http), 1);
}

/* Each message says of which era it is; the rules of the modern one hold wherever it comes in. */
static void a_modern_request_needs_its_headers_here_too(void **state)
{
    static const char body[] =
        "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"server/discover\",\"params\":{\"_meta\":{"
        "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
        "\"io.modelcontextprotocol/clientCapabilities\":{}}}}";
    HttpRig *rig = *state;
    char where[100];
    HttpX *x = open_stream(rig, where);
    const char *text;

    post(rig, where, INITIALIZE);
    post(rig, where, INITIALIZED);
    (void)http_rig_text(x);
    post(rig, where, body);
    text = http_rig_text(x);
    assert_contains(text, "\"id\":5");
    assert_contains(text, "-32020");
    assert_int_equal(http_rig_send(rig, "POST", where,
                                   JSON "MCP-Protocol-Version: 2026-07-28\n"
                                        "Mcp-Method: server/discover\n",
                                   body)
                         ->status,
                     202);
    assert_contains(http_rig_text(x), "\"supportedVersions\":[");
    /* What SDKs of later revisions send with each message. */
    assert_int_equal(http_rig_send(rig, "POST", where, JSON "MCP-Protocol-Version: 2024-11-05\n",
                                   "{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"ping\"}")
                         ->status,
                     202);
    assert_contains(http_rig_text(x), "\"result\":{}");
}

static void a_session_ends_with_what_it_was_asked_with(void **state)
{
    HttpRig *rig = *state;
    char where[100];
    HttpX *x;

    rig->end_ms = rig->now_ms + 1000;
    x = open_stream(rig, where);
    post(rig, where, INITIALIZE);
    post(rig, where, CALL("2", "hold", "a"));
    http_rig_advance(rig, 999);
    assert_false(x->is_complete);
    http_rig_advance(rig, 1);
    assert_true(x->is_complete);
    assert_int_equal(rig->n_cancelled, 1);
    assert_int_equal(mcp_http_n_sessions(rig->http), 0);
}

static void a_disconnect_ends_the_session(void **state)
{
    HttpRig *rig = *state;
    char where[100];
    HttpX *x = open_stream(rig, where);

    post(rig, where, INITIALIZE);
    post(rig, where, CALL("1", "hold", "a"));
    assert_int_equal(rig->alice.n_holds, 1);
    http_rig_gone(rig, x);
    assert_int_equal(rig->n_cancelled, 1);
    assert_int_equal(rig->alice.n_holds, 0);
    assert_int_equal(mcp_http_n_sessions(rig->http), 0);
    assert_int_equal(http_rig_send(rig, "POST", where, JSON, INITIALIZED)->status, 404);
}

static void so_does_a_peer_that_does_not_read(void **state)
{
    HttpRig *rig = *state;
    char where[100];
    HttpX *x = open_stream(rig, where);

    post(rig, where, INITIALIZE);
    post(rig, where, INITIALIZED);
    x->body.max_bytes = x->body.n + 10;
    mcp_http_list_changed(rig->http, MCP_LIST_TOOLS);
    assert_true(x->is_aborted);
    mcp_http_list_changed(rig->http, MCP_LIST_TOOLS); /* to nobody */
    http_rig_advance(rig, 0);
    assert_int_equal(mcp_http_n_sessions(rig->http), 0);
    x = open_stream(rig, where);
    x->is_broken = true;
    post(rig, where, INITIALIZE);
    assert_int_equal(mcp_http_n_sessions(rig->http), 0);
    rig->breaks_next = true;
    (void)http_rig_send(rig, "GET", "/sse", "", "");
    assert_int_equal(mcp_http_n_sessions(rig->http), 0);
    assert_int_equal(mcp_http_n_streams(rig->http), 0);
}

static void what_does_not_fit_is_refused(void **state)
{
    HttpRig *rig = *state;
    char where[100];
    char other[120];
    HttpX *x;

    (void)open_stream(rig, where);
    assert_int_equal(http_rig_send(rig, "POST", where, "", INITIALIZE)->status, 415);
    x = http_rig_send(rig, "GET", where, JSON, "");
    assert_int_equal(x->status, 405);
    assert_string_equal(http_rig_field(x, "Allow"), "POST");
    x = http_rig_send(rig, "POST", "/sse", JSON, INITIALIZE);
    assert_int_equal(x->status, 405);
    assert_string_equal(http_rig_field(x, "Allow"), "GET");
    x = http_rig_send(rig, "GET", "/sse", "Accept: application/json\n", "");
    assert_int_equal(x->status, 406);
    assert_int_equal(http_rig_send(rig, "POST", "/messages", JSON, INITIALIZE)->status, 404);
    assert_int_equal(http_rig_send(rig, "POST", "/messages?session=", JSON, INITIALIZE)->status,
                     404);
    assert_int_equal(http_rig_send_as(rig, &rig->bob, "POST", where, JSON, INITIALIZE)->status,
                     404);
    (void)snprintf(other, sizeof(other), "/messages?a=b&%s", where + strlen("/messages?"));
    assert_int_equal(http_rig_send(rig, "POST", other, JSON, INITIALIZE)->status, 202);
    (void)snprintf(other, sizeof(other), "%s&a=b", where);
    assert_int_equal(http_rig_send(rig, "POST", other, JSON, INITIALIZED)->status, 202);
    (void)snprintf(other, sizeof(other), "/messages?x%s", where + strlen("/messages?"));
    assert_int_equal(http_rig_send(rig, "POST", other, JSON, INITIALIZED)->status, 404);
    /* Nor is its session one of Streamable HTTP. */
    (void)snprintf(other, sizeof(other), "Mcp-Session-Id: %s\n", where + 18);
    assert_int_equal(http_rig_post(rig, other, INITIALIZED)->status, 404);
}

static void the_end_waits_for_calls(void **state)
{
    HttpRig *rig = *state;
    char where[100];
    char idle[100];
    HttpX *x = open_stream(rig, where);
    HttpX *y = open_stream(rig, idle);

    post(rig, where, INITIALIZE);
    post(rig, where, CALL("1", "hold", "a"));
    mcp_http_shutdown(rig->http);
    assert_true(y->is_complete && !x->is_complete);
    assert_int_equal(http_rig_send(rig, "POST", where, JSON, INITIALIZED)->status, 503);
    http_rig_finish(rig, "a");
    assert_contains(http_rig_text(x), "\"text\":\"done\"");
    assert_true(mcp_http_next_deadline(rig->http) <= rig->now_ms);
    http_rig_advance(rig, 0);
    assert_true(x->is_complete);
    assert_int_equal(mcp_http_n_sessions(rig->http), 0);
}

static void a_stream_that_is_open_keeps_its_session(void **state)
{
    HttpRig *rig = *state;
    char where[100];
    HttpX *x = open_stream(rig, where);

    http_rig_advance(rig, 700000);
    assert_int_equal(mcp_http_n_sessions(rig->http), 1);
    post(rig, where, INITIALIZE);
    assert_contains(http_rig_text(x), "2024-11-05");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(answers_come_by_the_stream),        TEST(a_modern_request_needs_its_headers_here_too),
        TEST(a_disconnect_ends_the_session),     TEST(a_session_ends_with_what_it_was_asked_with),
        TEST(so_does_a_peer_that_does_not_read), TEST(what_does_not_fit_is_refused),
        TEST(the_end_waits_for_calls),           TEST(a_stream_that_is_open_keeps_its_session),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

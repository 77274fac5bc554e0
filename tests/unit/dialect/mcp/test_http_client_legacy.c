/* Streamable HTTP and HTTP+SSE: sessions, streams, and what is sent again. */
#include "dialect/mcp/http_client.h"

#include "http_client_testing.h"

#include <errno.h>

#include "support/oom_sweep.h"

#define AT "http://h/mcp "
#define BROKE                                                                                      \
    "the server's answer broke off before its end (the stream ended): it may have been carried "   \
    "out"
#define INIT(n) n " POST " AT LEGACY("1", "initialize") "\n"

static void a_session_has_its_id_and_its_stream(void **state)
{
    McpHttpHead head = {.status = 200, .content_type = SPAN(JSON_TYPE), .session_id = SPAN("s-1")};
    Rig rig;

    (void)state;
    rig_open(&rig, NULL);
    rig.shows_fields = true;
    rig_send(&rig, LEGACY("1", "initialize"));
    rig_expect(&rig,
               "1 POST http://h/mcp [Content-Type: application/json] "
               "[Accept: application/json, text/event-stream] " LEGACY("1", "initialize") "\n");
    rig_head_full(&rig, 1, &head);
    rig_data(&rig, 1, RESULT("1", INIT_RESULT));
    rig_end(&rig, 1);
    rig_expect(&rig, "< 1 " RESULT("1", INIT_RESULT) "\n");
    rig_send(&rig, INITIALIZED);
    /* Until that has arrived, nothing else goes. */
    rig_send(&rig, LEGACY("2", "tools/list"));
    rig_expect(&rig, "2 POST http://h/mcp [MCP-Protocol-Version: 2025-11-25] [Mcp-Session-Id: s-1] "
                     "[Content-Type: application/json] "
                     "[Accept: application/json, text/event-stream] " INITIALIZED "\n");
    rig_answer(&rig, 2, 202, "", "");
    rig_expect(&rig,
               "3 GET http://h/mcp [MCP-Protocol-Version: 2025-11-25] [Mcp-Session-Id: s-1] "
               "[Accept: text/event-stream]\n"
               "4 POST http://h/mcp [MCP-Protocol-Version: 2025-11-25] [Mcp-Session-Id: s-1] "
               "[Content-Type: application/json] "
               "[Accept: application/json, text/event-stream] " LEGACY("2", "tools/list") "\n");
    /* A server without that stream. */
    rig_answer(&rig, 3, 405, "", "");
    rig_expect(&rig, "");
    rig_answer(&rig, 4, 200, JSON_TYPE, RESULT("2", "{}"));
    rig_expect(&rig, "< 2 " RESULT("2", "{}") "\n");
    mcp_http_client_close(rig.http, rig.now_ms);
    rig_drain(&rig);
    rig_expect(&rig, "5 DELETE http://h/mcp [MCP-Protocol-Version: 2025-11-25] "
                     "[Mcp-Session-Id: s-1]\n");
    assert_false(mcp_http_client_is_closed(rig.http));
    rig_answer(&rig, 5, 405, "", "");
    assert_true(mcp_http_client_is_closed(rig.http));
    rig_close(&rig);
}

static void older_revisions_do_not_name_themselves(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig, NULL);
    rig.shows_fields = true;
    rig_send(&rig, LEGACY("1", "initialize"));
    rig_answer(&rig, 1, 200, JSON_TYPE, RESULT("1", "{\"protocolVersion\":\"2025-03-26\"}"));
    rig_forget(&rig);
    rig_send(&rig, INITIALIZED);
    rig_expect(&rig, "2 POST http://h/mcp [Content-Type: application/json] "
                     "[Accept: application/json, text/event-stream] " INITIALIZED "\n");
    rig_close(&rig);
}

static void what_the_server_asks_is_attributed_to_its_request(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig, NULL);
    rig_begin_session(&rig, "s");
    rig_send(&rig, LEGACY("2", "tools/call"));
    rig_forget(&rig);
    rig_head(&rig, 4, 200, EVENTS_TYPE);
    rig_data(&rig, 4, "data: {\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"roots/list\"}\n\n");
    rig_data(&rig, 3, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n\n");
    rig_expect(&rig, "< 2 {\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"roots/list\"}\n"
                     "< 0 {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
    rig_send(&rig, RESULT("0", "{}"));
    rig_expect(&rig, "5 POST " AT RESULT("0", "{}") "\n");
    rig_answer(&rig, 5, 202, "", "");
    /* An answer by another stream than its own counts, too. */
    rig_data(&rig, 3, "data: " RESULT("2", "{}") "\n\n");
    rig_expect(&rig, "< 0 " RESULT("2", "{}") "\nclose 4\n");
    rig_close(&rig);
}

static void a_stream_that_breaks_is_resumed_when_it_said(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig, NULL);
    rig.shows_fields = true;
    rig_begin_session(&rig, "s");
    rig_send(&rig, LEGACY("2", "tools/call"));
    rig_forget(&rig);
    rig_answer(&rig, 4, 200, EVENTS_TYPE, "retry: 500\nid: e1\ndata:\n\n");
    rig_expect(&rig, "");
    rig_advance(&rig, 499);
    rig_expect(&rig, "");
    rig_advance(&rig, 1);
    rig_expect(&rig, "5 GET http://h/mcp [MCP-Protocol-Version: 2025-11-25] [Mcp-Session-Id: s] "
                     "[Accept: text/event-stream] [Last-Event-ID: e1]\n");
    rig_head(&rig, 5, 200, EVENTS_TYPE);
    rig_data(&rig, 5, "id: e2\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n");
    rig_expect(&rig, "< 2 {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n");
    rig_end_as(&rig, 5, MCP_HTTP_END_CUT, "cut");
    rig_advance(&rig, 500);
    rig_expect(&rig, "6 GET http://h/mcp [MCP-Protocol-Version: 2025-11-25] [Mcp-Session-Id: s] "
                     "[Accept: text/event-stream] [Last-Event-ID: e2]\n");
    rig_answer(&rig, 6, 200, EVENTS_TYPE, "data: " RESULT("2", "{}") "\n\n");
    rig_expect(&rig, "< 2 " RESULT("2", "{}") "\n");
    rig_close(&rig);
}

/* It cannot be reached for a time; or any more, and yet the request was sent. */
static void who_is_away_is_asked_again_for_the_rest(void **state)
{
    size_t n;
    Rig rig;

    (void)state;
    rig_open(&rig, NULL);
    rig_begin_session(&rig, "s");
    rig_send(&rig, LEGACY("2", "tools/call"));
    rig_answer(&rig, 4, 200, EVENTS_TYPE, "retry: 300\nid: e1\ndata:\n\n");
    rig_advance(&rig, 300);
    rig_forget(&rig);
    rig_end_as(&rig, 5, MCP_HTTP_END_UNREACHED, "gone");
    rig_expect(&rig, "");
    rig_advance(&rig, 300);
    rig_expect(&rig, "6 GET http://h/mcp\n");
    rig_answer(&rig, 6, 200, EVENTS_TYPE, "data: " RESULT("2", "{}") "\n\n");
    rig_expect(&rig, "< 2 " RESULT("2", "{}") "\n");
    rig_send(&rig, LEGACY("3", "tools/call"));
    rig_answer(&rig, 7, 200, EVENTS_TYPE, "retry: 300\nid: e1\ndata:\n\n");
    rig_forget(&rig);
    for (n = 8; rig.log.n == 0 && n < 30; n++) {
        rig_advance(&rig, 300);
        rig_forget(&rig);
        rig_end_as(&rig, n, MCP_HTTP_END_UNREACHED, "gone");
    }
    rig_expect(&rig, "< 3 " LOST("3", "the server's answer broke off before its end (gone): it may "
                                      "have been carried out") "\n");
    assert_int_equal(rig.loss, MCP_CLIENT_CUT);
    assert_int_equal(n, 13); /* five times */
    rig_close(&rig);
}

static void resumption_has_an_end(void **state)
{
    size_t n = 4;
    Rig rig;

    (void)state;
    rig_open(&rig, NULL);
    rig_begin_session(&rig, "s");
    rig_send(&rig, LEGACY("2", "tools/call"));
    rig_forget(&rig);
    rig_answer(&rig, 4, 200, EVENTS_TYPE, "id: e1\ndata:\n\n");
    while (n < 30 && rig.log.n == 0) {
        rig_advance(&rig, 600000);
        rig_forget(&rig);
        n = rig.n_begun;
        rig_answer(&rig, n, 200, EVENTS_TYPE, "");
    }
    rig_expect(&rig, "< 2 " LOST("2", BROKE) "\n");
    assert_int_equal(n, 9);
    /* The server does not know where to go on. */
    rig_send(&rig, LEGACY("3", "tools/call"));
    rig_answer(&rig, 10, 200, EVENTS_TYPE, "id: e1\ndata:\n\n");
    rig_advance(&rig, 1000);
    rig_forget(&rig);
    rig_answer(&rig, 11, 404, "", "");
    rig_expect(&rig, "< 3 " LOST("3", "the server's answer broke off, and the server does not "
                                      "resume it (HTTP 404): it may have been carried out") "\n");
    /* Without an id there is nothing to resume. */
    rig_send(&rig, LEGACY("4", "tools/call"));
    rig_forget(&rig);
    rig_answer(&rig, 12, 200, EVENTS_TYPE, "data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n");
    rig_expect(&rig, "< 4 {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n< 4 " LOST("4", BROKE) "\n");
    rig_close(&rig);
}

static void the_servers_own_stream_comes_back(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig, NULL);
    rig_begin_session(&rig, "s");
    rig.shows_fields = true;
    rig_data(&rig, 3, "id: 9\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n");
    rig_forget(&rig);
    rig_end_as(&rig, 3, MCP_HTTP_END_CUT, "cut");
    rig_advance(&rig, 1000);
    rig_expect(&rig, "4 GET http://h/mcp [MCP-Protocol-Version: 2025-11-25] [Mcp-Session-Id: s] "
                     "[Accept: text/event-stream] [Last-Event-ID: 9]\n");
    /* More and more slowly, if nothing comes of it. */
    rig_end_as(&rig, 4, MCP_HTTP_END_UNREACHED, "gone");
    rig_advance(&rig, 1999);
    rig_expect(&rig, "");
    rig_advance(&rig, 1);
    assert_int_equal(rig.n_begun, 5);
    rig_close(&rig);
}

/* The server answers the request of exchange n with 404, and begins a new session. */
static void renew(Rig *rig, size_t n, const char *session_id)
{
    McpHttpHead head = {
        .status = 200, .content_type = SPAN(JSON_TYPE), .session_id = span_from_str(session_id)};

    rig_answer(rig, n, 404, JSON_TYPE,
               "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32001,\"message\":\"Session not "
               "found\"},\"id\":null}");
    n = rig->n_begun;
    rig_send(rig, LEGACY("90", "initialize"));
    rig_head_full(rig, n + 1, &head);
    rig_data(rig, n + 1, RESULT("90", INIT_RESULT));
    rig_end(rig, n + 1);
    rig_send(rig, INITIALIZED);
    rig_answer(rig, n + 2, 202, "", "");
}

static void a_forgotten_session_is_begun_anew_and_nothing_runs_twice(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig, NULL);
    rig_begin_session(&rig, "old");
    rig_send(&rig, LEGACY("2", "tools/call"));
    rig_send(&rig, LEGACY("3", "tools/call"));
    rig_head(&rig, 4, 200, EVENTS_TYPE);
    rig_data(&rig, 4, "id: 1\ndata:\n\n");
    rig_forget(&rig);
    /* 3 was refused; 2 may be under way. */
    rig_answer(&rig, 5, 404, "", "");
    rig_expect(&rig,
               "close 3\nnote: the server has forgotten the session: it is begun anew\nrenew\n");
    rig_send(&rig, LEGACY("4", "tools/list"));
    rig_expect(&rig, "");
    rig_send(&rig, LEGACY("90", "initialize"));
    rig_expect(&rig, "6 POST " AT LEGACY("90", "initialize") "\n");
    rig_end_as(&rig, 4, MCP_HTTP_END_CUT, "reset");
    rig_expect(&rig,
               "< 2 " LOST("2", "the server's answer broke off before its end (reset): it may "
                                "have been carried out") "\n");
    rig_head_full(
        &rig, 6,
        &(McpHttpHead){.status = 200, .content_type = SPAN(JSON_TYPE), .session_id = SPAN("new")});
    rig_data(&rig, 6, RESULT("90", INIT_RESULT));
    rig_end(&rig, 6);
    rig_send(&rig, INITIALIZED);
    rig_forget(&rig);
    rig.shows_fields = true;
    rig_answer(&rig, 7, 202, "", "");
    assert_non_null(rig_find(&rig, "8 GET http://h/mcp [MCP-Protocol-Version: 2025-11-25] "
                                   "[Mcp-Session-Id: new]"));
    assert_non_null(rig_find(&rig, "9 POST"));
    assert_non_null(rig_find(&rig, LEGACY("3", "tools/call")));
    assert_non_null(rig_find(&rig, "10 POST"));
    assert_int_equal(rig.n_begun, 10);
    rig_close(&rig);
}

static void a_server_that_forgets_at_once_is_given_up(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig, NULL);
    rig_begin_session(&rig, "old");
    rig_send(&rig, LEGACY("2", "tools/list"));
    renew(&rig, 4, "new");
    rig_forget(&rig);
    rig_head(&rig, 7, 200, EVENTS_TYPE);
    rig_answer(&rig, 8, 404, "", "");
    rig_expect(&rig,
               "failed: the server forgets its session as soon as it has begun it\nclose 7\n");
    rig_close(&rig);
    /* But one that worked in between may forget again. */
    rig_open(&rig, NULL);
    rig_begin_session(&rig, "old");
    rig_send(&rig, LEGACY("2", "tools/list"));
    renew(&rig, 4, "new");
    rig_answer(&rig, 8, 200, JSON_TYPE, RESULT("2", "{}"));
    rig_send(&rig, LEGACY("3", "tools/list"));
    renew(&rig, 9, "newer");
    rig_answer(&rig, rig.n_begun, 200, JSON_TYPE, RESULT("3", "{}"));
    assert_null(rig_find(&rig, "failed"));
    assert_non_null(rig_find(&rig, "< 3 " RESULT("3", "{}")));
    rig_close(&rig);
}

static void how_servers_say_that_they_forgot(void **state)
{
    static const struct {
        unsigned status;
        const char *body;
        bool is_forgotten;
    } cases[] = {
        {404, "", true},
        {404, "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32601,\"message\":\"m\"}}",
         false},
        {400,
         "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32000,\"message\":\"Bad Request: "
         "No "
         "valid session ID provided\"}}",
         true},
        {400,
         "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32602,\"message\":\"session\"}}",
         false},
        /* It has answered the request, and may have carried it out. */
        {400,
         "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32000,\"message\":\"Paid, but the "
         "browser "
         "session crashed\"}}",
         false},
        {400,
         "{\"jsonrpc\":\"2.0\",\"id\":\"server-error\",\"error\":{\"code\":-32000,\"message\":"
         "\"Session "
         "not found\"}}",
         true},
        {400, "", false},
        {410, "", false},
    };
    Rig rig;

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        rig_open(&rig, NULL);
        rig_begin_session(&rig, "s");
        rig_send(&rig, LEGACY("2", "x"));
        rig_forget(&rig);
        rig_answer(&rig, 4, cases[i].status, JSON_TYPE, cases[i].body);
        assert_int_equal(rig_find(&rig, "renew\n") != NULL, cases[i].is_forgotten);
        assert_int_equal(strncmp(rig_text(&rig), "< 2 ", 4) == 0, !cases[i].is_forgotten);
        rig_close(&rig);
    }
}

static void a_call_that_is_taken_back_is_said_to_be(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig, &(McpHttpClientConfig){.max_streams = 1});
    rig_begin_session(&rig, "s");
    rig_send(&rig, LEGACY("2", "tools/call"));
    rig_send(&rig, LEGACY("3", "tools/call"));
    rig_forget(&rig);
    /* Never sent: nothing to be said. */
    rig_send(&rig, CANCELLED("3"));
    rig_expect(&rig, "");
    rig_send(&rig, CANCELLED("2"));
    rig_expect(&rig, "close 4\n5 POST " AT CANCELLED("2") "\n");
    /* A notification that is never answered is not waited for. */
    rig_advance(&rig, 30000);
    rig_expect(&rig, "close 5\n");
    rig_close(&rig);
}

#define OLD_AT "http://h/sse "

static void old_servers_are_found_by_their_stream(void **state)
{
    static const char stream[] = "event: endpoint\ndata: /messages?id=1\n\n";
    Rig rig;

    (void)state;
    for (size_t split = 0; split <= sizeof(stream); split++) {
        rig_open(&rig, &(McpHttpClientConfig){.url = SPAN("http://h/sse")});
        rig.split = split;
        rig_send(&rig, LEGACY("1", "initialize"));
        rig_forget(&rig);
        rig_answer(&rig, 1, 404, "text/html", "Cannot POST /sse");
        rig_expect(&rig, "2 GET http://h/sse\n");
        rig_head(&rig, 2, 200, EVENTS_TYPE);
        rig_data(&rig, 2, stream);
        rig_expect(&rig, "3 POST http://h/messages?id=1 " LEGACY("1", "initialize") "\n");
        rig_answer(&rig, 3, 202, "text/plain", "Accepted");
        rig_expect(&rig, "");
        rig_data(&rig, 2, "event: message\ndata: " RESULT("1", INIT_RESULT) "\n\n");
        rig_expect(&rig, "< 0 " RESULT("1", INIT_RESULT) "\n");
        rig_send(&rig, INITIALIZED);
        rig_answer(&rig, 4, 202, "", "");
        rig_forget(&rig);
        rig_send(&rig, LEGACY("2", "tools/call"));
        rig_expect(&rig, "5 POST http://h/messages?id=1 " LEGACY("2", "tools/call") "\n");
        rig_answer(&rig, 5, 202, "", "");
        assert_true(mcp_http_client_is_old(rig.http));
        rig_end(&rig, 2);
        rig_expect(&rig, "failed: the server ended its stream of events\n");
        rig_close(&rig);
    }
}

static void what_is_no_server_at_all_is_said_to_be(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig, NULL);
    rig_send(&rig, LEGACY("1", "initialize"));
    rig_answer(&rig, 1, 405, "", "");
    rig_forget(&rig);
    rig_answer(&rig, 2, 200, "text/html", "<p>Welcome");
    rig_expect(&rig, "failed: no MCP server at http://h/mcp: HTTP 405 to initialize, HTTP 200 to "
                     "GET\n");
    rig_close(&rig);
    rig_open(&rig, NULL);
    rig_send(&rig, LEGACY("1", "initialize"));
    rig_answer(&rig, 1, 404, "", "");
    rig_forget(&rig);
    rig_head(&rig, 2, 200, EVENTS_TYPE);
    rig_data(&rig, 2, "event: endpoint\ndata: http://evil/x\n\n");
    rig_expect(&rig, "failed: the server names an address for requests that is another server's\n"
                     "close 2\n");
    rig_close(&rig);
    rig_open(&rig, NULL);
    rig_send(&rig, LEGACY("1", "initialize"));
    rig_forget(&rig);
    rig_head_full(
        &rig, 1,
        &(McpHttpHead){.status = 200, .content_type = SPAN(JSON_TYPE), .session_id = SPAN("a b")});
    rig_expect(&rig,
               "failed: the server's session id is not of visible ASCII characters\nclose 1\n");
    rig_close(&rig);
}

/* A session with everything in it: 0, or -ENOMEM wherever memory ended. */
static int whole_session(void *context)
{
    McpHttpClientConfig config = {.url = SPAN("http://h/mcp")};
    McpHttpClient *http = NULL;
    McpHttpExchange *open = NULL;
    McpHttpClientEvent event;
    McpHttpHead head = {.status = 200, .content_type = SPAN(EVENTS_TYPE), .session_id = SPAN("s")};
    static const char *const messages[] = {LEGACY("1", "initialize"), INITIALIZED,
                                           LEGACY("2", "x")};
    static const char *const answers[] = {"id: 1\ndata: " RESULT("1", INIT_RESULT) "\n\n", "",
                                          "data: " RESULT("2", "{}") "\n\n"};
    int r = mcp_http_client_new(&http, &config);

    (void)context;
    for (size_t i = 0; r == 0 && i < TW_ARRAY_SIZE(messages); i++) {
        r = mcp_http_client_send(http, span_from_str(messages[i]), 0);
        open = NULL;
        while (r == 0 && mcp_http_client_next(http, &event)) {
            open = event.kind == MCP_HTTP_CLIENT_BEGIN ? event.exchange : open;
            r = event.kind == MCP_HTTP_CLIENT_FAILED ? -ENOMEM : 0;
        }
        if (r == 0) {
            assert_non_null(open);
            r = mcp_http_client_head(http, open, &head, 0);
        }
        r = r != 0 ? r : mcp_http_client_data(http, open, span_from_str(answers[i]), 0);
        r = r != 0 ? r : mcp_http_client_end(http, open, MCP_HTTP_END_DONE, SPAN_NULL, 0);
        while (r == 0 && mcp_http_client_next(http, &event)) {
            r = event.kind == MCP_HTTP_CLIENT_FAILED ? -ENOMEM : 0;
        }
    }
    (void)mcp_http_client_free(http);
    return r;
}

static void memory_may_fail_anywhere(void **state)
{
    (void)state;
    test_oom_sweep(whole_session, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_has_its_id_and_its_stream),
        cmocka_unit_test(older_revisions_do_not_name_themselves),
        cmocka_unit_test(what_the_server_asks_is_attributed_to_its_request),
        cmocka_unit_test(a_stream_that_breaks_is_resumed_when_it_said),
        cmocka_unit_test(who_is_away_is_asked_again_for_the_rest),
        cmocka_unit_test(resumption_has_an_end),
        cmocka_unit_test(the_servers_own_stream_comes_back),
        cmocka_unit_test(a_forgotten_session_is_begun_anew_and_nothing_runs_twice),
        cmocka_unit_test(a_server_that_forgets_at_once_is_given_up),
        cmocka_unit_test(how_servers_say_that_they_forgot),
        cmocka_unit_test(a_call_that_is_taken_back_is_said_to_be),
        cmocka_unit_test(old_servers_are_found_by_their_stream),
        cmocka_unit_test(what_is_no_server_at_all_is_said_to_be),
        cmocka_unit_test(memory_may_fail_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

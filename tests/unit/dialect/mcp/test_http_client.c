/* The modern wire: which requests there are, and what their answers mean. */
#include "dialect/mcp/http_client.h"

#include "http_client_testing.h"

#ifndef _WIN32
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "dialect/mcp/http_client_internal.h"

#define P "http://h/mcp "
#define BROKEN_OFF                                                                                 \
    "the server's answer broke off before its end (why): it may have been carried out"

static void modern_request_says_in_its_head_what_its_body_says(void **state)
{
    static const McpHttpField fields[] = {{SPAN_INIT("X-Key"), SPAN_INIT("k1")}};
    Rig rig;

    (void)state;
    rig_open(&rig, &(McpHttpClientConfig){.fields = fields, .n_fields = 1});
    rig.shows_fields = true;
    rig_send(&rig, MODERN("1", "resources/read", "\"uri\":\"file:///a%20b/\xc3\xbc\","));
    rig_expect(&rig, "1 POST http://h/mcp [MCP-Protocol-Version: 2026-07-28] "
                     "[Mcp-Method: resources/read] "
                     "[Mcp-Name: =?base64?ZmlsZTovLy9hJTIwYi/DvA==?=] "
                     "[Content-Type: application/json] "
                     "[Accept: application/json, text/event-stream] [X-Key: k1] " MODERN(
                         "1", "resources/read", "\"uri\":\"file:///a%20b/\xc3\xbc\",") "\n");
    rig_send(&rig, MODERN("2", "tools/list", ""));
    rig_expect(&rig, "2 POST http://h/mcp [MCP-Protocol-Version: 2026-07-28] "
                     "[Mcp-Method: tools/list] [Content-Type: application/json] "
                     "[Accept: application/json, text/event-stream] [X-Key: k1] " MODERN(
                         "2", "tools/list", "") "\n");
    rig_send(&rig, MODERN("3", "tasks/get", "\"taskId\":\"t 1\","));
    assert_non_null(rig_find(&rig, "[Mcp-Name: t 1]"));
    rig_close(&rig);
}

/* The same answer in every form that HTTP has for it. */
static void answers_come_as_json_or_as_events(void **state)
{
    static const char *const streams[] = {
        "data: " RESULT("1", "{\"a\":1}") "\n\n",
        ": hello\r\n\r\nevent: message\r\ndata: " RESULT("1", "{\"a\":1}") "\r\n\r\n",
        "\xef\xbb\xbfid: 1\rdata:\r\rretry: 5\rdata: " RESULT("1", "{\"a\":1}") "\r\r",
        "event: other\ndata: x\n\ndata: " RESULT("1", "{\"a\":1}") "\n\n",
    };
    Rig rig;

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(streams); i++) {
        for (size_t split = 0; split <= strlen(streams[i]); split++) {
            rig_open(&rig, NULL);
            rig.split = split;
            rig_send(&rig, MODERN("1", "prompts/get", "\"name\":\"p\","));
            rig_forget(&rig);
            rig_answer(&rig, 1, 200, "Text/Event-Stream; charset=utf-8", streams[i]);
            rig_expect(&rig, "< 1 " RESULT("1", "{\"a\":1}") "\n");
            rig_close(&rig);
        }
    }
    rig_open(&rig, NULL);
    rig_send(&rig, MODERN("1", "prompts/get", "\"name\":\"p\","));
    rig_forget(&rig);
    rig_answer(&rig, 1, 200, "application/json; charset=utf-8", RESULT("1", "{\"a\":1}"));
    rig_expect(&rig, "< 1 " RESULT("1", "{\"a\":1}") "\n");
    rig_close(&rig);
}

static void notifications_come_before_the_answer_by_its_stream(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig, NULL);
    rig_send(&rig, MODERN("7", "tools/call", "\"name\":\"t\","));
    rig_forget(&rig);
    rig_head(&rig, 1, 200, EVENTS_TYPE);
    rig_data(&rig, 1, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\n");
    rig_expect(&rig, "< 7 {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n");
    rig_data(&rig, 1, "data: " RESULT("7", "{}") "\n\ndata: " RESULT("7", "{}") "\n\n");
    /* The second one is for the session to drop. */
    rig_expect(&rig, "< 7 " RESULT("7", "{}") "\n< 7 " RESULT("7", "{}") "\n");
    /* A server that does not end its stream is let go of. */
    rig_advance(&rig, 5000);
    rig_expect(&rig, "close 1\n");
    assert_true(mcp_http_client_next_deadline(rig.http) == INT64_MAX);
    rig_close(&rig);
}

static void to_let_go_is_to_cancel(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig, NULL);
    rig_send(&rig, MODERN("7", "tools/call", "\"name\":\"t\","));
    rig_head(&rig, 1, 200, EVENTS_TYPE);
    rig_forget(&rig);
    rig_send(&rig, CANCELLED("8"));
    rig_expect(&rig, "");
    rig_send(&rig, CANCELLED("7"));
    rig_expect(&rig, "close 1\n");
    rig_send(&rig, CANCELLED("7"));
    rig_expect(&rig, "");
    rig_close(&rig);
}

static void every_end_without_an_answer_is_an_error(void **state)
{
    static const struct {
        unsigned status; /* 0: no head */
        const char *type;
        const char *body;
        McpHttpEnd end;
        const char *words;
    } cases[] = {
        {0, "", "", MCP_HTTP_END_UNREACHED, "cannot reach http://h/mcp: why"},
        {0, "", "", MCP_HTTP_END_REFUSED, "authorization is refused by http://h/mcp: why"},
        {0, "", "", MCP_HTTP_END_CUT,
         "the server's answer broke off before its end (why): it may have been carried out"},
        {200, JSON_TYPE, "{", MCP_HTTP_END_CUT,
         "the server's answer broke off before its end (why): it may have been carried out"},
        {200, EVENTS_TYPE, "data: x", MCP_HTTP_END_CUT,
         "the server's answer broke off before its end (why): it may have been carried out"},
        {200, EVENTS_TYPE, "id: 1\ndata:\n\n", MCP_HTTP_END_DONE,
         "the server's answer broke off before its end (the stream ended): it may have been "
         "carried out"},
        {200, EVENTS_TYPE, "data: {\n\n", MCP_HTTP_END_DONE,
         "the server's answer broke off before its end (the server's answer is not JSON): it may "
         "have been carried out"},
        {200, JSON_TYPE, "{", MCP_HTTP_END_DONE, "the server's answer is not JSON"},
        {200, JSON_TYPE, "", MCP_HTTP_END_DONE, "the server's answer is empty"},
        {200, "text/html", "<p>", MCP_HTTP_END_DONE,
         "the server's answer is of the type 'text/html'"},
        {202, "", "", MCP_HTTP_END_DONE, "the server's answer is of the type ''"},
        {200, JSON_TYPE, "", MCP_HTTP_END_TOO_LARGE, "the server's answer is longer than allowed"},
        {500, "text/html", "<p>", MCP_HTTP_END_DONE, "the server refused the request: HTTP 500"},
        {500, "text/plain", "no\nyes", MCP_HTTP_END_DONE,
         "the server refused the request: HTTP 500: no"},
        {401, "", "", MCP_HTTP_END_DONE,
         "authorization is wanted by http://h/mcp: HTTP 401; try: toolwire auth login "
         "http://h/mcp"},
        {403, "", "", MCP_HTTP_END_DONE,
         "access is refused by http://h/mcp: HTTP 403; try: toolwire auth login http://h/mcp"},
        {429, "text/plain", "slow", MCP_HTTP_END_DONE, "no use of http://h/mcp: HTTP 429: slow"},
        {302, "", "", MCP_HTTP_END_DONE, "no use of http://h/mcp: HTTP 302"},
        {307, "", "", MCP_HTTP_END_DONE,
         "a redirection is not followed from http://h/mcp: HTTP 307 to another server, or to "
         "nowhere; use the address itself"},
    };
    char expected[500];
    Rig rig;

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        rig_open(&rig, NULL);
        rig_send(&rig, MODERN("7", "tools/call", "\"name\":\"t\","));
        rig_forget(&rig);
        if (cases[i].status != 0) {
            rig_head(&rig, 1, cases[i].status, cases[i].type);
            rig_data(&rig, 1, cases[i].body);
        }
        rig_end_as(&rig, 1, cases[i].end, "why");
        (void)snprintf(expected, sizeof(expected), "< 7 " LOST("7", "%s") "\n", cases[i].words);
        rig_expect(&rig, expected);
        assert_int_equal(rig.loss, cases[i].end == MCP_HTTP_END_UNREACHED ? MCP_CLIENT_UNREACHED
                                   : strstr(cases[i].words, "carried out") != NULL
                                       ? MCP_CLIENT_CUT
                                       : MCP_CLIENT_ANSWERED);
        assert_true(mcp_http_client_next_deadline(rig.http) == INT64_MAX);
        rig_close(&rig);
    }
}

static void an_error_in_a_refusal_is_the_answer(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig, NULL);
    rig_send(&rig, MODERN("7", "tools/call", "\"name\":\"t\","));
    rig_forget(&rig);
    rig_answer(&rig, 1, 400, JSON_TYPE,
               "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32020,\"message\":\"m\"}}");
    rig_expect(&rig, "< 7 {\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32020,\"message\":"
                     "\"m\"}}\n");
    /* One that does not name its request can mean no other. */
    rig_send(&rig, MODERN("8", "tools/call", "\"name\":\"t\","));
    rig_forget(&rig);
    rig_answer(&rig, 2, 400, JSON_TYPE,
               "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"m\"}}");
    rig_expect(&rig, "< 8 {\"jsonrpc\":\"2.0\",\"id\":8,\"error\":{\"code\":-32700,\"message\":"
                     "\"m\"}}\n");
    /* And one to another request is no answer to this. */
    rig_send(&rig, MODERN("9", "tools/call", "\"name\":\"t\","));
    rig_forget(&rig);
    rig_answer(&rig, 3, 200, JSON_TYPE, RESULT("99", "{}"));
    rig_expect(&rig, "< 9 " RESULT("99", "{}") "\n< 9 " LOST(
                         "9", "the server's answer is not to this request") "\n");
    rig_close(&rig);
}

/* Python servers write "server-error", others the id of something else: the HTTP answer is to this
 * request all the same, and the other request that the id may name still gets its own. */
static void a_refusal_is_the_answer_whatever_id_it_names(void **state)
{
    static const char *const ids[] = {"\"id\":\"server-error\",",
                                      "\"id\":99,",
                                      "\"id\":8,",
                                      "\"id\":7,",
                                      "\"id\":null,",
                                      "",
                                      "\"id\":1.5,",
                                      "\"id\":-1,",
                                      "\"id\":{\"a\":[7]},",
                                      "\"id\":\"7\","};
    static const struct {
        const char *method;
        const char *with;
    } asked[] = {{"tools/call", "\"name\":\"t\","}, {"server/discover", ""}};
    char body[256];
    char sent[512];
    Rig rig;

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(ids) * TW_ARRAY_SIZE(asked); i++) {
        rig_open(&rig, NULL);
        rig_send(&rig, MODERN("8", "tools/call", "\"name\":\"other\","));
        (void)snprintf(sent, sizeof(sent), MODERN("7", "%s", "%s"),
                       asked[i % TW_ARRAY_SIZE(asked)].method,
                       asked[i % TW_ARRAY_SIZE(asked)].with);
        rig_send(&rig, sent);
        rig_forget(&rig);
        (void)snprintf(body, sizeof(body),
                       "{\"jsonrpc\":\"2.0\",%s\"error\":{\"code\":-32600,\"message\":\"m\"}}",
                       ids[i / TW_ARRAY_SIZE(asked)]);
        rig_answer(&rig, 2, 400, JSON_TYPE, body);
        rig_expect(&rig, "< 7 {\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32600,"
                         "\"message\":\"m\"}}\n");
        rig_answer(&rig, 1, 200, JSON_TYPE, RESULT("8", "{}"));
        rig_expect(&rig, "< 8 " RESULT("8", "{}") "\n");
        rig_close(&rig);
    }
}

/* What would have the same exchange given out for ever is a mistake of ours: an assertion, or else
 * the end of the exchange. */
static void an_exchange_whose_turn_comes_without_a_move_is_ended(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig, NULL);
    rig_send(&rig, MODERN("7", "tools/call", "\"name\":\"t\","));
    rig_send(&rig, MODERN("8", "tools/call", "\"name\":\"t\","));
    rig_forget(&rig);
    http_exchange_queue(rig.http, rig.open[1]);
#ifdef NDEBUG
    rig_drain(&rig);
    rig_expect(&rig, "close 1\n"
                     "note: an exchange with the server did not move on, and was ended\n"
                     "< 7 " LOST("7", "the request was given up: its answer did not move on") "\n");
    rig_answer(&rig, 2, 200, JSON_TYPE, RESULT("8", "{}"));
    rig_expect(&rig, "< 8 " RESULT("8", "{}") "\n");
#elif !defined(_WIN32)
    {
        pid_t child = fork();
        int status = 0;

        assert_true(child >= 0);
        if (child == 0) {
            (void)signal(SIGABRT, SIG_DFL); /* cmocka's would report it */
            (void)close(STDERR_FILENO);
            rig_drain(&rig);
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    }
#endif
    rig_close(&rig);
}

static void the_probe_proves_nothing_by_silence_or_refusal(void **state)
{
    static const struct {
        unsigned status;
        const char *body;
        McpHttpEnd end;
        bool fails;
    } cases[] = {
        {0, "", MCP_HTTP_END_UNREACHED, true},
        {0, "", MCP_HTTP_END_CUT, true},
        {401, "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32001,\"message\":\"m\"},\"id\":null}",
         MCP_HTTP_END_DONE, true},
        {403, "", MCP_HTTP_END_DONE, true},
        {429, "", MCP_HTTP_END_DONE, true},
        {503, "", MCP_HTTP_END_DONE, true},
        {302, "", MCP_HTTP_END_DONE, true},
        {400, "Bad Request", MCP_HTTP_END_DONE, false},
        {404, "Not Found", MCP_HTTP_END_DONE, false},
        {405, "", MCP_HTTP_END_DONE, false},
        {500, "", MCP_HTTP_END_DONE, false},
        {400,
         "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32000,\"message\":\"session\"}}",
         MCP_HTTP_END_DONE, false},
    };
    Rig rig;

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        rig_open(&rig, NULL);
        rig_send(&rig, MODERN("1", "server/discover", ""));
        rig_forget(&rig);
        if (cases[i].status != 0) {
            rig_head(&rig, 1, cases[i].status, JSON_TYPE);
            rig_data(&rig, 1, cases[i].body);
        }
        rig_end_as(&rig, 1, cases[i].end, "why");
        if (cases[i].end == MCP_HTTP_END_CUT) { /* a connection may have been an old one */
            rig_expect(&rig, "2 POST http://h/mcp " MODERN("1", "server/discover", "") "\n");
            rig_end_as(&rig, 2, cases[i].end, "why");
        }
        if (strncmp(rig_text(&rig), cases[i].fails ? "failed: " : "< 1 {", 5) != 0) {
            fail_msg("case %zu: %s", i, rig_text(&rig));
        }
        rig_close(&rig);
    }
}

/* Who may be asked twice: a connection ended without a word. */
static void only_what_changes_nothing_is_sent_again(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig, NULL);
    rig_send(&rig, MODERN("1", "tools/list", ""));
    rig_send(&rig, MODERN("2", "tools/call", ""));
    rig_send(&rig, MODERN("3", "tools/list", ""));
    rig_send(&rig, "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"result\":{}}");
    rig_forget(&rig);
    rig_end_as(&rig, 1, MCP_HTTP_END_CUT, "why");
    rig_expect(&rig, "5 POST http://h/mcp " MODERN("1", "tools/list", "") "\n");
    rig_end_as(&rig, 5, MCP_HTTP_END_CUT, "why");
    rig_expect(&rig, "< 1 " LOST("1", BROKEN_OFF) "\n");
    rig_end_as(&rig, 2, MCP_HTTP_END_CUT, "why");
    rig_expect(&rig, "< 2 " LOST("2", BROKEN_OFF) "\n");
    /* It has begun to answer. */
    rig_head(&rig, 3, 200, JSON_TYPE);
    rig_end_as(&rig, 3, MCP_HTTP_END_CUT, "why");
    rig_expect(&rig, "< 3 " LOST("3", BROKEN_OFF) "\n");
    rig_end_as(&rig, 4, MCP_HTTP_END_CUT, "why");
    rig_expect(&rig, "6 POST http://h/mcp {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"result\":{}}\n");
    rig_end_as(&rig, 6, MCP_HTTP_END_CUT, "why");
    assert_int_equal(rig.n_begun, 6);
    rig_close(&rig);
}

static void redirections_within_a_server_are_followed(void **state)
{
    McpHttpHead head = {.status = 307, .location = SPAN("/mcp/")};
    Rig rig;

    (void)state;
    rig_open(&rig, NULL);
    rig_send(&rig, MODERN("1", "tools/list", ""));
    rig_forget(&rig);
    rig_head_full(&rig, 1, &head);
    rig_end(&rig, 1);
    rig_expect(&rig, "2 POST http://h/mcp/ " MODERN("1", "tools/list", "") "\n");
    rig_answer(&rig, 2, 200, JSON_TYPE, RESULT("1", "{}"));
    rig_forget(&rig);
    rig_send(&rig, MODERN("2", "tools/list", ""));
    rig_expect(&rig, "3 POST http://h/mcp/ " MODERN("2", "tools/list", "") "\n");
    head.status = 308;
    head.location = SPAN("http://h/mcp/");
    for (size_t i = 3; i < 8; i++) {
        rig_head_full(&rig, i, &head);
        rig_end(&rig, i);
    }
    rig_forget(&rig);
    rig_head_full(&rig, 8, &head);
    rig_end(&rig, 8);
    rig_expect(&rig, "< 2 " LOST("2", "a redirection is not followed from http://h/mcp/: HTTP 308: "
                                      "it leads in circles") "\n");
    head.location = SPAN("http://evil/mcp");
    rig_send(&rig, MODERN("3", "tools/list", ""));
    rig_forget(&rig);
    rig_head_full(&rig, 9, &head);
    rig_end(&rig, 9);
    assert_non_null(rig_find(&rig, "to another server"));
    rig_close(&rig);
}

#define TOOL(name, type, header)                                                                   \
    "{\"name\":\"" name "\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":" \
    "\"" type "\",\"x-mcp-header\":\"" header "\"}}}}"

static void schemas_are_learnt_from_lists_and_bad_tools_left_out(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig, NULL);
    rig_send(&rig, MODERN("1", "tools/list", ""));
    rig_forget(&rig);
    rig_answer(&rig, 1, 200, JSON_TYPE,
               RESULT("1", "{\"n\":1, \"tools\": [" TOOL("bad", "number", "N") ", " TOOL(
                               "good", "string", "Region") " ,{\"name\":\"plain\"}], \"z\":1.0}"));
    rig_expect(&rig, "< 1 " RESULT(
                         "1", "{\"n\":1, \"tools\": [" TOOL(
                                  "good", "string",
                                  "Region") ",{\"name\":"
                                            "\"plain\"}], "
                                            "\"z\":1.0}") "\n"
                                                          "note: the tool 'bad' is left out: its "
                                                          "x-mcp-header annotations break the "
                                                          "rules\n");
    rig.shows_fields = true;
    rig_send(&rig, MODERN("2", "tools/call", "\"name\":\"good\",\"arguments\":{\"a\":\" x\"},"));
    assert_non_null(rig_find(&rig, "[Mcp-Name: good] [Mcp-Param-Region: =?base64?IHg=?=]"));
    rig_forget(&rig);
    rig_send(&rig, MODERN("3", "tools/call", "\"name\":\"good\",\"arguments\":{\"a\":null},"));
    assert_null(rig_find(&rig, "Mcp-Param"));
    /* A list that does not ask for it any more. */
    rig_send(&rig, MODERN("4", "tools/list", ""));
    rig_answer(&rig, 4, 200, JSON_TYPE,
               RESULT("4", "{\"tools\":[{\"name\":\"good\",\"inputSchema\":{}}]}"));
    rig_forget(&rig);
    rig_send(&rig, MODERN("5", "tools/call", "\"name\":\"good\",\"arguments\":{\"a\":\"x\"},"));
    assert_null(rig_find(&rig, "Mcp-Param"));
    rig_close(&rig);
}

static void requests_beyond_the_limit_wait(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig, &(McpHttpClientConfig){.max_streams = 2});
    rig_send(&rig, MODERN("1", "tools/list", ""));
    rig_send(&rig, MODERN("2", "tools/list", ""));
    rig_forget(&rig);
    rig_send(&rig, MODERN("3", "tools/list", ""));
    rig_send(&rig, MODERN("4", "tools/list", ""));
    rig_expect(&rig, "");
    rig_send(&rig, CANCELLED("3"));
    rig_answer(&rig, 1, 200, JSON_TYPE, RESULT("1", "{}"));
    rig_expect(&rig, "< 1 " RESULT("1", "{}") "\n3 POST " P MODERN("4", "tools/list", "") "\n");
    rig_close(&rig);
}

static void an_event_without_end_ends_its_request(void **state)
{
    char piece[1001];
    Rig rig;

    (void)state;
    memset(piece, 'x', 1000);
    piece[1000] = '\0';
    rig_open(&rig, &(McpHttpClientConfig){.max_message_bytes = 5000});
    rig_send(&rig, MODERN("1", "tools/list", ""));
    rig_forget(&rig);
    rig_head(&rig, 1, 200, EVENTS_TYPE);
    rig_data(&rig, 1, "data: ");
    for (size_t i = 0; i < 20 && rig.open[1] != NULL; i++) {
        rig_data(&rig, 1, piece);
    }
    rig_expect(&rig, "close 1\n< 1 " LOST("1", "the server's answer is longer than allowed") "\n");
    rig_send(&rig, MODERN("2", "tools/list", ""));
    rig_forget(&rig);
    rig_head(&rig, 2, 200, JSON_TYPE);
    for (size_t i = 0; i < 20 && rig.open[2] != NULL; i++) {
        rig_data(&rig, 2, piece);
    }
    rig_expect(&rig, "close 2\n< 2 " LOST("2", "the server's answer is longer than allowed") "\n");
    rig_close(&rig);
}

static void headers_of_the_protocol_cannot_be_set(void **state)
{
    static const struct {
        McpHttpField field;
        bool is_good;
    } cases[] = {
        {{SPAN_INIT("X-A"), SPAN_INIT("b c")}, true},
        {{SPAN_INIT("Authorization"), SPAN_INIT("Bearer x")}, true},
        {{SPAN_INIT("mcp-method"), SPAN_INIT("x")}, false},
        {{SPAN_INIT("Content-Type"), SPAN_INIT("x")}, false},
        {{SPAN_INIT("HOST"), SPAN_INIT("x")}, false},
        {{SPAN_INIT("a b"), SPAN_INIT("x")}, false},
        {{SPAN_INIT(""), SPAN_INIT("x")}, false},
        {{SPAN_INIT("X-A"), SPAN_INIT("b\r\nc: d")}, false},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        assert_int_equal(mcp_http_client_field_flaw(&cases[i].field) == NULL, cases[i].is_good);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modern_request_says_in_its_head_what_its_body_says),
        cmocka_unit_test(answers_come_as_json_or_as_events),
        cmocka_unit_test(notifications_come_before_the_answer_by_its_stream),
        cmocka_unit_test(to_let_go_is_to_cancel),
        cmocka_unit_test(every_end_without_an_answer_is_an_error),
        cmocka_unit_test(an_error_in_a_refusal_is_the_answer),
        cmocka_unit_test(a_refusal_is_the_answer_whatever_id_it_names),
        cmocka_unit_test(an_exchange_whose_turn_comes_without_a_move_is_ended),
        cmocka_unit_test(the_probe_proves_nothing_by_silence_or_refusal),
        cmocka_unit_test(only_what_changes_nothing_is_sent_again),
        cmocka_unit_test(redirections_within_a_server_are_followed),
        cmocka_unit_test(schemas_are_learnt_from_lists_and_bad_tools_left_out),
        cmocka_unit_test(requests_beyond_the_limit_wait),
        cmocka_unit_test(an_event_without_end_ends_its_request),
        cmocka_unit_test(headers_of_the_protocol_cannot_be_set),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

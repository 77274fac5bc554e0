/* A session whose transport has more than one stream: what each message is about, and what becomes
 * of requests whose stream has gone. */
#include "dialect/mcp/server.h"

#include "unit/dialect/mcp/session_rig.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "dialect/mcp/render.h"

#define META                                                                                       \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"

#define MAX_ABOUTS 16

typedef struct Streams {
    Rig rig;
    McpAbout abouts[MAX_ABOUTS];
    size_t n_abouts;
    char names[3]; /* streams are places in it */
} Streams;

static void keep_about(void *context, const McpAbout *about)
{
    Streams *s = (Streams *)context; /* whose first member is the rig, the sink's context */

    assert_true(s->n_abouts < MAX_ABOUTS);
    s->abouts[s->n_abouts++] = *about;
}

static int set_up(void **state)
{
    Streams *s = calloc(1, sizeof(*s));

    rig_init(&s->rig);
    s->rig.sink.about = keep_about;
    assert_int_equal(rig_open(&s->rig), 0);
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    Streams *s = *state;

    rig_deinit(&s->rig);
    free(s);
    return 0;
}

static void receive(Streams *s, size_t stream, const char *text)
{
    McpFrom from = {.stream = &s->names[stream]};

    s->n_abouts = 0;
    assert_int_equal(mcp_server_receive_from(s->rig.server, span_from_str(text), &from, 0), 0);
    rig_serve(&s->rig);
}

static void expect(const Streams *s, size_t i, const void *stream, bool is_answer, int code)
{
    assert_true(i < s->n_abouts);
    assert_ptr_equal(s->abouts[i].stream, stream);
    assert_int_equal(s->abouts[i].is_answer, is_answer);
    assert_int_equal(s->abouts[i].code, code);
}

static void begin_session(Streams *s, const char *revision)
{
    char text[256];

    (void)snprintf(text, sizeof(text),
                   "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
                   "\"protocolVersion\":\"%s\",\"capabilities\":{\"elicitation\":{}}}}",
                   revision);
    receive(s, 0, text);
    expect(s, 0, &s->names[0], true, 0);
    assert_true(s->abouts[0].opens_session);
    receive(s, 0, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    assert_int_equal(s->n_abouts, 0);
    assert_false(mcp_server_had_request(s->rig.server));
}

static void answers_and_what_comes_before_them_are_about_their_stream(void **state)
{
    Streams *s = *state;

    receive(s, 1,
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
            "\"steps\",\"_meta\":{\"progressToken\":1,"
            "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
            "\"io.modelcontextprotocol/clientCapabilities\":{}}}}");
    assert_int_equal(s->n_abouts, 3);
    expect(s, 0, &s->names[1], false, 0);
    expect(s, 1, &s->names[1], false, 0);
    expect(s, 2, &s->names[1], true, 0);
    assert_true(s->abouts[2].is_modern);
    assert_true(mcp_server_had_request(s->rig.server));
}

static void refusals_of_the_session_say_their_number(void **state)
{
    static const struct {
        const char *text;
        int code;
        bool is_modern;
    } cases[] = {
        {"{", MCP_ERROR_PARSE, false},
        {"[]", MCP_ERROR_INVALID_REQUEST, false},
        {"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", MCP_ERROR_INVALID_REQUEST, false},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}", MCP_ERROR_INVALID_PARAMS,
         false},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"no/such\",\"params\":{" META "}}",
         MCP_ERROR_METHOD_NOT_FOUND, true},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{" META "}}",
         MCP_ERROR_INVALID_PARAMS, true},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
         "call\",\"params\":{\"name\":\"form\"," META "}}",
         MCP_ERROR_MISSING_CAPABILITY, true},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"_meta\":{"
         "\"io.modelcontextprotocol/protocolVersion\":\"1999-01-01\"}}}",
         MCP_ERROR_UNSUPPORTED_VERSION, true},
    };
    Streams *s = *state;

    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        receive(s, 2, cases[i].text);
        assert_int_equal(s->n_abouts, 1);
        expect(s, 0, &s->names[2], true, cases[i].code);
        assert_int_equal(s->abouts[0].is_modern, cases[i].is_modern);
        assert_true(mcp_server_had_request(s->rig.server));
    }
}

static void what_a_provider_or_the_router_says_is_no_refusal(void **state)
{
    Streams *s = *state;

    receive(s, 0,
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
            "\"nobody\"," META "}}");
    assert_int_equal(s->n_abouts, 1);
    expect(s, 0, &s->names[0], true, 0);
}

static void a_modern_request_ends_with_its_stream(void **state)
{
    Streams *s = *state;

    receive(s, 0,
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"hold\","
            "\"arguments\":{\"tag\":\"a\"}," META "}}");
    receive(s, 1,
            "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"hold\","
            "\"arguments\":{\"tag\":\"b\"}," META "}}");
    receive(s, 0,
            "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"subscriptions/listen\",\"params\":{"
            "\"notifications\":{\"toolsListChanged\":true}," META "}}");
    expect(s, 0, &s->names[0], false, 0);
    mcp_server_gone(s->rig.server, &s->names[0]);
    rig_serve(&s->rig);
    assert_int_equal(s->rig.n_cancelled, 1);
    assert_string_equal(s->rig.last_cancelled, "a");
    s->n_abouts = 0;
    mcp_server_list_changed(s->rig.server, MCP_LIST_TOOLS);
    assert_int_equal(s->n_abouts, 0);
    rig_finish(&s->rig, "b");
    expect(s, 0, &s->names[1], true, 0);
}

static void a_subscription_is_told_on_its_stream(void **state)
{
    Streams *s = *state;

    s->rig.offer.lists_change = true;
    receive(s, 2,
            "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"subscriptions/listen\",\"params\":{"
            "\"notifications\":{\"toolsListChanged\":true}," META "}}");
    s->n_abouts = 0;
    mcp_server_list_changed(s->rig.server, MCP_LIST_TOOLS);
    assert_int_equal(s->n_abouts, 1);
    expect(s, 0, &s->names[2], false, 0);
    mcp_server_shutdown(s->rig.server);
    assert_int_equal(s->n_abouts, 2);
    expect(s, 1, &s->names[2], true, 0);
}

static void a_legacy_request_outlives_its_stream(void **state)
{
    Streams *s = *state;

    begin_session(s, "2025-11-25");
    receive(s, 1,
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"hold\","
            "\"arguments\":{\"tag\":\"a\"}}}");
    mcp_server_gone(s->rig.server, &s->names[1]);
    rig_serve(&s->rig);
    assert_int_equal(s->rig.n_cancelled, 0);
    s->n_abouts = 0;
    rig_finish(&s->rig, "a");
    assert_int_equal(s->n_abouts, 1);
    expect(s, 0, NULL, true, 0);
}

static void questions_are_about_the_stream_of_their_request(void **state)
{
    Streams *s = *state;

    begin_session(s, "2025-11-25");
    receive(s, 1,
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
            "\"form\"}}");
    assert_int_equal(s->n_abouts, 1);
    expect(s, 0, &s->names[1], false, 0);
    receive(s, 2, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"action\":\"decline\"}}");
    assert_false(mcp_server_had_request(s->rig.server));
    assert_int_equal(s->n_abouts, 1);
    expect(s, 0, &s->names[1], true, 0);
}

static void a_batch_is_answered_on_its_stream(void **state)
{
    Streams *s = *state;

    begin_session(s, "2025-03-26");
    receive(s, 2,
            "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},{\"jsonrpc\":\"2.0\",\"id\":2,"
            "\"method\":\"no/such\"}]");
    assert_int_equal(s->n_abouts, 1);
    expect(s, 0, &s->names[2], true, 0);
    receive(s, 2, "[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}]");
    assert_int_equal(s->n_abouts, 0);
    assert_false(mcp_server_had_request(s->rig.server));
}

static void a_session_is_reused_only_when_nothing_is_left_of_it(void **state)
{
    Streams *s = *state;

    receive(s, 0,
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"hold\","
            "\"arguments\":{\"tag\":\"a\"}," META "}}");
    assert_false(mcp_server_reuse(s->rig.server));
    rig_finish(&s->rig, "a");
    assert_true(mcp_server_reuse(s->rig.server));
    begin_session(s, "2025-06-18");
    assert_false(mcp_server_reuse(s->rig.server));
}

int main(void)
{
#define STREAM_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        STREAM_TEST(answers_and_what_comes_before_them_are_about_their_stream),
        STREAM_TEST(refusals_of_the_session_say_their_number),
        STREAM_TEST(what_a_provider_or_the_router_says_is_no_refusal),
        STREAM_TEST(a_modern_request_ends_with_its_stream),
        STREAM_TEST(a_subscription_is_told_on_its_stream),
        STREAM_TEST(a_legacy_request_outlives_its_stream),
        STREAM_TEST(questions_are_about_the_stream_of_their_request),
        STREAM_TEST(a_batch_is_answered_on_its_stream),
        STREAM_TEST(a_session_is_reused_only_when_nothing_is_left_of_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

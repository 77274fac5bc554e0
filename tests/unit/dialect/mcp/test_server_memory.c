/* Steady traffic allocates nothing; want of memory ends the session and leaks nothing. */
#include "dialect/mcp/server.h"

#include "unit/dialect/mcp/session_rig.h"

#include "support/cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "support/alloc_testing.h"
#include "support/oom_sweep.h"

#define META                                                                                       \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{},\"roots\":{}}}"
#define ACCEPT "{\"action\":\"accept\",\"content\":{\"name\":\"Ann\"}}"

static const char initialize[] =
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
    "\"2025-11-25\",\"capabilities\":{\"elicitation\":{},\"roots\":{}}}}";
static const char initialized[] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}";

/* Message i of the traffic; ids and sizes vary. */
static Span traffic(size_t i, char *text, size_t n)
{
    static const char *const forms[] = {
        "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\","
        "\"arguments\":{\"message\":\"hello\",\"list\":[1,2,3]}}}",
        "{\"jsonrpc\":\"2.0\",\"id\":\"r-%zu\",\"method\":\"tools/call\",\"params\":{\"name\":"
        "\"steps\",\"arguments\":{\"message\":\"\\u0068\"},\"_meta\":{\"progressToken\":1}}}",
        "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\","
        "\"arguments\":{\"message\":\"modern\"}," META "}}",
        "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"no/such\"}",
    };

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    return span_make(text, (size_t)snprintf(text, n, forms[i % TW_ARRAY_SIZE(forms)], i));
#pragma GCC diagnostic pop
}

static void steady_calls_allocate_nothing(void **state)
{
    static Rig rig;
    char text[512];

    (void)state;
    rig_init(&rig);
    assert_int_equal(rig_open(&rig), 0);
    assert_int_equal(rig_receive_text(&rig, initialize), 0);
    assert_int_equal(rig_receive_text(&rig, initialized), 0);
    for (size_t i = 0; i < 1010; i++) {
        if (i == 10) {
            alloc_testing_reset(ALLOC_TESTING_NEVER);
        }
        rig.sent.n = 0;
        rig.n_sent = 0;
        assert_int_equal(rig_receive(&rig, traffic(i, text, sizeof(text))), 0);
        assert_true(rig.n_sent > 0);
    }
    assert_int_equal(alloc_testing()->n_calls, 0);
    rig_deinit(&rig);
}

/* 64 calls at a time that end later; the pool and the copies of arguments are used again. */
static void calls_that_end_later_allocate_nothing_either(void **state)
{
    static Rig rig;
    char text[512];

    (void)state;
    rig_init(&rig);
    assert_int_equal(rig_open(&rig), 0);
    assert_int_equal(rig_receive_text(&rig, initialize), 0);
    for (size_t round = 0; round < 20; round++) {
        if (round == 2) {
            alloc_testing_reset(ALLOC_TESTING_NEVER);
        }
        rig.sent.n = 0;
        for (size_t i = 0; i < 64; i++) {
            (void)snprintf(text, sizeof(text),
                           "{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"tools/call\",\"params\":{"
                           "\"name\":\"hold\",\"arguments\":{\"tag\":\"%zu\"}}}",
                           i, i);
            assert_int_equal(rig_receive_text(&rig, text), 0);
        }
        assert_int_equal(mcp_server_n_calls(rig.server), 64);
        for (size_t i = 0; i < 64; i++) {
            (void)snprintf(text, sizeof(text), "%zu", i);
            rig_finish(&rig, text);
        }
    }
    assert_int_equal(alloc_testing()->n_calls, 0);
    rig_deinit(&rig);
}

/* The requestState of the last message, put in place of %s. */
static void with_state(const Rig *rig, const char *form, char *text, size_t n)
{
    static const char name[] = "\"requestState\":\"";
    const char *at = rig->sent.data;
    const char *end = rig->sent.data + rig->sent.n;
    const char *found = NULL;

    for (; at != NULL && at + sizeof(name) < end; at++) {
        if (memcmp(at, name, sizeof(name) - 1) == 0) {
            found = at + sizeof(name) - 1;
        }
    }
    if (found == NULL) {
        text[0] = '\0';
        return;
    }
    (void)snprintf(text, n,
                   "{\"jsonrpc\":\"2.0\",\"id\":\"m\",\"method\":\"tools/call\",\"params\":{"
                   "\"name\":\"twice\",\"requestState\":\"%.*s\",%s," META "}}",
                   (int)(strchr(found, '"') - found), found, form);
}

static const char *const conversation[] = {
    initialize,
    initialized,
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"steps\","
    "\"_meta\":{\"progressToken\":\"t\"}}}",
    "{\"jsonrpc\":\"2.0\",\"id\":\"\\u0062\",\"method\":\"tools/call\",\"params\":{\"name\":"
    "\"hold\",\"arguments\":{\"tag\":\"h\"}}}",
    "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"both\","
    "\"arguments\":{\"x\":[1,2]}}}",
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":" ACCEPT "}",
    "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"roots\":[]}}",
    "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"resources/subscribe\",\"params\":{\"uri\":"
    "\"test://a\"}}",
    "{\"jsonrpc\":\"2.0\",\"id\":\"s\",\"method\":\"subscriptions/listen\",\"params\":{"
    "\"notifications\":{\"toolsListChanged\":true,\"resourceSubscriptions\":[\"test://a\"]}," META
    "}}",
    "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":{\"name\":\"forever\"}}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":5}}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":"
    "\"\\u0062\"}}",
    "garbage",
    "{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"completion/complete\",\"params\":{\"ref\":{"
    "\"type\":\"ref/prompt\",\"name\":\"greet\"},\"argument\":{\"name\":\"a\",\"value\":\"\"}}}",
    "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"twice\"," META
    "}}",
};

static int converse(Rig *rig)
{
    char text[4096];
    int r = rig_open(rig);

    for (size_t i = 0; i < TW_ARRAY_SIZE(conversation) && r == 0; i++) {
        r = rig_receive_text(rig, conversation[i]);
        r = r == 0 ? mcp_server_error(rig->server) : r;
        r = r == 0 && rig->is_out_of_memory ? -ENOMEM : r;
    }
    for (int i = 0; i < 2 && r == 0; i++) {
        with_state(rig,
                   i == 0 ? "\"inputResponses\":{\"a\":" ACCEPT "}"
                          : "\"inputResponses\":{\"b\":" ACCEPT ",\"a\":{}}",
                   text, sizeof(text));
        assert_true(text[0] != '\0');
        r = rig_receive_text(rig, text);
        r = r == 0 ? mcp_server_error(rig->server) : r;
    }
    if (r == 0) {
        mcp_server_list_changed(rig->server, MCP_LIST_TOOLS);
        mcp_server_resource_updated(rig->server, SPAN("test://a"));
        mcp_server_shutdown(rig->server);
        r = mcp_server_error(rig->server);
    }
    return r;
}

static int conversation_scenario(void *context)
{
    static Rig rig;
    int r;

    (void)context;
    rig_init(&rig);
    r = converse(&rig);
    if (r == 0) {
        /* Everything was said: 21 messages. */
        *(size_t *)context = rig.n_sent;
    }
    rig_deinit(&rig);
    return r;
}

static void want_of_memory_ends_the_session_and_leaks_nothing(void **state)
{
    size_t n_sent = 0;

    (void)state;
    test_oom_sweep(conversation_scenario, &n_sent);
    assert_int_equal(n_sent, 21);
}

static int batch_scenario(void *context)
{
    static Rig rig;
    int r;

    (void)context;
    rig_init(&rig);
    r = rig_open(&rig);
    if (r == 0) {
        r = rig_receive_text(&rig,
                             "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
                             "\"protocolVersion\":\"2025-03-26\"}}");
    }
    if (r == 0) {
        r = rig_receive_text(&rig,
                             "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
                             "\"name\":\"big\",\"arguments\":{\"n\":2000}}},7,"
                             "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{"
                             "\"name\":\"hold\",\"arguments\":{\"tag\":\"h\"}}}]");
    }
    if (r == 0) {
        r = rig.is_out_of_memory ? -ENOMEM : mcp_server_error(rig.server);
    }
    if (r == 0) {
        rig_finish(&rig, "h");
        r = mcp_server_error(rig.server);
        assert_true(r != 0 || rig.n_sent == 2);
    }
    rig_deinit(&rig);
    return r;
}

static void want_of_memory_in_a_batch_leaks_nothing(void **state)
{
    (void)state;
    test_oom_sweep(batch_scenario, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steady_calls_allocate_nothing),
        cmocka_unit_test(calls_that_end_later_allocate_nothing_either),
        cmocka_unit_test(want_of_memory_ends_the_session_and_leaks_nothing),
        cmocka_unit_test(want_of_memory_in_a_batch_leaks_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Steady traffic allocates nothing, silent streams cost little, and want of memory harms only who
 * asks. */
#include "dialect/mcp/http.h"

#include "unit/dialect/mcp/http_rig.h"

#include "support/cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/alloc_testing.h"
#include "support/oom_sweep.h"

#define BOTH "application/json, text/event-stream"
#define CALL(id, name)                                                                             \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" name    \
    "\",\"_meta\":{\"progressToken\":9}}}"
#define LISTEN "\"notifications\":{\"toolsListChanged\":true},"

/* Answers are not the engine's to keep. */
static void forget_answers(HttpRig *rig, size_t from)
{
    for (size_t i = from; i < rig->n_xs; i++) {
        assert_true(rig->xs[i]->is_complete);
        bytes_deinit(&rig->xs[i]->body);
        free(rig->xs[i]);
    }
    rig->n_xs = from;
}

static void steady_requests_allocate_nothing(void **state)
{
    HttpRig *rig = malloc(sizeof(*rig));
    char id[64];
    size_t n_wire = 0;

    (void)state;
    http_rig_init(rig);
    assert_int_equal(http_rig_open(rig), 0);
    http_rig_initialize(rig, "2025-11-25", id);
    for (size_t i = 0; i < 200; i++) {
        size_t before;

        if (i == 10) {
            alloc_testing_reset(ALLOC_TESTING_NEVER);
        }
        forget_answers(rig, 0);
        before = alloc_testing()->n_calls;
        (void)http_rig_modern(rig, BOTH, "tools/call", "echo", "");
        (void)http_rig_post(rig, id, CALL("1", "echo"));
        (void)http_rig_post(rig, "MCP-Protocol-Version: 2026-07-28\n",
                            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}");
        assert_int_equal(rig->xs[0]->status, 200);
        assert_int_equal(rig->xs[1]->status, 200);
        assert_int_equal(rig->xs[2]->status, 202);
        /* The wire of this test keeps what it is given, in one block each. */
        n_wire = 2;
        assert_true(i < 10 || alloc_testing()->n_calls - before <= n_wire);
    }
    http_rig_close(rig);
    free(rig);
}

static void a_silent_subscription_costs_little(void **state)
{
    HttpRig *rig = malloc(sizeof(*rig));
    long n = 1000;
    long before;
    long each;

    (void)state;
    http_rig_init(rig);
    assert_int_equal(http_rig_open(rig), 0);
    before = alloc_testing()->n_bytes;
    for (long i = 0; i < n; i++) {
        HttpX *x = http_rig_modern(rig, BOTH, "subscriptions/listen", "", LISTEN);

        assert_true(x->is_streaming);
        bytes_deinit(&x->body);
        bytes_init(&x->body, 65536);
    }
    each = (alloc_testing()->n_bytes - before) / n;
    if (each > 4 * 1024) {
        fail_msg("%ld bytes each", each);
    }
    assert_int_equal(mcp_http_n_streams(rig->http), n);
    http_rig_close(rig);
    free(rig);
}

static void an_idle_session_costs_little(void **state)
{
    static char body[200 * 1024];
    HttpRig *rig = malloc(sizeof(*rig));
    long n = 100;
    long before;
    long each;

    (void)state;
    http_rig_init(rig);
    assert_int_equal(http_rig_open(rig), 0);
    (void)snprintf(body, sizeof(body),
                   "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
                   "\"echo\",\"arguments\":{\"a\":\"%0*d\"}}}",
                   (int)sizeof(body) - 200, 0);
    before = alloc_testing()->n_bytes;
    for (long i = 0; i < n; i++) {
        char id[64];

        http_rig_initialize(rig, "2025-11-25", id);
        assert_int_equal(http_rig_post(rig, id, body)->status, 200);
        (void)http_rig_send(rig, "GET", "/mcp", id, "");
    }
    http_rig_advance(rig, 15000);
    for (size_t i = 0; i < rig->n_xs; i++) {
        bytes_deinit(&rig->xs[i]->body);
        bytes_init(&rig->xs[i]->body, 65536);
    }
    each = (alloc_testing()->n_bytes - before) / n;
    if (each > 10 * 1024) {
        fail_msg("%ld bytes each", each);
    }
    assert_int_equal(mcp_http_n_sessions(rig->http), n);
    http_rig_close(rig);
    free(rig);
}

/* What is read later does not fail any more: who has been answered has been answered. */
static bool is_over(const HttpX *x)
{
    return x->is_complete || x->is_aborted;
}

/* Whole conversations, of which any part may fail. A request that finds no memory is refused or
 * loses its connection; nothing leaks, and nobody waits for ever. */
static int converse(void *context)
{
    HttpRig *rig = malloc(sizeof(*rig));
    char id[64] = "";
    const char *name;
    HttpX *x;
    HttpX *old;
    int r;

    (void)context;
    http_rig_init(rig);
    r = http_rig_open(rig);
    if (r == 0) {
        x = http_rig_modern(rig, BOTH, "tools/call", "echo", "");
        assert_true(is_over(x));
        x = http_rig_modern(rig, BOTH, "tools/call", "steps", "");
        http_rig_advance(rig, 0);
        assert_true(is_over(x));
        (void)http_rig_modern(rig, BOTH, "subscriptions/listen", "", LISTEN);
        (void)http_rig_modern(rig, BOTH, "tools/call", "hold", "");
        mcp_http_list_changed(rig->http, MCP_LIST_TOOLS);
        x = http_rig_post(rig, "",
                          "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
                          "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{"
                          "\"elicitation\":{}}}}");
        assert_true(is_over(x));
        name = http_rig_field(x, "Mcp-Session-Id");
        (void)snprintf(id, sizeof(id), "Mcp-Session-Id: %s\n", name == NULL ? "none" : name);
        (void)http_rig_post(rig, id, CALL("1", "form"));
        (void)http_rig_post(rig, id,
                            "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"action\":"
                            "\"decline\"}}");
        (void)http_rig_post(rig, id, CALL("2", "detach"));
        (void)http_rig_send(rig, "GET", "/mcp", id, "");
        mcp_http_list_changed(rig->http, MCP_LIST_PROMPTS);
        while (rig->n_held > 0) {
            http_rig_report(rig, "x", 1);
            http_rig_finish(rig, "x");
        }
        http_rig_advance(rig, 15000);
        old = http_rig_send(rig, "GET", "/sse", "", "");
        x = http_rig_send(rig, "POST", "/messages?session=a0a0a0a0a0a0a0a0a0a0a0a0a0a0a001",
                          "Content-Type: application/json\n",
                          "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"ping\"}");
        assert_true(is_over(x));
        assert_true(old->status != 0 || old->is_aborted);
        (void)http_rig_send(rig, "DELETE", "/mcp", id, "");
        r = alloc_testing()->n_failed > 0 ? -ENOMEM : 0;
    }
    http_rig_close(rig);
    free(rig);
    return r;
}

static void want_of_memory_harms_only_who_asks(void **state)
{
    (void)state;
    test_oom_sweep(converse, NULL);
}

/* Memory fails once, and is there again: the engine serves on, and no response is left open. */
static void the_engine_survives_want_of_memory(void **state)
{
    (void)state;
    for (size_t at = 0; at < 40; at++) {
        HttpRig *rig = malloc(sizeof(*rig));
        HttpX *held;
        HttpX *x;

        http_rig_init(rig);
        assert_int_equal(http_rig_open(rig), 0);
        held = http_rig_modern(rig, BOTH, "tools/call", "hold", "");
        alloc_testing_reset(at);
        http_rig_finish_big(rig, "x");
        alloc_testing_reset(ALLOC_TESTING_NEVER);
        http_rig_advance(rig, 0);
        assert_true(is_over(held));
        alloc_testing_reset(at);
        (void)http_rig_modern(rig, BOTH, "tools/call", "big", "");
        alloc_testing_reset(ALLOC_TESTING_NEVER);
        http_rig_advance(rig, 0);
        assert_true(is_over(rig->xs[1]));
        x = http_rig_modern(rig, BOTH, "tools/call", "echo", "");
        assert_true(x->status == 200 && x->is_complete);
        assert_int_equal(mcp_http_n_calls(rig->http), 0);
        http_rig_close(rig);
        free(rig);
    }
}

/* A session that cannot go on ends, and is not found again. */
static void a_session_that_found_no_memory_is_over(void **state)
{
    (void)state;
    for (size_t at = 0; at < 12; at++) {
        HttpRig *rig = malloc(sizeof(*rig));
        char id[64];
        HttpX *x;
        HttpX *ping;

        http_rig_init(rig);
        assert_int_equal(http_rig_open(rig), 0);
        http_rig_initialize(rig, "2025-11-25", id);
        x = http_rig_post(rig, id, CALL("1", "hold"));
        alloc_testing_reset(at);
        http_rig_ask(rig, "x");
        alloc_testing_reset(ALLOC_TESTING_NEVER);
        http_rig_advance(rig, 0);
        ping = http_rig_post(rig, id, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}");
        assert_true(ping->status == 200 || ping->status == 404);
        assert_int_equal(ping->status == 404, mcp_http_n_sessions(rig->http) == 0);
        assert_true(is_over(x) || (ping->status == 200 && mcp_http_n_calls(rig->http) == 1));
        http_rig_close(rig);
        free(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steady_requests_allocate_nothing),
        cmocka_unit_test(a_silent_subscription_costs_little),
        cmocka_unit_test(an_idle_session_costs_little),
        cmocka_unit_test(want_of_memory_harms_only_who_asks),
        cmocka_unit_test(the_engine_survives_want_of_memory),
        cmocka_unit_test(a_session_that_found_no_memory_is_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

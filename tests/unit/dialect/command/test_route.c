/* Where paths lead, with which methods. */
#include "dialect/command/request.h"

#include "base/compiler.h"
#include "support/cmocka.h"

typedef struct RouteCase {
    const char *path;
    CommandVerb get;
    CommandVerb post;
    CommandVerb del;
    const char *allow;
    const char *rest; /* NULL: none */
} RouteCase;

#define G "GET, OPTIONS"
#define P "POST, OPTIONS"
#define N COMMAND_NONE

static const RouteCase cases[] = {
    {"/enqueue", N, COMMAND_ENQUEUE, N, P, NULL},
    {"/rpc", N, COMMAND_RPC, N, P, NULL},
    {"/rpc/get_walls", N, COMMAND_RPC, N, P, "get_walls"},
    {"/rpc/doc/x", N, COMMAND_RPC, N, P, "doc/x"},
    {"/job/job-1", COMMAND_JOB, N, COMMAND_CANCEL, "GET, DELETE, OPTIONS", "job-1"},
    {"/job/job-1/cancel", N, COMMAND_CANCEL, N, P, "job-1"},
    {"/job/job-1/retry", N, COMMAND_RETRY, N, P, "job-1"},
    {"/job/%6aob", COMMAND_JOB, N, COMMAND_CANCEL, "GET, DELETE, OPTIONS", "%6aob"},
    {"/get_result", COMMAND_RESULT, N, N, G, NULL},
    {"/jobs", COMMAND_JOBS, N, COMMAND_PURGE, "GET, DELETE, OPTIONS", NULL},
    {"/pending_request", COMMAND_PENDING, N, N, G, NULL},
    {"/post_result", N, COMMAND_POST_RESULT, N, P, NULL},
    {"/heartbeat", COMMAND_HEARTBEAT, COMMAND_HEARTBEAT, N, "GET, POST, OPTIONS", NULL},
    {"/health", COMMAND_HEALTH, N, N, G, NULL},
    {"/docs/openrpc.json", COMMAND_OPENRPC, N, N, G, NULL},
    {"/debug/capabilities", COMMAND_CAPABILITIES, N, N, G, NULL},
    {"/", N, N, N, "", NULL},
    {"", N, N, N, "", NULL},
    {"/job", N, N, N, "", NULL},
    {"/job/", N, N, N, "", NULL},
    {"/rpc/", N, N, N, "", NULL},
    {"/enqueue/", N, N, N, "", NULL},
    {"/Enqueue", N, N, N, "", NULL},
    {"/jobsx", N, N, N, "", NULL},
    {"/mcp", N, N, N, "", NULL},
    {"/healthz", N, N, N, "", NULL},
};

static void check(const RouteCase *c, Http1Method method, CommandVerb verb)
{
    CommandRoute route = command_route(method, span_from_str(c->path));

    if (route.verb != verb || !span_equals(route.allow, span_from_str(c->allow))) {
        fail_msg("%s by %d: verb %d, allow %.*s", c->path, (int)method, (int)route.verb,
                 (int)route.allow.n, route.allow.p);
    }
    if (verb != COMMAND_NONE &&
        !span_equals(route.rest, c->rest == NULL ? SPAN_NULL : span_from_str(c->rest))) {
        fail_msg("%s: rest %.*s", c->path, (int)route.rest.n, route.rest.p);
    }
}

static void every_path_has_its_methods(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        check(&cases[i], HTTP1_METHOD_GET, cases[i].get);
        check(&cases[i], HTTP1_METHOD_POST, cases[i].post);
        check(&cases[i], HTTP1_METHOD_DELETE, cases[i].del);
        check(&cases[i], HTTP1_METHOD_PUT, COMMAND_NONE);
        check(&cases[i], HTTP1_METHOD_OTHER, COMMAND_NONE);
    }
}

/* "/job/cancel" is the job "cancel", not the cancelling of a job without a name. */
static void a_suffix_needs_something_before_it(void **state)
{
    CommandRoute route = command_route(HTTP1_METHOD_GET, SPAN("/job/cancel"));

    (void)state;
    assert_int_equal(route.verb, COMMAND_JOB);
    assert_true(span_equals(route.rest, SPAN("cancel")));
    route = command_route(HTTP1_METHOD_POST, SPAN("/job//cancel"));
    assert_int_equal(route.verb, COMMAND_NONE);
}

static void what_has_an_effect_is_known(void **state)
{
    (void)state;
    for (int verb = COMMAND_NONE; verb < COMMAND_N_VERBS; verb++) {
        bool reads = verb == COMMAND_NONE || verb == COMMAND_JOB || verb == COMMAND_RESULT ||
                     verb == COMMAND_JOBS || verb == COMMAND_HEALTH || verb == COMMAND_OPENRPC ||
                     verb == COMMAND_CAPABILITIES;

        assert_int_equal(command_has_effect((CommandVerb)verb), !reads);
        assert_true(command_has_effect((CommandVerb)verb) ||
                    !command_needs_json((CommandVerb)verb));
    }
}

/* Something must stand behind them. */
static void a_stub_leads_nowhere(void **state)
{
    (void)state;
    assert_true(command_is_stub(SPAN("/job/")));
    assert_true(command_is_stub(SPAN("/rpc/")));
    assert_false(command_is_stub(SPAN("/rpc")));
    assert_false(command_is_stub(SPAN("/rpc/m")));
    assert_int_equal(command_route(HTTP1_METHOD_POST, SPAN("/rpc/")).allow.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stub_leads_nowhere),
        cmocka_unit_test(every_path_has_its_methods),
        cmocka_unit_test(a_suffix_needs_something_before_it),
        cmocka_unit_test(what_has_an_effect_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

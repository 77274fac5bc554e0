/* What bodies say, in the spellings of the real clients. */
#include "dialect/command/request.h"

#include "base/compiler.h"
#include "base/limits.h"
#include "command_rig.h"
#include "support/oom_sweep.h"

static int setup(void **state)
{
    static Rig rig;

    rig_init(&rig);
    *state = &rig;
    return 0;
}

static int teardown(void **state)
{
    rig_deinit(*state);
    return 0;
}

static void a_job_says_what_it_wants(void **state)
{
    Rig *rig = *state;
    const CommandRequest *request = &rig->request;

    assert_int_equal(
        rig_read(rig, "POST /enqueue",
                 "{\"method\":\"get_\\u0077alls\",\"params\":{\"n\":12345678901234567890.50},"
                 "\"id\":7,\"priority\":5,\"timeoutSec\":1.5,\"delayMs\":10,\"maxAttempts\":4,"
                 "\"waitMs\":20,\"idempotencyKey\":\"k\",\"idempotent\":true}"),
        0);
    assert_int_equal(request->verb, COMMAND_ENQUEUE);
    assert_span(request->method, "get_walls");
    assert_span(json_span(request->params), "{\"n\":12345678901234567890.50}");
    assert_span(request->rpc_id, "7");
    assert_int_equal(request->priority, 5);
    assert_int_equal(request->timeout_ms, 1500);
    assert_int_equal(request->delay_ms, 10);
    assert_int_equal(request->max_attempts, 4);
    assert_int_equal(request->wait_ms, 20);
    assert_span(request->idempotency_key, "k");
    assert_true(request->is_idempotent);
    assert_false(request->is_notification);
}

static void the_other_spellings_are_read(void **state)
{
    Rig *rig = *state;
    const CommandRequest *request = &rig->request;

    assert_int_equal(
        rig_read_with(rig, "POST /enqueue", "Content-Type: Application/JSON ; charset=utf-8\r\n",
                      "{\"method\":\"m\",\"params\":null,\"priority\":\"-3\",\"timeout_sec\":2,"
                      "\"delay_ms\":1,\"max_attempts\":\"2\",\"wait_ms\":1e1,"
                      "\"idempotency_key\":\"k2\",\"id\":null}"),
        0);
    assert_null(request->params.node);
    assert_int_equal(request->priority, -3);
    assert_int_equal(request->timeout_ms, 2000);
    assert_int_equal(request->delay_ms, 1);
    assert_int_equal(request->max_attempts, 2);
    assert_int_equal(request->wait_ms, 10);
    assert_span(request->idempotency_key, "k2");
    assert_int_equal(request->rpc_id.n, 0);
    assert_int_equal(rig_read(rig, "POST /enqueue", "{\"method\":\"m\",\"timeoutMs\":250}"), 0);
    assert_int_equal(request->timeout_ms, 250);
    assert_int_equal(rig_read(rig, "POST /enqueue", "{\"method\":\"m\",\"timeout_ms\":251}"), 0);
    assert_int_equal(request->timeout_ms, 251);
    /* The query's waitMs is meant as well. */
    assert_int_equal(rig_read(rig, "POST /enqueue?waitMs=9", "{\"method\":\"m\"}"), 0);
    assert_int_equal(request->wait_ms, 9);
    assert_int_equal(
        rig_read(rig, "POST /enqueue?wait_ms=8&lease_ms=7&older_ms=6", "{\"method\":\"m\"}"), 0);
    assert_int_equal(request->wait_ms, 8);
    assert_int_equal(request->lease_ms, 7);
    assert_int_equal(request->older_ms, 6);
}

static void ids_stay_as_they_are_written(void **state)
{
    static const char *const ids[] = {"1", "1.50e3", "123456789012345678901234567890",
                                      "\"a\\u0000\"", "-0"};
    Rig *rig = *state;
    char body[128];

    for (size_t i = 0; i < TW_ARRAY_SIZE(ids); i++) {
        (void)snprintf(body, sizeof(body), "{\"jsonrpc\":\"2.0\",\"id\": %s ,\"method\":\"m\"}",
                       ids[i]);
        assert_int_equal(rig_read(rig, "POST /rpc", body), 0);
        assert_span(rig->request.rpc_id, ids[i]);
        assert_false(rig->request.is_notification);
    }
    assert_int_equal(rig_read(rig, "POST /rpc", "{\"jsonrpc\":\"2.0\",\"method\":\"m\"}"), 0);
    assert_true(rig->request.is_notification);
    /* Without the version nobody has promised what a missing id means. */
    assert_int_equal(rig_read(rig, "POST /rpc", "{\"method\":\"m\"}"), 0);
    assert_false(rig->request.is_notification);
    assert_int_equal(
        rig_read(rig, "POST /rpc", "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"id\":null}"), 0);
    assert_false(rig->request.is_notification);
}

static void a_path_may_name_the_method(void **state)
{
    Rig *rig = *state;
    const CommandRequest *request = &rig->request;

    assert_int_equal(rig_read(rig, "POST /rpc/get%5Fwalls", "{\"level\":3,\"id\":9}"), 0);
    assert_span(request->method, "get_walls");
    assert_span(json_span(request->params), "{\"level\":3,\"id\":9}");
    assert_int_equal(request->rpc_id.n, 0);
    assert_int_equal(rig_read(rig, "POST /rpc/m", ""), 0);
    assert_span(request->method, "m");
    assert_null(request->params.node);
    assert_int_equal(
        rig_read(rig, "POST /rpc/m", "{\"jsonrpc\":\"2.0\",\"id\":4,\"params\":{\"a\":1}}"), 0);
    assert_span(request->method, "m");
    assert_span(request->rpc_id, "4");
    assert_span(json_span(request->params), "{\"a\":1}");
    assert_int_equal(rig_read(rig, "POST /rpc/m", "{\"jsonrpc\":\"2.0\",\"method\":\"\\u006d\"}"),
                     0);
    assert_span(request->method, "m");
}

/* A body cannot make the path say something else than whoever looks at paths sees. */
static void the_path_wins(void **state)
{
    Rig *rig = *state;
    const CommandRequest *request = &rig->request;

    assert_refused(rig, "POST /rpc/m", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"other\"}", 400,
                   "INVALID_JSONRPC", "the path names 'm', the body 'other'");
    assert_span(rig->refusal.rpc_id, "1");
    assert_refused(rig, "POST /rpc/m", "{\"method\":\"other\",\"params\":{}}", 400,
                   "INVALID_JSONRPC", "the path names 'm', the body 'other'");
    assert_int_equal(rig_read(rig, "POST /rpc/m", "{\"method\":\"other\",\"id\":1}"), 0);
    assert_span(request->method, "m");
    assert_span(json_span(request->params), "{\"method\":\"other\",\"id\":1}");
    assert_int_equal(request->rpc_id.n, 0);
}

static void control_characters_are_no_name(void **state)
{
    Rig *rig = *state;

    assert_refused(rig, "POST /enqueue", "{\"method\":\"echo\\u0000x\"}", 400, "INVALID_PARAMS",
                   "method: it has a control character at byte 4");
    assert_refused(rig, "POST /rpc", "{\"id\":1,\"method\":\"\\u007f\"}", 400, "INVALID_PARAMS",
                   "method: it has a control character at byte 0");
    assert_refused(rig, "POST /rpc/a%0Ab", "{}", 400, "INVALID_PARAMS",
                   "the path: it has a control character at byte 1");
}

typedef struct BadCase {
    const char *line;
    const char *body;
    const char *code;
    const char *words;
} BadCase;

static void what_is_wrong_is_named(void **state)
{
    static const BadCase cases[] = {
        {"POST /enqueue", "", "INVALID_JSON", "at byte 0"},
        {"POST /enqueue", "{\"method\":}", "INVALID_JSON", "at byte 10"},
        {"POST /enqueue", "{\"method\":\"m\"} x", "INVALID_JSON", "at byte 15"},
        {"POST /rpc", "[{\"method\":\"m\"}]", "INVALID_JSONRPC", "got array"},
        {"POST /rpc", "null", "INVALID_JSONRPC", "got null"},
        {"POST /enqueue", "{}", "E_NO_METHOD", "method: it is missing"},
        {"POST /enqueue", "{\"method\":\"\"}", "E_NO_METHOD", "method: it is empty"},
        {"POST /enqueue", "{\"method\":7}", "INVALID_JSONRPC", "method: expected a string"},
        {"POST /rpc/m", "{\"jsonrpc\":\"2.0\",\"method\":null}", "INVALID_JSONRPC",
         "method: expected a string"},
        {"POST /rpc", "{\"jsonrpc\":\"1.0\",\"method\":\"m\"}", "INVALID_JSONRPC", "jsonrpc"},
        {"POST /rpc", "{\"jsonrpc\":2,\"method\":\"m\"}", "INVALID_JSONRPC", "jsonrpc"},
        {"POST /rpc", "{\"id\":{},\"method\":\"m\"}", "INVALID_JSONRPC", "id: expected"},
        {"POST /rpc", "{\"id\":true,\"method\":\"m\"}", "INVALID_JSONRPC", "id: expected"},
        {"POST /enqueue", "{\"method\":\"m\",\"params\":[1]}", "INVALID_PARAMS",
         "params: expected an object, got array"},
        {"POST /enqueue", "{\"method\":\"m\",\"priority\":\"high\"}", "INVALID_PARAMS",
         "priority: expected a whole number"},
        {"POST /enqueue", "{\"method\":\"m\",\"priority\":1.5}", "INVALID_PARAMS", "priority"},
        {"POST /enqueue", "{\"method\":\"m\",\"priority\":1000001}", "INVALID_PARAMS",
         "got 1000001"},
        {"POST /enqueue", "{\"method\":\"m\",\"timeoutSec\":-1}", "INVALID_PARAMS", "timeoutSec"},
        {"POST /enqueue", "{\"method\":\"m\",\"timeout_sec\":\"x\"}", "INVALID_PARAMS",
         "timeout_sec"},
        {"POST /enqueue", "{\"method\":\"m\",\"timeoutSec\":1e300}", "INVALID_PARAMS",
         "timeoutSec"},
        {"POST /enqueue", "{\"method\":\"m\",\"timeoutMs\":-1}", "INVALID_PARAMS", "timeoutMs"},
        {"POST /enqueue", "{\"method\":\"m\",\"delay_ms\":-1}", "INVALID_PARAMS", "delay_ms"},
        {"POST /enqueue", "{\"method\":\"m\",\"maxAttempts\":0}", "INVALID_PARAMS", "maxAttempts"},
        {"POST /enqueue", "{\"method\":\"m\",\"waitMs\":[]}", "INVALID_PARAMS", "waitMs"},
        {"POST /enqueue", "{\"method\":\"m\",\"idempotent\":1}", "INVALID_PARAMS",
         "idempotent: expected true or false"},
        {"POST /enqueue", "{\"method\":\"m\",\"idempotencyKey\":5}", "INVALID_PARAMS",
         "idempotencyKey: expected a string, got number"},
        {"POST /post_result", "{\"result\":1}", "INVALID_PARAMS", "id: expected"},
        {"POST /post_result", "{\"id\":1,\"result\":1}", "INVALID_PARAMS", "id: expected"},
        {"POST /post_result", "{\"id\":\"job-1\",\"result\":1}", "INVALID_PARAMS", "id: expected"},
        {"POST /post_result", "{\"id\":\"job-1.x\",\"result\":1}", "E_BAD_ID", "id:"},
        {"POST /post_result", "{\"jobId\":\".1\",\"result\":1}", "E_BAD_ID", "jobId:"},
        {"POST /post_result", "{\"id\":\"job-1.2\"}", "INVALID_JSONRPC", "result:"},
        {"POST /post_result", "{\"id\":\"job-1.2\",\"error\":null}", "INVALID_JSONRPC", "result:"},
        {"POST /heartbeat", "{\"jobId\":7}", "INVALID_PARAMS", "rpcId: expected"},
        {"POST /heartbeat", "{\"id\":\"job-1.2\",\"leaseMs\":0}", "INVALID_PARAMS", "leaseMs"},
        {"POST /heartbeat", "{\"id\":\"job-1\",\"fence\":-1}", "INVALID_PARAMS", "fence"},
    };
    Rig *rig = *state;

    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        assert_refused(rig, cases[i].line, cases[i].body, 400, cases[i].code, cases[i].words);
    }
}

/* A client that is told why can be told for which request. */
static void a_refusal_knows_the_id(void **state)
{
    Rig *rig = *state;

    assert_refused(rig, "POST /rpc", "{\"jsonrpc\":\"1\",\"id\":\"x\",\"method\":\"m\"}", 400,
                   "INVALID_JSONRPC", "jsonrpc");
    assert_span(rig->refusal.rpc_id, "\"x\"");
    assert_refused(rig, "POST /rpc", "{\"id\":5}", 400, "E_NO_METHOD", "method");
    assert_span(rig->refusal.rpc_id, "5");
    /* Also where the body cannot be read. */
    assert_refused(rig, "POST /rpc", "{\"method\":\"m\",\"params\":{\"id\":5,},\"id\":6}", 400,
                   "INVALID_JSON", "at byte");
    assert_span(rig->refusal.rpc_id, "6");
    assert_refused(rig, "POST /rpc", "{\"method\":\"m\",\"params\":{\"id\":5,}}", 400,
                   "INVALID_JSON", "at byte");
    assert_span(rig->refusal.rpc_id, "");
}

static void names_have_a_length(void **state)
{
    Rig *rig = *state;
    static char body[3 * LIMIT_QUEUE_NAME_BYTES];
    int n = (int)LIMIT_QUEUE_NAME_BYTES;

    (void)snprintf(body, sizeof(body), "{\"method\":\"%0*d\"}", n, 0);
    assert_int_equal(rig_read(rig, "POST /enqueue", body), 0);
    (void)snprintf(body, sizeof(body), "{\"method\":\"%0*d\"}", n + 1, 0);
    assert_refused(rig, "POST /enqueue", body, 400, "E_NO_METHOD", "method");
    (void)snprintf(body, sizeof(body), "{\"method\":\"m\",\"idempotencyKey\":\"%0*d\"}", n + 1, 0);
    assert_refused(rig, "POST /enqueue", body, 400, "INVALID_PARAMS", "idempotencyKey");
    (void)snprintf(body, sizeof(body), "{\"method\":\"m\",\"id\":1%0*d}", n, 0);
    assert_refused(rig, "POST /enqueue", body, 400, "INVALID_JSONRPC", "id: too long");
}

/* No form can send it: a page of another site would have to ask first. */
static void only_json_is_taken(void **state)
{
    static const char *const fields[] = {
        "",
        "Content-Type: text/plain\r\n",
        "Content-Type: application/json-patch+json\r\n",
        "Content-Type: application/x-www-form-urlencoded\r\n",
        "Content-Type: application/json\r\nContent-Type: text/plain\r\n",
        "Content-Type: text/plain; application/json\r\n",
    };
    static const char *const lines[] = {"POST /enqueue", "POST /rpc", "POST /rpc/m",
                                        "POST /post_result", "POST /heartbeat"};
    Rig *rig = *state;

    for (size_t i = 0; i < TW_ARRAY_SIZE(fields); i++) {
        for (size_t k = 0; k < TW_ARRAY_SIZE(lines); k++) {
            assert_int_equal(rig_read_with(rig, lines[k], fields[i], "{\"method\":\"m\"}"),
                             COMMAND_E_REFUSED);
            assert_int_equal(rig->refusal.status, 415);
        }
    }
}

static void an_answer_is_bound_to_its_lease(void **state)
{
    static const char *const bodies[] = {
        "{\"id\":\"job-1.7\",\"result\":{\"ok\":true}}",
        "{\"id\":1,\"jobId\":\"job-1.7\",\"result\":{\"ok\":true}}",
        "{\"jobId\":\"job-1\",\"id\":\"job-1.7\",\"result\":{\"ok\":true}}",
        "{\"job_id\":\"job-1\",\"fence\":7,\"result\":{\"ok\":true}}",
        "{\"id\":\"job-1.7\",\"error\":null,\"result\":{\"ok\":true}}",
    };
    Rig *rig = *state;

    for (size_t i = 0; i < TW_ARRAY_SIZE(bodies); i++) {
        assert_int_equal(rig_read(rig, "POST /post_result", bodies[i]), 0);
        assert_span(rig->request.job, "job-1");
        assert_true(rig->request.has_fence);
        assert_int_equal(rig->request.fence, 7);
        assert_false(rig->request.is_error);
        assert_span(json_span(rig->request.result), "{\"ok\":true}");
    }
    assert_int_equal(
        rig_read(rig, "POST /post_result",
                 "{\"jsonrpc\":\"2.0\",\"id\":\"job-1.7\",\"error\":{\"code\":-32601}}"),
        0);
    assert_true(rig->request.is_error);
    assert_span(json_span(rig->request.result),
                "{\"jsonrpc\":\"2.0\",\"id\":\"job-1.7\",\"error\":{\"code\":-32601}}");
    assert_int_equal(rig_read(rig, "POST /heartbeat", "{\"id\":\"job-2.9\",\"lease_ms\":1000}"), 0);
    assert_span(rig->request.job, "job-2");
    assert_int_equal(rig->request.fence, 9);
    assert_int_equal(rig->request.lease_ms, 1000);
    assert_int_equal(rig_read_with(rig, "GET /heartbeat?rpcId=job-2.9&leaseMs=5", "", ""), 0);
    assert_span(rig->request.job, "job-2");
    assert_int_equal(rig->request.fence, 9);
    assert_int_equal(rig_read_with(rig, "POST /heartbeat?jobId=job-3", "", ""), 0);
    assert_span(rig->request.job, "job-3");
    assert_false(rig->request.has_fence);
}

static int read_job(void *context)
{
    Rig rig;
    int r;

    (void)context;
    rig_init(&rig);
    r = rig_read(&rig, "POST /rpc/%61",
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\\u0061\",\"params\":{\"a\":[1,2,3]},"
                 "\"idempotencyKey\":\"\\u0062\"}");
    rig_deinit(&rig);
    return r;
}

static int refuse_job(void *context)
{
    Rig rig;
    int r;

    (void)context;
    rig_init(&rig);
    r = rig_read(&rig, "POST /enqueue", "{\"method\":\"m\",\"priority\":[]}");
    rig_deinit(&rig);
    return r == COMMAND_E_REFUSED ? 0 : r;
}

static void memory_may_end(void **state)
{
    (void)state;
    test_oom_sweep(read_job, NULL);
    test_oom_sweep(refuse_job, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_job_says_what_it_wants, setup, teardown),
        cmocka_unit_test_setup_teardown(the_other_spellings_are_read, setup, teardown),
        cmocka_unit_test_setup_teardown(ids_stay_as_they_are_written, setup, teardown),
        cmocka_unit_test_setup_teardown(a_path_may_name_the_method, setup, teardown),
        cmocka_unit_test_setup_teardown(the_path_wins, setup, teardown),
        cmocka_unit_test_setup_teardown(control_characters_are_no_name, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_wrong_is_named, setup, teardown),
        cmocka_unit_test_setup_teardown(a_refusal_knows_the_id, setup, teardown),
        cmocka_unit_test_setup_teardown(names_have_a_length, setup, teardown),
        cmocka_unit_test_setup_teardown(only_json_is_taken, setup, teardown),
        cmocka_unit_test_setup_teardown(an_answer_is_bound_to_its_lease, setup, teardown),
        cmocka_unit_test(memory_may_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

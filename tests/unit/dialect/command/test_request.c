/* What the path, the query and the head of a request say. */
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

static void a_job_is_named_by_the_path(void **state)
{
    Rig *rig = *state;

    assert_int_equal(rig_read(rig, "GET /job/job-12ab?waitMs=2500", ""), 0);
    assert_int_equal(rig->request.verb, COMMAND_JOB);
    assert_span(rig->request.job, "job-12ab");
    assert_int_equal(rig->request.wait_ms, 2500);
    assert_false(rig->request.has_fence);
    assert_int_equal(rig->request.etags.n, 0);

    assert_int_equal(rig_read(rig, "DELETE /job/%6Aob-1", ""), 0);
    assert_int_equal(rig->request.verb, COMMAND_CANCEL);
    assert_span(rig->request.job, "job-1");

    assert_int_equal(rig_read(rig, "POST /job/job-1.7/retry", ""), 0);
    assert_int_equal(rig->request.verb, COMMAND_RETRY);
    assert_span(rig->request.job, "job-1");
    assert_true(rig->request.has_fence);
    assert_int_equal(rig->request.fence, 7);
}

static void a_result_is_asked_for_by_a_parameter(void **state)
{
    Rig *rig = *state;

    assert_int_equal(rig_read(rig, "GET /get_result?jobId=job-1", ""), 0);
    assert_span(rig->request.job, "job-1");
    assert_int_equal(rig_read(rig, "GET /get_result?job_id=job%2D2&force=1&timeout=9", ""), 0);
    assert_span(rig->request.job, "job-2");
    assert_refused(rig, "GET /get_result", "", 400, "INVALID_PARAMS", "jobId: it is missing");
    assert_refused(rig, "GET /get_result?jobId=", "", 400, "E_BAD_ID", "jobId");
    assert_refused(rig, "GET /get_result?jobId=a.b", "", 400, "E_BAD_ID", "jobId");
}

static void lists_have_a_page(void **state)
{
    Rig *rig = *state;

    assert_int_equal(rig_read(rig, "GET /jobs?state=enqueued&limit=7&before=job-9", ""), 0);
    assert_true(rig->request.has_state);
    assert_span(rig->request.state, "enqueued");
    assert_int_equal(rig->request.limit, 7);
    assert_span(rig->request.before, "job-9");
    assert_int_equal(rig_read(rig, "GET /jobs", ""), 0);
    assert_false(rig->request.has_state);
    assert_int_equal(rig->request.limit, 0);
    assert_int_equal(rig_read(rig, "DELETE /jobs?state=FAILED,DEAD&olderMs=5000", ""), 0);
    assert_int_equal(rig->request.verb, COMMAND_PURGE);
    assert_span(rig->request.state, "FAILED,DEAD");
    assert_int_equal(rig->request.older_ms, 5000);
    assert_refused(rig, "DELETE /jobs?olderMs=old", "", 400, "INVALID_PARAMS", "olderMs");
    assert_refused(rig, "GET /jobs?limit=1001", "", 400, "INVALID_PARAMS", "limit");
    assert_refused(rig, "GET /jobs?limit=-1", "", 400, "INVALID_PARAMS", "limit");
    assert_refused(rig, "GET /jobs?limit=x", "", 400, "INVALID_PARAMS", "limit");
}

static void whoever_fetches_says_what_it_can(void **state)
{
    Rig *rig = *state;

    assert_int_equal(rig_read(rig,
                              "GET /pending_request?waitMs=30000&methods=a,b;;c,&agentId=one+two"
                              "&leaseMs=5000",
                              ""),
                     0);
    assert_int_equal(rig->request.wait_ms, 30000);
    assert_int_equal(rig->request.lease_ms, 5000);
    assert_span(rig->request.worker, "one two");
    assert_int_equal(rig->request.n_methods, 3);
    assert_span(rig->request.methods[0], "a");
    assert_span(rig->request.methods[1], "b");
    assert_span(rig->request.methods[2], "c");
    assert_int_equal(rig_read(rig, "GET /pending_request?worker=w", ""), 0);
    assert_span(rig->request.worker, "w");
    assert_null(rig->request.methods);
    assert_refused(rig, "GET /pending_request?waitMs=soon", "", 400, "INVALID_PARAMS", "waitMs");
    assert_refused(rig, "GET /pending_request?leaseMs=99999999999", "", 400, "INVALID_PARAMS",
                   "leaseMs");
}

static void too_much_is_refused(void **state)
{
    Rig *rig = *state;
    char line[8 * 1024];
    size_t n = (size_t)snprintf(line, sizeof(line), "GET /pending_request?methods=");

    for (int i = 0; i < 257; i++) {
        n += (size_t)snprintf(line + n, sizeof(line) - n, "m%d,", i);
    }
    assert_refused(rig, line, "", 400, "INVALID_PARAMS", "methods");
    (void)snprintf(line, sizeof(line), "GET /pending_request?worker=%0*d",
                   (int)LIMIT_QUEUE_NAME_BYTES + 1, 0);
    assert_refused(rig, line, "", 400, "INVALID_PARAMS", "worker");
    (void)snprintf(line, sizeof(line), "POST /rpc/%0*d", (int)LIMIT_QUEUE_NAME_BYTES + 1, 0);
    assert_refused(rig, line, "{}", 400, "E_NO_METHOD", "the path");
}

static void a_malformed_target_is_refused(void **state)
{
    Rig *rig = *state;

    assert_refused(rig, "GET /job/%zz", "", 400, "INVALID_PARAMS", "path");
    assert_refused(rig, "GET /job/%ff", "", 400, "INVALID_PARAMS", "path");
    assert_refused(rig, "GET /job/.7", "", 400, "E_BAD_ID", "the path");
    assert_refused(rig, "GET /job/job-1.", "", 400, "E_BAD_ID", "the path");
    assert_refused(rig, "GET /job/job-1.99999999999999999999", "", 400, "E_BAD_ID", "the path");
    assert_refused(rig, "GET /jobs?state=%e", "", 400, "INVALID_PARAMS", "query");
}

static void ids_are_split_at_their_dot(void **state)
{
    Span id;
    bool has_fence;
    uint64_t fence;

    (void)state;
    assert_true(command_split_id(SPAN("job-1.18446744073709551615"), &id, &has_fence, &fence));
    assert_span(id, "job-1");
    assert_true(has_fence);
    assert_true(fence == UINT64_MAX);
    assert_true(command_split_id(SPAN("x"), &id, &has_fence, &fence));
    assert_false(has_fence);
    assert_false(command_split_id(SPAN(""), &id, &has_fence, &fence));
    assert_false(command_split_id(SPAN(".1"), &id, &has_fence, &fence));
    assert_false(command_split_id(SPAN("a.1.2"), &id, &has_fence, &fence));
    assert_false(command_split_id(SPAN("a.-1"), &id, &has_fence, &fence));
}

static void tags_are_compared_weakly(void **state)
{
    Rig *rig = *state;

    assert_int_equal(
        rig_read_with(rig, "GET /job/job-1", "If-None-Match: W/\"a\", \"job-1.3\"\r\n", ""), 0);
    assert_span(rig->request.etags, "W/\"a\", \"job-1.3\"");
    assert_true(command_etag_matches(rig->request.etags, SPAN("\"job-1.3\"")));
    assert_true(command_etag_matches(rig->request.etags, SPAN("\"a\"")));
    assert_false(command_etag_matches(rig->request.etags, SPAN("\"job-1.4\"")));
    assert_false(command_etag_matches(rig->request.etags, SPAN("\"job-1\"")));
    assert_true(command_etag_matches(SPAN("*"), SPAN("\"x\"")));
    assert_false(command_etag_matches(SPAN(""), SPAN("\"x\"")));
    assert_false(command_etag_matches(SPAN("job-1.3"), SPAN("\"job-1.3\"")));
    assert_false(command_etag_matches(SPAN(", ,W/"), SPAN("\"x\"")));
}

/* An <img> of another site's page must not take a job away. */
static void another_sites_page_has_no_effect(void **state)
{
    static const char *const lines[] = {
        "POST /enqueue",     "POST /rpc",       "POST /rpc/x",          "POST /job/a/cancel",
        "POST /job/a/retry", "DELETE /job/a",   "GET /pending_request", "POST /post_result",
        "DELETE /jobs",      "POST /heartbeat", "GET /heartbeat",
    };
    Rig *rig = *state;

    for (size_t i = 0; i < TW_ARRAY_SIZE(lines); i++) {
        assert_int_equal(rig_read_with(rig, lines[i],
                                       "Content-Type: application/json\r\n"
                                       "Sec-Fetch-Site: cross-site\r\n",
                                       "{}"),
                         COMMAND_E_REFUSED);
        assert_int_equal(rig->refusal.status, 403);
    }
    assert_int_equal(
        rig_read_with(rig, "GET /pending_request", "Sec-Fetch-Site: same-site\r\n", ""),
        COMMAND_E_REFUSED);
    assert_int_equal(
        rig_read_with(rig, "GET /pending_request", "Sec-Fetch-Site: same-origin\r\n", ""), 0);
    assert_int_equal(rig_read_with(rig, "GET /pending_request", "Sec-Fetch-Site: none\r\n", ""), 0);
    assert_int_equal(rig_read_with(rig, "GET /jobs", "Sec-Fetch-Site: cross-site\r\n", ""), 0);
}

static void others_need_no_body(void **state)
{
    static const char *const lines[] = {"GET /health", "GET /docs/openrpc.json",
                                        "GET /debug/capabilities", "POST /job/a/cancel",
                                        "POST /job/a/retry"};
    Rig *rig = *state;

    for (size_t i = 0; i < TW_ARRAY_SIZE(lines); i++) {
        assert_int_equal(rig_read_with(rig, lines[i], "", "no JSON"), 0);
    }
}

static int read_visit(void *context)
{
    Rig rig;
    int r;

    (void)context;
    rig_init(&rig);
    r = rig_read_with(&rig, "GET /pending_request?methods=%61,b&worker=a+b",
                      "If-None-Match: \"x\"\r\n", "");
    rig_deinit(&rig);
    return r;
}

static int refuse_visit(void *context)
{
    Rig rig;
    int r;

    (void)context;
    rig_init(&rig);
    r = rig_read_with(&rig, "GET /pending_request?waitMs=x", "", "");
    rig_deinit(&rig);
    return r == COMMAND_E_REFUSED ? 0 : r;
}

static void memory_may_end(void **state)
{
    (void)state;
    test_oom_sweep(read_visit, NULL);
    test_oom_sweep(refuse_visit, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_job_is_named_by_the_path, setup, teardown),
        cmocka_unit_test_setup_teardown(a_result_is_asked_for_by_a_parameter, setup, teardown),
        cmocka_unit_test_setup_teardown(lists_have_a_page, setup, teardown),
        cmocka_unit_test_setup_teardown(whoever_fetches_says_what_it_can, setup, teardown),
        cmocka_unit_test_setup_teardown(too_much_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_malformed_target_is_refused, setup, teardown),
        cmocka_unit_test(ids_are_split_at_their_dot),
        cmocka_unit_test_setup_teardown(tags_are_compared_weakly, setup, teardown),
        cmocka_unit_test_setup_teardown(another_sites_page_has_no_effect, setup, teardown),
        cmocka_unit_test_setup_teardown(others_need_no_body, setup, teardown),
        cmocka_unit_test(memory_may_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

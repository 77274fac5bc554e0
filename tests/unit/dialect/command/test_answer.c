/* The door's answers, byte by byte. */
#include "dialect/command/answer.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "call/record.h"
#include "support/cmocka.h"
#include "support/oom_sweep.h"
#include "json/json.h"

#define MAX_BYTES ((size_t)1 << 22)
#define START_US  ((int64_t)1700000000 * 1000000)

typedef struct Fixture {
    Arena arena;
    Bytes out;
} Fixture;

static int setup(void **state)
{
    static Fixture f;

    arena_init(&f.arena, MAX_BYTES);
    bytes_init(&f.out, MAX_BYTES);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    Fixture *f = *state;

    bytes_deinit(&f->out);
    arena_deinit(&f->arena);
    return 0;
}

static void assert_out(Fixture *f, int r, const char *expected)
{
    assert_int_equal(r, 0);
    if (!span_equals(bytes_span(&f->out), span_from_str(expected))) {
        fail_msg("expected %s\ngot      %.*s", expected, (int)f->out.n, f->out.data);
    }
    bytes_clear(&f->out);
}

static JsonValue parse(Fixture *f, const char *text)
{
    JsonDoc doc;

    assert_int_equal(json_parse(&doc, &f->arena, text, strlen(text), NULL, NULL), 0);
    return json_root(&doc);
}

/* A job that waited a second and a half, and ran for two. */
static CommandJob sample(const CallResult *result)
{
    return (CommandJob){
        .id = SPAN("job-1"),
        .state = result == NULL ? "ENQUEUED" : "SUCCEEDED",
        .is_over = result != NULL,
        .method = SPAN("get_walls"),
        .params = SPAN("{\"n\":12345678901234567890.50}"),
        .rpc_id = SPAN("1"),
        .priority = 100,
        .timeout_ms = 1500,
        .n_attempts = result == NULL ? 0 : 1,
        .max_attempts = 3,
        .enqueued_us = START_US,
        .started_us = result == NULL ? 0 : START_US + 1500000,
        .finished_us = result == NULL ? 0 : START_US + 3500250,
        .code = result == NULL ? SPAN_NULL : SPAN("OK"),
        .result = result,
        .version = 3,
    };
}

#define PAYLOAD                                                                                    \
    "{\"walls\":[1e400,12345678901234567890],\"ok\":true,\"code\":\"OK\",\"msg\":\"OK\","          \
    "\"warnings\":[],\"nextActions\":[],\"timings\":{\"queueWaitMs\":1500,\"revitMs\":2000.25,"    \
    "\"transferMs\":0,\"totalMs\":3500.25},\"context\":{\"method\":\"get_walls\"}}"

static const CallResult walls = {
    .kind = CALL_RESULT_TOOL,
    .structured = {"{\"walls\":[1e400,12345678901234567890]}", 38},
};

static void what_is_on_disk_is_acknowledged(void **state)
{
    Fixture *f = *state;
    CommandJob job = sample(NULL);

    assert_out(f, command_write_enqueued(&job, false, &f->out),
               "{\"ok\":true,\"jobId\":\"job-1\",\"state\":\"ENQUEUED\",\"known\":false,"
               "\"serverPid\":0,\"serverPort\":null}");
    job.server_pid = 17;
    job.server_port = 7410;
    assert_out(f, command_write_enqueued(&job, true, &f->out),
               "{\"ok\":true,\"jobId\":\"job-1\",\"state\":\"ENQUEUED\",\"known\":true,"
               "\"serverPid\":17,\"serverPort\":7410}");
    assert_out(f, command_write_queued(&job, &f->out),
               "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"ok\":true,\"queued\":true,"
               "\"jobId\":\"job-1\"}}");
    assert_out(f, command_write_done(&job, 0, &f->out),
               "{\"ok\":true,\"jobId\":\"job-1\",\"state\":\"ENQUEUED\"}");
    assert_out(f, command_write_done(&job, 5, &f->out),
               "{\"ok\":true,\"jobId\":\"job-1\",\"state\":\"ENQUEUED\",\"leaseMs\":5}");
    assert_out(f, command_write_purged(7, &f->out), "{\"ok\":true,\"purged\":7}");
    job.rpc_id = SPAN_NULL;
    assert_out(f, command_write_queued(&job, &f->out),
               "{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{\"ok\":true,\"queued\":true,"
               "\"jobId\":\"job-1\"}}");
}

static void the_envelope_is_nested_in_a_reply(void **state)
{
    Fixture *f = *state;
    CommandJob job = sample(&walls);

    assert_out(f, command_write_payload(&job, &f->out), PAYLOAD);
    assert_out(f, command_write_reply(&job, &f->out),
               "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"jsonrpc\":\"2.0\",\"id\":1,"
               "\"method\":\"get_walls\",\"jobId\":\"job-1\",\"result\":" PAYLOAD "}}");
    job.rpc_id = SPAN("\"a\\u0000\"");
    job.id = SPAN_NULL;
    assert_out(f, command_write_reply(&job, &f->out),
               "{\"jsonrpc\":\"2.0\",\"id\":\"a\\u0000\",\"result\":{\"jsonrpc\":\"2.0\","
               "\"id\":\"a\\u0000\",\"method\":\"get_walls\",\"result\":" PAYLOAD "}}");
}

/* It has answered: nobody is to take what is left for an empty answer. */
static void a_dropped_result_is_said_to_be(void **state)
{
    Fixture *f = *state;
    CommandJob job = sample(NULL);

    job.is_over = true;
    job.is_dropped = true;
    job.state = "SUCCEEDED";
    job.code = SPAN("OK");
    job.finished_us = job.started_us = START_US;
    assert_true(command_is_gone(&job));
    assert_out(f, command_write_payload(&job, &f->out),
               "{\"ok\":false,\"code\":\"RESULT_DROPPED\",\"msg\":\"The command has ended; its "
               "result was dropped to keep all results within keep_bytes\",\"warnings\":[],"
               "\"nextActions\":[],\"timings\":{\"queueWaitMs\":0,\"revitMs\":0,"
               "\"transferMs\":0,\"totalMs\":0},\"context\":{\"method\":\"get_walls\"}}");
    /* How a failure is called is in its row. */
    job.state = "FAILED";
    job.code = SPAN("NO_DOC");
    assert_false(command_is_gone(&job));
    bytes_clear(&f->out);
    assert_int_equal(command_write_payload(&job, &f->out), 0);
    assert_true(span_starts_with(bytes_span(&f->out), SPAN("{\"ok\":false,\"code\":\"NO_DOC\"")));
}

/* One that ended before it could start, and one of which nobody knows more than that. */
static void an_end_without_a_result_is_an_envelope(void **state)
{
    Fixture *f = *state;
    CommandJob job = sample(NULL);

    job.is_over = true;
    job.state = "CANCELLED";
    job.code = SPAN("CANCELLED");
    job.finished_us = START_US + 4000;
    assert_out(f, command_write_payload(&job, &f->out),
               "{\"ok\":false,\"code\":\"CANCELLED\",\"msg\":\"The command was cancelled\","
               "\"warnings\":[],\"nextActions\":[],\"timings\":{\"queueWaitMs\":4,\"revitMs\":0,"
               "\"transferMs\":0,\"totalMs\":4},\"context\":{\"method\":\"get_walls\"}}");
    job.state = "DEAD";
    job.code = SPAN_NULL;
    job.finished_us = START_US - 5; /* a clock that was set back */
    assert_out(f, command_write_payload(&job, &f->out),
               "{\"ok\":false,\"code\":\"DEAD\",\"msg\":\"Failed\",\"warnings\":[],"
               "\"nextActions\":[],\"timings\":{\"queueWaitMs\":0,\"revitMs\":0,"
               "\"transferMs\":0,\"totalMs\":0},\"context\":{\"method\":\"get_walls\"}}");
}

static void a_row_has_the_known_names(void **state)
{
    Fixture *f = *state;
    CommandJob job = sample(NULL);

    job.idempotency_key = SPAN("k\"");
    job.pool = SPAN("pull");
    job.worker = SPAN("w");
    assert_out(f, command_write_job(&job, true, &f->out),
               "{\"ok\":true,\"jobId\":\"job-1\",\"job_id\":\"job-1\",\"method\":\"get_walls\","
               "\"state\":\"ENQUEUED\",\"params_json\":\"{\\\"n\\\":12345678901234567890.50}\","
               "\"rpc_id\":1,\"idempotency_key\":\"k\\\"\",\"pool\":\"pull\",\"worker\":\"w\","
               "\"priority\":100,\"enqueue_ts\":1700000000,\"start_ts\":null,"
               "\"heartbeat_ts\":null,\"finish_ts\":null,"
               "\"enqueuedAt\":\"2023-11-14T22:13:20.000Z\",\"startedAt\":null,"
               "\"finishedAt\":null,\"timeout_sec\":1.5,\"attempts\":0,\"max_attempts\":3,"
               "\"target_port\":null,"
               "\"error_code\":null,\"error_msg\":null,\"result_json\":null,\"result\":null}");
}

#define ROUTED                                                                                     \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"get_walls\",\"jobId\":\"job-1\","                  \
    "\"result\":" PAYLOAD "}"

/* At result.result: of the reply in result_json, and of the row itself. */
static void a_row_that_is_over_has_its_envelope_twice(void **state)
{
    Fixture *f = *state;
    CommandJob job = sample(&walls);
    JsonValue row;
    JsonValue text;
    JsonValue result;
    Span decoded;

    assert_int_equal(command_write_job(&job, true, &f->out), 0);
    assert_int_equal(bytes_append_byte(&f->out, '\0'), 0);
    row = parse(f, f->out.data);
    assert_true(json_get(row, SPAN("result_json"), &text));
    assert_int_equal(json_string(text, &f->arena, &decoded), 0);
    assert_true(span_equals(decoded, SPAN("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":" ROUTED "}")));
    assert_true(json_get(row, SPAN("result"), &result));
    assert_true(span_equals(json_span(result), SPAN(ROUTED)));
    assert_true(json_get(row, SPAN("finishedAt"), &text));
    assert_true(json_string_equals(text, SPAN("2023-11-14T22:13:23.500Z")));
    assert_true(json_get(row, SPAN("error_code"), &text));
    assert_int_equal(json_kind(text), JSON_NULL);
}

static void a_list_has_no_bodies(void **state)
{
    Fixture *f = *state;
    CommandJob jobs[2] = {sample(&walls), sample(NULL)};
    JsonValue list;
    JsonValue row;
    JsonValue value;

    jobs[0].code = SPAN("INVALID_PARAMS");
    jobs[0].message = SPAN("no");
    assert_int_equal(command_write_jobs(jobs, 2, SPAN("job-1"), &f->out), 0);
    assert_int_equal(bytes_append_byte(&f->out, '\0'), 0);
    list = parse(f, f->out.data);
    assert_true(json_get(list, SPAN("next"), &value));
    assert_true(json_string_equals(value, SPAN("job-1")));
    assert_true(json_get(list, SPAN("jobs"), &value));
    assert_int_equal(json_count(value), 2);
    assert_true(json_at(value, 0, &row));
    assert_false(json_get(row, SPAN("result"), &value));
    assert_false(json_get(row, SPAN("params_json"), &value));
    assert_true(json_get(row, SPAN("error_code"), &value));
    assert_true(json_string_equals(value, SPAN("INVALID_PARAMS")));
    assert_true(json_get(row, SPAN("error_msg"), &value));
    assert_true(json_string_equals(value, SPAN("no")));
    bytes_clear(&f->out);
    assert_out(f, command_write_jobs(NULL, 0, SPAN_NULL, &f->out),
               "{\"ok\":true,\"jobs\":[],\"items\":[],\"next\":null}");
}

static void what_is_handed_out_is_a_request(void **state)
{
    Fixture *f = *state;
    CommandJob job = sample(NULL);

    job.n_attempts = 2;
    assert_out(f, command_write_pending(&job, UINT64_MAX, 60000, &f->out),
               "{\"jsonrpc\":\"2.0\",\"id\":\"job-1.18446744073709551615\","
               "\"method\":\"get_walls\",\"params\":{\"n\":12345678901234567890.50},"
               "\"jobId\":\"job-1\",\"leaseMs\":60000,\"attempt\":2}");
}

#define TIMELESS "\"timings\":{\"queueWaitMs\":0,\"revitMs\":0,\"transferMs\":0,\"totalMs\":0},"

static void a_refusal_has_all_members(void **state)
{
    Fixture *f = *state;

    assert_out(f,
               command_write_refusal("E_NOT_FOUND", SPAN("no \"such\" job"), SPAN_NULL, SPAN_NULL,
                                     SPAN_NULL, false, &f->out),
               "{\"ok\":false,\"code\":\"E_NOT_FOUND\",\"msg\":\"no \\\"such\\\" job\","
               "\"warnings\":[],\"nextActions\":[]," TIMELESS "\"context\":{}}");
    assert_out(f,
               command_write_refusal("UNKNOWN_COMMAND", SPAN("no"), SPAN("m"), SPAN("7"),
                                     SPAN("[{\"method\":\"x\"}]"), true, &f->out),
               "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"jsonrpc\":\"2.0\",\"id\":7,"
               "\"method\":\"m\",\"result\":{\"ok\":false,\"code\":\"UNKNOWN_COMMAND\","
               "\"msg\":\"no\",\"warnings\":[],\"nextActions\":[{\"method\":\"x\"}]," TIMELESS
               "\"context\":{\"method\":\"m\"}}}}");
}

/* What JSON-RPC has an error for is one. */
static void a_broken_protocol_is_an_error_of_it(void **state)
{
    static const struct {
        const char *code;
        const char *number;
    } cases[] = {
        {"INVALID_JSON", "-32700"}, {"INVALID_JSONRPC", "-32600"}, {"E_NO_METHOD", "-32600"}};
    Fixture *f = *state;
    char expected[512];

    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        (void)snprintf(expected, sizeof(expected),
                       "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":%s,\"message\":\"no\","
                       "\"data\":{\"ok\":false,\"code\":\"%s\",\"msg\":\"no\",\"warnings\":[],"
                       "\"nextActions\":[]," TIMELESS "\"context\":{}}}}",
                       cases[i].number, cases[i].code);
        assert_out(f,
                   command_write_refusal(cases[i].code, SPAN("no"), SPAN_NULL, SPAN_NULL, SPAN_NULL,
                                         true, &f->out),
                   expected);
    }
}

typedef struct PostedCase {
    const char *answer;
    bool is_error;
    const char *code;
    const char *message;
    bool is_failure;
    const char *own; /* somewhere in the record */
} PostedCase;

static void what_is_posted_becomes_a_record(void **state)
{
    static const PostedCase cases[] = {
        {"{\"ok\":true,\"code\":\"OK\",\"msg\":\"done\",\"n\":1e400}", false, "OK", "done", false,
         "\"n\":1e400"},
        {"{\"success\":false,\"errorCode\":\"E1\",\"message\":\"no\"}", false, "E1", "no", true,
         "\"code\":\"E1\""},
        {"{\"jsonrpc\":\"2.0\",\"id\":\"job-1.2\",\"result\":{\"jsonrpc\":\"2.0\",\"id\":1,"
         "\"method\":\"m\",\"agentId\":\"a\",\"result\":{\"ok\":true,\"x\":5}}}",
         false, "OK", "", false, "\"x\":5"},
        {"{\"jsonrpc\":\"2.0\",\"id\":\"job-1.2\",\"result\":{\"id\":1,\"method\":\"m\","
         "\"result\":{\"ok\":false,\"code\":\"E2\",\"msg\":\"m2\"}}}",
         false, "E2", "m2", true, "\"code\":\"E2\""},
        {"{\"jsonrpc\":\"2.0\",\"id\":\"job-1.2\",\"error\":{\"code\":-32601,\"message\":\"?\"}}",
         true, "UNKNOWN_COMMAND", "?", true, "-32601"},
        {"{\"code\":-5,\"message\":\"boom\"}", true, "ERROR", "boom", true, "\"ok\":false"},
        {"{\"ok\":true,\"code\":\"OK\",\"msg\":\"OK\"}", true, "ERROR", "", true, "\"ok\":false"},
        {"12345678901234567890.10", false, "OK", "", false, "\"result\":12345678901234567890.10"},
        {"null", false, "OK", "", false, "\"result\":null"},
        {"[1]", false, "OK", "", false, "\"result\":[1]"},
    };
    Fixture *f = *state;

    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        const PostedCase *c = &cases[i];
        CallResult result;
        Span code;
        Span message;

        assert_int_equal(command_record_posted(parse(f, c->answer), c->is_error, &f->arena, &f->out,
                                               &code, &message),
                         0);
        assert_int_equal(bytes_append_byte(&f->out, '\0'), 0);
        if (!span_equals(code, span_from_str(c->code)) ||
            !span_equals(message, span_from_str(c->message)) ||
            strstr(f->out.data, c->own) == NULL) {
            fail_msg("%s: %.*s '%.*s' %s", c->answer, (int)code.n, code.p, (int)message.n,
                     message.p, f->out.data);
        }
        assert_int_equal(call_record_read(parse(f, f->out.data), &f->arena, &result), 0);
        assert_int_equal(result.kind, CALL_RESULT_TOOL);
        assert_int_equal(result.is_error, c->is_failure);
        bytes_clear(&f->out);
    }
}

/* The application knows how long it took; the rest was the way. */
static void a_posted_measure_is_kept(void **state)
{
    Fixture *f = *state;
    CallResult result;
    CommandJob job;
    Span code;
    Span message;

    assert_int_equal(command_record_posted(parse(f, "{\"ok\":true,\"timings\":{\"revitMs\":3}}"),
                                           false, &f->arena, &f->out, &code, &message),
                     0);
    assert_int_equal(bytes_append_byte(&f->out, '\0'), 0);
    assert_int_equal(call_record_read(parse(f, f->out.data), &f->arena, &result), 0);
    bytes_clear(&f->out);
    job = sample(&result);
    assert_int_equal(command_write_payload(&job, &f->out), 0);
    assert_int_equal(bytes_append_byte(&f->out, '\0'), 0);
    assert_non_null(strstr(f->out.data, "\"timings\":{\"queueWaitMs\":1500,\"revitMs\":3,"
                                        "\"transferMs\":1997.25,\"totalMs\":3500.25}"));
}

static void tools_are_described_as_methods(void **state)
{
    Fixture *f = *state;
    JsonValue tools[2];
    char expected[16 * 1024];
    Bytes own;
    Bytes plain;

    bytes_init(&own, MAX_BYTES);
    bytes_init(&plain, MAX_BYTES);
    assert_int_equal(
        envelope_write_schema(
            SPAN("{\"type\":\"object\",\"properties\":{\"q\":{\"type\":\"integer\"}}}"), &own),
        0);
    assert_int_equal(envelope_write_schema(SPAN_NULL, &plain), 0);
    tools[0] = parse(f, "{\"name\":\"a\",\"title\":\"A\",\"description\":\"d\",\"inputSchema\":"
                        "{\"type\":\"object\",\"properties\":{\"x\":{\"maximum\":1e400},\"y\":{}},"
                        "\"required\":[\"y\",7]},\"outputSchema\":{\"type\":\"object\","
                        "\"properties\":{\"q\":{\"type\":\"integer\"}}}}");
    tools[1] = parse(f, "{\"name\":\"b\"}");
    (void)snprintf(
        expected, sizeof(expected),
        "{\"openrpc\":\"1.3.2\",\"info\":{\"title\":\"t\",\"version\":\"1\"},\"methods\":["
        "{\"name\":\"a\",\"summary\":\"A\",\"description\":\"d\","
        "\"paramStructure\":\"by-name\",\"params\":["
        "{\"name\":\"x\",\"required\":false,\"schema\":{\"maximum\":1e400}},"
        "{\"name\":\"y\",\"required\":true,\"schema\":{}}],"
        "\"result\":{\"name\":\"payload\",\"schema\":%.*s}},"
        "{\"name\":\"b\",\"paramStructure\":\"by-name\",\"params\":[],"
        "\"result\":{\"name\":\"payload\",\"schema\":%.*s}}]}",
        (int)own.n, own.data, (int)plain.n, plain.data);
    /* What comes is the envelope, with what the tool says of its own members. */
    assert_non_null(strstr(expected, "\"ok\""));
    assert_out(f, command_write_openrpc(SPAN("t"), SPAN("1"), tools, 2, &f->out), expected);
    bytes_deinit(&own);
    bytes_deinit(&plain);
}

/* What does not fit is not half written. */
static void a_full_buffer_stays_as_it_was(void **state)
{
    CommandJob job = sample(&walls);

    (void)state;
    for (size_t max = 0; max < 200; max += 7) {
        Bytes out;

        bytes_init(&out, max);
        assert_int_equal(command_write_payload(&job, &out), BYTES_E_FULL);
        assert_int_equal(command_write_reply(&job, &out), BYTES_E_FULL);
        assert_int_equal(command_write_job(&job, true, &out), BYTES_E_FULL);
        assert_int_equal(out.n, 0);
        bytes_deinit(&out);
    }
}

static int write_all(void *context)
{
    static const Span posted = SPAN_INIT("{\"ok\":false,\"msg\":\"\\u0061\"}");
    CommandJob job = sample(&walls);
    Arena arena;
    Bytes out;
    JsonDoc doc;
    Span code;
    Span message;
    int r;

    (void)context;
    arena_init(&arena, MAX_BYTES);
    bytes_init(&out, MAX_BYTES);
    r = command_write_reply(&job, &out);
    if (r == 0) {
        r = command_write_job(&job, true, &out);
    }
    if (r == 0) {
        r = command_write_refusal("X", SPAN("x"), SPAN("m"), SPAN("1"), SPAN_NULL, true, &out);
    }
    if (r == 0) {
        r = json_parse(&doc, &arena, posted.p, posted.n, NULL, NULL);
    }
    if (r == 0) {
        r = command_record_posted(json_root(&doc), false, &arena, &out, &code, &message);
    }
    bytes_deinit(&out);
    arena_deinit(&arena);
    return r;
}

static void memory_may_end(void **state)
{
    (void)state;
    test_oom_sweep(write_all, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_on_disk_is_acknowledged, setup, teardown),
        cmocka_unit_test_setup_teardown(the_envelope_is_nested_in_a_reply, setup, teardown),
        cmocka_unit_test_setup_teardown(a_dropped_result_is_said_to_be, setup, teardown),
        cmocka_unit_test_setup_teardown(an_end_without_a_result_is_an_envelope, setup, teardown),
        cmocka_unit_test_setup_teardown(a_row_has_the_known_names, setup, teardown),
        cmocka_unit_test_setup_teardown(a_row_that_is_over_has_its_envelope_twice, setup, teardown),
        cmocka_unit_test_setup_teardown(a_list_has_no_bodies, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_handed_out_is_a_request, setup, teardown),
        cmocka_unit_test_setup_teardown(a_refusal_has_all_members, setup, teardown),
        cmocka_unit_test_setup_teardown(a_broken_protocol_is_an_error_of_it, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_posted_becomes_a_record, setup, teardown),
        cmocka_unit_test_setup_teardown(a_posted_measure_is_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(tools_are_described_as_methods, setup, teardown),
        cmocka_unit_test(a_full_buffer_stays_as_it_was),
        cmocka_unit_test(memory_may_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

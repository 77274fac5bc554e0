/* Jobs over HTTP at the real hub.
 *
 *   test_queue TOOLWIRE
 */
#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "e2e/queue_hub.h"

static const char *program;

/* `echo` answers with its parameters, `wait` when it is killed; both leave a line when they begin.
 */
static const char tools[] =
    "[{\"name\":\"echo\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"},"
    "\"output_schema\":{\"type\":\"object\"},\"command\":[\"cat\"]},"
    "{\"name\":\"wait\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"},"
    "\"command\":[\"sh\",\"-c\",\"echo begun >> waits; exec sleep 1000\"],\"cwd\":\".\","
    "\"timeout_ms\":900000},"
    "{\"name\":\"slow\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"},"
    "\"command\":[\"sh\",\"-c\",\"sleep 1; echo done\"]},"
    "{\"name\":\"command\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"},"
    "\"envelope\":true,\"command\":[\"sh\",\"-c\",\"echo "
    "'{\\\"ok\\\":false,\\\"code\\\":\\\"E_X\\\","
    "\\\"msg\\\":\\\"no\\\",\\\"own\\\":12345678901234567890.10}'\"]}]";

#define SETTINGS      "{\"tools\":\"tools.json\",\"limits\":{\"drain_ms\":20000}}"
#define SETTINGS_PULL "{\"tools\":\"tools.json\",\"queue\":{\"store\":\"sqlite\",\"pull\":true}}"

static int start_with(void **state, const char *settings)
{
    static QueueHub hub;

    queue_hub_init(&hub, program, tools);
    queue_hub_start(&hub, settings);
    *state = &hub;
    return 0;
}

static int start(void **state)
{
    return start_with(state, SETTINGS);
}

static int start_pull(void **state)
{
    return start_with(state, SETTINGS_PULL);
}

static int end(void **state)
{
    queue_hub_clean(*state);
    return 0;
}

/* Puts in a job; its id, to be freed. */
static char *enqueue(const QueueHub *hub, const char *body)
{
    QueueReply reply;
    char *id;

    queue_ask(hub, &reply, 200, "POST /enqueue", body);
    queue_reply_has(&reply, "/ok", "true");
    id = queue_reply_get(&reply, "/jobId");
    assert_memory_equal(id, "job-", 4);
    queue_reply_deinit(&reply);
    return id;
}

/* A line of a request about a job. */
static const char *about(const char *before, const char *id, const char *behind)
{
    static char line[256];

    (void)snprintf(line, sizeof(line), "%s%s%s", before, id, behind);
    return line;
}

/* ---- tests ---- */

static void a_job_has_a_result(void **state)
{
    const QueueHub *hub = *state;
    QueueReply reply;
    char *id =
        enqueue(hub, "{\"method\":\"echo\",\"params\":{\"n\":12345678901234567890.10},\"id\":7}");

    queue_ask(hub, &reply, 200, about("GET /get_result?jobId=", id, "&waitMs=60000"), NULL);
    queue_reply_has(&reply, "/jsonrpc", "2.0");
    queue_reply_has(&reply, "/id", "7");
    queue_reply_has(&reply, "/result/method", "echo");
    queue_reply_has(&reply, "/result/jobId", id);
    queue_reply_has(&reply, "/result/result/n", "12345678901234567890.10");
    queue_reply_has(&reply, "/result/result/ok", "true");
    queue_reply_has(&reply, "/result/result/code", "OK");
    queue_reply_has(&reply, "/result/result/context/method", "echo");
    queue_reply_deinit(&reply);
    queue_ask(hub, &reply, 200, about("GET /job/", id, ""), NULL);
    queue_reply_has(&reply, "/state", "SUCCEEDED");
    queue_reply_has(&reply, "/rpc_id", "7");
    queue_reply_has(&reply, "/params_json", "{\"n\":12345678901234567890.10}");
    queue_reply_has(&reply, "/attempts", "1");
    queue_reply_has(&reply, "/result/result/n", "12345678901234567890.10");
    queue_reply_deinit(&reply);
    free(id);
}

/* Where the envelope stands on each path (docs/commands.md). */
static void each_path_has_its_depth(void **state)
{
    static const struct {
        const char *line;
        const char *at;
    } rows[] = {
        {"POST /rpc?waitMs=60000", "/result/result/n"},
        {"POST /rpc/echo?waitMs=60000", "/result/result/n"},
        {"POST /enqueue?waitMs=60000", "/result/result/n"}, /* the row */
    };
    static const char body[] =
        "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"echo\",\"params\":{\"n\":5}}";
    const QueueHub *hub = *state;
    char *id = enqueue(hub, body);
    QueueReply reply;
    QueueReply inner = {.status = 0};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        queue_ask(hub, &reply, 200, rows[i].line, body);
        queue_reply_has(&reply, rows[i].at, "5");
        queue_reply_deinit(&reply);
    }
    queue_ask(hub, &reply, 200, about("GET /get_result?jobId=", id, "&waitMs=60000"), NULL);
    queue_reply_has(&reply, "/result/result/n", "5");
    queue_reply_deinit(&reply);
    queue_ask(hub, &reply, 200, about("GET /job/", id, ""), NULL);
    queue_reply_has(&reply, "/rpc_id", "a");
    queue_reply_has(&reply, "/result/result/n", "5");
    /* result_json is a text, and what it says is the reply. */
    inner.body = queue_reply_get(&reply, "/result_json");
    inner.n_body = strlen(inner.body);
    arena_init(&inner.arena, (size_t)1 << 20);
    queue_reply_has(&inner, "/id", "a");
    queue_reply_has(&inner, "/result/result/n", "5");
    free(inner.body);
    queue_reply_deinit(&inner);
    queue_reply_deinit(&reply);
    queue_ask(hub, &reply, 200, "GET /jobs?limit=1", NULL);
    queue_reply_has(&reply, "/jobs/0/rpc_id", "a");
    queue_reply_has(&reply, "/items/0/rpc_id", "a");
    queue_reply_deinit(&reply);
    /* What is answered without a job, and refusals. */
    queue_ask(hub, &reply, 200, "POST /enqueue", "{\"method\":\"list_commands\"}");
    queue_reply_has(&reply, "/commands/0", "echo");
    queue_reply_deinit(&reply);
    queue_ask(hub, &reply, 200, "POST /rpc", "{\"id\":1,\"method\":\"list_commands\"}");
    queue_reply_has(&reply, "/result/result/commands/0", "echo");
    queue_reply_deinit(&reply);
    queue_ask(hub, &reply, 404, "POST /enqueue", "{\"method\":\"no\"}");
    queue_reply_has(&reply, "/code", "UNKNOWN_COMMAND");
    queue_reply_deinit(&reply);
    queue_ask(hub, &reply, 200, "POST /rpc", "{\"id\":1,\"method\":\"no\"}");
    queue_reply_has(&reply, "/result/result/code", "UNKNOWN_COMMAND");
    queue_reply_deinit(&reply);
    free(id);
}

static void a_reply_nests_the_envelope(void **state)
{
    const QueueHub *hub = *state;
    QueueReply reply;
    char *id;

    queue_ask(hub, &reply, 200, "POST /rpc?waitMs=60000",
              "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"command\"}");
    queue_reply_has(&reply, "/id", "x");
    queue_reply_has(&reply, "/result/id", "x");
    queue_reply_has(&reply, "/result/method", "command");
    queue_reply_has(&reply, "/result/result/ok", "false");
    queue_reply_has(&reply, "/result/result/code", "E_X");
    queue_reply_has(&reply, "/result/result/own", "12345678901234567890.10");
    id = queue_reply_get(&reply, "/result/jobId");
    queue_reply_deinit(&reply);
    /* It ran, and said no: the job is done. */
    queue_ask(hub, &reply, 200, about("GET /job/", id, ""), NULL);
    queue_reply_has(&reply, "/state", "SUCCEEDED");
    queue_reply_has(&reply, "/error_code", "E_X");
    queue_reply_deinit(&reply);
    queue_ask(hub, &reply, 200, "POST /rpc/echo?waitMs=60000", "{\"a\":1}");
    queue_reply_has(&reply, "/result/result/a", "1");
    queue_reply_deinit(&reply);
    queue_ask(hub, &reply, 200, "POST /rpc", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\"}");
    queue_reply_has(&reply, "/result/queued", "true");
    queue_reply_deinit(&reply);
    queue_ask(hub, &reply, 202, "POST /rpc", "{\"jsonrpc\":\"2.0\",\"method\":\"echo\"}");
    assert_int_equal(reply.n_body, 0);
    queue_reply_deinit(&reply);
    free(id);
}

/* Both call theirs 1, and both wait at the same time. */
static void equal_ids_are_told_apart(void **state)
{
    enum {
        N = 16
    };
    const QueueHub *hub = *state;
    int fds[N];

    for (int i = 0; i < N; i++) {
        char body[128];

        (void)snprintf(body, sizeof(body),
                       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"echo\",\"params\":{\"who\":%d}}",
                       i);
        fds[i] = queue_send(hub->port, "POST /rpc?waitMs=60000", NULL, body);
        assert_true(fds[i] >= 0);
    }
    for (int i = 0; i < N; i++) {
        QueueReply reply;
        char who[16];

        (void)snprintf(who, sizeof(who), "%d", i);
        assert_true(queue_receive(fds[i], &reply));
        queue_reply_has(&reply, "/id", "1");
        queue_reply_has(&reply, "/result/result/who", who);
        queue_reply_deinit(&reply);
    }
}

static void a_key_counts_once(void **state)
{
    const QueueHub *hub = *state;
    QueueReply reply;
    char *id = enqueue(hub, "{\"method\":\"echo\",\"params\":{\"a\":1},\"idempotencyKey\":\"k\"}");

    queue_ask(hub, &reply, 200, "POST /enqueue",
              "{\"method\":\"echo\",\"params\":{\"a\":1},\"idempotency_key\":\"k\"}");
    queue_reply_has(&reply, "/jobId", id);
    queue_reply_has(&reply, "/known", "true");
    queue_reply_deinit(&reply);
    queue_ask(hub, &reply, 409, "POST /enqueue",
              "{\"method\":\"echo\",\"params\":{\"a\":2},\"idempotencyKey\":\"k\"}");
    queue_reply_has(&reply, "/code", "IDEMPOTENCY_KEY_REUSED");
    queue_reply_deinit(&reply);
    free(id);
}

static void a_tag_says_whether_anything_changed(void **state)
{
    const QueueHub *hub = *state;
    QueueReply reply;
    char field[256];
    const char *tag;
    char *id = enqueue(hub, "{\"method\":\"echo\"}");

    queue_ask(hub, &reply, 200, about("GET /job/", id, "?waitMs=60000"), NULL);
    queue_reply_has(&reply, "/state", "SUCCEEDED");
    tag = strstr(reply.head, "\r\nETag: ");
    assert_non_null(tag);
    (void)snprintf(field, sizeof(field), "If-None-Match: %.*s\r\n", (int)strcspn(tag + 8, "\r"),
                   tag + 8);
    queue_reply_deinit(&reply);
    assert_true(queue_try(hub->port, &reply, about("GET /job/", id, ""), field, NULL));
    assert_int_equal(reply.status, 304);
    assert_int_equal(reply.n_body, 0);
    queue_reply_deinit(&reply);
    assert_true(queue_try(hub->port, &reply, about("GET /job/", id, ""),
                          "If-None-Match: \"another\"\r\n", NULL));
    assert_int_equal(reply.status, 200);
    queue_reply_deinit(&reply);
    free(id);
}

static void a_job_that_runs_is_cancelled(void **state)
{
    const QueueHub *hub = *state;
    QueueReply reply;
    char *id = enqueue(hub, "{\"method\":\"wait\"}");
    int fd;

    queue_ask(hub, &reply, 204, about("GET /get_result?jobId=", id, ""), NULL);
    queue_reply_deinit(&reply);
    fd = queue_send(hub->port, about("GET /get_result?jobId=", id, "&waitMs=60000"), NULL, NULL);
    queue_ask(hub, &reply, 200, about("DELETE /job/", id, ""), NULL);
    queue_reply_has(&reply, "/state", "CANCELLED");
    queue_reply_deinit(&reply);
    /* Whoever waits is told. */
    assert_true(queue_receive(fd, &reply));
    assert_int_equal(reply.status, 200);
    queue_reply_has(&reply, "/result/result/ok", "false");
    queue_reply_has(&reply, "/result/result/code", "CANCELLED");
    queue_reply_deinit(&reply);
    queue_ask(hub, &reply, 409, about("POST /job/", id, "/cancel"), NULL);
    queue_reply_has(&reply, "/code", "ALREADY_OVER");
    queue_reply_deinit(&reply);
    queue_ask(hub, &reply, 200, about("POST /job/", id, "/retry"), NULL);
    queue_reply_has(&reply, "/state", "ENQUEUED");
    queue_reply_deinit(&reply);
    queue_ask(hub, &reply, 409, about("POST /job/", id, "/retry"), NULL);
    queue_reply_has(&reply, "/code", "NOT_OVER");
    queue_reply_deinit(&reply);
    queue_ask(hub, &reply, 200, about("POST /job/", id, "/cancel"), NULL);
    queue_reply_deinit(&reply);
    free(id);
}

typedef struct BadCase {
    const char *line;
    const char *body;
    unsigned status;
    const char *code;
    const char *words;
} BadCase;

static void what_is_wrong_is_said(void **state)
{
    static const BadCase cases[] = {
        {"GET /job/job-1-00000000000000000000000000000000", NULL, 404, "E_NOT_FOUND",
         "no such job"},
        {"GET /job/17", NULL, 400, "E_BAD_ID", "no id of a job"},
        {"GET /get_result?jobId=x", NULL, 400, "E_BAD_ID", "jobId"},
        {"GET /get_result", NULL, 400, "INVALID_PARAMS", "jobId"},
        {"DELETE /job/job-1-00000000000000000000000000000000", NULL, 404, "E_NOT_FOUND", "job"},
        {"POST /enqueue", "{\"method\":\"echo\",}", 400, "INVALID_JSON", "at byte 17"},
        {"POST /enqueue", "{\"params\":{}}", 400, "E_NO_METHOD", "method"},
        {"POST /enqueue", "{\"method\":\"ecko\"}", 404, "UNKNOWN_COMMAND", "ecko"},
        {"POST /enqueue", "{\"method\":\"echo\",\"priority\":\"high\"}", 400, "INVALID_PARAMS",
         "priority"},
        {"PUT /enqueue", "{}", 405, "METHOD_NOT_ALLOWED", "method"},
        {"GET /jobs?state=LOST", NULL, 400, "INVALID_PARAMS", "state"},
        {"GET /jobs?limit=0x", NULL, 400, "INVALID_PARAMS", "limit"},
        {"DELETE /jobs?state=RUNNING", NULL, 400, "INVALID_PARAMS", "state"},
        {"POST /post_result", "{\"id\":\"job-1-00000000000000000000000000000000.1\",\"result\":1}",
         404, "E_NOT_FOUND", "job"},
        {"POST /heartbeat", "{\"id\":1}", 400, "INVALID_PARAMS", "id"},
    };
    const QueueHub *hub = *state;
    QueueReply reply;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *message;

        queue_ask(hub, &reply, cases[i].status, cases[i].line, cases[i].body);
        queue_reply_has(&reply, "/ok", "false");
        queue_reply_has(&reply, "/code", cases[i].code);
        message = queue_reply_get(&reply, "/msg");
        if (strstr(message, cases[i].words) == NULL) {
            fail_msg("%s: %s", cases[i].line, message);
        }
        free(message);
        queue_reply_deinit(&reply);
    }
    queue_ask(hub, &reply, 200, "POST /rpc", "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"ecko\"}");
    queue_reply_has(&reply, "/result/result/code", "UNKNOWN_COMMAND");
    queue_reply_has(&reply, "/result/result/nextActions/0/method", "echo");
    queue_reply_deinit(&reply);
    queue_ask(hub, &reply, 400, "POST /rpc", "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":7}");
    queue_reply_has(&reply, "/error/code", "-32600");
    queue_reply_has(&reply, "/id", "4");
    queue_reply_deinit(&reply);
}

static void too_much_is_refused(void **state)
{
    const QueueHub *hub = *state;
    size_t n = (size_t)10 * 1024 * 1024;
    char *body = malloc(n + 64);
    QueueReply reply;

    assert_non_null(body);
    (void)snprintf(body, 64, "{\"method\":\"echo\",\"params\":{\"a\":\"");
    memset(body + strlen(body), 'x', n);
    (void)snprintf(body + n + 32, 8, "\"}}");
    queue_ask(hub, &reply, 413, "POST /enqueue", body);
    queue_reply_deinit(&reply);
    free(body);
    queue_ask(hub, &reply, 200, "GET /jobs", NULL);
    queue_reply_has(&reply, "/jobs", "[]");
    queue_reply_deinit(&reply);
}

static void others_are_told_about_the_hub(void **state)
{
    const QueueHub *hub = *state;
    QueueReply reply;

    queue_ask(hub, &reply, 200, "GET /health", NULL);
    queue_reply_has(&reply, "/ok", "true");
    queue_reply_has(&reply, "/tools", "4");
    queue_reply_has(&reply, "/jobs/ENQUEUED", "0");
    queue_reply_deinit(&reply);
    queue_ask(hub, &reply, 200, "GET /docs/openrpc.json", NULL);
    queue_reply_has(&reply, "/methods/0/name", "echo");
    queue_reply_deinit(&reply);
    queue_ask(hub, &reply, 200, "GET /debug/capabilities", NULL);
    queue_reply_has(&reply, "/routes/0", "POST /enqueue");
    queue_reply_deinit(&reply);
    queue_ask(hub, &reply, 200, "POST /rpc?waitMs=1",
              "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"list_commands\"}");
    queue_reply_has(&reply, "/result/result/commands/1", "wait");
    queue_reply_deinit(&reply);
    queue_ask(hub, &reply, 200, "GET /metrics", NULL);
    assert_non_null(strstr(reply.body, "toolwire_queue_jobs{state=\"ENQUEUED\"} 0\n"));
    assert_non_null(strstr(reply.body, "toolwire_queue_commits_total "));
    queue_reply_deinit(&reply);
    queue_ask(hub, &reply, 200, "GET /", NULL);
    assert_non_null(strstr(reply.body, "queue.db"));
    assert_non_null(strstr(reply.body, "<h2>Jobs</h2>"));
    queue_reply_deinit(&reply);
}

/* ---- applications that fetch ---- */

/* Fetches one job; the id that it was given with, to be freed. */
static char *fetch(const QueueHub *hub, const char *line)
{
    QueueReply reply;
    char *id;

    queue_ask(hub, &reply, 200, line, NULL);
    queue_reply_has(&reply, "/jsonrpc", "2.0");
    queue_reply_has(&reply, "/method", "app.do");
    queue_reply_has(&reply, "/params/n", "1e400");
    id = queue_reply_get(&reply, "/id");
    queue_reply_deinit(&reply);
    return id;
}

static void post(const QueueHub *hub, unsigned status, const char *line, const char *id,
                 const char *rest, const char *pointer, const char *expected)
{
    QueueReply reply;
    char body[512];

    (void)snprintf(body, sizeof(body), "{\"id\":\"%s\"%s}", id, rest);
    queue_ask(hub, &reply, status, line, body);
    queue_reply_has(&reply, pointer, expected);
    queue_reply_deinit(&reply);
}

#define APP_JOB "{\"method\":\"app.do\",\"params\":{\"n\":1e400}}"

static void an_application_fetches_and_answers(void **state)
{
    const QueueHub *hub = *state;
    QueueReply reply;
    char *handed;
    char *id;
    int fd;

    queue_ask(hub, &reply, 204, "GET /pending_request", NULL);
    queue_reply_deinit(&reply);
    /* It waits, and the job comes. */
    fd =
        queue_send(hub->port, "GET /pending_request?waitMs=60000&methods=other,app.do", NULL, NULL);
    id = enqueue(hub, APP_JOB);
    assert_true(queue_receive(fd, &reply));
    assert_int_equal(reply.status, 200);
    queue_reply_has(&reply, "/jobId", id);
    handed = queue_reply_get(&reply, "/id");
    queue_reply_deinit(&reply);
    /* Others find nothing, and not what they did not ask for. */
    queue_ask(hub, &reply, 204, "GET /pending_request", NULL);
    queue_reply_deinit(&reply);
    queue_ask(hub, &reply, 200, about("GET /job/", id, ""), NULL);
    queue_reply_has(&reply, "/state", "DISPATCHING");
    queue_reply_deinit(&reply);
    post(hub, 200, "POST /heartbeat", handed, ",\"leaseMs\":50000", "/state", "RUNNING");
    fd = queue_send(hub->port, about("GET /job/", id, "?waitMs=60000"), NULL, NULL);
    post(hub, 200, "POST /post_result", handed,
         ",\"jsonrpc\":\"2.0\",\"result\":{\"result\":{\"ok\":true,\"v\":12345678901234567890}}",
         "/state", "SUCCEEDED");
    /* Whoever waited for it goes on. */
    assert_true(queue_receive(fd, &reply));
    queue_reply_has(&reply, "/state", "SUCCEEDED");
    queue_reply_has(&reply, "/result/result/v", "12345678901234567890");
    queue_reply_has(&reply, "/result/result/context/method", "app.do");
    queue_reply_deinit(&reply);
    post(hub, 409, "POST /post_result", handed, ",\"result\":2", "/code", "ALREADY_OVER");
    post(hub, 409, "POST /heartbeat", handed, "", "/code", "ALREADY_OVER");
    free(handed);
    free(id);
}

/* One that was silent for longer than its lease cannot answer for its successor. */
static void an_old_lease_is_refused(void **state)
{
    const QueueHub *hub = *state;
    char *id = enqueue(hub, APP_JOB);
    char *first = fetch(hub, "GET /pending_request?leaseMs=50&worker=first");
    char *second;
    QueueReply reply;

    /* It may have run, and nobody knows: it does not run again unasked. */
    queue_ask(hub, &reply, 200, about("GET /job/", id, "?waitMs=60000"), NULL);
    queue_reply_has(&reply, "/state", "FAILED");
    queue_reply_has(&reply, "/error_code", "INTERRUPTED");
    queue_reply_deinit(&reply);
    queue_ask(hub, &reply, 200, about("POST /job/", id, "/retry"), NULL);
    queue_reply_deinit(&reply);
    second = fetch(hub, "GET /pending_request?worker=second");
    assert_string_not_equal(first, second);
    post(hub, 409, "POST /post_result", first, ",\"result\":\"old\"", "/code", "LEASE_LOST");
    post(hub, 409, "POST /heartbeat", first, "", "/code", "LEASE_LOST");
    post(hub, 200, "POST /post_result", second, ",\"result\":\"new\"", "/state", "SUCCEEDED");
    queue_ask(hub, &reply, 200, about("GET /get_result?jobId=", id, ""), NULL);
    queue_reply_has(&reply, "/result/result/result", "new");
    queue_reply_deinit(&reply);
    free(first);
    free(second);
    free(id);
}

static void what_may_run_twice_is_fetched_again(void **state)
{
    const QueueHub *hub = *state;
    char *id = enqueue(hub, "{\"method\":\"app.do\",\"params\":{\"n\":1e400},\"idempotent\":true}");
    char *first = fetch(hub, "GET /pending_request?leaseMs=50");
    char *second = fetch(hub, "GET /pending_request?waitMs=60000");

    assert_memory_equal(first, id, strlen(id));
    assert_memory_equal(second, id, strlen(id));
    post(hub, 409, "POST /post_result", first, ",\"result\":\"old\"", "/code", "LEASE_LOST");
    post(hub, 200, "POST /post_result", second, ",\"result\":\"new\"", "/state", "SUCCEEDED");
    free(first);
    free(second);
    free(id);
}

/* A job is not lost with an application that went while it waited. */
static void one_that_has_gone_gets_nothing(void **state)
{
    const QueueHub *hub = *state;
    int gone = queue_send(hub->port, "GET /pending_request?waitMs=60000", NULL, NULL);
    int waits;
    QueueReply reply;
    char *id;

    assert_true(gone >= 0);
    /* An answer on another connection: the hub has seen the first. */
    queue_ask(hub, &reply, 204, "GET /pending_request?waitMs=1", NULL);
    queue_reply_deinit(&reply);
    (void)close(gone);
    waits = queue_send(hub->port, "GET /pending_request?waitMs=60000", NULL, NULL);
    id = enqueue(hub, APP_JOB);
    assert_true(queue_receive(waits, &reply));
    assert_int_equal(reply.status, 200);
    queue_reply_has(&reply, "/jobId", id);
    queue_reply_has(&reply, "/attempt", "1");
    queue_reply_deinit(&reply);
    free(id);
}

/* Each of those who wait gets one. */
static void several_wait_for_jobs(void **state)
{
    enum {
        N = 5
    };
    const QueueHub *hub = *state;
    int fds[N];
    char *got[N];

    for (int i = 0; i < N; i++) {
        fds[i] = queue_send(hub->port, "GET /pending_request?waitMs=60000", NULL, NULL);
        assert_true(fds[i] >= 0);
    }
    for (int i = 0; i < N; i++) {
        free(enqueue(hub, APP_JOB));
    }
    for (int i = 0; i < N; i++) {
        QueueReply reply;

        assert_true(queue_receive(fds[i], &reply));
        assert_int_equal(reply.status, 200);
        got[i] = queue_reply_get(&reply, "/jobId");
        for (int k = 0; k < i; k++) {
            assert_string_not_equal(got[i], got[k]);
        }
        queue_reply_deinit(&reply);
    }
    for (int i = 0; i < N; i++) {
        free(got[i]);
    }
}

/* ---- ends ---- */

/* Those who wait are answered, and the hub does not wait for them. */
static void whoever_waits_at_the_end_is_answered(void **state)
{
    QueueHub *hub = *state;
    char *id = enqueue(hub, "{\"method\":\"echo\",\"delayMs\":3600000}");
    int fetches = queue_send(hub->port, "GET /pending_request?waitMs=60000", NULL, NULL);
    int looks = queue_send(hub->port, about("GET /job/", id, "?waitMs=60000"), NULL, NULL);
    QueueReply reply;

    assert_true(fetches >= 0 && looks >= 0);
    queue_ask(hub, &reply, 200, "GET /health", NULL);
    queue_reply_deinit(&reply);
    assert_int_equal(queue_hub_stop(hub), 0);
    if (queue_receive(fetches, &reply)) {
        assert_int_equal(reply.status, 204);
    }
    queue_reply_deinit(&reply);
    if (queue_receive(looks, &reply)) {
        queue_reply_has(&reply, "/state", "ENQUEUED");
    }
    queue_reply_deinit(&reply);
    free(id);
}

/* A job that runs may end; its result is there afterwards. */
static void a_job_that_runs_may_end(void **state)
{
    QueueHub *hub = *state;
    char *id = enqueue(hub, "{\"method\":\"slow\"}");
    QueueReply reply;

    do {
        queue_ask(hub, &reply, 200, about("GET /job/", id, "?waitMs=10"), NULL);
        if (strstr(reply.body, "\"state\":\"RUNNING\"") != NULL) {
            break;
        }
        queue_reply_deinit(&reply);
    } while (true);
    queue_reply_deinit(&reply);
    assert_int_equal(queue_hub_stop(hub), 0);
    queue_hub_start(hub, SETTINGS);
    queue_ask(hub, &reply, 200, about("GET /get_result?jobId=", id, ""), NULL);
    queue_reply_has(&reply, "/result/result/ok", "true");
    queue_reply_has(&reply, "/result/result/result", "done");
    queue_reply_deinit(&reply);
    free(id);
}

static void jobs_outlive_the_hub(void **state)
{
    QueueHub *hub = *state;
    char *done = enqueue(hub, "{\"method\":\"echo\",\"params\":{\"a\":1}}");
    char *later = enqueue(hub, "{\"method\":\"echo\",\"params\":{\"a\":2},\"delayMs\":3600000}");
    QueueReply reply;
    char *before;

    queue_ask(hub, &reply, 200, about("GET /get_result?jobId=", done, "&waitMs=60000"), NULL);
    before = strdup(reply.body);
    queue_reply_deinit(&reply);
    assert_int_equal(queue_hub_stop(hub), 0);
    queue_hub_start(hub, SETTINGS);
    queue_ask(hub, &reply, 200, about("GET /get_result?jobId=", done, ""), NULL);
    assert_string_equal(reply.body, before);
    queue_reply_deinit(&reply);
    queue_ask(hub, &reply, 200, about("GET /job/", later, ""), NULL);
    queue_reply_has(&reply, "/state", "ENQUEUED");
    queue_reply_deinit(&reply);
    free(before);
    free(done);
    free(later);
}

/* What runs when the hub is killed may have run: it is neither lost nor run again. */
static void what_was_running_is_interrupted(void **state)
{
    QueueHub *hub = *state;
    char *id = enqueue(hub, "{\"method\":\"wait\"}");
    QueueReply reply;
    char *etag = NULL;
    char field[256];

    queue_ask(hub, &reply, 200, about("GET /job/", id, ""), NULL);
    etag = strstr(reply.head, "\r\nETag: ");
    assert_non_null(etag);
    (void)snprintf(field, sizeof(field), "If-None-Match: %.*s\r\n", (int)strcspn(etag + 8, "\r"),
                   etag + 8);
    /* From ENQUEUED, if it was not faster, to RUNNING. */
    while (strstr(reply.body, "\"state\":\"RUNNING\"") == NULL) {
        queue_reply_deinit(&reply);
        assert_true(
            queue_try(hub->port, &reply, about("GET /job/", id, "?waitMs=1000"), field, NULL));
    }
    queue_reply_deinit(&reply);
    queue_hub_kill(hub);
    queue_hub_start(hub, SETTINGS);
    queue_ask(hub, &reply, 200, about("GET /job/", id, ""), NULL);
    queue_reply_has(&reply, "/state", "FAILED");
    queue_reply_has(&reply, "/error_code", "INTERRUPTED");
    queue_reply_has(&reply, "/result/result/code", "INTERRUPTED");
    queue_reply_deinit(&reply);
    free(id);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_job_has_a_result, start, end),
        cmocka_unit_test_setup_teardown(each_path_has_its_depth, start, end),
        cmocka_unit_test_setup_teardown(a_reply_nests_the_envelope, start, end),
        cmocka_unit_test_setup_teardown(equal_ids_are_told_apart, start, end),
        cmocka_unit_test_setup_teardown(a_key_counts_once, start, end),
        cmocka_unit_test_setup_teardown(a_tag_says_whether_anything_changed, start, end),
        cmocka_unit_test_setup_teardown(a_job_that_runs_is_cancelled, start, end),
        cmocka_unit_test_setup_teardown(what_is_wrong_is_said, start, end),
        cmocka_unit_test_setup_teardown(too_much_is_refused, start, end),
        cmocka_unit_test_setup_teardown(others_are_told_about_the_hub, start, end),
        cmocka_unit_test_setup_teardown(an_application_fetches_and_answers, start_pull, end),
        cmocka_unit_test_setup_teardown(an_old_lease_is_refused, start_pull, end),
        cmocka_unit_test_setup_teardown(what_may_run_twice_is_fetched_again, start_pull, end),
        cmocka_unit_test_setup_teardown(one_that_has_gone_gets_nothing, start_pull, end),
        cmocka_unit_test_setup_teardown(several_wait_for_jobs, start_pull, end),
        cmocka_unit_test_setup_teardown(whoever_waits_at_the_end_is_answered, start_pull, end),
        cmocka_unit_test_setup_teardown(a_job_that_runs_may_end, start, end),
        cmocka_unit_test_setup_teardown(jobs_outlive_the_hub, start, end),
        cmocka_unit_test_setup_teardown(what_was_running_is_interrupted, start, end),
    };

    if (argc < 2) {
        return 2;
    }
    program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}

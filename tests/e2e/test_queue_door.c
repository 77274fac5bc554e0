/* What the command door owes to those who ask twice, fetch, or wait while the hub ends.
 *
 *   test_queue_door TOOLWIRE
 */
#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "e2e/queue_hub.h"

static const char *program;

/* `hold` ends when there is a file `go`. */
static const char tools[] =
    "[{\"name\":\"echo\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"},"
    "\"output_schema\":{\"type\":\"object\",\"properties\":{\"q\":{\"type\":\"integer\"}}},"
    "\"command\":[\"cat\"]},"
    "{\"name\":\"hold\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"},"
    "\"command\":[\"sh\",\"-c\",\"while [ ! -e go ]; do sleep 0.05; done; echo done\"],"
    "\"cwd\":\".\"}]";

#define SETTINGS "{\"tools\":\"tools.json\",\"limits\":{\"drain_ms\":60000}}"

static int start(void **state)
{
    static QueueHub hub;

    queue_hub_init(&hub, program, tools);
    queue_hub_start(&hub, SETTINGS);
    *state = &hub;
    return 0;
}

static int end(void **state)
{
    queue_hub_clean(*state);
    return 0;
}

static void answers(const QueueHub *hub, unsigned status, const char *line, const char *body,
                    const char *pointer, const char *expected)
{
    QueueReply reply;

    queue_ask(hub, &reply, status, line, body);
    queue_reply_has(&reply, pointer, expected);
    queue_reply_deinit(&reply);
}

/* ---- what is not kept ---- */

/* The command has run; what it answered is not given out as an empty success. */
static void a_dropped_result_is_gone(void **state)
{
    QueueHub *hub = *state;
    char line[160];
    char body[2048];
    QueueReply reply;
    char *id;

    queue_hub_kill(hub);
    queue_hub_start(hub, "{\"tools\":\"tools.json\",\"queue\":{\"keep_bytes\":4096}}");
    queue_ask(hub, &reply, 200, "POST /enqueue?waitMs=60000",
              "{\"method\":\"echo\",\"params\":{\"q\":1}}");
    id = queue_reply_get(&reply, "/jobId");
    queue_reply_deinit(&reply);
    (void)snprintf(body, sizeof(body), "{\"method\":\"echo\",\"params\":{\"a\":\"%01500d\"}}", 0);
    for (int i = 0; i < 4; i++) {
        answers(hub, 200, "POST /enqueue?waitMs=60000", body, "/state", "SUCCEEDED");
    }
    (void)snprintf(line, sizeof(line), "GET /get_result?jobId=%s", id);
    do {
        queue_reply_deinit(&reply);
        assert_true(queue_try(hub->port, &reply, line, "", NULL));
    } while (reply.status == 200); /* until the queue has looked at it */
    assert_int_equal(reply.status, 410);
    queue_reply_has(&reply, "/ok", "false");
    queue_reply_has(&reply, "/code", "RESULT_DROPPED");
    queue_reply_deinit(&reply);
    (void)snprintf(line, sizeof(line), "GET /job/%s", id);
    queue_ask(hub, &reply, 200, line, NULL);
    queue_reply_has(&reply, "/state", "SUCCEEDED");
    queue_reply_has(&reply, "/result/result/code", "RESULT_DROPPED");
    queue_reply_deinit(&reply);
    free(id);
}

/* ---- asking twice ---- */

#define KEYED(id)                                                                                  \
    "{\"jsonrpc\":\"2.0\",\"id\":" id                                                              \
    ",\"method\":\"echo\",\"params\":{\"q\":1},\"idempotencyKey\":\"k\"}"

/* Whoever asks again gets all of the answer, under the id that it asked with. */
static void a_repeat_has_the_whole_answer(void **state)
{
    static const char *const ids[] = {"7", "8"};
    static const char *const bodies[] = {KEYED("7"), KEYED("8")};
    const QueueHub *hub = *state;
    QueueReply reply;

    for (size_t i = 0; i < 2; i++) {
        queue_ask(hub, &reply, 200, "POST /rpc?waitMs=60000", bodies[i]);
        queue_reply_has(&reply, "/id", ids[i]);
        queue_reply_has(&reply, "/result/id", ids[i]);
        queue_reply_has(&reply, "/result/result/q", "1");
        queue_reply_deinit(&reply);
    }
    queue_ask(hub, &reply, 200, "POST /rpc", KEYED("\"nine\""));
    queue_reply_has(&reply, "/id", "nine");
    queue_reply_has(&reply, "/result/queued", "true");
    queue_reply_deinit(&reply);
    queue_ask(hub, &reply, 200, "POST /enqueue?waitMs=60000", KEYED("10"));
    queue_reply_has(&reply, "/result/result/q", "1");
    queue_reply_has(&reply, "/rpc_id", "7");
    queue_reply_deinit(&reply);
    queue_ask(hub, &reply, 200, "POST /rpc", "{\"id\":7,\"method\":\"echo\"}");
    queue_reply_has(&reply, "/id", "7");
    queue_reply_deinit(&reply);
}

/* Also if the answer came only after waiting for the job in vain. */
static void a_repeat_is_known(void **state)
{
    static const char body[] = "{\"method\":\"echo\",\"delayMs\":3600000,\"idempotencyKey\":\"k\"}";
    const QueueHub *hub = *state;

    answers(hub, 200, "POST /enqueue?waitMs=5", body, "/known", "false");
    answers(hub, 200, "POST /enqueue?wait_ms=5", body, "/known", "true");
}

/* The same values are the same parameters, however they are written. */
static void a_repeat_may_be_written_otherwise(void **state)
{
    const QueueHub *hub = *state;

    answers(hub, 200, "POST /enqueue",
            "{\"method\":\"echo\",\"params\":{\"a\":1,\"b\":[1,2]},\"idempotencyKey\":\"k\"}",
            "/known", "false");
    answers(hub, 200, "POST /enqueue",
            "{\"method\":\"echo\",\"params\":{ \"b\":[1, 2],\"\\u0061\":1 },"
            "\"idempotencyKey\":\"k\"}",
            "/known", "true");
    answers(hub, 409, "POST /enqueue",
            "{\"method\":\"echo\",\"params\":{\"a\":1,\"b\":[2,1]},\"idempotencyKey\":\"k\"}",
            "/code", "IDEMPOTENCY_KEY_REUSED");
}

/* ---- names ---- */

static void the_hub_is_named(void **state)
{
    const QueueHub *hub = *state;
    QueueReply reply;
    char number[32];
    char line[128];
    char *id;

    queue_ask(hub, &reply, 200, "POST /enqueue", "{\"method\":\"echo\"}");
    (void)snprintf(number, sizeof(number), "%u", hub->port);
    queue_reply_has(&reply, "/serverPort", number);
    (void)snprintf(number, sizeof(number), "%ld", (long)hub->pid);
    queue_reply_has(&reply, "/serverPid", number);
    id = queue_reply_get(&reply, "/jobId");
    queue_reply_deinit(&reply);
    (void)snprintf(line, sizeof(line), "GET /job/%s", id);
    (void)snprintf(number, sizeof(number), "%u", hub->port);
    answers(hub, 200, line, NULL, "/target_port", number);
    free(id);
}

static void a_method_is_known_by_who_fetches_it(void **state)
{
    static const char other[] = "{\"method\":\"app.other\"}";
    const QueueHub *hub = *state;
    QueueReply reply;

    answers(hub, 404, "POST /enqueue", other, "/code", "UNKNOWN_COMMAND");
    queue_ask(hub, &reply, 204, "GET /pending_request?methods=app.do", NULL);
    queue_reply_deinit(&reply);
    answers(hub, 200, "POST /enqueue", "{\"method\":\"app.do\"}", "/ok", "true");
    answers(hub, 404, "POST /enqueue", other, "/code", "UNKNOWN_COMMAND");
    queue_ask(hub, &reply, 200, "GET /pending_request", NULL);
    queue_reply_deinit(&reply);
    answers(hub, 200, "POST /enqueue", other, "/ok", "true");
}

static void the_document_tells_of_the_envelope(void **state)
{
    const QueueHub *hub = *state;

    answers(hub, 200, "GET /docs/openrpc.json", NULL, "/methods/0/result/schema/properties/q/type",
            "integer");
    answers(hub, 200, "GET /docs/openrpc.json", NULL, "/methods/0/result/schema/properties/ok/type",
            "boolean");
}

/* ---- refusals ---- */

/* Whoever reads envelopes can read every answer at these paths. */
static void the_guards_speak_in_envelopes(void **state)
{
    const QueueHub *hub = *state;
    QueueReply reply;

    assert_true(
        queue_try(hub->port, &reply, "GET /jobs", "Origin: http://elsewhere.test\r\n", NULL));
    assert_int_equal(reply.status, 403);
    queue_reply_has(&reply, "/ok", "false");
    queue_reply_has(&reply, "/code", "FORBIDDEN");
    queue_reply_deinit(&reply);
    assert_true(queue_try(hub->port, &reply, "POST /rpc", "Origin: http://elsewhere.test\r\n",
                          "{\"id\":1}"));
    assert_int_equal(reply.status, 403);
    queue_reply_has(&reply, "/result/result/code", "FORBIDDEN");
    queue_reply_deinit(&reply);
    answers(hub, 404, "GET /job/", NULL, "/code", "E_NOT_FOUND");
    answers(hub, 404, "POST /rpc/", "{}", "/code", "E_NOT_FOUND");
}

static int start_with_token(void **state)
{
    static QueueHub hub;
    char path[128];
    FILE *file;

    queue_hub_init(&hub, program, tools);
    (void)snprintf(path, sizeof(path), "%s/token", hub.folder);
    (void)umask(077);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs("0123456789abcdef0123456789abcdef\n", file) > 0);
    assert_int_equal(fclose(file), 0);
    queue_hub_start(&hub, "{\"tools\":\"tools.json\",\"http\":{\"token_file\":\"token\"}}");
    *state = &hub;
    return 0;
}

/* Each says what is wrong with the request: none of them is a failure of the hub. */
static void credentials_are_refused_by_name(void **state)
{
#define BEARER "Authorization: Bearer 0123456789abcdef0123456789abcdef\r\n"
    static const struct {
        const char *line;
        const char *fields;
        unsigned status;
        const char *code;
    } cases[] = {
        {"GET /jobs", BEARER, 200, ""},
        {"GET /jobs", NULL, 401, "UNAUTHORIZED"},
        {"GET /jobs", "Authorization: Bearer wrong\r\n", 401, "UNAUTHORIZED"},
        {"GET /jobs?access_token=x", NULL, 400, "INVALID_REQUEST"},
        {"GET /jobs?limit=1&access_token=x", BEARER, 400, "INVALID_REQUEST"},
        {"GET /job/x?access_token=x", NULL, 400, "INVALID_REQUEST"},
        {"GET /jobs", BEARER BEARER, 400, "INVALID_REQUEST"},
        {"GET /jobs", BEARER "Content-Encoding: gzip\r\n", 415, "UNSUPPORTED_MEDIA_TYPE"},
    };
    const QueueHub *hub = *state;
    QueueReply reply;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_true(queue_try(hub->port, &reply, cases[i].line, cases[i].fields, NULL));
        assert_int_equal(reply.status, cases[i].status);
        queue_reply_has(&reply, "/code", cases[i].code);
        queue_reply_deinit(&reply);
    }
    assert_true(queue_try(hub->port, &reply, "POST /rpc?access_token=x", NULL, "{\"id\":1}"));
    assert_int_equal(reply.status, 400);
    queue_reply_has(&reply, "/result/result/code", "INVALID_REQUEST");
    queue_reply_deinit(&reply);
}

/* The client has the answer, though it was still writing. */
static void too_much_is_an_envelope(void **state)
{
    const QueueHub *hub = *state;
    size_t n = (size_t)24 * 1024 * 1024;
    char *body = malloc(n + 1);

    assert_non_null(body);
    memset(body, ' ', n);
    body[n] = '\0';
    answers(hub, 413, "POST /enqueue", body, "/code", "TOO_LARGE");
    free(body);
}

/* ---- the end ---- */

/* Whoever waits for a job that runs is told how it ended, though the hub was told to end before. */
static void a_result_comes_while_the_hub_ends(void **state)
{
    QueueHub *hub = *state;
    QueueReply reply;
    char line[160];
    char path[128];
    FILE *go;
    char *id;
    int idle;
    int fd;

    queue_ask(hub, &reply, 200, "POST /enqueue", "{\"method\":\"hold\"}");
    id = queue_reply_get(&reply, "/jobId");
    queue_reply_deinit(&reply);
    (void)snprintf(line, sizeof(line), "GET /job/%s?waitMs=10", id);
    do {
        queue_ask(hub, &reply, 200, line, NULL);
        fd = strstr(reply.body, "\"state\":\"RUNNING\"") != NULL;
        queue_reply_deinit(&reply);
    } while (!fd);
    (void)snprintf(line, sizeof(line), "GET /get_result?jobId=%s&waitMs=60000", id);
    fd = queue_send(hub->port, line, NULL, NULL);
    idle = queue_send(hub->port, "GET /pending_request?waitMs=60000", NULL, NULL);
    queue_ask(hub, &reply, 200, "GET /health", NULL);
    queue_reply_deinit(&reply);
    queue_hub_end(hub);
    /* That one is told at once: the hub has heard. */
    assert_true(queue_receive(idle, &reply));
    assert_int_equal(reply.status, 204);
    queue_reply_deinit(&reply);
    (void)snprintf(path, sizeof(path), "%s/go", hub->folder);
    go = fopen(path, "w");
    assert_non_null(go);
    assert_int_equal(fclose(go), 0);
    assert_true(queue_receive(fd, &reply));
    assert_int_equal(reply.status, 200);
    queue_reply_has(&reply, "/result/result/result", "done");
    queue_reply_deinit(&reply);
    free(id);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_dropped_result_is_gone, start, end),
        cmocka_unit_test_setup_teardown(a_repeat_has_the_whole_answer, start, end),
        cmocka_unit_test_setup_teardown(a_repeat_is_known, start, end),
        cmocka_unit_test_setup_teardown(a_repeat_may_be_written_otherwise, start, end),
        cmocka_unit_test_setup_teardown(the_hub_is_named, start, end),
        cmocka_unit_test_setup_teardown(a_method_is_known_by_who_fetches_it, start, end),
        cmocka_unit_test_setup_teardown(the_document_tells_of_the_envelope, start, end),
        cmocka_unit_test_setup_teardown(the_guards_speak_in_envelopes, start, end),
        cmocka_unit_test_setup_teardown(credentials_are_refused_by_name, start_with_token, end),
        cmocka_unit_test_setup_teardown(too_much_is_an_envelope, start, end),
        cmocka_unit_test_setup_teardown(a_result_comes_while_the_hub_ends, start, end),
    };

    if (argc < 2) {
        return 2;
    }
    program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}

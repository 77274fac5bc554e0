/* Applications and the real hub: those that fetch their jobs, with signs of life and late answers;
 * and what is accepted for one that is known, and busy or not there at the moment.
 *
 *   test_queue_fetch TOOLWIRE
 */
#include "support/cmocka.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "e2e/peer.h"
#include "e2e/queue_hub.h"

static const char *program;

static const char tools[] =
    "[{\"name\":\"own\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\","
    "\"properties\":{\"n\":{\"type\":\"integer\"}}},\"command\":[\"cat\"]},"
    "{\"name\":\"hold\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"},"
    "\"command\":[\"sleep\",\"1000\"],\"timeout_ms\":900000}]";

#define SETTINGS      "{\"tools\":\"tools.json\"}"
#define SETTINGS_PULL "{\"tools\":\"tools.json\",\"queue\":{\"pull\":true}}"
#define SETTINGS_PIPE "{\"tools\":\"tools.json\",\"pipe\":{\"name\":\"Apps\"}}"
/* Known only while it is there. */
#define SETTINGS_BRIEF                                                                             \
    "{\"tools\":\"tools.json\",\"pipe\":{\"name\":\"Apps\"},\"queue\":{\"known_ms\":1}}"

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

static int start_pipe(void **state)
{
    return start_with(state, SETTINGS_PIPE);
}

static int start_brief(void **state)
{
    return start_with(state, SETTINGS_BRIEF);
}

static int end(void **state)
{
    queue_hub_clean(*state);
    return 0;
}

static const char *about(const char *before, const char *id, const char *behind)
{
    static char line[256];

    (void)snprintf(line, sizeof(line), "%s%s%s", before, id, behind);
    return line;
}

static char *enqueue(const QueueHub *hub, const char *body)
{
    QueueReply reply;
    char *id;

    queue_ask(hub, &reply, 200, "POST /enqueue", body);
    id = queue_reply_get(&reply, "/jobId");
    queue_reply_deinit(&reply);
    return id;
}

/* What it is given: the id that names the job and its lease. */
static char *fetch(const QueueHub *hub, const char *line)
{
    QueueReply reply;
    char *id;

    queue_ask(hub, &reply, 200, line, NULL);
    id = queue_reply_get(&reply, "/id");
    queue_reply_deinit(&reply);
    return id;
}

static void answers(const QueueHub *hub, unsigned status, const char *line, const char *body,
                    const char *pointer, const char *expected)
{
    QueueReply reply;

    queue_ask(hub, &reply, status, line, body);
    queue_reply_has(&reply, pointer, expected);
    queue_reply_deinit(&reply);
}

static void post_result(const QueueHub *hub, unsigned status, const char *handed,
                        const char *pointer, const char *expected)
{
    char body[256];

    (void)snprintf(body, sizeof(body),
                   "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"result\":{\"ok\":true,\"v\":1}}", handed);
    answers(hub, status, "POST /post_result", body, pointer, expected);
}

/* ---- signs of life ---- */

#define JOB "{\"method\":\"app.do\",\"id\":\"r-1\"}"

static void a_job_is_named_in_the_head(void **state)
{
    const QueueHub *hub = *state;
    char *id = enqueue(hub, JOB);
    static const char name[] = "\r\nX-Job-Id: ";
    const char *field;
    QueueReply reply;

    queue_ask(hub, &reply, 200, "GET /pending_request", NULL);
    field = strstr(reply.head, name);
    assert_non_null(field);
    field += strlen(name);
    assert_int_equal(strcspn(field, "\r"), strlen(id));
    assert_memory_equal(field, id, strlen(id));
    queue_reply_deinit(&reply);
    free(id);
}

/* By any method, and by each of its names. */
static void a_sign_of_life_comes_in_many_ways(void **state)
{
    const QueueHub *hub = *state;
    char *id = enqueue(hub, JOB);
    char *handed = fetch(hub, "GET /pending_request");
    char body[256];

    answers(hub, 200, about("GET /heartbeat?rpcId=", handed, ""), NULL, "/state", "RUNNING");
    answers(hub, 200, about("GET /heartbeat?jobId=", handed, ""), NULL, "/state", "RUNNING");
    answers(hub, 200, about("GET /heartbeat?jobId=", id, ""), NULL, "/state", "RUNNING");
    answers(hub, 200, about("POST /heartbeat?rpcId=", handed, ""), NULL, "/leaseMs", "60000");
    answers(hub, 200, about("POST /heartbeat?jobId=", id, "&leaseMs=70000"), "{}", "/leaseMs",
            "70000");
    (void)snprintf(body, sizeof(body), "{\"rpcId\":\"%s\"}", handed);
    answers(hub, 200, "POST /heartbeat", body, "/leaseMs", "70000");
    (void)snprintf(body, sizeof(body), "{\"jobId\":\"%s\"}", id);
    answers(hub, 200, "POST /heartbeat", body, "/ok", "true");
    answers(hub, 400, "GET /heartbeat", NULL, "/code", "INVALID_PARAMS");
    answers(hub, 400, "GET /heartbeat?rpcId=7", NULL, "/code", "E_BAD_ID");
    /* An answer needs the lease. */
    (void)snprintf(body, sizeof(body), "{\"jobId\":\"%s\",\"result\":{\"ok\":true}}", id);
    answers(hub, 400, "POST /post_result", body, "/code", "INVALID_PARAMS");
    post_result(hub, 200, handed, "/state", "SUCCEEDED");
    answers(hub, 409, about("GET /heartbeat?jobId=", id, ""), NULL, "/code", "ALREADY_OVER");
    free(handed);
    free(id);
}

/* What the hub runs itself has no lease that others could prolong. */
static void only_a_lease_is_prolonged(void **state)
{
    const QueueHub *hub = *state;
    char *id = enqueue(hub, "{\"method\":\"hold\"}");

    answers(hub, 409, about("GET /heartbeat?jobId=", id, ""), NULL, "/code", "LEASE_LOST");
    answers(hub, 200, about("DELETE /job/", id, ""), NULL, "/state", "CANCELLED");
    free(id);
}

/* Of two leases of the same length, the one that is renewed outlives the other. */
static void a_job_lives_as_long_as_it_beats(void **state)
{
    const QueueHub *hub = *state;
    char *lives = enqueue(hub, JOB);
    char *first = fetch(hub, "GET /pending_request?leaseMs=2000");
    char *dies;
    char *second;

    answers(hub, 200, about("GET /heartbeat?rpcId=", first, "&leaseMs=60000"), NULL, "/leaseMs",
            "60000");
    dies = enqueue(hub, JOB);
    second = fetch(hub, "GET /pending_request?leaseMs=2000");
    answers(hub, 200, about("GET /job/", dies, "?waitMs=60000"), NULL, "/error_code",
            "INTERRUPTED");
    answers(hub, 200, about("GET /job/", lives, ""), NULL, "/state", "RUNNING");
    post_result(hub, 200, first, "/state", "SUCCEEDED");
    free(second);
    free(dies);
    free(first);
    free(lives);
}

/* ---- late answers ---- */

static char *lose(const QueueHub *hub, const char *body, char **ret_handed)
{
    char *id = enqueue(hub, body);

    *ret_handed = fetch(hub, "GET /pending_request?leaseMs=20");
    return id;
}

/* Nobody else has taken the job: what was lost is found. */
static void a_late_answer_is_taken(void **state)
{
    const QueueHub *hub = *state;
    char *handed;
    char *id = lose(hub, JOB, &handed);

    answers(hub, 200, about("GET /job/", id, "?waitMs=60000"), NULL, "/state", "FAILED");
    post_result(hub, 200, handed, "/state", "SUCCEEDED");
    answers(hub, 200, about("GET /get_result?jobId=", id, ""), NULL, "/result/result/v", "1");
    answers(hub, 200, about("GET /job/", id, ""), NULL, "/error_code", "null");
    answers(hub, 200, "GET /health", NULL, "/jobs/SUCCEEDED", "1");
    answers(hub, 200, "GET /health", NULL, "/jobs/FAILED", "0");
    /* Once. */
    post_result(hub, 409, handed, "/code", "ALREADY_OVER");
    free(handed);
    free(id);
}

/* So is what its own time was too short for. */
static void an_answer_after_its_time_is_taken(void **state)
{
    const QueueHub *hub = *state;
    char *id = enqueue(hub, "{\"method\":\"app.do\",\"timeoutMs\":20}");
    char *handed = fetch(hub, "GET /pending_request?leaseMs=60000");
    char *cancelled;
    char *other;

    answers(hub, 200, about("GET /job/", id, "?waitMs=60000"), NULL, "/state", "TIMEOUT");
    post_result(hub, 200, handed, "/state", "SUCCEEDED");
    answers(hub, 200, about("GET /get_result?jobId=", id, ""), NULL, "/result/result/v", "1");
    answers(hub, 200, "GET /health", NULL, "/jobs/TIMEOUT", "0");
    post_result(hub, 409, handed, "/code", "ALREADY_OVER");
    other = enqueue(hub, JOB);
    cancelled = fetch(hub, "GET /pending_request?leaseMs=60000");
    answers(hub, 200, about("DELETE /job/", other, ""), NULL, "/state", "CANCELLED");
    post_result(hub, 409, cancelled, "/code", "ALREADY_OVER");
    free(cancelled);
    free(other);
    free(handed);
    free(id);
}

/* Also after a restart of the hub, and if it was to be run again. */
static void a_late_answer_outlives_the_hub(void **state)
{
    QueueHub *hub = *state;
    char *handed;
    char *retried;
    char *id = lose(hub, JOB, &handed);
    char *other = lose(hub, JOB, &retried);

    answers(hub, 200, about("GET /job/", id, "?waitMs=60000"), NULL, "/state", "FAILED");
    answers(hub, 200, about("GET /job/", other, "?waitMs=60000"), NULL, "/state", "FAILED");
    answers(hub, 200, about("POST /job/", other, "/retry"), NULL, "/state", "ENQUEUED");
    queue_hub_kill(hub);
    queue_hub_start(hub, SETTINGS_PULL);
    post_result(hub, 200, handed, "/state", "SUCCEEDED");
    post_result(hub, 200, retried, "/state", "SUCCEEDED");
    answers(hub, 204, "GET /pending_request", NULL, "", "");
    free(retried);
    free(handed);
    free(other);
    free(id);
}

/* Whoever has taken it meanwhile answers, and nobody else; nor is what was cancelled answered. */
static void a_late_answer_is_nobody_elses(void **state)
{
    const QueueHub *hub = *state;
    char *handed;
    char *id = lose(hub, "{\"method\":\"app.do\",\"idempotent\":true}", &handed);
    char *second = fetch(hub, "GET /pending_request?waitMs=60000");
    char *cancelled;
    char *other = lose(hub, JOB, &cancelled);

    post_result(hub, 409, handed, "/code", "LEASE_LOST");
    post_result(hub, 200, second, "/state", "SUCCEEDED");
    answers(hub, 200, about("GET /job/", other, "?waitMs=60000"), NULL, "/state", "FAILED");
    answers(hub, 200, about("POST /job/", other, "/retry"), NULL, "/state", "ENQUEUED");
    answers(hub, 200, about("DELETE /job/", other, ""), NULL, "/state", "CANCELLED");
    post_result(hub, 409, cancelled, "/code", "ALREADY_OVER");
    free(cancelled);
    free(other);
    free(second);
    free(handed);
    free(id);
}

/* ---- who is known ---- */

#define OTHER "{\"method\":\"app.other\"}"

/* It was known, and is not any more: its method is refused from some moment on. */
static void wait_until_unknown(const QueueHub *hub, const char *body)
{
    unsigned status = 0;

    for (int i = 0; status != 404; i++) {
        QueueReply reply;

        assert_true(i < QUEUE_HANG_MS);
        (void)usleep(1000);
        assert_true(queue_try(hub->port, &reply, "POST /enqueue", NULL, body));
        status = reply.status;
        queue_reply_deinit(&reply);
    }
}

/* Whoever works on a job does not ask for the next one, and takes it later. */
static void what_a_busy_application_takes_is_accepted(void **state)
{
    QueueHub *hub = *state;
    int fd = queue_send(hub->port, "GET /pending_request?waitMs=60000", NULL, NULL);
    char *id;
    char *handed;
    QueueReply reply;

    /* Its question is there when another one is answered. */
    answers(hub, 204, "GET /pending_request?methods=none&waitMs=1", NULL, "", "");
    id = enqueue(hub, JOB);
    assert_true(queue_receive(fd, &reply));
    assert_int_equal(reply.status, 200);
    handed = queue_reply_get(&reply, "/id");
    queue_reply_deinit(&reply);
    (void)usleep(5000); /* longer than it is known for */
    free(enqueue(hub, OTHER));
    answers(hub, 200, about("GET /heartbeat?rpcId=", handed, ""), NULL, "/state", "RUNNING");
    free(enqueue(hub, OTHER));
    /* The next hub knows of it through its job. */
    queue_hub_kill(hub);
    queue_hub_start(hub, SETTINGS_BRIEF);
    free(enqueue(hub, OTHER));
    post_result(hub, 200, handed, "/state", "SUCCEEDED");
    wait_until_unknown(hub, OTHER);
    free(handed);
    free(id);
}

/* One that says what it takes denies the rest. */
static void what_a_busy_application_does_not_take_is_unknown(void **state)
{
    const QueueHub *hub = *state;
    int fd = queue_send(hub->port, "GET /pending_request?waitMs=60000&methods=app.do,app.more",
                        NULL, NULL);
    QueueReply reply;

    answers(hub, 204, "GET /pending_request?methods=none&waitMs=1", NULL, "", "");
    free(enqueue(hub, JOB));
    assert_true(queue_receive(fd, &reply));
    assert_int_equal(reply.status, 200);
    queue_reply_deinit(&reply);
    (void)usleep(5000);
    free(enqueue(hub, "{\"method\":\"app.more\"}"));
    answers(hub, 404, "POST /enqueue", OTHER, "/code", "UNKNOWN_COMMAND");
}

#define ADDED "{\"method\":\"added\",\"params\":{\"a\":1}}"

static pid_t start_addin(const QueueHub *hub)
{
    char path[160];
    const char *const arguments[] = {"addin",   "--pipe", "Apps",        "--retry-ms", "10ms",
                                     "--tools", path,     "--log-level", "error",      NULL};
    int quiet = open("/dev/null", O_RDWR | O_CLOEXEC);
    FILE *file;
    pid_t pid;

    (void)snprintf(path, sizeof(path), "%s/addin.json", hub->folder);
    file = fopen(path, "w");
    assert_non_null(file);
    (void)fputs("[{\"name\":\"added\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"},"
                "\"output_schema\":{\"type\":\"object\"},\"command\":[\"cat\"]}]",
                file);
    assert_int_equal(fclose(file), 0);
    pid = peer_spawn_all(program, arguments, quiet, quiet, quiet);
    (void)close(quiet);
    return pid;
}

static void kill_addin(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    (void)peer_wait(pid);
}

static void wait_for_tools(const QueueHub *hub, const char *n)
{
    for (int i = 0;; i++) {
        QueueReply reply;
        char *got;
        bool is_so;

        queue_ask(hub, &reply, 200, "GET /health", NULL);
        got = queue_reply_get(&reply, "/tools");
        is_so = strcmp(got, n) == 0;
        free(got);
        queue_reply_deinit(&reply);
        if (is_so) {
            return;
        }
        assert_true(i < QUEUE_HANG_MS);
        (void)usleep(1000);
    }
}

/* Its jobs wait, and begin when it is there again. */
static void an_addin_may_start_again(void **state)
{
    const QueueHub *hub = *state;
    pid_t pid;
    char *id;

    answers(hub, 404, "POST /enqueue", ADDED, "/code", "UNKNOWN_COMMAND"); /* never seen */
    pid = start_addin(hub);
    wait_for_tools(hub, "3");
    answers(hub, 404, "POST /enqueue", OTHER, "/code", "UNKNOWN_COMMAND"); /* it denies that */
    kill_addin(pid);
    wait_for_tools(hub, "2");
    id = enqueue(hub, ADDED);
    answers(hub, 200, about("GET /job/", id, ""), NULL, "/error_code", "UNAVAILABLE");
    free(enqueue(hub, OTHER)); /* it may have that, when it comes */
    /* What was a tool is not for those who fetch. */
    answers(hub, 204, "GET /pending_request", NULL, "", "");
    pid = start_addin(hub);
    answers(hub, 200, about("GET /job/", id, "?waitMs=60000"), NULL, "/result/result/a", "1");
    kill_addin(pid);
    free(id);
}

static void an_addin_is_forgotten(void **state)
{
    const QueueHub *hub = *state;
    pid_t pid = start_addin(hub);

    wait_for_tools(hub, "3");
    kill_addin(pid);
    wait_until_unknown(hub, ADDED);
}

/* ---- times ---- */

/* What its schema refuses has taken none of the tool's time. */
static void a_refused_job_has_no_time_of_its_tool(void **state)
{
    const QueueHub *hub = *state;
    QueueReply reply;

    queue_ask(hub, &reply, 200, "POST /enqueue?waitMs=60000",
              "{\"method\":\"own\",\"params\":{\"n\":\"x\"}}");
    queue_reply_has(&reply, "/state", "FAILED");
    queue_reply_has(&reply, "/result/result/code", "INVALID_PARAMS");
    queue_reply_has(&reply, "/result/result/timings/revitMs", "0");
    queue_reply_deinit(&reply);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_job_is_named_in_the_head, start_pull, end),
        cmocka_unit_test_setup_teardown(a_sign_of_life_comes_in_many_ways, start_pull, end),
        cmocka_unit_test_setup_teardown(only_a_lease_is_prolonged, start, end),
        cmocka_unit_test_setup_teardown(a_job_lives_as_long_as_it_beats, start_pull, end),
        cmocka_unit_test_setup_teardown(a_late_answer_is_taken, start_pull, end),
        cmocka_unit_test_setup_teardown(an_answer_after_its_time_is_taken, start_pull, end),
        cmocka_unit_test_setup_teardown(a_late_answer_outlives_the_hub, start_pull, end),
        cmocka_unit_test_setup_teardown(a_late_answer_is_nobody_elses, start_pull, end),
        cmocka_unit_test_setup_teardown(what_a_busy_application_takes_is_accepted, start_brief,
                                        end),
        cmocka_unit_test_setup_teardown(what_a_busy_application_does_not_take_is_unknown,
                                        start_brief, end),
        cmocka_unit_test_setup_teardown(an_addin_may_start_again, start_pipe, end),
        cmocka_unit_test_setup_teardown(an_addin_is_forgotten, start_brief, end),
        cmocka_unit_test_setup_teardown(a_refused_job_has_no_time_of_its_tool, start, end),
    };

    if (argc < 2) {
        (void)fprintf(stderr, "usage: test_queue_fetch TOOLWIRE\n");
        return 2;
    }
    program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}

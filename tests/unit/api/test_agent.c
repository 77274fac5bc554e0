/* Agents behind the public functions. They are shell scripts, which read lines and print others. */
#include <toolwire/toolwire.h>

#include "support/cmocka.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/oom_sweep.h"

#define SAY(json) "printf '%s\\n' '" json "'; "
#define READY                                                                                      \
    SAY("{\"type\":\"ready\",\"version\":\"1.0.0\",\"capabilities\":[\"tools\"],\"timestamp\":1}")

#define TOOL(type, more)                                                                           \
    "{\"type\":\"tool_" type "\",\"id\":\"req-1\",\"data\":{\"toolId\":\"t\","                     \
    "\"toolName\":\"write_file\"," more "}}"
#define TOOL_USE      TOOL("use", "\"input\":{\"p\":1},\"approvalRequired\":true")
#define TOOL_PROGRESS TOOL("progress", "\"elapsedMs\":5,\"message\":\"half\"")
#define TOOL_RESULT   TOOL("result", "\"result\":[1]")
#define TOOL_ERROR    TOOL("result", "\"error\":\"refused\"")
#define TOKEN(text)   "{\"type\":\"token\",\"id\":\"req-1\",\"token\":\"" text "\"}"
#define DONE          "{\"type\":\"done\",\"id\":\"req-1\"}"

typedef struct Run {
    TwAgentClient *client;
    TwAgentClientOptions options;
    char heard[4096];
    bool approves;
    bool stops;
} Run;

static void on_event(const TwAgentEvent *event, void *user)
{
    static const char *const names[] = {"ready",       "token", "tool_use", "tool_progress",
                                        "tool_result", "done",  "status",   "error",
                                        "log",         "ended"};
    Run *run = user;
    size_t n = strlen(run->heard);

    (void)snprintf(run->heard + n, sizeof(run->heard) - n, "%s %s|%.*s|%s|%s|%s%s\n",
                   names[event->kind], event->id, (int)event->n_text, event->text,
                   event->json != NULL ? event->json : "-", event->tool_id, event->tool_name,
                   event->is_error            ? " failed"
                   : event->approval_required ? " asks"
                                              : "");
    if (event->approval_required) {
        assert_int_equal(tw_agent_client_approve(run->client, event->tool_id, run->approves), 0);
    }
    if (run->stops && event->kind == TW_AGENT_TOKEN) {
        tw_agent_client_stop(run->client);
    }
}

static void run_init(Run *run)
{
    *run = (Run){.client = NULL};
    run->options = (TwAgentClientOptions){.event = on_event, .user = run, .restart_ms = 1};
}

static int run_start(Run *run, const char *script)
{
    const char *argv[] = {"sh", "-c", script, NULL};

    run->client = tw_agent_client_new(&run->options);
    assert_non_null(run->client);
    return tw_agent_client_start(run->client, argv);
}

static int run_say(Run *run, const char *message)
{
    TwAgentMessage said = {.message = message};

    return tw_agent_client_say(run->client, &said);
}

/* What was heard since the last time. */
static void assert_heard(Run *run, const char *expected)
{
    assert_string_equal(run->heard, expected);
    run->heard[0] = '\0';
}

static void a_message_is_answered_token_by_token(void **state)
{
    Run run;

    (void)state;
    run_init(&run);
    assert_int_equal(
        run_start(&run, READY "read -r a; " SAY(TOKEN("He")) "echo log; " SAY(TOKEN("llo"))
                            SAY("{\"type\":\"done\",\"id\":\"req-1\",\"data\":{\"a\":1}}") "cat"),
        0);
    assert_heard(&run, "ready |1.0.0|[\"tools\"]||\n");
    assert_int_equal(run_say(&run, "hi"), 0);
    assert_heard(&run, "token req-1|He|-||\nlog |log|-||\ntoken req-1|llo|-||\n"
                       "done req-1||{\"a\":1}||\n");
    assert_int_equal(tw_agent_client_open(run.client), 0);
    assert_int_equal(tw_agent_client_wait(run.client, 0), 0);
    tw_agent_client_free(run.client);
}

static void tools_are_shown_and_approved_from_the_callback(void **state)
{
    static const char script[] = READY "read -r a; " SAY(
        TOOL_USE) "read -r b; case $b in *'\"approved\":true'*) " SAY(TOOL_PROGRESS)
        SAY(TOOL_RESULT) ";; *) " SAY(TOOL_ERROR) ";; esac; " SAY(
            "{\"type\":\"done\",\"id\":\"req-2\"}") SAY(DONE) "cat";
    Run run;

    (void)state;
    for (int approves = 0; approves < 2; approves++) {
        run_init(&run);
        run.approves = approves != 0;
        assert_int_equal(run_start(&run, script), 0);
        assert_int_equal(run_say(&run, "write"), 0);
        assert_heard(&run,
                     approves != 0
                         ? "ready |1.0.0|[\"tools\"]||\n"
                           "tool_use req-1||{\"p\":1}|t|write_file asks\n"
                           "tool_progress req-1|half|-|t|write_file\n"
                           "tool_result req-1||[1]|t|write_file\ndone req-2||-||\n"
                           "done req-1||-||\n"
                         : "ready |1.0.0|[\"tools\"]||\n"
                           "tool_use req-1||{\"p\":1}|t|write_file asks\n"
                           "tool_result req-1|refused|-|t|write_file failed\ndone req-2||-||\n"
                           "done req-1||-||\n");
        tw_agent_client_free(run.client);
    }
}

static void several_are_open_at_once_and_waited_for(void **state)
{
    TwAgentMessage message = {.message = "m", .conversation = "c"};
    char id[TW_AGENT_ID_SIZE];
    Run run;

    (void)state;
    run_init(&run);
    assert_int_equal(
        run_start(&run, READY "read a; read b; " SAY("{\"type\":\"done\",\"id\":\"req-2\"}")
                            SAY("{\"type\":\"error\",\"id\":\"req-1\",\"error\":\"no\"}") "cat"),
        0);
    assert_int_equal(tw_agent_client_send(run.client, &message, id), 0);
    assert_string_equal(id, "req-1");
    assert_int_equal(tw_agent_client_ask(run.client, TW_AGENT_GET_STATUS, NULL, id), 0);
    assert_string_equal(id, "req-2");
    assert_int_equal(tw_agent_client_open(run.client), 2);
    assert_int_equal(tw_agent_client_wait(run.client, 60000), 0);
    assert_heard(&run, "ready |1.0.0|[\"tools\"]||\ndone req-2||-||\nerror req-1|no|-||\n");
    tw_agent_client_free(run.client);
}

static void failures_have_words(void **state)
{
    Run run;

    (void)state;
    run_init(&run);
    assert_int_equal(
        run_start(
            &run,
            READY "read a; " SAY(
                "{\"type\":\"error\",\"id\":\"req-1\",\"error\":\"rate limit\"}") "read b; exit 3"),
        0);
    assert_int_equal(run_say(&run, "one"), TW_ERROR_REMOTE);
    assert_string_equal(tw_agent_client_message(run.client), "rate limit");
    assert_int_equal(run_say(&run, "two"), TW_ERROR_CLOSED);
    assert_string_equal(tw_agent_client_message(run.client), "the agent ended (exit status 3)");
    /* It is started again: what is said waits for it. Its ids go on. */
    assert_int_equal(tw_agent_client_send(run.client, &(TwAgentMessage){.message = "x"}, NULL), 0);
    assert_int_equal(run_say(&run, "y"), TW_ERROR_CLOSED);
    assert_non_null(strstr(run.heard, "ended |the agent ended (exit status 3)|"));
    tw_agent_client_free(run.client);
}

static void silence_is_a_timeout_and_stop_ends_the_waiting(void **state)
{
    Run run;

    (void)state;
    run_init(&run);
    run.options.idle_ms = 1000000;
    assert_int_equal(
        run_start(&run, READY "read a; " SAY("{\"type\":\"token\",\"id\":\"req-1\",\"token\":"
                                             "\"x\"}") "cat >/dev/null"),
        0);
    run.stops = true;
    assert_int_equal(run_say(&run, "one"), TW_ERROR_CANCELLED);
    assert_int_equal(tw_agent_client_open(run.client), 1);
    assert_int_equal(tw_agent_client_wait(run.client, 1), TW_ERROR_TIMEOUT);
    tw_agent_client_free(run.client);
    run_init(&run);
    run.options.idle_ms = 20;
    assert_int_equal(run_start(&run, "cat >/dev/null"), TW_ERROR_TIMEOUT);
    tw_agent_client_free(run.client);
}

typedef struct Stopper {
    TwAgentClient *client;
    atomic_bool is_over;
} Stopper;

static void *stop_again_and_again(void *context)
{
    Stopper *stopper = context;

    while (!atomic_load(&stopper->is_over)) {
        tw_agent_client_stop(stopper->client);
        (void)sched_yield();
    }
    return NULL;
}

static void another_thread_may_stop_the_waiting(void **state)
{
    Stopper stopper;
    pthread_t thread;
    Run run;

    (void)state;
    run_init(&run);
    assert_int_equal(run_start(&run, READY "cat >/dev/null"), 0);
    stopper.client = run.client;
    atomic_init(&stopper.is_over, false);
    assert_int_equal(pthread_create(&thread, NULL, stop_again_and_again, &stopper), 0);
    assert_int_equal(run_say(&run, "one"), TW_ERROR_CANCELLED);
    assert_int_equal(run_say(&run, "two"), TW_ERROR_CANCELLED);
    atomic_store(&stopper.is_over, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    tw_agent_client_free(run.client);
}

static void what_cannot_start_or_be_used_is_told(void **state)
{
    const char *argv[] = {"/no/such/agent", NULL};
    TwAgentMessage message = {.message = "m"};
    TwAgentAttachment nothing = {.mime = "text/plain"};
    Run run;

    (void)state;
    run_init(&run);
    run.client = tw_agent_client_new(NULL);
    assert_int_equal(tw_agent_client_start(run.client, argv), TW_ERROR_START);
    assert_non_null(strstr(tw_agent_client_message(run.client), "/no/such/agent"));
    assert_int_equal(tw_agent_client_say(run.client, &message), TW_ERROR_CLOSED);
    assert_int_equal(tw_agent_client_wait(run.client, 0), TW_ERROR_CLOSED);
    tw_agent_client_stop(run.client);
    tw_agent_client_free(run.client);
    assert_int_equal(tw_agent_client_say(NULL, &message), TW_ERROR_ARGUMENT);
    assert_int_equal(tw_agent_client_start(NULL, argv), TW_ERROR_ARGUMENT);
    assert_int_equal(tw_agent_client_open(NULL), 0);
    assert_string_equal(tw_agent_client_message(NULL), "there is no client");
    tw_agent_client_stop(NULL);
    tw_agent_client_free(NULL);
    run_init(&run);
    run.options.no_restart = true;
    run.options.drop_stderr = true;
    assert_int_equal(run_start(&run, "echo sorry >&2; exit 7"), TW_ERROR_CLOSED);
    assert_string_equal(tw_agent_client_message(run.client),
                        "the agent ended (exit status 7); it said: sorry");
    tw_agent_client_free(run.client);
    run_init(&run);
    assert_int_equal(run_start(&run, READY "cat"), 0);
    assert_int_equal(tw_agent_client_start(run.client, argv), TW_ERROR_BUSY);
    message.message = NULL;
    assert_int_equal(tw_agent_client_say(run.client, &message), TW_ERROR_ARGUMENT);
    message.attachments = &nothing;
    message.n_attachments = 1;
    assert_int_equal(tw_agent_client_say(run.client, &message), TW_ERROR_ARGUMENT);
    assert_int_equal(tw_agent_client_ask(run.client, TW_AGENT_LOAD_CONVERSATION, NULL, NULL),
                     TW_ERROR_ARGUMENT);
    assert_int_equal(tw_agent_client_ask(run.client, (TwAgentVerb)99, NULL, NULL),
                     TW_ERROR_ARGUMENT);
    assert_int_equal(tw_agent_client_approve(run.client, NULL, true), TW_ERROR_ARGUMENT);
    assert_int_equal(tw_agent_client_wait(run.client, -1), TW_ERROR_ARGUMENT);
    tw_agent_client_free(run.client);
}

static int scenario(void *context)
{
    TwAgentClientOptions options = {.folder = "/"};
    const char *argv[] = {"/no/such/agent", NULL};
    TwAgentClient *client = tw_agent_client_new(&options);
    int r = client == NULL ? TW_ERROR_MEMORY : tw_agent_client_start(client, argv);

    (void)context;
    tw_agent_client_free(client);
    assert_true(r == TW_ERROR_MEMORY || r == TW_ERROR_START);
    return r == TW_ERROR_MEMORY ? -12 : 0;
}

static void every_failed_allocation_is_survived(void **state)
{
    (void)state;
    test_oom_sweep(scenario, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_is_answered_token_by_token),
        cmocka_unit_test(tools_are_shown_and_approved_from_the_callback),
        cmocka_unit_test(several_are_open_at_once_and_waited_for),
        cmocka_unit_test(failures_have_words),
        cmocka_unit_test(silence_is_a_timeout_and_stop_ends_the_waiting),
        cmocka_unit_test(another_thread_may_stop_the_waiting),
        cmocka_unit_test(what_cannot_start_or_be_used_is_told),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

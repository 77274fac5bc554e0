/* What `toolwire serve --pipe` and its add-ins say beyond the document: progress, cancelling, and
 * lists that change on one connection. Add-ins that know nothing of it are told nothing of it.
 *
 *     test_pipe_beyond TOOLWIRE
 */
#include "e2e/pipe_peer.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *program;

/* An add-in that understands what a hub may send. */
#define KNOWING(tools) "{\"name\":\"app\",\"understands\":[\"tool_cancel\"],\"tools\":[" tools "]}"
#define PLAIN          "{\"name\":\"app\",\"tools\":[" PIPE_TOOL("app.long") "]}"
#define STRANGE                                                                                    \
    "{\"name\":\"app\",\"understands\":[\"other\",5],\"tools\":[" PIPE_TOOL("app.long") "]}"
#define PROMPT "{\"name\":\"app\",\"pings_in_calls\":true,\"tools\":[" PIPE_TOOL("app.long") "]}"

/* A call that wants to be told of progress. */
#define CALL_TOLD(id, tool, token)                                                                 \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" tool    \
    "\",\"arguments\":{},\"_meta\":{\"progressToken\":" token "}}}"
#define CANCELLED(id)                                                                              \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":" id "}}"

typedef struct Fixture {
    PipeHubProcess hub;
    AddinPeer addin;
} Fixture;

static void fixture_init(Fixture *f, const char *const *flags, const char *offer)
{
    hub_init(&f->hub, program);
    hub_serve(&f->hub, flags);
    addin_open(&f->addin, &f->hub, offer);
    hub_await_tools_changed(&f->hub);
}

static void fixture_deinit(Fixture *f)
{
    addin_close(&f->addin);
    hub_await_tools_changed(&f->hub);
    hub_end(&f->hub);
    hub_deinit(&f->hub);
}

static void addin_reports(AddinPeer *addin, const char *call_id, const char *rest)
{
    char message[256];

    (void)snprintf(message, sizeof(message),
                   "{\"id\":\"p\",\"type\":\"tool_progress\",\"timestamp\":"
                   "\"2025-01-15T10:30:00.000Z\",\"payload\":{\"call_id\":\"%s\",%s}}",
                   call_id, rest);
    addin_send(addin, message);
}

/* The next message is a cancel of that call. */
static void addin_expect_cancel(AddinPeer *addin, const char *call_id)
{
    AddinMessage message;

    addin_next(addin, &message);
    assert_non_null(message.text);
    if (strcmp(message.type, "tool_cancel") != 0 || strstr(message.text, call_id) == NULL) {
        fail_msg("wanted: tool_cancel %s\n   got: %s", call_id, message.text);
    }
    addin_message_deinit(&message);
}

/* The next message that is no ping is the answer to a ping: nothing was sent before it. */
static void addin_expect_nothing(AddinPeer *addin)
{
    AddinMessage message;

    addin_send(addin, "{\"id\":\"p\",\"type\":\"ping\",\"timestamp\":\"2025-01-15T10:30:00.000Z\","
                      "\"payload\":{}}");
    addin_next(addin, &message);
    assert_string_equal(message.type, "pong");
    addin_message_deinit(&message);
}

static void expect_served(Fixture *f)
{
    char id[40];

    hub_send(&f->hub, CALL("99", "app.long", "{}"));
    addin_expect_call(&f->addin, "app.long", "{}", id);
    addin_answer(&f->addin, id, "{\"n\":1}");
    hub_expect_result(&f->hub, 99, "{\"n\":1}", NULL);
}

/* ---- progress ---- */

static void progress_reaches_the_client_that_wants_it(void **state)
{
    Fixture f;
    char ids[2][40];

    (void)state;
    fixture_init(&f, NULL, KNOWING(PIPE_TOOL("app.long")));
    hub_send(&f.hub, CALL_TOLD("1", "app.long", "\"t\""));
    addin_expect_call(&f.addin, "app.long", "{}", ids[0]);
    hub_send(&f.hub, CALL("2", "app.long", "{}"));
    addin_expect_call(&f.addin, "app.long", "{}", ids[1]);
    addin_reports(&f.addin, ids[1], "\"progress\":1"); /* which nobody wants */
    addin_reports(&f.addin, ids[0], "\"progress\":1.50,\"total\":4,\"message\":\"walls\"");
    peer_expect(&f.hub.client,
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
                "\"progressToken\":\"t\",\"progress\":1.50,\"total\":4,\"message\":\"walls\"}}");
    addin_reports(&f.addin, ids[0], "\"progress\":2");
    peer_expect(&f.hub.client, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
                               "\"params\":{\"progressToken\":\"t\",\"progress\":2}}");
    addin_answer(&f.addin, ids[0], "{}");
    hub_expect_result(&f.hub, 1, "{}", NULL);
    addin_reports(&f.addin, ids[0], "\"progress\":3"); /* too late */
    addin_answer(&f.addin, ids[1], "{}");
    hub_expect_result(&f.hub, 2, "{}", NULL);
    fixture_deinit(&f);
}

/* Each wrong member is named, and neither the report nor the end of the call follows. */
static void a_report_with_wrong_members_gets_an_error(void **state)
{
    Fixture f;
    char id[40];

    (void)state;
    fixture_init(&f, NULL, KNOWING(PIPE_TOOL("app.long")));
    hub_send(&f.hub, CALL_TOLD("1", "app.long", "\"t\""));
    addin_expect_call(&f.addin, "app.long", "{}", id);
    addin_reports(&f.addin, id, "\"progress\":\"x\"");
    addin_expect_error(&f.addin, "PIPE_PROTOCOL_ERROR", "payload.progress");
    addin_reports(&f.addin, id, "\"progress\":1,\"total\":\"x\"");
    addin_expect_error(&f.addin, "PIPE_PROTOCOL_ERROR", "payload.total");
    addin_reports(&f.addin, id, "\"progress\":1,\"message\":5");
    addin_expect_error(&f.addin, "PIPE_PROTOCOL_ERROR", "payload.message");
    addin_reports(&f.addin, id, "\"progress\":1,\"total\":null,\"message\":null");
    peer_expect(&f.hub.client, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
                               "\"params\":{\"progressToken\":\"t\",\"progress\":1}}");
    addin_answer(&f.addin, id, "{}");
    hub_expect_result(&f.hub, 1, "{}", NULL);
    fixture_deinit(&f);
}

/* Of two calls that began together the one that reports outlives the other, which ends when its
 * time is over. */
static void progress_moves_the_deadline(void **state)
{
    static const char *const flags[] = {"--call-timeout-ms", "1s", NULL};
    bool has_ended = false;
    Fixture f;
    char ids[2][40];
    char rest[40];

    (void)state;
    fixture_init(&f, flags, KNOWING(PIPE_TOOL("app.long")));
    hub_send(&f.hub, CALL_TOLD("1", "app.long", "1"));
    addin_expect_call(&f.addin, "app.long", "{}", ids[0]);
    hub_send(&f.hub, CALL("2", "app.long", "{}"));
    addin_expect_call(&f.addin, "app.long", "{}", ids[1]);
    /* Reports as fast as they are heard, until the other one is late. */
    for (int i = 1; !has_ended; i++) {
        char *line;

        (void)snprintf(rest, sizeof(rest), "\"progress\":%d", i);
        addin_reports(&f.addin, ids[0], rest);
        line = hub_answer(&f.hub);
        has_ended = strstr(line, "\"id\":2") != NULL;
        if (strstr(line, has_ended ? "PIPE_TIMEOUT" : "notifications/progress") == NULL) {
            fail_msg("got: %s", line);
        }
        free(line);
    }
    free(hub_answer(&f.hub)); /* the last report */
    addin_expect_cancel(&f.addin, ids[1]);
    addin_answer(&f.addin, ids[0], "{\"n\":2}");
    hub_expect_result(&f.hub, 1, "{\"n\":2}", NULL);
    expect_served(&f);
    fixture_deinit(&f);
}

/* ---- cancelling ---- */

static void a_call_that_the_client_cancels_is_cancelled_in_the_add_in(void **state)
{
    Fixture f;
    char id[40];

    (void)state;
    fixture_init(&f, NULL, KNOWING(PIPE_TOOL("app.long")));
    hub_send(&f.hub, CALL("1", "app.long", "{}"));
    addin_expect_call(&f.addin, "app.long", "{}", id);
    hub_send(&f.hub, CANCELLED("1"));
    addin_expect_cancel(&f.addin, id);
    addin_fail(&f.addin, id, "CANCELLED", "cancelled");
    expect_served(&f);
    fixture_deinit(&f);
}

static void a_call_that_is_late_is_cancelled_in_the_add_in(void **state)
{
    static const char *const flags[] = {"--call-timeout-ms", "50ms", NULL};
    Fixture f;
    char id[40];

    (void)state;
    fixture_init(&f, flags, KNOWING(PIPE_TOOL("app.long")));
    hub_send(&f.hub, CALL("1", "app.long", "{}"));
    addin_expect_call(&f.addin, "app.long", "{}", id);
    hub_expect_failure(&f.hub, 1, "PIPE_TIMEOUT", "");
    addin_expect_cancel(&f.addin, id);
    addin_expect_nothing(&f.addin);
    fixture_deinit(&f);
}

static void an_add_in_of_the_document_is_not_told(void **state)
{
    static const char *const offers[] = {PLAIN, STRANGE};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(offers); i++) {
        Fixture f;
        char id[40];

        fixture_init(&f, NULL, offers[i]);
        hub_send(&f.hub, CALL("1", "app.long", "{}"));
        addin_expect_call(&f.addin, "app.long", "{}", id);
        hub_send(&f.hub, CANCELLED("1"));
        hub_send(&f.hub, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}");
        free(hub_answer(&f.hub)); /* so the hub has seen both */
        addin_expect_nothing(&f.addin);
        expect_served(&f);
        fixture_deinit(&f);
    }
}

/* ---- what is offered ---- */

static void what_changes_is_told_on_the_same_connection(void **state)
{
    static const char changed[] = "{\"id\":\"c\",\"type\":\"tools_changed\",\"timestamp\":"
                                  "\"2025-01-15T10:30:00.000Z\",\"payload\":{}}";
    Fixture f;
    char id[40];

    (void)state;
    fixture_init(&f, NULL, KNOWING(PIPE_TOOL("app.long") "," PIPE_TOOL("app.old")));
    hub_expect_tools(&f.hub, "app.long app.old ");
    /* A call goes on meanwhile. */
    hub_send(&f.hub, CALL("1", "app.long", "{}"));
    addin_expect_call(&f.addin, "app.long", "{}", id);
    addin_send(&f.addin, changed);
    addin_offer(&f.addin, KNOWING(PIPE_TOOL("app.long") "," PIPE_TOOL("app.new")));
    hub_await_tools_changed(&f.hub);
    hub_expect_tools(&f.hub, "app.long app.new ");
    addin_answer(&f.addin, id, "{\"n\":1}");
    hub_expect_result(&f.hub, 1, "{\"n\":1}", NULL);
    expect_served(&f);
    /* One that cannot say it now offers what it offered. */
    addin_send(&f.addin, changed);
    addin_offer_unknown(&f.addin);
    expect_served(&f);
    hub_expect_tools(&f.hub, "app.long app.new ");
    /* It still understands tool_cancel. */
    hub_send(&f.hub, CALL("1", "app.new", "{}"));
    addin_expect_call(&f.addin, "app.new", "{}", id);
    hub_send(&f.hub, CANCELLED("1"));
    addin_expect_cancel(&f.addin, id);
    fixture_deinit(&f);
}

/* ---- keep-alive ---- */

static const char *const rule_flags[] = {
    "--ping-interval-ms", "100ms", "--pong-timeout-ms", "1s", "--call-timeout-ms", "1h", NULL};

static void an_add_in_that_says_so_must_answer_pings_inside_calls(void **state)
{
    Fixture f;
    char id[40];

    (void)state;
    fixture_init(&f, rule_flags, PROMPT);
    f.addin.is_deaf = true;
    hub_send(&f.hub, CALL("1", "app.long", "{}"));
    addin_expect_call(&f.addin, "app.long", "{}", id);
    hub_expect_failure(&f.hub, 1, "PIPE_DISCONNECTED", "does not answer pings");
    fixture_deinit(&f);
}

static void an_add_in_that_did_so_once_must_answer_pings_inside_calls(void **state)
{
    AddinMessage message;
    Fixture f;
    char id[40];

    (void)state;
    fixture_init(&f, rule_flags, PLAIN);
    f.addin.is_deaf = true;
    f.addin.n_pings = 0;
    hub_send(&f.hub, CALL("1", "app.long", "{}"));
    addin_expect_call(&f.addin, "app.long", "{}", id);
    addin_next_any(&f.addin, &message);
    assert_string_equal(message.type, "ping");
    addin_message_deinit(&message);
    /* In order: those of before the call come first. */
    for (int i = 0; i <= f.addin.n_pings; i++) {
        addin_pong(&f.addin);
    }
    hub_expect_failure(&f.hub, 1, "PIPE_DISCONNECTED", "does not answer pings");
    fixture_deinit(&f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(progress_reaches_the_client_that_wants_it),
        cmocka_unit_test(a_report_with_wrong_members_gets_an_error),
        cmocka_unit_test(progress_moves_the_deadline),
        cmocka_unit_test(a_call_that_the_client_cancels_is_cancelled_in_the_add_in),
        cmocka_unit_test(a_call_that_is_late_is_cancelled_in_the_add_in),
        cmocka_unit_test(an_add_in_of_the_document_is_not_told),
        cmocka_unit_test(what_changes_is_told_on_the_same_connection),
        cmocka_unit_test(an_add_in_that_says_so_must_answer_pings_inside_calls),
        cmocka_unit_test(an_add_in_that_did_so_once_must_answer_pings_inside_calls),
    };

    if (argc != 2) {
        fprintf(stderr, "usage: test_pipe_beyond TOOLWIRE\n");
        return 2;
    }
    program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}

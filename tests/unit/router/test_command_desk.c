#include "unit/router/command_rig.h"

#include "support/oom_sweep.h"

/* ---- the desk ---- */

static void a_command_based_on_another_state_is_refused(void **state)
{
    char token[SAFETY_TOKEN_BYTES];
    char arguments[256];
    CommandRig rig;

    (void)state;
    rig_init(&rig);
    assert_int_equal(safety_desk_token(rig.desk, token), 0);
    (void)snprintf(arguments, sizeof(arguments), "{\"expectedContextToken\":\"%s\"}", token);
    rig_ask(&rig, "move_walls", arguments, "OK");
    assert_string_equal(rig_at(&rig, "/context/contextRevision"), "1");
    /* It was a write: the same token is of yesterday now. */
    rig_ask(&rig, "move_walls", arguments, "PRECONDITION_FAILED");
    assert_string_equal(rig_at(&rig, "/data/changed"), "[\"write\"]");
    assert_string_equal(rig_at(&rig, "/nextActions/1/method"), "\"get_context\"");
    assert_string_equal(rig_at(&rig, "/timings/revitMs"), "0");
    assert_int_equal(rig.runner.n_started, 1);
    rig_deinit(&rig);
}

static void the_expected_token_is_found_in_every_spelling(void **state)
{
    static const char *const forms[] = {
        "{\"expectedContextToken\":\"ctx-0\"}",
        "{\"__expectedContextToken\":\"ctx-0\"}",
        "{\"params\":{\"expectedContextToken\":\"ctx-0\"}}",
        "{\"params\":{\"__expectedContextToken\":\"ctx-0\"}}",
        "{\"meta\":{\"expectedContextToken\":\"ctx-0\"}}",
        "{\"meta\":{\"__expectedContextToken\":\"ctx-0\"}}",
        "{\"_meta\":{\"expectedContextToken\":\"ctx-0\"}}",
        "{\"expectedContextToken\":\"\",\"__expectedContextToken\":\"ctx-0\"}",
        "{\"expectedContextToken\":null,\"meta\":{\"expectedContextToken\":\"ctx-0\"}}",
    };
    CommandRig rig;

    (void)state;
    rig_init(&rig);
    for (size_t i = 0; i < TW_ARRAY_SIZE(forms); i++) {
        rig_ask(&rig, "move_walls", forms[i], "PRECONDITION_FAILED");
        assert_string_equal(rig_at(&rig, "/data/expectedContextToken"), "\"ctx-0\"");
    }
    assert_int_equal(rig.runner.n_started, 0);
    rig_deinit(&rig);
}

/* In the request's meta, beside the arguments: they take it along, and are else as they were. */
static void the_expected_token_of_the_meta_goes_with_the_arguments(void **state)
{
    static const struct {
        const char *arguments;
        const char *meta;
        const char *joined;
    } rows[] = {
        {NULL, "{\"expectedContextToken\":\"T\"}", "{\"expectedContextToken\":\"T\"}"},
        {"{ }", "{\"_meta\":{\"expected_context_token\":\"T\"}}",
         "{ \"expectedContextToken\":\"T\"}"},
        {"{\"a\": 1 }", "{\"meta\":{\"expectedContextToken\":\"T\"}}",
         "{\"a\": 1 ,\"expectedContextToken\":\"T\"}"},
        {"{\"a\":1}", "{\"expectedContextToken\":null}", "{\"a\":1}"},
        {"{\"params\":{\"expectedContextToken\":\"T\"}}", "{\"expectedContextToken\":\"t\"}",
         "{\"params\":{\"expectedContextToken\":\"T\"}}"},
        {"{\"expectedContextToken\":\"T\"}", "{\"expectedContextToken\":\"U\"}",
         "{\"expectedContextToken\":\"T\",\"__expectedContextToken\":\"U\"}"},
        {"{}", "{\"expectedContextToken\":\"T\",\"meta\":{\"expectedContextToken\":\"U\"}}",
         "{\"expectedContextToken\":\"T\",\"__expectedContextToken\":\"U\"}"},
        {"{\"expectedContextToken\":\"T\",\"__expectedContextToken\":\"T\",\"expected_context_"
         "token\":\"T\"}",
         "{\"expectedContextToken\":5}",
         "{\"expectedContextToken\":\"T\",\"__expectedContextToken\":\"T\",\"expected_context_"
         "token\":\"T\",\"expected_context_token\":5}"},
    };
    CommandRig rig;

    (void)state;
    rig_init(&rig);
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        JsonValue arguments = JSON_VALUE_NULL;
        JsonDoc doc;
        Span joined;

        if (rows[i].arguments != NULL) {
            assert_int_equal(json_parse(&doc, &rig.arena, rows[i].arguments,
                                        strlen(rows[i].arguments), NULL, NULL),
                             0);
            arguments = json_root(&doc);
        }
        assert_int_equal(
            json_parse(&doc, &rig.arena, rows[i].meta, strlen(rows[i].meta), NULL, NULL), 0);
        assert_int_equal(router_command_params(rig.router, SPAN("move_walls"), arguments,
                                               json_root(&doc), &rig.arena, &joined),
                         0);
        assert_int_equal(joined.n, strlen(rows[i].joined));
        assert_memory_equal(joined.p, rows[i].joined, joined.n);
    }
    rig_deinit(&rig);
}

static void a_wrong_token_in_the_meta_of_a_call_refuses_it(void **state)
{
    static const char meta[] = "{\"expectedContextToken\":\"ctx-0\"}";
    CommandRig rig;
    JsonDoc doc;

    (void)state;
    rig_init(&rig);
    assert_int_equal(json_parse(&doc, &rig.arena, meta, sizeof(meta) - 1, NULL, NULL), 0);
    asker_prepare(&rig.asker, CALL_TOOL, "move_walls", "{\"a\":1}");
    rig.asker.call.meta = json_root(&doc);
    router_dispatch(rig.router, NULL, &rig.asker.call);
    rig_check_envelope(&rig, "PRECONDITION_FAILED");
    assert_int_equal(rig.runner.n_started, 0);
    assert_null(rig.asker.call.meta.node);
    rig_deinit(&rig);
}

/* One that is right does not make up for one that is wrong. */
static void every_expected_token_must_be_right(void **state)
{
    static const char *const forms[] = {
        "{\"expectedContextToken\":\"%s\",\"__expectedContextToken\":\"ctx-0\"}",
        "{\"expectedContextToken\":\"%s\",\"expectedContextToken\":\"ctx-0\"}",
        "{\"expectedContextToken\":\"%s\",\"params\":{\"meta\":{\"expectedContextToken\":0}}}",
        "{\"meta\":{\"expectedContextToken\":\"%s\"},\"_meta\":{\"expectedContextToken\":\"x\"}}",
    };
    char token[SAFETY_TOKEN_BYTES];
    char arguments[256];
    CommandRig rig;

    (void)state;
    rig_init(&rig);
    assert_int_equal(safety_desk_token(rig.desk, token), 0);
    for (size_t i = 0; i < TW_ARRAY_SIZE(forms); i++) {
        const char *at = strstr(forms[i], "%s");

        (void)snprintf(arguments, sizeof(arguments), "%.*s%s%s", (int)(at - forms[i]), forms[i],
                       token, at + 2);
        rig_ask(&rig, "move_walls", arguments, "PRECONDITION_FAILED");
    }
    assert_int_equal(rig.runner.n_started, 0);
    rig_deinit(&rig);
}

/* What is in other places is for the desk only: a caller who nests all arguments is told so. */
static void a_closed_schema_lets_the_other_places_pass(void **state)
{
    static const char *const passing[] = {"{\"params\":{\"dryRun\":false,\"meta\":{}}}",
                                          "{\"meta\":{\"x\":1}}", "{\"_meta\":{}}"};
    static const char *const wrong[] = {"{\"params\":{\"a\":1}}", "{\"params\":1}", "{\"meta\":1}",
                                        "{\"b\":1}"};
    CommandRig rig;

    (void)state;
    rig_init(&rig);
    rig_add(&rig,
            "{\"name\":\"closed\",\"inputSchema\":{\"type\":\"object\",\"additionalProperties\":"
            "false,\"properties\":{\"a\":{}}}}",
            false, true);
    rig_add(&rig,
            "{\"name\":\"own\",\"inputSchema\":{\"type\":\"object\",\"additionalProperties\":"
            "false,\"properties\":{\"params\":{\"type\":\"integer\"}}}}",
            false, true);
    for (size_t i = 0; i < TW_ARRAY_SIZE(passing); i++) {
        rig_ask(&rig, "closed", passing[i], "OK");
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(wrong); i++) {
        rig_ask(&rig, "closed", wrong[i], "INVALID_PARAMS");
    }
    rig_ask(&rig, "own", "{\"params\":1}", "OK");
    rig_deinit(&rig);
}

static void many_targets_pass_the_gate_when_a_next_action_is_taken(void **state)
{
    static const char *const refused = "{\"elementIds\":[1,2,3,4,5]}";
    CommandRig rig;

    (void)state;
    rig_init(&rig);
    rig_ask(&rig, "get_walls", "{\"elementIds\":[1,2,3,4]}", "OK");
    rig_ask(&rig, "get_walls", refused, "FAILURE_HANDLING_CONFIRMATION_REQUIRED");
    rig_ask(&rig, "move_walls", refused, "FAILURE_HANDLING_CONFIRMATION_REQUIRED");
    assert_string_equal(rig_at(&rig, "/nextActions/3/params"),
                        "{\"failureHandling\":{\"enabled\":true,\"mode\":\"resolve\"}}");
    assert_int_equal(rig.runner.n_started, 1);
    rig_ask(&rig, "move_walls",
            "{\"elementIds\":[1,2,3,4,5],\"failureHandling\":{\"enabled\":true,\"mode\":"
            "\"resolve\"}}",
            "OK");
    assert_int_equal(rig.runner.mode, SAFETY_MODE_RESOLVE);
    assert_string_equal(rig_at(&rig, "/failureHandling/mode"), "\"resolve\"");
    assert_string_equal(rig_at(&rig, "/failureHandling/whitelist/code"), "\"NOT_LOADED\"");
    rig_deinit(&rig);
}

static void a_dry_run_gives_the_token_for_the_real_run(void **state)
{
    char real[256];
    const char *token;
    CommandRig rig;

    (void)state;
    rig_init(&rig);
    rig.runner.undoes = true;
    rig.runner.takes = true; /* its arguments are seen again at the end all the same */
    rig.runner.waits = true;
    asker_prepare(&rig.asker, CALL_TOOL, "delete_walls", "{\"dryRun\":true,\"elementId\":4}");
    router_dispatch(rig.router, NULL, &rig.asker.call);
    memset(rig.asker.text, 'x', sizeof(rig.asker.text));
    runner_go_on(&rig.runner);
    rig.runner.waits = false;
    rig_check_envelope(&rig, "OK");
    assert_string_equal(rig_at(&rig, "/dryRun"), "true");
    assert_string_equal(rig_at(&rig, "/confirmTokenExpiresAtUtc"), "\"2023-11-14T22:18:20.000Z\"");
    assert_string_equal(rig_at(&rig, "/context/contextRevision"), "0");
    token = rig_at(&rig, "/confirmToken");
    assert_int_equal(strlen(token), 37);
    (void)snprintf(real, sizeof(real),
                   "{\"requireConfirmToken\":true,\"confirmToken\":%s,\"elementId\":4}", token);
    rig_ask(&rig, "delete_walls", "{\"requireConfirmToken\":true,\"elementId\":4}",
            "CONFIRMATION_REQUIRED");
    rig_ask(&rig, "delete_walls", real, "OK");
    assert_string_equal(rig_at(&rig, "/confirmTokenAccepted"), "true");
    assert_string_equal(rig_at(&rig, "/context/contextRevision"), "1");
    rig_ask(&rig, "delete_walls", real, "CONFIRMATION_INVALID");
    rig_deinit(&rig);
}

static void a_question_does_not_use_the_confirm_token_up(void **state)
{
    CallResult ask = {.kind = CALL_RESULT_ASK};
    char real[256];
    CommandRig rig;

    (void)state;
    rig_init(&rig);
    rig.runner.undoes = true;
    rig_ask(&rig, "delete_walls", "{\"dryRun\":true}", "OK");
    (void)snprintf(real, sizeof(real), "{\"confirmToken\":%s}", rig_at(&rig, "/confirmToken"));
    rig.runner.waits = true;
    asker_prepare(&rig.asker, CALL_TOOL, "delete_walls", real);
    router_dispatch(rig.router, NULL, &rig.asker.call);
    call_finish(rig.runner.call, &ask);
    assert_int_equal(rig.asker.kind, CALL_RESULT_ASK);
    rig.runner.waits = false;
    rig_ask(&rig, "delete_walls", real, "OK");
    rig_ask(&rig, "delete_walls", real, "CONFIRMATION_INVALID");
    rig_deinit(&rig);
}

/* A caller who wants a preview must not get the deed. */
static void what_cannot_be_undone_is_not_run_as_a_dry_run(void **state)
{
    CommandRig rig;

    (void)state;
    rig_init(&rig);
    rig_ask(&rig, "send_mail", "{\"dryRun\":true}", "INVALID_OPERATION");
    assert_int_equal(rig.runner.n_started, 0);
    rig_ask(&rig, "get_walls", "{\"dryRun\":true}", "OK");
    rig_ask(&rig, "send_mail", "{\"dryRun\":false}", "OK");
    assert_int_equal(rig.runner.n_started, 2);
    /* And nothing points to one. */
    rig_add(&rig, PLAIN_COMMAND("remove_mail"), false, false);
    rig_ask(&rig, "remove_mail", "{\"requireConfirmToken\":true}", "CONFIRMATION_REQUIRED");
    assert_string_equal(rig_at(&rig, "/nextActions"), "[]");
    rig_ask(&rig, "remove_mail", "{\"confirmToken\":\"ct-0\"}", "CONFIRMATION_INVALID");
    assert_string_equal(rig_at(&rig, "/nextActions"), "[]");
    rig_ask(&rig, "remove_mail", "{\"dryRun\":true}", "INVALID_OPERATION");
    rig_ask(&rig, "remove_mail", "{\"elementIds\":\"1,2,3,4,5\"}",
            "FAILURE_HANDLING_CONFIRMATION_REQUIRED");
    assert_non_null(strstr(rig_at(&rig, "/nextActions/1/reason"), "stays"));
    assert_int_equal(rig.runner.n_started, 2);
    rig_deinit(&rig);
}

static void a_failure_that_undoes_all_is_tx_not_committed(void **state)
{
    CommandRig rig;

    (void)state;
    rig_init(&rig);
    rig.runner.has_failure = true;
    rig.runner.undoes = true;
    rig_ask(&rig, "move_walls", "{}", "TX_NOT_COMMITTED");
    assert_int_equal(rig.runner.verdict, SAFETY_ROLL_BACK);
    assert_string_equal(rig_at(&rig, "/failureHandling/autoCaptured"), "true");
    assert_string_equal(rig_at(&rig, "/failureHandling/rollbackDetected"), "true");
    assert_string_equal(rig_at(&rig, "/failureHandling/issues/failures/0/id"),
                        "\"Planner.OverlappingWalls\"");
    assert_string_equal(rig_at(&rig, "/context/contextRevision"), "0");
    /* What the command says of the same name does not stand beside it. */
    rig.runner.structured = "{\"failureHandling\":1,\"n\":2,\"warnings\":[ \"w\" ]}";
    rig.runner.has_failure = false;
    rig_ask(&rig, "move_walls", "{\"failureHandling\":\"huh\"}", "OK");
    assert_string_equal(rig_at(&rig, "/n"), "2");
    assert_string_equal(rig_at(&rig, "/failureHandling/mode"), "\"rollback\"");
    assert_null(strstr(rig.asker.structured, "\"failureHandling\":1"));
    assert_string_equal(rig_at(&rig, "/warnings/0"), "\"w\"");
    assert_non_null(strstr(rig_at(&rig, "/warnings/1"), "Unknown failureHandling mode"));
    rig_deinit(&rig);
}

/* Of an application that has its own transactions, and knows nothing of plans. */
static void a_transaction_that_the_command_says_was_not_committed_is_a_rollback(void **state)
{
    CommandRig rig;

    (void)state;
    rig_init(&rig);
    rig.runner.structured = "{\"detail\":{\"transactionStatus\":\"RolledBack\"}}";
    rig_ask(&rig, "move_walls", "{}", "OK");
    assert_string_equal(rig_at(&rig, "/failureHandling/rollbackDetected"), "true");
    assert_string_equal(rig_at(&rig, "/failureHandling/autoCaptured"), "true");
    assert_string_equal(rig_at(&rig, "/context/contextRevision"), "0");
    rig.runner.structured = "{\"detail\":{\"transactionStatus\":\"Committed\"}}";
    rig_ask(&rig, "move_walls", "{}", "OK");
    assert_string_equal(rig_at(&rig, "/failureHandling"), "");
    assert_string_equal(rig_at(&rig, "/context/contextRevision"), "1");
    rig.runner.structured = "{\"note\":\"transactionStatus\"}";
    rig_ask(&rig, "move_walls", "{}", "OK");
    assert_string_equal(rig_at(&rig, "/context/contextRevision"), "2");
    rig_deinit(&rig);
}

static void of_a_guarded_command_only_the_times_are_filled_in(void **state)
{
    CommandRig rig;

    (void)state;
    rig_init(&rig);
    rig.runner.structured =
        "{\"n\":1,\"ok\":true,\"code\":\"OK\",\"msg\":\"fine\",\"warnings\":[],\"nextActions\":[],"
        "\"timings\":{\"queueWaitMs\":0,\"revitMs\":1.25,\"totalMs\":0},\"context\":{\"method\":"
        "\"x\",\"contextToken\":\"ctx-far\"}}";
    rig.runner.now_us = &rig.now_us;
    rig_ask(&rig, "far.delete_walls",
            "{\"elementIds\":[1,2,3,4,5,6],\"expectedContextToken\":\"ctx-far\",\"dryRun\":true}",
            "OK");
    assert_string_equal(rig_at(&rig, "/context"),
                        "{\"method\":\"x\",\"contextToken\":\"ctx-far\"}");
    assert_string_equal(rig_at(&rig, "/timings"),
                        "{\"queueWaitMs\":0,\"revitMs\":1.25,\"transferMs\":0.25,\"totalMs\":1.5}");
    assert_string_equal(rig_at(&rig, "/dryRunRequested"), "");
    assert_int_equal(safety_desk_revision(rig.desk), 0);
    rig_deinit(&rig);
}

static void without_a_desk_commands_run_and_have_their_envelope(void **state)
{
    CommandRig rig;

    (void)state;
    rig_init(&rig);
    router_set_desk(rig.router, NULL);
    rig_ask(&rig, "move_walls", "{\"elementIds\":[1,2,3,4,5],\"expectedContextToken\":\"x\"}",
            "OK");
    assert_string_equal(rig_at(&rig, "/context"), "{\"method\":\"move_walls\"}");
    rig_deinit(&rig);
}

static void get_context_is_a_command_that_needs_no_token(void **state)
{
    static const char *const names[] = {"get_context", "help.get_context"};
    const int64_t ids[] = {9, 3};
    CommandRig rig;

    (void)state;
    rig_init(&rig);
    assert_int_equal(router_add_get_context(rig.router, NULL), 0);
    assert_int_equal(router_add_get_context(rig.router, NULL), ROUTER_E_EXISTS);
    assert_int_equal(safety_desk_select(rig.desk, ids, 2), 0);
    for (size_t i = 0; i < TW_ARRAY_SIZE(names); i++) {
        rig_ask(&rig, names[i], "{\"expectedContextToken\":\"wrong\",\"maxSelectionIds\":1}", "OK");
        assert_string_equal(rig_at(&rig, "/data/revision"), "1");
        assert_string_equal(rig_at(&rig, "/data/selectionIds"), "[3]");
        assert_string_equal(rig_at(&rig, "/data/selectionIdsTruncated"), "true");
        assert_string_equal(rig_at(&rig, "/data/selectionCount"), "2");
    }
    router_set_desk(rig.router, NULL);
    rig_ask(&rig, "get_context", NULL, "UNAVAILABLE");
    rig_deinit(&rig);
}

/* ---- what is published ---- */

static const char *described(CommandRig *rig, const char *name, const char *pointer)
{
    Span text = router_tool_description(rig->router, span_from_str(name));
    JsonValue value;
    JsonDoc doc;

    arena_reset(&rig->arena, SIZE_MAX);
    assert_int_equal(json_parse(&doc, &rig->arena, text.p, text.n, NULL, NULL), 0);
    if (json_pointer(json_root(&doc), span_from_str(pointer), &value) != 0) {
        return "";
    }
    return arena_copy(&rig->arena, json_span(value)).p;
}

static void the_published_schemas_say_what_commands_have_besides(void **state)
{
    CommandRig rig;

    (void)state;
    rig_init(&rig);
    rig_add(&rig,
            "{\"name\":\"delete_all\",\"outputSchema\":{\"type\":\"object\",\"properties\":{\"n\":{"
            "\"type\":\"integer\"}},\"required\":[\"n\"]},\"inputSchema\":{\"type\":\"object\","
            "\"properties\":{\"dryRun\":{\"const\":true}},\"additionalProperties\":false}}",
            false, true);
    assert_string_equal(described(&rig, "delete_all", "/outputSchema/properties/n/type"),
                        "\"integer\"");
    assert_string_equal(described(&rig, "delete_all", "/outputSchema/properties/ok/type"),
                        "\"boolean\"");
    assert_string_equal(described(&rig, "delete_all", "/outputSchema/then/required"), "[\"n\"]");
    assert_string_equal(described(&rig, "delete_all", "/inputSchema/properties/dryRun"),
                        "{\"const\":true}");
    assert_string_not_equal(described(&rig, "delete_all", "/inputSchema/properties/confirmToken"),
                            "");
    assert_string_not_equal(
        described(&rig, "get_walls", "/inputSchema/properties/expectedContextToken"), "");
    assert_string_equal(described(&rig, "get_walls", "/inputSchema/properties/dryRun"), "");
    assert_string_equal(described(&rig, "far.delete_walls", "/inputSchema"),
                        "{\"type\":\"object\"}");
    /* A closed schema lets them pass, in every spelling, and nothing else. */
    rig.runner.structured = "{\"n\":1}";
    rig_ask(&rig, "delete_all", "{\"failure_handling\":true,\"__expectedContextToken\":\"\"}",
            "OK");
    rig_ask(&rig, "delete_all", "{\"failurehandlin\":true}", "INVALID_PARAMS");
    /* What it must answer it must answer, where it succeeds. */
    rig.runner.structured = "{\"n\":\"x\"}";
    rig_ask(&rig, "delete_all", "{}", "SERIALIZE_ERROR");
    rig.runner.structured = "{\"ok\":false}";
    rig_ask(&rig, "delete_all", "{}", "ERROR");
    rig_deinit(&rig);
}

static int describe_later(void *context, Span name, Bytes *out)
{
    (void)context;
    (void)name;
    return bytes_append_span(out, SPAN(PLAIN_COMMAND("later")));
}

static void a_command_that_is_described_later_has_them_too(void **state)
{
    CommandRig rig;

    (void)state;
    rig_init(&rig);
    assert_int_equal(router_add(rig.router,
                                &(RouterSpec){.kind = ROUTER_TOOL,
                                              .name = SPAN("later"),
                                              .describe = describe_later,
                                              .provider = &runner_provider,
                                              .context = &rig.runner,
                                              .is_command = true},
                                NULL),
                     0);
    rig_ask(&rig, "later", "{\"expectedContextToken\":\"x\"}", "PRECONDITION_FAILED");
    assert_string_equal(described(&rig, "later", "/outputSchema/properties/ok/type"),
                        "\"boolean\"");
    rig_deinit(&rig);
}

static int add_scenario(void *context)
{
    Router *router = NULL;
    int r = router_new(&router, NULL, fake_seed);

    (void)context;
    if (r == 0) {
        r = router_add_get_context(router, NULL);
    }
    assert_true(r <= 0);
    router = router_free(router);
    return r;
}

static void want_of_memory_for_a_description_is_said(void **state)
{
    (void)state;
    test_oom_sweep(add_scenario, NULL);
}

static void a_wrong_description_of_a_command_is_refused(void **state)
{
    static const char *const wrong[] = {
        "{\"name\":\"a\",\"inputSchema\":5}",
        "{\"name\":\"a\",\"inputSchema\":{\"type\":\"object\",\"properties\":5}}",
        "{\"name\":\"a\",\"inputSchema\":{\"type\":\"object\"},\"outputSchema\":5}",
        "{\"name\":\"a\",\"inputSchema\":{\"type\":\"object\"},\"outputSchema\":{\"type\":\"q\"}}",
        "{\"inputSchema\":{\"type\":\"object\"}}",
        "{\"name\":\"a\"}",
    };
    Diag diag = DIAG_NULL;
    CommandRig rig;

    (void)state;
    rig_init(&rig);
    for (size_t i = 0; i < TW_ARRAY_SIZE(wrong); i++) {
        assert_int_equal(router_add(rig.router,
                                    &(RouterSpec){.kind = ROUTER_TOOL,
                                                  .json = span_from_str(wrong[i]),
                                                  .provider = &runner_provider,
                                                  .is_command = true},
                                    &diag),
                         ROUTER_E_MALFORMED);
    }
    rig_deinit(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_based_on_another_state_is_refused),
        cmocka_unit_test(the_expected_token_is_found_in_every_spelling),
        cmocka_unit_test(the_expected_token_of_the_meta_goes_with_the_arguments),
        cmocka_unit_test(a_wrong_token_in_the_meta_of_a_call_refuses_it),
        cmocka_unit_test(every_expected_token_must_be_right),
        cmocka_unit_test(a_closed_schema_lets_the_other_places_pass),
        cmocka_unit_test(many_targets_pass_the_gate_when_a_next_action_is_taken),
        cmocka_unit_test(a_dry_run_gives_the_token_for_the_real_run),
        cmocka_unit_test(a_question_does_not_use_the_confirm_token_up),
        cmocka_unit_test(what_cannot_be_undone_is_not_run_as_a_dry_run),
        cmocka_unit_test(a_failure_that_undoes_all_is_tx_not_committed),
        cmocka_unit_test(a_transaction_that_the_command_says_was_not_committed_is_a_rollback),
        cmocka_unit_test(of_a_guarded_command_only_the_times_are_filled_in),
        cmocka_unit_test(without_a_desk_commands_run_and_have_their_envelope),
        cmocka_unit_test(get_context_is_a_command_that_needs_no_token),
        cmocka_unit_test(the_published_schemas_say_what_commands_have_besides),
        cmocka_unit_test(a_command_that_is_described_later_has_them_too),
        cmocka_unit_test(want_of_memory_for_a_description_is_said),
        cmocka_unit_test(a_wrong_description_of_a_command_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

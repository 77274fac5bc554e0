#include "support/cmocka.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "call/call.h"
#include "support/alloc_testing.h"
#include "support/oom_sweep.h"

/* An asker that remembers what it was told. */
typedef struct Asker {
    Call call;
    size_t n_finished;
    CallError error;
    char message[64];
    size_t n_progress;
    double progress;
    size_t n_logged;
    CallLogLevel level;
    int n_detached;
} Asker;

static void asker_finish(Call *call, const CallResult *result)
{
    Asker *asker = (Asker *)call;

    asker->n_finished++;
    asker->error = result->error;
    assert_true(result->message.n < sizeof(asker->message));
    memcpy(asker->message, result->message.p, result->message.n);
    asker->message[result->message.n] = '\0';
}

static void asker_progress(Call *call, const CallProgress *progress)
{
    Asker *asker = (Asker *)call;

    asker->n_progress++;
    asker->progress = progress->progress;
}

static void asker_log(Call *call, CallLogLevel level, Span logger, Span data)
{
    Asker *asker = (Asker *)call;

    asker->n_logged++;
    asker->level = level;
    assert_true(span_equals(logger, SPAN("disk")));
    assert_true(span_equals(data, SPAN("\"full\"")));
}

static const CallDoor door = {.finish = asker_finish, .progress = asker_progress, .log = asker_log};

static void asker_init(Asker *asker)
{
    *asker = (Asker){.n_finished = 0};
    call_init(&asker->call);
    asker->call.door = &door;
    asker->call.wants_progress = true;
}

static void fresh_call_hears_no_log_and_has_no_arguments(void **state)
{
    Asker asker;
    JsonValue value;

    (void)state;
    asker_init(&asker);
    assert_null(asker.call.arguments.node);
    assert_false(asker.call.running);
    assert_false(call_input(&asker.call, SPAN("name"), &value));
    call_log(&asker.call, CALL_LOG_EMERGENCY, SPAN("disk"), SPAN("\"full\""));
    assert_int_equal(asker.n_logged, 0);
    call_deinit(&asker.call);
    call_deinit(&asker.call);
}

static void failure_without_words_gets_those_of_its_error(void **state)
{
    Asker asker;

    (void)state;
    asker_init(&asker);
    call_fail(&asker.call, CALL_ERROR_UNAVAILABLE, SPAN_NULL);
    assert_int_equal(asker.error, CALL_ERROR_UNAVAILABLE);
    assert_string_equal(asker.message, call_error_text(CALL_ERROR_UNAVAILABLE));
    call_fail(&asker.call, CALL_ERROR_INTERNAL, SPAN("no disk"));
    assert_string_equal(asker.message, "no disk");
    assert_int_equal(asker.n_finished, 2);
    call_deinit(&asker.call);
}

static void host_stands_between_provider_and_door(void **state)
{
    /* The same functions serve as a host, so that what passes through can be seen twice. */
    static const CallHost host = {asker_finish, asker_progress};
    static const CallDoor silent = {.finish = NULL};
    Asker asker;

    (void)state;
    asker_init(&asker);
    asker.call.door = &silent;
    asker.call.host = &host;
    call_report(&asker.call, &(CallProgress){.progress = 1});
    call_fail(&asker.call, CALL_ERROR_TIMEOUT, SPAN_NULL);
    assert_int_equal(asker.n_progress, 1);
    assert_int_equal(asker.n_finished, 1);
    call_deinit(&asker.call);
}

static void progress_that_does_not_grow_is_dropped(void **state)
{
    static const double given[] = {0, 0, 0.5, 0.25, (double)NAN, 0.5, 7, 6};
    static const double seen[] = {0, 0, 0.5, 0.5, 0.5, 0.5, 7, 7};
    static const size_t counts[] = {1, 1, 2, 2, 2, 2, 3, 3};
    Asker asker;

    (void)state;
    asker_init(&asker);
    for (size_t i = 0; i < TW_ARRAY_SIZE(given); i++) {
        call_report(&asker.call, &(CallProgress){.progress = given[i], .total = CALL_NO_TOTAL});
        assert_int_equal(asker.n_progress, counts[i]);
        assert_true(asker.progress == seen[i]);
    }
    call_reset(&asker.call);
    asker.call.door = &door;
    call_report(&asker.call, &(CallProgress){.progress = -3});
    assert_int_equal(asker.n_progress, 3); /* nobody asked for it */
    asker.call.wants_progress = true;
    call_report(&asker.call, &(CallProgress){.progress = -2});
    assert_true(asker.progress == -2);
    call_deinit(&asker.call);
}

static void log_passes_from_the_level_asked_for(void **state)
{
    Asker asker;

    (void)state;
    asker_init(&asker);
    for (int wanted = CALL_LOG_DEBUG; wanted <= CALL_LOG_NONE; wanted++) {
        asker.call.log_level = (CallLogLevel)wanted;
        for (int level = CALL_LOG_DEBUG; level <= CALL_LOG_NONE; level++) {
            asker.n_logged = 0;
            call_log(&asker.call, (CallLogLevel)level, SPAN("disk"), SPAN("\"full\""));
            assert_int_equal(asker.n_logged, level >= wanted && level < CALL_LOG_NONE);
        }
    }
    call_deinit(&asker.call);
}

static void asker_detach(Call *call)
{
    ((Asker *)call)->n_detached++;
}

static void an_asker_is_let_go_where_its_door_knows_how(void **state)
{
    CallDoor polite = door;
    Asker asker;

    (void)state;
    asker_init(&asker);
    call_detach(&asker.call); /* this one does not, and nothing happens */
    assert_int_equal(asker.n_detached, 0);
    polite.detach = asker_detach;
    asker.call.door = &polite;
    call_detach(&asker.call);
    assert_int_equal(asker.n_detached, 1);
    assert_int_equal(asker.n_finished, 0);
    call_deinit(&asker.call);
}

static void level_names_are_those_of_rfc_5424(void **state)
{
    static const char *const names[] = {"debug", "info",     "notice", "warning",
                                        "error", "critical", "alert",  "emergency"};
    CallLogLevel level = CALL_LOG_ALERT;

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(names); i++) {
        assert_string_equal(call_log_level_name((CallLogLevel)i), names[i]);
        assert_true(call_log_level_parse(span_from_str(names[i]), &level));
        assert_int_equal(level, i);
    }
    level = CALL_LOG_ALERT;
    assert_null(call_log_level_name(CALL_LOG_NONE));
    assert_false(call_log_level_parse(SPAN("Debug"), &level));
    assert_false(call_log_level_parse(SPAN(""), &level));
    assert_false(call_log_level_parse(SPAN("warn"), &level));
    assert_int_equal(level, CALL_LOG_ALERT);
}

static void input_is_found_by_its_key(void **state)
{
    static const char text[] = "{\"a\":1,\"name\":{\"action\":\"accept\"}}";
    Asker asker;
    Arena arena;
    JsonDoc doc;
    JsonValue value;

    (void)state;
    asker_init(&asker);
    arena_init(&arena, 1 << 20);
    assert_int_equal(json_parse(&doc, &arena, text, sizeof(text) - 1, NULL, NULL), 0);
    asker.call.inputs = json_root(&doc);
    assert_true(call_input(&asker.call, SPAN("name"), &value));
    assert_true(span_equals(json_span(value), SPAN("{\"action\":\"accept\"}")));
    assert_false(call_input(&asker.call, SPAN("b"), &value));
    arena_deinit(&arena);
    call_deinit(&asker.call);
}

/* What one request lends to its call: pieces of a message that goes away. */
typedef struct Message {
    char text[128];
    Arena arena;
    JsonDoc doc;
} Message;

static int message_init(Message *message, const char *text)
{
    memcpy(message->text, text, strlen(text) + 1);
    arena_init(&message->arena, 1 << 20);
    return json_parse(&message->doc, &message->arena, message->text, strlen(text), NULL, NULL);
}

static void message_destroy(Message *message)
{
    memset(message->text, '#', sizeof(message->text));
    memset(message->doc.nodes, 0xee, message->doc.n_nodes * sizeof(*message->doc.nodes));
    arena_deinit(&message->arena);
}

#define MESSAGE                                                                                    \
    "{\"params\": {\"name\":\"echo\",\"arguments\": {\"a\":[1,{\"b\":2.50}],\"c\":\"x\"} ,"        \
    "\"in\":{\"k\":7}}}"

static void message_lend(Message *message, Call *call)
{
    JsonValue params;
    JsonValue name;

    assert_true(json_get(json_root(&message->doc), SPAN("params"), &params));
    assert_true(json_get(params, SPAN("arguments"), &call->arguments));
    assert_true(json_get(params, SPAN("in"), &call->inputs));
    assert_true(json_get(params, SPAN("name"), &name));
    assert_true(json_string_plain(name, &call->target));
}

static void kept_arguments_outlive_their_message(void **state)
{
    Asker asker;
    Message message;
    JsonValue value;

    (void)state;
    asker_init(&asker);
    assert_int_equal(message_init(&message, MESSAGE), 0);
    message_lend(&message, &asker.call);
    assert_int_equal(call_keep_arguments(&asker.call), 0);
    message_destroy(&message);
    assert_true(span_equals(asker.call.target, SPAN("echo")));
    assert_true(
        span_equals(json_span(asker.call.arguments), SPAN("{\"a\":[1,{\"b\":2.50}],\"c\":\"x\"}")));
    assert_int_equal(json_pointer(asker.call.arguments, SPAN("/a/1/b"), &value), 0);
    assert_true(span_equals(json_span(value), SPAN("2.50")));
    assert_true(call_input(&asker.call, SPAN("k"), &value));
    assert_true(span_equals(json_span(value), SPAN("7")));
    call_deinit(&asker.call);
}

static void keeping_twice_copies_only_what_is_new(void **state)
{
    Asker asker;
    Message message;
    Message second;
    JsonValue arguments;
    JsonValue value;

    (void)state;
    asker_init(&asker);
    assert_int_equal(message_init(&message, MESSAGE), 0);
    message_lend(&message, &asker.call);
    assert_int_equal(call_keep_arguments(&asker.call), 0);
    arguments = asker.call.arguments;
    assert_int_equal(call_keep_arguments(&asker.call), 0);
    assert_ptr_equal(asker.call.arguments.node, arguments.node);
    assert_int_equal(message_init(&second, "{\"k\":8}"), 0);
    asker.call.inputs = json_root(&second.doc);
    assert_int_equal(call_keep_arguments(&asker.call), 0);
    message_destroy(&second);
    message_destroy(&message);
    assert_ptr_equal(asker.call.arguments.node, arguments.node);
    assert_true(call_input(&asker.call, SPAN("k"), &value));
    assert_true(span_equals(json_span(value), SPAN("8")));
    call_deinit(&asker.call);
}

static void storage_is_kept_from_call_to_call(void **state)
{
    Asker asker;
    Message message;
    size_t n_calls;

    (void)state;
    asker_init(&asker);
    assert_int_equal(message_init(&message, MESSAGE), 0);
    message_lend(&message, &asker.call);
    assert_int_equal(call_keep_arguments(&asker.call), 0);
    n_calls = alloc_testing()->n_calls;
    for (int i = 0; i < 1000; i++) {
        call_reset(&asker.call);
        assert_null(asker.call.arguments.node);
        message_lend(&message, &asker.call);
        assert_int_equal(call_keep_arguments(&asker.call), 0);
        assert_true(asker.call.arguments.text != message.text);
    }
    assert_int_equal(alloc_testing()->n_calls, n_calls);
    message_destroy(&message);
    call_deinit(&asker.call);
}

static int keep_scenario(void *context)
{
    Asker asker;
    int r;

    asker_init(&asker);
    message_lend(context, &asker.call);
    r = call_keep_arguments(&asker.call);
    /* In either case all of it can still be read. */
    assert_true(span_equals(asker.call.target, SPAN("echo")));
    assert_int_equal(json_count(asker.call.arguments), 2);
    call_deinit(&asker.call);
    return r;
}

static void keeping_survives_want_of_memory(void **state)
{
    Message message;

    (void)state;
    assert_int_equal(message_init(&message, MESSAGE), 0);
    test_oom_sweep(keep_scenario, &message);
    message_destroy(&message);
}

static void arguments_that_the_provider_took_are_forgotten(void **state)
{
    Asker asker;
    Message message;
    JsonValue value;

    (void)state;
    asker_init(&asker);
    assert_int_equal(message_init(&message, MESSAGE), 0);
    message_lend(&message, &asker.call);
    asker.call.took_arguments = true;
    assert_int_equal(call_keep_arguments(&asker.call), 0);
    message_destroy(&message);
    assert_null(asker.call.arguments.node);
    /* Only these: others may still ask for the rest. */
    assert_true(span_equals(asker.call.target, SPAN("echo")));
    assert_true(call_input(&asker.call, SPAN("k"), &value));
    assert_int_equal(call_keep_arguments(&asker.call), 0);
    assert_null(asker.call.arguments.node);
    call_deinit(&asker.call);
}

static void copies_that_the_provider_took_later_are_forgotten_too(void **state)
{
    Asker asker;
    Message message;

    (void)state;
    asker_init(&asker);
    assert_int_equal(message_init(&message, MESSAGE), 0);
    message_lend(&message, &asker.call);
    assert_int_equal(call_keep_arguments(&asker.call), 0);
    assert_non_null(asker.call.arguments.node);
    asker.call.took_arguments = true;
    assert_int_equal(call_keep_arguments(&asker.call), 0);
    assert_null(asker.call.arguments.node);
    /* The next call's are kept as ever. */
    call_reset(&asker.call);
    asker.call.took_arguments = false;
    message_lend(&message, &asker.call);
    assert_int_equal(call_keep_arguments(&asker.call), 0);
    message_destroy(&message);
    assert_int_equal(json_count(asker.call.arguments), 2);
    call_deinit(&asker.call);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fresh_call_hears_no_log_and_has_no_arguments),
        cmocka_unit_test(failure_without_words_gets_those_of_its_error),
        cmocka_unit_test(host_stands_between_provider_and_door),
        cmocka_unit_test(progress_that_does_not_grow_is_dropped),
        cmocka_unit_test(log_passes_from_the_level_asked_for),
        cmocka_unit_test(an_asker_is_let_go_where_its_door_knows_how),
        cmocka_unit_test(level_names_are_those_of_rfc_5424),
        cmocka_unit_test(input_is_found_by_its_key),
        cmocka_unit_test(kept_arguments_outlive_their_message),
        cmocka_unit_test(keeping_twice_copies_only_what_is_new),
        cmocka_unit_test(storage_is_kept_from_call_to_call),
        cmocka_unit_test(keeping_survives_want_of_memory),
        cmocka_unit_test(arguments_that_the_provider_took_are_forgotten),
        cmocka_unit_test(copies_that_the_provider_took_later_are_forgotten_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

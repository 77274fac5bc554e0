#include "agent/outcome.h"

#include <errno.h>

#include "support/cmocka.h"
#include "support/oom_sweep.h"

static Arena arena;

static AgentOutcome outcome_of(const CallResult *result)
{
    AgentOutcome outcome;

    agent_outcome(&outcome, result, &arena);
    return outcome;
}

static AgentOutcome outcome_of_content(Span content)
{
    CallResult result = CALL_RESULT_TOOL_PIECES(&content, 1);

    return outcome_of(&result);
}

static void assert_span(Span actual, const char *expected)
{
    assert_int_equal(actual.n, strlen(expected));
    assert_memory_equal(actual.p, expected, actual.n);
}

static void the_text_of_one_block_is_the_result(void **state)
{
    AgentOutcome outcome;
    const Span pieces[] = {SPAN("{\"type\":\"text\",\"text\":"), SPAN("\"a\\nb\""), SPAN("}")};
    CallResult result = CALL_RESULT_TOOL_PIECES(pieces, 3);

    (void)state;
    outcome = outcome_of(&result);
    assert_false(outcome.is_error);
    assert_span(outcome.json, "\"a\\nb\"");
    assert_span(outcome.text, "a\nb");
}

static void structured_content_is_the_result_and_text_is_what_the_model_reads(void **state)
{
    Span piece = SPAN("{\"type\":\"text\",\"text\":\"two files\"}");
    CallResult result = CALL_RESULT_TOOL_PIECES(&piece, 1);
    AgentOutcome outcome;

    (void)state;
    result.structured = SPAN("{\"files\":[1.50]}");
    outcome = outcome_of(&result);
    assert_span(outcome.json, "{\"files\":[1.50]}");
    assert_span(outcome.text, "two files");
    result.n_pieces = 0;
    outcome = outcome_of(&result);
    assert_span(outcome.text, "{\"files\":[1.50]}");
}

static void several_blocks_are_told_whole_and_read_as_text(void **state)
{
    AgentOutcome outcome = outcome_of_content(
        SPAN("{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"image\",\"mimeType\":\"image/png\","
             "\"data\":\"AA==\"},{\"type\":\"resource\",\"resource\":{\"uri\":\"u:1\",\"text\":"
             "\"b\\u00e9\"}},{\"type\":\"resource_link\",\"uri\":\"u:2\",\"name\":\"n\"},"
             "{\"type\":\"new\",\"x\":1}"));

    (void)state;
    assert_true(span_starts_with(outcome.json, SPAN("{\"content\":[{\"type\":\"text\"")));
    assert_true(span_ends_with(outcome.json, SPAN("{\"type\":\"new\",\"x\":1}]}")));
    assert_span(outcome.text,
                "a\n[image image/png]\nb\xC3\xA9\n[resource u:2]\n{\"type\":\"new\",\"x\":1}");
}

static void a_result_without_words_has_some(void **state)
{
    CallResult result = {.kind = CALL_RESULT_TOOL};
    AgentOutcome outcome = outcome_of(&result);

    (void)state;
    assert_span(outcome.json, "{\"content\":[]}");
    assert_span(outcome.text, "(the tool said nothing)");
    result.is_error = true;
    outcome = outcome_of(&result);
    assert_true(outcome.is_error);
    assert_span(outcome.text, "the tool failed and did not say why");
}

static void what_failed_is_said_with_its_reasons(void **state)
{
    CallResult result = {.kind = CALL_RESULT_ERROR,
                         .error = CALL_ERROR_INVALID_ARGUMENTS,
                         .message = SPAN("arguments/ms: x; arguments: y"),
                         .data = SPAN("[{\"path\":\"/ms\"}]")};
    AgentOutcome outcome = outcome_of(&result);

    (void)state;
    assert_true(outcome.is_error);
    assert_span(outcome.text, "arguments/ms: x; arguments: y");
    result.error = CALL_ERROR_OWN;
    assert_span(outcome_of(&result).text, "arguments/ms: x; arguments: y; [{\"path\":\"/ms\"}]");
    result = (CallResult){.kind = CALL_RESULT_ERROR, .error = CALL_ERROR_TIMEOUT};
    assert_span(outcome_of(&result).text, call_error_text(CALL_ERROR_TIMEOUT));
    result = (CallResult){.kind = CALL_RESULT_ASK};
    assert_true(outcome_of(&result).is_error);
    result = (CallResult){.kind = CALL_RESULT_EMPTY};
    assert_true(outcome_of(&result).is_error);
}

static void a_result_that_is_no_json_is_an_error(void **state)
{
    (void)state;
    assert_true(outcome_of_content(SPAN("{\"type\":")).is_error);
}

static int outcome_without_memory(void *context)
{
    Span piece = SPAN("{\"type\":\"text\",\"text\":\"a\\tb\"},{\"type\":\"text\",\"text\":\"c\"}");
    CallResult result = CALL_RESULT_TOOL_PIECES(&piece, 1);
    AgentOutcome outcome;
    Arena own;

    (void)context;
    arena_init(&own, 1 << 20);
    agent_outcome(&outcome, &result, &own);
    assert_true(outcome.text.n > 0);
    arena_deinit(&own);
    return outcome.is_error ? -ENOMEM : 0;
}

static void without_memory_it_is_an_error_in_words(void **state)
{
    (void)state;
    test_oom_sweep(outcome_without_memory, NULL);
}

static int make_arena(void **state)
{
    (void)state;
    arena_init(&arena, 1 << 20);
    return 0;
}

static int drop_arena(void **state)
{
    (void)state;
    arena_deinit(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_text_of_one_block_is_the_result),
        cmocka_unit_test(structured_content_is_the_result_and_text_is_what_the_model_reads),
        cmocka_unit_test(several_blocks_are_told_whole_and_read_as_text),
        cmocka_unit_test(a_result_without_words_has_some),
        cmocka_unit_test(what_failed_is_said_with_its_reasons),
        cmocka_unit_test(a_result_that_is_no_json_is_an_error),
        cmocka_unit_test(without_memory_it_is_an_error_in_words),
    };

    return cmocka_run_group_tests(tests, make_arena, drop_arena);
}

#include "support/cmocka.h"

#include <string.h>

#include "call/result.h"

static void every_error_has_words_of_its_own(void **state)
{
    (void)state;
    for (int i = 0; i < CALL_N_ERRORS; i++) {
        const char *text = call_error_text((CallError)i);

        assert_non_null(text);
        assert_true(strlen(text) > 0);
        for (int j = 0; j < i; j++) {
            assert_string_not_equal(text, call_error_text((CallError)j));
        }
    }
}

static void number_that_is_no_error_has_words_too(void **state)
{
    (void)state;
    assert_string_equal(call_error_text(CALL_N_ERRORS), call_error_text(CALL_ERROR_INTERNAL));
}

static void tool_pieces_make_a_result_of_text_blocks(void **state)
{
    Span pieces[] = {SPAN("{\"type\":\"text\",\"text\":"), SPAN("\"a\""), SPAN("}")};
    CallResult result = CALL_RESULT_TOOL_PIECES(pieces, 3);

    (void)state;
    assert_int_equal(result.kind, CALL_RESULT_TOOL);
    assert_ptr_equal(result.pieces, pieces);
    assert_int_equal(result.n_pieces, 3);
    assert_int_equal(result.content_kinds, CALL_CONTENT_TEXT);
    assert_false(result.is_error);
    assert_int_equal(CALL_RESULT_NULL.kind, CALL_RESULT_EMPTY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_error_has_words_of_its_own),
        cmocka_unit_test(number_that_is_no_error_has_words_too),
        cmocka_unit_test(tool_pieces_make_a_result_of_text_blocks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Errors of syntax have a place; most are among the cases of tests/diff/templates, these are the
 * ones that JSON cannot hold, or that are about the place itself. */
#include "toolkit/templates/engine.h"

#include "support/cmocka.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine_rig.h"

static void expect_syntax(Span text, uint32_t line, uint32_t column, const char *message)
{
    TemplateProgram *program = NULL;
    Diag diag = DIAG_NULL;

    assert_int_equal(template_compile(&program, text, &diag), TEMPLATE_E_SYNTAX);
    assert_null(program);
    assert_int_equal(diag.code, TEMPLATE_E_SYNTAX);
    assert_string_equal(diag.message, message);
    assert_int_equal(diag.line, line);
    assert_int_equal(diag.column, column);
    /* Nobody has to listen. */
    assert_int_equal(template_compile(&program, text, NULL), TEMPLATE_E_SYNTAX);
}

static void places_count_lines_and_bytes(void **state)
{
    (void)state;
    expect_syntax(SPAN("one\ntwo\n  \xC3\xA9 {{foo bar}}\n"), 3, 8, "there is no helper 'foo'");
    expect_syntax(SPAN("one\r\n{{#if\n\n  a\n  b}}{{/if}}"), 2, 4,
                  "'if' takes 1 argument, found 2");
    expect_syntax(SPAN("{{#if a}}\n{{#each b}}\n{{/each}}\n"), 1, 1,
                  "the block 'if' is not closed: expected {{/if}}");
    expect_syntax(SPAN("{{! a\ncomment }}\n{{else}}"), 3, 1, "an else outside a block");
}

static void text_that_is_no_text_is_refused(void **state)
{
    static const char nul[] = "ab\n{{x}}\0{{y}}";

    (void)state;
    expect_syntax(SPAN("a\n\xFF{{b}}"), 2, 1, "invalid UTF-8");
    expect_syntax(SPAN("{{b\xC3}}"), 1, 4, "invalid UTF-8");
    expect_syntax(span_make(nul, sizeof(nul) - 1), 2, 6, "a NUL byte");
}

static void too_long_a_text_is_refused(void **state)
{
    size_t n = ((size_t)16 << 20) + 1;
    char *text = malloc(n);
    TemplateProgram *program = NULL;
    Diag diag = DIAG_NULL;

    (void)state;
    assert_non_null(text);
    memset(text, 'x', n);
    assert_int_equal(template_compile(&program, span_make(text, n), &diag), TEMPLATE_E_SYNTAX);
    assert_string_equal(diag.message, "longer than 16777216 bytes");
    assert_int_equal(template_compile(&program, span_make(text, n - 1), &diag), 0);
    (void)template_free(program);
    free(text);
}

static void messages_stay_on_one_line(void **state)
{
    (void)state;
    expect_syntax(SPAN("{{a \"x\ny\" \"z\"}}"), 1, 3, "there is no helper 'a'");
    expect_syntax(SPAN("{{#if a}}{{/[b\nc]}}"), 1, 10, "expected {{/if}}, found {{/[b}}");
    expect_syntax(SPAN("{{#if a}}{{/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\xC3\xA9"
                       "b}}"),
                  1, 10, "expected {{/if}}, found {{/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}}");
}

static void expect_fault(const char *text, const char *values, uint32_t line, uint32_t column,
                         const char *message)
{
    TemplateProgram *program = rig_compile(text);
    Diag diag = DIAG_NULL;
    Bytes out;

    bytes_init(&out, RIG_MAX_BYTES);
    assert_int_equal(rig_render(program, values, &out, &diag), TEMPLATE_E_RENDER);
    assert_string_equal(diag.message, message);
    assert_int_equal(diag.line, line);
    assert_int_equal(diag.column, column);
    assert_int_equal(rig_render(program, values, &out, NULL), TEMPLATE_E_RENDER);
    bytes_deinit(&out);
    (void)template_free(program);
}

static void helpers_say_what_they_need_and_where(void **state)
{
    (void)state;
    expect_fault("a\n  {{snake_case x}}", "{}", 2, 5, "'snake_case' needs text, found nothing");
    expect_fault("{{kebab_case x}}", "{\"x\":null}", 1, 3, "'kebab_case' needs text, found null");
    expect_fault("{{pascal_case x}}", "{\"x\":1}", 1, 3,
                 "'pascal_case' needs text, found a number");
    expect_fault("{{upper x}}", "{\"x\":true}", 1, 3, "'upper' needs text, found true");
    expect_fault("{{lower x}}", "{\"x\":[]}", 1, 3, "'lower' needs text, found an array");
    expect_fault("{{title x}}", "{\"x\":{}}", 1, 3, "'title' needs text, found an object");
    expect_fault("{{join x \"\"}}", "{\"x\":\"\"}", 1, 3, "'join' needs an array, found text");
    expect_fault("{{join x \"\"}}", "{\"x\":0}", 1, 3, "'join' needs an array, found a number");
    expect_fault("{{join x 1}}", "{}", 1, 3,
                 "'join' needs text between the elements, found a number");
    expect_fault("{{upper\n (lower\n x)}}", "{}", 2, 3, "'lower' needs text, found nothing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_count_lines_and_bytes),
        cmocka_unit_test(text_that_is_no_text_is_refused),
        cmocka_unit_test(too_long_a_text_is_refused),
        cmocka_unit_test(messages_stay_on_one_line),
        cmocka_unit_test(helpers_say_what_they_need_and_where),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Texts and values made to hurt: deep, long, and slow. */
#include "toolkit/templates/engine.h"

#include "support/cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine_rig.h"

static void put(Bytes *b, const char *text, int times)
{
    for (int i = 0; i < times; i++) {
        assert_int_equal(bytes_append_span(b, span_from_str(text)), 0);
    }
}

static int compile(const Bytes *text, TemplateProgram **ret, Diag *diag)
{
    *ret = NULL;
    return template_compile(ret, bytes_span(text), diag);
}

static void blocks_nest_64_deep(void **state)
{
    TemplateProgram *program;
    Diag diag = DIAG_NULL;
    Bytes text;
    Bytes out;

    (void)state;
    bytes_init(&text, RIG_MAX_BYTES);
    bytes_init(&out, RIG_MAX_BYTES);
    put(&text, "{{#each l}}", 1);
    put(&text, "{{#each ../l}}", TEMPLATE_DEPTH - 1);
    put(&text, "{{this}}{{@../index}}{{../../../l}}", 1);
    put(&text, "{{/each}}", TEMPLATE_DEPTH);
    assert_int_equal(compile(&text, &program, &diag), 0);
    assert_int_equal(rig_render(program, "{\"l\":[7]}", &out, NULL), 0);
    (void)template_free(program);
    bytes_clear(&text);
    put(&text, "{{#if t}}", TEMPLATE_DEPTH + 1);
    assert_int_equal(compile(&text, &program, &diag), TEMPLATE_E_SYNTAX);
    assert_string_equal(diag.message, "blocks are nested deeper than 64");
    assert_int_equal(diag.column, 9 * TEMPLATE_DEPTH + 1);
    bytes_deinit(&out);
    bytes_deinit(&text);
}

static void frames_of_64_blocks_hold_their_values(void **state)
{
    TemplateProgram *program;
    Bytes text;
    Bytes out;

    (void)state;
    bytes_init(&text, RIG_MAX_BYTES);
    bytes_init(&out, RIG_MAX_BYTES);
    for (int i = 0; i < TEMPLATE_DEPTH; i++) {
        assert_int_equal(bytes_append_format(&text, "{{#with %d as |p%d|}}", i + 1, i), 0);
    }
    put(&text, "{{p0}} {{p31}} {{p63}} {{../this}}", 1);
    put(&text, "{{/with}}", TEMPLATE_DEPTH);
    assert_int_equal(compile(&text, &program, NULL), 0);
    assert_int_equal(rig_render(program, "{}", &out, NULL), 0);
    assert_true(span_equals(bytes_span(&out), SPAN("1 32 64 63")));
    (void)template_free(program);
    bytes_deinit(&out);
    bytes_deinit(&text);
}

static void expect_refused(const Bytes *text, const char *message)
{
    TemplateProgram *program;
    Diag diag = DIAG_NULL;

    assert_int_equal(compile(text, &program, &diag), TEMPLATE_E_SYNTAX);
    assert_string_equal(diag.message, message);
}

static void calls_arguments_and_parameters_are_bounded(void **state)
{
    TemplateProgram *program;
    Bytes text;

    (void)state;
    bytes_init(&text, RIG_MAX_BYTES);
    put(&text, "{{upper ", 1);
    put(&text, "(upper ", 15);
    put(&text, "\"x\"", 1);
    put(&text, ")", 15);
    put(&text, "}}", 1);
    assert_int_equal(compile(&text, &program, NULL), 0);
    (void)template_free(program);
    bytes_clear(&text);
    put(&text, "{{upper ", 1);
    put(&text, "(upper ", 16);
    expect_refused(&text, "calls are nested deeper than 16");
    bytes_clear(&text);
    put(&text, "{{upper", 1);
    put(&text, " a", 33);
    put(&text, "}}", 1);
    expect_refused(&text, "more than 32 arguments");
    bytes_clear(&text);
    put(&text, "{{#each a as |", 1);
    put(&text, "x ", 129);
    put(&text, "|}}{{/each}}", 1);
    expect_refused(&text, "more than 128 block parameters");
    bytes_deinit(&text);
}

static void a_chain_of_elses_may_be_long(void **state)
{
    TemplateProgram *program;
    Bytes text;
    Bytes out;

    (void)state;
    bytes_init(&text, RIG_MAX_BYTES);
    bytes_init(&out, RIG_MAX_BYTES);
    put(&text, "{{#if a}}\nx\n", 1);
    put(&text, "{{else if a}}\ny\n", 20000);
    put(&text, "{{else}}\nz\n{{/if}}\n", 1);
    assert_int_equal(compile(&text, &program, NULL), 0);
    assert_int_equal(rig_render(program, "{}", &out, NULL), 0);
    assert_true(span_equals(bytes_span(&out), SPAN("z\n")));
    (void)template_free(program);
    bytes_deinit(&out);
    bytes_deinit(&text);
}

/* Each would take minutes if any step looked at all that came before. */
static void long_texts_are_read_in_one_go(void **state)
{
    static const char *const pieces[] = {"{{a}}",
                                         " {{~a~}} ",
                                         "{{! c }}\n",
                                         "\\{{a}}",
                                         "{{#a}}{{/a}}\n",
                                         "{{!--",
                                         "{{\"\\\"",
                                         "{{[\\]",
                                         "{{as ",
                                         "{{#if a}}{{else}}{{/if}}",
                                         "\n \n ",
                                         "{",
                                         "\\",
                                         "{{default (upper \"a\") b}}"};
    TemplateProgram *program;
    Bytes text;

    (void)state;
    bytes_init(&text, RIG_MAX_BYTES);
    for (size_t i = 0; i < TW_ARRAY_SIZE(pieces); i++) {
        int r;

        bytes_clear(&text);
        put(&text, pieces[i], (int)(((size_t)1 << 19) / strlen(pieces[i])));
        r = compile(&text, &program, NULL);
        assert_true(r == 0 || r == TEMPLATE_E_SYNTAX);
        (void)template_free(program);
    }
    bytes_deinit(&text);
}

static void many_names_are_listed_once_each(void **state)
{
    TemplateProgram *program;
    const Span *names;
    Bytes text;

    (void)state;
    bytes_init(&text, RIG_MAX_BYTES);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 50000; i++) {
            assert_int_equal(bytes_append_format(&text, "{{n%d}}", i), 0);
        }
    }
    assert_int_equal(compile(&text, &program, NULL), 0);
    assert_int_equal(template_variables(program, &names), 50000);
    assert_true(span_equals(names[49999], SPAN("n49999")));
    (void)template_free(program);
    bytes_deinit(&text);
}

static void expect_fault(const char *text, const Bytes *values, int expected)
{
    TemplateProgram *program = rig_compile(text);
    Diag diag = DIAG_NULL;
    Bytes out;

    bytes_init(&out, (size_t)1 << 16);
    assert_int_equal(rig_render(program, values->data, &out, &diag), expected);
    if (expected == TEMPLATE_E_RENDER) {
        assert_string_equal(diag.message, "rendering takes too many steps");
    }
    bytes_deinit(&out);
    (void)template_free(program);
}

static void loops_without_end_are_ended(void **state)
{
    Bytes values;

    (void)state;
    bytes_init(&values, RIG_MAX_BYTES);
    put(&values, "{\"o\":{", 1);
    for (int i = 0; i < 2000; i++) {
        assert_int_equal(bytes_append_format(&values, "\"%d\":0,", i), 0);
    }
    put(&values, "\"k\":0},\"l\":[0", 1);
    put(&values, ",[[0]]", 2000);
    put(&values, "]}", 1);
    assert_int_equal(bytes_append_byte(&values, '\0'), 0);
    expect_fault("{{#each l}}{{#each ../l}}{{#each ../../l}}{{/each}}{{/each}}{{/each}}", &values,
                 TEMPLATE_E_RENDER);
    expect_fault("{{#each l}}{{#each ../l}}{{#each @root.o}}{{/each}}{{/each}}{{/each}}", &values,
                 TEMPLATE_E_RENDER);
    expect_fault("{{#each l}}{{#each @root.l}}{{#if @root.o.k}}{{/if}}{{/each}}{{/each}}", &values,
                 TEMPLATE_E_RENDER);
    expect_fault(
        "{{#each l}}{{#if (join @root.l \",\")}}{{/if}}{{#each @root.l}}{{#if (join @root.l "
        "\"\")}}{{/if}}{{/each}}{{/each}}",
        &values, TEMPLATE_E_RENDER);
    /* Much output ends at its bound. */
    expect_fault("{{#each l}}{{@root.l}}{{/each}}", &values, BYTES_E_FULL);
    /* And so does what arguments make: 2,000 times 4,000 bytes, 2,000 times over. */
    expect_fault("{{#with (join l (join l (join l \"x\")))}}{{/with}}", &values, BYTES_E_FULL);
    bytes_deinit(&values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_nest_64_deep),
        cmocka_unit_test(frames_of_64_blocks_hold_their_values),
        cmocka_unit_test(calls_arguments_and_parameters_are_bounded),
        cmocka_unit_test(a_chain_of_elses_may_be_long),
        cmocka_unit_test(long_texts_are_read_in_one_go),
        cmocka_unit_test(many_names_are_listed_once_each),
        cmocka_unit_test(loops_without_end_are_ended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

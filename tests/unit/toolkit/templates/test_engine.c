/* What the engine promises besides the language, which test_engine_cases.c and tests/diff hold it
 * to. */
#include "toolkit/templates/engine.h"

#include "support/cmocka.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "support/alloc_testing.h"
#include "support/oom_sweep.h"

#include "engine_rig.h"

static void output_is_appended_and_kept_on_failure(void **state)
{
    TemplateProgram *program = rig_compile("[{{name}}{{upper n}}]");
    Diag diag = DIAG_NULL;
    Bytes out;

    (void)state;
    bytes_init(&out, RIG_MAX_BYTES);
    assert_int_equal(bytes_append_span(&out, SPAN("kept")), 0);
    assert_int_equal(rig_render(program, "{\"name\":\"x\",\"n\":1}", &out, &diag),
                     TEMPLATE_E_RENDER);
    assert_int_equal(out.n, 4);
    assert_int_equal(diag.code, TEMPLATE_E_RENDER);
    assert_int_equal(rig_render(program, "{\"name\":\"x\",\"n\":\"y\"}", &out, &diag), 0);
    assert_true(span_equals(bytes_span(&out), SPAN("kept[xY]")));
    bytes_deinit(&out);
    (void)template_free(program);
}

static void no_values_are_an_empty_object(void **state)
{
    (void)state;
    rig_expect("[{{name}}{{#each this}}{{@key}}{{/each}}{{this}}]", NULL,
               "[current_timestamp[object Object]]");
}

static void a_program_serves_many_values(void **state)
{
    TemplateProgram *program = rig_compile("{{a}}{{#each l}}{{x}}{{../a}}{{/each}}");
    Bytes out;

    (void)state;
    bytes_init(&out, RIG_MAX_BYTES);
    for (int i = 0; i < 3; i++) {
        bytes_clear(&out);
        assert_int_equal(
            rig_render(program, "{\"a\":1,\"l\":[{\"x\":2},{},{\"x\":3}]}", &out, NULL), 0);
        assert_true(span_equals(bytes_span(&out), SPAN("121131")));
        bytes_clear(&out);
        assert_int_equal(rig_render(program, "{\"l\":[{\"x\":4}],\"a\":5}", &out, NULL), 0);
        assert_true(span_equals(bytes_span(&out), SPAN("545")));
    }
    bytes_deinit(&out);
    (void)template_free(program);
}

static void the_text_is_copied(void **state)
{
    char text[] = "a{{name}}b{{default x \"lit\"}}";
    TemplateProgram *program = NULL;
    Bytes out;

    (void)state;
    assert_int_equal(template_compile(&program, span_from_str(text), NULL), 0);
    memset(text, '{', sizeof(text) - 1);
    bytes_init(&out, RIG_MAX_BYTES);
    assert_int_equal(rig_render(program, "{\"name\":1}", &out, NULL), 0);
    assert_true(span_equals(bytes_span(&out), SPAN("a1blit")));
    bytes_deinit(&out);
    (void)template_free(program);
}

static void time_is_what_it_was_told(void **state)
{
    TemplateProgram *program =
        rig_compile("{{current_year}} {{current_date}} {{current_timestamp}}");
    Bytes out;

    (void)state;
    bytes_init(&out, RIG_MAX_BYTES);
    assert_int_equal(template_render(program, JSON_VALUE_NULL, 0, &out, NULL), 0);
    assert_true(span_equals(bytes_span(&out), SPAN("1970 1970-01-01 1970-01-01T00:00:00.000Z")));
    bytes_deinit(&out);
    (void)template_free(program);
}

static void expect_variables(const char *text, const char *expected)
{
    TemplateProgram *program = rig_compile(text);
    const Span *names;
    size_t n = template_variables(program, &names);
    Bytes list;

    bytes_init(&list, RIG_MAX_BYTES);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(bytes_append_span(&list, names[i]), 0);
        assert_int_equal(bytes_append_byte(&list, ' '), 0);
    }
    assert_int_equal(bytes_append_byte(&list, '\0'), 0);
    assert_string_equal(list.data, expected);
    bytes_deinit(&list);
    (void)template_free(program);
}

static void variables_are_the_names_at_the_top(void **state)
{
    (void)state;
    expect_variables("no tags", "");
    expect_variables("{{b}} {{a.x}} {{b}} {{this.c}} {{./d}} {{[e f]}} {{this}}", "b a c d e f ");
    expect_variables("{{#if a}}{{b}}{{else if c}}{{d}}{{else}}{{e}}{{/if}}", "a b c d e ");
    expect_variables(
        "{{#each l}}{{x}}{{this}}{{../y}}{{@root.z}}{{../../no}}{{@index}}{{else}}{{w}}"
        "{{/each}}",
        "l y z no w ");
    expect_variables("{{#with o}}{{x}}{{#each ../l}}{{y}}{{../n}}{{../../m}}{{/each}}{{/with}}",
                     "o l m ");
    expect_variables("{{#each l as |x i|}}{{x}}{{i}}{{x.y}}{{this.x}}{{/each}}{{x}}", "l x ");
    expect_variables("{{upper a}} {{default b (lower c)}} {{current_year}} {{current_timestamp}}",
                     "a b c ");
    expect_variables("{{#flag}}{{inside}}{{/flag}}{{^other}}{{x}}{{/other}}",
                     "flag inside other x ");
    expect_variables("{{default \"a\" 1}}{{\"b\"}}{{12}}", "b 12 ");
}

static void short_texts_render_without_allocating(void **state)
{
    TemplateProgram *program = rig_compile(
        "{{name}} {{#if t}}{{upper name}}{{/if}}{{#each l}}{{this}}{{@index}}{{../name}}{{/each}}"
        "{{#each o}}{{@key}}{{this}}{{/each}}{{join l \",\"}}{{current_timestamp}}{{n}}{{l}}");
    const char *values =
        "{\"name\":\"x\\\"\",\"t\":true,\"l\":[\"a\",\"b\"],\"o\":{\"k\":1,\"j\":2},\"n\":1.5}";
    JsonDoc doc;
    Arena arena;
    Bytes out;
    size_t n_before;

    (void)state;
    arena_init(&arena, RIG_MAX_BYTES);
    bytes_init(&out, RIG_MAX_BYTES);
    assert_int_equal(json_parse(&doc, &arena, values, strlen(values), NULL, NULL), 0);
    assert_int_equal(template_render(program, json_root(&doc), RIG_UNIX_MS, &out, NULL), 0);
    bytes_clear(&out);
    n_before = alloc_testing()->n_calls;
    assert_int_equal(template_render(program, json_root(&doc), RIG_UNIX_MS, &out, NULL), 0);
    assert_int_equal(alloc_testing()->n_calls, n_before);
    bytes_deinit(&out);
    arena_deinit(&arena);
    (void)template_free(program);
}

/* Compiles and renders with every kind of memory that there is. */
static int oom_scenario(void *context)
{
    static const char text[] =
        "{{a.[b\\]c]}}{{#each o as |v k|}}{{k}}{{../a}}{{#with (upper (default v "
        "../long))}}{{this}}"
        "{{/with}}{{else if x}}{{join l (lower \"A\\\"B\")}}{{/each}}{{#each same}}{{#with ../n}}"
        "{{..}}{{/with}}{{/each}}{{escaped}}";
    const JsonDoc *doc = context;
    TemplateProgram *program = NULL;
    Bytes out;
    int r = template_compile(&program, SPAN(text), NULL);

    if (r != 0) {
        assert_null(program);
        return r;
    }
    bytes_init(&out, RIG_MAX_BYTES);
    r = template_render(program, json_root(doc), RIG_UNIX_MS, &out, NULL);
    if (r != 0) {
        assert_int_equal(out.n, 0);
    }
    bytes_deinit(&out);
    (void)template_free(program);
    return r;
}

static void memory_may_end_anywhere(void **state)
{
    const char *head =
        "{\"o\":{\"9\":\"\\u0031x\",\"2\":\"b\",\"k\\u0031\":\"\"},\"same\":[\"5\",[5]],"
        "\"n\":5,\"escaped\":\"\\u0031\",\"long\":\"";
    JsonDoc doc;
    Arena arena;
    Bytes text;

    (void)state;
    arena_init(&arena, RIG_MAX_BYTES);
    bytes_init(&text, RIG_MAX_BYTES);
    assert_int_equal(bytes_append_span(&text, span_from_str(head)), 0);
    for (int i = 0; i < 3000; i++) {
        assert_int_equal(bytes_append_byte(&text, 'l'), 0);
    }
    assert_int_equal(bytes_append_span(&text, SPAN("\"}")), 0);
    assert_int_equal(json_parse(&doc, &arena, text.data, text.n, NULL, NULL), 0);
    test_oom_sweep(oom_scenario, &doc);
    bytes_deinit(&text);
    arena_deinit(&arena);
}

static void free_takes_null(void **state)
{
    (void)state;
    assert_null(template_free(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_is_appended_and_kept_on_failure),
        cmocka_unit_test(no_values_are_an_empty_object),
        cmocka_unit_test(a_program_serves_many_values),
        cmocka_unit_test(the_text_is_copied),
        cmocka_unit_test(time_is_what_it_was_told),
        cmocka_unit_test(variables_are_the_names_at_the_top),
        cmocka_unit_test(short_texts_render_without_allocating),
        cmocka_unit_test(memory_may_end_anywhere),
        cmocka_unit_test(free_takes_null),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

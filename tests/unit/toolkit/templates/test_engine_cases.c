/* The cases that tests/diff gives to Handlebars as well: here against the text recorded with them.
 */
#include "toolkit/templates/engine.h"

#include "support/cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "support/files.h"
#include "support/guard.h"

#define CASES_FILE  TW_SOURCE_DIR "/tests/diff/templates/cases.json"
#define CASES_LEAST 300
/* 2025-01-15T10:30:00.123Z, as the other side has it. */
#define CASES_UNIX_MS 1736937000123

typedef struct Case {
    Span name;
    Span template;
    JsonValue values;
    Span expected;
    bool is_error;
} Case;

static Span get_text(JsonValue v, Span name, Arena *arena)
{
    JsonValue found;
    Span text = SPAN_NULL;

    if (json_get(v, name, &found)) {
        assert_int_equal(json_string(found, arena, &text), 0);
    }
    return text;
}

static void expect(const Case *c, const char *what, Span got)
{
    if (!span_equals(got, c->expected)) {
        print_error("%.*s: %s\n  expected %.*s\n  got      %.*s\n", (int)c->name.n, c->name.p, what,
                    (int)c->expected.n, c->expected.p, (int)got.n, got.p);
        fail();
    }
}

static void expect_error(const Case *c, const char *kind, const Diag *diag)
{
    char line[DIAG_MESSAGE_SIZE + 64];
    int n =
        snprintf(line, sizeof(line), "%s %u %u %s", kind, diag->line, diag->column, diag->message);

    assert_true(c->is_error);
    expect(c, "the error", span_make(line, (size_t)n));
}

/* Into room of exactly the size that is needed, behind what is there; one byte less is refused, and
 * nothing is left of it. */
static void check_render(const Case *c, const TemplateProgram *program)
{
    static const Span before = SPAN_INIT("before");
    Diag diag = DIAG_NULL;
    Bytes out;
    int r;

    bytes_init(&out, before.n + c->expected.n);
    assert_int_equal(bytes_append_span(&out, before), 0);
    r = template_render(program, c->values, CASES_UNIX_MS, &out, &diag);
    if (r == TEMPLATE_E_RENDER) {
        expect_error(c, "render", &diag);
        assert_int_equal(out.n, before.n);
        bytes_deinit(&out);
        return;
    }
    assert_int_equal(r, 0);
    assert_false(c->is_error);
    expect(c, "the text", span_make(out.data + before.n, out.n - before.n));
    bytes_deinit(&out);
    if (c->expected.n > 0) {
        bytes_init(&out, c->expected.n - 1);
        assert_int_equal(template_render(program, c->values, CASES_UNIX_MS, &out, NULL),
                         BYTES_E_FULL);
        assert_int_equal(out.n, 0);
        bytes_deinit(&out);
    }
}

static void check_case(const Case *c)
{
    GuardBuffer text = guard_copy(c->template.p, c->template.n);
    TemplateProgram *program = NULL;
    Diag diag = DIAG_NULL;
    int r = template_compile(&program, span_make(text.p, text.n), &diag);

    guard_free(&text);
    if (r == TEMPLATE_E_SYNTAX) {
        assert_null(program);
        expect_error(c, "syntax", &diag);
        return;
    }
    assert_int_equal(r, 0);
    /* Rendering leaves the program as it was. */
    check_render(c, program);
    check_render(c, program);
    assert_null(template_free(program));
}

static void every_case_renders_as_recorded(void **state)
{
    size_t n;
    char *text = files_read(CASES_FILE, &n);
    size_t n_cases = 0;
    JsonValue shared;
    JsonValue cases;
    JsonDoc doc;
    Arena arena;

    (void)state;
    arena_init(&arena, 1 << 24);
    assert_int_equal(json_parse(&doc, &arena, text, n, NULL, NULL), 0);
    assert_true(json_get(json_root(&doc), SPAN("values"), &shared));
    assert_true(json_get(json_root(&doc), SPAN("cases"), &cases));
    for (JsonIter it = json_iter(cases); json_iter_next(&it); n_cases++) {
        Case c = {.name = get_text(it.value, SPAN("name"), &arena),
                  .template = get_text(it.value, SPAN("template"), &arena),
                  .values = shared,
                  .expected = get_text(it.value, SPAN("text"), &arena)};
        Span error = get_text(it.value, SPAN("error"), &arena);
        Span json = get_text(it.value, SPAN("json"), &arena);
        JsonDoc own;

        (void)json_get(it.value, SPAN("values"), &c.values);
        if (json.n > 0) {
            assert_int_equal(json_parse(&own, &arena, json.p, json.n, NULL, NULL), 0);
            c.values = json_root(&own);
        }
        if (error.n > 0) {
            c.is_error = true;
            c.expected = error;
        }
        check_case(&c);
    }
    assert_true(n_cases >= CASES_LEAST);
    arena_deinit(&arena);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_renders_as_recorded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

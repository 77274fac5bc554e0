/* tests/unit/toolkit/templates/engine_rig.h: compiling and rendering in one line of a test. */
#pragma once

#include "support/cmocka.h"

#include <string.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "toolkit/templates/engine.h"

#define RIG_MAX_BYTES ((size_t)1 << 26)
/* 2025-01-15T10:30:00.123Z */
#define RIG_UNIX_MS 1736937000123

TW_UNUSED static TemplateProgram *rig_compile(const char *text)
{
    TemplateProgram *program = NULL;
    Diag diag = DIAG_NULL;

    if (template_compile(&program, span_from_str(text), &diag) != 0) {
        print_error("%s: %u:%u %s\n", text, diag.line, diag.column, diag.message);
        fail();
    }
    return program;
}

/* Renders with values (JSON text; NULL: none). The outcome of template_render. */
TW_UNUSED static int rig_render(const TemplateProgram *program, const char *values, Bytes *out,
                                Diag *diag)
{
    JsonValue root = JSON_VALUE_NULL;
    JsonDoc doc;
    Arena arena;
    int r;

    arena_init(&arena, RIG_MAX_BYTES);
    if (values != NULL) {
        assert_int_equal(json_parse(&doc, &arena, values, strlen(values), NULL, NULL), 0);
        root = json_root(&doc);
    }
    r = template_render(program, root, RIG_UNIX_MS, out, diag);
    arena_deinit(&arena);
    return r;
}

TW_UNUSED static void rig_expect(const char *text, const char *values, const char *expected)
{
    TemplateProgram *program = rig_compile(text);
    Diag diag = DIAG_NULL;
    Bytes out;

    bytes_init(&out, RIG_MAX_BYTES);
    assert_int_equal(rig_render(program, values, &out, &diag), 0);
    assert_int_equal(bytes_append_byte(&out, '\0'), 0);
    assert_string_equal(out.data, expected);
    bytes_deinit(&out);
    (void)template_free(program);
}

/* TEMPLATE, a NUL, JSON: compiles the one and renders it with the other. Rendering again must
 * repeat the first, in room of exactly that size, and one byte less must be refused. */
#include "fuzz.h"

#include <string.h>

#include "base/bytes.h"
#include "toolkit/templates/engine.h"

#define FUZZ_ARENA_BYTES ((size_t)1 << 24)
#define FUZZ_OUT_BYTES   ((size_t)1 << 18)
#define FUZZ_UNIX_MS     1736937000123

static void fuzz_render(const TemplateProgram *program, JsonValue values)
{
    Diag diag = DIAG_NULL;
    Bytes first;
    Bytes second;
    int r;

    bytes_init(&first, FUZZ_OUT_BYTES);
    r = template_render(program, values, FUZZ_UNIX_MS, &first, &diag);
    FUZZ_REQUIRE(r == 0 || r == BYTES_E_FULL || r == TEMPLATE_E_RENDER);
    if (r != 0) {
        FUZZ_REQUIRE(first.n == 0);
        FUZZ_REQUIRE((r == TEMPLATE_E_RENDER) == (diag.message[0] != '\0'));
    } else {
        bytes_init(&second, first.n);
        FUZZ_REQUIRE(template_render(program, values, FUZZ_UNIX_MS, &second, NULL) == 0);
        FUZZ_REQUIRE(span_equals(bytes_span(&first), bytes_span(&second)));
        bytes_deinit(&second);
        if (first.n > 0) {
            bytes_init(&second, first.n - 1);
            FUZZ_REQUIRE(template_render(program, values, FUZZ_UNIX_MS, &second, NULL) ==
                         BYTES_E_FULL);
            FUZZ_REQUIRE(second.n == 0);
            bytes_deinit(&second);
        }
    }
    bytes_deinit(&first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    const char *nul = size == 0 ? NULL : memchr(text, '\0', size);
    size_t n = nul == NULL ? size : (size_t)(nul - text);
    TemplateProgram *program = NULL;
    Diag diag = DIAG_NULL;
    JsonValue values = JSON_VALUE_NULL;
    const Span *names;
    JsonDoc doc;
    Arena arena;
    int r = template_compile(&program, span_make(text, n), &diag);

    if (r != 0) {
        FUZZ_REQUIRE(r == TEMPLATE_E_SYNTAX && diag.line > 0 && diag.column > 0);
        FUZZ_REQUIRE(diag.offset <= n && diag.message[0] != '\0');
        return 0;
    }
    for (size_t i = 0, n_names = template_variables(program, &names); i < n_names; i++) {
        FUZZ_REQUIRE(names[i].p != NULL);
    }
    arena_init(&arena, FUZZ_ARENA_BYTES);
    if (nul != NULL && json_parse(&doc, &arena, nul + 1, size - n - 1, NULL, NULL) == 0) {
        values = json_root(&doc);
    }
    fuzz_render(program, values);
    arena_deinit(&arena);
    (void)template_free(program);
    return 0;
}

/* Renders what it is told to, for templates_diff.mjs.
 *
 * In: a length of four bytes (little-endian), then JSON: {"template": text, "values": object} or
 * {"template": text, "json": text}. Out, a line for each: "ok HEX", "syntax LINE COLUMN MESSAGE",
 * "render LINE COLUMN MESSAGE", or "bad" for values that are no JSON. A length of 0 asks for what
 * is answered so far. */
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "toolkit/templates/engine.h"

#define PROBE_MAX_BYTES ((size_t)1 << 28)
/* 2025-01-15T10:30:00.123Z, as the other side has it. */
#define PROBE_UNIX_MS 1736937000123

static void require(int is_bad)
{
    if (is_bad != 0) {
        (void)fprintf(stderr, "template_probe: a promise is broken\n");
        exit(2);
    }
}

static void answer_render(TemplateProgram *program, JsonValue values)
{
    static const char digits[] = "0123456789abcdef";
    Diag diag = DIAG_NULL;
    Bytes out;
    int r;

    bytes_init(&out, PROBE_MAX_BYTES);
    r = template_render(program, values, PROBE_UNIX_MS, &out, &diag);
    if (r == TEMPLATE_E_RENDER) {
        printf("render %u %u %s\n", diag.line, diag.column, diag.message);
    } else {
        require(r);
        printf("ok ");
        for (size_t i = 0; i < out.n; i++) {
            unsigned char c = (unsigned char)out.data[i];

            (void)putchar(digits[c >> 4]);
            (void)putchar(digits[c & 15]);
        }
        (void)putchar('\n');
    }
    bytes_deinit(&out);
}

static void answer(Arena *arena, JsonValue question)
{
    TemplateProgram *program = NULL;
    Diag diag = DIAG_NULL;
    JsonDoc doc;
    JsonValue v;
    Span text;
    int r;

    require(!json_get(question, SPAN("template"), &v) || json_string(v, arena, &text) != 0);
    r = template_compile(&program, text, &diag);
    if (r == TEMPLATE_E_SYNTAX) {
        printf("syntax %u %u %s\n", diag.line, diag.column, diag.message);
        return;
    }
    require(r);
    if (json_get(question, SPAN("json"), &v)) {
        require(json_string(v, arena, &text));
        if (json_parse(&doc, arena, text.p, text.n, NULL, NULL) != 0) {
            printf("bad\n");
            (void)template_free(program);
            return;
        }
        v = json_root(&doc);
    } else {
        require(!json_get(question, SPAN("values"), &v));
    }
    answer_render(program, v);
    (void)template_free(program);
}

int main(void)
{
    unsigned char head[4];
    Arena arena;

    arena_init(&arena, PROBE_MAX_BYTES);
    while (fread(head, 1, sizeof(head), stdin) == sizeof(head)) {
        size_t n =
            (size_t)head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16 | (size_t)head[3] << 24;
        JsonDoc doc;
        char *text;

        if (n == 0) {
            require(fflush(stdout));
            continue;
        }
        text = malloc(n);
        require(text == NULL);
        require(fread(text, 1, n, stdin) != n);
        require(json_parse(&doc, &arena, text, n, NULL, NULL));
        answer(&arena, json_root(&doc));
        free(text);
        arena_reset(&arena, (size_t)1 << 20);
    }
    arena_deinit(&arena);
    return fflush(stdout) == 0 ? 0 : 2;
}

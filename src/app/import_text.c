/* The strings of other programs' settings in our words, and what of them is not shown. */
#include "app/import.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"

/* A string of settings; ours are not longer either. */
#define IMPORT_STRING_BYTES ((size_t)64 * 1024)

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* NAME, or NAME:-default, as in our own settings. */
static bool is_ours(Span inside)
{
    size_t n = 0;

    while (n < inside.n && (is_letter(inside.p[n]) || inside.p[n] == '_')) {
        n++;
    }
    return n > 0 &&
           (n == inside.n || (n + 1 < inside.n && inside.p[n] == ':' && inside.p[n + 1] == '-'));
}

/* "github-token" → GITHUB_TOKEN */
static int append_variable_name(Bytes *out, Span id)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < id.n; i++) {
        char c = id.p[i];

        r = bytes_append_byte(out, c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A')
                                   : is_letter(c)       ? c
                                                        : '_');
    }
    return r;
}

static int append_input(Bytes *out, Arena *arena, Span id, Span *inputs)
{
    size_t start;
    Bytes names;
    int r = bytes_append_span(out, SPAN("${"));

    start = out->n;
    r = r != 0 ? r : append_variable_name(out, id);
    bytes_init(&names, IMPORT_STRING_BYTES);
    r = r != 0 ? r : bytes_append_span(&names, *inputs);
    r = r != 0 || names.n == 0 ? r : bytes_append_span(&names, SPAN(", "));
    r = r != 0 ? r : bytes_append(&names, out->data + start, out->n - start);
    if (r == 0) {
        *inputs = arena_copy(arena, bytes_span(&names));
        r = inputs->p == NULL ? -ENOMEM : bytes_append_byte(out, '}');
    }
    bytes_deinit(&names);
    return r;
}

/* What stands between the braces. False: nobody here knows it. */
static bool append_variable(Bytes *out, Arena *arena, Span inside, Span folder, Span *inputs,
                            int *r)
{
    if (span_starts_with(inside, SPAN("env:")) && is_ours(span_make(inside.p + 4, inside.n - 4))) {
        *r = bytes_append_span(out, SPAN("${"));
        *r = *r != 0 ? *r : bytes_append(out, inside.p + 4, inside.n - 4);
        *r = *r != 0 ? *r : bytes_append_byte(out, '}');
    } else if (span_starts_with(inside, SPAN("input:")) && inside.n > 6) {
        *r = append_input(out, arena, span_make(inside.p + 6, inside.n - 6), inputs);
    } else if (span_equals(inside, SPAN("workspaceFolder")) && folder.n > 0) {
        *r = bytes_append_span(out, folder);
    } else if (span_equals(inside, SPAN("userHome"))) {
        *r = bytes_append_span(out, SPAN("${HOME}"));
    } else if (span_equals(inside, SPAN("pathSeparator")) || span_equals(inside, SPAN("/"))) {
        *r = bytes_append_byte(out, '/');
    } else if (is_ours(inside) && !span_starts_with(inside, SPAN("workspaceFolder"))) {
        *r = bytes_append_span(out, SPAN("${"));
        *r = *r != 0 ? *r : bytes_append_span(out, inside);
        *r = *r != 0 ? *r : bytes_append_byte(out, '}');
    } else {
        return false;
    }
    return true;
}

bool import_translate(Arena *arena, Span text, Span folder, Span *inputs, Span *ret, int *ret_r)
{
    Bytes out;
    bool is_known = true;
    int r = 0;

    bytes_init(&out, 4 * IMPORT_STRING_BYTES);
    for (size_t i = 0; r == 0 && is_known && i < text.n;) {
        const char *end = text.p[i] == '$' && i + 1 < text.n && text.p[i + 1] == '{'
                              ? memchr(text.p + i, '}', text.n - i)
                              : NULL;

        if (end != NULL) {
            Span inside = span_make(text.p + i + 2, (size_t)(end - text.p) - i - 2);

            is_known = append_variable(&out, arena, inside, folder, inputs, &r);
            if (!is_known) {
                *ret = span_make(text.p + i, inside.n + 3);
            }
            i += inside.n + 3;
        } else {
            r = text.p[i] == '$' ? bytes_append_span(&out, SPAN("$$"))
                                 : bytes_append_byte(&out, text.p[i]);
            i++;
        }
    }
    if (r == 0 && is_known) {
        *ret = out.n == 0 ? SPAN("") : arena_copy(arena, bytes_span(&out));
        r = ret->p == NULL ? -ENOMEM : 0;
    }
    bytes_deinit(&out);
    *ret_r = r > 0 ? err_raise(-ENOMEM) : err_pass(r);
    return is_known;
}

static bool holds_nocase(Span s, Span part)
{
    for (size_t i = 0; i + part.n <= s.n; i++) {
        if (text_equals_nocase(span_make(s.p + i, part.n), part)) {
            return true;
        }
    }
    return false;
}

bool import_is_secret(Span name)
{
    static const Span words[] = {SPAN_INIT("key"),      SPAN_INIT("token"),     SPAN_INIT("secret"),
                                 SPAN_INIT("password"), SPAN_INIT("passwd"),    SPAN_INIT("bearer"),
                                 SPAN_INIT("auth"),     SPAN_INIT("credential")};

    for (size_t i = 0; i < TW_ARRAY_SIZE(words); i++) {
        if (holds_nocase(name, words[i])) {
            return true;
        }
    }
    return false;
}

int import_mask_url(Arena *arena, Span url, Span *ret)
{
    bool is_value = false;
    size_t host = 0;
    Bytes out;
    int r = 0;

    for (size_t i = 0; i + 2 < url.n && host == 0; i++) {
        host = url.p[i] == ':' && url.p[i + 1] == '/' && url.p[i + 2] == '/' ? i + 3 : 0;
    }
    bytes_init(&out, 2 * url.n + 16);
    r = bytes_append(&out, url.p, host);
    for (size_t i = host; i < url.n && strchr("/?#", url.p[i]) == NULL; i++) {
        if (url.p[i] == '@') {
            r = r != 0 ? r : bytes_append_span(&out, SPAN("***@"));
            host = i + 1;
            break;
        }
    }
    for (size_t i = host; r == 0 && i < url.n; i++) {
        bool was_value = is_value;

        is_value = url.p[i] != '&' && (is_value || (url.p[i] == '=' && i > host));
        if (is_value && !was_value) {
            r = bytes_append_span(&out, SPAN("=***"));
        } else if (!is_value) {
            r = bytes_append_byte(&out, url.p[i]);
        }
    }
    *ret = out.n == 0 ? SPAN("") : arena_copy(arena, bytes_span(&out));
    r = r == 0 && ret->p == NULL ? -ENOMEM : r;
    bytes_deinit(&out);
    return r > 0 ? err_raise(-ENOMEM) : err_pass(r);
}

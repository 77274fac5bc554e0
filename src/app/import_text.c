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

/* What VS Code means by names that could be those of variables of the environment. */
static bool is_editors(Span inside)
{
    static const char *const names[] = {"columnNumber",
                                        "cwd",
                                        "defaultBuildTask",
                                        "execPath",
                                        "extensionInstallFolder",
                                        "file",
                                        "fileBasename",
                                        "fileBasenameNoExtension",
                                        "fileDirname",
                                        "fileDirnameBasename",
                                        "fileExtname",
                                        "fileWorkspaceFolder",
                                        "fileWorkspaceFolderBasename",
                                        "lineNumber",
                                        "relativeFile",
                                        "relativeFileDirname",
                                        "selectedText",
                                        "workspaceFolder",
                                        "workspaceFolderBasename",
                                        "workspaceRoot"};

    return text_is_one_of(inside, names, TW_ARRAY_SIZE(names), NULL);
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
    } else if (is_ours(inside) && !is_editors(inside)) {
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
    *ret_r = r < 0 ? err_pass(r) : r;
    return is_known;
}

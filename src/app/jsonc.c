#include "app/jsonc.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The end of the string that begins at `at`: behind its quote, or of the text. */
static size_t string_end(Span text, size_t at)
{
    for (at++; at < text.n && text.p[at] != '"'; at++) {
        if (text.p[at] == '\\') {
            at++;
        }
    }
    return at < text.n ? at + 1 : text.n;
}

/* The end of the comment that begins at `at`, where there is one; else `at`. SIZE_MAX: it has none.
 */
static size_t comment_end(Span text, size_t at)
{
    if (at + 1 >= text.n || text.p[at] != '/') {
        return at;
    }
    if (text.p[at + 1] == '/') {
        while (at < text.n && text.p[at] != '\n' && text.p[at] != '\r') {
            at++;
        }
        return at;
    }
    if (text.p[at + 1] != '*') {
        return at;
    }
    for (at += 2; at + 1 < text.n; at++) {
        if (text.p[at] == '*' && text.p[at + 1] == '/') {
            return at + 2;
        }
    }
    return SIZE_MAX;
}

static void blank_out(char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (p[i] != '\n' && p[i] != '\r') {
            p[i] = ' ';
        }
    }
}

/* Blanks a comma that nothing but blanks part from the bracket at `at`, unless it follows nothing
 * that it could follow: what is no JSON must not become some. */
static void drop_comma(char *p, size_t at)
{
    size_t comma;

    while (at > 0 && is_blank(p[at - 1])) {
        at--;
    }
    if (at == 0 || p[at - 1] != ',') {
        return;
    }
    comma = at - 1;
    for (at = comma; at > 0 && is_blank(p[at - 1]); at--) {
    }
    if (at > 0 && strchr("[{,:", p[at - 1]) == NULL) {
        p[comma] = ' ';
    }
}

static int strip(char *p, Span text, Diag *reterr_diag)
{
    if (span_starts_with(text, SPAN("\xEF\xBB\xBF"))) {
        memset(p, ' ', 3);
    }
    for (size_t i = 0; i < text.n;) {
        size_t end;

        if (text.p[i] == '"') {
            i = string_end(text, i);
            continue;
        }
        end = comment_end(text, i);
        if (end == SIZE_MAX) {
            (void)diag_set(reterr_diag, JSONC_E_COMMENT, "a comment that does not end");
            if (reterr_diag != NULL) {
                diag_set_place(reterr_diag, text.p, text.n, i);
            }
            return JSONC_E_COMMENT;
        }
        if (end > i) {
            blank_out(p + i, end - i);
            i = end;
            continue;
        }
        if (text.p[i] == ']' || text.p[i] == '}') {
            drop_comma(p, i);
        }
        i++;
    }
    return 0;
}

int jsonc_to_json(Bytes *out, Span text, Diag *reterr_diag)
{
    size_t n = out->n;
    int r = bytes_append_span(out, text);

    if (r != 0) {
        return r > 0 ? err_raise(-E2BIG) : err_pass(r);
    }
    r = text.n == 0 ? 0 : strip(out->data + n, text, reterr_diag);
    if (r != 0) {
        out->n = n;
    }
    return r;
}

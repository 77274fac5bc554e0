#include "oauth/scope.h"

bool oauth_scope_next(Span *list, Span *ret)
{
    size_t start = 0;
    size_t end;

    if (list->n == 0) {
        return false;
    }
    while (start < list->n && list->p[start] == ' ') {
        start++;
    }
    for (end = start; end < list->n && list->p[end] != ' '; end++) {
    }
    *ret = span_make(list->p + start, end - start);
    *list = span_make(list->p + end, list->n - end);
    return ret->n > 0;
}

bool oauth_scope_has(Span list, Span scope)
{
    Span word;

    while (oauth_scope_next(&list, &word)) {
        if (span_equals(word, scope)) {
            return true;
        }
    }
    return false;
}

bool oauth_scope_covers(Span list, Span part)
{
    Span word;

    while (oauth_scope_next(&part, &word)) {
        if (!oauth_scope_has(list, word)) {
            return false;
        }
    }
    return true;
}

int oauth_scope_add(Bytes *out, Span list)
{
    Span word;

    while (oauth_scope_next(&list, &word)) {
        int r = 0;

        if (oauth_scope_has(bytes_span(out), word)) {
            continue;
        }
        if (out->n > 0) {
            r = bytes_append_byte(out, ' ');
        }
        if (r == 0) {
            r = bytes_append_span(out, word);
        }
        if (r != 0) {
            return r;
        }
    }
    return 0;
}

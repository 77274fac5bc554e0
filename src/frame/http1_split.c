#include "frame/http1_split.h"

#include "frame/http1_scan.h"

/* Whether CRLF stands there. */
static bool split_is_end(Span bytes, size_t at)
{
    return bytes.n - at >= 2 && bytes.p[at] == '\r' && bytes.p[at + 1] == '\n';
}

/* The line that begins at `at`, which is not empty, as a field. False: it is none, or not whole. */
static bool split_field(Http1Split *split, Span bytes, size_t *at)
{
    Span rest = span_make(bytes.p + *at, bytes.n - *at);
    Span name = span_make(rest.p, http1_scan_token_n(rest));
    size_t n;

    if (name.n == 0 || name.n == rest.n || rest.p[name.n] != ':' ||
        split->n_fields == split->n_room) {
        return false;
    }
    rest = span_make(rest.p + name.n + 1, rest.n - name.n - 1);
    n = http1_scan_value_n(rest);
    if (!split_is_end(rest, n)) {
        return false;
    }
    split->fields[split->n_fields] = (Http1Field){name, http1_scan_trim(span_make(rest.p, n))};
    split->marks[split->n_fields] = http1_name_mark(name);
    split->name_bits |= http1_name_bit(split->marks[split->n_fields]);
    split->n_fields++;
    *at += name.n + 1 + n + 2;
    return true;
}

bool http1_split(Http1Split *split, Span bytes)
{
    size_t at = http1_scan_value_n(bytes);

    split->n_fields = 0;
    split->name_bits = 0;
    split->n_first = at;
    if (at == 0 || !split_is_end(bytes, at)) {
        return false;
    }
    at += 2;
    while (!split_is_end(bytes, at)) {
        if (!split_field(split, bytes, &at)) {
            return false;
        }
    }
    split->n = at + 2;
    return true;
}

void http1_split_move(Http1Split *split, const char *before, const char *now)
{
    for (size_t i = 0; i < split->n_fields; i++) {
        Http1Field *field = &split->fields[i];

        field->name.p = now + (field->name.p - before);
        field->value.p = now + (field->value.p - before);
    }
}

#include "dialect/command/query.h"

#include <string.h>

#include "base/error.h"
#include "base/utf8.h"

CommandQuery command_query(Span query)
{
    return (CommandQuery){query};
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int command_query_decode(Span text, bool plus_is_blank, Arena *arena, Span *ret)
{
    char *out;
    size_t n = 0;

    *ret = SPAN_NULL;
    if (text.n == 0) {
        return 0;
    }
    out = arena_alloc(arena, text.n);
    if (out == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];

        if (c == '%') {
            int high = -1;
            int low = -1;

            if (text.n - i > 2) {
                high = hex_digit(text.p[i + 1]);
                low = hex_digit(text.p[i + 2]);
            }
            if (high < 0 || low < 0) {
                return COMMAND_QUERY_E_MALFORMED;
            }
            out[n++] = (char)(high << 4 | low);
            i += 2;
        } else {
            out[n++] = plus_is_blank && c == '+' ? ' ' : c;
        }
    }
    *ret = span_make(out, n);
    return utf8_valid(out, n, NULL) ? 0 : COMMAND_QUERY_E_MALFORMED;
}

int command_query_next(CommandQuery *query, Arena *arena, Span *ret_name, Span *ret_value)
{
    Span pair = query->rest;
    const char *end;
    const char *equals;
    int r;

    if (pair.n == 0) {
        return COMMAND_QUERY_E_END;
    }
    end = memchr(pair.p, '&', pair.n);
    if (end != NULL) {
        query->rest = span_make(end + 1, pair.n - (size_t)(end - pair.p) - 1);
        pair.n = (size_t)(end - pair.p);
    } else {
        query->rest = SPAN_NULL;
    }
    equals = pair.n > 0 ? memchr(pair.p, '=', pair.n) : NULL;
    *ret_name = equals != NULL ? span_make(pair.p, (size_t)(equals - pair.p)) : pair;
    *ret_value = equals != NULL ? span_make(equals + 1, pair.n - (size_t)(equals - pair.p) - 1)
                                : span_make(pair.p + pair.n, 0);
    r = command_query_decode(*ret_name, true, arena, ret_name);
    return r != 0 ? r : command_query_decode(*ret_value, true, arena, ret_value);
}

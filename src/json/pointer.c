/* JSON Pointer, RFC 6901: from a pointer to a value, and from a value to its pointer. */
#include "json/json.h"

#include <assert.h>
#include <string.h>

#include "base/bytes.h"
#include "json/string_take.h"

/* Every ~ must be followed by 0 or 1. */
static bool pointer_is_valid(Span pointer)
{
    if (pointer.n > 0 && pointer.p[0] != '/') {
        return false;
    }
    for (size_t i = 0; i < pointer.n; i++) {
        if (pointer.p[i] == '~' &&
            (i + 1 == pointer.n || (pointer.p[i + 1] != '0' && pointer.p[i + 1] != '1'))) {
            return false;
        }
    }
    return true;
}

/* Does the pointer's token, its ~0 and ~1 undone, equal the decoded name? */
static bool pointer_token_equals(Span token, Span name)
{
    size_t at = 0;

    for (size_t i = 0; i < token.n; i++, at++) {
        char c = token.p[i];

        if (c == '~') {
            c = token.p[++i] == '0' ? '~' : '/';
        }
        if (at == name.n || name.p[at] != c) {
            return false;
        }
    }
    return at == name.n;
}

/* As above for a key of the text. Where both sides have escapes the key is decoded by and by. */
static bool pointer_token_names(Span token, JsonValue key)
{
    Span plain;
    Span rest;

    if (json_string_plain(key, &plain)) {
        return pointer_token_equals(token, plain);
    }
    if (memchr(token.p, '~', token.n) == NULL) {
        return json_string_equals(key, token);
    }
    rest = json_string_content(key);
    while (rest.n > 0) {
        char code[4];
        unsigned n = json_string_take(&rest, code);
        /* Only ASCII is spelled with a tilde: the token has the code point in n bytes or in two. */
        size_t n_token = token.n > 0 && token.p[0] == '~' ? 2 : n;

        if (n_token > token.n ||
            !pointer_token_equals(span_make(token.p, n_token), span_make(code, n))) {
            return false;
        }
        token = span_make(token.p + n_token, token.n - n_token);
    }
    return token.n == 0;
}

static bool pointer_member(JsonValue v, Span token, JsonValue *ret)
{
    bool found = false;

    for (JsonIter it = json_iter(v); json_iter_next(&it);) {
        if (pointer_token_names(token, it.key)) {
            *ret = it.value;
            found = true;
        }
    }
    return found;
}

/* An array index: digits, no leading zero. "-" names the element after the last, which is never
 * there. */
static bool pointer_element(JsonValue v, Span token, JsonValue *ret)
{
    size_t index = 0;

    if (token.n == 0 || token.n > 10 || (token.p[0] == '0' && token.n > 1)) {
        return false;
    }
    for (size_t i = 0; i < token.n; i++) {
        if (token.p[i] < '0' || token.p[i] > '9') {
            return false;
        }
        index = index * 10 + (size_t)(token.p[i] - '0');
    }
    return json_at(v, index, ret);
}

int json_pointer(JsonValue v, Span pointer, JsonValue *ret)
{
    Span rest = pointer;

    if (!pointer_is_valid(pointer)) {
        return JSON_E_SYNTAX;
    }
    while (rest.n > 0) {
        const char *token = rest.p + 1;
        const char *slash = memchr(token, '/', rest.n - 1);
        Span name = span_make(token, slash == NULL ? rest.n - 1 : (size_t)(slash - token));
        bool found =
            json_kind(v) == JSON_ARRAY ? pointer_element(v, name, &v) : pointer_member(v, name, &v);

        if (!found) {
            return JSON_E_MISSING;
        }
        rest = span_make(name.p + name.n, rest.n - 1 - name.n);
    }
    *ret = v;
    return 0;
}

static int pointer_append_key(JsonValue key, Bytes *out)
{
    Span rest = json_string_content(key);
    int r = 0;

    while (rest.n > 0 && r == 0) {
        char code[4];
        unsigned n = json_string_take_utf8(&rest, code);

        if (code[0] == '~' || code[0] == '/') {
            r = bytes_append(out, code[0] == '~' ? "~0" : "~1", 2);
        } else {
            r = bytes_append(out, code, n);
        }
    }
    return r;
}

/* Appends one step of a pointer: to the member or element that `it` stands at. */
static int pointer_append_step(const JsonIter *it, size_t index, Bytes *out)
{
    int r = bytes_append_byte(out, '/');

    if (r != 0) {
        return r;
    }
    if (it->is_object) {
        return pointer_append_key(it->key, out);
    }
    return bytes_append_format(out, "%zu", index);
}

int json_pointer_of(JsonValue root, JsonValue target, struct Bytes *out)
{
    size_t start = out->n;
    JsonValue v = root;

    while (v.node != target.node) {
        size_t index = 0;
        JsonIter it = json_iter(v);
        int r;

        /* The child whose subtree holds the target. */
        while (json_iter_next(&it) && it.next <= target.node) {
            index++;
        }
        /* Else the target is not inside root. */
        assert(it.value.node != NULL && (!it.is_object || it.key.node != NULL));
        r = pointer_append_step(&it, index, out);
        if (r != 0) {
            out->n = start;
            return r;
        }
        v = it.value;
        if (it.is_object && it.key.node == target.node) {
            break;
        }
    }
    return 0;
}

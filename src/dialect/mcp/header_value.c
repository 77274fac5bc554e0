#include "dialect/mcp/header_value.h"

#include <inttypes.h>

#include "base/arena.h"
#include "base/base64.h"
#include "base/error.h"
#include "frame/http1_scan.h"

static const Span opening = SPAN_INIT("=?base64?");
static const Span closing = SPAN_INIT("?=");

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Whether a reader gets out what was put in. */
static bool goes_as_it_is(Span text)
{
    bool has_blank_edge = text.n > 0 && (is_blank(text.p[0]) || is_blank(text.p[text.n - 1]));
    bool looks_encoded = span_starts_with(text, opening) && span_ends_with(text, closing);

    return !has_blank_edge && !looks_encoded && http1_scan_is_plain(text);
}

int mcp_header_text(Bytes *out, Span text)
{
    size_t n_before = out->n;
    int r;

    if (goes_as_it_is(text)) {
        return bytes_append_span(out, text);
    }
    r = bytes_append_span(out, opening);
    r = r != 0 ? r : base64_encode(out, BASE64_STANDARD, text);
    r = r != 0 ? r : bytes_append_span(out, closing);
    if (r != 0) {
        out->n = n_before;
    }
    return r;
}

static int value_of_string(Bytes *out, JsonValue value)
{
    Arena arena;
    Span text;
    int r;

    if (json_string_plain(value, &text)) {
        return mcp_header_text(out, text);
    }
    arena_init(&arena, SIZE_MAX);
    r = json_string(value, &arena, &text);
    r = r != 0 ? err_fold(r) : mcp_header_text(out, text);
    arena_deinit(&arena);
    return r;
}

int mcp_header_value(Bytes *out, JsonValue value)
{
    int64_t number;

    switch (json_kind(value)) {
    case JSON_STRING:
        return value_of_string(out, value);
    case JSON_NUMBER:
        /* 1.0 and 1e2 are integers, too; what is none is for the server to refuse. */
        return json_int64(value, &number) == 0 ? bytes_append_format(out, "%" PRId64, number)
                                               : bytes_append_span(out, json_span(value));
    case JSON_TRUE:
    case JSON_FALSE:
        return bytes_append_span(out, json_span(value));
    case JSON_NULL:
    case JSON_ARRAY:
    case JSON_OBJECT:
        break;
    }
    return MCP_HEADER_E_NONE;
}

#include "api/tw_internal.h"

#include <string.h>
#include <toolwire/error.h>

#include "base/alloc.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "json/writer.h"

int64_t api_time(int64_t ms)
{
    return ms < LIMIT_TIME_MS ? ms : LIMIT_TIME_MS;
}

char *api_copy(const char *s)
{
    size_t n;
    char *copy;

    if (s == NULL) {
        return NULL;
    }
    n = strlen(s) + 1;
    copy = mem_alloc(n);
    if (copy != NULL) {
        memcpy(copy, s, n);
    }
    return copy;
}

bool api_copy_to(char **ret, const char *s)
{
    *ret = api_copy(s);
    return *ret != NULL || s == NULL;
}

const char *api_copy_utf8(Arena *arena, Span text)
{
    char *copy = arena_alloc(arena, text.n + 1);

    if (copy != NULL) {
        memcpy(copy, text.n > 0 ? text.p : "", text.n);
        copy[utf8_mend(copy, text.n)] = '\0';
    }
    return copy;
}

static bool api_json_is(JsonValue v, ApiJsonKind kind)
{
    return kind == API_JSON_ANY || (kind == API_JSON_OBJECT && json_kind(v) == JSON_OBJECT) ||
           (kind == API_JSON_ARRAY && json_kind(v) == JSON_ARRAY);
}

int api_json_check(const char *text, ApiJsonKind kind, const char *field, Arena *arena,
                   JsonValue *ret, Diag *reterr_diag)
{
    static const char *const wanted[] = {
        [API_JSON_ANY] = "a JSON value",
        [API_JSON_OBJECT] = "a JSON object",
        [API_JSON_ARRAY] = "a JSON array",
    };
    Diag diag = DIAG_NULL;
    JsonDoc doc;
    int r;

    if (text == NULL) {
        return diag_set(reterr_diag, TW_ERROR_JSON, "%s is missing", field);
    }
    r = json_parse(&doc, arena, text, strlen(text), NULL, &diag);
    if (r < 0) {
        return diag_set(reterr_diag, TW_ERROR_MEMORY, "%s: no memory", field);
    }
    if (r > 0) {
        return diag_set(reterr_diag, TW_ERROR_JSON, "%s, line %u, column %u: %s", field, diag.line,
                        diag.column, diag.message);
    }
    if (!api_json_is(json_root(&doc), kind)) {
        return diag_set(reterr_diag, TW_ERROR_JSON, "%s must be %s", field, wanted[kind]);
    }
    *ret = json_root(&doc);
    return 0;
}

int api_json_compact(const char *text, ApiJsonKind kind, Arena *scratch, Bytes *out)
{
    JsonWriter w;
    JsonValue v = JSON_VALUE_NULL;
    int r = api_json_check(text, kind, "value", scratch, &v, NULL);

    if (r != 0) {
        return r;
    }
    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_value(&w, v);
    r = json_writer_finish(&w);
    return r == BYTES_E_FULL ? TW_ERROR_FULL : api_error_of(r);
}

bool api_view_find(JsonValue root, ApiNameKind kind, const char *name, JsonValue *ret)
{
    if (root.node == NULL || name == NULL) {
        return false;
    }
    if (kind == API_NAME_POINTER || name[0] == '/') {
        return json_pointer(root, span_from_str(name), ret) == 0;
    }
    return json_get(root, span_from_str(name), ret);
}

const char *api_view_string(JsonValue v, Arena *arena, size_t *ret_n)
{
    size_t n;
    char *copy;

    if (v.node == NULL || json_kind(v) != JSON_STRING) {
        return NULL;
    }
    copy = arena_alloc(arena, v.node->size);
    if (copy == NULL) {
        return NULL;
    }
    n = json_string_decode(v, copy);
    copy[n] = '\0';
    if (ret_n != NULL) {
        *ret_n = n;
    }
    return copy;
}

const char *api_view_text(JsonValue v, Arena *arena)
{
    return v.node == NULL ? NULL : arena_copy(arena, json_span(v)).p;
}

int64_t api_view_int(JsonValue v, int64_t fallback)
{
    int64_t value;

    return v.node != NULL && json_int64(v, &value) == 0 ? value : fallback;
}

double api_view_double(JsonValue v, double fallback)
{
    double value;

    return v.node != NULL && json_double(v, &value) == 0 ? value : fallback;
}

bool api_view_bool(JsonValue v, bool fallback)
{
    bool flag;

    return v.node != NULL && json_bool(v, &flag) ? flag : fallback;
}

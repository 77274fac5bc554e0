/* api/tw_internal.h: small things that the files of the library share. Names of this layer that are
 * not public begin with api_. */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/diag.h"
#include "base/span.h"
#include "json/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The TW_ERROR_* for a negative errno; a named outcome (> 0) is our fault, or is handled before. */
int api_error_of(int r);

/* Borrows s; empty for NULL. */
TW_INLINE Span api_span(const char *s)
{
    return s == NULL ? SPAN_NULL : span_from_str(s);
}

/* A time that can be added to the clock: no more than LIMIT_TIME_MS. ms must not be negative. */
int64_t api_time(int64_t ms);

/* A copy of s that mem_free releases; NULL for NULL, and if there is no memory. */
char *api_copy(const char *s);

/* As api_copy into *ret; false if there is no memory. */
bool api_copy_to(char **ret, const char *s);

/* A copy in the arena with a NUL, as UTF-8 (utf8_mend); NULL if there is no memory. */
const char *api_copy_utf8(Arena *arena, Span text);

/* What a text must be (api_json_check). */
typedef enum ApiJsonKind {
    API_JSON_ANY,
    API_JSON_OBJECT,
    API_JSON_ARRAY
} ApiJsonKind;

/* Parses text, whose index lives in the arena; NULL is not JSON. field is what messages call it. 0,
 * TW_ERROR_JSON, TW_ERROR_MEMORY. */
int api_json_check(const char *text, ApiJsonKind kind, const char *field, Arena *arena,
                   JsonValue *ret, Diag *reterr_diag);

/* Appends text in its compact form. As api_json_check, and TW_ERROR_FULL. */
int api_json_compact(const char *text, ApiJsonKind kind, Arena *scratch, Bytes *out);

/* The place of root (node NULL: nothing is found) that name means: a member, or an RFC 6901 pointer
 * if it begins with '/' (always, for API_NAME_POINTER, where "" is the whole). */
typedef enum ApiNameKind {
    API_NAME_MEMBER,
    API_NAME_POINTER
} ApiNameKind;
bool api_view_find(JsonValue root, ApiNameKind kind, const char *name, JsonValue *ret);

/* Copies with a NUL behind them, in the arena; NULL if v is no string or there is no memory. *ret_n
 * may be NULL. */
const char *api_view_string(JsonValue v, Arena *arena, size_t *ret_n);
const char *api_view_text(JsonValue v, Arena *arena);

/* fallback if v (node NULL: nothing) is not of that type. */
int64_t api_view_int(JsonValue v, int64_t fallback);
double api_view_double(JsonValue v, double fallback);
bool api_view_bool(JsonValue v, bool fallback);

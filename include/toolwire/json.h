/* toolwire/json.h: writes JSON text, for those who have values.
 *
 *     TwJson *json = tw_json_new();
 *
 *     tw_json_object(json);
 *     tw_json_key(json, "sum");
 *     tw_json_int(json, 5);
 *     tw_json_end(json);
 *     tw_call_structured(call, tw_json_text(json));
 *     tw_json_free(json);
 *
 * Commas, colons and quotes are written where they belong. The first failure (memory, or a step
 * that JSON does not allow: a value without key in an object, an `end` too many) sticks: what
 * follows does nothing, and tw_json_text gives NULL, which every function of the library that takes
 * JSON refuses. So one check at the end is enough. Functions take a NULL TwJson and do nothing.
 * Thread: any, one at a time.
 */
#pragma once

#include <toolwire/api.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

TW_BEGIN_C

typedef struct TwJson TwJson;

/* Gives an empty text; NULL if there is no memory. */
TW_API TwJson *tw_json_new(void);
TW_API void tw_json_free(TwJson *json);

/* Begins anew, also after a failure; keeps the storage. */
TW_API void tw_json_reset(TwJson *json);

TW_API void tw_json_object(TwJson *json);
TW_API void tw_json_array(TwJson *json);

/* Closes the innermost object or array. */
TW_API void tw_json_end(TwJson *json);

/* The name of the next value of an object. */
TW_API void tw_json_key(TwJson *json, const char *key);

/* Values. Bytes that are not UTF-8 become U+FFFD; NaN and infinities become null. */
TW_API void tw_json_string(TwJson *json, const char *text);
TW_API void tw_json_string_n(TwJson *json, const char *text, size_t n);
TW_API void tw_json_int(TwJson *json, int64_t value);
TW_API void tw_json_double(TwJson *json, double value);
TW_API void tw_json_bool(TwJson *json, bool value);
TW_API void tw_json_null(TwJson *json);

/* A value that is JSON text already; checked. */
TW_API void tw_json_raw(TwJson *json, const char *value);

/* The whole text, one value, NUL-terminated; borrowed until the next change. NULL after a failure,
 * and while something is open or nothing was written. */
TW_API const char *tw_json_text(TwJson *json);

TW_END_C

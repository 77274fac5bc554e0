#include "agent/model_input.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "json/writer.h"

/* Line ends stand between values only: in strings they are escaped. */
static int input_on_one_line(Arena *arena, JsonValue value, Span *ret)
{
    Bytes out;
    JsonWriter w;
    Span copy;
    int r;

    bytes_init(&out, json_span(value).n);
    json_writer_init(&w, &out, JSON_STYLE_COMPACT);
    json_write_value(&w, value);
    r = json_writer_finish(&w);
    if (r != 0) {
        bytes_deinit(&out);
        return err_fold(r);
    }
    copy = arena_copy(arena, bytes_span(&out));
    bytes_deinit(&out);
    if (copy.p == NULL) {
        return err_raise(-ENOMEM);
    }
    *ret = copy;
    return 0;
}

int model_input_read(Arena *arena, Span raw, Span *ret_input, bool *ret_is_bad)
{
    JsonLimits limits = {.max_depth = LIMIT_RESULT_DEPTH};
    Span text = text_trim(raw);
    JsonDoc doc;
    int r;

    if (text.n == 0) {
        *ret_input = SPAN("{}");
        *ret_is_bad = false;
        return 0;
    }
    r = json_text_of_exact(text, arena, &text);
    r = r != 0 ? r : json_parse(&doc, arena, text.p, text.n, &limits, NULL);
    if (r < 0) {
        return err_pass(r);
    }
    if (r != 0 || json_kind(json_root(&doc)) != JSON_OBJECT) {
        *ret_input = raw;
        *ret_is_bad = true;
        return 0;
    }
    if (memchr(text.p, '\n', text.n) != NULL || memchr(text.p, '\r', text.n) != NULL) {
        r = input_on_one_line(arena, json_root(&doc), &text);
        if (r != 0) {
            return err_pass(r);
        }
    }
    *ret_input = text;
    *ret_is_bad = false;
    return 0;
}

int model_member_text(Arena *arena, JsonValue object, Span key, Span *ret)
{
    JsonValue value;
    int r;

    *ret = SPAN_NULL;
    if (!json_get(object, key, &value)) {
        return 0;
    }
    r = json_string_exact(value, arena, ret);
    return r > 0 ? 0 : r; /* null, or something new */
}

Span model_id_make(char ret[MODEL_ID_SIZE], uint64_t seed, uint32_t n)
{
    int length = snprintf(ret, MODEL_ID_SIZE, "call_%012" PRIx64 "%08" PRIx32,
                          seed & UINT64_C(0xFFFFFFFFFFFF), n);

    return span_make(ret, (size_t)length);
}

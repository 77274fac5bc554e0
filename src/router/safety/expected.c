#include "router/safety/expected.h"

#include "base/bytes.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/text.h"

static const char *const names_expected[] = {"expectedContextToken", "__expectedContextToken",
                                             "expected_context_token", NULL};

void safety_expected_init(SafetyExpected *expected)
{
    expected->n = 0;
    expected->i = 0;
    expected->at = (JsonIter){.is_object = false};
}

static void expected_add_one(SafetyExpected *expected, JsonValue object)
{
    static const char *const names[][2] = {{"meta", NULL}, {"_meta", NULL}};

    expected->places[expected->n++] = object;
    for (size_t i = 0; i < TW_ARRAY_SIZE(names); i++) {
        JsonValue meta;

        if (safety_member(object, names[i], &meta) && json_kind(meta) == JSON_OBJECT) {
            expected->places[expected->n++] = meta;
        }
    }
}

void safety_expected_add(SafetyExpected *expected, JsonValue object, bool is_arguments)
{
    SafetyScopes scopes = safety_scopes(object);

    for (size_t i = 0; i < scopes.n && (i == 0 || is_arguments); i++) {
        expected_add_one(expected, scopes.objects[i]);
    }
}

bool safety_expected_next(SafetyExpected *expected, JsonValue *ret, Span *ret_text)
{
    for (;;) {
        while (expected->at.is_object && json_iter_next(&expected->at)) {
            JsonValue value = expected->at.value;

            if (!safety_key_is(expected->at.key, names_expected) || json_kind(value) == JSON_NULL) {
                continue;
            }
            if (!safety_text(value, expected->buffer, ret_text)) {
                *ret_text = json_span(value);
            }
            if (ret_text->n > 0) {
                *ret = value;
                return true;
            }
        }
        if (expected->i == expected->n) {
            return false;
        }
        expected->at = json_iter(expected->places[expected->i++]);
    }
}

/* Do the arguments, or the values, expect that already? */
static bool join_has(JsonValue arguments, const JsonValue *values, size_t n, Span text)
{
    char buffer[SAFETY_TEXT_BYTES];
    SafetyExpected said;
    JsonValue value;
    Span other;

    safety_expected_init(&said);
    safety_expected_add(&said, arguments, true);
    while (safety_expected_next(&said, &value, &other)) {
        if (text_equals_nocase(other, text)) {
            return true;
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (!safety_text(values[i], buffer, &other)) {
            other = json_span(values[i]);
        }
        if (text_equals_nocase(other, text)) {
            return true;
        }
    }
    return false;
}

/* The i-th spelling that the arguments do not have: a name twice is not understood everywhere. If
 * they have all, the last one for the second time, which our own desk does understand. */
static Span join_name(JsonValue arguments, size_t i)
{
    size_t k;

    for (k = 0; names_expected[k + 1] != NULL; k++) {
        const char *const one[] = {names_expected[k], NULL};
        JsonValue value;

        if (!(arguments.node != NULL && safety_member(arguments, one, &value)) && i-- == 0) {
            break;
        }
    }
    return span_from_str(names_expected[k]);
}

static int join_write(JsonValue arguments, const JsonValue *values, size_t n, Bytes *out)
{
    Span text = arguments.node != NULL ? json_span(arguments) : SPAN("{}");
    bool is_first = arguments.node == NULL || json_count(arguments) == 0;
    int r = bytes_append_span(out, span_make(text.p, text.n - 1));

    for (size_t i = 0; i < n && r == 0; i++) {
        Span name = join_name(arguments, i);

        r = bytes_append_span(out, is_first ? SPAN("\"") : SPAN(",\""));
        r = r != 0 ? r : bytes_append_span(out, name);
        r = r != 0 ? r : bytes_append_span(out, SPAN("\":"));
        r = r != 0 ? r : bytes_append_span(out, json_span(values[i]));
        is_first = false;
    }
    return r != 0 ? r : bytes_append_byte(out, '}');
}

/* May a member of it be one of those that say what is expected, or where that stands? By its
 * length: this is asked of every job, and hardly any has one. */
static bool join_may_say(JsonValue beside)
{
    for (JsonIter it = json_iter(beside); it.is_object && json_iter_next(&it);) {
        Span key;

        if (!json_string_plain(it.key, &key)) {
            return true;
        }
        key = text_trim(key);
        if (key.n == sizeof("meta") - 1 || key.n == sizeof("_meta") - 1 ||
            key.n >= sizeof("expectedContextToken") - 1) {
            return true;
        }
    }
    return false;
}

int safety_expected_join(JsonValue arguments, JsonValue beside, Arena *arena, Span *ret)
{
    CLEANUP(bytes_deinit) Bytes joined = BYTES_NULL;
    JsonValue values[2]; /* two that differ are enough: they are not both right */
    SafetyExpected said;
    JsonValue value;
    Span text;
    size_t n = 0;
    int r;

    *ret = SPAN_NULL;
    if (beside.node == NULL || !join_may_say(beside)) {
        return 0;
    }
    safety_expected_init(&said);
    safety_expected_add(&said, beside, false);
    while (n < TW_ARRAY_SIZE(values) && safety_expected_next(&said, &value, &text)) {
        if (!join_has(arguments, values, n, text)) {
            values[n++] = value;
        }
    }
    if (n == 0) {
        return 0;
    }
    bytes_init(&joined, SIZE_MAX);
    r = join_write(arguments, values, n, &joined);
    if (r != 0) {
        return err_fold(r);
    }
    *ret = arena_copy(arena, bytes_span(&joined));
    return ret->p == NULL ? err_raise(-ENOMEM) : 0;
}

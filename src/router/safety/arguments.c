#include "router/safety/arguments.h"

#include "base/text.h"

static const char *const names_params[] = {"params", NULL};
const char *const safety_names_dry_run[] = {"dryRun", "dry_run", NULL};
const char *const safety_names_confirm_token[] = {"confirmToken", "confirm_token", NULL};
const char *const safety_names_require_token[] = {"requireConfirmToken", "require_confirm_token",
                                                  NULL};

bool safety_text(JsonValue v, char buffer[SAFETY_TEXT_BYTES], Span *ret)
{
    Span text;

    if (json_string_plain(v, &text)) {
        *ret = text_trim(text);
        return true;
    }
    if (json_kind(v) != JSON_STRING || v.node->size - 2 > SAFETY_TEXT_BYTES) {
        return false;
    }
    *ret = text_trim(span_make(buffer, json_string_decode(v, buffer)));
    return true;
}

bool safety_key_is(JsonValue key, const char *const *names)
{
    char buffer[SAFETY_TEXT_BYTES];
    Span text;

    if (!safety_text(key, buffer, &text)) {
        return false;
    }
    for (; *names != NULL; names++) {
        if (text_equals_nocase(text, span_from_str(*names))) {
            return true;
        }
    }
    return false;
}

bool safety_member(JsonValue object, const char *const *names, JsonValue *ret)
{
    for (; *names != NULL; names++) {
        const char *const one[] = {*names, NULL};
        bool found = false;

        for (JsonIter it = json_iter(object); it.is_object && json_iter_next(&it);) {
            if (safety_key_is(it.key, one)) {
                *ret = it.value;
                found = true;
            }
        }
        if (found) {
            return true;
        }
    }
    return false;
}

SafetyScopes safety_scopes(JsonValue arguments)
{
    SafetyScopes scopes = {.n = 0};
    JsonValue inner;

    if (arguments.node == NULL || json_kind(arguments) != JSON_OBJECT) {
        return scopes;
    }
    scopes.objects[scopes.n++] = arguments;
    if (safety_member(arguments, names_params, &inner) && json_kind(inner) == JSON_OBJECT) {
        scopes.objects[scopes.n++] = inner;
    }
    return scopes;
}

bool safety_find(const SafetyScopes *scopes, const char *const *names, bool skips_null,
                 JsonValue *ret)
{
    for (size_t i = 0; i < scopes->n; i++) {
        JsonValue found;

        if (safety_member(scopes->objects[i], names, &found) &&
            !(skips_null && json_kind(found) == JSON_NULL)) {
            *ret = found;
            return true;
        }
    }
    return false;
}

bool safety_says_no(JsonValue v)
{
    static const char *const no[] = {"", "false", "0", "no", "off"};
    char buffer[SAFETY_TEXT_BYTES];
    double number;
    Span text;

    switch (json_kind(v)) {
    case JSON_FALSE:
        return true;
    case JSON_NUMBER:
        return json_double(v, &number) == 0 && number == 0;
    case JSON_STRING:
        for (size_t i = 0; safety_text(v, buffer, &text) && i < TW_ARRAY_SIZE(no); i++) {
            if (text_equals_nocase(text, span_from_str(no[i]))) {
                return true;
            }
        }
        return false;
    default:
        return false;
    }
}

bool safety_flag(const SafetyScopes *scopes, const char *const *names)
{
    JsonValue v;

    return safety_find(scopes, names, true, &v) && !safety_says_no(v);
}

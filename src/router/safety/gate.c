#include "router/safety/gate.h"

#include "base/text.h"
#include "router/safety/arguments.h"

/* ---- targets ---- */

static const char *const names_ids[] = {"elementIds", "elementId", "element_ids", "element_id",
                                        NULL};
static const char *const names_unique[] = {"uniqueIds", "uniqueId", "unique_ids", "unique_id",
                                           NULL};
static const char *const names_target[] = {"target", "targets", NULL};

static bool gate_separates(char c)
{
    return c == ',' || c == ';' || c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool gate_is_number(Span s)
{
    size_t at = s.n > 0 && (s.p[0] == '-' || s.p[0] == '+') ? 1 : 0;

    if (at == s.n) {
        return false;
    }
    for (; at < s.n; at++) {
        if (s.p[at] < '0' || s.p[at] > '9') {
            return false;
        }
    }
    return true;
}

/* "1,2;3 4". An escape in the text (\n, \t) separates as well: nobody escapes a digit. */
static size_t gate_count_text(Span text, bool are_words)
{
    size_t count = 0;
    size_t at = 0;

    while (at < text.n) {
        size_t from = at;

        while (at < text.n && !gate_separates(text.p[at]) && text.p[at] != '\\') {
            at++;
        }
        if (at > from && (are_words || gate_is_number(span_make(text.p + from, at - from)))) {
            count++;
        }
        at += at < text.n && text.p[at] == '\\' ? 2 : 1;
    }
    return count;
}

static size_t gate_count_scalar(JsonValue v, bool are_words)
{
    Span text = json_span(v);

    if (json_kind(v) == JSON_NUMBER) {
        return 1;
    }
    return json_kind(v) == JSON_STRING
               ? gate_count_text(span_make(text.p + 1, text.n - 2), are_words)
               : 0;
}

/* However deep they are nested: whoever wraps ids once more means them all the same. */
static size_t gate_count_list(JsonValue v, bool are_words)
{
    size_t count = 0;

    for (uint32_t i = 0; i < v.node->skip; i++) {
        count += gate_count_scalar((JsonValue){v.text, v.node + i}, are_words);
    }
    return count;
}

/* The ids among an object's members. */
static size_t gate_count_members(JsonValue object)
{
    size_t count = 0;

    for (JsonIter it = json_iter(object); it.is_object && json_iter_next(&it);) {
        if (safety_key_is(it.key, names_ids)) {
            count += gate_count_list(it.value, false);
        } else if (safety_key_is(it.key, names_unique)) {
            count += gate_count_list(it.value, true);
        }
    }
    return count;
}

/* `target` or `targets`: an object, a list of objects and ids, or ids alone. */
static size_t gate_count_target(JsonValue v)
{
    size_t count = 0;

    if (json_kind(v) != JSON_ARRAY) {
        return json_kind(v) == JSON_OBJECT ? gate_count_members(v) : gate_count_scalar(v, false);
    }
    for (JsonIter it = json_iter(v); json_iter_next(&it);) {
        count += json_kind(it.value) == JSON_OBJECT ? gate_count_members(it.value)
                                                    : gate_count_list(it.value, false);
    }
    return count;
}

size_t safety_count_targets(JsonValue arguments)
{
    SafetyScopes scopes = safety_scopes(arguments);
    size_t count = 0;

    for (size_t i = 0; i < scopes.n; i++) {
        count += gate_count_members(scopes.objects[i]);
        for (JsonIter it = json_iter(scopes.objects[i]); json_iter_next(&it);) {
            if (safety_key_is(it.key, names_target)) {
                count += gate_count_target(it.value);
            }
        }
    }
    return count;
}

/* ---- failureHandling ---- */

static const char *const names_handling[] = {"failureHandling", "failure_handling",
                                             "failureHandlingMode", "failure_handling_mode", NULL};
static const char *const names_enabled[] = {"enabled", NULL};
static const char *const names_mode[] = {"mode", "action", "strategy", NULL};

static const struct {
    const char *name;
    SafetyMode mode;
} modes[] = {
    {"off", SAFETY_MODE_OFF},
    {"false", SAFETY_MODE_OFF},
    {"none", SAFETY_MODE_OFF},
    {"disabled", SAFETY_MODE_OFF},
    {"disable", SAFETY_MODE_OFF},
    {"rollback", SAFETY_MODE_ROLLBACK},
    {"rollback_on_error", SAFETY_MODE_ROLLBACK},
    {"rollback_on_failure", SAFETY_MODE_ROLLBACK},
    {"rollback_on_any_failure", SAFETY_MODE_ROLLBACK},
    {"true", SAFETY_MODE_ROLLBACK},
    {"", SAFETY_MODE_ROLLBACK},
    {"delete", SAFETY_MODE_DELETE},
    {"delete_warning", SAFETY_MODE_DELETE},
    {"delete_warnings", SAFETY_MODE_DELETE},
    {"delete_warning_only", SAFETY_MODE_DELETE},
    {"resolve", SAFETY_MODE_RESOLVE},
    {"resolve_if_possible", SAFETY_MODE_RESOLVE},
    {"auto_resolve", SAFETY_MODE_RESOLVE},
};

const char *safety_mode_name(SafetyMode mode)
{
    static const char *const names[] = {"off", "rollback", "delete", "resolve"};

    return names[mode];
}

/* The documented system takes what it does not know for rollback and says nothing; the answer then
 * carries a warning here, since the caller believes something else. */
static void gate_read_mode(JsonValue v, SafetyHandling *handling)
{
    char buffer[SAFETY_TEXT_BYTES];
    Span text;

    handling->mode = SAFETY_MODE_ROLLBACK;
    if (safety_text(v, buffer, &text)) {
        for (size_t i = 0; i < TW_ARRAY_SIZE(modes); i++) {
            if (text_equals_nocase(text, span_from_str(modes[i].name))) {
                handling->mode = modes[i].mode;
                return;
            }
        }
    }
    handling->is_unknown = true;
}

static void gate_read_object(JsonValue object, SafetyHandling *handling)
{
    JsonValue v;

    if (safety_member(object, names_enabled, &v) && safety_says_no(v)) {
        handling->mode = SAFETY_MODE_OFF;
        return;
    }
    for (size_t i = 0; names_mode[i] != NULL; i++) {
        const char *const one[] = {names_mode[i], NULL};

        if (safety_member(object, one, &v) && json_kind(v) != JSON_NULL) {
            gate_read_mode(v, handling);
            return;
        }
    }
}

SafetyHandling safety_handling(JsonValue arguments)
{
    SafetyScopes scopes = safety_scopes(arguments);
    SafetyHandling handling = {.mode = SAFETY_MODE_ROLLBACK};
    JsonValue v;

    if (!safety_find(&scopes, names_handling, false, &v)) {
        return handling;
    }
    handling.is_explicit = true;
    switch (json_kind(v)) {
    case JSON_NULL:
    case JSON_FALSE:
        handling.mode = SAFETY_MODE_OFF;
        break;
    case JSON_TRUE:
        break;
    case JSON_OBJECT:
        gate_read_object(v, &handling);
        break;
    default:
        gate_read_mode(v, &handling);
        break;
    }
    return handling;
}

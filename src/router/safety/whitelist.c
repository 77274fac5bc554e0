#include "router/safety/whitelist.h"

#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "router/safety/arguments.h"
#include "router/safety/sha256.h"

#define WHITELIST_MAX_ELEMENTS 50

void safety_whitelist_init(SafetyWhitelist *whitelist)
{
    *whitelist = (SafetyWhitelist){.code = "NOT_LOADED",
                                   .message = SPAN("Failure whitelist not loaded."),
                                   .max_elements = WHITELIST_MAX_ELEMENTS};
    /* Bounded by the size of the text. */
    arena_init(&whitelist->arena, SIZE_MAX);
}

void safety_whitelist_deinit(SafetyWhitelist *whitelist)
{
    arena_deinit(&whitelist->arena);
    *whitelist = (SafetyWhitelist){.code = "NOT_LOADED"};
}

/* ---- reading ---- */

/* A member's text, trimmed, in the arena; empty if there is none. */
static int whitelist_text(SafetyWhitelist *whitelist, JsonValue object, const char *name, Span *ret)
{
    Span text;
    JsonValue v;
    int r;

    *ret = SPAN_NULL;
    if (!json_get(object, span_from_str(name), &v) || json_kind(v) != JSON_STRING) {
        return 0;
    }
    r = json_string(v, &whitelist->arena, &text);
    if (r != 0) {
        return err_fold(r);
    }
    *ret = arena_copy(&whitelist->arena, text_trim(text));
    return ret->p == NULL ? err_raise(-ENOMEM) : 0;
}

static bool whitelist_says(JsonValue object, const char *name, bool otherwise)
{
    bool flag;
    JsonValue v;

    return json_get(object, span_from_str(name), &v) && json_bool(v, &flag) ? flag : otherwise;
}

static bool whitelist_word_is(JsonValue v, const char *word)
{
    char buffer[SAFETY_TEXT_BYTES];
    Span text;

    return safety_text(v, buffer, &text) && text_equals_nocase(text, span_from_str(word));
}

static void whitelist_add_severity(SafetyRule *rule, JsonValue v)
{
    rule->has_warnings = rule->has_warnings || whitelist_word_is(v, "Warning");
    rule->has_errors = rule->has_errors || whitelist_word_is(v, "Error");
}

/* A list, or one word; both, if nothing is said. */
static void whitelist_read_severity(SafetyRule *rule, JsonValue object)
{
    JsonValue v;

    if (!json_get(object, SPAN("severity"), &v) || json_kind(v) == JSON_NULL ||
        (json_kind(v) == JSON_ARRAY && json_count(v) == 0)) {
        rule->has_warnings = true;
        rule->has_errors = true;
        return;
    }
    whitelist_add_severity(rule, v);
    for (JsonIter it = json_iter(v); !it.is_object && json_iter_next(&it);) {
        whitelist_add_severity(rule, it.value);
    }
}

static void whitelist_read_actions(SafetyRule *rule, JsonValue object)
{
    JsonValue actions;
    JsonValue type;

    if (!json_get(object, SPAN("actions"), &actions) || json_kind(actions) != JSON_ARRAY) {
        return;
    }
    for (JsonIter it = json_iter(actions); json_iter_next(&it);) {
        if (!json_get(it.value, SPAN("type"), &type)) {
            continue;
        }
        rule->may_delete = rule->may_delete || whitelist_word_is(type, "delete_warning") ||
                           whitelist_word_is(type, "delete_warnings");
        rule->may_resolve = rule->may_resolve || whitelist_word_is(type, "resolve_if_possible") ||
                            whitelist_word_is(type, "resolve");
    }
}

static int whitelist_read_rule(SafetyWhitelist *whitelist, JsonValue object)
{
    SafetyRule *rule = &whitelist->rules[whitelist->n_rules];
    JsonValue match;
    int r;

    *rule = (SafetyRule){.id = SPAN_NULL};
    if (!whitelist_says(object, "enabled", false) || !json_get(object, SPAN("match"), &match)) {
        return 0;
    }
    r = whitelist_text(whitelist, match, "failureDefinitionRef", &rule->reference);
    if (r != 0 || rule->reference.n == 0) {
        return err_pass(r);
    }
    r = whitelist_text(whitelist, object, "id", &rule->id);
    if (r != 0) {
        return err_pass(r);
    }
    whitelist_read_severity(rule, object);
    whitelist_read_actions(rule, object);
    whitelist->n_rules++;
    return 0;
}

static int whitelist_read_rules(SafetyWhitelist *whitelist, JsonValue root)
{
    JsonValue rules;

    if (!json_get(root, SPAN("rules"), &rules) || json_kind(rules) != JSON_ARRAY) {
        return 0;
    }
    whitelist->rules =
        arena_alloc_array(&whitelist->arena, json_count(rules) + 1, sizeof(*whitelist->rules));
    if (whitelist->rules == NULL) {
        return err_raise(-ENOMEM);
    }
    for (JsonIter it = json_iter(rules); json_iter_next(&it);) {
        int r = whitelist_read_rule(whitelist, it.value);

        if (r != 0) {
            return err_pass(r);
        }
    }
    return 0;
}

static void whitelist_read_logging(SafetyWhitelist *whitelist, JsonValue root)
{
    JsonValue logging;
    JsonValue v;
    int64_t max = 0;

    if (!json_get(root, SPAN("logging"), &logging)) {
        return;
    }
    whitelist->hides_text = !whitelist_says(logging, "includeDescriptionText", true);
    whitelist->hides_elements = !whitelist_says(logging, "includeElements", true);
    if (json_get(logging, SPAN("maxElementIdsPerFailure"), &v) && json_int64(v, &max) == 0) {
        whitelist->max_elements = max < 0 ? 0 : (size_t)max;
    }
}

static int whitelist_say(SafetyWhitelist *whitelist, const char *code, const char *message)
{
    whitelist->code = code;
    whitelist->message = arena_copy(&whitelist->arena, span_from_str(message));
    return whitelist->message.p == NULL ? err_raise(-ENOMEM) : 0;
}

static int whitelist_read_root(SafetyWhitelist *whitelist, JsonValue root)
{
    char message[64];
    int r = whitelist_text(whitelist, root, "schema", &whitelist->schema);

    r = r != 0 ? r : whitelist_read_rules(whitelist, root);
    if (r != 0) {
        return err_pass(r);
    }
    whitelist_read_logging(whitelist, root);
    (void)snprintf(message, sizeof(message), "Failure whitelist loaded (%zu enabled rules).",
                   whitelist->n_rules);
    return whitelist_say(whitelist, "OK", message);
}

/* The text; what is wrong with it is said in *whitelist. */
static int whitelist_read(SafetyWhitelist *whitelist, Span text)
{
    static const JsonLimits limits = {.max_bytes = LIMIT_SAFETY_WHITELIST_BYTES};
    CLEANUP(arena_deinit) Arena index = ARENA_NULL;
    uint8_t hash[SAFETY_HASH_BYTES];
    Diag diag = DIAG_NULL;
    JsonDoc doc;
    int r = safety_sha256(text, hash);

    if (r != 0) {
        return err_pass(r);
    }
    safety_hex("", hash, 4, whitelist->version);
    if (span_starts_with(text, SPAN("\xEF\xBB\xBF"))) {
        text = span_make(text.p + 3, text.n - 3);
    }
    arena_init(&index, SIZE_MAX);
    r = json_parse(&doc, &index, text.p, text.n, &limits, &diag);
    if (r < 0) {
        return err_pass(r);
    }
    if (r > 0) {
        return whitelist_say(whitelist, "FAILURE_WHITELIST_LOAD_FAILED", diag.message);
    }
    if (json_kind(json_root(&doc)) != JSON_OBJECT) {
        return whitelist_say(whitelist, "FAILURE_WHITELIST_LOAD_FAILED",
                             "a failure whitelist is a JSON object");
    }
    return whitelist_read_root(whitelist, json_root(&doc));
}

int safety_whitelist_load(SafetyWhitelist *whitelist, const char *path, Span text)
{
    SafetyWhitelist fresh;
    int r = 0;

    safety_whitelist_init(&fresh);
    if (path != NULL) {
        fresh.path = arena_copy(&fresh.arena, span_from_str(path));
        r = fresh.path.p == NULL ? err_raise(-ENOMEM) : 0;
    }
    if (r == 0) {
        r = text.n > 0 ? whitelist_read(&fresh, text)
                       : whitelist_say(&fresh, "FAILURE_WHITELIST_NOT_FOUND",
                                       "The failure whitelist was not found.");
    }
    if (r != 0) {
        safety_whitelist_deinit(&fresh);
        return err_fold(r);
    }
    safety_whitelist_deinit(whitelist);
    *whitelist = fresh;
    return 0;
}

/* ---- asking ---- */

/* Is short the end of long, from a dot on, with a dot in it? */
static bool whitelist_is_tail(Span longer, Span shorter)
{
    return shorter.n > 0 && longer.n > shorter.n + 1 && memchr(shorter.p, '.', shorter.n) != NULL &&
           span_ends_with(longer, shorter) && longer.p[longer.n - shorter.n - 1] == '.';
}

const SafetyRule *safety_whitelist_find(const SafetyWhitelist *whitelist, Span id, Span guid,
                                        SafetySeverity severity)
{
    for (size_t i = whitelist->n_rules; i > 0; i--) {
        const SafetyRule *rule = &whitelist->rules[i - 1];
        Span reference = rule->reference;

        if ((severity == SAFETY_WARNING ? rule->has_warnings : rule->has_errors) &&
            (span_equals(reference, id) || whitelist_is_tail(reference, id) ||
             whitelist_is_tail(id, reference) ||
             (guid.n > 0 && text_equals_nocase(reference, guid)))) {
            return rule;
        }
    }
    return NULL;
}

static void whitelist_write_text(JsonWriter *w, const char *name, Span text)
{
    json_write_key(w, span_from_str(name));
    if (text.n > 0) {
        json_write_string(w, text);
    } else {
        json_write_null(w);
    }
}

void safety_whitelist_write(const SafetyWhitelist *whitelist, JsonWriter *w)
{
    json_write_object(w);
    json_write_key(w, SPAN("ok"));
    json_write_bool(w, strcmp(whitelist->code, "OK") == 0);
    json_write_key(w, SPAN("code"));
    json_write_string(w, span_from_str(whitelist->code));
    whitelist_write_text(w, "msg", whitelist->message);
    whitelist_write_text(w, "path", whitelist->path);
    whitelist_write_text(w, "schema", whitelist->schema);
    whitelist_write_text(w, "version", span_from_str(whitelist->version));
    json_write_end_object(w);
}

#include "router/entry_check.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/span.h"

/* A value that is wrong is quoted up to this size; of a longer one only the kind is told. */
#define CHECK_SHOWN_BYTES 40

/* The objects that a field may be a member of. */
enum {
    IN_TOOL = 1u << ROUTER_TOOL,
    IN_RESOURCE = 1u << ROUTER_RESOURCE,
    IN_TEMPLATE = 1u << ROUTER_TEMPLATE,
    IN_PROMPT = 1u << ROUTER_PROMPT,
    IN_ALL = IN_TOOL | IN_RESOURCE | IN_TEMPLATE | IN_PROMPT,
    IN_TOOL_ANNOTATIONS = 1u << ROUTER_N_KINDS,
    IN_ANNOTATIONS = 1u << (ROUTER_N_KINDS + 1),
    IN_ICON = 1u << (ROUTER_N_KINDS + 2),
    IN_ARGUMENT = 1u << (ROUTER_N_KINDS + 3),
    IN_EXECUTION = 1u << (ROUTER_N_KINDS + 4),
};

typedef enum Want {
    WANT_STRING,
    WANT_NAME,
    WANT_BOOLEAN,
    WANT_OBJECT,
    WANT_FRACTION,
    WANT_SIZE,
    WANT_ROLE,
    WANT_THEME,
    WANT_TASK_SUPPORT,
} Want;

/* What each must be, in words. */
static const char *const want_names[] = {
    [WANT_STRING] = "a string",
    [WANT_NAME] = "a string that is not empty",
    [WANT_BOOLEAN] = "true or false",
    [WANT_OBJECT] = "an object",
    [WANT_FRACTION] = "a number from 0 to 1",
    [WANT_SIZE] = "a whole number from 0 on",
    [WANT_ROLE] = "\"user\" or \"assistant\"",
    [WANT_THEME] = "\"light\" or \"dark\"",
    [WANT_TASK_SUPPORT] = "\"forbidden\", \"optional\" or \"required\"",
};

typedef struct FieldRule {
    const char *name;
    unsigned in;
    Want want;
    bool is_list;    /* an array of what is wanted */
    bool is_needed;  /* looked at in the objects inside only */
    unsigned inside; /* objects: what their members are checked as; 0: not at all */
} FieldRule;

/* The definitions Tool, Resource, ResourceTemplate, Prompt, PromptArgument, ToolAnnotations,
 * Annotations, Icon and ToolExecution of the official schema, which agree in all revisions on the
 * fields that a revision knows. */
static const FieldRule field_rules[] = {
    {"name", IN_ALL, WANT_NAME, false, false, 0},
    {"uri", IN_RESOURCE, WANT_NAME, false, false, 0},
    {"uriTemplate", IN_TEMPLATE, WANT_NAME, false, false, 0},
    {"title", IN_ALL | IN_TOOL_ANNOTATIONS | IN_ARGUMENT, WANT_STRING, false, false, 0},
    {"description", IN_ALL | IN_ARGUMENT, WANT_STRING, false, false, 0},
    {"_meta", IN_ALL, WANT_OBJECT, false, false, 0},
    {"icons", IN_ALL, WANT_OBJECT, true, false, IN_ICON},
    {"annotations", IN_TOOL, WANT_OBJECT, false, false, IN_TOOL_ANNOTATIONS},
    {"annotations", IN_RESOURCE | IN_TEMPLATE, WANT_OBJECT, false, false, IN_ANNOTATIONS},
    {"execution", IN_TOOL, WANT_OBJECT, false, false, IN_EXECUTION},
    {"arguments", IN_PROMPT, WANT_OBJECT, true, false, IN_ARGUMENT},
    {"mimeType", IN_RESOURCE | IN_TEMPLATE | IN_ICON, WANT_STRING, false, false, 0},
    {"size", IN_RESOURCE, WANT_SIZE, false, false, 0},
    {"readOnlyHint", IN_TOOL_ANNOTATIONS, WANT_BOOLEAN, false, false, 0},
    {"destructiveHint", IN_TOOL_ANNOTATIONS, WANT_BOOLEAN, false, false, 0},
    {"idempotentHint", IN_TOOL_ANNOTATIONS, WANT_BOOLEAN, false, false, 0},
    {"openWorldHint", IN_TOOL_ANNOTATIONS, WANT_BOOLEAN, false, false, 0},
    {"audience", IN_ANNOTATIONS, WANT_ROLE, true, false, 0},
    {"priority", IN_ANNOTATIONS, WANT_FRACTION, false, false, 0},
    {"lastModified", IN_ANNOTATIONS, WANT_STRING, false, false, 0},
    {"src", IN_ICON, WANT_STRING, false, true, 0},
    {"sizes", IN_ICON, WANT_STRING, true, false, 0},
    {"theme", IN_ICON, WANT_THEME, false, false, 0},
    {"name", IN_ARGUMENT, WANT_NAME, false, true, 0},
    {"required", IN_ARGUMENT, WANT_BOOLEAN, false, false, 0},
    {"taskSupport", IN_EXECUTION, WANT_TASK_SUPPORT, false, false, 0},
};

/* Where the check is: "icons/0/src". Names are those of the table, so it is never cut. */
typedef struct FieldPath {
    char text[DIAG_FIELD_SIZE];
    size_t n;
} FieldPath;

static FieldPath path_name(FieldPath path, const char *name)
{
    (void)snprintf(path.text + path.n, sizeof(path.text) - path.n, "%s%s", path.n > 0 ? "/" : "",
                   name);
    path.n = strlen(path.text);
    return path;
}

static FieldPath path_index(FieldPath path, size_t index)
{
    (void)snprintf(path.text + path.n, sizeof(path.text) - path.n, "/%zu", index);
    path.n = strlen(path.text);
    return path;
}

static int check_blame(const FieldPath *path, const char *words, JsonValue value, Diag *reterr_diag)
{
    Span shown = json_span(value);

    if (json_kind(value) >= JSON_ARRAY || shown.n > CHECK_SHOWN_BYTES) {
        shown = span_from_str(json_kind_name(json_kind(value)));
    }
    (void)diag_set(reterr_diag, ROUTER_E_MALFORMED, "%s must be %s, and is %.*s", path->text, words,
                   (int)shown.n, shown.p);
    diag_set_field(reterr_diag, "%s", path->text);
    return ROUTER_E_MALFORMED;
}

static const FieldRule *rule_find(JsonValue key, unsigned in)
{
    for (size_t i = 0; i < TW_ARRAY_SIZE(field_rules); i++) {
        if ((field_rules[i].in & in) != 0 &&
            json_string_equals(key, span_from_str(field_rules[i].name))) {
            return &field_rules[i];
        }
    }
    return NULL;
}

static bool value_is(JsonValue value, Want want)
{
    JsonKind kind = json_kind(value);
    uint64_t size;
    double number;

    switch (want) {
    case WANT_STRING:
        return kind == JSON_STRING;
    case WANT_NAME:
        return kind == JSON_STRING && json_string_length(value) > 0;
    case WANT_BOOLEAN:
        return kind == JSON_TRUE || kind == JSON_FALSE;
    case WANT_OBJECT:
        return kind == JSON_OBJECT;
    case WANT_FRACTION:
        return json_double(value, &number) == 0 && number >= 0 && number <= 1;
    case WANT_SIZE:
        return json_uint64(value, &size) == 0;
    case WANT_ROLE:
        return json_string_equals(value, SPAN("user")) ||
               json_string_equals(value, SPAN("assistant"));
    case WANT_THEME:
        return json_string_equals(value, SPAN("light")) || json_string_equals(value, SPAN("dark"));
    case WANT_TASK_SUPPORT:
        return json_string_equals(value, SPAN("forbidden")) ||
               json_string_equals(value, SPAN("optional")) ||
               json_string_equals(value, SPAN("required"));
    }
    return false;
}

static int check_value(const FieldRule *rule, JsonValue value, const FieldPath *path,
                       Diag *reterr_diag)
{
    size_t i = 0;

    if (!rule->is_list) {
        return value_is(value, rule->want)
                   ? 0
                   : check_blame(path, want_names[rule->want], value, reterr_diag);
    }
    if (json_kind(value) != JSON_ARRAY) {
        return check_blame(path, "an array", value, reterr_diag);
    }
    for (JsonIter it = json_iter(value); json_iter_next(&it); i++) {
        if (!value_is(it.value, rule->want)) {
            FieldPath at = path_index(*path, i);

            return check_blame(&at, want_names[rule->want], it.value, reterr_diag);
        }
    }
    return 0;
}

static int check_needed(JsonValue object, unsigned in, const FieldPath *path, Diag *reterr_diag)
{
    for (size_t i = 0; i < TW_ARRAY_SIZE(field_rules); i++) {
        const FieldRule *rule = &field_rules[i];
        JsonValue value;
        FieldPath at;

        if (rule->is_needed && (rule->in & in) != 0 &&
            !json_get(object, span_from_str(rule->name), &value)) {
            at = path_name(*path, rule->name);
            (void)diag_set(reterr_diag, ROUTER_E_MALFORMED, "%s is missing", at.text);
            diag_set_field(reterr_diag, "%s", at.text);
            return ROUTER_E_MALFORMED;
        }
    }
    return 0;
}

/* An object inside the description; none of its members holds objects that are checked. */
static int check_inner(JsonValue object, unsigned in, const FieldPath *path, Diag *reterr_diag)
{
    int r = check_needed(object, in, path, reterr_diag);

    for (JsonIter it = json_iter(object); r == 0 && json_iter_next(&it);) {
        const FieldRule *rule = rule_find(it.key, in);

        if (rule != NULL) {
            FieldPath at = path_name(*path, rule->name);

            r = check_value(rule, it.value, &at, reterr_diag);
        }
    }
    return r;
}

int router_entry_check(RouterKind kind, JsonValue description, Diag *reterr_diag)
{
    unsigned in = 1u << kind;
    int r = 0;

    for (JsonIter it = json_iter(description); r == 0 && json_iter_next(&it);) {
        const FieldRule *rule = rule_find(it.key, in);
        FieldPath path = {.n = 0};
        size_t i = 0;

        if (rule == NULL) {
            continue;
        }
        path = path_name(path, rule->name);
        r = check_value(rule, it.value, &path, reterr_diag);
        if (r != 0 || rule->inside == 0) {
            continue;
        }
        if (!rule->is_list) {
            r = check_inner(it.value, rule->inside, &path, reterr_diag);
            continue;
        }
        for (JsonIter at = json_iter(it.value); r == 0 && json_iter_next(&at); i++) {
            FieldPath element = path_index(path, i);

            r = check_inner(at.value, rule->inside, &element, reterr_diag);
        }
    }
    return r;
}

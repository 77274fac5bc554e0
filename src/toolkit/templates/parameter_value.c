#include "toolkit/templates/parameter_value.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "toolkit/templates/parameters.h"

/* One value while it is checked. */
typedef struct ValueCheck {
    const TemplateParameter *p;
    SchemaCheck *scratch;
    ParameterFaultFn fn;
    void *context;
    size_t index;
} ValueCheck;

static int value_blame(const ValueCheck *x, const char *code, JsonValue got)
{
    ParameterFault fault = {code, x->index, got};

    return x->fn(x->context, x->p, &fault);
}

/* Is there an escaped NUL? (A raw one is no JSON.) */
static bool string_has_nul(JsonValue v)
{
    Span raw = json_span(v);

    for (size_t i = 0; i + 6 <= raw.n; i++) {
        if (raw.p[i] == '\\') {
            if (memcmp(raw.p + i, "\\u0000", 6) == 0) {
                return true;
            }
            i++; /* what is escaped may itself be a backslash */
        }
    }
    return false;
}

#define NAME_SPELT_BYTES ((size_t)TEMPLATE_NAME_MAX * 6) /* each byte may be spelt \u00xx */

/* What a string says; false if it is too long for a name. */
static bool string_name(JsonValue v, char room[NAME_SPELT_BYTES], Span *ret)
{
    if (json_string_plain(v, ret)) {
        return true;
    }
    if (v.node->size - 2 > NAME_SPELT_BYTES) {
        return false;
    }
    *ret = span_make(room, json_string_decode(v, room));
    return true;
}

static bool string_is_safe_name(JsonValue v)
{
    char room[NAME_SPELT_BYTES];
    Span name;

    return string_name(v, room, &name) && template_name_is_safe(name);
}

/* The next character that counts in a reserved word, as a small letter; NUL at the end. */
static char word_next(Span *rest)
{
    while (rest->n > 0) {
        char c = *rest->p++;

        rest->n--;
        if (c != '-' && c != '_') {
            return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
        }
    }
    return '\0';
}

/* A name becomes that of a module, a folder, a target: snake_case for one, any case for another. So
 * "Test-Main" is "test_main". */
static bool word_is_same(Span a, Span b)
{
    char c;

    do {
        c = word_next(&a);
        if (c != word_next(&b)) {
            return false;
        }
    } while (c != '\0');
    return true;
}

static bool string_is_reserved(JsonValue list, JsonValue v)
{
    char room[NAME_SPELT_BYTES];
    Span name;

    if (list.node == NULL || !string_name(v, room, &name)) {
        return false;
    }
    for (JsonIter it = json_iter(list); json_iter_next(&it);) {
        Span word;

        /* The manifest takes no other ones. */
        if (json_string_plain(it.value, &word) && word_is_same(word, name)) {
            return true;
        }
    }
    return false;
}

static bool value_is_in_range(const TemplateParameter *p, int64_t n)
{
    return (!p->has_minimum || n >= p->minimum) && (!p->has_maximum || n <= p->maximum);
}

static int value_check_pattern(const ValueCheck *x, JsonValue v)
{
    int r;

    if (x->p->check == NULL) {
        return 0;
    }
    r = schema_validate(x->p->check, x->scratch, v);
    /* A pattern that gave up has not matched. */
    return r > 0 ? value_blame(x, TEMPLATE_FAULT_PATTERN, v) : err_pass(r);
}

/* A string, or an element of an array: what makes it unfit for any use ends the check of it. */
static int value_check_string(const ValueCheck *x, JsonValue v)
{
    bool is_element = x->index != PARAMETER_WHOLE;
    int r = 0;

    if (json_kind(v) != JSON_STRING) {
        return value_blame(x, TEMPLATE_FAULT_TYPE, v);
    }
    if (v.node->size > TEMPLATE_VALUE_BYTES) {
        return value_blame(x, TEMPLATE_FAULT_RANGE, v);
    }
    if (string_has_nul(v)) {
        return value_blame(x, TEMPLATE_FAULT_NUL, v);
    }
    if (!is_element && !value_is_in_range(x->p, (int64_t)json_string_length(v))) {
        r = value_blame(x, TEMPLATE_FAULT_RANGE, v);
    }
    if (r == 0) {
        r = value_check_pattern(x, v);
    }
    if (r == 0 && !is_element && span_equals(x->p->name, SPAN("project_name")) &&
        !string_is_safe_name(v)) {
        r = value_blame(x, TEMPLATE_FAULT_NAME, v);
    }
    if (r == 0 && !is_element && string_is_reserved(x->p->reserved, v)) {
        r = value_blame(x, TEMPLATE_FAULT_RESERVED, v);
    }
    return r;
}

/* Equal strings have equal ones, however they are spelt. 0, -ENOMEM. */
static int string_hash(JsonValue v, uint64_t *ret)
{
    static const HashSeed seed = {0x656c656d656e7473, 0x6f6e636565616368};
    CLEANUP(mem_freep) char *room = NULL;
    Span text;

    if (!json_string_plain(v, &text)) {
        room = mem_alloc(v.node->size);
        if (room == NULL) {
            return err_raise(-ENOMEM);
        }
        text = span_make(room, json_string_decode(v, room));
    }
    *ret = hash_span(seed, text);
    return 0;
}

/* Each element against those before it: by a number, since long ones that differ at their end would
 * take their time. */
static int value_check_unique(ValueCheck *x, JsonValue v)
{
    uint64_t hashes[TEMPLATE_ELEMENTS_MAX];
    int r = 0;

    x->index = 0;
    for (JsonIter it = json_iter(v); r == 0 && json_iter_next(&it); x->index++) {
        bool is_string = json_kind(it.value) == JSON_STRING;
        bool is_twice = false;

        hashes[x->index] = 0; /* of what is no string, and told already */
        if (is_string) {
            r = string_hash(it.value, &hashes[x->index]);
        }
        for (size_t i = 0; r == 0 && is_string && !is_twice && i < x->index; i++) {
            is_twice = hashes[i] == hashes[x->index];
        }
        if (is_twice) {
            r = value_blame(x, TEMPLATE_FAULT_TWICE, it.value);
        }
    }
    return r;
}

static int value_check_array(ValueCheck *x, JsonValue v)
{
    int r = 0;

    if (json_kind(v) != JSON_ARRAY) {
        return value_blame(x, TEMPLATE_FAULT_TYPE, v);
    }
    if (json_count(v) > TEMPLATE_ELEMENTS_MAX) {
        return value_blame(x, TEMPLATE_FAULT_RANGE, v);
    }
    if (!value_is_in_range(x->p, json_count(v))) {
        r = value_blame(x, TEMPLATE_FAULT_RANGE, v);
    }
    x->index = 0;
    for (JsonIter it = json_iter(v); r == 0 && json_iter_next(&it); x->index++) {
        r = value_check_string(x, it.value);
    }
    return r == 0 && x->p->unique ? value_check_unique(x, v) : r;
}

/* Whether a whole number is one that a template writes as it was given. */
static bool integer_is_exact(JsonValue v, int64_t *ret)
{
    return json_int64(v, ret) == 0 && *ret <= TEMPLATE_INTEGER_MAX && *ret >= -TEMPLATE_INTEGER_MAX;
}

static int value_check_integer(const ValueCheck *x, JsonValue v)
{
    int64_t n = 0;
    int r = json_int64(v, &n);

    if (r == JSON_E_KIND || (r == JSON_E_RANGE && !json_number_is_whole(v))) {
        return value_blame(x, TEMPLATE_FAULT_TYPE, v);
    }
    if (!integer_is_exact(v, &n) || !value_is_in_range(x->p, n)) {
        return value_blame(x, TEMPLATE_FAULT_RANGE, v);
    }
    return 0;
}

static int value_check_choice(const ValueCheck *x, JsonValue v)
{
    if (json_kind(v) != JSON_STRING) {
        return value_blame(x, TEMPLATE_FAULT_TYPE, v);
    }
    for (JsonIter it = json_iter(x->p->choices); json_iter_next(&it);) {
        if (json_string_same(it.value, v)) {
            return 0;
        }
    }
    return value_blame(x, TEMPLATE_FAULT_CHOICE, v);
}

int parameter_value_check(const TemplateParameter *p, JsonValue v, SchemaCheck *scratch,
                          ParameterFaultFn fn, void *context)
{
    ValueCheck x = {p, scratch, fn, context, PARAMETER_WHOLE};
    bool flag;

    switch (p->type) {
    case TEMPLATE_STRING:
        return value_check_string(&x, v);
    case TEMPLATE_BOOLEAN:
        return json_bool(v, &flag) ? 0 : value_blame(&x, TEMPLATE_FAULT_TYPE, v);
    case TEMPLATE_INTEGER:
        return value_check_integer(&x, v);
    case TEMPLATE_ARRAY:
        return value_check_array(&x, v);
    case TEMPLATE_CHOICE:
    case TEMPLATE_N_TYPES:
        break;
    }
    return value_check_choice(&x, v);
}

static int write_range(Bytes *out, const TemplateParameter *p, JsonValue got)
{
    static const char *const units[TEMPLATE_N_TYPES] = {
        [TEMPLATE_STRING] = " characters", [TEMPLATE_ARRAY] = " elements"};
    const char *unit = units[p->type] != NULL ? units[p->type] : "";
    int64_t n;
    bool is_wide = p->type == TEMPLATE_INTEGER && !integer_is_exact(got, &n);

    if (json_kind(got) == JSON_STRING && got.node->size > TEMPLATE_VALUE_BYTES) {
        return bytes_append_format(out, "at most %zu bytes", TEMPLATE_VALUE_BYTES);
    }
    if (json_count(got) > TEMPLATE_ELEMENTS_MAX) {
        return bytes_append_format(out, "at most %d elements", TEMPLATE_ELEMENTS_MAX);
    }
    if (is_wide || (p->has_minimum && p->has_maximum)) {
        return bytes_append_format(out, "%" PRId64 " to %" PRId64 "%s",
                                   p->has_minimum ? p->minimum : -TEMPLATE_INTEGER_MAX,
                                   p->has_maximum ? p->maximum : TEMPLATE_INTEGER_MAX, unit);
    }
    if (p->has_minimum) {
        return bytes_append_format(out, "at least %" PRId64 "%s", p->minimum, unit);
    }
    return bytes_append_format(out, "at most %" PRId64 "%s", p->maximum, unit);
}

/* The choices as they are spelt, without quotes; a long list is cut. */
static int write_choices(Bytes *out, const TemplateParameter *p)
{
    size_t start = out->n;
    int r = 0;

    for (JsonIter it = json_iter(p->choices); r == 0 && json_iter_next(&it);) {
        Span raw = json_span(it.value);

        if (out->n > start) {
            r = bytes_append_span(out, SPAN(", "));
        }
        if (r == 0 && out->n - start > TEMPLATE_EXPECTED_BYTES) {
            return bytes_append_span(out, SPAN("..."));
        }
        if (r == 0) {
            r = bytes_append(out, raw.p + 1, raw.n - 2);
        }
    }
    return r;
}

/* "none of: build, deps": the first words, and how many there are beside them. */
static int write_reserved(Bytes *out, const TemplateParameter *p)
{
    size_t n_all = json_count(p->reserved);
    size_t n = 0;
    int r = bytes_append_span(out, SPAN("none of: "));

    for (JsonIter it = json_iter(p->reserved);
         r == 0 && n < TEMPLATE_EXPECTED_WORDS && json_iter_next(&it); n++) {
        Span raw = json_span(it.value); /* without escapes: the manifest takes no other ones */

        r = bytes_append_format(out, "%s%.*s", n > 0 ? ", " : "", (int)raw.n - 2, raw.p + 1);
    }
    if (r == 0 && n_all > n) {
        r = bytes_append_format(out, " and %zu more", n_all - n);
    }
    return r;
}

int parameter_write_expected(Bytes *out, const TemplateParameter *p, const ParameterFault *fault)
{
    static const char safe[] = "a name without '/', '\\', ':' and control characters that does not "
                               "end in '.' or a blank, and is no device of Windows (CON, NUL...)";

    if (strcmp(fault->code, TEMPLATE_FAULT_PATTERN) == 0) {
        return bytes_append_span(out, p->pattern);
    }
    if (strcmp(fault->code, TEMPLATE_FAULT_RANGE) == 0) {
        return write_range(out, p, fault->got);
    }
    if (strcmp(fault->code, TEMPLATE_FAULT_CHOICE) == 0) {
        return write_choices(out, p);
    }
    if (strcmp(fault->code, TEMPLATE_FAULT_NUL) == 0) {
        return bytes_append_span(out, SPAN("text without NUL"));
    }
    if (strcmp(fault->code, TEMPLATE_FAULT_NAME) == 0) {
        return bytes_append_span(out, SPAN(safe));
    }
    if (strcmp(fault->code, TEMPLATE_FAULT_RESERVED) == 0) {
        return write_reserved(out, p);
    }
    if (strcmp(fault->code, TEMPLATE_FAULT_TWICE) == 0) {
        return bytes_append_span(out, SPAN("an element that differs from those before it"));
    }
    /* Of type, and of one that is missing. */
    if (fault->index != PARAMETER_WHOLE || p->type == TEMPLATE_STRING) {
        return bytes_append_span(out, SPAN("string"));
    }
    if (p->type == TEMPLATE_CHOICE) {
        return write_choices(out, p);
    }
    return bytes_append_span(out, p->type == TEMPLATE_ARRAY
                                      ? SPAN("array of strings")
                                      : span_from_str(template_type_name(p->type)));
}

static int write_name(Bytes *out, const TemplateParameter *p, const ParameterFault *fault)
{
    if (fault->index == PARAMETER_WHOLE) {
        return bytes_append_format(out, "Parameter '%s'", p->name.p);
    }
    return bytes_append_format(out, "Parameter '%s[%zu]'", p->name.p, fault->index);
}

int parameter_write_message(Bytes *out, const TemplateParameter *p, const ParameterFault *fault)
{
    static const struct {
        const char *code;
        const char *words;
    } verbs[] = {
        {TEMPLATE_FAULT_PATTERN, " does not match pattern: "},
        {TEMPLATE_FAULT_RANGE, " must have "},
        {TEMPLATE_FAULT_CHOICE, " must be one of: "},
        {TEMPLATE_FAULT_NAME, " must be "},
        {TEMPLATE_FAULT_NUL, " must be "},
        {TEMPLATE_FAULT_RESERVED, " is a reserved word; it must be "},
        {TEMPLATE_FAULT_TWICE, " must be "},
        {TEMPLATE_FAULT_TYPE, " must be of type "},
    };
    const char *words = "";
    int r;

    if (strcmp(fault->code, TEMPLATE_FAULT_MISSING) == 0) {
        return bytes_append_format(out, "%s - required parameter missing", p->name.p);
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(verbs); i++) {
        if (strcmp(fault->code, verbs[i].code) == 0) {
            words = verbs[i].words;
        }
    }
    if (p->type == TEMPLATE_INTEGER && strcmp(fault->code, TEMPLATE_FAULT_RANGE) == 0) {
        words = " must be ";
    }
    if (p->type == TEMPLATE_CHOICE) {
        words = " must be one of: ";
    }
    r = write_name(out, p, fault);
    if (r == 0) {
        r = bytes_append_span(out, span_from_str(words));
    }
    if (r == 0) {
        r = parameter_write_expected(out, p, fault);
    }
    if (r == 0 && strcmp(fault->code, TEMPLATE_FAULT_TYPE) == 0) {
        r = bytes_append_format(out, ", not %s", json_kind_name(json_kind(fault->got)));
    }
    return r;
}

/* One parameter of a manifest. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/text.h"
#include "toolkit/templates/manifest_read.h"
#include "toolkit/templates/parameter_value.h"
#include "toolkit/templates/parameters.h"

enum {
    FIELD_NAME,
    FIELD_TYPE,
    FIELD_REQUIRED,
    FIELD_DESCRIPTION,
    FIELD_DEFAULT,
    FIELD_PATTERN,
    FIELD_MINIMUM,
    FIELD_MAXIMUM,
    FIELD_CHOICES,
    FIELD_UNIQUE,
    N_FIELDS
};

static const ManifestField parameter_fields[N_FIELDS] = {
    [FIELD_NAME] = {"name", JSON_STRING, true},
    [FIELD_TYPE] = {"type", JSON_STRING, true},
    [FIELD_REQUIRED] = {"required", JSON_TRUE, false},
    [FIELD_DESCRIPTION] = {"description", JSON_STRING, false},
    [FIELD_DEFAULT] = {"default", JSON_NULL, false},
    [FIELD_PATTERN] = {"pattern", JSON_STRING, false},
    [FIELD_MINIMUM] = {"minimum", JSON_NUMBER, false},
    [FIELD_MAXIMUM] = {"maximum", JSON_NUMBER, false},
    [FIELD_CHOICES] = {"choices", JSON_ARRAY, false},
    [FIELD_UNIQUE] = {"unique", JSON_TRUE, false},
};

static const char *const type_names[TEMPLATE_N_TYPES] = {"string", "boolean", "integer", "array",
                                                         "choice"};

/* What {{name}} would not find: words of the language, helpers, and what rendering itself sets. */
static const char *const reserved_names[] = {"this",
                                             "true",
                                             "false",
                                             "null",
                                             "undefined",
                                             "else",
                                             "as",
                                             "if",
                                             "unless",
                                             "each",
                                             "with",
                                             "lookup",
                                             "log",
                                             "upper",
                                             "lower",
                                             "title",
                                             "default",
                                             "join",
                                             "helperMissing",
                                             "blockHelperMissing",
                                             "snake_case",
                                             "kebab_case",
                                             "pascal_case",
                                             "current_year",
                                             "current_date",
                                             "current_timestamp"};

const char *template_type_name(TemplateType type)
{
    return type_names[type];
}

static bool name_is_word(Span s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';

        if (!is_letter && (i == 0 || !((c >= '0' && c <= '9') || c == '-'))) {
            return false;
        }
    }
    return s.n > 0 && s.n <= TEXT_NAME_MAX;
}

static int parameter_read_name(ManifestReader *reader, JsonValue v, TemplateParameter *p)
{
    int r = manifest_string(reader, v, "name", MANIFEST_LINE, &p->name);

    if (r != 0 || p->name.p == NULL) {
        return err_pass(r);
    }
    if (!name_is_word(p->name)) {
        manifest_blame(reader, v, "name",
                       "must be 1 to %d letters, digits, '_' and '-', and not begin with a digit "
                       "or '-'",
                       TEXT_NAME_MAX);
    } else if (text_is_one_of(p->name, reserved_names, TW_ARRAY_SIZE(reserved_names), NULL)) {
        manifest_blame(reader, v, "name", "\"%s\" means something else inside {{…}}", p->name.p);
    }
    return 0;
}

/* False if it is not known which type it is. */
static bool parameter_read_type(ManifestReader *reader, JsonValue v, TemplateParameter *p)
{
    if (v.node == NULL) {
        return false;
    }
    for (size_t i = 0; i < TEMPLATE_N_TYPES; i++) {
        if (json_string_equals(v, span_from_str(type_names[i]))) {
            p->type = (TemplateType)i;
            return true;
        }
    }
    manifest_blame(reader, v, "type", "must be string, boolean, integer, array or choice");
    return false;
}

/* Blames a field that says nothing about a parameter of this type. */
static void parameter_check_fit(ManifestReader *reader, const JsonValue *fields,
                                const TemplateParameter *p)
{
    bool is_text = p->type == TEMPLATE_STRING || p->type == TEMPLATE_ARRAY;
    bool fits[N_FIELDS];

    for (size_t i = 0; i < N_FIELDS; i++) {
        fits[i] = true;
    }
    fits[FIELD_PATTERN] = is_text;
    fits[FIELD_MINIMUM] = fits[FIELD_MAXIMUM] = is_text || p->type == TEMPLATE_INTEGER;
    fits[FIELD_CHOICES] = p->type == TEMPLATE_CHOICE;
    fits[FIELD_UNIQUE] = p->type == TEMPLATE_ARRAY;
    for (size_t i = 0; i < N_FIELDS; i++) {
        if (fields[i].node != NULL && !fits[i]) {
            manifest_blame(reader, fields[i], parameter_fields[i].name, "is not for type %s",
                           type_names[p->type]);
        }
    }
    if (span_equals(p->name, SPAN("project_name")) && p->type != TEMPLATE_STRING &&
        p->type != TEMPLATE_CHOICE) {
        manifest_blame(reader, fields[FIELD_TYPE], "type", "of project_name must be string");
    }
}

static void parameter_read_bound(ManifestReader *reader, JsonValue v, const char *field,
                                 TemplateType type, bool *ret_has, int64_t *ret)
{
    if (v.node == NULL) {
        return;
    }
    if (json_int64(v, ret) != 0 || *ret > TEMPLATE_INTEGER_MAX || *ret < -TEMPLATE_INTEGER_MAX) {
        manifest_blame(reader, v, field, "must be a whole number, %" PRId64 " at most",
                       TEMPLATE_INTEGER_MAX);
    } else if (type != TEMPLATE_INTEGER && *ret < 0) {
        manifest_blame(reader, v, field, "of a length must not be negative");
    } else {
        *ret_has = true;
    }
}

static void parameter_read_bounds(ManifestReader *reader, const JsonValue *fields,
                                  TemplateParameter *p)
{
    parameter_read_bound(reader, fields[FIELD_MINIMUM], "minimum", p->type, &p->has_minimum,
                         &p->minimum);
    parameter_read_bound(reader, fields[FIELD_MAXIMUM], "maximum", p->type, &p->has_maximum,
                         &p->maximum);
    if (p->has_minimum && p->has_maximum && p->minimum > p->maximum) {
        manifest_blame(reader, fields[FIELD_MAXIMUM], "maximum", "is below minimum");
    }
}

/* Compiles {"pattern":…}, once for a manifest. */
static int parameter_compile(ManifestReader *reader, JsonValue v, TemplateParameter *p)
{
    CLEANUP(bytes_deinit) Bytes text = BYTES_NULL;
    Diag diag = DIAG_NULL;
    int r;

    p->check = map_get(&reader->manifest->checks, p->pattern);
    if (p->check != NULL) {
        return 0;
    }
    bytes_init(&text, json_span(v).n + 32);
    r = bytes_append_span(&text, SPAN("{\"pattern\":"));
    r = r != 0 ? r : bytes_append_span(&text, json_span(v));
    r = r != 0 ? r : bytes_append_byte(&text, '}');
    if (r != 0) {
        return err_fold(r);
    }
    r = schema_new(&p->check, bytes_span(&text), NULL, &diag);
    if (r > 0) {
        manifest_blame(reader, v, "pattern", "%s", diag.message);
        return 0;
    }
    if (r == 0) {
        r = map_add(&reader->manifest->checks, p->pattern, p->check);
        if (r != 0) {
            p->check = schema_free(p->check);
        }
    }
    return err_fold(r);
}

static int parameter_read_choices(ManifestReader *reader, JsonValue v, TemplateParameter *p)
{
    size_t n = v.node != NULL ? json_count(v) : 0;

    if (n == 0 || n > TEMPLATE_CHOICES_MAX) {
        if (v.node != NULL) {
            manifest_blame(reader, v, "choices", "must be 1 to %d strings", TEMPLATE_CHOICES_MAX);
        }
        return 0;
    }
    for (JsonIter it = json_iter(v); json_iter_next(&it);) {
        Span text = SPAN_NULL;
        int r = 0;

        if (json_kind(it.value) != JSON_STRING) {
            manifest_blame(reader, it.value, "choices", "must be strings");
            return 0;
        }
        r = manifest_string(reader, it.value, "choices", MANIFEST_LINE, &text);
        if (r != 0) {
            return err_pass(r);
        }
        if (text.p != NULL && span_equals(p->name, SPAN("project_name")) &&
            !template_name_is_safe(text)) {
            manifest_blame(reader, it.value, "choices", "\"%s\" is no safe name", text.p);
        }
        for (JsonIter other = json_iter(v);
             json_iter_next(&other) && other.value.node != it.value.node;) {
            if (json_kind(other.value) == JSON_STRING && json_string_same(other.value, it.value)) {
                manifest_blame(reader, it.value, "choices", "holds a string twice");
                break;
            }
        }
    }
    p->choices = v;
    return 0;
}

typedef struct DefaultBlame {
    ManifestReader *reader;
    Bytes words;
} DefaultBlame;

static int default_blame(void *context, const TemplateParameter *p, const ParameterFault *fault)
{
    DefaultBlame *blame = context;
    int r;

    bytes_clear(&blame->words);
    r = parameter_write_expected(&blame->words, p, fault);
    if (r < 0) {
        return err_pass(r);
    }
    manifest_blame(blame->reader, fault->got, "default", "would be refused (%s): expected %.*s",
                   fault->code, (int)blame->words.n, blame->words.n > 0 ? blame->words.data : "");
    return 0;
}

static int parameter_read_default(ManifestReader *reader, const JsonValue *fields,
                                  TemplateParameter *p)
{
    DefaultBlame blame = {.reader = reader};
    JsonValue v = fields[FIELD_DEFAULT];
    int r;

    if (v.node == NULL) {
        return 0;
    }
    if (p->required) {
        manifest_blame(reader, v, "default", "is never used: the parameter is required");
    }
    if (p->check != NULL && reader->manifest->scratch == NULL) {
        r = schema_check_new(&reader->manifest->scratch);
        if (r != 0) {
            return err_fold(r);
        }
    }
    bytes_init(&blame.words, (size_t)TEMPLATE_STRING_MAX * 2);
    r = parameter_value_check(p, v, reader->manifest->scratch, default_blame, &blame);
    bytes_deinit(&blame.words);
    p->default_ = v;
    return r;
}

static int parameter_read_typed(ManifestReader *reader, JsonValue object, const JsonValue *fields,
                                TemplateParameter *p)
{
    size_t n_errors = reader->report.n_errors;
    int r = 0;

    parameter_check_fit(reader, fields, p);
    parameter_read_bounds(reader, fields, p);
    if (fields[FIELD_UNIQUE].node != NULL) {
        (void)json_bool(fields[FIELD_UNIQUE], &p->unique);
    }
    if (p->type == TEMPLATE_CHOICE) {
        if (fields[FIELD_CHOICES].node == NULL) {
            manifest_blame(reader, object, NULL, "must have \"choices\"");
        }
        r = parameter_read_choices(reader, fields[FIELD_CHOICES], p);
    }
    if (r == 0) {
        r = manifest_string(reader, fields[FIELD_PATTERN], "pattern", MANIFEST_TEXT, &p->pattern);
    }
    if (r == 0 && p->pattern.n > 0) {
        r = parameter_compile(reader, fields[FIELD_PATTERN], p);
    }
    if (p->type == TEMPLATE_STRING && reader->reserved.node != NULL) {
        (void)json_get(reader->reserved, p->name, &p->reserved);
    }
    /* By rules that are wrong themselves nothing can be refused. */
    if (r == 0 && reader->report.n_errors == n_errors) {
        r = parameter_read_default(reader, fields, p);
    }
    return r;
}

int manifest_parameter(ManifestReader *reader, JsonValue object, TemplateParameter *ret)
{
    JsonValue fields[N_FIELDS];
    int r;

    if (json_kind(object) != JSON_OBJECT) {
        manifest_blame(reader, object, NULL, "must be an object");
        return 0;
    }
    manifest_sort(reader, object, parameter_fields, N_FIELDS, fields);
    r = parameter_read_name(reader, fields[FIELD_NAME], ret);
    if (r == 0) {
        r = manifest_string(reader, fields[FIELD_DESCRIPTION], "description", MANIFEST_TEXT,
                            &ret->description);
    }
    if (r != 0) {
        return err_pass(r);
    }
    if (ret->description.n == 0) {
        manifest_warn(reader, object, NULL, "has no description");
    }
    if (fields[FIELD_REQUIRED].node != NULL) {
        (void)json_bool(fields[FIELD_REQUIRED], &ret->required);
    }
    if (!parameter_read_type(reader, fields[FIELD_TYPE], ret)) {
        return 0;
    }
    return parameter_read_typed(reader, object, fields, ret);
}

#include "toolkit/templates/parameters.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "toolkit/templates/parameter_value.h"
#include "json/writer.h"

/* The index of the largest values, faults, names; and the values with the defaults of a manifest.
 */
#define VALUES_ARENA_BYTES ((size_t)512 * 1024 * 1024)
#define VALUES_TEXT_BYTES  (TEMPLATE_VALUES_BYTES + 2 * TEMPLATE_MANIFEST_BYTES)

/* Of a template that does not have it. */
static const TemplateParameter project_name = {.name = SPAN_INIT("project_name"),
                                               .type = TEMPLATE_STRING};

/* A check while it runs. */
typedef struct ValuesCheck {
    TemplateValues *values;
    const Template *t;
    TemplateFault *faults;
    size_t n_faults;
    size_t n_total; /* with those that are only counted */
    size_t cap;
    JsonValue *slots; /* for each parameter what is given; node NULL if nothing is */
    size_t n_given;   /* slots in use */
} ValuesCheck;

void template_values_init(TemplateValues *values)
{
    *values = (TemplateValues){.values = JSON_VALUE_NULL};
    arena_init(&values->arena, VALUES_ARENA_BYTES);
    bytes_init(&values->text, VALUES_TEXT_BYTES);
}

void template_values_deinit(TemplateValues *values)
{
    arena_deinit(&values->arena);
    bytes_deinit(&values->text);
    values->scratch = schema_check_free(values->scratch);
    *values = (TemplateValues){.values = JSON_VALUE_NULL};
}

/* The next fault to be filled in; *ret is NULL if enough have been told, and it is only counted. */
static int check_next_fault(ValuesCheck *x, TemplateFault **ret)
{
    size_t cap = x->cap == 0 ? 8 : x->cap * 2;
    TemplateFault *faults;

    *ret = NULL;
    x->n_total++;
    if (x->n_faults == TEMPLATE_FAULTS_MAX) {
        return 0;
    }
    if (x->n_faults == x->cap) {
        faults = arena_grow(&x->values->arena, x->faults, x->cap * sizeof(*faults),
                            cap * sizeof(*faults));
        if (faults == NULL) {
            return err_raise(-ENOMEM);
        }
        x->faults = faults;
        x->cap = cap;
    }
    *ret = &x->faults[x->n_faults++];
    **ret = (TemplateFault){.code = ""};
    return 0;
}

static int check_keep(ValuesCheck *x, Span text, Span *ret)
{
    *ret = arena_copy(&x->values->arena, text);
    return ret->p != NULL ? 0 : err_raise(-ENOMEM);
}

/* Keeps what was written into the scratch buffer since it was cleared. */
static int check_keep_words(ValuesCheck *x, int r, Span *ret)
{
    if (r != 0) {
        return err_fold(r);
    }
    return check_keep(x, bytes_span(&x->values->text), ret);
}

static int check_keep_got(ValuesCheck *x, JsonValue got, Span *ret)
{
    Span raw = got.node != NULL ? json_span(got) : SPAN_NULL;
    char cut[TEMPLATE_GOT_BYTES];
    size_t n = TEMPLATE_GOT_BYTES - 3;

    if (raw.n <= TEMPLATE_GOT_BYTES) {
        return raw.n > 0 ? check_keep(x, raw, ret) : 0;
    }
    while (n > 0 && ((unsigned char)raw.p[n] & 0xC0) == 0x80) {
        n--; /* not inside a character */
    }
    memcpy(cut, raw.p, n);
    memcpy(cut + n, "...", 3);
    return check_keep(x, span_make(cut, n + 3), ret);
}

static int check_keep_name(ValuesCheck *x, const TemplateParameter *p, size_t index, Span *ret)
{
    char name[TEXT_NAME_MAX + 24];
    int n;

    if (index == PARAMETER_WHOLE) {
        *ret = p->name;
        return 0;
    }
    n = snprintf(name, sizeof(name), "%s[%zu]", p->name.p, index);
    return check_keep(x, span_make(name, (size_t)n), ret);
}

static int check_blame(void *context, const TemplateParameter *p, const ParameterFault *fault)
{
    ValuesCheck *x = context;
    Bytes *words = &x->values->text;
    TemplateFault *out;
    int r = check_next_fault(x, &out);

    if (r != 0 || out == NULL) {
        return err_pass(r);
    }
    out->code = fault->code;
    bytes_clear(words);
    r = check_keep_words(x, parameter_write_message(words, p, fault), &out->message);
    bytes_clear(words);
    r = r != 0 ? r : check_keep_words(x, parameter_write_expected(words, p, fault), &out->expected);
    r = r != 0 ? r : check_keep_got(x, fault->got, &out->got);
    return r != 0 ? err_pass(r) : check_keep_name(x, p, fault->index, &out->parameter);
}

/* The values as a whole. */
static int check_blame_all(ValuesCheck *x, const char *code, Span message, Span expected,
                           JsonValue got)
{
    TemplateFault *out;
    int r = check_next_fault(x, &out);

    if (r != 0 || out == NULL) {
        return err_pass(r);
    }
    out->code = code;
    out->message = message;
    out->expected = expected;
    return check_keep_got(x, got, &out->got);
}

static const char *check_nearest(const ValuesCheck *x, Span name)
{
    const char *names[TEMPLATE_PARAMETERS_MAX + 1];
    size_t n = x->t->n_parameters;

    for (size_t i = 0; i < n; i++) {
        names[i] = x->t->parameters[i].name.p;
    }
    names[n] = project_name.name.p;
    return text_nearest(name, names, n + 1);
}

static int check_blame_unknown(ValuesCheck *x, Span name, JsonValue got)
{
    Bytes *words = &x->values->text;
    const char *nearest;
    TemplateFault *out;
    int r = check_next_fault(x, &out);

    if (r != 0 || out == NULL) {
        return err_pass(r);
    }
    nearest = check_nearest(x, name);
    out->code = TEMPLATE_FAULT_UNKNOWN;
    out->parameter = name;
    if (nearest != NULL) {
        out->expected = span_from_str(nearest);
    }
    bytes_clear(words);
    r = bytes_append_span(words, SPAN("Unknown parameter: "));
    r = r != 0 ? r : bytes_append_span(words, name);
    r = check_keep_words(x, r, &out->message);
    return r != 0 ? err_pass(r) : check_keep_got(x, got, &out->got);
}

/* The place of a parameter in the template's list; n_parameters if there is none of that name. */
static size_t check_find(const Template *t, JsonValue key)
{
    size_t i = 0;

    while (i < t->n_parameters && !json_string_equals(key, t->parameters[i].name)) {
        i++;
    }
    return i;
}

static int check_sort(ValuesCheck *x, JsonValue given)
{
    x->slots = arena_alloc_array(&x->values->arena, x->t->n_parameters + 1, sizeof(*x->slots));
    if (x->slots == NULL) {
        return err_raise(-ENOMEM);
    }
    if (given.node == NULL) {
        return 0;
    }
    for (JsonIter it = json_iter(given); json_iter_next(&it);) {
        size_t i = check_find(x->t, it.key);

        if (i < x->t->n_parameters) {
            x->n_given += x->slots[i].node == NULL;
            x->slots[i] = it.value;
        }
    }
    return 0;
}

static int check_known(ValuesCheck *x)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < x->t->n_parameters; i++) {
        const TemplateParameter *p = &x->t->parameters[i];
        ParameterFault missing = {TEMPLATE_FAULT_MISSING, PARAMETER_WHOLE, JSON_VALUE_NULL};

        if (x->slots[i].node != NULL) {
            r = parameter_value_check(p, x->slots[i], x->values->scratch, check_blame, x);
        } else if (p->required) {
            r = check_blame(x, p, &missing);
        }
    }
    return r;
}

static int check_unknown(ValuesCheck *x, JsonValue given,
                         bool (*is_known)(void *context, Span name), void *context)
{
    for (JsonIter it = json_iter(given); json_iter_next(&it);) {
        Span name;
        int r;

        if (check_find(x->t, it.key) < x->t->n_parameters) {
            continue;
        }
        r = json_string(it.key, &x->values->arena, &name);
        if (r == 0 && span_equals(name, project_name.name)) {
            r = parameter_value_check(&project_name, it.value, x->values->scratch, check_blame, x);
        } else if (r == 0 && (is_known == NULL || !is_known(context, name))) {
            r = check_blame_unknown(x, name, it.value);
        }
        if (r != 0) {
            return err_fold(r);
        }
    }
    return 0;
}

/* Which defaults apply: whatever may be wrong with what is given. */
static int check_defaults(ValuesCheck *x)
{
    TemplateValues *values = x->values;
    const TemplateParameter **defaulted =
        arena_alloc_array(&values->arena, x->t->n_parameters + 1, sizeof(*defaulted));

    if (defaulted == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < x->t->n_parameters; i++) {
        if (x->slots[i].node == NULL && x->t->parameters[i].default_.node != NULL) {
            defaulted[values->n_defaulted++] = &x->t->parameters[i];
        }
    }
    values->defaulted = defaulted;
    return 0;
}

static int check_write(const ValuesCheck *x)
{
    TemplateValues *values = x->values;
    JsonWriter w;

    bytes_clear(&values->text);
    json_writer_init(&w, &values->text, JSON_STYLE_COMPACT);
    json_write_object(&w);
    for (size_t i = 0; i < x->t->n_parameters; i++) {
        if (x->slots[i].node != NULL) {
            json_write_key(&w, x->t->parameters[i].name);
            json_write_raw(&w, json_span(x->slots[i]));
        }
    }
    for (size_t i = 0; i < values->n_defaulted; i++) {
        json_write_key(&w, values->defaulted[i]->name);
        json_write_raw(&w, json_span(values->defaulted[i]->default_));
    }
    json_write_end_object(&w);
    return json_writer_finish(&w);
}

/* Whether what is given is already all that the template gets. */
static bool check_is_complete(const ValuesCheck *x, JsonValue given)
{
    return given.node != NULL && json_count(given) == x->n_given && x->values->n_defaulted == 0;
}

static int check_fill(ValuesCheck *x, JsonValue given)
{
    TemplateValues *values = x->values;
    int r;

    if (check_is_complete(x, given)) {
        values->values = given;
        return 0;
    }
    r = check_write(x);
    if (r == 0) {
        r = json_parse(&values->doc, &values->arena, values->text.data, values->text.n, NULL, NULL);
    }
    if (r != 0) {
        return err_fold(r);
    }
    values->values = json_root(&values->doc);
    return 0;
}

static int check_run(ValuesCheck *x, JsonValue given, bool (*is_known)(void *context, Span name),
                     void *context)
{
    static const char not_object[] = "Parameters must be an object";
    static const char too_long[] = "Parameters are too long";
    int r;

    if (given.node != NULL && json_kind(given) != JSON_OBJECT) {
        return check_blame_all(x, TEMPLATE_FAULT_TYPE, SPAN(not_object), SPAN("object"), given);
    }
    if (given.node != NULL && json_span(given).n > TEMPLATE_VALUES_BYTES) {
        return check_blame_all(x, TEMPLATE_FAULT_RANGE, SPAN(too_long), SPAN("at most 4 MiB"),
                               given);
    }
    r = check_sort(x, given);
    if (r == 0) {
        r = check_defaults(x);
    }
    if (r == 0) {
        r = check_known(x);
    }
    if (r == 0 && given.node != NULL) {
        r = check_unknown(x, given, is_known, context);
    }
    if (r == 0 && x->n_faults == 0) {
        r = check_fill(x, given);
    }
    return r;
}

int template_values_check(TemplateValues *values, const Template *t, JsonValue given,
                          bool (*is_known)(void *context, Span name), void *context)
{
    ValuesCheck x = {.values = values, .t = t};
    int r = 0;

    arena_reset(&values->arena, LIMIT_KEEP_BYTES);
    bytes_clear_keep(&values->text, LIMIT_KEEP_BYTES);
    values->values = JSON_VALUE_NULL;
    values->faults = NULL;
    values->n_faults = 0;
    values->n_faults_total = 0;
    values->defaulted = NULL;
    values->n_defaulted = 0;
    if (values->scratch == NULL) {
        r = schema_check_new(&values->scratch);
    }
    if (r == 0) {
        r = check_run(&x, given, is_known, context);
    }
    if (r != 0) {
        return err_fold(r);
    }
    values->faults = x.faults;
    values->n_faults = x.n_faults;
    values->n_faults_total = x.n_total;
    return 0;
}

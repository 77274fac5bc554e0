/* What is typed into the arguments of a prompt: as values of parameters, and what is wrong with it.
 */
#include "providers/templates_prompt.h"

#include <errno.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"

const TemplateParameter *templates_prompt_parameter(const PromptRun *run, Span name)
{
    for (size_t i = 0; i < run->n; i++) {
        const Template *t = run->found[i];

        for (size_t j = 0; t != NULL && j < t->n_parameters; j++) {
            if (span_equals(t->parameters[j].name, name)) {
                return &t->parameters[j];
            }
        }
    }
    return NULL;
}

/* What was typed, as a value of the parameter's type where it can be one. */
static void prompt_write_value(JsonWriter *w, const TemplateParameter *p, Span text)
{
    int64_t number;

    if (p->type == TEMPLATE_BOOLEAN && span_equals(text, SPAN("true"))) {
        json_write_bool(w, true);
    } else if (p->type == TEMPLATE_BOOLEAN && span_equals(text, SPAN("false"))) {
        json_write_bool(w, false);
    } else if (p->type == TEMPLATE_INTEGER && text_parse_i64(text, &number) == 0) {
        json_write_int(w, number);
    } else {
        json_write_string(w, text);
    }
}

static JsonIter prompt_iter(JsonValue given)
{
    return given.node != NULL ? json_iter(given) : (JsonIter){.next = NULL, .end = NULL};
}

/* The parameter that an argument stands for; NULL if it stands for none. */
static const TemplateParameter *prompt_known(const PromptRun *run, Span name)
{
    const TemplateParameter *p = templates_prompt_parameter(run, name);

    for (size_t i = 0; p == NULL && i < run->arguments.n; i++) {
        if (span_equals(run->arguments.parameters[i]->name, name)) {
            p = run->arguments.parameters[i];
        }
    }
    return p;
}

int templates_prompt_write_values(const PromptRun *run, JsonWriter *w, bool all)
{
    json_write_object(w);
    for (JsonIter it = prompt_iter(run->given); json_iter_next(&it);) {
        const TemplateParameter *p;
        bool is_project;
        Span name;
        Span text;
        int r = json_string(it.key, &run->templates->arena, &name);

        r = r != 0 ? r : json_string(it.value, &run->templates->arena, &text);
        if (r != 0) {
            return err_fold(r);
        }
        is_project = span_equals(name, SPAN("project_name"));
        p = all ? prompt_known(run, name) : templates_prompt_parameter(run, name);
        if (span_equals(name, SPAN("templates")) || (p == NULL && !is_project && !all) ||
            (p != NULL && !is_project && text.n == 0 && !p->required)) {
            continue;
        }
        json_write_key(w, name);
        if (p != NULL) {
            prompt_write_value(w, p, text);
        } else {
            json_write_string(w, text);
        }
    }
    json_write_end_object(w);
    return 0;
}

/* The same, to be checked; lives as long as the call. 0, -ENOMEM, BYTES_E_FULL. */
static int prompt_values(const PromptRun *run, bool all, JsonValue *ret)
{
    Bytes *out = &run->templates->structured;
    JsonWriter w;
    JsonDoc doc;
    Span text;
    int r;

    bytes_clear(out);
    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    r = templates_prompt_write_values(run, &w, all);
    r = r != 0 ? r : json_writer_finish(&w);
    if (r != 0) {
        return r;
    }
    text = arena_copy(&run->templates->arena, bytes_span(out));
    if (text.p == NULL) {
        return err_raise(-ENOMEM);
    }
    r = json_parse(&doc, &run->templates->arena, text.p, text.n, NULL, NULL);
    if (r != 0) {
        return err_fold(r);
    }
    *ret = json_root(&doc);
    return 0;
}

/* ---- checks ---- */

/* A template of nothing but parameters: all that an argument may stand for, each once. */
typedef struct PromptAll {
    const PromptRun *run;
    Template template;
    TemplateParameter parameters[TEMPLATE_PARAMETERS_MAX];
} PromptAll;

static void prompt_all_add(PromptAll *all, const TemplateParameter *p)
{
    size_t n = all->template.n_parameters;

    for (size_t i = 0; i < n; i++) {
        if (span_equals(all->parameters[i].name, p->name)) {
            return;
        }
    }
    if (n < TEMPLATE_PARAMETERS_MAX) {
        all->parameters[n] = *p;
        /* Nothing is missing here, and nothing is filled in. */
        all->parameters[n].required = false;
        all->parameters[n].default_ = JSON_VALUE_NULL;
        all->template.n_parameters++;
    }
}

static void prompt_all_init(PromptAll *all, const PromptRun *run)
{
    TemplateParameter project = {.name = SPAN("project_name"), .type = TEMPLATE_STRING};
    const TemplateParameter *own = templates_prompt_parameter(run, project.name);

    all->run = run;
    all->template = (Template){.parameters = all->parameters};
    prompt_all_add(all, own != NULL ? own : &project);
    for (size_t i = 0; i < run->n; i++) {
        const Template *t = run->found[i];

        for (size_t j = 0; t != NULL && j < t->n_parameters; j++) {
            prompt_all_add(all, &t->parameters[j]);
        }
    }
    for (size_t i = 0; i < run->arguments.n; i++) {
        prompt_all_add(all, run->arguments.parameters[i]);
    }
}

/* Of templates with very many parameters not all have a place there. */
static bool prompt_all_knows(void *context, Span name)
{
    const PromptAll *all = context;

    return prompt_known(all->run, name) != NULL;
}

static bool prompt_has_fault(const TemplateFault *faults, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!templates_is_missing(&faults[i])) {
            return true;
        }
    }
    return false;
}

/* "templates: there is no 'x' for rust", "…: 'x' is named twice". */
static int prompt_blame_name(const PromptRun *run, size_t at, Span *ret)
{
    CLEANUP(bytes_deinit) Bytes words = BYTES_NULL;
    Span name = templates_cut(run->names[at]);
    int r;

    bytes_init(&words, 2 * TEMPLATES_QUOTE_BYTES);
    r = bytes_append_format(&words, "templates: %s'%.*s'%s%.*s",
                            run->found[at] == NULL ? "there is no " : "", (int)name.n, name.p,
                            run->found[at] == NULL ? " for " : " is named twice",
                            run->found[at] == NULL ? (int)run->toolchain.n : 0, run->toolchain.p);
    if (r != 0) {
        return err_fold(r);
    }
    *ret = arena_copy(&run->templates->arena, bytes_span(&words));
    return ret->p != NULL ? 0 : err_raise(-ENOMEM);
}

/* Names of templates that are none, or that come twice; and too many of them. */
static int prompt_check_templates(const PromptRun *run, Call *call, bool *ret_ended)
{
    static const char too_many[] = "templates: more names than a project may have";
    TemplateFault faults[TEMPLATE_FAULTS_MAX];
    size_t n_total = 0;
    size_t n = 0;
    int r = 0;

    for (size_t i = 0; r == 0 && i < run->n; i++) {
        bool is_wrong = run->found[i] == NULL;

        for (size_t j = 0; !is_wrong && j < i; j++) {
            is_wrong = run->found[j] == run->found[i];
        }
        n_total += is_wrong;
        if (is_wrong && n < TEMPLATE_FAULTS_MAX) {
            faults[n] = (TemplateFault){.parameter = SPAN("templates"), .code = "template"};
            r = prompt_blame_name(run, i, &faults[n++].message);
        }
    }
    if (r == 0 && n == 0 && run->n_asked > run->n) {
        faults[n++] = (TemplateFault){
            .parameter = SPAN("templates"), .code = "template", .message = SPAN(too_many)};
        n_total++;
    }
    if (r == 0 && n > 0) {
        templates_fail_values(run->templates, call, faults, n, n_total);
        *ret_ended = true;
    }
    return r;
}

/* Names and values as such. *ret_ended: the call has ended with what is wrong. 0, -ENOMEM. */
static int prompt_check_names(const PromptRun *run, Call *call, bool *ret_ended)
{
    Templates *templates = run->templates;
    TemplateValues *values = &templates->values;
    PromptAll *all = arena_alloc(&templates->arena, sizeof(*all));
    JsonValue given = JSON_VALUE_NULL;
    int r;

    if (all == NULL) {
        return err_raise(-ENOMEM);
    }
    prompt_all_init(all, run);
    r = prompt_values(run, true, &given);
    r = r != 0 ? r : template_values_check(values, &all->template, given, prompt_all_knows, all);
    if (r == 0 && values->n_faults > 0) {
        templates_fail_values(templates, call, values->faults, values->n_faults,
                              values->n_faults_total);
        *ret_ended = true;
    }
    return r;
}

/* As scaffold_project would: the templates may differ in what they take. What is missing is not
 * wrong, since the prompt asks for it. */
static int prompt_check_project(const PromptRun *run, Call *call, bool *ret_ended)
{
    Templates *templates = run->templates;
    TemplateProject *project = &templates->project;
    JsonValue given = JSON_VALUE_NULL;
    int r = prompt_values(run, false, &given);

    r = r != 0 ? r
               : template_project_many(project, templates->catalog, run->toolchain, run->names,
                                       run->n, given, clock_now_ms());
    for (size_t i = 0; r == 0 && !*ret_ended && i < project->n_failures; i++) {
        const TemplateFailure *failure = &project->failures[i];

        if (prompt_has_fault(failure->faults, failure->n_faults)) {
            templates_fail_values(templates, call, failure->faults, failure->n_faults,
                                  failure->n_faults_total);
            *ret_ended = true;
        }
    }
    return r;
}

int templates_prompt_check(const PromptRun *run, Call *call, bool *ret_ended)
{
    int r = prompt_check_templates(run, call, ret_ended);

    r = r != 0 || *ret_ended ? r : prompt_check_names(run, call, ret_ended);
    return r != 0 || *ret_ended ? r : prompt_check_project(run, call, ret_ended);
}

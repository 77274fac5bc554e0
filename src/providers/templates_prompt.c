/* scaffold-TOOLCHAIN-project: a prompt that tells a model which tool to call with which values.
 *
 * Its arguments are project_name, the templates, and the parameters that several templates of the
 * toolchain share, since those describe the project and not one file. */
#include "providers/templates_prompt.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "toolkit/templates/project_names.h"

static size_t prompt_count(const TemplateCatalog *catalog, Span toolchain, Span name)
{
    TemplateFilter filter = {.toolchain = toolchain};
    size_t n_found = 0;

    for (size_t i = 0; i < template_catalog_count(catalog); i++) {
        const Template *t = template_catalog_at(catalog, i);

        for (size_t j = 0; template_matches(t, &filter) && j < t->n_parameters; j++) {
            n_found += span_equals(t->parameters[j].name, name);
        }
    }
    return n_found;
}

static bool prompt_has(const PromptArguments *arguments, Span name)
{
    for (size_t i = 0; i < arguments->n; i++) {
        if (span_equals(arguments->parameters[i]->name, name)) {
            return true;
        }
    }
    return false;
}

/* Parameters of two templates and more, project_name aside; no arrays, which nobody types into a
 * line. */
static void prompt_arguments(const TemplateCatalog *catalog, Span toolchain, PromptArguments *ret)
{
    TemplateFilter filter = {.toolchain = toolchain};

    ret->n = 0;
    for (size_t i = 0; i < template_catalog_count(catalog); i++) {
        const Template *t = template_catalog_at(catalog, i);

        for (size_t j = 0; template_matches(t, &filter) && j < t->n_parameters; j++) {
            const TemplateParameter *p = &t->parameters[j];

            if (ret->n < PROMPT_ARGUMENTS && p->type != TEMPLATE_ARRAY &&
                !span_equals(p->name, SPAN("project_name")) &&
                !span_equals(p->name, SPAN("templates")) && !prompt_has(ret, p->name) &&
                prompt_count(catalog, toolchain, p->name) > 1) {
                ret->parameters[ret->n++] = p;
            }
        }
    }
}

/* ---- its description ---- */

static void describe_argument(JsonWriter *w, Span name, Span description, bool required)
{
    json_write_object(w);
    templates_write_text(w, "name", name);
    templates_write_text(w, "description", description);
    json_write_key(w, SPAN("required"));
    json_write_bool(w, required);
    json_write_end_object(w);
}

int templates_describe_prompt(const TemplateCatalog *catalog, Span toolchain, Bytes *out)
{
    char text[TEMPLATE_URI_PART_MAX + 64];
    PromptArguments arguments;
    JsonWriter w;

    prompt_arguments(catalog, toolchain, &arguments);
    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    (void)snprintf(text, sizeof(text), TEMPLATES_PROMPT_BEGIN "%.*s" TEMPLATES_PROMPT_END,
                   (int)toolchain.n, toolchain.p);
    templates_write_text(&w, "name", span_from_str(text));
    (void)snprintf(text, sizeof(text), "Scaffold a %.*s project from templates", (int)toolchain.n,
                   toolchain.p);
    templates_write_text(&w, "description", span_from_str(text));
    json_write_key(&w, SPAN("arguments"));
    json_write_array(&w);
    describe_argument(&w, SPAN("project_name"), SPAN("Name of the project"), true);
    describe_argument(&w, SPAN("templates"),
                      SPAN("Templates to use, with commas between them; else every category"),
                      false);
    for (size_t i = 0; i < arguments.n; i++) {
        describe_argument(&w, arguments.parameters[i]->name, arguments.parameters[i]->description,
                          false);
    }
    json_write_end_array(&w);
    json_write_end_object(&w);
    return json_writer_finish(&w);
}

/* The toolchain in a prompt's name. */
static Span prompt_toolchain(Span name)
{
    size_t n_around = sizeof(TEMPLATES_PROMPT_BEGIN TEMPLATES_PROMPT_END) - 1;

    return span_make(name.p + sizeof(TEMPLATES_PROMPT_BEGIN) - 1, name.n - n_around);
}

/* ---- its messages ---- */

static void prompt_add(PromptRun *run, Span name)
{
    bool is_uri;

    run->n_asked += name.n > 0;
    if (name.n > 0 && run->n < PROMPT_NAMES) {
        run->found[run->n] = project_find(run->templates->catalog, run->toolchain, name, &is_uri);
        run->names[run->n++] = name;
    }
}

static bool prompt_has_name(const PromptRun *run, Span name)
{
    for (size_t i = 0; i < run->n; i++) {
        if (span_equals(run->names[i], name)) {
            return true;
        }
    }
    return false;
}

/* The names that were given, else every category of the toolchain, so that what is made builds. 0,
 * -ENOMEM. */
static int prompt_names(PromptRun *run)
{
    const TemplateCatalog *catalog = run->templates->catalog;
    TemplateFilter filter = {.toolchain = run->toolchain};
    Span list;
    int r = templates_string(run->templates, run->given, "templates", &list);

    while (r == 0 && list.n > 0) {
        const char *comma = memchr(list.p, ',', list.n);
        size_t n = comma != NULL ? (size_t)(comma - list.p) : list.n;

        prompt_add(run, text_trim(span_make(list.p, n)));
        n += comma != NULL;
        list = span_make(list.p + n, list.n - n);
    }
    if (r != 0 || run->n > 0) {
        return r;
    }
    for (size_t i = 0; i < template_catalog_count(catalog); i++) {
        const Template *t = template_catalog_at(catalog, i);

        if (template_matches(t, &filter) && !prompt_has_name(run, t->uri.category)) {
            prompt_add(run, t->uri.category);
        }
    }
    return 0;
}

/* The arguments of scaffold_project, for people and models to read. */
static int prompt_write_arguments(const PromptRun *run, Bytes *out)
{
    JsonWriter w;
    int r;

    json_writer_init(&w, out, JSON_STYLE_PRETTY);
    json_write_object(&w);
    templates_write_text(&w, "toolchain", run->toolchain);
    json_write_key(&w, SPAN("templates"));
    json_write_array(&w);
    for (size_t i = 0; i < run->n; i++) {
        json_write_string(&w, run->names[i]);
    }
    json_write_end_array(&w);
    json_write_key(&w, SPAN("parameters"));
    r = templates_prompt_write_values(run, &w, false);
    json_write_end_object(&w);
    return r != 0 ? r : json_writer_finish(&w);
}

/* "- makefile: Rust CLI Makefile (project_name string, required; has_tests boolean, default true)"
 */
static int prompt_write_template(Bytes *out, Span name, const Template *t)
{
    int r = bytes_append_span(out, SPAN("- "));

    r = r != 0 ? r : bytes_append_span(out, name);
    r = r != 0 ? r : bytes_append_span(out, SPAN(": "));
    r = r != 0 ? r : bytes_append_span(out, t->name);
    for (size_t i = 0; r == 0 && i < t->n_parameters; i++) {
        const TemplateParameter *p = &t->parameters[i];

        r = bytes_append_span(out, i == 0 ? SPAN(" (") : SPAN("; "));
        r = r != 0 ? r : bytes_append_span(out, p->name);
        r = r != 0 ? r
                   : bytes_append_format(out, " %s%s", template_type_name(p->type),
                                         p->required ? ", required" : "");
        if (p->default_.node != NULL) {
            r = r != 0 ? r : bytes_append_span(out, SPAN(", default "));
            r = r != 0 ? r : bytes_append_span(out, json_span(p->default_));
        }
    }
    return r != 0 ? r : bytes_append_span(out, t->n_parameters > 0 ? SPAN(")\n") : SPAN("\n"));
}

static bool prompt_is_given(const PromptRun *run, Span name)
{
    JsonValue v;

    return run->given.node != NULL && json_get(run->given, name, &v);
}

/* Required parameters without a value: somebody must be asked. */
static int prompt_write_missing(const PromptRun *run, Bytes *out)
{
    bool is_first = true;
    int r = 0;

    for (size_t i = 0; i < run->n; i++) {
        const Template *t = run->found[i];

        for (size_t j = 0; r == 0 && t != NULL && j < t->n_parameters; j++) {
            const TemplateParameter *p = &t->parameters[j];

            /* Once: where it is met first. */
            if (p->required && !prompt_is_given(run, p->name) &&
                templates_prompt_parameter(run, p->name) == p) {
                r = bytes_append_span(
                    out, is_first ? SPAN("Before that ask me for these parameters: ") : SPAN(", "));
                r = r != 0 ? r : bytes_append_span(out, p->name);
                is_first = false;
            }
        }
    }
    return r != 0 || is_first ? r : bytes_append_span(out, SPAN(".\n"));
}

static int prompt_write(const PromptRun *run, Span project, Bytes *out)
{
    int r = bytes_append_format(out, "Scaffold a %.*s project named ", (int)run->toolchain.n,
                                run->toolchain.p);

    r = r != 0 ? r : bytes_append_span(out, project);
    r = r != 0 ? r
               : bytes_append_span(out, SPAN(". Call the tool scaffold_project with these "
                                             "arguments:\n\n"));
    r = r != 0 ? r : prompt_write_arguments(run, out);
    r = r != 0 ? r : bytes_append_span(out, SPAN("\n\nThe templates and their parameters:\n"));
    for (size_t i = 0; r == 0 && i < run->n; i++) {
        r = prompt_write_template(out, run->names[i], run->found[i]);
    }
    r = r != 0 ? r : bytes_append_span(out, SPAN("\n"));
    r = r != 0 ? r : prompt_write_missing(run, out);
    r = r != 0 ? r
               : bytes_append_span(
                     out, SPAN("list_templates shows what else there is for this toolchain. Then "
                               "create every file of the result at its path, with its content "
                               "unchanged, mark those that are executable, and tell me of every "
                               "error in the result."));
    return r;
}

static int prompt_get(Templates *templates, Call *call)
{
    PromptRun run = {.templates = templates,
                     .toolchain = prompt_toolchain(call->target),
                     .given = call->arguments};
    bool has_ended = false;
    Span project;
    int r = templates_string(templates, run.given, "project_name", &project);

    prompt_arguments(templates->catalog, run.toolchain, &run.arguments);
    r = r != 0 ? r : prompt_names(&run);
    r = r != 0 ? r : templates_prompt_check(&run, call, &has_ended);
    if (r != 0 || has_ended) {
        return r;
    }
    bytes_clear(&templates->structured);
    r = prompt_write(&run, project, &templates->content);
    if (r != 0) {
        return r;
    }
    call_answer_reset(&templates->answer, CALL_RESULT_PROMPT);
    call_answer_description(&templates->answer, SPAN("Scaffold a project from templates"));
    call_answer_text(&templates->answer, SPAN("user"), bytes_span(&templates->content));
    call_answer_finish(&templates->answer, call);
    return 0;
}

/* ---- completion ---- */

static void complete_value(Templates *templates, Span value, Span typed)
{
    if (value.n >= typed.n && text_equals_nocase(span_make(value.p, typed.n), typed)) {
        call_answer_value(&templates->answer, value);
        templates->answer.result.total++;
    }
}

/* The last name of a list: what stands before it stays. 0, -ENOMEM. */
static int complete_templates(Templates *templates, Span toolchain, Span typed)
{
    const Span *categories = NULL;
    size_t n = template_catalog_categories(templates->catalog, &categories);
    size_t n_before = typed.n;

    while (n_before > 0 && typed.p[n_before - 1] != ',' && typed.p[n_before - 1] != ' ') {
        n_before--;
    }
    for (size_t i = 0; i < n; i++) {
        bool is_uri;
        char *value;

        if (project_find(templates->catalog, toolchain, categories[i], &is_uri) == NULL) {
            continue;
        }
        value = arena_alloc(&templates->arena, n_before + categories[i].n);
        if (value == NULL) {
            return err_raise(-ENOMEM);
        }
        if (n_before > 0) {
            memcpy(value, typed.p, n_before);
        }
        memcpy(value + n_before, categories[i].p, categories[i].n);
        complete_value(templates, span_make(value, n_before + categories[i].n), typed);
    }
    return 0;
}

static int complete_parameter(Templates *templates, const TemplateParameter *p, Span typed)
{
    if (p->type == TEMPLATE_BOOLEAN) {
        complete_value(templates, SPAN("true"), typed);
        complete_value(templates, SPAN("false"), typed);
    } else if (p->choices.node != NULL) {
        for (JsonIter it = json_iter(p->choices); json_iter_next(&it);) {
            Span choice;
            int r = json_string(it.value, &templates->arena, &choice);

            if (r != 0) {
                return err_fold(r);
            }
            complete_value(templates, choice, typed);
        }
    } else if (p->default_.node != NULL && json_kind(p->default_) == JSON_STRING) {
        Span value;
        int r = json_string(p->default_, &templates->arena, &value);

        if (r != 0) {
            return err_fold(r);
        }
        complete_value(templates, value, typed);
    }
    return 0;
}

static int prompt_complete(Templates *templates, Call *call)
{
    const CallCompletion *completion = &call->completion;
    Span toolchain = prompt_toolchain(call->target);
    PromptArguments arguments;
    int r = 0;

    call_answer_reset(&templates->answer, CALL_RESULT_COMPLETION);
    templates->answer.result.total = 0;
    if (span_equals(completion->argument, SPAN("templates"))) {
        r = complete_templates(templates, toolchain, completion->value);
    } else {
        prompt_arguments(templates->catalog, toolchain, &arguments);
        for (size_t i = 0; r == 0 && i < arguments.n; i++) {
            if (span_equals(arguments.parameters[i]->name, completion->argument)) {
                r = complete_parameter(templates, arguments.parameters[i], completion->value);
            }
        }
    }
    if (r == 0) {
        call_answer_finish(&templates->answer, call);
    }
    return r;
}

static void prompt_start(void *context, Call *call)
{
    Templates *templates = context;
    int r;

    if (templates->catalog == NULL) {
        templates_fail_system(call, -ENOMEM); /* it could not be read just now */
        return;
    }
    templates_begin(templates);
    r = call->verb == CALL_COMPLETE ? prompt_complete(templates, call)
                                    : prompt_get(templates, call);
    if (r != 0) {
        templates_fail_system(call, r);
    }
}

const CallProvider templates_prompt_provider = {.name = "templates", .start = prompt_start};

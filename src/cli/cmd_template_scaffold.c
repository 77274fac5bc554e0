/* `toolwire template scaffold`: the files of a whole project. */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/text.h"
#include "cli/cmd_template.h"
#include "cli/cmd_template_catalog.h"
#include "cli/cmd_template_input.h"
#include "cli/cmd_template_place.h"
#include "cli/cmd_template_write.h"
#include "io/error_text.h"
#include "toolkit/templates/project.h"

enum {
    OPTION_P = TEMPLATE_OPTION_OWN,
    OPTION_PARAMS,
    OPTION_INTO,
    OPTION_WITHOUT,
    OPTION_DRY_RUN,
    OPTION_OVERWRITE,
};

static const CliOption scaffold_options[] = {
    [TEMPLATE_OPTION_TEMPLATES] = TEMPLATE_OPTION_TEMPLATES_ROW,
    [TEMPLATE_OPTION_JSON] = TEMPLATE_OPTION_JSON_ROW,
    [OPTION_P] = TEMPLATE_OPTION_P_ROW,
    [OPTION_PARAMS] = TEMPLATE_OPTION_PARAMS_ROW,
    [OPTION_INTO] = {"into", "DIR", "write into this folder; the default is ./PROJECT_NAME"},
    [OPTION_WITHOUT] = {"without", "CATEGORY...", "leave this one out; may be repeated"},
    [OPTION_DRY_RUN] = {"dry-run", NULL, "write nothing; say what is new, the same, or differs"},
    [OPTION_OVERWRITE] = {"overwrite", NULL, "replace files that are there with other content"},
    {NULL, NULL, NULL},
};

/* What is asked for. */
typedef struct Scaffold {
    const CliArgs *args;
    const TemplateCatalog *catalog;
    Span toolchain;
    Span names[TEMPLATE_PROJECT_NAMES];
    const Template *templates[TEMPLATE_PROJECT_NAMES];
    size_t n;
} Scaffold;

static bool scaffold_leaves_out(const Scaffold *s, Span category)
{
    for (size_t i = 0; i < s->args->n_repeats; i++) {
        if (s->args->repeats[i].place == OPTION_WITHOUT &&
            span_equals(span_from_str(s->args->repeats[i].value), category)) {
            return true;
        }
    }
    return false;
}

/* Says that the toolchain has no such category, with the nearest that it has. */
static int scaffold_no_category(const Scaffold *s, const char *name)
{
    Span best = SPAN_NULL;
    size_t best_distance = SIZE_MAX;

    for (size_t i = 0; i < template_catalog_count(s->catalog); i++) {
        const Template *t = template_catalog_at(s->catalog, i);
        size_t distance = text_edit_distance(span_from_str(name), t->uri.category);

        if (span_equals(t->uri.toolchain, s->toolchain) && distance < best_distance &&
            3 * distance <= strlen(name)) {
            best = t->uri.category;
            best_distance = distance;
        }
    }
    return template_cli_fail(s->args, "toolchain '%.*s' has no template '%s'%s%.*s%s",
                             (int)s->toolchain.n, s->toolchain.p, name,
                             best.n > 0 ? "; did you mean '" : "", (int)best.n,
                             best.n > 0 ? best.p : "", best.n > 0 ? "'?" : "");
}

static int scaffold_add(Scaffold *s, Span name, const Template *t)
{
    if (s->n == TEMPLATE_PROJECT_NAMES) {
        return cli_usage_error(s->args, "more than %zu templates", TEMPLATE_PROJECT_NAMES);
    }
    s->names[s->n] = name;
    s->templates[s->n] = t;
    s->n++;
    return 0;
}

/* Every category of the toolchain. */
static int scaffold_take_all(Scaffold *s)
{
    for (size_t i = 0; i < template_catalog_count(s->catalog); i++) {
        const Template *t = template_catalog_at(s->catalog, i);
        Span category = t->uri.category;
        bool is_there = false;

        for (size_t k = 0; k < s->n; k++) {
            is_there = is_there || span_equals(s->names[k], category);
        }
        if (!is_there && span_equals(t->uri.toolchain, s->toolchain) &&
            !scaffold_leaves_out(s, category) &&
            scaffold_add(s, category, template_cli_find_in(s->catalog, s->toolchain, category)) !=
                0) {
            return CLI_EXIT_USAGE;
        }
    }
    return 0;
}

static int scaffold_take_named(Scaffold *s)
{
    for (size_t i = 1; i < s->args->n_operands; i++) {
        const char *name = s->args->operands[i];
        const Template *t = template_cli_find_in(s->catalog, s->toolchain, span_from_str(name));
        int status;

        if (t == NULL) {
            return scaffold_no_category(s, name);
        }
        status =
            scaffold_leaves_out(s, t->uri.category) ? 0 : scaffold_add(s, span_from_str(name), t);
        if (status != 0) {
            return status;
        }
    }
    return 0;
}

static int scaffold_choose(Scaffold *s)
{
    const Span *toolchains;
    size_t n = template_catalog_toolchains(s->catalog, &toolchains);
    bool is_known = false;
    int status;

    for (size_t i = 0; i < n; i++) {
        is_known = is_known || span_equals(toolchains[i], s->toolchain);
    }
    if (!is_known) {
        return template_cli_no_toolchain(s->args, s->catalog, s->args->operands[0]);
    }
    for (size_t i = 0; i < s->args->n_repeats; i++) {
        const CliRepeat *without = &s->args->repeats[i];

        if (without->place == OPTION_WITHOUT &&
            template_cli_find_in(s->catalog, s->toolchain, span_from_str(without->value)) == NULL) {
            return scaffold_no_category(s, without->value);
        }
    }
    status = s->args->n_operands > 1 ? scaffold_take_named(s) : scaffold_take_all(s);
    if (status == 0 && s->n == 0) {
        return cli_usage_error(s->args, "nothing is left to be made");
    }
    return status;
}

static int scaffold_write(const Scaffold *s, const TemplateProject *project)
{
    CLEANUP(arena_deinit) Arena arena = ARENA_NULL;
    const TemplateFile *first = &project->files[0];
    /* "PROJECT/path" */
    Span name = span_make(first->filename.p, first->filename.n - first->path.n - 1);
    TemplateWrite write = {.args = s->args,
                           .toolchain = s->toolchain,
                           .files = project->files,
                           .n = project->n_files,
                           .skipped = project->skipped,
                           .n_skipped = project->n_skipped,
                           .dry_run = s->args->values[OPTION_DRY_RUN] != NULL,
                           .overwrite = s->args->values[OPTION_OVERWRITE] != NULL,
                           .arena = &arena};
    int r;

    arena_init(&arena, SIZE_MAX);
    /* A folder that was named may be reached by a link; the one of the project's name is not. */
    r = s->args->values[OPTION_INTO] != NULL
            ? template_place_split(&arena, s->args->values[OPTION_INTO], &write.place)
            : template_place_inside(&arena, name, &write.place);
    return r == 0 ? template_write_run(&write) : template_cli_no_memory(s->args);
}

static int scaffold_make(const Scaffold *s)
{
    CLEANUP(template_input_deinit) TemplateInput input;
    CLEANUP(template_project_deinit) TemplateProject project;
    int status;
    int r;

    template_input_init(&input, s->templates, s->n);
    template_project_init(&project);
    status = template_input_read(&input, s->args, (TemplateInputOptions){OPTION_P, OPTION_PARAMS});
    if (status != 0) {
        return status;
    }
    r = template_project_many(&project, s->catalog, s->toolchain, s->names, s->n, input.values,
                              clock_now_ms());
    if (r != 0) {
        return template_cli_fail(s->args, "cannot make the files: %s", io_error_text(-r));
    }
    if (project.n_failures > 0) {
        return template_input_explain(s->args, &project);
    }
    return project.n_files > 0 ? scaffold_write(s, &project)
                               : cli_usage_error(s->args, "nothing is left to be made: %s is false",
                                                 project.skipped[0].template->when.p);
}

static int scaffold_run(const CliArgs *args)
{
    CLEANUP(template_cli_closep) TemplateCatalog *catalog = NULL;
    Scaffold s = {.args = args};
    int status;

    if (args->n_operands == 0) {
        return cli_usage_error(args, "which TOOLCHAIN?");
    }
    status = template_cli_open(args, &catalog);
    s.catalog = catalog;
    s.toolchain = span_from_str(args->operands[0]);
    if (status == 0) {
        status = scaffold_choose(&s);
    }
    return status != 0 ? status : scaffold_make(&s);
}

const CliCommand cmd_template_scaffold = {
    .name = "template scaffold",
    .operands = "TOOLCHAIN [TEMPLATE...]",
    .summary = "make the files of a project",
    .details =
        "TEMPLATE is a category, CATEGORY/VARIANT, or a URI; without one, every category of\n"
        "the toolchain; but no tests with -p has_tests=false. Nothing is written if a\n"
        "parameter is wrong, or a file is there with other content. Required parameters that\n"
        "are not given are asked for, if standard input is a terminal.\n"
        "Exit status: 0 done, 1 no such template, or it cannot be written, 2 wrong use or\n"
        "wrong parameters.",
    .options = scaffold_options,
    .run = scaffold_run,
};

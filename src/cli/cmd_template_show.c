/* `toolwire template show`: one template in full. */
#include <inttypes.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/limits.h"
#include "cli/cmd_template.h"
#include "cli/cmd_template_catalog.h"
#include "cli/cmd_template_json.h"
#include "cli/table.h"

enum {
    OPTION_SOURCE = TEMPLATE_OPTION_OWN,
};

static const CliOption show_options[] = {
    [TEMPLATE_OPTION_TEMPLATES] = TEMPLATE_OPTION_TEMPLATES_ROW,
    [TEMPLATE_OPTION_JSON] = TEMPLATE_OPTION_JSON_ROW,
    [OPTION_SOURCE] = {"source", NULL, "print the text of the template instead"},
    {NULL, NULL, NULL},
};

/* "required", "default 4", or "optional". */
static int need_cell(const TemplateParameter *p, Bytes *out)
{
    Span json;

    if (p->required) {
        return bytes_append_span(out, SPAN("required"));
    }
    if (p->default_.node == NULL) {
        return bytes_append_span(out, SPAN("optional"));
    }
    json = json_span(p->default_);
    return bytes_append_format(out, "default %.*s", (int)json.n, json.p);
}

/* "; none of test, build": all of them. */
static int reserved_cell(const TemplateParameter *p, Bytes *out)
{
    const char *before = out->n > 0 ? "; none of " : "none of ";
    int r = 0;

    for (JsonIter it = json_iter(p->reserved); r == 0 && json_iter_next(&it); before = ", ") {
        Span raw = json_span(it.value); /* the manifest takes only words without escapes */

        r = bytes_append_format(out, "%s%.*s", before, (int)raw.n - 2, raw.p + 1);
    }
    return r;
}

/* "1 to 64 characters; ^[a-z]+$" */
static int limits_cell(const TemplateParameter *p, Bytes *out)
{
    const char *unit = p->type == TEMPLATE_STRING  ? " characters"
                       : p->type == TEMPLATE_ARRAY ? " elements"
                                                   : "";
    int r = 0;

    if (p->has_minimum && p->has_maximum) {
        r = bytes_append_format(out, "%" PRId64 " to %" PRId64 "%s", p->minimum, p->maximum, unit);
    } else if (p->has_minimum) {
        r = bytes_append_format(out, "at least %" PRId64 "%s", p->minimum, unit);
    } else if (p->has_maximum) {
        r = bytes_append_format(out, "at most %" PRId64 "%s", p->maximum, unit);
    }
    if (r == 0 && p->pattern.n > 0) {
        r = bytes_append_format(out, "%spattern %s", out->n > 0 ? "; " : "", p->pattern.p);
    }
    if (r == 0 && p->choices.node != NULL) {
        Span json = json_span(p->choices);

        r = bytes_append_format(out, "one of %.*s", (int)json.n, json.p);
    }
    if (r == 0 && p->unique) {
        r = bytes_append_format(out, "%sno element twice", out->n > 0 ? "; " : "");
    }
    return r == 0 && p->reserved.node != NULL ? reserved_cell(p, out) : r;
}

/* Builds one cell in the scratch, and keeps it in the arena. */
static int keep_cell(int (*build)(const TemplateParameter *, Bytes *), const TemplateParameter *p,
                     Bytes *scratch, Arena *arena, Span *ret)
{
    bytes_clear(scratch);
    if (build(p, scratch) != 0) {
        return err_raise(-ENOMEM);
    }
    *ret = arena_copy(arena, bytes_span(scratch));
    return ret->p != NULL ? 0 : err_raise(-ENOMEM);
}

/* A row for the parameter, and one for what its values must be. */
static int add_parameter(Table *table, const TemplateParameter *p, Bytes *scratch, Arena *arena)
{
    Span need = SPAN_NULL;
    Span limits = SPAN_NULL;
    int r = keep_cell(need_cell, p, scratch, arena, &need);

    if (r == 0) {
        r = keep_cell(limits_cell, p, scratch, arena, &limits);
    }
    if (r == 0) {
        r = table_add(table, (Span[]){p->name, span_from_str(template_type_name(p->type)), need,
                                      p->description.n > 0 ? p->description : limits});
    }
    if (r == 0 && limits.n > 0 && p->description.n > 0) {
        r = table_add(table, (Span[]){SPAN_NULL, SPAN_NULL, SPAN_NULL, limits});
    }
    return r;
}

static int show_print_parameters(const CliArgs *args, const Template *t)
{
    CLEANUP(arena_deinit) Arena arena = ARENA_NULL;
    CLEANUP(bytes_deinit) Bytes scratch = BYTES_NULL;
    Table table;

    arena_init(&arena, SIZE_MAX);
    bytes_init(&scratch, TEMPLATE_MANIFEST_BYTES);
    table_init(&table, &arena, 4);
    for (size_t i = 0; i < t->n_parameters; i++) {
        if (add_parameter(&table, &t->parameters[i], &scratch, &arena) != 0) {
            return template_cli_no_memory(args);
        }
    }
    if (table.n_rows == 0) {
        printf("\nParameters: none\n");
    } else {
        printf("\nParameters:\n");
        table_print(&table, stdout);
    }
    return CLI_EXIT_DONE;
}

static int show_print(const CliArgs *args, const Template *t)
{
    table_print_safe(stdout, t->uri_text, false);
    printf(" - ");
    table_print_safe(stdout, t->name, false);
    printf(" (");
    table_print_safe(stdout, t->version, false);
    printf(")\n");
    if (t->description.n > 0) {
        printf("\n");
        table_print_safe(stdout, t->description, true);
        printf("\n");
    }
    printf("\nOutput: ");
    table_print_safe(stdout, t->output, false);
    printf(" (");
    table_print_safe(stdout, t->mime_type, false);
    printf(t->executable ? ", executable)" : ")");
    if (t->when.n > 0) {
        printf(" where ");
        table_print_safe(stdout, t->when, false);
        printf(" is true");
    }
    printf("\n");
    return show_print_parameters(args, t);
}

static int show_print_json(const CliArgs *args, const Template *t)
{
    CLEANUP(bytes_deinit) Bytes out = BYTES_NULL;
    JsonWriter w;

    bytes_init(&out, 8 * TEMPLATE_MANIFEST_BYTES);
    json_writer_init(&w, &out, JSON_STYLE_COMPACT);
    template_json_write(&w, t, args->values[OPTION_SOURCE] != NULL);
    return template_json_print(args, &w);
}

static int show_run(const CliArgs *args)
{
    CLEANUP(template_cli_closep) TemplateCatalog *catalog = NULL;
    const Template *t = NULL;
    int status;

    if (args->n_operands != 1) {
        return cli_usage_error(args, args->n_operands == 0 ? "which TEMPLATE?" : "one TEMPLATE");
    }
    status = template_cli_open(args, &catalog);
    if (status == 0) {
        status = template_cli_need(args, catalog, args->operands[0], &t);
    }
    if (status != 0) {
        return status;
    }
    if (args->values[TEMPLATE_OPTION_JSON] != NULL) {
        return show_print_json(args, t);
    }
    if (args->values[OPTION_SOURCE] != NULL) {
        template_cli_print_text(t->text);
        return CLI_EXIT_DONE;
    }
    return show_print(args, t);
}

const CliCommand cmd_template_show = {
    .name = "template show",
    .operands = "TEMPLATE",
    .summary = "show one template: what it makes, and its parameters",
    .details = "TEMPLATE is a URI, or CATEGORY/TOOLCHAIN[/VARIANT].",
    .options = show_options,
    .run = show_run,
};

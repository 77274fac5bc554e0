/* `toolwire template render`: one file made of a template. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "cli/cmd_template.h"
#include "cli/cmd_template_catalog.h"
#include "cli/cmd_template_input.h"
#include "cli/cmd_template_json.h"
#include "io/error_text.h"
#include "io/place.h"
#include "io/tree.h"
#include "toolkit/templates/project.h"

enum {
    OPTION_P = TEMPLATE_OPTION_OWN,
    OPTION_PARAMS,
    OPTION_OUTPUT,
    OPTION_OVERWRITE,
};

static const CliOption render_options[] = {
    [TEMPLATE_OPTION_TEMPLATES] = TEMPLATE_OPTION_TEMPLATES_ROW,
    [TEMPLATE_OPTION_JSON] = TEMPLATE_OPTION_JSON_ROW,
    [OPTION_P] = TEMPLATE_OPTION_P_ROW,
    [OPTION_PARAMS] = TEMPLATE_OPTION_PARAMS_ROW,
    [OPTION_OUTPUT] = {"output", "FILE", "write to this file; the default is standard output"},
    [OPTION_OVERWRITE] = {"overwrite", NULL, "replace FILE if it is there with other content"},
    {NULL, NULL, NULL},
};

/* 0 or an exit status, the reason said. */
static int render_write(const CliArgs *args, const TemplateFile *file)
{
    const char *output = args->values[OPTION_OUTPUT];
    size_t n_folder = io_place_folder_length(output);
    bool replace = args->values[OPTION_OVERWRITE] != NULL;
    CLEANUP(arena_deinit) Arena arena = ARENA_NULL;
    Diag diag = DIAG_NULL;
    IoTreeLook look;
    Span folder;
    int r;

    arena_init(&arena, SIZE_MAX);
    folder = n_folder > 0 ? arena_copy(&arena, span_make(output, n_folder)) : SPAN(".");
    if (folder.p == NULL) {
        return template_cli_no_memory(args);
    }
    r = io_tree_look(folder.p, output + n_folder, file->content, file->executable, &look, &diag);
    if (r == 0 && look.state == IO_TREE_SAME) {
        return 0;
    }
    if (r == 0 && look.state == IO_TREE_DIFFERS && !replace) {
        return template_cli_fail(
            args, "'%s' is there already, and differs (+%zu -%zu); --overwrite replaces it", output,
            look.n_added, look.n_removed);
    }
    r = r != 0 ? r
               : io_tree_write(folder.p, output + n_folder, file->content, file->executable,
                               replace, &diag);
    return r == 0 ? 0
                  : template_cli_fail(args, "cannot write '%s': %s", output,
                                      r > 0 ? diag.message : io_error_text(-r));
}

static int render_print_json(const CliArgs *args, const TemplateFile *file)
{
    CLEANUP(bytes_deinit) Bytes out = BYTES_NULL;
    JsonWriter w;

    bytes_init(&out, 8 * TEMPLATE_PROJECT_BYTES);
    json_writer_init(&w, &out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    template_json_file(&w, file);
    if (args->values[OPTION_OUTPUT] != NULL) {
        template_json_member(&w, "output", span_from_str(args->values[OPTION_OUTPUT]));
    }
    template_json_member(&w, "content", file->content);
    json_write_end_object(&w);
    return template_json_print(args, &w);
}

static int render_file(const CliArgs *args, const TemplateFile *file)
{
    int status = args->values[OPTION_OUTPUT] != NULL ? render_write(args, file) : 0;

    if (status != 0) {
        return status;
    }
    if (args->values[TEMPLATE_OPTION_JSON] != NULL) {
        return render_print_json(args, file);
    }
    if (args->values[OPTION_OUTPUT] == NULL) {
        template_cli_print_text(file->content);
    }
    return CLI_EXIT_DONE;
}

static int render_template(const CliArgs *args, const Template *t)
{
    CLEANUP(template_input_deinit) TemplateInput input;
    CLEANUP(template_project_deinit) TemplateProject project;
    int status;
    int r;

    template_input_init(&input, &t, 1);
    template_project_init(&project);
    status = template_input_read(&input, args, (TemplateInputOptions){OPTION_P, OPTION_PARAMS});
    if (status != 0) {
        return status;
    }
    r = template_project_one(&project, t, input.values, clock_now_ms());
    if (r != 0) {
        return template_cli_fail(args, "cannot make the file: %s", io_error_text(-r));
    }
    return project.n_files == 1 ? render_file(args, &project.files[0])
                                : template_input_explain(args, &project);
}

static int render_run(const CliArgs *args)
{
    CLEANUP(template_cli_closep) TemplateCatalog *catalog = NULL;
    const Template *t = NULL;
    int status;

    if (args->n_operands != 1) {
        return cli_usage_error(args, args->n_operands == 0
                                         ? "which TEMPLATE?"
                                         : "one TEMPLATE; parameters are given with -p");
    }
    status = template_cli_open(args, &catalog);
    if (status == 0) {
        status = template_cli_need(args, catalog, args->operands[0], &t);
    }
    return status != 0 ? status : render_template(args, t);
}

const CliCommand cmd_template_render = {
    .name = "template render",
    .operands = "TEMPLATE",
    .summary = "make one file of a template",
    .details = "TEMPLATE is a URI, or CATEGORY/TOOLCHAIN[/VARIANT]. Required parameters that are\n"
               "not given are asked for, if standard input is a terminal.\n"
               "Exit status: 0 done, 1 no such template, or it cannot be written, 2 wrong use or\n"
               "wrong parameters.",
    .options = render_options,
    .run = render_run,
};

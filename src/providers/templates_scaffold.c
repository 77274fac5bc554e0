/* scaffold_project: the files of a project, given back, and, where that is allowed, written.
 *
 * Writing begins when every template was made and no file is in the way;
 * what the system refuses in the middle is told, file by file. */
#include "providers/templates_scaffold.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "io/error_text.h"
#include "io/tree.h"

/* ---- writing ---- */

/* PATH, or WRITE_TO/PATH. */
static int scaffold_path(const Scaffold *run, Span path, char **ret)
{
    Span folder = span_equals(run->write_to, SPAN(".")) ? SPAN("") : run->write_to;
    char *joined = arena_alloc(&run->templates->arena, folder.n + path.n + 2);
    size_t at = folder.n;

    if (joined == NULL) {
        return err_raise(-ENOMEM);
    }
    if (at > 0) {
        memcpy(joined, folder.p, at);
        joined[at++] = '/';
    }
    memcpy(joined + at, path.p, path.n);
    joined[at + path.n] = '\0';
    *ret = joined;
    return 0;
}

/* A file cannot be written: says why in the answer. 0, -ENOMEM. */
static int scaffold_blame(Scaffold *run, ScaffoldFile *file, int r, const Diag *diag)
{
    const char *words = diag->message[0] != '\0' ? diag->message : io_error_text(r < 0 ? -r : EIO);

    file->error = arena_copy(&run->templates->arena, span_from_str(words));
    run->n_errors++;
    return file->error.p != NULL ? 0 : err_raise(-ENOMEM);
}

/* What is there already. */
static int scaffold_look(Scaffold *run, size_t i)
{
    const TemplateFile *made = &run->templates->project.files[i];
    ScaffoldFile *file = &run->files[i];
    Diag diag = DIAG_NULL;
    int r = scaffold_path(run, made->path, &file->path);

    if (r != 0) {
        return err_pass(r);
    }
    r = io_tree_look(run->templates->write_root, file->path, made->content, made->executable,
                     &file->look, &diag);
    if (r == -ENOMEM) {
        return err_pass(r);
    }
    if (r == 0 && file->look.state == IO_TREE_DIFFERS && !run->overwrite && !run->dry_run) {
        r = diag_set(&diag, IO_TREE_E_EXISTS,
                     "%s is there already and differs: ask for overwrite, or another write_to",
                     file->path);
    }
    file->is_refused = r != 0 && r != IO_TREE_E_EXISTS;
    return r == 0 ? 0 : scaffold_blame(run, file, r, &diag);
}

static int scaffold_put(Scaffold *run, size_t i)
{
    const TemplateFile *made = &run->templates->project.files[i];
    ScaffoldFile *file = &run->files[i];
    Diag diag = DIAG_NULL;
    int r;

    if (file->look.state == IO_TREE_SAME) {
        return 0;
    }
    r = io_tree_write(run->templates->write_root, file->path, made->content, made->executable,
                      run->overwrite, &diag);
    if (r == -ENOMEM) {
        return err_pass(r);
    }
    file->is_written = r == 0;
    run->n_written += r == 0;
    return r == 0 ? 0 : scaffold_blame(run, file, r, &diag);
}

static int scaffold_write_files(Scaffold *run)
{
    const TemplateProject *project = &run->templates->project;
    int r = 0;

    for (size_t i = 0; r == 0 && i < project->n_files; i++) {
        r = scaffold_look(run, i);
    }
    if (run->dry_run || run->n_errors > 0 || project->n_failures > 0) {
        return err_pass(r);
    }
    for (size_t i = 0; r == 0 && i < project->n_files; i++) {
        r = scaffold_put(run, i);
    }
    return err_pass(r);
}

/* ---- the call ---- */

/* The names of the templates, decoded. 0, -ENOMEM. */
static int scaffold_names(Templates *templates, JsonValue arguments, Span **ret, size_t *ret_n)
{
    JsonValue list;
    size_t n = 0;

    *ret_n = 0;
    *ret = arena_alloc_array(&templates->arena, 1, sizeof(**ret));
    if (*ret == NULL) {
        return err_raise(-ENOMEM);
    }
    if (arguments.node == NULL || !json_get(arguments, SPAN("templates"), &list)) {
        return 0;
    }
    *ret = arena_alloc_array(&templates->arena, json_count(list) + 1, sizeof(**ret));
    if (*ret == NULL) {
        return err_raise(-ENOMEM);
    }
    for (JsonIter it = json_iter(list); json_iter_next(&it);) {
        int r = json_string(it.value, &templates->arena, &(*ret)[n++]);

        if (r != 0) {
            return err_fold(r);
        }
    }
    *ret_n = n;
    return 0;
}

/* A toolchain that no URI can have: the call has ended, and not with a failure of each template. */
static bool scaffold_check_toolchain(const Scaffold *run, Call *call)
{
    if (template_uri_is_part(run->toolchain)) {
        return true;
    }
    templates_fail_argument(run->templates, call, "/toolchain",
                            "toolchain must be small letters, digits, '-', '_', '.' and '+', and "
                            "begin with a letter or digit");
    return false;
}

/* Whether what it is to be written to can be. False: the call has ended. */
static bool scaffold_check_place(const Scaffold *run, Call *call)
{
    if (run->write_to.p == NULL) {
        return true;
    }
    if (run->templates->write_root == NULL) {
        templates_fail_argument(run->templates, call, "/write_to",
                                "write_to is refused: the server was started without a "
                                "--write-root, so that nothing may be written");
        return false;
    }
    if (!span_equals(run->write_to, SPAN(".")) && !template_path_is_safe(run->write_to)) {
        templates_fail_argument(run->templates, call, "/write_to",
                                "write_to must name a folder inside the one that may be written "
                                "to: names with '/' between them, none of them '..'");
        return false;
    }
    return true;
}

static int scaffold_run(Scaffold *run, Call *call, const Span *names, size_t n_names)
{
    Templates *templates = run->templates;
    TemplateProject *project = &templates->project;
    JsonValue parameters = JSON_VALUE_NULL;
    int r;

    (void)json_get(call->arguments, SPAN("parameters"), &parameters);
    r = template_project_many(project, templates->catalog, run->toolchain, names, n_names,
                              parameters, clock_now_ms());
    if (r != 0) {
        return err_pass(r);
    }
    run->files = arena_alloc_array(&templates->arena, project->n_files + 1, sizeof(*run->files));
    if (run->files == NULL) {
        return err_raise(-ENOMEM);
    }
    if (run->write_to.p != NULL) {
        r = scaffold_write_files(run);
    }
    r = r != 0 ? r : templates_scaffold_write(run);
    r = r != 0 ? r : templates_scaffold_say(run);
    if (r == 0) {
        size_t n_errors = project->n_failures + run->n_errors;

        /* A part of what was asked for is something; where it was to be written, nothing was. */
        templates_finish(templates, call,
                         n_errors > 0 && (run->write_to.p != NULL || project->n_files == 0));
    }
    return r;
}

int templates_scaffold(Templates *templates, Call *call)
{
    JsonValue arguments = call->arguments;
    Scaffold run = {.templates = templates,
                    .overwrite = templates_flag(arguments, "overwrite"),
                    .dry_run = templates_flag(arguments, "dry_run")};
    Span *names = NULL;
    size_t n_names = 0;
    int r = templates_string(templates, arguments, "toolchain", &run.toolchain);

    r = r != 0 ? r : templates_string(templates, arguments, "write_to", &run.write_to);
    r = r != 0 ? r : scaffold_names(templates, arguments, &names, &n_names);
    if (r != 0) {
        return err_pass(r);
    }
    if (!scaffold_check_toolchain(&run, call) || !scaffold_check_place(&run, call)) {
        return 0;
    }
    return scaffold_run(&run, call, names, n_names);
}

/* scaffold_project: the files of a project, given back, and, where that is allowed, written.
 *
 * Writing begins when every template was made and no file is in the way, so that a project is
 * written whole or not at all; what the system refuses in the middle is told, file by file. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "io/error_text.h"
#include "io/tree.h"
#include "providers/templates_impl.h"

/* Contents are in the answer up to three times; above this the original's names come without. */
#define SCAFFOLD_TWICE_BYTES ((size_t)1024 * 1024)

/* Lines about faults of one template in the text; all are in the structured content. */
#define SCAFFOLD_FAULT_LINES ((size_t)20)

/* What became of a file, if it is to be written. */
typedef struct ScaffoldFile {
    char *path; /* in write_root */
    IoTreeLook look;
    bool is_refused; /* nothing can be there: look says nothing */
    bool is_written;
    Span error;   /* why not; empty if nothing is wrong */
    size_t start; /* of its content as JSON, in structured */
    size_t n;
} ScaffoldFile;

typedef struct Scaffold {
    Templates *templates;
    Span toolchain;
    Span write_to; /* p NULL: nothing is to be written */
    bool overwrite;
    bool dry_run;
    ScaffoldFile *files; /* as the project's */
    size_t n_errors;     /* of files; templates that failed are the project's */
    size_t n_written;
} Scaffold;

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

/* ---- the answer ---- */

static void scaffold_write_look(const Scaffold *run, JsonWriter *w, const ScaffoldFile *file)
{
    static const Span states[] = {[IO_TREE_NEW] = SPAN_INIT("new"),
                                  [IO_TREE_SAME] = SPAN_INIT("same"),
                                  [IO_TREE_DIFFERS] = SPAN_INIT("differs")};

    if (run->write_to.p == NULL) {
        return;
    }
    templates_write_text(w, "written_to", span_from_str(file->path));
    templates_write_text(w, "state", file->is_refused ? SPAN("refused") : states[file->look.state]);
    if (!file->is_refused && file->look.state == IO_TREE_DIFFERS) {
        json_write_key(w, SPAN("lines_added"));
        json_write_uint(w, file->look.n_added);
        json_write_key(w, SPAN("lines_removed"));
        json_write_uint(w, file->look.n_removed);
    }
    json_write_key(w, SPAN("written"));
    json_write_bool(w, file->is_written);
}

static void scaffold_write_file(const Scaffold *run, JsonWriter *w, size_t i)
{
    const TemplateFile *made = &run->templates->project.files[i];
    ScaffoldFile *file = &run->files[i];
    Span checksum = span_make(made->sha256, TEMPLATE_SHA256_HEX);

    json_write_object(w);
    templates_write_text(w, "template", made->template->uri_text);
    templates_write_text(w, "path", made->path);
    templates_write_text(w, "filename", made->filename);
    json_write_key(w, SPAN("content"));
    file->start = run->templates->structured.n;
    json_write_string(w, made->content);
    file->n = run->templates->structured.n - file->start;
    templates_write_text(w, "checksum", checksum);
    templates_write_text(w, "sha256", checksum);
    json_write_key(w, SPAN("size"));
    json_write_uint(w, made->content.n);
    json_write_key(w, SPAN("executable"));
    json_write_bool(w, made->executable);
    templates_write_text(w, "mime_type", made->template->mime_type);
    scaffold_write_look(run, w, file);
    json_write_end_object(w);
}

/* The original's name for the same. */
static void scaffold_write_generated(const Scaffold *run, JsonWriter *w)
{
    const TemplateProject *project = &run->templates->project;

    json_write_array(w);
    for (size_t i = 0; i < project->n_files; i++) {
        const TemplateFile *made = &project->files[i];

        json_write_object(w);
        templates_write_text(w, "template", made->template->uri.category);
        templates_write_text(w, "filename", made->filename);
        if (project->text.n <= SCAFFOLD_TWICE_BYTES) {
            templates_write_text(w, "content", made->content);
        }
        templates_write_text(w, "checksum", span_make(made->sha256, TEMPLATE_SHA256_HEX));
        json_write_end_object(w);
    }
    json_write_end_array(w);
}

static void scaffold_write_errors(const Scaffold *run, JsonWriter *w)
{
    const TemplateProject *project = &run->templates->project;

    json_write_array(w);
    for (size_t i = 0; i < project->n_failures; i++) {
        const TemplateFailure *failure = &project->failures[i];

        json_write_object(w);
        templates_write_text(w, "template", failure->asked);
        templates_write_text(w, "error", failure->message);
        if (failure->n_faults > 0) {
            json_write_key(w, SPAN("errors"));
            templates_write_faults(w, failure->faults, failure->n_faults);
        }
        json_write_end_object(w);
    }
    for (size_t i = 0; i < project->n_files; i++) {
        if (run->files[i].error.n > 0) {
            json_write_object(w);
            templates_write_text(w, "template", project->files[i].template->uri_text);
            templates_write_text(w, "path", project->files[i].path);
            templates_write_text(w, "error", run->files[i].error);
            json_write_end_object(w);
        }
    }
    json_write_end_array(w);
}

static int scaffold_write(const Scaffold *run)
{
    const TemplateProject *project = &run->templates->project;
    JsonWriter w;

    json_writer_init(&w, &run->templates->structured, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("files"));
    json_write_array(&w);
    for (size_t i = 0; i < project->n_files; i++) {
        scaffold_write_file(run, &w, i);
    }
    json_write_end_array(&w);
    json_write_key(&w, SPAN("generated"));
    scaffold_write_generated(run, &w);
    json_write_key(&w, SPAN("errors"));
    scaffold_write_errors(run, &w);
    templates_write_toolchain(&w, run->toolchain);
    if (run->write_to.p != NULL) {
        templates_write_text(&w, "write_to", run->write_to);
        json_write_key(&w, SPAN("dry_run"));
        json_write_bool(&w, run->dry_run);
    }
    json_write_end_object(&w);
    return json_writer_finish(&w);
}

/* "FILENAME: what is there, what became of it" */
static int scaffold_say_file(const Scaffold *run, const ScaffoldFile *file)
{
    Templates *templates = run->templates;
    bool is_same = !file->is_refused && file->look.state == IO_TREE_SAME;
    int r = templates_say(templates, span_from_str(file->path));

    if (file->is_refused) {
        r = r != 0 ? r : templates_say(templates, SPAN(": refused"));
    } else if (file->look.state == IO_TREE_DIFFERS) {
        r = r != 0 ? r
                   : templates_say_format(templates, ": differs, +%zu -%zu lines",
                                          file->look.n_added, file->look.n_removed);
    } else {
        r = r != 0 ? r : templates_say(templates, is_same ? SPAN(": same") : SPAN(": new"));
    }
    if (!run->dry_run && !is_same) {
        r = r != 0 ? r
                   : templates_say(templates,
                                   file->is_written ? SPAN(", written") : SPAN(", not written"));
    }
    return r;
}

static int scaffold_say_files(const Scaffold *run)
{
    Templates *templates = run->templates;
    int r = templates_block(templates);

    for (size_t i = 0; r == 0 && i < templates->project.n_files; i++) {
        r = templates_say(templates, i == 0 ? SPAN("") : SPAN("\n"));
        r = r != 0 ? r : scaffold_say_file(run, &run->files[i]);
    }
    return r != 0 ? r : templates_block_end(templates);
}

/* A block for each file, for clients that know no structured content. */
static int scaffold_say_contents(const Scaffold *run)
{
    Templates *templates = run->templates;
    const TemplateProject *project = &templates->project;
    int r = 0;

    for (size_t i = 0; r == 0 && i < project->n_files && project->text.n <= SCAFFOLD_TWICE_BYTES;
         i++) {
        r = templates_block(templates);
        r = r != 0 ? r : templates_say(templates, project->files[i].filename);
        r = r != 0 ? r : templates_say(templates, SPAN(":\n"));
        /* It stands there as JSON already; without its quotes. */
        r = r != 0 ? r
                   : bytes_append(&templates->content,
                                  templates->structured.data + run->files[i].start + 1,
                                  run->files[i].n - 2);
        r = r != 0 ? r : templates_block_end(templates);
    }
    return r;
}

/* "makefile: Parameter validation failed: …", and its further faults. */
static int scaffold_say_failure(const Scaffold *run, const TemplateFailure *failure)
{
    CLEANUP(bytes_deinit) Bytes words = BYTES_NULL;
    int r;

    bytes_init(&words, TEMPLATES_ANSWER_BYTES);
    r = bytes_append_span(&words, templates_cut(failure->asked));
    r = r != 0 ? r : bytes_append_span(&words, SPAN(": "));
    r = r != 0 ? r : templates_write_failure(&words, failure, SCAFFOLD_FAULT_LINES);
    if (r == 0 && failure->n_faults > SCAFFOLD_FAULT_LINES) {
        r = bytes_append_format(&words, "\n(%zu more)", failure->n_faults - SCAFFOLD_FAULT_LINES);
    }
    return r != 0 ? r : templates_say(run->templates, bytes_span(&words));
}

static int scaffold_say_errors(const Scaffold *run)
{
    Templates *templates = run->templates;
    const TemplateProject *project = &templates->project;
    bool is_first = true;
    int r = templates_block(templates);

    for (size_t i = 0; r == 0 && i < project->n_failures; i++) {
        r = templates_say(templates, is_first ? SPAN("") : SPAN("\n"));
        r = r != 0 ? r : scaffold_say_failure(run, &project->failures[i]);
        is_first = false;
    }
    for (size_t i = 0; r == 0 && i < project->n_files; i++) {
        if (run->files[i].error.n > 0) {
            r = templates_say(templates, is_first ? SPAN("") : SPAN("\n"));
            r = r != 0 ? r : templates_say(templates, run->files[i].error);
            is_first = false;
        }
    }
    return r != 0 ? r : templates_block_end(templates);
}

/* The sentence that comes first. Where files were to be written, it is about those. */
static int scaffold_say_outcome(const Scaffold *run, size_t n_errors)
{
    Templates *templates = run->templates;
    size_t n = templates->project.n_files;
    const char *end = n_errors == 1 ? "" : "s";

    if (run->write_to.p != NULL && n_errors > 0) {
        return run->n_written > 0
                   ? templates_say_format(templates,
                                          "Only %zu of %zu files were written, %zu error%s",
                                          run->n_written, n, n_errors, end)
                   : templates_say_format(templates, "Nothing %s written: %zu error%s",
                                          run->dry_run ? "would be" : "was", n_errors, end);
    }
    return templates_say_format(templates, "Scaffolded %zu template%s successfully, %zu error%s", n,
                                n == 1 ? "" : "s", n_errors, end);
}

static int scaffold_say(const Scaffold *run)
{
    Templates *templates = run->templates;
    const TemplateProject *project = &templates->project;
    size_t n_errors = project->n_failures + run->n_errors;
    int r = templates_block(templates);

    r = r != 0 ? r : scaffold_say_outcome(run, n_errors);
    r = r != 0 ? r : templates_block_end(templates);
    if (n_errors > 0) {
        r = r != 0 ? r : scaffold_say_errors(run);
    }
    if (project->n_files > 0) {
        r = r != 0                    ? r
            : run->write_to.p != NULL ? scaffold_say_files(run)
                                      : scaffold_say_contents(run);
    }
    return r;
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
    r = r != 0 ? r : scaffold_write(run);
    r = r != 0 ? r : scaffold_say(run);
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
    return scaffold_check_place(&run, call) ? scaffold_run(&run, call, names, n_names) : 0;
}

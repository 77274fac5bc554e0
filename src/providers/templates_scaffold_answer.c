/* The answer of scaffold_project. */
#include "providers/templates_scaffold.h"

/* Contents are in the answer up to three times; above this the original's names come without. */
#define SCAFFOLD_TWICE_BYTES ((size_t)1024 * 1024)

/* Lines about faults of one template in the text; all are in the structured content. */
#define SCAFFOLD_FAULT_LINES ((size_t)20)

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
            templates_write_faults(w, failure->faults, failure->n_faults, failure->n_faults_total);
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

/* Templates whose condition is false, which is no error. */
static void scaffold_write_skipped(const Scaffold *run, JsonWriter *w)
{
    const TemplateProject *project = &run->templates->project;

    json_write_array(w);
    for (size_t i = 0; i < project->n_skipped; i++) {
        json_write_object(w);
        templates_write_text(w, "template", project->skipped[i].template->uri_text);
        templates_write_text(w, "when", project->skipped[i].template->when);
        json_write_end_object(w);
    }
    json_write_end_array(w);
}

int templates_scaffold_write(const Scaffold *run)
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
    json_write_key(&w, SPAN("skipped"));
    scaffold_write_skipped(run, &w);
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

/* "tests: not made, since has_tests is false" */
static int scaffold_say_skipped(const Scaffold *run)
{
    Templates *templates = run->templates;
    const TemplateProject *project = &templates->project;
    int r = templates_block(templates);

    for (size_t i = 0; r == 0 && i < project->n_skipped; i++) {
        const TemplateSkip *skip = &project->skipped[i];

        r = templates_say(templates, i == 0 ? SPAN("") : SPAN("\n"));
        r = r != 0 ? r : templates_say(templates, skip->asked);
        r = r != 0 ? r
                   : templates_say_format(templates, ": not made, since %s is false",
                                          skip->template->when.p);
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

int templates_scaffold_say(const Scaffold *run)
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
    if (project->n_skipped > 0) {
        r = r != 0 ? r : scaffold_say_skipped(run);
    }
    if (project->n_files > 0) {
        r = r != 0                    ? r
            : run->write_to.p != NULL ? scaffold_say_files(run)
                                      : scaffold_say_contents(run);
    }
    return r;
}

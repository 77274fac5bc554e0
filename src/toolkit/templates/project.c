#include "toolkit/templates/project.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "toolkit/templates/project_names.h"

/* Paths, names and faults of as many files as a project may have. */
#define PROJECT_ARENA_BYTES ((size_t)64 * 1024 * 1024)

/* Longest sentence of a failure: a fault's, with a pattern in it. */
#define PROJECT_MESSAGE_BYTES ((size_t)32 * 1024)

/* What is asked for; all names of a project share the parameters. */
typedef struct ProjectRun {
    TemplateProject *project;
    JsonValue parameters;
    int64_t unix_ms;
    const Template **templates; /* asked for; NULL where there is none of that name */
    size_t n_templates;
    bool skips; /* templates whose condition is false */
} ProjectRun;

void template_project_init(TemplateProject *project)
{
    *project = (TemplateProject){.n_files = 0};
    arena_init(&project->arena, PROJECT_ARENA_BYTES);
    bytes_init(&project->text, TEMPLATE_PROJECT_BYTES);
    template_values_init(&project->values);
}

void template_project_deinit(TemplateProject *project)
{
    arena_deinit(&project->arena);
    bytes_deinit(&project->text);
    template_values_deinit(&project->values);
    *project = (TemplateProject){.n_files = 0};
}

/* Forgets what was there, and makes room for n files, failures or skipped ones. */
static int project_begin(TemplateProject *project, size_t n)
{
    arena_reset(&project->arena, LIMIT_KEEP_BYTES);
    bytes_clear_keep(&project->text, LIMIT_KEEP_BYTES);
    project->n_files = 0;
    project->n_failures = 0;
    project->n_skipped = 0;
    project->files = arena_alloc_array(&project->arena, n, sizeof(*project->files));
    project->failures = arena_alloc_array(&project->arena, n, sizeof(*project->failures));
    project->skipped = arena_alloc_array(&project->arena, n, sizeof(*project->skipped));
    return project->files != NULL && project->failures != NULL && project->skipped != NULL
               ? 0
               : err_raise(-ENOMEM);
}

static int project_keep(TemplateProject *project, Span text, Span *ret)
{
    *ret = arena_copy(&project->arena, text);
    return ret->p != NULL ? 0 : err_raise(-ENOMEM);
}

static int project_fail(TemplateProject *project, Span asked, Span message,
                        TemplateFailure **ret_failure)
{
    TemplateFailure *failure = &project->failures[project->n_failures];
    int r;

    *failure = (TemplateFailure){.n_faults = 0};
    r = project_keep(project, asked, &failure->asked);
    if (r == 0) {
        r = project_keep(project, message, &failure->message);
    }
    if (r == 0) {
        project->n_failures++;
        if (ret_failure != NULL) {
            *ret_failure = failure;
        }
    }
    return r;
}

/* The faults are the values', which the next template uses anew. */
static int project_keep_faults(TemplateProject *project, const TemplateFault *faults, size_t n,
                               TemplateFailure *failure)
{
    TemplateFault *copy = arena_alloc_array(&project->arena, n, sizeof(*copy));
    int r = 0;

    if (copy == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; r == 0 && i < n; i++) {
        copy[i].code = faults[i].code;
        r = project_keep(project, faults[i].parameter, &copy[i].parameter);
        r = r != 0 ? r : project_keep(project, faults[i].message, &copy[i].message);
        r = r != 0 ? r : project_keep(project, faults[i].expected, &copy[i].expected);
        r = r != 0 ? r : project_keep(project, faults[i].got, &copy[i].got);
    }
    failure->faults = copy;
    failure->n_faults = r == 0 ? n : 0;
    return r;
}

static int project_fail_values(TemplateProject *project, Span asked)
{
    CLEANUP(bytes_deinit) Bytes words = BYTES_NULL;
    const TemplateFault *faults = project->values.faults;
    Span name = faults[0].parameter.n > 0 ? faults[0].parameter : SPAN("parameters");
    TemplateFailure *failure;
    int r;

    bytes_init(&words, PROJECT_MESSAGE_BYTES + TEMPLATE_VALUES_BYTES);
    r = bytes_append_span(&words, SPAN("Parameter validation failed: "));
    /* What is said of a missing one begins with its name. */
    if (strcmp(faults[0].code, TEMPLATE_FAULT_MISSING) != 0) {
        r = r != 0 ? r : bytes_append_span(&words, name);
        r = r != 0 ? r : bytes_append_span(&words, SPAN(" - "));
    }
    r = r != 0 ? r : bytes_append_span(&words, faults[0].message);
    r = r != 0 ? r : project_fail(project, asked, bytes_span(&words), &failure);
    if (r != 0) {
        return err_fold(r);
    }
    failure->n_faults_total = project->values.n_faults_total;
    return project_keep_faults(project, faults, project->values.n_faults, failure);
}

/* The folder's name: the caller's project_name whether or not this template has such a parameter,
 * else its default. All of them were found to be safe. */
static int project_folder(const ProjectRun *run, Span *ret)
{
    JsonValue v;
    int r;

    if (!json_get(run->project->values.values, SPAN("project_name"), &v) &&
        (run->parameters.node == NULL || !json_get(run->parameters, SPAN("project_name"), &v))) {
        *ret = SPAN("project");
        return 0;
    }
    r = json_string(v, &run->project->arena, ret);
    return r != 0 ? err_fold(r) : 0;
}

static bool path_is_above(Span folder, Span path)
{
    return folder.n < path.n && path.p[folder.n] == '/' &&
           text_equals_nocase(folder, span_make(path.p, folder.n));
}

/* The file that is in the way of path; NULL if there is none. */
static const TemplateFile *project_find_path(const TemplateProject *project, Span path)
{
    for (size_t i = 0; i < project->n_files; i++) {
        Span other = project->files[i].path;

        if (text_equals_nocase(other, path) || path_is_above(other, path) ||
            path_is_above(path, other)) {
            return &project->files[i];
        }
    }
    return NULL;
}

static int project_fail_render(TemplateProject *project, Span asked, int r, const Diag *diag)
{
    char words[DIAG_MESSAGE_SIZE + 64];

    if (r < 0) {
        return err_pass(r);
    }
    if (r == TEMPLATE_E_RENDER && diag->message[0] != '\0') {
        (void)snprintf(words, sizeof(words), "Template rendering failed at line %u: %s", diag->line,
                       diag->message);
    } else {
        (void)snprintf(words, sizeof(words), "The files would be longer than %zu bytes",
                       TEMPLATE_PROJECT_BYTES);
    }
    return project_fail(project, asked, span_from_str(words), NULL);
}

/* Renders the path behind the contents, from where it is copied. 0 (then ret->p is NULL if a
 * failure was told), or a negative errno. */
static int project_path(const ProjectRun *run, const Template *t, Span asked, Span *ret)
{
    TemplateProject *project = run->project;
    const TemplateFile *other;
    size_t start = project->text.n;
    Diag diag = DIAG_NULL;
    char words[512];
    Span path;
    int r = template_render(t->path, project->values.values, run->unix_ms, &project->text, &diag);

    *ret = SPAN_NULL;
    if (r != 0) {
        return project_fail_render(project, asked, r, &diag);
    }
    path = project->text.n > start ? span_make(project->text.data + start, project->text.n - start)
                                   : SPAN("");
    project->text.n = start;
    other = project_find_path(project, path);
    if (!template_path_is_safe(path)) {
        (void)snprintf(words, sizeof(words), "Unsafe path of a file: %.*s",
                       (int)(path.n < 200 ? path.n : 200), path.p);
    } else if (other != NULL) {
        (void)snprintf(words, sizeof(words), "%.*s: another file of the project (%.*s)",
                       (int)(path.n < 200 ? path.n : 200), path.p, (int)other->template->uri_text.n,
                       other->template->uri_text.p);
    } else {
        return project_keep(project, path, ret);
    }
    return project_fail(project, asked, span_from_str(words), NULL);
}

static int project_filename(TemplateProject *project, Span folder, Span path, Span *ret)
{
    char *name = arena_alloc(&project->arena, folder.n + path.n + 2);

    if (name == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(name, folder.p, folder.n);
    name[folder.n] = '/';
    memcpy(name + folder.n + 1, path.p, path.n);
    name[folder.n + path.n + 1] = '\0';
    *ret = span_make(name, folder.n + path.n + 1);
    return 0;
}

/* Content lies behind that of the files before; where is told when all are there. */
static int project_render(const ProjectRun *run, const Template *t, Span asked, Span folder)
{
    TemplateProject *project = run->project;
    TemplateFile *file = &project->files[project->n_files];
    size_t start = project->text.n;
    Diag diag = DIAG_NULL;
    int r;

    *file = (TemplateFile){.template = t, .executable = t->executable};
    r = project_path(run, t, asked, &file->path);
    if (r != 0 || file->path.p == NULL) {
        return err_pass(r);
    }
    r = project_filename(project, folder, file->path, &file->filename);
    if (r != 0) {
        return err_pass(r);
    }
    r = template_render(t->content, project->values.values, run->unix_ms, &project->text, &diag);
    if (r != 0) {
        return project_fail_render(project, asked, r, &diag);
    }
    file->content.n = project->text.n - start;
    r = template_sha256(file->content.n > 0 ? span_make(project->text.data + start, file->content.n)
                                            : SPAN(""),
                        file->sha256);
    if (r != 0) {
        return err_pass(r);
    }
    project->n_files++;
    return 0;
}

static bool run_is_known(void *context, Span name)
{
    const ProjectRun *run = context;

    for (size_t i = 0; i < run->n_templates; i++) {
        const Template *t = run->templates[i];

        for (size_t j = 0; t != NULL && j < t->n_parameters; j++) {
            if (span_equals(t->parameters[j].name, name)) {
                return true;
            }
        }
    }
    return false;
}

/* Is the template's condition false? Its parameter without a value and a default counts as that. */
static bool project_skips(const ProjectRun *run, const Template *t)
{
    bool flag = false;
    JsonValue v;

    return run->skips && t->when.n > 0 &&
           !(json_get(run->project->values.values, t->when, &v) && json_bool(v, &flag) && flag);
}

static int project_skip(TemplateProject *project, const Template *t, Span asked)
{
    TemplateSkip *skip = &project->skipped[project->n_skipped];
    int r = project_keep(project, asked, &skip->asked);

    skip->template = t;
    project->n_skipped += r == 0;
    return r;
}

static int project_make(ProjectRun *run, const Template *t, Span asked)
{
    TemplateProject *project = run->project;
    TemplateValues *values = &project->values;
    Span folder;
    int r = template_values_check(values, t, run->parameters, run_is_known, run);

    if (r != 0) {
        return err_pass(r);
    }
    if (values->n_faults > 0) {
        return project_fail_values(project, asked);
    }
    if (project_skips(run, t)) {
        return project_skip(project, t, asked);
    }
    r = project_folder(run, &folder);
    if (r != 0) {
        return err_pass(r);
    }
    return project_render(run, t, asked, folder);
}

/* The text does not move any more. */
static void project_end(TemplateProject *project)
{
    size_t at = 0;

    for (size_t i = 0; i < project->n_files; i++) {
        project->files[i].content.p = project->text.data != NULL ? project->text.data + at : "";
        at += project->files[i].content.n;
    }
}

int template_project_one(TemplateProject *project, const Template *t, JsonValue parameters,
                         int64_t unix_ms)
{
    ProjectRun run = {.project = project,
                      .parameters = parameters,
                      .unix_ms = unix_ms,
                      .templates = &t,
                      .n_templates = 1};
    int r = project_begin(project, 1);

    if (r == 0) {
        r = project_make(&run, t, t->uri_text);
    }
    project_end(project);
    return r;
}

/* Finds all templates, since together they say which parameters there are. A failure for each name
 * that is none, or that means a template which is there already. */
static int project_resolve(ProjectRun *run, const TemplateCatalog *catalog, Span toolchain,
                           const Span *names)
{
    CLEANUP(bytes_deinit) Bytes words = BYTES_NULL;
    bool is_uri;
    int r = 0;

    bytes_init(&words, PROJECT_MESSAGE_BYTES);
    for (size_t i = 0; r == 0 && i < run->n_templates; i++) {
        const Template *t = project_find(catalog, toolchain, names[i], &is_uri);
        bool is_twice = false;

        for (size_t j = 0; t != NULL && j < i; j++) {
            is_twice = is_twice || run->templates[j] == t;
        }
        bytes_clear(&words);
        if (t == NULL) {
            r = project_write_not_found(&words, toolchain, names[i], is_uri);
        } else if (is_twice) {
            r = bytes_append_format(&words, "Template asked for twice: %s", t->uri_text.p);
        } else {
            run->templates[i] = t;
        }
        if (r == 0 && words.n > 0) {
            r = project_fail(run->project, names[i], bytes_span(&words), NULL);
        }
    }
    return r != 0 ? err_fold(r) : 0;
}

int template_project_many(TemplateProject *project, const TemplateCatalog *catalog, Span toolchain,
                          const Span *names, size_t n_names, JsonValue parameters, int64_t unix_ms)
{
    static const char too_many[] = "More than 256 templates asked for";
    size_t n = n_names < TEMPLATE_PROJECT_NAMES ? n_names : TEMPLATE_PROJECT_NAMES;
    ProjectRun run = {.project = project,
                      .parameters = parameters,
                      .unix_ms = unix_ms,
                      .n_templates = n,
                      .skips = true};
    int r = project_begin(project, n + 1);

    if (r != 0) {
        return err_pass(r);
    }
    run.templates = arena_alloc_array(&project->arena, n + 1, sizeof(const Template *));
    if (run.templates == NULL) {
        return err_raise(-ENOMEM);
    }
    r = project_resolve(&run, catalog, toolchain, names);
    for (size_t i = 0; r == 0 && i < n; i++) {
        if (run.templates[i] != NULL) {
            r = project_make(&run, run.templates[i], names[i]);
        }
    }
    if (r == 0 && n < n_names) {
        r = project_fail(project, names[n], SPAN(too_many), NULL);
    }
    project_end(project);
    return r;
}

/* The text of a template: compiled, and held against the parameters. */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "toolkit/templates/manifest_read.h"

/* A text while it is given to a template. */
typedef struct TextReader {
    const Template *t;
    Span text;
    const char *path; /* of the file */
    ManifestReport report;
} TextReader;

static void text_tell(TextReader *reader, Diag *diag, const char *path, bool is_warning)
{
    diag->code = TEMPLATE_MANIFEST_E_MALFORMED;
    if (diag->line != 0) {
        diag_prefix(diag, "%s:%u: ", path, diag->line);
    } else {
        diag_prefix(diag, "%s: ", path);
    }
    manifest_tell(&reader->report, diag, is_warning);
}

/* 0 (then *ret is NULL if the text is wrong), -ENOMEM. */
static int text_compile(TextReader *reader, Span text, bool is_output, TemplateProgram **ret)
{
    Diag diag = DIAG_NULL;
    int r = template_compile(ret, text, &diag);

    if (r < 0) {
        return err_pass(r);
    }
    if (r > 0) {
        *ret = NULL;
        if (is_output) {
            diag_prefix(&diag, "output of %s: column %u: ", reader->t->uri_text.p, diag.column);
            diag.line = 0; /* there is but one */
            diag_set_field(&diag, "output");
        }
        text_tell(reader, &diag, reader->path, false);
    }
    return 0;
}

static bool text_is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

/* Where a name is first used: as a whole word behind "{{" and before "}}". DIAG_NO_OFFSET if it
 * cannot be told. */
static size_t text_find_name(Span text, Span name)
{
    bool is_inside = false;

    for (size_t i = 0; i + name.n <= text.n; i++) {
        if (i + 2 <= text.n && memcmp(text.p + i, "{{", 2) == 0) {
            is_inside = true;
        } else if (i + 2 <= text.n && memcmp(text.p + i, "}}", 2) == 0) {
            is_inside = false;
        }
        if (is_inside && memcmp(text.p + i, name.p, name.n) == 0 &&
            (i == 0 || !text_is_word(text.p[i - 1])) &&
            (i + name.n == text.n || !text_is_word(text.p[i + name.n]))) {
            return i;
        }
    }
    return DIAG_NO_OFFSET;
}

static bool template_has_parameter(const Template *t, Span name)
{
    for (size_t i = 0; i < t->n_parameters; i++) {
        if (span_equals(t->parameters[i].name, name)) {
            return true;
        }
    }
    return false;
}

static void text_blame_variable(TextReader *reader, Span text, Span name, bool is_output)
{
    const char *names[TEMPLATE_PARAMETERS_MAX];
    size_t n = reader->t->n_parameters;
    size_t at = text_find_name(text, name);
    Diag diag = DIAG_NULL;
    const char *nearest;

    for (size_t i = 0; i < n; i++) {
        names[i] = reader->t->parameters[i].name.p;
    }
    nearest = text_nearest(name, names, n);
    (void)diag_set(&diag, TEMPLATE_MANIFEST_E_MALFORMED, "%s\"%.*s\" is no parameter%s%s%s",
                   is_output ? "output: " : "", (int)(name.n < 60 ? name.n : 60), name.p,
                   nearest != NULL ? "; did you mean \"" : "", nearest != NULL ? nearest : "",
                   nearest != NULL ? "\"?" : "");
    if (!is_output && at != DIAG_NO_OFFSET) {
        diag_set_place(&diag, text.p, text.n, at);
    }
    diag_set_field(&diag, "%.*s", (int)(name.n < 60 ? name.n : 60), name.p);
    text_tell(reader, &diag, reader->path, false);
}

static void text_check_variables(TextReader *reader, const TemplateProgram *program, Span text,
                                 bool is_output)
{
    const Span *names;
    size_t n = program != NULL ? template_variables(program, &names) : 0;

    for (size_t i = 0; i < n; i++) {
        if (!template_has_parameter(reader->t, names[i])) {
            text_blame_variable(reader, text, names[i], is_output);
        }
    }
}

static bool program_uses(const TemplateProgram *program, Span name)
{
    const Span *names;
    size_t n = template_variables(program, &names);

    for (size_t i = 0; i < n; i++) {
        if (span_equals(names[i], name)) {
            return true;
        }
    }
    return false;
}

/* project_name names the folder of the project even where no text uses it, and a condition decides
 * whether there is a file. */
static void text_warn_unused(TextReader *reader, const TemplateProgram *content,
                             const TemplateProgram *path)
{
    for (size_t i = 0; i < reader->t->n_parameters; i++) {
        Span name = reader->t->parameters[i].name;
        Diag diag = DIAG_NULL;

        if (span_equals(name, SPAN("project_name")) || span_equals(name, reader->t->when) ||
            program_uses(content, name) || program_uses(path, name)) {
            continue;
        }
        (void)diag_set(&diag, TEMPLATE_MANIFEST_E_MALFORMED, "parameter \"%s\" is never used",
                       name.p);
        diag_set_field(&diag, "%s", name.p);
        text_tell(reader, &diag, reader->path, true);
    }
}

static bool text_check_bytes(TextReader *reader)
{
    Diag diag = DIAG_NULL;
    size_t bad = 0;

    if (reader->text.n > TEMPLATE_TEXT_BYTES) {
        (void)diag_set(&diag, TEMPLATE_MANIFEST_E_MALFORMED, "longer than %zu bytes",
                       TEMPLATE_TEXT_BYTES);
    } else if (!utf8_valid(reader->text.p, reader->text.n, &bad)) {
        (void)diag_set(&diag, TEMPLATE_MANIFEST_E_MALFORMED, "not UTF-8");
        diag_set_place(&diag, reader->text.p, reader->text.n, bad);
    } else {
        return true;
    }
    text_tell(reader, &diag, reader->path, false);
    return false;
}

/* The programs are the template's only if nothing is wrong with either. */
static int text_give(TextReader *reader, Template *t)
{
    TemplateProgram *content = NULL;
    TemplateProgram *path = NULL;
    int r = 0;

    if (text_check_bytes(reader)) {
        r = text_compile(reader, reader->text, false, &content);
    }
    if (r == 0) {
        r = text_compile(reader, t->output, true, &path);
    }
    if (r == 0) {
        text_check_variables(reader, content, reader->text, false);
        text_check_variables(reader, path, t->output, true);
        if (content != NULL && path != NULL) {
            text_warn_unused(reader, content, path);
        }
    }
    if (r != 0 || reader->report.n_errors > 0) {
        (void)template_free(content);
        (void)template_free(path);
        return err_pass(r);
    }
    (void)template_free(t->content);
    (void)template_free(t->path);
    t->content = content;
    t->path = path;
    t->text = reader->text;
    return 0;
}

int template_set_text(TemplateManifest *manifest, Template *t, Span text, const char *path,
                      Diag *reterr_diag)
{
    TextReader reader = {.t = t, .text = text, .path = path, .report = {.diag = reterr_diag}};
    int r = text_give(&reader, t);

    (void)manifest;
    if (r != 0) {
        return err_pass(r);
    }
    return reader.report.n_errors > 0 ? TEMPLATE_MANIFEST_E_MALFORMED : 0;
}

int template_text_lint(TemplateManifest *manifest, Template *t, Span text, const char *path,
                       TemplateProblemFn fn, void *context)
{
    TextReader reader = {
        .t = t, .text = text, .path = path, .report = {.report = fn, .context = context}};

    (void)manifest;
    return text_give(&reader, t);
}

/* toolkit/templates/project.h: files made of templates: one, or those of a whole project.
 *
 * Nothing is written here; the owner of a file system does that (io). Thread: any, a
 * TemplateProject by one at a time.
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/span.h"
#include "toolkit/templates/catalog.h"
#include "toolkit/templates/parameters.h"
#include "toolkit/templates/sha256.h"
#include "json/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Names that one project may ask for, and bytes of all its files: a response holds 10 MiB. */
#define TEMPLATE_PROJECT_NAMES ((size_t)256)
#define TEMPLATE_PROJECT_BYTES ((size_t)8 * 1024 * 1024)

typedef struct TemplateFile {
    const Template *template;
    Span path;     /* in the project: "Makefile", ".github/workflows/ci.yml" */
    Span filename; /* PROJECT/path; PROJECT is project_name, or "project" */
    Span content;
    char sha256[TEMPLATE_SHA256_HEX + 1];
    bool executable;
} TemplateFile;

/* Why a template of a project was not made. */
typedef struct TemplateFailure {
    Span asked;   /* as the caller named it; the URI where one template was asked for */
    Span message; /* "Template not found: …", "Parameter validation failed: NAME - …", … */
    const TemplateFault *faults;
    size_t n_faults;
    size_t n_faults_total; /* with those that are not told */
} TemplateFailure;

/* A template of a project whose condition is false, so that there is no file of it. */
typedef struct TemplateSkip {
    const Template *template;
    Span asked; /* as the caller named it */
} TemplateSkip;

/* All that it points at is its own, but for the templates, and valid until the next use. */
typedef struct TemplateProject {
    Arena arena;
    Bytes text;
    TemplateValues values; /* of the template that was rendered last */
    TemplateFile *files;
    size_t n_files;
    TemplateFailure *failures;
    size_t n_failures;
    TemplateSkip *skipped;
    size_t n_skipped;
} TemplateProject;

void template_project_init(TemplateProject *project);
void template_project_deinit(TemplateProject *project);

/* One template: one file, whatever its condition, or one failure. Forgets what was there. 0,
 * -ENOMEM, -EIO (no checksum).
 */
int template_project_one(TemplateProject *project, const Template *t, JsonValue parameters,
                         int64_t unix_ms);

/* Several: names are categories ("makefile": the variant cli, else the first there is), or
 * "category/variant", or whole URIs. An unknown name, a name twice, two files of one path (letters
 * of either case; or one that is a folder of the other): a failure each, of the later one. A
 * parameter is unknown only if no asked template has it; project_name never is: it names the folder
 * also of files whose template has no such parameter. A template whose condition is false makes no
 * file, and is one of those skipped. As one. */
int template_project_many(TemplateProject *project, const TemplateCatalog *catalog, Span toolchain,
                          const Span *names, size_t n_names, JsonValue parameters, int64_t unix_ms);

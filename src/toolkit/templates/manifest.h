/* toolkit/templates/manifest.h: what a folder of templates says of them.
 *
 *     { "reserved": { "project_name": ["test"] },
 *       "templates": [
 *         { "uri": "template://makefile/rust/cli", "name": "Rust CLI Makefile",
 *           "description": "Makefile for building Rust command-line applications with cargo",
 *           "version": "1.0.0", "file": "makefile.hbs", "output": "Makefile",
 *           "mime_type": "text/x-makefile", "executable": false, "when": "has_tests",
 *           "parameters": [
 *             { "name": "project_name", "type": "string", "required": true, "description": "…",
 *               "pattern": "^[A-Za-z][A-Za-z0-9_-]*$" },
 *             { "name": "has_tests", "type": "boolean", "default": true } ] } ] }
 *
 *     needed     uri, name, file, output; of a parameter name and type
 *     type       string, boolean, integer, array (of strings), choice (one of "choices")
 *     further    default or required, description; string and array: pattern (of each element),
 *                minimum and maximum (characters, elements); array: unique (no element comes
 *                twice); integer: minimum and maximum; choice: choices
 *     when       a boolean parameter of the template: where it is false, a project goes without the
 *                file
 *
 *     reserved   words that a string parameter of that name cannot be, in any template of the
 *                manifest; case, '-' and '_' do not count, since names are turned into one another
 *
 * "output" is the name of the file in the project, with '/' between folders; it may hold {{…}} of
 * the parameters. The file's text comes from the owner, who knows where it is; "file" cannot lead
 * out of the manifest's folder. A manifest may hold templates of several toolchains, and several
 * templates may share a file. A default must itself be a value that would be accepted. A parameter
 * cannot have the name of a helper (title, default…), which would hide it. project_name is a string
 * or choice, and always a safe name (parameters.h). An unknown key is an error that names the
 * nearest known one; errors have file, line and field. Thread: any.
 */
#pragma once

#include "base/arena.h"
#include "base/diag.h"
#include "base/span.h"
#include "toolkit/templates/engine.h"
#include "toolkit/templates/uri.h"
#include "json/json.h"
#include "json/schema/schema.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TEMPLATE_MANIFEST_E_MALFORMED = 1, /* the Diag says what, with file, line and field */
};

/* A manifest, and the text of one template: 10,000 templates in one manifest take 10 MiB; the
 * longest sensible file is a tenth of this. */
#define TEMPLATE_MANIFEST_BYTES ((size_t)16 * 1024 * 1024)
#define TEMPLATE_TEXT_BYTES     ((size_t)1024 * 1024)

/* Parameters of a template, choices of a parameter; bytes of any string: far above what a person
 * fills in. */
#define TEMPLATE_PARAMETERS_MAX 128
#define TEMPLATE_CHOICES_MAX    256
#define TEMPLATE_RESERVED_MAX   1024
#define TEMPLATE_STRING_MAX     4096

/* Nobody reads more problems of one manifest. */
#define TEMPLATE_PROBLEMS_MAX 1000

typedef enum TemplateType {
    TEMPLATE_STRING,
    TEMPLATE_BOOLEAN,
    TEMPLATE_INTEGER,
    TEMPLATE_ARRAY,
    TEMPLATE_CHOICE,
    TEMPLATE_N_TYPES
} TemplateType;

/* Texts of a parameter and of a template are NUL-terminated behind their end. */
typedef struct TemplateParameter {
    Span name;
    TemplateType type;
    bool required;
    bool unique;        /* array: no element comes twice */
    Span description;   /* text; may be empty */
    JsonValue default_; /* node NULL if there is none */
    Span pattern;       /* may be empty */
    Schema *check;      /* {"pattern":…}, owned by the manifest; NULL if there is no pattern */
    bool has_minimum;
    bool has_maximum;
    int64_t minimum;
    int64_t maximum;
    JsonValue choices;  /* array of strings; node NULL if there are none */
    JsonValue reserved; /* the same */
} TemplateParameter;

typedef struct Template {
    TemplateUri uri;
    Span uri_text;
    Span name;
    Span description;
    Span version;   /* "1.0.0" if not said */
    Span file;      /* as written: relative to the manifest */
    Span output;    /* as written */
    Span mime_type; /* by the name of the output if not said */
    bool executable;
    Span when; /* name of the parameter that must be true in a project; may be empty */
    const TemplateParameter *parameters;
    size_t n_parameters;
    Span schema; /* JSON Schema (2020-12) of the parameters, one line: type object,
                    additionalProperties false */
    /* The owner's. */
    TemplateProgram *content;
    TemplateProgram *path; /* of output */
    Span text;             /* of the file */
} Template;

typedef struct TemplateManifest TemplateManifest;

/* path: for words only. Copies text. content, path and text of the templates are empty. 0, -ENOMEM,
 * TEMPLATE_MANIFEST_E_MALFORMED. Gives *ret. */
int template_manifest_parse(TemplateManifest **ret, Span text, const char *path, Diag *reterr_diag);

/* Frees content and path of its templates, too. */
TemplateManifest *template_manifest_free(TemplateManifest *manifest);

size_t template_manifest_count(const TemplateManifest *manifest);
Template *template_manifest_at(const TemplateManifest *manifest, size_t i);

/* Gives a template its text: compiles it, and its output name, and checks that every variable it
 * uses is a parameter. text is borrowed until the manifest is freed. path: of the file, for words.
 * 0, -ENOMEM, TEMPLATE_MANIFEST_E_MALFORMED. */
int template_set_text(TemplateManifest *manifest, Template *t, Span text, const char *path,
                      Diag *reterr_diag);

/* A copy of text that lives as long as the manifest, for owners that have no other place for what
 * they give to template_set_text. 0, -ENOMEM. */
int template_manifest_keep(TemplateManifest *manifest, Span text, Span *ret);

const char *template_type_name(TemplateType type);

/* For those who write templates: every problem, not only the first.
 *
 *     r = template_manifest_lint(&manifest, text, "x/manifest.json", fn, context);
 *     for each template of manifest: read its file, template_text_lint(manifest, t, …)
 *
 * A problem's Diag is the one that parse or set_text would give, and is borrowed until return. A
 * warning is what they let pass: a template or parameter without description, no templates at
 * all, a parameter that is never used. In the order of the text, but for a URI that comes twice;
 * TEMPLATE_PROBLEMS_MAX at most. */
typedef void (*TemplateProblemFn)(void *context, const Diag *problem, bool is_warning);

/* The manifest then holds the templates that have no error, maybe none. 0, -ENOMEM. Gives *ret. */
int template_manifest_lint(TemplateManifest **ret, Span text, const char *path,
                           TemplateProblemFn fn, void *context);

/* As template_set_text: a template with an error stays without text. 0, -ENOMEM. */
int template_text_lint(TemplateManifest *manifest, Template *t, Span text, const char *path,
                       TemplateProblemFn fn, void *context);

/* toolkit/templates/manifest_read.h: what the parts of the manifest's reader share. Private.
 *
 * A problem does not end the reading, since all of them are wanted: it is counted and told, and the
 * value concerned is taken as absent. Functions return 0 or -ENOMEM.
 */
#pragma once

#include "base/map.h"
#include "toolkit/templates/manifest.h"

struct TemplateManifest {
    Arena arena;
    const char *path;
    Span text;
    JsonDoc doc;
    Template *templates;
    size_t n_templates;
    Map checks;           /* pattern → Schema *: one manifest uses few patterns often */
    SchemaCheck *scratch; /* while it is read, if a default has a pattern */
};

/* Who is told of problems: the first error goes to diag, and all to report; each may be NULL. */
typedef struct ManifestReport {
    Diag *diag;
    TemplateProblemFn report;
    void *context;
    size_t n_errors;
    size_t n_told;
} ManifestReport;

void manifest_tell(ManifestReport *report, const Diag *problem, bool is_warning);

/* "templates[65535].parameters[127]" */
#define MANIFEST_PLACE_SIZE 48

typedef struct ManifestReader {
    TemplateManifest *manifest;
    ManifestReport report;
    JsonValue
        reserved; /* of the manifest: an object of arrays of words; node NULL if there is none */
    char place[MANIFEST_PLACE_SIZE]; /* of the object that is being read; "" for the whole */
} ManifestReader;

/* Tells a problem of the value at `where`, a field of the object that is being read (field NULL:
 * the object itself). */
TW_PRINTF(4, 5)
void manifest_blame(ManifestReader *reader, JsonValue where, const char *field, const char *format,
                    ...);
TW_PRINTF(4, 5)
void manifest_warn(ManifestReader *reader, JsonValue where, const char *field, const char *format,
                   ...);

/* A key that an object may have. kind: JSON_TRUE is either boolean, JSON_NULL any kind. */
typedef struct ManifestField {
    const char *name;
    JsonKind kind;
    bool is_needed;
} ManifestField;

#define MANIFEST_FIELDS_MAX 16

/* Sorts the members of an object into fields, one for each of the table; node NULL where there is
 * none, or one of the wrong kind. */
void manifest_sort(ManifestReader *reader, JsonValue object, const ManifestField *table, size_t n,
                   JsonValue *fields);

typedef enum ManifestWords {
    MANIFEST_LINE, /* no control characters */
    MANIFEST_TEXT, /* anything but NUL */
} ManifestWords;

/* The decoded string v, NUL-terminated; *ret is untouched if v is absent or was blamed. */
int manifest_string(ManifestReader *reader, JsonValue v, const char *field, ManifestWords words,
                    Span *ret);

/* Reads one parameter; in manifest_parameter.c. */
int manifest_parameter(ManifestReader *reader, JsonValue object, TemplateParameter *ret);

/* Takes the words that parameters cannot be, and, once all templates are read, blames those of a
 * parameter that none has; in manifest_reserved.c. */
void manifest_reserved(ManifestReader *reader, JsonValue object);
void manifest_reserved_check(ManifestReader *reader);

/* The type of a file by its name; text/plain if it says nothing. In mime_type.c. */
Span template_mime_type(Span output);

/* Writes the schema of a template's parameters; in manifest_schema.c. */
int manifest_schema(TemplateManifest *manifest, Template *t);

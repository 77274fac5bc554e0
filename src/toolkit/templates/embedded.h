/* toolkit/templates/embedded.h: the templates that are built in (the folder templates/). Thread:
 * any. */
#pragma once

#include "base/diag.h"
#include "base/span.h"
#include "toolkit/templates/catalog.h"

#include <stddef.h>

/* One file; path is relative to templates/: "rust/manifest.json". */
typedef struct TemplateEmbeddedFile {
    const char *path;
    const unsigned char *bytes;
    size_t n;
} TemplateEmbeddedFile;

/* Made by cmake/EmbedTemplates.cmake; a manifest stands before the files that it names, and
 * manifests in the order of toolchains. */
extern const TemplateEmbeddedFile template_embedded_files[];
extern const size_t template_embedded_n_files;

/* Adds all of them. A mistake in the files is TEMPLATE_MANIFEST_E_MALFORMED, and a defect of the
 * program. 0, -ENOMEM, TEMPLATE_MANIFEST_E_MALFORMED. */
int template_embedded_load(TemplateCatalog *catalog, Diag *reterr_diag);

/* The same from another table: for tests, and for programs that bring their own. The bytes are
 * borrowed for the catalog's life. */
int template_embedded_load_from(TemplateCatalog *catalog, const TemplateEmbeddedFile *files,
                                size_t n_files, Diag *reterr_diag);

#include "toolkit/templates/embedded.h"

#include <string.h>

#include "base/bytes.h"
#include "base/error.h"

#define MANIFEST_NAME "/manifest.json"

typedef struct EmbeddedTable {
    const TemplateEmbeddedFile *files;
    size_t n;
} EmbeddedTable;

static Span file_span(const TemplateEmbeddedFile *file)
{
    return span_make((const char *)file->bytes, file->n);
}

/* The folder of a manifest, with its slash; empty if it is none. */
static Span file_folder(const TemplateEmbeddedFile *file)
{
    Span path = span_from_str(file->path);

    if (!span_ends_with(path, SPAN(MANIFEST_NAME))) {
        return SPAN_NULL;
    }
    return span_make(path.p, path.n - (sizeof(MANIFEST_NAME) - 2));
}

static const TemplateEmbeddedFile *table_find(const EmbeddedTable *table, Span folder, Span name)
{
    for (size_t i = 0; i < table->n; i++) {
        Span path = span_from_str(table->files[i].path);

        if (path.n == folder.n + name.n && span_starts_with(path, folder) &&
            span_ends_with(path, name)) {
            return &table->files[i];
        }
    }
    return NULL;
}

static int embedded_set_texts(const EmbeddedTable *table, TemplateManifest *manifest, Span folder,
                              Diag *reterr_diag)
{
    for (size_t i = 0; i < template_manifest_count(manifest); i++) {
        Template *t = template_manifest_at(manifest, i);
        const TemplateEmbeddedFile *file = table_find(table, folder, t->file);
        int r;

        if (file == NULL) {
            return diag_set(reterr_diag, TEMPLATE_MANIFEST_E_MALFORMED, "%s of %s is not built in",
                            t->file.p, t->uri_text.p);
        }
        r = template_set_text(manifest, t, file_span(file), file->path, reterr_diag);
        if (r != 0) {
            return r;
        }
    }
    return 0;
}

static int embedded_load_manifest(const EmbeddedTable *table, const TemplateEmbeddedFile *file,
                                  TemplateCatalog *catalog, Diag *reterr_diag)
{
    TemplateManifest *manifest = NULL;
    int r = template_manifest_parse(&manifest, file_span(file), file->path, reterr_diag);

    if (r == 0) {
        r = embedded_set_texts(table, manifest, file_folder(file), reterr_diag);
    }
    if (r == 0) {
        r = template_catalog_add(catalog, manifest);
    }
    if (r != 0) {
        (void)template_manifest_free(manifest);
    }
    return r;
}

int template_embedded_load_from(TemplateCatalog *catalog, const TemplateEmbeddedFile *files,
                                size_t n_files, Diag *reterr_diag)
{
    EmbeddedTable table = {files, n_files};

    for (size_t i = 0; i < n_files; i++) {
        int r = 0;

        if (file_folder(&files[i]).n > 0) {
            r = embedded_load_manifest(&table, &files[i], catalog, reterr_diag);
        }
        if (r != 0) {
            return r < 0 ? err_pass(r) : TEMPLATE_MANIFEST_E_MALFORMED;
        }
    }
    return 0;
}

int template_embedded_load(TemplateCatalog *catalog, Diag *reterr_diag)
{
    return template_embedded_load_from(catalog, template_embedded_files, template_embedded_n_files,
                                       reterr_diag);
}

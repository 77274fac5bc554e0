/* A manifest, and behind a NUL the text of its templates: whatever the bytes are, parse and lint
 * agree, templates that are made render or say why not, and no path leaves the project. */
#include "fuzz.h"

#include <string.h>

#include "toolkit/templates/project.h"
#include "json/json.h"

typedef struct Told {
    size_t n_errors;
    Diag first;
} Told;

static void fuzz_tell(void *context, const Diag *problem, bool is_warning)
{
    Told *told = context;

    FUZZ_REQUIRE(problem->message[0] != '\0');
    if (!is_warning && told->n_errors++ == 0) {
        told->first = *problem;
    }
}

static void fuzz_template(const Template *t)
{
    Schema *schema = NULL;
    TemplateUri uri;

    FUZZ_REQUIRE(template_uri_parse(t->uri_text, &uri));
    FUZZ_REQUIRE(template_path_is_safe(t->file));
    FUZZ_REQUIRE(t->n_parameters <= TEMPLATE_PARAMETERS_MAX);
    FUZZ_REQUIRE(schema_new(&schema, t->schema, NULL, NULL) == 0);
    (void)schema_free(schema);
}

/* Values of all kinds for every name, as far as the text itself says some: its parameters' defaults
 * alone, and then a name that every template may have. */
static void fuzz_project(const TemplateCatalog *catalog, TemplateProject *project,
                         const char *given)
{
    JsonDoc doc;
    Arena arena;

    arena_init(&arena, 1 << 20);
    FUZZ_REQUIRE(json_parse(&doc, &arena, given, strlen(given), NULL, NULL) == 0);
    for (size_t i = 0; i < template_catalog_count(catalog) && i < 8; i++) {
        const Template *t = template_catalog_at(catalog, i);

        FUZZ_REQUIRE(template_project_one(project, t, json_root(&doc), 0) == 0);
        FUZZ_REQUIRE(project->n_files + project->n_failures == 1);
        if (project->n_files == 1) {
            FUZZ_REQUIRE(template_path_is_safe(project->files[0].path));
            FUZZ_REQUIRE(template_path_is_safe(project->files[0].filename) ||
                         project->files[0].filename.n > TEMPLATE_PATH_MAX);
        } else {
            FUZZ_REQUIRE(project->failures[0].message.n > 0);
        }
    }
    arena_deinit(&arena);
}

static void fuzz_use(TemplateManifest *manifest, Span text)
{
    TemplateCatalog *catalog = NULL;
    TemplateProject project;
    const TemplateHit *hits;
    size_t n_templates = template_manifest_count(manifest);
    size_t n;

    for (size_t i = 0; i < n_templates; i++) {
        Template *t = template_manifest_at(manifest, i);

        fuzz_template(t);
        FUZZ_REQUIRE(template_set_text(manifest, t, text, "text", NULL) >= 0);
    }
    FUZZ_REQUIRE(template_catalog_new(&catalog, (HashSeed){1, 2}) == 0);
    FUZZ_REQUIRE(template_catalog_add(catalog, manifest) == 0);
    FUZZ_REQUIRE(template_catalog_count(catalog) <= n_templates);
    template_project_init(&project);
    fuzz_project(catalog, &project, "{}");
    fuzz_project(catalog, &project, "{\"project_name\":\"a b\"}");
    template_project_deinit(&project);
    FUZZ_REQUIRE(template_catalog_search(catalog, text, NULL, &hits, &n) == 0);
    FUZZ_REQUIRE(n <= template_catalog_count(catalog));
    (void)template_catalog_free(catalog);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const uint8_t *nul = n > 0 ? memchr(data, 0, n) : NULL;
    size_t n_manifest = nul != NULL ? (size_t)(nul - data) : n;
    Span text = span_make((const char *)data, n_manifest);
    Span behind = nul != NULL ? span_make((const char *)nul + 1, n - n_manifest - 1) : SPAN("");
    TemplateManifest *manifest = NULL;
    Told told = {.first = DIAG_NULL};
    Diag diag = DIAG_NULL;
    int r = template_manifest_parse(&manifest, text, "manifest.json", &diag);

    FUZZ_REQUIRE(r == 0 || r == TEMPLATE_MANIFEST_E_MALFORMED);
    if (r == 0) {
        fuzz_use(manifest, behind);
    }
    FUZZ_REQUIRE(template_manifest_lint(&manifest, text, "manifest.json", fuzz_tell, &told) == 0);
    FUZZ_REQUIRE((told.n_errors > 0) == (r != 0));
    FUZZ_REQUIRE(r == 0 || strcmp(told.first.message, diag.message) == 0);
    (void)template_manifest_free(manifest);
    return 0;
}

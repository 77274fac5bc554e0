#include "toolkit/templates/manifest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "toolkit/templates/manifest_read.h"
#include "toolkit/templates/parameters.h"

/* Index, strings and schemas of the longest manifest. */
#define MANIFEST_ARENA_BYTES (TEMPLATE_MANIFEST_BYTES * 40)

/* A manifest is its owner's, who gains nothing by keys that collide. */
static const HashSeed manifest_seed = {0x746d706c6d616e69, 0x6665737473656564};

enum {
    FIELD_URI,
    FIELD_NAME,
    FIELD_DESCRIPTION,
    FIELD_VERSION,
    FIELD_FILE,
    FIELD_OUTPUT,
    FIELD_MIME_TYPE,
    FIELD_EXECUTABLE,
    FIELD_WHEN,
    FIELD_PARAMETERS,
    N_FIELDS
};

static const ManifestField template_fields[N_FIELDS] = {
    [FIELD_URI] = {"uri", JSON_STRING, true},
    [FIELD_NAME] = {"name", JSON_STRING, true},
    [FIELD_DESCRIPTION] = {"description", JSON_STRING, false},
    [FIELD_VERSION] = {"version", JSON_STRING, false},
    [FIELD_FILE] = {"file", JSON_STRING, true},
    [FIELD_OUTPUT] = {"output", JSON_STRING, true},
    [FIELD_MIME_TYPE] = {"mime_type", JSON_STRING, false},
    [FIELD_EXECUTABLE] = {"executable", JSON_TRUE, false},
    [FIELD_WHEN] = {"when", JSON_STRING, false},
    [FIELD_PARAMETERS] = {"parameters", JSON_ARRAY, false},
};

enum {
    ROOT_TEMPLATES,
    ROOT_RESERVED,
    N_ROOT_FIELDS
};

static const ManifestField root_fields[N_ROOT_FIELDS] = {
    [ROOT_TEMPLATES] = {"templates", JSON_ARRAY, true},
    [ROOT_RESERVED] = {"reserved", JSON_OBJECT, false},
};

TemplateManifest *template_manifest_free(TemplateManifest *manifest)
{
    size_t cursor = 0;
    Span pattern;
    void *check;

    if (manifest == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < manifest->n_templates; i++) {
        (void)template_free(manifest->templates[i].content);
        (void)template_free(manifest->templates[i].path);
    }
    while (map_next(&manifest->checks, &cursor, &pattern, &check)) {
        (void)schema_free(check);
    }
    map_deinit(&manifest->checks);
    (void)schema_check_free(manifest->scratch);
    arena_deinit(&manifest->arena);
    return mem_free(manifest);
}

static void manifest_freep(TemplateManifest **manifest)
{
    *manifest = template_manifest_free(*manifest);
}

/* NULL if there is no memory. */
static TemplateManifest *manifest_new(const char *path)
{
    TemplateManifest *manifest = mem_alloc_array(1, sizeof(*manifest));

    if (manifest == NULL) {
        return NULL;
    }
    arena_init(&manifest->arena, MANIFEST_ARENA_BYTES);
    map_init(&manifest->checks, manifest_seed, TEMPLATE_MANIFEST_BYTES);
    manifest->path = arena_copy(&manifest->arena, span_from_str(path)).p;
    return manifest->path != NULL ? manifest : template_manifest_free(manifest);
}

static int template_read_uri(ManifestReader *reader, JsonValue v, Template *t)
{
    int r = manifest_string(reader, v, "uri", MANIFEST_TEXT, &t->uri_text);

    if (r == 0 && t->uri_text.p != NULL && !template_uri_parse(t->uri_text, &t->uri)) {
        manifest_blame(reader, v, "uri",
                       "must be " TEMPLATE_URI_TEMPLATE
                       " with parts of small letters, digits and '-', '_', '.', '+', each of "
                       "which begins with a letter or digit");
    }
    return r;
}

/* The paths: "file" as it is, "output" if nothing is put in later. */
static void template_check_paths(ManifestReader *reader, const JsonValue *fields, const Template *t)
{
    static const char words[] = "must be a relative path that stays in its folder";
    bool is_fixed = t->output.p != NULL && strstr(t->output.p, "{{") == NULL;

    if (t->file.p != NULL && !template_path_is_safe(t->file)) {
        manifest_blame(reader, fields[FIELD_FILE], "file", words);
    }
    if (is_fixed && !template_path_is_safe(t->output)) {
        manifest_blame(reader, fields[FIELD_OUTPUT], "output", words);
    }
    if (t->name.p != NULL && t->name.n == 0) {
        manifest_blame(reader, fields[FIELD_NAME], "name", "must not be empty");
    }
}

static int template_read_words(ManifestReader *reader, JsonValue object, const JsonValue *fields,
                               Template *t)
{
    const struct {
        int field;
        ManifestWords words;
        Span *ret;
    } texts[] = {
        {FIELD_NAME, MANIFEST_LINE, &t->name},
        {FIELD_DESCRIPTION, MANIFEST_TEXT, &t->description},
        {FIELD_VERSION, MANIFEST_LINE, &t->version},
        {FIELD_FILE, MANIFEST_LINE, &t->file},
        {FIELD_OUTPUT, MANIFEST_LINE, &t->output},
        {FIELD_MIME_TYPE, MANIFEST_LINE, &t->mime_type},
        {FIELD_WHEN, MANIFEST_LINE, &t->when},
    };
    int r = template_read_uri(reader, fields[FIELD_URI], t);

    for (size_t i = 0; r == 0 && i < TW_ARRAY_SIZE(texts); i++) {
        r = manifest_string(reader, fields[texts[i].field], template_fields[texts[i].field].name,
                            texts[i].words, texts[i].ret);
    }
    if (r != 0) {
        return err_pass(r);
    }
    template_check_paths(reader, fields, t);
    if (t->mime_type.p == NULL) {
        t->mime_type = template_mime_type(t->output);
    }
    if (fields[FIELD_EXECUTABLE].node != NULL) {
        (void)json_bool(fields[FIELD_EXECUTABLE], &t->executable);
    }
    if (t->description.n == 0) {
        manifest_warn(reader, object, NULL, "has no description");
    }
    return 0;
}

static void template_check_names(ManifestReader *reader, JsonValue v, const TemplateParameter *all,
                                 size_t n)
{
    for (size_t i = 1; i < n; i++) {
        for (size_t j = 0; j < i; j++) {
            if (all[i].name.n > 0 && span_equals(all[i].name, all[j].name)) {
                manifest_blame(reader, v, "parameters", "two parameters are named \"%s\"",
                               all[i].name.p);
                break;
            }
        }
    }
}

static int template_read_parameters(ManifestReader *reader, JsonValue v, Template *t)
{
    TemplateParameter *parameters;
    char place[MANIFEST_PLACE_SIZE];
    size_t n = v.node != NULL ? json_count(v) : 0;
    int r = 0;

    if (n > TEMPLATE_PARAMETERS_MAX) {
        manifest_blame(reader, v, "parameters", "are more than %d", TEMPLATE_PARAMETERS_MAX);
        n = 0;
    }
    if (n == 0) {
        return 0;
    }
    parameters = arena_alloc_array(&reader->manifest->arena, n, sizeof(*parameters));
    if (parameters == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(place, reader->place, sizeof(place));
    for (JsonIter it = json_iter(v); r == 0 && json_iter_next(&it); t->n_parameters++) {
        (void)snprintf(reader->place, sizeof(reader->place), "%.24s.parameters[%zu]", place,
                       t->n_parameters);
        r = manifest_parameter(reader, it.value, &parameters[t->n_parameters]);
    }
    memcpy(reader->place, place, sizeof(place));
    t->parameters = parameters;
    template_check_names(reader, v, parameters, n);
    return r;
}

/* A condition is one of the template's own parameters, and true or false. */
static void template_check_when(ManifestReader *reader, JsonValue where, const Template *t)
{
    if (t->when.p == NULL) {
        return;
    }
    for (size_t i = 0; i < t->n_parameters; i++) {
        if (span_equals(t->parameters[i].name, t->when)) {
            if (t->parameters[i].type != TEMPLATE_BOOLEAN) {
                manifest_blame(reader, where, "when", "must name a parameter of type boolean");
            }
            return;
        }
    }
    manifest_blame(reader, where, "when", "\"%s\" is no parameter of the template", t->when.p);
}

/* uris: URI → where it stood first, as a 1-based index. */
static int template_check_unique(ManifestReader *reader, JsonValue where, const Template *t,
                                 size_t index, Map *uris)
{
    void *first;
    int r;

    if (t->uri.variant.p == NULL) {
        return 0; /* no URI, blamed already */
    }
    r = map_add(uris, t->uri_text, (void *)(uintptr_t)(index + 1));
    if (r == MAP_E_EXISTS) {
        first = map_get(uris, t->uri_text);
        manifest_blame(reader, where, "uri", "is the URI of templates[%zu] already",
                       (size_t)(uintptr_t)first - 1);
        return 0;
    }
    return r != 0 ? err_fold(r) : 0;
}

/* Reads a template to the end of the list, where it stays only if it is without error. */
static int manifest_read_template(ManifestReader *reader, JsonValue object, size_t index, Map *uris)
{
    TemplateManifest *manifest = reader->manifest;
    Template *t = &manifest->templates[manifest->n_templates];
    size_t n_errors = reader->report.n_errors;
    JsonValue fields[N_FIELDS];
    int r;

    *t = (Template){
        .version = SPAN("1.0.0"),
    };
    (void)snprintf(reader->place, sizeof(reader->place), "templates[%zu]", index);
    if (json_kind(object) != JSON_OBJECT) {
        manifest_blame(reader, object, NULL, "must be an object");
        return 0;
    }
    manifest_sort(reader, object, template_fields, N_FIELDS, fields);
    r = template_read_words(reader, object, fields, t);
    if (r == 0) {
        r = template_read_parameters(reader, fields[FIELD_PARAMETERS], t);
    }
    if (r == 0) {
        template_check_when(reader, fields[FIELD_WHEN], t);
        r = template_check_unique(reader, fields[FIELD_URI], t, index, uris);
    }
    if (r == 0 && reader->report.n_errors == n_errors) {
        r = manifest_schema(manifest, t);
        manifest->n_templates += r == 0;
    }
    return r;
}

static int manifest_read_templates(ManifestReader *reader, JsonValue list)
{
    TemplateManifest *manifest = reader->manifest;
    size_t index = 0;
    Map uris;
    int r = 0;

    manifest->templates =
        arena_alloc_array(&manifest->arena, json_count(list), sizeof(*manifest->templates));
    if (manifest->templates == NULL) {
        return err_raise(-ENOMEM);
    }
    if (json_count(list) == 0) {
        manifest_warn(reader, list, "templates", "holds none");
    }
    map_init(&uris, manifest_seed, TEMPLATE_MANIFEST_BYTES);
    for (JsonIter it = json_iter(list); r == 0 && json_iter_next(&it); index++) {
        r = manifest_read_template(reader, it.value, index, &uris);
    }
    map_deinit(&uris);
    return r;
}

static int manifest_read(ManifestReader *reader, Span text)
{
    TemplateManifest *manifest = reader->manifest;
    JsonLimits limits = {.max_bytes = TEMPLATE_MANIFEST_BYTES};
    JsonValue fields[N_ROOT_FIELDS];
    Diag diag = DIAG_NULL;
    JsonValue root;
    int r;

    if (text.n <= TEMPLATE_MANIFEST_BYTES) {
        manifest->text = arena_copy(&manifest->arena, text);
        if (manifest->text.p == NULL) {
            return err_raise(-ENOMEM);
        }
        text = manifest->text;
    }
    r = json_parse(&manifest->doc, &manifest->arena, text.p, text.n, &limits, &diag);
    if (r < 0) {
        return err_pass(r);
    }
    if (r > 0) {
        diag.code = TEMPLATE_MANIFEST_E_MALFORMED;
        diag_prefix(&diag, "%s:%u: ", manifest->path, diag.line != 0 ? diag.line : 1);
        manifest_tell(&reader->report, &diag, false);
        return 0;
    }
    root = json_root(&manifest->doc);
    if (json_kind(root) != JSON_OBJECT) {
        manifest_blame(reader, root, NULL, "a manifest is an object with \"templates\"");
        return 0;
    }
    manifest_sort(reader, root, root_fields, N_ROOT_FIELDS, fields);
    manifest_reserved(reader, fields[ROOT_RESERVED]);
    if (fields[ROOT_TEMPLATES].node == NULL) {
        return 0;
    }
    r = manifest_read_templates(reader, fields[ROOT_TEMPLATES]);
    if (r == 0) {
        reader->place[0] = '\0';
        manifest_reserved_check(reader);
    }
    return r;
}

static int manifest_make(TemplateManifest **ret, Span text, const char *path,
                         ManifestReport *report)
{
    CLEANUP(manifest_freep) TemplateManifest *manifest = manifest_new(path);
    ManifestReader reader = {.manifest = manifest, .report = *report};
    int r;

    if (manifest == NULL) {
        return err_raise(-ENOMEM);
    }
    r = manifest_read(&reader, text);
    manifest->scratch = schema_check_free(manifest->scratch);
    if (r != 0) {
        return err_pass(r);
    }
    *report = reader.report;
    *ret = manifest;
    manifest = NULL;
    return 0;
}

int template_manifest_parse(TemplateManifest **ret, Span text, const char *path, Diag *reterr_diag)
{
    ManifestReport report = {.diag = reterr_diag};
    TemplateManifest *manifest = NULL;
    int r = manifest_make(&manifest, text, path, &report);

    if (r != 0) {
        return err_pass(r);
    }
    if (report.n_errors > 0) {
        (void)template_manifest_free(manifest);
        return TEMPLATE_MANIFEST_E_MALFORMED;
    }
    *ret = manifest;
    return 0;
}

int template_manifest_lint(TemplateManifest **ret, Span text, const char *path,
                           TemplateProblemFn fn, void *context)
{
    ManifestReport report = {.report = fn, .context = context};

    return manifest_make(ret, text, path, &report);
}

size_t template_manifest_count(const TemplateManifest *manifest)
{
    return manifest->n_templates;
}

Template *template_manifest_at(const TemplateManifest *manifest, size_t i)
{
    return &manifest->templates[i];
}

int template_manifest_keep(TemplateManifest *manifest, Span text, Span *ret)
{
    Span copy = arena_copy(&manifest->arena, text);

    if (copy.p == NULL) {
        return err_raise(-ENOMEM);
    }
    *ret = copy;
    return 0;
}

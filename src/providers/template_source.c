#include "providers/template_source.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/random.h"
#include "io/error_text.h"
#include "io/place.h"
#include "io/tree.h"
#include "toolkit/templates/embedded.h"
#include "toolkit/templates/manifest.h"

#define SOURCE_MANIFEST  "manifest.json"
#define SOURCE_PATH_SIZE 4096

/* What is done with one folder of manifests. */
typedef struct SourceFolder {
    const char *root;
    const char *sub; /* of root, where the manifest lies; "" for root itself */
    TemplateCatalog *catalog;
    const LogSink *log;
    size_t n_manifests;
} SourceFolder;

static void source_warn(const SourceFolder *folder, const char *words)
{
    logsink_write(folder->log, LOGSINK_LEVEL_WARN, "templates", "%s", words);
}

static void source_on_problem(void *context, const Diag *problem, bool is_warning)
{
    if (!is_warning) {
        source_warn(context, problem->message);
    }
}

/* The path of a file beside the manifest, in root. False if it is too long. */
static bool source_path(const SourceFolder *folder, const char *file, char ret[SOURCE_PATH_SIZE])
{
    int n = snprintf(ret, SOURCE_PATH_SIZE, "%s%s%s", folder->sub,
                     folder->sub[0] != '\0' ? "/" : "", file);

    return n > 0 && n < SOURCE_PATH_SIZE;
}

/* For words: cut if it is too long. */
static void source_full_path(const SourceFolder *folder, const char *path,
                             char ret[SOURCE_PATH_SIZE])
{
    int n = snprintf(ret, SOURCE_PATH_SIZE, "%s/%s", folder->root, path);

    if (n < 0) {
        ret[0] = '\0';
    }
}

static void source_warn_file(const SourceFolder *folder, const char *path, int r, const Diag *diag)
{
    char full[SOURCE_PATH_SIZE];

    source_full_path(folder, path, full);
    logsink_write(folder->log, LOGSINK_LEVEL_WARN, "templates", "%s: %s", full,
                  r == BYTES_E_FULL      ? "the file is too long"
                  : r == IO_TREE_E_PLACE ? diag->message
                                         : io_error_text(-r));
}

/* Reads a file beside the manifest. 0, -ENOMEM, 1: it cannot be read, which was told. */
static int source_read(const SourceFolder *folder, const char *file, Bytes *out)
{
    char path[SOURCE_PATH_SIZE];
    Diag diag = DIAG_NULL;
    int r = source_path(folder, file, path) ? io_tree_read(folder->root, path, out, &diag)
                                            : -ENAMETOOLONG;

    if (r == 0 || r == -ENOMEM) {
        return r;
    }
    source_warn_file(folder, path, r, &diag);
    return 1;
}

/* Gives each template its text. Several may share a file: one that was just read is not again. */
static int source_read_texts(SourceFolder *folder, TemplateManifest *manifest)
{
    CLEANUP(bytes_deinit) Bytes text = BYTES_NULL;
    Span kept = SPAN_NULL;
    Span kept_file = SPAN_NULL;

    bytes_init(&text, TEMPLATE_TEXT_BYTES);
    for (size_t i = 0; i < template_manifest_count(manifest); i++) {
        Template *t = template_manifest_at(manifest, i);
        char path[SOURCE_PATH_SIZE];
        char full[SOURCE_PATH_SIZE];
        int r = 0;

        if (kept_file.p == NULL || !span_equals(kept_file, t->file)) {
            bytes_clear(&text);
            kept_file = SPAN_NULL;
            r = source_read(folder, t->file.p, &text);
            if (r > 0) {
                continue; /* without a text it does not count */
            }
            r = r != 0 ? r : template_manifest_keep(manifest, bytes_span(&text), &kept);
            kept_file = t->file;
        }
        if (r == 0 && source_path(folder, t->file.p, path)) {
            source_full_path(folder, path, full);
            r = template_text_lint(manifest, t, kept, full, source_on_problem, folder);
        }
        if (r != 0) {
            return err_pass(r);
        }
    }
    return 0;
}

/* Adds the manifest whose text was read. 0, -ENOMEM. */
static int source_add_manifest(SourceFolder *folder, Span text)
{
    TemplateManifest *manifest = NULL;
    char path[SOURCE_PATH_SIZE];
    char full[SOURCE_PATH_SIZE];
    int r;

    if (!source_path(folder, SOURCE_MANIFEST, path)) {
        return 0;
    }
    source_full_path(folder, path, full);
    folder->n_manifests++;
    r = template_manifest_lint(&manifest, text, full, source_on_problem, folder);
    r = r != 0 ? r : source_read_texts(folder, manifest);
    r = r != 0 ? r : template_catalog_add(folder->catalog, manifest);
    if (r != 0) {
        (void)template_manifest_free(manifest);
    }
    return err_pass(r);
}

/* The manifest in folder->sub, if there is one. *ret_found: there is. 0, -ENOMEM. */
static int source_try_manifest(SourceFolder *folder, bool *ret_found)
{
    CLEANUP(bytes_deinit) Bytes text = BYTES_NULL;
    char path[SOURCE_PATH_SIZE];
    Diag diag = DIAG_NULL;
    int r;

    *ret_found = false;
    if (!source_path(folder, SOURCE_MANIFEST, path)) {
        return 0;
    }
    bytes_init(&text, TEMPLATE_MANIFEST_BYTES);
    r = io_tree_read(folder->root, path, &text, &diag);
    if (r == -ENOENT || r == -ENOTDIR) {
        return 0;
    }
    *ret_found = true;
    if (r == 0) {
        return source_add_manifest(folder, bytes_span(&text));
    }
    if (r != -ENOMEM) {
        source_warn_file(folder, path, r, &diag);
        r = 0;
    }
    return r;
}

/* 0, a negative errno: root cannot be read. */
static int source_add_folder(SourceFolder *folder)
{
    char **names = NULL;
    size_t n = 0;
    bool found;
    int r = io_tree_folders(folder->root, &names, &n);

    if (r != 0) {
        return err_pass(r);
    }
    folder->sub = "";
    r = source_try_manifest(folder, &found);
    for (size_t i = 0; r == 0 && !found && i < n; i++) {
        bool found_there;

        folder->sub = names[i];
        r = source_try_manifest(folder, &found_there);
    }
    (void)io_tree_names_free(names);
    return err_pass(r);
}

static int source_add_user_folder(TemplateCatalog *catalog, const LogSink *log)
{
    char path[SOURCE_PATH_SIZE];
    SourceFolder folder = {.root = path, .catalog = catalog, .log = log};
    int r;

    if (!template_source_user_folder(path, sizeof(path)) || !io_place_exists(path)) {
        return 0;
    }
    r = source_add_folder(&folder);
    if (r != 0 && r != -ENOMEM) {
        logsink_write(log, LOGSINK_LEVEL_WARN, "templates", "%s: %s", path, io_error_text(-r));
        r = 0;
    }
    return r;
}

static int source_add_named_folder(TemplateCatalog *catalog, const char *path, const LogSink *log,
                                   Diag *reterr_diag)
{
    SourceFolder folder = {.root = path, .catalog = catalog, .log = log};
    int r = source_add_folder(&folder);

    if (r == -ENOMEM) {
        return err_pass(r);
    }
    if (r != 0) {
        return diag_set(reterr_diag, TEMPLATE_SOURCE_E_FOLDER,
                        "cannot read the folder of templates %s: %s", path, io_error_text(-r));
    }
    if (folder.n_manifests == 0) {
        logsink_write(log, LOGSINK_LEVEL_WARN, "templates",
                      "%s: there is no " SOURCE_MANIFEST " in it, nor in a folder of it", path);
    }
    return 0;
}

static int source_fill(TemplateCatalog *catalog, const char *const *folders, const LogSink *log,
                       Diag *reterr_diag)
{
    int r = template_embedded_load(catalog, reterr_diag);

    if (r > 0) {
        return err_raise(-EINVAL); /* our own files, which were tested */
    }
    r = r != 0 ? r : source_add_user_folder(catalog, log);
    for (size_t i = 0; r == 0 && folders != NULL && folders[i] != NULL; i++) {
        r = source_add_named_folder(catalog, folders[i], log, reterr_diag);
    }
    return r;
}

int template_source_load(TemplateCatalog **ret, const char *const *folders, const LogSink *log,
                         Diag *reterr_diag)
{
    TemplateCatalog *catalog = NULL;
    uint8_t random[16];
    int r = random_fill(random, sizeof(random));

    r = r != 0 ? r : template_catalog_new(&catalog, hash_seed_from(random));
    r = r != 0 ? r : source_fill(catalog, folders, log, reterr_diag);
    if (r != 0) {
        (void)template_catalog_free(catalog);
        return r < 0 ? err_pass(r) : r;
    }
    *ret = catalog;
    return 0;
}

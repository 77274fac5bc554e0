/* `toolwire template lint`: every problem of folders of templates. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/map.h"
#include "base/random.h"
#include "cli/cmd_template.h"
#include "cli/cmd_template_catalog.h"
#include "cli/cmd_template_json.h"
#include "cli/table.h"
#include "io/error_text.h"
#include "io/tree.h"
#include "toolkit/templates/catalog.h"
#include "toolkit/templates/manifest.h"
#include "json/writer.h"

enum {
    OPTION_JSON,
};

static const CliOption lint_options[] = {
    [OPTION_JSON] = TEMPLATE_OPTION_JSON_ROW,
    {NULL, NULL, NULL},
};

#define LINT_MANIFEST  "manifest.json"
#define LINT_PATH_SIZE 4096

/* Problems that are remembered, so that none is said twice: templates that share a text share what
 * is wrong with it. */
#define LINT_SAID_MAX ((size_t)1024 * 1024)

/* Of the report in JSON. */
#define LINT_REPORT_BYTES ((size_t)256 * 1024 * 1024)

typedef struct Lint {
    const CliArgs *args;
    const char *root;
    const char *sub;               /* folder in root, where the manifest lies; "" for root itself */
    char path[LINT_PATH_SIZE];     /* of the file that is looked at, from root */
    char full[2 * LINT_PATH_SIZE]; /* with root before it, for words */
    TemplateCatalog *catalog;      /* what was found good, to see what comes twice */
    Map said;                      /* messages */
    size_t n_templates;
    size_t n_errors;
    size_t n_warnings;
    Bytes out;
    JsonWriter w; /* writes the array of problems */
} Lint;

static bool lint_is_json(const Lint *lint)
{
    return lint->args->values[OPTION_JSON] != NULL;
}

/* The message without the place before it, which has members of its own. */
static Span lint_words(const Lint *lint, const Diag *problem)
{
    Span message = span_from_str(problem->message);
    char place[sizeof(lint->full) + 16];

    (void)snprintf(place, sizeof(place), "%s:%u: ", lint->full, problem->line);
    if (!span_starts_with(message, span_from_str(place))) {
        (void)snprintf(place, sizeof(place), "%s: ", lint->full);
    }
    if (span_starts_with(message, span_from_str(place))) {
        size_t n = strlen(place);

        message = span_make(message.p + n, message.n - n);
    }
    return message;
}

static void lint_write_problem(Lint *lint, const Diag *problem, bool is_warning)
{
    JsonWriter *w = &lint->w;

    json_write_object(w);
    template_json_member(w, "severity", is_warning ? SPAN("warning") : SPAN("error"));
    template_json_member(w, "file", span_from_str(lint->full));
    if (problem->line != 0) {
        json_write_key(w, SPAN("line"));
        json_write_uint(w, problem->line);
        json_write_key(w, SPAN("column"));
        json_write_uint(w, problem->column);
    }
    if (problem->field[0] != '\0') {
        template_json_member(w, "field", span_from_str(problem->field));
    }
    template_json_member(w, "message", lint_words(lint, problem));
    json_write_end_object(w);
}

static void lint_on_problem(void *context, const Diag *problem, bool is_warning)
{
    Lint *lint = context;
    bool coloured = cli_wants_colour(stdout);

    /* One that cannot be remembered is said. */
    if (map_add(&lint->said, span_from_str(problem->message), NULL) == MAP_E_EXISTS) {
        return;
    }
    if (is_warning) {
        lint->n_warnings++;
    } else {
        lint->n_errors++;
    }
    if (lint_is_json(lint)) {
        lint_write_problem(lint, problem, is_warning);
        return;
    }
    fputs(!coloured ? "" : is_warning ? "\033[33m" : "\033[31m", stdout);
    fputs(is_warning ? "warning" : "error", stdout);
    fputs(coloured ? "\033[0m: " : ": ", stdout);
    table_print_safe(stdout, span_from_str(problem->message), false);
    (void)putc('\n', stdout);
}

/* A problem of the file as a whole. */
TW_PRINTF(3, 4)
static void lint_tell(Lint *lint, bool is_warning, const char *format, ...)
{
    Diag diag = DIAG_NULL;
    char words[DIAG_MESSAGE_SIZE];
    va_list list;

    va_start(list, format);
    (void)vsnprintf(words, sizeof(words), format, list);
    va_end(list);
    (void)diag_set(&diag, TEMPLATE_MANIFEST_E_MALFORMED, "%s", words);
    diag_prefix(&diag, "%s: ", lint->full);
    lint_on_problem(lint, &diag, is_warning);
}

/* Sets the paths to a file beside the manifest. */
static void lint_set_path(Lint *lint, const char *file)
{
    size_t n = strlen(lint->root);

    (void)snprintf(lint->path, sizeof(lint->path), "%s%s%s", lint->sub,
                   lint->sub[0] != '\0' ? "/" : "", file);
    (void)snprintf(lint->full, sizeof(lint->full), "%s%s%s", lint->root,
                   n > 0 && lint->root[n - 1] == '/' ? "" : "/", lint->path);
}

/* Reads the file that the paths name. 0, -ENOMEM, 1: it cannot be read, and that is a problem. */
static int lint_read(Lint *lint, Bytes *out)
{
    Diag diag = DIAG_NULL;
    int r = io_tree_read(lint->root, lint->path, out, &diag);

    if (r == 0 || r == -ENOMEM) {
        return r;
    }
    lint_tell(lint, false, "cannot be read: %s",
              r == BYTES_E_FULL ? "it is too long"
              : r > 0           ? diag.message
                                : io_error_text(-r));
    return 1;
}

static int lint_texts(Lint *lint, TemplateManifest *manifest)
{
    CLEANUP(bytes_deinit) Bytes text = BYTES_NULL;
    int r = 0;

    bytes_init(&text, TEMPLATE_TEXT_BYTES);
    for (size_t i = 0; r >= 0 && i < template_manifest_count(manifest); i++) {
        Template *t = template_manifest_at(manifest, i);
        Span kept = SPAN_NULL;

        bytes_clear(&text);
        lint_set_path(lint, t->file.p);
        r = lint_read(lint, &text);
        r = r != 0 ? r : template_manifest_keep(manifest, bytes_span(&text), &kept);
        r = r != 0 ? r : template_text_lint(manifest, t, kept, lint->full, lint_on_problem, lint);
    }
    return r < 0 ? err_pass(r) : 0;
}

/* The later of two folders takes the place of the earlier. */
static void lint_twice(Lint *lint, const TemplateManifest *manifest)
{
    lint_set_path(lint, LINT_MANIFEST);
    for (size_t i = 0; i < template_manifest_count(manifest); i++) {
        const Template *t = template_manifest_at(manifest, i);

        if (template_catalog_find(lint->catalog, t->uri_text) != NULL) {
            lint_tell(lint, true, "%s is in an earlier folder, too, and takes its place",
                      t->uri_text.p);
        }
    }
}

/* One folder with a manifest; *ret_found: it has one. 0, -ENOMEM. */
static int lint_folder(Lint *lint, const char *sub, bool *ret_found)
{
    CLEANUP(bytes_deinit) Bytes text = BYTES_NULL;
    TemplateManifest *manifest = NULL;
    Diag diag = DIAG_NULL;
    int r;

    lint->sub = sub;
    lint_set_path(lint, LINT_MANIFEST);
    bytes_init(&text, TEMPLATE_MANIFEST_BYTES);
    r = io_tree_read(lint->root, lint->path, &text, &diag);
    *ret_found = r != -ENOENT && r != -ENOTDIR;
    if (!*ret_found) {
        return 0;
    }
    bytes_clear(&text);
    r = lint_read(lint, &text);
    if (r != 0) {
        return r < 0 ? err_pass(r) : 0;
    }
    r = template_manifest_lint(&manifest, bytes_span(&text), lint->full, lint_on_problem, lint);
    if (r == 0) {
        lint->n_templates += template_manifest_count(manifest);
        r = lint_texts(lint, manifest);
    }
    if (r == 0) {
        lint_twice(lint, manifest);
        r = template_catalog_add(lint->catalog, manifest);
    }
    if (r != 0) {
        (void)template_manifest_free(manifest);
    }
    return err_pass(r);
}

/* A folder that has a manifest, or folders that have one each. 0 or an exit status. */
static int lint_root(Lint *lint, const char *root)
{
    char **names = NULL;
    size_t n = 0;
    bool is_one = false;
    size_t n_found = 0;
    int r = io_tree_folders(root, &names, &n);

    if (r != 0) {
        return cli_usage_error(lint->args, "cannot read the folder '%s': %s", root,
                               io_error_text(-r));
    }
    lint->root = root;
    r = lint_folder(lint, "", &is_one);
    for (size_t i = 0; r == 0 && !is_one && i < n; i++) {
        bool found = false;

        r = lint_folder(lint, names[i], &found);
        n_found += found;
    }
    if (r == 0 && !is_one && n_found == 0) {
        lint->sub = "";
        lint_set_path(lint, LINT_MANIFEST);
        lint_tell(lint, false, "there is none, nor one in a folder of '%s'", root);
    }
    (void)io_tree_names_free(names);
    return r == 0 ? 0 : template_cli_no_memory(lint->args);
}

static int lint_finish(Lint *lint)
{
    if (!lint_is_json(lint)) {
        printf("%zu %s: %zu %s, %zu %s\n", lint->n_templates,
               lint->n_templates == 1 ? "template" : "templates", lint->n_errors,
               lint->n_errors == 1 ? "error" : "errors", lint->n_warnings,
               lint->n_warnings == 1 ? "warning" : "warnings");
    } else {
        json_write_end_array(&lint->w);
        json_write_key(&lint->w, SPAN("templates"));
        json_write_uint(&lint->w, lint->n_templates);
        json_write_key(&lint->w, SPAN("errors"));
        json_write_uint(&lint->w, lint->n_errors);
        json_write_key(&lint->w, SPAN("warnings"));
        json_write_uint(&lint->w, lint->n_warnings);
        json_write_end_object(&lint->w);
        if (template_json_print(lint->args, &lint->w) != 0) {
            return CLI_EXIT_FAILED;
        }
    }
    return lint->n_errors > 0 ? CLI_EXIT_FAILED : CLI_EXIT_DONE;
}

static void lint_deinit(Lint *lint)
{
    bytes_deinit(&lint->out);
    map_deinit(&lint->said);
    lint->catalog = template_catalog_free(lint->catalog);
}

static int lint_run(const CliArgs *args)
{
    CLEANUP(lint_deinit) Lint lint = {.args = args, .sub = ""};
    uint8_t random[16];
    int status = 0;

    if (args->n_operands == 0) {
        return cli_usage_error(args, "which DIR?");
    }
    if (random_fill(random, sizeof(random)) != 0 ||
        template_catalog_new(&lint.catalog, hash_seed_from(random)) != 0) {
        return template_cli_no_memory(args);
    }
    map_init(&lint.said, hash_seed_from(random), LINT_SAID_MAX);
    bytes_init(&lint.out, LINT_REPORT_BYTES);
    json_writer_init(&lint.w, &lint.out, JSON_STYLE_COMPACT);
    json_write_object(&lint.w);
    json_write_key(&lint.w, SPAN("problems"));
    json_write_array(&lint.w);
    for (size_t i = 0; status == 0 && i < args->n_operands; i++) {
        status = lint_root(&lint, args->operands[i]);
    }
    return status != 0 ? status : lint_finish(&lint);
}

const CliCommand cmd_template_lint = {
    .name = "template lint",
    .operands = "DIR...",
    .summary = "check folders of templates: their manifests, and the text of each",
    .details = "DIR has a manifest.json, or folders that have one each. Every problem is said,\n"
               "with its file, line and field; what is only a warning does no harm.\n"
               "Exit status: 0 no error, 1 errors, 2 wrong use.",
    .options = lint_options,
    .run = lint_run,
};

/* What is in the router: the tools and the URI template for good, resources and prompts as the
 * catalog has them. When the folders change, a catalog is made of them anew; only if its lists
 * differ are resources and prompts taken out and put in again, all of them, so that they keep the
 * order of the catalog and clients are told once. */
#include "providers/templates.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "io/error_text.h"
#include "io/place.h"
#include "io/tree.h"
#include "providers/template_source.h"
#include "providers/templates_impl.h"

/* A description that is put together. */
#define TEMPLATES_JSON_BYTES ((size_t)1024 * 1024)

#define TEMPLATES_TEMPLATE_JSON                                                                    \
    "{\"uriTemplate\":\"" TEMPLATE_URI_TEMPLATE "\",\"name\":\"template\","                        \
    "\"title\":\"Project template\",\"description\":\"The text of a template: its category, "      \
    "toolchain and variant\"}"

/* ---- lists of the catalog in the router ---- */

static int templates_add(Templates *templates, RouterKind kind, Span json,
                         const CallProvider *provider, Diag *reterr_diag)
{
    return router_add(
        templates->router,
        &(RouterSpec){.kind = kind,
                      .json = json,
                      .provider = provider,
                      .context = templates,
                      .completes = kind == ROUTER_TEMPLATE || kind == ROUTER_PROMPT,
                      .prefix = kind == ROUTER_TEMPLATE ? SPAN(TEMPLATE_URI_SCHEME) : SPAN_NULL},
        reterr_diag);
}

/* Adds what templates->structured describes. *ret_added: false if somebody else has the name, or
 * there are too many; that is told. 0, -ENOMEM. */
static int templates_add_listed(Templates *templates, RouterKind kind, const CallProvider *provider,
                                bool *ret_added)
{
    Diag diag = DIAG_NULL;
    int r = templates_add(templates, kind, bytes_span(&templates->structured), provider, &diag);

    *ret_added = r == 0;
    if (r > 0) {
        logsink_write(templates->log, LOGSINK_LEVEL_WARN, "templates", "left out: %.*s: %s",
                      (int)(templates->structured.n < 100 ? templates->structured.n : 100),
                      templates->structured.data,
                      r == ROUTER_E_EXISTS ? "the name is in use"
                      : r == ROUTER_E_FULL ? "there are too many"
                                           : diag.message);
        r = 0;
    }
    return err_pass(r);
}

static int templates_list_all(Templates *templates)
{
    const Span *toolchains = NULL;
    size_t n = template_catalog_count(templates->catalog);
    size_t n_toolchains = template_catalog_toolchains(templates->catalog, &toolchains);
    int r = 0;

    templates->is_listed = mem_alloc_array(n + 1, sizeof(*templates->is_listed));
    templates->has_prompt = mem_alloc_array(n_toolchains + 1, sizeof(*templates->has_prompt));
    if (templates->is_listed == NULL || templates->has_prompt == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; r == 0 && i < n; i++) {
        bytes_clear(&templates->structured);
        r = templates_describe_resource(template_catalog_at(templates->catalog, i),
                                        &templates->structured);
        r = r != 0 ? err_fold(r)
                   : templates_add_listed(templates, ROUTER_RESOURCE, &templates_resource_provider,
                                          &templates->is_listed[i]);
    }
    for (size_t i = 0; r == 0 && i < n_toolchains; i++) {
        bytes_clear(&templates->structured);
        r = templates_describe_prompt(templates->catalog, toolchains[i], &templates->structured);
        r = r != 0 ? err_fold(r)
                   : templates_add_listed(templates, ROUTER_PROMPT, &templates_prompt_provider,
                                          &templates->has_prompt[i]);
    }
    return r;
}

static void templates_unlist_prompt(Templates *templates, Span toolchain)
{
    char name[TEMPLATE_URI_PART_MAX + sizeof(TEMPLATES_PROMPT_BEGIN TEMPLATES_PROMPT_END)];
    size_t n = sizeof(TEMPLATES_PROMPT_BEGIN) - 1;

    memcpy(name, TEMPLATES_PROMPT_BEGIN, n);
    memcpy(name + n, toolchain.p, toolchain.n);
    n += toolchain.n;
    memcpy(name + n, TEMPLATES_PROMPT_END, sizeof(TEMPLATES_PROMPT_END) - 1);
    (void)router_remove(templates->router, ROUTER_PROMPT,
                        span_make(name, n + sizeof(TEMPLATES_PROMPT_END) - 1));
}

static void templates_unlist_all(Templates *templates)
{
    const Span *toolchains = NULL;
    size_t n_toolchains = template_catalog_toolchains(templates->catalog, &toolchains);

    /* From the last one on, which leaves least behind it to be moved. */
    for (size_t i = template_catalog_count(templates->catalog);
         templates->is_listed != NULL && i > 0; i--) {
        if (templates->is_listed[i - 1]) {
            (void)router_remove(templates->router, ROUTER_RESOURCE,
                                template_catalog_at(templates->catalog, i - 1)->uri_text);
        }
    }
    for (size_t i = 0; templates->has_prompt != NULL && i < n_toolchains; i++) {
        if (templates->has_prompt[i]) {
            templates_unlist_prompt(templates, toolchains[i]);
        }
    }
    templates->is_listed = mem_free(templates->is_listed);
    templates->has_prompt = mem_free(templates->has_prompt);
}

/* ---- changes ---- */

static bool is_same_parameters(const Template *a, const Template *b)
{
    /* The schema says all of them, also what prompts show. */
    return span_equals(a->schema, b->schema);
}

/* Would lists of both say the same? */
static bool catalogs_are_alike(const TemplateCatalog *a, const TemplateCatalog *b)
{
    if (template_catalog_count(a) != template_catalog_count(b)) {
        return false;
    }
    for (size_t i = 0; i < template_catalog_count(a); i++) {
        const Template *x = template_catalog_at(a, i);
        const Template *y = template_catalog_at(b, i);

        if (!span_equals(x->uri_text, y->uri_text) || !span_equals(x->name, y->name) ||
            !span_equals(x->description, y->description) ||
            !span_equals(x->mime_type, y->mime_type) || !is_same_parameters(x, y)) {
            return false;
        }
    }
    return true;
}

static void templates_forget_cards(Templates *templates)
{
    bytes_clear_keep(&templates->cards, 0);
    templates->card_ends = mem_free(templates->card_ends);
    templates->card_of = mem_free(templates->card_of);
}

/* Whoever has subscribed to a template is told that its text changed. */
static void templates_tell_updates(Templates *templates, const TemplateCatalog *before)
{
    for (size_t i = 0; i < template_catalog_count(templates->catalog); i++) {
        const Template *now = template_catalog_at(templates->catalog, i);
        const Template *then = template_catalog_find(before, now->uri_text);

        if (then != NULL && !span_equals(then->text, now->text)) {
            router_resource_updated(templates->router, now->uri_text);
        }
    }
}

/* Takes the catalog in place of the one that is there. 0, -ENOMEM: then lists may lack entries. */
static int templates_take_catalog(Templates *templates, TemplateCatalog *catalog)
{
    TemplateCatalog *before = templates->catalog;
    bool is_alike = catalogs_are_alike(before, catalog);
    int r = 0;

    templates_forget_cards(templates);
    router_batch_begin(templates->router);
    if (!is_alike) {
        templates_unlist_all(templates);
    }
    templates->catalog = catalog;
    if (!is_alike) {
        r = templates_list_all(templates);
    }
    router_batch_end(templates->router);
    templates_tell_updates(templates, before);
    (void)template_catalog_free(before);
    return r;
}

static const char *const *templates_folders(const Templates *templates)
{
    return (const char *const *)templates->folders;
}

int templates_refresh(Templates *templates)
{
    TemplateCatalog *catalog = NULL;
    Diag diag = DIAG_NULL;
    int64_t start_ms = clock_monotonic_ms();
    uint64_t state;
    int r;

    if (templates->catalog == NULL) {
        return 0;
    }
    r = templates_look(templates, &state);
    templates->look_ms = clock_monotonic_ms() - start_ms;
    if (r != 0 || state == templates->state) {
        return err_pass(r);
    }
    /* Before they are read: what changes meanwhile is seen at the next look. */
    templates->state = state;
    r = template_source_load(&catalog, templates_folders(templates), templates->log, &diag);
    if (r == 0) {
        return err_pass(templates_take_catalog(templates, catalog));
    }
    if (r > 0) {
        logsink_write(templates->log, LOGSINK_LEVEL_WARN, "templates", "%s", diag.message);
        return 0; /* what was there before stays */
    }
    return err_pass(r);
}

static void templates_on_timer(void *context)
{
    Templates *templates = context;
    int r = templates_refresh(templates);

    if (r != 0) {
        logsink_write(templates->log, LOGSINK_LEVEL_WARN, "templates", "cannot look for changes");
    }
    io_loop_update_now(templates->loop);
    io_timer_start_at(templates->timer,
                      io_loop_now_ms(templates->loop) + templates_wait_ms(templates->look_ms));
}

/* ---- the beginning and the end ---- */

static int templates_copy(char **ret, const char *text)
{
    size_t n = strlen(text) + 1;

    *ret = mem_alloc(n);
    if (*ret == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(*ret, text, n);
    return 0;
}

static int templates_copy_folders(Templates *templates, const char *const *folders)
{
    size_t n = 0;
    int r = 0;

    while (folders != NULL && folders[n] != NULL) {
        n++;
    }
    templates->folders = mem_alloc_array(n + 1, sizeof(*templates->folders));
    if (templates->folders == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; r == 0 && i < n; i++) {
        r = templates_copy(&templates->folders[i], folders[i]);
    }
    return r;
}

static int templates_take_root(Templates *templates, const char *root, Diag *reterr_diag)
{
    IoTreeLook look;
    Diag diag = DIAG_NULL;
    int r;

    if (root == NULL) {
        return 0;
    }
    r = io_place_absolute(&templates->write_root, root);
    if (r == 0) {
        /* Whether it is a folder that can be read; the name does not matter. */
        r = io_tree_look(templates->write_root, ".toolwire", SPAN(""), false, &look, &diag);
    }
    if (r == -ENOMEM) {
        return err_pass(r);
    }
    return r == 0 || r == IO_TREE_E_PLACE
               ? 0
               : diag_set(reterr_diag, TEMPLATES_E_FOLDER, "--write-root: %s", diag.message);
}

/* A tool with its annotations: only scaffold_project ever writes, and only where it may. */
static int templates_describe_tool(void *context, Span name, Bytes *out)
{
    const Templates *templates = context;
    bool writes = templates->write_root != NULL && span_equals(name, SPAN("scaffold_project"));
    size_t i = 0;
    int r;

    while (!span_equals(templates_tools[i].name, name)) {
        i++; /* it is one of them */
    }
    r = bytes_append_span(out, templates_tools[i].json);
    return r != 0 ? r
                  : bytes_append_format(out,
                                        ",\"annotations\":{\"readOnlyHint\":%s,"
                                        "\"destructiveHint\":%s,\"idempotentHint\":true,"
                                        "\"openWorldHint\":false}}",
                                        writes ? "false" : "true", writes ? "true" : "false");
}

static int templates_add_tools(Templates *templates, Diag *reterr_diag)
{
    Diag diag = DIAG_NULL;
    int r = 0;

    while (r == 0 && templates->n_tools < TEMPLATES_N_TOOLS) {
        const TemplatesTool *tool = &templates_tools[templates->n_tools];

        r = router_add(templates->router,
                       &(RouterSpec){.kind = ROUTER_TOOL,
                                     .name = tool->name,
                                     .describe = templates_describe_tool,
                                     .provider = &tool->provider,
                                     .context = templates},
                       &diag);
        templates->n_tools += r == 0;
    }
    if (r == 0) {
        r = templates_add(templates, ROUTER_TEMPLATE, SPAN(TEMPLATES_TEMPLATE_JSON),
                          &templates_resource_provider, &diag);
        templates->has_template = r == 0;
    }
    if (r == ROUTER_E_EXISTS) {
        return diag_set(reterr_diag, TEMPLATES_E_EXISTS,
                        "a tool has the name of one of the template tools (%s); --no-toolkit "
                        "leaves them out",
                        templates->n_tools < TEMPLATES_N_TOOLS
                            ? templates_tools[templates->n_tools].name.p
                            : TEMPLATE_URI_TEMPLATE);
    }
    return r == 0 ? 0 : err_fold(r);
}

/* Reads all templates, and adds resources and prompts. 0, a negative errno, TEMPLATES_E_FOLDER. */
static int templates_load(Templates *templates, Diag *reterr_diag)
{
    int r = templates_look(templates, &templates->state);

    if (r != 0) {
        return err_pass(r);
    }
    r = template_source_load(&templates->catalog, templates_folders(templates), templates->log,
                             reterr_diag);
    if (r != 0) {
        return r > 0 ? TEMPLATES_E_FOLDER : err_pass(r);
    }
    r = templates_list_all(templates);
    if (r != 0) {
        templates_unlist_all(templates);
        templates->catalog = template_catalog_free(templates->catalog);
        return r;
    }
    /* From now on there is something to look after: who never asks is not woken for it. */
    io_timer_start_at(templates->timer, io_loop_now_ms(templates->loop) + TEMPLATES_PERIOD_MS);
    return 0;
}

static void templates_on_fill(void *context)
{
    Templates *templates = context;
    Diag diag = DIAG_NULL;
    int r = templates_load(templates, &diag);

    if (r != 0) {
        logsink_write(templates->log, LOGSINK_LEVEL_ERROR, "templates",
                      "the templates cannot be read: %s",
                      diag.message[0] != '\0' ? diag.message : io_error_text(r < 0 ? -r : EIO));
        router_set_filler(templates->router, templates_on_fill, templates); /* try again */
    }
}

static int templates_fill(Templates *templates, const TemplatesConfig *config, Diag *reterr_diag)
{
    int r = templates_copy_folders(templates, config->folders);

    r = r != 0 ? r : templates_take_root(templates, config->write_root, reterr_diag);
    r = r != 0
            ? r
            : io_timer_new(&templates->timer, templates->loop, true, templates_on_timer, templates);
    if (r != 0) {
        return r;
    }
    router_batch_begin(templates->router);
    r = templates_add_tools(templates, reterr_diag);
    if (r == 0 && templates->folders[0] != NULL) {
        r = templates_load(templates, reterr_diag);
    }
    router_batch_end(templates->router);
    if (r == 0 && templates->catalog == NULL) {
        router_set_filler(templates->router, templates_on_fill, templates);
    }
    return r;
}

static void templates_init(Templates *templates, const TemplatesConfig *config)
{
    *templates = (Templates){.router = config->router, .loop = config->loop, .log = config->log};
    template_project_init(&templates->project);
    template_values_init(&templates->values);
    arena_init(&templates->arena, TEMPLATES_ANSWER_BYTES);
    bytes_init(&templates->cards, TEMPLATES_ANSWER_BYTES);
    bytes_init(&templates->structured, TEMPLATES_ANSWER_BYTES);
    bytes_init(&templates->content, TEMPLATES_ANSWER_BYTES);
    call_answer_init(&templates->answer, TEMPLATES_ANSWER_BYTES);
}

int templates_new(Templates **ret, const TemplatesConfig *config, Diag *reterr_diag)
{
    Templates *templates = mem_alloc_array(1, sizeof(*templates));
    int r;

    if (templates == NULL) {
        return err_raise(-ENOMEM);
    }
    templates_init(templates, config);
    r = templates_fill(templates, config, reterr_diag);
    if (r != 0) {
        (void)templates_free(templates);
        return r;
    }
    *ret = templates;
    return 0;
}

Templates *templates_free(Templates *templates)
{
    if (templates == NULL) {
        return NULL;
    }
    templates->timer = io_timer_free(templates->timer);
    if (templates->catalog == NULL) {
        router_set_filler(templates->router, NULL, NULL);
    }
    router_batch_begin(templates->router);
    for (size_t i = 0; i < templates->n_tools; i++) {
        (void)router_remove(templates->router, ROUTER_TOOL, templates_tools[i].name);
    }
    if (templates->has_template) {
        (void)router_remove(templates->router, ROUTER_TEMPLATE, SPAN(TEMPLATE_URI_TEMPLATE));
    }
    if (templates->catalog != NULL) {
        templates_unlist_all(templates);
    }
    router_batch_end(templates->router);
    templates->catalog = template_catalog_free(templates->catalog);
    templates_forget_cards(templates);
    for (size_t i = 0; templates->folders != NULL && templates->folders[i] != NULL; i++) {
        templates->folders[i] = mem_free(templates->folders[i]);
    }
    templates->folders = mem_free(templates->folders);
    templates->write_root = mem_free(templates->write_root);
    template_project_deinit(&templates->project);
    template_values_deinit(&templates->values);
    arena_deinit(&templates->arena);
    bytes_deinit(&templates->cards);
    bytes_deinit(&templates->structured);
    bytes_deinit(&templates->content);
    call_answer_deinit(&templates->answer);
    return mem_free(templates);
}

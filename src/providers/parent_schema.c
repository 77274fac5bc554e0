#include "providers/parent_schema.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/random.h"
#include "io/error_text.h"
#include "io/private_file.h"
#include "providers/tools_file.h"
#include "router/entry.h"

/* The index of one description while it is checked, and its schemas' strings. */
#define SCHEMA_SCRATCH_BYTES (TOOLS_FILE_MAX_BYTES * 24)

int parent_schema_init(ParentSchema *schema, Router *router, const char *path,
                       const CallProvider *provider, void *owner, const LogSink *log)
{
    uint8_t random[16];
    int r = random_fill(random, sizeof(random));

    *schema = PARENT_SCHEMA_NULL;
    if (r != 0) {
        return err_pass(r);
    }
    schema->router = router;
    schema->path = path;
    schema->provider = provider;
    schema->owner = owner;
    schema->log = log;
    map_init(&schema->tools, hash_seed_from(random), LIMIT_ROUTER_ENTRIES);
    return 0;
}

/* ---- the file ---- */

/* 0, -ENOMEM, PARENT_SCHEMA_E_UNUSABLE. On failure there is nothing to release. */
static int schema_read(const ParentSchema *schema, ToolsFile *ret, Diag *reterr_diag)
{
    CLEANUP(bytes_deinit) Bytes text = BYTES_NULL;
    int r;

    bytes_init(&text, TOOLS_FILE_MAX_BYTES);
    r = private_file_read(&text, schema->path, reterr_diag);
    if (r == 0) {
        r = tools_file_parse(ret, schema->path, &text, TOOLS_FILE_SCHEMA, reterr_diag);
    }
    if (r == -ENOMEM) {
        return err_pass(r);
    }
    if (r != 0 && reterr_diag != NULL) {
        reterr_diag->code = PARENT_SCHEMA_E_UNUSABLE; /* the words are there */
    }
    return r != 0 ? PARENT_SCHEMA_E_UNUSABLE : 0;
}

/* ---- tools in the router ---- */

static void schema_on_release(void *context)
{
    (void)mem_free(context);
}

static RouterSpec schema_spec(const ParentSchema *schema, const ToolsFileTool *from)
{
    return (RouterSpec){.kind = ROUTER_TOOL,
                        .json = from->json,
                        .provider = schema->provider,
                        .timeout_ms = from->timeout_ms,
                        .release = schema_on_release};
}

/* NULL if there is no memory. */
static ParentTool *schema_tool_new(const ParentSchema *schema, const ToolsFileTool *from)
{
    /* Both are part of a text of at most TOOLS_FILE_MAX_BYTES. */
    ParentTool *tool = mem_alloc(sizeof(*tool) + from->name.n + from->json.n);

    if (tool == NULL) {
        return NULL;
    }
    *tool = (ParentTool){.owner = schema->owner,
                         .timeout_ms = from->timeout_ms,
                         .round = schema->round,
                         .name = span_make(tool->text, from->name.n),
                         .json = span_make(tool->text + from->name.n, from->json.n)};
    memcpy(tool->text, from->name.p, from->name.n);
    memcpy(tool->text + from->name.n, from->json.p, from->json.n);
    return tool;
}

/* 0, -ENOMEM, ROUTER_E_*. */
static int schema_add(ParentSchema *schema, const ToolsFileTool *from, Diag *reterr_why)
{
    RouterSpec spec = schema_spec(schema, from);
    ParentTool *tool = schema_tool_new(schema, from);
    int r;

    if (tool == NULL) {
        return err_raise(-ENOMEM);
    }
    spec.context = tool;
    r = map_add(&schema->tools, tool->name, tool);
    if (r != 0) {
        (void)mem_free(tool);
        return r == MAP_E_FULL ? ROUTER_E_FULL : err_fold(r);
    }
    r = router_add(schema->router, &spec, reterr_why);
    if (r != 0) {
        (void)map_remove(&schema->tools, tool->name);
        (void)mem_free(tool);
    }
    return r;
}

/* Removes what the last reading of the file did not have. Returns how many. */
static size_t schema_sweep(ParentSchema *schema)
{
    size_t n_removed = 0;
    size_t cursor = 0;
    void *value;
    Span key;

    while (map_next(&schema->tools, &cursor, &key, &value)) {
        const ParentTool *tool = value;

        if (tool->round != schema->round) {
            (void)map_remove(&schema->tools, tool->name);
            /* The tool goes with its entry, now or with the last call that uses it. */
            (void)router_remove(schema->router, ROUTER_TOOL, tool->name);
            n_removed++;
        }
    }
    return n_removed;
}

int parent_schema_load(ParentSchema *schema, Diag *reterr_diag)
{
    CLEANUP(tools_file_deinit) ToolsFile file = TOOLS_FILE_NULL;
    int r = schema_read(schema, &file, reterr_diag);

    if (r != 0) {
        return r;
    }
    schema->round++;
    router_batch_begin(schema->router);
    for (size_t i = 0; r == 0 && i < file.n_tools; i++) {
        Diag why = DIAG_NULL;

        r = schema_add(schema, &file.tools[i], &why);
        if (r > 0) {
            (void)tools_file_blame_entry(&file, i, r, &why, reterr_diag);
        }
    }
    if (r != 0) {
        schema->round++;
        (void)schema_sweep(schema);
    }
    router_batch_end(schema->router);
    return r > 0 ? PARENT_SCHEMA_E_UNUSABLE : err_pass(r);
}

/* ---- changes ---- */

/* The tool as it is in the router, if the file says the same of it. */
static ParentTool *schema_find_same(const ParentSchema *schema, const ToolsFileTool *from)
{
    ParentTool *tool = map_get(&schema->tools, from->name);

    return tool != NULL && tool->timeout_ms == from->timeout_ms &&
                   span_equals(tool->json, from->json)
               ? tool
               : NULL;
}

/* Would the router take every tool that is new? Asked before the first change, so that a file with
 * one mistake changes nothing. 0, -ENOMEM, PARENT_SCHEMA_E_UNUSABLE. */
static int schema_check(const ParentSchema *schema, const ToolsFile *file, Diag *reterr_diag)
{
    CLEANUP(arena_deinit) Arena scratch = ARENA_NULL;

    arena_init(&scratch, SCHEMA_SCRATCH_BYTES);
    for (size_t i = 0; i < file->n_tools; i++) {
        RouterSpec spec = schema_spec(schema, &file->tools[i]);
        RouterEntry *entry = NULL;
        Diag why = DIAG_NULL;
        int r;

        if (schema_find_same(schema, &file->tools[i]) != NULL) {
            continue;
        }
        r = router_entry_new(&entry, &spec, &scratch, &why);
        if (r > 0) {
            (void)tools_file_blame_entry(file, i, r, &why, reterr_diag);
            return PARENT_SCHEMA_E_UNUSABLE;
        }
        if (r < 0) {
            return err_pass(r);
        }
        (void)router_entry_free(entry);
        arena_reset(&scratch, LIMIT_KEEP_BYTES);
    }
    return 0;
}

/* Adds what came; returns how many. What cannot be added is left out until the file changes again.
 */
static size_t schema_add_new(ParentSchema *schema, const ToolsFile *file)
{
    size_t n_added = 0;

    for (size_t i = 0; i < file->n_tools; i++) {
        Diag why = DIAG_NULL;
        Diag words = DIAG_NULL;
        int r;

        if (map_find(&schema->tools, file->tools[i].name, NULL)) {
            continue;
        }
        r = schema_add(schema, &file->tools[i], &why);
        if (r > 0) {
            (void)tools_file_blame_entry(file, i, r, &why, &words);
        } else if (r < 0) {
            (void)diag_set(&words, r, "%s: %s: %s", schema->path, file->tools[i].name.p,
                           io_error_text(-r));
        } else {
            n_added++;
            continue;
        }
        logsink_write(schema->log, LOGSINK_LEVEL_WARN, "parent", "%s; it is left out",
                      words.message);
    }
    return n_added;
}

void parent_schema_reload(ParentSchema *schema)
{
    CLEANUP(tools_file_deinit) ToolsFile file = TOOLS_FILE_NULL;
    Diag diag = DIAG_NULL;
    size_t n_removed;
    size_t n_added;
    int r = schema_read(schema, &file, &diag);

    if (r == 0) {
        r = schema_check(schema, &file, &diag);
    }
    if (r != 0) {
        logsink_write(schema->log, LOGSINK_LEVEL_WARN, "parent",
                      "%s; the tools stay as they were (%zu)",
                      r < 0 ? io_error_text(-r) : diag.message, schema->tools.n);
        return;
    }
    schema->round++;
    for (size_t i = 0; i < file.n_tools; i++) {
        ParentTool *tool = schema_find_same(schema, &file.tools[i]);

        if (tool != NULL) {
            tool->round = schema->round;
        }
    }
    router_batch_begin(schema->router);
    n_removed = schema_sweep(schema);
    n_added = schema_add_new(schema, &file);
    router_batch_end(schema->router);
    if (n_removed > 0 || n_added > 0) {
        logsink_write(schema->log, LOGSINK_LEVEL_INFO, "parent",
                      "%s: %zu tools removed, %zu added, %zu now", schema->path, n_removed, n_added,
                      schema->tools.n);
    }
}

void parent_schema_deinit(ParentSchema *schema)
{
    if (schema->router != NULL) {
        schema->round++;
        router_batch_begin(schema->router);
        (void)schema_sweep(schema);
        router_batch_end(schema->router);
    }
    map_deinit(&schema->tools);
    *schema = PARENT_SCHEMA_NULL;
}

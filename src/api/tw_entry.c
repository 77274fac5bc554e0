/* Tools, resources, templates and prompts: from the caller's structures to the router. */
#include <stdio.h>
#include <string.h>
#include <toolwire/error.h>

#include "api/tw_server.h"
#include "base/alloc.h"
#include "base/limits.h"
#include "json/writer.h"

/* ---- entries ---- */

TwEntry *api_entry_ref(TwEntry *entry)
{
    atomic_fetch_add(&entry->n_refs, 1);
    return entry;
}

static void entry_free(TwEntry *entry)
{
    if (entry != NULL) {
        (void)mem_free(entry->variables);
        (void)mem_free(entry->mime_type);
        (void)mem_free(entry);
    }
}

void api_entry_unref(TwEntry *entry)
{
    if (atomic_fetch_sub(&entry->n_refs, 1) == 1) {
        if (entry->release != NULL) {
            entry->release(entry->user);
        }
        entry_free(entry);
    }
}

static void entry_release(void *context)
{
    api_entry_unref(context);
}

static bool entry_is_operator(char c)
{
    return c != '\0' && strchr("+#./;?&=,!@|", c) != NULL;
}

/* The names of an RFC 6570 template, one behind the other: "{+path}{?a,b*}" → path, a, b. */
static bool entry_copy_variables(TwEntry *entry, const char *uri_template)
{
    const char *p = uri_template;
    char *out;

    if (p == NULL) {
        return true;
    }
    /* Never longer than the template: each name stands between two bytes that are no part of it. */
    out = mem_alloc_array(1, strlen(p) + 2);
    entry->variables = out;
    if (out == NULL) {
        return false;
    }
    while ((p = strchr(p, '{')) != NULL) {
        p++;
        p += entry_is_operator(*p) ? 1 : 0;
        while (*p != '\0' && *p != '}') {
            size_t n = strcspn(p, ",}*:");

            if (n > 0) {
                memcpy(out, p, n);
                out += n + 1; /* the NUL is there already */
            }
            p += n;
            p += strcspn(p, ",}");
            p += *p == ',' ? 1 : 0;
        }
    }
    return true;
}

/* ---- descriptions ---- */

/* The description of one entry while it is written. */
typedef struct Description {
    JsonWriter w;
    Bytes out;
    Arena arena; /* index of the JSON in it */
    Diag *diag;
    int r; /* TW_ERROR_*, the first */
} Description;

static void description_begin(Description *d, Diag *diag)
{
    *d = (Description){.diag = diag};
    bytes_init(&d->out, LIMIT_MCP_RESPONSE_BYTES);
    arena_init(&d->arena, SIZE_MAX);
    json_writer_init(&d->w, &d->out, JSON_STYLE_COMPACT);
    json_write_object(&d->w);
}

static void description_deinit(Description *d)
{
    bytes_deinit(&d->out);
    arena_deinit(&d->arena);
}

static int description_end(Description *d)
{
    int r;

    json_write_end_object(&d->w);
    r = json_writer_finish(&d->w);
    if (d->r == 0 && r != 0) {
        d->r = r == BYTES_E_FULL ? TW_ERROR_FULL : api_error_of(r);
    }
    return d->r;
}

static void description_text(Description *d, Span key, const char *text)
{
    if (text != NULL) {
        json_write_key(&d->w, key);
        json_write_string(&d->w, span_from_str(text));
    }
}

static void description_json(Description *d, const char *key, ApiJsonKind kind, const char *json)
{
    JsonValue v;

    if (json == NULL || d->r != 0) {
        return;
    }
    d->r = api_json_check(json, kind, key, &d->arena, &v, d->diag);
    if (d->r == 0) {
        json_write_key(&d->w, span_from_str(key));
        json_write_value(&d->w, v);
    }
}

static void description_hint(Description *d, Span key, bool yes, bool no)
{
    if (yes || no) {
        json_write_key(&d->w, key);
        json_write_bool(&d->w, yes);
    }
}

static void description_annotations(Description *d, unsigned flags)
{
    if (flags == 0) {
        return;
    }
    json_write_key(&d->w, SPAN("annotations"));
    json_write_object(&d->w);
    description_hint(d, SPAN("readOnlyHint"), (flags & TW_TOOL_READ_ONLY) != 0, false);
    description_hint(d, SPAN("destructiveHint"), (flags & TW_TOOL_DESTRUCTIVE) != 0,
                     (flags & TW_TOOL_NOT_DESTRUCTIVE) != 0);
    description_hint(d, SPAN("idempotentHint"), (flags & TW_TOOL_IDEMPOTENT) != 0, false);
    description_hint(d, SPAN("openWorldHint"), (flags & TW_TOOL_OPEN_WORLD) != 0,
                     (flags & TW_TOOL_CLOSED_WORLD) != 0);
    json_write_end_object(&d->w);
}

static void description_arguments(Description *d, const TwPromptArgument *arguments)
{
    if (arguments == NULL) {
        return;
    }
    json_write_key(&d->w, SPAN("arguments"));
    json_write_array(&d->w);
    for (; arguments->name != NULL; arguments++) {
        json_write_object(&d->w);
        description_text(d, SPAN("name"), arguments->name);
        description_text(d, SPAN("title"), arguments->title);
        description_text(d, SPAN("description"), arguments->description);
        json_write_key(&d->w, SPAN("required"));
        json_write_bool(&d->w, arguments->required);
        json_write_end_object(&d->w);
    }
    json_write_end_array(&d->w);
}

static void describe_tool(Description *d, const void *from)
{
    const TwTool *tool = from;

    description_text(d, SPAN("name"), tool->name);
    description_text(d, SPAN("title"), tool->title);
    description_text(d, SPAN("description"), tool->description);
    description_json(d, "icons", API_JSON_ARRAY, tool->icons);
    description_json(d, "inputSchema", API_JSON_OBJECT,
                     tool->input_schema != NULL ? tool->input_schema : "{\"type\":\"object\"}");
    description_json(d, "outputSchema", API_JSON_OBJECT, tool->output_schema);
    description_annotations(d, tool->annotations);
    if (tool->task != TW_TASK_NEVER) {
        json_write_key(&d->w, SPAN("execution"));
        json_write_object(&d->w);
        description_text(d, SPAN("taskSupport"),
                         tool->task == TW_TASK_MAY ? "optional" : "required");
        json_write_end_object(&d->w);
    }
    description_json(d, "_meta", API_JSON_OBJECT, tool->meta);
}

static void describe_resource(Description *d, const void *from)
{
    const TwResource *resource = from;

    description_text(d, SPAN("uri"), resource->uri);
    description_text(d, SPAN("name"), resource->name);
    description_text(d, SPAN("title"), resource->title);
    description_text(d, SPAN("description"), resource->description);
    description_text(d, SPAN("mimeType"), resource->mime_type);
    if (resource->size > 0) {
        json_write_key(&d->w, SPAN("size"));
        json_write_int(&d->w, resource->size);
    }
    description_json(d, "icons", API_JSON_ARRAY, resource->icons);
    description_json(d, "_meta", API_JSON_OBJECT, resource->meta);
}

static void describe_template(Description *d, const void *from)
{
    const TwResourceTemplate *resource = from;

    description_text(d, SPAN("uriTemplate"), resource->uri_template);
    description_text(d, SPAN("name"), resource->name);
    description_text(d, SPAN("title"), resource->title);
    description_text(d, SPAN("description"), resource->description);
    description_text(d, SPAN("mimeType"), resource->mime_type);
    description_json(d, "icons", API_JSON_ARRAY, resource->icons);
    description_json(d, "_meta", API_JSON_OBJECT, resource->meta);
}

static void describe_prompt(Description *d, const void *from)
{
    const TwPrompt *prompt = from;

    description_text(d, SPAN("name"), prompt->name);
    description_text(d, SPAN("title"), prompt->title);
    description_text(d, SPAN("description"), prompt->description);
    description_arguments(d, prompt->arguments);
    description_json(d, "icons", API_JSON_ARRAY, prompt->icons);
    description_json(d, "_meta", API_JSON_OBJECT, prompt->meta);
}

/* ---- adding ---- */

/* What all four kinds have in common. */
typedef struct Addition {
    RouterKind kind;
    void (*describe)(Description *d, const void *from);
    const void *from;
    const char *key;          /* name, URI or template */
    const char *name;         /* must be there too */
    const char *mime_type;    /* may be NULL */
    const char *uri_template; /* may be NULL */
    TwHandler handler;
    TwHandler complete;
    void *user;
    void (*release)(void *user);
    int64_t timeout_ms;
    TwTask task;
    TwCommand command;
} Addition;

static RouterLater addition_later(TwTask task)
{
    static const RouterLater laters[] = {
        [TW_TASK_NEVER] = ROUTER_LATER_NEVER,
        [TW_TASK_MAY] = ROUTER_LATER_MAY,
        [TW_TASK_ALWAYS] = ROUTER_LATER_ALWAYS,
        [TW_TASK_ASKED] = ROUTER_LATER_ASKED,
    };

    return laters[task];
}

static int addition_to_router(TwServer *server, const Addition *addition, TwEntry *entry, Span json,
                              Diag *reterr_diag)
{
    int r = addition->task == TW_TASK_NEVER ? 0 : api_server_open_jobs(server, reterr_diag);

    if (r != 0) {
        return r;
    }
    r = router_add(hub_router(server->hub),
                   &(RouterSpec){.kind = addition->kind,
                                 .json = json,
                                 .provider = &api_call_provider,
                                 .context = entry,
                                 .timeout_ms = addition->timeout_ms,
                                 .later = addition_later(addition->task),
                                 .is_command = addition->command != TW_COMMAND_NEVER,
                                 .can_undo = addition->command == TW_COMMAND_CAN_UNDO,
                                 .completes = addition->complete != NULL,
                                 .release = entry_release},
                   reterr_diag);

    switch (r) {
    case ROUTER_E_EXISTS:
        return diag_set(reterr_diag, TW_ERROR_EXISTS, "'%s' is there already", addition->key);
    case ROUTER_E_FULL:
        return diag_set(reterr_diag, TW_ERROR_FULL, "there is no room for '%s'", addition->key);
    case ROUTER_E_MALFORMED:
        /* The JSON was ours, but for a tool's schemas. */
        return addition->kind == ROUTER_TOOL ? TW_ERROR_JSON : TW_ERROR_ARGUMENT;
    default:
        return api_error_of(r);
    }
}

static int addition_do(TwServer *server, void *argument, Diag *reterr_diag)
{
    const Addition *addition = argument;
    CLEANUP(description_deinit) Description d;
    TwEntry *entry = mem_alloc_array(1, sizeof(*entry));
    int r = TW_ERROR_MEMORY;

    description_begin(&d, reterr_diag);
    if (entry == NULL || !api_copy_to(&entry->mime_type, addition->mime_type) ||
        !entry_copy_variables(entry, addition->uri_template)) {
        goto out;
    }
    entry->server = server;
    entry->handler = addition->handler;
    entry->complete = addition->complete;
    entry->user = addition->user;
    entry->release = addition->release;
    entry->is_command = addition->command != TW_COMMAND_NEVER;
    atomic_init(&entry->n_refs, 1);
    addition->describe(&d, addition->from);
    r = description_end(&d);
    if (r == 0) {
        r = addition_to_router(server, addition, entry, bytes_span(&d.out), reterr_diag);
    }
out:
    if (r != 0) {
        entry_free(entry);
    }
    return r;
}

static int server_add(TwServer *server, Addition *addition)
{
    if (server == NULL) {
        return TW_ERROR_ARGUMENT;
    }
    if (addition->key == NULL || addition->name == NULL || addition->handler == NULL) {
        return api_server_fail(server, TW_ERROR_ARGUMENT, "a name, a URI or a handler is missing");
    }
    if ((unsigned)addition->task > TW_TASK_ASKED) {
        return api_server_fail(server, TW_ERROR_ARGUMENT, "there is no such sort of task");
    }
    if ((unsigned)addition->command > TW_COMMAND_CAN_UNDO) {
        return api_server_fail(server, TW_ERROR_ARGUMENT, "there is no such sort of command");
    }
    if (addition->timeout_ms < 0) {
        return api_server_fail(server, TW_ERROR_ARGUMENT, "a time is negative");
    }
    addition->timeout_ms = api_time(addition->timeout_ms);
    return api_server_do(server, addition_do, addition);
}

int tw_server_add_tool(TwServer *server, const TwTool *tool)
{
    if (tool == NULL) {
        return TW_ERROR_ARGUMENT;
    }
    return server_add(server, &(Addition){.kind = ROUTER_TOOL,
                                          .describe = describe_tool,
                                          .from = tool,
                                          .key = tool->name,
                                          .name = tool->name,
                                          .handler = tool->handler,
                                          .user = tool->user,
                                          .release = tool->release,
                                          .timeout_ms = tool->timeout_ms,
                                          .task = tool->task,
                                          .command = tool->command});
}

int tw_server_add_resource(TwServer *server, const TwResource *resource)
{
    if (resource == NULL) {
        return TW_ERROR_ARGUMENT;
    }
    return server_add(server, &(Addition){.kind = ROUTER_RESOURCE,
                                          .describe = describe_resource,
                                          .from = resource,
                                          .key = resource->uri,
                                          .name = resource->name,
                                          .mime_type = resource->mime_type,
                                          .handler = resource->handler,
                                          .user = resource->user,
                                          .release = resource->release,
                                          .timeout_ms = resource->timeout_ms});
}

int tw_server_add_template(TwServer *server, const TwResourceTemplate *resource_template)
{
    if (resource_template == NULL) {
        return TW_ERROR_ARGUMENT;
    }
    return server_add(server, &(Addition){.kind = ROUTER_TEMPLATE,
                                          .describe = describe_template,
                                          .from = resource_template,
                                          .key = resource_template->uri_template,
                                          .name = resource_template->name,
                                          .mime_type = resource_template->mime_type,
                                          .uri_template = resource_template->uri_template,
                                          .handler = resource_template->handler,
                                          .complete = resource_template->complete,
                                          .user = resource_template->user,
                                          .release = resource_template->release,
                                          .timeout_ms = resource_template->timeout_ms});
}

int tw_server_add_prompt(TwServer *server, const TwPrompt *prompt)
{
    if (prompt == NULL) {
        return TW_ERROR_ARGUMENT;
    }
    return server_add(server, &(Addition){.kind = ROUTER_PROMPT,
                                          .describe = describe_prompt,
                                          .from = prompt,
                                          .key = prompt->name,
                                          .name = prompt->name,
                                          .handler = prompt->handler,
                                          .complete = prompt->complete,
                                          .user = prompt->user,
                                          .release = prompt->release,
                                          .timeout_ms = prompt->timeout_ms});
}

/* ---- removing, changing ---- */

typedef struct Removal {
    RouterKind kind;
    const char *key;
} Removal;

static int removal_do(TwServer *server, void *argument, Diag *reterr_diag)
{
    const Removal *removal = argument;
    int r = router_remove(hub_router(server->hub), removal->kind, span_from_str(removal->key));

    if (r == ROUTER_E_MISSING) {
        return diag_set(reterr_diag, TW_ERROR_MISSING, "there is no '%s'", removal->key);
    }
    return api_error_of(r);
}

static int server_remove(TwServer *server, RouterKind kind, const char *key)
{
    if (server == NULL || key == NULL) {
        return TW_ERROR_ARGUMENT;
    }
    return api_server_do(server, removal_do, &(Removal){.kind = kind, .key = key});
}

int tw_server_remove_tool(TwServer *server, const char *name)
{
    return server_remove(server, ROUTER_TOOL, name);
}

int tw_server_remove_resource(TwServer *server, const char *uri)
{
    return server_remove(server, ROUTER_RESOURCE, uri);
}

int tw_server_remove_template(TwServer *server, const char *uri_template)
{
    return server_remove(server, ROUTER_TEMPLATE, uri_template);
}

int tw_server_remove_prompt(TwServer *server, const char *name)
{
    return server_remove(server, ROUTER_PROMPT, name);
}

static int updated_do(TwServer *server, void *argument, Diag *reterr_diag)
{
    const char *const *uri = argument;

    (void)reterr_diag;
    router_resource_updated(hub_router(server->hub), span_from_str(*uri));
    return 0;
}

int tw_server_resource_updated(TwServer *server, const char *uri)
{
    if (server == NULL || uri == NULL) {
        return TW_ERROR_ARGUMENT;
    }
    return api_server_do(server, updated_do, &uri);
}

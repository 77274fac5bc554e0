/* Where a call goes: admitted by the quota, found, checked, and then started (life.c), or answered
 * here. */
#include "router/router.h"

#include <assert.h>

#include "base/error.h"
#include "base/limits.h"
#include "router/command.h"
#include "router/cursor.h"
#include "router/router_impl.h"
#include "json/writer.h"

/* Now, as a task, or not at all: what the asker takes and what the tool wants. */
static void router_start_when(Router *router, Call *call, RouterEntry *entry)
{
    RouterLater later = entry->kind == ROUTER_TOOL ? entry->later : ROUTER_LATER_NEVER;

    if (call->later == CALL_LATER_IS_TASK) {
        router_start(router, call, entry);
    } else if (call->later == CALL_LATER_ALWAYS &&
               (later == ROUTER_LATER_NEVER || router->later == NULL)) {
        router_end_error(call, CALL_ERROR_NEVER_LATER);
    } else if (later == ROUTER_LATER_NEVER) {
        router_start(router, call, entry);
    } else if (call->later != CALL_LATER_NEVER && router->later != NULL) {
        if (later == ROUTER_LATER_ASKED && call->inputs.node == NULL) {
            router_start(router, call, entry);
        } else {
            router_start_later(router, call, entry);
        }
    } else if (later != ROUTER_LATER_MAY) {
        router_end_error(call,
                         router->later == NULL ? CALL_ERROR_UNAVAILABLE : CALL_ERROR_NEEDS_LATER);
    } else {
        router_start(router, call, entry);
    }
}

/* Starts what was found, if a check of its arguments (r, faults) lets it. */
static void router_start_checked(Router *router, Call *call, RouterEntry *entry, int r)
{
    if (r == 0) {
        router_start_when(router, call, entry);
    } else if (r == FAULTS_E_FOUND) {
        CallResult bad = router_faults_result(&router->faults, CALL_ERROR_INVALID_ARGUMENTS);

        router_end_worded(call, entry->provider, entry->context, &bad);
    } else {
        router_end_error(call, CALL_ERROR_INTERNAL);
    }
}

/* Agents call the same tool again and again: comparing its name costs less than hashing it. */
static RouterEntry *router_find_tool(Router *router, Span name)
{
    RouterEntry *entry = router->recent_tool;

    if (entry == NULL || !span_equals(router_entry_key(entry), name)) {
        entry = map_get(&router->tables[ROUTER_TOOL].by_key, name);
        router->recent_tool = entry;
    }
    return entry;
}

static void router_dispatch_tool(Router *router, Call *call)
{
    RouterEntry *entry = router_find_tool(router, call->target);

    if (entry == NULL) {
        router_end_naming(router, call, CALL_ERROR_UNKNOWN_TOOL, call->target);
        return;
    }
    if (entry->is_relayed) {
        router_start_when(router, call, entry);
        return;
    }
    if (entry->input == NULL) {
        int r = router_entry_prepare(entry, &router->scratch);

        arena_reset(&router->scratch, 0);
        if (r != 0) {
            router_end_error(call, CALL_ERROR_INTERNAL);
            return;
        }
    }
    if (call->meta.node != NULL && entry->is_command &&
        router_command_join(call, call->meta) != 0) {
        router_end_error(call, CALL_ERROR_INTERNAL);
        return;
    }
    router_start_checked(router, call, entry,
                         router_faults_tool(&router->faults, entry->input,
                                            router_entry_description(entry), call->arguments));
}

static void router_dispatch_prompt(Router *router, Call *call)
{
    RouterEntry *entry = map_get(&router->tables[ROUTER_PROMPT].by_key, call->target);

    if (entry == NULL) {
        router_end_naming(router, call, CALL_ERROR_UNKNOWN_PROMPT, call->target);
        return;
    }
    if (entry->is_relayed) {
        router_start(router, call, entry);
        return;
    }
    router_start_checked(router, call, entry,
                         router_faults_prompt(&router->faults, entry->arguments, call->arguments));
}

/* The first template that has the call's target among its URIs, with the values in the call; NULL
 * if there is none. 0, -ENOMEM. */
static int router_find_template(Router *router, Call *call, RouterEntry **ret)
{
    const RouterTable *table = &router->tables[ROUTER_TEMPLATE];
    size_t steps = URITEMPLATE_STEPS;

    *ret = NULL;
    for (size_t i = 0; i < table->n; i++) {
        int r = uritemplate_match(table->entries[i]->template, call->target, &steps,
                                  &call->kept_arena, &call->variables, &call->n_variables);

        if (r == 0) {
            *ret = table->entries[i];
            return 0;
        }
        if (r != URITEMPLATE_E_MISMATCH) {
            return err_fold(r);
        }
    }
    return 0;
}

/* A resource, or else a template that covers it. */
static int router_find_resource(Router *router, Call *call, RouterEntry **ret)
{
    *ret = map_get(&router->tables[ROUTER_RESOURCE].by_key, call->target);
    return *ret != NULL ? 0 : router_find_template(router, call, ret);
}

/* Who answers for a URI that nothing has; NULL if nobody does. */
static RouterEntry *router_find_prefix(Router *router, Span uri)
{
    const RouterTable *table = &router->tables[ROUTER_TEMPLATE];

    for (size_t i = 0; i < table->n; i++) {
        Span prefix = table->entries[i]->prefix;

        if (prefix.n > 0 && span_starts_with(uri, prefix)) {
            return table->entries[i];
        }
    }
    return NULL;
}

static void router_dispatch_read(Router *router, Call *call)
{
    RouterEntry *entry;

    if (router_find_resource(router, call, &entry) != 0) {
        router_end_error(call, CALL_ERROR_INTERNAL);
        return;
    }
    if (entry == NULL) {
        entry = router_find_prefix(router, call->target);
    }
    if (entry == NULL) {
        router_end_naming(router, call, CALL_ERROR_UNKNOWN_RESOURCE, call->target);
    } else {
        router_start(router, call, entry);
    }
}

static void router_dispatch_subscribe(Router *router, Call *call)
{
    CallResult done = CALL_RESULT_NULL;
    RouterEntry *entry;

    if (router_find_resource(router, call, &entry) != 0) {
        router_end_error(call, CALL_ERROR_INTERNAL);
    } else if (entry == NULL) {
        router_end_naming(router, call, CALL_ERROR_UNKNOWN_RESOURCE, call->target);
    } else if (entry->subscribes) {
        router_start(router, call, entry);
    } else {
        router_end(call, &done);
    }
}

static bool router_has_argument(const RouterEntry *entry, Span name)
{
    if (entry->kind == ROUTER_TEMPLATE) {
        return uritemplate_has(entry->template, name);
    }
    if (entry->arguments.node == NULL) {
        return false;
    }
    for (JsonIter it = json_iter(entry->arguments); json_iter_next(&it);) {
        JsonValue value;

        if (json_get(it.value, SPAN("name"), &value) && json_string_equals(value, name)) {
            return true;
        }
    }
    return false;
}

static void router_dispatch_complete(Router *router, Call *call)
{
    bool is_prompt = call->completion.is_prompt;
    RouterKind kind = is_prompt ? ROUTER_PROMPT : ROUTER_TEMPLATE;
    CallResult nothing = {.kind = CALL_RESULT_COMPLETION, .total = 0};
    RouterEntry *entry = map_get(&router->tables[kind].by_key, call->target);

    if (entry == NULL && !is_prompt && router_find_template(router, call, &entry) != 0) {
        router_end_error(call, CALL_ERROR_INTERNAL);
    } else if (entry == NULL) {
        router_end_naming(router, call,
                          is_prompt ? CALL_ERROR_UNKNOWN_PROMPT : CALL_ERROR_UNKNOWN_RESOURCE,
                          call->target);
    } else if (!router_has_argument(entry, call->completion.argument)) {
        router_end_naming(router, call, CALL_ERROR_INVALID_ARGUMENTS, call->completion.argument);
    } else if (!entry->completes) {
        router_end(call, &nothing);
    } else {
        router_start(router, call, entry);
    }
}

/* The first entry behind that serial number. */
static size_t router_seek(const RouterTable *table, uint64_t serial)
{
    size_t low = 0;
    size_t high = table->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (table->entries[middle]->serial <= serial) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* How many entries from start on make a page: as many as one may have, and as fit; at least one, if
 * there is any, since a cursor must lead further. */
static size_t router_page_length(const Router *router, const RouterTable *table, size_t start)
{
    size_t max = table->n - start;
    size_t n_bytes = 0;

    if (router->page_size > 0 && max > router->page_size) {
        max = router->page_size;
    }
    for (size_t n = 0; n < max; n++) {
        n_bytes += json_span(table->descriptions[start + n]).n;
        if (n_bytes > LIMIT_LIST_PAGE_BYTES && n > 0) {
            return n;
        }
    }
    return max;
}

/* Makes the descriptions that nobody has needed so far. 0, else as router_entry_describe. */
static int router_describe_all(Router *router, RouterTable *table)
{
    for (size_t i = 0; table->n_later > 0 && i < table->n; i++) {
        RouterEntry *entry = table->entries[i];
        int r;

        if (table->descriptions[i].node != NULL) {
            continue;
        }
        r = router_entry_describe(entry, &router->scratch);
        arena_reset(&router->scratch, 0);
        if (r != 0) {
            return r;
        }
        table->descriptions[i] = router_entry_description(entry);
        table->n_later--;
    }
    return 0;
}

/* Adds to what is said beside a page whose each of its entries is, in their order: a name, or null
 * for what is this program's own. 0, -ENOMEM. */
static int router_add_origins(Router *router, RouterEntry *const *entries, size_t n, Span *meta)
{
    JsonWriter w;
    int r;

    bytes_clear(&router->origins);
    json_writer_init(&w, &router->origins, JSON_STYLE_COMPACT);
    json_write_object(&w);
    if (meta->n > 2) {
        json_write_raw(&w, span_make(meta->p + 1, meta->n - 2));
    }
    json_write_key(&w, SPAN(CALL_META_ORIGINS));
    json_write_array(&w);
    for (size_t i = 0; i < n; i++) {
        const RouterEntry *entry = entries[i];

        if (entry->provider->origin != NULL) {
            json_write_string(&w, entry->provider->origin(entry->context));
        } else {
            json_write_null(&w);
        }
    }
    json_write_end_array(&w);
    json_write_end_object(&w);
    r = json_writer_finish(&w);
    *meta = r == 0 ? bytes_span(&router->origins) : *meta;
    return r < 0 ? err_pass(r) : 0; /* too long to be said: the list is worth more */
}

static void router_dispatch_list(Router *router, Call *call, RouterKind kind)
{
    RouterTable *table = kind == ROUTER_TOOL && call->only_shown && router->shows != NULL
                             ? &router->shown
                             : &router->tables[kind];
    CallResult page = {.kind = CALL_RESULT_LIST};
    uint64_t serial = 0;
    size_t start;
    size_t n;

    if (call->has_cursor &&
        !router_cursor_read(&router->words, router->seed, kind, call->cursor, &serial)) {
        router_end_error(call, CALL_ERROR_INVALID_CURSOR);
        return;
    }
    if (router_describe_all(router, table) != 0) {
        router_end_error(call, CALL_ERROR_INTERNAL);
        return;
    }
    start = router_seek(table, serial);
    n = router_page_length(router, table, start);
    bytes_clear(&router->words);
    if (n < table->n - start && router_cursor_write(&router->words, router->seed, kind,
                                                    table->entries[start + n - 1]->serial) != 0) {
        router_end_error(call, CALL_ERROR_INTERNAL);
        return;
    }
    page.entries = n > 0 ? table->descriptions + start : NULL;
    page.n_entries = n;
    page.next_cursor = bytes_span(&router->words);
    if (router->list_meta != NULL) {
        page.meta = router->list_meta(router->list_meta_context, kind);
    }
    if (call->wants_origins &&
        router_add_origins(router, table->entries + start, n, &page.meta) != 0) {
        router_end_error(call, CALL_ERROR_INTERNAL);
        return;
    }
    router_end(call, &page);
}

static void router_dispatch_task(Router *router, Call *call)
{
    if (router->later != NULL) {
        router_start_later(router, call, NULL);
    } else {
        router_end_naming(router, call, CALL_ERROR_UNKNOWN_TASK, call->target);
    }
}

/* Takes a place in the quota, or ends the call. */
static bool router_admit(Router *router, RouterQuota *quota, Call *call)
{
    CallResult refused = {.kind = CALL_RESULT_ERROR, .error = CALL_ERROR_BUSY};
    int r;

    if (quota == NULL) {
        return true;
    }
    r = router_quota_enter(quota, router_now(router), &refused.retry_after_ms);
    if (r == 0) {
        call->quota = quota;
        return true;
    }
    if (r == ROUTER_QUOTA_E_RATE) {
        refused.error = CALL_ERROR_RATE;
    }
    refused.message = span_from_str(call_error_text(refused.error));
    router_end(call, &refused);
    return false;
}

static bool router_has_uri(Router *router, Span uri)
{
    return map_find(&router->tables[ROUTER_RESOURCE].by_key, uri, NULL) ||
           map_find(&router->tables[ROUTER_TEMPLATE].by_key, uri, NULL) ||
           router_template_of(router, uri) != NULL || router_find_prefix(router, uri) != NULL;
}

/* Is it about what may yet be added? */
static bool router_must_wait(Router *router, const Call *call)
{
    const RouterEntry *tool;

    if (call->verb != CALL_TOOL && call->verb != CALL_LIST_TOOLS) {
        router_fill(router);
    }
    switch (call->verb) {
    case CALL_TOOL:
        tool = map_get(&router->tables[ROUTER_TOOL].by_key, call->target);
        return tool == NULL || tool->is_about_all;
    case CALL_PROMPT:
        return !map_find(&router->tables[ROUTER_PROMPT].by_key, call->target, NULL);
    case CALL_READ:
    case CALL_SUBSCRIBE:
        return !router_has_uri(router, call->target);
    case CALL_COMPLETE:
        return call->completion.is_prompt
                   ? !map_find(&router->tables[ROUTER_PROMPT].by_key, call->target, NULL)
                   : !router_has_uri(router, call->target);
    case CALL_LIST_TOOLS:
    case CALL_LIST_RESOURCES:
    case CALL_LIST_TEMPLATES:
    case CALL_LIST_PROMPTS:
        return !call->has_cursor;
    default:
        return false;
    }
}

void router_dispatch(Router *router, RouterQuota *quota, Call *call)
{
    assert(!call->running && call->verb < CALL_N_VERBS);
    call->host = &router_host;
    call->router = router;
    call->running = true;
    call->took_arguments = false;
    call->may_have_run = false;
    if (router->watch != NULL) {
        router->watch->began(router->watch->context, call);
    }
    if (!router_admit(router, quota, call)) {
        return;
    }
    if (router->is_gated && router_must_wait(router, call)) {
        router_hold(router, call);
        return;
    }
    router_route(router, call);
}

void router_route(Router *router, Call *call)
{
    if (call->verb != CALL_TOOL && call->verb != CALL_LIST_TOOLS) {
        router_fill(router);
    }
    switch (call->verb) {
    case CALL_TOOL:
        if (router->alias != NULL) {
            router->alias(router->alias_context, call);
        }
        router_dispatch_tool(router, call);
        return;
    case CALL_READ:
        router_dispatch_read(router, call);
        return;
    case CALL_PROMPT:
        router_dispatch_prompt(router, call);
        return;
    case CALL_COMPLETE:
        router_dispatch_complete(router, call);
        return;
    case CALL_LIST_TOOLS:
        router_dispatch_list(router, call, ROUTER_TOOL);
        return;
    case CALL_LIST_RESOURCES:
        router_dispatch_list(router, call, ROUTER_RESOURCE);
        return;
    case CALL_LIST_TEMPLATES:
        router_dispatch_list(router, call, ROUTER_TEMPLATE);
        return;
    case CALL_LIST_PROMPTS:
        router_dispatch_list(router, call, ROUTER_PROMPT);
        return;
    case CALL_SUBSCRIBE:
        router_dispatch_subscribe(router, call);
        return;
    case CALL_TASK_GET:
    case CALL_TASK_RESULT:
    case CALL_TASK_UPDATE:
    case CALL_TASK_CANCEL:
    case CALL_LIST_TASKS:
        router_dispatch_task(router, call);
        return;
    case CALL_N_VERBS:
        break;
    }
    router_end_error(call, CALL_ERROR_INTERNAL);
}

Span router_tool_description(Router *router, Span name)
{
    RouterEntry *entry = router_find_tool(router, name);
    int r;

    if (entry == NULL) {
        return SPAN_NULL;
    }
    r = router_entry_describe(entry, &router->scratch);
    arena_reset(&router->scratch, 0);
    return r == 0 ? json_span(router_entry_description(entry)) : SPAN_NULL;
}

bool router_tool_is_command(const Router *router, Span name)
{
    const RouterEntry *entry = map_get(&router->tables[ROUTER_TOOL].by_key, name);

    return entry != NULL && entry->is_command;
}

const char *router_provider(const Router *router, RouterKind kind, Span key)
{
    const RouterEntry *entry = map_get(&router->tables[kind].by_key, key);

    return entry != NULL ? entry->provider->name : NULL;
}

bool router_tool_is_there(const Router *router, Span name)
{
    const RouterEntry *entry = map_get(&router->tables[ROUTER_TOOL].by_key, name);

    return entry != NULL &&
           (entry->provider->is_there == NULL || entry->provider->is_there(entry->context));
}

int64_t router_tool_timeout_ms(const Router *router, Span name)
{
    const RouterEntry *entry = map_get(&router->tables[ROUTER_TOOL].by_key, name);

    return entry != NULL ? entry->timeout_ms : 0;
}

Span router_tool_name_at(const Router *router, size_t i)
{
    return router_entry_key(router->tables[ROUTER_TOOL].entries[i]);
}

JsonValue router_tool_at(Router *router, size_t i)
{
    RouterEntry *entry = router->tables[ROUTER_TOOL].entries[i];
    int r = router_entry_describe(entry, &router->scratch);

    arena_reset(&router->scratch, 0);
    return r == 0 ? router_entry_description(entry) : JSON_VALUE_NULL;
}

JsonValue router_call_description(const Call *call)
{
    return router_entry_description(call->entry);
}

bool router_call_variable(const Call *call, Span name, Span *ret)
{
    for (size_t i = 0; i < call->n_variables; i++) {
        if (span_equals(call->variables[i].name, name)) {
            *ret = call->variables[i].value;
            return true;
        }
    }
    return false;
}

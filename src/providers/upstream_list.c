/* The lists of a server: read page by page, all kinds at once; a list that changes while it is read
 * is read again. What was read before stays in force until the new reading is complete. */
#include "providers/upstream_impl.h"

#include <string.h>

#include "base/alloc.h"
#include "providers/upstream_names.h"
#include "json/writer.h"

/* A list of more pages than this is a server that goes round in circles. */
#define LIST_MAX_PAGES 1000

/* Descriptions of one list of one server. */
#define LIST_MAX_BYTES ((size_t)64 * 1024 * 1024)

/* What changes by itself is not looked at more often, and what is stale at once is not read again
 * before, however often it is listed. */
#define LIST_MIN_TTL_MS 30000

/* After a list that could not be read. */
#define LIST_RETRY_MS 30000

typedef struct ListForm {
    const char *method;
    const char *member;
    const char *key;
} ListForm;

static const ListForm list_forms[ROUTER_N_KINDS] = {
    [ROUTER_TOOL] = {"tools/list", "tools", "name"},
    [ROUTER_RESOURCE] = {"resources/list", "resources", "uri"},
    [ROUTER_TEMPLATE] = {"resources/templates/list", "resourceTemplates", "uriTemplate"},
    [ROUTER_PROMPT] = {"prompts/list", "prompts", "name"},
};

void upstream_lists_init(Upstream *server)
{
    for (size_t kind = 0; kind < ROUTER_N_KINDS; kind++) {
        arena_init(&server->lists[kind].arena, LIST_MAX_BYTES);
        arena_init(&server->lists[kind].next_arena, LIST_MAX_BYTES);
        map_init(&server->lists[kind].cursors, server->owner->seed, LIST_MAX_PAGES);
        server->lists[kind].fresh_until_ms = INT64_MAX;
        server->lists[kind].stale_ms = INT64_MAX;
    }
}

void upstream_lists_deinit(Upstream *server)
{
    for (size_t kind = 0; kind < ROUTER_N_KINDS; kind++) {
        arena_deinit(&server->lists[kind].arena);
        arena_deinit(&server->lists[kind].next_arena);
        map_deinit(&server->lists[kind].cursors);
        server->lists[kind].items = mem_free(server->lists[kind].items);
    }
}

static const UpstreamTool *list_find_tool(const UpstreamSpec *spec, Span name)
{
    for (size_t i = 0; i < spec->n_tools; i++) {
        if (span_equals(span_from_str(spec->tools[i].name), name)) {
            return &spec->tools[i];
        }
    }
    return NULL;
}

static bool list_matches_any(char *const *patterns, Span name)
{
    for (size_t i = 0; patterns != NULL && patterns[i] != NULL; i++) {
        if (upstream_name_matches(patterns[i], name)) {
            return true;
        }
    }
    return false;
}

static bool list_is_wanted(const UpstreamSpec *spec, RouterKind kind, Span name)
{
    return kind != ROUTER_TOOL || ((spec->allow == NULL || list_matches_any(spec->allow, name)) &&
                                   !list_matches_any(spec->deny, name));
}

/* 0, -ENOMEM. What has no name is nothing. */
static int list_take_record(Upstream *server, RouterKind kind, JsonValue description)
{
    UpstreamList *list = &server->lists[kind];
    UpstreamRecord record = {.tool = NULL};
    JsonValue key;
    Span text;

    if (!json_get(description, span_from_str(list_forms[kind].key), &key) ||
        json_string_exact(key, &list->next_arena, &text) != 0 || text.n == 0) {
        logsink_write(server->owner->config.log, LOGSINK_LEVEL_WARN, "upstream",
                      "%s: an element of its %s has no %s and is left out", server->spec.name,
                      list_forms[kind].member, list_forms[kind].key);
        return 0;
    }
    if (!list_is_wanted(&server->spec, kind, text)) {
        return 0;
    }
    if (list->n_next == list->next_cap) {
        size_t cap = list->next_cap == 0 ? 16 : 2 * list->next_cap;
        UpstreamRecord *grown = arena_grow(&list->next_arena, list->next,
                                           list->next_cap * sizeof(*grown), cap * sizeof(*grown));

        if (grown == NULL) {
            return err_raise(-ENOMEM);
        }
        list->next = grown;
        list->next_cap = cap;
    }
    record.key = arena_copy(&list->next_arena, text);
    record.json = arena_copy(&list->next_arena, json_span(description));
    if (record.key.p == NULL || record.json.p == NULL) {
        return err_raise(-ENOMEM);
    }
    if (kind == ROUTER_TOOL) {
        record.tool = list_find_tool(&server->spec, record.key);
    }
    list->next[list->n_next++] = record;
    return 0;
}

static void list_forget_next(UpstreamList *list)
{
    arena_reset(&list->next_arena, 0);
    map_deinit(&list->cursors);
    list->next = NULL;
    list->n_next = 0;
    list->next_cap = 0;
    list->n_pages = 0;
    list->request = 0;
}

static bool list_is_same(const UpstreamList *list)
{
    bool is_same = list->is_known && list->n == list->n_next;

    for (size_t i = 0; is_same && i < list->n; i++) {
        is_same = span_equals(list->records[i].key, list->next[i].key) &&
                  span_equals(list->records[i].json, list->next[i].json);
    }
    return is_same;
}

/* What was read takes the place of what was known. */
static void list_take_over(UpstreamList *list)
{
    Arena old = list->arena;

    list->arena = list->next_arena;
    list->next_arena = old;
    list->records = list->next;
    list->n = list->n_next;
}

Span upstream_list_member(RouterKind kind)
{
    return span_from_str(list_forms[kind].member);
}

static void list_settle(Upstream *server)
{
    if (upstream_lists_are_read(server) && !server->is_settled) {
        server->is_settled = true;
        upstreams_look_at_gate(server->owner);
        router_there_changed(server->owner->config.router);
    }
}

/* For how long it is good. A modern server says so, if it does not tell of changes; one that says
 * nothing, or 0, has a list that is stale at once: it is read again when somebody lists. */
static void list_set_times(Upstream *server, RouterKind kind)
{
    UpstreamList *list = &server->lists[kind];
    int64_t now_ms = io_loop_now_ms(server->owner->config.loop);
    int64_t ttl_ms = list->ttl_ms > LIST_MIN_TTL_MS ? list->ttl_ms : LIST_MIN_TTL_MS;

    list->fresh_until_ms = INT64_MAX;
    list->stale_ms = INT64_MAX;
    if (!server->is_modern || (server->offer.tells[kind] && !server->is_untold)) {
        return;
    }
    if (list->ttl_ms <= 0) {
        list->stale_ms = now_ms + LIST_MIN_TTL_MS;
        return;
    }
    /* Not all at once, where many gateways began together. */
    ttl_ms = ttl_ms < LIMIT_TIME_MS ? ttl_ms : LIMIT_TIME_MS;
    list->fresh_until_ms =
        now_ms + ttl_ms +
        (int64_t)(hash_span(server->owner->seed, span_from_str(server->spec.name)) %
                  (uint64_t)(ttl_ms / 10 + 1));
}

void upstream_lists_look(Upstream *server, unsigned listed)
{
    int64_t now_ms = io_loop_now_ms(server->owner->config.loop);

    for (RouterKind kind = 0; kind < ROUTER_N_KINDS; kind++) {
        if ((listed & 1u << kind) != 0 && now_ms >= server->lists[kind].stale_ms) {
            server->lists[kind].stale_ms = INT64_MAX;
            upstream_list(server, kind);
        }
    }
}

void upstream_lists_untold(Upstream *server)
{
    server->is_untold = true;
    for (RouterKind kind = 0; kind < ROUTER_N_KINDS; kind++) {
        if (server->offer.tells[kind] && server->lists[kind].request == 0) {
            list_set_times(server, kind);
        }
    }
    upstream_set_timer(server);
}

/* All pages have come. */
static void list_complete(Upstream *server, RouterKind kind)
{
    UpstreamList *list = &server->lists[kind];
    bool is_same = list_is_same(list);

    if (!is_same) {
        list_take_over(list);
    }
    list->is_known = true;
    list->is_failing = false;
    list_set_times(server, kind);
    list_forget_next(list);
    map_init(&list->cursors, server->owner->seed, LIST_MAX_PAGES);
    if (list->is_old) {
        upstream_list(server, kind);
    }
    if (!is_same) {
        upstreams_publish(server->owner);
    }
    upstream_kept_listed(server, !is_same);
    upstream_set_timer(server);
    list_settle(server);
}

int upstream_list_set(Upstream *server, RouterKind kind, JsonValue elements)
{
    UpstreamList *list = &server->lists[kind];
    int r = 0;

    for (JsonIter it = json_iter(elements); r == 0 && json_iter_next(&it);) {
        r = list_take_record(server, kind, it.value);
    }
    if (r == 0) {
        list_take_over(list);
        list->is_known = true;
    }
    list_forget_next(list);
    map_init(&list->cursors, server->owner->seed, LIST_MAX_PAGES);
    return r;
}

/* The reading under way comes to nothing; what was known stays. It is asked for again: at once if
 * it has changed meanwhile, since nobody will say so a second time. */
static void list_lose(Upstream *server, RouterKind kind)
{
    UpstreamList *list = &server->lists[kind];
    int64_t now_ms = io_loop_now_ms(server->owner->config.loop);

    list_forget_next(list);
    map_init(&list->cursors, server->owner->seed, LIST_MAX_PAGES);
    list->fresh_until_ms = list->is_old ? now_ms : now_ms + LIST_RETRY_MS;
    list->is_old = false;
    upstream_set_timer(server);
    list_settle(server);
}

/* It cannot be read, and that is worth a word. */
static void list_abandon(Upstream *server, RouterKind kind, Span why)
{
    UpstreamList *list = &server->lists[kind];

    logsink_write(server->owner->config.log,
                  list->is_failing ? LOGSINK_LEVEL_DEBUG : LOGSINK_LEVEL_WARN, "upstream",
                  "%s: its %s cannot be read: %.*s", server->spec.name, list_forms[kind].member,
                  (int)(why.n < 400 ? why.n : 400), why.n > 0 ? why.p : "");
    list->is_failing = true;
    if (!list->is_known) {
        bytes_clear(&server->why);
        (void)bytes_append_format(&server->why, "its %s cannot be read: %.*s",
                                  list_forms[kind].member, (int)(why.n < 400 ? why.n : 400),
                                  why.n > 0 ? why.p : "");
    }
    list_lose(server, kind);
}

static void list_ask(Upstream *server, RouterKind kind, Span cursor, bool has_cursor)
{
    UpstreamList *list = &server->lists[kind];
    Bytes *params = &server->owner->params;
    McpRequestOptions options = {.speaks_for_itself = true,
                                 .log_level = CALL_LOG_NONE,
                                 .timeout_ms = server->list_timeout_ms};
    JsonWriter w;
    int r;

    bytes_clear_keep(params, LIMIT_KEEP_BYTES);
    json_writer_init(&w, params, JSON_STYLE_COMPACT);
    json_write_object(&w);
    if (has_cursor) {
        json_write_key(&w, SPAN("cursor"));
        json_write_exact(&w, cursor);
    }
    json_write_end_object(&w);
    r = json_writer_finish(&w);
    r = r != 0 ? r
               : mcp_peer_request_with(server->peer, span_from_str(list_forms[kind].method),
                                       bytes_span(params), &options, &list->request);
    if (r != 0) {
        list_abandon(server, kind, SPAN("the question cannot be sent"));
    }
}

void upstream_list(Upstream *server, RouterKind kind)
{
    UpstreamList *list = &server->lists[kind];

    if (server->state != UPSTREAM_READY || !server->offer.kinds[kind]) {
        return;
    }
    if (list->request != 0) {
        list->is_old = true;
        return;
    }
    list->is_old = false;
    list_ask(server, kind, SPAN_NULL, false);
}

void upstream_list_all(Upstream *server)
{
    for (RouterKind kind = 0; kind < ROUTER_N_KINDS; kind++) {
        if (server->offer.kinds[kind]) {
            upstream_list(server, kind);
        } else if (server->lists[kind].n > 0) {
            /* What an earlier version of it had. */
            list_complete(server, kind);
        }
    }
    list_settle(server);
}

/* The page that follows, if there is one. An empty cursor is one. */
static bool list_follow(Upstream *server, RouterKind kind, JsonValue value)
{
    UpstreamList *list = &server->lists[kind];
    JsonValue member;
    Span cursor;

    if (!json_get(value, SPAN("nextCursor"), &member) || json_kind(member) != JSON_STRING) {
        return false;
    }
    if (json_string_exact(member, &list->next_arena, &cursor) != 0) {
        return false;
    }
    if (map_add(&list->cursors, cursor, NULL) != 0 || ++list->n_pages >= LIST_MAX_PAGES) {
        logsink_write(server->owner->config.log, LOGSINK_LEVEL_WARN, "upstream",
                      "%s: its %s do not end: a cursor came again; what came until then is used",
                      server->spec.name, list_forms[kind].member);
        return false;
    }
    list_ask(server, kind, cursor, true);
    return true;
}

/* A hub says which of its servers are not as they should be; ours says it, too. */
static void list_take_inner(Upstream *server, JsonValue value)
{
    JsonValue meta;
    JsonValue servers;
    JsonWriter w;

    bytes_clear(&server->inner);
    if (!json_get(value, SPAN("_meta"), &meta) || json_kind(meta) != JSON_OBJECT ||
        !json_get(meta, SPAN("toolwire/servers"), &servers) || json_kind(servers) != JSON_ARRAY ||
        json_count(servers) == 0) {
        return;
    }
    json_writer_init(&w, &server->inner, JSON_STYLE_COMPACT);
    json_write_value(&w, servers);
    if (json_writer_finish(&w) != 0) {
        bytes_clear(&server->inner);
    }
}

static void list_take_page(Upstream *server, RouterKind kind, JsonValue value)
{
    UpstreamList *list = &server->lists[kind];
    JsonValue elements;
    JsonValue member;
    int r = 0;

    list->request = 0;
    if (!json_get(value, span_from_str(list_forms[kind].member), &elements) ||
        json_kind(elements) != JSON_ARRAY) {
        list_abandon(server, kind, SPAN("the answer has no such array"));
        return;
    }
    if (kind == ROUTER_TOOL) {
        list_take_inner(server, value);
    }
    list->ttl_ms = 0;
    if (json_get(value, SPAN("ttlMs"), &member)) {
        (void)json_int64(member, &list->ttl_ms);
    }
    for (JsonIter it = json_iter(elements); r == 0 && json_iter_next(&it);) {
        r = list_take_record(server, kind, it.value);
    }
    if (r != 0) {
        list_abandon(server, kind, SPAN("there is no room for it"));
        return;
    }
    if (!list_follow(server, kind, value)) {
        list_complete(server, kind);
    }
}

bool upstream_list_take(Upstream *server, const McpClientEvent *event)
{
    for (RouterKind kind = 0; kind < ROUTER_N_KINDS; kind++) {
        UpstreamList *list = &server->lists[kind];

        if (list->request == 0 || list->request != event->id) {
            continue;
        }
        if (event->kind == MCP_CLIENT_RESULT) {
            list_take_page(server, kind, event->value);
        } else if (event->kind == MCP_CLIENT_ERROR && event->code == -32601) {
            /* It has none, whatever it said. */
            list_forget_next(list);
            map_init(&list->cursors, server->owner->seed, LIST_MAX_PAGES);
            list_complete(server, kind);
        } else if (event->kind == MCP_CLIENT_ERROR && event->is_ours &&
                   event->code == MCP_CLIENT_CODE_ENDED) {
            list_lose(server, kind); /* mostly the whole session ends, and says so in a moment */
        } else if (event->kind == MCP_CLIENT_ERROR) {
            list_abandon(server, kind, event->text);
        }
        return true;
    }
    return false;
}

void upstream_lists_stop(Upstream *server)
{
    for (RouterKind kind = 0; kind < ROUTER_N_KINDS; kind++) {
        list_forget_next(&server->lists[kind]);
        map_init(&server->lists[kind].cursors, server->owner->seed, LIST_MAX_PAGES);
        server->lists[kind].is_old = false;
        server->lists[kind].fresh_until_ms = INT64_MAX;
        server->lists[kind].stale_ms = INT64_MAX;
    }
}

bool upstream_lists_are_read(const Upstream *server)
{
    bool are_read = true;

    for (RouterKind kind = 0; kind < ROUTER_N_KINDS; kind++) {
        are_read = are_read && server->lists[kind].request == 0;
    }
    return are_read;
}

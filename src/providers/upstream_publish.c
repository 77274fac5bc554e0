/* What the servers have, put into the router. Names are made for all servers together
 * (upstream_names.h); a server whose entries are to be as they are is left alone, the others' are
 * taken out and put in anew, in the order of the settings. */
#include "providers/upstream_impl.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "providers/upstream_names.h"
#include "json/writer.h"

/* Members of a description that a client would stumble over are left out, so many at most. */
#define PUBLISH_MAX_FLAWS 4

/* Ranks are bytes, and the last one is for those who come and go. */
#define PUBLISH_MAX_RANK (ROUTER_RANK_LAST - 1)

static const char *const publish_words[ROUTER_N_KINDS] = {"tool", "resource", "resource template",
                                                          "prompt"};

/* ---- descriptions ---- */

typedef struct Description {
    RouterKind kind;
    const UpstreamRecord *record;
    char flaws[PUBLISH_MAX_FLAWS][32]; /* members to be left out */
    size_t n_flaws;
} Description;

static bool description_skips(const Description *description, JsonValue key)
{
    /* Whether it runs as a task is between us and the server. */
    if (json_string_equals(key, SPAN("execution"))) {
        return true;
    }
    if (description->record->tool != NULL && description->record->tool->description != NULL &&
        json_string_equals(key, SPAN("description"))) {
        return true;
    }
    for (size_t i = 0; i < description->n_flaws; i++) {
        if (json_string_equals(key, span_from_str(description->flaws[i]))) {
            return true;
        }
    }
    return false;
}

/* Clients refuse a whole list for one schema that is no object, or not of one. */
static void description_write_input(JsonWriter *w, JsonValue schema)
{
    JsonValue type;
    bool is_object = schema.node != NULL && json_kind(schema) == JSON_OBJECT;

    json_write_key(w, SPAN("inputSchema"));
    if (is_object && json_get(schema, SPAN("type"), &type) &&
        json_string_equals(type, SPAN("object"))) {
        json_write_value(w, schema);
        return;
    }
    json_write_object(w);
    json_write_key(w, SPAN("type"));
    json_write_string(w, SPAN("object"));
    if (is_object) {
        for (JsonIter it = json_iter(schema); json_iter_next(&it);) {
            Span key;

            if (!json_string_equals(it.key, SPAN("type")) && json_string_plain(it.key, &key)) {
                json_write_key(w, key);
                json_write_value(w, it.value);
            }
        }
    }
    json_write_end_object(w);
}

static int description_write(const Description *description, JsonValue given, Bytes *out)
{
    const UpstreamRecord *record = description->record;
    bool has_name = description->kind == ROUTER_TOOL || description->kind == ROUTER_PROMPT;
    JsonValue schema = JSON_VALUE_NULL;
    JsonWriter w;

    bytes_clear_keep(out, LIMIT_KEEP_BYTES);
    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    for (JsonIter it = json_iter(given); json_iter_next(&it);) {
        Span key;

        if (!json_string_plain(it.key, &key) || description_skips(description, it.key)) {
            continue;
        }
        if (has_name && span_equals(key, SPAN("name"))) {
            json_write_key(&w, key);
            json_write_string(&w, record->name);
        } else if (description->kind == ROUTER_TOOL && span_equals(key, SPAN("inputSchema"))) {
            schema = it.value;
            description_write_input(&w, schema);
        } else {
            json_write_key(&w, key);
            json_write_value(&w, it.value);
        }
    }
    if (description->kind == ROUTER_TOOL && schema.node == NULL) {
        description_write_input(&w, schema);
    }
    if (record->tool != NULL && record->tool->description != NULL) {
        json_write_key(&w, SPAN("description"));
        json_write_string(&w, span_from_str(record->tool->description));
    }
    json_write_end_object(&w);
    return json_writer_finish(&w);
}

/* ---- items ---- */

static void item_release(void *context)
{
    (void)mem_free(context);
}

static Span item_put(char **at, Span span)
{
    char *p = *at;

    if (span.n > 0) {
        memcpy(p, span.p, span.n);
    }
    *at += span.n;
    return span_make(p, span.n);
}

/* {"name":"…": of a call, so that it need not be written each time. */
static int item_write_head(Bytes *out, Span name)
{
    JsonWriter w;

    bytes_clear_keep(out, LIMIT_KEEP_BYTES);
    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("name"));
    json_write_string(&w, name);
    json_write_end_object(&w);
    if (json_writer_finish(&w) != 0) {
        return err_raise(-ENOMEM);
    }
    out->n--; /* the bracket */
    return 0;
}

static UpstreamItem *item_new(Upstream *server, RouterKind kind, const UpstreamRecord *record)
{
    Bytes *head = &server->owner->text;
    UpstreamItem *item =
        item_write_head(head, record->key) != 0
            ? NULL
            : mem_alloc(sizeof(*item) + record->key.n + record->name.n + record->json.n + head->n);
    char *at = (char *)(item + 1);

    if (item != NULL) {
        *item = (UpstreamItem){.server = server,
                               .kind = kind,
                               .timeout_ms = record->tool != NULL ? record->tool->timeout_ms : 0};
        item->key = item_put(&at, record->key);
        item->name = item_put(&at, record->name);
        item->json = item_put(&at, record->json);
        item->head = item_put(&at, bytes_span(head));
        if (item->timeout_ms == 0) {
            item->timeout_ms = server->spec.call_timeout_ms;
        }
    }
    return item;
}

/* Takes the member out that the router blames. False: nothing can be done. */
static bool description_mend(Description *description, const Diag *diag)
{
    size_t n = strcspn(diag->field, "/");
    char *flaw = description->flaws[description->n_flaws];
    Span name = span_make(diag->field, n);

    if (n == 0 || n >= sizeof(description->flaws[0]) ||
        description->n_flaws + 1 >= PUBLISH_MAX_FLAWS || span_equals(name, SPAN("name")) ||
        span_equals(name, SPAN("uri")) || span_equals(name, SPAN("uriTemplate")) ||
        span_equals(name, SPAN("inputSchema"))) {
        return false;
    }
    memcpy(flaw, diag->field, n);
    flaw[n] = '\0';
    description->n_flaws++;
    return true;
}

/* 0, -ENOMEM, ROUTER_E_*. */
static int publish_try(Upstream *server, UpstreamItem *item, Description *description, Diag *diag)
{
    Upstreams *upstreams = server->owner;
    JsonDoc doc;
    int r = json_parse(&doc, &upstreams->scratch, item->json.p, item->json.n, NULL, diag);

    if (r == 0) {
        r = description_write(description, json_root(&doc), &upstreams->text);
    }
    arena_reset(&upstreams->scratch, LIMIT_KEEP_BYTES);
    if (r != 0) {
        return r < 0 ? err_pass(r) : ROUTER_E_MALFORMED;
    }
    return router_add(
        upstreams->config.router,
        &(RouterSpec){.kind = item->kind,
                      .json = bytes_span(&upstreams->text),
                      .provider = &upstream_provider,
                      .context = item,
                      .timeout_ms = item->timeout_ms,
                      .is_relayed = true,
                      .completes = server->offer.completes &&
                                   (item->kind == ROUTER_PROMPT || item->kind == ROUTER_TEMPLATE),
                      .subscribes = server->offer.subscribes,
                      .release = item_release},
        diag);
}

/* True: it is in the router. */
static bool publish_one(Upstream *server, RouterKind kind, UpstreamRecord *record,
                        UpstreamItem **ret)
{
    const LogSink *log = server->owner->config.log;
    Description description = {.kind = kind, .record = record};
    UpstreamItem *item = item_new(server, kind, record);
    Diag diag = DIAG_NULL;
    int r = item == NULL ? -ENOMEM : publish_try(server, item, &description, &diag);

    while (r == ROUTER_E_MALFORMED && description_mend(&description, &diag)) {
        logsink_write(log, LOGSINK_LEVEL_WARN, "upstream", "%s: the %s %.*s goes without %s: %s",
                      server->spec.name, publish_words[kind], (int)record->key.n, record->key.p,
                      description.flaws[description.n_flaws - 1], diag.message);
        diag = DIAG_NULL;
        r = publish_try(server, item, &description, &diag);
    }
    if (r == 0) {
        *ret = item;
        return true;
    }
    (void)mem_free(item);
    server->n_left_out++;
    record->is_bad = true;
    record->name = SPAN_NULL;
    logsink_write(log, LOGSINK_LEVEL_WARN, "upstream", "%s: the %s %.*s is left out: %s",
                  server->spec.name, publish_words[kind], (int)record->key.n, record->key.p,
                  r == ROUTER_E_EXISTS ? "another provider has its name"
                  : r > 0              ? diag.message
                                       : "there is no memory for it");
    return false;
}

static void withdraw_kind(Upstream *server, RouterKind kind)
{
    UpstreamList *list = &server->lists[kind];

    for (size_t i = 0; i < list->n_items; i++) {
        bool has_name = kind == ROUTER_TOOL || kind == ROUTER_PROMPT;
        Span key = has_name ? list->items[i]->name : list->items[i]->key;

        (void)router_remove(server->owner->config.router, kind, key);
    }
    list->n_items = 0;
}

void upstream_withdraw(Upstream *server)
{
    server->owner->is_publishing = true;
    router_batch_begin(server->owner->config.router);
    for (RouterKind kind = 0; kind < ROUTER_N_KINDS; kind++) {
        withdraw_kind(server, kind);
    }
    router_batch_end(server->owner->config.router);
    server->owner->is_publishing = false;
}

/* ---- names ---- */

static bool publish_is_own(void *context, Span name)
{
    Upstreams *upstreams = context;
    const char *provider = router_tool_provider(upstreams->config.router, name);

    return provider != NULL && strcmp(provider, upstream_provider.name) != 0;
}

static bool publish_is_nobodys(void *context, Span name)
{
    (void)context;
    (void)name;
    return false;
}

/* The same key twice in one list: the first counts. */
static void publish_drop_doubles(Upstream *server, RouterKind kind, Map *seen)
{
    UpstreamList *list = &server->lists[kind];

    for (size_t i = 0; i < list->n; i++) {
        if (list->records[i].is_bad) {
            list->records[i].name = SPAN_NULL;
            server->n_left_out++;
        } else if (map_add(seen, list->records[i].key, NULL) != 0) {
            logsink_write(server->owner->config.log, LOGSINK_LEVEL_WARN, "upstream",
                          "%s: the %s %.*s is listed twice, or another server has it: left out",
                          server->spec.name, publish_words[kind], (int)list->records[i].key.n,
                          list->records[i].key.p);
            list->records[i].name = SPAN_NULL;
            server->n_left_out++;
        } else {
            list->records[i].name = list->records[i].key;
        }
    }
}

static int publish_name_kind(Upstreams *upstreams, RouterKind kind)
{
    bool (*is_taken)(void *context, Span name) =
        kind == ROUTER_TOOL ? publish_is_own : publish_is_nobodys;
    UpstreamNamed *named;
    size_t n = 0;
    size_t at = 0;
    int r;

    for (size_t i = 0; i < upstreams->n_servers; i++) {
        n += upstreams->servers[i]->lists[kind].n;
    }
    named = n == 0 ? NULL : arena_alloc_array(&upstreams->scratch, n, sizeof(*named));
    if (n > 0 && named == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < upstreams->n_servers; i++) {
        const Upstream *server = upstreams->servers[i];
        const UpstreamSpec *spec = &server->spec;

        for (size_t k = 0; k < server->lists[kind].n; k++) {
            if (server->lists[kind].records[k].name.n > 0) {
                named[at++] = (UpstreamNamed){
                    .server = span_from_str(spec->prefix != NULL ? spec->prefix : spec->name),
                    .separator = span_from_str(spec->separator != NULL ? spec->separator : "__"),
                    .prefixing = spec->prefixing,
                    .own = server->lists[kind].records[k].key};
            }
        }
    }
    r = upstream_names_make(named, at, is_taken, upstreams, upstreams->seed, &upstreams->names);
    at = 0;
    for (size_t i = 0; r == 0 && i < upstreams->n_servers; i++) {
        Upstream *server = upstreams->servers[i];

        for (size_t k = 0; k < server->lists[kind].n; k++) {
            UpstreamRecord *record = &server->lists[kind].records[k];

            if (record->name.n == 0) {
                continue;
            }
            record->name = named[at].name;
            server->n_renamed += record->name.n > 0 && !span_equals(record->name, record->key);
            if (record->name.n == 0) {
                server->n_left_out++;
            }
            at++;
        }
    }
    arena_reset(&upstreams->scratch, LIMIT_KEEP_BYTES);
    return r;
}

/* Every record gets its name, or none. */
static int publish_name_all(Upstreams *upstreams)
{
    int r = 0;

    arena_reset(&upstreams->names, LIMIT_KEEP_BYTES);
    for (size_t i = 0; i < upstreams->n_servers; i++) {
        upstreams->servers[i]->n_left_out = 0;
        upstreams->servers[i]->n_renamed = 0;
    }
    for (RouterKind kind = 0; r == 0 && kind < ROUTER_N_KINDS; kind++) {
        bool has_name = kind == ROUTER_TOOL || kind == ROUTER_PROMPT;
        Map seen;

        /* URIs are everybody's, names each server's own. */
        map_init(&seen, upstreams->seed, LIMIT_ROUTER_ENTRIES);
        for (size_t i = 0; i < upstreams->n_servers; i++) {
            publish_drop_doubles(upstreams->servers[i], kind, &seen);
            if (has_name) {
                map_deinit(&seen);
                map_init(&seen, upstreams->seed, LIMIT_ROUTER_ENTRIES);
            }
        }
        map_deinit(&seen);
        r = has_name ? publish_name_kind(upstreams, kind) : 0;
    }
    return r;
}

/* ---- the router ---- */

static bool publish_is_there(const Upstream *server, RouterKind kind)
{
    const UpstreamList *list = &server->lists[kind];
    size_t at = 0;

    for (size_t i = 0; i < list->n; i++) {
        const UpstreamRecord *record = &list->records[i];

        if (record->name.n == 0) {
            continue;
        }
        if (at == list->n_items || !span_equals(list->items[at]->name, record->name) ||
            !span_equals(list->items[at]->key, record->key) ||
            !span_equals(list->items[at]->json, record->json)) {
            return false;
        }
        at++;
    }
    return at == list->n_items;
}

static void publish_tell_renamed(const Upstream *server, RouterKind kind)
{
    const UpstreamList *list = &server->lists[kind];

    for (size_t i = 0; i < list->n_items; i++) {
        const UpstreamItem *item = list->items[i];

        if ((kind == ROUTER_TOOL || kind == ROUTER_PROMPT) && !span_equals(item->name, item->key)) {
            logsink_write(server->owner->config.log, LOGSINK_LEVEL_INFO, "upstream",
                          "%s: its %s %.*s is called %.*s here", server->spec.name,
                          publish_words[kind], (int)item->key.n, item->key.p, (int)item->name.n,
                          item->name.p);
        }
    }
}

static void publish_kind(Upstream *server, RouterKind kind)
{
    UpstreamList *list = &server->lists[kind];
    UpstreamItem **items = mem_realloc(list->items, (list->n + 1) * sizeof(UpstreamItem *));
    unsigned rank = server->owner->config.rank + (unsigned)server->index;

    if (items == NULL) {
        return; /* without entries until the next time */
    }
    list->items = items;
    router_set_rank(server->owner->config.router,
                    rank < PUBLISH_MAX_RANK ? rank : PUBLISH_MAX_RANK);
    for (size_t i = 0; i < list->n; i++) {
        if (list->records[i].name.n > 0 &&
            publish_one(server, kind, &list->records[i], &items[list->n_items])) {
            list->n_items++;
        }
    }
    router_set_rank(server->owner->config.router, ROUTER_RANK_LAST);
    publish_tell_renamed(server, kind);
}

void upstreams_publish(Upstreams *upstreams)
{
    Router *router = upstreams->config.router;

    if (upstreams->is_ended || upstreams->is_publishing) {
        return;
    }
    upstreams->must_publish = false;
    upstreams->is_publishing = true;
    if (publish_name_all(upstreams) != 0) {
        logsink_write(upstreams->config.log, LOGSINK_LEVEL_ERROR, "upstream",
                      "the lists stay as they are: there is no memory to change them");
        upstreams->is_publishing = false;
        return;
    }
    router_batch_begin(router);
    for (RouterKind kind = 0; kind < ROUTER_N_KINDS; kind++) {
        /* All that differ are taken out before any is put in: names may go over. */
        for (size_t i = 0; i < upstreams->n_servers; i++) {
            if (!publish_is_there(upstreams->servers[i], kind)) {
                withdraw_kind(upstreams->servers[i], kind);
            }
        }
        for (size_t i = 0; i < upstreams->n_servers; i++) {
            if (!publish_is_there(upstreams->servers[i], kind)) {
                publish_kind(upstreams->servers[i], kind);
            }
        }
    }
    router_batch_end(router);
    upstreams->is_publishing = false;
    upstreams_want_anew(upstreams);
}

/* ---- what is said beside a list ---- */

/* Servers that are not as they should be: whoever reads a list without their tools is told why. */
Span upstreams_list_meta(void *context, RouterKind kind)
{
    Upstreams *upstreams = context;
    bool any = false;
    JsonWriter w;

    (void)kind;
    bytes_clear(&upstreams->list_meta);
    json_writer_init(&w, &upstreams->list_meta, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("toolwire/servers"));
    json_write_array(&w);
    for (size_t i = 0; i < upstreams->n_servers; i++) {
        UpstreamStatus status = upstreams_status(upstreams, i);
        bool is_news = status.state == UPSTREAM_DOWN || status.state == UPSTREAM_STARTING ||
                       status.n_left_out > 0 || status.why[0] != '\0';

        if (!is_news) {
            continue;
        }
        any = true;
        json_write_object(&w);
        json_write_key(&w, SPAN("name"));
        json_write_string(&w, span_from_str(status.name));
        json_write_key(&w, SPAN("state"));
        json_write_string(&w, span_from_str(status.state_name));
        if (status.why[0] != '\0') {
            json_write_key(&w, SPAN("why"));
            json_write_string(&w, span_from_str(status.why));
        }
        if (status.n_left_out > 0) {
            json_write_key(&w, SPAN("leftOut"));
            json_write_uint(&w, status.n_left_out);
        }
        json_write_end_object(&w);
    }
    json_write_end_array(&w);
    json_write_end_object(&w);
    return json_writer_finish(&w) == 0 && any ? bytes_span(&upstreams->list_meta) : SPAN_NULL;
}

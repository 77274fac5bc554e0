/* One entry of the router: the description as it is offered here, and what a call of it needs. */
#include "providers/upstream_impl.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "json/writer.h"

/* Members of a description that a client would stumble over are left out, so many at most. */
#define ITEM_MAX_FLAWS 4

const char *const upstream_kind_words[ROUTER_N_KINDS] = {"tool", "resource", "resource template",
                                                         "prompt"};

/* ---- descriptions ---- */

typedef struct Description {
    RouterKind kind;
    const UpstreamRecord *record;
    char flaws[ITEM_MAX_FLAWS][32]; /* members to be left out */
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
            json_write_exact(&w, record->name);
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
    json_write_exact(&w, name);
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
                               .timeout_ms = record->tool != NULL ? record->tool->timeout_ms : 0,
                               .completes = server->offer.completes,
                               .subscribes = server->offer.subscribes};
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
        description->n_flaws + 1 >= ITEM_MAX_FLAWS || span_equals(name, SPAN("name")) ||
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
static int item_try(Upstream *server, UpstreamItem *item, Description *description, Diag *diag)
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
    return router_add(upstreams->config.router,
                      &(RouterSpec){.kind = item->kind,
                                    .json = bytes_span(&upstreams->text),
                                    .provider = &upstream_provider,
                                    .context = item,
                                    .timeout_ms = item->timeout_ms,
                                    .is_relayed = true,
                                    .completes = item->completes && (item->kind == ROUTER_PROMPT ||
                                                                     item->kind == ROUTER_TEMPLATE),
                                    .subscribes = item->subscribes,
                                    .release = item_release},
                      diag);
}

bool upstream_item_publish(Upstream *server, RouterKind kind, UpstreamRecord *record,
                           UpstreamItem **ret)
{
    const LogSink *log = server->owner->config.log;
    Description description = {.kind = kind, .record = record};
    UpstreamItem *item = item_new(server, kind, record);
    Diag diag = DIAG_NULL;
    int r = item == NULL ? -ENOMEM : item_try(server, item, &description, &diag);

    while (r == ROUTER_E_MALFORMED && description_mend(&description, &diag)) {
        logsink_write(log, LOGSINK_LEVEL_WARN, "upstream", "%s: the %s %.*s goes without %s: %s",
                      server->spec.name, upstream_kind_words[kind], (int)record->key.n,
                      record->key.p, description.flaws[description.n_flaws - 1], diag.message);
        diag = DIAG_NULL;
        r = item_try(server, item, &description, &diag);
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
                  server->spec.name, upstream_kind_words[kind], (int)record->key.n, record->key.p,
                  r == ROUTER_E_EXISTS ? "another provider has its name"
                  : r > 0              ? diag.message
                                       : "there is no memory for it");
    return false;
}

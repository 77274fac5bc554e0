/* What the servers have, put into the router. Names are made for all servers together
 * (upstream_names.h); a server whose entries are to be as they are is left alone, the others' are
 * taken out and put in anew, in the order of the settings. */
#include "providers/upstream_impl.h"

#include <string.h>

#include "base/alloc.h"
#include "providers/upstream_names.h"
#include "json/writer.h"

/* Ranks are bytes, and the last one is for those who come and go. */
#define PUBLISH_MAX_RANK (ROUTER_RANK_LAST - 1)

/* Names of one server that are told in one line of the log. */
#define PUBLISH_MAX_TOLD   10
#define PUBLISH_TOLD_BYTES ((size_t)8192)

/* ---- entries ---- */

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
        UpstreamRecord *record = &list->records[i];

        if (record->is_bad) {
            record->name = SPAN_NULL;
            server->n_left_out++;
        } else if (map_add(seen, record->key, NULL) != 0) {
            /* Once: everything is published anew whenever a list of anybody has come. */
            if (!record->is_double) {
                logsink_write(server->owner->config.log, LOGSINK_LEVEL_WARN, "upstream",
                              "%s: the %s %.*s is listed twice, or another server has it: left out",
                              server->spec.name, upstream_kind_words[kind], (int)record->key.n,
                              record->key.p);
            }
            record->is_double = true;
            record->name = SPAN_NULL;
            server->n_left_out++;
        } else {
            record->is_double = false;
            record->name = record->key;
        }
    }
}

/* Once: everything is published anew whenever a list of anybody has come. In one line: there may be
 * many. */
static void publish_tell_clashes(const Upstream *server, RouterKind kind, Span words, size_t n)
{
    if (n > 0) {
        logsink_write(server->owner->config.log, LOGSINK_LEVEL_WARN, "upstream",
                      "%s: others have the names of %zu of its %ss: %.*s%s", server->spec.name, n,
                      upstream_kind_words[kind], (int)words.n, words.p,
                      n > PUBLISH_MAX_TOLD ? ", and more" : "");
    }
}

/* As they were made for all; *at: the server's first. */
static void publish_take_names(Upstream *server, RouterKind kind, const UpstreamNamed *named,
                               size_t *at)
{
    Bytes words;
    size_t n = 0;

    bytes_init(&words, PUBLISH_TOLD_BYTES);
    for (size_t k = 0; k < server->lists[kind].n; k++) {
        UpstreamRecord *record = &server->lists[kind].records[k];
        bool was_clash = record->is_clash;

        if (record->name.n == 0) {
            continue;
        }
        record->name = named[*at].name;
        record->is_clash = named[*at].clashes;
        server->n_renamed += record->name.n > 0 && !span_equals(record->name, record->key);
        server->n_left_out += record->name.n == 0;
        (*at)++;
        if (record->is_clash && !was_clash && ++n <= PUBLISH_MAX_TOLD) {
            (void)bytes_append_format(&words, "%s%.*s is %.*s", n > 1 ? ", " : "",
                                      (int)record->key.n, record->key.p,
                                      record->name.n > 0 ? (int)record->name.n : 8,
                                      record->name.n > 0 ? record->name.p : "left out");
        }
    }
    publish_tell_clashes(server, kind, bytes_span(&words), n);
    bytes_deinit(&words);
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
        publish_take_names(upstreams->servers[i], kind, named, &at);
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
            !span_equals(list->items[at]->json, record->json) ||
            list->items[at]->completes != server->offer.completes ||
            list->items[at]->subscribes != server->offer.subscribes) {
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
                          upstream_kind_words[kind], (int)item->key.n, item->key.p,
                          (int)item->name.n, item->name.p);
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
            upstream_item_publish(server, kind, &list->records[i], &items[list->n_items])) {
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

/* ---- where names have gone ---- */

/* Is that what it was called, or would be, with its server's name or without? */
static bool where_is_meant(const UpstreamSpec *spec, Span key, Span name)
{
    Span prefix = span_from_str(spec->prefix != NULL ? spec->prefix : spec->name);
    Span separator = span_from_str(spec->separator != NULL ? spec->separator : "__");
    size_t n = prefix.n + separator.n;

    return span_equals(key, name) ||
           (span_starts_with(name, prefix) && name.n == n + key.n &&
            span_equals(span_make(name.p + prefix.n, separator.n), separator) &&
            span_equals(span_make(name.p + n, key.n), key));
}

/* It may be one of a server's that is not there, and never said what it has. */
static int where_is_nobody(const Upstreams *upstreams, RouterKind kind, Bytes *words)
{
    int r = 0;

    for (size_t i = 0; i < upstreams->n_servers; i++) {
        const Upstream *server = upstreams->servers[i];

        if (r == 0 && server->state == UPSTREAM_DOWN && !server->lists[kind].is_known) {
            r = bytes_append_format(words, "; the server %s is not there: %.*s", server->spec.name,
                                    (int)server->why.n, server->why.n > 0 ? server->why.data : "");
        }
    }
    return r;
}

/* A second server may have come with a tool of the same name, since a client listed it. */
Span upstreams_where(void *context, RouterKind kind, Span name)
{
    Upstreams *upstreams = context;
    Bytes *words = &upstreams->list_meta;
    int r = 0;

    bytes_clear(words);
    for (size_t i = 0; i < upstreams->n_servers; i++) {
        const Upstream *server = upstreams->servers[i];
        const UpstreamList *list = &server->lists[kind];

        for (size_t k = 0; r == 0 && k < list->n_items; k++) {
            if (where_is_meant(&server->spec, list->items[k]->key, name)) {
                r = bytes_append_span(words,
                                      words->n == 0 ? SPAN("; it is now called ") : SPAN(", or "));
                r = r != 0 ? r : bytes_append_span(words, list->items[k]->name);
            }
        }
    }
    r = r == 0 && words->n == 0 ? where_is_nobody(upstreams, kind, words) : r;
    return r == 0 ? bytes_span(words) : SPAN_NULL;
}

/* ---- what is said beside a list ---- */

/* Servers that are not as they should be: whoever reads a list without their tools is told why. */
Span upstreams_list_meta(void *context, RouterKind kind)
{
    Upstreams *upstreams = context;
    bool any = false;
    JsonWriter w;

    upstreams->has_listed = true;
    upstreams->listed |= 1u << kind;
    upstreams_post(upstreams);
    bytes_clear(&upstreams->list_meta);
    json_writer_init(&w, &upstreams->list_meta, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("toolwire/servers"));
    json_write_array(&w);
    for (size_t i = 0; i < upstreams->n_servers; i++) {
        UpstreamStatus status = upstreams_status(upstreams, i);
        Span inner = bytes_span(&upstreams->servers[i]->inner);
        bool is_news = status.state == UPSTREAM_DOWN || status.state == UPSTREAM_STARTING ||
                       status.n_left_out > 0 || status.why[0] != '\0' || inner.n > 0;

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
        if (inner.n > 0) {
            json_write_key(&w, SPAN("servers"));
            json_write_raw(&w, inner);
        }
        json_write_end_object(&w);
    }
    json_write_end_array(&w);
    json_write_end_object(&w);
    return json_writer_finish(&w) == 0 && any ? bytes_span(&upstreams->list_meta) : SPAN_NULL;
}

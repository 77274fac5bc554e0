/* What the servers have, put into the router. Names are made for all servers together
 * (upstream_naming.c); a server whose entries are to be as they are is left alone, the others' are
 * taken out and put in anew, in the order of the settings. */
#include "providers/upstream_impl.h"

#include <string.h>

#include "base/alloc.h"
#include "json/writer.h"

/* Ranks are bytes, and the last one is for those who come and go. */
#define PUBLISH_MAX_RANK (ROUTER_RANK_LAST - 1)

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

void upstreams_withdraw(Upstreams *upstreams)
{
    for (size_t i = 0; upstreams != NULL && i < upstreams->n_servers; i++) {
        withdraw_kind(upstreams->servers[i], ROUTER_TOOL);
    }
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
    Router *router;

    if (upstreams == NULL || upstreams->is_ended || upstreams->is_publishing) {
        return;
    }
    router = upstreams->config.router;
    upstreams->must_publish = false;
    upstreams->is_publishing = true;
    if (upstreams_name_all(upstreams) != 0) {
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

/* "a__" for the server a. */
static bool where_has_head(const UpstreamSpec *spec, Span name, size_t *ret_n)
{
    Span prefix = span_from_str(spec->prefix != NULL ? spec->prefix : spec->name);
    Span separator = span_from_str(spec->separator != NULL ? spec->separator : "__");

    *ret_n = prefix.n + separator.n;
    return span_starts_with(name, prefix) && name.n >= *ret_n &&
           span_equals(span_make(name.p + prefix.n, separator.n), separator);
}

/* Tools that are called like this by their servers. With the server's name before it (is_full) it
 * is the one that is meant; without, any of them may be. */
static int where_is_called(const Upstreams *upstreams, RouterKind kind, Span name, bool is_full,
                           Bytes *words)
{
    Span first = is_full ? SPAN("; it is now called ") : SPAN("; did you mean ");
    int r = 0;

    for (size_t i = 0; i < upstreams->n_servers; i++) {
        const Upstream *server = upstreams->servers[i];
        const UpstreamList *list = &server->lists[kind];
        size_t n = 0;
        bool is_its = !is_full || where_has_head(&server->spec, name, &n);

        for (size_t k = 0; r == 0 && is_its && k < list->n_items; k++) {
            if (span_equals(list->items[k]->key, span_make(name.p + n, name.n - n))) {
                r = bytes_append_span(words, words->n == 0 ? first : SPAN(", or "));
                r = r != 0 ? r : bytes_append_span(words, list->items[k]->name);
            }
        }
    }
    return r == 0 && words->n > 0 && !is_full ? bytes_append_byte(words, '?') : r;
}

static int where_say_server(const Upstream *server, const char *what, const char *state,
                            Bytes *words)
{
    return bytes_append_format(words, "; the server %s%s %s%s%.*s", server->spec.name, what, state,
                               server->why.n > 0 ? ": " : "", (int)server->why.n,
                               server->why.n > 0 ? server->why.data : "");
}

/* A name that is remembered for a server belongs to it, whether it lists the tool or not. */
static int where_belongs(const Upstreams *upstreams, RouterKind kind, Span name, Bytes *words)
{
    const UpstreamClaim *claim = upstream_claims_of(upstreams, kind, name);

    for (size_t i = 0; claim != NULL && i < upstreams->n_servers; i++) {
        const Upstream *server = upstreams->servers[i];

        if (span_equals(claim->server, span_from_str(server->spec.name))) {
            return where_say_server(server, ", which has it,",
                                    server->state == UPSTREAM_DISABLED ? "is disabled"
                                    : server->state == UPSTREAM_DOWN   ? "is not there"
                                                                       : "does not list it now",
                                    words);
        }
    }
    return 0;
}

/* It may be one of a server's that is not there, and never said what it has: of the one that the
 * name begins with, or else of any. */
static int where_is_nobody(const Upstreams *upstreams, RouterKind kind, Span name, Bytes *words)
{
    const Upstream *meant = NULL;
    size_t n;
    int r = 0;

    for (size_t i = 0; i < upstreams->n_servers && meant == NULL; i++) {
        meant =
            where_has_head(&upstreams->servers[i]->spec, name, &n) ? upstreams->servers[i] : NULL;
    }
    if (meant != NULL && meant->state == UPSTREAM_DISABLED) {
        return where_say_server(meant, "", "is disabled", words);
    }
    for (size_t i = 0; i < upstreams->n_servers; i++) {
        const Upstream *server = upstreams->servers[i];

        if (r == 0 && (meant == NULL || meant == server) && server->state == UPSTREAM_DOWN &&
            !server->lists[kind].is_known) {
            r = where_say_server(server, "", "is not there", words);
        }
    }
    return r;
}

/* Clients call what they listed some time ago, and what models make up. */
Span upstreams_where(void *context, RouterKind kind, Span name)
{
    Upstreams *upstreams = context;
    Bytes *words = &upstreams->list_meta;
    int r;

    bytes_clear(words);
    r = where_is_called(upstreams, kind, name, true, words);
    r = r == 0 && words->n == 0 ? where_belongs(upstreams, kind, name, words) : r;
    r = r == 0 && words->n == 0 ? where_is_called(upstreams, kind, name, false, words) : r;
    r = r == 0 && words->n == 0 ? where_is_nobody(upstreams, kind, name, words) : r;
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

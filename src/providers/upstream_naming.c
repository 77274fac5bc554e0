/* What the servers have gets its names: for all servers together, from the settings, what is
 * remembered (upstream_claims.c) and what is free (upstream_names.h).
 *
 * While the first lists wait for servers to answer (the gate) nobody has seen a name: until then
 * the order of the settings decides, whoever answers first. From then on names are remembered.
 */
#include "providers/upstream_impl.h"

#include <string.h>

/* Names of one server that are told in one line of the log. */
#define NAMING_MAX_TOLD   10
#define NAMING_TOLD_BYTES ((size_t)8192)

static const RouterKind naming_kinds[UPSTREAM_N_NAMED] = {ROUTER_TOOL, ROUTER_PROMPT};

/* ---- what is listed twice ---- */

/* The same key twice in one list: the first counts. */
static void naming_drop_doubles(Upstream *server, RouterKind kind, Map *seen)
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

static void naming_drop_all_doubles(Upstreams *upstreams)
{
    for (size_t i = 0; i < upstreams->n_servers; i++) {
        upstreams->servers[i]->n_left_out = 0;
        upstreams->servers[i]->n_renamed = 0;
    }
    for (RouterKind kind = 0; kind < ROUTER_N_KINDS; kind++) {
        bool has_name = kind == ROUTER_TOOL || kind == ROUTER_PROMPT;
        Map seen;

        /* URIs are everybody's, names each server's own. */
        map_init(&seen, upstreams->seed, LIMIT_ROUTER_ENTRIES);
        for (size_t i = 0; i < upstreams->n_servers; i++) {
            naming_drop_doubles(upstreams->servers[i], kind, &seen);
            if (has_name) {
                map_deinit(&seen);
                map_init(&seen, upstreams->seed, LIMIT_ROUTER_ENTRIES);
            }
        }
        map_deinit(&seen);
    }
}

/* ---- names ---- */

static bool naming_tool_is_own(void *context, Span name)
{
    const Upstreams *upstreams = context;
    const char *provider = router_provider(upstreams->config.router, ROUTER_TOOL, name);

    return provider != NULL && strcmp(provider, upstream_provider.name) != 0;
}

static bool naming_prompt_is_own(void *context, Span name)
{
    const Upstreams *upstreams = context;
    const char *provider = router_provider(upstreams->config.router, ROUTER_PROMPT, name);

    return provider != NULL && strcmp(provider, upstream_provider.name) != 0;
}

static Span naming_prefix(const UpstreamSpec *spec)
{
    return span_from_str(spec->prefix != NULL ? spec->prefix : spec->name);
}

/* Of a record there is no claim but by its key, which is then its own. */
static int naming_collect_records(Upstreams *upstreams, RouterKind kind, UpstreamNamedList *list,
                                  Map *seen)
{
    int r = 0;

    for (size_t i = 0; i < upstreams->n_servers; i++) {
        const Upstream *server = upstreams->servers[i];

        for (size_t k = 0; r == 0 && k < server->lists[kind].n; k++) {
            const UpstreamRecord *record = &server->lists[kind].records[k];
            UpstreamNamed *item = &list->items[list->n];

            if (record->name.n == 0) {
                continue;
            }
            *item = (UpstreamNamed){.server = i, .own = record->key};
            r = upstream_claims_find(upstreams, kind, span_from_str(server->spec.name), item->own,
                                     &upstreams->scratch, &item->held);
            if (r == 0 && item->held.n > 0) {
                r = map_add(seen, item->held, NULL);
                r = r < 0 ? r : 0;
            }
            list->n++;
        }
    }
    return r;
}

/* Names of what is not listed now are kept free. */
static void naming_collect_absent(const Upstreams *upstreams, RouterKind kind,
                                  UpstreamNamedList *list, const Map *seen)
{
    const UpstreamClaim *claim;
    size_t at = 0;

    while ((claim = upstream_claims_next(upstreams, kind, &at)) != NULL) {
        for (size_t i = 0; i < upstreams->n_servers; i++) {
            if (span_equals(claim->server, span_from_str(upstreams->servers[i]->spec.name)) &&
                !map_find(seen, claim->name, NULL)) {
                list->items[list->n++] = (UpstreamNamed){
                    .server = i, .own = claim->own, .held = claim->name, .is_absent = true};
            }
        }
    }
}

static int naming_collect(Upstreams *upstreams, RouterKind kind, UpstreamNamedList *ret)
{
    size_t n = upstream_claims_count(upstreams, kind);
    Map seen;
    int r;

    for (size_t i = 0; i < upstreams->n_servers; i++) {
        n += upstreams->servers[i]->lists[kind].n;
    }
    *ret = (UpstreamNamedList){
        .items = arena_alloc_array(&upstreams->scratch, n + 1, sizeof(*ret->items))};
    if (ret->items == NULL) {
        return err_raise(-ENOMEM);
    }
    map_init(&seen, upstreams->seed, LIMIT_ROUTER_ENTRIES);
    r = naming_collect_records(upstreams, kind, ret, &seen);
    if (r == 0) {
        naming_collect_absent(upstreams, kind, ret, &seen);
    }
    map_deinit(&seen);
    return err_pass(r);
}

static int naming_make(Upstreams *upstreams, UpstreamNamedList lists[UPSTREAM_N_NAMED])
{
    UpstreamNaming naming = {
        .n_servers = upstreams->n_servers, .context = upstreams, .seed = upstreams->seed};
    UpstreamNamer *namers;
    int r = 0;

    arena_reset(&upstreams->scratch, LIMIT_KEEP_BYTES);
    arena_reset(&upstreams->names, LIMIT_KEEP_BYTES);
    namers = arena_alloc_array(&upstreams->scratch, upstreams->n_servers + 1, sizeof(*namers));
    if (namers == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < upstreams->n_servers; i++) {
        const UpstreamSpec *spec = &upstreams->servers[i]->spec;

        namers[i] = (UpstreamNamer){
            .server = span_from_str(spec->name),
            .prefix = naming_prefix(spec),
            .separator = span_from_str(spec->separator != NULL ? spec->separator : "__"),
            .prefixing = spec->prefixing};
    }
    naming.servers = namers;
    for (size_t k = 0; r == 0 && k < UPSTREAM_N_NAMED; k++) {
        naming.is_taken =
            naming_kinds[k] == ROUTER_TOOL ? naming_tool_is_own : naming_prompt_is_own;
        r = naming_collect(upstreams, naming_kinds[k], &lists[k]);
        r = r != 0 ? r
                   : upstream_names_make(&naming, lists[k].items, lists[k].n, &upstreams->names);
    }
    return r;
}

/* Is there something to be remembered, or forgotten? */
static bool naming_differs(const Upstreams *upstreams,
                           const UpstreamNamedList lists[UPSTREAM_N_NAMED])
{
    bool differs = false;

    for (size_t k = 0; k < UPSTREAM_N_NAMED; k++) {
        size_t n_held = 0;

        for (size_t i = 0; i < lists[k].n; i++) {
            const UpstreamNamed *item = &lists[k].items[i];
            bool is_chosen =
                upstreams->servers[item->server]->spec.prefixing != UPSTREAM_PREFIX_ALWAYS;

            n_held += item->held.n > 0;
            differs = differs || !span_equals(item->held, is_chosen ? item->name : SPAN_NULL);
        }
        differs = differs || n_held != upstream_claims_count(upstreams, naming_kinds[k]);
    }
    return differs;
}

/* ---- what became of them ---- */

static void naming_tell(const Upstream *server, RouterKind kind, Span words, size_t n)
{
    if (n > 0) {
        logsink_write(server->owner->config.log, LOGSINK_LEVEL_WARN, "upstream",
                      "%s: others have the names of %zu of its %ss: %.*s%s", server->spec.name, n,
                      upstream_kind_words[kind], (int)words.n, words.p,
                      n > NAMING_MAX_TOLD ? ", and more" : "");
    }
}

/* "search is b__search (a has that name)" */
static void naming_append(Bytes *words, const UpstreamNamed *item)
{
    (void)bytes_append_format(words, "%s%.*s is %.*s (", words->n > 0 ? ", " : "", (int)item->own.n,
                              item->own.p, item->name.n > 0 ? (int)item->name.n : 8,
                              item->name.n > 0 ? item->name.p : "left out");
    if (item->is_theirs) {
        (void)bytes_append_format(words, "it begins as the names of %.*s do)", (int)item->rival.n,
                                  item->rival.p);
    } else {
        (void)bytes_append_format(words, "%.*s has that name)",
                                  item->rival.n > 0 ? (int)item->rival.n : 7,
                                  item->rival.n > 0 ? item->rival.p : "the hub");
    }
}

/* As they were made for all; *at: the server's first. Clashes are told once: everything is
 * published anew whenever a list of anybody has come. In one line: there may be many. */
static void naming_take(Upstream *server, RouterKind kind, const UpstreamNamed *named, size_t *at)
{
    Bytes words;
    size_t n = 0;

    bytes_init(&words, NAMING_TOLD_BYTES);
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
        if (record->is_clash && !was_clash && ++n <= NAMING_MAX_TOLD) {
            naming_append(&words, &named[*at]);
        }
        (*at)++;
    }
    naming_tell(server, kind, bytes_span(&words), n);
    bytes_deinit(&words);
}

int upstreams_name_all(Upstreams *upstreams)
{
    UpstreamNamedList lists[UPSTREAM_N_NAMED] = {{.items = NULL}};
    bool is_made;
    int r;

    naming_drop_all_doubles(upstreams);
    r = naming_make(upstreams, lists);
    if (r != 0) {
        return err_pass(r);
    }
    upstreams->is_unclaimed = naming_differs(upstreams, lists);
    if (upstreams->is_unclaimed && !upstreams->is_gated) {
        r = upstream_claims_begin(upstreams);
        r = r != 0 ? r : naming_make(upstreams, lists);
        is_made = r == 0;
        upstream_claims_end(upstreams, is_made ? lists : NULL);
        upstreams->is_unclaimed = false;
    }
    for (size_t k = 0; r == 0 && k < UPSTREAM_N_NAMED; k++) {
        size_t at = 0;

        for (size_t i = 0; i < upstreams->n_servers; i++) {
            naming_take(upstreams->servers[i], naming_kinds[k], lists[k].items, &at);
        }
    }
    arena_reset(&upstreams->scratch, LIMIT_KEEP_BYTES);
    return r;
}

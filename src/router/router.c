/* The registry: what there is to call, and who wants to know when that changes. */
#include "router/router.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "router/router_impl.h"

/* A message that names what a peer sent (a tool's name, a URI); longer ones are said without. */
#define ROUTER_WORDS_BYTES 4096

/* Names of servers, one for each tool of a page, and what else is said beside it. */
#define ROUTER_ORIGINS_BYTES ((size_t)8 * 1024 * 1024)

/* Serial numbers of a rank: more than any process adds. */
#define ROUTER_RANK_SHIFT 48

/* A time that can be added to the clock. */
static int64_t router_time(int64_t ms)
{
    return ms < 1 ? 1 : ms > LIMIT_TIME_MS ? LIMIT_TIME_MS : ms;
}

void router_set_times(Router *router, const RouterLimits *limits)
{
    router->call_timeout_ms = LIMIT_CALL_MS;
    router->call_timeout_max_ms = LIMIT_CALL_MAX_MS;
    if (limits != NULL && limits->call_timeout_max_ms != 0) {
        router->call_timeout_max_ms = router_time(limits->call_timeout_max_ms);
    }
    if (limits != NULL && limits->call_timeout_ms != 0) {
        router->call_timeout_ms = router_time(limits->call_timeout_ms);
    }
}

int router_new(Router **ret, const RouterLimits *limits, HashSeed seed)
{
    Router *router = mem_alloc_array(1, sizeof(*router));
    int r;

    if (router == NULL) {
        return err_raise(-ENOMEM);
    }
    *router = (Router){
        .seed = seed,
        .next_deadline_ms = INT64_MAX,
        .rank = ROUTER_RANK_LAST,
    };
    router_set_times(router, limits);
    for (size_t kind = 0; kind < ROUTER_N_KINDS; kind++) {
        map_init(&router->tables[kind].by_key, seed, LIMIT_ROUTER_ENTRIES);
    }
    map_init(&router->wanted, seed, LIMIT_ROUTER_ENTRIES);
    bytes_init(&router->words, ROUTER_WORDS_BYTES);
    bytes_init(&router->origins, ROUTER_ORIGINS_BYTES);
    /* Bounded by the size of a description. */
    arena_init(&router->scratch, SIZE_MAX);
    r = router_faults_init(&router->faults);
    if (r != 0) {
        (void)router_free(router);
        return err_pass(r);
    }
    *ret = router;
    return 0;
}

Router *router_free(Router *router)
{
    if (router == NULL) {
        return NULL;
    }
    router_end_all(router);
    for (size_t kind = 0; kind < ROUTER_N_KINDS; kind++) {
        RouterTable *table = &router->tables[kind];

        for (size_t i = 0; i < table->n; i++) {
            table->entries[i] = router_entry_unref(table->entries[i]);
        }
        table->entries = mem_free(table->entries);
        table->descriptions = mem_free(table->descriptions);
        map_deinit(&table->by_key);
    }
    map_deinit(&router->wanted);
    router->shown.entries = mem_free(router->shown.entries);
    router->shown.descriptions = mem_free(router->shown.descriptions);
    router_faults_deinit(&router->faults);
    bytes_deinit(&router->words);
    bytes_deinit(&router->origins);
    arena_deinit(&router->scratch);
    return mem_free(router);
}

static void router_tell_changed(Router *router, RouterKind kind, bool is_hidden)
{
    router->listener_walk = router->listeners;
    while (router->listener_walk != NULL) {
        RouterListener *listener = router->listener_walk;

        router->listener_walk = listener->next;
        if (listener->changed != NULL && !(is_hidden && listener->only_shown)) {
            listener->changed(listener, kind);
        }
    }
}

/* is_hidden: of tools, and none of those that are shown. */
static void router_changed(Router *router, RouterKind kind, bool is_hidden)
{
    if (router->n_batches > 0) {
        router->changed |= 1u << kind;
        if (!is_hidden && kind == ROUTER_TOOL) {
            router->changed |= ROUTER_CHANGED_SHOWN;
        }
    } else {
        router_tell_changed(router, kind, is_hidden);
    }
}

void router_batch_begin(Router *router)
{
    router->n_batches++;
}

void router_batch_end(Router *router)
{
    unsigned changed = router->changed;

    assert(router->n_batches > 0);
    router->n_batches--;
    if (router->n_batches > 0) {
        return;
    }
    router->changed = 0;
    for (unsigned kind = 0; kind < ROUTER_N_KINDS; kind++) {
        if ((changed & 1u << kind) != 0) {
            router_tell_changed(router, (RouterKind)kind,
                                kind == ROUTER_TOOL && (changed & ROUTER_CHANGED_SHOWN) == 0);
        }
    }
}

void router_resource_updated(Router *router, Span uri)
{
    router->listener_walk = router->listeners;
    while (router->listener_walk != NULL) {
        RouterListener *listener = router->listener_walk;

        router->listener_walk = listener->next;
        if (listener->updated != NULL) {
            listener->updated(listener, uri);
        }
    }
}

void router_set_forsaken(Router *router,
                         void (*fn)(void *context, const CallAsker *asker, Span state),
                         void *context)
{
    router->forsaken_fn = fn;
    router->forsaken_context = context;
}

void router_forsake(const Router *router, const CallAsker *asker, Span state)
{
    if (router->forsaken_fn != NULL) {
        router->forsaken_fn(router->forsaken_context, asker, state);
    }
}

void router_there_changed(Router *router)
{
    router->listener_walk = router->listeners;
    while (router->listener_walk != NULL) {
        RouterListener *listener = router->listener_walk;

        router->listener_walk = listener->next;
        if (listener->there != NULL) {
            listener->there(listener);
        }
    }
}

void router_tell_opened(Router *router)
{
    router->listener_walk = router->listeners;
    while (router->listener_walk != NULL) {
        RouterListener *listener = router->listener_walk;

        router->listener_walk = listener->next;
        if (listener->opened != NULL) {
            listener->opened(listener);
        }
    }
}

void router_task_changed(Router *router, const CallTask *task, Span owner)
{
    CallTask room;

    task = router_shorten_task(router, task, owner, &room);
    router->listener_walk = router->listeners;
    while (router->listener_walk != NULL) {
        RouterListener *listener = router->listener_walk;

        router->listener_walk = listener->next;
        if (listener->task != NULL) {
            listener->task(listener, task, owner);
        }
    }
}

void router_listen(Router *router, RouterListener *listener)
{
    listener->prev = NULL;
    listener->next = router->listeners;
    if (router->listeners != NULL) {
        router->listeners->prev = listener;
    }
    router->listeners = listener;
}

void router_unlisten(Router *router, RouterListener *listener)
{
    if (router->listener_walk == listener) {
        router->listener_walk = listener->next;
    }
    if (listener->next != NULL) {
        listener->next->prev = listener->prev;
    }
    if (listener->prev != NULL) {
        listener->prev->next = listener->next;
    } else if (router->listeners == listener) {
        router->listeners = listener->next;
    }
    listener->next = NULL;
    listener->prev = NULL;
}

/* Makes room for one more entry. */
static int table_reserve(RouterTable *table)
{
    size_t cap = table->cap == 0 ? 8 : table->cap * 2;
    RouterEntry **entries;
    JsonValue *descriptions;

    if (table->n < table->cap) {
        return 0;
    }
    /* cap is at most twice LIMIT_ROUTER_ENTRIES. A block that grew alone is no harm. */
    entries = mem_realloc(table->entries, cap * sizeof(RouterEntry *));
    if (entries == NULL) {
        return err_raise(-ENOMEM);
    }
    table->entries = entries;
    descriptions = mem_realloc(table->descriptions, cap * sizeof(*descriptions));
    if (descriptions == NULL) {
        return err_raise(-ENOMEM);
    }
    table->descriptions = descriptions;
    table->cap = cap;
    return 0;
}

/* Puts one in, in order of serial numbers; there is room. */
static void table_put(RouterTable *table, RouterEntry *entry)
{
    size_t i;

    assert(table->n < table->cap);
    /* Nearly always it is the last. */
    for (i = table->n; i > 0 && table->entries[i - 1]->serial > entry->serial; i--) {
    }
    memmove(table->entries + i + 1, table->entries + i, (table->n - i) * sizeof(RouterEntry *));
    memmove(table->descriptions + i + 1, table->descriptions + i,
            (table->n - i) * sizeof(*table->descriptions));
    table->entries[i] = entry;
    table->descriptions[i] = router_entry_description(entry);
    table->n_later += entry->text == NULL;
    table->n++;
}

/* False: it was not there. */
static bool table_take(RouterTable *table, const RouterEntry *entry)
{
    size_t i = 0;

    while (i < table->n && table->entries[i] != entry) {
        i++;
    }
    if (i == table->n) {
        return false;
    }
    table->n_later -= table->descriptions[i].node == NULL;
    table->n--;
    memmove(table->entries + i, table->entries + i + 1, (table->n - i) * sizeof(RouterEntry *));
    memmove(table->descriptions + i, table->descriptions + i + 1,
            (table->n - i) * sizeof(*table->descriptions));
    return true;
}

static int table_add(RouterTable *table, RouterEntry *entry)
{
    int r = table_reserve(table);

    if (r != 0) {
        return err_pass(r);
    }
    r = map_add(&table->by_key, router_entry_key(entry), entry);
    if (r == MAP_E_EXISTS) {
        return ROUTER_E_EXISTS;
    }
    if (r == MAP_E_FULL) {
        return ROUTER_E_FULL;
    }
    if (r != 0) {
        return err_fold(r);
    }
    table_put(table, entry);
    return 0;
}

void router_set_rank(Router *router, unsigned rank)
{
    router->rank = rank;
}

/* Whether a list of few tools has it, and room for it there. */
static int shown_reserve(Router *router, const RouterEntry *entry, bool *ret)
{
    if (entry->kind != ROUTER_TOOL || router->shows == NULL) {
        return 0;
    }
    *ret = router->shows(router->shows_context, router_entry_key(entry));
    return *ret ? err_pass(table_reserve(&router->shown)) : 0;
}

int router_add(Router *router, const RouterSpec *spec, Diag *reterr_diag)
{
    RouterTable *table = &router->tables[spec->kind];
    RouterEntry *entry = NULL;
    bool is_shown = true;
    int r;

    if (table->n >= LIMIT_ROUTER_ENTRIES) {
        return diag_set(reterr_diag, ROUTER_E_FULL, "there are %d entries of that kind already",
                        LIMIT_ROUTER_ENTRIES);
    }
    r = router_entry_new(&entry, spec, &router->scratch, reterr_diag);
    arena_reset(&router->scratch, 0);
    if (r != 0) {
        return r;
    }
    /* So the entries are in the order of their serial numbers, by which cursors find them. */
    entry->serial = (uint64_t)router->rank << ROUTER_RANK_SHIFT | (router->last_serial + 1);
    r = shown_reserve(router, entry, &is_shown);
    r = r != 0 ? r : table_add(table, entry);
    if (r != 0) {
        if (r == ROUTER_E_EXISTS) {
            (void)diag_set(reterr_diag, r, "%.100s is taken", entry->key);
        }
        (void)router_entry_free(entry);
        return r;
    }
    if (is_shown && router->shows != NULL && spec->kind == ROUTER_TOOL) {
        table_put(&router->shown, entry);
    }
    router->last_serial++;
    router->n_completing += entry->completes;
    router->n_commands += entry->is_command;
    router_changed(router, spec->kind, !is_shown);
    return 0;
}

int router_remove(Router *router, RouterKind kind, Span key)
{
    RouterTable *table = &router->tables[kind];
    RouterEntry *entry = map_remove(&table->by_key, key);
    bool is_shown = true;

    if (entry == NULL) {
        return ROUTER_E_MISSING;
    }
    router->recent_tool = NULL;
    (void)table_take(table, entry);
    if (kind == ROUTER_TOOL && router->shows != NULL) {
        is_shown = table_take(&router->shown, entry);
    }
    router->n_completing -= entry->completes;
    router->n_commands -= entry->is_command;
    /* key may point into the entry, and a listener must find it gone. */
    (void)router_entry_unref(entry);
    router_changed(router, kind, !is_shown);
    return 0;
}

void router_set_filler(Router *router, void (*fn)(void *context), void *context)
{
    router->filler = fn;
    router->filler_context = context;
    router->filler_rank = router->rank;
}

void router_fill(Router *router)
{
    void (*fn)(void *context) = router->filler;
    unsigned changed = router->changed;
    unsigned rank = router->rank;

    if (fn == NULL) {
        return;
    }
    router->filler = NULL;
    router_batch_begin(router);
    router->rank = router->filler_rank;
    fn(router->filler_context);
    router->rank = rank;
    router->changed = changed;
    router_batch_end(router);
}

int router_set_shown(Router *router, bool (*shows)(void *context, Span name), void *context)
{
    const RouterTable *tools = &router->tables[ROUTER_TOOL];
    RouterTable shown = {.n = 0};

    for (size_t i = 0; shows != NULL && i < tools->n; i++) {
        int r = 0;

        if (shows(context, router_entry_key(tools->entries[i]))) {
            r = table_reserve(&shown);
            if (r == 0) {
                table_put(&shown, tools->entries[i]);
            }
        }
        if (r != 0) {
            mem_free(shown.entries);
            mem_free(shown.descriptions);
            return err_pass(r);
        }
    }
    mem_free(router->shown.entries);
    mem_free(router->shown.descriptions);
    router->shown = shown;
    router->shows = shows;
    router->shows_context = context;
    router_changed(router, ROUTER_TOOL, false);
    return 0;
}

bool router_hides(const Router *router)
{
    return router->shows != NULL;
}

void router_set_unknown(Router *router, Span (*fn)(void *context, RouterKind kind, Span name),
                        void *context)
{
    router->unknown = fn;
    router->unknown_context = context;
}

void router_set_list_meta(Router *router, Span (*fn)(void *context, RouterKind kind), void *context)
{
    router->list_meta = fn;
    router->list_meta_context = context;
}

size_t router_count(const Router *router, RouterKind kind)
{
    return router->tables[kind].n;
}

const char *router_provider_at(const Router *router, RouterKind kind, size_t i)
{
    const char *name = router->tables[kind].entries[i]->provider->name;

    return name != NULL ? name : "router";
}

bool router_has_completions(const Router *router)
{
    return router->n_completing > 0;
}

bool router_has_tool(const Router *router, Span name)
{
    return map_find(&router->tables[ROUTER_TOOL].by_key, name, NULL);
}

void router_set_page_size(Router *router, size_t n_entries)
{
    router->page_size = n_entries;
}

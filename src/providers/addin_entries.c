#include "providers/addin_entries.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/random.h"
#include "io/error_text.h"
#include "providers/tools_file.h"
#include "router/entry.h"

/* Newer than every add-in: the file's words count before all. */
#define ENTRIES_FILE_SERIAL UINT64_MAX

/* The index of one description while it is checked, and its schemas' strings. */
#define ENTRIES_SCRATCH_BYTES (TOOLS_FILE_MAX_BYTES * 24)

/* The kinds that there are. */
static const RouterKind entries_kinds[] = {ROUTER_TOOL, ROUTER_RESOURCE};

int addin_entries_init(AddinEntries *entries, Router *router, const CallProvider *tools,
                       const CallProvider *resources, void *owner, const LogSink *log)
{
    uint8_t random[16];
    int r = random_fill(random, sizeof(random));

    *entries = ADDIN_ENTRIES_NULL;
    if (r != 0) {
        return err_pass(r);
    }
    entries->router = router;
    entries->provider[ROUTER_TOOL] = tools;
    entries->provider[ROUTER_RESOURCE] = resources;
    entries->owner = owner;
    entries->log = log;
    for (size_t i = 0; i < TW_ARRAY_SIZE(entries_kinds); i++) {
        map_init(&entries->by_key[entries_kinds[i]], hash_seed_from(random), LIMIT_ROUTER_ENTRIES);
    }
    return 0;
}

/* ---- entries ---- */

static const char *entry_kind_name(const AddinEntry *entry)
{
    return entry->kind == ROUTER_TOOL ? "tool" : "resource";
}

static void entry_unref(AddinEntry *entry)
{
    if (--entry->n_refs == 0) {
        (void)mem_free(entry);
    }
}

static void entry_on_release(void *context)
{
    entry_unref(context);
}

/* Finds it, or makes it. 0, -ENOMEM, ADDIN_ENTRIES_E_FULL. */
static int entries_get(AddinEntries *entries, RouterKind kind, Span key, AddinEntry **ret)
{
    AddinEntry *entry = map_get(&entries->by_key[kind], key);
    int r;

    if (entry == NULL) {
        /* Part of a message, or of a file, that is bounded. */
        entry = mem_alloc(sizeof(*entry) + key.n);
        if (entry == NULL) {
            return err_raise(-ENOMEM);
        }
        *entry = (AddinEntry){.owner = entries->owner,
                              .kind = kind,
                              .key = span_make(entry->text, key.n),
                              .n_refs = 1};
        memcpy(entry->text, key.p, key.n);
        r = map_add(&entries->by_key[kind], entry->key, entry);
        if (r != 0) {
            (void)mem_free(entry);
            return r == MAP_E_FULL ? ADDIN_ENTRIES_E_FULL : err_fold(r);
        }
    }
    *ret = entry;
    return 0;
}

/* Nobody offers it any more. */
static void entries_drop_unused(AddinEntries *entries, AddinEntry *entry)
{
    if (entry->offers == NULL) {
        (void)map_remove(&entries->by_key[entry->kind], entry->key);
        entry_unref(entry);
    }
}

/* ---- what the router has of them ---- */

static RouterSpec entry_spec(const AddinEntries *entries, AddinEntry *entry,
                             const AddinOffer *offer)
{
    return (RouterSpec){.kind = entry->kind,
                        .json = offer->json,
                        .provider = entries->provider[entry->kind],
                        .context = entry,
                        .timeout_ms = offer->timeout_ms,
                        .release = entry_on_release};
}

static void entry_hide(AddinEntries *entries, AddinEntry *entry)
{
    if (entry->shown != NULL) {
        entry->shown = NULL;
        (void)router_remove(entries->router, entry->kind, entry->key);
    }
}

/* 0, -ENOMEM, ROUTER_E_*. */
static int entry_show(AddinEntries *entries, AddinEntry *entry, AddinOffer *offer, Diag *reterr_why)
{
    RouterSpec spec = entry_spec(entries, entry, offer);
    int r;

    entry->n_refs++;
    r = router_add(entries->router, &spec, reterr_why);
    if (r != 0) {
        entry->n_refs--;
        return r;
    }
    entry->shown = offer;
    entry->is_said = false;
    return 0;
}

/* Would the router take it? Asked before something makes place for it, so that nothing moves in the
 * list for the sake of a bad description. 0, -ENOMEM, ROUTER_E_MALFORMED. */
static int entry_check(const AddinEntries *entries, AddinEntry *entry, const AddinOffer *offer,
                       Diag *reterr_why)
{
    CLEANUP(arena_deinit) Arena scratch = ARENA_NULL;
    RouterSpec spec = entry_spec(entries, entry, offer);
    RouterEntry *checked = NULL;
    int r;

    arena_init(&scratch, ENTRIES_SCRATCH_BYTES);
    r = router_entry_new(&checked, &spec, &scratch, reterr_why);
    if (r == 0) {
        (void)router_entry_free(checked);
    }
    return r;
}

static AddinOffer *entry_best(const AddinEntry *entry)
{
    AddinOffer *offer = entry->offers;

    while (offer != NULL && offer->is_bad) {
        offer = offer->next;
    }
    return offer;
}

static bool offer_is_same(const AddinOffer *a, const AddinOffer *b)
{
    return a == b || (a->timeout_ms == b->timeout_ms && span_equals(a->json, b->json));
}

static void entries_say_bad(const AddinEntries *entries, const AddinEntry *entry,
                            const AddinOffer *offer, const Diag *why)
{
    logsink_write(entries->log, LOGSINK_LEVEL_WARN, "pipe",
                  "%s: its description of the %s \"%.*s\" is left out: %s", offer->name,
                  entry_kind_name(entry), (int)entry->key.n, entry->key.p, why->message);
}

/* Makes the router show the first offer that it takes, if that is not so already. In the end what
 * is shown is one of the entry's offers, or nothing. 0 (also if there are no offers), -ENOMEM,
 * ROUTER_E_* of the last one tried. */
static int entry_settle(AddinEntries *entries, AddinEntry *entry, Diag *reterr_why)
{
    AddinOffer *best;
    int r = 0;

    while (!entries->is_over && (best = entry_best(entry)) != NULL) {
        r = 0;
        if (entry->shown != NULL && offer_is_same(entry->shown, best)) {
            entry->shown = best;
            return 0;
        }
        if (entry->shown != NULL) {
            r = entry_check(entries, entry, best, reterr_why);
        }
        if (r != ROUTER_E_MALFORMED) {
            entry_hide(entries, entry);
        }
        if (r == 0) {
            r = entry_show(entries, entry, best, reterr_why);
        }
        if (r != ROUTER_E_MALFORMED) {
            return r;
        }
        best->is_bad = true;
        entries_say_bad(entries, entry, best, reterr_why);
    }
    entry_hide(entries, entry);
    return r;
}

/* The same, for what add-ins offer: what finds no place is left out for now. */
static void entry_settle_or_leave_out(AddinEntries *entries, AddinEntry *entry)
{
    Diag why = DIAG_NULL;
    int r = entry_settle(entries, entry, &why);

    if (r == 0 || r == ROUTER_E_MALFORMED) {
        return;
    }
    entries->has_left_out = true;
    if (!entry->is_said) {
        entry->is_said = true;
        logsink_write(entries->log, LOGSINK_LEVEL_WARN, "pipe",
                      "the %s \"%.*s\" of %s is left out: %s", entry_kind_name(entry),
                      (int)entry->key.n, entry->key.p, entry_best(entry)->name,
                      r < 0                  ? io_error_text(-r)
                      : r == ROUTER_E_EXISTS ? "another provider has that name"
                                             : "there are too many");
    }
}

/* What found no place before may find one now. */
static void entries_try_left_out(AddinEntries *entries)
{
    entries->has_left_out = false;
    for (size_t i = 0; i < TW_ARRAY_SIZE(entries_kinds); i++) {
        size_t cursor = 0;
        void *value;
        Span key;

        while (map_next(&entries->by_key[entries_kinds[i]], &cursor, &key, &value)) {
            AddinEntry *entry = value;

            if (entry->shown == NULL && entry_best(entry) != NULL) {
                entry_settle_or_leave_out(entries, entry);
            }
        }
    }
}

void addin_entries_begin(AddinEntries *entries)
{
    router_batch_begin(entries->router);
}

void addin_entries_end(AddinEntries *entries)
{
    if (entries->has_left_out) {
        entries_try_left_out(entries);
    }
    router_batch_end(entries->router);
}

/* ---- offers ---- */

/* NULL if there is no memory. */
static AddinOffer *offer_new(const AddinDescription *description, AddinEntry *entry)
{
    AddinOffer *offer = mem_alloc(sizeof(*offer) + description->json.n);

    if (offer == NULL) {
        return NULL;
    }
    *offer = (AddinOffer){.entry = entry,
                          .timeout_ms = description->timeout_ms,
                          .json = span_make(offer->text, description->json.n)};
    memcpy(offer->text, description->json.p, description->json.n);
    return offer;
}

/* By age. False if that owner has one already. */
static bool entry_link(AddinEntry *entry, AddinOffer *offer)
{
    AddinOffer **at = &entry->offers;

    while (*at != NULL && (*at)->serial > offer->serial) {
        at = &(*at)->next;
    }
    if (*at != NULL && (*at)->serial == offer->serial) {
        return false;
    }
    offer->next = *at;
    *at = offer;
    return true;
}

static void entry_unlink(AddinEntry *entry, const AddinOffer *offer)
{
    AddinOffer **at = &entry->offers;

    while (*at != offer) {
        at = &(*at)->next;
    }
    *at = offer->next;
}

int addin_entries_offer(AddinEntries *entries, AddinOffers *offers,
                        const AddinDescription *description)
{
    AddinEntry *entry = NULL;
    AddinOffer *offer;
    int r;

    if (offers->n >= ADDIN_MAX_OFFERS) {
        return ADDIN_ENTRIES_E_FULL;
    }
    r = entries_get(entries, description->kind, description->key, &entry);
    if (r != 0) {
        return r > 0 ? ADDIN_ENTRIES_E_FULL : err_pass(r);
    }
    offer = offer_new(description, entry);
    if (offer == NULL) {
        entries_drop_unused(entries, entry);
        return err_raise(-ENOMEM);
    }
    offer->owner = offers->owner;
    offer->name = offers->name;
    offer->serial = offers->serial;
    if (!entry_link(entry, offer)) {
        (void)mem_free(offer);
        return ADDIN_ENTRIES_E_TWICE;
    }
    offer->sibling = offers->first;
    offers->first = offer;
    offers->n++;
    entry_settle_or_leave_out(entries, entry);
    return 0;
}

/* The offers were put in from the first to the last, and are withdrawn from the last to the first,
 * which is also what costs the router least. */
void addin_entries_withdraw(AddinEntries *entries, AddinOffers *offers)
{
    AddinOffer *offer;

    if (offers->first == NULL) {
        return;
    }
    addin_entries_begin(entries);
    while ((offer = offers->first) != NULL) {
        AddinEntry *entry = offer->entry;

        offers->first = offer->sibling;
        entry_unlink(entry, offer);
        /* Still there to be compared with. */
        entry_settle_or_leave_out(entries, entry);
        (void)mem_free(offer);
        entries_drop_unused(entries, entry);
    }
    offers->n = 0;
    addin_entries_end(entries);
}

bool addin_entry_is_in_file(const AddinEntry *entry)
{
    return entry->offers != NULL && entry->offers->serial == ENTRIES_FILE_SERIAL;
}

AddinOffer *addin_entry_offers(const AddinEntry *entry)
{
    return addin_entry_is_in_file(entry) ? entry->offers->next : entry->offers;
}

/* ---- the file ---- */

/* 0, -ENOMEM, ROUTER_E_*. */
static int entries_add_from_file(AddinEntries *entries, const char *path, const ToolsFileTool *tool,
                                 Diag *reterr_why)
{
    AddinDescription description = {
        .kind = ROUTER_TOOL, .key = tool->name, .json = tool->json, .timeout_ms = tool->timeout_ms};
    AddinEntry *entry = NULL;
    AddinOffer *offer;
    int r = entries_get(entries, ROUTER_TOOL, tool->name, &entry);

    if (r != 0) {
        return r > 0 ? ROUTER_E_FULL : err_pass(r);
    }
    offer = offer_new(&description, entry);
    if (offer == NULL) {
        entries_drop_unused(entries, entry);
        return err_raise(-ENOMEM);
    }
    offer->name = path;
    offer->serial = ENTRIES_FILE_SERIAL;
    /* The file's own names differ, and nobody else is here yet. */
    (void)entry_link(entry, offer);
    return entry_show(entries, entry, offer, reterr_why);
}

int addin_entries_load(AddinEntries *entries, const char *path, Diag *reterr_diag)
{
    CLEANUP(tools_file_deinit) ToolsFile file = TOOLS_FILE_NULL;
    int r = tools_file_load(&file, path, reterr_diag);

    if (r != 0) {
        return r > 0 ? ADDIN_ENTRIES_E_FILE : err_pass(r);
    }
    router_batch_begin(entries->router);
    for (size_t i = 0; r == 0 && i < file.n_tools; i++) {
        Diag why = DIAG_NULL;

        r = entries_add_from_file(entries, "the tools file", &file.tools[i], &why);
        if (r > 0) {
            (void)tools_file_blame_entry(&file, i, r, &why, reterr_diag);
        }
    }
    if (r != 0) {
        addin_entries_hide(entries);
    }
    router_batch_end(entries->router);
    return r > 0 ? ADDIN_ENTRIES_E_FILE : err_pass(r);
}

/* ---- the end ---- */

void addin_entries_hide(AddinEntries *entries)
{
    if (entries->router == NULL) {
        return;
    }
    entries->is_over = true;
    router_batch_begin(entries->router);
    for (size_t i = 0; i < TW_ARRAY_SIZE(entries_kinds); i++) {
        size_t cursor = 0;
        void *value;
        Span key;

        while (map_next(&entries->by_key[entries_kinds[i]], &cursor, &key, &value)) {
            entry_hide(entries, value);
        }
    }
    router_batch_end(entries->router);
}

void addin_entries_deinit(AddinEntries *entries)
{
    addin_entries_hide(entries);
    for (size_t i = 0; i < TW_ARRAY_SIZE(entries_kinds); i++) {
        Map *map = &entries->by_key[entries_kinds[i]];
        size_t cursor = 0;
        void *value;
        Span key;

        while (map_next(map, &cursor, &key, &value)) {
            AddinEntry *entry = value;

            entry->offers = mem_free(entry->offers); /* the file's, and the last */
            entry_unref(entry);
        }
        map_deinit(map);
    }
    *entries = ADDIN_ENTRIES_NULL;
}

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

/* What an entry costs in a slice besides its description: to find, hide and free it. */
#define ENTRIES_STEP_COST ((size_t)256)

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

/* Nobody offers it any more, and the router has been told. */
static void entries_drop_unused(AddinEntries *entries, AddinEntry *entry)
{
    if (entry->offers == NULL && !entry->is_due) {
        (void)map_remove(&entries->by_key[entry->kind], entry->key);
        entry_unref(entry);
    }
}

static void entries_mark_due(AddinEntries *entries, AddinEntry *entry)
{
    if (entry->is_due || entries->is_over) {
        return;
    }
    entry->is_due = true;
    entry->next_due = NULL;
    if (entries->due != NULL) {
        entries->last_due->next_due = entry;
    } else {
        entries->due = entry;
    }
    entries->last_due = entry;
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
                        .is_command = offer->is_command,
                        .is_guarded = offer->is_guarded,
                        .release = entry_on_release};
}

static void entry_set_shown(AddinEntry *entry, AddinOffer *offer)
{
    AddinOffer *before = entry->shown;

    entry->shown = offer;
    if (before != NULL && before->is_gone) {
        (void)mem_free(before);
    }
}

static void entry_hide(AddinEntries *entries, AddinEntry *entry)
{
    if (entry->shown != NULL) {
        entry_set_shown(entry, NULL);
        (void)router_remove(entries->router, entry->kind, entry->key);
    }
}

/* What can be known without compiling anything: thousands that find no place are tried again with
 * every change. 0, ROUTER_E_EXISTS, ROUTER_E_FULL. */
static int entry_find_place(const AddinEntries *entries, const AddinEntry *entry)
{
    if (entry->kind == ROUTER_TOOL && router_has_tool(entries->router, entry->key)) {
        return ROUTER_E_EXISTS;
    }
    return router_count(entries->router, entry->kind) >= LIMIT_ROUTER_ENTRIES ? ROUTER_E_FULL : 0;
}

/* 0, -ENOMEM, ROUTER_E_*. */
static int entry_show(AddinEntries *entries, AddinEntry *entry, AddinOffer *offer, Diag *reterr_why)
{
    RouterSpec spec = entry_spec(entries, entry, offer);
    int r;

    entries->cost += offer->json.n;
    entry->n_refs++;
    r = router_add(entries->router, &spec, reterr_why);
    if (r != 0) {
        entry->n_refs--;
        return r;
    }
    entry_set_shown(entry, offer);
    offer->is_good = true;
    entry->is_said = false;
    return 0;
}

/* Would the router take it? Asked before something makes place for it, so that nothing moves in the
 * list for the sake of a bad description. 0, -ENOMEM, ROUTER_E_MALFORMED. */
static int entry_check(AddinEntries *entries, AddinEntry *entry, AddinOffer *offer,
                       Diag *reterr_why)
{
    CLEANUP(arena_deinit) Arena scratch = ARENA_NULL;
    RouterSpec spec = entry_spec(entries, entry, offer);
    RouterEntry *checked = NULL;
    int r;

    entries->cost += offer->json.n;
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

bool addin_offers_may_say(AddinOffers *offers)
{
    if (offers->n_said < ADDIN_MAX_SAID) {
        offers->n_said++;
        return true;
    }
    offers->n_unsaid++;
    return false;
}

static void entries_note_bad(const AddinEntries *entries, const AddinEntry *entry,
                             AddinOffer *offer, const Diag *why)
{
    offer->is_bad = true;
    if (offer->of == NULL) {
        return; /* the file's was taken before all else */
    }
    offer->of->n_bad++;
    if (addin_offers_may_say(offer->of)) {
        logsink_write(entries->log, LOGSINK_LEVEL_WARN, "pipe",
                      "%s: its description of the %s \"%.*s\" is left out: %s", offer->name,
                      entry_kind_name(entry), (int)entry->key.n, entry->key.p, why->message);
    }
}

/* Shows it in place of what is shown. What another one there still describes gives way only to what
 * the router takes; what one left who has gone goes in any case. 0, -ENOMEM, ROUTER_E_*; nothing is
 * shown then, or, with ROUTER_E_MALFORMED, what was. */
static int entry_replace(AddinEntries *entries, AddinEntry *entry, AddinOffer *offer,
                         Diag *reterr_why)
{
    int r = 0;

    if (entry->shown != NULL && !entry->shown->is_gone && !offer->is_good) {
        r = entry_check(entries, entry, offer, reterr_why);
    }
    if (r == ROUTER_E_MALFORMED) {
        return r;
    }
    entry_hide(entries, entry);
    if (r == 0) {
        r = entry_find_place(entries, entry);
    }
    return r != 0 ? r : entry_show(entries, entry, offer, reterr_why);
}

/* Makes the router show the first offer that it takes, if that is not so already. In the end what
 * is shown is one of the entry's offers, or nothing. 0 (also if there are no offers), -ENOMEM,
 * ROUTER_E_* of the last one tried. */
static int entry_settle(AddinEntries *entries, AddinEntry *entry, Diag *reterr_why)
{
    AddinOffer *best;
    int r = 0;

    while ((best = entry_best(entry)) != NULL) {
        if (entry->shown != NULL && offer_is_same(entry->shown, best)) {
            if (entry->shown != best) {
                entry_set_shown(entry, best);
            }
            best->is_good = true;
            return 0;
        }
        r = entry_replace(entries, entry, best, reterr_why);
        if (r != ROUTER_E_MALFORMED) {
            return r;
        }
        entries_note_bad(entries, entry, best, reterr_why);
    }
    entry_hide(entries, entry);
    return r;
}

/* The same, for what add-ins offer: what finds no place is left out for now. */
static void entry_settle_or_leave_out(AddinEntries *entries, AddinEntry *entry)
{
    Diag why = DIAG_NULL;
    int r = entry_settle(entries, entry, &why);
    const AddinOffer *best = entry_best(entry);

    if (r == 0 || r == ROUTER_E_MALFORMED || best == NULL) {
        return;
    }
    entries->has_left_out = true;
    if (!entry->is_said) {
        entry->is_said = true;
        if (best->of == NULL || addin_offers_may_say(best->of)) {
            logsink_write(entries->log, LOGSINK_LEVEL_WARN, "pipe",
                          "the %s \"%.*s\" of %s is left out: %s", entry_kind_name(entry),
                          (int)entry->key.n, entry->key.p, best->name,
                          r < 0                  ? io_error_text(-r)
                          : r == ROUTER_E_EXISTS ? "another provider has that name"
                                                 : "there are too many");
        }
    }
}

static void entry_note_settled(AddinEntry *entry)
{
    for (AddinOffer *offer = entry->offers; offer != NULL; offer = offer->next) {
        if (offer->is_new) {
            offer->is_new = false;
            offer->of->n_new--;
        }
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
                entries_mark_due(entries, entry);
            }
        }
    }
}

bool addin_entries_are_due(const AddinEntries *entries)
{
    return entries->due != NULL;
}

bool addin_entries_settle(AddinEntries *entries, size_t max_cost)
{
    AddinEntry *entry;

    if (entries->due == NULL) {
        return false;
    }
    /* Behind what is due, which may make room for it. */
    if (entries->is_changed && entries->has_left_out) {
        entries_try_left_out(entries);
    }
    entries->is_changed = false;
    entries->cost = 0;
    router_batch_begin(entries->router);
    while (entries->cost < max_cost && (entry = entries->due) != NULL) {
        entries->due = entry->next_due;
        entry->is_due = false;
        entries->cost += ENTRIES_STEP_COST;
        entry_settle_or_leave_out(entries, entry);
        entry_note_settled(entry);
        entries_drop_unused(entries, entry);
    }
    router_batch_end(entries->router);
    return entries->due != NULL;
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
                          .is_command = description->is_command,
                          .is_guarded = description->is_guarded,
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

/* Is there room for it? 0, ADDIN_ENTRIES_E_FULL, ADDIN_ENTRIES_E_LARGE. */
static int entries_check_room(const AddinEntries *entries, const AddinOffers *offers, size_t n)
{
    if (n > ADDIN_MAX_ONE_BYTES || n > ADDIN_MAX_BYTES - offers->n_bytes) {
        return ADDIN_ENTRIES_E_LARGE;
    }
    return offers->n >= ADDIN_MAX_OFFERS || n > ADDIN_MAX_ALL_BYTES - entries->n_bytes
               ? ADDIN_ENTRIES_E_FULL
               : 0;
}

int addin_entries_offer(AddinEntries *entries, AddinOffers *offers,
                        const AddinDescription *description)
{
    AddinEntry *entry = NULL;
    AddinOffer *offer;
    int r = entries_check_room(entries, offers, description->json.n);

    if (r != 0) {
        return r;
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
    offer->of = offers;
    offer->owner = offers->owner;
    offer->name = offers->name;
    offer->serial = offers->serial;
    if (!entry_link(entry, offer)) {
        (void)mem_free(offer);
        return ADDIN_ENTRIES_E_TWICE;
    }
    offer->is_new = true;
    offer->sibling = offers->first;
    offers->first = offer;
    offers->n++;
    offers->n_new++;
    offers->n_bytes += offer->json.n;
    entries->n_bytes += offer->json.n;
    entries->is_changed = true;
    entries_mark_due(entries, entry);
    return 0;
}

void addin_entries_withdraw(AddinEntries *entries, AddinOffers *offers)
{
    AddinOffer *offer;

    while ((offer = offers->first) != NULL) {
        AddinEntry *entry = offer->entry;

        offers->first = offer->sibling;
        entry_unlink(entry, offer);
        entries->is_changed = true;
        entries_mark_due(entries, entry);
        if (entry->shown == offer) {
            offer->is_gone = true;
            offer->of = NULL;
        } else {
            (void)mem_free(offer);
        }
    }
    entries->n_bytes -= offers->n_bytes;
    offers->n = 0;
    offers->n_bytes = 0;
    offers->n_new = 0;
    offers->n_bad = 0;
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
    int r = tools_file_load_pipe(&file, path, reterr_diag);

    if (r != 0) {
        return r > 0 ? ADDIN_ENTRIES_E_FILE : err_pass(r);
    }
    if (file.unknown[0] != '\0') {
        logsink_write(entries->log, LOGSINK_LEVEL_WARN, "pipe",
                      "%s: members that mean nothing here are ignored: %s", path, file.unknown);
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
    entries->due = NULL;
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

/* router/entry.h: one thing to be called: its description, checked and compiled. Thread: loop. */
#pragma once

#include "base/arena.h"
#include "base/diag.h"
#include "base/span.h"
#include "router/router.h"
#include "router/uritemplate.h"
#include "json/json.h"
#include "json/schema/schema.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct RouterEntry {
    RouterKind kind;
    const CallProvider *provider;
    void *context;
    int (*describe)(void *context, Span name, Bytes *out); /* or NULL */
    void (*release)(void *context);
    int64_t timeout_ms;
    RouterLater later;
    bool is_command;
    bool is_guarded;
    bool can_undo;
    bool is_relayed;
    bool is_about_all;
    bool completes;
    bool subscribes;
    Span prefix;

    uint64_t serial; /* grows from one addition to the next: what cursors name */
    char *text;      /* the description, compact; owned, as all below; NULL: not made yet */
    JsonNode *nodes;
    char *key; /* name, URI or URI template, decoded */
    size_t n_key;
    Schema *input;  /* tool; NULL: not compiled yet */
    Schema *output; /* tool; NULL if it has none */
    UriTemplate *template;
    JsonValue arguments; /* prompt: the array; node NULL if it has none */

    /* The registry's one while it is there, and one for each running call. */
    size_t n_refs;
};

/* Checks and copies what spec says; uses scratch and does not reset it. With one reference, which
 * the caller has. 0, -ENOMEM, ROUTER_E_MALFORMED. Gives *ret. */
int router_entry_new(RouterEntry **ret, const RouterSpec *spec, Arena *scratch, Diag *reterr_diag);

/* Makes the description if there is none yet; and, for a call, compiles its schemas, too. Use
 * scratch and do not reset it. 0; a negative errno, ROUTER_E_MALFORMED: then entry is as it was. */
int router_entry_describe(RouterEntry *entry, Arena *scratch);
int router_entry_prepare(RouterEntry *entry, Arena *scratch);

RouterEntry *router_entry_ref(RouterEntry *entry);

/* The last one releases the provider's context. entry may be NULL. Returns NULL. */
RouterEntry *router_entry_unref(RouterEntry *entry);

/* Without the release: for an entry that was never put in. */
RouterEntry *router_entry_free(RouterEntry *entry);

TW_INLINE JsonValue router_entry_description(const RouterEntry *entry)
{
    return (JsonValue){entry->text, entry->nodes};
}

TW_INLINE Span router_entry_key(const RouterEntry *entry)
{
    return span_make(entry->key, entry->n_key);
}

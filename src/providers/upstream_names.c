#include "providers/upstream_names.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/map.h"

/* "_" and eight digits. */
#define NAMES_SUFFIX 9

bool upstream_name_matches(const char *pattern, Span name)
{
    const char *star = NULL;
    size_t star_at = 0;
    size_t i = 0;

    while (i < name.n) {
        if (*pattern == '*') {
            star = ++pattern;
            star_at = i;
        } else if (*pattern != '\0' && (*pattern == '?' || *pattern == name.p[i])) {
            pattern++;
            i++;
        } else if (star != NULL) {
            pattern = star;
            i = ++star_at;
        } else {
            return false;
        }
    }
    while (*pattern == '*') {
        pattern++;
    }
    return *pattern == '\0';
}

static bool names_is_legal(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '/' || c == '-';
}

/* Legal throughout; the same span if it was. p NULL: no memory. */
static Span names_legal(Arena *arena, Span name)
{
    size_t i = 0;
    char *copy;

    while (i < name.n && names_is_legal(name.p[i])) {
        i++;
    }
    if (i == name.n) {
        return name;
    }
    copy = arena_alloc(arena, name.n);
    for (i = 0; copy != NULL && i < name.n; i++) {
        copy[i] = names_is_legal(name.p[i]) ? name.p[i] : '_';
    }
    return span_make(copy, name.n);
}

/* server__tool, or with tool empty what all names of the server begin with. */
static Span names_join(Arena *arena, const UpstreamNamer *server, Span tool)
{
    Span prefix = names_legal(arena, server->prefix);
    Span separator = names_legal(arena, server->separator);
    size_t n = prefix.n + separator.n + tool.n;
    char *joined = arena_alloc(arena, n + 1);

    if (joined == NULL || prefix.p == NULL || (separator.p == NULL && separator.n > 0)) {
        return SPAN_NULL;
    }
    memcpy(joined, prefix.p, prefix.n);
    if (separator.n > 0) {
        memcpy(joined + prefix.n, separator.p, separator.n);
    }
    if (tool.n > 0) {
        memcpy(joined + prefix.n + separator.n, tool.p, tool.n);
    }
    return span_make(joined, n);
}

/* Cut to make room for a hash of what it stands for; the same in every run. */
static Span names_hash(Arena *arena, Span prefix, Span own, Span joined)
{
    static const HashSeed fixed = {.k0 = 0x746f6f6c77697265u, .k1 = 0x7570737472656d73u};
    size_t n = joined.n < UPSTREAM_NAME_BYTES - NAMES_SUFFIX ? joined.n
                                                             : UPSTREAM_NAME_BYTES - NAMES_SUFFIX;
    char *name = arena_alloc(arena, UPSTREAM_NAME_BYTES + 1);
    uint64_t hash = hash_span(fixed, prefix);

    if (name == NULL) {
        return SPAN_NULL;
    }
    hash = hash_span((HashSeed){.k0 = fixed.k0 ^ hash, .k1 = fixed.k1}, own);
    memcpy(name, joined.p, n);
    (void)snprintf(name + n, NAMES_SUFFIX + 1, "_%08x", (unsigned)(hash & 0xffffffffu));
    return span_make(name, n + NAMES_SUFFIX);
}

/* The three names that a tool may have. */
typedef struct Forms {
    Span plain;  /* legal; empty: too long */
    Span joined; /* empty: too long */
    Span hashed;
} Forms;

typedef struct Names {
    const UpstreamNaming *naming;
    UpstreamNamed *items;
    Forms *forms;
    Span *heads; /* of each server: what belongs to it */
    Map taken;   /* name → 1 + index of the item */
} Names;

static int names_make_forms(Names *names, size_t n, Arena *arena)
{
    for (size_t i = 0; i < names->naming->n_servers; i++) {
        names->heads[i] = names_join(arena, &names->naming->servers[i], SPAN_NULL);
        if (names->heads[i].p == NULL) {
            return err_raise(-ENOMEM);
        }
    }
    for (size_t i = 0; i < n; i++) {
        const UpstreamNamed *item = &names->items[i];
        const UpstreamNamer *server = &names->naming->servers[item->server];
        Span plain = names_legal(arena, item->own);
        Span joined = names_join(arena, server, plain);
        Span hashed =
            joined.p == NULL ? SPAN_NULL : names_hash(arena, server->prefix, item->own, joined);

        if ((plain.p == NULL && plain.n > 0) || hashed.p == NULL) {
            return err_raise(-ENOMEM);
        }
        names->forms[i] = (Forms){.plain = plain.n <= UPSTREAM_NAME_BYTES ? plain : SPAN_NULL,
                                  .joined = joined.n <= UPSTREAM_NAME_BYTES ? joined : SPAN_NULL,
                                  .hashed = hashed};
    }
    return 0;
}

/* Whose prefix the name begins with, if it is another server's; n_servers: nobody's. */
static size_t names_owner(const Names *names, const UpstreamNamed *item, Span name)
{
    const UpstreamNaming *naming = names->naming;
    Span mine = names->heads[item->server];
    size_t n_mine = span_starts_with(name, mine) ? mine.n : 0;

    for (size_t i = 0; i < naming->n_servers; i++) {
        if (i != item->server && naming->servers[i].separator.n > 0 &&
            naming->servers[i].prefixing != UPSTREAM_PREFIX_NEVER && names->heads[i].n > n_mine &&
            span_starts_with(name, names->heads[i])) {
            return i;
        }
    }
    return naming->n_servers;
}

/* Gives the name to the item, if it is free. */
static int names_give(Names *names, size_t i, Span name)
{
    int r;

    if (name.n == 0 || names->naming->is_taken(names->naming->context, name)) {
        return 0;
    }
    r = map_add(&names->taken, name, (void *)(uintptr_t)(i + 1));
    if (r == 0) {
        names->items[i].name = name;
    }
    return r < 0 ? err_pass(r) : 0; /* full: there is no room in the router either */
}

/* What it was called before, if it may still be called so. */
static int names_give_held(Names *names, size_t i)
{
    const UpstreamNamed *item = &names->items[i];
    const Forms *forms = &names->forms[i];
    UpstreamPrefix prefixing = names->naming->servers[item->server].prefixing;

    if (item->held.n == 0 || prefixing == UPSTREAM_PREFIX_ALWAYS) {
        return 0;
    }
    if (span_equals(item->held, forms->plain)) {
        return names_owner(names, item, forms->plain) < names->naming->n_servers
                   ? 0
                   : names_give(names, i, forms->plain);
    }
    if (prefixing == UPSTREAM_PREFIX_NEVER) {
        return 0;
    }
    return span_equals(item->held, forms->joined)   ? names_give(names, i, forms->joined)
           : span_equals(item->held, forms->hashed) ? names_give(names, i, forms->hashed)
                                                    : 0;
}

static int names_give_plain(Names *names, size_t i)
{
    const UpstreamNaming *naming = names->naming;
    UpstreamNamed *item = &names->items[i];
    Span plain = names->forms[i].plain;
    size_t owner = names_owner(names, item, plain);
    void *value = NULL;
    int r;

    if (plain.n == 0) {
        return 0;
    }
    if (owner < naming->n_servers) {
        item->clashes = true;
        item->is_theirs = true;
        item->rival = naming->servers[owner].server;
        return 0;
    }
    r = names_give(names, i, plain);
    if (r == 0 && item->name.n == 0) {
        item->clashes = true;
        if (map_find(&names->taken, plain, &value)) {
            item->rival = naming->servers[names->items[(uintptr_t)value - 1].server].server;
        }
    }
    return r;
}

/* It is new. */
static int names_give_new(Names *names, size_t i)
{
    UpstreamNamed *item = &names->items[i];
    UpstreamPrefix prefixing = names->naming->servers[item->server].prefixing;
    int r = prefixing == UPSTREAM_PREFIX_ALWAYS ? 0 : names_give_plain(names, i);

    if (r == 0 && item->name.n == 0 && prefixing != UPSTREAM_PREFIX_NEVER) {
        r = names_give(names, i, names->forms[i].joined);
        if (r == 0 && item->name.n == 0) {
            r = names_give(names, i, names->forms[i].hashed);
        }
    }
    return r;
}

/* In which round a new one has its turn. */
static int names_round(const Names *names, size_t i)
{
    const UpstreamNamed *item = &names->items[i];

    return names->naming->servers[item->server].prefixing == UPSTREAM_PREFIX_NEVER ? 0
           : span_equals(item->own, names->forms[i].plain)                         ? 1
                                                                                   : 2;
}

static int names_give_all(Names *names, size_t n)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < n; i++) {
        r = names_give_held(names, i);
    }
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; r == 0 && i < n; i++) {
            if (names->items[i].name.n == 0 && !names->items[i].is_absent &&
                names_round(names, i) == round) {
                r = names_give_new(names, i);
            }
        }
    }
    return r;
}

int upstream_names_make(const UpstreamNaming *naming, UpstreamNamed *items, size_t n, Arena *arena)
{
    Names names = {.naming = naming, .items = items};
    int r = 0;

    if (n == 0) {
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        items[i].name = SPAN_NULL;
        items[i].clashes = false;
        items[i].rival = SPAN_NULL;
        items[i].is_theirs = false;
    }
    map_init(&names.taken, naming->seed, LIMIT_ROUTER_ENTRIES);
    names.forms = arena_alloc_array(arena, n, sizeof(*names.forms));
    names.heads = arena_alloc_array(arena, naming->n_servers, sizeof(*names.heads));
    if (names.forms == NULL || names.heads == NULL) {
        r = err_raise(-ENOMEM);
    }
    r = r != 0 ? r : names_make_forms(&names, n, arena);
    r = r != 0 ? r : names_give_all(&names, n);
    map_deinit(&names.taken);
    return r;
}

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

/* server__tool */
static Span names_join(Arena *arena, const UpstreamNamed *item, Span tool)
{
    Span server = names_legal(arena, item->server);
    Span separator = names_legal(arena, item->separator);
    size_t n = server.n + separator.n + tool.n;
    char *joined = arena_alloc(arena, n + 1);

    if (joined == NULL || server.p == NULL || separator.p == NULL) {
        return SPAN_NULL;
    }
    memcpy(joined, server.p, server.n);
    memcpy(joined + server.n, separator.p, separator.n);
    memcpy(joined + server.n + separator.n, tool.p, tool.n);
    return span_make(joined, n);
}

/* Cut to make room for a hash of what it stands for; the same in every run. */
static Span names_hash(Arena *arena, const UpstreamNamed *item, Span joined)
{
    static const HashSeed fixed = {.k0 = 0x746f6f6c77697265u, .k1 = 0x7570737472656d73u};
    size_t n = joined.n < UPSTREAM_NAME_BYTES - NAMES_SUFFIX ? joined.n
                                                             : UPSTREAM_NAME_BYTES - NAMES_SUFFIX;
    char *name = arena_alloc(arena, UPSTREAM_NAME_BYTES + 1);
    uint64_t hash = hash_span(fixed, item->server);

    if (name == NULL) {
        return SPAN_NULL;
    }
    hash = hash_span((HashSeed){.k0 = fixed.k0 ^ hash, .k1 = fixed.k1}, item->own);
    memcpy(name, joined.p, n);
    (void)snprintf(name + n, NAMES_SUFFIX + 1, "_%08x", (unsigned)(hash & 0xffffffffu));
    return span_make(name, n + NAMES_SUFFIX);
}

/* The names that were thought of, and how many think of each. */
typedef struct Candidates {
    Map map;
} Candidates;

static int candidates_count(Candidates *candidates, Span name)
{
    void *value = NULL;
    int r;

    if (map_find(&candidates->map, name, &value)) {
        (void)map_replace(&candidates->map, name, (void *)((uintptr_t)value + 1));
        return 0;
    }
    r = map_add(&candidates->map, name, (void *)(uintptr_t)1);
    return r < 0 ? err_pass(r) : 0; /* full: there is no room in the router either */
}

static size_t candidates_of(const Candidates *candidates, Span name)
{
    return (size_t)(uintptr_t)map_get(&candidates->map, name);
}

typedef struct Naming {
    Candidates plain;
    Candidates firm; /* of the plain ones: those that take no other */
    Candidates joined;
    Span *tools; /* legal */
    Span *prefixed;
    bool (*is_taken)(void *context, Span name);
    void *context;
    Arena *arena;
} Naming;

static bool naming_wants_plain(const UpstreamNamed *item, Span tool)
{
    return item->prefixing != UPSTREAM_PREFIX_ALWAYS && tool.n > 0 && tool.n <= UPSTREAM_NAME_BYTES;
}

static int naming_collect(Naming *naming, const UpstreamNamed *items, size_t n)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < n; i++) {
        naming->tools[i] = names_legal(naming->arena, items[i].own);
        naming->prefixed[i] = names_join(naming->arena, &items[i], naming->tools[i]);
        if (naming->prefixed[i].p == NULL || (naming->tools[i].p == NULL && items[i].own.n > 0)) {
            return err_raise(-ENOMEM);
        }
        if (naming_wants_plain(&items[i], naming->tools[i])) {
            r = candidates_count(&naming->plain, naming->tools[i]);
            if (r == 0 && items[i].prefixing == UPSTREAM_PREFIX_NEVER) {
                r = candidates_count(&naming->firm, naming->tools[i]);
            }
        }
        r = r != 0 ? r : candidates_count(&naming->joined, naming->prefixed[i]);
    }
    return r;
}

static int naming_choose(const Naming *naming, UpstreamNamed *item, size_t i)
{
    Span tool = naming->tools[i];
    Span joined = naming->prefixed[i];

    item->name = SPAN_NULL;
    item->clashes = false;
    if (naming_wants_plain(item, tool)) {
        bool is_firm = item->prefixing == UPSTREAM_PREFIX_NEVER;

        item->clashes = candidates_of(is_firm ? &naming->firm : &naming->plain, tool) > 1 ||
                        naming->is_taken(naming->context, tool);
        if (!item->clashes) {
            item->name = tool;
            return 0;
        }
    }
    if (item->prefixing == UPSTREAM_PREFIX_NEVER) {
        return 0;
    }
    if (joined.n <= UPSTREAM_NAME_BYTES && candidates_of(&naming->joined, joined) == 1 &&
        candidates_of(&naming->plain, joined) == 0 && !naming->is_taken(naming->context, joined)) {
        item->name = joined;
        return 0;
    }
    item->name = names_hash(naming->arena, item, joined);
    return item->name.p == NULL ? err_raise(-ENOMEM) : 0;
}

int upstream_names_make(UpstreamNamed *items, size_t n, bool (*is_taken)(void *context, Span name),
                        void *context, HashSeed seed, Arena *arena)
{
    Naming naming = {.is_taken = is_taken, .context = context, .arena = arena};
    int r = 0;

    if (n == 0) {
        return 0;
    }
    map_init(&naming.plain.map, seed, LIMIT_ROUTER_ENTRIES);
    map_init(&naming.firm.map, seed, LIMIT_ROUTER_ENTRIES);
    map_init(&naming.joined.map, seed, LIMIT_ROUTER_ENTRIES);
    naming.tools = arena_alloc_array(arena, n, sizeof(*naming.tools));
    naming.prefixed = arena_alloc_array(arena, n, sizeof(*naming.prefixed));
    if (naming.tools == NULL || naming.prefixed == NULL) {
        r = err_raise(-ENOMEM);
    }
    r = r != 0 ? r : naming_collect(&naming, items, n);
    for (size_t i = 0; r == 0 && i < n; i++) {
        r = naming_choose(&naming, &items[i], i);
    }
    map_deinit(&naming.plain.map);
    map_deinit(&naming.firm.map);
    map_deinit(&naming.joined.map);
    return r;
}

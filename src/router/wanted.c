/* Which resources somebody wants to be told of. */
#include "router/router.h"

#include "base/limits.h"
#include "router/router_impl.h"
#include "router/uritemplate.h"

static void wanted_tell(const Router *router, Span uri, bool is_wanted)
{
    if (router->wanted_fn != NULL) {
        router->wanted_fn(router->wanted_context, uri, is_wanted);
    }
}

void router_want(Router *router, Span uri, bool is_wanted)
{
    uintptr_t n = (uintptr_t)map_get(&router->wanted, uri);

    if (n == 0) {
        if (is_wanted && map_add(&router->wanted, uri, (void *)(uintptr_t)1) == 0) {
            wanted_tell(router, uri, true);
        }
    } else if (is_wanted || n > 1) {
        (void)map_replace(&router->wanted, uri, (void *)(is_wanted ? n + 1 : n - 1));
    } else {
        (void)map_remove(&router->wanted, uri);
        wanted_tell(router, uri, false);
    }
}

void router_set_wanted(Router *router, void (*fn)(void *context, Span uri, bool is_wanted),
                       void *context)
{
    router->wanted_fn = fn;
    router->wanted_context = context;
}

bool router_next_wanted(const Router *router, size_t *cursor, Span *ret_uri)
{
    void *value;

    return map_next(&router->wanted, cursor, ret_uri, &value);
}

const RouterEntry *router_template_of(const Router *router, Span uri)
{
    const RouterTable *table = &router->tables[ROUTER_TEMPLATE];
    const RouterEntry *found = NULL;
    size_t steps = URITEMPLATE_STEPS;
    const CallVariable *variables;
    size_t n;
    Arena arena;

    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < table->n && found == NULL; i++) {
        if (uritemplate_match(table->entries[i]->template, uri, &steps, &arena, &variables, &n) ==
            0) {
            found = table->entries[i];
        }
    }
    arena_deinit(&arena);
    return found;
}

const CallProvider *router_subscriber(const Router *router, Span uri, void **ret_context)
{
    const RouterEntry *entry = map_get(&router->tables[ROUTER_RESOURCE].by_key, uri);

    entry = entry != NULL ? entry : router_template_of(router, uri);
    if (entry == NULL || !entry->subscribes) {
        return NULL;
    }
    *ret_context = entry->context;
    return entry->provider;
}

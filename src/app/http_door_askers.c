#include "app/http_door_internal.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"

static Span asker_key(const HttpGrant *grant)
{
    return span_make((const char *)&grant->id, sizeof(grant->id));
}

void http_askers_init(HttpAskers *askers, const RouterLimits *limits, bool has_credentials,
                      HashSeed seed)
{
    *askers = (HttpAskers){.has_credentials = has_credentials};
    if (limits != NULL) {
        askers->limits = *limits;
    }
    map_init(&askers->by_grant, seed, LIMIT_HTTP_ASKERS);
}

void http_askers_sweep(HttpAskers *askers)
{
    while (askers->dead != NULL) {
        HttpAsker *asker = askers->dead;

        askers->dead = asker->next_dead;
        mem_free(asker);
    }
}

void http_askers_deinit(HttpAskers *askers)
{
    size_t cursor = 0;
    void *value;
    Span key;

    while (map_next(&askers->by_grant, &cursor, &key, &value)) {
        (void)http_askers_unref(askers, value);
    }
    map_deinit(&askers->by_grant);
    http_askers_sweep(askers);
}

HttpAsker *http_asker_ref(HttpAsker *asker)
{
    asker->n_refs++;
    return asker;
}

HttpAsker *http_askers_unref(HttpAskers *askers, HttpAsker *asker)
{
    if (asker != NULL && --asker->n_refs == 0) {
        asker->next_dead = askers->dead;
        askers->dead = asker;
    }
    return NULL;
}

/* Forgets the one that has been known longest of those who have no connection and no session. What
 * it had used of its rate is forgotten with it. */
static void askers_forget_one(HttpAskers *askers)
{
    size_t cursor = 0;
    void *value;
    Span key;

    while (map_next(&askers->by_grant, &cursor, &key, &value)) {
        HttpAsker *asker = value;

        if (asker->n_refs == 1) {
            (void)map_remove(&askers->by_grant, key);
            (void)http_askers_unref(askers, asker);
            return;
        }
    }
}

/* Puts a new one into the table. One that finds no place, because all of them are in use, is served
 * without. 0, -ENOMEM. */
static int askers_keep(HttpAskers *askers, HttpAsker *asker)
{
    int r;

    if (askers->by_grant.n >= LIMIT_HTTP_ASKERS) {
        askers_forget_one(askers);
    }
    r = map_add(&askers->by_grant, asker_key(&asker->grant), asker);
    if (r == MAP_E_FULL) {
        return 0;
    }
    if (r != 0) {
        return err_fold(r);
    }
    asker->n_refs++;
    return 0;
}

int http_askers_get(HttpAskers *askers, const HttpGrant *grant, int64_t now_ms, HttpAsker **ret)
{
    HttpAsker *asker = NULL;
    int r;

    if (askers->has_credentials) {
        asker = map_get(&askers->by_grant, asker_key(grant));
    }
    if (asker != NULL) {
        *ret = http_asker_ref(asker);
        return 0;
    }
    asker = mem_alloc_array(1, sizeof(*asker));
    if (asker == NULL) {
        return err_raise(-ENOMEM);
    }
    *asker = (HttpAsker){.n_refs = 1, .grant = *grant};
    router_quota_init(&asker->quota, &askers->limits, now_ms);
    r = askers->has_credentials ? askers_keep(askers, asker) : 0;
    if (r != 0) {
        mem_free(asker);
        return err_pass(r);
    }
    *ret = asker;
    return 0;
}

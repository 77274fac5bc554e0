#include "queue/store_sqlite.h"

#include <string.h>

#include "base/limits.h"

void store_cache_clear(Store *store)
{
    for (size_t i = 0; i < STORE_CACHE_ROWS; i++) {
        store->cache[i].id = 0;
    }
    for (size_t i = 0; i < STORE_CACHE_SPECS; i++) {
        store->specs[i].id = 0;
    }
}

void store_ready_clear(Store *store)
{
    store->ready.n = 0;
    store->ready.next = 0;
}

void store_spec_added(Store *store, int64_t id, const QueueSpec *spec)
{
    const Span texts[7] = {spec->method,          spec->owner, spec->source, spec->rpc_id,
                           spec->idempotency_key, spec->note,  spec->params};
    StoreSpec *own = &store->specs[(uint64_t)id % STORE_CACHE_SPECS];
    size_t at = 0;

    own->id = 0;
    for (size_t i = 0; i < 7; i++) {
        if (texts[i].n > STORE_CACHE_SPEC_BYTES - at) {
            return;
        }
        if (texts[i].n > 0) {
            memcpy(own->text + at, texts[i].p, texts[i].n);
        }
        own->n[i] = (uint16_t)texts[i].n;
        at += texts[i].n;
    }
    own->id = id;
    own->is_idempotent = spec->is_idempotent;
    own->max_attempts = spec->max_attempts > 0 ? spec->max_attempts : LIMIT_QUEUE_ATTEMPTS;
    own->timeout_ms = store_time_ms(spec->timeout_ms);
    own->enqueued_us = store->now.stamp_us;
}

void store_spec_changed(Store *store, int64_t id)
{
    StoreSpec *own = &store->specs[(uint64_t)id % STORE_CACHE_SPECS];

    if (own->id == id) {
        own->id = 0;
    }
}

bool store_spec_find(const Store *store, int64_t id, Arena *arena, QueueJob *ret, bool *ret_fits)
{
    const StoreSpec *own = &store->specs[(uint64_t)id % STORE_CACHE_SPECS];
    Span *texts[7] = {&ret->method,          &ret->owner, &ret->source, &ret->rpc_id,
                      &ret->idempotency_key, &ret->note,  &ret->params};
    size_t n = 0;
    Span all;

    if (own->id != id) {
        return false;
    }
    for (size_t i = 0; i < 7; i++) {
        n += own->n[i];
    }
    all = arena_copy(arena, span_make(own->text, n));
    *ret_fits = all.p != NULL;
    for (size_t i = 0; *ret_fits && i < 7; i++) {
        *texts[i] = own->n[i] > 0 ? span_make(all.p, own->n[i]) : SPAN_NULL;
        all.p += own->n[i];
    }
    if (ret->params.n == 0) {
        ret->params = SPAN("{}");
    }
    ret->timeout_ms = own->timeout_ms;
    ret->max_attempts = own->max_attempts;
    ret->is_idempotent = own->is_idempotent;
    ret->enqueued_us = own->enqueued_us;
    return true;
}

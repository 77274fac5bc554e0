#include "app/watch.h"

#include <stdio.h>
#include <string.h>

#include "app/audit.h"
#include "app/watch_internal.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"

#define WATCH_US UINT64_C(1000)
#define WATCH_MS (1000 * WATCH_US)
#define WATCH_S  (1000 * WATCH_MS)

const WatchBound watch_bounds[WATCH_N_BOUNDS] = {
    {100 * WATCH_US, "0.0001"}, {250 * WATCH_US, "0.00025"}, {500 * WATCH_US, "0.0005"},
    {1 * WATCH_MS, "0.001"},    {2500 * WATCH_US, "0.0025"}, {5 * WATCH_MS, "0.005"},
    {10 * WATCH_MS, "0.01"},    {25 * WATCH_MS, "0.025"},    {50 * WATCH_MS, "0.05"},
    {100 * WATCH_MS, "0.1"},    {250 * WATCH_MS, "0.25"},    {500 * WATCH_MS, "0.5"},
    {1 * WATCH_S, "1"},         {2500 * WATCH_MS, "2.5"},    {5 * WATCH_S, "5"},
    {10 * WATCH_S, "10"},       {30 * WATCH_S, "30"},
};

struct Watch {
    RouterWatch hooks;
    Audit *audit;
    uint64_t n_audit_dropped;          /* by the records before this one */
    uint64_t (*now_ns)(void *context); /* NULL: the clock */
    void *clock_context;
    uint64_t began_ns;
    WatchSeries *recent; /* the one that was used last */
    size_t n;            /* in use; those of WATCH_OTHER are added like any other */
    WatchSeries series[LIMIT_WATCH_SERIES + WATCH_N_VERBS];
};

static uint64_t watch_now(const Watch *watch)
{
    return watch->now_ns != NULL ? watch->now_ns(watch->clock_context) : clock_monotonic_ns();
}

/* ---- series ---- */

static WatchVerb watch_verb_of(CallVerb verb)
{
    switch (verb) {
    case CALL_READ:
        return WATCH_READ;
    case CALL_PROMPT:
        return WATCH_PROMPT;
    case CALL_COMPLETE:
        return WATCH_COMPLETE;
    case CALL_SUBSCRIBE:
        return WATCH_SUBSCRIBE;
    case CALL_LIST_TOOLS:
    case CALL_LIST_RESOURCES:
    case CALL_LIST_TEMPLATES:
    case CALL_LIST_PROMPTS:
    case CALL_LIST_TASKS:
        return WATCH_LIST;
    case CALL_TASK_GET:
    case CALL_TASK_RESULT:
    case CALL_TASK_UPDATE:
    case CALL_TASK_CANCEL:
        return WATCH_TASK;
    case CALL_TOOL:
    case CALL_N_VERBS:
        break;
    }
    return WATCH_TOOL;
}

/* A name that is too long is the series of its beginning. */
static bool series_is(const WatchSeries *series, WatchVerb verb, const char *provider,
                      const char *dialect)
{
    return series->verb == verb && strncmp(series->provider, provider, WATCH_NAME_BYTES - 1) == 0 &&
           strncmp(series->dialect, dialect, WATCH_NAME_BYTES - 1) == 0;
}

static WatchSeries *watch_find(Watch *watch, WatchVerb verb, const char *provider,
                               const char *dialect)
{
    for (size_t i = 0; i < watch->n; i++) {
        if (series_is(&watch->series[i], verb, provider, dialect)) {
            return &watch->series[i];
        }
    }
    return NULL;
}

static WatchSeries *watch_add(Watch *watch, WatchVerb verb, const char *provider,
                              const char *dialect)
{
    WatchSeries *series = &watch->series[watch->n++];

    series->verb = verb;
    (void)snprintf(series->provider, sizeof(series->provider), "%.*s", WATCH_NAME_BYTES - 1,
                   provider);
    (void)snprintf(series->dialect, sizeof(series->dialect), "%.*s", WATCH_NAME_BYTES - 1, dialect);
    return series;
}

static WatchSeries *watch_get(Watch *watch, const Call *call)
{
    const char *provider = router_call_provider(call);
    const char *dialect = call->asker != NULL ? call->asker->dialect : "none";
    WatchVerb verb = watch_verb_of(call->verb);
    WatchSeries *series = watch->recent;

    if (series != NULL && series_is(series, verb, provider, dialect)) {
        return series;
    }
    series = watch_find(watch, verb, provider, dialect);
    if (series == NULL && watch->n >= LIMIT_WATCH_SERIES) {
        /* Each verb adds one of these at the most, for which there is room. */
        provider = WATCH_OTHER;
        dialect = WATCH_OTHER;
        series = watch_find(watch, verb, provider, dialect);
    }
    if (series == NULL) {
        series = watch_add(watch, verb, provider, dialect);
    }
    watch->recent = series;
    return series;
}

/* ---- a call ---- */

static WatchOutcome watch_outcome_of_error(CallError error)
{
    switch (error) {
    case CALL_ERROR_UNKNOWN_TOOL:
    case CALL_ERROR_UNKNOWN_PROMPT:
    case CALL_ERROR_UNKNOWN_RESOURCE:
    case CALL_ERROR_INVALID_ARGUMENTS:
    case CALL_ERROR_INVALID_CURSOR:
    case CALL_ERROR_RATE:
    case CALL_ERROR_BUSY:
        return WATCH_REFUSED;
    case CALL_ERROR_CANCELLED:
        return WATCH_CANCELLED;
    default:
        return WATCH_ERROR;
    }
}

static WatchOutcome watch_outcome_of(const CallResult *result)
{
    if (result == NULL) {
        return WATCH_CANCELLED;
    }
    switch (result->kind) {
    case CALL_RESULT_ERROR:
        return watch_outcome_of_error(result->error);
    case CALL_RESULT_ASK:
        return WATCH_ASKED;
    case CALL_RESULT_TOOL:
        return result->is_error ? WATCH_TOOL_ERROR : WATCH_OK;
    default:
        return WATCH_OK;
    }
}

static size_t watch_value_bytes(JsonValue value)
{
    return value.node != NULL ? json_span(value).n : 0;
}

static size_t watch_result_bytes(const CallResult *result)
{
    size_t n;

    if (result == NULL) {
        return 0;
    }
    n = result->structured.n + result->meta.n + result->members.n + result->beside.n +
        result->description.n + result->next_cursor.n + result->message.n + result->data.n;
    for (size_t i = 0; i < result->n_pieces; i++) {
        n += result->pieces[i].n;
    }
    for (size_t i = 0; i < result->n_entries; i++) {
        n += json_span(result->entries[i]).n;
    }
    for (size_t i = 0; i < result->n_asks; i++) {
        const CallAsk *ask = &result->asks[i];

        n += ask->message.n + ask->schema.n + ask->url.n + ask->params.n;
    }
    return n;
}

static size_t watch_bucket_of(uint64_t duration_ns)
{
    size_t i = 0;

    while (i < WATCH_N_BOUNDS && duration_ns > watch_bounds[i].ns) {
        i++;
    }
    return i;
}

static void watch_began(void *context, Call *call)
{
    Watch *watch = context;

    call->began_ns = watch_now(watch);
    call->asked_bytes = watch_value_bytes(call->arguments) + watch_value_bytes(call->inputs);
    call->asked_text = SPAN_NULL;
    if (watch->audit != NULL) {
        audit_began(watch->audit, call);
    }
}

static void watch_ended(void *context, const Call *call, const CallResult *result)
{
    Watch *watch = context;
    WatchSeries *series = watch_get(watch, call);
    WatchOutcome outcome = watch_outcome_of(result);
    uint64_t now_ns = watch_now(watch);
    /* A call that began before there was a watch has taken nobody knows how long: since then. */
    uint64_t began_ns = call->began_ns != 0 ? call->began_ns : watch->began_ns;
    uint64_t duration_ns = now_ns > began_ns ? now_ns - began_ns : 0;
    size_t bytes_out = watch_result_bytes(result);

    series->n_calls[outcome]++;
    series->bytes_in += call->asked_bytes;
    series->bytes_out += bytes_out;
    series->buckets[watch_bucket_of(duration_ns)]++;
    series->sum_ns += duration_ns;
    if (watch->audit != NULL) {
        audit_ended(watch->audit, call, result,
                    &(AuditEnd){.verb = watch_verb_name(watch_verb_of(call->verb)),
                                .provider = router_call_provider(call),
                                .outcome = watch_outcome_name(outcome),
                                .duration_ns = duration_ns,
                                .bytes_in = call->asked_bytes,
                                .bytes_out = bytes_out});
    }
}

/* ---- life, and what is asked of it ---- */

int watch_new(Watch **ret)
{
    Watch *watch = mem_alloc_array(1, sizeof(*watch));

    if (watch == NULL) {
        return err_raise(-ENOMEM);
    }
    watch->hooks = (RouterWatch){.began = watch_began, .ended = watch_ended, .context = watch};
    watch->began_ns = watch_now(watch);
    *ret = watch;
    return 0;
}

Watch *watch_free(Watch *watch)
{
    return mem_free(watch);
}

const RouterWatch *watch_hooks(const Watch *watch)
{
    return &watch->hooks;
}

void watch_set_audit(Watch *watch, Audit *audit)
{
    if (watch->audit != NULL && watch->audit != audit) {
        /* Before it is counted: what waits in it may be lost only now. */
        audit_finish(watch->audit);
        watch->n_audit_dropped += audit_n_dropped(watch->audit);
    }
    watch->audit = audit;
}

const Audit *watch_audit(const Watch *watch)
{
    return watch->audit;
}

uint64_t watch_n_audit_dropped(const Watch *watch)
{
    return watch->n_audit_dropped + (watch->audit != NULL ? audit_n_dropped(watch->audit) : 0);
}

void watch_set_clock(Watch *watch, uint64_t (*now_ns)(void *context), void *context)
{
    watch->now_ns = now_ns;
    watch->clock_context = context;
    watch->began_ns = watch_now(watch);
}

uint64_t watch_uptime_ns(const Watch *watch)
{
    return watch_now(watch) - watch->began_ns;
}

const WatchSeries *watch_series(const Watch *watch, size_t *ret_n)
{
    *ret_n = watch->n;
    return watch->series;
}

void watch_count_running(Watch *watch, const Router *router)
{
    for (size_t i = 0; i < watch->n; i++) {
        watch->series[i].n_running = 0;
    }
    for (const Call *call = NULL; (call = router_next_running(router, call)) != NULL;) {
        watch_get(watch, call)->n_running++;
    }
}

/* The place of a provider's counts; NULL if there is no room for one more. */
static size_t *providers_get(WatchProviders *providers, const char *name)
{
    size_t i = 0;

    while (i < providers->n && strncmp(providers->of[i].name, name, WATCH_NAME_BYTES - 1) != 0) {
        i++;
    }
    if (i == WATCH_MAX_PROVIDERS) {
        return NULL;
    }
    if (i == providers->n) {
        (void)snprintf(providers->of[i].name, WATCH_NAME_BYTES, "%.*s", WATCH_NAME_BYTES - 1, name);
        providers->n++;
    }
    return providers->of[i].n_entries;
}

void watch_count_providers(const Router *router, WatchProviders *ret)
{
    memset(ret, 0, sizeof(*ret));
    for (size_t kind = 0; kind < ROUTER_N_KINDS; kind++) {
        size_t n = router_count(router, (RouterKind)kind);

        for (size_t i = 0; i < n; i++) {
            size_t *counts = providers_get(ret, router_provider_at(router, (RouterKind)kind, i));

            if (counts != NULL) {
                counts[kind]++;
            }
        }
    }
}

double watch_quantile(const uint64_t buckets[WATCH_N_BUCKETS], double part)
{
    uint64_t n = 0;
    double rank;

    for (size_t i = 0; i < WATCH_N_BUCKETS; i++) {
        n += buckets[i];
    }
    rank = part * (double)n;
    for (size_t i = 0; i < WATCH_N_BOUNDS && n > 0; i++) {
        double low = i == 0 ? 0.0 : (double)watch_bounds[i - 1].ns;
        double high = (double)watch_bounds[i].ns;

        if (buckets[i] > 0 && rank <= (double)buckets[i]) {
            return (low + (high - low) * rank / (double)buckets[i]) / (double)WATCH_S;
        }
        rank -= (double)buckets[i];
    }
    return n == 0 ? 0.0 : (double)watch_bounds[WATCH_N_BOUNDS - 1].ns / (double)WATCH_S;
}

const char *watch_outcome_name(WatchOutcome outcome)
{
    static const char *const names[WATCH_N_OUTCOMES] = {
        [WATCH_OK] = "ok",           [WATCH_TOOL_ERROR] = "tool_error",
        [WATCH_ERROR] = "error",     [WATCH_CANCELLED] = "cancelled",
        [WATCH_REFUSED] = "refused", [WATCH_ASKED] = "asked",
    };

    return names[outcome];
}

const char *watch_verb_name(WatchVerb verb)
{
    static const char *const names[WATCH_N_VERBS] = {
        [WATCH_TOOL] = "tool",         [WATCH_READ] = "read", [WATCH_PROMPT] = "prompt",
        [WATCH_COMPLETE] = "complete", [WATCH_LIST] = "list", [WATCH_SUBSCRIBE] = "subscribe",
        [WATCH_TASK] = "task",
    };

    return names[verb];
}

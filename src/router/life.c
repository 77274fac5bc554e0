/* The life of a call from its start to its end, in one of six ways.
 *
 *     the provider finishes           router_call_finish     from inside start, or later
 *     it is refused before the start  router_end             quota, unknown, arguments (dispatch.c)
 *     its deadline passes             router_advance         the provider is told to stop
 *     its asker takes it back         router_cancel          likewise; the door is not told
 *     memory for its arguments lacks  router_start           likewise
 *     the router goes                 router_end_all         likewise
 *
 * All of them come through router_leave, once. A call that is answered inside start, as tools in
 * process are, is in no list, has no copy and costs no allocation; the others are in the list of
 * running calls from the return of start on. */
#include "router/router.h"

#include <assert.h>
#include <inttypes.h>

#include "router/router_impl.h"

static void router_call_finish(Call *call, const CallResult *result);
static void router_call_progress(Call *call, const CallProgress *progress);

const CallHost router_host = {router_call_finish, router_call_progress};

static void router_link(Router *router, Call *call)
{
    call->prev = router->last;
    call->next = NULL;
    if (router->last != NULL) {
        router->last->next = call;
    } else {
        router->first = call;
    }
    router->last = call;
    if (call->deadline_ms < router->next_deadline_ms) {
        router->next_deadline_ms = call->deadline_ms;
    }
}

static void router_unlink(Router *router, Call *call)
{
    if (router->walk == call) {
        router->walk = call->next;
    }
    if (call->next != NULL) {
        call->next->prev = call->prev;
    } else {
        router->last = call->prev;
    }
    if (call->prev != NULL) {
        call->prev->next = call->next;
    } else {
        router->first = call->next;
    }
    call->next = NULL;
    call->prev = NULL;
    if (router->first == NULL) {
        router->next_deadline_ms = INT64_MAX;
    }
}

/* The call is over for the router: its place in the quota and in the list is free. A question (ASK)
 * is an end like any other: a person may think about it for minutes, and must hold up neither a
 * place nor a deadline; the door counts what waits. Gives the entry's reference to the caller, who
 * drops it after the door has read a result that the provider may own. */
static RouterEntry *router_leave(Call *call, const CallResult *result)
{
    const RouterWatch *watch = ((const Router *)call->router)->watch;
    RouterEntry *entry = call->entry;
    RouterQuota *quota = call->quota;

    if (watch != NULL) {
        watch->ended(watch->context, call, result);
    }
    if (call->ret_finished != NULL) {
        *call->ret_finished = true;
        call->ret_finished = NULL;
    } else if (call->provider != NULL) {
        router_unlink(call->router, call);
    }
    call->running = false;
    call->entry = NULL;
    call->quota = NULL;
    call->provider = NULL;
    call->provider_context = NULL;
    call->variables = NULL;
    call->n_variables = 0;
    if (quota != NULL) {
        router_quota_leave(quota);
    }
    return entry;
}

/* The call's memory is the door's as soon as its finish is called. */
void router_end(Call *call, const CallResult *result)
{
    RouterEntry *entry = router_leave(call, result);

    call->door->finish(call, result);
    (void)router_entry_unref(entry);
}

void router_end_error(Call *call, CallError error)
{
    CallResult result = {.kind = CALL_RESULT_ERROR,
                         .error = error,
                         .message = span_from_str(call_error_text(error))};

    router_end(call, &result);
}

/* The error, with what the peer named behind a colon if there is room for it. */
void router_end_naming(Router *router, Call *call, CallError error, Span name)
{
    CallResult result = {.kind = CALL_RESULT_ERROR, .error = error};
    int r;

    bytes_clear(&router->words);
    r = bytes_append_format(&router->words, "%s: ", call_error_text(error));
    if (r == 0) {
        r = bytes_append_span(&router->words, name);
    }
    result.message = r == 0 ? bytes_span(&router->words) : span_from_str(call_error_text(error));
    router_end(call, &result);
}

void router_end_worded(Call *call, const CallProvider *provider, void *context,
                       const CallResult *error)
{
    CallResult worded;

    if (provider->word != NULL && provider->word(context, error, &worded)) {
        router_end(call, &worded);
    } else {
        router_end(call, error);
    }
}

/* Tells the provider to forget the call, which therefore counts as ended already: a provider that
 * finishes it now breaks its contract. */
static void router_stop(Call *call)
{
    call->running = false;
    /* Without one it had to finish in start. */
    assert(call->provider->cancel != NULL);
    if (call->provider->cancel != NULL) {
        call->provider->cancel(call->provider_context, call);
    }
}

/* What a provider may answer to each verb. */
static bool router_is_answer(CallVerb verb, CallResultKind kind)
{
    static const CallResultKind kinds[CALL_N_VERBS] = {
        [CALL_TOOL] = CALL_RESULT_TOOL,
        [CALL_READ] = CALL_RESULT_RESOURCE,
        [CALL_PROMPT] = CALL_RESULT_PROMPT,
        [CALL_COMPLETE] = CALL_RESULT_COMPLETION,
    };

    return kind == kinds[verb] || kind == CALL_RESULT_ERROR || kind == CALL_RESULT_ASK;
}

static void router_call_finish(Call *call, const CallResult *result)
{
    Router *router = call->router;
    const RouterEntry *entry = call->entry;
    int r = 0;

    assert(call->running);
    if (!call->running) {
        return;
    }
    if (!router_is_answer(call->verb, result->kind)) {
        router_end_error(call, CALL_ERROR_BAD_RESULT);
        return;
    }
    if (result->kind == CALL_RESULT_TOOL && entry->output != NULL && !result->is_error) {
        r = router_faults_structured(&router->faults, entry->output, result->structured);
    }
    if (r == 0) {
        router_end(call, result);
    } else if (r == FAULTS_E_FOUND) {
        CallResult bad = router_faults_result(&router->faults, CALL_ERROR_BAD_RESULT);

        router_end_worded(call, call->provider, call->provider_context, &bad);
    } else {
        router_end_error(call, CALL_ERROR_INTERNAL);
    }
}

static void router_call_progress(Call *call, const CallProgress *progress)
{
    Router *router = call->router;

    if (!call->running) {
        return;
    }
    call->deadline_ms = router_now(router) + call->granted_ms;
    if (call->deadline_ms > call->hard_deadline_ms) {
        call->deadline_ms = call->hard_deadline_ms;
    }
    if (call->wants_progress) {
        call->door->progress(call, progress);
    }
}

/* Hands the call to the entry's provider. */
void router_start(Router *router, Call *call, RouterEntry *entry)
{
    bool finished = false;

    call->entry = router_entry_ref(entry);
    call->provider = entry->provider;
    call->provider_context = entry->context;
    call->granted_ms = call->timeout_ms != 0    ? call->timeout_ms
                       : entry->timeout_ms != 0 ? entry->timeout_ms
                                                : router->call_timeout_ms;
    if (call->granted_ms < 0 || call->granted_ms > router->call_timeout_max_ms) {
        call->granted_ms = router->call_timeout_max_ms;
    }
    call->deadline_ms = router_now(router) + call->granted_ms;
    call->hard_deadline_ms = router->now_ms + router->call_timeout_max_ms;
    call->ret_finished = &finished;
    call->provider->start(call->provider_context, call);
    if (finished) {
        return; /* call may be another one by now */
    }
    call->ret_finished = NULL;
    router_link(router, call);
    if (call_keep_arguments(call) != 0) {
        router_stop(call);
        router_end_error(call, CALL_ERROR_INTERNAL);
    }
}

void router_cancel(Router *router, Call *call)
{
    (void)router;
    if (!call->running) {
        return;
    }
    assert(call->router == router && call->provider != NULL);
    router_stop(call);
    (void)router_entry_unref(router_leave(call, NULL));
}

/* Stops the work and says that the deadline passed. */
static void router_expire(Router *router, Call *call)
{
    int64_t started_ms = call->hard_deadline_ms - router->call_timeout_max_ms;
    int64_t after_ms = call->deadline_ms - started_ms;
    CallResult late = {.kind = CALL_RESULT_ERROR,
                       .error = CALL_ERROR_TIMEOUT,
                       .message = span_from_str(call_error_text(CALL_ERROR_TIMEOUT))};

    router_stop(call);
    bytes_clear(&router->words);
    if (bytes_append_format(&router->words, "deadline passed after %" PRId64 " ms", after_ms) ==
        0) {
        late.message = bytes_span(&router->words);
    }
    router_end_worded(call, call->provider, call->provider_context, &late);
}

void router_set_watch(Router *router, const RouterWatch *watch)
{
    router->watch = watch;
}

const char *router_call_provider(const Call *call)
{
    return call->provider != NULL && call->provider->name != NULL ? call->provider->name : "router";
}

const Call *router_next_running(const Router *router, const Call *after)
{
    return after == NULL ? router->first : after->next;
}

void router_set_clock(Router *router, int64_t (*now_ms)(void *context), void *context)
{
    router->clock = now_ms;
    router->clock_context = context;
}

int64_t router_now(Router *router)
{
    if (router->clock != NULL) {
        int64_t now_ms = router->clock(router->clock_context);

        /* Never back: deadlines were computed from what was said before. */
        if (now_ms > router->now_ms) {
            router->now_ms = now_ms;
        }
    }
    return router->now_ms;
}

void router_advance(Router *router, int64_t now_ms)
{
    if (now_ms > router->now_ms) {
        router->now_ms = now_ms;
    }
    if (router->now_ms < router->next_deadline_ms) {
        return;
    }
    router->next_deadline_ms = INT64_MAX;
    router->walk = router->first;
    while (router->walk != NULL) {
        Call *call = router->walk;

        router->walk = call->next;
        if (call->deadline_ms <= router->now_ms) {
            router_expire(router, call);
        } else if (call->deadline_ms < router->next_deadline_ms) {
            router->next_deadline_ms = call->deadline_ms;
        }
    }
}

int64_t router_next_deadline(const Router *router)
{
    return router->next_deadline_ms;
}

void router_end_all(Router *router)
{
    while (router->first != NULL) {
        Call *call = router->first;

        router_stop(call);
        router_end_error(call, CALL_ERROR_CANCELLED);
    }
}

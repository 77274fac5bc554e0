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

#include "router/command.h"
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
    router_command_forget(call, result);
    call->running = false;
    call->entry = NULL;
    call->quota = NULL;
    call->meta = JSON_VALUE_NULL; /* was borrowed until now at most */
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
void router_end_plain(Call *call, const CallResult *result)
{
    RouterEntry *entry = router_leave(call, result);

    router_tell(call, result, entry);
    (void)router_entry_unref(entry);
}

void router_end(Call *call, const CallResult *result)
{
    if (router_command_answers(call, result)) {
        router_command_end(call, result);
    } else {
        router_end_plain(call, result);
    }
}

void router_end_error(Call *call, CallError error)
{
    CallResult result = {.kind = CALL_RESULT_ERROR,
                         .error = error,
                         .message = span_from_str(call_error_text(error))};

    router_end(call, &result);
}

/* The error, with what the peer named behind a colon if there is room for it. */
static Span life_where_it_went(const Router *router, CallError error, Span name)
{
    bool is_tool = error == CALL_ERROR_UNKNOWN_TOOL;

    return router->unknown == NULL || (!is_tool && error != CALL_ERROR_UNKNOWN_PROMPT)
               ? SPAN_NULL
               : router->unknown(router->unknown_context, is_tool ? ROUTER_TOOL : ROUTER_PROMPT,
                                 name);
}

void router_end_naming(Router *router, Call *call, CallError error, Span name)
{
    CallResult result = {.kind = CALL_RESULT_ERROR, .error = error};
    Span where = life_where_it_went(router, error, name);
    int r;

    bytes_clear(&router->words);
    r = bytes_append_format(&router->words, "%s: ", call_error_text(error));
    if (r == 0) {
        r = bytes_append_span(&router->words, name);
    }
    r = r != 0 ? r : bytes_append_span(&router->words, where);
    result.message = r == 0 ? bytes_span(&router->words) : span_from_str(call_error_text(error));
    router_end(call, &result);
}

void router_end_worded(Call *call, const CallProvider *provider, void *context,
                       const CallResult *error)
{
    CallResult worded;

    /* A command's answer has the same words whoever runs it. */
    if (provider->word != NULL && !router_command_is(call) &&
        provider->word(context, error, &worded)) {
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
static bool router_is_answer(CallVerb verb, CallResultKind kind, bool is_later)
{
    static const CallResultKind kinds[CALL_N_VERBS] = {
        [CALL_TOOL] = CALL_RESULT_TOOL,         [CALL_READ] = CALL_RESULT_RESOURCE,
        [CALL_PROMPT] = CALL_RESULT_PROMPT,     [CALL_COMPLETE] = CALL_RESULT_COMPLETION,
        [CALL_TASK_GET] = CALL_RESULT_TASK,     [CALL_TASK_RESULT] = CALL_RESULT_TOOL,
        [CALL_TASK_UPDATE] = CALL_RESULT_EMPTY, [CALL_TASK_CANCEL] = CALL_RESULT_TASK,
        [CALL_LIST_TASKS] = CALL_RESULT_TASKS,  [CALL_SUBSCRIBE] = CALL_RESULT_EMPTY,
    };

    return kind == kinds[verb] || kind == CALL_RESULT_ERROR || kind == CALL_RESULT_ASK ||
           (is_later && verb == CALL_TOOL && kind == CALL_RESULT_TASK);
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
    if (!router_is_answer(call->verb, result->kind, call->provider == router->later)) {
        router_end_error(call, CALL_ERROR_BAD_RESULT);
        return;
    }
    if (router_command_answers(call, result)) {
        router_command_finish(call, result);
        return;
    }
    if (result->kind == CALL_RESULT_ASK) {
        router_command_asks(call);
    }
    if (result->kind == CALL_RESULT_TOOL && entry != NULL && entry->output != NULL &&
        !result->is_error) {
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

/* Who has the calls that wait at the gate: nobody. */
static void gate_start(void *context, Call *call)
{
    (void)context;
    (void)call;
}

static void gate_cancel(void *context, Call *call)
{
    (void)context;
    (void)call;
}

static const CallProvider gate_provider = {
    .name = "router", .start = gate_start, .cancel = gate_cancel};

/* What whoever runs it needs of it when its start has returned. */
static int router_keep(Call *call)
{
    int r = call->provider == &gate_provider ? call_keep_meta(call) : 0;

    if (call->provider != &gate_provider) {
        call->meta = JSON_VALUE_NULL;
    }
    return r != 0 ? r : call_keep_arguments(call);
}

/* Starts the call at its provider, which has that long. */
static void router_begin(Router *router, Call *call, int64_t granted_ms)
{
    bool finished = false;

    call->granted_ms = granted_ms;
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
    if (call->command != NULL) {
        call->took_arguments = false; /* the desk wants to see them again */
    }
    if (router_keep(call) != 0) {
        router_stop(call);
        router_end_error(call, CALL_ERROR_INTERNAL);
    }
}

void router_start(Router *router, Call *call, RouterEntry *entry)
{
    call->entry = router_entry_ref(entry);
    if (entry->is_command && !router_command_begin(router, call)) {
        return;
    }
    call->provider = entry->provider;
    call->provider_context = entry->context;
    router_begin(router, call,
                 call->timeout_ms != 0    ? call->timeout_ms
                 : entry->timeout_ms != 0 ? entry->timeout_ms
                                          : router->call_timeout_ms);
}

/* A result is waited for as long as there may be one; everything else is soon said. */
void router_start_later(Router *router, Call *call, RouterEntry *entry)
{
    call->entry = entry != NULL ? router_entry_ref(entry) : NULL;
    call->provider = router->later;
    call->provider_context = router->later_context;
    router_begin(router, call,
                 call->verb == CALL_TASK_RESULT ? router->call_timeout_max_ms
                                                : router->call_timeout_ms);
}

void router_hold(Router *router, Call *call)
{
    call->provider = &gate_provider;
    call->provider_context = router;
    (void)router_knock(router);
    router_begin(router, call, call->timeout_ms != 0 ? call->timeout_ms : router->call_timeout_ms);
}

void router_close_gate(Router *router, void (*knocked)(void *context), void *context)
{
    router->is_gated = true;
    router->knocked = knocked;
    router->knocked_context = context;
}

bool router_knock(Router *router)
{
    void (*knocked)(void *context) = router->knocked;

    router->knocked = NULL;
    if (knocked != NULL) {
        knocked(router->knocked_context);
    }
    return router->is_gated;
}

void router_open_gate(Router *router)
{
    Call *call = router->first;
    bool was_gated = router->is_gated;

    router->is_gated = false;
    router->knocked = NULL;
    while (call != NULL) {
        if (call->provider != &gate_provider) {
            call = call->next;
            continue;
        }
        router_unlink(router, call);
        call->provider = NULL;
        call->provider_context = NULL;
        router_route(router, call);
        call = router->first; /* whoever was answered may have ended or begun others */
    }
    if (was_gated) {
        router_tell_opened(router);
    }
}

void router_set_alias(Router *router, void (*fn)(void *context, Call *call), void *context)
{
    router->alias = fn;
    router->alias_context = context;
}

void router_set_later(Router *router, const CallProvider *provider, void *context)
{
    router->later = provider;
    router->later_context = context;
}

bool router_has_later(const Router *router)
{
    return router->later != NULL;
}

RouterLater router_call_later(const Call *call)
{
    const RouterEntry *entry = call->entry;

    return entry != NULL ? entry->later : ROUTER_LATER_NEVER;
}

int64_t router_call_timeout_ms(const Call *call)
{
    const RouterEntry *entry = call->entry;

    return entry != NULL ? entry->timeout_ms : 0;
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

void router_set_stopwatch(Router *router, int64_t (*now_us)(void *context),
                          int64_t (*wall_ms)(void *context), void *context)
{
    router->stopwatch = now_us;
    router->wall_ms = wall_ms;
    router->stopwatch_context = context;
}

int64_t router_now_us(Router *router)
{
    return router->stopwatch != NULL ? router->stopwatch(router->stopwatch_context)
                                     : router_now(router) * 1000;
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

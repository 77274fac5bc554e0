/* The life of a TwCall: from the router to the handler, to other threads, and back. */
#include "api/tw_call.h"

#include <string.h>
#include <toolwire/error.h>

#include "api/tw_server.h"
#include "base/alloc.h"
#include "base/limits.h"
#include "json/writer.h"

typedef enum ApiRecordKind {
    API_RECORD_PROGRESS,
    API_RECORD_LOG,
    API_RECORD_DETACH,
} ApiRecordKind;

/* A record in the outbox; its words follow it. */
typedef struct ApiRecord {
    ApiRecordKind kind;
    CallLogLevel level;
    double progress;
    double total;
    size_t n_first;  /* bytes: message, or logger */
    size_t n_second; /* bytes: data */
} ApiRecord;

static void call_on_task(IoTask *task);

TwCall *api_call_new(TwServer *server, size_t max_response_bytes)
{
    TwCall *call = mem_alloc_array(1, sizeof(*call));

    if (call == NULL) {
        return NULL;
    }
    if (pthread_mutex_init(&call->lock, NULL) != 0) {
        return mem_free(call);
    }
    if (pthread_cond_init(&call->idle, NULL) != 0) {
        (void)pthread_mutex_destroy(&call->lock);
        return mem_free(call);
    }
    call->server = server;
    call->task.fn = call_on_task;
    atomic_init(&call->cancelled, false);
    /* What came in was bounded by the door. */
    arena_init(&call->arena, SIZE_MAX);
    bytes_init(&call->outbox, API_OUTBOX_BYTES);
    bytes_init(&call->scratch, API_OUTBOX_BYTES);
    call_answer_init(&call->answer, max_response_bytes);
    return call;
}

TwCall *api_call_free(TwCall *call)
{
    if (call == NULL) {
        return NULL;
    }
    call_answer_deinit(&call->answer);
    bytes_deinit(&call->scratch);
    bytes_deinit(&call->outbox);
    arena_deinit(&call->arena);
    (void)pthread_cond_destroy(&call->idle);
    (void)pthread_mutex_destroy(&call->lock);
    return mem_free(call);
}

void api_call_reset(TwCall *call)
{
    arena_reset(&call->arena, LIMIT_KEEP_BYTES);
    bytes_clear(&call->outbox);
    call_answer_reset(&call->answer, CALL_RESULT_TOOL);
    call->entry = NULL;
    call->call = NULL;
    call->arguments = JSON_VALUE_NULL;
    call->inputs = JSON_VALUE_NULL;
    call->arguments_text = NULL;
    call->variables = NULL;
    call->n_variables = 0;
    call->posted = false;
    call->kept = false;
    call->done = false;
    call->must_roll_back = false;
    call->is_dry_run = false;
    call->is_write = false;
    call->n_in_cancel = 0;
    call->cancel_fn = NULL;
    call->cancel_user = NULL;
    atomic_store(&call->cancelled, false);
}

/* The call is over and nobody uses it: back to the pool. A kept one had its own hold on the entry
 * and on the server. */
static void call_retire(TwCall *call)
{
    TwServer *server = call->server;
    TwEntry *entry = call->entry;
    bool kept = call->kept;

    api_server_return_call(server, call);
    if (kept) {
        api_entry_unref(entry);
        api_server_unref(server);
    }
}

/* ---- from the router ---- */

/* The words that the handler is given with their NUL. */
static bool call_copy_words(TwCall *call, const Call *from)
{
    call->target = api_copy_utf8(&call->arena, from->target);
    call->completing = api_copy_utf8(&call->arena, from->completion.argument);
    call->typed = api_copy_utf8(&call->arena, from->completion.value);
    call->state = from->state.n > 0 ? arena_copy(&call->arena, from->state).p : NULL;
    return call->target != NULL && call->completing != NULL && call->typed != NULL &&
           (call->state != NULL || from->state.n == 0);
}

/* What the desk has decided about a command. */
static void call_take_plan(TwCall *call, const Call *from)
{
    const SafetyPlan *plan = call->entry->is_command ? router_call_plan(from) : NULL;

    if (plan != NULL) {
        call->is_dry_run = plan->is_dry_run;
        call->is_write = plan->is_write;
    }
}

static TwCall *call_begin(TwEntry *entry, Call *from)
{
    static const struct {
        TwVerb verb;
        CallResultKind kind;
    } verbs[] = {
        [CALL_TOOL] = {TW_VERB_TOOL, CALL_RESULT_TOOL},
        [CALL_READ] = {TW_VERB_READ, CALL_RESULT_RESOURCE},
        [CALL_PROMPT] = {TW_VERB_PROMPT, CALL_RESULT_PROMPT},
        [CALL_COMPLETE] = {TW_VERB_COMPLETE, CALL_RESULT_COMPLETION},
    };
    TwCall *call = api_server_take_call(entry->server);

    if (call == NULL) {
        return NULL;
    }
    call->entry = entry;
    call->call = from;
    call->verb = verbs[from->verb].verb;
    call->can = from->can;
    call->log_level = from->log_level;
    call->wants_progress = from->wants_progress;
    call->arguments = from->verb == CALL_COMPLETE ? from->completion.context : from->arguments;
    call->inputs = from->inputs;
    call->role = from->verb == CALL_PROMPT ? SPAN("user") : SPAN_NULL;
    call_take_plan(call, from);
    call_answer_reset(&call->answer, verbs[from->verb].kind);
    if (!call_copy_words(call, from)) {
        api_server_return_call(entry->server, call);
        return NULL;
    }
    return call;
}

static void call_start(void *context, Call *from)
{
    TwEntry *entry = context;
    TwCall *call = call_begin(entry, from);
    bool kept;

    if (call == NULL) {
        call_fail(from, CALL_ERROR_INTERNAL, SPAN("no memory"));
        return;
    }
    from->provider_data = call;
    (from->verb == CALL_COMPLETE ? entry->complete : entry->handler)(call, entry->user);
    /* Kept calls come back to the pool on this thread only, so it is still there. */
    pthread_mutex_lock(&call->lock);
    kept = call->kept;
    pthread_mutex_unlock(&call->lock);
    if (!kept) {
        call->call = NULL;
        from->provider_data = NULL;
        call_answer_finish(&call->answer, from);
        call_retire(call);
    }
}

/* Is a cancel function running on another thread than this? Lock held. */
static bool call_in_cancel_elsewhere(const TwCall *call)
{
    return call->n_in_cancel > 0 && !pthread_equal(pthread_self(), call->cancel_thread);
}

/* Runs a cancel function, which may call anything, also tw_call_on_cancel and tw_call_done. Lock
 * held, but not while it runs. True: it was done meanwhile, and the caller must retire it. */
static bool call_run_cancel(TwCall *call, TwCancelFn fn, void *user)
{
    call->n_in_cancel++;
    call->cancel_thread = pthread_self();
    pthread_mutex_unlock(&call->lock);
    fn(call, user);
    pthread_mutex_lock(&call->lock);
    call->n_in_cancel--;
    if (call->n_in_cancel > 0) {
        return false; /* the outer one still runs */
    }
    pthread_cond_broadcast(&call->idle);
    return call->done && !call->posted;
}

static void call_cancel(void *context, Call *from)
{
    TwCall *call = from->provider_data;
    TwCancelFn fn;
    bool over;

    (void)context;
    pthread_mutex_lock(&call->lock);
    from->provider_data = NULL;
    call->call = NULL;
    atomic_store(&call->cancelled, true);
    fn = call->cancel_fn;
    call->cancel_fn = NULL;
    if (fn != NULL && !call->done) {
        over = call_run_cancel(call, fn, call->cancel_user);
    } else {
        over = call->done && !call->posted;
    }
    pthread_mutex_unlock(&call->lock);
    if (over) {
        call_retire(call);
    }
}

const CallProvider api_call_provider = {
    .name = "library", .start = call_start, .cancel = call_cancel};

/* ---- later ---- */

int tw_call_keep(TwCall *call)
{
    int r = 0;

    pthread_mutex_lock(&call->lock);
    if (!call->kept && call->done) {
        r = TW_ERROR_OVER;
    } else if (!call->kept) {
        r = api_call_copy(call);
        if (r == 0) {
            call->kept = true;
            (void)api_entry_ref(call->entry);
            atomic_fetch_add(&call->server->n_refs, 1);
        }
    }
    pthread_mutex_unlock(&call->lock);
    return r;
}

/* Lock held, and attached: the loop is there. */
static void call_post(TwCall *call)
{
    if (!call->posted) {
        call->posted = true;
        io_loop_post(hub_loop(call->server->hub), &call->task);
    }
}

void tw_call_done(TwCall *call)
{
    bool over = false;

    if (call == NULL) {
        return;
    }
    pthread_mutex_lock(&call->lock);
    while (call_in_cancel_elsewhere(call)) {
        pthread_cond_wait(&call->idle, &call->lock);
    }
    call->done = true;
    if (call->kept && call->n_in_cancel == 0) {
        if (call->call != NULL) {
            call_post(call);
        }
        over = !call->posted;
    }
    pthread_mutex_unlock(&call->lock);
    if (over) {
        call_retire(call);
    }
}

bool tw_call_is_cancelled(const TwCall *call)
{
    return atomic_load_explicit(&call->cancelled, memory_order_acquire);
}

int tw_call_on_cancel(TwCall *call, TwCancelFn fn, void *user)
{
    bool over = false;

    pthread_mutex_lock(&call->lock);
    while (call_in_cancel_elsewhere(call)) {
        pthread_cond_wait(&call->idle, &call->lock);
    }
    if (fn == NULL || call->call != NULL) {
        call->cancel_fn = fn;
        call->cancel_user = user;
    } else if (!call->done) {
        over = call_run_cancel(call, fn, user);
    }
    pthread_mutex_unlock(&call->lock);
    if (over) {
        call_retire(call);
    }
    return 0;
}

/* ---- progress, log, and letting the asker go ---- */

static void call_send_record(TwCall *call, const ApiRecord *record, Span first, Span second)
{
    switch (record->kind) {
    case API_RECORD_PROGRESS:
        call_report(call->call, &(CallProgress){.progress = record->progress,
                                                .total = record->total,
                                                .message = first});
        break;
    case API_RECORD_LOG:
        call_log(call->call, record->level, first, second);
        break;
    case API_RECORD_DETACH:
        call_detach(call->call);
        break;
    }
}

static void call_send_outbox(TwCall *call)
{
    Span rest = bytes_span(&call->outbox);

    while (rest.n > 0) {
        ApiRecord record;
        Span first;
        Span second;

        memcpy(&record, rest.p, sizeof(record));
        first = span_make(rest.p + sizeof(record), record.n_first);
        second = span_make(first.p + first.n, record.n_second);
        rest = span_make(second.p + second.n, rest.n - sizeof(record) - first.n - second.n);
        call_send_record(call, &record, first, second);
    }
    bytes_clear(&call->outbox);
}

/* On the loop: sends what other threads left here, and the answer if it is complete. */
static void call_on_task(IoTask *task)
{
    TwCall *call = (TwCall *)((char *)task - offsetof(TwCall, task));
    Call *to;
    bool done;

    pthread_mutex_lock(&call->lock);
    call->posted = false;
    if (call->call != NULL) {
        call_send_outbox(call);
    }
    /* A cancel function that runs on another thread is followed by the end of the call there. */
    done = call->done && call->n_in_cancel == 0;
    to = call->call;
    if (done) {
        call->call = NULL;
    }
    pthread_mutex_unlock(&call->lock);
    if (!done) {
        return;
    }
    if (to != NULL) {
        to->provider_data = NULL;
        call_answer_finish(&call->answer, to);
    }
    call_retire(call);
}

/* All of it, or nothing. */
static int call_append_record(Bytes *outbox, const ApiRecord *record, Span first, Span second)
{
    int r = bytes_reserve(outbox, sizeof(*record) + first.n + second.n);

    if (r == 0) {
        (void)bytes_append(outbox, record, sizeof(*record));
        (void)bytes_append_span(outbox, first);
        (void)bytes_append_span(outbox, second);
    }
    return r == BYTES_E_FULL ? TW_ERROR_FULL : api_error_of(r);
}

/* Lock held. A handler that did not keep its call is on the loop, and sends at once. */
static int call_send(TwCall *call, const ApiRecord *record, Span first, Span second)
{
    int r;

    if (!api_call_is_open(call)) {
        return TW_ERROR_OVER;
    }
    if (!call->kept) {
        call_send_record(call, record, first, second);
        return 0;
    }
    r = call_append_record(&call->outbox, record, first, second);
    if (r == 0) {
        call_post(call);
    }
    return r;
}

int tw_call_progress(TwCall *call, double progress, double total, const char *message)
{
    Span text = api_span(message);
    ApiRecord record = {
        .progress = progress, .total = total < 0 ? CALL_NO_TOTAL : total, .n_first = text.n};
    int r;

    pthread_mutex_lock(&call->lock);
    r = call_send(call, &record, text, SPAN_NULL);
    pthread_mutex_unlock(&call->lock);
    return r;
}

int tw_call_detach(TwCall *call)
{
    int r;

    pthread_mutex_lock(&call->lock);
    r = call_send(call, &(ApiRecord){.kind = API_RECORD_DETACH}, SPAN_NULL, SPAN_NULL);
    pthread_mutex_unlock(&call->lock);
    return r;
}

/* What stands in call->scratch is the record's data. Lock held. */
static int call_send_log(TwCall *call, TwLogLevel level, const char *logger)
{
    Span name = api_span(logger);
    Span data = bytes_span(&call->scratch);
    ApiRecord record = {.kind = API_RECORD_LOG,
                        .level = (CallLogLevel)level,
                        .n_first = name.n,
                        .n_second = data.n};

    return call_send(call, &record, name, data);
}

int tw_call_log_json(TwCall *call, TwLogLevel level, const char *logger, const char *json)
{
    CLEANUP(arena_deinit) Arena arena = ARENA_NULL;
    int r;

    if ((unsigned)level >= TW_LOG_NONE) {
        return TW_ERROR_ARGUMENT;
    }
    if ((CallLogLevel)level < call->log_level) {
        return 0;
    }
    arena_init(&arena, SIZE_MAX);
    pthread_mutex_lock(&call->lock);
    bytes_clear(&call->scratch);
    r = api_json_compact(json, API_JSON_ANY, &arena, &call->scratch);
    if (r == 0) {
        r = call_send_log(call, level, logger);
    }
    pthread_mutex_unlock(&call->lock);
    return r;
}

int tw_call_log(TwCall *call, TwLogLevel level, const char *text)
{
    JsonWriter w;
    int r;

    if ((unsigned)level >= TW_LOG_NONE || text == NULL) {
        return TW_ERROR_ARGUMENT;
    }
    if ((CallLogLevel)level < call->log_level) {
        return 0;
    }
    pthread_mutex_lock(&call->lock);
    bytes_clear(&call->scratch);
    json_writer_init(&w, &call->scratch, JSON_STYLE_COMPACT);
    json_write_string(&w, span_from_str(text));
    r = json_writer_finish(&w);
    if (r == 0) {
        r = call_send_log(call, level, NULL);
    } else {
        r = r == BYTES_E_FULL ? TW_ERROR_FULL : api_error_of(r);
    }
    pthread_mutex_unlock(&call->lock);
    return r;
}

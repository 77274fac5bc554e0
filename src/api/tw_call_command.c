/* What the handler of a command tells of its work, and is told about it. The desk and the plan are
 * the loop's: from another thread everything here waits for it. */
#include <string.h>
#include <toolwire/document.h>
#include <toolwire/error.h>

#include "api/tw_call.h"
#include "api/tw_internal.h"
#include "api/tw_server.h"
#include "call/envelope.h"
#include "json/writer.h"

/* Something to be said about a call. */
typedef struct Saying {
    TwCall *call;
    const TwFailure *failure;
    bool is_resolution; /* of a failure that was told before */
    bool worked;
    TwVerdict verdict;
    const char *id; /* of a dialog */
    const char *message;
} Saying;

static SafetyFailure failure_of(const TwFailure *from)
{
    return (SafetyFailure){.id = api_span(from->id),
                           .guid = api_span(from->guid),
                           .severity = from->severity == TW_SEVERITY_WARNING ? SAFETY_WARNING
                                                                             : SAFETY_ERROR,
                           .message = api_span(from->message),
                           .element_ids = from->element_ids,
                           .n_element_ids = from->n_element_ids,
                           .can_delete = from->can_delete,
                           .can_resolve = from->can_resolve};
}

/* The plan of a call that somebody waits for; NULL, and the error, otherwise. Lock held. */
static SafetyPlan *call_plan(const TwCall *call, int *ret_error)
{
    SafetyPlan *plan = NULL;

    *ret_error = 0;
    if (!call->entry->is_command) {
        *ret_error = TW_ERROR_ARGUMENT;
    } else if (!api_call_is_open(call)) {
        *ret_error = TW_ERROR_OVER;
    } else {
        plan = router_call_plan(call->call);
        *ret_error = plan == NULL ? TW_ERROR_INTERNAL : 0;
    }
    return plan;
}

/* ---- failures and dialogs ---- */

static TwVerdict verdict_of(SafetyVerdict verdict)
{
    static const TwVerdict verdicts[] = {
        [SAFETY_KEEP] = TW_VERDICT_KEEP,
        [SAFETY_DELETE] = TW_VERDICT_DELETE,
        [SAFETY_RESOLVE] = TW_VERDICT_RESOLVE,
        [SAFETY_ROLL_BACK] = TW_VERDICT_ROLL_BACK,
    };

    return verdicts[verdict];
}

static int failure_do(TwServer *server, void *argument, Diag *reterr_diag)
{
    Saying *saying = argument;
    SafetyFailure failure = failure_of(saying->failure);
    SafetyVerdict verdict = SAFETY_ROLL_BACK;
    SafetyPlan *plan;
    int r;

    (void)reterr_diag;
    pthread_mutex_lock(&saying->call->lock);
    plan = call_plan(saying->call, &r);
    if (plan != NULL) {
        r = saying->is_resolution
                ? safety_resolved(hub_desk(server->hub), plan, &failure, saying->worked, &verdict)
                : safety_failure(hub_desk(server->hub), plan, &failure, &verdict);
        r = api_error_of(r);
        if (r != 0) {
            verdict = SAFETY_ROLL_BACK;
            plan->needs_rollback = true;
        }
    }
    if (verdict == SAFETY_ROLL_BACK) {
        saying->call->must_roll_back = true;
    }
    saying->verdict = verdict_of(verdict);
    pthread_mutex_unlock(&saying->call->lock);
    return r;
}

static int call_say_failure(Saying *saying, TwVerdict *ret_verdict)
{
    const TwFailure *failure = saying->failure;
    int r = TW_ERROR_ARGUMENT;

    saying->verdict = TW_VERDICT_ROLL_BACK;
    if (failure != NULL && failure->id != NULL &&
        (failure->element_ids != NULL || failure->n_element_ids == 0)) {
        r = api_server_do(saying->call->server, failure_do, saying);
    }
    *ret_verdict = saying->verdict;
    return r;
}

int tw_call_failure(TwCall *call, const TwFailure *failure, TwVerdict *ret_verdict)
{
    return call_say_failure(&(Saying){.call = call, .failure = failure}, ret_verdict);
}

int tw_call_resolved(TwCall *call, const TwFailure *failure, bool worked, TwVerdict *ret_verdict)
{
    return call_say_failure(
        &(Saying){.call = call, .failure = failure, .is_resolution = true, .worked = worked},
        ret_verdict);
}

static int dialog_do(TwServer *server, void *argument, Diag *reterr_diag)
{
    const Saying *saying = argument;
    SafetyPlan *plan;
    int r;

    (void)server;
    (void)reterr_diag;
    pthread_mutex_lock(&saying->call->lock);
    plan = call_plan(saying->call, &r);
    if (plan != NULL) {
        r = api_error_of(safety_dialog(plan, api_span(saying->id), api_span(saying->message)));
    }
    pthread_mutex_unlock(&saying->call->lock);
    return r;
}

int tw_call_dialog(TwCall *call, const char *id, const char *message)
{
    return api_server_do(call->server, dialog_do,
                         &(Saying){.call = call, .id = id, .message = message});
}

/* ---- how it ends ---- */

bool tw_call_is_dry_run(const TwCall *call)
{
    return call->is_dry_run;
}

bool tw_call_must_roll_back(TwCall *call)
{
    bool must;

    pthread_mutex_lock(&call->lock);
    must = call->must_roll_back;
    pthread_mutex_unlock(&call->lock);
    return must;
}

/* {"ok":false,"code":"TX_NOT_COMMITTED","msg":why}, instead of all that was added. Lock held. */
static int call_answer_undone(TwCall *call, const char *why)
{
    CLEANUP(bytes_deinit) Bytes text = BYTES_NULL;
    JsonWriter w;
    int r;

    bytes_init(&text, call->answer.max_bytes);
    json_writer_init(&w, &text, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("ok"));
    json_write_bool(&w, false);
    json_write_key(&w, SPAN("code"));
    json_write_string(&w, span_from_str(envelope_code_name(ENVELOPE_TX_NOT_COMMITTED)));
    json_write_key(&w, SPAN("msg"));
    json_write_string(&w, span_from_str(why));
    json_write_end_object(&w);
    r = json_writer_finish(&w);
    call_answer_reset(&call->answer, CALL_RESULT_TOOL);
    call->answer.result.is_error = true;
    if (r != 0) {
        call->answer.r = r;
        return r == BYTES_E_FULL ? TW_ERROR_FULL : api_error_of(r);
    }
    call_answer_structured(&call->answer, bytes_span(&text));
    return call->answer.r == 0 ? 0 : api_error_of(call->answer.r);
}

static int rolled_back_do(TwServer *server, void *argument, Diag *reterr_diag)
{
    const Saying *saying = argument;
    SafetyPlan *plan;
    int r;

    (void)server;
    (void)reterr_diag;
    pthread_mutex_lock(&saying->call->lock);
    plan = call_plan(saying->call, &r);
    if (plan != NULL) {
        plan->is_undone = true;
        if (saying->message != NULL) {
            r = call_answer_undone(saying->call, saying->message);
        }
    }
    pthread_mutex_unlock(&saying->call->lock);
    return r;
}

int tw_call_rolled_back(TwCall *call, const char *why)
{
    return api_server_do(call->server, rolled_back_do, &(Saying){.call = call, .message = why});
}

/* Of a call that is answered the desk learns by the answer. */
static int committed_do(TwServer *server, void *argument, Diag *reterr_diag)
{
    const Saying *saying = argument;
    int r;

    (void)reterr_diag;
    pthread_mutex_lock(&saying->call->lock);
    (void)call_plan(saying->call, &r);
    if (r == TW_ERROR_OVER && saying->call->is_write) {
        safety_desk_changed(hub_desk(server->hub), SAFETY_CHANGE_WRITE);
    }
    pthread_mutex_unlock(&saying->call->lock);
    return r == TW_ERROR_OVER ? 0 : r;
}

int tw_call_committed(TwCall *call)
{
    return api_server_do(call->server, committed_do, &(Saying){.call = call});
}

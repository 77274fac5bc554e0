#include "providers/addin_calls.h"

#include "base/alloc.h"
#include "base/limits.h"

/* Kept for the next calls: as many as four add-ins run at once, 300 KiB. */
#define CALLS_KEPT (4 * (size_t)LIMIT_PIPE_CALLS)

static void calls_free(AddinCall *call)
{
    call_deinit(&call->call);
    (void)mem_free(call);
}

void addin_calls_deinit(AddinCalls *calls)
{
    while (calls->free != NULL) {
        AddinCall *call = calls->free;

        calls->free = call->next_free;
        calls_free(call);
    }
    *calls = ADDIN_CALLS_NULL;
}

static void calls_give_back(AddinCall *call)
{
    AddinCalls *calls = call->pool;

    if (calls->n_free >= CALLS_KEPT) {
        calls_free(call);
        return;
    }
    call->next_free = calls->free;
    calls->free = call;
    calls->n_free++;
}

/* Ours goes back first: what was asked may lead to the next call before this returns. */
static void calls_on_finish(Call *call, const CallResult *result)
{
    AddinCall *ours = (AddinCall *)call;
    Call *asked = ours->asked;

    if (ours->ret_ended != NULL) {
        *ours->ret_ended = true;
    }
    asked->may_have_run = ours->call.may_have_run;
    addin_calls_forget(ours);
    call_finish(asked, result);
}

static void calls_on_progress(Call *call, const CallProgress *progress)
{
    call_report(((AddinCall *)call)->asked, progress);
}

static const CallDoor calls_door = {.finish = calls_on_finish, .progress = calls_on_progress};

AddinCall *addin_calls_begin(AddinCalls *calls, Call *asked, void *link)
{
    AddinCall *call = calls->free;

    if (call != NULL) {
        calls->free = call->next_free;
        calls->n_free--;
        call_reset(&call->call);
    } else {
        call = mem_alloc(sizeof(*call));
        if (call == NULL) {
            return NULL;
        }
        call_init(&call->call);
    }
    call->call.door = &calls_door;
    call->call.verb = asked->verb;
    call->call.target = asked->target;
    call->call.arguments = asked->arguments;
    call->call.wants_progress = true; /* it moves the deadline in any case */
    call->asked = asked;
    call->link = link;
    call->pool = calls;
    call->ret_ended = NULL;
    call->next_free = NULL;
    asked->provider_data = call;
    return call;
}

void addin_calls_forget(AddinCall *call)
{
    call->asked->provider_data = NULL;
    call->asked = NULL;
    call->link = NULL;
    calls_give_back(call);
}

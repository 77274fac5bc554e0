/* Results on their way to askers whose models read them. */
#include "router/router_impl.h"

void router_set_shorten(Router *router, const RouterShorten *shorten)
{
    router->shorten = shorten;
}

/* The work of a task is kept whole, and shortened when it is fetched. */
static bool is_for_model(const Call *call)
{
    return call->asker != NULL && call->asker->is_model && call->later != CALL_LATER_IS_TASK;
}

const CallTask *router_shorten_task(const Router *router, const CallTask *task, Span owner,
                                    CallTask *room)
{
    if (router->shorten == NULL || task->result == NULL || task->result->kind != CALL_RESULT_TOOL) {
        return task;
    }
    *room = *task;
    room->result = router->shorten->shorten(router->shorten->context, owner, task->result, true);
    return room;
}

void router_tell(Call *call, const CallResult *result, const RouterEntry *entry)
{
    const Router *router = call->router;
    CallResult with_task;
    CallTask room;

    if (router->shorten != NULL && is_for_model(call)) {
        if (result->kind == CALL_RESULT_TOOL) {
            result = router->shorten->shorten(router->shorten->context, call->owner, result,
                                              entry == NULL || entry->output != NULL);
        } else if (result->kind == CALL_RESULT_TASK && result->n_tasks == 1) {
            with_task = *result;
            with_task.tasks = router_shorten_task(router, &result->tasks[0], call->owner, &room);
            result = &with_task;
        }
    }
    call->door->finish(call, result);
}

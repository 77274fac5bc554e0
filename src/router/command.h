/* router/command.h: tools that are commands: they pass the desk before they start, and are answered
 * with the standard envelope (call/envelope.h), however they end. Thread: loop. */
#pragma once

#include "call/call.h"
#include "router/entry.h"
#include "router/router.h"

#include <stdbool.h>

/* Call.command: one that runs. */
typedef struct RouterCommand {
    SafetyPlan plan;
    int64_t began_us;
    const SafetyDesk *desk; /* let it in, and is told of its end if it is still the router's; may be
                               gone: only compared */
} RouterCommand;

/* Before its provider starts; call->entry is set. False: it was refused, and has ended. */
bool router_command_begin(Router *router, Call *call);

/* Is this end of the call one that has an envelope? Questions, tasks, and what is wrong with the
 * way in which a task was asked for, do not; nor do errors of a task's work: whoever runs that
 * decides by them whether to try again, and makes the envelope (dialect/command). */
bool router_command_answers(const Call *call, const CallResult *result);

/* Is it the call of a command, however it ends? */
bool router_command_is(const Call *call);

/* Puts the context token that the request's meta expects into the arguments, which go wherever the
 * command is executed (safety/expected.h). 0, -ENOMEM. */
int router_command_join(Call *call, JsonValue meta);

/* Ends the call with the envelope of the result; finish: the provider said so, and its answer must
 * keep to the output schema. */
void router_command_end(Call *call, const CallResult *result);
void router_command_finish(Call *call, const CallResult *result);

/* It ended in a question, and will come again. */
void router_command_asks(Call *call);

/* The call is over: forgets what Call.command has. result: as it ended; NULL: taken back. */
void router_command_forget(Call *call, const CallResult *result);

/* router/command_answer.h: the answer of a command being put together: its envelope, and the result
 * that carries it. Thread: loop. */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "call/envelope.h"
#include "call/result.h"
#include "router/safety/safety.h"

/* It is not the router's, since a provider may pass on what another call was answered with. */
typedef struct RouterAnswer {
    Arena arena;
    Bytes members;  /* what is added to the command's own, `"name":value` with commas */
    Bytes warnings; /* likewise, strings */
    Bytes context;
    Bytes envelope;
    Bytes content;
    Span piece;
    CallResult result;
} RouterAnswer;

void router_answer_init(RouterAnswer *answer);
void router_answer_deinit(RouterAnswer *answer);

/* Does the command say itself that its transaction was not committed (detail.transactionStatus)?
 * For applications that know nothing of plans. 0, -ENOMEM. */
int router_answer_is_undone(RouterAnswer *answer, const Envelope *envelope, bool *ret);

/* Puts answer->members and answer->warnings into the envelope; of members that the command has
 * itself only ours stay. 0, -ENOMEM, BYTES_E_FULL. */
int router_answer_add(RouterAnswer *answer, Envelope *envelope);

/* The document as the desk knows it now; what the command says besides is kept. As above. */
int router_answer_add_context(RouterAnswer *answer, const SafetyDesk *desk, Span method,
                              Envelope *envelope);

/* Makes answer->result: the envelope as structured content, and as text what is in it. from: what
 * the provider answered, or NULL: other blocks of its content stay. As above. */
int router_answer_write(RouterAnswer *answer, const Envelope *envelope, const EnvelopeTimes *times,
                        Span method, const CallResult *from);

/* r of the above: whatever failed, there is an envelope. */
void router_answer_check(RouterAnswer *answer, int r);

/* api/tw_call.h: what a TwCall is made of.
 *
 * A Call belongs to the loop; a TwCall belongs to the handler, and points to the Call for as long
 * as somebody waits for the answer:
 *
 *     taken from the pool → handler runs → returns: answered, back to the pool
 *                                        → kept: other threads use it
 *                                              → done: posted to the loop, answered there, pool
 *                                              → cancelled (loop): detached; done: pool
 *
 * The lock guards everything that changes after the handler began. What is posted to the loop is
 * posted under the lock and while attached, so the loop is there: it detaches every call, under the
 * same lock, before it ends. A TwCall that is posted goes back to the pool on the loop only.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <toolwire/call.h>

#include "api/tw_internal.h"
#include "base/bytes.h"
#include "call/answer.h"
#include "call/call.h"
#include "io/loop.h"

typedef struct TwServer TwServer;
typedef struct TwEntry TwEntry;

/* Progress and log records of one call that wait for the loop; the loop takes them within
 * microseconds unless its handlers are slow. */
#define API_OUTBOX_BYTES ((size_t)256 * 1024)

/* A variable of a URI template and its value, copied when the call is kept. */
typedef struct ApiVariable {
    const char *name;
    const char *value;
} ApiVariable;

struct TwCall {
    TwServer *server;
    TwEntry *entry;
    TwCall *next; /* in the pool */

    /* Set before the handler runs. */
    TwVerb verb;
    const char *target;
    const char *completing;
    const char *typed;
    const char *state;
    unsigned can;
    CallLogLevel log_level;
    bool wants_progress;
    bool is_dry_run; /* of a command, as the next */
    bool is_write;
    atomic_bool cancelled;

    pthread_mutex_t lock;
    pthread_cond_t idle; /* no cancel function runs any more */
    Call *call;          /* NULL: nobody waits for the answer */
    JsonValue arguments; /* the asker's; when kept, a copy of our own; node NULL: none */
    JsonValue inputs;
    const char *arguments_text;
    ApiVariable *variables; /* when kept */
    size_t n_variables;
    Arena arena; /* strings given to the handler */
    CallAnswer answer;
    Span role;
    Bytes outbox;  /* ApiRecord, its words, again and again */
    Bytes scratch; /* a log record while it is written */
    IoTask task;
    bool posted;
    bool kept;
    bool done;
    bool must_roll_back;     /* a failure wants it */
    unsigned n_in_cancel;    /* cancel functions that run, one inside the other, without the lock */
    pthread_t cancel_thread; /* all on this thread; the others wait for `idle` */
    TwCancelFn cancel_fn;
    void *cancel_user;
};

/* How a call reaches the handlers of an entry (context: TwEntry). */
extern const CallProvider api_call_provider;

/* Makes and releases the object itself; NULL if there is no memory. */
TwCall *api_call_new(TwServer *server, size_t max_response_bytes);
TwCall *api_call_free(TwCall *call);

/* Makes it ready for the pool: forgets the last use, keeps the storage. */
void api_call_reset(TwCall *call);

/* Copies what the handler reads, so that it outlives the Call. Lock held. 0, TW_ERROR_MEMORY. */
int api_call_copy(TwCall *call);

/* May something be added to the answer: does somebody wait for it? Lock held. */
TW_INLINE bool api_call_is_open(const TwCall *call)
{
    return call->call != NULL && !call->done;
}

#include "dialect/pipe/addin.h"

#include <assert.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "dialect/pipe/addin_impl.h"

/* Room for a sentence with a number. */
#define ADDIN_WORDS_BYTES 160

/* Places that are kept for the next calls. */
#define ADDIN_KEPT_ITEMS LIMIT_PIPE_CALLS

/* Storage that a place in the pool keeps for its id, which has 36 bytes as a rule. */
#define ADDIN_KEPT_ID_BYTES ((size_t)512)

/* Messages whose calls wait, together: as many as they may be, they must not all be large. */
#define ADDIN_WAITING_BYTES ((size_t)4 * LIMIT_PIPE_MESSAGE_BYTES)

static int64_t addin_now(const PipeAddin *addin)
{
    const PipeSource *source = addin->config.source;

    return source->now_ms != NULL ? source->now_ms(source->context)
                                  : source->unix_ms(source->context);
}

static void item_free(AddinItem *item)
{
    call_deinit(&item->call);
    bytes_deinit(&item->id);
    (void)mem_free(item);
}

/* A place with that id; NULL if there is no memory. */
static AddinItem *addin_item(PipeAddin *addin, Span id)
{
    AddinItem *item = addin->pool;

    if (item != NULL) {
        addin->pool = item->next;
        addin->n_pool--;
    } else {
        item = mem_alloc_array(1, sizeof(*item));
        if (item == NULL) {
            return NULL;
        }
        call_init(&item->call);
        bytes_init(&item->id, SIZE_MAX);
        item->addin = addin;
    }
    item->next = NULL;
    item->is_running = false;
    if (bytes_append_span(&item->id, id) != 0 ||
        pipe_entries_add(&addin->items, &item->entry, bytes_span(&item->id)) != 0) {
        item_free(item);
        return NULL;
    }
    return item;
}

void pipe_addin_release(PipeAddin *addin, AddinItem *item)
{
    pipe_entries_remove(&addin->items, &item->entry);
    addin->n_running -= item->is_running ? 1 : 0;
    addin->fetched = addin->fetched == item ? NULL : addin->fetched;
    item->is_running = false;
    call_reset(&item->call);
    bytes_clear_keep(&item->id, ADDIN_KEPT_ID_BYTES);
    if (addin->n_pool < ADDIN_KEPT_ITEMS) {
        item->next = addin->pool;
        addin->pool = item;
        addin->n_pool++;
    } else {
        item_free(item);
    }
}

/* What is known of an answer. */
typedef struct Answer {
    Span call_id;
    Span tool_name;
    const CallResult *result;
    int64_t duration_ms;
    bool is_read; /* to toolwire.read_resource */
} Answer;

static int answer_write(const Answer *a, PipeWireMessage *message)
{
    return a->is_read
               ? pipe_write_resource(message->bytes, &message->head, a->call_id, a->result,
                                     a->duration_ms, message->ret_lent)
               : pipe_write_result_lent(message->bytes, &message->head, a->call_id, a->tool_name,
                                        a->result, a->duration_ms, message->ret_lent);
}

static int addin_write(PipeAddin *addin, const Answer *a)
{
    PipeWireMessage message;
    int r = pipe_wire_begin(&addin->wire, &message);

    if (r == 0) {
        r = pipe_wire_end(&addin->wire, &message, answer_write(a, &message));
    }
    return r < 0 ? err_pass(r) : r;
}

/* Whether the parts of a result alone pass the limit, so that they need not be copied to see it. */
static bool addin_is_too_large(const PipeAddin *addin, const CallResult *result)
{
    bool is_written = (result->kind == CALL_RESULT_TOOL && !result->is_error) ||
                      result->kind == CALL_RESULT_RESOURCE;
    size_t n = result->structured.n;

    for (size_t i = 0; i < result->n_pieces && result->structured.n == 0; i++) {
        n += result->pieces[i].n;
    }
    return is_written && n > addin->wire.max_bytes;
}

/* Sends an answer, as it must: one that finds no room is the end of the connection. */
static int addin_answer(PipeAddin *addin, Answer a)
{
    char words[ADDIN_WORDS_BYTES];
    CallResult too_large = {.kind = CALL_RESULT_ERROR, .error = CALL_ERROR_TOO_LARGE};
    int r = PIPE_WIRE_E_TOO_LARGE;

    if (!addin_is_too_large(addin, a.result)) {
        r = addin_write(addin, &a);
    }
    if (r == PIPE_WIRE_E_TOO_LARGE) {
        (void)snprintf(words, sizeof(words), "the %s does not fit into the %u bytes of a message%s",
                       a.is_read ? "resource" : "result", (unsigned)addin->wire.max_bytes,
                       a.is_read ? "" : "; ask the tool for less at once");
        too_large.message = span_from_str(words);
        a.result = &too_large;
        r = addin_write(addin, &a);
    }
    return r > 0 ? err_raise(-ENOBUFS) : err_pass(r);
}

int pipe_addin_answer_cancelled(PipeAddin *addin, AddinItem *item)
{
    CallResult result = {.kind = CALL_RESULT_ERROR, .error = CALL_ERROR_CANCELLED};
    Answer a = {.call_id = bytes_span(&item->id),
                .tool_name = item->call.target,
                .result = &result,
                .duration_ms = item->is_running ? addin_now(addin) - item->since_ms : 0,
                .is_read = item->call.verb == CALL_READ};

    return err_pass(addin_answer(addin, a));
}

static int addin_answer_failure(PipeAddin *addin, const PipeMessage *message, CallError error,
                                const char *words)
{
    CallResult result = {
        .kind = CALL_RESULT_ERROR, .error = error, .message = span_from_str(words)};
    Answer a = {.call_id = message->id, .tool_name = message->tool_name, .result = &result};

    return err_pass(addin_answer(addin, a));
}

static void addin_finish(Call *call, const CallResult *result)
{
    AddinItem *item = (AddinItem *)call;
    PipeAddin *addin = item->addin;
    int64_t duration_ms = addin_now(addin) - item->since_ms;
    Answer a = {.call_id = bytes_span(&item->id),
                .tool_name = call->target,
                .result = result,
                .duration_ms = duration_ms,
                .is_read = call->verb == CALL_READ};
    /* The owner asks next until it gives NULL, so the one that it gave last is being dispatched:
     * there the owner sees for itself that this is over. */
    bool is_later = addin->fetched != item;
    CallResult interrupted;
    int r;

    if (call->may_have_run) {
        interrupted = *result;
        interrupted.is_interrupted = true;
        a.result = &interrupted;
    }
    r = addin_answer(addin, a);
    if (addin->error == 0) {
        addin->error = r;
    }
    pipe_addin_release(addin, item);
    /* Last of all, since the owner may end the session in there. */
    if (is_later && addin->config.wrote != NULL) {
        addin->config.wrote(addin->config.context);
    }
}

static void addin_log(Call *call, CallLogLevel level, Span logger, Span data)
{
    (void)call;
    (void)level;
    (void)logger;
    (void)data;
}

static const CallDoor addin_door = {
    .finish = addin_finish, .progress = pipe_addin_progress, .log = addin_log};

int pipe_addin_new(PipeAddin **ret, const PipeAddinConfig *config, int64_t now_ms)
{
    PipeAddin *addin = mem_alloc(sizeof(*addin));

    if (addin == NULL) {
        return err_raise(-ENOMEM);
    }
    *addin = (PipeAddin){.config = *config};
    if (addin->config.max_running == 0) {
        addin->config.max_running = LIMIT_PIPE_CALLS;
    }
    addin->waiting_end = &addin->waiting;
    addin->wire = pipe_wire_make(config->sink, config->source, config->max_bytes);
    pipe_entries_init(&addin->items, config->seed);
    pipe_keepalive_init(&addin->keepalive, config->ping_interval_ms, config->pong_timeout_ms,
                        now_ms);
    /* Bounded by the message, which the frame's reader bounds. */
    arena_init(&addin->arena, SIZE_MAX);
    bytes_init(&addin->list, addin->wire.max_bytes);
    *ret = addin;
    return 0;
}

PipeAddin *pipe_addin_free(PipeAddin *addin)
{
    PipeEntry *entry;

    if (addin == NULL) {
        return NULL;
    }
    while ((entry = pipe_entries_first(&addin->items)) != NULL) {
        AddinItem *item = PIPE_ENTRY_OWNER(entry, AddinItem, entry);

        pipe_addin_release(addin, item);
    }
    while (addin->pool != NULL) {
        AddinItem *item = addin->pool;

        addin->pool = item->next;
        item_free(item);
    }
    pipe_entries_deinit(&addin->items);
    arena_deinit(&addin->arena);
    bytes_deinit(&addin->list);
    return mem_free(addin);
}

static int addin_answer_list(PipeAddin *addin, const PipeMessage *message)
{
    CallResult result = {.kind = CALL_RESULT_TOOL};
    Answer a = {.call_id = message->id, .tool_name = message->tool_name, .result = &result};
    int r;

    addin->understood = pipe_message_understood(message->args);
    r = addin->config.list(addin->config.context, &addin->list);

    if (r != 0) {
        result = (CallResult){.kind = CALL_RESULT_ERROR, .error = CALL_ERROR_INTERNAL};
    }
    result.structured = bytes_span(&addin->list);
    r = addin_answer(addin, a);
    bytes_clear_keep(&addin->list, LIMIT_KEEP_BYTES);
    return err_pass(r);
}

/* Puts the call behind those that wait. One whose turn it is borrows the message until it is
 * fetched, right after this; another one gets a copy. */
static int addin_enqueue(PipeAddin *addin, const PipeMessage *message, size_t n_bytes,
                         CallVerb verb, Span target)
{
    bool is_next = addin->n_waiting == 0 && addin->n_running < addin->config.max_running;
    AddinItem *item = addin_item(addin, message->id);

    if (item == NULL) {
        return err_raise(-ENOMEM);
    }
    item->call.door = &addin_door;
    item->call.verb = verb;
    item->call.target = target;
    item->call.arguments = verb == CALL_TOOL ? message->args : JSON_VALUE_NULL;
    /* A hub that has said what it understands says tool_cancel when the deadline passes that it has
     * for the call, which may be longer than ours. */
    item->call.timeout_ms = addin->understood != 0 ? -1 : 0;
    item->call.wants_progress = (addin->understood & 1u << PIPE_TOOL_PROGRESS) != 0;
    item->n_bytes = n_bytes;
    if (!is_next && call_keep_arguments(&item->call) != 0) {
        pipe_addin_release(addin, item);
        return err_raise(-ENOMEM);
    }
    *addin->waiting_end = item;
    addin->waiting_end = &item->next;
    addin->n_waiting++;
    addin->n_waiting_bytes += n_bytes;
    return 0;
}

static int addin_call(PipeAddin *addin, const PipeMessage *message, size_t n_bytes)
{
    Span target = message->tool_name;
    CallVerb verb = CALL_TOOL;

    if (pipe_entries_find(&addin->items, message->id) != NULL) {
        return err_pass(pipe_wire_error(&addin->wire, PIPE_CODE_PROTOCOL,
                                        SPAN("id: a call of this id is running already"),
                                        message->id));
    }
    if (addin->config.list != NULL && span_equals(message->tool_name, SPAN(PIPE_LIST_TOOLS))) {
        return err_pass(addin_answer_list(addin, message));
    }
    if (addin->config.list != NULL && span_equals(message->tool_name, SPAN(PIPE_READ_RESOURCE))) {
        int r = pipe_message_uri(message, &addin->arena, &target);

        if (r != 0) {
            return r < 0
                       ? err_pass(r)
                       : err_pass(addin_answer_failure(addin, message, CALL_ERROR_INVALID_ARGUMENTS,
                                                       "arguments/uri: expected string"));
        }
        verb = CALL_READ;
    }
    if (addin->n_waiting >= LIMIT_PIPE_WAITING ||
        (addin->n_waiting > 0 && addin->n_waiting_bytes + n_bytes > ADDIN_WAITING_BYTES)) {
        return err_pass(
            addin_answer_failure(addin, message, CALL_ERROR_BUSY, "too many calls wait"));
    }
    return err_pass(addin_enqueue(addin, message, n_bytes, verb, target));
}

static int addin_handle(PipeAddin *addin, const PipeMessage *message, size_t n_bytes)
{
    switch (message->type) {
    case PIPE_TOOL_CALL:
        return err_pass(addin_call(addin, message, n_bytes));
    case PIPE_TOOL_RESULT:
        addin->counts.late++;
        return 0;
    case PIPE_PING:
        return err_pass(pipe_wire_pong(&addin->wire));
    case PIPE_PONG:
        addin->n_pongs += addin->n_pongs < addin->n_pings ? 1 : 0;
        return 0;
    case PIPE_ERROR:
        addin->counts.errors++;
        if (addin->config.told != NULL) {
            addin->config.told(addin->config.context, message->code, message->message);
        }
        return 0;
    case PIPE_TOOL_CANCEL:
        return err_pass(pipe_addin_cancel(addin, message->call_id));
    case PIPE_TOOL_PROGRESS: /* nothing is asked of a hub, and none offers tools */
    case PIPE_TOOLS_CHANGED:
    case PIPE_N_TYPES:
        break;
    }
    return 0;
}

int pipe_addin_receive(PipeAddin *addin, Span message, int64_t now_ms)
{
    PipeMessage read;
    Diag diag;
    int r;
    int done;

    (void)now_ms;
    if (addin->is_ending) {
        return 0;
    }
    arena_reset(&addin->arena, LIMIT_KEEP_BYTES);
    pipe_keepalive_heard(&addin->keepalive);
    r = pipe_message_read(&read, &addin->arena, message, &diag);
    if (r == 0) {
        done = addin_handle(addin, &read, message.n);
    } else if (r < 0) {
        done = r;
    } else {
        addin->counts.unknown += r == PIPE_E_UNKNOWN ? 1 : 0;
        addin->counts.bad += r == PIPE_E_VALUE ? 1 : 0;
        done = pipe_wire_complain(&addin->wire, &read, r, &diag);
    }
    addin->is_ending = done < 0 || r == PIPE_E_PROTOCOL;
    if (done < 0) {
        return err_pass(done);
    }
    return r == PIPE_E_PROTOCOL ? r : 0;
}

uint32_t pipe_addin_other_order(const PipeAddin *addin, uint32_t declared)
{
    return addin->keepalive.has_heard ? 0 : pipe_wire_other_order(&addin->wire, declared);
}

int pipe_addin_refuse_size(PipeAddin *addin, uint32_t declared)
{
    addin->is_ending = true;
    return err_pass(pipe_wire_refuse_size(&addin->wire, declared, !addin->keepalive.has_heard));
}

Call *pipe_addin_next(PipeAddin *addin)
{
    AddinItem *item = addin->waiting;

    addin->fetched = NULL;
    if (item == NULL || addin->n_running >= addin->config.max_running) {
        return NULL;
    }
    addin->waiting = item->next;
    if (addin->waiting == NULL) {
        addin->waiting_end = &addin->waiting;
    }
    addin->n_waiting--;
    addin->n_waiting_bytes -= item->n_bytes;
    addin->n_running++;
    addin->fetched = item;
    item->is_running = true;
    item->since_ms = addin_now(addin);
    return &item->call;
}

Call *pipe_addin_first(PipeAddin *addin)
{
    PipeEntry *entry = pipe_entries_first(&addin->items);

    for (; entry != NULL; entry = pipe_entries_next(&addin->items, entry)) {
        AddinItem *item = PIPE_ENTRY_OWNER(entry, AddinItem, entry);

        if (item->is_running) {
            return &item->call;
        }
    }
    return NULL;
}

void pipe_addin_drop(PipeAddin *addin, Call *call)
{
    AddinItem *item = (AddinItem *)call;

    assert(item->is_running);
    pipe_addin_release(addin, item);
}

size_t pipe_addin_running(const PipeAddin *addin)
{
    return addin->n_running;
}

size_t pipe_addin_waiting(const PipeAddin *addin)
{
    return addin->n_waiting;
}

void pipe_addin_set_max_running(PipeAddin *addin, size_t n)
{
    addin->config.max_running = n;
}

/* 0, a negative errno that ends the session, or a positive outcome: there is no room for it. */
static int addin_ping(PipeAddin *addin)
{
    int r = pipe_wire_ping(&addin->wire);

    addin->n_pings += r == 0 ? 1 : 0;
    if (r < 0) {
        addin->is_ending = true;
        addin->error = addin->error == 0 ? r : addin->error;
    }
    return r;
}

bool pipe_addin_ping(PipeAddin *addin, int64_t now_ms)
{
    PipeKeepalive *k = &addin->keepalive;

    if (addin->is_ending || addin_ping(addin) != 0) {
        return false;
    }
    addin->asked = addin->n_pings;
    if (k->pong_ms == INT64_MAX) {
        k->pong_ms = now_ms + k->timeout_ms;
    }
    return true;
}

bool pipe_addin_is_ponged(const PipeAddin *addin)
{
    return addin->n_pongs >= addin->asked;
}

bool pipe_addin_advance(PipeAddin *addin, int64_t now_ms)
{
    PipeKeepaliveStep step = PIPE_KEEPALIVE_PING;

    while (!addin->is_ending && step == PIPE_KEEPALIVE_PING) {
        step = pipe_keepalive_advance(&addin->keepalive, now_ms);
        if (step == PIPE_KEEPALIVE_PING) {
            /* If there is no room for it no pong will come, and the rule does what it is for. */
            (void)addin_ping(addin);
        }
    }
    return step != PIPE_KEEPALIVE_DEAD;
}

int64_t pipe_addin_deadline(const PipeAddin *addin)
{
    return addin->is_ending ? INT64_MAX : pipe_keepalive_deadline(&addin->keepalive);
}

PipeAddinCounts pipe_addin_counts(const PipeAddin *addin)
{
    return addin->counts;
}

int pipe_addin_error(const PipeAddin *addin)
{
    return addin->error;
}

/* Questions of servers, and the calls that wait for the answers.
 *
 * A question ends its Call with CALL_RESULT_ASK: a modern client then brings the answers with the
 * same call again, for a legacy one its door asks and repeats the call itself. The server's call is
 * parked meanwhile, under a name that cannot be guessed and that only the same owner may use; it is
 * resumed when the call comes again with that name as its state. Several questions of one call that
 * come together are told together, in a task of the loop.
 *
 * A modern server says which call asks. A legacy one on stdio does not: if all open calls are of
 * one asker it is the oldest of them that can answer; if not, the question is refused, and from
 * then on different askers take turns at this server (call_must_wait), if one of them could be
 * asked at all. So a question is never shown to the wrong asker.
 */
#include "providers/upstream_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/random.h"

/* Of an asker at one server, and of all: a person answers one after the other. */
#define ASK_MAX_PARKED_EACH 16

/* Of a question's params; servers are not to ask for more than they may answer. */
#define ASK_PARAMS_BYTES ((size_t)1024 * 1024)

/* Questions of one call at once. */
#define ASK_MAX_EACH 32

static const char *const ask_words[] = {[CALL_ASK_FORM] = "forms",
                                        [CALL_ASK_URL] = "pages to be opened",
                                        [CALL_ASK_SAMPLE] = "sampling",
                                        [CALL_ASK_ROOTS] = "roots"};

/* ---- questions ---- */

static UpstreamAsk *ask_free(UpstreamAsk *ask)
{
    bytes_deinit(&ask->key);
    bytes_deinit(&ask->params);
    return mem_free(ask);
}

void upstream_asks_free(UpstreamCall *held)
{
    while (held->asks != NULL) {
        UpstreamAsk *next = held->asks->next;

        (void)ask_free(held->asks);
        held->asks = next;
    }
    held->has_news = false;
}

/* Appends it, so that they are told in their order. */
static int ask_add(UpstreamCall *held, const McpClientEvent *event)
{
    UpstreamAsk **at = &held->asks;
    UpstreamAsk *ask = mem_alloc_array(1, sizeof(*ask));
    size_t n = 0;
    int r;

    if (ask == NULL) {
        return err_raise(-ENOMEM);
    }
    ask->number = event->ask;
    ask->kind = event->ask_kind;
    bytes_init(&ask->key, LIMIT_KEEP_BYTES);
    bytes_init(&ask->params, ASK_PARAMS_BYTES);
    r = event->text.n > 0 ? bytes_append_span(&ask->key, event->text)
                          : bytes_append_format(&ask->key, "input-%" PRIu64, event->ask);
    if (r == 0 && event->value.node != NULL) {
        r = bytes_append_span(&ask->params, json_span(event->value));
    }
    while (*at != NULL) {
        at = &(*at)->next;
        n++;
    }
    if (r != 0 || n >= ASK_MAX_EACH) {
        (void)ask_free(ask);
        return err_raise(r < 0 ? r : -ENOBUFS);
    }
    *at = ask;
    held->has_news = true;
    return 0;
}

static void ask_refuse(Upstream *server, const McpClientEvent *event, int code, const char *words)
{
    logsink_write(server->owner->config.log, LOGSINK_LEVEL_DEBUG, "upstream",
                  "%s: its question (%s) is refused: %s", server->spec.name,
                  ask_words[event->ask_kind], words);
    (void)mcp_peer_refuse(server->peer, event->ask, code, span_from_str(words));
}

UpstreamCall *upstream_sole_call(const Upstream *server, unsigned need, bool *ret_many)
{
    UpstreamCall *found = NULL;
    const UpstreamCall *any = NULL;

    *ret_many = false;
    for (UpstreamCall *held = server->first; held != NULL; held = held->next) {
        if (held->is_dead || held->id == 0 || held->end != UPSTREAM_END_NONE) {
            continue;
        }
        if (any != NULL && !upstream_same_asker(any, held->asker,
                                                held->call != NULL ? held->call->owner
                                                                   : bytes_span(&held->owner))) {
            *ret_many = true;
            return NULL;
        }
        any = held;
        /* One that is being answered already comes last. */
        if ((held->can & need) == need &&
            (found == NULL || (found->is_parked && !held->is_parked))) {
            found = held;
        }
    }
    return found;
}

static size_t ask_parked_of(const Upstream *server, const UpstreamCall *mine)
{
    Span owner = mine->call != NULL ? mine->call->owner : bytes_span(&mine->owner);
    size_t n = 0;

    for (const UpstreamCall *held = server->first; held != NULL; held = held->next) {
        n += held->is_parked && upstream_same_asker(held, mine->asker, owner);
    }
    return n;
}

/* The call that it belongs to; NULL: nobody can be asked, and the server was told. */
static UpstreamCall *ask_find_call(Upstream *server, const McpClientEvent *event)
{
    unsigned need = 1u << event->ask_kind;
    UpstreamCall *held = event->context;
    bool many = false;

    if (event->id == 0) {
        held = upstream_sole_call(server, need, &many);
    }
    if (many) {
        if (!server->takes_turns) {
            logsink_write(server->owner->config.log, LOGSINK_LEVEL_WARN, "upstream",
                          "%s: it asked a question while several clients had calls there, and does "
                          "not say whose it is: refused; from now on they take turns",
                          server->spec.name);
        }
        server->takes_turns = true;
        ask_refuse(server, event, -32603,
                   "several clients have calls here, and the question does not say whose it is; "
                   "the same call can be made again");
        return NULL;
    }
    if (held == NULL || held->is_dead || (held->can & need) == 0) {
        ask_refuse(server, event, -32601,
                   held == NULL && server->n_calls == 0
                       ? "Method not found: there is no call whose client could be asked"
                       : "Method not found: the client that called cannot be asked for this");
        return NULL;
    }
    if (!held->is_parked && (server->n_parked >= LIMIT_UPSTREAM_PARKED ||
                             ask_parked_of(server, held) >= ASK_MAX_PARKED_EACH)) {
        ask_refuse(server, event, -32603, "too many questions wait for an answer already");
        return NULL;
    }
    return held;
}

void upstream_ask_take(Upstream *server, const McpClientEvent *event)
{
    UpstreamCall *held = ask_find_call(server, event);

    if (held == NULL) {
        return;
    }
    if (ask_add(held, event) != 0) {
        ask_refuse(server, event, -32603, "the question is too large, or there are too many");
        return;
    }
    if (held->call != NULL) {
        server->has_news = true;
        upstreams_post(server->owner);
    }
}

void upstream_ask_taken_back(Upstream *server, uint64_t number)
{
    for (UpstreamCall *held = server->first; held != NULL; held = held->next) {
        for (UpstreamAsk **at = &held->asks; *at != NULL; at = &(*at)->next) {
            if ((*at)->number == number) {
                UpstreamAsk *ask = *at;

                *at = ask->next;
                (void)ask_free(ask);
                return;
            }
        }
    }
}

/* ---- telling ---- */

static int ask_decode(const UpstreamAsk *ask, Arena *arena, CallAsk *ret)
{
    Span params = bytes_span(&ask->params);
    JsonValue member;
    JsonDoc doc;
    int r = 0;

    *ret = (CallAsk){.key = bytes_span(&ask->key), .kind = ask->kind};
    if (params.n == 0) {
        return 0;
    }
    r = json_parse(&doc, arena, params.p, params.n, NULL, NULL);
    if (r != 0) {
        return err_fold(r);
    }
    if (ask->kind == CALL_ASK_SAMPLE) {
        ret->params = params;
        return 0;
    }
    if (json_get(json_root(&doc), SPAN("message"), &member) && json_kind(member) == JSON_STRING) {
        r = json_string(member, arena, &ret->message);
    }
    if (r == 0 && json_get(json_root(&doc), SPAN("url"), &member) &&
        json_kind(member) == JSON_STRING) {
        r = json_string(member, arena, &ret->url);
    }
    if (json_get(json_root(&doc), SPAN("requestedSchema"), &member)) {
        ret->schema = json_span(member);
    }
    return err_fold(r);
}

static int park_name(UpstreamCall *held)
{
    uint8_t random[16];
    int r = random_fill(random, sizeof(random));

    for (size_t i = 0; r == 0 && i < sizeof(random); i++) {
        (void)snprintf(held->park + 2 * i, 3, "%02x", random[i]);
    }
    return r;
}

/* The Call ends with the questions that are open; the server's goes on. */
static int ask_tell(UpstreamCall *held, Arena *arena)
{
    Upstream *server = held->server;
    Call *call = held->call;
    CallAsk asks[ASK_MAX_EACH];
    CallResult result = {.kind = CALL_RESULT_ASK, .asks = asks};
    int r = park_name(held);

    bytes_clear(&held->owner);
    r = r != 0 ? r : bytes_append_span(&held->owner, call->owner);
    for (UpstreamAsk *ask = held->asks; r == 0 && ask != NULL; ask = ask->next) {
        r = ask_decode(ask, arena, &asks[result.n_asks++]);
        ask->is_told = true;
    }
    if (r != 0) {
        return r;
    }
    result.state = span_from_str(held->park);
    held->has_news = false;
    held->is_parked = true;
    held->call = NULL;
    held->item = NULL;
    if (held->asker != NULL && !held->asker->is_lasting) {
        held->asker = NULL; /* its place may soon be somebody else's */
    }
    held->expires_ms = io_loop_now_ms(server->owner->config.loop) + LIMIT_MCP_STATE_MS;
    server->n_parked++;
    call->provider_data = NULL;
    upstream_set_timer(server);
    call_finish(call, &result);
    return 0;
}

static void ask_refuse_all(UpstreamCall *held)
{
    while (held->asks != NULL) {
        UpstreamAsk *ask = held->asks;

        held->asks = ask->next;
        (void)mcp_peer_refuse(held->server->peer, ask->number, -32603,
                              SPAN("the question could not be passed on"));
        (void)ask_free(ask);
    }
    held->has_news = false;
}

void upstream_asks_tell(Upstream *server)
{
    UpstreamCall *held = server->first;

    while (held != NULL) {
        Arena arena;

        if (!held->has_news || held->call == NULL || held->asks == NULL) {
            held = held->next;
            continue;
        }
        arena_init(&arena, SIZE_MAX);
        if (ask_tell(held, &arena) != 0) {
            ask_refuse_all(held);
        }
        arena_deinit(&arena);
        held = server->first; /* whoever was told may have ended others */
    }
}

/* ---- those who do not come back ---- */

void upstream_park_end(UpstreamCall *held)
{
    Upstream *server = held->server;

    if (held->end != UPSTREAM_END_NONE || server->peer == NULL) {
        upstream_call_close(held);
        return;
    }
    upstream_asks_free(held);
    held->is_parked = false;
    server->n_parked--;
    held->is_dead = true;
    mcp_peer_cancel(server->peer, held->id, SPAN("nobody came back with the answers"));
}

static void park_forsake(Upstream *server, const CallAsker *asker, Span state)
{
    UpstreamCall *next;

    for (UpstreamCall *held = server->first; held != NULL; held = next) {
        next = held->next;
        if (held->is_parked && (state.n > 0 ? span_equals(span_from_str(held->park), state)
                                            : asker != NULL && held->asker == asker)) {
            upstream_park_end(held);
            /* Others may have their turn, when whoever leaves has left. */
            server->has_news = true;
            upstreams_post(server->owner);
        }
    }
}

void upstreams_on_forsaken(void *context, const CallAsker *asker, Span state)
{
    Upstreams *upstreams = context;

    for (size_t i = 0; i < upstreams->n_servers; i++) {
        if (upstreams->servers[i]->n_parked > 0) {
            park_forsake(upstreams->servers[i], asker, state);
        }
    }
}

/* ---- the answers ---- */

static UpstreamCall *park_find(const Upstream *server, const Call *call)
{
    for (UpstreamCall *held = server->first; held != NULL; held = held->next) {
        if (held->is_parked && span_equals(span_from_str(held->park), call->state) &&
            held->verb == call->verb && span_equals(bytes_span(&held->owner), call->owner)) {
            return held;
        }
    }
    return NULL;
}

/* Sends the answers that have come. */
static void resume_answer(Upstream *server, UpstreamCall *held, const Call *call)
{
    UpstreamAsk **at = &held->asks;

    while (*at != NULL) {
        UpstreamAsk *ask = *at;
        JsonValue answer;

        if (!ask->is_told || !call_input(call, bytes_span(&ask->key), &answer)) {
            at = &ask->next;
            continue;
        }
        *at = ask->next;
        (void)mcp_peer_answer(server->peer, ask->number, json_span(answer));
        (void)ask_free(ask);
    }
}

/* It ended while its asker was thinking. */
static void resume_ended(UpstreamCall *held, Call *call)
{
    Upstreams *owner = held->server->owner;
    CallResult error = {.kind = CALL_RESULT_ERROR,
                        .error = held->end == UPSTREAM_END_ERROR ? CALL_ERROR_OWN
                                                                 : CALL_ERROR_UNAVAILABLE,
                        .message = bytes_span(&held->kept),
                        .is_relayed = held->end == UPSTREAM_END_ERROR,
                        .wire_code = held->kept_code,
                        .data = bytes_span(&held->kept_data)};
    Bytes kept = held->kept;
    Bytes data = held->kept_data;
    bool is_result = held->end == UPSTREAM_END_RESULT;
    Arena arena;
    JsonDoc doc;

    /* The call may be used again before it is told. */
    bytes_init(&held->kept, kept.max_bytes);
    bytes_init(&held->kept_data, data.max_bytes);
    call->may_have_run = held->end == UPSTREAM_END_LOST;
    upstream_call_close(held);
    arena_init(&arena, SIZE_MAX);
    if (!is_result) {
        call_finish(call, &error);
    } else if (json_parse(&doc, &arena, kept.data, kept.n, NULL, NULL) == 0) {
        upstream_finish(owner, call, json_root(&doc));
    } else {
        call_fail(call, CALL_ERROR_INTERNAL, SPAN_NULL);
    }
    arena_deinit(&arena);
    bytes_deinit(&kept);
    bytes_deinit(&data);
}

void upstream_resume(Upstream *server, Call *call)
{
    UpstreamCall *held = park_find(server, call);

    if (held == NULL) {
        call_fail(call, CALL_ERROR_UNAVAILABLE,
                  SPAN("the question that this answers is not open any more: it was answered, its "
                       "time is over, or its server has ended; make the call anew"));
        return;
    }
    if (held->end != UPSTREAM_END_NONE) {
        resume_ended(held, call);
        upstream_turns(server);
        return;
    }
    held->is_parked = false;
    server->n_parked--;
    held->call = call;
    held->can = call->can;
    held->asker = call->asker;
    call->provider_data = held;
    resume_answer(server, held, call);
    if (held->asks != NULL) {
        /* Some have no answer, or have come meanwhile: in a moment, when start has returned. */
        held->has_news = true;
        server->has_news = true;
        upstreams_post(server->owner);
    }
}

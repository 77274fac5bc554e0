/* Questions of servers, and the calls that wait for the answers.
 *
 * A question ends its Call with CALL_RESULT_ASK: a modern client then brings the answers with the
 * same call again, for a legacy one its door asks and repeats the call itself. The server's call is
 * parked meanwhile, under a name that cannot be guessed and that only the same owner may use; it is
 * resumed when the call comes again with that name as its state. Several questions of one call that
 * come together are told together: those of a modern server in a task of the loop, those of a
 * legacy one a moment later.
 *
 * A modern server says which call asks. A legacy one on stdio does not: if all open calls are of
 * one asker it is the oldest of them that can answer; if not, the question is refused, and from
 * then on different askers take turns at this server (call_must_wait), if one of them could be
 * asked at all. A parked call is not counted there: its server waits for the answer, and its asker
 * may never come back. So a question is not shown to the wrong asker.
 *
 * A question that the asker did not say it can answer is refused. If its call then fails, an asker
 * whose protocol has an error for that is told what was missing.
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

/* A legacy server asks each question for itself: those that follow so soon are told with the first.
 * Nobody who answers notices it. */
#define ASK_TOGETHER_MS 20

#define ASK_LACK_WORDS "Method not found: the client that called cannot be asked for this"

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
static int ask_add(UpstreamCall *held, const McpClientEvent *event, bool is_refused)
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
    ask->is_refused = is_refused;
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

static void ask_tell_soon(Upstream *server)
{
    if (server->tell_ms == 0) {
        server->tell_ms = io_loop_now_ms(server->owner->config.loop) + ASK_TOGETHER_MS;
        upstream_set_timer(server);
    }
}

static void ask_refuse(Upstream *server, const McpClientEvent *event, int code, const char *words)
{
    logsink_write(server->owner->config.log, LOGSINK_LEVEL_DEBUG, "upstream",
                  "%s: its question (%s) is refused: %s", server->spec.name,
                  ask_words[event->ask_kind], words);
    (void)mcp_peer_refuse(server->peer, event->ask, code, span_from_str(words));
}

/* Does the server work on it? One that waits for an answer does not speak meanwhile. */
static bool ask_is_running(const UpstreamCall *held)
{
    return !held->is_parked && !held->is_dead && held->id != 0 && held->end == UPSTREAM_END_NONE;
}

static bool ask_is_waiting(const UpstreamCall *held)
{
    return held->is_parked && held->end == UPSTREAM_END_NONE;
}

static Span ask_owner(const UpstreamCall *held)
{
    return held->call != NULL ? held->call->owner : bytes_span(&held->owner);
}

/* Those that run are looked at first: an asker who never comes back must not make the questions of
 * all others nobody's. */
UpstreamCall *upstream_sole_call(const Upstream *server, unsigned need, bool *ret_many)
{
    const UpstreamCall *any = NULL;
    UpstreamCall *found = NULL;
    bool is_any_running;

    *ret_many = false;
    for (UpstreamCall *held = server->first; held != NULL; held = held->next) {
        if (!ask_is_running(held)) {
            continue;
        }
        if (any != NULL && !upstream_same_asker(any, held->asker, ask_owner(held))) {
            *ret_many = true;
            return NULL;
        }
        any = held;
        found = found == NULL && (held->can & need) == need ? held : found;
    }
    is_any_running = any != NULL;
    for (UpstreamCall *held = server->first; found == NULL && held != NULL; held = held->next) {
        if (!ask_is_waiting(held)) {
            continue;
        }
        if (any != NULL && !upstream_same_asker(any, held->asker, ask_owner(held))) {
            *ret_many = !is_any_running;
            return NULL;
        }
        any = held;
        found = (held->can & need) == need ? held : found;
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

/* A question beyond what the asker can. Whose call fails now may learn why. It is refused with the
 * answers to those that come with it, so that they are told. */
static bool ask_keep_lack(Upstream *server, UpstreamCall *held, const McpClientEvent *event)
{
    bool many;

    if (held == NULL && event->id == 0) {
        held = upstream_sole_call(server, 0, &many);
    }
    if (held == NULL || held->is_dead) {
        return false;
    }
    held->lacks |= 1u << event->ask_kind;
    if (server->is_modern || held->call == NULL || ask_add(held, event, true) != 0) {
        return false;
    }
    ask_tell_soon(server);
    return true;
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
        if (!ask_keep_lack(server, held, event)) {
            ask_refuse(server, event, -32601,
                       held == NULL && server->n_calls == 0
                           ? "Method not found: there is no call whose client could be asked"
                           : ASK_LACK_WORDS);
        }
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
    if (ask_add(held, event, false) != 0) {
        ask_refuse(server, event, -32603, "the question is too large, or there are too many");
        return;
    }
    if (held->call == NULL) {
        return;
    }
    if (server->is_modern) {
        server->has_news = true;
        upstreams_post(server->owner);
    } else {
        ask_tell_soon(server);
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

/* Gives the one behind it. */
static UpstreamAsk *ask_refuse_kept(Upstream *server, UpstreamAsk *ask)
{
    UpstreamAsk *next = ask->next;

    (void)mcp_peer_refuse(server->peer, ask->number, -32601, SPAN(ASK_LACK_WORDS));
    (void)ask_free(ask);
    return next;
}

/* Refuses what is to be refused, if nothing else is asked. */
static bool ask_refuse_lacks(UpstreamCall *held)
{
    for (const UpstreamAsk *ask = held->asks; ask != NULL; ask = ask->next) {
        if (!ask->is_refused) {
            return false;
        }
    }
    while (held->asks != NULL) {
        held->asks = ask_refuse_kept(held->server, held->asks);
    }
    held->has_news = false;
    return true;
}

/* Sends the answers that have come to questions that were told, or to those that were not. */
static void ask_answer(UpstreamCall *held, const Call *call, bool is_told)
{
    UpstreamAsk **at = &held->asks;

    while (*at != NULL) {
        UpstreamAsk *ask = *at;
        JsonValue answer;

        if (is_told && ask->is_refused) {
            *at = ask_refuse_kept(held->server, ask);
            continue;
        }
        if (ask->is_told != is_told || !call_input(call, bytes_span(&ask->key), &answer)) {
            at = &ask->next;
            continue;
        }
        *at = ask->next;
        (void)mcp_peer_answer(held->server->peer, ask->number, json_span(answer));
        (void)ask_free(ask);
    }
}

/* Answers may come before the questions, from an asker who knows them. Once: a server that asks
 * again did not like them. True: no question is left. */
static bool ask_answer_ahead(UpstreamCall *held)
{
    if (held->park[0] != '\0' || held->was_answered_ahead || held->call->inputs.node == NULL) {
        return false;
    }
    held->was_answered_ahead = true;
    ask_answer(held, held->call, false);
    held->has_news = held->asks != NULL;
    return held->asks == NULL;
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
        if (!ask->is_refused) {
            r = ask_decode(ask, arena, &asks[result.n_asks++]);
        }
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

bool upstream_tell_missing(Call *call, unsigned lacks)
{
    CallAsk asks[TW_ARRAY_SIZE(ask_words)];
    CallResult result = {.kind = CALL_RESULT_ASK, .asks = asks};

    lacks &= ~call->can;
    if (lacks == 0 || !call->names_missing) {
        return false;
    }
    for (CallAskKind kind = 0; kind < TW_ARRAY_SIZE(ask_words); kind++) {
        if ((lacks & 1u << kind) != 0) {
            asks[result.n_asks++] = (CallAsk){.kind = kind, .key = SPAN("missing")};
        }
    }
    call_finish(call, &result);
    return true;
}

unsigned upstream_missing_of(const McpClientEvent *event)
{
    static const struct {
        const char *name;
        CallAskKind kind;
    } rows[] = {
        {"elicitation", CALL_ASK_FORM}, {"sampling", CALL_ASK_SAMPLE}, {"roots", CALL_ASK_ROOTS}};
    unsigned lacks = 0;
    JsonValue needs;
    JsonValue member;

    if (event->is_ours || event->code != -32021 || event->value.node == NULL ||
        json_kind(event->value) != JSON_OBJECT ||
        !json_get(event->value, SPAN("requiredCapabilities"), &needs) ||
        json_kind(needs) != JSON_OBJECT) {
        return 0;
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        if (json_get(needs, span_from_str(rows[i].name), &member)) {
            bool is_page = rows[i].kind == CALL_ASK_FORM && json_kind(member) == JSON_OBJECT &&
                           json_get(member, SPAN("url"), &member);

            lacks |= 1u << (is_page ? CALL_ASK_URL : rows[i].kind);
        }
    }
    return lacks;
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
        if (ask_answer_ahead(held) || ask_refuse_lacks(held)) {
            continue;
        }
        arena_init(&arena, SIZE_MAX);
        if (ask_tell(held, &arena) != 0) {
            ask_refuse_all(held);
        }
        arena_deinit(&arena);
        held = server->first; /* whoever was told may have ended others */
    }
    upstream_turns(server);
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
    ask_answer(held, call, true);
    if (held->asks != NULL) {
        /* Some have no answer, or have come meanwhile: in a moment, when start has returned. */
        held->has_news = true;
        server->has_news = true;
        upstreams_post(server->owner);
    }
}

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
 * one asker it is the oldest of them that can answer, whether it is the one that asks or not; if
 * not, the question is refused, and from then on different askers take turns at this server
 * (upstream_must_wait), if one of them could be asked at all. A parked call is not counted there:
 * its server waits for the answer, and its asker may never come back; when he does, the answers
 * wait for their turn. It does count once the server has asked more while it was waiting, and where
 * it is another user's: so a question is not shown to another user.
 *
 * Such a question may outlive the call that carries it: when that call ends, or is taken back, or
 * nobody comes back for it, another call of the same asker carries it (upstream_asks_leave). One
 * that nobody can carry is refused, so that no call waits for an answer that cannot come.
 *
 * A question that the asker did not say it can answer is refused. If its call then fails, an asker
 * whose protocol has an error for that is told what was missing.
 */
#include "providers/upstream_impl.h"

#include <inttypes.h>

#include "base/alloc.h"

/* Calls of an asker at one server that wait for answers; the questions of others wait until he has
 * answered some: a person answers one after the other. */
#define ASK_MAX_PARKED_EACH 16

/* Of a question's params; servers are not to ask for more than they may answer. */
#define ASK_PARAMS_BYTES ((size_t)1024 * 1024)

/* A legacy server asks each question for itself: those that follow so soon are told with the first.
 * Nobody who answers notices it. */
#define ASK_TOGETHER_MS 20

/* A call may be told so many rounds of questions that are perhaps another's. After that those that
 * were told less come first: doors end a call after LIMIT_MCP_ROUNDS of them. */
#define ASK_EVEN_ROUNDS 4

static const char *const ask_words[] = {[CALL_ASK_FORM] = "forms",
                                        [CALL_ASK_URL] = "pages to be opened",
                                        [CALL_ASK_SAMPLE] = "sampling",
                                        [CALL_ASK_ROOTS] = "roots"};

/* ---- questions ---- */

UpstreamAsk *upstream_ask_free(UpstreamAsk *ask)
{
    bytes_deinit(&ask->key);
    bytes_deinit(&ask->params);
    return mem_free(ask);
}

void upstream_asks_free(UpstreamCall *held)
{
    while (held->asks != NULL) {
        UpstreamAsk *next = held->asks->next;

        (void)upstream_ask_free(held->asks);
        held->asks = next;
    }
    held->has_news = false;
}

static bool ask_has_room(const UpstreamCall *held)
{
    size_t n = 0;

    for (const UpstreamAsk *ask = held->asks; ask != NULL; ask = ask->next) {
        n++;
    }
    return n < UPSTREAM_MAX_ASKS;
}

/* Appends it, so that they are told in their order. */
static void ask_append(UpstreamCall *held, UpstreamAsk *ask)
{
    UpstreamAsk **at = &held->asks;

    while (*at != NULL) {
        at = &(*at)->next;
    }
    ask->next = NULL;
    *at = ask;
    held->has_news = true;
}

static int ask_add(UpstreamCall *held, const McpClientEvent *event, bool is_refused)
{
    UpstreamAsk *ask = mem_alloc_array(1, sizeof(*ask));
    int r;

    if (ask == NULL) {
        return err_raise(-ENOMEM);
    }
    ask->number = event->ask;
    ask->kind = event->ask_kind;
    ask->is_unnamed = event->id == 0;
    ask->is_refused = is_refused;
    bytes_init(&ask->key, LIMIT_KEEP_BYTES);
    bytes_init(&ask->params, ASK_PARAMS_BYTES);
    r = event->text.n > 0 ? bytes_append_span(&ask->key, event->text)
                          : bytes_append_format(&ask->key, "input-%" PRIu64, event->ask);
    if (r == 0 && event->value.node != NULL) {
        r = bytes_append_span(&ask->params, json_span(event->value));
    }
    if (r != 0 || !ask_has_room(held)) {
        (void)upstream_ask_free(ask);
        return err_raise(r < 0 ? r : -ENOBUFS);
    }
    ask_append(held, ask);
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
    return !held->is_parked && !held->is_back && !held->is_dead && held->id != 0 &&
           held->end == UPSTREAM_END_NONE;
}

static bool ask_is_waiting(const UpstreamCall *held)
{
    return (held->is_parked || held->is_back) && held->end == UPSTREAM_END_NONE;
}

/* A call that waits for an answer is in nobody's way, since its asker may never come back. It is
 * if its server is known to speak meanwhile; and what may be another user's is shown to nobody. */
static bool ask_is_in_the_way(const Upstream *server, const UpstreamCall *waiting,
                              const UpstreamCall *running)
{
    return !upstream_same_asker(running, waiting) &&
           (server->asks_meanwhile ||
            !span_equals(upstream_owner_of(running), upstream_owner_of(waiting)));
}

static bool ask_can_carry(const UpstreamCall *held, unsigned need)
{
    return (held->can & need) == need && ask_has_room(held);
}

/* Is it better to ask in the one than in the other, which is older? */
static bool ask_is_better(const UpstreamCall *held, const UpstreamCall *older)
{
    return older == NULL || (older->n_told >= ASK_EVEN_ROUNDS && held->n_told < older->n_told);
}

/* Of those that one of the two functions says are meant: the first that can answer. *any: one of
 * them, of whose asker all must be. */
static UpstreamCall *ask_first_of(const Upstream *server, bool (*is_meant)(const UpstreamCall *),
                                  unsigned need, const UpstreamCall **any, bool *ret_many)
{
    UpstreamCall *found = NULL;

    for (UpstreamCall *held = server->first; held != NULL; held = held->next) {
        if (!is_meant(held)) {
            continue;
        }
        if (*any != NULL && !upstream_same_asker(*any, held)) {
            *ret_many = true;
            return NULL;
        }
        *any = held;
        found = ask_can_carry(held, need) && ask_is_better(held, found) ? held : found;
    }
    return found;
}

/* Those that run are looked at first. */
UpstreamCall *upstream_sole_call(const Upstream *server, unsigned need, bool *ret_many)
{
    const UpstreamCall *any = NULL;
    UpstreamCall *found;
    bool is_any_running;

    *ret_many = false;
    found = ask_first_of(server, ask_is_running, need, &any, ret_many);
    is_any_running = any != NULL;
    for (const UpstreamCall *held = server->first; is_any_running && held != NULL && !*ret_many;
         held = held->next) {
        *ret_many = ask_is_waiting(held) && ask_is_in_the_way(server, held, any);
    }
    if (*ret_many) {
        return NULL;
    }
    if (found == NULL) {
        found = ask_first_of(server, ask_is_waiting, need, &any, ret_many);
        *ret_many = *ret_many && !is_any_running;
    }
    return found;
}

/* Nobody can tell him from others: over HTTP, without a session and without credentials. */
static bool ask_is_nameless(const UpstreamCall *held)
{
    return held->session == 0 && upstream_owner_of(held).n == 0 &&
           (held->asker == NULL || !held->asker->is_lasting);
}

/* Those without a name are one: else one of them could take all places. */
static size_t ask_parked_of(const Upstream *server, const UpstreamCall *mine)
{
    bool is_nameless = ask_is_nameless(mine);
    size_t n = 0;

    for (const UpstreamCall *held = server->first; held != NULL; held = held->next) {
        n += held->is_parked &&
             (upstream_same_asker(held, mine) || (is_nameless && ask_is_nameless(held)));
    }
    return n;
}

/* Clients that cannot be told apart must not wait for each other. */
static bool ask_may_park(const Upstream *server, const UpstreamCall *held)
{
    return held->is_parked || (server->n_parked < LIMIT_UPSTREAM_PARKED &&
                               (!ask_is_nameless(held) || !upstream_asks_must_queue(held)));
}

bool upstream_asks_must_queue(const UpstreamCall *held)
{
    return ask_parked_of(held->server, held) >= ASK_MAX_PARKED_EACH;
}

/* Another call of the same asker that can ask it: one that runs, or one that can ask it when the
 * answers to its other questions come. */
static UpstreamCall *ask_other_of(const Upstream *server, const UpstreamCall *mine, unsigned need)
{
    UpstreamCall *running = NULL;
    UpstreamCall *waiting = NULL;

    for (UpstreamCall *held = server->first; held != NULL; held = held->next) {
        if (held == mine || !upstream_same_asker(held, mine) || !ask_can_carry(held, need)) {
            continue;
        }
        if (ask_is_running(held) && ask_is_better(held, running) && ask_may_park(server, held)) {
            running = held;
        } else if (ask_is_waiting(held) && ask_is_better(held, waiting)) {
            waiting = held;
        }
    }
    return running != NULL ? running : waiting;
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

/* A modern server has no form for a refusal: to it, an answer that nobody gave would be the user's.
 * Its call ends. */
static void ask_refuse_busy(Upstream *server, UpstreamCall *held, const McpClientEvent *event)
{
    static const char words[] = "too many questions wait for an answer already";
    Call *call = held->call;

    if (!server->is_modern || call == NULL) {
        ask_refuse(server, event, -32603, words);
        return;
    }
    call->provider_data = NULL;
    call->may_have_run = true;
    upstream_asks_free(held);
    held->call = NULL;
    held->is_dead = true;
    mcp_peer_cancel(server->peer, held->id, span_from_str(words));
    call_fail(call, CALL_ERROR_BUSY, span_from_str(words));
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
                           : UPSTREAM_LACK_WORDS);
        }
        return NULL;
    }
    if (!ask_may_park(server, held)) {
        ask_refuse_busy(server, held, event);
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
    if (held->call == NULL || held->is_back) {
        server->asks_meanwhile = true;
        return;
    }
    if (server->is_modern) {
        server->has_news = true;
        upstreams_post(server->owner);
    } else {
        ask_tell_soon(server);
    }
}

static void ask_leave(UpstreamCall *held, UpstreamAsk *ask, const char *why)
{
    Upstream *server = held->server;
    UpstreamCall *other =
        ask->is_unnamed && !ask->is_refused ? ask_other_of(server, held, 1u << ask->kind) : NULL;

    if (other == NULL) {
        (void)mcp_peer_refuse(server->peer, ask->number, ask->is_refused ? -32601 : -32603,
                              span_from_str(ask->is_refused ? UPSTREAM_LACK_WORDS : why));
        (void)upstream_ask_free(ask);
        return;
    }
    ask->is_told = false;
    ask_append(other, ask);
    if (ask_is_running(other)) {
        ask_tell_soon(server);
    }
}

void upstream_asks_leave(UpstreamCall *held, bool all, const char *why)
{
    UpstreamAsk *rest = NULL;

    if (held->server->peer == NULL || held->server->is_modern) {
        upstream_asks_free(held);
        return;
    }
    while (held->asks != NULL) {
        UpstreamAsk *ask = held->asks;

        held->asks = ask->next;
        if (all || !ask->is_told) {
            ask_leave(held, ask, why);
        } else {
            ask->next = rest;
            rest = ask;
        }
    }
    held->asks = rest; /* told already, so that their order is of no use any more */
    held->has_news = false;
}

void upstream_ask_taken_back(Upstream *server, uint64_t number)
{
    for (UpstreamCall *held = server->first; held != NULL; held = held->next) {
        for (UpstreamAsk **at = &held->asks; *at != NULL; at = &(*at)->next) {
            if ((*at)->number == number) {
                UpstreamAsk *ask = *at;

                *at = ask->next;
                (void)upstream_ask_free(ask);
                return;
            }
        }
    }
}

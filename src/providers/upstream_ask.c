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
 * then on different askers take turns at this server (upstream_must_wait), if one of them could be
 * asked at all. A parked call is not counted there: its server waits for the answer, and its asker
 * may never come back; when he does, the answers wait for their turn. It does count once the server
 * has asked more while it was waiting, and where it is another user's: so a question is not shown
 * to another user.
 *
 * A question that the asker did not say it can answer is refused. If its call then fails, an asker
 * whose protocol has an error for that is told what was missing.
 */
#include "providers/upstream_impl.h"

#include <inttypes.h>

#include "base/alloc.h"

/* Of an asker at one server, and of all: a person answers one after the other. */
#define ASK_MAX_PARKED_EACH 16

/* Of a question's params; servers are not to ask for more than they may answer. */
#define ASK_PARAMS_BYTES ((size_t)1024 * 1024)

/* A legacy server asks each question for itself: those that follow so soon are told with the first.
 * Nobody who answers notices it. */
#define ASK_TOGETHER_MS 20

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
    if (r != 0 || n >= UPSTREAM_MAX_ASKS) {
        (void)upstream_ask_free(ask);
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
        found = found == NULL && (held->can & need) == need ? held : found;
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
                           : UPSTREAM_LACK_WORDS);
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

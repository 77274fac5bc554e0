/* Questions of servers on their way to those who answer, and the answers back (upstream_ask.c). */
#include "providers/upstream_impl.h"

#include <stdio.h>

#include "base/random.h"

/* A legacy server hears the client's error, if that is the answer. */
static void ask_send_answer(Upstream *server, uint64_t number, JsonValue answer)
{
    int64_t code = -32603;
    Span message = SPAN("the client refused");
    JsonValue error;
    JsonValue member;
    Arena arena;

    if (json_kind(answer) != JSON_OBJECT || !json_get(answer, SPAN(CALL_ANSWER_ERROR), &error) ||
        json_kind(error) != JSON_OBJECT) {
        (void)mcp_peer_answer(server->peer, number, json_span(answer));
        return;
    }
    arena_init(&arena, LIMIT_KEEP_BYTES);
    if (json_get(error, SPAN("code"), &member)) {
        (void)json_int64(member, &code);
    }
    if (json_get(error, SPAN("message"), &member) && json_kind(member) == JSON_STRING &&
        json_string_exact(member, &arena, &message) != 0) {
        message = SPAN("the client refused");
    }
    code = code < INT32_MIN || code > INT32_MAX ? -32603 : code;
    (void)mcp_peer_refuse(server->peer, number, (int)code, message);
    arena_deinit(&arena);
}

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
        r = json_string_exact(member, arena, &ret->message);
    }
    if (r == 0 && json_get(json_root(&doc), SPAN("url"), &member) &&
        json_kind(member) == JSON_STRING) {
        r = json_string_exact(member, arena, &ret->url);
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

    (void)mcp_peer_refuse(server->peer, ask->number, -32601, SPAN(UPSTREAM_LACK_WORDS));
    (void)upstream_ask_free(ask);
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

void upstream_asks_answer(UpstreamCall *held, const Call *call, bool is_told)
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
        ask_send_answer(held->server, ask->number, answer);
        (void)upstream_ask_free(ask);
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
    upstream_asks_answer(held, held->call, false);
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
    CallAsk asks[UPSTREAM_MAX_ASKS];
    CallResult result = {.kind = CALL_RESULT_ASK, .asks = asks};
    int r = park_name(held);

    bytes_clear(&held->owner);
    r = r != 0 ? r : bytes_append_span(&held->owner, call->owner);
    for (UpstreamAsk *ask = held->asks; r == 0 && ask != NULL; ask = ask->next) {
        if (!ask->is_refused) {
            r = ask_decode(ask, arena, &asks[result.n_asks]);
            asks[result.n_asks++].takes_error = !server->is_modern;
        }
        ask->is_told = true;
    }
    if (r != 0) {
        return r;
    }
    result.state = span_from_str(held->park);
    held->has_news = false;
    held->n_told++;
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
    CallAsk asks[UPSTREAM_N_ASK_KINDS];
    CallResult result = {.kind = CALL_RESULT_ASK, .asks = asks};

    lacks &= ~call->can;
    if (lacks == 0 || !call->names_missing) {
        return false;
    }
    for (CallAskKind kind = 0; kind < UPSTREAM_N_ASK_KINDS; kind++) {
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
        (void)upstream_ask_free(ask);
    }
    held->has_news = false;
}

void upstream_asks_tell(Upstream *server)
{
    UpstreamCall *held = server->first;

    server->has_queued = false;
    while (held != NULL) {
        Arena arena;

        if (!held->has_news || held->call == NULL || held->asks == NULL || held->is_back) {
            held = held->next;
            continue;
        }
        if (ask_answer_ahead(held) || ask_refuse_lacks(held)) {
            continue;
        }
        if (upstream_asks_must_queue(held)) {
            server->has_queued = true;
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
    upstream_turns(server);
}

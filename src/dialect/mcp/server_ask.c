/* Questions to the client: a provider's ASK, in the form of the era.
 *
 *     legacy   a request of ours for each question; the call waits here for the responses and is
 *              then handed to the owner again
 *     modern   an input_required result; the request is over, and another one brings the answers
 *              back, together with what we need to go on (dialect/mcp/state.h)
 */
#include "dialect/mcp/server_internal.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "dialect/mcp/state.h"
#include "json/writer.h"

static bool is_elicitation(CallAskKind kind)
{
    return kind == CALL_ASK_FORM || kind == CALL_ASK_URL;
}

static void end_with(McpRequest *request, CallError error, Span why)
{
    mcp_answer_call_error(request, error, why);
    mcp_request_end(request);
}

static unsigned asks_need(const CallResult *result)
{
    unsigned need = 0;

    for (size_t i = 0; i < result->n_asks; i++) {
        need |= 1u << result->asks[i].kind;
    }
    return need;
}

/* Modern. */

static McpStateBinding binding_of(const McpRequest *request)
{
    return (McpStateBinding){.method = request->method,
                             .target = request->call.target,
                             .arguments = request->call.arguments};
}

static int send_missing_capability(McpRequest *request, const CallResult *result)
{
    McpReply reply = mcp_reply_to_request(request);
    McpOut out;
    int r;

    mcp_about_request(request, true);
    request->server->about.code = MCP_ERROR_MISSING_CAPABILITY;
    r = mcp_out_begin(&out, request->server, request->batch, true);
    if (r == 0) {
        r = mcp_render_missing_capability(out.bytes, &reply, request->call.can, result->asks,
                                          result->n_asks);
    }
    return mcp_out_end(&out, r);
}

static int send_input_required(McpRequest *request, const CallResult *result, Span state)
{
    McpReply reply = mcp_reply_to_request(request);
    McpOut out;
    int r;

    mcp_about_request(request, true);
    r = mcp_out_begin(&out, request->server, request->batch, true);
    if (r == 0) {
        r = mcp_render_input_required(out.bytes, &reply, result->asks, result->n_asks, state);
    }
    return mcp_out_end(&out, r);
}

/* What each question is and must be answered with; copied to scratch by way of server->text. */
static int write_asked(McpServer *server, const CallResult *result, Span *ret)
{
    JsonWriter w;
    int r;

    json_writer_init(&w, &server->text, JSON_STYLE_COMPACT);
    json_write_object(&w);
    for (size_t i = 0; i < result->n_asks; i++) {
        const CallAsk *ask = &result->asks[i];

        json_write_key(&w, ask->key);
        json_write_object(&w);
        json_write_key(&w, SPAN("kind"));
        json_write_string(&w, mcp_ask_kind_name(ask->kind));
        if (ask->kind == CALL_ASK_FORM && ask->schema.n > 0) {
            json_write_key(&w, SPAN("schema"));
            json_write_raw(&w, ask->schema);
        }
        json_write_end_object(&w);
    }
    json_write_end_object(&w);
    r = json_writer_finish(&w);
    if (r == 0) {
        *ret = arena_copy(&server->scratch, bytes_span(&server->text));
        r = ret->p == NULL ? -ENOMEM : 0;
    }
    bytes_clear(&server->text);
    return r;
}

/* Into server->text. */
static int seal_state(McpRequest *request, const CallResult *result)
{
    McpServer *server = request->server;
    McpStateBinding binding = binding_of(request);
    JsonValue inputs = request->call.inputs;
    McpStateParts parts = {.answers = inputs.node == NULL ? SPAN_NULL : json_span(inputs),
                           .own = result->state};
    int r = write_asked(server, result, &parts.asked);

    if (r == 0) {
        r = mcp_state_seal(&server->text, &server->scratch, server->config.sealer, &binding,
                           mcp_expiry_ms(server), &parts);
    }
    arena_reset(&server->scratch, LIMIT_KEEP_BYTES);
    return r > 0 ? MCP_OUT_E_FULL : err_pass(r);
}

/* False: it could not be asked, and the request has ended. */
static bool ask_modern(McpRequest *request, const CallResult *result)
{
    McpServer *server = request->server;
    bool is_asked = false;
    int r;

    if ((asks_need(result) & ~request->call.can) != 0) {
        r = send_missing_capability(request, result);
    } else {
        r = seal_state(request, result);
        if (r == 0) {
            r = send_input_required(request, result, bytes_span(&server->text));
        }
        is_asked = r == 0;
        bytes_clear_keep(&server->text, LIMIT_KEEP_BYTES);
    }
    if (r == MCP_OUT_E_FULL) {
        end_with(request, CALL_ERROR_TOO_LARGE, SPAN_NULL);
        return false;
    }
    mcp_server_fail(server, r);
    mcp_request_end(request);
    return is_asked;
}

/* Legacy. */

/* Keys, schemas and state must be here when the provider has long forgotten them. */
static int keep_asks(McpRequest *request, const CallResult *result)
{
    McpServer *server = request->server;
    int r = call_keep_arguments(&request->call);

    if (r == 0 && result->n_asks > request->cap_questions) {
        size_t n;
        McpQuestion *questions = NULL;

        if (mem_size_mul(result->n_asks, sizeof(*questions), &n)) {
            questions = mem_realloc(request->questions, n);
        }
        if (questions == NULL) {
            return err_raise(-ENOMEM);
        }
        request->questions = questions;
        request->cap_questions = result->n_asks;
    }
    /* By way of another buffer: the state may be the very one that is being replaced. */
    if (r == 0) {
        r = bytes_append_span(&server->text, result->state);
    }
    if (r == 0) {
        bytes_clear(&request->asked_state);
        r = bytes_append_span(&request->asked_state, bytes_span(&server->text));
    }
    bytes_clear_keep(&server->text, LIMIT_KEEP_BYTES);
    bytes_clear(&request->question_words);
    request->n_questions = 0;
    request->n_unanswered = 0;
    return r;
}

static int send_question(McpRequest *request, const CallAsk *ask)
{
    McpServer *server = request->server;
    McpQuestion *question = &request->questions[request->n_questions];
    McpOut out;
    Bytes *words = &request->question_words;
    Span schema = ask->kind == CALL_ASK_FORM ? ask->schema : SPAN_NULL;
    int r = bytes_append_span(words, ask->key);

    if (r == 0) {
        r = bytes_append_span(words, schema);
    }
    if (r != 0) {
        return r > 0 ? MCP_OUT_E_FULL : err_pass(r);
    }
    *question = (McpQuestion){.id = server->last_question + 1,
                              .kind = ask->kind,
                              .takes_error = ask->takes_error,
                              .key_at = words->n - schema.n - ask->key.n,
                              .n_key = ask->key.n,
                              .n_schema = schema.n};
    mcp_about_request(request, false);
    server->about.must_arrive = true;
    r = mcp_out_begin(&out, server, NULL, true);
    if (r == 0) {
        McpReply reply = mcp_reply_to_request(request);

        r = mcp_render_ask(out.bytes, request->revision, question->id, reply.task, ask);
    }
    r = mcp_out_end(&out, r);
    if (r == 0) {
        server->last_question++;
        request->n_questions++;
        request->n_unanswered++;
    }
    return r;
}

static bool ask_legacy(McpRequest *request, const CallResult *result)
{
    McpServer *server = request->server;
    int r;

    if ((asks_need(result) & ~request->call.can) != 0) {
        end_with(request, CALL_ERROR_CANNOT_ASK, SPAN_NULL);
        return false;
    }
    if (server->state == MCP_STATE_SHUTTING) {
        end_with(request, CALL_ERROR_CANNOT_ASK, SPAN("the server is shutting down"));
        return false;
    }
    if (request->n_rounds >= LIMIT_MCP_ROUNDS) {
        end_with(request, CALL_ERROR_CANNOT_ASK, SPAN("the tool asked too many times"));
        return false;
    }
    r = keep_asks(request, result);
    for (size_t i = 0; i < result->n_asks && r == 0; i++) {
        r = send_question(request, &result->asks[i]);
    }
    if (r != 0) {
        mcp_unask(request, SPAN("the question could not be asked"));
        mcp_server_fail(server, r < 0 ? r : 0);
        end_with(request, CALL_ERROR_TOO_LARGE, SPAN_NULL);
        return false;
    }
    request->n_rounds++;
    request->state = MCP_REQUEST_WAITING;
    request->deadline_ms = mcp_expiry_ms(server);
    mcp_link_append(&server->waiting, &request->turn);
    return true;
}

void mcp_ask(McpRequest *request, const CallResult *result)
{
    const McpServer *server = request->server;
    CallVerb verb = request->call.verb;
    bool is_asked = false;

    if (result->n_asks == 0) {
        end_with(request, CALL_ERROR_INTERNAL, SPAN("the tool asked for input and named none"));
    } else if (verb != CALL_TOOL && verb != CALL_PROMPT && verb != CALL_READ &&
               verb != CALL_TASK_RESULT) {
        end_with(request, CALL_ERROR_CANNOT_ASK, SPAN_NULL);
    } else if (request->revision >= MCP_FIRST_MODERN) {
        is_asked = ask_modern(request, result);
    } else {
        is_asked = ask_legacy(request, result);
    }
    if (!is_asked) {
        mcp_forsake(server, verb, result->state);
    }
}

void mcp_unask(McpRequest *request, Span reason)
{
    for (size_t i = 0; i < request->n_questions; i++) {
        McpOut out;
        int r;

        if (request->questions[i].is_answered) {
            continue;
        }
        mcp_about_request(request, false);
        r = mcp_out_begin(&out, request->server, NULL, true);
        if (r == 0) {
            r = mcp_render_cancelled(out.bytes, request->questions[i].id, reason);
        }
        r = mcp_out_end(&out, r);
        mcp_server_fail(request->server, r < 0 ? r : 0);
    }
    request->n_questions = 0;
}

static Span question_key(const McpRequest *request, const McpQuestion *question)
{
    return span_make(request->question_words.data + question->key_at, question->n_key);
}

/* Adds `"key":answer` to the object of answers; of equal keys the last counts. 0, -ENOMEM,
 * BYTES_E_FULL; then the answers are as they were. */
static int add_answer(McpRequest *request, const McpQuestion *question, Span answer)
{
    Bytes *answers = &request->answers;
    Span key = question_key(request, question);
    size_t n_before = answers->n;
    JsonWriter w;
    int r;

    if (answers->n > 0) {
        answers->data[answers->n - 1] = ',';
    }
    r = answers->n > 0 ? 0 : bytes_append_byte(answers, '{');
    if (r == 0) {
        json_writer_init(&w, answers, JSON_STYLE_COMPACT);
        json_write_exact(&w, key);
        r = json_writer_finish(&w);
    }
    if (r == 0) {
        r = bytes_append_byte(answers, ':');
    }
    if (r == 0) {
        r = bytes_append_span(answers, answer);
    }
    if (r == 0) {
        r = bytes_append_byte(answers, '}');
    }
    if (r != 0) {
        answers->n = n_before;
        if (n_before > 0) {
            answers->data[n_before - 1] = '}';
        }
    }
    return r;
}

/* All questions of this round have their answer: the call goes to the owner again. */
static void resume(McpRequest *request)
{
    McpServer *server = request->server;
    JsonDoc doc;
    int r;

    arena_reset(&request->answers_arena, LIMIT_KEEP_BYTES);
    r = json_parse(&doc, &request->answers_arena, request->answers.data, request->answers.n, NULL,
                   NULL);
    if (r != 0) {
        /* Every answer was JSON, and no deeper than in the message that it came in. */
        mcp_server_fail(server, err_fold(r));
        mcp_request_end(request);
        return;
    }
    request->call.inputs = json_root(&doc);
    request->call.state = bytes_span(&request->asked_state);
    request->state = MCP_REQUEST_QUEUED;
    mcp_link_remove(&request->turn);
    mcp_link_append(&server->events, &request->turn);
}

static McpRequest *find_question(McpServer *server, uint64_t id, McpQuestion **ret)
{
    for (McpLink *at = server->waiting.next; at != &server->waiting; at = at->next) {
        McpRequest *request = MCP_LINK_OWNER(at, McpRequest, turn);

        for (size_t i = 0; i < request->n_questions; i++) {
            if (request->questions[i].id == id && !request->questions[i].is_answered) {
                *ret = &request->questions[i];
                return request;
            }
        }
    }
    return NULL;
}

/* The client's error as an answer, for a provider that passes it on. Into server->text. */
static int write_error_answer(McpServer *server, JsonValue error, Span *ret)
{
    JsonWriter w;
    int r;

    bytes_clear(&server->text);
    json_writer_init(&w, &server->text, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN(CALL_ANSWER_ERROR));
    json_write_value(&w, error);
    json_write_end_object(&w);
    r = json_writer_finish(&w);
    *ret = bytes_span(&server->text);
    return r;
}

/* A sampling or roots request that the client would not or could not serve. */
static void end_refused(McpServer *server, McpRequest *request, JsonValue error)
{
    Span why = SPAN("the client refused");
    JsonValue text;

    if (json_get(error, SPAN("message"), &text) && json_kind(text) == JSON_STRING) {
        int r = json_string_exact(text, &server->arena, &why);

        mcp_server_fail(server, err_fold(r));
    }
    mcp_unask(request, SPAN("another question of the same call was refused"));
    end_with(request, CALL_ERROR_CANNOT_ASK, why);
}

static void end_malformed(McpRequest *request, const McpQuestion *question,
                          const McpProblem *problem)
{
    Span key = question_key(request, question);
    char why[MCP_REFUSAL_BYTES];

    (void)snprintf(why, sizeof(why), "the client's answer to '%.*s' is malformed: %s",
                   (int)(key.n < MCP_NAME_BYTES ? key.n : MCP_NAME_BYTES), key.p, problem->text);
    mcp_unask(request, SPAN("another answer for the same call was malformed"));
    end_with(request, CALL_ERROR_CANNOT_ASK, span_from_str(why));
}

static void end_too_large(McpServer *server, McpRequest *request, int r)
{
    mcp_server_fail(server, r < 0 ? r : 0);
    mcp_unask(request, SPAN("the answers are too large"));
    end_with(request, CALL_ERROR_TOO_LARGE, SPAN("the client's answers are too large"));
}

void mcp_take_answer(McpServer *server, const JsonrpcMessage *message)
{
    McpQuestion *question = NULL;
    McpRequest *request;
    McpProblem problem;
    Span answer;
    uint64_t id;
    int r = 0;

    if (message->id.node == NULL || json_uint64(message->id, &id) != 0) {
        return;
    }
    request = find_question(server, id, &question);
    if (request == NULL) {
        return;
    }
    question->is_answered = true;
    request->n_unanswered--;
    if (message->error.node == NULL) {
        const char *schema = request->question_words.data + question->key_at + question->n_key;

        answer = json_span(message->result);
        r = mcp_answer_check(question->kind, span_make(schema, question->n_schema), message->result,
                             &problem);
    } else if (question->takes_error) {
        r = write_error_answer(server, message->error, &answer);
    } else if (is_elicitation(question->kind)) {
        answer = SPAN("{\"action\":\"cancel\"}"); /* the asker has no form for an error */
    } else {
        end_refused(server, request, message->error);
        return;
    }
    if (r == MCP_ANSWER_E_MALFORMED) {
        end_malformed(request, question, &problem);
        return;
    }
    if (r == 0) {
        r = add_answer(request, question, answer);
    }
    bytes_clear_keep(&server->text, LIMIT_KEEP_BYTES);
    if (r != 0) {
        end_too_large(server, request, r);
    } else if (request->n_unanswered == 0) {
        resume(request);
    }
}

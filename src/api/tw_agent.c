/* The life of an agent's client, what it sends, and the waiting. */
#include "api/tw_agent.h"

#include <inttypes.h>
#include <stdio.h>
#include <toolwire/error.h>

#include "api/tw_client.h"
#include "api/tw_sigpipe.h"
#include "base/alloc.h"
#include "base/limits.h"

/* An agent may cut its turns after 5 s at the end of its input; a moment more than that. */
#define AGENT_GRACE_MS 6000

/* ---- words ---- */

const char *tw_agent_client_message(const TwAgentClient *client)
{
    return client == NULL ? "there is no client" : client->message;
}

static void agent_say(TwAgentClient *client, Span words)
{
    (void)snprintf(client->message, sizeof(client->message), "%.*s", (int)words.n,
                   words.n > 0 ? words.p : "");
}

int api_agent_fail(TwAgentClient *client, int error, const char *words)
{
    agent_say(client, span_from_str(words));
    return error;
}

static int agent_fail(TwAgentClient *client, int error)
{
    return api_agent_fail(client, error, tw_error_text(error));
}

/* ---- waiting ---- */

void api_agent_finish(TwAgentClient *client, int outcome, Span words)
{
    if (client->is_finished) {
        return;
    }
    client->is_finished = true;
    client->outcome = outcome;
    if (outcome != 0) {
        agent_say(client, words);
    }
    io_loop_stop(client->loop);
}

static void agent_on_timer(void *context)
{
    TwAgentClient *client = context;

    api_agent_finish(client, TW_ERROR_TIMEOUT, span_from_str(tw_error_text(TW_ERROR_TIMEOUT)));
}

static void agent_on_stop(IoTask *task)
{
    TwAgentClient *client = (TwAgentClient *)((char *)task - offsetof(TwAgentClient, stop_task));
    bool is_meant;

    pthread_mutex_lock(&client->lock);
    client->is_stop_posted = false;
    is_meant = client->is_waiting;
    pthread_mutex_unlock(&client->lock);
    if (is_meant) {
        api_agent_finish(client, TW_ERROR_CANCELLED,
                         span_from_str(tw_error_text(TW_ERROR_CANCELLED)));
    }
}

void tw_agent_client_stop(TwAgentClient *client)
{
    if (client == NULL) {
        return;
    }
    pthread_mutex_lock(&client->lock);
    if (client->is_waiting && !client->is_stop_posted) {
        client->is_stop_posted = true;
        io_loop_post(client->loop, &client->stop_task);
    }
    pthread_mutex_unlock(&client->lock);
}

static void agent_set_waiting(TwAgentClient *client, bool is_waiting)
{
    pthread_mutex_lock(&client->lock);
    client->is_waiting = is_waiting;
    pthread_mutex_unlock(&client->lock);
}

/* Runs the loop until what is waited for has come, for timeout_ms at most (-1: however long). */
static int agent_run(TwAgentClient *client, int64_t timeout_ms)
{
    ApiSigpipe saved;

    client->is_finished = false;
    client->outcome = 0;
    io_loop_update_now(client->loop);
    agent_client_slept(client->agent, io_loop_now_ms(client->loop) - client->left_ms);
    if (timeout_ms >= 0) {
        io_timer_start_at(client->timer, io_loop_now_ms(client->loop) + api_time(timeout_ms));
    }
    api_sigpipe_block(&saved);
    agent_set_waiting(client, true);
    (void)io_loop_run(client->loop);
    agent_set_waiting(client, false);
    api_sigpipe_restore(&saved);
    client->left_ms = io_loop_now_ms(client->loop);
    io_timer_stop(client->timer);
    client->waits_for_ready = false;
    client->waits_for_none = false;
    client->waiting[0] = '\0';
    /* Else nothing is left that could bring an end. */
    return client->is_finished ? client->outcome : agent_fail(client, TW_ERROR_CLOSED);
}

/* ---- life ---- */

TwAgentClient *tw_agent_client_new(const TwAgentClientOptions *options)
{
    TwAgentClient *client = mem_alloc_array(1, sizeof(*client));

    if (client == NULL) {
        return NULL;
    }
    if (pthread_mutex_init(&client->lock, NULL) != 0) {
        return mem_free(client);
    }
    client->stop_task.fn = agent_on_stop;
    arena_init(&client->arena, SIZE_MAX);
    if (options != NULL) {
        client->options = *options;
    }
    if (!api_copy_to(&client->folder, client->options.folder) ||
        !api_copy_list(&client->environment, client->options.environment) ||
        io_loop_new(&client->loop) != 0 ||
        io_timer_new(&client->timer, client->loop, false, agent_on_timer, client) != 0) {
        tw_agent_client_free(client);
        return NULL;
    }
    return client;
}

static void agent_on_closed(void *context)
{
    TwAgentClient *client = context;

    client->is_finished = true;
    io_loop_stop(client->loop);
}

static void agent_close(TwAgentClient *client)
{
    int64_t grace_ms =
        api_time(client->options.grace_ms > 0 ? client->options.grace_ms : AGENT_GRACE_MS);
    ApiSigpipe saved;

    if (client->agent == NULL) {
        return;
    }
    api_sigpipe_block(&saved);
    client->is_finished = false;
    agent_client_close(client->agent, grace_ms, agent_on_closed, client);
    while (!client->is_finished && io_loop_run(client->loop) == 0) {
    }
    client->agent = agent_client_free(client->agent);
    api_sigpipe_restore(&saved);
}

void tw_agent_client_free(TwAgentClient *client)
{
    if (client == NULL) {
        return;
    }
    agent_close(client);
    client->timer = io_timer_free(client->timer);
    client->loop = io_loop_free(client->loop);
    arena_deinit(&client->arena);
    (void)api_free_list(client->environment);
    (void)mem_free(client->folder);
    (void)pthread_mutex_destroy(&client->lock);
    (void)mem_free(client);
}

int tw_agent_client_start(TwAgentClient *client, const char *const *argv)
{
    AgentClientConfig config;
    Diag diag = DIAG_NULL;
    int r;

    if (client == NULL || argv == NULL || argv[0] == NULL) {
        return TW_ERROR_ARGUMENT;
    }
    client->message[0] = '\0';
    if (client->options.idle_ms < 0 || client->options.restart_ms < 0 ||
        client->options.grace_ms < 0) {
        return api_agent_fail(client, TW_ERROR_ARGUMENT, "a time in the options is negative");
    }
    if (client->agent != NULL && !client->is_lost) {
        return api_agent_fail(client, TW_ERROR_BUSY, "there is an agent already");
    }
    agent_close(client);
    client->is_lost = false;
    config = (AgentClientConfig){.loop = client->loop,
                                 .argv = argv,
                                 .environment = (const char *const *)client->environment,
                                 .folder = client->folder,
                                 .inherit_stderr = !client->options.drop_stderr,
                                 .is_once = client->options.no_restart,
                                 .idle_ms = api_time(client->options.idle_ms),
                                 .restart_ms = api_time(client->options.restart_ms),
                                 .event = api_agent_on_event,
                                 .ended = api_agent_on_ended,
                                 .context = client};
    r = agent_client_new(&client->agent, &config, &diag);
    if (r == AGENT_CLIENT_E_CANNOT_START) {
        return api_agent_fail(client, TW_ERROR_START, diag.message);
    }
    if (r != 0) {
        return agent_fail(client, api_error_of(r));
    }
    client->left_ms = io_loop_now_ms(client->loop);
    client->waits_for_ready = true;
    r = agent_run(client, config.idle_ms > 0 ? config.idle_ms : LIMIT_AGENT_IDLE_MS);
    if (r != 0) {
        agent_close(client);
    }
    return r;
}

/* ---- requests ---- */

/* Is there an agent? Forgets the last failure. */
static int agent_check(TwAgentClient *client)
{
    if (client == NULL) {
        return TW_ERROR_ARGUMENT;
    }
    client->message[0] = '\0';
    return client->agent == NULL || client->is_lost ? agent_fail(client, TW_ERROR_CLOSED) : 0;
}

/* Gives the request its id, and sends it. */
static int agent_request(TwAgentClient *client, AgentRequest *request,
                         char ret_id[TW_AGENT_ID_SIZE])
{
    char id[TW_AGENT_ID_SIZE];
    int r;

    (void)snprintf(id, sizeof(id), "req-%" PRIu64, ++client->n_ids);
    request->id = span_from_str(id);
    r = agent_client_request(client->agent, request, NULL);
    switch (r) {
    case 0:
        break;
    case AGENT_CLIENT_E_CLOSED:
        return agent_fail(client, TW_ERROR_CLOSED);
    case AGENT_CLIENT_E_TOO_LONG:
        return api_agent_fail(client, TW_ERROR_FULL, "the message is too long");
    case AGENT_CLIENT_E_FULL:
        return api_agent_fail(client, TW_ERROR_FULL, "too many requests are open");
    default:
        return agent_fail(client, api_error_of(r));
    }
    if (ret_id != NULL) {
        (void)snprintf(ret_id, TW_AGENT_ID_SIZE, "%s", id);
    }
    return 0;
}

static AgentAttachment agent_attachment(const TwAgentAttachment *from)
{
    return (AgentAttachment){.path = api_span(from->path),
                             .data = api_span(from->data),
                             .mime = api_span(from->mime),
                             .name = api_span(from->name)};
}

int tw_agent_client_send(TwAgentClient *client, const TwAgentMessage *message,
                         char ret_id[TW_AGENT_ID_SIZE])
{
    AgentAttachment attachments[LIMIT_AGENT_ATTACHMENTS];
    AgentRequest request = {.kind = AGENT_KIND_USER_MESSAGE};
    int r = agent_check(client);

    if (r != 0) {
        return r;
    }
    if (message == NULL || (message->message == NULL && message->n_attachments == 0)) {
        return api_agent_fail(client, TW_ERROR_ARGUMENT, "there is no message");
    }
    if (message->n_attachments > LIMIT_AGENT_ATTACHMENTS) {
        return api_agent_fail(client, TW_ERROR_ARGUMENT, "there are too many attachments");
    }
    for (size_t i = 0; i < message->n_attachments; i++) {
        attachments[i] = agent_attachment(&message->attachments[i]);
        if (attachments[i].path.n == 0 && attachments[i].data.n == 0) {
            return api_agent_fail(client, TW_ERROR_ARGUMENT,
                                  "an attachment has neither path nor data");
        }
    }
    request.message = api_span(message->message);
    request.conversation_id = api_span(message->conversation);
    request.user_id = api_span(message->user);
    request.title = api_span(message->title);
    request.attachments = attachments;
    request.n_attachments = message->n_attachments;
    return agent_request(client, &request, ret_id);
}

int tw_agent_client_say(TwAgentClient *client, const TwAgentMessage *message)
{
    char id[TW_AGENT_ID_SIZE];
    int r = tw_agent_client_send(client, message, id);

    if (r != 0) {
        return r;
    }
    (void)snprintf(client->waiting, sizeof(client->waiting), "%s", id);
    return agent_run(client, -1);
}

int tw_agent_client_ask(TwAgentClient *client, TwAgentVerb verb, const char *target,
                        char ret_id[TW_AGENT_ID_SIZE])
{
    static const AgentKind kinds[] = {
        [TW_AGENT_CLEAR_HISTORY] = AGENT_KIND_CLEAR_HISTORY,
        [TW_AGENT_GET_STATUS] = AGENT_KIND_GET_STATUS,
        [TW_AGENT_INTERRUPT] = AGENT_KIND_INTERRUPT,
        [TW_AGENT_LIST_CONVERSATIONS] = AGENT_KIND_LIST_CONVERSATIONS,
        [TW_AGENT_LOAD_CONVERSATION] = AGENT_KIND_LOAD_CONVERSATION,
        [TW_AGENT_DELETE_CONVERSATION] = AGENT_KIND_DELETE_CONVERSATION,
        [TW_AGENT_NEW_CONVERSATION] = AGENT_KIND_NEW_CONVERSATION,
    };
    AgentRequest request = {.kind = AGENT_KIND_GET_STATUS};
    int r = agent_check(client);

    if (r != 0) {
        return r;
    }
    if (verb < TW_AGENT_CLEAR_HISTORY || verb > TW_AGENT_NEW_CONVERSATION) {
        return api_agent_fail(client, TW_ERROR_ARGUMENT, "there is no such verb");
    }
    request.kind = kinds[verb];
    if (verb == TW_AGENT_INTERRUPT) {
        request.request_id = api_span(target);
    } else if (verb == TW_AGENT_NEW_CONVERSATION) {
        request.title = api_span(target);
    } else {
        request.conversation_id = api_span(target);
    }
    if ((verb == TW_AGENT_LOAD_CONVERSATION || verb == TW_AGENT_DELETE_CONVERSATION) &&
        request.conversation_id.n == 0) {
        return api_agent_fail(client, TW_ERROR_ARGUMENT, "which conversation?");
    }
    return agent_request(client, &request, ret_id);
}

int tw_agent_client_approve(TwAgentClient *client, const char *tool_id, bool is_approved)
{
    AgentRequest request = {
        .kind = AGENT_KIND_TOOL_APPROVAL, .tool_id = api_span(tool_id), .approved = is_approved};
    int r = agent_check(client);

    if (r == 0 && request.tool_id.n == 0) {
        r = api_agent_fail(client, TW_ERROR_ARGUMENT, "which tool?");
    }
    return r != 0 ? r : agent_request(client, &request, NULL);
}

int tw_agent_client_wait(TwAgentClient *client, int64_t timeout_ms)
{
    int r = agent_check(client);

    if (r != 0) {
        return r;
    }
    if (timeout_ms < 0) {
        return api_agent_fail(client, TW_ERROR_ARGUMENT, "a time is negative");
    }
    if (agent_client_n_open(client->agent) == 0) {
        return 0;
    }
    client->waits_for_none = true;
    return agent_run(client, timeout_ms);
}

size_t tw_agent_client_open(const TwAgentClient *client)
{
    return client == NULL || client->agent == NULL ? 0 : agent_client_n_open(client->agent);
}

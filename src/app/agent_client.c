/* States: OPEN → CLOSING (input is shut, the agent is given time to go) → CLOSED (the owner was
 * told). While OPEN there is an agent, or a time at which the next is started. An agent has ended
 * when its output has ended and it was reaped; where only one of them comes the other is waited for
 * a moment, and then no longer.
 */
#include "app/agent_client.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "app/agent_client_internal.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/random.h"
#include "io/error_text.h"

/* What an agent that got TERM has to go before KILL: by then it has had the grace of close. */
#define CLIENT_TERM_MS 2000

/* How long the exit may lag behind the end of the output, or the other way round: a grandchild may
 * hold the output open for ever. */
#define CLIENT_LINGER_MS 500

/* "interrupt-" and a number of 64 bits. */
#define CLIENT_ID_SIZE 40

static int64_t client_now(const AgentClient *client)
{
    return io_loop_now_ms(client->config.loop);
}

/* ---- events ---- */

static void client_log_noise(AgentClient *client, Span text)
{
    char count[48] = "";
    uint64_t n = client->shell.n_noise;

    if (!agent_client_counts_as_news(n)) {
        return;
    }
    if (n > 1) {
        (void)snprintf(count, sizeof(count), " (%" PRIu64 " times so far)", n);
    }
    logsink_write(client->config.log, LOGSINK_LEVEL_WARN, "agent",
                  "skipped what the agent wrote%s: %.*s", count, (int)text.n, text.p);
}

/* Asks the agent to leave off with a request that nobody waits for. Its answer is for nobody. */
static void client_interrupt(AgentClient *client, Span id)
{
    char text[CLIENT_ID_SIZE];
    AgentRequest request = {.kind = AGENT_KIND_INTERRUPT, .request_id = id};

    (void)snprintf(text, sizeof(text), "interrupt-%" PRIu64, ++client->n_interrupts);
    request.id = span_from_str(text);
    (void)agent_client_request(client, &request, client);
}

static void client_note_ready(AgentClient *client, const AgentResponse *response)
{
    static const Span word = SPAN_INIT("\"interrupt\"");
    Span list = response->capabilities;

    client->can_interrupt = false;
    for (size_t i = 0; i + word.n <= list.n; i++) {
        client->can_interrupt |= memcmp(list.p + i, word.p, word.n) == 0;
    }
}

/* Tells the owner, and draws the conclusions that are ours. */
void agent_client_tell(AgentClient *client, const AgentShellEvent *event, Span line)
{
    if (client->state != CLIENT_OPEN || event->context == client) {
        return;
    }
    if (event->kind == AGENT_SHELL_NOISE) {
        client_log_noise(client, event->text);
    } else if (event->kind == AGENT_SHELL_READY) {
        client_note_ready(client, &event->response);
    } else if (event->kind == AGENT_SHELL_END) {
        pipe_backoff_reset(&client->backoff);
    }
    client->config.event(client->config.context, event, line);
}

/* ---- the end of an agent ---- */

static void client_explain(const AgentClient *client, char *text, size_t size)
{
    Span tail = mcp_peer_stderr_tail(&client->words);
    int n = snprintf(text, size, "the agent ended");

    if (client->has_exited && client->exit.signum != 0) {
        n += snprintf(text + n, size - (size_t)n, " (signal %d)", client->exit.signum);
    } else if (client->has_exited) {
        n += snprintf(text + n, size - (size_t)n, " (exit status %d)", client->exit.status);
    }
    if (tail.n > 0) {
        (void)snprintf(text + n, size - (size_t)n, "; it said: %.*s", (int)tail.n, tail.p);
    }
}

/* Every request that was open is over, and the next agent has its time. Requests that the owner
 * makes while it is told are for that one. */
static void client_lose(AgentClient *client, const char *words)
{
    AgentClientEnd end = {.words = words, .was_ready = client->shell.is_ready, .restart_in_ms = -1};
    size_t n_lost = agent_shell_n_open(&client->shell);
    AgentShellEvent event;

    agent_client_disconnect(client);
    client->is_over = client->config.is_once;
    if (!client->is_over) {
        end.restart_in_ms = pipe_backoff_next(&client->backoff);
        client->restart_at_ms = client_now(client) + end.restart_in_ms;
    }
    logsink_write(client->config.log, LOGSINK_LEVEL_DEBUG, "agent", "%s", words);
    for (; n_lost > 0 && agent_shell_lose(&client->shell, &event); n_lost--) {
        event.text = span_from_str(words);
        agent_client_tell(client, &event, SPAN_NULL);
    }
    client->shell.is_ready = false;
    if (client->config.ended != NULL && client->state == CLIENT_OPEN) {
        client->config.ended(client->config.context, &end);
    }
}

static bool client_has_ended(const AgentClient *client)
{
    bool is_heard = client->words.stream == NULL || client->words.has_ended;

    return (client->has_output_ended && client->has_exited && is_heard) ||
           client_now(client) >= client->linger_end_ms;
}

static void client_set_timer(AgentClient *client)
{
    int64_t at_ms = INT64_MAX;
    int64_t idle_ms = agent_shell_next_deadline(&client->shell);

    if (client->state == CLIENT_OPEN) {
        at_ms = idle_ms < client->linger_end_ms ? idle_ms : client->linger_end_ms;
        at_ms = client->restart_at_ms < at_ms ? client->restart_at_ms : at_ms;
    } else if (client->state == CLIENT_CLOSING) {
        at_ms = client->term_at_ms;
    }
    if (at_ms != client->timer_ms) {
        client->timer_ms = at_ms;
        io_timer_start_at(client->timer, at_ms);
    }
}

void agent_client_look_at_end(AgentClient *client)
{
    char words[2048];

    if (client->state != CLIENT_OPEN || client->process == NULL ||
        (!client->has_output_ended && !client->has_exited)) {
        return;
    }
    if (client->linger_end_ms == INT64_MAX) {
        client->linger_end_ms = client_now(client) + CLIENT_LINGER_MS;
    }
    if (client_has_ended(client)) {
        client_explain(client, words, sizeof(words));
        client_lose(client, words);
    }
    client_set_timer(client);
}

static void client_restart(AgentClient *client)
{
    Diag diag = DIAG_NULL;
    int r;

    client->restart_at_ms = INT64_MAX;
    logsink_write(client->config.log, LOGSINK_LEVEL_DEBUG, "agent", "the agent is started again");
    r = agent_client_connect(client, &diag);
    if (r != 0) {
        client_lose(client, r > 0 ? diag.message : io_error_text(-r));
    }
}

static void client_finish_close(AgentClient *client)
{
    client->state = CLIENT_CLOSED;
    agent_client_disconnect(client);
    client_set_timer(client);
    if (client->done != NULL) {
        client->done(client->done_context);
    }
}

/* ---- time ---- */

static void client_expire(AgentClient *client)
{
    AgentShellEvent event;

    while (agent_shell_expire(&client->shell, &event, client_now(client))) {
        if (client->can_interrupt && event.context != client) {
            client_interrupt(client, event.id);
        }
        agent_client_tell(client, &event, SPAN_NULL);
    }
}

static void client_on_timer(void *context)
{
    AgentClient *client = context;
    int64_t now_ms = client_now(client);

    client->timer_ms = INT64_MAX;
    if (client->state == CLIENT_OPEN) {
        client_expire(client);
        agent_client_look_at_end(client);
    }
    if (client->state == CLIENT_OPEN && now_ms >= client->restart_at_ms) {
        client_restart(client);
    }
    if (client->state == CLIENT_CLOSING && now_ms >= client->term_at_ms) {
        if (client->process == NULL || client->has_exited) {
            client_finish_close(client);
            return;
        }
        io_process_end(client->process, CLIENT_TERM_MS);
        client->term_at_ms = INT64_MAX;
    }
    client_set_timer(client);
}

void agent_client_on_exit(void *context, IoProcessExit exit)
{
    AgentClient *client = context;

    client->has_exited = true;
    client->exit = exit;
    if (client->state == CLIENT_CLOSING) {
        client_finish_close(client);
        return;
    }
    agent_client_look_at_end(client);
}

static void client_on_stderr_end(void *context)
{
    agent_client_look_at_end(context);
}

/* Sends what was written since the last turn. */
static void client_on_settle(void *context)
{
    AgentClient *client = context;

    if (client->stream != NULL) {
        io_stream_flush(client->stream);
    }
    client_set_timer(client);
}

/* ---- life ---- */

static int client_init(AgentClient *client, Diag *reterr_diag)
{
    AgentClientConfig *config = &client->config;
    HashSeed seed;
    int r = random_fill(&seed, sizeof(seed));

    r = r != 0 ? r : arena_keep_strings(&client->strings, &config->argv);
    r = r != 0 ? r : arena_keep_strings(&client->strings, &config->environment);
    r = r != 0 ? r : arena_keep_string(&client->strings, &config->folder);
    r = r != 0 ? r : io_timer_new(&client->timer, config->loop, false, client_on_timer, client);
    r = r != 0 ? r : io_before_wait_new(&client->settle, config->loop, client_on_settle, client);
    if (r != 0) {
        return err_pass(r);
    }
    agent_shell_init(&client->shell, seed, config->idle_ms);
    return agent_client_connect(client, reterr_diag);
}

int agent_client_new(AgentClient **ret, const AgentClientConfig *config, Diag *reterr_diag)
{
    AgentClient *client = mem_alloc_array(1, sizeof(*client));
    int64_t restart_ms = config->restart_ms > 0 ? config->restart_ms : LIMIT_AGENT_RESTART_MS;
    int r;

    if (client == NULL) {
        return err_raise(-ENOMEM);
    }
    client->config = *config;
    client->linger_end_ms = INT64_MAX;
    client->restart_at_ms = INT64_MAX;
    client->term_at_ms = INT64_MAX;
    client->timer_ms = INT64_MAX;
    pipe_backoff_init(&client->backoff, restart_ms, LIMIT_AGENT_RESTART_MAX_MS);
    arena_init(&client->strings, SIZE_MAX);
    arena_init(&client->arena, SIZE_MAX);
    ndjson_writer_init(&client->writer, LIMIT_AGENT_LINE_BYTES, LIMIT_OUTPUT_BYTES);
    mcp_peer_stderr_init(&client->words, config->log, client_on_stderr_end, client);
    r = client_init(client, reterr_diag);
    if (r != 0) {
        (void)agent_client_free(client);
        return r == AGENT_CLIENT_E_CANNOT_START ? r : err_fold(r);
    }
    *ret = client;
    return 0;
}

void agent_client_close(AgentClient *client, int64_t grace_ms, void (*done)(void *context),
                        void *context)
{
    bool is_gone = client->process == NULL || client->has_exited;

    if (client->state != CLIENT_OPEN) {
        return;
    }
    client->state = CLIENT_CLOSING;
    client->done = done;
    client->done_context = context;
    /* At once if there is nothing to wait for; by the timer all the same, never in here. */
    client->term_at_ms = client_now(client) + (is_gone ? 0 : grace_ms);
    if (client->stream != NULL) {
        io_stream_flush(client->stream);
        io_stream_shut_output(client->stream);
    }
    client_set_timer(client);
}

AgentClient *agent_client_free(AgentClient *client)
{
    if (client == NULL) {
        return NULL;
    }
    client->state = CLIENT_CLOSED;
    agent_client_disconnect(client);
    client->timer = io_timer_free(client->timer);
    client->settle = io_before_wait_free(client->settle);
    agent_shell_deinit(&client->shell);
    ndjson_writer_deinit(&client->writer);
    mcp_peer_stderr_deinit(&client->words);
    arena_deinit(&client->arena);
    arena_deinit(&client->strings);
    return mem_free(client);
}

/* ---- the owner's side ---- */

int agent_client_request(AgentClient *client, const AgentRequest *request, void *context)
{
    Bytes *out;
    int r;

    if (client->state != CLIENT_OPEN || client->is_over) {
        return AGENT_CLIENT_E_CLOSED;
    }
    r = ndjson_writer_begin(&client->writer, &out);
    if (r != 0) {
        return r < 0 ? err_pass(r) : AGENT_CLIENT_E_FULL;
    }
    r = agent_shell_open(&client->shell, request, context, client_now(client), out);
    if (r != 0) {
        ndjson_writer_abort(&client->writer);
        return r < 0                       ? err_pass(r)
               : r == AGENT_SHELL_E_EXISTS ? AGENT_CLIENT_E_EXISTS
                                           : AGENT_CLIENT_E_FULL;
    }
    r = ndjson_writer_commit(&client->writer);
    if (r != 0) {
        agent_shell_forget(&client->shell, request->id);
        return r < 0                    ? err_pass(r)
               : r == NDJSON_E_TOO_LONG ? AGENT_CLIENT_E_TOO_LONG
                                        : AGENT_CLIENT_E_FULL;
    }
    return 0;
}

void agent_client_forget(AgentClient *client, Span id)
{
    agent_shell_forget(&client->shell, id);
}

void agent_client_slept(AgentClient *client, int64_t ms)
{
    agent_shell_slept(&client->shell, ms);
    client_set_timer(client);
}

bool agent_client_is_ready(const AgentClient *client)
{
    return client->shell.is_ready;
}

size_t agent_client_n_open(const AgentClient *client)
{
    return agent_shell_n_open(&client->shell);
}

/* A turn: WAITS → (tokens, tools, questions) → ENDED. Ctrl-C asks the agent to leave off, and the
 * turn then ends as the agent says; a second Ctrl-C ends the session, whatever the agent does. */
#include "cli/chat_session.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "app/agent_client.h"
#include "app/end_signals.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "cli/ask_line.h"
#include "cli/chat_view.h"
#include "io/error_text.h"
#include "io/loop.h"
#include "json/json.h"

/* What an agent gets to end: its turns are cut after 5 s; and one that we do not wait for. */
#define SESSION_GRACE_MS 6000
#define SESSION_HURRY_MS 200

/* Of a tool's input that is shown before a person allows it. */
#define SESSION_INPUT_BYTES 2000

/* Room for "req-" and a number. */
#define SESSION_ID_SIZE 32

struct ChatSession {
    const ChatOptions *options;
    IoLoop *loop;
    IoSignal *signals[END_SIGNALS_N];
    IoTimer *timer; /* of catching up */
    AgentClient *client;
    ChatView view;
    Arena arena;
    uint64_t n_ids;
    char id[SESSION_ID_SIZE]; /* of the turn; "": none */
    int status;               /* of the turn */
    unsigned n_interrupts;    /* since the last turn, or line, that ended well */
    bool has_sent_files;
    bool is_over;
    bool is_in_hurry;
    bool is_closed;
};

static void session_name(ChatSession *session, char id[SESSION_ID_SIZE])
{
    (void)snprintf(id, SESSION_ID_SIZE, "req-%" PRIu64, ++session->n_ids);
}

static void session_end_turn(ChatSession *session, int status)
{
    if (session->id[0] != '\0') {
        session->id[0] = '\0';
        session->status = status;
        chat_view_end(&session->view);
    }
    io_loop_stop(session->loop);
}

static void session_leave(ChatSession *session, int status)
{
    session->is_over = true;
    session->status = status;
    session_end_turn(session, status);
}

/* ---- interruption ---- */

static void session_interrupt(ChatSession *session)
{
    char id[SESSION_ID_SIZE];
    AgentRequest request = {.kind = AGENT_KIND_INTERRUPT, .request_id = span_from_str(session->id)};

    session_name(session, id);
    request.id = span_from_str(id);
    if (agent_client_request(session->client, &request, NULL) != 0) {
        session_leave(session, CLI_EXIT_FAILED);
    }
}

/* The first time politely, the second time at once. What is no Ctrl-C means the second. */
static void session_on_signal(void *context, int signum)
{
    ChatSession *session = context;

    session->n_interrupts++;
    if (signum == SIGINT && session->id[0] != '\0' && session->n_interrupts == 1) {
        session_interrupt(session);
        return;
    }
    session->is_in_hurry = true;
    session_leave(session, CLI_EXIT_FAILED);
}

bool chat_session_note_interrupt(ChatSession *session)
{
    session->n_interrupts++;
    session->is_over = session->n_interrupts > 1;
    return session->is_over;
}

/* ---- approval ---- */

static bool session_ask(ChatSession *session, const AgentTool *tool)
{
    char line[64];
    size_t n = 0;
    bool is_read;

    chat_view_clear(&session->view);
    fprintf(stderr, "The agent wants to use %s", chat_view_plain(&session->view, tool->name, 200));
    fprintf(stderr, " with %s\n",
            chat_view_plain(&session->view, tool->input, SESSION_INPUT_BYTES));
    ask_line_forget();
    ask_line_drop_typed();
    is_read = ask_line_read("Allow it? [y/N] ", line, sizeof(line), &n);
    io_loop_update_now(session->loop);
    if (!is_read) {
        fputc('\n', stderr);
    }
    if (ask_line_was_interrupted()) {
        ask_line_forget();
        session->n_interrupts++;
        session_interrupt(session);
        return false;
    }
    return is_read && (span_equals(span_make(line, n), SPAN("y")) ||
                       span_equals(span_make(line, n), SPAN("yes")));
}

static void session_answer_tool(ChatSession *session, const AgentTool *tool)
{
    char id[SESSION_ID_SIZE];
    AgentRequest request = {.kind = AGENT_KIND_TOOL_APPROVAL, .tool_id = tool->id};

    if (session->options->allows_all) {
        request.approved = true;
    } else if (session->options->can_ask) {
        request.approved = session_ask(session, tool);
    } else {
        chat_view_say(&session->view, "%s is refused: nobody can be asked; --yes allows all tools",
                      chat_view_plain(&session->view, tool->name, 200));
    }
    chat_view_tool_answered(&session->view, tool->id);
    session_name(session, id);
    request.id = span_from_str(id);
    (void)agent_client_request(session->client, &request, NULL);
}

/* ---- events ---- */

/* Why a turn that worked did not go to its end; NULL if it did. */
static const char *session_stop_reason(ChatSession *session, Span data)
{
    static const struct {
        Span reason;
        const char *words;
    } rows[] = {
        {SPAN_INIT("interrupted"), "interrupted"},
        {SPAN_INIT("rounds"), "stopped: too many rounds of tools"},
        {SPAN_INIT("length"), "stopped: the answer is as long as it may be"},
    };
    JsonDoc doc;
    JsonValue reason;

    arena_reset(&session->arena, 0);
    if (data.n == 0 || json_parse(&doc, &session->arena, data.p, data.n, NULL, NULL) != 0 ||
        !json_get(json_root(&doc), SPAN("stopReason"), &reason)) {
        return NULL;
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        if (json_string_equals(reason, rows[i].reason)) {
            return rows[i].words;
        }
    }
    return NULL;
}

static void session_on_done(ChatSession *session, const AgentResponse *response)
{
    const char *words = session_stop_reason(session, response->data);
    bool was_interrupted = session->n_interrupts > 0;

    if (words == NULL && was_interrupted) {
        words = "interrupted";
    }
    if (words != NULL && !session->options->is_json) {
        chat_view_say(&session->view, "%s", words);
    }
    session_end_turn(session, was_interrupted ? CLI_EXIT_FAILED : CLI_EXIT_DONE);
}

static void session_fail_turn(ChatSession *session, Span words)
{
    if (session->n_interrupts > 0) {
        words = SPAN("interrupted");
    }
    chat_view_say(&session->view, "%s", chat_view_plain(&session->view, words, words.n));
    session_end_turn(session, CLI_EXIT_FAILED);
}

static void session_on_own(ChatSession *session, const AgentShellEvent *event)
{
    const AgentResponse *response = &event->response;

    switch (event->kind) {
    case AGENT_SHELL_RESPONSE:
        chat_view_response(&session->view, response);
        if (response->type == AGENT_TYPE_TOOL_USE && response->tool.approval_required) {
            session_answer_tool(session, &response->tool);
        }
        break;
    case AGENT_SHELL_END:
        if (response->type == AGENT_TYPE_ERROR) {
            session_fail_turn(session, response->error);
        } else {
            session_on_done(session, response);
        }
        break;
    default:
        session_fail_turn(session, event->text);
        break;
    }
}

static void session_on_event(void *context, const AgentShellEvent *event, Span line)
{
    ChatSession *session = context;
    const AgentResponse *response = &event->response;

    if (event->kind == AGENT_SHELL_NOISE) {
        return; /* it is in the log */
    }
    if (line.n > 0) {
        chat_view_line(&session->view, line);
    }
    if (session->id[0] != '\0' && span_equals(event->id, span_from_str(session->id))) {
        session_on_own(session, event);
    } else if (event->kind == AGENT_SHELL_UNASKED && response->type == AGENT_TYPE_ERROR) {
        chat_view_say(&session->view, "%s",
                      chat_view_plain(&session->view, response->error, response->error.n));
    }
}

/* One that never was ready will not be the next time. */
static void session_on_ended(void *context, const AgentClientEnd *end)
{
    ChatSession *session = context;

    if (!end->was_ready || end->restart_in_ms < 0) {
        if (session->status == CLI_EXIT_DONE) {
            chat_view_say(&session->view, "%s", end->words);
        }
        session_leave(session, CLI_EXIT_FAILED);
    }
}

/* ---- beginning and end ---- */

static void session_on_timer(void *context)
{
    ChatSession *session = context;

    io_loop_stop(session->loop);
}

static int session_start(ChatSession *session, Diag *diag)
{
    const ChatOptions *options = session->options;
    AgentClientConfig config = {.argv = options->argv,
                                .inherit_stderr = true,
                                .dies_with_thread = true,
                                .is_once = !options->is_interactive,
                                .idle_ms = options->idle_ms,
                                .log = &options->args->log,
                                .event = session_on_event,
                                .ended = session_on_ended,
                                .context = session};
    int r = io_loop_new(&session->loop);

    io_ignore_sigpipe();
    r = r != 0 ? r : chat_view_init(&session->view, session->loop, options->is_json);
    r = r != 0 ? r : io_timer_new(&session->timer, session->loop, false, session_on_timer, session);
    for (size_t i = 0; r == 0 && i < END_SIGNALS_N; i++) {
        r = io_signal_new(&session->signals[i], session->loop, end_signals[i], session_on_signal,
                          session);
    }
    if (r != 0) {
        return err_pass(r);
    }
    /* SIGINT ends an answer, and the session goes on. */
    end_signals_watch(session->loop, config.log, END_TAKES_ITS_TIME, SIGINT);
    config.loop = session->loop;
    return agent_client_new(&session->client, &config, diag);
}

int chat_session_open(ChatSession **ret, const ChatOptions *options)
{
    ChatSession *session = mem_alloc_array(1, sizeof(*session));
    Diag diag = DIAG_NULL;
    int r = session == NULL ? -ENOMEM : 0;

    if (r == 0) {
        session->options = options;
        arena_init(&session->arena, SIZE_MAX);
        r = session_start(session, &diag);
    }
    if (r != 0) {
        fprintf(stderr, "toolwire chat: %s\n", r > 0 ? diag.message : io_error_text(-r));
        (void)chat_session_close(session);
        return CLI_EXIT_FAILED;
    }
    *ret = session;
    return 0;
}

static void session_on_closed(void *context)
{
    ChatSession *session = context;

    session->is_closed = true;
    io_loop_stop(session->loop);
}

ChatSession *chat_session_close(ChatSession *session)
{
    if (session == NULL) {
        return NULL;
    }
    if (session->client != NULL) {
        agent_client_close(session->client,
                           session->is_in_hurry ? SESSION_HURRY_MS : SESSION_GRACE_MS,
                           session_on_closed, session);
        /* A signal meanwhile stops the loop: then nobody waits any longer. */
        (void)io_loop_run(session->loop);
        session->client = agent_client_free(session->client);
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(session->signals); i++) {
        session->signals[i] = io_signal_free(session->signals[i]);
    }
    session->timer = io_timer_free(session->timer);
    chat_view_deinit(&session->view);
    session->loop = io_loop_free(session->loop);
    arena_deinit(&session->arena);
    return mem_free(session);
}

void chat_session_closep(ChatSession **session)
{
    *session = chat_session_close(*session);
}

/* ---- a turn ---- */

/* What happened while the person typed: the agent may have gone. */
static void session_catch_up(ChatSession *session)
{
    io_loop_update_now(session->loop);
    io_timer_start_at(session->timer, io_loop_now_ms(session->loop));
    (void)io_loop_run(session->loop);
}

static int session_send(ChatSession *session, Span message)
{
    AgentAttachment files[LIMIT_AGENT_ATTACHMENTS];
    const ChatOptions *options = session->options;
    const char *conversation = options->conversation;
    AgentRequest request = {.kind = AGENT_KIND_USER_MESSAGE,
                            .id = span_from_str(session->id),
                            .message = message,
                            .attachments = files};

    if (conversation != NULL) {
        request.conversation_id = span_from_str(conversation);
    }
    for (size_t i = 0; !session->has_sent_files && i < options->n_files; i++) {
        files[i] = (AgentAttachment){.path = span_from_str(options->files[i])};
        request.n_attachments++;
    }
    session->has_sent_files = true;
    return agent_client_request(session->client, &request, NULL);
}

int chat_session_say(ChatSession *session, Span message)
{
    int r;

    session->status = CLI_EXIT_DONE;
    session_catch_up(session);
    if (session->is_over) {
        return session->status;
    }
    session->n_interrupts = 0;
    session_name(session, session->id);
    r = session_send(session, message);
    if (r != 0) {
        session->id[0] = '\0';
        chat_view_say(&session->view, "%s",
                      r < 0                          ? io_error_text(-r)
                      : r == AGENT_CLIENT_E_TOO_LONG ? "the message is too long"
                                                     : "the agent cannot be asked");
        return CLI_EXIT_FAILED;
    }
    chat_view_begin(&session->view);
    while (session->id[0] != '\0' && io_loop_run(session->loop) == 0) {
    }
    chat_view_end(&session->view);
    return session->status;
}

bool chat_session_is_over(const ChatSession *session)
{
    return session->is_over;
}

/* What a server says while a command uses it. */
#include "cli/peer_session_internal.h"

#include <stdio.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "cli/peer_ask.h"
#include "cli/table.h"
#include "json/writer.h"

static void session_end(PeerSession *session, SessionOutcome outcome)
{
    if (session->has_progress) {
        fputs("\r\033[K", stderr);
        session->has_progress = false;
    }
    session->outcome = outcome;
    session->id = 0;
    io_loop_stop(session->loop);
}

/* The event's JSON lives only as long as the event. */
static void session_take_result(PeerSession *session, JsonValue value)
{
    int r;

    bytes_clear(&session->text);
    arena_reset(&session->arena, LIMIT_KEEP_BYTES);
    r = bytes_append_span(&session->text, json_span(value));
    if (r == 0) {
        r = json_parse(&session->doc, &session->arena, session->text.data, session->text.n, NULL,
                       NULL);
    }
    if (r != 0) {
        bytes_clear(&session->words);
        (void)bytes_append_format(&session->words, "out of memory");
    }
    session_end(session, r == 0 ? SESSION_RESULT : SESSION_FAILED);
}

/* {"code":…,"message":…,"data":…}, as the server said it. */
static void session_keep_error(PeerSession *session, const McpClientEvent *event)
{
    JsonWriter w;

    bytes_clear(&session->error);
    json_writer_init(&w, &session->error, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("code"));
    json_write_int(&w, event->code);
    json_write_key(&w, SPAN("message"));
    json_write_exact(&w, event->text);
    if (event->value.node != NULL) {
        json_write_key(&w, SPAN("data"));
        json_write_value(&w, event->value);
    }
    json_write_end_object(&w);
    if (json_writer_finish(&w) != 0) {
        bytes_clear(&session->error); /* its words stand for it */
    }
}

static void session_take_error(PeerSession *session, const McpClientEvent *event)
{
    if (event->kind == MCP_CLIENT_ERROR) {
        session_keep_error(session, event);
    } else {
        bytes_clear(&session->error); /* which came before, and was ours */
    }
    session->code = event->code;
    bytes_clear(&session->words);
    (void)bytes_append_span(&session->words, event->text);
    session->words.n = utf8_mend(session->words.data, session->words.n);
    if (event->kind == MCP_CLIENT_ERROR) {
        (void)bytes_append_format(&session->words, " (%d)", event->code);
    }
    if (event->kind == MCP_CLIENT_ERROR && event->value.node != NULL) {
        (void)bytes_append_byte(&session->words, '\n');
        (void)bytes_append_span(&session->words, json_span(event->value));
    }
    session_end(session, event->kind == MCP_CLIENT_ERROR ? SESSION_ERROR : SESSION_FAILED);
}

static void session_show_progress(PeerSession *session, const CallProgress *progress)
{
    if (!session->shows_progress) {
        return;
    }
    fputs("\r\033[K", stderr);
    if (progress->total > 0) {
        fprintf(stderr, "%3.0f%% ", 100.0 * progress->progress / progress->total);
    } else {
        fprintf(stderr, "%g ", progress->progress);
    }
    table_print_safe(stderr, progress->message, false);
    (void)fflush(stderr);
    session->has_progress = true;
}

/* notifications/message: a record for our own log. */
static void session_take_log(const PeerSession *session, JsonValue params)
{
    static const LogSinkLevel levels[] = {
        [CALL_LOG_DEBUG] = LOGSINK_LEVEL_DEBUG, [CALL_LOG_INFO] = LOGSINK_LEVEL_INFO,
        [CALL_LOG_NOTICE] = LOGSINK_LEVEL_INFO, [CALL_LOG_WARNING] = LOGSINK_LEVEL_WARN,
        [CALL_LOG_ERROR] = LOGSINK_LEVEL_ERROR, [CALL_LOG_CRITICAL] = LOGSINK_LEVEL_ERROR,
        [CALL_LOG_ALERT] = LOGSINK_LEVEL_ERROR, [CALL_LOG_EMERGENCY] = LOGSINK_LEVEL_ERROR,
    };
    JsonValue member;
    Span name;
    Span words;
    CallLogLevel level = CALL_LOG_INFO;

    if (params.node == NULL || !json_get(params, SPAN("data"), &member)) {
        return;
    }
    words = json_span(member);
    (void)json_string_plain(member, &words);
    if (json_get(params, SPAN("level"), &member) && json_string_plain(member, &name)) {
        (void)call_log_level_parse(name, &level);
    }
    logsink_write(&session->args->log, levels[level < CALL_LOG_NONE ? level : CALL_LOG_INFO],
                  "server", "%.*s", (int)words.n, words.p);
}

static void session_take_question(PeerSession *session, const McpClientEvent *event)
{
    int r;

    if (session->has_progress) {
        fputs("\r\033[K", stderr);
        session->has_progress = false;
    }
    r = peer_ask_answer(session->peer, event);
    if (r == PEER_ASK_E_INTERRUPTED) {
        session->was_interrupted = true;
        mcp_peer_cancel(session->peer, session->id, SPAN("interrupted"));
    } else if (r != 0) {
        mcp_peer_cancel(session->peer, session->id, SPAN("the client is out of memory"));
    }
}

void peer_session_on_event(void *context, McpPeer *peer, const McpClientEvent *event)
{
    PeerSession *session = context;

    /* Some come before mcp_peer_new has returned. */
    session->peer = peer;
    switch (event->kind) {
    case MCP_CLIENT_RESULT:
        session_take_result(session, event->value);
        break;
    case MCP_CLIENT_ERROR:
    case MCP_CLIENT_FAILED:
        /* FAILED comes last, and says why the others ended. */
        session_take_error(session, event);
        break;
    case MCP_CLIENT_ASK:
        session_take_question(session, event);
        break;
    case MCP_CLIENT_PROGRESS:
        session_show_progress(session, &event->progress);
        break;
    case MCP_CLIENT_NOTIFICATION:
        if (span_equals(event->text, SPAN("notifications/message"))) {
            session_take_log(session, event->value);
        }
        break;
    default:
        break;
    }
}

/* The first time politely, the second time at once. */
void peer_session_on_signal(void *context, int signum)
{
    PeerSession *session = context;

    (void)signum;
    if (!session->was_interrupted && session->id != 0) {
        session->was_interrupted = true;
        mcp_peer_cancel(session->peer, session->id, SPAN("interrupted"));
        return;
    }
    session->was_interrupted = true;
    bytes_clear(&session->words);
    (void)bytes_append_format(&session->words, "interrupted");
    session_end(session, SESSION_FAILED);
}

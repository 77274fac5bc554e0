#include "cli/peer_session.h"

#include <stdio.h>

#include "app/version.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "cli/output.h"
#include "cli/peer_session_internal.h"
#include "cli/table.h"
#include "io/error_text.h"
#include "io/program.h"
#include "json/writer.h"

/* What a server gets to go by itself once its input has ended. */
#define SESSION_GRACE_MS 1000

const CliOption peer_options[] = {
    PEER_OPTIONS,
    {NULL, NULL, NULL},
};

/* {"error":{"message":…}}, or what the server said: a program that reads the output finds why there
 * is no result. */
static void session_print_error(const PeerSession *session, Span error, Span words)
{
    CLEANUP(bytes_deinit) Bytes text = BYTES_NULL;
    JsonWriter w;

    if (session->args->values[PEER_OPTION_JSON] == NULL) {
        return;
    }
    bytes_init(&text, SIZE_MAX);
    json_writer_init(&w, &text, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("error"));
    if (error.n > 0) {
        json_write_raw(&w, error);
    } else {
        json_write_object(&w);
        json_write_key(&w, SPAN("message"));
        json_write_string(&w, words);
        json_write_end_object(&w);
    }
    json_write_end_object(&w);
    if (json_writer_finish(&w) == 0) {
        (void)fwrite(text.data, 1, text.n, stdout);
        (void)fputc('\n', stdout);
        (void)fflush(stdout);
    }
}

static int session_say(const PeerSession *session, Span error, Span words)
{
    session_print_error(session, error, words);
    fprintf(stderr, "toolwire %s: ", session->args->command->name);
    table_print_safe(stderr, words, true);
    fputc('\n', stderr);
    return CLI_EXIT_FAILED;
}

int peer_session_say(const PeerSession *session, Span words)
{
    return session_say(session, SPAN_NULL, words);
}

int peer_session_no_memory(const PeerSession *session)
{
    return peer_session_say(session, SPAN("out of memory"));
}

int peer_session_malformed(const PeerSession *session, bool is_shown, const Diag *diag)
{
    char words[DIAG_MESSAGE_SIZE + 64];
    int n = snprintf(words, sizeof(words), "the server's answer is malformed: %s", diag->message);

    if (!is_shown) {
        return peer_session_say(session, span_make(words, (size_t)n));
    }
    (void)fflush(stdout);
    fprintf(stderr, "toolwire %s: %s\n", session->args->command->name, words);
    return CLI_EXIT_FAILED;
}

bool peer_session_is_refused(const PeerSession *session)
{
    return session->outcome == SESSION_ERROR && !session->was_interrupted;
}

void peer_session_tell_servers(PeerSession *session, bool tells)
{
    session->is_quiet = !tells;
}

void peer_session_tell_servers_of(PeerSession *session, const char *tool)
{
    session->is_quiet = false;
    session->about = tool;
}

const CliArgs *peer_session_args(const PeerSession *session)
{
    return session->args;
}

/* ---- beginning and end ---- */

static CallLogLevel session_log_level(LogSinkLevel level)
{
    static const CallLogLevel levels[] = {CALL_LOG_ERROR, CALL_LOG_WARNING, CALL_LOG_INFO,
                                          CALL_LOG_DEBUG};

    return levels[level];
}

static int session_read_options(const CliArgs *args, McpClientConfig *config)
{
    static const char *const eras[] = {"auto", "legacy", "modern", "assume"};
    static const McpClientMode modes[] = {MCP_CLIENT_AUTO, MCP_CLIENT_LEGACY, MCP_CLIENT_MODERN,
                                          MCP_CLIENT_ASSUME};
    const char *era = args->values[PEER_OPTION_ERA];
    size_t index = 0;

    if (args->values[PEER_OPTION_SERVER] != NULL && args->values[PEER_OPTION_SOCKET] != NULL) {
        return cli_usage_error(args, "--server and --socket exclude each other");
    }
    if (args->values[PEER_OPTION_CONFIG] != NULL &&
        (args->values[PEER_OPTION_SERVER] != NULL || args->values[PEER_OPTION_SOCKET] != NULL)) {
        return cli_usage_error(args, "--config is for a hub, and excludes --server and --socket");
    }
    if (args->values[PEER_OPTION_STATE] != NULL &&
        (args->values[PEER_OPTION_SERVER] != NULL || args->values[PEER_OPTION_SOCKET] != NULL)) {
        return cli_usage_error(args, "--state is for a hub, and excludes --server and --socket");
    }
    if (args->values[PEER_OPTION_HEADER] != NULL &&
        (args->values[PEER_OPTION_SERVER] == NULL ||
         !peer_session_is_url(args->values[PEER_OPTION_SERVER]))) {
        return cli_usage_error(args, "--header is for a server over HTTP: --server URL");
    }
    if (era != NULL && !text_is_one_of(span_from_str(era), eras, TW_ARRAY_SIZE(eras), &index)) {
        return cli_usage_error(args, "--era is '%s'; it can be auto, legacy, modern or assume",
                               era);
    }
    config->mode = modes[index];
    return cli_args_time(args, PEER_OPTION_TIMEOUT, false, &config->request_timeout_ms);
}

static int session_init(PeerSession *session, const McpClientConfig *client, Diag *diag)
{
    int r = io_loop_new(&session->loop);

    io_ignore_sigpipe();
    for (size_t i = 0; r == 0 && i < END_SIGNALS_N; i++) {
        r = io_signal_new(&session->signals[i], session->loop, end_signals[i],
                          peer_session_on_signal, session);
    }
    if (r != 0) {
        return r;
    }
    end_signals_watch(session->loop, &session->args->log, END_TAKES_ITS_TIME, 0);
    return peer_session_start(session, client, diag);
}

int peer_session_open(PeerSession **ret, const CliArgs *args)
{
    McpClientConfig client = {.legacy_revision = MCP_NEWEST_LEGACY,
                              .can = CALL_CAN_FORM | CALL_CAN_URL | CALL_CAN_ROOTS,
                              .log_level = session_log_level(args->log.level)};
    Diag diag = DIAG_NULL;
    PeerSession *session;
    int r = session_read_options(args, &client);

    if (r != 0) {
        return r;
    }
    session = mem_alloc_array(1, sizeof(*session));
    if (session == NULL) {
        fprintf(stderr, "toolwire %s: out of memory\n", args->command->name);
        return CLI_EXIT_FAILED;
    }
    session->args = args;
    session->identity = (McpIdentity){.name = SPAN("toolwire"), .version = SPAN(TOOLWIRE_VERSION)};
    client.identity = &session->identity;
    session->shows_progress = io_terminal_is(fileno(stderr));
    arena_init(&session->strings, SIZE_MAX);
    arena_init(&session->arena, SIZE_MAX);
    arena_init(&session->list_arena, SIZE_MAX);
    bytes_init(&session->text, LIMIT_MCP_RESPONSE_BYTES);
    bytes_init(&session->words, LIMIT_MCP_RESPONSE_BYTES);
    bytes_init(&session->error, LIMIT_MCP_RESPONSE_BYTES);
    bytes_init(&session->list, SESSION_LIST_BYTES);
    bytes_init(&session->origins, SESSION_LIST_BYTES);
    bytes_init(&session->params, LIMIT_MCP_RESPONSE_BYTES);
    r = session_init(session, &client, &diag);
    if (r != 0) {
        peer_session_say(session,
                         r > 0 ? span_from_str(diag.message) : span_from_str(io_error_text(-r)));
        (void)peer_session_close(session);
        return r == PEER_SESSION_E_USAGE ? CLI_EXIT_USAGE : CLI_EXIT_FAILED;
    }
    *ret = session;
    return 0;
}

static void session_on_closed(void *context)
{
    PeerSession *session = context;

    session->is_closed = true;
    io_loop_stop(session->loop);
}

PeerSession *peer_session_close(PeerSession *session)
{
    if (session == NULL) {
        return NULL;
    }
    if (session->peer != NULL) {
        /* A server that ignores the end of its input must not keep the result from its reader. */
        output_flush();
        mcp_peer_close(session->peer, SESSION_GRACE_MS, session_on_closed, session);
        if (io_loop_run(session->loop) != 0 || !session->is_closed) {
            logsink_write(&session->args->log, LOGSINK_LEVEL_WARN, "mcp",
                          "the server did not go in order");
        }
        session->peer = mcp_peer_free(session->peer);
        session->auth = peer_auth_free(session->auth);
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(session->signals); i++) {
        session->signals[i] = io_signal_free(session->signals[i]);
    }
    session->loop = io_loop_free(session->loop);
    arena_deinit(&session->strings);
    arena_deinit(&session->arena);
    arena_deinit(&session->list_arena);
    bytes_deinit(&session->text);
    bytes_deinit(&session->words);
    bytes_deinit(&session->error);
    bytes_deinit(&session->list);
    bytes_deinit(&session->origins);
    bytes_deinit(&session->params);
    return mem_free(session);
}

void peer_session_closep(PeerSession **session)
{
    *session = peer_session_close(*session);
}

/* ---- requests ---- */

/* Asks, and runs the loop until the answer is there. */
void peer_session_ask(PeerSession *session, Span method, Span params)
{
    McpRequestOptions options = {.wants_progress = true};
    int r;

    if (session->wants_origins) {
        options.meta = SPAN("\"" CALL_META_ORIGINS "\":true");
    }

    if (session->outcome == SESSION_FAILED) {
        return; /* it has been said before */
    }
    session->outcome = SESSION_WAITS;
    session->code = 0;
    bytes_clear(&session->error);
    r = mcp_peer_request_with(session->peer, method, params, &options, &session->id);
    if (r == 0) {
        r = io_loop_run(session->loop);
    }
    if (r != 0 || session->outcome == SESSION_WAITS) {
        bytes_clear(&session->words);
        (void)bytes_append_format(&session->words, "%s",
                                  r < 0 ? io_error_text(-r) : "the server cannot be asked");
        session->outcome = SESSION_FAILED;
    }
}

int peer_session_report(PeerSession *session, JsonValue *ret)
{
    if (session->outcome == SESSION_RESULT) {
        *ret = json_root(&session->doc);
        return 0;
    }
    if (session->was_interrupted) {
        return peer_session_say(session, SPAN("interrupted"));
    }
    return session_say(session, bytes_span(&session->error), bytes_span(&session->words));
}

int peer_session_request(PeerSession *session, Span method, Span params, JsonValue *ret)
{
    peer_session_ask(session, method, params);
    return peer_session_report(session, ret);
}

void peer_session_print_json(JsonValue value)
{
    Span json = json_span(value);

    (void)fwrite(json.p, 1, json.n, stdout);
    fputc('\n', stdout);
}

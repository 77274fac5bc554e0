#include "cli/peer_session.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "app/config.h"
#include "app/end_signals.h"
#include "app/hub_place.h"
#include "app/version.h"
#include "base/alloc.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "cli/output.h"
#include "cli/peer_ask.h"
#include "cli/peer_content.h"
#include "cli/table.h"
#include "cli/words.h"
#include "dialect/mcp/render.h"
#include "io/error_text.h"
#include "io/loop.h"
#include "io/program.h"
#include "io/unix_socket.h"
#include "peer/mcp_peer.h"
#include "json/writer.h"

/* What stands before the path of a socket. */
#define SESSION_UNIX "unix:"

/* A list of more pages than this is a server that goes round in circles. */
#define SESSION_MAX_PAGES 1000

/* Of all pages of a list together. */
#define SESSION_LIST_BYTES ((size_t)64 * 1024 * 1024)

/* What a server gets to go by itself once its input has ended. */
#define SESSION_GRACE_MS 1000

const CliOption peer_options[] = {
    PEER_OPTIONS,
    {NULL, NULL, NULL},
};

typedef enum SessionOutcome {
    SESSION_WAITS,
    SESSION_RESULT,
    SESSION_ERROR,  /* code, words */
    SESSION_FAILED, /* words */
} SessionOutcome;

struct PeerSession {
    const CliArgs *args;
    IoLoop *loop;
    IoSignal *signals[END_SIGNALS_N];
    McpPeer *peer;
    PeerAuth *auth; /* of a server over HTTP */
    McpIdentity identity;
    Arena strings;
    McpRequestId id; /* of the request at hand; 0: none */
    SessionOutcome outcome;
    int code;
    bool was_interrupted;
    bool shows_progress;
    bool has_progress; /* a line of it stands on the terminal */
    bool is_closed;
    Bytes text; /* the result at hand */
    Arena arena;
    JsonDoc doc;
    Bytes words; /* of the error at hand */
    Bytes list;
    Arena list_arena;
    Bytes params;
};

static int session_say(const PeerSession *session, Span words)
{
    fprintf(stderr, "toolwire %s: ", session->args->command->name);
    table_print_safe(stderr, words, true);
    fputc('\n', stderr);
    return CLI_EXIT_FAILED;
}

int peer_session_no_memory(const PeerSession *session)
{
    return session_say(session, SPAN("out of memory"));
}

int peer_session_malformed(const PeerSession *session, const Diag *diag)
{
    (void)fflush(stdout);
    fprintf(stderr, "toolwire %s: the server's answer is malformed: %s\n",
            session->args->command->name, diag->message);
    return CLI_EXIT_FAILED;
}

const CliArgs *peer_session_args(const PeerSession *session)
{
    return session->args;
}

/* ---- events ---- */

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

static void session_take_error(PeerSession *session, const McpClientEvent *event)
{
    session->code = event->code;
    bytes_clear(&session->words);
    (void)bytes_append_span(&session->words, event->text);
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

static void session_on_event(void *context, McpPeer *peer, const McpClientEvent *event)
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
static void session_on_signal(void *context, int signum)
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
    const char *timeout = args->values[PEER_OPTION_TIMEOUT];
    size_t index = 0;

    if (args->values[PEER_OPTION_SERVER] != NULL && args->values[PEER_OPTION_SOCKET] != NULL) {
        return cli_usage_error(args, "--server and --socket exclude each other");
    }
    if (args->values[PEER_OPTION_STATE] != NULL &&
        (args->values[PEER_OPTION_SERVER] != NULL || args->values[PEER_OPTION_SOCKET] != NULL)) {
        return cli_usage_error(args, "--state is for a hub, and excludes --server and --socket");
    }
    if (era != NULL && !text_is_one_of(span_from_str(era), eras, TW_ARRAY_SIZE(eras), &index)) {
        return cli_usage_error(args, "--era is '%s'; it can be auto, legacy, modern or assume",
                               era);
    }
    config->mode = modes[index];
    if (timeout != NULL &&
        (text_parse_duration_ms(span_from_str(timeout), &config->request_timeout_ms) != 0 ||
         config->request_timeout_ms <= 0)) {
        return cli_usage_error(args, "--timeout is '%s'; it can be 500ms, 30s, 5m", timeout);
    }
    return 0;
}

/* Beside the outcomes of mcp_peer_new: the options name no server. */
enum {
    SESSION_E_USAGE = MCP_PEER_E_CANNOT_START + 1
};

/* The socket of the hub, whether one listens there or not. Gives *ret (mem_free). */
static int session_hub_place(const PeerSession *session, char **ret, Diag *diag)
{
    const char *state = session->args->values[PEER_OPTION_STATE];
    Config config = CONFIG_NULL;
    int r = state != NULL ? 0 : config_load(&config, NULL, diag);

    if (r == 0) {
        r = hub_place(ret, state != NULL ? state : config.state, diag);
        config_deinit(&config);
    }
    return r > 0 ? SESSION_E_USAGE : err_pass(r);
}

/* This very program as the server, with the settings that the hub would have: `serve` is complete
 * by itself. It ends with us. */
static int session_start_own(PeerSession *session, McpPeerConfig *config, Diag *diag)
{
    const char *state = session->args->values[PEER_OPTION_STATE];
    CLEANUP(mem_freep) char *program = NULL;
    const char *argv[] = {NULL, "serve", state == NULL ? NULL : "--state", state, NULL};
    int r = io_program_path(&program);

    if (r != 0) {
        return err_pass(r);
    }
    argv[0] = program;
    config->socket_path = NULL;
    config->is_own = false;
    config->argv = argv;
    return mcp_peer_new(&session->peer, config, diag);
}

static int session_start_with_hub(PeerSession *session, McpPeerConfig *config, Diag *diag)
{
    CLEANUP(mem_freep) char *path = NULL;
    int r = session_hub_place(session, &path, diag);

    if (r != 0) {
        return r;
    }
    config->socket_path = path;
    config->is_own = true;
    r = unix_socket_is_there(path) ? mcp_peer_new(&session->peer, config, diag)
                                   : MCP_PEER_E_CANNOT_START;
    return r != MCP_PEER_E_CANNOT_START ? r : session_start_own(session, config, diag);
}

static bool session_is_url(const char *server)
{
    static const char *const schemes[] = {"http://", "https://", "http+unix:"};

    for (size_t i = 0; i < TW_ARRAY_SIZE(schemes); i++) {
        if (strncmp(server, schemes[i], strlen(schemes[i])) == 0) {
            return true;
        }
    }
    return false;
}

static int session_start(PeerSession *session, const McpClientConfig *client, Diag *diag)
{
    const char *server = session->args->values[PEER_OPTION_SERVER];
    char **words = NULL;
    size_t n_words = 0;
    McpPeerConfig config = {.loop = session->loop,
                            .socket_path = session->args->values[PEER_OPTION_SOCKET],
                            .client = *client,
                            .log = &session->args->log,
                            .event = session_on_event,
                            .context = session};
    int r;

    if (server == NULL && config.socket_path == NULL) {
        return session_start_with_hub(session, &config, diag);
    }
    if (server != NULL && session_is_url(server)) {
        /* Tokens of `toolwire auth login` are shown; where none may be sent, none is. */
        r = peer_auth_new(
            &session->auth,
            &(PeerAuthConfig){.loop = session->loop, .server = server, .log = &session->args->log},
            NULL);
        if (r < 0) {
            return r;
        }
        config.url = server;
        config.auth = session->auth;
    } else if (server != NULL && strncmp(server, SESSION_UNIX, strlen(SESSION_UNIX)) == 0) {
        config.socket_path = server + strlen(SESSION_UNIX);
    } else if (server != NULL) {
        r = words_split(&session->strings, server, &words, &n_words, diag);
        if (r != 0) {
            diag_prefix(diag, "--server: ");
            return r < 0 ? r : SESSION_E_USAGE;
        }
        config.argv = (const char *const *)words;
    }
    return mcp_peer_new(&session->peer, &config, diag);
}

static int session_init(PeerSession *session, const McpClientConfig *client, Diag *diag)
{
    int r = io_loop_new(&session->loop);

    io_ignore_sigpipe();
    for (size_t i = 0; r == 0 && i < END_SIGNALS_N; i++) {
        r = io_signal_new(&session->signals[i], session->loop, end_signals[i], session_on_signal,
                          session);
    }
    return r != 0 ? r : session_start(session, client, diag);
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
    bytes_init(&session->list, SESSION_LIST_BYTES);
    bytes_init(&session->params, LIMIT_MCP_RESPONSE_BYTES);
    r = session_init(session, &client, &diag);
    if (r != 0) {
        session_say(session,
                    r > 0 ? span_from_str(diag.message) : span_from_str(io_error_text(-r)));
        (void)peer_session_close(session);
        return r == SESSION_E_USAGE ? CLI_EXIT_USAGE : CLI_EXIT_FAILED;
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
    bytes_deinit(&session->list);
    bytes_deinit(&session->params);
    return mem_free(session);
}

void peer_session_closep(PeerSession **session)
{
    *session = peer_session_close(*session);
}

/* ---- requests ---- */

/* Asks, and runs the loop until the answer is there. */
static void session_ask(PeerSession *session, Span method, Span params)
{
    int r;

    if (session->outcome == SESSION_FAILED) {
        return; /* it has been said before */
    }
    session->outcome = SESSION_WAITS;
    session->code = 0;
    r = mcp_peer_request(session->peer, method, params, true, &session->id);
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

static int session_report(PeerSession *session, JsonValue *ret)
{
    if (session->outcome == SESSION_RESULT) {
        *ret = json_root(&session->doc);
        return 0;
    }
    if (session->was_interrupted) {
        return session_say(session, SPAN("interrupted"));
    }
    return session_say(session, bytes_span(&session->words));
}

int peer_session_request(PeerSession *session, Span method, Span params, JsonValue *ret)
{
    session_ask(session, method, params);
    return session_report(session, ret);
}

/* Is a page as it must be? A cursor that is null is none. */
static int list_check_page(JsonValue page, Span key, Span name, Diag *reterr_diag)
{
    JsonValue cursor;

    if (json_get(page, SPAN("nextCursor"), &cursor) && json_kind(cursor) != JSON_STRING &&
        json_kind(cursor) != JSON_NULL) {
        return diag_set(reterr_diag, PEER_CONTENT_E_SHAPE, "result.nextCursor must be a string");
    }
    return peer_content_check_list(page, key, name, JSON_STRING, reterr_diag);
}

/* A gateway says beside its list which of the servers behind it are not as they should be
 * (providers/upstream_publish.c): without a word they would seem to have nothing. */
static void list_tell_servers(const PeerSession *session, JsonValue page)
{
    JsonValue meta;
    JsonValue servers;

    if (session->list.n > 1 || !json_get(page, SPAN("_meta"), &meta) ||
        !json_get(meta, SPAN("toolwire/servers"), &servers)) {
        return;
    }
    for (JsonIter it = json_iter(servers); json_iter_next(&it);) {
        static const char *const members[] = {"name", "state", "why"};

        fprintf(stderr, "toolwire: server");
        for (size_t i = 0; i < TW_ARRAY_SIZE(members); i++) {
            JsonValue member;
            Arena arena;
            Span text;

            arena_init(&arena, LIMIT_KEEP_BYTES);
            if (json_get(it.value, span_from_str(members[i]), &member) &&
                json_string(member, &arena, &text) == 0) {
                fprintf(stderr, i == 2 ? ": " : " ");
                table_print_safe(stderr, text, false);
            }
            arena_deinit(&arena);
        }
        fprintf(stderr, "\n");
    }
}

/* Adds the entries of a page to the list. 0, -ENOMEM, BYTES_E_FULL. */
static int list_take_page(PeerSession *session, JsonValue page, Span key)
{
    JsonValue entries;
    int r = 0;

    list_tell_servers(session, page);
    (void)json_get(page, key, &entries);
    for (JsonIter it = json_iter(entries); r == 0 && json_iter_next(&it);) {
        r = session->list.n > 1 ? bytes_append_byte(&session->list, ',') : 0;
        r = r != 0 ? r : bytes_append_span(&session->list, json_span(it.value));
    }
    return r;
}

/* {"cursor":…} for the next page. 0, -ENOMEM, BYTES_E_FULL, LIST_E_LAST (this was the last page),
 * LIST_E_ENDLESS (the same cursor again). */
enum {
    LIST_E_LAST = BYTES_E_FULL + 1,
    LIST_E_ENDLESS,
    LIST_E_PAGES, /* more than SESSION_MAX_PAGES; not of this function */
};

static int list_next_page(PeerSession *session, JsonValue page)
{
    CLEANUP(bytes_deinit) Bytes next = BYTES_NULL;
    JsonValue cursor;
    int r;

    if (!json_get(page, SPAN("nextCursor"), &cursor) || json_kind(cursor) != JSON_STRING) {
        return LIST_E_LAST;
    }
    bytes_init(&next, LIMIT_MCP_RESPONSE_BYTES);
    r = bytes_append_span(&next, SPAN("{\"cursor\":"));
    r = r != 0 ? r : bytes_append_span(&next, json_span(cursor));
    r = r != 0 ? r : bytes_append_byte(&next, '}');
    if (r == 0 && span_equals(bytes_span(&session->params), bytes_span(&next))) {
        return LIST_E_ENDLESS;
    }
    bytes_clear(&session->params);
    return r != 0 ? r : bytes_append_span(&session->params, bytes_span(&next));
}

/* What went wrong with a list: of our memory, or of the server. */
static int list_fail(const PeerSession *session, int r)
{
    char words[64];
    int n;

    if (r < 0) {
        return peer_session_no_memory(session);
    }
    if (r == LIST_E_ENDLESS) {
        return session_say(session, SPAN("the list has no end: a page leads to itself"));
    }
    if (r == LIST_E_PAGES) {
        n = snprintf(words, sizeof(words), "the list has more than %d pages", SESSION_MAX_PAGES);
        return session_say(session, span_make(words, (size_t)n));
    }
    return session_say(session, SPAN("the list is too long"));
}

int peer_session_list(PeerSession *session, Span method, Span key, Span name, JsonValue *ret)
{
    Diag diag = DIAG_NULL;
    JsonDoc doc;
    JsonValue page;
    int n_pages = 0;
    int r = 0;

    bytes_clear(&session->params);
    bytes_clear(&session->list);
    (void)bytes_append_byte(&session->list, '[');
    do {
        session_ask(session, method, bytes_span(&session->params));
        if (session->outcome == SESSION_ERROR && session->code == MCP_ERROR_METHOD_NOT_FOUND) {
            break; /* a server without prompts need not know the word */
        }
        r = session_report(session, &page);
        if (r != 0) {
            return r;
        }
        if (list_check_page(page, key, name, &diag) != 0) {
            return peer_session_malformed(session, &diag);
        }
        r = list_take_page(session, page, key);
        r = r != 0 ? r : list_next_page(session, page);
        if (r == 0 && ++n_pages == SESSION_MAX_PAGES) {
            r = LIST_E_PAGES;
        }
    } while (r == 0);
    r = r != 0 && r != LIST_E_LAST ? r : bytes_append_byte(&session->list, ']');
    arena_reset(&session->list_arena, LIMIT_KEEP_BYTES);
    r = r != 0 ? r
               : json_parse(&doc, &session->list_arena, session->list.data, session->list.n, NULL,
                            NULL);
    if (r != 0) {
        return list_fail(session, r);
    }
    *ret = json_root(&doc);
    return 0;
}

void peer_session_print_json(JsonValue value)
{
    Span json = json_span(value);

    (void)fwrite(json.p, 1, json.n, stdout);
    fputc('\n', stdout);
}

/* States: OPEN → CLOSING (output is shut, the server is given time to go) → CLOSED (the owner was
 * told). A server has ended when its output and its stderr have ended and it was reaped; where only
 * one of them comes, the others are waited for a moment, so that the reason can be told.
 */
#include "peer/mcp_peer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "frame/ndjson.h"
#include "io/descriptor_look.h"
#include "io/error_text.h"
#include "io/place.h"
#include "io/process.h"
#include "io/stream.h"
#include "io/unix_socket.h"
#include "peer/mcp_peer_stderr.h"

/* What a child that got TERM has to go before KILL: by then it has had the grace of close. */
#define PEER_TERM_MS 2000

/* How long the exit may lag behind the end of the output, or the other way round: a grandchild may
 * hold the output open for ever. */
#define PEER_LINGER_MS 500

/* How often a socket is tried, a millisecond apart, whose server has no room for one more at the
 * moment. */
#define PEER_CONNECT_TRIES 2000

typedef enum PeerState {
    PEER_OPEN,
    PEER_CLOSING,
    PEER_CLOSED
} PeerState;

struct McpPeer {
    McpPeerConfig config; /* its strings lie in `strings` */
    Arena strings;
    McpClient *client;
    McpSink sink;
    IoStream *stream;
    IoProcess *process;
    IoTimer *timer;
    IoBeforeWait *settle;
    NdjsonReader reader;
    NdjsonWriter writer;
    McpPeerStderr words;
    PeerState state;
    bool is_pumping;
    bool has_output_ended;
    bool has_exited;
    bool is_gone;     /* the session was told that it ended */
    uint64_t n_stray; /* lines that were not even JSON */
    uint64_t n_odd;   /* messages that mean nothing to the session */
    uint64_t n_long;  /* messages longer than allowed */
    IoProcessExit exit;
    int64_t linger_end_ms;
    int64_t term_at_ms; /* closing: when asking is over */
    int64_t timer_ms;
    void (*done)(void *context);
    void *done_context;
};

static int peer_connect(McpPeer *peer, Diag *reterr_diag);

/* ---- the session's sink ---- */

static int peer_sink_begin(void *context, Bytes **ret)
{
    McpPeer *peer = context;

    return ndjson_writer_begin(&peer->writer, ret);
}

static int peer_sink_commit(void *context)
{
    McpPeer *peer = context;

    return ndjson_writer_commit(&peer->writer);
}

static void peer_sink_abort(void *context)
{
    McpPeer *peer = context;

    ndjson_writer_abort(&peer->writer);
}

/* ---- events ---- */

/* Lets go of the server, whatever state it is in. */
static void peer_disconnect(McpPeer *peer)
{
    peer->stream = io_stream_free(peer->stream);
    mcp_peer_stderr_close(&peer->words);
    peer->process = io_process_free(peer->process);
    ndjson_reader_deinit(&peer->reader);
    ndjson_writer_deinit(&peer->writer);
}

static void peer_restart(McpPeer *peer)
{
    Diag diag = DIAG_NULL;
    int r;

    logsink_write(peer->config.log, LOGSINK_LEVEL_INFO, "mcp",
                  "the server did not survive server/discover and is started anew");
    peer_disconnect(peer);
    r = peer_connect(peer, &diag);
    if (r == 0) {
        r = mcp_client_restarted(peer->client, io_loop_now_ms(peer->config.loop));
    } else {
        logsink_write(peer->config.log, LOGSINK_LEVEL_ERROR, "mcp", "%s",
                      r > 0 ? diag.message : io_error_text(-r));
        (void)mcp_client_restarted(peer->client, io_loop_now_ms(peer->config.loop));
    }
    if (r != 0) {
        mcp_client_peer_ended(peer->client, io_loop_now_ms(peer->config.loop));
    }
}

/* The session says that the server ended; we know how. size: the session's text has at most 512
 * bytes, the last words 1024. */
static void peer_explain(const McpPeer *peer, McpClientEvent *event, char *text, size_t size)
{
    Span tail = bytes_span(&peer->words.tail);
    int n = snprintf(text, size, "%.*s", (int)event->text.n, event->text.p);

    if (peer->has_exited && peer->exit.signum != 0) {
        n += snprintf(text + n, size - (size_t)n, " (signal %d)", peer->exit.signum);
    } else if (peer->has_exited) {
        n += snprintf(text + n, size - (size_t)n, " (exit status %d)", peer->exit.status);
    }
    if (tail.n > 0) {
        n += snprintf(text + n, size - (size_t)n, "; it said: %.*s", (int)tail.n, tail.p);
    }
    event->text = span_make(text, (size_t)n);
}

/* Hands the events to the owner, who may cause more. */
static void peer_pump(McpPeer *peer)
{
    char text[2048];
    McpClientEvent event;

    if (peer->is_pumping) {
        return;
    }
    peer->is_pumping = true;
    while (mcp_client_next(peer->client, &event)) {
        if (peer->state != PEER_OPEN) {
            continue;
        }
        if (event.kind == MCP_CLIENT_RESTART) {
            peer_restart(peer);
            continue;
        }
        if (event.kind == MCP_CLIENT_FAILED && peer->is_gone) {
            peer_explain(peer, &event, text, sizeof(text));
        }
        peer->config.event(peer->config.context, peer, &event);
    }
    peer->is_pumping = false;
}

static void peer_fail(McpPeer *peer, int r)
{
    logsink_write(peer->config.log, LOGSINK_LEVEL_ERROR, "mcp", "the session cannot go on: %s",
                  io_error_text(-r));
    peer->is_gone = true;
    mcp_client_peer_ended(peer->client, io_loop_now_ms(peer->config.loop));
}

/* ---- the end of the server ---- */

static void peer_set_timer(McpPeer *peer)
{
    int64_t at_ms =
        peer->state == PEER_OPEN ? mcp_client_next_deadline(peer->client) : peer->term_at_ms;

    if (peer->linger_end_ms < at_ms) {
        at_ms = peer->linger_end_ms;
    }
    if (peer->state == PEER_CLOSED) {
        at_ms = INT64_MAX;
    }
    if (at_ms != peer->timer_ms) {
        peer->timer_ms = at_ms;
        io_timer_start_at(peer->timer, at_ms);
    }
}

/* Its output has ended, it was reaped, or it was waited for. */
static bool peer_has_ended(const McpPeer *peer)
{
    bool is_reaped = peer->process == NULL || peer->has_exited;
    bool is_heard = peer->words.stream == NULL || peer->words.has_ended;

    return (peer->has_output_ended && is_reaped && is_heard) ||
           io_loop_now_ms(peer->config.loop) >= peer->linger_end_ms;
}

static void peer_look_at_end(McpPeer *peer)
{
    if (peer->state == PEER_CLOSED || peer->is_gone ||
        (!peer->has_output_ended && !peer->has_exited)) {
        return;
    }
    if (peer->linger_end_ms == INT64_MAX && peer->state == PEER_OPEN) {
        peer->linger_end_ms = io_loop_now_ms(peer->config.loop) + PEER_LINGER_MS;
    }
    if (peer->state == PEER_OPEN && peer_has_ended(peer)) {
        peer->linger_end_ms = INT64_MAX;
        peer->is_gone = true;
        mcp_client_peer_ended(peer->client, io_loop_now_ms(peer->config.loop));
        peer_pump(peer);
    }
    peer_set_timer(peer);
}

static void peer_stderr_ended(void *context)
{
    peer_look_at_end(context);
}

/* Closing is over as soon as a child was reaped; a socket, when the other side has closed it. */
static bool peer_may_close(const McpPeer *peer)
{
    return peer->process != NULL ? peer->has_exited : peer->has_output_ended;
}

static void peer_finish_close(McpPeer *peer)
{
    peer->state = PEER_CLOSED;
    peer_disconnect(peer);
    peer_set_timer(peer);
    if (peer->done != NULL) {
        peer->done(peer->done_context);
    }
}

static void peer_on_timer(void *context)
{
    McpPeer *peer = context;
    int64_t now_ms = io_loop_now_ms(peer->config.loop);

    peer->timer_ms = INT64_MAX;
    if (peer->state == PEER_OPEN) {
        mcp_client_advance(peer->client, now_ms);
        peer_pump(peer);
        peer_look_at_end(peer);
    }
    if (peer->state == PEER_CLOSING) {
        if (peer_may_close(peer) || (peer->process == NULL && now_ms >= peer->term_at_ms)) {
            peer_finish_close(peer);
            return;
        }
        if (now_ms >= peer->term_at_ms) {
            io_process_end(peer->process, PEER_TERM_MS);
            peer->term_at_ms = INT64_MAX;
        }
    }
    peer_set_timer(peer);
}

static void peer_on_exit(void *context, IoProcessExit exit)
{
    McpPeer *peer = context;

    peer->has_exited = true;
    peer->exit = exit;
    if (peer->state == PEER_CLOSING) {
        peer_finish_close(peer);
        return;
    }
    peer_look_at_end(peer);
}

/* ---- input ---- */

/* The 1st, 2nd, 4th, 8th… of its kind is worth a word: a server that writes nothing else must not
 * fill the log. */
static bool peer_counts_as_news(uint64_t n)
{
    return (n & (n - 1)) == 0;
}

/* What the session skipped and is not even JSON is somebody's stray print. */
static void peer_report_skipped(McpPeer *peer, Span line)
{
    bool is_stray = line.n > 0 && line.p[0] != '{' && line.p[0] != '[';
    uint64_t n = is_stray ? ++peer->n_stray : ++peer->n_odd;
    char count[48] = "";

    if (!peer_counts_as_news(n)) {
        return;
    }
    if (n > 1) {
        (void)snprintf(count, sizeof(count), " (%" PRIu64 " times so far)", n);
    }
    logsink_write(peer->config.log, is_stray ? LOGSINK_LEVEL_WARN : LOGSINK_LEVEL_DEBUG, "mcp",
                  "skipped what the server wrote%s: %.*s", count,
                  (int)(line.n < 200 ? line.n : 200), line.p);
}

/* What the next line begins with, if it may turn out to be too long: next says so and keeps nothing
 * of it. Blank lines do not count, nor does the rest of a line that is being dropped. */
static Span peer_beginning(const McpPeer *peer)
{
    Span unread = inq_unread(&peer->reader.in);
    const char *newline;

    if (unread.n <= peer->reader.max_bytes) {
        return SPAN_NULL;
    }
    if (peer->reader.skipping) {
        newline = memchr(unread.p, '\n', unread.n);
        unread = newline == NULL
                     ? SPAN_NULL
                     : span_make(newline + 1, (size_t)(unread.p + unread.n - newline) - 1);
    }
    unread = unread.n == 0 ? SPAN_NULL : text_trim(unread);
    newline = unread.n == 0 ? NULL : memchr(unread.p, '\n', unread.n);
    return newline == NULL ? unread : span_make(unread.p, (size_t)(newline - unread.p));
}

static void peer_report_long(McpPeer *peer)
{
    if (peer_counts_as_news(++peer->n_long)) {
        logsink_write(peer->config.log, LOGSINK_LEVEL_WARN, "mcp",
                      "skipped a message of the server that is longer than allowed (%" PRIu64
                      " so far)",
                      peer->n_long);
    }
}

static void peer_take_long(McpPeer *peer, Span beginning)
{
    uint64_t n_skipped = mcp_client_n_skipped(peer->client);
    int r = mcp_client_receive_too_long(peer->client, beginning, io_loop_now_ms(peer->config.loop));

    if (r != 0) {
        peer_fail(peer, r);
    }
    peer_pump(peer);
    if (mcp_client_n_skipped(peer->client) > n_skipped) {
        peer_report_long(peer);
    }
}

static void peer_take_line(McpPeer *peer, Span line)
{
    uint64_t n_skipped = mcp_client_n_skipped(peer->client);
    int r = mcp_client_receive(peer->client, line, io_loop_now_ms(peer->config.loop));

    if (r != 0) {
        peer_fail(peer, r);
        peer_pump(peer);
        return;
    }
    peer_pump(peer);
    if (mcp_client_n_skipped(peer->client) > n_skipped) {
        peer_report_skipped(peer, line);
    }
}

static void peer_on_input(void *context)
{
    McpPeer *peer = context;
    Span beginning = peer_beginning(peer);
    Span line;
    int r;

    while ((r = ndjson_reader_next(&peer->reader, &line)) != NDJSON_E_AGAIN) {
        if (peer->state == PEER_OPEN && r == NDJSON_E_TOO_LONG) {
            peer_take_long(peer, beginning);
        } else if (peer->state == PEER_OPEN) {
            peer_take_line(peer, line);
        }
        beginning = peer_beginning(peer);
    }
}

static void peer_output_ended(McpPeer *peer)
{
    peer->has_output_ended = true;
    if (peer->state == PEER_CLOSING && peer_may_close(peer)) {
        /* Not in here: the owner may free us, and the stream would not expect it. */
        peer->term_at_ms = io_loop_now_ms(peer->config.loop);
        peer_set_timer(peer);
        return;
    }
    peer_look_at_end(peer);
}

static bool peer_is_cut(Span rest)
{
    Span text = text_trim(rest);

    return text.n == 0 || (text.p[text.n - 1] != '}' && text.p[text.n - 1] != ']');
}

static void peer_on_end(void *context)
{
    McpPeer *peer = context;
    Span rest;

    if (peer->state == PEER_OPEN &&
        ndjson_reader_finish(&peer->reader, &rest) == NDJSON_E_INCOMPLETE) {
        /* Of one that breaks off the end of the server is the reason, and that is told next. */
        if (peer_is_cut(rest)) {
            peer_report_skipped(peer, rest);
        } else {
            peer_take_line(peer, rest);
        }
    }
    peer_output_ended(peer);
}

static void peer_on_failed(void *context, int r)
{
    McpPeer *peer = context;

    logsink_write(peer->config.log, LOGSINK_LEVEL_DEBUG, "mcp", "the wire to the server: %s",
                  io_error_text(-r));
    peer_output_ended(peer);
}

static int peer_reserve(void *context, size_t want, char **ret_p, size_t *ret_n)
{
    McpPeer *peer = context;

    return err_fold(ndjson_reader_reserve(&peer->reader, want, ret_p, ret_n));
}

static void peer_commit(void *context, size_t n)
{
    McpPeer *peer = context;

    ndjson_reader_commit(&peer->reader, n);
}

static size_t peer_pull(void *context, Span *slices, size_t max)
{
    McpPeer *peer = context;

    return ndjson_writer_pull(&peer->writer, slices, max);
}

static void peer_consumed(void *context, size_t n)
{
    McpPeer *peer = context;

    ndjson_writer_consumed(&peer->writer, n);
}

static const IoStreamOps peer_stream_ops = {
    .reserve = peer_reserve,
    .commit = peer_commit,
    .pull = peer_pull,
    .consumed = peer_consumed,
    .input = peer_on_input,
    .end = peer_on_end,
    .failed = peer_on_failed,
};

/* ---- the beginning ---- */

static int peer_open_streams(McpPeer *peer, int in_fd, int out_fd, int stderr_fd)
{
    int r = io_stream_new(&peer->stream, peer->config.loop, in_fd, out_fd, &peer_stream_ops, peer);

    if (r != 0) {
        io_fd_close(in_fd);
        if (out_fd != in_fd) {
            io_fd_close(out_fd);
        }
    }
    if (r == 0 && stderr_fd >= 0) {
        r = mcp_peer_stderr_open(&peer->words, peer->config.loop, stderr_fd);
    }
    if (r != 0 && stderr_fd >= 0) {
        io_fd_close(stderr_fd);
    }
    return r;
}

static int peer_spawn(McpPeer *peer, Diag *reterr_diag)
{
    IoProcessSpec spec = {.argv = peer->config.argv,
                          .environment = peer->config.environment,
                          .folder = peer->config.folder,
                          .wire = IO_PROCESS_SOCKETS,
                          .inherit_stderr = peer->config.inherit_stderr};
    int in_fd = -1;
    int out_fd = -1;
    int stderr_fd = -1;
    int r = io_process_spawn(&peer->process, peer->config.loop, &spec, peer_on_exit, peer, &in_fd,
                             &out_fd, &stderr_fd, reterr_diag);

    if (r != 0) {
        return r == IO_PROCESS_E_CANNOT_START ? MCP_PEER_E_CANNOT_START : err_pass(r);
    }
    return peer_open_streams(peer, out_fd, in_fd, stderr_fd);
}

static int peer_connect_socket(McpPeer *peer, Diag *reterr_diag)
{
    const char *path = peer->config.socket_path;
    int n_tries = 0;
    int fd = -1;
    int r;

    if (strlen(path) > UNIX_SOCKET_PATH_MAX) {
        return diag_set(reterr_diag, MCP_PEER_E_CANNOT_START,
                        "the path of the socket is longer than %zu bytes: %s", UNIX_SOCKET_PATH_MAX,
                        path);
    }
    while ((r = unix_socket_connect(path, &fd)) == -EAGAIN && ++n_tries < PEER_CONNECT_TRIES) {
        io_place_nap();
    }
    if (r != 0) {
        return diag_set(reterr_diag, MCP_PEER_E_CANNOT_START, "cannot connect to %s: %s", path,
                        io_error_text(-r));
    }
    if (peer->config.is_own && !unix_socket_peer_is_trusted(fd)) {
        io_fd_close(fd);
        return diag_set(reterr_diag, MCP_PEER_E_CANNOT_START, "%s is served by another user", path);
    }
    return peer_open_streams(peer, fd, fd, -1);
}

static int peer_connect(McpPeer *peer, Diag *reterr_diag)
{
    size_t max_bytes = peer->config.client.max_message_bytes;

    ndjson_reader_init(&peer->reader, max_bytes != 0 ? max_bytes : LIMIT_MCP_RESPONSE_BYTES);
    ndjson_writer_init(&peer->writer, LIMIT_MCP_RESPONSE_BYTES, LIMIT_OUTPUT_BYTES);
    peer->has_output_ended = false;
    peer->has_exited = false;
    peer->is_gone = false;
    peer->linger_end_ms = INT64_MAX;
    return peer->config.argv != NULL ? peer_spawn(peer, reterr_diag)
                                     : peer_connect_socket(peer, reterr_diag);
}

/* Sends what was written and delivers what was caused since the last turn. */
static void peer_on_settle(void *context)
{
    McpPeer *peer = context;

    if (peer->state == PEER_OPEN) {
        peer_pump(peer);
    }
    if (peer->stream != NULL) {
        io_stream_flush(peer->stream);
    }
    peer_set_timer(peer);
}

static int peer_copy_string(McpPeer *peer, const char **s)
{
    if (*s != NULL) {
        *s = arena_copy(&peer->strings, span_from_str(*s)).p;
        return *s == NULL ? err_raise(-ENOMEM) : 0;
    }
    return 0;
}

static int peer_copy_strings(McpPeer *peer, const char *const **list)
{
    const char **copy;
    size_t n = 0;

    if (*list == NULL) {
        return 0;
    }
    while ((*list)[n] != NULL) {
        n++;
    }
    copy = arena_alloc_array(&peer->strings, n + 1, sizeof(*copy));
    if (copy == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < n; i++) {
        copy[i] = (*list)[i];
        if (peer_copy_string(peer, &copy[i]) != 0) {
            return err_raise(-ENOMEM);
        }
    }
    *list = copy;
    return 0;
}

static int peer_init(McpPeer *peer, Diag *reterr_diag)
{
    McpPeerConfig *config = &peer->config;
    int r = peer_copy_strings(peer, &config->argv);

    r = r != 0 ? r : peer_copy_strings(peer, &config->environment);
    r = r != 0 ? r : peer_copy_string(peer, &config->folder);
    r = r != 0 ? r : peer_copy_string(peer, &config->socket_path);
    r = r != 0 ? r : mcp_client_new(&peer->client, &config->client);
    r = r != 0 ? r : io_timer_new(&peer->timer, config->loop, false, peer_on_timer, peer);
    r = r != 0 ? r : io_before_wait_new(&peer->settle, config->loop, peer_on_settle, peer);
    r = r != 0 ? r : peer_connect(peer, reterr_diag);
    r = r != 0 ? r : mcp_client_start(peer->client, io_loop_now_ms(config->loop));
    return r;
}

int mcp_peer_new(McpPeer **ret, const McpPeerConfig *config, Diag *reterr_diag)
{
    McpPeer *peer = mem_alloc_array(1, sizeof(*peer));
    int r;

    if (peer == NULL) {
        return err_raise(-ENOMEM);
    }
    peer->config = *config;
    peer->sink = (McpSink){.begin = peer_sink_begin,
                           .commit = peer_sink_commit,
                           .abort = peer_sink_abort,
                           .context = peer};
    peer->config.client.sink = &peer->sink;
    peer->term_at_ms = INT64_MAX;
    peer->timer_ms = INT64_MAX;
    peer->linger_end_ms = INT64_MAX;
    arena_init(&peer->strings, SIZE_MAX);
    mcp_peer_stderr_init(&peer->words, config->log, peer_stderr_ended, peer);
    r = peer_init(peer, reterr_diag);
    if (r != 0) {
        (void)mcp_peer_free(peer);
        return r == MCP_PEER_E_CANNOT_START ? r : err_fold(r);
    }
    *ret = peer;
    return 0;
}

/* ---- the owner's side ---- */

void mcp_peer_close(McpPeer *peer, int64_t grace_ms, void (*done)(void *context), void *context)
{
    if (peer->state != PEER_OPEN) {
        return;
    }
    peer->state = PEER_CLOSING;
    peer->linger_end_ms = INT64_MAX;
    peer->done = done;
    peer->done_context = context;
    /* At once if there is nothing to wait for; by the timer all the same, never in here. */
    peer->term_at_ms = io_loop_now_ms(peer->config.loop) + (peer_may_close(peer) ? 0 : grace_ms);
    if (peer->stream != NULL) {
        io_stream_shut_output(peer->stream);
    }
    peer_set_timer(peer);
}

McpPeer *mcp_peer_free(McpPeer *peer)
{
    if (peer == NULL) {
        return NULL;
    }
    peer_disconnect(peer);
    peer->timer = io_timer_free(peer->timer);
    peer->settle = io_before_wait_free(peer->settle);
    peer->client = mcp_client_free(peer->client);
    mcp_peer_stderr_deinit(&peer->words);
    arena_deinit(&peer->strings);
    return mem_free(peer);
}

int mcp_peer_request(McpPeer *peer, Span method, Span params, bool wants_progress,
                     McpRequestId *ret)
{
    if (peer->state != PEER_OPEN) {
        return MCP_CLIENT_E_ENDED;
    }
    return mcp_client_request(peer->client, method, params, wants_progress,
                              io_loop_now_ms(peer->config.loop), ret);
}

void mcp_peer_cancel(McpPeer *peer, McpRequestId id, Span reason)
{
    mcp_client_cancel(peer->client, id, reason);
}

int mcp_peer_answer(McpPeer *peer, uint64_t ask, Span result)
{
    return mcp_client_answer(peer->client, ask, result, io_loop_now_ms(peer->config.loop));
}

int mcp_peer_refuse(McpPeer *peer, uint64_t ask, int code, Span message)
{
    return mcp_client_refuse(peer->client, ask, code, message, io_loop_now_ms(peer->config.loop));
}

int mcp_peer_notify(McpPeer *peer, Span method, Span params)
{
    return mcp_client_notify(peer->client, method, params);
}

const McpClient *mcp_peer_client(const McpPeer *peer)
{
    return peer->client;
}

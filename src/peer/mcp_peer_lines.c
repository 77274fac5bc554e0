/* The wire to a server that is a child process or a Unix socket: its beginning, and messages as
 * lines. Its end is in mcp_peer_lines_end.c. */
#include "peer/mcp_peer_lines.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
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

/* How often a socket is tried, a millisecond apart, whose server has no room for one more at the
 * moment. */
#define PEER_CONNECT_TRIES 2000

/* Lines before the session has begun that are no messages: far more than any banner has. */
#define PEER_MAX_SKIPPED 10000

static int lines_connect(McpLines *lines, Diag *reterr_diag);

/* ---- the session's sink ---- */

static int lines_sink_begin(void *context, Bytes **ret)
{
    McpLines *lines = context;

    return ndjson_writer_begin(&lines->writer, ret);
}

static int lines_sink_commit(void *context)
{
    McpLines *lines = context;

    return ndjson_writer_commit(&lines->writer);
}

/* Written now, while the lender waits; what the system does not take is copied after all. */
static int lines_sink_commit_lent(void *context, BytesLent lent)
{
    McpLines *lines = context;
    int r = ndjson_writer_commit_lent(&lines->writer, lent);

    if (r != 0) {
        return r;
    }
    if (lines->stream != NULL) {
        io_stream_flush_now(lines->stream);
    }
    return err_pass(ndjson_writer_own(&lines->writer));
}

static void lines_sink_abort(void *context)
{
    McpLines *lines = context;

    ndjson_writer_abort(&lines->writer);
}

/* ---- events ---- */

/* Lets go of the server, whatever state it is in. */
static void lines_disconnect(McpLines *lines)
{
    lines->stream = io_stream_free(lines->stream);
    mcp_peer_stderr_close(&lines->words);
    /* What it has started and left behind goes, too. */
    lines->process = io_process_retire(lines->process, PEER_TERM_MS);
    ndjson_reader_deinit(&lines->reader);
    ndjson_writer_deinit(&lines->writer);
}

static void lines_restart(void *wire)
{
    McpLines *lines = wire;
    Diag diag = DIAG_NULL;
    int r;

    logsink_write(lines->peer->config.log, LOGSINK_LEVEL_INFO, "mcp",
                  "the server did not survive server/discover and is started anew");
    lines_disconnect(lines);
    r = lines_connect(lines, &diag);
    if (r == 0) {
        r = mcp_client_restarted(lines->peer->client, io_loop_now_ms(lines->peer->config.loop));
    } else {
        logsink_write(lines->peer->config.log, LOGSINK_LEVEL_ERROR, "mcp", "%s",
                      r > 0 ? diag.message : io_error_text(-r));
        (void)mcp_client_restarted(lines->peer->client, io_loop_now_ms(lines->peer->config.loop));
    }
    if (r != 0) {
        mcp_client_peer_ended(lines->peer->client, io_loop_now_ms(lines->peer->config.loop));
    }
}

static void lines_fail(McpLines *lines, int r)
{
    logsink_write(lines->peer->config.log, LOGSINK_LEVEL_ERROR, "mcp",
                  "the session cannot go on: %s", io_error_text(-r));
    lines->is_gone = true;
    mcp_client_peer_ended(lines->peer->client, io_loop_now_ms(lines->peer->config.loop));
}

/* ---- input ---- */

/* The 1st, 2nd, 4th, 8th… of its kind is worth a word: a server that writes nothing else must not
 * fill the log. */
static bool lines_counts_as_news(uint64_t n)
{
    return (n & (n - 1)) == 0;
}

/* One that has not begun to speak, and floods us, is no server. */
static void lines_bound_skipped(McpLines *lines)
{
    if (lines->n_stray + lines->n_odd >= PEER_MAX_SKIPPED && lines->peer->state == PEER_OPEN &&
        !mcp_client_is_ready(lines->peer->client)) {
        mcp_client_break(lines->peer->client,
                         SPAN("the server writes what is no message, and nothing else"),
                         io_loop_now_ms(lines->peer->config.loop));
        mcp_peer_pump(lines->peer);
    }
}

/* What the session skipped and is not even JSON is somebody's stray print. */
static void lines_report_skipped(McpLines *lines, Span line)
{
    bool is_stray = line.n > 0 && line.p[0] != '{' && line.p[0] != '[';
    uint64_t n = is_stray ? ++lines->n_stray : ++lines->n_odd;
    char count[48] = "";

    if (!lines_counts_as_news(n)) {
        return;
    }
    if (n > 1) {
        (void)snprintf(count, sizeof(count), " (%" PRIu64 " times so far)", n);
    }
    logsink_write(lines->peer->config.log, is_stray ? LOGSINK_LEVEL_WARN : LOGSINK_LEVEL_DEBUG,
                  "mcp", "skipped what the server wrote%s: %.*s", count,
                  (int)(line.n < 200 ? line.n : 200), line.p);
}

/* What the next line begins with, if it may turn out to be too long: next says so and keeps nothing
 * of it. Blank lines do not count, nor does the rest of a line that is being dropped. */
static Span lines_beginning(const McpLines *lines)
{
    Span unread = inq_unread(&lines->reader.in);
    const char *newline;

    if (unread.n <= lines->reader.max_bytes) {
        return SPAN_NULL;
    }
    if (lines->reader.skipping) {
        newline = memchr(unread.p, '\n', unread.n);
        unread = newline == NULL
                     ? SPAN_NULL
                     : span_make(newline + 1, (size_t)(unread.p + unread.n - newline) - 1);
    }
    unread = unread.n == 0 ? SPAN_NULL : text_trim(unread);
    newline = unread.n == 0 ? NULL : memchr(unread.p, '\n', unread.n);
    return newline == NULL ? unread : span_make(unread.p, (size_t)(newline - unread.p));
}

static void lines_report_long(McpLines *lines)
{
    if (lines_counts_as_news(++lines->n_long)) {
        logsink_write(lines->peer->config.log, LOGSINK_LEVEL_WARN, "mcp",
                      "skipped a message of the server that is longer than allowed (%" PRIu64
                      " so far)",
                      lines->n_long);
    }
}

static void lines_take_long(McpLines *lines, Span beginning)
{
    uint64_t n_skipped = mcp_client_n_skipped(lines->peer->client);
    int r = mcp_client_receive_too_long(lines->peer->client, beginning,
                                        io_loop_now_ms(lines->peer->config.loop));

    if (r != 0) {
        lines_fail(lines, r);
    }
    mcp_peer_pump(lines->peer);
    if (mcp_client_n_skipped(lines->peer->client) > n_skipped) {
        lines_report_long(lines);
    }
}

static void lines_take_line(McpLines *lines, Span line)
{
    uint64_t n_skipped = mcp_client_n_skipped(lines->peer->client);
    int r = mcp_client_receive(lines->peer->client, line, io_loop_now_ms(lines->peer->config.loop));

    if (r != 0) {
        lines_fail(lines, r);
        mcp_peer_pump(lines->peer);
        return;
    }
    mcp_peer_pump(lines->peer);
    if (mcp_client_n_skipped(lines->peer->client) > n_skipped) {
        lines_report_skipped(lines, line);
        lines_bound_skipped(lines);
    }
}

static void lines_on_input(void *context)
{
    McpLines *lines = context;
    Span beginning = lines_beginning(lines);
    Span line;
    int r;

    io_turn_begin(lines->peer->config.loop, lines->peer->turn);
    while ((r = ndjson_reader_next(&lines->reader, &line)) != NDJSON_E_AGAIN) {
        bool is_heard = lines->peer->state == PEER_OPEN && !mcp_peer_is_overdue(lines->peer);

        if (is_heard && r == NDJSON_E_TOO_LONG) {
            lines_take_long(lines, beginning);
        } else if (is_heard) {
            lines_take_line(lines, line);
        }
        beginning = lines_beginning(lines);
    }
    mcp_peer_pump(lines->peer); /* the end of one that was overdue */
    io_turn_end(lines->peer->config.loop);
}

static void lines_output_ended(McpLines *lines)
{
    lines->has_output_ended = true;
    if (lines->peer->state == PEER_CLOSING && mcp_lines_may_close(lines)) {
        /* Not in here: the owner may free us, and the stream would not expect it. */
        lines->term_at_ms = io_loop_now_ms(lines->peer->config.loop);
        mcp_peer_set_timer(lines->peer);
        return;
    }
    mcp_lines_look_at_end(lines);
}

static bool lines_is_cut(Span rest)
{
    Span text = text_trim(rest);

    return text.n == 0 || (text.p[text.n - 1] != '}' && text.p[text.n - 1] != ']');
}

static void lines_on_end(void *context)
{
    McpLines *lines = context;
    Span rest;

    if (lines->peer->state == PEER_OPEN &&
        ndjson_reader_finish(&lines->reader, &rest) == NDJSON_E_INCOMPLETE) {
        /* Of one that breaks off the end of the server is the reason, and that is told next. */
        if (lines_is_cut(rest)) {
            lines_report_skipped(lines, rest);
        } else {
            lines_take_line(lines, rest);
        }
    }
    lines_output_ended(lines);
}

static void lines_on_failed(void *context, int r)
{
    McpLines *lines = context;

    logsink_write(lines->peer->config.log, LOGSINK_LEVEL_DEBUG, "mcp", "the wire to the server: %s",
                  io_error_text(-r));
    lines_output_ended(lines);
}

static int lines_reserve(void *context, size_t want, char **ret_p, size_t *ret_n)
{
    McpLines *lines = context;

    return err_fold(ndjson_reader_reserve(&lines->reader, want, ret_p, ret_n));
}

static void lines_commit(void *context, size_t n)
{
    McpLines *lines = context;

    ndjson_reader_commit(&lines->reader, n);
}

static size_t lines_pull(void *context, Span *slices, size_t max)
{
    McpLines *lines = context;

    return ndjson_writer_pull(&lines->writer, slices, max);
}

static void lines_consumed(void *context, size_t n)
{
    McpLines *lines = context;

    ndjson_writer_consumed(&lines->writer, n);
}

static const IoStreamOps lines_stream_ops = {
    .reserve = lines_reserve,
    .commit = lines_commit,
    .pull = lines_pull,
    .consumed = lines_consumed,
    .input = lines_on_input,
    .end = lines_on_end,
    .failed = lines_on_failed,
};

/* ---- the beginning ---- */

static int lines_open_streams(McpLines *lines, int in_fd, int out_fd, int stderr_fd)
{
    int r = io_stream_new(&lines->stream, lines->peer->config.loop, in_fd, out_fd,
                          &lines_stream_ops, lines);

    if (r != 0) {
        io_fd_close(in_fd);
        if (out_fd != in_fd) {
            io_fd_close(out_fd);
        }
    }
    if (r == 0 && stderr_fd >= 0) {
        r = mcp_peer_stderr_open(&lines->words, lines->peer->config.loop, stderr_fd);
    }
    if (r != 0 && stderr_fd >= 0) {
        io_fd_close(stderr_fd);
    }
    return r;
}

static int lines_spawn(McpLines *lines, Diag *reterr_diag)
{
    IoProcessSpec spec = {.argv = lines->peer->config.argv,
                          .environment = lines->peer->config.environment,
                          .folder = lines->peer->config.folder,
                          .wire = IO_PROCESS_SOCKETS,
                          .inherit_stderr = lines->peer->config.inherit_stderr,
                          .dies_with_thread = lines->peer->config.dies_with_us};
    int in_fd = -1;
    int out_fd = -1;
    int stderr_fd = -1;
    int r = io_process_spawn(&lines->process, lines->peer->config.loop, &spec, mcp_lines_on_exit,
                             lines, &in_fd, &out_fd, &stderr_fd, reterr_diag);

    if (r != 0) {
        return r == IO_PROCESS_E_CANNOT_START ? MCP_PEER_E_CANNOT_START : err_pass(r);
    }
    return lines_open_streams(lines, out_fd, in_fd, stderr_fd);
}

static int lines_connect_socket(McpLines *lines, Diag *reterr_diag)
{
    const char *path = lines->peer->config.socket_path;
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
    if (lines->peer->config.is_own && !unix_socket_peer_is_trusted(fd)) {
        io_fd_close(fd);
        return diag_set(reterr_diag, MCP_PEER_E_CANNOT_START, "%s is served by another user", path);
    }
    return lines_open_streams(lines, fd, fd, -1);
}

static int lines_connect(McpLines *lines, Diag *reterr_diag)
{
    size_t max_bytes = lines->peer->config.client.max_message_bytes;

    ndjson_reader_init(&lines->reader, max_bytes != 0 ? max_bytes : LIMIT_MCP_RESPONSE_BYTES);
    ndjson_writer_init(&lines->writer, LIMIT_MCP_RESPONSE_BYTES, LIMIT_OUTPUT_BYTES);
    lines->has_output_ended = false;
    lines->has_exited = false;
    lines->is_gone = false;
    lines->linger_end_ms = INT64_MAX;
    return lines->peer->config.argv != NULL ? lines_spawn(lines, reterr_diag)
                                            : lines_connect_socket(lines, reterr_diag);
}

/* ---- the peer's side ---- */

static int lines_open(McpPeer *peer, void **ret, Diag *reterr_diag)
{
    McpLines *lines = mem_alloc_array(1, sizeof(*lines));

    if (lines == NULL) {
        return err_raise(-ENOMEM);
    }
    lines->peer = peer;
    lines->term_at_ms = INT64_MAX;
    lines->linger_end_ms = INT64_MAX;
    mcp_peer_stderr_init(&lines->words, peer->config.log, mcp_lines_stderr_ended, lines);
    *ret = lines;
    return lines_connect(lines, reterr_diag);
}

static void lines_free(void *wire)
{
    McpLines *lines = wire;

    lines_disconnect(lines);
    mcp_peer_stderr_deinit(&lines->words);
    (void)mem_free(lines);
}

static void lines_flush(void *wire)
{
    McpLines *lines = wire;

    if (lines->stream != NULL) {
        io_stream_flush(lines->stream);
    }
}

static int64_t lines_deadline(const void *wire)
{
    const McpLines *lines = wire;
    int64_t at_ms = lines->peer->state == PEER_CLOSING ? lines->term_at_ms : INT64_MAX;

    return lines->linger_end_ms < at_ms ? lines->linger_end_ms : at_ms;
}

static void lines_close(void *wire, int64_t grace_ms)
{
    McpLines *lines = wire;

    lines->linger_end_ms = INT64_MAX;
    /* At once if there is nothing to wait for; by the timer all the same, never in here. */
    lines->term_at_ms =
        io_loop_now_ms(lines->peer->config.loop) + (mcp_lines_may_close(lines) ? 0 : grace_ms);
    if (lines->stream != NULL) {
        io_stream_shut_output(lines->stream);
    }
}

static void lines_let_go(void *wire)
{
    lines_disconnect(wire);
}

static Span lines_last_words(const void *wire)
{
    const McpLines *lines = wire;

    return mcp_peer_stderr_tail(&lines->words);
}

const McpPeerWire mcp_peer_lines = {
    .sink = {.begin = lines_sink_begin,
             .commit = lines_sink_commit,
             .commit_lent = lines_sink_commit_lent,
             .abort = lines_sink_abort},
    .open = lines_open,
    .free = lines_free,
    .let_go = lines_let_go,
    .restart = lines_restart,
    .explain = mcp_lines_explain,
    .words = lines_last_words,
    .flush = lines_flush,
    .deadline = lines_deadline,
    .tick = mcp_lines_tick,
    .close = lines_close,
};

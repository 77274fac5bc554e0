#include "peer/mcp_peer_stderr.h"

#include <string.h>

#include "base/error.h"

/* Longer lines are not meant for people, and not logged. */
#define STDERR_LINE_BYTES ((size_t)8192)

/* Of the last lines: the end of a stack trace. */
#define STDERR_TAIL_BYTES ((size_t)1024)

/* Of one reading. */
#define STDERR_CHUNK_BYTES ((size_t)256 * 1024)

/* Only the end of what came is looked at, whatever it is: a child that writes nothing but newlines
 * must not cost more than the reading of them. */
static void stderr_keep(McpPeerStderr *words, Span said)
{
    size_t n_most = STDERR_TAIL_BYTES;

    if (said.n > n_most) {
        said = span_make(said.p + said.n - n_most, n_most);
        words->is_cut = true;
    }
    if (words->tail.n + said.n > n_most) {
        bytes_drop_front(&words->tail, words->tail.n + said.n - n_most);
        words->is_cut = true;
    }
    (void)bytes_append_span(&words->tail, said);
}

Span mcp_peer_stderr_tail(const McpPeerStderr *words)
{
    Span tail = bytes_span(&words->tail);
    const char *newline = words->is_cut && tail.n > 0 ? memchr(tail.p, '\n', tail.n - 1) : NULL;

    if (newline != NULL) {
        size_t n = (size_t)(newline - tail.p) + 1;

        tail = span_make(tail.p + n, tail.n - n);
    }
    while (tail.n > 0 && (tail.p[tail.n - 1] == '\n' || tail.p[tail.n - 1] == '\r')) {
        tail.n--;
    }
    return tail;
}

static void stderr_on_input(void *context)
{
    McpPeerStderr *words = context;
    Span line;
    int r;

    while (words->is_logged && (r = ndjson_reader_next(&words->reader, &line)) != NDJSON_E_AGAIN) {
        if (r == 0) {
            logsink_write(words->log, LOGSINK_LEVEL_DEBUG, "server", "%.*s", (int)line.n, line.p);
        }
    }
}

static void stderr_on_end(void *context)
{
    McpPeerStderr *words = context;
    Span rest;

    if (words->is_logged && ndjson_reader_finish(&words->reader, &rest) == NDJSON_E_INCOMPLETE) {
        logsink_write(words->log, LOGSINK_LEVEL_DEBUG, "server", "%.*s", (int)rest.n, rest.p);
    }
    words->has_ended = true;
    words->ended(words->context);
}

static void stderr_on_failed(void *context, int r)
{
    (void)r;
    stderr_on_end(context);
}

static int stderr_reserve(void *context, size_t want, char **ret_p, size_t *ret_n)
{
    McpPeerStderr *words = context;
    int r;

    if (words->is_logged) {
        r = ndjson_reader_reserve(&words->reader, want, ret_p, ret_n);
        words->at = r == 0 ? *ret_p : NULL;
        return err_fold(r);
    }
    r = bytes_reserve(&words->chunk, want);
    *ret_p = words->chunk.data;
    words->at = words->chunk.data;
    *ret_n = r == 0 ? want : 0;
    return err_fold(r);
}

static void stderr_commit(void *context, size_t n)
{
    McpPeerStderr *words = context;

    stderr_keep(words, span_make(words->at, n));
    if (words->is_logged) {
        ndjson_reader_commit(&words->reader, n);
    }
}

/* Nothing is ever written. */
static size_t stderr_pull(void *context, Span *slices, size_t max)
{
    (void)context;
    (void)slices;
    (void)max;
    return 0;
}

static void stderr_consumed(void *context, size_t n)
{
    (void)context;
    (void)n;
}

static const IoStreamOps stderr_ops = {
    .reserve = stderr_reserve,
    .commit = stderr_commit,
    .pull = stderr_pull,
    .consumed = stderr_consumed,
    .input = stderr_on_input,
    .end = stderr_on_end,
    .failed = stderr_on_failed,
};

void mcp_peer_stderr_init(McpPeerStderr *words, const LogSink *log, void (*ended)(void *context),
                          void *context)
{
    *words = (McpPeerStderr){.log = log, .ended = ended, .context = context};
    words->reader = NDJSON_READER_NULL;
    bytes_init(&words->tail, STDERR_TAIL_BYTES);
    bytes_init(&words->chunk, STDERR_CHUNK_BYTES);
}

void mcp_peer_stderr_deinit(McpPeerStderr *words)
{
    mcp_peer_stderr_close(words);
    bytes_deinit(&words->tail);
    bytes_deinit(&words->chunk);
}

int mcp_peer_stderr_open(McpPeerStderr *words, IoLoop *loop, int fd)
{
    int r;

    words->has_ended = false;
    words->is_logged = words->log != NULL && words->log->level >= LOGSINK_LEVEL_DEBUG;
    words->is_cut = false;
    bytes_clear(&words->tail);
    ndjson_reader_init(&words->reader, STDERR_LINE_BYTES);
    r = io_stream_new(&words->stream, loop, fd, -1, &stderr_ops, words);
    return err_pass(r);
}

void mcp_peer_stderr_close(McpPeerStderr *words)
{
    words->stream = io_stream_free(words->stream);
    ndjson_reader_deinit(&words->reader);
}

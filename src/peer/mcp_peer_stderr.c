#include "peer/mcp_peer_stderr.h"

#include "base/error.h"

/* Longer lines are not meant for people, and dropped. */
#define STDERR_LINE_BYTES ((size_t)8192)

/* Of the last lines: the end of a stack trace. */
#define STDERR_TAIL_BYTES ((size_t)1024)

static void stderr_take_line(McpPeerStderr *words, Span line)
{
    logsink_write(words->log, LOGSINK_LEVEL_DEBUG, "server", "%.*s", (int)line.n, line.p);
    if (line.n >= STDERR_TAIL_BYTES) {
        line = span_make(line.p + line.n - STDERR_TAIL_BYTES + 1, STDERR_TAIL_BYTES - 1);
    }
    while (words->tail.n + line.n + 1 > STDERR_TAIL_BYTES) {
        const char *newline = memchr(words->tail.data, '\n', words->tail.n);

        bytes_drop_front(&words->tail, newline == NULL ? words->tail.n
                                                       : (size_t)(newline - words->tail.data) + 1);
    }
    if (words->tail.n > 0) {
        (void)bytes_append_byte(&words->tail, '\n');
    }
    (void)bytes_append_span(&words->tail, line);
}

static void stderr_on_input(void *context)
{
    McpPeerStderr *words = context;
    Span line;
    int r;

    while ((r = ndjson_reader_next(&words->reader, &line)) != NDJSON_E_AGAIN) {
        if (r == 0) {
            stderr_take_line(words, line);
        }
    }
}

static void stderr_on_end(void *context)
{
    McpPeerStderr *words = context;
    Span rest;

    if (ndjson_reader_finish(&words->reader, &rest) == NDJSON_E_INCOMPLETE) {
        stderr_take_line(words, rest);
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

    return err_fold(ndjson_reader_reserve(&words->reader, want, ret_p, ret_n));
}

static void stderr_commit(void *context, size_t n)
{
    McpPeerStderr *words = context;

    ndjson_reader_commit(&words->reader, n);
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
}

void mcp_peer_stderr_deinit(McpPeerStderr *words)
{
    mcp_peer_stderr_close(words);
    bytes_deinit(&words->tail);
}

int mcp_peer_stderr_open(McpPeerStderr *words, IoLoop *loop, int fd)
{
    int r;

    words->has_ended = false;
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

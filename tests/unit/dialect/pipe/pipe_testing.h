/* A sink that keeps what is sent, a line for each message, and fails as it is told; a source of ids
 * that count, and of time that is told. */
#pragma once

#include "support/cmocka.h"

#include "base/bytes.h"
#include "base/compiler.h"
#include "dialect/pipe/sink.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* 2025-01-15T10:30:00.000Z, as in the document. */
#define TEST_UNIX_MS 1736937000000

#define TEST_ID(n) "00000000-0000-4000-8000-0000000000" n

/* What every message begins with, if it is the n-th at so many milliseconds (three digits). */
#define TEST_HEAD(n, type, ms)                                                                     \
    "{\"id\":\"" TEST_ID(n) "\",\"type\":\"" type "\",\"timestamp\":\"2025-01-15T10:30:00." ms     \
                            "Z\",\"payload\":"

typedef struct TestPipe {
    PipeSink sink;
    PipeSource source;
    Bytes sent;       /* messages, each with a newline */
    size_t start;     /* of the message begun */
    size_t n_sent;    /* messages */
    int begin_fails;  /* what begin returns, if not 0 */
    int commit_fails; /* what commit returns, if not 0 */
    size_t n_lent;    /* messages with a part that was lent */
    size_t n_flushed; /* messages that were sent when flush was called last */
    unsigned n_ids;
    int64_t now_ms;
} TestPipe;

static inline int test_pipe_begin(void *context, Bytes **ret_bytes)
{
    TestPipe *test = context;

    if (test->begin_fails != 0) {
        return test->begin_fails;
    }
    test->start = test->sent.n;
    *ret_bytes = &test->sent;
    return 0;
}

static inline int test_pipe_commit(void *context)
{
    TestPipe *test = context;
    int r = test->commit_fails;

    if (r == 0) {
        r = bytes_append_byte(&test->sent, '\n');
    }
    if (r != 0) {
        test->sent.n = test->start;
    }
    test->n_sent += r == 0 ? 1 : 0;
    return r;
}

static inline int test_pipe_commit_lent(void *context, BytesLent lent)
{
    TestPipe *test = context;
    size_t at = test->start + lent.at;
    int r = bytes_reserve(&test->sent, lent.span.n);

    if (r != 0) {
        test->sent.n = test->start;
        return r;
    }
    memmove(test->sent.data + at + lent.span.n, test->sent.data + at, test->sent.n - at);
    memcpy(test->sent.data + at, lent.span.p, lent.span.n);
    test->sent.n += lent.span.n;
    r = test_pipe_commit(test);
    test->n_lent += r == 0 ? 1 : 0;
    return r;
}

static inline void test_pipe_flush(void *context)
{
    TestPipe *test = context;

    test->n_flushed = test->n_sent;
}

static inline void test_pipe_abort(void *context)
{
    TestPipe *test = context;

    test->sent.n = test->start;
}

static inline void test_pipe_uuid(void *context, char ret[UUID_SIZE])
{
    TestPipe *test = context;

    test->n_ids++;
    (void)snprintf(ret, UUID_SIZE, "00000000-0000-4000-8000-%012u", test->n_ids % 1000000000u);
}

static inline int64_t test_pipe_unix_ms(void *context)
{
    return TEST_UNIX_MS + ((TestPipe *)context)->now_ms;
}

static inline void test_pipe_init(TestPipe *test)
{
    *test = (TestPipe){
        .sink = {.begin = test_pipe_begin,
                 .commit = test_pipe_commit,
                 .abort = test_pipe_abort,
                 .context = test},
        .source = {.uuid = test_pipe_uuid, .unix_ms = test_pipe_unix_ms, .context = test}};
    bytes_init(&test->sent, (size_t)1 << 26);
}

/* Takes large parts from where they lie, and may be told to send. */
TW_UNUSED static inline void test_pipe_lend(TestPipe *test)
{
    test->sink.commit_lent = test_pipe_commit_lent;
    test->sink.flush = test_pipe_flush;
}

static inline void test_pipe_deinit(TestPipe *test)
{
    bytes_deinit(&test->sent);
}

/* Forgets what was sent, keeps the storage, and counts ids from 1 again. */
static inline void test_pipe_clear(TestPipe *test)
{
    bytes_clear(&test->sent);
    test->n_sent = 0;
    test->n_ids = 0;
}

/* Whether these words stand in what was sent. */
TW_UNUSED static inline bool test_pipe_said(const TestPipe *test, const char *words)
{
    Span rest = bytes_span(&test->sent);

    while (rest.n > 0 && !span_starts_with(rest, span_from_str(words))) {
        rest = span_make(rest.p + 1, rest.n - 1);
    }
    return rest.n > 0;
}

/* Exactly these messages were sent, each with its newline; then forgets them. */
#define assert_sent(test, text)                                                                    \
    do {                                                                                           \
        assert_int_equal(bytes_append_byte(&(test)->sent, '\0'), 0);                               \
        assert_string_equal((test)->sent.data, (text));                                            \
        test_pipe_clear(test);                                                                     \
    } while (0)

static inline void assert_span(Span actual, const char *expected)
{
    if (!span_equals(actual, span_from_str(expected))) {
        print_error("expected %s\n     got %.*s\n", expected, (int)actual.n, actual.p);
        fail();
    }
}

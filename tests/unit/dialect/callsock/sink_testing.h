/* A sink that keeps what is sent, a line for each message, and fails as it is told. */
#pragma once

#include "base/bytes.h"
#include "base/compiler.h"
#include "dialect/callsock/sink.h"

#include <stddef.h>
#include <string.h>

typedef struct TestSink {
    CallsockSink sink;
    Bytes sent;       /* messages, each with a newline */
    size_t start;     /* of the message begun */
    size_t n_sent;    /* messages */
    int begin_fails;  /* what begin returns, if not 0 */
    int commit_fails; /* what commit returns, if not 0 */
    size_t max_bytes; /* commit refuses longer messages; 0: never */
    size_t n_lent;    /* messages with a part that was lent */
    size_t n_flushed; /* messages that were sent when flush was called last */
} TestSink;

static inline int test_sink_begin(void *context, Bytes **ret_bytes)
{
    TestSink *test = context;

    if (test->begin_fails != 0) {
        return test->begin_fails;
    }
    test->start = test->sent.n;
    *ret_bytes = &test->sent;
    return 0;
}

static inline int test_sink_commit(void *context)
{
    TestSink *test = context;
    int r = test->commit_fails;

    if (r == 0 && test->max_bytes != 0 && test->sent.n - test->start > test->max_bytes) {
        r = 1;
    }
    if (r == 0) {
        r = bytes_append_byte(&test->sent, '\n');
    }
    if (r != 0) {
        test->sent.n = test->start;
    }
    test->n_sent += r == 0 ? 1 : 0;
    return r;
}

static inline int test_sink_commit_lent(void *context, BytesLent lent)
{
    TestSink *test = context;
    size_t at = test->start + lent.at;
    int r = bytes_reserve(&test->sent, lent.span.n);

    if (r != 0) {
        test->sent.n = test->start;
        return r;
    }
    memmove(test->sent.data + at + lent.span.n, test->sent.data + at, test->sent.n - at);
    memcpy(test->sent.data + at, lent.span.p, lent.span.n);
    test->sent.n += lent.span.n;
    r = test_sink_commit(test);
    test->n_lent += r == 0 ? 1 : 0;
    return r;
}

static inline void test_sink_flush(void *context)
{
    TestSink *test = context;

    test->n_flushed = test->n_sent;
}

static inline void test_sink_abort(void *context)
{
    TestSink *test = context;

    test->sent.n = test->start;
}

static inline void test_sink_init(TestSink *test)
{
    *test = (TestSink){.sink = {.begin = test_sink_begin,
                                .commit = test_sink_commit,
                                .abort = test_sink_abort,
                                .context = test}};
    bytes_init(&test->sent, (size_t)1 << 26);
}

/* Takes large parts from where they lie, and may be told to send. */
TW_UNUSED static inline void test_sink_lend(TestSink *test)
{
    test->sink.commit_lent = test_sink_commit_lent;
    test->sink.flush = test_sink_flush;
}

static inline void test_sink_deinit(TestSink *test)
{
    bytes_deinit(&test->sent);
}

/* Forgets what was sent and keeps the storage. */
static inline void test_sink_clear(TestSink *test)
{
    bytes_clear(&test->sent);
    test->n_sent = 0;
}

/* Exactly these messages were sent, each with its newline; then forgets them. */
#define assert_sent(test, text)                                                                    \
    do {                                                                                           \
        assert_int_equal(bytes_append_byte(&(test)->sent, '\0'), 0);                               \
        assert_string_equal((test)->sent.data, (text));                                            \
        test_sink_clear(test);                                                                     \
    } while (0)

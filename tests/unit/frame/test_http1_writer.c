/* What is written, byte for byte; and that our own reader reads it. */
#include "frame/http1_writer.h"

#include "http1_log.h"

#include <errno.h>
#include <stdlib.h>

#include "support/oom_sweep.h"

static void sent(Http1Writer *writer, Events *events)
{
    Span slices[4];

    while (http1_writer_pending(writer) > 0) {
        size_t n = http1_writer_pull(writer, slices, TW_ARRAY_SIZE(slices));
        size_t n_bytes = 0;

        for (size_t i = 0; i < n; i++) {
            events_add_bytes(events, slices[i].p, slices[i].n);
            n_bytes += slices[i].n;
        }
        http1_writer_consumed(writer, n_bytes);
    }
}

static void expect_sent(Http1Writer *writer, const char *expected)
{
    Events events = {NULL, 0, 0};

    events_add(&events, "");
    sent(writer, &events);
    events_expect(&events, span_from_str(expected), "sent");
    events_deinit(&events);
}

static const Http1Field json[] = {{SPAN_INIT("Content-Type"), SPAN_INIT("application/json")}};

static Http1Answer answer(unsigned status, unsigned minor, bool keeps_alive)
{
    return (Http1Answer){.status = status, .minor = minor, .keeps_alive = keeps_alive};
}

static void whole_responses(void **state)
{
    Http1Answer ok = answer(200, 1, true);
    Http1Answer none = answer(204, 1, true);
    Http1Answer old = answer(404, 0, true);
    Http1Answer last = answer(599, 1, false);
    Http1Writer writer;

    (void)state;
    ok.fields = json;
    ok.n_fields = 1;
    http1_writer_init(&writer, 4096);
    assert_int_equal(http1_writer_continue(&writer), 0);
    assert_int_equal(http1_writer_respond(&writer, &ok, SPAN("{}")), 0);
    assert_false(http1_writer_is_last(&writer));
    expect_sent(&writer, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: "
                         "application/json\r\nContent-Length: 2\r\n\r\n{}");
    ok.to_head = true;
    assert_int_equal(http1_writer_respond(&writer, &ok, SPAN("0123456789")), 0);
    expect_sent(&writer, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                         "Content-Length: 10\r\n\r\n");
    assert_int_equal(http1_writer_respond(&writer, &none, SPAN_NULL), 0);
    expect_sent(&writer, "HTTP/1.1 204 No Content\r\n\r\n");
    assert_int_equal(http1_writer_respond(&writer, &old, SPAN_NULL), 0);
    expect_sent(&writer, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n"
                         "Connection: keep-alive\r\n\r\n");
    assert_false(http1_writer_is_last(&writer));
    assert_int_equal(http1_writer_respond(&writer, &last, SPAN("x")), 0);
    expect_sent(&writer, "HTTP/1.1 599 \r\nContent-Length: 1\r\nConnection: close\r\n\r\nx");
    assert_true(http1_writer_is_last(&writer));
    http1_writer_deinit(&writer);
    http1_writer_deinit(&writer);
}

static void streams_end_by_chunks_or_by_closing(void **state)
{
    Http1Answer chunked = answer(200, 1, true);
    Http1Answer plain = answer(200, 0, true);
    Http1Writer writer;
    Bytes *piece = NULL;

    (void)state;
    http1_writer_init(&writer, 4096);
    assert_int_equal(http1_writer_begin(&writer, &chunked), 0);
    assert_true(http1_writer_is_streaming(&writer));
    assert_int_equal(http1_writer_piece(&writer, SPAN("0123456789abcdef")), 0);
    assert_int_equal(http1_writer_piece(&writer, SPAN("")), 0);
    assert_int_equal(http1_writer_piece_begin(&writer, &piece), 0);
    assert_int_equal(bytes_append_span(piece, SPAN("in place!!!")), 0);
    assert_int_equal(http1_writer_piece_commit(&writer), 0);
    /* Nothing in it, or given up: no chunk, which would be the end. */
    assert_int_equal(http1_writer_piece_begin(&writer, &piece), 0);
    assert_int_equal(http1_writer_piece_commit(&writer), 0);
    assert_int_equal(http1_writer_piece_begin(&writer, &piece), 0);
    assert_int_equal(bytes_append_span(piece, SPAN("not this")), 0);
    http1_writer_piece_abort(&writer);
    assert_int_equal(http1_writer_end(&writer), 0);
    assert_false(http1_writer_is_streaming(&writer));
    assert_false(http1_writer_is_last(&writer));
    expect_sent(&writer, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                         "10\r\n0123456789abcdef\r\n0000000B\r\nin place!!!\r\n0\r\n\r\n");
    assert_int_equal(http1_writer_begin(&writer, &plain), 0);
    assert_int_equal(http1_writer_piece(&writer, SPAN("ab")), 0);
    assert_int_equal(http1_writer_piece_begin(&writer, &piece), 0);
    assert_int_equal(bytes_append_span(piece, SPAN("cd")), 0);
    assert_int_equal(http1_writer_piece_commit(&writer), 0);
    assert_int_equal(http1_writer_end(&writer), 0);
    assert_true(http1_writer_is_last(&writer));
    expect_sent(&writer, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabcd");
    http1_writer_deinit(&writer);
}

/* As one chunk, or as it is; short ones and long ones, which are not copied. */
static void a_piece_may_be_taken(void **state)
{
    static const size_t sizes[] = {1, OUTQ_COPY_BYTES, OUTQ_COPY_BYTES + 1, 100000};

    (void)state;
    for (size_t i = 0; i < 2 * TW_ARRAY_SIZE(sizes); i++) {
        size_t n = sizes[i / 2];
        Http1Answer stream = answer(200, i % 2 == 0, true);
        Bytes wanted;
        Bytes body;
        Http1Writer writer;

        bytes_init(&wanted, SIZE_MAX);
        bytes_init(&body, SIZE_MAX);
        for (size_t k = 0; k < n; k++) {
            assert_int_equal(bytes_append_byte(&body, (char)('a' + k % 26)), 0);
        }
        assert_int_equal(
            bytes_append_format(&wanted, "HTTP/1.1 200 OK\r\n%s\r\n\r\n",
                                i % 2 == 0 ? "Transfer-Encoding: chunked" : "Connection: close"),
            0);
        if (i % 2 == 0) {
            assert_int_equal(bytes_append_format(&wanted, "%08zX\r\n", n + 4), 0);
        }
        assert_int_equal(bytes_append_format(&wanted, "<<%.*s>>%s", (int)n, body.data,
                                             i % 2 == 0 ? "\r\n0\r\n\r\n" : ""),
                         0);
        assert_int_equal(bytes_append_byte(&wanted, '\0'), 0);
        http1_writer_init(&writer, 4096);
        assert_int_equal(http1_writer_begin(&writer, &stream), 0);
        if (n > 4000) {
            assert_int_equal(http1_writer_piece_taken(&writer, SPAN("<<"), &body, SPAN(">>")),
                             HTTP1_WRITER_E_FULL);
            assert_int_equal(body.n, n);
            writer.out.max_pending = SIZE_MAX;
        }
        assert_int_equal(http1_writer_piece_taken(&writer, SPAN("<<"), &body, SPAN(">>")), 0);
        assert_int_equal(body.n, 0);
        assert_int_equal(http1_writer_end(&writer), 0);
        expect_sent(&writer, wanted.data);
        http1_writer_deinit(&writer);
        bytes_deinit(&wanted);
        bytes_deinit(&body);
    }
}

static void a_stream_that_answers_head_has_no_body(void **state)
{
    Http1Answer hidden = answer(200, 1, true);
    Http1Writer writer;
    Bytes *piece = NULL;
    Bytes taken;

    (void)state;
    hidden.to_head = true;
    http1_writer_init(&writer, 4096);
    assert_int_equal(http1_writer_begin(&writer, &hidden), 0);
    assert_int_equal(http1_writer_piece(&writer, SPAN("ab")), 0);
    assert_int_equal(http1_writer_piece_begin(&writer, &piece), 0);
    assert_int_equal(bytes_append_span(piece, SPAN("cd")), 0);
    assert_int_equal(http1_writer_piece_commit(&writer), 0);
    assert_int_equal(http1_writer_piece_begin(&writer, &piece), 0);
    assert_int_equal(bytes_append_span(piece, SPAN("<>")), 0);
    assert_int_equal(http1_writer_piece_commit_lent(&writer, (BytesLent){1, SPAN("lent")}), 0);
    bytes_init(&taken, 16);
    assert_int_equal(bytes_append_span(&taken, SPAN("taken")), 0);
    assert_int_equal(http1_writer_piece_taken(&writer, SPAN("<"), &taken, SPAN(">")), 0);
    assert_int_equal(taken.n, 0);
    bytes_deinit(&taken);
    assert_int_equal(http1_writer_end(&writer), 0);
    expect_sent(&writer, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    http1_writer_deinit(&writer);
}

static void nothing_can_be_smuggled_into_a_field(void **state)
{
    static const Http1Field bad[] = {
        {SPAN_INIT("A"), SPAN_INIT("b\r\nSet-Cookie: c")},
        {SPAN_INIT("A"), SPAN_INIT("b\rc")},
        {SPAN_INIT("A"), SPAN_INIT("b\nc")},
        {SPAN_INIT("A"), SPAN_INIT("b\0c")},
        {SPAN_INIT("A\r\nB"), SPAN_INIT("c")},
        {SPAN_INIT("A: b"), SPAN_INIT("c")},
        {SPAN_INIT("A "), SPAN_INIT("c")},
        {SPAN_INIT(""), SPAN_INIT("c")},
        {SPAN_INIT("content-length"), SPAN_INIT("2")},
        {SPAN_INIT("Transfer-encoding"), SPAN_INIT("chunked")},
        {SPAN_INIT("CONNECTION"), SPAN_INIT("close")},
    };
    Span get = SPAN("GET");
    Http1Writer writer;

    (void)state;
    http1_writer_init(&writer, 4096);
    for (size_t i = 0; i < TW_ARRAY_SIZE(bad); i++) {
        Http1Field fields[] = {json[0], bad[i]};
        Http1Answer with = answer(200, 1, true);

        with.fields = fields;
        with.n_fields = 2;
        assert_int_equal(http1_writer_respond(&writer, &with, SPAN("x")), HTTP1_WRITER_E_FIELD);
        assert_int_equal(http1_writer_begin(&writer, &with), HTTP1_WRITER_E_FIELD);
        assert_false(http1_writer_is_streaming(&writer));
        assert_int_equal(http1_writer_request(&writer, get, SPAN("/"), fields, 2, true, SPAN_NULL),
                         HTTP1_WRITER_E_FIELD);
    }
    assert_int_equal(
        http1_writer_request(&writer, get, SPAN("/ HTTP/1.1\r\nA: b"), json, 1, true, SPAN_NULL),
        HTTP1_WRITER_E_FIELD);
    assert_int_equal(http1_writer_request(&writer, get, SPAN(""), json, 1, true, SPAN_NULL),
                     HTTP1_WRITER_E_FIELD);
    assert_int_equal(
        http1_writer_request(&writer, SPAN("GET /x"), SPAN("/"), json, 1, true, SPAN_NULL),
        HTTP1_WRITER_E_FIELD);
    assert_int_equal(http1_writer_pending(&writer), 0);
    http1_writer_deinit(&writer);
}

static void requests(void **state)
{
    static const Http1Field host[] = {{SPAN_INIT("Host"), SPAN_INIT("a")}};
    Http1Writer writer;

    (void)state;
    http1_writer_init(&writer, 4096);
    assert_int_equal(
        http1_writer_request(&writer, SPAN("GET"), SPAN("/x?y"), host, 1, true, SPAN_NULL), 0);
    expect_sent(&writer, "GET /x?y HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_int_equal(
        http1_writer_request(&writer, SPAN("POST"), SPAN("/"), host, 1, true, SPAN_NULL), 0);
    expect_sent(&writer, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
    assert_int_equal(
        http1_writer_request(&writer, SPAN("POST"), SPAN("/"), host, 1, false, SPAN("{}")), 0);
    expect_sent(&writer, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n"
                         "Connection: close\r\n\r\n{}");
    assert_true(http1_writer_is_last(&writer));
    http1_writer_deinit(&writer);
}

static void a_full_writer_queues_nothing(void **state)
{
    Http1Answer ok = answer(200, 1, true);
    Http1Writer writer;
    Bytes *piece = NULL;
    Bytes body;
    size_t n_head = sizeof("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n") - 1;
    char large[5000] = {0};

    (void)state;
    bytes_init(&body, 10000);
    assert_int_equal(bytes_append(&body, large, sizeof(large)), 0);
    http1_writer_init(&writer, 10);
    assert_int_equal(http1_writer_respond(&writer, &ok, SPAN_NULL), HTTP1_WRITER_E_FULL);
    assert_int_equal(http1_writer_continue(&writer), HTTP1_WRITER_E_FULL);
    http1_writer_deinit(&writer);
    http1_writer_init(&writer, n_head + 10);
    assert_int_equal(http1_writer_respond(&writer, &ok, SPAN("0123456789012345678901234567890")),
                     HTTP1_WRITER_E_FULL);
    assert_int_equal(http1_writer_respond_taken(&writer, &ok, &body), HTTP1_WRITER_E_FULL);
    assert_int_equal(body.n, 5000);
    assert_int_equal(http1_writer_pending(&writer), 0);
    assert_int_equal(http1_writer_begin(&writer, &ok), 0);
    assert_int_equal(http1_writer_piece(&writer, SPAN("012345")), HTTP1_WRITER_E_FULL);
    assert_int_equal(http1_writer_piece_begin(&writer, &piece), 0);
    assert_int_equal(bytes_append_span(piece, SPAN("x")), BYTES_E_FULL);
    http1_writer_piece_abort(&writer);
    assert_int_equal(http1_writer_piece(&writer, SPAN("01234")), 0);
    assert_int_equal(http1_writer_end(&writer), HTTP1_WRITER_E_FULL);
    assert_true(http1_writer_is_streaming(&writer));
    expect_sent(&writer, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n");
    assert_int_equal(http1_writer_end(&writer), 0);
    http1_writer_deinit(&writer);
    bytes_deinit(&body);
}

/* Large bodies leave from where they lie. */
static void large_bodies_are_lent_or_taken(void **state)
{
    static char large[200000];
    Http1Answer ok = answer(200, 1, true);
    Http1Writer writer;
    Span slices[8];
    Bytes *piece = NULL;
    Bytes body;

    (void)state;
    memset(large, 'x', sizeof(large));
    http1_writer_init(&writer, 1000000);
    assert_int_equal(http1_writer_respond_lent(&writer, &ok, span_make(large, sizeof(large))), 0);
    assert_int_equal(http1_writer_pull(&writer, slices, 8), 3);
    assert_ptr_equal(slices[1].p, large);
    assert_int_equal(slices[1].n, sizeof(large) - 1);
    assert_true(span_equals(slices[0], SPAN("HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n")));
    http1_writer_consumed(&writer, slices[0].n + 10);
    /* What is not sent when the lender wants it back is copied. */
    assert_int_equal(http1_writer_own(&writer), 0);
    assert_int_equal(http1_writer_pull(&writer, slices, 8), 2);
    assert_true(slices[0].p != large + 10);
    assert_int_equal(slices[0].n + slices[1].n, sizeof(large) - 10);
    http1_writer_consumed(&writer, sizeof(large) - 10);
    bytes_init(&body, sizeof(large));
    assert_int_equal(bytes_append(&body, large, sizeof(large)), 0);
    {
        const char *data = body.data;

        assert_int_equal(http1_writer_respond_taken(&writer, &ok, &body), 0);
        assert_int_equal(http1_writer_pull(&writer, slices, 8), 2);
        assert_ptr_equal(slices[1].p, data);
        http1_writer_consumed(&writer, slices[0].n + slices[1].n);
    }
    assert_int_equal(http1_writer_begin(&writer, &ok), 0);
    assert_int_equal(http1_writer_piece_begin(&writer, &piece), 0);
    assert_int_equal(bytes_append_span(piece, SPAN("<>")), 0);
    assert_int_equal(
        http1_writer_piece_commit_lent(&writer, (BytesLent){1, span_make(large, sizeof(large))}),
        0);
    assert_int_equal(http1_writer_pull(&writer, slices, 8), 3);
    assert_true(span_ends_with(slices[0], SPAN("\r\n\r\n00030D42\r\n<")));
    assert_ptr_equal(slices[1].p, large);
    assert_true(span_equals(slices[2], SPAN(">\r\n")));
    http1_writer_consumed(&writer, slices[0].n + slices[1].n + slices[2].n);
    bytes_deinit(&body);
    http1_writer_deinit(&writer);
}

static void small_bodies_may_be_lent_or_taken_too(void **state)
{
    static char value[3000];
    static char large[6000];
    Http1Field field = {SPAN("Content-Type"), SPAN("application/json")};
    Http1Answer ok = answer(200, 0, false);
    Span slices[8];
    Http1Writer writer;
    Bytes *piece = NULL;
    Bytes body;

    (void)state;
    bytes_init(&body, 10000);
    http1_writer_init(&writer, 100000);
    assert_int_equal(bytes_append_span(&body, SPAN("taken")), 0);
    assert_int_equal(http1_writer_respond_taken(&writer, &ok, &body), 0);
    assert_int_equal(body.n, 0);
    assert_int_equal(http1_writer_respond_lent(&writer, &ok, SPAN("lent")), 0);
    expect_sent(&writer, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\ntaken"
                         "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nlent");
    assert_int_equal(http1_writer_begin(&writer, &ok), 0);
    assert_int_equal(http1_writer_piece_begin(&writer, &piece), 0);
    assert_int_equal(bytes_append_span(piece, SPAN("<>")), 0);
    assert_int_equal(http1_writer_piece_commit_lent(&writer, (BytesLent){1, SPAN("lent")}), 0);
    assert_int_equal(http1_writer_end(&writer), 0);
    expect_sent(&writer, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n<lent>");
    /* A long head before a large body. */
    memset(value, 'v', sizeof(value));
    memset(large, 'x', sizeof(large));
    field.value = span_make(value, sizeof(value));
    ok.fields = &field;
    ok.n_fields = 1;
    assert_int_equal(bytes_append(&body, large, sizeof(large)), 0);
    assert_int_equal(http1_writer_respond_taken(&writer, &ok, &body), 0);
    assert_int_equal(http1_writer_pull(&writer, slices, 8), 2);
    assert_true(slices[0].n > sizeof(value) && span_starts_with(slices[0], SPAN("HTTP/1.1 200")));
    assert_true(span_equals(slices[1], span_make(large, sizeof(large))));
    http1_writer_consumed(&writer, slices[0].n + slices[1].n);
    http1_writer_deinit(&writer);
    bytes_deinit(&body);
}

static void a_full_writer_refuses_requests(void **state)
{
    Http1Writer writer;

    (void)state;
    for (size_t max = 0; max < sizeof("PUT / HTTP/1.1\r\nContent-Length: 1\r\n\r\nx") - 1; max++) {
        http1_writer_init(&writer, max);
        assert_int_equal(
            http1_writer_request(&writer, SPAN("PUT"), SPAN("/"), NULL, 0, true, SPAN("x")),
            HTTP1_WRITER_E_FULL);
        assert_int_equal(http1_writer_pending(&writer), 0);
        http1_writer_deinit(&writer);
    }
}

static void what_is_written_is_read(void **state)
{
    static const Http1Field fields[] = {{SPAN_INIT("A"), SPAN_INIT("")},
                                        {SPAN_INIT("X-Y"), SPAN_INIT("a, \"b\"\tc: d")}};
    Http1Answer ok = answer(200, 1, true);
    Http1Setup setup = {HTTP1_RESPONSES, HTTP1_LIMITS_DEFAULT(1000), false};
    Events wire = {NULL, 0, 0};
    Http1Writer writer;

    (void)state;
    ok.fields = fields;
    ok.n_fields = 2;
    http1_writer_init(&writer, 100000);
    assert_int_equal(http1_writer_respond(&writer, &ok, SPAN("{}")), 0);
    assert_int_equal(http1_writer_begin(&writer, &ok), 0);
    assert_int_equal(http1_writer_piece(&writer, SPAN("one ")), 0);
    assert_int_equal(http1_writer_piece(&writer, SPAN("two")), 0);
    assert_int_equal(http1_writer_end(&writer), 0);
    ok.minor = 0;
    assert_int_equal(http1_writer_begin(&writer, &ok), 0);
    assert_int_equal(http1_writer_piece(&writer, SPAN("three")), 0);
    assert_int_equal(http1_writer_end(&writer), 0);
    sent(&writer, &wire);
    http1_log_check(setup, span_make(wire.text, wire.n),
                    SPAN("RES200(OK) 1.1 n=2\nB({})END RES200(OK) 1.1 chunked\nB(one two)END "
                         "RES200(OK) 1.1 until-close close\nB(three)END CLOSED"),
                    "round trip");
    events_deinit(&wire);
    http1_writer_deinit(&writer);
}

static int write_scenario(void *context)
{
    static char large[50000];
    Http1Answer ok = answer(404, 1, true);
    Http1Writer writer;
    Bytes *piece = NULL;
    Bytes body;
    int r;

    (void)context;
    ok.fields = json;
    ok.n_fields = 1;
    bytes_init(&body, sizeof(large));
    http1_writer_init(&writer, 1000000);
    r = bytes_append(&body, large, 10000);
    r = r != 0 ? r : http1_writer_respond(&writer, &ok, SPAN("x"));
    r = r != 0 ? r : http1_writer_respond_lent(&writer, &ok, span_make(large, sizeof(large)));
    r = r != 0 ? r : http1_writer_respond_taken(&writer, &ok, &body);
    r = r != 0 ? r : http1_writer_begin(&writer, &ok);
    if (r == 0) {
        r = http1_writer_piece(&writer, span_make(large, 5000));
        r = r != 0 ? r : http1_writer_piece_begin(&writer, &piece);
        r = r != 0 ? r : bytes_append(piece, large, 5000);
        if (r == 0) {
            r = http1_writer_piece_commit(&writer);
        } else {
            http1_writer_piece_abort(&writer);
        }
        r = r != 0 ? r : http1_writer_end(&writer);
        r = r != 0 ? r : http1_writer_own(&writer);
    }
    if (r == 0) {
        assert_true(http1_writer_pending(&writer) > 70000);
    }
    http1_writer_deinit(&writer);
    bytes_deinit(&body);
    return r;
}

static void writer_survives_every_failing_allocation(void **state)
{
    (void)state;
    test_oom_sweep(write_scenario, NULL);
}

static void an_answer_follows_the_request(void **state)
{
    Http1Head head = {.method = HTTP1_METHOD_HEAD, .minor = 1, .keeps_alive = true};
    Http1Answer to = http1_answer_to(&head, 405);

    (void)state;
    assert_true(to.to_head && to.keeps_alive && to.minor == 1 && to.status == 405);
    head = (Http1Head){.method = HTTP1_METHOD_GET};
    to = http1_answer_to(&head, 200);
    assert_true(!to.to_head && !to.keeps_alive && to.minor == 0);
    /* Every status that a fault asks for has its words. */
    for (int i = HTTP1_FAULT_NONE + 1; i < HTTP1_N_FAULTS; i++) {
        assert_true(strlen(http1_status_text(http1_fault_status((Http1Fault)i))) > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_responses),
        cmocka_unit_test(streams_end_by_chunks_or_by_closing),
        cmocka_unit_test(a_piece_may_be_taken),
        cmocka_unit_test(a_stream_that_answers_head_has_no_body),
        cmocka_unit_test(nothing_can_be_smuggled_into_a_field),
        cmocka_unit_test(requests),
        cmocka_unit_test(a_full_writer_queues_nothing),
        cmocka_unit_test(large_bodies_are_lent_or_taken),
        cmocka_unit_test(small_bodies_may_be_lent_or_taken_too),
        cmocka_unit_test(a_full_writer_refuses_requests),
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(an_answer_follows_the_request),
        cmocka_unit_test(writer_survives_every_failing_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

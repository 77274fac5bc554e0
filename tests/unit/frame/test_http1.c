/* Requests that are accepted, and the reader's manners. What it refuses: test_http1_hostile.c. */
#include "http1_log.h"

#include <errno.h>
#include <stdlib.h>

#include "support/alloc_testing.h"
#include "support/oom_sweep.h"

static const Http1Setup requests = {
    HTTP1_REQUESTS,
    {HTTP1_MAX_HEAD_BYTES, HTTP1_MAX_TARGET_BYTES, HTTP1_MAX_FIELDS, 1024},
    false,
};

typedef struct Case {
    const char *name;
    Span input;
    Span expected;
} Case;

static const Case cases[] = {
    {"nothing", TEXT(""), TEXT("OPEN")},
    {"no fields but Host", TEXT("GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
     TEXT("REQ(GET)(/)-()@(a) 1.1\nEND OPEN")},
    {"body by length",
     TEXT("POST /mcp?x=1 HTTP/1.1\r\nHost: a:1\r\nContent-Length: 5\r\n\r\nhello"),
     TEXT("REQ(POST)(/mcp)?(x=1)@(a:1) 1.1 n=5\nB(hello)END OPEN")},
    {"length zero", TEXT("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"),
     TEXT("REQ(POST)(/)-()@(a) 1.1 n=0\nEND OPEN")},
    {"no length is no body", TEXT("POST / HTTP/1.1\r\nHost: a\r\n\r\n"),
     TEXT("REQ(POST)(/)-()@(a) 1.1\nEND OPEN")},
    {"chunks",
     TEXT("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
          "5\r\nhello\r\n00000000000006\r\n world\r\nA\r\n\r\n\r\n0\r\n\r\n!\r\n0\r\n\r\n"),
     TEXT("REQ(POST)(/)-()@(a) 1.1 chunked\nB(hello world\r\n\r\n0\r\n\r\n!)END OPEN")},
    {"chunked without chunks",
     TEXT("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: CHUNKED\r\n\r\n0\r\n\r\n"),
     TEXT("REQ(POST)(/)-()@(a) 1.1 chunked\nEND OPEN")},
    {"extensions and trailers are dropped",
     TEXT("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
          "1;a=b;c=\"d\"\r\nx\r\n0;e\r\nX-Sum: 1\r\nY: \r\n\r\n"),
     TEXT("REQ(POST)(/)-()@(a) 1.1 chunked\nB(x)END OPEN")},
    {"pipelined, and one behind an empty line",
     TEXT("POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx"
          "\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n"
          "POST /3 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\ny\r\n0\r\n\r\n"
          "GET /4 HTTP/1.1\r\nHost: a\r\n\r\n"),
     TEXT("REQ(POST)(/1)-()@(a) 1.1 n=1\nB(x)END REQ(GET)(/2)-()@(a) 1.1\nEND "
          "REQ(POST)(/3)-()@(a) 1.1 chunked\nB(y)END REQ(GET)(/4)-()@(a) 1.1\nEND OPEN")},
    {"nothing is read behind the last one",
     TEXT("GET /1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nGET /2 HTTP/1.1\r\n\r\n"),
     TEXT("REQ(GET)(/1)-()@(a) 1.1 close\nEND CLOSED")},
    {"close among others, in any case",
     TEXT("GET / HTTP/1.1\r\nhOST: a\r\nconnection: x\r\nCONNECTION: te, Close ,y\r\n\r\n"),
     TEXT("REQ(GET)(/)-()@(a) 1.1 close\nEND CLOSED")},
    {"close is a word", TEXT("GET / HTTP/1.1\r\nHost: a\r\nConnection: closed\r\n\r\n"),
     TEXT("REQ(GET)(/)-()@(a) 1.1\nEND OPEN")},
    {"1.0 closes", TEXT("GET / HTTP/1.0\r\n\r\n"), TEXT("REQ(GET)(/)-()@() 1.0 close\nEND CLOSED")},
    {"1.0 stays if asked", TEXT("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"),
     TEXT("REQ(GET)(/)-()@() 1.0\nEND OPEN")},
    {"absolute target", TEXT("GET http://Ex.org:80/a?b?c HTTP/1.1\r\nHost: ex.ORG:80\r\n\r\n"),
     TEXT("REQ(GET)(/a)?(b?c)@(Ex.org:80) 1.1\nEND OPEN")},
    {"absolute target without path",
     TEXT("GET https://[::1]:9?q HTTP/1.1\r\nHost: [::1]:9\r\n\r\n"),
     TEXT("REQ(GET)(/)?(q)@([::1]:9) 1.1\nEND OPEN")},
    {"the server as such", TEXT("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"),
     TEXT("REQ(OPTIONS)(*)-()@(a) 1.1\nEND OPEN")},
    {"an empty query, an empty host", TEXT("HEAD /? HTTP/1.1\r\nHost:\r\n\r\n"),
     TEXT("REQ(HEAD)(/)?()@() 1.1\nEND OPEN")},
    {"expects 100-continue",
     TEXT("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\nx"),
     TEXT("REQ(POST)(/)-()@(a) 1.1 n=1 expects\nB(x)END OPEN")},
    {"expects nothing without a body",
     TEXT("GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n"),
     TEXT("REQ(GET)(/)-()@(a) 1.1\nEND OPEN")},
    {"an upgrade is not taken",
     TEXT("GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n"
          "GET /2 HTTP/1.1\r\nHost: a\r\n\r\n"),
     TEXT("REQ(GET)(/)-()@(a) 1.1 upgrade\nEND REQ(GET)(/2)-()@(a) 1.1\nEND OPEN")},
    {"nor with a body",
     TEXT("POST / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
          "Content-Length: 2\r\n\r\nxy"),
     TEXT("REQ(POST)(/)-()@(a) 1.1 n=2 upgrade\nB(xy)END OPEN")},
    {"cut in the head", TEXT("GET / HTTP/1.1\r\nHost: a\r\n"), TEXT("CUT")},
    {"cut in the body", TEXT("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhel"),
     TEXT("REQ(POST)(/)-()@(a) 1.1 n=5\nB(hel)CUT")},
    {"cut between chunks",
     TEXT("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n"),
     TEXT("REQ(POST)(/)-()@(a) 1.1 chunked\nB(x)CUT")},
    {"cut before the last line",
     TEXT("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"),
     TEXT("REQ(POST)(/)-()@(a) 1.1 chunked\nB(x)CUT")},
};

static void cases_are_the_same_whole_bytewise_and_at_every_split(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        http1_log_check(requests, cases[i].input, cases[i].expected, cases[i].name);
    }
}

static int feed(Http1Reader *reader, Span bytes)
{
    return http1_reader_feed(reader, bytes.p, bytes.n);
}

static Http1Event expect_event(Http1Reader *reader, Http1EventKind kind)
{
    Http1Event event;

    assert_int_equal(http1_reader_next(reader, &event), 0);
    assert_int_equal(event.kind, kind);
    return event;
}

static void fields_are_found_without_case_and_values_without_blanks(void **state)
{
    Http1Reader reader;
    const Http1Head *head;
    Span value = SPAN_NULL;

    (void)state;
    http1_reader_init(&reader, HTTP1_REQUESTS, HTTP1_LIMITS_DEFAULT(10));
    assert_int_equal(feed(&reader, SPAN("GET / HTTP/1.1\r\nHost:a\r\nMcp-Name: \t a  b\t \r\n"
                                        "X:\r\nmcp-name: \r\nCaf: \xC3\xA9\r\n\r\n")),
                     0);
    head = expect_event(&reader, HTTP1_EVENT_HEAD).head;
    assert_int_equal(head->n_fields, 5);
    assert_int_equal(http1_head_find(head, SPAN("MCP-NAME"), &value), 2);
    assert_true(span_equals(value, SPAN("a  b")));
    assert_int_equal(http1_head_find(head, SPAN("x"), &value), 1);
    assert_int_equal(value.n, 0);
    assert_int_equal(http1_head_find(head, SPAN("caf"), &value), 1);
    assert_true(span_equals(value, SPAN("\xC3\xA9")));
    value = SPAN("as before");
    assert_int_equal(http1_head_find(head, SPAN("Mcp"), &value), 0);
    assert_int_equal(http1_head_find(head, SPAN("Origin"), &value), 0);
    /* Like one that is there in length and at both ends. */
    assert_int_equal(http1_head_find(head, SPAN("mcp-nbme"), &value), 0);
    assert_int_equal(http1_head_find(head, SPAN("hast"), &value), 0);
    assert_int_equal(http1_head_find(head, SPAN(""), &value), 0);
    assert_true(span_equals(value, SPAN("as before")));
    assert_true(span_equals(head->fields[3].name, SPAN("mcp-name")));
    http1_reader_deinit(&reader);
    http1_reader_deinit(&reader);
}

static void methods_are_told_apart(void **state)
{
    static const struct {
        const char *name;
        Http1Method method;
    } methods[] = {
        {"GET", HTTP1_METHOD_GET},        {"HEAD", HTTP1_METHOD_HEAD},
        {"POST", HTTP1_METHOD_POST},      {"PUT", HTTP1_METHOD_PUT},
        {"PATCH", HTTP1_METHOD_PATCH},    {"DELETE", HTTP1_METHOD_DELETE},
        {"TRACE", HTTP1_METHOD_OTHER},    {"OPTIONS", HTTP1_METHOD_OPTIONS},
        {"PROPFIND", HTTP1_METHOD_OTHER},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(methods); i++) {
        Http1Reader reader;

        http1_reader_init(&reader, HTTP1_REQUESTS, HTTP1_LIMITS_DEFAULT(10));
        assert_int_equal(feed(&reader, span_from_str(methods[i].name)), 0);
        assert_int_equal(feed(&reader, SPAN(" / HTTP/1.1\r\nHost: a\r\n\r\n")), 0);
        assert_int_equal(expect_event(&reader, HTTP1_EVENT_HEAD).head->method, methods[i].method);
        http1_reader_deinit(&reader);
    }
}

static void a_head_stays_readable_until_release(void **state)
{
    static char filler[60000];
    Http1Reader reader;
    Http1Event event;
    const Http1Head *head;

    (void)state;
    http1_reader_init(&reader, HTTP1_REQUESTS, HTTP1_LIMITS_DEFAULT(200000));
    assert_int_equal(
        feed(&reader, SPAN("POST /p HTTP/1.1\r\nHost: here\r\nContent-Length: 120000\r\n\r\n")), 0);
    head = expect_event(&reader, HTTP1_EVENT_HEAD).head;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(http1_reader_next(&reader, &event), HTTP1_E_AGAIN);
        assert_int_equal(http1_reader_feed(&reader, filler, sizeof(filler)), 0);
        assert_int_equal(expect_event(&reader, HTTP1_EVENT_BODY).body.n, sizeof(filler));
    }
    assert_ptr_equal(expect_event(&reader, HTTP1_EVENT_END).head, head);
    assert_true(span_equals(head->path, SPAN("/p")));
    assert_true(span_equals(head->authority, SPAN("here")));
    http1_reader_deinit(&reader);
}

static void the_next_request_waits_until_the_last_one_is_released(void **state)
{
    Span two = SPAN("GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n");
    Http1Reader reader;
    Http1Event event;

    (void)state;
    http1_reader_init(&reader, HTTP1_REQUESTS, HTTP1_LIMITS_DEFAULT(10));
    assert_false(http1_reader_is_inside(&reader));
    assert_int_equal(feed(&reader, two), 0);
    assert_true(http1_reader_is_inside(&reader));
    event = expect_event(&reader, HTTP1_EVENT_HEAD);
    (void)expect_event(&reader, HTTP1_EVENT_END);
    assert_int_equal(http1_reader_next(&reader, &event), HTTP1_E_HELD);
    assert_int_equal(http1_reader_next(&reader, &event), HTTP1_E_HELD);
    assert_false(http1_reader_is_inside(&reader));
    assert_int_equal(http1_reader_finish(&reader), 0);
    assert_true(span_equals(reader.head.path, SPAN("/1")));
    http1_reader_release(&reader);
    assert_true(span_equals(expect_event(&reader, HTTP1_EVENT_HEAD).head->path, SPAN("/2")));
    http1_reader_deinit(&reader);
}

static void the_limit_of_a_body_can_be_set_for_each_request(void **state)
{
    Span post = SPAN("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
    Span chunked = SPAN("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                        "2\r\nab\r\n1\r\nc\r\n0\r\n\r\n");
    Http1Reader reader;
    Http1Event event;

    (void)state;
    http1_reader_init(&reader, HTTP1_REQUESTS, HTTP1_LIMITS_DEFAULT(2));
    assert_int_equal(feed(&reader, post), 0);
    (void)expect_event(&reader, HTTP1_EVENT_HEAD);
    http1_reader_limit_body(&reader, 3);
    assert_true(span_equals(expect_event(&reader, HTTP1_EVENT_BODY).body, SPAN("abc")));
    (void)expect_event(&reader, HTTP1_EVENT_END);
    http1_reader_release(&reader);
    /* The next one has the usual limit again. */
    assert_int_equal(feed(&reader, chunked), 0);
    (void)expect_event(&reader, HTTP1_EVENT_HEAD);
    assert_true(span_equals(expect_event(&reader, HTTP1_EVENT_BODY).body, SPAN("ab")));
    assert_int_equal(http1_reader_next(&reader, &event), HTTP1_E_REFUSED);
    assert_int_equal(http1_reader_fault(&reader), HTTP1_FAULT_BODY_TOO_LARGE);
    http1_reader_deinit(&reader);
}

static void a_refusal_is_final(void **state)
{
    Http1Reader reader;
    Http1Event event;
    char *room;
    size_t n_room;

    (void)state;
    http1_reader_init(&reader, HTTP1_REQUESTS, HTTP1_LIMITS_DEFAULT(2));
    assert_int_equal(feed(&reader, SPAN("GET / HTTP/1.1\r\nHost: a\n")), 0);
    assert_int_equal(http1_reader_next(&reader, &event), HTTP1_E_REFUSED);
    assert_int_equal(http1_reader_next(&reader, &event), HTTP1_E_REFUSED);
    assert_int_equal(feed(&reader, SPAN("\r\n")), HTTP1_E_REFUSED);
    assert_int_equal(http1_reader_reserve(&reader, 9, &room, &n_room), HTTP1_E_REFUSED);
    assert_int_equal(http1_reader_finish(&reader), HTTP1_E_REFUSED);
    http1_reader_release(&reader);
    assert_int_equal(http1_reader_next(&reader, &event), HTTP1_E_REFUSED);
    http1_reader_deinit(&reader);
}

/* Body and head limits at equality, and one below. */
static void limits_pass_at_equality(void **state)
{
    Span input = SPAN("GET /123456789012345678901234567890123456789012345678901234567890123456789"
                      " HTTP/1.1\r\nHost: a\r\nB: c\r\n\r\n");
    Span expected =
        SPAN("REQ(GET)(/123456789012345678901234567890123456789012345678901234567890123456789)"
             "-()@(a) 1.1\nEND OPEN");
    Http1Setup setup = {HTTP1_REQUESTS, {input.n, 70, 2, 0}, false};

    (void)state;
    http1_log_check(setup, input, expected, "equality");
    setup.limits = (Http1Limits){input.n - 1, 70, 2, 0};
    http1_log_check(setup, input, SPAN("REFUSED 431 the head or the trailers are too large"),
                    "head bytes");
    setup.limits = (Http1Limits){input.n, 69, 2, 0};
    http1_log_check(setup, input, SPAN("REFUSED 414 the request target is too long"), "target");
    setup.limits = (Http1Limits){input.n, 2, 2, 0};
    http1_log_check(setup, input, SPAN("REFUSED 414 the request target is too long"), "line");
    setup.limits = (Http1Limits){40, 70, 2, 0};
    http1_log_check(setup, input, SPAN("REFUSED 414 the request target is too long"), "both");
    setup.limits = (Http1Limits){input.n, 70, 1, 0};
    http1_log_check(setup, input, SPAN("REFUSED 431 too many header fields"), "fields");
}

static void a_head_bomb_costs_no_more_than_the_limit(void **state)
{
    static char zeros[64 * 1024];
    Http1Reader reader;
    Http1Event event;
    int r = 0;

    (void)state;
    memset(zeros, 'x', sizeof(zeros));
    http1_reader_init(&reader, HTTP1_REQUESTS, HTTP1_LIMITS_DEFAULT(10));
    assert_int_equal(feed(&reader, SPAN("GET / HTTP/1.1\r\nHost: a\r\nX: ")), 0);
    for (size_t i = 0; i < 1000 && r != HTTP1_E_REFUSED; i++) {
        assert_int_equal(http1_reader_feed(&reader, zeros, 1000), 0);
        r = http1_reader_next(&reader, &event);
        assert_true(i <= HTTP1_MAX_HEAD_BYTES / 1000);
    }
    assert_int_equal(http1_reader_fault(&reader), HTTP1_FAULT_HEAD_TOO_LARGE);
    assert_true(reader.in.cap <= 4 * HTTP1_MAX_HEAD_BYTES);
    assert_true(reader.n_scanned <= HTTP1_MAX_HEAD_BYTES + 1000);
    http1_reader_deinit(&reader);
}

/* A head that fills the limit without its end cannot end within it. */
static void what_cannot_fit_any_more_is_refused_at_once(void **state)
{
    Span start = SPAN("GET / HTTP/1.1\r\nHost: a\r\nA: b\r\n\r");
    Http1Limits limits = {start.n, 100, 10, 0};
    Http1Reader reader;
    Http1Event event;

    (void)state;
    http1_reader_init(&reader, HTTP1_REQUESTS, limits);
    assert_int_equal(http1_reader_feed(&reader, start.p, start.n - 1), 0);
    assert_int_equal(http1_reader_next(&reader, &event), HTTP1_E_AGAIN);
    assert_int_equal(http1_reader_feed(&reader, start.p + start.n - 1, 1), 0);
    assert_int_equal(http1_reader_next(&reader, &event), HTTP1_E_REFUSED);
    assert_int_equal(http1_reader_fault(&reader), HTTP1_FAULT_HEAD_TOO_LARGE);
    http1_reader_deinit(&reader);
}

static void a_reader_that_is_not_drained_becomes_full(void **state)
{
    static char body[64 * 1024];
    Http1Reader reader;
    Http1Event event;
    char *room;
    size_t n_room;
    int r = 0;

    (void)state;
    http1_reader_init(&reader, HTTP1_REQUESTS, HTTP1_LIMITS_DEFAULT(UINT64_MAX));
    assert_int_equal(
        feed(&reader, SPAN("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n")), 0);
    for (size_t i = 0; i < 100 && r == 0; i++) {
        r = http1_reader_feed(&reader, body, sizeof(body));
    }
    assert_int_equal(r, HTTP1_E_FULL);
    assert_int_equal(http1_reader_reserve(&reader, sizeof(body), &room, &n_room), HTTP1_E_FULL);
    (void)expect_event(&reader, HTTP1_EVENT_HEAD);
    assert_true(expect_event(&reader, HTTP1_EVENT_BODY).body.n >= INQ_AHEAD_BYTES);
    assert_int_equal(http1_reader_next(&reader, &event), HTTP1_E_AGAIN);
    assert_int_equal(http1_reader_feed(&reader, body, sizeof(body)), 0);
    http1_reader_deinit(&reader);
}

static void steady_traffic_allocates_nothing_and_trim_gives_back(void **state)
{
    Span request = SPAN("POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:7410\r\nContent-Type: "
                        "application/json\r\nContent-Length: 2\r\n\r\n{}");
    Http1Reader reader;
    Http1Event event;

    (void)state;
    http1_reader_init(&reader, HTTP1_REQUESTS, HTTP1_LIMITS_DEFAULT(1024));
    for (size_t round = 0; round < 50; round++) {
        if (round == 5) {
            alloc_testing_reset(ALLOC_TESTING_NEVER);
        }
        assert_int_equal(feed(&reader, request), 0);
        (void)expect_event(&reader, HTTP1_EVENT_HEAD);
        (void)expect_event(&reader, HTTP1_EVENT_BODY);
        (void)expect_event(&reader, HTTP1_EVENT_END);
        http1_reader_release(&reader);
        assert_int_equal(http1_reader_next(&reader, &event), HTTP1_E_AGAIN);
    }
    assert_int_equal(alloc_testing()->n_calls, 0);
    http1_reader_trim(&reader);
    assert_int_equal(reader.head_bytes.cap, 0);
    assert_null(reader.fields);
    assert_int_equal(feed(&reader, request), 0);
    (void)expect_event(&reader, HTTP1_EVENT_HEAD);
    /* What is borrowed stays. */
    http1_reader_trim(&reader);
    assert_true(span_equals(reader.head.path, SPAN("/mcp")));
    http1_reader_deinit(&reader);
}

static void every_fault_has_a_status_and_words(void **state)
{
    (void)state;
    assert_int_equal(http1_fault_status(HTTP1_FAULT_NONE), 0);
    for (int i = HTTP1_FAULT_NONE + 1; i < HTTP1_N_FAULTS; i++) {
        assert_true(http1_fault_status((Http1Fault)i) >= 400);
        assert_true(http1_fault_status((Http1Fault)i) <= 505);
        assert_non_null(http1_fault_text((Http1Fault)i));
    }
}

/* What failed is tried again when there is memory: nothing may be lost by a failure. */
static int read_scenario(void *context)
{
    Span input = SPAN("POST /p HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                      "3\r\nabc\r\n0\r\n\r\n");
    bool in_place = *(bool *)context;
    Http1Reader reader;
    Http1Event event;
    int first = 0;
    int r;

    http1_reader_init(&reader, HTTP1_REQUESTS, HTTP1_LIMITS_DEFAULT(1024));
    for (size_t i = 0; i < input.n; i++) {
        r = http1_log_put(&reader, input.p + i, 1, in_place);
        if (r != 0) {
            first = r;
            alloc_testing()->fail_at = ALLOC_TESTING_NEVER;
            r = http1_log_put(&reader, input.p + i, 1, in_place);
        }
        assert_int_equal(r, 0);
    }
    r = http1_reader_next(&reader, &event);
    if (r != 0) {
        first = r;
        alloc_testing()->fail_at = ALLOC_TESTING_NEVER;
        r = http1_reader_next(&reader, &event);
    }
    assert_int_equal(r, 0);
    assert_true(span_equals(event.head->path, SPAN("/p")));
    assert_int_equal(event.head->n_fields, 2);
    assert_true(span_equals(expect_event(&reader, HTTP1_EVENT_BODY).body, SPAN("abc")));
    (void)expect_event(&reader, HTTP1_EVENT_END);
    http1_reader_deinit(&reader);
    return first;
}

static void reader_survives_every_failing_allocation(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        bool in_place = i == 1;

        test_oom_sweep(read_scenario, &in_place);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases_are_the_same_whole_bytewise_and_at_every_split),
        cmocka_unit_test(fields_are_found_without_case_and_values_without_blanks),
        cmocka_unit_test(methods_are_told_apart),
        cmocka_unit_test(a_head_stays_readable_until_release),
        cmocka_unit_test(the_next_request_waits_until_the_last_one_is_released),
        cmocka_unit_test(the_limit_of_a_body_can_be_set_for_each_request),
        cmocka_unit_test(a_refusal_is_final),
        cmocka_unit_test(limits_pass_at_equality),
        cmocka_unit_test(a_head_bomb_costs_no_more_than_the_limit),
        cmocka_unit_test(what_cannot_fit_any_more_is_refused_at_once),
        cmocka_unit_test(a_reader_that_is_not_drained_becomes_full),
        cmocka_unit_test(steady_traffic_allocates_nothing_and_trim_gives_back),
        cmocka_unit_test(every_fault_has_a_status_and_words),
        cmocka_unit_test(reader_survives_every_failing_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

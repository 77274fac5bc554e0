/* What is written, byte for byte; and that our own reader reads it. */
#include "frame/sse.h"

#include "support/cmocka.h"

#include <errno.h>
#include <string.h>

#include "support/oom_sweep.h"

#include "events.h"

static void expect(Bytes *out, const char *expected)
{
    assert_int_equal(out->n, strlen(expected));
    assert_memory_equal(out->data, expected, out->n);
    bytes_clear(out);
}

static int write_event(Bytes *out, Span type, Span id, Span data)
{
    SseEvent event = {.type = type, .id = id, .data = data};

    return sse_write_event(out, &event);
}

static void events_comments_and_retry(void **state)
{
    Bytes out;

    (void)state;
    bytes_init(&out, 1000);
    assert_int_equal(write_event(&out, SPAN_NULL, SPAN_NULL, SPAN("{}")), 0);
    expect(&out, "data: {}\n\n");
    assert_int_equal(write_event(&out, SPAN("message"), SPAN("s1-7"), SPAN("{}")), 0);
    expect(&out, "event: message\nid: s1-7\ndata: {}\n\n");
    assert_int_equal(write_event(&out, SPAN_NULL, SPAN("1"), SPAN_NULL), 0);
    expect(&out, "id: 1\ndata: \n\n");
    assert_int_equal(write_event(&out, SPAN_NULL, SPAN_NULL, SPAN("a\nb\rc\r\nd\n\ne\n")), 0);
    expect(&out, "data: a\ndata: b\ndata: c\ndata: d\ndata: \ndata: e\ndata: \n\n");
    assert_int_equal(sse_write_comment(&out, SPAN("keep-alive")), 0);
    expect(&out, ": keep-alive\n\n");
    assert_int_equal(sse_write_comment(&out, SPAN_NULL), 0);
    expect(&out, ":\n\n");
    assert_int_equal(sse_write_retry(&out, 3000), 0);
    assert_int_equal(write_event(&out, SPAN_NULL, SPAN("1"), SPAN_NULL), 0);
    expect(&out, "retry: 3000\nid: 1\ndata: \n\n");
    bytes_deinit(&out);
}

static void nothing_can_be_smuggled_into_a_line(void **state)
{
    static const Span bad[] = {SPAN_INIT("a\nb"), SPAN_INIT("a\rdata: b"), SPAN_INIT("a\0b"),
                               SPAN_INIT("\n")};
    static char large[40000];
    BytesLent lent;
    Bytes out;

    (void)state;
    bytes_init(&out, 1000);
    for (size_t i = 0; i < TW_ARRAY_SIZE(bad); i++) {
        SseEvent event = {.type = bad[i], .data = span_make(large, sizeof(large))};

        assert_int_equal(write_event(&out, bad[i], SPAN_NULL, SPAN("x")), SSE_E_FIELD);
        assert_int_equal(write_event(&out, SPAN_NULL, bad[i], SPAN("x")), SSE_E_FIELD);
        assert_int_equal(sse_write_comment(&out, bad[i]), SSE_E_FIELD);
        assert_int_equal(sse_write_event_lent(&out, &event, &lent), SSE_E_FIELD);
        assert_null(lent.span.p);
    }
    assert_int_equal(out.n, 0);
    bytes_deinit(&out);
}

static void what_does_not_fit_leaves_nothing_behind(void **state)
{
    static char large[40000];
    SseEvent event = {.data = {large, sizeof(large)}};
    BytesLent lent;
    Bytes out;

    (void)state;
    bytes_init(&out, 10);
    assert_int_equal(bytes_append(&out, "abc", 3), 0);
    for (size_t n = 0; n < 7; n++) {
        assert_int_equal(write_event(&out, SPAN("e"), SPAN_NULL, span_make("xxxxxxx", n)),
                         SSE_E_FULL);
        assert_int_equal(out.n, 3);
    }
    assert_int_equal(sse_write_comment(&out, SPAN("0123")), SSE_E_FULL);
    assert_int_equal(sse_write_retry(&out, 10), SSE_E_FULL);
    assert_int_equal(sse_write_event_lent(&out, &event, &lent), SSE_E_FULL);
    assert_null(lent.span.p);
    expect(&out, "abc");
    bytes_deinit(&out);
}

static void large_data_of_one_line_is_lent(void **state)
{
    static char large[40000];
    SseEvent event = {.type = SPAN("message"), .data = {large, sizeof(large)}};
    BytesLent lent;
    Bytes out;

    (void)state;
    memset(large, 'x', sizeof(large));
    bytes_init(&out, 100000);
    assert_int_equal(bytes_append(&out, "what is there before", 20), 0);
    assert_int_equal(sse_write_event_lent(&out, &event, &lent), 0);
    assert_ptr_equal(lent.span.p, large);
    assert_int_equal(lent.span.n, sizeof(large));
    assert_int_equal(lent.at, strlen("event: message\ndata: "));
    expect(&out, "what is there beforeevent: message\ndata: \n\n");
    /* Of several lines, or small: not. */
    large[100] = '\n';
    assert_int_equal(sse_write_event_lent(&out, &event, &lent), 0);
    assert_null(lent.span.p);
    assert_true(out.n > sizeof(large));
    bytes_clear(&out);
    event.data = SPAN("small");
    assert_int_equal(sse_write_event_lent(&out, &event, &lent), 0);
    assert_null(lent.span.p);
    expect(&out, "event: message\ndata: small\n\n");
    bytes_deinit(&out);
}

static void what_is_written_is_read(void **state)
{
    Events events = {NULL, 0, 0};
    SseReader reader;
    SseEvent event;
    Bytes out;

    (void)state;
    bytes_init(&out, 1000);
    sse_reader_init(&reader, 1000);
    assert_int_equal(sse_write_retry(&out, 20), 0);
    assert_int_equal(write_event(&out, SPAN("e"), SPAN("1"), SPAN(" a\r\n\nb ")), 0);
    assert_int_equal(sse_write_comment(&out, SPAN("data: no")), 0);
    assert_int_equal(write_event(&out, SPAN_NULL, SPAN_NULL, SPAN("\n")), 0);
    assert_int_equal(write_event(&out, SPAN_NULL, SPAN(" 2"), SPAN_NULL), 0);
    assert_int_equal(sse_reader_feed(&reader, out.data, out.n), 0);
    while (sse_reader_next(&reader, &event) == 0) {
        events_add_span(&events, "E", event.type);
        events_add_span(&events, "", event.data);
        events_add_span(&events, "#", event.id);
    }
    events_expect(&events, SPAN("E(e)( a\n\nb )#(1)E()(\n)#(1)E()()#( 2)"), "round trip");
    assert_int_equal(sse_reader_retry_ms(&reader), 20);
    assert_int_equal(sse_reader_finish(&reader), 0);
    events_deinit(&events);
    sse_reader_deinit(&reader);
    bytes_deinit(&out);
}

static int write_scenario(void *context)
{
    static char large[40000];
    SseEvent event = {.type = SPAN("e"), .data = {large, sizeof(large)}};
    BytesLent lent;
    Bytes out;
    int r;

    (void)context;
    bytes_init(&out, 100000);
    r = sse_write_comment(&out, SPAN("x"));
    r = r != 0 ? r : sse_write_retry(&out, 1);
    r = r != 0 ? r : sse_write_event_lent(&out, &event, &lent);
    r = r != 0 ? r : sse_write_event(&out, &event);
    bytes_deinit(&out);
    return r;
}

static void writing_survives_every_failing_allocation(void **state)
{
    (void)state;
    test_oom_sweep(write_scenario, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_comments_and_retry),
        cmocka_unit_test(nothing_can_be_smuggled_into_a_line),
        cmocka_unit_test(what_does_not_fit_leaves_nothing_behind),
        cmocka_unit_test(large_data_of_one_line_is_lent),
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(writing_survives_every_failing_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

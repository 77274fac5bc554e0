#include "dialect/mcp/http_internal.h"

#include "support/cmocka.h"

#include <string.h>

#include "support/oom_sweep.h"

/* Each event costs this besides its data; found out, not known. */
static size_t overhead(void)
{
    McpHttpStore store;
    size_t n;

    mcp_http_store_init(&store, 4096);
    assert_int_equal(mcp_http_store_add(&store, 1, 1, SPAN_NULL), 0);
    n = store.n_bytes;
    mcp_http_store_deinit(&store);
    return n;
}

static void events_of_a_stream_are_found_in_order_behind_a_number(void **state)
{
    McpHttpStore store;
    McpHttpStored at = {.event = NULL};

    (void)state;
    mcp_http_store_init(&store, 4096);
    assert_int_equal(mcp_http_store_add(&store, 1, 1, SPAN("a")), 0);
    assert_int_equal(mcp_http_store_add(&store, 2, 1, SPAN("other")), 0);
    assert_int_equal(mcp_http_store_add(&store, 1, 2, SPAN("b")), 0);
    assert_int_equal(mcp_http_store_add(&store, 1, 3, SPAN("c")), 0);
    assert_true(mcp_http_store_next(&store, 1, 1, &at));
    assert_int_equal(at.n, 2);
    assert_int_equal(at.stream, 1);
    assert_true(span_equals(at.data, SPAN("b")));
    assert_true(mcp_http_store_next(&store, 1, 1, &at));
    assert_int_equal(at.n, 3);
    assert_true(span_equals(at.data, SPAN("c")));
    assert_false(mcp_http_store_next(&store, 1, 1, &at));
    at.event = NULL;
    assert_false(mcp_http_store_next(&store, 1, 3, &at));
    assert_false(mcp_http_store_next(&store, 3, 0, &at));
    mcp_http_store_deinit(&store);
    mcp_http_store_deinit(&store);
}

static void the_oldest_make_room(void **state)
{
    size_t each = overhead() + 10;
    McpHttpStore store;
    McpHttpStored at = {.event = NULL};

    (void)state;
    mcp_http_store_init(&store, 3 * each);
    for (uint64_t i = 1; i <= 3; i++) {
        assert_int_equal(mcp_http_store_add(&store, 1, i, SPAN("0123456789")), 0);
    }
    assert_int_equal(store.n_bytes, 3 * each);
    assert_true(mcp_http_store_next(&store, 1, 0, &at));
    assert_int_equal(at.n, 1);
    assert_int_equal(mcp_http_store_add(&store, 1, 4, SPAN("0")), 0);
    at.event = NULL;
    assert_true(mcp_http_store_next(&store, 1, 0, &at));
    assert_int_equal(at.n, 2);
    assert_true(store.n_bytes <= store.max_bytes);
    mcp_http_store_deinit(&store);
    mcp_http_store_init(&store, 2 * each - 1); /* one byte is missing */
    assert_int_equal(mcp_http_store_add(&store, 1, 1, SPAN("0123456789")), 0);
    assert_int_equal(mcp_http_store_add(&store, 1, 2, SPAN("0123456789")), 0);
    assert_int_equal(store.n_bytes, each);
    mcp_http_store_deinit(&store);
}

static void what_is_forgotten_leaves_the_others(void **state)
{
    McpHttpStored at = {.event = NULL};
    McpHttpStore store;
    size_t n_bytes;

    (void)state;
    mcp_http_store_init(&store, 1000);
    assert_int_equal(mcp_http_store_add(&store, 0, 1, SPAN("x")), 0);
    assert_int_equal(mcp_http_store_add(&store, 1, 1, SPAN("x")), 0);
    assert_int_equal(mcp_http_store_add(&store, 0, 2, SPAN("y")), 0);
    n_bytes = store.n_bytes;
    assert_int_equal(mcp_http_store_add(&store, 0, 3, SPAN("x")), 0);
    mcp_http_store_forget(&store, 0, SPAN("x"));
    assert_true(store.n_bytes < n_bytes);
    assert_true(mcp_http_store_next(&store, 0, 0, &at));
    assert_int_equal(at.n, 2);
    assert_false(mcp_http_store_next(&store, 0, 0, &at));
    at.event = NULL;
    assert_true(mcp_http_store_next(&store, 1, 0, &at));
    /* What comes next is found behind what is left, or alone. */
    assert_int_equal(mcp_http_store_add(&store, 0, 4, SPAN("z")), 0);
    at.event = NULL;
    assert_true(mcp_http_store_next(&store, 0, 2, &at));
    assert_int_equal(at.n, 4);
    mcp_http_store_forget(&store, 0, SPAN("z"));
    mcp_http_store_forget(&store, 0, SPAN("y"));
    mcp_http_store_forget(&store, 1, SPAN("x"));
    assert_int_equal(store.n_bytes, 0);
    assert_int_equal(mcp_http_store_add(&store, 0, 5, SPAN("z")), 0);
    at.event = NULL;
    assert_true(mcp_http_store_next(&store, 0, 0, &at));
    assert_ptr_equal(store.first, store.last);
    mcp_http_store_deinit(&store);
}

static void an_event_that_is_too_large_displaces_nothing(void **state)
{
    size_t room = overhead() + 10;
    McpHttpStore store;
    McpHttpStored at = {.event = NULL};

    (void)state;
    mcp_http_store_init(&store, room);
    assert_int_equal(mcp_http_store_add(&store, 1, 1, SPAN("x")), 0);
    assert_int_equal(mcp_http_store_add(&store, 1, 2, SPAN("01234567890")), MCP_HTTP_STORE_E_FULL);
    assert_int_equal(mcp_http_store_add(&store, 1, 2, span_make("", SIZE_MAX)),
                     MCP_HTTP_STORE_E_FULL);
    assert_true(mcp_http_store_next(&store, 1, 0, &at));
    assert_int_equal(at.n, 1);
    /* Equality passes, and everything else goes for it. */
    assert_int_equal(mcp_http_store_add(&store, 1, 2, SPAN("0123456789")), 0);
    at.event = NULL;
    assert_true(mcp_http_store_next(&store, 1, 0, &at));
    assert_int_equal(at.n, 2);
    assert_ptr_equal(store.first, store.last);
    mcp_http_store_deinit(&store);
}

static void ids_are_written_and_read(void **state)
{
    static const char *const bad[] = {"",
                                      "-",
                                      "1",
                                      "1-",
                                      "-1",
                                      "1-2-3",
                                      "a-1",
                                      "1-a",
                                      " 1-2",
                                      "+1-2",
                                      "1--2",
                                      "1-2 ",
                                      "99999999999999999999-1",
                                      "1-99999999999999999999"};
    char buffer[MCP_HTTP_EVENT_ID_BYTES];
    uint64_t stream = 5;
    uint64_t n = 6;

    (void)state;
    assert_string_equal(mcp_http_event_id(buffer, 7, 12).p, "7-12");
    assert_true(mcp_http_event_id_parse(SPAN("7-12"), &stream, &n));
    assert_int_equal(stream, 7);
    assert_int_equal(n, 12);
    assert_int_equal(mcp_http_event_id(buffer, UINT64_MAX, UINT64_MAX).n, 41);
    assert_true(mcp_http_event_id_parse(span_from_str(buffer), &stream, &n));
    assert_true(stream == UINT64_MAX && n == UINT64_MAX);
    for (size_t i = 0; i < TW_ARRAY_SIZE(bad); i++) {
        assert_false(mcp_http_event_id_parse(span_from_str(bad[i]), &stream, &n));
    }
    assert_true(stream == UINT64_MAX && n == UINT64_MAX);
}

static int fill(void *context)
{
    McpHttpStore store;
    int r = 0;

    mcp_http_store_init(&store, *(const size_t *)context);
    for (uint64_t i = 1; i <= 5 && r == 0; i++) {
        r = mcp_http_store_add(&store, 1, i, SPAN("data"));
        assert_true(store.n_bytes <= store.max_bytes);
    }
    mcp_http_store_deinit(&store);
    return r;
}

static void want_of_memory_is_said(void **state)
{
    size_t room = 3 * (overhead() + 4);

    (void)state;
    test_oom_sweep(fill, &room);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_of_a_stream_are_found_in_order_behind_a_number),
        cmocka_unit_test(the_oldest_make_room),
        cmocka_unit_test(what_is_forgotten_leaves_the_others),
        cmocka_unit_test(an_event_that_is_too_large_displaces_nothing),
        cmocka_unit_test(ids_are_written_and_read),
        cmocka_unit_test(want_of_memory_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

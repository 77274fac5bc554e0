#include "cli/peer_header.h"

#include "support/cmocka.h"
#include "support/oom_sweep.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static Arena arena;

static void assert_read(const char *line, const char *name, const char *value)
{
    McpHttpField field;
    Diag diag = DIAG_NULL;

    assert_int_equal(peer_header_read(&arena, line, &field, &diag), 0);
    assert_true(span_equals(field.name, span_from_str(name)));
    assert_true(span_equals(field.value, span_from_str(value)));
}

/* words: of the message, which shows no value. */
static void assert_refused(const char *line, const char *words)
{
    McpHttpField field;
    Diag diag = DIAG_NULL;

    assert_int_equal(peer_header_read(&arena, line, &field, &diag), PEER_HEADER_E_INVALID);
    assert_non_null(strstr(diag.message, words));
    assert_null(strstr(diag.message, "s3cret"));
}

static void a_header_is_a_name_and_a_value(void **state)
{
    (void)state;
    assert_read("X-Key: s3cret", "X-Key", "s3cret");
    assert_read("X-Key:s3cret", "X-Key", "s3cret");
    assert_read("X-Key: \t two words \t", "X-Key", "two words");
    assert_read("X-Key: a:b", "X-Key", "a:b");
    assert_read("X-Key:", "X-Key", "");
    assert_read("Authorization: Bearer x", "Authorization", "Bearer x");
}

static void its_value_may_come_from_the_environment(void **state)
{
    (void)state;
    assert_int_equal(setenv("TW_TEST_KEY", "s3cret", 1), 0);
    assert_int_equal(unsetenv("TW_TEST_NONE"), 0);
    assert_read("X-Key: ${TW_TEST_KEY}", "X-Key", "s3cret");
    assert_read("Authorization: Bearer ${TW_TEST_KEY}", "Authorization", "Bearer s3cret");
    assert_read("X-Key: ${TW_TEST_NONE:-other}", "X-Key", "other");
    assert_read("X-Key: 5$$", "X-Key", "5$");
    assert_refused("X-Key: ${TW_TEST_NONE}", "${TW_TEST_NONE} is not set");
    assert_refused("X-Key: s3cret$", "a '$' begins");
    assert_refused("X-Key: s3cret${", "a '$' begins");
}

static void what_is_no_header_is_refused(void **state)
{
    (void)state;
    assert_refused("s3cret", "'Name: value'");
    assert_refused(": s3cret", "is not the name of a header");
    assert_refused("X Key: s3cret", "'X Key' is not the name of a header");
    assert_refused("X-Key : s3cret", "is not the name of a header");
    assert_refused("X-\r\nKey: s3cret", "is not the name of a header");
    assert_refused("${TW_TEST_KEY}: s3cret", "is not the name of a header");
    assert_refused("X-Key: s3cret\r\nX-Other: b", "a value that no header can have");
    assert_refused("X-Key: s3cret\nb", "a value that no header can have");
    assert_int_equal(setenv("TW_TEST_KEY", "s3cret\r\nX-Other: b", 1), 0);
    assert_refused("X-Key: ${TW_TEST_KEY}", "a value that no header can have");
}

static void what_the_protocol_sets_is_refused(void **state)
{
    (void)state;
    assert_refused("Mcp-Session-Id: s3cret", "is a header of MCP itself");
    assert_refused("content-length: 5", "is a header that the protocol sets");
    assert_refused("Host: s3cret", "is a header that the protocol sets");
}

static int read_one(void *context)
{
    McpHttpField field;
    Arena fresh;
    int r;

    (void)context;
    arena_init(&fresh, SIZE_MAX);
    r = peer_header_read(&fresh, "X-Key: ${TW_TEST_NONE:-other}", &field, NULL);
    arena_deinit(&fresh);
    return r;
}

static void memory_that_runs_out_is_reported(void **state)
{
    (void)state;
    test_oom_sweep(read_one, NULL);
}

static int setup(void **state)
{
    (void)state;
    arena_init(&arena, SIZE_MAX);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_deinit(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_header_is_a_name_and_a_value),
        cmocka_unit_test(its_value_may_come_from_the_environment),
        cmocka_unit_test(what_is_no_header_is_refused),
        cmocka_unit_test(what_the_protocol_sets_is_refused),
        cmocka_unit_test(memory_that_runs_out_is_reported),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}

#include "agent/model_ids.h"

#include "base/bytes.h"
#include "support/cmocka.h"
#include "support/oom_sweep.h"
#include "unit/agent/requests.h"

#define LONG "0123456789012345678901234567890123456789012345678901234567890123"

/* Two calls of one id in one message, then the same again, and one with that very number. */
static const AgentBlock uses[] = {BLOCK_TEXT("x"), BLOCK_USE("f:0", "f", "{}"),
                                  BLOCK_USE("f:0", "f", "{}")};
static const AgentBlock results[] = {BLOCK_RESULT("f:0", "a", false),
                                     BLOCK_RESULT("f:0", "b", false)};
static const AgentBlock unanswered[] = {BLOCK_USE("f:0", "f", "{}")};
static const AgentBlock later_uses[] = {BLOCK_USE("f:0_3", "f", "{}"), BLOCK_USE("f:0", "f", "{}"),
                                        BLOCK_USE(LONG "a", "f", "{}"),
                                        BLOCK_USE(LONG "b", "f", "{}"), BLOCK_USE("", "f", "{}")};
static const AgentBlock later_results[] = {
    BLOCK_RESULT(LONG "b", "c", false), BLOCK_RESULT("f:0", "d", false),
    BLOCK_RESULT(LONG "a", "e", false), BLOCK_RESULT("f:0_3", "f", false),
    BLOCK_RESULT("gone", "g", false),
};
static const AgentMessage conversation[] = {
    MESSAGE_MODEL(uses),       MESSAGE_USER(results),       MESSAGE_MODEL(unanswered),
    MESSAGE_MODEL(later_uses), MESSAGE_USER(later_results),
};
static const ModelRequest request = {.messages = conversation,
                                     .n_messages = TW_ARRAY_SIZE(conversation)};

static void assert_ids(size_t max_bytes, const char *expected)
{
    ModelRequest sent;
    Arena arena;
    Bytes text;

    arena_init(&arena, 1 << 20);
    bytes_init(&text, 4096);
    assert_int_equal(model_ids_make(&arena, &request, max_bytes, &sent), 0);
    for (size_t i = 0; i < sent.n_messages; i++) {
        for (size_t j = 0; j < sent.messages[i].n_blocks; j++) {
            Span id = sent.messages[i].blocks[j].id;

            assert_int_equal(bytes_append_span(&text, id.n > 0 ? id : SPAN("-")), 0);
            assert_int_equal(bytes_append_byte(&text, ' '), 0);
        }
        assert_int_equal(bytes_append_span(&text, SPAN("| ")), 0);
    }
    assert_int_equal(bytes_append_byte(&text, '\0'), 0);
    assert_string_equal(text.data, expected);
    bytes_deinit(&text);
    arena_deinit(&arena);
}

static void each_is_sent_once_and_its_result_has_the_same(void **state)
{
    (void)state;
    assert_ids(0, "- f:0 f:0_2 | f:0 f:0_2 | f:0_3 | f:0_3_2 f:0_4 " LONG "a " LONG "b - | " LONG
                  "b f:0_4 " LONG "a f:0_3_2 gone | ");
}

static void where_a_service_wants_them_short_and_plain_they_are(void **state)
{
    (void)state;
    assert_ids(64, "- f_0 f_0_2 | f_0 f_0_2 | f_0_3 | f_0_3_2 f_0_4 " LONG
                   " 01234567890123456789012345678901234567890123456789012345678901_2 _ | "
                   "01234567890123456789012345678901234567890123456789012345678901_2 f_0_4 " LONG
                   " f_0_3_2 gone | ");
}

static int make(void *context)
{
    ModelRequest sent;
    Arena arena;
    int r;

    (void)context;
    arena_init(&arena, 1 << 20);
    r = model_ids_make(&arena, &request, 64, &sent);
    arena_deinit(&arena);
    return r;
}

static void no_memory_is_an_error_and_nothing_worse(void **state)
{
    (void)state;
    test_oom_sweep(make, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_sent_once_and_its_result_has_the_same),
        cmocka_unit_test(where_a_service_wants_them_short_and_plain_they_are),
        cmocka_unit_test(no_memory_is_an_error_and_nothing_worse),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

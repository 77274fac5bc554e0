#include "agent/store_impl.h"

#include "support/cmocka.h"

#include <errno.h>
#include <string.h>

#include "support/alloc_testing.h"
#include "support/oom_sweep.h"

static int read_text(const char *text, Arena *arena, AgentMessage *ret)
{
    Arena scratch;
    int r;

    arena_init(&scratch, 1 << 20);
    r = store_blocks_read(ret, span_from_str(text), true, arena, &scratch);
    arena_deinit(&scratch);
    return r;
}

static void what_is_no_array_of_blocks_is_damaged(void **state)
{
    static const char *const wrong[] = {"", "{}", "[", "null", "\"x\"", "[{]", "[1]]", "\xff"};
    AgentMessage message;
    Arena arena;

    (void)state;
    arena_init(&arena, 1 << 20);
    for (size_t i = 0; i < TW_ARRAY_SIZE(wrong); i++) {
        assert_int_equal(read_text(wrong[i], &arena, &message), STORE_BLOCKS_E_DAMAGED);
    }
    arena_deinit(&arena);
}

static void what_a_later_version_adds_is_passed_over(void **state)
{
    AgentMessage message;
    Arena arena;

    (void)state;
    arena_init(&arena, 1 << 20);
    assert_int_equal(read_text("[{\"type\":\"thought\",\"text\":\"?\"},7,null,{},{\"type\":3},"
                               "{\"type\":\"text\",\"text\":\"\\u00e9\",\"more\":[1]},"
                               "{\"type\":\"text\",\"text\":5},"
                               "{\"type\":\"tool_use\",\"id\":\"1\",\"input\":7}]",
                               &arena, &message),
                     0);
    assert_int_equal(message.n_blocks, 3);
    assert_true(span_equals(message.blocks[0].text, SPAN("\xc3\xa9")));
    assert_int_equal(message.blocks[1].text.n, 0);
    assert_true(span_equals(message.blocks[2].input, SPAN("{}")));
    assert_int_equal(read_text("[]", &arena, &message), 0);
    assert_int_equal(message.n_blocks, 0);
    arena_deinit(&arena);
}

static void what_is_written_is_one_json_array(void **state)
{
    AgentBlock blocks[] = {{.kind = AGENT_BLOCK_TEXT, .text = SPAN_INIT("a\n\"")},
                           {.kind = AGENT_BLOCK_TOOL_RESULT, .id = SPAN_INIT("i")}};
    AgentMessage message = {.blocks = blocks, .n_blocks = 2};
    Arena scratch;
    Bytes out;

    (void)state;
    arena_init(&scratch, 1 << 20);
    bytes_init(&out, 1000);
    assert_int_equal(store_blocks_write(&out, &message, &scratch), 0);
    assert_int_equal(bytes_append_byte(&out, '\0'), 0);
    assert_string_equal(out.data, "[{\"type\":\"text\",\"text\":\"a\\n\\\"\"},"
                                  "{\"type\":\"tool_result\",\"id\":\"i\",\"text\":\"\"}]");
    bytes_deinit(&out);
    bytes_init(&out, 20);
    assert_int_equal(store_blocks_write(&out, &message, &scratch), BYTES_E_FULL);
    assert_int_equal(out.n, 0);
    bytes_deinit(&out);
    arena_deinit(&scratch);
}

static int sweep(void *context)
{
    AgentBlock blocks[] = {
        {.kind = AGENT_BLOCK_TEXT, .text = SPAN_INIT("a\n")},
        {.kind = AGENT_BLOCK_TOOL_USE, .id = SPAN_INIT("i"), .input = SPAN_INIT("{\"a\":1}")}};
    AgentMessage message = {.blocks = blocks, .n_blocks = 2};
    AgentMessage back;
    Arena scratch;
    Arena arena;
    Bytes out;
    int r;

    (void)context;
    arena_init(&scratch, 1 << 20);
    arena_init(&arena, 1 << 20);
    bytes_init(&out, 1000);
    r = store_blocks_write(&out, &message, &scratch);
    r = r != 0 ? r : store_blocks_read(&back, bytes_span(&out), false, &arena, &scratch);
    bytes_deinit(&out);
    arena_deinit(&arena);
    arena_deinit(&scratch);
    return r;
}

static void memory_may_end_anywhere(void **state)
{
    (void)state;
    test_oom_sweep(sweep, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_array_of_blocks_is_damaged),
        cmocka_unit_test(what_a_later_version_adds_is_passed_over),
        cmocka_unit_test(what_is_written_is_one_json_array),
        cmocka_unit_test(memory_may_end_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

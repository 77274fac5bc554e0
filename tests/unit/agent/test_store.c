#include "unit/agent/store_rig.h"

#include <sqlite3.h>

#include "base/limits.h"
#include "support/oom_sweep.h"

static void what_was_said_is_loaded_again(void **state)
{
    (void)state;
    rig_open();
    assert_int_equal(rig_append_text("c1", false, "hello"), 0);
    assert_int_equal(rig_append_text("c1", true, "h\xc3\xa9 \"you\"\n"), 0);
    assert_int_equal(rig_append_text("c2", false, "other"), 0);
    rig_expect("c1", 0, "u:hello|a:h\xc3\xa9 \"you\"\n|");
    rig_close();
    rig_open();
    rig_expect("c1", 0, "u:hello|a:h\xc3\xa9 \"you\"\n|");
    rig_expect("c2", 0, "u:other|");
}

static void every_kind_of_block_comes_back(void **state)
{
    AgentBlock blocks[] = {
        {.kind = AGENT_BLOCK_TEXT, .text = SPAN_INIT("t")},
        {.kind = AGENT_BLOCK_IMAGE, .text = SPAN_INIT("AAAA"), .mime = SPAN_INIT("image/png")},
        {.kind = AGENT_BLOCK_TOOL_USE,
         .id = SPAN_INIT("id1"),
         .name = SPAN_INIT("files/list"),
         .input = SPAN_INIT("{\"n\":1.50,\"a\":[ ]}")},
        {.kind = AGENT_BLOCK_TOOL_USE, .id = SPAN_INIT("2"), .input = SPAN_INIT("{broken")},
        {.kind = AGENT_BLOCK_TOOL_USE, .id = SPAN_INIT("3"), .input = SPAN_INIT("[1]")},
        {.kind = AGENT_BLOCK_TOOL_RESULT,
         .id = SPAN_INIT("id1"),
         .text = SPAN_INIT("\xff\0x"),
         .is_error = true},
    };
    AgentMessage message = {.is_assistant = true, .blocks = blocks, .n_blocks = 6};
    AgentStoreOp op = AGENT_STORE_OP_NULL;
    const AgentBlock *back;

    (void)state;
    rig_open();
    op.verb = AGENT_STORE_APPEND;
    op.conversation = SPAN("c");
    op.title = SPAN("First");
    op.messages = &message;
    op.n_messages = 1;
    assert_int_equal(rig_run(&op), 0);
    assert_int_equal(op.n_conversations, 1);
    assert_true(span_equals(op.conversations[0].title, SPAN("First")));
    assert_int_equal(op.conversations[0].n_messages, 1);
    op.verb = AGENT_STORE_LOAD;
    assert_int_equal(rig_run(&op), 0);
    assert_int_equal(op.n_loaded, 1);
    assert_true(op.has_first);
    assert_true(op.loaded[0].is_assistant);
    assert_int_equal(op.loaded[0].n_blocks, 6);
    back = op.loaded[0].blocks;
    assert_true(span_equals(back[0].text, SPAN("t")));
    assert_int_equal(back[1].kind, AGENT_BLOCK_IMAGE);
    assert_true(span_equals(back[1].text, SPAN("AAAA")));
    assert_true(span_equals(back[1].mime, SPAN("image/png")));
    assert_true(span_equals(back[2].id, SPAN("id1")));
    assert_true(span_equals(back[2].name, SPAN("files/list")));
    assert_true(span_equals(back[2].input, SPAN("{\"n\":1.50,\"a\":[]}")));
    assert_true(span_equals(back[3].input, SPAN("{}")));
    assert_true(span_equals(back[4].input, SPAN("{}")));
    assert_true(back[5].is_error);
    assert_true(span_equals(back[5].text, SPAN("\xef\xbf\xbd\0x")));
    agent_store_op_deinit(&op);
}

static void the_newest_that_fit_are_loaded_and_the_first(void **state)
{
    (void)state;
    rig_open();
    assert_int_equal(rig_append_text("c", false, "1"), 0);
    assert_int_equal(rig_append_text("c", true, "2"), 0);
    assert_int_equal(rig_append_text("c", false, "3"), 0);
    assert_int_equal(rig_append_text("c", true, "4"), 0);
    /* Each takes 28 bytes: [{"type":"text","text":"1"}] */
    rig_expect("c", 4 * 28, "u:1|a:2|u:3|a:4|");
    rig_expect("c", 4 * 28 - 1, "u:1|a:2|u:3|a:4|");
    rig_expect("c", 2 * 28, "u:1|u:3|a:4|(1 left out, first kept)");
    rig_expect("c", 28, "u:1|a:4|(2 left out, first kept)");
    rig_expect("c", 27, "(4 left out, first too)");
}

static void conversations_are_listed_by_their_last_change(void **state)
{
    AgentStoreOp op = AGENT_STORE_OP_NULL;

    (void)state;
    rig_open();
    for (int i = 0; i < 5; i++) {
        char id[16];

        (void)snprintf(id, sizeof(id), "c%d", i);
        rig_ms = 2000 + i;
        assert_int_equal(rig_append_text(id, false, "x"), 0);
    }
    rig_ms = 3000;
    assert_int_equal(rig_append_text("c1", true, "y"), 0);
    op.verb = AGENT_STORE_LIST;
    assert_int_equal(rig_run(&op), 0);
    assert_int_equal(op.n_conversations, 5);
    assert_int_equal(op.n_all, 5);
    assert_true(span_equals(op.conversations[0].id, SPAN("c1")));
    assert_int_equal(op.conversations[0].created_ms, 2001);
    assert_int_equal(op.conversations[0].updated_ms, 3000);
    assert_int_equal(op.conversations[0].n_messages, 2);
    assert_true(span_equals(op.conversations[1].id, SPAN("c4")));
    op.limit = 2;
    op.offset = 4;
    assert_int_equal(rig_run(&op), 0);
    assert_int_equal(op.n_conversations, 1);
    assert_int_equal(op.n_all, 5);
    assert_true(span_equals(op.conversations[0].id, SPAN("c0")));
    agent_store_op_deinit(&op);
}

static int run_verb(AgentStoreVerb verb, const char *id, const char *title, uint64_t *ret_changed)
{
    AgentStoreOp op = AGENT_STORE_OP_NULL;
    int r;

    op.verb = verb;
    op.conversation = span_from_str(id);
    op.title = span_from_str(title);
    r = rig_run(&op);
    if (ret_changed != NULL) {
        *ret_changed = op.n_changed;
    }
    if (r == 0 && (verb == AGENT_STORE_CREATE || verb == AGENT_STORE_TITLE)) {
        assert_true(span_equals(op.conversations[0].title, span_from_str(title)));
    }
    agent_store_op_deinit(&op);
    return r;
}

static void conversations_are_cleared_deleted_and_named(void **state)
{
    uint64_t n = 99;
    char out[100];

    (void)state;
    rig_open();
    assert_int_equal(run_verb(AGENT_STORE_CREATE, "c", "One", NULL), 0);
    rig_expect("c", 0, "");
    assert_int_equal(rig_append_text("c", false, "x"), 0);
    assert_int_equal(run_verb(AGENT_STORE_CREATE, "c", "Again", NULL), 0);
    rig_expect("c", 0, "u:x|");
    assert_int_equal(run_verb(AGENT_STORE_TITLE, "c", "Two", NULL), 0);
    assert_int_equal(run_verb(AGENT_STORE_TITLE, "d", "Two", NULL), AGENT_STORE_E_MISSING);
    assert_int_equal(run_verb(AGENT_STORE_CLEAR, "c", "", &n), 0);
    assert_int_equal(n, 1);
    rig_expect("c", 0, "");
    assert_int_equal(run_verb(AGENT_STORE_CLEAR, "d", "", &n), 0);
    assert_int_equal(n, 0);
    assert_int_equal(rig_append_text("c", false, "y"), 0);
    rig_expect("c", 0, "u:y|");
    assert_int_equal(run_verb(AGENT_STORE_DELETE, "c", "", NULL), 0);
    assert_int_equal(run_verb(AGENT_STORE_DELETE, "c", "", NULL), AGENT_STORE_E_MISSING);
    assert_int_equal(rig_load("c", 0, out, sizeof(out)), AGENT_STORE_E_MISSING);
    assert_string_equal(agent_store_word(AGENT_STORE_E_MISSING), "there is no such conversation");
    /* One that was deleted begins anew. */
    assert_int_equal(rig_append_text("c", false, "z"), 0);
    rig_expect("c", 0, "u:z|");
}

static void names_are_any_bytes_of_a_bounded_length(void **state)
{
    static char name[LIMIT_AGENT_NAME_BYTES + 2];

    (void)state;
    rig_open();
    assert_int_equal(rig_append_text("'; DROP TABLE message; --\n\xff", false, "x"), 0);
    rig_expect("'; DROP TABLE message; --\n\xff", 0, "u:x|");
    memset(name, 'n', sizeof(name) - 1);
    assert_int_equal(rig_append_text(name, false, "x"), AGENT_STORE_E_TOO_LARGE);
    name[LIMIT_AGENT_NAME_BYTES] = '\0';
    assert_int_equal(rig_append_text(name, false, "x"), 0);
    assert_int_equal(rig_append_text("", false, "x"), AGENT_STORE_E_TOO_LARGE);
}

static void a_message_that_is_too_large_is_kept_by_none(void **state)
{
    size_t n = LIMIT_AGENT_MESSAGE_BYTES;
    char *text = malloc(n);
    AgentBlock blocks[2] = {{.kind = AGENT_BLOCK_TEXT, .text = SPAN_INIT("small")},
                            {.kind = AGENT_BLOCK_TEXT}};
    AgentMessage messages[2] = {{false, &blocks[0], 1}, {true, &blocks[1], 1}};
    AgentStoreOp op = AGENT_STORE_OP_NULL;
    char out[100];

    (void)state;
    assert_non_null(text);
    memset(text, 'x', n);
    blocks[1].text = span_make(text, n);
    rig_open();
    op.verb = AGENT_STORE_APPEND;
    op.conversation = SPAN("c");
    op.messages = messages;
    op.n_messages = 2;
    assert_int_equal(rig_run(&op), AGENT_STORE_E_TOO_LARGE);
    assert_int_equal(op.n_conversations, 0);
    /* Neither the small one before it nor the conversation is there. */
    assert_int_equal(rig_load("c", 0, out, sizeof(out)), AGENT_STORE_E_MISSING);
    agent_store_op_deinit(&op);
    free(text);
}

/* ---- many at once ---- */

#define MANY 600

typedef struct Many {
    AgentStoreOp ops[MANY];
    AgentBlock blocks[MANY];
    AgentMessage messages[MANY];
    char texts[MANY][8];
    size_t n_done;
} Many;

static void many_on_done(AgentStoreOp *op)
{
    Many *many = op->context;

    /* Told in the order in which they were submitted. */
    assert_ptr_equal(op, &many->ops[many->n_done]);
    many->n_done++;
}

static Many *many_submit(void)
{
    Many *many = calloc(1, sizeof(*many));

    assert_non_null(many);
    for (size_t i = 0; i < MANY; i++) {
        AgentStoreOp *op = &many->ops[i];

        (void)snprintf(many->texts[i], sizeof(many->texts[i]), "%zu", i);
        many->blocks[i] =
            (AgentBlock){.kind = AGENT_BLOCK_TEXT, .text = span_from_str(many->texts[i])};
        many->messages[i] = (AgentMessage){.blocks = &many->blocks[i], .n_blocks = 1};
        *op = AGENT_STORE_OP_NULL;
        op->verb = AGENT_STORE_APPEND;
        /* One in ten is refused, and takes nothing of the others with it. */
        op->conversation = i % 10 == 9 ? SPAN("") : SPAN("c");
        op->messages = &many->messages[i];
        op->n_messages = 1;
        op->done = many_on_done;
        op->context = many;
        agent_store_submit(rig_store, op);
    }
    return many;
}

static void many_check(Many *many)
{
    AgentStoreOp op = AGENT_STORE_OP_NULL;

    assert_int_equal(many->n_done, MANY);
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(many->ops[i].r, i % 10 == 9 ? AGENT_STORE_E_TOO_LARGE : 0);
        agent_store_op_deinit(&many->ops[i]);
    }
    op.verb = AGENT_STORE_LOAD;
    op.conversation = SPAN("c");
    assert_int_equal(rig_run(&op), 0);
    assert_int_equal(op.n_loaded, MANY / 10 * 9);
    for (size_t i = 0; i < op.n_loaded; i++) {
        assert_true(span_equals(op.loaded[i].blocks[0].text,
                                span_from_str(many->texts[i / 9 * 10 + i % 9])));
    }
    agent_store_op_deinit(&op);
    free(many);
}

static void operations_share_commits_and_keep_their_order(void **state)
{
    Many *many;

    (void)state;
    rig_open();
    many = many_submit();
    assert_int_equal(io_loop_run(rig_loop), 0);
    many_check(many);
}

static void closing_does_what_was_submitted_and_tells_of_it(void **state)
{
    Many *many;

    (void)state;
    rig_open();
    many = many_submit();
    rig_close();
    assert_int_equal(many->n_done, MANY);
    rig_open();
    many_check(many);
}

typedef struct Again {
    AgentStoreOp first;
    AgentStoreOp second;
    bool is_over;
} Again;

static void again_on_second(AgentStoreOp *op)
{
    ((Again *)op->context)->is_over = true;
}

static void again_on_first(AgentStoreOp *op)
{
    Again *again = op->context;

    agent_store_submit(rig_store, &again->second);
}

static void what_is_submitted_while_it_closes_is_refused(void **state)
{
    Again again = {.first = AGENT_STORE_OP_NULL, .second = AGENT_STORE_OP_NULL};

    (void)state;
    rig_open();
    again.first.verb = AGENT_STORE_LIST;
    again.first.done = again_on_first;
    again.second.verb = AGENT_STORE_LIST;
    again.second.done = again_on_second;
    again.first.context = again.second.context = &again;
    agent_store_submit(rig_store, &again.first);
    rig_close();
    assert_true(again.is_over);
    assert_int_equal(again.first.r, 0);
    assert_int_equal(again.second.r, AGENT_STORE_E_CLOSED);
    agent_store_op_deinit(&again.first);
    agent_store_op_deinit(&again.second);
}

/* With a loop of its own, which lets go of what was made on it. */
static int sweep_open(void *context)
{
    IoLoop *before = rig_loop;
    int r;

    (void)context;
    rig_loop = NULL;
    r = io_loop_new(&rig_loop);
    r = r != 0 ? r : rig_try(":memory:", NULL);
    rig_close();
    (void)io_loop_free(rig_loop);
    rig_loop = before;
    return r;
}

static void memory_may_end_anywhere(void **state)
{
    (void)state;
    test_oom_sweep(sweep_open, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_said_is_loaded_again, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(every_kind_of_block_comes_back, rig_setup, rig_teardown),
        cmocka_unit_test_setup_teardown(the_newest_that_fit_are_loaded_and_the_first, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(conversations_are_listed_by_their_last_change, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(conversations_are_cleared_deleted_and_named, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(names_are_any_bytes_of_a_bounded_length, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(a_message_that_is_too_large_is_kept_by_none, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(operations_share_commits_and_keep_their_order, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(closing_does_what_was_submitted_and_tells_of_it, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(what_is_submitted_while_it_closes_is_refused, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(memory_may_end_anywhere, rig_setup, rig_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

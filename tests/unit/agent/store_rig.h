/* A store in a folder of its own, with a loop, and a way to wait for it. */
#pragma once

#include "agent/store.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/alloc_testing.h"
#include "unit/io/scratch.h"

static IoLoop *rig_loop;
static AgentStore *rig_store;
static int64_t rig_ms; /* the time */

TW_UNUSED static int64_t rig_wall_ms(void *context)
{
    (void)context;
    return rig_ms;
}

TW_UNUSED static const char *rig_path(void)
{
    return scratch_path("history.db");
}

TW_UNUSED static int rig_try(const char *path, Diag *diag)
{
    return agent_store_open(
        &rig_store, &(AgentStoreConfig){.loop = rig_loop, .path = path, .wall_ms = rig_wall_ms},
        diag);
}

TW_UNUSED static void rig_open(void)
{
    Diag diag = DIAG_NULL;
    int r = rig_try(rig_path(), &diag);

    if (r != 0) {
        print_message("%d %s\n", r, diag.message);
    }
    assert_int_equal(r, 0);
}

TW_UNUSED static void rig_close(void)
{
    rig_store = agent_store_close(rig_store);
}

TW_UNUSED static int rig_setup(void **state)
{
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    rig_ms = 1000;
    (void)scratch_setup(state);
    assert_int_equal(io_loop_new(&rig_loop), 0);
    return 0;
}

TW_UNUSED static int rig_teardown(void **state)
{
    rig_close();
    rig_loop = io_loop_free(rig_loop);
    return scratch_teardown(state);
}

TW_UNUSED static void rig_on_done(AgentStoreOp *op)
{
    *(bool *)op->context = true;
}

/* Submits and waits; r of it. */
TW_UNUSED static int rig_run(AgentStoreOp *op)
{
    bool is_done = false;

    op->done = rig_on_done;
    op->context = &is_done;
    agent_store_submit(rig_store, op);
    assert_false(is_done);
    assert_int_equal(io_loop_run(rig_loop), 0); /* ends when nothing is left to wait for */
    assert_true(is_done);
    return op->r;
}

TW_UNUSED static int rig_append_text(const char *id, bool is_assistant, const char *text)
{
    AgentBlock block = {.kind = AGENT_BLOCK_TEXT, .text = span_from_str(text)};
    AgentMessage message = {.is_assistant = is_assistant, .blocks = &block, .n_blocks = 1};
    AgentStoreOp op = AGENT_STORE_OP_NULL;
    int r;

    op.verb = AGENT_STORE_APPEND;
    op.conversation = span_from_str(id);
    op.messages = &message;
    op.n_messages = 1;
    r = rig_run(&op);
    agent_store_op_deinit(&op);
    return r;
}

/* "u:text|a:text|" of what a load gives; its r. */
TW_UNUSED static int rig_load(const char *id, size_t max_bytes, char *out, size_t size)
{
    AgentStoreOp op = AGENT_STORE_OP_NULL;
    size_t n = 0;
    int r;

    op.verb = AGENT_STORE_LOAD;
    op.conversation = span_from_str(id);
    op.max_bytes = max_bytes;
    r = rig_run(&op);
    out[0] = '\0';
    for (size_t i = 0; i < op.n_loaded; i++) {
        for (size_t k = 0; k < op.loaded[i].n_blocks; k++) {
            Span text = op.loaded[i].blocks[k].text;

            n += (size_t)snprintf(out + n, size - n, "%c:%.*s|",
                                  op.loaded[i].is_assistant ? 'a' : 'u', (int)text.n, text.p);
        }
    }
    if (op.n_left_out > 0) {
        (void)snprintf(out + n, size - n, "(%zu left out, %s)", op.n_left_out,
                       op.has_first ? "first kept" : "first too");
    }
    agent_store_op_deinit(&op);
    return r;
}

TW_UNUSED static void rig_expect(const char *id, size_t max_bytes, const char *expected)
{
    char out[4000];

    assert_int_equal(rig_load(id, max_bytes, out, sizeof(out)), 0);
    assert_string_equal(out, expected);
}

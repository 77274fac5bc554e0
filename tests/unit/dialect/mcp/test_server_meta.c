/* What a modern request says about itself counts for that request, however often others said the
 * same before it. */
#include "dialect/mcp/server.h"

#include "unit/dialect/mcp/session_rig.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/mcp_schema.h"

#define HEAD "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
#define ASKS                                                                                       \
    HEAD "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{}},"                    \
         "\"io.modelcontextprotocol/logLevel\":\"debug\""
#define SILENT HEAD "\"io.modelcontextprotocol/clientCapabilities\":{}"

static int set_up(void **state)
{
    Rig *rig = malloc(sizeof(*rig));

    rig_init(rig);
    assert_int_equal(rig_open(rig), 0);
    *state = rig;
    return 0;
}

static int tear_down(void **state)
{
    rig_deinit(*state);
    free(*state);
    return 0;
}

/* A call with that `_meta`, which waits. meta: the members. */
static const Call *hold(Rig *rig, const char *tag, const char *meta)
{
    char text[2048];

    (void)snprintf(text, sizeof(text),
                   "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"method\":\"tools/call\",\"params\":{"
                   "\"name\":\"hold\",\"arguments\":{\"tag\":\"%s\"},\"_meta\":{%s}}}",
                   tag, tag, meta);
    assert_int_equal(rig_receive_text(rig, text), 0);
    return rig_held(rig, tag);
}

static void expect_call(const Call *call, unsigned can, CallLogLevel level, bool wants_progress)
{
    assert_non_null(call);
    assert_int_equal(call->can, can);
    assert_int_equal(call->log_level, level);
    assert_int_equal(call->wants_progress, wants_progress);
}

static void expect_error(Rig *rig, const char *part)
{
    const char *message = rig_take(rig);

    assert_non_null(message);
    assert_non_null(strstr(message, part));
    mcp_schema_assert_message(MCP_2026_07_28, "tools/call", span_from_str(message));
}

static void what_is_said_again_counts_again(void **state)
{
    expect_call(hold(*state, "1", ASKS), CALL_CAN_FORM, CALL_LOG_DEBUG, false);
    expect_call(hold(*state, "2", ASKS), CALL_CAN_FORM, CALL_LOG_DEBUG, false);
    expect_call(hold(*state, "3", ASKS), CALL_CAN_FORM, CALL_LOG_DEBUG, false);
}

static void what_is_said_otherwise_counts_otherwise(void **state)
{
    expect_call(hold(*state, "1", ASKS), CALL_CAN_FORM, CALL_LOG_DEBUG, false);
    expect_call(hold(*state, "2", SILENT), 0, CALL_LOG_NONE, false);
    expect_call(hold(*state, "3", ASKS), CALL_CAN_FORM, CALL_LOG_DEBUG, false);
}

static void a_progress_token_is_of_one_request(void **state)
{
    expect_call(hold(*state, "1", ASKS ",\"progressToken\":7"), CALL_CAN_FORM, CALL_LOG_DEBUG,
                true);
    expect_call(hold(*state, "2", ASKS), CALL_CAN_FORM, CALL_LOG_DEBUG, false);
    expect_call(hold(*state, "3", ASKS ",\"progressToken\":7"), CALL_CAN_FORM, CALL_LOG_DEBUG,
                true);
}

/* 511, 512, 513 and many bytes: longer than what a session remembers. */
static void long_metas_are_read_each_time(void **state)
{
    const size_t sizes[] = {511, 512, 513, 1500};
    char tag[16];
    char meta[1600];

    for (size_t i = 0; i < 16; i++) {
        bool asks = i % 4 < 2;
        const char *head = asks ? ASKS : SILENT;
        size_t n_rest = strlen(head) + strlen(",\"x\":\"\"") + strlen("{}");

        (void)snprintf(tag, sizeof(tag), "%zu", i);
        (void)snprintf(meta, sizeof(meta), "%s,\"x\":\"%0*d\"", head, (int)(sizes[i / 4] - n_rest),
                       0);
        expect_call(hold(*state, tag, meta), asks ? CALL_CAN_FORM : 0u,
                    asks ? CALL_LOG_DEBUG : CALL_LOG_NONE, false);
    }
}

static void what_was_refused_is_refused_again(void **state)
{
    const char *bad = HEAD "\"io.modelcontextprotocol/clientCapabilities\":{\"roots\":1}";
    const char *future = "\"io.modelcontextprotocol/protocolVersion\":\"2099-01-01\","
                         "\"io.modelcontextprotocol/clientCapabilities\":{}";

    for (int i = 0; i < 2; i++) {
        assert_null(hold(*state, "1", bad));
        expect_error(*state, ".roots must be an object");
        assert_null(hold(*state, "1", future));
        expect_error(*state, "-32022");
    }
}

/* The session of the older era stays what it was. */
static void a_batch_may_not_say_it_either(void **state)
{
    Rig *rig = *state;

    assert_int_equal(
        rig_receive_text(rig, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
                              "\"protocolVersion\":\"2025-03-26\",\"capabilities\":{}}}"),
        0);
    assert_non_null(rig_take(rig));
    expect_call(hold(rig, "1", SILENT), 0, CALL_LOG_NONE, false);
    assert_int_equal(
        rig_receive_text(
            rig, "[{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{"
                 "\"name\":\"hold\",\"arguments\":{\"tag\":\"2\"},\"_meta\":{" SILENT "}}}]"),
        0);
    assert_non_null(strstr(rig_take(rig), "must not be in a batch"));
    assert_null(rig_held(rig, "2"));
}

#define SESSION_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SESSION_TEST(what_is_said_again_counts_again),
        SESSION_TEST(what_is_said_otherwise_counts_otherwise),
        SESSION_TEST(a_progress_token_is_of_one_request),
        SESSION_TEST(long_metas_are_read_each_time),
        SESSION_TEST(what_was_refused_is_refused_again),
        SESSION_TEST(a_batch_may_not_say_it_either),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

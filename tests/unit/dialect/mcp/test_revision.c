#include "dialect/mcp/revision.h"

#include "support/cmocka.h"

static void every_revision_reads_back_from_its_text(void **state)
{
    (void)state;
    for (int i = 0; i < MCP_N_REVISIONS; i++) {
        McpRevision back = MCP_N_REVISIONS;

        assert_true(mcp_revision_parse(mcp_revision_text((McpRevision)i), &back));
        assert_int_equal(back, i);
    }
}

static void revisions_are_in_order_of_time(void **state)
{
    (void)state;
    for (int i = 1; i < MCP_N_REVISIONS; i++) {
        assert_true(span_compare(mcp_revision_text((McpRevision)(i - 1)),
                                 mcp_revision_text((McpRevision)i)) < 0);
    }
    assert_true(span_equals(mcp_revision_text(MCP_NEWEST_LEGACY), SPAN("2025-11-25")));
    assert_true(span_equals(mcp_revision_text(MCP_FIRST_MODERN), SPAN("2026-07-28")));
}

static void unknown_versions_are_not_parsed(void **state)
{
    static const char *const others[] = {"",           "2024-11-0",  "2024-11-055", "2099-01-01",
                                         "2026-07-29", "2026/07/28", "draft",       " 2026-07-28"};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(others); i++) {
        McpRevision revision = MCP_N_REVISIONS;

        assert_false(mcp_revision_parse(span_from_str(others[i]), &revision));
        assert_int_equal(revision, MCP_N_REVISIONS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_revision_reads_back_from_its_text),
        cmocka_unit_test(revisions_are_in_order_of_time),
        cmocka_unit_test(unknown_versions_are_not_parsed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

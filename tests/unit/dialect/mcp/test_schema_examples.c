/* The official schemas and examples of MCP, through our own validator; and the checks that the
 * other tests of this folder rely on, shown to be able to fail. */
#include "support/mcp_schema.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/cmocka.h"
#include "support/files.h"

#define FOLDER    TW_SHARED_DATA "/mcp-schema/2026-07-28/examples"
#define MAX_BYTES ((size_t)1 << 24)

static void check_example(const char *definition, const char *file)
{
    char path[4096];
    char why[1024] = "";
    Arena arena;
    JsonDoc doc;
    size_t n;
    char *text;

    (void)snprintf(path, sizeof(path), FOLDER "/%s/%s", definition, file);
    text = files_read(path, &n);
    arena_init(&arena, MAX_BYTES);
    assert_int_equal(json_parse(&doc, &arena, text, n, NULL, NULL), 0);
    if (!mcp_schema_is_valid(MCP_2026_07_28, definition, json_root(&doc), why, sizeof(why))) {
        fail_msg("%s: %s", path, why);
    }
    arena_deinit(&arena);
    free(text);
}

static void every_official_example_is_valid(void **state)
{
    size_t n_definitions = 0;
    size_t n_examples = 0;
    char **definitions = files_list(FOLDER, "", &n_definitions);

    (void)state;
    for (size_t i = 0; i < n_definitions; i++) {
        char folder[4096];
        size_t n_files = 0;
        char **names;

        (void)snprintf(folder, sizeof(folder), FOLDER "/%s", definitions[i]);
        names = files_list(folder, ".json", &n_files);
        for (size_t k = 0; k < n_files; k++) {
            check_example(definitions[i], names[k]);
        }
        n_examples += n_files;
        files_list_free(names);
    }
    files_list_free(definitions);
    printf("%zu examples of %zu definitions\n", n_examples, n_definitions);
    assert_true(n_examples > 0);
}

static void every_revision_refuses_a_number_for_an_object(void **state)
{
    size_t n = 0;

    (void)state;
    for (int i = 0; i < MCP_N_REVISIONS; i++) {
        static const char *const names[] = {"JSONRPCMessage", "ClientRequest", "ServerNotification",
                                            "ServerResult",   "ClientResult",  "Tool"};

        for (size_t k = 0; k < TW_ARRAY_SIZE(names); k++) {
            Arena arena;
            JsonDoc doc;

            arena_init(&arena, MAX_BYTES);
            assert_int_equal(json_parse(&doc, &arena, "42", 2, NULL, NULL), 0);
            assert_false(mcp_schema_is_valid((McpRevision)i, names[k], json_root(&doc), NULL, 0));
            arena_deinit(&arena);
            n++;
        }
    }
    printf("%zu definitions\n", n);
}

static void what_breaks_a_definition_is_refused(void **state)
{
    static const struct {
        McpRevision revision;
        const char *definition;
        const char *text;
    } bad[] = {
        {MCP_2026_07_28, "CallToolResult", "{\"content\":[]}"},
        {MCP_2026_07_28, "ListToolsResult", "{\"resultType\":\"complete\",\"tools\":[]}"},
        {MCP_2024_11_05, "CallToolResult", "{\"content\":[{\"type\":\"audio\"}]}"},
        {MCP_2025_03_26, "CallToolResult",
         "{\"content\":[{\"type\":\"resource_link\",\"uri\":\"x:/\",\"name\":\"n\"}]}"},
        {MCP_2025_06_18, "CallToolResult", "{\"content\":[],\"structuredContent\":[1]}"},
        {MCP_2025_06_18, "Tool",
         "{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\"},\"outputSchema\":{\"type\":"
         "\"array\"}}"},
        {MCP_2025_11_25, "JSONRPCErrorResponse",
         "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1,\"message\":\"m\"}}"},
        {MCP_2025_11_25, "ElicitRequest",
         "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"elicitation/create\",\"params\":{\"mode\":"
         "\"url\",\"message\":\"m\",\"url\":\"https://example.org/\"}}"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(bad); i++) {
        char why[512] = "";
        Arena arena;
        JsonDoc doc;
        Span text = span_from_str(bad[i].text);

        arena_init(&arena, MAX_BYTES);
        assert_int_equal(json_parse(&doc, &arena, text.p, text.n, NULL, NULL), 0);
        assert_false(mcp_schema_is_valid(bad[i].revision, bad[i].definition, json_root(&doc), why,
                                         sizeof(why)));
        assert_true(why[0] != '\0');
        arena_deinit(&arena);
    }
}

static void messages_of_clients_are_known_by_their_method(void **state)
{
    (void)state;
    for (int i = 0; i < MCP_FIRST_MODERN; i++) {
        mcp_schema_assert_client_message(
            (McpRevision)i, NULL,
            SPAN("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
                 "\"protocolVersion\":\"x\",\"capabilities\":{},\"clientInfo\":{\"name\":\"n\","
                 "\"version\":\"1\"}}}"));
        mcp_schema_assert_client_message(
            (McpRevision)i, NULL,
            SPAN("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"));
        mcp_schema_assert_client_message(
            (McpRevision)i, "roots/list",
            SPAN("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"roots\":[]}}"));
    }
    mcp_schema_assert_client_message(
        MCP_2026_07_28, NULL,
        SPAN("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{\"_meta\":{"
             "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
             "\"io.modelcontextprotocol/clientCapabilities\":{}}}}"));
    mcp_schema_assert_client_message(MCP_2026_07_28, NULL,
                                     SPAN("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
                                          "cancelled\",\"params\":{\"requestId\":1}}"));
}

typedef struct Refused {
    McpRevision revision;
    McpSchemaSide side;
    const char *method;
    const char *text;
} Refused;

/* What the assertions of the other tests must find. */
static const Refused refused[] = {
    {MCP_2025_11_25, MCP_SCHEMA_SERVER, NULL, "{"},
    {MCP_2025_11_25, MCP_SCHEMA_SERVER, NULL, "{\"jsonrpc\":\"2.0\",\n\"id\":1,\"result\":{}}"},
    {MCP_2025_11_25, MCP_SCHEMA_SERVER, NULL, "{\"jsonrpc\":\"2.0\",\"id\":1}"},
    {MCP_2025_11_25, MCP_SCHEMA_SERVER, NULL, "{\"id\":1,\"result\":{}}"},
    {MCP_2025_11_25, MCP_SCHEMA_SERVER, NULL, "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"result\":{}}"},
    {MCP_2025_11_25, MCP_SCHEMA_SERVER, NULL,
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"more\":1}"},
    /* Fields of one era in the other. */
    {MCP_2025_11_25, MCP_SCHEMA_SERVER, "ping",
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":\"complete\"}}"},
    {MCP_2025_11_25, MCP_SCHEMA_SERVER, "tools/list",
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[],\"ttlMs\":1}}"},
    {MCP_2026_07_28, MCP_SCHEMA_SERVER, "tools/list",
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[]}}"},
    {MCP_2026_07_28, MCP_SCHEMA_SERVER, "server/discover",
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":\"complete\",\"capabilities\":{},"
     "\"supportedVersions\":[],\"ttlMs\":0,\"cacheScope\":\"public\",\"serverInfo\":{\"name\":"
     "\"n\",\"version\":\"1\"}}}"},
    {MCP_2025_03_26, MCP_SCHEMA_SERVER, "tools/call",
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[],\"structuredContent\":{}}}"},
    /* What this side may not say. */
    {MCP_2026_07_28, MCP_SCHEMA_SERVER, NULL,
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"roots/list\"}"},
    {MCP_2025_11_25, MCP_SCHEMA_SERVER, NULL,
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}"},
    {MCP_2025_11_25, MCP_SCHEMA_CLIENT, NULL,
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"roots/list\"}"},
    {MCP_2025_11_25, MCP_SCHEMA_SERVER, NULL,
     "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"},
    {MCP_2025_06_18, MCP_SCHEMA_SERVER, NULL,
     "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\"}"},
    {MCP_2026_07_28, MCP_SCHEMA_CLIENT, NULL, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"},
    {MCP_2026_07_28, MCP_SCHEMA_CLIENT, NULL,
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{}}"},
    /* Errors. */
    {MCP_2024_11_05, MCP_SCHEMA_SERVER, NULL,
     "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":1,\"message\":\"m\"}}"},
    {MCP_2024_11_05, MCP_SCHEMA_SERVER, NULL,
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"message\":\"m\"}}"},
    {MCP_2024_11_05, MCP_SCHEMA_SERVER, NULL,
     "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1}}"},
    {MCP_2026_07_28, MCP_SCHEMA_SERVER, NULL,
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32022,\"message\":\"m\"}}"},
    {MCP_2026_07_28, MCP_SCHEMA_SERVER, NULL,
     "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32021,\"message\":\"m\",\"data\":{"
     "\"requiredCapabilities\":[]}}}"},
};

static void messages_that_break_the_schema_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(refused); i++) {
        if (mcp_schema_allows(refused[i].revision, refused[i].side, refused[i].method,
                              span_from_str(refused[i].text))) {
            fail_msg("allowed: %s", refused[i].text);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_official_example_is_valid),
        cmocka_unit_test(every_revision_refuses_a_number_for_an_object),
        cmocka_unit_test(what_breaks_a_definition_is_refused),
        cmocka_unit_test(messages_that_break_the_schema_are_refused),
        cmocka_unit_test(messages_of_clients_are_known_by_their_method),
    };

    mcp_schema_require();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

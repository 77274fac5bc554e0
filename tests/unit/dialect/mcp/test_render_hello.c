#include "dialect/mcp/render.h"

#include "unit/dialect/mcp/render_support.h"

static const McpOffer everything = {.tools = true,
                                    .resources = true,
                                    .prompts = true,
                                    .completions = true,
                                    .logging = true,
                                    .lists_change = true};

static Span initialize(Render *render, McpRevision revision, const McpOffer *offer,
                       const McpIdentity *identity)
{
    McpReply reply = {.revision = revision, .id = SPAN("1"), .identity = identity};

    bytes_clear(&render->out);
    assert_int_equal(mcp_render_initialize(&render->out, &reply, offer), 0);
    mcp_schema_assert_message(revision, "initialize", bytes_span(&render->out));
    return bytes_span(&render->out);
}

static Span discover(Render *render, const McpOffer *offer, const McpIdentity *identity)
{
    McpReply reply = {.revision = MCP_2026_07_28, .id = SPAN("\"d\""), .identity = identity};

    bytes_clear(&render->out);
    assert_int_equal(mcp_render_discover(&render->out, &reply, offer), 0);
    mcp_schema_assert_message(MCP_2026_07_28, "server/discover", bytes_span(&render->out));
    return bytes_span(&render->out);
}

#define ALL_BUT_COMPLETIONS                                                                        \
    "\"capabilities\":{\"tools\":{\"listChanged\":true},\"resources\":{\"subscribe\":true,"        \
    "\"listChanged\":true},\"prompts\":{\"listChanged\":true},\"logging\":{}"
#define INSTRUCTIONS "\"instructions\":\"Ask first.\\nThen call.\""

static void initialize_says_what_each_revision_can_hear(void **state)
{
    static const char *const want[MCP_FIRST_MODERN] = {
        [MCP_2024_11_05] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":"
                           "\"2024-11-05\"," ALL_BUT_COMPLETIONS "},\"serverInfo\":{\"name\":"
                           "\"toolwire\",\"version\":\"1.2.3\"}," INSTRUCTIONS "}}",
        [MCP_2025_03_26] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":"
                           "\"2025-03-26\"," ALL_BUT_COMPLETIONS
                           ",\"completions\":{}},\"serverInfo\":{\"name\":\"toolwire\","
                           "\"version\":\"1.2.3\"}," INSTRUCTIONS "}}",
        [MCP_2025_06_18] =
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":"
            "\"2025-06-18\"," ALL_BUT_COMPLETIONS
            ",\"completions\":{}},\"serverInfo\":{\"name\":\"toolwire\","
            "\"version\":\"1.2.3\",\"title\":\"The \\\"wire\\\"\"}," INSTRUCTIONS "}}",
        [MCP_2025_11_25] =
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":"
            "\"2025-11-25\"," ALL_BUT_COMPLETIONS ",\"completions\":{}},\"serverInfo\":{"
            "\"name\":\"toolwire\",\"version\":\"1.2.3\",\"title\":\"The \\\"wire\\\"\","
            "\"description\":\"One wire\",\"websiteUrl\":\"https://example.org/\","
            "\"icons\":[{\"src\":\"data:,x\"}]}," INSTRUCTIONS "}}",
    };

    for (int i = 0; i < MCP_FIRST_MODERN; i++) {
        assert_text(initialize(*state, (McpRevision)i, &everything, &render_identity), want[i]);
    }
}

static void what_is_not_there_is_not_offered(void **state)
{
    static const McpIdentity plain = {.name = {"n", 1}, .version = {"0", 1}};
    McpOffer nothing = {0};

    for (int i = 0; i < MCP_FIRST_MODERN; i++) {
        Span text = initialize(*state, (McpRevision)i, &nothing, &plain);

        assert_true(text_holds(text, "\"capabilities\":{},\"serverInfo\":{\"name\":\"n\","
                                     "\"version\":\"0\"}}}"));
    }
    assert_text(discover(*state, &nothing, &plain),
                "{\"jsonrpc\":\"2.0\",\"id\":\"d\",\"result\":{\"resultType\":\"complete\","
                "\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{},\"ttlMs\":60000,"
                "\"cacheScope\":\"public\",\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{"
                "\"name\":\"n\",\"version\":\"0\"}}}}");
}

static void each_offer_is_a_capability_of_its_own(void **state)
{
    static const struct {
        McpOffer offer;
        const char *want;
    } cases[] = {
        {{.tools = true, .lists_change = true},
         "\"capabilities\":{\"tools\":{\"listChanged\":true}}"},
        {{.resources = true, .lists_change = true},
         "\"capabilities\":{\"resources\":{\"subscribe\":true,\"listChanged\":true}}"},
        {{.prompts = true, .lists_change = true},
         "\"capabilities\":{\"prompts\":{\"listChanged\":true}}"},
        {{.tools = true}, "\"capabilities\":{\"tools\":{}}"},
        {{.resources = true}, "\"capabilities\":{\"resources\":{\"subscribe\":true}}"},
        {{.prompts = true}, "\"capabilities\":{\"prompts\":{}}"},
        {{.lists_change = true}, "\"capabilities\":{}"},
        {{.completions = true}, "\"capabilities\":{\"completions\":{}}"},
        {{.logging = true}, "\"capabilities\":{\"logging\":{}}"},
    };

    for (size_t c = 0; c < TW_ARRAY_SIZE(cases); c++) {
        assert_true(text_holds(
            initialize(*state, MCP_2025_11_25, &cases[c].offer, &render_identity), cases[c].want));
        assert_true(text_holds(discover(*state, &cases[c].offer, &render_identity), cases[c].want));
    }
}

static void discover_tells_everything_once(void **state)
{
    assert_text(
        discover(*state, &everything, &render_identity),
        "{\"jsonrpc\":\"2.0\",\"id\":\"d\",\"result\":{\"resultType\":\"complete\","
        "\"supportedVersions\":[\"2026-07-28\"]," ALL_BUT_COMPLETIONS
        ",\"completions\":{}}," INSTRUCTIONS ",\"ttlMs\":60000,\"cacheScope\":\"public\","
        "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"toolwire\",\"version\":"
        "\"1.2.3\",\"title\":\"The \\\"wire\\\"\",\"description\":\"One wire\",\"websiteUrl\":"
        "\"https://example.org/\",\"icons\":[{\"src\":\"data:,x\"}]}}}}");
}

static void refused_version_is_repeated_beside_those_we_speak(void **state)
{
    Render *render = *state;

    bytes_clear(&render->out);
    assert_int_equal(mcp_render_unsupported_version(&render->out, SPAN("3"), SPAN("2099-\"01\"")),
                     0);
    mcp_schema_assert_message(MCP_2026_07_28, "tools/call", bytes_span(&render->out));
    assert_text(bytes_span(&render->out),
                "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-32022,\"message\":"
                "\"Unsupported protocol version\",\"data\":{\"supported\":[\"2026-07-28\"],"
                "\"requested\":\"2099-\\\"01\\\"\"}}}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(initialize_says_what_each_revision_can_hear),
        cmocka_unit_test(what_is_not_there_is_not_offered),
        cmocka_unit_test(each_offer_is_a_capability_of_its_own),
        cmocka_unit_test(discover_tells_everything_once),
        cmocka_unit_test(refused_version_is_repeated_beside_those_we_speak),
    };

    mcp_schema_require();
    return cmocka_run_group_tests(tests, render_setup, render_teardown);
}

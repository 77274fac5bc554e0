#include "dialect/mcp/render_part.h"

#include "unit/dialect/mcp/render_support.h"

/* Which definition of the schemas a part is. */
static const char *const definitions[MCP_N_PARTS] = {
    [MCP_PART_TOOL] = "Tool",
    [MCP_PART_RESOURCE] = "Resource",
    [MCP_PART_TEMPLATE] = "ResourceTemplate",
    [MCP_PART_PROMPT] = "Prompt",
    [MCP_PART_PROMPT_ARGUMENT] = "PromptArgument",
    [MCP_PART_TEXT] = "TextContent",
    [MCP_PART_IMAGE] = "ImageContent",
    [MCP_PART_AUDIO] = "AudioContent",
    [MCP_PART_EMBEDDED] = "EmbeddedResource",
    [MCP_PART_LINK] = "ResourceLink",
    [MCP_PART_CONTENTS] = "TextResourceContents",
};

static JsonValue parse(Render *render, Span text)
{
    JsonDoc doc;

    assert_int_equal(json_parse(&doc, &render->scratch, text.p, text.n, NULL, NULL), 0);
    return json_root(&doc);
}

static Span render_part(Render *render, McpRevision revision, McpPart part, JsonValue value)
{
    McpOut o;

    bytes_clear(&render->out);
    o = mcp_out_begin(&render->out);
    mcp_out_part(&o, revision, part, value);
    assert_int_equal(mcp_out_finish(&o), 0);
    return bytes_span(&render->out);
}

/* An object with every member that the part has in any revision. */
static void every_member(McpPart part, Bytes *out)
{
    assert_int_equal(bytes_append_byte(out, '{'), 0);
    for (int i = 0; i < MCP_N_REVISIONS; i++) {
        JsonValue def;
        JsonValue properties;

        if (!mcp_schema_definition((McpRevision)i, definitions[part], &def)) {
            continue;
        }
        assert_true(json_get(def, SPAN("properties"), &properties));
        for (JsonIter it = json_iter(properties); json_iter_next(&it);) {
            Span key = json_span(it.key);

            assert_int_equal(bytes_append_format(out, "%s%.*s:{\"type\":\"object\"}",
                                                 out->n > 1 ? "," : "", (int)key.n, key.p),
                             0);
        }
    }
    assert_int_equal(bytes_append_byte(out, '}'), 0);
}

/* The table holds what the five schemas say, and nothing else. */
static void parts_keep_exactly_what_the_schema_of_the_revision_has(void **state)
{
    Render *render = *state;
    size_t n_dropped = 0;

    for (int part = 0; part < MCP_N_PARTS; part++) {
        Bytes all;

        bytes_init(&all, RENDER_MAX_BYTES);
        every_member((McpPart)part, &all);
        for (int i = 0; i < MCP_N_REVISIONS; i++) {
            JsonValue whole = parse(render, bytes_span(&all));
            JsonValue def;
            JsonValue properties;
            JsonValue got;

            if (!mcp_schema_definition((McpRevision)i, definitions[part], &def)) {
                continue;
            }
            assert_true(json_get(def, SPAN("properties"), &properties));
            got = parse(render, render_part(render, (McpRevision)i, (McpPart)part, whole));
            for (JsonIter it = json_iter(whole); json_iter_next(&it);) {
                JsonValue ignored;
                Span key;

                assert_true(json_string_plain(it.key, &key));
                if (json_get(got, key, &ignored) != json_get(properties, key, &ignored)) {
                    fail_msg("%s of %s: %.*s", definitions[part],
                             mcp_revision_text((McpRevision)i).p, (int)key.n, key.p);
                }
                n_dropped += json_get(got, key, &ignored) ? 0 : 1;
            }
            arena_reset(&render->scratch, RENDER_MAX_BYTES);
        }
        bytes_deinit(&all);
    }
    assert_true(n_dropped > 50);
}

#define TOOL_2026                                                                                  \
    "{ \"name\":\"t\",\"title\":\"T\",\"x-vendor\":[ 1.0 ],\"inputSchema\":{\"type\":\"object\"}"
#define TOOL_REST                                                                                  \
    ",\"outputSchema\":{\"type\":\"object\"},\"annotations\":{},\"icons\":[],\"_meta\":{}"

static void what_the_revision_knows_is_spliced_byte_for_byte(void **state)
{
    Render *render = *state;
    const char *text = TOOL_2026 TOOL_REST " }";

    assert_text(
        render_part(render, MCP_2026_07_28, MCP_PART_TOOL, parse(render, span_from_str(text))),
        text);
    assert_text(
        render_part(render, MCP_2025_11_25, MCP_PART_TOOL, parse(render, span_from_str(text))),
        text);
}

static void unknown_members_survive_in_every_revision(void **state)
{
    Render *render = *state;
    JsonValue tool = parse(render, SPAN(TOOL_2026 TOOL_REST "}"));

    for (int i = 0; i < MCP_N_REVISIONS; i++) {
        assert_true(text_holds(render_part(render, (McpRevision)i, MCP_PART_TOOL, tool),
                               "\"x-vendor\":[ 1.0 ]"));
    }
    assert_text(render_part(render, MCP_2024_11_05, MCP_PART_TOOL, tool),
                "{\"name\":\"t\",\"x-vendor\":[ 1.0 ],\"inputSchema\":{\"type\":\"object\"}}");
}

static void escaped_names_of_members_are_recognised(void **state)
{
    Render *render = *state;
    JsonValue tool = parse(render, SPAN("{\"\\u0074itle\":1,\"n\":2,\"title\":3}"));

    assert_text(render_part(render, MCP_2025_03_26, MCP_PART_TOOL, tool), "{\"n\":2}");
}

static void output_schema_of_legacy_eras_has_an_object_at_its_root(void **state)
{
    static const char *const others[] = {
        "{\"name\":\"t\",\"outputSchema\":{\"type\":\"array\"}}",
        "{\"name\":\"t\",\"outputSchema\":{}}",
        "{\"name\":\"t\",\"outputSchema\":true}",
        "{\"name\":\"t\",\"outputSchema\":{\"type\":[\"object\"]}}",
    };
    Render *render = *state;

    for (size_t i = 0; i < TW_ARRAY_SIZE(others); i++) {
        JsonValue tool = parse(render, span_from_str(others[i]));

        assert_text(render_part(render, MCP_2025_06_18, MCP_PART_TOOL, tool), "{\"name\":\"t\"}");
        assert_text(render_part(render, MCP_2025_11_25, MCP_PART_TOOL, tool), "{\"name\":\"t\"}");
        assert_text(render_part(render, MCP_2026_07_28, MCP_PART_TOOL, tool), others[i]);
    }
}

static void arguments_of_prompts_are_filtered_too(void **state)
{
    Render *render = *state;
    const char *text =
        "{\"name\":\"p\",\"arguments\":[{\"name\":\"a\",\"title\":\"A\"},{\"name\":\"b\"},7]}";
    JsonValue prompt = parse(render, span_from_str(text));

    assert_text(render_part(render, MCP_2025_03_26, MCP_PART_PROMPT, prompt),
                "{\"name\":\"p\",\"arguments\":[{\"name\":\"a\"},{\"name\":\"b\"},7]}");
    assert_text(render_part(render, MCP_2025_06_18, MCP_PART_PROMPT, prompt), text);
}

static void embedded_contents_are_filtered_too(void **state)
{
    Render *render = *state;
    const char *text =
        "{\"type\":\"resource\",\"resource\":{\"uri\":\"x:/\",\"text\":\"\",\"_meta\":{}}}";
    JsonValue block = parse(render, span_from_str(text));

    assert_text(render_part(render, MCP_2025_03_26, MCP_PART_EMBEDDED, block),
                "{\"type\":\"resource\",\"resource\":{\"uri\":\"x:/\",\"text\":\"\"}}");
    assert_text(render_part(render, MCP_2025_06_18, MCP_PART_EMBEDDED, block), text);
}

typedef struct ListCase {
    CallVerb verb;
    const char *entry;
    const char *oldest;
} ListCase;

static const ListCase list_cases[] = {
    {CALL_LIST_TOOLS,
     "{\"name\":\"t\",\"title\":\"T\",\"description\":\"d\",\"icons\":[{\"src\":\"data:,x\"}],"
     "\"inputSchema\":{\"type\":\"object\"},\"outputSchema\":{\"type\":\"object\"},"
     "\"annotations\":{\"readOnlyHint\":true},\"execution\":{\"taskSupport\":\"forbidden\"},"
     "\"_meta\":{\"a\":1}}",
     "{\"name\":\"t\",\"description\":\"d\",\"inputSchema\":{\"type\":\"object\"}}"},
    {CALL_LIST_RESOURCES,
     "{\"uri\":\"x:/a\",\"name\":\"a\",\"title\":\"A\",\"description\":\"d\",\"mimeType\":\"t/p\","
     "\"size\":12,\"annotations\":{\"priority\":1},\"icons\":[],\"_meta\":{}}",
     "{\"uri\":\"x:/a\",\"name\":\"a\",\"description\":\"d\",\"mimeType\":\"t/p\",\"size\":12,"
     "\"annotations\":{\"priority\":1}}"},
    {CALL_LIST_TEMPLATES,
     "{\"uriTemplate\":\"x:/{a}\",\"name\":\"a\",\"title\":\"A\",\"icons\":[],\"_meta\":{}}",
     "{\"uriTemplate\":\"x:/{a}\",\"name\":\"a\"}"},
    {CALL_LIST_PROMPTS,
     "{\"name\":\"p\",\"title\":\"P\",\"arguments\":[{\"name\":\"a\",\"title\":\"A\",\"required\":"
     "true}],\"icons\":[],\"_meta\":{}}",
     "{\"name\":\"p\",\"arguments\":[{\"name\":\"a\",\"required\":true}]}"},
};

static void lists_are_valid_in_every_revision(void **state)
{
    Arena arena;

    arena_init(&arena, RENDER_MAX_BYTES);
    for (size_t c = 0; c < TW_ARRAY_SIZE(list_cases); c++) {
        JsonValue entries[2];
        JsonDoc doc;
        CallResult result = {.kind = CALL_RESULT_LIST,
                             .entries = entries,
                             .n_entries = 2,
                             .next_cursor = SPAN("c\"2")};

        assert_int_equal(
            json_parse(&doc, &arena, list_cases[c].entry, strlen(list_cases[c].entry), NULL, NULL),
            0);
        entries[0] = json_root(&doc);
        entries[1] = json_root(&doc);
        for (int i = 0; i < MCP_N_REVISIONS; i++) {
            Span text = render_result(*state, (McpRevision)i, list_cases[c].verb, &result);
            char want[512];

            assert_true(text_holds(text, "\"nextCursor\":\"c\\\"2\""));
            assert_int_equal(text_holds(text, "\"ttlMs\":60000,\"cacheScope\":\"public\""),
                             i >= MCP_FIRST_MODERN);
            assert_int_equal(text_holds(text, "\"execution\""), c == 0 && i == MCP_2025_11_25);
            if (i == MCP_2024_11_05) {
                (void)snprintf(want, sizeof(want), ":[%s,%s],", list_cases[c].oldest,
                               list_cases[c].oldest);
                assert_true(text_holds(text, want));
            }
        }
    }
    arena_deinit(&arena);
}

static void last_page_has_no_cursor(void **state)
{
    CallResult result = {.kind = CALL_RESULT_LIST};

    assert_text(render_result(*state, MCP_2025_11_25, CALL_LIST_TOOLS, &result),
                "{\"jsonrpc\":\"2.0\",\"id\":\"a-1\",\"result\":{\"tools\":[]}}");
    assert_text(render_result(*state, MCP_2026_07_28, CALL_LIST_PROMPTS, &result),
                "{\"jsonrpc\":\"2.0\",\"id\":\"a-1\",\"result\":{\"resultType\":\"complete\","
                "\"prompts\":[],\"ttlMs\":60000,\"cacheScope\":\"public\"," RENDER_META "}}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_keep_exactly_what_the_schema_of_the_revision_has),
        cmocka_unit_test(what_the_revision_knows_is_spliced_byte_for_byte),
        cmocka_unit_test(unknown_members_survive_in_every_revision),
        cmocka_unit_test(escaped_names_of_members_are_recognised),
        cmocka_unit_test(output_schema_of_legacy_eras_has_an_object_at_its_root),
        cmocka_unit_test(arguments_of_prompts_are_filtered_too),
        cmocka_unit_test(embedded_contents_are_filtered_too),
        cmocka_unit_test(lists_are_valid_in_every_revision),
        cmocka_unit_test(last_page_has_no_cursor),
    };

    mcp_schema_require();
    return cmocka_run_group_tests(tests, render_setup, render_teardown);
}

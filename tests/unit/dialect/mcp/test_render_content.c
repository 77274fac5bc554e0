#include "dialect/mcp/render_content.h"

#include "unit/dialect/mcp/render_support.h"
#include "unit/json/parsed.h"

#define TEXT  "{\"type\":\"text\",\"text\":\"t\",\"_meta\":{\"m\":1}}"
#define IMAGE "{\"type\":\"image\",\"data\":\"AAAA\",\"mimeType\":\"image/png\",\"_meta\":{}}"
#define AUDIO                                                                                      \
    "{\"type\":\"audio\",\"data\":\"AAAAAA==\",\"mimeType\":\"audio/wav\","                        \
    "\"annotations\":{\"priority\":1}}"
#define EMBEDDED                                                                                   \
    "{\"type\":\"resource\",\"resource\":{\"uri\":\"x:/a\",\"text\":\"t\",\"_meta\":{}}}"
#define LINK                                                                                       \
    "{\"type\":\"resource_link\",\"uri\":\"x:/\\\"b\\\"\",\"name\":\"b\",\"mimeType\":\"t/p\","    \
    "\"size\":5,\"icons\":[]}"
#define ALL TEXT "," IMAGE "," AUDIO "," EMBEDDED "," LINK

#define AUDIO_WORDS                                                                                \
    "{\"type\":\"text\",\"text\":\"[audio, audio/wav, 4 "                                          \
    "bytes]\",\"annotations\":{\"priority\":1}}"
#define LINK_WORDS "{\"type\":\"text\",\"text\":\"[resource link: x:/\\\"b\\\", b, t/p, 5 bytes]\"}"

static CallResult tool_of(const Span *piece, uint32_t kinds)
{
    return (CallResult){
        .kind = CALL_RESULT_TOOL, .pieces = piece, .n_pieces = 1, .content_kinds = kinds};
}

static void every_block_has_a_form_in_every_revision(void **state)
{
    static const char *const want[MCP_N_REVISIONS] = {
        [MCP_2024_11_05] =
            "\"content\":[{\"type\":\"text\",\"text\":\"t\"},{\"type\":\"image\",\"data\":\"AAAA\","
            "\"mimeType\":\"image/png\"}," AUDIO_WORDS ",{\"type\":\"resource\",\"resource\":{"
            "\"uri\":\"x:/a\",\"text\":\"t\"}}," LINK_WORDS "]",
        [MCP_2025_03_26] =
            "\"content\":[{\"type\":\"text\",\"text\":\"t\"},{\"type\":\"image\",\"data\":\"AAAA\","
            "\"mimeType\":\"image/png\"}," AUDIO ",{\"type\":\"resource\",\"resource\":{"
            "\"uri\":\"x:/a\",\"text\":\"t\"}}," LINK_WORDS "]",
        [MCP_2025_06_18] =
            "\"content\":[" TEXT "," IMAGE "," AUDIO "," EMBEDDED ",{\"type\":\"resource_link\","
            "\"uri\":\"x:/\\\"b\\\"\",\"name\":\"b\",\"mimeType\":\"t/p\",\"size\":5}]",
        [MCP_2025_11_25] = "\"content\":[" ALL "]",
        [MCP_2026_07_28] = "\"content\":[" ALL "]",
    };
    Span piece = SPAN(ALL);
    CallResult unknown = tool_of(&piece, CALL_CONTENT_UNKNOWN);
    CallResult unnamed = tool_of(&piece, 0);

    for (int i = 0; i < MCP_N_REVISIONS; i++) {
        assert_true(
            text_holds(render_result(*state, (McpRevision)i, CALL_TOOL, &unknown), want[i]));
        assert_true(
            text_holds(render_result(*state, (McpRevision)i, CALL_TOOL, &unnamed), want[i]));
    }
}

/* What content_kinds vouches for is not looked at: a member that older revisions lack proves it. */
static void known_kinds_are_spliced_unseen(void **state)
{
    Span piece = SPAN(TEXT " , " TEXT);
    CallResult known = tool_of(&piece, CALL_CONTENT_TEXT);
    CallResult unknown = tool_of(&piece, CALL_CONTENT_TEXT | CALL_CONTENT_UNKNOWN);

    /* (To the old schemas `_meta` is somebody's extension, which they allow.) */
    for (int i = 0; i < MCP_N_REVISIONS; i++) {
        assert_true(
            text_holds(render_result(*state, (McpRevision)i, CALL_TOOL, &known), TEXT " , " TEXT));
        assert_int_equal(
            text_holds(render_result(*state, (McpRevision)i, CALL_TOOL, &unknown), "\"m\":1"),
            i >= MCP_2025_06_18);
    }
}

/* White space, which is lost between elements that are written one by one, shows which way it went.
 */
static void content_that_the_revision_knows_is_spliced(void **state)
{
    Span blocks = SPAN(TEXT " , " EMBEDDED);
    Span contents = SPAN("{\"uri\":\"x:/a\",\"text\":\"t\"} , "
                         "{\"uri\":\"x:/b\",\"text\":\"t\",\"_meta\":{}}");
    Span messages = SPAN("{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"t\"}} , "
                         "{\"role\":\"assistant\",\"content\":" TEXT "}");
    CallResult tool = tool_of(&blocks, CALL_CONTENT_UNKNOWN);
    CallResult resource = tool_of(&contents, CALL_CONTENT_UNKNOWN);
    CallResult prompt = tool_of(&messages, CALL_CONTENT_UNKNOWN);

    resource.kind = CALL_RESULT_RESOURCE;
    prompt.kind = CALL_RESULT_PROMPT;
    for (int i = 0; i < MCP_N_REVISIONS; i++) {
        bool is_known = i >= MCP_2025_06_18;
        McpRevision revision = (McpRevision)i;

        assert_int_equal(text_holds(render_result(*state, revision, CALL_TOOL, &tool), "} , {"),
                         is_known);
        assert_int_equal(text_holds(render_result(*state, revision, CALL_READ, &resource), "} , {"),
                         is_known);
        assert_int_equal(text_holds(render_result(*state, revision, CALL_PROMPT, &prompt), "} , {"),
                         is_known);
    }
}

/* Pieces that are no JSON show that they were not parsed. */
static void what_its_provider_has_parsed_is_not_parsed_again(void **state)
{
    Span piece = SPAN("{\"type\":\"text\"");
    CallResult result = tool_of(&piece, CALL_CONTENT_UNKNOWN);
    Parsed parsed;

    parsed_str(&parsed, "[" ALL "]");
    result.elements = parsed.root;
    assert_true(text_holds(render_result(*state, MCP_2024_11_05, CALL_TOOL, &result), AUDIO_WORDS));
    parsed_free(&parsed);
}

static void named_kinds_are_walked_where_the_revision_lacks_them(void **state)
{
    Span audio = SPAN(AUDIO);
    Span link = SPAN("{\"type\":\"resource_link\",\"uri\":\"x:/c\",\"name\":\"c\"}");
    CallResult result = tool_of(&audio, CALL_CONTENT_AUDIO);

    assert_true(text_holds(render_result(*state, MCP_2024_11_05, CALL_TOOL, &result), AUDIO_WORDS));
    assert_true(text_holds(render_result(*state, MCP_2025_03_26, CALL_TOOL, &result), AUDIO));
    result = tool_of(&link, CALL_CONTENT_LINK);
    assert_true(text_holds(render_result(*state, MCP_2025_03_26, CALL_TOOL, &result),
                           "\"text\":\"[resource link: x:/c, c]\""));
    assert_true(text_holds(render_result(*state, MCP_2025_06_18, CALL_TOOL, &result),
                           "\"type\":\"resource_link\""));
}

static void pieces_may_be_cut_anywhere(void **state)
{
    static const char whole[] = ALL;

    for (size_t cut = 0; cut < sizeof(whole); cut++) {
        Span pieces[] = {span_make(whole, cut), span_make(whole + cut, sizeof(whole) - 1 - cut)};
        CallResult result = {.kind = CALL_RESULT_TOOL,
                             .pieces = pieces,
                             .n_pieces = 2,
                             .content_kinds = CALL_CONTENT_UNKNOWN};

        assert_true(text_holds(render_result(*state, MCP_2024_11_05, CALL_TOOL, &result),
                               AUDIO_WORDS ",{\"type\":\"resource\""));
    }
}

static void blocks_of_no_known_kind_become_a_text_that_names_it(void **state)
{
    static const char *const blocks[][2] = {
        {"{\"type\":\"hologram\",\"data\":1}", "[content of kind 'hologram', which"},
        {"{\"no\":\"type\"}", "[content of kind '', which"},
        {"{\"type\":7}", "[content of kind '', which"},
        {"42", "[content of kind '', which"},
    };

    for (size_t b = 0; b < TW_ARRAY_SIZE(blocks); b++) {
        Span piece = span_from_str(blocks[b][0]);
        CallResult result = tool_of(&piece, CALL_CONTENT_UNKNOWN);

        for (int i = 0; i < MCP_FIRST_MODERN; i++) {
            assert_true(text_holds(render_result(*state, (McpRevision)i, CALL_TOOL, &result),
                                   blocks[b][1]));
        }
    }
}

static void content_of_prompts_is_converted_inside_its_message(void **state)
{
    Span piece = SPAN("{\"role\":\"user\",\"content\":" LINK
                      "},{\"role\":\"assistant\",\"content\":" TEXT "}");
    CallResult result = {.kind = CALL_RESULT_PROMPT,
                         .pieces = &piece,
                         .n_pieces = 1,
                         .content_kinds = CALL_CONTENT_UNKNOWN};

    for (int i = 0; i < MCP_N_REVISIONS; i++) {
        Span text = render_result(*state, (McpRevision)i, CALL_PROMPT, &result);

        assert_int_equal(text_holds(text, "\"messages\":[{\"role\":\"user\",\"content\":" LINK_WORDS
                                          "},{\"role\":\"assistant\",\"content\":{\"type\":"
                                          "\"text\",\"text\":\"t\"}}]"),
                         i < MCP_2025_06_18);
    }
}

static void contents_of_resources_lose_what_the_revision_lacks(void **state)
{
    Span piece = SPAN("{\"uri\":\"x:/a\",\"text\":\"t\",\"_meta\":{}}");
    CallResult result = {.kind = CALL_RESULT_RESOURCE,
                         .pieces = &piece,
                         .n_pieces = 1,
                         .content_kinds = CALL_CONTENT_UNKNOWN};

    for (int i = 0; i < MCP_FIRST_MODERN; i++) {
        assert_int_equal(
            text_holds(render_result(*state, (McpRevision)i, CALL_READ, &result), "\"_meta\""),
            i >= MCP_2025_06_18);
    }
}

static void content_that_is_not_json_is_a_named_failure(void **state)
{
    Span piece = SPAN("{\"type\":\"text\"");
    CallResult result = tool_of(&piece, CALL_CONTENT_UNKNOWN);

    for (int i = 0; i < MCP_FIRST_MODERN; i++) {
        Span text = render_result(*state, (McpRevision)i, CALL_TOOL, &result);

        assert_true(text_holds(text, "malformed result"));
        assert_int_equal(text_holds(text, "\"isError\":true"), i >= MCP_2025_06_18);
    }
}

static void size_of_audio_counts_its_padding(void **state)
{
    static const char *const cases[][2] = {
        {"", "0 bytes"}, {"AAAA", "3 bytes"}, {"AAA=", "2 bytes"}, {"AA==", "1 bytes"}};

    for (size_t c = 0; c < TW_ARRAY_SIZE(cases); c++) {
        char text[128];
        Span piece;
        CallResult result;

        (void)snprintf(text, sizeof(text), "{\"type\":\"audio\",\"data\":\"%s\"}", cases[c][0]);
        piece = span_from_str(text);
        result = tool_of(&piece, CALL_CONTENT_AUDIO);
        assert_true(
            text_holds(render_result(*state, MCP_2024_11_05, CALL_TOOL, &result), cases[c][1]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_block_has_a_form_in_every_revision),
        cmocka_unit_test(known_kinds_are_spliced_unseen),
        cmocka_unit_test(content_that_the_revision_knows_is_spliced),
        cmocka_unit_test(what_its_provider_has_parsed_is_not_parsed_again),
        cmocka_unit_test(named_kinds_are_walked_where_the_revision_lacks_them),
        cmocka_unit_test(pieces_may_be_cut_anywhere),
        cmocka_unit_test(blocks_of_no_known_kind_become_a_text_that_names_it),
        cmocka_unit_test(content_of_prompts_is_converted_inside_its_message),
        cmocka_unit_test(contents_of_resources_lose_what_the_revision_lacks),
        cmocka_unit_test(content_that_is_not_json_is_a_named_failure),
        cmocka_unit_test(size_of_audio_counts_its_padding),
    };

    mcp_schema_require();
    return cmocka_run_group_tests(tests, render_setup, render_teardown);
}

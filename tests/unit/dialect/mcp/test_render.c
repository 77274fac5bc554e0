#include "dialect/mcp/render.h"

#include "support/alloc_testing.h"
#include "support/oom_sweep.h"
#include "unit/dialect/mcp/render_support.h"

/* SPAN for static arrays. */
#define PIECE(literal)                                                                             \
    {                                                                                              \
        (literal), sizeof(literal) - 1                                                             \
    }

#define HEAD "{\"jsonrpc\":\"2.0\",\"id\":\"a-1\",\"result\":{"

static const Span text_pieces[] = {PIECE("{\"type\":\"text\",\"text\":"), PIECE("\"hi \\u00e9\""),
                                   PIECE("}")};

static void tool_result_is_spliced_in_every_revision(void **state)
{
    CallResult result = CALL_RESULT_TOOL_PIECES(text_pieces, 3);

    for (int i = 0; i < MCP_N_REVISIONS; i++) {
        Span text = render_result(*state, (McpRevision)i, CALL_TOOL, &result);

        if (i < MCP_FIRST_MODERN) {
            assert_text(text, HEAD "\"content\":[{\"type\":\"text\",\"text\":\"hi \\u00e9\"}]}}");
        } else {
            assert_text(text, HEAD "\"resultType\":\"complete\",\"content\":[{\"type\":\"text\","
                                   "\"text\":\"hi \\u00e9\"}]," RENDER_META "}}");
        }
    }
}

static void tool_result_without_content_has_an_empty_array(void **state)
{
    CallResult result = {.kind = CALL_RESULT_TOOL};

    assert_text(render_result(*state, MCP_2024_11_05, CALL_TOOL, &result), HEAD "\"content\":[]}}");
}

static void failed_tool_says_so(void **state)
{
    CallResult result = CALL_RESULT_TOOL_PIECES(text_pieces, 3);

    result.is_error = true;
    for (int i = 0; i < MCP_N_REVISIONS; i++) {
        assert_true(text_holds(render_result(*state, (McpRevision)i, CALL_TOOL, &result),
                               "],\"isError\":true"));
    }
    result.is_error = false;
    assert_false(text_holds(render_result(*state, MCP_2025_11_25, CALL_TOOL, &result), "isError"));
    result.says_no_error = true;
    assert_true(text_holds(render_result(*state, MCP_2025_11_25, CALL_TOOL, &result),
                           "],\"isError\":false"));
}

static void structured_content_goes_where_the_revision_has_it(void **state)
{
    CallResult object = CALL_RESULT_TOOL_PIECES(text_pieces, 3);
    CallResult array = object;

    object.structured = SPAN("{\"n\":1.0}");
    array.structured = SPAN("[1,2]");
    for (int i = 0; i < MCP_N_REVISIONS; i++) {
        Span text = render_result(*state, (McpRevision)i, CALL_TOOL, &object);

        assert_int_equal(text_holds(text, ",\"structuredContent\":{\"n\":1.0}"),
                         i >= MCP_2025_06_18);
        assert_int_equal(text_holds(text, "structuredContent"), i >= MCP_2025_06_18);
        text = render_result(*state, (McpRevision)i, CALL_TOOL, &array);
        assert_int_equal(text_holds(text, ",\"structuredContent\":[1,2]"), i >= MCP_2026_07_28);
        assert_int_equal(text_holds(text, "structuredContent"), i >= MCP_2026_07_28);
    }
}

static void structured_content_alone_becomes_text_where_it_cannot_be_sent(void **state)
{
    CallResult result = {.kind = CALL_RESULT_TOOL, .structured = SPAN("{\"n\":1}")};

    assert_text(render_result(*state, MCP_2025_03_26, CALL_TOOL, &result),
                HEAD "\"content\":[{\"type\":\"text\",\"text\":\"{\\\"n\\\":1}\"}]}}");
    assert_text(render_result(*state, MCP_2025_06_18, CALL_TOOL, &result),
                HEAD "\"content\":[],\"structuredContent\":{\"n\":1}}}");
}

/* Rendered without the eye of the schemas, which would take them for members of another revision.
 */
static void further_members_are_passed_on(void **state)
{
    Render *render = *state;
    Span piece = SPAN("{\"type\":\"text\",\"text\":\"t\"}");
    CallResult result = CALL_RESULT_TOOL_PIECES(&piece, 1);

    result.members = SPAN("\"x\":9007199254740993,\"y\":{\"z\":1.0}");
    result.meta = SPAN("{\"a\":1}");
    for (int i = 0; i < MCP_N_REVISIONS; i++) {
        McpReply reply = render_reply((McpRevision)i, CALL_TOOL);

        bytes_clear(&render->out);
        assert_int_equal(mcp_render_result(&render->out, &render->scratch, &reply, &result), 0);
        assert_true(text_holds(bytes_span(&render->out),
                               "],\"x\":9007199254740993,\"y\":{\"z\":1.0},\"_meta\":{"));
    }
}

/* Rendered without the eye of the schemas, as above. */
static void members_beside_the_content_stand_in_for_structured_content(void **state)
{
    Render *render = *state;
    Span piece = SPAN("{\"type\":\"text\",\"text\":\"t\"}");
    CallResult result = CALL_RESULT_TOOL_PIECES(&piece, 1);

    result.structured = SPAN("{\"a\":1,\"b\":[2]}");
    result.beside = SPAN("\"a\":1,\"b\":[2]");
    result.is_error = true;
    for (int i = 0; i < MCP_N_REVISIONS; i++) {
        McpReply reply = render_reply((McpRevision)i, CALL_TOOL);

        bytes_clear(&render->out);
        assert_int_equal(mcp_render_result(&render->out, &render->scratch, &reply, &result), 0);
        assert_true(text_holds(bytes_span(&render->out),
                               i < MCP_2025_06_18
                                   ? "],\"a\":1,\"b\":[2],\"isError\":true"
                                   : "],\"structuredContent\":{\"a\":1,\"b\":[2]},\"isError\":"));
    }
}

static void meta_of_a_result_is_merged_with_ours(void **state)
{
    CallResult result = CALL_RESULT_TOOL_PIECES(text_pieces, 3);

    result.meta = SPAN("{\"a\":{\"b\":[1]}}");
    assert_true(text_holds(render_result(*state, MCP_2024_11_05, CALL_TOOL, &result),
                           "],\"_meta\":{\"a\":{\"b\":[1]}}}}"));
    assert_true(text_holds(render_result(*state, MCP_2026_07_28, CALL_TOOL, &result),
                           "],\"_meta\":{" RENDER_INFO ",\"a\":{\"b\":[1]}}}}"));
    result.meta = SPAN("{}");
    assert_true(
        text_holds(render_result(*state, MCP_2025_11_25, CALL_TOOL, &result), "],\"_meta\":{}}}"));
    assert_true(text_holds(render_result(*state, MCP_2026_07_28, CALL_TOOL, &result),
                           "]," RENDER_META "}}"));
}

static void what_a_relayed_server_said_of_itself_is_left_out(void **state)
{
    static const char *const metas[] = {
        "{\"a\":1,\"io.modelcontextprotocol/"
        "serverInfo\":{\"name\":\"x\",\"version\":\"0\"},\"b\":2}",
        "{\"a\":1,\"io.modelcontextprotocol\\/server\\u0049nfo\":7,\"b\":2}",
        "{\"a\":1,\"b\":2,\"io.modelcontextprotocol/serverInfo\":{}}",
    };
    CallResult result = CALL_RESULT_TOOL_PIECES(text_pieces, 3);

    for (size_t i = 0; i < TW_ARRAY_SIZE(metas); i++) {
        result.meta = span_from_str(metas[i]);
        assert_true(text_holds(render_result(*state, MCP_2025_11_25, CALL_TOOL, &result),
                               "],\"_meta\":{\"a\":1,\"b\":2}}}"));
        assert_true(text_holds(render_result(*state, MCP_2026_07_28, CALL_TOOL, &result),
                               "],\"_meta\":{" RENDER_INFO ",\"a\":1,\"b\":2}}}"));
    }
    result.meta = SPAN("{\"ss\":\"serverInfos\",\"serverInf\":1}");
    assert_true(text_holds(render_result(*state, MCP_2025_11_25, CALL_TOOL, &result),
                           "\"_meta\":{\"ss\":\"serverInfos\",\"serverInf\":1}"));
}

static void method_that_is_a_tool_answers_the_bare_report(void **state)
{
    CallResult result = CALL_RESULT_TOOL_PIECES(text_pieces, 3);
    McpReply reply = render_reply(MCP_2024_11_05, CALL_TOOL);

    reply.is_bare = true;
    assert_text(render_result_as(*state, &reply, &result),
                HEAD "\"content\":[{\"type\":\"text\",\"text\":\"hi \\u00e9\"}]}}");
    result.structured = SPAN("{\"report\":1e2}");
    assert_text(render_result_as(*state, &reply, &result),
                "{\"jsonrpc\":\"2.0\",\"id\":\"a-1\",\"result\":{\"report\":1e2}}");
    result.is_error = true;
    assert_true(text_holds(render_result_as(*state, &reply, &result), "\"isError\":true"));
    result.is_error = false;
    result.structured = SPAN("[1]");
    assert_true(text_holds(render_result_as(*state, &reply, &result), "\"content\":["));
}

static void resource_has_cache_hints_in_the_modern_era_only(void **state)
{
    static const Span pieces[] = {PIECE("{\"uri\":\"x:/a\",\"text\":\"t\"}"),
                                  PIECE(",{\"uri\":\"x:/b\",\"blob\":\"AA==\"}")};
    CallResult result = {.kind = CALL_RESULT_RESOURCE, .pieces = pieces, .n_pieces = 2};

    for (int i = 0; i < MCP_FIRST_MODERN; i++) {
        assert_text(render_result(*state, (McpRevision)i, CALL_READ, &result),
                    HEAD "\"contents\":[{\"uri\":\"x:/a\",\"text\":\"t\"},{\"uri\":\"x:/b\","
                         "\"blob\":\"AA==\"}]}}");
    }
    result.ttl_ms = 500;
    result.is_private = true;
    assert_true(text_holds(render_result(*state, MCP_2026_07_28, CALL_READ, &result),
                           "}],\"ttlMs\":500,\"cacheScope\":\"private\"," RENDER_META "}}"));
    result.ttl_ms = -3;
    result.is_private = false;
    assert_true(text_holds(render_result(*state, MCP_2026_07_28, CALL_READ, &result),
                           "}],\"ttlMs\":0,\"cacheScope\":\"public\"," RENDER_META "}}"));
}

static void prompt_has_messages_and_a_description_if_any(void **state)
{
    static const Span pieces[] = {
        PIECE("{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"t\"}}")};
    CallResult result = {.kind = CALL_RESULT_PROMPT,
                         .pieces = pieces,
                         .n_pieces = 1,
                         .content_kinds = CALL_CONTENT_TEXT};

    for (int i = 0; i < MCP_N_REVISIONS; i++) {
        result.description = SPAN_NULL;
        assert_false(
            text_holds(render_result(*state, (McpRevision)i, CALL_PROMPT, &result), "description"));
        result.description = SPAN("");
        assert_true(text_holds(render_result(*state, (McpRevision)i, CALL_PROMPT, &result),
                               "\"description\":\"\",\"messages\":["));
        result.description = SPAN("says \"t\"");
        assert_true(text_holds(render_result(*state, (McpRevision)i, CALL_PROMPT, &result),
                               "\"description\":\"says \\\"t\\\"\",\"messages\":[{\"role\":"));
    }
}

static void completion_has_total_only_if_known(void **state)
{
    static const Span pieces[] = {PIECE("\"a\""), PIECE(",\"b\"")};
    CallResult result = {
        .kind = CALL_RESULT_COMPLETION, .pieces = pieces, .n_pieces = 2, .total = -1};

    for (int i = 0; i < MCP_N_REVISIONS; i++) {
        result.total = -1;
        result.has_more = true;
        assert_true(text_holds(render_result(*state, (McpRevision)i, CALL_COMPLETE, &result),
                               "\"completion\":{\"values\":[\"a\",\"b\"],\"hasMore\":true}"));
        result.total = 0;
        result.has_more = false;
        assert_true(text_holds(render_result(*state, (McpRevision)i, CALL_COMPLETE, &result),
                               "\"b\"],\"total\":0,\"hasMore\":false}"));
    }
}

static void empty_answers_are_empty_in_legacy_eras(void **state)
{
    CallResult result = CALL_RESULT_NULL;
    Render *render = *state;

    for (int i = 0; i < MCP_N_REVISIONS; i++) {
        McpReply reply = render_reply((McpRevision)i, CALL_SUBSCRIBE);
        const char *want =
            i < MCP_FIRST_MODERN ? HEAD "}}" : HEAD "\"resultType\":\"complete\"," RENDER_META "}}";

        assert_text(render_result_as(render, &reply, &result), want);
        bytes_clear(&render->out);
        assert_int_equal(mcp_render_empty(&render->out, &reply), 0);
        assert_text(bytes_span(&render->out), want);
    }
}

static void result_of_the_wrong_kind_is_a_named_failure(void **state)
{
    CallResult result = {.kind = CALL_RESULT_ASK};

    for (int i = 0; i < MCP_N_REVISIONS; i++) {
        for (int verb = 0; verb < CALL_N_VERBS; verb++) {
            Span text = render_result(*state, (McpRevision)i, (CallVerb)verb, &result);

            assert_true(text_holds(text, "malformed result"));
            assert_int_equal(text_holds(text, "\"error\":{\"code\":-32603"),
                             (verb != CALL_TOOL && verb != CALL_TASK_RESULT) || i < MCP_2025_06_18);
        }
    }
}

static void id_is_answered_byte_for_byte(void **state)
{
    static const char *const ids[] = {"0", "-7", "\"\"", "\"\\u0041\"", "12345678901234567890"};
    CallResult result = CALL_RESULT_TOOL_PIECES(text_pieces, 3);

    for (size_t i = 0; i < TW_ARRAY_SIZE(ids); i++) {
        McpReply reply = render_reply(MCP_2025_11_25, CALL_TOOL);
        char want[64];

        reply.id = span_from_str(ids[i]);
        (void)snprintf(want, sizeof(want), "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{", ids[i]);
        assert_true(
            span_starts_with(render_result_as(*state, &reply, &result), span_from_str(want)));
    }
}

/* Text of every byte, short and long: plain or not, it comes out as it went in. */
static void any_text_is_a_valid_string(void **state)
{
    Render *render = *state;
    char text[80];

    for (size_t n = 1; n <= sizeof(text); n += 13) {
        for (int c = 1; c < 0x80; c++) {
            CallResult result = {.kind = CALL_RESULT_ERROR,
                                 .error = CALL_ERROR_INTERNAL,
                                 .message = span_make(text, n)};
            JsonValue message;
            JsonDoc doc;
            Span got;

            memset(text, 'a', sizeof(text));
            text[n - 1] = (char)c;
            got = render_result(render, MCP_2025_11_25, CALL_READ, &result);
            assert_int_equal(json_parse(&doc, &render->scratch, got.p, got.n, NULL, NULL), 0);
            assert_int_equal(json_pointer(json_root(&doc), SPAN("/error/message"), &message), 0);
            assert_true(json_string_equals(message, span_make(text, n)));
        }
    }
    memcpy(text, "a\xff", 2);
    {
        CallResult broken = {
            .kind = CALL_RESULT_ERROR, .error = CALL_ERROR_INTERNAL, .message = span_make(text, 2)};

        assert_true(text_holds(render_result(render, MCP_2025_11_25, CALL_READ, &broken),
                               "\"message\":\"a\xef\xbf\xbd\""));
    }
}

static void message_that_does_not_fit_leaves_nothing_behind(void **state)
{
    CallResult result = CALL_RESULT_TOOL_PIECES(text_pieces, 3);
    Render *render = *state;

    for (int i = 0; i < MCP_N_REVISIONS; i++) {
        McpReply reply = render_reply((McpRevision)i, CALL_TOOL);
        size_t n = render_result_as(render, &reply, &result).n;

        for (size_t max = 3; max < n + 3; max++) {
            Bytes small;

            bytes_init(&small, max);
            assert_int_equal(bytes_append(&small, "abc", 3), 0);
            assert_int_equal(mcp_render_result(&small, &render->scratch, &reply, &result),
                             BYTES_E_FULL);
            assert_int_equal(small.n, 3);
            bytes_deinit(&small);
        }
    }
}

static void message_that_fits_exactly_is_sent(void **state)
{
    CallResult result = CALL_RESULT_TOOL_PIECES(text_pieces, 3);
    Render *render = *state;
    McpReply reply = render_reply(MCP_2026_07_28, CALL_TOOL);
    size_t n = render_result_as(render, &reply, &result).n;
    Bytes exact;

    bytes_init(&exact, n);
    assert_int_equal(mcp_render_result(&exact, &render->scratch, &reply, &result), 0);
    assert_int_equal(exact.n, n);
    bytes_deinit(&exact);
}

static void warm_buffer_takes_results_without_allocating(void **state)
{
    CallResult result = CALL_RESULT_TOOL_PIECES(text_pieces, 3);
    Render *render = *state;

    for (int i = 0; i < MCP_N_REVISIONS; i++) {
        McpReply reply = render_reply((McpRevision)i, CALL_TOOL);

        (void)render_result_as(render, &reply, &result);
        bytes_clear(&render->out);
        alloc_testing_reset(ALLOC_TESTING_NEVER);
        assert_int_equal(mcp_render_result(&render->out, &render->scratch, &reply, &result), 0);
        assert_int_equal(alloc_testing()->n_calls, 0);
    }
}

/* All that allocates: growth of out, the walk through content, the filtering of `_meta`. */
static int render_with_little_memory(void *context)
{
    static const Span pieces[] = {
        PIECE("{\"type\":\"audio\",\"data\":\"AAAA\",\"mimeType\":\"a/b\"}")};
    CallResult result = {.kind = CALL_RESULT_TOOL,
                         .pieces = pieces,
                         .n_pieces = 1,
                         .content_kinds = CALL_CONTENT_AUDIO,
                         .meta = SPAN("{\"io.modelcontextprotocol/serverInfo\":{}}")};
    McpReply reply = render_reply(MCP_2024_11_05, CALL_TOOL);
    Arena scratch;
    Bytes out;
    int r;

    (void)context;
    bytes_init(&out, RENDER_MAX_BYTES);
    arena_init(&scratch, RENDER_MAX_BYTES);
    r = mcp_render_result(&out, &scratch, &reply, &result);
    assert_true(r == 0 || out.n == 0);
    bytes_deinit(&out);
    arena_deinit(&scratch);
    return r;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    test_oom_sweep(render_with_little_memory, NULL);
}

/* Renders with and without lending, which are the same bytes; says what was lent. */
static Span render_lent(Render *render, McpReply *reply, const CallResult *result)
{
    static const Span before = SPAN_INIT("before");
    Span plain = render_result_as(render, reply, result);
    BytesLent lent = BYTES_LENT_NULL;
    Span composed;
    Bytes out;

    bytes_init(&out, RENDER_MAX_BYTES);
    assert_int_equal(bytes_append_span(&out, before), 0);
    reply->lent = &lent;
    assert_int_equal(mcp_render_result(&out, &render->scratch, reply, result), 0);
    reply->lent = NULL;
    composed = span_make(out.data + before.n, out.n - before.n);
    assert_int_equal(composed.n + lent.span.n, plain.n);
    assert_memory_equal(composed.p, plain.p, lent.span.p == NULL ? plain.n : lent.at);
    if (lent.span.p != NULL) {
        assert_true(lent.at > 0 && lent.at < composed.n);
        assert_memory_equal(lent.span.p, plain.p + lent.at, lent.span.n);
        assert_memory_equal(composed.p + lent.at, plain.p + lent.at + lent.span.n,
                            composed.n - lent.at);
    }
    bytes_deinit(&out);
    return lent.span;
}

/* head, and as many letters as make it n bytes with the tail. */
static Span fill_span(char *memory, size_t n, const char *head, const char *tail)
{
    memset(memory, 'x', n);
    memcpy(memory, head, strlen(head));
    memcpy(memory + n - strlen(tail), tail, strlen(tail));
    return span_make(memory, n);
}

static void a_large_part_is_lent_in_every_revision(void **state)
{
    static char memory[2 * BYTES_LEND_MIN];

    for (int i = 0; i < MCP_N_REVISIONS; i++) {
        McpReply reply = render_reply((McpRevision)i, CALL_TOOL);

        for (size_t n = BYTES_LEND_MIN - 1; n <= BYTES_LEND_MIN; n++) {
            Span one = fill_span(memory, n, "{\"type\":\"text\",\"text\":\"", "\"}");
            CallResult result = CALL_RESULT_TOOL_PIECES(&one, 1);
            Span three[] = {text_pieces[0], SPAN_NULL, text_pieces[2]};

            result.meta = SPAN("{\"a\":1}");
            assert_ptr_equal(render_lent(*state, &reply, &result).p,
                             n < BYTES_LEND_MIN ? NULL : memory);
            three[1] = fill_span(memory, n, "\"", "\"");
            result.pieces = three;
            result.n_pieces = 3;
            result.is_error = true;
            assert_ptr_equal(render_lent(*state, &reply, &result).p,
                             n < BYTES_LEND_MIN ? NULL : memory);
        }
    }
}

static void large_structured_content_is_lent_unless_the_content_was(void **state)
{
    static char memory[BYTES_LEND_MIN];
    static char text[BYTES_LEND_MIN];
    Span large[] = {text_pieces[0], fill_span(text, sizeof(text), "\"", "\""), text_pieces[2]};
    CallResult small = CALL_RESULT_TOOL_PIECES(text_pieces, 3);
    CallResult both = CALL_RESULT_TOOL_PIECES(large, 3);

    small.structured = fill_span(memory, sizeof(memory), "{\"a\":\"", "\"}");
    small.meta = SPAN("{\"a\":1}");
    both.structured = small.structured;
    for (int i = 0; i < MCP_N_REVISIONS; i++) {
        McpReply reply = render_reply((McpRevision)i, CALL_TOOL);

        assert_ptr_equal(render_lent(*state, &reply, &small).p, i < MCP_2025_06_18 ? NULL : memory);
        assert_ptr_equal(render_lent(*state, &reply, &both).p, text);
    }
}

static void resources_and_prompts_are_lent_as_well(void **state)
{
    static char memory[BYTES_LEND_MIN];
    Span piece = fill_span(memory, sizeof(memory), "{\"uri\":\"test://a\",\"text\":\"", "\"}");
    CallResult result = {.kind = CALL_RESULT_RESOURCE, .pieces = &piece, .n_pieces = 1};

    for (int i = 0; i < MCP_N_REVISIONS; i++) {
        McpReply reply = render_reply((McpRevision)i, CALL_READ);

        assert_ptr_equal(render_lent(*state, &reply, &result).p, memory);
    }
    piece = fill_span(memory, sizeof(memory),
                      "{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"", "\"}}");
    result.kind = CALL_RESULT_PROMPT;
    result.content_kinds = CALL_CONTENT_TEXT;
    for (int i = 0; i < MCP_N_REVISIONS; i++) {
        McpReply reply = render_reply((McpRevision)i, CALL_PROMPT);

        assert_ptr_equal(render_lent(*state, &reply, &result).p, memory);
    }
}

/* What has to be replaced is written anew, out of the scratch memory, which is gone before it is
 * sent; all else is the provider's own, be it that it was looked through. */
static void content_that_a_revision_must_replace_is_never_lent(void **state)
{
    static char memory[BYTES_LEND_MIN + 2000];
    Span piece =
        fill_span(memory, sizeof(memory), "{\"type\":\"text\",\"_meta\":{},\"text\":\"", "\"}");
    CallResult result = CALL_RESULT_TOOL_PIECES(&piece, 1);

    for (int i = 0; i < MCP_N_REVISIONS; i++) {
        McpReply reply = render_reply((McpRevision)i, CALL_TOOL);
        const char *want = i < MCP_2025_06_18 ? NULL : memory;

        result.content_kinds = CALL_CONTENT_TEXT | CALL_CONTENT_UNKNOWN;
        assert_ptr_equal(render_lent(*state, &reply, &result).p, want);
        result.content_kinds = 0; /* nobody has looked */
        assert_ptr_equal(render_lent(*state, &reply, &result).p, want);
        result.content_kinds = CALL_CONTENT_TEXT; /* vouched for */
        assert_ptr_equal(render_lent(*state, &reply, &result).p, memory);
    }
}

static void nothing_is_reserved_for_what_is_lent(void **state)
{
    static char memory[BYTES_LEND_MIN];
    Render *render = *state;
    Span piece = fill_span(memory, sizeof(memory), "{\"type\":\"text\",\"text\":\"", "\"}");
    CallResult result = CALL_RESULT_TOOL_PIECES(&piece, 1);
    McpReply reply = render_reply(MCP_2026_07_28, CALL_TOOL);
    BytesLent lent = BYTES_LENT_NULL;
    Bytes out;

    reply.lent = &lent;
    bytes_init(&out, RENDER_MAX_BYTES);
    assert_int_equal(mcp_render_result(&out, &render->scratch, &reply, &result), 0);
    assert_ptr_equal(lent.span.p, memory);
    assert_true(out.cap < BYTES_LEND_MIN);
    bytes_deinit(&out);
    /* The rest alone may be too much. */
    lent = BYTES_LENT_NULL;
    bytes_init(&out, 100);
    assert_int_equal(mcp_render_result(&out, &render->scratch, &reply, &result), BYTES_E_FULL);
    assert_int_equal(out.n, 0);
    bytes_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tool_result_is_spliced_in_every_revision),
        cmocka_unit_test(tool_result_without_content_has_an_empty_array),
        cmocka_unit_test(failed_tool_says_so),
        cmocka_unit_test(structured_content_goes_where_the_revision_has_it),
        cmocka_unit_test(structured_content_alone_becomes_text_where_it_cannot_be_sent),
        cmocka_unit_test(further_members_are_passed_on),
        cmocka_unit_test(members_beside_the_content_stand_in_for_structured_content),
        cmocka_unit_test(meta_of_a_result_is_merged_with_ours),
        cmocka_unit_test(what_a_relayed_server_said_of_itself_is_left_out),
        cmocka_unit_test(method_that_is_a_tool_answers_the_bare_report),
        cmocka_unit_test(resource_has_cache_hints_in_the_modern_era_only),
        cmocka_unit_test(prompt_has_messages_and_a_description_if_any),
        cmocka_unit_test(completion_has_total_only_if_known),
        cmocka_unit_test(empty_answers_are_empty_in_legacy_eras),
        cmocka_unit_test(result_of_the_wrong_kind_is_a_named_failure),
        cmocka_unit_test(id_is_answered_byte_for_byte),
        cmocka_unit_test(any_text_is_a_valid_string),
        cmocka_unit_test(message_that_does_not_fit_leaves_nothing_behind),
        cmocka_unit_test(message_that_fits_exactly_is_sent),
        cmocka_unit_test(warm_buffer_takes_results_without_allocating),
        cmocka_unit_test(every_failed_allocation_is_reported),
        cmocka_unit_test(a_large_part_is_lent_in_every_revision),
        cmocka_unit_test(large_structured_content_is_lent_unless_the_content_was),
        cmocka_unit_test(resources_and_prompts_are_lent_as_well),
        cmocka_unit_test(content_that_a_revision_must_replace_is_never_lent),
        cmocka_unit_test(nothing_is_reserved_for_what_is_lent),
    };

    mcp_schema_require();
    return cmocka_run_group_tests(tests, render_setup, render_teardown);
}

#include "dialect/agent/message.h"

#include "support/cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "support/guard.h"
#include "support/oom_sweep.h"
#include "unit/dialect/agent/span_testing.h"

/* Reads from a guarded copy, which the caller frees. */
static int read_guarded(AgentRequest *ret, Arena *arena, const char *text, GuardBuffer *ret_guard,
                        Diag *diag)
{
    *ret_guard = guard_copy(text, strlen(text));
    return agent_request_read(ret, arena, span_make(ret_guard->p, ret_guard->n), diag);
}

static void wrong_requests_are_named_and_their_id_is_found(void **state)
{
    static const struct {
        const char *text;
        int r;
        const char *id;
        const char *field;
        const char *words;
    } rows[] = {
        {"", AGENT_MESSAGE_E_SYNTAX, "", "",
         "Invalid JSON at byte 0: expected a value, found the end of the text"},
        {"hello", AGENT_MESSAGE_E_SYNTAX, "", "", NULL},
        {"[]", AGENT_MESSAGE_E_SYNTAX, "", "",
         "Invalid message at byte 0: expected an object, got array"},
        {" 7", AGENT_MESSAGE_E_SYNTAX, "", "",
         "Invalid message at byte 1: expected an object, got number"},
        {"{\"id\":\"a\",\"kind\":\"user_message\",\"message\":\"x", AGENT_MESSAGE_E_SYNTAX, "a", "",
         NULL},
        {"{\"id\" : \"a\\u0062\\\"\",}", AGENT_MESSAGE_E_SYNTAX, "ab\"", "",
         "Invalid JSON at byte 20: expected a key in double quotes, found '}'"},
        {"{\"kind\":\"x\",\"metadata\":{\"id\":\"inner\"},\"id\":\"outer\"", AGENT_MESSAGE_E_SYNTAX,
         "outer", "", NULL},
        {"{\"message\":\"\\\"id\\\":\\\"no\\\"\",\"id\":\"yes\",}", AGENT_MESSAGE_E_SYNTAX, "yes",
         "", NULL},
        {"{\"id\":7,\"x\":}", AGENT_MESSAGE_E_SYNTAX, "", "", NULL},
        {"{\"id\":\"unended", AGENT_MESSAGE_E_SYNTAX, "", "", NULL},
        {"{\"id\":\"bad\\q\",}", AGENT_MESSAGE_E_SYNTAX, "", "", NULL},
        {"{\"id\"", AGENT_MESSAGE_E_SYNTAX, "", "", NULL},
        {"{\"id\":", AGENT_MESSAGE_E_SYNTAX, "", "", NULL},
        {"{\"id\":\"", AGENT_MESSAGE_E_SYNTAX, "", "", NULL},
        {"{\"id\":\"\\", AGENT_MESSAGE_E_SYNTAX, "", "", NULL},
        {"}}]{\"id\":\"a\"", AGENT_MESSAGE_E_SYNTAX, "", "", NULL},
        {"{\"kind\":nope,\"id\":\"\\ud83d\"", AGENT_MESSAGE_E_SYNTAX, "\xED\xA0\xBD", "", NULL},
        {"{\"id\":\"a\",\"kind\":\"\xFF\"}", AGENT_MESSAGE_E_SYNTAX, "a", "", NULL},
        {"{}", AGENT_MESSAGE_E_NO_ID, "", "", "Invalid request: it has no id"},
        {"{\"id\":null,\"kind\":\"get_status\"}", AGENT_MESSAGE_E_NO_ID, "", "", NULL},
        {"{\"id\":\"\",\"kind\":\"get_status\"}", AGENT_MESSAGE_E_NO_ID, "", "",
         "Invalid request: id must have 1 to 256 bytes"},
        {"{\"id\":{},\"kind\":\"get_status\"}", AGENT_MESSAGE_E_NO_ID, "", "",
         "Invalid request: id must be a string"},
        {"{\"id\":7,\"kind\":\"get_status\"}", AGENT_MESSAGE_E_FIELD, "7", "id",
         "Invalid request: id must be a string"},
        {"{\"id\":\"a\"}", AGENT_MESSAGE_E_KIND, "a", "", "Missing request kind"},
        {"{\"id\":\"a\",\"kind\":null}", AGENT_MESSAGE_E_KIND, "a", "", "Missing request kind"},
        {"{\"id\":\"a\",\"kind\":\"dance\"}", AGENT_MESSAGE_E_KIND, "a", "",
         "Unknown request kind: dance"},
        {"{\"id\":\"a\",\"kind\":\"x\\ny\"}", AGENT_MESSAGE_E_KIND, "a", "",
         "Unknown request kind: \"x\\ny\""},
        {"{\"id\":\"a\",\"kind\":[1]}", AGENT_MESSAGE_E_KIND, "a", "", "Unknown request kind: [1]"},
        {"{\"id\":\"a\",\"kind\":\"user_message\"}", AGENT_MESSAGE_E_FIELD, "a", "message",
         "Invalid request: message is missing"},
        {"{\"id\":\"a\",\"kind\":\"user_message\",\"message\":\"\"}", AGENT_MESSAGE_E_FIELD, "a",
         "message", "Invalid request: message is empty"},
        {"{\"id\":\"a\",\"kind\":\"user_message\",\"message\":[\"x\"]}", AGENT_MESSAGE_E_FIELD, "a",
         "message", "Invalid request: message must be a string"},
        {"{\"id\":\"a\",\"kind\":\"user_message\",\"message\":\"x\",\"attachments\":{}}",
         AGENT_MESSAGE_E_FIELD, "a", "attachments",
         "Invalid request: attachments must be an array"},
        {"{\"id\":\"a\",\"kind\":\"user_message\",\"message\":\"x\",\"attachments\":"
         "[{\"path\":\"p\"},{\"mime\":\"m\"}]}",
         AGENT_MESSAGE_E_FIELD, "a", "attachments[1].path",
         "Invalid request: attachments[1].path is missing"},
        {"{\"id\":\"a\",\"kind\":\"user_message\",\"message\":\"x\",\"attachments\":[\"p\"]}",
         AGENT_MESSAGE_E_FIELD, "a", "attachments[0].path", NULL},
        {"{\"id\":\"a\",\"kind\":\"user_message\",\"message\":\"x\",\"attachments\":"
         "[{\"path\":\"p\",\"mime\":1}]}",
         AGENT_MESSAGE_E_FIELD, "a", "attachments[0].mime",
         "Invalid request: attachments[0].mime must be a string"},
        {"{\"id\":\"a\",\"kind\":\"user_message\",\"message\":\"x\",\"images\":\"[\"}",
         AGENT_MESSAGE_E_FIELD, "a", "images",
         "Invalid request: images must be the JSON text of an array"},
        {"{\"id\":\"a\",\"kind\":\"user_message\",\"message\":\"x\",\"images\":\"{}\"}",
         AGENT_MESSAGE_E_FIELD, "a", "images", NULL},
        {"{\"id\":\"a\",\"kind\":\"user_message\",\"message\":\"x\",\"images\":\"[{}]\"}",
         AGENT_MESSAGE_E_FIELD, "a", "images[0].path", NULL},
        {"{\"id\":\"a\",\"kind\":\"user_message\",\"message\":\"x\",\"metadata\":[]}",
         AGENT_MESSAGE_E_FIELD, "a", "metadata", "Invalid request: metadata must be an object"},
        {"{\"id\":\"a\",\"kind\":\"clear_history\",\"metadata\":{\"conversationId\":5}}",
         AGENT_MESSAGE_E_FIELD, "a", "metadata.conversationId",
         "Invalid request: metadata.conversationId must be a string"},
        {"{\"id\":\"a\",\"kind\":\"load_conversation\"}", AGENT_MESSAGE_E_FIELD, "a",
         "conversationId", "Invalid request: conversationId is missing"},
        {"{\"id\":\"a\",\"kind\":\"delete_conversation\"}", AGENT_MESSAGE_E_FIELD, "a",
         "conversationId", NULL},
        {"{\"id\":\"a\",\"kind\":\"interrupt\",\"requestId\":1}", AGENT_MESSAGE_E_FIELD, "a",
         "requestId", NULL},
        {"{\"id\":\"a\",\"kind\":\"tool_approval\",\"approved\":true}", AGENT_MESSAGE_E_FIELD, "a",
         "toolId", "Invalid request: toolId is missing"},
        {"{\"id\":\"a\",\"kind\":\"tool_approval\",\"toolId\":\"t\"}", AGENT_MESSAGE_E_FIELD, "a",
         "approved", "Invalid request: approved must be true or false"},
        {"{\"id\":\"a\",\"kind\":\"tool_approval\",\"toolId\":\"t\",\"approved\":\"yes\"}",
         AGENT_MESSAGE_E_FIELD, "a", "approved", NULL},
    };
    Arena arena;

    (void)state;
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        AgentRequest request = {.message = SPAN("untouched")};
        Diag diag = DIAG_NULL;
        GuardBuffer guard;

        assert_int_equal(read_guarded(&request, &arena, rows[i].text, &guard, &diag), rows[i].r);
        assert_int_equal(diag.code, rows[i].r);
        assert_span(request.id, rows[i].id);
        assert_int_equal(request.message.n, 0);
        assert_string_equal(diag.field, rows[i].field);
        if (rows[i].words != NULL) {
            assert_string_equal(diag.message, rows[i].words);
        }
        assert_int_equal(agent_request_read(&request, &arena, span_make(guard.p, guard.n), NULL),
                         rows[i].r);
        guard_free(&guard);
    }
    arena_deinit(&arena);
}

static void the_byte_where_json_breaks_is_told(void **state)
{
    AgentRequest request;
    Diag diag = DIAG_NULL;
    Arena arena;

    (void)state;
    arena_init(&arena, SIZE_MAX);
    assert_int_equal(agent_request_read(&request, &arena, SPAN("{\"id\":\"a\" \"b\"}"), &diag),
                     AGENT_MESSAGE_E_SYNTAX);
    assert_int_equal(diag.offset, 10);
    arena_deinit(&arena);
}

static void ids_and_lists_have_bounds(void **state)
{
    char text[400];
    char many[4096];
    char id[LIMIT_AGENT_ID_BYTES + 2];
    AgentRequest request;
    Arena arena;
    size_t n;

    (void)state;
    arena_init(&arena, SIZE_MAX);
    memset(id, 'i', sizeof(id));
    id[LIMIT_AGENT_ID_BYTES] = '\0';
    (void)snprintf(text, sizeof(text), "{\"id\":\"%s\",\"kind\":\"get_status\"}", id);
    assert_int_equal(agent_request_read(&request, &arena, span_from_str(text), NULL), 0);
    id[LIMIT_AGENT_ID_BYTES] = 'i';
    id[LIMIT_AGENT_ID_BYTES + 1] = '\0';
    (void)snprintf(text, sizeof(text), "{\"id\":\"%s\",\"kind\":\"get_status\"}", id);
    assert_int_equal(agent_request_read(&request, &arena, span_from_str(text), NULL),
                     AGENT_MESSAGE_E_NO_ID);
    assert_int_equal(request.id.n, 0);
    (void)snprintf(text, sizeof(text), "{\"id\":\"%s\",}", id);
    assert_int_equal(agent_request_read(&request, &arena, span_from_str(text), NULL),
                     AGENT_MESSAGE_E_SYNTAX);
    assert_int_equal(request.id.n, 0);
    n = (size_t)snprintf(many, sizeof(many),
                         "{\"id\":\"a\",\"kind\":\"user_message\",\"attachments\":[");
    for (int i = 0; i <= LIMIT_AGENT_ATTACHMENTS; i++) {
        n += (size_t)snprintf(many + n, sizeof(many) - n, "%s{\"path\":\"p\"}", i > 0 ? "," : "");
    }
    (void)snprintf(many + n, sizeof(many) - n, "]}");
    assert_int_equal(agent_request_read(&request, &arena, span_from_str(many), NULL),
                     AGENT_MESSAGE_E_FIELD);
    arena_deinit(&arena);
}

static void the_documents_user_message_is_read(void **state)
{
    static const char text[] =
        "{\"id\":\"req-uuid-123\",\"kind\":\"user_message\",\"message\":\"Hello, can you help "
        "me?\",\"attachments\":[{\"path\":\"/path/to/file.txt\",\"mime\":\"text/plain\"}],"
        "\"metadata\":{\"conversationId\":\"conv-456\",\"userId\":\"user-789\",\"more\":[1]}}";
    AgentRequest request;
    GuardBuffer guard;
    Arena arena;

    (void)state;
    arena_init(&arena, SIZE_MAX);
    assert_int_equal(read_guarded(&request, &arena, text, &guard, NULL), 0);
    assert_int_equal(request.kind, AGENT_KIND_USER_MESSAGE);
    assert_span(request.id, "req-uuid-123");
    assert_span(request.message, "Hello, can you help me?");
    assert_int_equal(request.n_attachments, 1);
    assert_span(request.attachments[0].path, "/path/to/file.txt");
    assert_span(request.attachments[0].mime, "text/plain");
    assert_span(request.conversation_id, "conv-456");
    assert_span(request.user_id, "user-789");
    arena_deinit(&arena);
    guard_free(&guard);
}

static void other_peers_spellings_are_read(void **state)
{
    static const char images[] =
        "{\"id\":\"a\",\"kind\":\"user_message\",\"message\":\"\",\"images\":\"[{\\\"data\\\":"
        "\\\"AA==\\\",\\\"mime_type\\\":\\\"image/png\\\",\\\"name\\\":\\\"x.png\\\"}]\","
        "\"attachments\":[{\"path\":\"p\"}],\"conversation_id\":\"c\"}";
    AgentRequest request;
    Arena arena;

    (void)state;
    arena_init(&arena, SIZE_MAX);
    assert_int_equal(agent_request_read(&request, &arena, SPAN(images), NULL), 0);
    assert_int_equal(request.n_attachments, 2);
    assert_span(request.attachments[0].path, "p");
    assert_span(request.attachments[1].data, "AA==");
    assert_span(request.attachments[1].mime, "image/png");
    assert_span(request.attachments[1].name, "x.png");
    assert_span(request.conversation_id, "c");
    assert_int_equal(agent_request_read(&request, &arena,
                                        SPAN("{\"id\":\"a\",\"kind\":\"user_message\",\"message\":"
                                             "\"m\",\"images\":\"\",\"attachments\":null}"),
                                        NULL),
                     0);
    assert_int_equal(request.n_attachments, 0);
    assert_int_equal(agent_request_read(&request, &arena,
                                        SPAN("{\"id\":\"a\",\"kind\":\"user_message\",\"message\":"
                                             "\"m\",\"images\":[{\"data\":\"QQ==\"}]}"),
                                        NULL),
                     0);
    assert_span(request.attachments[0].data, "QQ==");
    assert_int_equal(agent_request_read(&request, &arena,
                                        SPAN("{\"id\":\"a\",\"kind\":\"new_conversation\","
                                             "\"metadata\":{\"title\":\"T\"}}"),
                                        NULL),
                     0);
    assert_span(request.title, "T");
    assert_int_equal(agent_request_read(&request, &arena,
                                        SPAN("{\"id\":\"a\",\"kind\":\"load_conversation\","
                                             "\"conversation_id\":\"conv_1\"}"),
                                        NULL),
                     0);
    assert_span(request.conversation_id, "conv_1");
    assert_int_equal(agent_request_read(&request, &arena,
                                        SPAN("{\"id\":\"a\",\"kind\":\"tool_approval\","
                                             "\"tool_use_id\":\"t\",\"approved\":true}"),
                                        NULL),
                     0);
    assert_span(request.tool_id, "t");
    assert_true(request.approved);
    assert_int_equal(
        agent_request_read(&request, &arena, SPAN("{\"id\":\"a\",\"kind\":\"interrupt\"}"), NULL),
        0);
    assert_int_equal(request.request_id.n, 0);
    arena_deinit(&arena);
}

/* ---- writing ---- */

static const AgentAttachment attachments[] = {
    {.path = SPAN_INIT("a\"b.txt"), .mime = SPAN_INIT("text/plain")},
    {.data = SPAN_INIT("QQ=="), .mime = SPAN_INIT("image/png"), .name = SPAN_INIT("x.png")},
};

static const struct {
    AgentRequest request;
    const char *text;
} written[] = {
    {{.kind = AGENT_KIND_USER_MESSAGE,
      .id = SPAN_INIT("req-1"),
      .message = SPAN_INIT("two\nlines\xFF")},
     "{\"id\":\"req-1\",\"kind\":\"user_message\",\"message\":\"two\\nlines\xEF\xBF\xBD\"}"},
    {{.kind = AGENT_KIND_USER_MESSAGE,
      .id = SPAN_INIT("a"),
      .message = SPAN_INIT("m"),
      .attachments = attachments,
      .n_attachments = 2,
      .conversation_id = SPAN_INIT("c"),
      .user_id = SPAN_INIT("u"),
      .title = SPAN_INIT("t")},
     "{\"id\":\"a\",\"kind\":\"user_message\",\"message\":\"m\",\"attachments\":[{\"path\":"
     "\"a\\\"b.txt\",\"mime\":\"text/plain\"},{\"data\":\"QQ==\",\"mime\":\"image/png\",\"name\":"
     "\"x.png\"}],\"metadata\":{\"conversationId\":\"c\",\"userId\":\"u\",\"title\":\"t\"}}"},
    {{.kind = AGENT_KIND_CLEAR_HISTORY, .id = SPAN_INIT("req-uuid-124")},
     "{\"id\":\"req-uuid-124\",\"kind\":\"clear_history\"}"},
    {{.kind = AGENT_KIND_GET_STATUS, .id = SPAN_INIT("req-uuid-125")},
     "{\"id\":\"req-uuid-125\",\"kind\":\"get_status\"}"},
    {{.kind = AGENT_KIND_INTERRUPT, .id = SPAN_INIT("i"), .request_id = SPAN_INIT("req-1")},
     "{\"id\":\"i\",\"kind\":\"interrupt\",\"requestId\":\"req-1\"}"},
    {{.kind = AGENT_KIND_INTERRUPT, .id = SPAN_INIT("i")}, "{\"id\":\"i\",\"kind\":\"interrupt\"}"},
    {{.kind = AGENT_KIND_LIST_CONVERSATIONS, .id = SPAN_INIT("l")},
     "{\"id\":\"l\",\"kind\":\"list_conversations\"}"},
    {{.kind = AGENT_KIND_LOAD_CONVERSATION,
      .id = SPAN_INIT("l"),
      .conversation_id = SPAN_INIT("c")},
     "{\"id\":\"l\",\"kind\":\"load_conversation\",\"metadata\":{\"conversationId\":\"c\"}}"},
    {{.kind = AGENT_KIND_DELETE_CONVERSATION,
      .id = SPAN_INIT("d"),
      .conversation_id = SPAN_INIT("c")},
     "{\"id\":\"d\",\"kind\":\"delete_conversation\",\"metadata\":{\"conversationId\":\"c\"}}"},
    {{.kind = AGENT_KIND_NEW_CONVERSATION, .id = SPAN_INIT("n"), .title = SPAN_INIT("T")},
     "{\"id\":\"n\",\"kind\":\"new_conversation\",\"metadata\":{\"title\":\"T\"}}"},
    {{.kind = AGENT_KIND_TOOL_APPROVAL,
      .id = SPAN_INIT("t"),
      .tool_id = SPAN_INIT("x"),
      .approved = true},
     "{\"id\":\"t\",\"kind\":\"tool_approval\",\"toolId\":\"x\",\"approved\":true}"},
    {{.kind = AGENT_KIND_TOOL_APPROVAL, .id = SPAN_INIT("t"), .tool_id = SPAN_INIT("x")},
     "{\"id\":\"t\",\"kind\":\"tool_approval\",\"toolId\":\"x\",\"approved\":false}"},
};

static void requests_are_written_as_one_line_and_read_back(void **state)
{
    Arena arena;
    Bytes out;

    (void)state;
    arena_init(&arena, SIZE_MAX);
    bytes_init(&out, 4096);
    for (size_t i = 0; i < TW_ARRAY_SIZE(written); i++) {
        const AgentRequest *request = &written[i].request;
        AgentRequest again;

        bytes_clear(&out);
        assert_int_equal(agent_request_write(&out, request), 0);
        assert_span(bytes_span(&out), written[i].text);
        assert_int_equal(agent_request_read(&again, &arena, bytes_span(&out), NULL), 0);
        assert_int_equal(again.kind, request->kind);
        assert_true(span_equals(again.id, request->id));
        assert_true(span_equals(again.request_id, request->request_id));
        assert_true(span_equals(again.conversation_id, request->conversation_id));
        assert_int_equal(again.n_attachments, request->n_attachments);
        assert_int_equal(again.approved, request->approved);
    }
    bytes_deinit(&out);
    arena_deinit(&arena);
}

static void what_does_not_fit_leaves_the_buffer_as_it_was(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(written); i++) {
        for (size_t max = 1; max <= strlen(written[i].text); max++) {
            Bytes out;

            bytes_init(&out, max);
            assert_int_equal(bytes_append(&out, "x", 1), 0);
            assert_int_equal(agent_request_write(&out, &written[i].request), BYTES_E_FULL);
            assert_int_equal(out.n, 1);
            bytes_deinit(&out);
        }
    }
}

static int scenario(void *context)
{
    Arena arena;
    Bytes out;
    AgentRequest request;
    int r;

    (void)context;
    arena_init(&arena, SIZE_MAX);
    bytes_init(&out, 4096);
    r = agent_request_write(&out, &written[1].request);
    if (r == 0) {
        r = agent_request_read(&request, &arena, bytes_span(&out), NULL);
    }
    if (r == 0) {
        r = agent_request_read(&request, &arena, SPAN("{\"id\":\"a\\\"b\",}"), NULL);
        r = r == AGENT_MESSAGE_E_SYNTAX ? 0 : r;
    }
    if (r == 0) {
        r = agent_request_read(
            &request, &arena,
            SPAN("{\"id\":\"\\u0041\",\"kind\":\"user_message\",\"message\":\"\\t\",\"images\":"
                 "\"[{\\\"data\\\":\\\"\\\\u0041\\\"}]\"}"),
            NULL);
    }
    arena_deinit(&arena);
    bytes_deinit(&out);
    return r;
}

static void every_failed_allocation_is_survived(void **state)
{
    (void)state;
    test_oom_sweep(scenario, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_requests_are_named_and_their_id_is_found),
        cmocka_unit_test(the_byte_where_json_breaks_is_told),
        cmocka_unit_test(ids_and_lists_have_bounds),
        cmocka_unit_test(the_documents_user_message_is_read),
        cmocka_unit_test(other_peers_spellings_are_read),
        cmocka_unit_test(requests_are_written_as_one_line_and_read_back),
        cmocka_unit_test(what_does_not_fit_leaves_the_buffer_as_it_was),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

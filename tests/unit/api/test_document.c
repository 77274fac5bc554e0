#include <toolwire/document.h>

#include "unit/api/wire.h"

#include "support/alloc_testing.h"

/* A document with one number in it, and a command that adds to it. */
typedef struct Book {
    TwServer *server;
    Wire wire;
    int64_t number;
    bool keeps; /* answers from another thread */
    pthread_t thread;
    TwCall *call;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_cancelled;
    int id; /* of the last call */
} Book;

/* What the arguments name: "warning" and "error" are failures. */
static void book_tell(TwCall *call, int64_t *number)
{
    static const int64_t ids[] = {7, 8};
    TwFailure failure = {.id = tw_call_string(call, "failure", NULL),
                         .guid = "0-0",
                         .severity = tw_call_bool(call, "error", false) ? TW_SEVERITY_ERROR
                                                                        : TW_SEVERITY_WARNING,
                         .message = "it is wrong",
                         .element_ids = ids,
                         .n_element_ids = 2,
                         .can_delete = true,
                         .can_resolve = true};
    TwVerdict verdict = TW_VERDICT_KEEP;

    if (failure.id == NULL) {
        return;
    }
    WIRE_CHECK(tw_call_failure(call, &failure, &verdict) == 0);
    if (verdict == TW_VERDICT_RESOLVE) {
        bool worked = tw_call_bool(call, "mends", true);

        *number += worked ? 1000 : 0;
        WIRE_CHECK(tw_call_resolved(call, &failure, worked, &verdict) == 0);
    }
    *number += verdict == TW_VERDICT_DELETE ? 100 : 0;
    WIRE_CHECK((verdict == TW_VERDICT_ROLL_BACK) == tw_call_must_roll_back(call));
}

static void book_work(Book *book, TwCall *call)
{
    int64_t number = book->number + tw_call_int(call, "n", 1);

    book_tell(call, &number);
    if (tw_call_bool(call, "dialog", false)) {
        WIRE_CHECK(tw_call_dialog(call, "D1", "Really?") == 0);
    }
    tw_call_structured(call, "{\"added\":true}");
    if (tw_call_must_roll_back(call)) {
        WIRE_CHECK(tw_call_rolled_back(call, "it cannot stay") == 0);
    } else if (tw_call_is_dry_run(call)) {
        WIRE_CHECK(tw_call_rolled_back(call, NULL) == 0);
    } else {
        book->number = number;
        WIRE_CHECK(tw_call_committed(call) == 0);
    }
}

static void *book_main(void *context)
{
    Book *book = context;
    TwCall *call = book->call;

    if (tw_call_bool(call, "waits", false)) {
        pthread_mutex_lock(&book->lock);
        while (!book->is_cancelled) {
            pthread_cond_wait(&book->changed, &book->lock);
        }
        pthread_mutex_unlock(&book->lock);
        book->number++;
        WIRE_CHECK(tw_call_failure(call, &(TwFailure){.id = "A"}, &(TwVerdict){0}) ==
                   TW_ERROR_OVER);
        WIRE_CHECK(tw_call_must_roll_back(call));
        WIRE_CHECK(tw_call_dialog(call, "D", "m") == TW_ERROR_OVER);
        WIRE_CHECK(tw_call_rolled_back(call, NULL) == TW_ERROR_OVER);
        WIRE_CHECK(tw_call_committed(call) == 0);
    } else {
        book_work(book, call);
    }
    tw_call_done(call);
    return NULL;
}

static void on_cancel(TwCall *call, void *user)
{
    Book *book = user;

    (void)call;
    pthread_mutex_lock(&book->lock);
    book->is_cancelled = true;
    pthread_cond_broadcast(&book->changed);
    pthread_mutex_unlock(&book->lock);
}

static void on_add(TwCall *call, void *user)
{
    Book *book = user;

    if (!book->keeps) {
        book_work(book, call);
        return;
    }
    WIRE_CHECK(tw_call_keep(call) == 0);
    WIRE_CHECK(tw_call_on_cancel(call, on_cancel, book) == 0);
    book->call = call;
    WIRE_CHECK(pthread_create(&book->thread, NULL, book_main, book) == 0);
}

static void on_get(TwCall *call, void *user)
{
    const Book *book = user;
    char text[64];

    (void)snprintf(text, sizeof(text), "{\"number\":%lld}", (long long)book->number);
    tw_call_structured(call, text);
}

/* No command: it cannot have failures. */
static void on_plain(TwCall *call, void *user)
{
    TwVerdict verdict = TW_VERDICT_KEEP;

    (void)user;
    WIRE_CHECK(tw_call_failure(call, &(TwFailure){.id = "A"}, &verdict) == TW_ERROR_ARGUMENT);
    WIRE_CHECK(verdict == TW_VERDICT_ROLL_BACK);
    WIRE_CHECK(tw_call_dialog(call, "D", "m") == TW_ERROR_ARGUMENT);
    WIRE_CHECK(tw_call_rolled_back(call, "why") == TW_ERROR_ARGUMENT);
    WIRE_CHECK(tw_call_committed(call) == TW_ERROR_ARGUMENT);
    WIRE_CHECK(!tw_call_is_dry_run(call));
    tw_call_text(call, "plain");
}

/* ---- the rig ---- */

static const TwDocument house = {.guid = "G", .path = "/h", .title = "House", .view_id = 3};

static void book_add(Book *book, const char *name, TwHandler handler, unsigned annotations,
                     TwCommand command)
{
    assert_int_equal(tw_server_add_tool(book->server, &(TwTool){.name = name,
                                                                .handler = handler,
                                                                .user = book,
                                                                .annotations = annotations,
                                                                .command = command}),
                     0);
}

static int book_setup(void **state)
{
    Book *book = calloc(1, sizeof(*book));

    assert_non_null(book);
    assert_int_equal(pthread_mutex_init(&book->lock, NULL), 0);
    assert_int_equal(pthread_cond_init(&book->changed, NULL), 0);
    book->server = tw_server_new("book", "1");
    book_add(book, "add", on_add, TW_TOOL_NOT_DESTRUCTIVE, TW_COMMAND_CAN_UNDO);
    book_add(book, "delete_all", on_add, TW_TOOL_DESTRUCTIVE, TW_COMMAND_CAN_UNDO);
    book_add(book, "purge", on_get, TW_TOOL_DESTRUCTIVE, TW_COMMAND_PLAIN);
    book_add(book, "get", on_get, TW_TOOL_READ_ONLY, TW_COMMAND_PLAIN);
    book_add(book, "plain", on_plain, 0, TW_COMMAND_NEVER);
    assert_int_equal(tw_server_show_document(book->server, &house), 0);
    wire_open(&book->wire, book->server);
    wire_initialize(&book->wire);
    *state = book;
    return 0;
}

static int book_teardown(void **state)
{
    Book *book = *state;

    assert_int_equal(wire_close(&book->wire), 0);
    tw_server_free(book->server);
    (void)pthread_cond_destroy(&book->changed);
    (void)pthread_mutex_destroy(&book->lock);
    free(book);
    return 0;
}

static TwResult *book_call(Book *book, const char *tool, const char *arguments)
{
    TwResult *answer;

    wire_call(&book->wire, ++book->id, tool, arguments, "");
    answer = wire_next(&book->wire);
    assert_non_null(answer);
    assert_int_equal(tw_result_int(answer, "/id", 0), book->id);
    if (book->keeps && book->call != NULL) {
        assert_int_equal(pthread_join(book->thread, NULL), 0);
        book->call = NULL;
    }
    return answer;
}

#define AT "/result/structuredContent"

/* The code of the answer, and that all of the envelope is there. */
static TwResult *book_expect(Book *book, const char *tool, const char *arguments, const char *code)
{
    TwResult *answer = book_call(book, tool, arguments);
    bool ok = strcmp(code, "OK") == 0;

    if (strcmp(tw_result_string(answer, AT "/code", ""), code) != 0) {
        fail_msg("%s, not %s", tw_result_json(answer), code);
    }
    assert_int_equal(tw_result_bool(answer, AT "/ok", !ok), ok);
    assert_int_equal(tw_result_bool(answer, "/result/isError", false), !ok);
    assert_non_null(tw_result_get(answer, AT "/timings/totalMs"));
    assert_non_null(tw_result_get(answer, AT "/warnings"));
    assert_non_null(tw_result_get(answer, AT "/nextActions"));
    assert_string_equal(tw_result_string(answer, AT "/context/method", ""), tool);
    assert_string_equal(wire_text(answer), tw_result_get(answer, AT));
    return answer;
}

static void book_is(Book *book, const char *tool, const char *arguments, const char *code,
                    const char *pointer, const char *json)
{
    TwResult *answer = book_expect(book, tool, arguments, code);
    const char *got = tw_result_get(answer, pointer);

    if (got == NULL || strcmp(got, json) != 0) {
        fail_msg("%s is %s, not %s, in %s", pointer, got != NULL ? got : "not there", json,
                 tw_result_json(answer));
    }
    tw_result_free(answer);
}

/* The token as get_context gives it; freed by the caller. */
static char *book_token(Book *book)
{
    TwResult *answer = book_expect(book, "get_context", "{}", "OK");
    char *token = strdup(tw_result_string(answer, AT "/data/contextToken", ""));

    assert_non_null(token);
    assert_int_equal(strlen(token), 36);
    tw_result_free(answer);
    return token;
}

static void book_expect_token(Book *book, const char *before, bool same)
{
    char *token = book_token(book);

    assert_int_equal(strcmp(token, before) == 0, same);
    free(token);
}

/* ---- tests ---- */

static void a_command_answers_with_the_envelope(void **state)
{
    Book *book = *state;

    book_is(book, "add", "{\"n\":5}", "OK", AT "/added", "true");
    book_is(book, "get", "{}", "OK", AT "/number", "5");
    book_is(book, "get", "{}", "OK", AT "/context/docTitle", "\"House\"");
    book_is(book, "help.get_context", "{}", "OK", AT "/data/activeViewId", "3");
}

static void a_tool_that_is_no_command_has_no_failures(void **state)
{
    Book *book = *state;
    TwResult *answer = book_call(book, "plain", "{}");

    assert_string_equal(wire_text(answer), "plain");
    assert_null(tw_result_get(answer, AT));
    tw_result_free(answer);
}

static void every_change_makes_the_token_another_one(void **state)
{
    Book *book = *state;
    int64_t ids[] = {5, 4, 5};
    TwDocument other = house;
    char *tokens[6];

    tokens[0] = book_token(book);
    book_expect_token(book, tokens[0], true);
    tw_result_free(book_expect(book, "add", "{}", "OK"));
    tokens[1] = book_token(book);
    assert_int_equal(tw_server_document_changed(book->server), 0);
    tokens[2] = book_token(book);
    assert_int_equal(tw_server_show_selection(book->server, ids, 3), 0);
    tokens[3] = book_token(book);
    assert_int_equal(tw_server_show_selection(book->server, ids, 2), 0); /* the same */
    book_expect_token(book, tokens[3], true);
    other.view_id = 4;
    assert_int_equal(tw_server_show_document(book->server, &other), 0);
    tokens[4] = book_token(book);
    other.revision = 1;
    assert_int_equal(tw_server_show_document(book->server, &other), 0);
    tokens[5] = book_token(book);
    for (size_t i = 0; i < 6; i++) {
        for (size_t k = 0; k < i; k++) {
            if (strcmp(tokens[i], tokens[k]) == 0) {
                fail_msg("token %zu is token %zu", i, k);
            }
        }
    }
    for (size_t i = 0; i < 6; i++) {
        free(tokens[i]);
    }
    assert_int_equal(tw_server_show_document(book->server, NULL), 0);
    book_is(book, "get_context", "{}", "OK", AT "/data/contextToken", "\"ctx-nodoc\"");
}

static void a_stale_token_keeps_the_command_from_running(void **state)
{
    Book *book = *state;
    char *token = book_token(book);
    char arguments[128];

    (void)snprintf(arguments, sizeof(arguments), "{\"expectedContextToken\":\"%s\"}", token);
    tw_result_free(book_expect(book, "add", arguments, "OK"));
    tw_result_free(book_expect(book, "add", arguments, "PRECONDITION_FAILED"));
    assert_int_equal(book->number, 1);
    free(token);
}

static void what_fails_leaves_the_token(void **state)
{
    Book *book = *state;
    char *token = book_token(book);

    tw_result_free(book_expect(book, "add", "{\"failure\":\"A\"}", "TX_NOT_COMMITTED"));
    tw_result_free(book_expect(book, "get", "{}", "OK"));
    book_expect_token(book, token, true);
    free(token);
}

/* Writes a whitelist, and gives it to the server. */
static void book_allow(Book *book, const char *text)
{
    char path[] = "/tmp/tw-whitelist-XXXXXX";
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    (void)close(fd);
    assert_int_equal(tw_server_set_whitelist(book->server, path), 0);
    (void)unlink(path);
}

#define RULE(name, actions)                                                                        \
    "{\"id\":\"" name "\",\"enabled\":true,\"match\":{\"failureDefinitionRef\":\"" name            \
    "\"},\"actions\":[" actions "]}"
#define DELETE  "{\"type\":\"delete_warning\"}"
#define RESOLVE "{\"type\":\"resolve_if_possible\"}"

/* What the handler is told, by mode and whitelist; both ways to run it. */
static void verdicts_are_what_the_caller_and_the_whitelist_say(void **state)
{
    static const struct {
        const char *arguments;
        const char *action; /* of the first failure */
        int64_t added;      /* 0: undone */
    } rows[] = {
        {"\"failure\":\"A\"", "rollback", 0},
        {"\"failure\":\"A\",\"failureHandling\":false", "capture_only", 1},
        {"\"failure\":\"A\",\"failureHandling\":\"delete\"", "delete_warning", 101},
        {"\"failure\":\"B\",\"failureHandling\":\"delete\"", "rollback_delete_not_allowed", 0},
        {"\"failure\":\"C\",\"failureHandling\":\"delete\"", "rollback_unwhitelisted", 0},
        {"\"failure\":\"A\",\"error\":true,\"failureHandling\":\"delete\"", "rollback_error", 0},
        {"\"failure\":\"B\",\"failureHandling\":\"resolve\"", "resolve", 1001},
        {"\"failure\":\"B\",\"error\":true,\"failureHandling\":\"resolve\"", "resolve", 1001},
        {"\"failure\":\"B\",\"mends\":false,\"failureHandling\":\"resolve\"",
         "rollback_warning_unhandled", 0},
        {"\"failure\":\"D\",\"mends\":false,\"failureHandling\":\"resolve\"",
         "resolve_failed|delete_warning", 101},
    };
    Book *book = *state;

    book_allow(book, "{\"rules\":[" RULE("A", DELETE) "," RULE("B", RESOLVE) "," RULE(
                         "D", RESOLVE "," DELETE) "]}");
    for (size_t i = 0; i < 2 * TW_ARRAY_SIZE(rows); i++) {
        size_t row = i / 2;
        int64_t before = book->number;
        char arguments[256];
        char action[80];

        book->keeps = i % 2 == 1;
        (void)snprintf(arguments, sizeof(arguments), "{%s}", rows[row].arguments);
        (void)snprintf(action, sizeof(action), "\"%s\"", rows[row].action);
        book_is(book, "add", arguments, rows[row].added > 0 ? "OK" : "TX_NOT_COMMITTED",
                AT "/failureHandling/issues/failures/0/action", action);
        assert_int_equal(book->number - before, rows[row].added);
    }
    book->keeps = false;
    book_is(book, "add", "{\"failure\":\"A\"}", "TX_NOT_COMMITTED", AT "/msg",
            "\"it cannot stay\"");
    book_is(book, "add", "{\"failure\":\"A\"}", "TX_NOT_COMMITTED",
            AT "/failureHandling/issues/failures/0/elementIds", "[7,8]");
    book_is(book, "add", "{\"failure\":\"A\"}", "TX_NOT_COMMITTED",
            AT "/failureHandling/whitelist/ok", "true");
    assert_int_equal(tw_server_set_whitelist(book->server, "/nonsense/none.json"), 0);
    book_is(book, "add", "{\"failure\":\"A\"}", "TX_NOT_COMMITTED",
            AT "/failureHandling/whitelist/code", "\"FAILURE_WHITELIST_NOT_FOUND\"");
}

static void dialogs_are_told(void **state)
{
    Book *book = *state;

    book_is(book, "add", "{\"dialog\":true}", "OK", AT "/failureHandling/issues/dialogs/0/message",
            "\"Really?\"");
}

static void a_dry_run_is_undone_and_can_be_confirmed_once(void **state)
{
    Book *book = *state;
    char *before = book_token(book);
    TwResult *dry = book_expect(book, "delete_all", "{\"n\":9,\"dryRun\":true}", "OK");
    char arguments[128];

    assert_int_equal(book->number, 0);
    book_expect_token(book, before, true);
    assert_true(tw_result_bool(dry, AT "/added", false));
    (void)snprintf(arguments, sizeof(arguments), "{\"n\":9,\"confirmToken\":\"%s\"}",
                   tw_result_string(dry, AT "/confirmToken", "none"));
    book_is(book, "delete_all", arguments, "OK", AT "/confirmTokenAccepted", "true");
    assert_int_equal(book->number, 9);
    tw_result_free(book_expect(book, "delete_all", arguments, "CONFIRMATION_INVALID"));
    assert_int_equal(book->number, 9);
    tw_result_free(dry);
    free(before);
}

static void what_cannot_be_undone_has_no_dry_run(void **state)
{
    Book *book = *state;

    tw_result_free(book_expect(book, "purge", "{\"dryRun\":true}", "INVALID_OPERATION"));
}

static void five_ids_need_a_word(void **state)
{
    Book *book = *state;

    book_is(book, "add", "{\"elementIds\":[1,2,3,4,5]}", "FAILURE_HANDLING_CONFIRMATION_REQUIRED",
            AT "/data/targetCount", "5");
    assert_int_equal(book->number, 0);
    tw_result_free(book_expect(
        book, "add", "{\"elementIds\":[1,2,3,4,5],\"failureHandling\":{\"enabled\":true}}", "OK"));
    assert_int_equal(book->number, 1);
}

static void work_that_stays_after_a_cancelled_call_counts(void **state)
{
    Book *book = *state;
    char *before = book_token(book);
    char line[128];

    book->keeps = true;
    wire_call(&book->wire, ++book->id, "add", "{\"waits\":true}", "");
    (void)snprintf(line, sizeof(line),
                   "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                   "\"requestId\":%d}}",
                   book->id);
    wire_send(&book->wire, line);
    pthread_mutex_lock(&book->lock);
    while (!book->is_cancelled) {
        pthread_cond_wait(&book->changed, &book->lock);
    }
    pthread_mutex_unlock(&book->lock);
    assert_int_equal(pthread_join(book->thread, NULL), 0);
    book->call = NULL;
    assert_int_equal(book->number, 1);
    book->keeps = false;
    book_expect_token(book, before, false);
    free(before);
}

static void wrong_use_is_refused(void **state)
{
    Book *book = *state;
    TwTool tool = {.name = "t", .handler = on_get, .command = (TwCommand)7};

    assert_int_equal(tw_server_show_document(NULL, &house), TW_ERROR_ARGUMENT);
    assert_int_equal(tw_server_show_document(book->server, &(TwDocument){.title = "x"}),
                     TW_ERROR_ARGUMENT);
    assert_non_null(strstr(tw_server_message(book->server), "guid"));
    assert_int_equal(tw_server_show_selection(book->server, NULL, 1), TW_ERROR_ARGUMENT);
    assert_int_equal(tw_server_show_selection(NULL, NULL, 0), TW_ERROR_ARGUMENT);
    assert_int_equal(tw_server_document_changed(NULL), TW_ERROR_ARGUMENT);
    assert_int_equal(tw_server_set_whitelist(NULL, NULL), TW_ERROR_ARGUMENT);
    assert_int_equal(tw_server_add_tool(book->server, &tool), TW_ERROR_ARGUMENT);
}

/* A program may have a get_context of its own. */
static void the_program_s_own_get_context_stays(void **state)
{
    TwServer *server = tw_server_new("own", "1");
    Book book = {.number = 4};
    TwResult *answer;
    Wire wire;

    (void)state;
    assert_int_equal(
        tw_server_add_tool(server,
                           &(TwTool){.name = "get_context", .handler = on_get, .user = &book}),
        0);
    assert_int_equal(tw_server_show_document(server, &house), 0);
    assert_int_equal(tw_server_show_selection(server, NULL, 0), 0);
    wire_open(&wire, server);
    wire_initialize(&wire);
    wire_call(&wire, 1, "get_context", "{}", "");
    answer = wire_next(&wire);
    assert_int_equal(tw_result_int(answer, AT "/number", 0), 4);
    tw_result_free(answer);
    assert_int_equal(wire_close(&wire), 0);
    tw_server_free(server);
}

/* Each allocation of setting up fails once: an error, and no leak. */
static void want_of_memory_is_an_error(void **state)
{
    bool done = false;

    (void)state;
    for (size_t n = 0; !done; n++) {
        TwServer *server = tw_server_new("book", "1");
        int r;

        assert_non_null(server);
        alloc_testing_reset(n);
        r = tw_server_show_document(server, &house);
        if (r == 0) {
            r = tw_server_show_selection(server, (int64_t[]){1, 2}, 2);
        }
        if (r == 0) {
            r = tw_server_set_whitelist(server, "/nonsense/none.json");
        }
        alloc_testing_reset(ALLOC_TESTING_NEVER);
        assert_true(r == 0 || r == TW_ERROR_MEMORY);
        done = r == 0;
        tw_server_free(server);
    }
}

#define BOOK_TEST(name) cmocka_unit_test_setup_teardown(name, book_setup, book_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOOK_TEST(a_command_answers_with_the_envelope),
        BOOK_TEST(a_tool_that_is_no_command_has_no_failures),
        BOOK_TEST(every_change_makes_the_token_another_one),
        BOOK_TEST(a_stale_token_keeps_the_command_from_running),
        BOOK_TEST(what_fails_leaves_the_token),
        BOOK_TEST(verdicts_are_what_the_caller_and_the_whitelist_say),
        BOOK_TEST(dialogs_are_told),
        BOOK_TEST(a_dry_run_is_undone_and_can_be_confirmed_once),
        BOOK_TEST(what_cannot_be_undone_has_no_dry_run),
        BOOK_TEST(five_ids_need_a_word),
        BOOK_TEST(work_that_stays_after_a_cancelled_call_counts),
        BOOK_TEST(wrong_use_is_refused),
        cmocka_unit_test(the_program_s_own_get_context_stays),
        cmocka_unit_test(want_of_memory_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "providers/parent.h"

#include "unit/providers/parent_rig.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "support/oom_sweep.h"

#define SCHEMA "[" TOOL("add") "," TOOL("sub") "]"

/* ---- calls ---- */

static void tools_are_offered_without_touching_the_socket(void **state)
{
    Rig *rig = *state;

    rig_start(rig, SCHEMA); /* nobody listens */
    assert_int_equal(parent_provider_count(rig->provider), 2);
    assert_tools(rig, "add sub");
    assert_int_equal(rig->n_changed, 1);
    assert_int_equal(rig->lines.n, 0);
}

static void calls_use_one_connection(void **state)
{
    Rig *rig = *state;
    Asked asked;

    rig_listen(rig);
    rig_start(rig, SCHEMA);
    rig_plan(rig, ANSWER(TEXT("one")));
    rig_plan(rig, ANSWER(TEXT("two")));
    asked_init(&asked, rig);
    asked_ask(&asked, "add", "{ \"b\": 9007199254740993, \"a\": [1.0, \"\\u00e4\"] }", 0);
    await(&asked);
    assert_content(&asked, BLOCK("one"));
    assert_false(asked.is_error);
    asked_forget(&asked);
    ask_and_await(&asked, rig, "sub");
    assert_content(&asked, BLOCK("two"));
    asked_forget(&asked);
    assert_int_equal(rig->n_accepted, 1);
    assert_requests(rig,
                    "{\"method\":\"call_tool\",\"params\":{\"name\":\"add\",\"arguments\":"
                    "{ \"b\": 9007199254740993, \"a\": [1.0, \"\\u00e4\"] }}}\n" ASKED("sub") "\n");
}

static void what_the_parent_says_of_a_result_arrives(void **state)
{
    Rig *rig = *state;
    Asked asked;

    rig_listen(rig);
    rig_start(rig, SCHEMA);
    rig_plan(rig, ANSWER("{\"result\":{\"content\":[{\"type\":\"x\",\"n\":1.0}],\"isError\":true,"
                         "\"more\":9007199254740993}}"));
    rig_plan(rig, ANSWER("{\"result\":{\"content\":[]}}"));
    rig_plan(rig, ANSWER("{\"error\":{\"message\":\"no\",\"type\":\"KeyError\"}}"));
    rig_plan(rig, ANSWER("{\"error\":{\"message\":\"gone\",\"type\":\"ToolNotFoundError\"}}"));
    ask_and_await(&asked, rig, "add");
    assert_content(&asked, "{\"type\":\"x\",\"n\":1.0}");
    assert_true(asked.is_error);
    assert_bytes(&asked.members, "\"more\":9007199254740993");
    asked_forget(&asked);
    ask_and_await(&asked, rig, "add");
    assert_content(&asked, "");
    asked_forget(&asked);
    ask_and_await(&asked, rig, "add");
    assert_failed(&asked, CALL_ERROR_RAISED, "no");
    assert_bytes(&asked.error_type, "KeyError");
    asked_forget(&asked);
    ask_and_await(&asked, rig, "add");
    assert_failed(&asked, CALL_ERROR_UNKNOWN_TOOL, "gone");
    asked_forget(&asked);
    assert_int_equal(rig->n_accepted, 1);
}

static void calls_are_sent_one_at_a_time_and_in_order(void **state)
{
    Rig *rig = *state;
    Asked first;
    Asked second;

    rig_listen(rig);
    rig_start(rig, SCHEMA);
    rig_plan(rig, WAIT);
    rig_plan(rig, ANSWER(TEXT("2")));
    rig->stop_at_request = 1;
    ask(&first, rig, "add");
    ask(&second, rig, "sub");
    rig_run(rig);
    assert_requests(rig, ASKED("add") "\n");
    connection_reply(rig_connection(rig), ANSWER(TEXT("1")));
    await(&first);
    assert_content(&first, BLOCK("1"));
    assert_int_equal(second.n_finished, 0);
    await(&second);
    assert_content(&second, BLOCK("2"));
    assert_requests(rig, ASKED("add") "\n" ASKED("sub") "\n");
    assert_int_equal(rig->n_accepted, 1);
    asked_forget(&first);
    asked_forget(&second);
}

static void ask_next(Asked *asked)
{
    ask(asked->next, asked->rig, "sub");
}

static void the_end_of_a_call_may_start_the_next(void **state)
{
    Rig *rig = *state;
    Asked first;
    Asked second = {.n_finished = 0};

    rig_listen(rig);
    rig_start(rig, SCHEMA);
    rig_plan(rig, ANSWER(TEXT("1")));
    rig_plan(rig, ANSWER(TEXT("2")));
    asked_init(&first, rig);
    first.then = ask_next;
    first.next = &second;
    asked_ask(&first, "add", NULL, 0);
    await(&first);
    await(&second);
    assert_content(&second, BLOCK("2"));
    asked_forget(&first);
    asked_forget(&second);
}

static void ask_thrice(Asked *asked)
{
    if (asked->n_finished < 3) {
        asked_ask(asked, "add", NULL, 0);
    }
}

static void whoever_asks_again_at_once_is_told_in_the_next_turn(void **state)
{
    Rig *rig = *state;
    Asked asked;

    rig_start(rig, SCHEMA);
    asked_init(&asked, rig);
    asked.then = ask_thrice;
    asked_ask(&asked, "add", NULL, 0);
    assert_int_equal(asked.n_finished, 1);
    while (asked.n_finished < 3) {
        rig_run(rig);
    }
    assert_failed(&asked, CALL_ERROR_UNAVAILABLE, rig->socket);
    asked_forget(&asked);
}

static void steady_traffic_allocates_nothing(void **state)
{
    Rig *rig = *state;
    Asked asked;

    rig_listen(rig);
    rig_start(rig, SCHEMA);
    asked_init(&asked, rig);
    for (int i = 0; i < 100; i++) {
        rig->requests.n = 0;
        rig->n_plan = 0;
        rig->at_plan = 0;
        rig_plan(rig, ANSWER(TEXT("x")));
        if (i == 50) {
            alloc_testing_reset(ALLOC_TESTING_NEVER);
        }
        asked.n_finished = 0;
        asked_ask(&asked, "add", "{\"a\":[1,2,3]}", 0);
        await(&asked);
        assert_content(&asked, BLOCK("x"));
    }
    assert_int_equal(alloc_testing()->n_calls, 0);
    assert_int_equal(rig->n_accepted, 1);
    asked_forget(&asked);
}

/* ---- sizes ---- */

static char *made_of(const char *head, const char *tail, size_t n)
{
    char *text = malloc(n + 1);

    assert_non_null(text);
    memset(text, 'x', n);
    memcpy(text, head, strlen(head));
    memcpy(text + n - strlen(tail), tail, strlen(tail) + 1);
    return text;
}

static void messages_as_large_as_the_limit_pass(void **state)
{
    Rig *rig = *state;
    size_t n_arguments = LIMIT_CALLSOCK_MESSAGE_BYTES - (strlen(ASKED("add")) - strlen("{}"));
    char *arguments = made_of("{\"a\":\"", "\"}", n_arguments);
    char *answer = made_of("{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"", "\"}]}}",
                           LIMIT_CALLSOCK_MESSAGE_BYTES);
    Asked asked;

    rig_listen(rig);
    rig_start(rig, SCHEMA);
    rig_plan(rig, (Reply){.answer = span_make(answer, LIMIT_CALLSOCK_MESSAGE_BYTES)});
    asked_init(&asked, rig);
    asked_ask(&asked, "add", arguments, 0);
    await(&asked);
    assert_int_equal(asked.kind, CALL_RESULT_TOOL);
    assert_int_equal(asked.content.n,
                     LIMIT_CALLSOCK_MESSAGE_BYTES - strlen("{\"result\":{\"content\":[]}}"));
    assert_int_equal(rig->requests.n, LIMIT_CALLSOCK_MESSAGE_BYTES + 1);
    asked_forget(&asked);
    free(arguments);
    free(answer);
}

static void a_request_over_the_limit_fails_and_touches_nothing(void **state)
{
    Rig *rig = *state;
    size_t n_arguments = LIMIT_CALLSOCK_MESSAGE_BYTES - (strlen(ASKED("add")) - strlen("{}"));
    char *arguments = made_of("{\"a\":\"", "\"}", n_arguments + 1);
    Asked asked;

    rig_start(rig, SCHEMA); /* nobody listens: a connection would be refused */
    asked_init(&asked, rig);
    asked_ask(&asked, "add", arguments, 0);
    assert_int_equal(asked.n_finished, 1);
    assert_failed(&asked, CALL_ERROR_TOO_LARGE, "arguments");
    asked_forget(&asked);
    free(arguments);
}

typedef struct Idling {
    Rig *rig;
    long n_live; /* the loop stops when there are fewer blocks */
} Idling;

static void stop_if_less_is_live(void *context)
{
    const Idling *idling = context;

    if (alloc_testing()->n_live < idling->n_live) {
        io_loop_stop(idling->rig->loop);
    }
}

static void a_silent_connection_gives_the_memory_of_a_large_answer_back(void **state)
{
    Rig *rig = *state;
    size_t n = 4 * LIMIT_KEEP_BYTES;
    char *answer = made_of("{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"", "\"}]}}", n);
    Idling idling = {.rig = rig};
    IoBeforeWait *hook = NULL;
    Asked asked;

    rig_listen(rig);
    rig_start(rig, SCHEMA);
    rig_plan(rig, (Reply){.answer = span_make(answer, n)});
    rig_plan(rig, ANSWER(TEXT("small")));
    ask_and_await(&asked, rig, "add");
    assert_int_equal(asked.kind, CALL_RESULT_TOOL);
    asked_forget(&asked);
    assert_int_equal(io_before_wait_new(&hook, rig->loop, stop_if_less_is_live, &idling), 0);
    idling.n_live = alloc_testing()->n_live;
    rig_run(rig);
    hook = io_before_wait_free(hook);
    ask_and_await(&asked, rig, "add");
    assert_content(&asked, BLOCK("small"));
    assert_int_equal(rig->n_accepted, 1);
    asked_forget(&asked);
    free(answer);
}

/* ---- a parent that misbehaves, goes, or is not there ---- */

typedef struct Mischief {
    Reply reply;
    CallError error;
    const char *words;
    bool ends; /* the connection */
} Mischief;

static void every_mischief_fails_one_call_and_the_next_one_works(void **state)
{
    const Mischief mischiefs[] = {
        {RAW("\0\0\0\0"), CALL_ERROR_BAD_RESULT, "did not answer with a message", true},
        {ANSWER("{"), CALL_ERROR_BAD_RESULT, "did not answer with a message", true},
        {ANSWER("[]"), CALL_ERROR_BAD_RESULT, "did not answer with a message", true},
        {ANSWER("{\"result\":{\"content\":[]},\"error\":{\"message\":\"m\",\"type\":\"t\"}}"),
         CALL_ERROR_BAD_RESULT, "both", false},
        {ANSWER("{}"), CALL_ERROR_BAD_RESULT, "missing both", false},
        {RAW("\x00\xA0\x00\x01"), CALL_ERROR_TOO_LARGE, "10485761 bytes", true},
        {RAW("\xFF\xFF\xFF\xFF"), CALL_ERROR_TOO_LARGE, "4294967295 bytes", true},
        {CUT("\0\0\0\x10{\"result\""), CALL_ERROR_UNAVAILABLE, "in the middle of an answer", true},
        {CUT("\0\0"), CALL_ERROR_UNAVAILABLE, "in the middle of an answer", true},
        {CLOSE, CALL_ERROR_UNAVAILABLE, "was lost while the call ran; it may have been done", true},
    };
    Rig *rig = *state;
    Asked asked;

    rig_listen(rig);
    rig_start(rig, SCHEMA);
    rig_plan(rig, ANSWER(TEXT("0")));
    ask_and_await(&asked, rig, "add");
    asked_forget(&asked);
    for (size_t i = 0; i < TW_ARRAY_SIZE(mischiefs); i++) {
        size_t n_before = rig->n_accepted;

        rig->n_plan = 0;
        rig->at_plan = 0;
        rig_plan(rig, mischiefs[i].reply);
        rig_plan(rig, ANSWER(TEXT("mine")));
        ask_and_await(&asked, rig, "add");
        assert_failed(&asked, mischiefs[i].error, mischiefs[i].words);
        asked_forget(&asked);
        ask_and_await(&asked, rig, "sub");
        assert_content(&asked, BLOCK("mine"));
        asked_forget(&asked);
        assert_int_equal(rig->n_accepted - n_before, mischiefs[i].ends);
    }
    assert_int_equal(rig->n_requests, 1 + 2 * TW_ARRAY_SIZE(mischiefs));
}

static void an_answer_that_nobody_asked_for_ends_the_connection(void **state)
{
    Rig *rig = *state;
    Asked asked;

    rig_listen(rig);
    rig_start(rig, SCHEMA);
    rig_plan(rig, ANSWER(TEXT("1")));
    rig_plan(rig, ANSWER(TEXT("2")));
    ask_and_await(&asked, rig, "add");
    asked_forget(&asked);
    connection_reply(rig_connection(rig), ANSWER(TEXT("ghost")));
    rig_run_to_line(rig, "connection closed: what came is no answer");
    ask_and_await(&asked, rig, "add");
    assert_content(&asked, BLOCK("2"));
    asked_forget(&asked);
    assert_int_equal(rig->n_accepted, 2);
}

static Reply twice(const char *first, size_t n_first, Span ghost)
{
    return (Reply){.answer = span_make(first, n_first), .raw = ghost};
}

/* Small ones are read at once; behind a large one the other is still in the system. */
static void an_answer_too_many_does_not_reach_the_next_call(void **state)
{
    const size_t sizes[] = {strlen(TEXT("")), IO_STREAM_READ_BYTES + 1000};
    const Span ghosts[] = {SPAN_INIT("\0\0\0\x37" TEXT("ghost")), SPAN_INIT("\0\0")};
    Rig *rig = *state;
    Asked asked[3];

    assert_int_equal(strlen(TEXT("ghost")), 0x37);
    rig_listen(rig);
    rig_start(rig, SCHEMA);
    for (size_t i = 0; i < TW_ARRAY_SIZE(sizes) * TW_ARRAY_SIZE(ghosts); i++) {
        size_t n = sizes[i / TW_ARRAY_SIZE(ghosts)];
        size_t n_before = rig->n_accepted;
        char *answer =
            made_of("{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"", "\"}]}}", n);

        rig->n_plan = 0;
        rig->at_plan = 0;
        rig_plan(rig, twice(answer, n, ghosts[i % TW_ARRAY_SIZE(ghosts)]));
        rig_plan(rig, ANSWER(TEXT("1")));
        rig_plan(rig, ANSWER(TEXT("2")));
        for (size_t k = 0; k < TW_ARRAY_SIZE(asked); k++) {
            ask(&asked[k], rig, "add");
        }
        for (size_t k = 0; k < TW_ARRAY_SIZE(asked); k++) {
            await(&asked[k]);
        }
        assert_int_equal(asked[0].kind, CALL_RESULT_TOOL);
        assert_content(&asked[1], BLOCK("1"));
        assert_content(&asked[2], BLOCK("2"));
        assert_int_equal(rig->n_accepted - n_before, i == 0 ? 2 : 1);
        for (size_t k = 0; k < TW_ARRAY_SIZE(asked); k++) {
            asked_forget(&asked[k]);
        }
        free(answer);
    }
    assert_int_equal(rig->n_requests, 12);
}

/* Time passes, and the loop gets no turn. */
static void let_time_pass(const Rig *rig)
{
    int64_t before_ms = io_loop_now_ms(rig->loop);

    while (io_loop_now_ms(rig->loop) == before_ms) {
        io_loop_update_now(rig->loop);
    }
}

static void a_call_is_not_answered_by_what_came_before_it(void **state)
{
    Rig *rig = *state;
    Asked asked;

    rig_listen(rig);
    rig_start(rig, SCHEMA);
    rig_plan(rig, ANSWER(TEXT("1")));
    rig_plan(rig, ANSWER(TEXT("2")));
    rig_plan(rig, ANSWER(TEXT("3")));
    ask_and_await(&asked, rig, "add");
    asked_forget(&asked);
    /* Not read yet. */
    connection_reply(rig_connection(rig), ANSWER(TEXT("ghost")));
    let_time_pass(rig);
    ask_and_await(&asked, rig, "add");
    assert_content(&asked, BLOCK("2"));
    asked_forget(&asked);
    assert_int_equal(rig->n_accepted, 2);
}

static void stop_loop(void *context)
{
    io_loop_stop(((Rig *)context)->loop);
}

static void nor_by_what_has_begun_to_come(void **state)
{
    Rig *rig = *state;
    IoTimer *soon = NULL;
    Asked asked;

    rig_listen(rig);
    rig_start(rig, SCHEMA);
    rig_plan(rig, ANSWER(TEXT("1")));
    rig_plan(rig, ANSWER(TEXT("2")));
    ask_and_await(&asked, rig, "add");
    asked_forget(&asked);
    connection_reply(rig_connection(rig), RAW("\0\0"));
    assert_int_equal(io_timer_new(&soon, rig->loop, false, stop_loop, rig), 0);
    io_timer_start_at(soon, io_loop_now_ms(rig->loop) + 1);
    rig_run(rig);
    soon = io_timer_free(soon);
    ask_and_await(&asked, rig, "add");
    assert_content(&asked, BLOCK("2"));
    asked_forget(&asked);
    assert_int_equal(rig->n_accepted, 2);
}

#define LAST(text) ((Reply){.answer = SPAN_INIT(text), .closes = true})

static void a_parent_may_close_after_each_answer_though_calls_wait(void **state)
{
    static const char *const arguments[] = {"{\"i\":0}", "{\"i\":1}", "{\"i\":2}", NULL};
    Rig *rig = *state;
    Asked asked[TW_ARRAY_SIZE(arguments)];

    rig_listen(rig);
    rig_start(rig, SCHEMA);
    rig_plan(rig, LAST(TEXT("0")));
    rig_plan(rig, LAST(TEXT("1")));
    rig_plan(rig, LAST(TEXT("2")));
    rig_plan(rig, LAST(TEXT("3")));
    for (size_t i = 0; i < TW_ARRAY_SIZE(asked); i++) {
        asked_init(&asked[i], rig);
        asked_ask(&asked[i], "add", arguments[i], 0);
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(asked); i++) {
        char content[64];

        await(&asked[i]);
        (void)snprintf(content, sizeof(content), "{\"type\":\"text\",\"text\":\"%zu\"}", i);
        assert_content(&asked[i], content);
        asked_forget(&asked[i]);
    }
    assert_requests(
        rig,
        "{\"method\":\"call_tool\",\"params\":{\"name\":\"add\",\"arguments\":{\"i\":0}}}\n"
        "{\"method\":\"call_tool\",\"params\":{\"name\":\"add\",\"arguments\":{\"i\":1}}}\n"
        "{\"method\":\"call_tool\",\"params\":{\"name\":\"add\",\"arguments\":{\"i\":2}}}\n" ASKED(
            "add") "\n");
    assert_int_equal(rig->n_accepted, 4);
}

/* In the same millisecond nobody looks whether the parent has gone: the write tells. */
static void a_call_that_did_not_leave_keeps_its_arguments(void **state)
{
    Rig *rig = *state;
    size_t n_unlooked = 0;
    Asked asked;

    rig_listen(rig);
    rig_start(rig, SCHEMA);
    asked_init(&asked, rig);
    while (n_unlooked == 0 && rig->n_accepted + 1 < RIG_CONNECTIONS) {
        rig->n_plan = 0;
        rig->at_plan = 0;
        rig->requests.n = 0;
        rig_plan(rig, ANSWER(TEXT("1")));
        rig_plan(rig, ANSWER(TEXT("2")));
        for (size_t i = 0; i < 2; i++) {
            asked.n_finished = 0;
            asked_ask(&asked, "add", i == 0 ? "{\"i\":0}" : "{\"i\":1}", 0);
            n_unlooked += i == 1 && asked.call.arguments.node != NULL ? 1 : 0;
            await(&asked);
            connection_close(rig_connection(rig));
        }
        assert_content(&asked, BLOCK("2"));
        assert_requests(rig, "{\"method\":\"call_tool\",\"params\":{\"name\":\"add\",\"arguments\":"
                             "{\"i\":0}}}\n{\"method\":\"call_tool\",\"params\":{\"name\":\"add\","
                             "\"arguments\":{\"i\":1}}}\n");
        let_time_pass(rig);
    }
    assert_true(n_unlooked > 0);
    asked_forget(&asked);
}

static void a_loss_fails_the_call_that_was_sent_and_serves_the_queue(void **state)
{
    Rig *rig = *state;
    Asked first;
    Asked second;

    rig_listen(rig);
    rig_start(rig, SCHEMA);
    rig_plan(rig, CLOSE);
    rig_plan(rig, ANSWER(TEXT("2")));
    ask(&first, rig, "add");
    ask(&second, rig, "sub");
    await(&first);
    assert_failed(&first, CALL_ERROR_UNAVAILABLE, "was lost");
    await(&second);
    assert_content(&second, BLOCK("2"));
    assert_requests(rig, ASKED("add") "\n" ASKED("sub") "\n"); /* none was repeated */
    assert_int_equal(rig->n_accepted, 2);
    asked_forget(&first);
    asked_forget(&second);
}

static void a_parent_may_close_between_two_calls(void **state)
{
    Rig *rig = *state;
    Asked asked;

    rig_listen(rig);
    rig_start(rig, SCHEMA);
    rig_plan(rig, ANSWER(TEXT("1")));
    rig_plan(rig, ANSWER(TEXT("2")));
    ask_and_await(&asked, rig, "add");
    asked_forget(&asked);
    connection_close(rig_connection(rig));
    rig_run_to_line(rig, "connection closed\n");
    ask_and_await(&asked, rig, "add");
    assert_content(&asked, BLOCK("2"));
    asked_forget(&asked);
    assert_int_equal(rig->n_accepted, 2);
}

static void a_call_is_not_wasted_on_a_connection_that_has_just_gone(void **state)
{
    Rig *rig = *state;
    Asked asked;

    rig_listen(rig);
    rig_start(rig, SCHEMA);
    rig_plan(rig, ANSWER(TEXT("1")));
    rig_plan(rig, ANSWER(TEXT("2")));
    ask_and_await(&asked, rig, "add");
    asked_forget(&asked);
    connection_close(rig_connection(rig));
    let_time_pass(rig);
    ask_and_await(&asked, rig, "add");
    assert_content(&asked, BLOCK("2"));
    asked_forget(&asked);
    assert_int_equal(rig->n_accepted, 2);
}

static void a_parent_that_is_not_there_may_come_later(void **state)
{
    Rig *rig = *state;
    Asked asked;

    rig_start(rig, SCHEMA);
    ask(&asked, rig, "add");
    assert_int_equal(asked.n_finished, 1); /* at once */
    assert_failed(&asked, CALL_ERROR_UNAVAILABLE, rig->socket);
    assert_holds(&asked.message, "No such file or directory");
    asked_forget(&asked);
    rig_listen(rig);
    rig_plan(rig, ANSWER(TEXT("1")));
    ask_and_await(&asked, rig, "add");
    assert_content(&asked, BLOCK("1"));
    asked_forget(&asked);
}

/* A listening socket of the system's, without a loop. */
static int plain_listen(const Rig *rig, int backlog)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", rig->socket);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, backlog), 0);
    return fd;
}

/* One whose end has the parent say more. */
typedef struct Haunted {
    Asked asked; /* first */
    int fd;
    Span ghost;
} Haunted;

static void say_more(Asked *asked)
{
    const Haunted *haunted = (const Haunted *)asked;

    assert_int_equal(write(haunted->fd, haunted->ghost.p, haunted->ghost.n), haunted->ghost.n);
}

/* The parent has stopped reading, and the next request has failed to leave. */
static void a_request_that_did_not_leave_has_no_answer(void **state)
{
    static const char answer[] = "\0\0\0\x33" TEXT("1");
    const Span ghosts[] = {SPAN_INIT("\0\0\0\x37" TEXT("ghost")), SPAN_INIT("\xFF\xFF\xFF\xFF")};
    Rig *rig = *state;
    int listening = plain_listen(rig, 4);

    rig_start(rig, SCHEMA);
    for (size_t i = 0; i < TW_ARRAY_SIZE(ghosts); i++) {
        Haunted first = {.ghost = ghosts[i]};
        Asked second;

        asked_init(&first.asked, rig);
        first.asked.then = say_more;
        asked_ask(&first.asked, "add", NULL, 0);
        ask(&second, rig, "sub");
        first.fd = accept(listening, NULL, NULL);
        assert_true(first.fd >= 0);
        assert_int_equal(shutdown(first.fd, SHUT_RD), 0);
        assert_int_equal(write(first.fd, answer, sizeof(answer) - 1), sizeof(answer) - 1);
        await(&first.asked);
        assert_content(&first.asked, BLOCK("1"));
        rig_run_to_line(rig, i == 0 ? "what came is no answer" : "an answer over the limit");
        (void)close(first.fd);
        rig_plan(rig, ANSWER(TEXT("2")));
        rig_accept(rig, accept(listening, NULL, NULL));
        await(&second);
        assert_content(&second, BLOCK("2"));
        asked_forget(&first.asked);
        asked_forget(&second);
        connection_close(rig_connection(rig));
        let_time_pass(rig);
    }
    assert_requests(rig, ASKED("sub") "\n" ASKED("sub") "\n");
    (void)close(listening);
}

static void a_socket_that_a_dead_parent_left_is_explained(void **state)
{
    Rig *rig = *state;
    int fd = plain_listen(rig, 1);
    Asked asked;

    (void)close(fd);
    rig_start(rig, SCHEMA);
    ask(&asked, rig, "add");
    assert_failed(&asked, CALL_ERROR_UNAVAILABLE, "Connection refused");
    asked_forget(&asked);
}

static void a_parent_of_another_user_is_not_talked_to(void **state)
{
    Rig *rig = *state;
    Asked asked;
    int fd;

    if (geteuid() != 0) {
        skip(); /* only root can play another user */
    }
    assert_int_equal(chmod(rig->folder, 0777), 0);
    assert_int_equal(seteuid(65534), 0);
    fd = plain_listen(rig, 1); /* who listens counts, and when */
    assert_int_equal(seteuid(0), 0);
    rig_start(rig, SCHEMA);
    ask(&asked, rig, "add");
    assert_failed(&asked, CALL_ERROR_UNAVAILABLE, "refused to talk to the parent at ");
    assert_holds(&asked.message, "another user (uid 65534), and only parents of this user (uid 0)");
    assert_false(rig_holds(bytes_span(&asked.message), "start "));
    asked_forget(&asked);
    (void)close(fd);
}

/* Connections that fill the backlog. */
static size_t fill_backlog(const Rig *rig, int *fds, size_t max)
{
    size_t n = 0;
    int r = 0;

    while (n < max && (r = unix_socket_connect(rig->socket, &fds[n])) == 0) {
        n++;
    }
    assert_int_equal(r, -EAGAIN);
    return n;
}

static void a_full_backlog_is_tried_again(void **state)
{
    Rig *rig = *state;
    int fd = plain_listen(rig, 0);
    int fds[64];
    size_t n = fill_backlog(rig, fds, TW_ARRAY_SIZE(fds));
    Asked asked;
    int accepted;

    rig_start(rig, SCHEMA);
    ask(&asked, rig, "add");
    assert_int_equal(asked.n_finished, 0);
    for (size_t i = 0; i < n; i++) {
        accepted = accept(fd, NULL, NULL);
        assert_true(accepted >= 0);
        (void)close(accepted);
        (void)close(fds[i]);
    }
    rig_run_to_line(rig, "connected");
    assert_int_equal(asked.n_finished, 0);
    accepted = accept(fd, NULL, NULL);
    rig_accept(rig, accepted);
    rig_plan(rig, ANSWER(TEXT("1")));
    await(&asked);
    assert_content(&asked, BLOCK("1"));
    asked_forget(&asked);
    (void)close(fd);
}

static void a_backlog_that_stays_full_fails_the_call(void **state)
{
    Rig *rig = *state;
    int fd = plain_listen(rig, 0);
    int fds[64];
    size_t n = fill_backlog(rig, fds, TW_ARRAY_SIZE(fds));
    Asked asked;

    rig_start(rig, SCHEMA);
    ask_and_await(&asked, rig, "add");
    assert_failed(&asked, CALL_ERROR_UNAVAILABLE, "Resource temporarily unavailable");
    asked_forget(&asked);
    while (n > 0) {
        (void)close(fds[--n]);
    }
    (void)close(fd);
}

/* ---- calls that are taken back ---- */

static void a_call_that_was_not_sent_is_dropped(void **state)
{
    Rig *rig = *state;
    Asked first;
    Asked second;

    rig_listen(rig);
    rig_start(rig, SCHEMA);
    rig_plan(rig, WAIT);
    rig->stop_at_request = 1;
    ask(&first, rig, "add");
    ask(&second, rig, "sub");
    rig_run(rig);
    router_cancel(rig->router, &second.call);
    connection_reply(rig_connection(rig), ANSWER(TEXT("1")));
    await(&first);
    assert_content(&first, BLOCK("1"));
    assert_int_equal(second.n_finished, 0);
    assert_requests(rig, ASKED("add") "\n");
    asked_forget(&first);
    asked_forget(&second);
}

static void the_late_answer_of_a_call_that_was_taken_back_is_discarded(void **state)
{
    Rig *rig = *state;
    Asked first;
    Asked second;

    rig_listen(rig);
    rig_start(rig, SCHEMA);
    rig_plan(rig, WAIT);
    rig_plan(rig, ANSWER(TEXT("mine")));
    rig->stop_at_request = 1;
    ask(&first, rig, "add");
    rig_run(rig);
    router_cancel(rig->router, &first.call);
    ask(&second, rig, "sub");
    connection_reply(rig_connection(rig), ANSWER(TEXT("late")));
    await(&second);
    assert_content(&second, BLOCK("mine"));
    assert_int_equal(first.n_finished, 0);
    assert_int_equal(rig->n_accepted, 1);
    asked_forget(&first);
    asked_forget(&second);
}

static void a_parent_that_never_answers_meets_the_deadline(void **state)
{
    Rig *rig = *state;
    Asked first;
    Asked second;

    rig_listen(rig);
    rig_start(rig, SCHEMA);
    rig_plan(rig, WAIT);
    rig_plan(rig, ANSWER(TEXT("mine")));
    asked_init(&first, rig);
    asked_ask(&first, "add", NULL, 20);
    await(&first);
    assert_int_equal(first.error, CALL_ERROR_TIMEOUT);
    /* The connection is waited for a while, and then another one is used. */
    ask_and_await(&second, rig, "sub");
    assert_content(&second, BLOCK("mine"));
    assert_int_equal(rig->n_accepted, 2);
    assert_holds(&rig->lines, "taken back did not come");
    asked_forget(&first);
    asked_forget(&second);
}

static void a_call_taken_back_before_there_is_a_connection_needs_none(void **state)
{
    Rig *rig = *state;
    int fd = plain_listen(rig, 0);
    int fds[64];
    size_t n = fill_backlog(rig, fds, TW_ARRAY_SIZE(fds));
    Asked asked;

    rig_start(rig, SCHEMA);
    /* More often than one call is tried: each begins anew. */
    for (int i = 0; i < 8; i++) {
        ask(&asked, rig, "add");
        assert_int_equal(asked.n_finished, 0);
        router_cancel(rig->router, &asked.call);
        rig_keep_time(rig);
        /* Nothing is left that could happen, once the time to try again has come. */
        rig_run(rig);
        assert_int_equal(asked.n_finished, 0);
        asked_forget(&asked);
    }
    assert_int_equal(rig->lines.n, 0);
    while (n > 0) {
        (void)close(fds[--n]);
    }
    (void)close(fd);
}

/* ---- the schema file ---- */

static void the_tools_follow_the_schema_file(void **state)
{
    Rig *rig = *state;
    Asked asked;

    rig_listen(rig);
    rig_start(rig, SCHEMA);
    rig->stop_at_change = true;
    rig_put_schema(rig, "[" TOOL("sub") "," TOOL("mul") "]");
    rig_run(rig);
    assert_int_equal(rig->n_changed, 2); /* once at the start, once now */
    assert_tools(rig, "sub mul");
    assert_int_equal(parent_provider_count(rig->provider), 2);
    rig_plan(rig, ANSWER(TEXT("1")));
    ask_and_await(&asked, rig, "mul");
    assert_content(&asked, BLOCK("1"));
    asked_forget(&asked);
    ask_and_await(&asked, rig, "add");
    assert_int_equal(asked.error, CALL_ERROR_UNKNOWN_TOOL);
    asked_forget(&asked);
}

static void a_call_outlives_its_tool(void **state)
{
    Rig *rig = *state;
    Asked asked;

    rig_listen(rig);
    rig_start(rig, SCHEMA);
    rig->stop_at_request = 1;
    rig->stop_at_change = true;
    ask(&asked, rig, "add");
    rig_run(rig);
    rig_put_schema(rig, "[]");
    rig_run(rig);
    assert_int_equal(router_count(rig->router, ROUTER_TOOL), 0);
    connection_reply(rig_connection(rig), ANSWER(TEXT("1")));
    await(&asked);
    assert_content(&asked, BLOCK("1"));
    asked_forget(&asked);
}

static void a_broken_schema_file_leaves_the_tools_in_place(void **state)
{
    Rig *rig = *state;

    rig_start(rig, SCHEMA);
    rig_put_schema(rig, "[" TOOL("mul") ",\n{}]");
    io_loop_hold(rig->loop);
    rig_run_to_line(rig, "schema.json:2: [1].name: is missing; the tools stay as they were (2)");
    assert_tools(rig, "add sub");
    assert_int_equal(rig->n_changed, 1);
    io_loop_release(rig->loop);
}

static void a_schema_file_that_others_can_read_is_refused(void **state)
{
    Rig *rig = *state;
    Diag diag = DIAG_NULL;

    rig_put_schema(rig, SCHEMA);
    assert_int_equal(chmod(rig->schema, 0644), 0);
    assert_int_equal(rig_try(rig, &diag), PARENT_PROVIDER_E_SCHEMA);
    assert_null(rig->provider);
    assert_non_null(strstr(diag.message, "chmod "));
    assert_non_null(strstr(diag.message, rig->schema));
    assert_int_equal(router_count(rig->router, ROUTER_TOOL), 0);
    assert_int_equal(rig_try(rig, NULL), PARENT_PROVIDER_E_SCHEMA);
}

/* ---- life ---- */

static void freeing_fails_what_is_sent_and_what_is_queued(void **state)
{
    Rig *rig = *state;
    Asked first;
    Asked second;

    rig_listen(rig);
    rig_start(rig, SCHEMA);
    rig->stop_at_request = 1;
    ask(&first, rig, "add");
    ask(&second, rig, "sub");
    rig_run(rig);
    rig->provider = parent_provider_free(rig->provider);
    assert_int_equal(first.n_finished, 1);
    assert_int_equal(second.n_finished, 1);
    assert_failed(&first, CALL_ERROR_UNAVAILABLE, "may have been done");
    assert_failed(&second, CALL_ERROR_UNAVAILABLE, "has not run");
    assert_int_equal(router_count(rig->router, ROUTER_TOOL), 0);
    asked_forget(&first);
    asked_forget(&second);
}

static void the_end_of_a_call_finds_the_tools_gone(void **state)
{
    Rig *rig = *state;
    Asked first;
    Asked second = {.n_finished = 0};

    rig_listen(rig);
    rig_start(rig, SCHEMA);
    rig->stop_at_request = 1;
    asked_init(&first, rig);
    first.then = ask_next;
    first.next = &second;
    asked_ask(&first, "add", NULL, 0);
    rig_run(rig);
    rig->provider = parent_provider_free(rig->provider);
    assert_int_equal(second.n_finished, 1);
    assert_int_equal(second.error, CALL_ERROR_UNKNOWN_TOOL);
    asked_forget(&first);
    asked_forget(&second);
}

static int make_once(void *context)
{
    Rig *rig = context;
    int r = io_loop_new(&rig->loop);

    if (r == 0) {
        r = router_new(&rig->router, NULL, RIG_SEED);
    }
    if (r == 0) {
        r = rig_try(rig, NULL);
    }
    if (r != 0) {
        assert_null(rig->provider);
    }
    rig->provider = parent_provider_free(rig->provider);
    rig->router = router_free(rig->router);
    rig->loop = io_loop_free(rig->loop);
    return r;
}

static void memory_that_runs_out_is_reported(void **state)
{
    Rig *rig = *state;
    Rig made = *rig;

    rig_put_schema(rig, SCHEMA);
    made.log.level = LOGSINK_LEVEL_ERROR;
    made.loop = NULL;
    made.router = NULL;
    test_oom_sweep(make_once, &made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(tools_are_offered_without_touching_the_socket),
        RIG_TEST(calls_use_one_connection),
        RIG_TEST(what_the_parent_says_of_a_result_arrives),
        RIG_TEST(calls_are_sent_one_at_a_time_and_in_order),
        RIG_TEST(the_end_of_a_call_may_start_the_next),
        RIG_TEST(whoever_asks_again_at_once_is_told_in_the_next_turn),
        RIG_TEST(steady_traffic_allocates_nothing),
        RIG_TEST(messages_as_large_as_the_limit_pass),
        RIG_TEST(a_request_over_the_limit_fails_and_touches_nothing),
        RIG_TEST(a_silent_connection_gives_the_memory_of_a_large_answer_back),
        RIG_TEST(every_mischief_fails_one_call_and_the_next_one_works),
        RIG_TEST(an_answer_that_nobody_asked_for_ends_the_connection),
        RIG_TEST(an_answer_too_many_does_not_reach_the_next_call),
        RIG_TEST(a_call_is_not_answered_by_what_came_before_it),
        RIG_TEST(nor_by_what_has_begun_to_come),
        RIG_TEST(a_parent_may_close_after_each_answer_though_calls_wait),
        RIG_TEST(a_call_that_did_not_leave_keeps_its_arguments),
        RIG_TEST(a_loss_fails_the_call_that_was_sent_and_serves_the_queue),
        RIG_TEST(a_parent_may_close_between_two_calls),
        RIG_TEST(a_call_is_not_wasted_on_a_connection_that_has_just_gone),
        RIG_TEST(a_parent_that_is_not_there_may_come_later),
        RIG_TEST(a_request_that_did_not_leave_has_no_answer),
        RIG_TEST(a_socket_that_a_dead_parent_left_is_explained),
        RIG_TEST(a_parent_of_another_user_is_not_talked_to),
        RIG_TEST(a_full_backlog_is_tried_again),
        RIG_TEST(a_backlog_that_stays_full_fails_the_call),
        RIG_TEST(a_call_that_was_not_sent_is_dropped),
        RIG_TEST(the_late_answer_of_a_call_that_was_taken_back_is_discarded),
        RIG_TEST(a_parent_that_never_answers_meets_the_deadline),
        RIG_TEST(a_call_taken_back_before_there_is_a_connection_needs_none),
        RIG_TEST(the_tools_follow_the_schema_file),
        RIG_TEST(a_call_outlives_its_tool),
        RIG_TEST(a_broken_schema_file_leaves_the_tools_in_place),
        RIG_TEST(a_schema_file_that_others_can_read_is_refused),
        RIG_TEST(freeing_fails_what_is_sent_and_what_is_queued),
        RIG_TEST(the_end_of_a_call_finds_the_tools_gone),
        RIG_TEST(memory_that_runs_out_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

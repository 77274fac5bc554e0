/* Add-ins that misbehave: what becomes of each, and that no other notices. */
#include "addin_rig.h"

#include <poll.h>

#include "support/oom_sweep.h"

#define PING "{\"id\":\"2\",\"type\":\"ping\",\"timestamp\":\"x\",\"payload\":{}}"

/* The well-behaved one; its tool is "good". */
static Fake *rig_with_good(Rig *rig)
{
    rig_start(rig, NULL);
    return rig_join(rig, "good", LIST("good", TOOL("good")));
}

static void assert_good_is_well(Rig *rig)
{
    assert_served_by(rig, "good", "good");
    assert_false(rig->fakes[0].has_ended);
}

/* ---- messages that are wrong: told, counted, and it goes on ---- */

static void an_unknown_type_is_counted_and_told(void **state)
{
    Rig *rig = *state;
    Fake *fake;

    (void)rig_with_good(rig);
    fake = rig_join(rig, "a", LIST("a", TOOL("one")));
    SAY(fake, "{\"id\":\"5\",\"type\":\"chat\",\"timestamp\":\"x\",\"payload\":{}}");
    RUN_UNTIL(rig, fake->n_errors == 1);
    assert_int_equal(addins_counts(rig->addins).bad, 1);
    assert_served_by(rig, "one", "a");
    assert_good_is_well(rig);
}

static void a_message_with_a_missing_field_is_counted_and_told(void **state)
{
    Rig *rig = *state;
    Fake *fake;

    (void)rig_with_good(rig);
    fake = rig_join(rig, "a", LIST("a", TOOL("one")));
    SAY(fake, "{\"id\":\"5\",\"type\":\"tool_result\",\"timestamp\":\"x\",\"payload\":{}}");
    RUN_UNTIL(rig, fake->n_errors == 1);
    assert_int_equal(addins_counts(rig->addins).bad, 1);
    assert_served_by(rig, "one", "a");
    assert_good_is_well(rig);
}

static void results_of_nothing_are_dropped_and_counted(void **state)
{
    Rig *rig = *state;
    Asked asked;
    Fake *fake;

    (void)rig_with_good(rig);
    fake = rig_join(rig, "a", LIST("a", TOOL("one")));
    fake->holds = true;
    ask(&asked, rig, "one");
    RUN_UNTIL(rig, fake->n_held == 1);
    fake_answer(fake, "nobody", "\"success\":true,\"data\":0");
    fake_answer(fake, fake->held[0], "\"success\":true,\"data\":1");
    fake_answer(fake, fake->held[0], "\"success\":true,\"data\":2");
    await(&asked);
    RUN_UNTIL(rig, addins_counts(rig->addins).late == 2);
    assert_bytes(&asked.structured, "{\"result\":1}");
    assert_int_equal(asked.n_finished, 1);
    /* What one has counted stays when it goes. */
    rig_part(rig, fake);
    assert_int_equal(addins_counts(rig->addins).late, 2);
    assert_good_is_well(rig);
    asked_forget(&asked);
}

static void an_answer_that_cannot_be_read_ends_its_call(void **state)
{
    Rig *rig = *state;
    Asked asked;
    Fake *fake;

    (void)rig_with_good(rig);
    fake = rig_join(rig, "a", LIST("a", TOOL("one")));
    fake->holds = true;
    ask(&asked, rig, "one");
    RUN_UNTIL(rig, fake->n_held == 1);
    fake_answer(fake, fake->held[0], "\"success\":\"perhaps\"");
    await(&asked);
    assert_failed(&asked, "PIPE_PROTOCOL_ERROR", "the add-in's answer is wrong");
    assert_good_is_well(rig);
    asked_forget(&asked);
}

static void pings_are_answered_and_calls_refused(void **state)
{
    Rig *rig = *state;
    Fake *fake;

    fake = rig_with_good(rig);
    SAY(fake, PING);
    SAY(fake, "{\"id\":\"6\",\"type\":\"tool_call\",\"timestamp\":\"x\",\"payload\":{\"tool_name\":"
              "\"good\",\"args\":{}}}");
    RUN_UNTIL(rig, fake->n_pongs == 1 && fake->n_errors == 1);
    assert_holds(&fake->got, "TOOL_NOT_FOUND");
    assert_good_is_well(rig);
}

/* ---- what is no message: told why, closed ---- */

static void what_is_no_message_is_told_and_closed(void **state)
{
    static const Span texts[] = {SPAN_INIT("hello"), SPAN_INIT(""), SPAN_INIT("[]"),
                                 SPAN_INIT("{\"id\":\"1\"}"),
                                 SPAN_INIT("{\"type\":\"ping\",\"id\":\"\xFF\"}")};
    Rig *rig = *state;
    uint64_t n_refused = 0;

    (void)rig_with_good(rig);
    for (size_t i = 0; i < TW_ARRAY_SIZE(texts); i++) {
        Fake *fake = rig_join(rig, "a", LIST("a", TOOL("one")));
        Asked asked;

        fake->holds = true;
        ask(&asked, rig, "one");
        RUN_UNTIL(rig, fake->n_held == 1);
        fake_send(fake, texts[i]);
        RUN_UNTIL(rig, fake->has_ended);
        assert_int_equal(fake->n_errors, 1);
        assert_holds(&fake->got, "PIPE_PROTOCOL_ERROR");
        await(&asked);
        assert_failed(&asked, "PIPE_DISCONNECTED", "what came is no message");
        n_refused++;
        assert_int_equal(addins_counts(rig->addins).refused, n_refused);
        assert_tools(rig, "good");
        assert_good_is_well(rig);
        asked_forget(&asked);
    }
    assert_holds(&rig->lines, "warn");
}

static void a_frame_over_the_limit_is_told_and_closed(void **state)
{
    Rig *rig = *state;
    Fake *fake;

    (void)rig_with_good(rig);
    fake = rig_join(rig, "a", LIST("a", TOOL("one")));
    fake_send_raw(fake,
                  "\xFF\xFF\xFF\xFF"
                  "and more",
                  12);
    RUN_UNTIL(rig, fake->has_ended);
    assert_holds(&fake->got, "PIPE_MESSAGE_TOO_LARGE");
    assert_int_equal(addins_counts(rig->addins).refused, 1);
    assert_holds(&rig->lines, "a is closed: a message of 4294967295 bytes");
    assert_good_is_well(rig);
}

static void one_that_ends_in_the_middle_of_a_message_has_gone(void **state)
{
    Rig *rig = *state;
    Asked asked;
    Fake *fake;

    (void)rig_with_good(rig);
    fake = rig_join(rig, "a", LIST("a", TOOL("one")));
    fake->holds = true;
    ask(&asked, rig, "one");
    RUN_UNTIL(rig, fake->n_held == 1);
    fake_send_raw(fake, "\x10\0\0\0{", 5);
    fake_close(fake);
    await(&asked);
    assert_failed(&asked, "PIPE_DISCONNECTED", "in the middle of a message");
    RUN_UNTIL(rig, rig_holds(bytes_span(&rig->lines), "a has gone: in the middle of a message"));
    assert_good_is_well(rig);
    asked_forget(&asked);
}

static void what_came_before_the_end_still_counts(void **state)
{
    Rig *rig = *state;
    Asked asked;
    Fake *fake;

    rig_start(rig, NULL);
    fake = rig_join(rig, "a", LIST("a", TOOL("one")));
    fake->holds = true;
    ask(&asked, rig, "one");
    RUN_UNTIL(rig, fake->n_held == 1);
    fake_answer(fake, fake->held[0], "\"success\":true,\"data\":1");
    fake_close(fake);
    await(&asked);
    assert_bytes(&asked.structured, "{\"result\":1}");
    asked_forget(&asked);
}

static void a_message_that_comes_byte_by_byte_is_read(void **state)
{
    static const char frame[] = "\x35\0\0\0" PING;
    Rig *rig = *state;
    Fake *fake;

    (void)rig_with_good(rig);
    fake = rig_join(rig, "a", LIST("a", TOOL("one")));
    assert_int_equal(frame[0], sizeof(PING) - 1);
    for (size_t i = 0; i < sizeof(frame) - 1; i++) {
        fake_send_raw(fake, frame + i, 1);
        assert_good_is_well(rig);
    }
    RUN_UNTIL(rig, fake->n_pongs == 1);
    assert_served_by(rig, "one", "a");
}

/* ---- those that are silent, or do not read ---- */

static void one_that_answers_no_ping_is_dead(void **state)
{
    Rig *rig = *state;
    Fake *fake;

    rig->config.ping_interval_ms = 20;
    rig->config.pong_timeout_ms = 100;
    (void)rig_with_good(rig);
    fake = rig_connect(rig, "mute", NO_ANSWER);
    fake->ignores_pings = true;
    RUN_UNTIL(rig, addins_counts(rig->addins).dead == 1 && fake->has_ended);
    assert_true(fake->n_pings >= 1);
    assert_holds(&rig->lines, "add-in-2 has gone: it does not answer pings");
    assert_true(rig->fakes[0].n_pings >= 1);
    assert_good_is_well(rig);
    assert_int_equal(addins_counts(rig->addins).connected, 1);
}

static void calls_of_a_dead_one_fail_at_once(void **state)
{
    Rig *rig = *state;
    Asked asked;
    Fake *fake;

    rig->config.ping_interval_ms = 10;
    rig->config.pong_timeout_ms = 50;
    rig_start(rig, NULL);
    fake = rig_join(rig, "a", LIST("a", TOOL("one")));
    fake->holds = true;
    asked_init(&asked, rig);
    /* While it is inside a call no pong is missed; the call's own deadline ends that. */
    asked_ask(&asked, CALL_TOOL, "one", SPAN_NULL, 300);
    RUN_UNTIL(rig, fake->n_held == 1);
    fake->ignores_pings = true;
    await(&asked);
    assert_failed(&asked, "PIPE_TIMEOUT", "");
    assert_int_equal(addins_counts(rig->addins).dead, 0);
    RUN_UNTIL(rig, addins_counts(rig->addins).dead == 1);
    RUN_UNTIL(rig, fake->has_ended);
    assert_tools(rig, "");
    asked_forget(&asked);
}

static void what_came_while_we_were_stopped_is_read_before_anybody_is_dead(void **state)
{
    Rig *rig = *state;
    Fake *fake;

    rig->config.ping_interval_ms = 30;
    rig->config.pong_timeout_ms = 30;
    fake = rig_with_good(rig);
    /* Its pong has been written, and not been read yet. */
    RUN_UNTIL(rig, fake->n_pings == 1);
    assert_int_equal(poll(NULL, 0, 80), 0);
    RUN_UNTIL(rig, fake->n_pings == 2 || fake->has_ended);
    assert_int_equal(addins_counts(rig->addins).dead, 0);
    assert_good_is_well(rig);
}

/* An object of n bytes, most of them white space. */
static char *large_object(size_t n)
{
    char *text = malloc(n);

    assert_non_null(text);
    (void)memset(text, ' ', n);
    text[0] = '{';
    text[n - 1] = '}';
    return text;
}

static void one_that_never_reads_gets_so_many_calls_and_no_more(void **state)
{
    enum {
        MAX_BYTES = 1000000,
        N_CALLS = 8,
        N_BYTES = 900000
    };
    Rig *rig = *state;
    char *text = large_object(N_BYTES);
    Asked asked[N_CALLS];
    size_t n_refused = 0;
    Fake *fake;

    rig->config.max_bytes = MAX_BYTES;
    (void)rig_with_good(rig);
    fake = rig_join(rig, "a", LIST("a", TOOL("one")));
    io_stream_pause(fake->stream);
    for (size_t i = 0; i < N_CALLS; i++) {
        asked_init(&asked[i], rig);
        asked_ask(&asked[i], CALL_TOOL, "one", span_make(text, N_BYTES), 0);
        if (asked[i].n_finished > 0) {
            assert_failed(&asked[i], "ADAPTER_NOT_AVAILABLE", "does not read what it is sent");
            n_refused++;
        }
    }
    /* Two at the most wait here, and some part of one more in the system. */
    assert_true(n_refused >= N_CALLS - 3);
    assert_true(n_refused < N_CALLS);
    assert_good_is_well(rig);
    /* When it reads again the rest is answered. */
    io_stream_resume(fake->stream);
    for (size_t i = 0; i < N_CALLS; i++) {
        await(&asked[i]);
        asked_forget(&asked[i]);
    }
    assert_served_by(rig, "one", "a");
    free(text);
}

static void calls_leave_room_for_answers(void **state)
{
    enum {
        MAX_BYTES = 1000000,
        N_CALLS = 64,
        N_BYTES = 60000,
        N_PINGS = 2000
    };
    Rig *rig = *state;
    char *text = large_object(N_BYTES);
    Asked *asked = calloc(N_CALLS, sizeof(*asked));
    Fake *fake;

    assert_non_null(asked);
    rig->config.max_bytes = MAX_BYTES;
    rig_start(rig, NULL);
    fake = rig_join(rig, "a", LIST("a", TOOL("one")));
    io_stream_pause(fake->stream);
    for (size_t i = 0; i < N_CALLS; i++) {
        asked_init(&asked[i], rig);
        asked_ask(&asked[i], CALL_TOOL, "one", span_make(text, N_BYTES), 0);
    }
    assert_int_equal(asked[N_CALLS - 1].n_finished, 1);
    for (size_t i = 0; i < N_PINGS; i++) {
        SAY(fake, PING);
    }
    RUN_UNTIL(rig, fake->out.n == 0);
    io_stream_resume(fake->stream);
    RUN_UNTIL(rig, fake->n_pongs == N_PINGS);
    for (size_t i = 0; i < N_CALLS; i++) {
        await(&asked[i]);
        asked_forget(&asked[i]);
    }
    assert_false(fake->has_ended);
    free(asked);
    free(text);
}

static void calls_of_one_turn_do_not_use_up_the_room(void **state)
{
    enum {
        N_CALLS = 32,
        N_BYTES = 1000
    };
    Rig *rig = *state;
    char *text = large_object(N_BYTES);
    Asked asked[N_CALLS];

    rig->config.max_bytes = 4096;
    rig_start(rig, NULL);
    (void)rig_join(rig, "a", LIST("a", TOOL("one")));
    for (size_t i = 0; i < N_CALLS; i++) {
        asked_init(&asked[i], rig);
        asked_ask(&asked[i], CALL_TOOL, "one", span_make(text, N_BYTES), 0);
    }
    for (size_t i = 0; i < N_CALLS; i++) {
        await(&asked[i]);
        assert_bytes(&asked[i].structured, "{\"by\":\"a\"}");
        asked_forget(&asked[i]);
    }
    free(text);
}

static void reuse_call(Asked *asked)
{
    asked->call.took_arguments = true;
}

static void a_call_that_ends_while_it_is_sent_is_not_touched_again(void **state)
{
    Rig *rig = *state;
    char *text = large_object(5000);
    Asked asked;

    rig->config.max_bytes = 4096;
    rig_start(rig, NULL);
    (void)rig_join(rig, "a", LIST("a", TOOL("one")));
    asked_init(&asked, rig);
    asked.then = reuse_call;
    asked_ask(&asked, CALL_TOOL, "one", span_make(text, 5000), 0);
    assert_int_equal(asked.n_finished, 1);
    assert_true(asked.call.took_arguments);
    asked_forget(&asked);
    free(text);
}

static void one_that_asks_for_answers_and_reads_none_is_closed(void **state)
{
    Rig *rig = *state;
    Fake *fake;

    rig->config.max_bytes = 4096;
    (void)rig_with_good(rig);
    fake = rig_join(rig, "a", LIST("a", TOOL("one")));
    io_stream_pause(fake->stream);
    while (addins_counts(rig->addins).connected == 2) {
        for (size_t i = 0; i < 1000 && fake->out.n < 100000; i++) {
            SAY(fake, PING);
        }
        rig_run(rig);
    }
    assert_holds(&rig->lines, "a has gone: it does not read the answers that it asks for");
    assert_good_is_well(rig);
}

static void only_so_many_may_be_connected(void **state)
{
    enum {
        N_MAX = 256
    };
    Rig *rig = *state;
    int fds[N_MAX];
    Fake *fake;

    (void)rig_with_good(rig);
    for (size_t i = 0; i < N_MAX - 1; i++) {
        assert_int_equal(unix_socket_connect(rig->path, &fds[i]), 0);
        if (i % 32 == 31) {
            RUN_UNTIL(rig, addins_counts(rig->addins).connected == i + 2);
        }
    }
    RUN_UNTIL(rig, addins_counts(rig->addins).connected == N_MAX);
    fake = rig_connect(rig, "late", NO_ANSWER);
    RUN_UNTIL(rig, fake->has_ended);
    assert_holds(&rig->lines, "an add-in is refused: 256 are connected already");
    assert_good_is_well(rig);
    for (size_t i = 0; i < N_MAX - 1; i++) {
        assert_int_equal(close(fds[i]), 0);
    }
    RUN_UNTIL(rig, addins_counts(rig->addins).connected == 1);
    assert_int_equal(addins_counts(rig->addins).accepted, N_MAX);
}

/* ---- memory ---- */

static void a_large_message_passes_both_ways(void **state)
{
    enum {
        N_BYTES = 4 * 1024 * 1024
    };
    Rig *rig = *state;
    char *text = large_object(N_BYTES);
    char *answer = malloc(N_BYTES + 64);
    Asked asked;
    Fake *fake;

    assert_non_null(answer);
    rig_start(rig, NULL);
    fake = rig_join(rig, "a", LIST("a", TOOL("one")));
    fake->holds = true;
    asked_init(&asked, rig);
    asked_ask(&asked, CALL_TOOL, "one", span_make(text, N_BYTES), 0);
    RUN_UNTIL(rig, fake->n_held == 1);
    assert_true(fake->got.n > N_BYTES);
    (void)snprintf(answer, N_BYTES + 64, "\"success\":true,\"data\":[\"%0*d\"]", N_BYTES, 7);
    fake_answer(fake, fake->held[0], answer);
    await(&asked);
    assert_true(asked.structured.n > N_BYTES);
    assert_false(asked.is_error);
    asked_forget(&asked);
    free(text);
    free(answer);
}

static void a_call_that_is_too_large_is_not_sent(void **state)
{
    Rig *rig = *state;
    char *text = large_object(5000);
    const Fake *fake;
    Asked asked;

    rig->config.max_bytes = 4096;
    rig_start(rig, NULL);
    fake = rig_join(rig, "a", LIST("a", TOOL("one")));
    asked_init(&asked, rig);
    asked_ask(&asked, CALL_TOOL, "one", span_make(text, 5000), 0);
    await(&asked);
    assert_failed(&asked, "PIPE_MESSAGE_TOO_LARGE", "4096 bytes");
    assert_int_equal(fake->n_calls, 0);
    assert_served_by(rig, "one", "a");
    asked_forget(&asked);
    free(text);
}

/* What one run of the sweep came to. */
static int oom_call(Rig *rig)
{
    Asked asked;
    int r;

    ask(&asked, rig, "one");
    await(&asked);
    r = asked.kind == CALL_RESULT_TOOL && !asked.is_error ? 0 : -ENOMEM;
    if (r == 0) {
        assert_bytes(&asked.structured, "{\"by\":\"a\"}");
    }
    asked_forget(&asked);
    return r;
}

static int oom_scenario(void *context)
{
    Rig *rig = context;
    AllocTesting before = rig_enter();
    Fake *fake;
    int r;

    rig_init(rig);
    rig_put_tools(rig, "[" TOOL("file") "]");
    rig_leave(before);
    r = addins_new(&rig->addins, &rig->config, NULL);
    if (r == 0) {
        fake = rig_connect(
            rig, "a",
            "{\"name\":\"a\",\"tools\":[" TOOL("one") "],\"resources\":[{\"uri\":\"x:y\",\"name\":"
                                                      "\"r\"}]}");
        RUN_UNTIL(rig, fake->has_ended || rig_holds(bytes_span(&rig->lines), " is connected and "));
        r = oom_call(rig);
        if (r == 0 && router_count(rig->router, ROUTER_RESOURCE) == 0) {
            r = -ENOMEM;
        }
    }
    before = rig_enter();
    rig_deinit(rig);
    rig_leave(before);
    return r;
}

static void without_memory_whatever_fails_is_refused_and_nothing_leaks(void **state)
{
    Rig *rig = calloc(1, sizeof(*rig));

    (void)state;
    assert_non_null(rig);
    test_oom_sweep(oom_scenario, rig);
    free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(an_unknown_type_is_counted_and_told),
        RIG_TEST(a_message_with_a_missing_field_is_counted_and_told),
        RIG_TEST(results_of_nothing_are_dropped_and_counted),
        RIG_TEST(an_answer_that_cannot_be_read_ends_its_call),
        RIG_TEST(pings_are_answered_and_calls_refused),
        RIG_TEST(what_is_no_message_is_told_and_closed),
        RIG_TEST(a_frame_over_the_limit_is_told_and_closed),
        RIG_TEST(one_that_ends_in_the_middle_of_a_message_has_gone),
        RIG_TEST(what_came_before_the_end_still_counts),
        RIG_TEST(a_message_that_comes_byte_by_byte_is_read),
        RIG_TEST(one_that_answers_no_ping_is_dead),
        RIG_TEST(calls_of_a_dead_one_fail_at_once),
        RIG_TEST(what_came_while_we_were_stopped_is_read_before_anybody_is_dead),
        RIG_TEST(one_that_never_reads_gets_so_many_calls_and_no_more),
        RIG_TEST(calls_leave_room_for_answers),
        RIG_TEST(calls_of_one_turn_do_not_use_up_the_room),
        RIG_TEST(a_call_that_ends_while_it_is_sent_is_not_touched_again),
        RIG_TEST(one_that_asks_for_answers_and_reads_none_is_closed),
        RIG_TEST(only_so_many_may_be_connected),
        RIG_TEST(a_large_message_passes_both_ways),
        RIG_TEST(a_call_that_is_too_large_is_not_sent),
        cmocka_unit_test(without_memory_whatever_fails_is_refused_and_nothing_leaks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

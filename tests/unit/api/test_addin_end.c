/* How connections end, and add-ins; and what they do when many threads are about. */
#include "unit/api/addin_hub.h"

#include <signal.h>
#include <stdatomic.h>

/* ---- a hub that comes and goes ---- */

static void a_hub_that_goes_cancels_its_calls_and_is_awaited(void **state)
{
    TwCall *call;
    Fixture f;
    int fd;

    (void)state;
    fixture_prepare(&f, NULL);
    add_waiting_tool(&f);
    assert_int_equal(fixture_open(&f), 0);
    fd = fixture_connect(&f);
    assert_string_equal(states_expect(&f.states, TW_ADDIN_CONNECTING), "");
    assert_string_equal(states_expect(&f.states, TW_ADDIN_CONNECTED), "");
    hub_send(fd, CALL("1", "wait", "{}"));
    call = kept_take(&f.kept);
    fixture_unlisten(&f);
    assert_int_equal(close(fd), 0);
    kept_await_cancel(&f.kept);
    assert_true(tw_call_is_cancelled(call));
    tw_call_text(call, "too late");
    tw_call_done(call);
    (void)states_expect(&f.states, TW_ADDIN_DISCONNECTED);
    assert_non_null(strstr(states_expect(&f.states, TW_ADDIN_WAITING), "again in 1 ms"));
    (void)states_expect(&f.states, TW_ADDIN_CONNECTING);
    /* Nobody is there: it says why, and waits longer. */
    assert_non_null(strstr(states_expect(&f.states, TW_ADDIN_WAITING), "; again in "));
    f.listener = hub_listen(f.path);
    fd = hub_accept(f.listener);
    assert_served(fd);
    tw_addin_stop(f.addin);
    hub_expect_end(fd);
    fixture_join(&f);
    assert_int_equal(f.states.list[f.states.n - 1], TW_ADDIN_STOPPED);
    assert_true(pthread_equal(f.states.thread, f.thread));
    fixture_deinit(&f);
}

static void a_silent_hub_is_found_dead(void **state)
{
    const char *why;
    Fixture f;
    int fd;

    (void)state;
    fixture_prepare(&f, NULL);
    assert_int_equal(tw_addin_open(f.server, PIPE_NAME,
                                   &(TwAddinOptions){.ping_interval_ms = 1,
                                                     .pong_timeout_ms = 1,
                                                     .retry_ms = INT64_MAX,
                                                     .retry_max_ms = INT64_MAX,
                                                     .changed = on_changed,
                                                     .user = &f.states},
                                   &f.addin),
                     0);
    fd = fixture_connect(&f);
    hub_expect_type(fd, "ping");
    (void)states_expect(&f.states, TW_ADDIN_CONNECTING);
    (void)states_expect(&f.states, TW_ADDIN_CONNECTED);
    why = states_expect(&f.states, TW_ADDIN_DISCONNECTED);
    assert_true(strlen(why) > 0);
    (void)states_expect(&f.states, TW_ADDIN_WAITING);
    assert_int_equal(close(fd), 0);
    /* Stopped in the middle of waiting. */
    tw_addin_stop(f.addin);
    fixture_join(&f);
    (void)states_expect(&f.states, TW_ADDIN_STOPPED);
    fixture_deinit(&f);
}

/* What a hub does with a second connection of the same add-in: asks it, and answers the pings. The
 * old one is then closed, if no call of it runs. */
static void hub_asks_anew(int old, int new, const char *list)
{
    char *answer;

    hub_send(new, CALL("l", "toolwire.list_tools", "{}"));
    answer = hub_receive_type(new, "tool_result");
    CHECK(strstr(answer, list) != NULL);
    free(answer);
    hub_expect_type(new, "ping");
    hub_send(new, PONG("00000000-0000-4000-8000-000000000000"));
    hub_expect_type(old, "ping");
    hub_send(old, PONG("00000000-0000-4000-8000-000000000000"));
}

static void what_another_thread_adds_is_offered_on_a_new_connection(void **state)
{
    TwCall *call;
    Fixture f;
    int new;
    int fd;

    (void)state;
    fixture_prepare(&f, NULL);
    add_waiting_tool(&f);
    assert_int_equal(fixture_open(&f), 0);
    fd = fixture_connect(&f);
    hub_send(fd, CALL("1", "toolwire.list_tools", "{}"));
    hub_expect(fd,
               DONE("1", "{\"name\":\"a\",\"tools\":[" IN_LIST("say") "," IN_LIST("wait") "]}"));
    hub_send(fd, CALL("2", "wait", "{}"));
    call = kept_take(&f.kept);
    assert_int_equal(tw_server_add_tool(f.server, &(TwTool){.name = "more", .handler = on_say}), 0);
    assert_int_equal(tw_server_remove_tool(f.server, "say"), 0);
    hub_ping(fd);
    new = hub_accept(f.listener);
    hub_asks_anew(fd, new, "\"tools\":[" IN_LIST("wait") "," IN_LIST("more") "]}");
    hub_send(new, CALL("4", "more", "{\"text\":\"m\"}"));
    hub_expect(new, SAID("4", "m"));
    /* The old one stays while a call runs. */
    hub_ping(fd);
    tw_call_text(call, "x");
    tw_call_done(call);
    hub_expect(fd, SAID("2", "x"));
    hub_expect_end(fd);
    hub_send(new, CALL("5", "more", "{\"text\":\"n\"}"));
    hub_expect(new, SAID("5", "n"));
    (void)states_expect(&f.states, TW_ADDIN_CONNECTING);
    (void)states_expect(&f.states, TW_ADDIN_CONNECTED);
    assert_int_equal(close(new), 0);
    (void)states_expect(&f.states, TW_ADDIN_DISCONNECTED);
    fixture_end(&f);
}

/* ---- a hub that understands more than the document ---- */

#define KNOWING_LIST(id)                                                                           \
    CALL(id, "toolwire.list_tools", "{\"understands\":[\"tool_progress\",\"tools_changed\"]}")

static void a_kept_call_reports_progress_and_is_cancelled(void **state)
{
    TwCall *call;
    char *report;
    Fixture f;
    int fd;

    (void)state;
    fixture_prepare(&f, NULL);
    add_waiting_tool(&f);
    assert_int_equal(fixture_open(&f), 0);
    fd = fixture_connect(&f);
    hub_send(fd, KNOWING_LIST("1"));
    /* Handlers may block its thread, so it does not say that pings are answered inside calls. */
    hub_expect(fd,
               DONE("1", "{\"name\":\"a\",\"understands\":[\"tool_cancel\"],\"tools\":[" IN_LIST(
                             "say") "," IN_LIST("wait") "]}"));
    hub_send(fd, CALL("2", "wait", "{}"));
    call = kept_take(&f.kept);
    assert_int_equal(tw_call_progress(call, 1, 4, "walls"), 0);
    report = hub_receive_type(fd, "tool_progress");
    assert_non_null(strstr(report, "{\"call_id\":\"2\",\"progress\":1,\"total\":4,\"message\":"
                                   "\"walls\"}"));
    free(report);
    hub_send(fd, MESSAGE("c", "tool_cancel", "{\"call_id\":\"2\"}"));
    hub_expect(fd, FAILED("2", "CANCELLED", "cancelled"));
    kept_await_cancel(&f.kept);
    assert_true(tw_call_is_cancelled(call));
    tw_call_text(call, "too late");
    tw_call_done(call);
    assert_served(fd);
    assert_int_equal(close(fd), 0);
    fixture_end(&f);
}

static void what_another_thread_adds_is_announced(void **state)
{
    Fixture f;
    int fd;

    (void)state;
    fixture_init(&f);
    fd = fixture_connect(&f);
    hub_send(fd, KNOWING_LIST("1"));
    hub_expect_type(fd, "tool_result");
    assert_int_equal(tw_server_add_tool(f.server, &(TwTool){.name = "more", .handler = on_say}), 0);
    hub_expect_type(fd, "tools_changed");
    hub_send(fd, KNOWING_LIST("2"));
    hub_expect(fd,
               DONE("2", "{\"name\":\"a\",\"understands\":[\"tool_cancel\"],\"tools\":[" IN_LIST(
                             "say") "," IN_LIST("more") "]}"));
    assert_served(fd);
    assert_nobody_came(&f);
    assert_int_equal(close(fd), 0);
    fixture_end(&f);
}

/* ---- the end ---- */

static void an_addin_that_was_stopped_before_runs_no_more(void **state)
{
    Fixture f;

    (void)state;
    fixture_init(&f);
    tw_addin_stop(f.addin);
    assert_int_equal(tw_addin_run(f.addin), 0);
    /* For good. */
    assert_int_equal(tw_addin_run(f.addin), 0);
    tw_addin_stop(f.addin);
    assert_int_equal(tw_addin_run(f.addin), 0);
    assert_nobody_came(&f);
    assert_int_equal(f.states.n, 0);
    fixture_deinit(&f);
}

static void after_its_run_it_stays_stopped(void **state)
{
    Fixture f;
    int fd;

    (void)state;
    fixture_init(&f);
    fd = fixture_connect(&f);
    assert_served(fd);
    tw_addin_stop(f.addin);
    tw_addin_stop(f.addin);
    hub_expect_end(fd);
    fixture_join(&f);
    assert_int_equal(tw_addin_run(f.addin), 0);
    assert_nobody_came(&f);
    (void)states_expect(&f.states, TW_ADDIN_CONNECTING);
    (void)states_expect(&f.states, TW_ADDIN_CONNECTED);
    while (f.states.n_seen < f.states.n - 1) {
        (void)states_expect(&f.states, TW_ADDIN_DISCONNECTED);
    }
    assert_string_equal(states_expect(&f.states, TW_ADDIN_STOPPED), "");
    tw_addin_stop(f.addin);
    fixture_deinit(&f);
}

static void on_stop(TwCall *call, void *user)
{
    const Fixture *f = user;

    tw_addin_stop(f->addin);
    tw_call_text(call, "stopped");
}

static void a_handler_may_stop_it_and_is_still_answered(void **state)
{
    Fixture f;
    int fd;

    (void)state;
    fixture_prepare(&f, NULL);
    assert_int_equal(
        tw_server_add_tool(f.server, &(TwTool){.name = "stop", .handler = on_stop, .user = &f}), 0);
    assert_int_equal(fixture_open(&f), 0);
    fd = fixture_connect(&f);
    hub_send(fd, CALL("1", "stop", "{}"));
    hub_expect(fd, SAID("1", "stopped"));
    hub_expect_end(fd);
    fixture_join(&f);
    fixture_deinit(&f);
}

/* Stops when it gets into a state. */
typedef struct StopAt {
    TwAddin *addin;
    TwAddinState state;
    bool is_there;
} StopAt;

static void on_stop_at(void *user, TwAddinState state, const char *message)
{
    StopAt *stop = user;

    CHECK(message != NULL);
    if (state == stop->state) {
        stop->is_there = true;
        tw_addin_stop(stop->addin);
    }
}

static void it_may_be_stopped_in_every_state(void **state)
{
    static const TwAddinState states[] = {TW_ADDIN_CONNECTING, TW_ADDIN_CONNECTED,
                                          TW_ADDIN_DISCONNECTED, TW_ADDIN_WAITING,
                                          TW_ADDIN_STOPPED};
    Fixture f;

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(states); i++) {
        StopAt stop = {.state = states[i]};
        const TwAddinOptions options = {.changed = on_stop_at, .user = &stop};
        int fd = -1;

        fixture_prepare(&f, NULL);
        assert_int_equal(tw_addin_open(f.server, PIPE_NAME, &options, &f.addin), 0);
        stop.addin = f.addin;
        fixture_run(&f);
        if (states[i] != TW_ADDIN_CONNECTING) {
            fd = hub_accept(f.listener);
        }
        if (states[i] == TW_ADDIN_DISCONNECTED || states[i] == TW_ADDIN_WAITING) {
            assert_int_equal(close(fd), 0);
            fd = -1;
        }
        if (states[i] == TW_ADDIN_STOPPED) {
            tw_addin_stop(f.addin);
        }
        fixture_join(&f);
        assert_true(stop.is_there);
        if (fd >= 0) {
            hub_expect_end(fd);
        }
        fixture_deinit(&f);
    }
}

static void calls_in_flight_may_finish(void **state)
{
    bool is_refused = false;
    char *message;
    TwCall *call;
    Fixture f;
    int fd;

    (void)state;
    fixture_prepare(&f, NULL);
    add_waiting_tool(&f);
    assert_int_equal(fixture_open(&f), 0);
    fd = fixture_connect(&f);
    hub_send(fd, CALL("1", "wait", "{}"));
    call = kept_take(&f.kept);
    tw_addin_stop(f.addin);
    /* Until no call is taken any more. */
    while (!is_refused) {
        hub_send(fd, CALL("2", "say", "{}"));
        message = hub_receive_type(fd, "tool_result");
        is_refused = strstr(message, "\"success\":false") != NULL;
        free(message);
    }
    hub_ping(fd);
    tw_call_text(call, "finished");
    tw_call_done(call);
    hub_expect(fd, SAID("1", "finished"));
    hub_expect_end(fd);
    fixture_join(&f);
    fixture_deinit(&f);
}

static void calls_that_do_not_finish_in_time_are_cancelled(void **state)
{
    TwCall *call;
    Fixture f;
    int fd;

    (void)state;
    fixture_prepare(&f, &(TwServerOptions){.drain_ms = 1});
    add_waiting_tool(&f);
    assert_int_equal(fixture_open(&f), 0);
    fd = fixture_connect(&f);
    hub_send(fd, CALL("1", "wait", "{}"));
    call = kept_take(&f.kept);
    tw_addin_stop(f.addin);
    fixture_join(&f);
    hub_expect_end(fd);
    assert_true(f.kept.is_cancelled);
    assert_true(tw_call_is_cancelled(call));
    tw_addin_close(f.addin);
    f.addin = NULL;
    /* Harmless at any time. */
    tw_call_text(call, "too late");
    tw_call_done(call);
    fixture_deinit(&f);
}

/* What the signal's handler stops. */
static _Atomic(TwAddin *) handled;

static void on_signal(int signum)
{
    (void)signum;
    tw_addin_stop(atomic_load(&handled));
}

static void a_signal_handler_stops_it_on_either_thread(void **state)
{
    struct sigaction before;

    (void)state;
    assert_int_equal(sigaction(SIGUSR1, &(struct sigaction){.sa_handler = on_signal}, &before), 0);
    for (int own = 0; own < 2; own++) {
        Fixture f;
        int fd;

        fixture_init(&f);
        atomic_store(&handled, f.addin);
        fd = fixture_connect(&f);
        assert_served(fd);
        /* On the thread that serves, which waits in the system; or on this one. */
        assert_int_equal(pthread_kill(own == 0 ? f.thread : pthread_self(), SIGUSR1), 0);
        hub_expect_end(fd);
        fixture_join(&f);
        atomic_store(&handled, NULL);
        fixture_deinit(&f);
    }
    assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
}

/* ---- threads ---- */

#define N_CALLS   100
#define N_CHANGES 10

/* One hub: asks for the list and calls, every time with success, whatever connections come. */
typedef struct Crowd {
    int listener;
    const char *word;
} Crowd;

static void *hub_main(void *context)
{
    const Crowd *crowd = context;
    int fd = hub_accept(crowd->listener);

    hub_send(fd, CALL("l", "toolwire.list_tools", "{}"));
    hub_expect_type(fd, "tool_result");
    for (int i = 0; i < N_CALLS; i++) {
        char request[256];
        char expected[256];
        int new = accept(crowd->listener, NULL, NULL);

        (void)snprintf(request, sizeof(request), CALL("%d", "say", "{\"text\":\"%s %d\"}"), i,
                       crowd->word, i);
        (void)snprintf(expected, sizeof(expected), SAID("%d", "%s %d"), i, crowd->word, i);
        if (new >= 0) {
            hub_asks_anew(fd, new, "\"data\":{\"name\":\"a\",\"tools\":[" IN_LIST("say"));
            hub_expect_end(fd);
            fd = new;
        }
        hub_send(fd, request);
        hub_expect(fd, expected);
    }
    CHECK(close(fd) == 0);
    return NULL;
}

static void *change_main(void *context)
{
    TwServer *server = context;

    for (int i = 0; i < N_CHANGES; i++) {
        CHECK(tw_server_add_tool(server, &(TwTool){.name = "c", .handler = on_say}) == 0);
        CHECK(tw_server_remove_tool(server, "c") == 0);
    }
    return NULL;
}

static void *stop_main(void *context)
{
    tw_addin_stop(context);
    return NULL;
}

static void two_addins_serve_side_by_side_while_tools_come_and_go(void **state)
{
    static const char *const words[] = {"left", "right"};
    pthread_t hubs[2];
    pthread_t changers[2];
    pthread_t stoppers[2][2];
    Crowd crowds[2];
    Fixture f[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        fixture_prepare(&f[i], NULL);
        assert_int_equal(tw_addin_open(f[i].server, PIPE_NAME,
                                       &(TwAddinOptions){.retry_ms = 1, .retry_max_ms = 1},
                                       &f[i].addin),
                         0);
        fixture_run(&f[i]);
        crowds[i] = (Crowd){.listener = f[i].listener, .word = words[i]};
        assert_int_equal(pthread_create(&hubs[i], NULL, hub_main, &crowds[i]), 0);
        assert_int_equal(pthread_create(&changers[i], NULL, change_main, f[i].server), 0);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_join(hubs[i], NULL), 0);
        assert_int_equal(pthread_join(changers[i], NULL), 0);
        for (int k = 0; k < 2; k++) {
            assert_int_equal(pthread_create(&stoppers[i][k], NULL, stop_main, f[i].addin), 0);
        }
    }
    for (int i = 0; i < 2; i++) {
        fixture_join(&f[i]);
        for (int k = 0; k < 2; k++) {
            assert_int_equal(pthread_join(stoppers[i][k], NULL), 0);
        }
        fixture_deinit(&f[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kept_call_reports_progress_and_is_cancelled),
        cmocka_unit_test(what_another_thread_adds_is_announced),
        cmocka_unit_test(what_another_thread_adds_is_offered_on_a_new_connection),
        cmocka_unit_test(a_hub_that_goes_cancels_its_calls_and_is_awaited),
        cmocka_unit_test(a_silent_hub_is_found_dead),
        cmocka_unit_test(an_addin_that_was_stopped_before_runs_no_more),
        cmocka_unit_test(after_its_run_it_stays_stopped),
        cmocka_unit_test(a_handler_may_stop_it_and_is_still_answered),
        cmocka_unit_test(it_may_be_stopped_in_every_state),
        cmocka_unit_test(calls_in_flight_may_finish),
        cmocka_unit_test(calls_that_do_not_finish_in_time_are_cancelled),
        cmocka_unit_test(a_signal_handler_stops_it_on_either_thread),
        cmocka_unit_test(two_addins_serve_side_by_side_while_tools_come_and_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

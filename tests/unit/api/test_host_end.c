/* How a host ends, and what it does when many threads are about. */
#include "unit/api/host_bridge.h"

#include <signal.h>
#include <stdatomic.h>

/* ---- the end ---- */

static void a_host_that_was_stopped_before_runs_no_more(void **state)
{
    Fixture f;
    int fd;

    (void)state;
    fixture_init(&f);
    fd = bridge_connect(f.socket);
    bridge_send(fd, REQUEST("say", "{}"));
    tw_host_stop(f.host);
    assert_int_equal(tw_host_run(f.host), 0);
    bridge_expect_end(fd);
    assert_int_not_equal(access(f.socket, F_OK), 0);
    /* For good. */
    assert_int_equal(tw_host_run(f.host), 0);
    tw_host_stop(f.host);
    assert_int_equal(tw_host_run(f.host), 0);
    fixture_deinit(&f);
}

static void on_stop(TwCall *call, void *user)
{
    const Fixture *f = user;

    tw_host_stop(f->host);
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
    fd = bridge_connect(f.socket);
    bridge_send(fd, REQUEST("stop", "{}"));
    assert_int_equal(tw_host_run(f.host), 0);
    bridge_expect(fd, SAYS("stopped"));
    bridge_expect_end(fd);
    fixture_deinit(&f);
}

/* With half_closed the bridge will send no more, so that only the call is left to wait for. */
static void finish_in_flight(bool half_closed)
{
    TwCall *call;
    Fixture f;
    int fd;

    fixture_prepare(&f, NULL);
    add_waiting_tool(&f);
    assert_int_equal(fixture_open(&f), 0);
    fixture_run(&f);
    fd = bridge_connect(f.socket);
    bridge_send(fd, REQUEST("wait", "{}"));
    call = kept_take(&f.kept);
    if (half_closed) {
        assert_int_equal(shutdown(fd, SHUT_WR), 0);
    }
    tw_host_stop(f.host);
    while (access(f.socket, F_OK) == 0) {
        (void)sched_yield(); /* until nobody is let in any more */
    }
    tw_call_text(call, "finished");
    tw_call_done(call);
    bridge_expect(fd, SAYS("finished"));
    bridge_expect_end(fd);
    fixture_join(&f);
    fixture_deinit(&f);
}

static void calls_in_flight_may_finish(void **state)
{
    (void)state;
    finish_in_flight(false);
    finish_in_flight(true);
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
    fixture_run(&f);
    fd = bridge_connect(f.socket);
    bridge_send(fd, REQUEST("wait", "{}"));
    call = kept_take(&f.kept);
    tw_host_stop(f.host);
    bridge_expect_end(fd);
    fixture_join(&f);
    assert_true(f.kept.is_cancelled);
    assert_true(tw_call_is_cancelled(call));
    tw_host_close(f.host);
    f.host = NULL;
    /* Harmless at any time. */
    tw_call_text(call, "too late");
    tw_call_done(call);
    fixture_deinit(&f);
}

/* What the signal's handler stops. */
static _Atomic(TwHost *) handled;

static void on_signal(int signum)
{
    (void)signum;
    tw_host_stop(atomic_load(&handled));
}

static void a_signal_handler_stops_it_on_either_thread(void **state)
{
    struct sigaction before;

    (void)state;
    assert_int_equal(sigaction(SIGUSR1, &(struct sigaction){.sa_handler = on_signal}, &before), 0);
    for (int own = 0; own < 2; own++) {
        Fixture f;

        fixture_init(&f);
        atomic_store(&handled, f.host);
        fixture_run(&f);
        assert_served(f.socket);
        /* On the thread that serves, which waits in the system; or on this one. */
        assert_int_equal(pthread_kill(own == 0 ? f.thread : pthread_self(), SIGUSR1), 0);
        fixture_join(&f);
        atomic_store(&handled, NULL);
        fixture_deinit(&f);
    }
    assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
}

/* ---- threads ---- */

#define N_BRIDGES 4
#define N_CALLS   100

typedef struct Crowd {
    const char *socket;
    const char *word;
} Crowd;

static void *bridge_main(void *context)
{
    const Crowd *crowd = context;
    int fd = bridge_connect(crowd->socket);

    for (int i = 0; i < N_CALLS; i++) {
        char request[256];
        char expected[256];
        char *answer;

        (void)snprintf(request, sizeof(request), REQUEST("say", "{\"text\":\"%s %d\"}"),
                       crowd->word, i);
        (void)snprintf(expected, sizeof(expected), SAYS("%s %d"), crowd->word, i);
        bridge_send(fd, request);
        answer = bridge_receive(fd);
        CHECK(answer != NULL && strcmp(answer, expected) == 0);
        free(answer);
    }
    CHECK(close(fd) == 0);
    return NULL;
}

static void *change_main(void *context)
{
    TwServer *server = context;

    for (int i = 0; i < N_CALLS / 4; i++) {
        CHECK(tw_server_add_tool(server, &(TwTool){.name = "c", .handler = on_say}) == 0);
        CHECK(tw_server_remove_tool(server, "c") == 0);
    }
    return NULL;
}

static void *stop_main(void *context)
{
    tw_host_stop(context);
    return NULL;
}

static void two_hosts_serve_side_by_side_while_tools_come_and_go(void **state)
{
    static const char *const words[] = {"left", "right"};
    pthread_t bridges[2][N_BRIDGES];
    pthread_t changers[2];
    pthread_t stoppers[2][2];
    Crowd crowds[2];
    Fixture f[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        fixture_init(&f[i]);
        fixture_run(&f[i]);
        crowds[i] = (Crowd){.socket = f[i].socket, .word = words[i]};
        for (int k = 0; k < N_BRIDGES; k++) {
            assert_int_equal(pthread_create(&bridges[i][k], NULL, bridge_main, &crowds[i]), 0);
        }
        assert_int_equal(pthread_create(&changers[i], NULL, change_main, f[i].server), 0);
    }
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < N_BRIDGES; k++) {
            assert_int_equal(pthread_join(bridges[i][k], NULL), 0);
        }
        assert_int_equal(pthread_join(changers[i], NULL), 0);
        await_schema(f[i].schema, "[" IN_FILE("say") "]\t\n");
        for (int k = 0; k < 2; k++) {
            assert_int_equal(pthread_create(&stoppers[i][k], NULL, stop_main, f[i].host), 0);
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
        cmocka_unit_test(a_host_that_was_stopped_before_runs_no_more),
        cmocka_unit_test(a_handler_may_stop_it_and_is_still_answered),
        cmocka_unit_test(calls_in_flight_may_finish),
        cmocka_unit_test(calls_that_do_not_finish_in_time_are_cancelled),
        cmocka_unit_test(a_signal_handler_stops_it_on_either_thread),
        cmocka_unit_test(two_hosts_serve_side_by_side_while_tools_come_and_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

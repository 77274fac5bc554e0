#include "unit/api/addin_hub.h"

#include "support/oom_sweep.h"

/* ---- open and close ---- */

static void nothing_is_connected_before_run(void **state)
{
    Fixture f;

    (void)state;
    fixture_init(&f);
    assert_nobody_came(&f);
    /* Closed without run. */
    tw_addin_close(f.addin);
    f.addin = NULL;
    assert_nobody_came(&f);
    assert_int_equal(f.states.n, 0);
    /* And opened again. */
    assert_int_equal(fixture_open(&f), 0);
    assert_int_equal(close(fixture_connect(&f)), 0);
    fixture_end(&f);
}

static void the_pipe_is_named_as_people_write_it(void **state)
{
    const char *names[] = {PIPE_NAME, "\\\\.\\pipe\\" PIPE_NAME, NULL};
    Fixture f;

    (void)state;
    fixture_prepare(&f, NULL);
    names[2] = f.path;
    for (size_t i = 0; i < TW_ARRAY_SIZE(names); i++) {
        int fd;

        assert_int_equal(tw_addin_open(f.server, names[i], NULL, &f.addin), 0);
        fd = fixture_connect(&f);
        assert_served(fd);
        tw_addin_stop(f.addin);
        hub_expect_end(fd);
        fixture_join(&f);
        tw_addin_close(f.addin);
        f.addin = NULL;
    }
    fixture_deinit(&f);
}

static void a_name_that_no_pipe_can_have_is_refused_with_words(void **state)
{
    char longest[512];
    const char *names[] = {"", "a/b", "..", "a\nb", "\\\\.\\pipe\\", longest};
    Fixture f;

    (void)state;
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    fixture_prepare(&f, NULL);
    for (size_t i = 0; i < TW_ARRAY_SIZE(names); i++) {
        assert_int_equal(tw_addin_open(f.server, names[i], NULL, &f.addin), TW_ERROR_ARGUMENT);
        assert_non_null(strstr(tw_server_message(f.server), "pipe"));
        assert_null(f.addin);
    }
    /* None of them spoils the server. */
    assert_int_equal(fixture_open(&f), 0);
    assert_int_equal(close(fixture_connect(&f)), 0);
    fixture_end(&f);
}

static void parameters_that_are_missing_or_wrong_are_refused(void **state)
{
    TwAddin *addin = NULL;
    Fixture f;

    (void)state;
    fixture_prepare(&f, NULL);
    assert_int_equal(tw_addin_open(NULL, PIPE_NAME, NULL, &addin), TW_ERROR_ARGUMENT);
    assert_int_equal(tw_addin_open(f.server, NULL, NULL, &addin), TW_ERROR_ARGUMENT);
    assert_int_equal(tw_addin_open(f.server, PIPE_NAME, NULL, NULL), TW_ERROR_ARGUMENT);
    for (int i = 0; i < 4; i++) {
        const TwAddinOptions options = {.ping_interval_ms = i == 0 ? -1 : 0,
                                        .pong_timeout_ms = i == 1 ? -1 : 0,
                                        .retry_ms = i == 2 ? -1 : 0,
                                        .retry_max_ms = i == 3 ? INT64_MIN : 0};

        assert_int_equal(tw_addin_open(f.server, PIPE_NAME, &options, &addin), TW_ERROR_ARGUMENT);
        assert_string_equal(tw_server_message(f.server), "a time is negative");
    }
    assert_null(addin);
    assert_int_equal(tw_addin_run(NULL), TW_ERROR_ARGUMENT);
    tw_addin_stop(NULL);
    tw_addin_close(NULL);
    fixture_deinit(&f);
}

static void times_without_end_are_none(void **state)
{
    const TwAddinOptions options = {.ping_interval_ms = INT64_MAX,
                                    .pong_timeout_ms = INT64_MAX,
                                    .retry_ms = INT64_MAX,
                                    .retry_max_ms = INT64_MAX};
    Fixture f;
    int fd;

    (void)state;
    fixture_prepare(&f, NULL);
    assert_int_equal(tw_addin_open(f.server, PIPE_NAME, &options, &f.addin), 0);
    fd = fixture_connect(&f);
    assert_served(fd);
    assert_int_equal(close(fd), 0);
    fixture_end(&f);
}

/* ---- calls ---- */

static void on_fail(TwCall *call, void *user)
{
    (void)user;
    tw_call_failed(call, "not today");
}

static void on_structured(TwCall *call, void *user)
{
    (void)user;
    tw_call_structured(call, tw_call_arguments(call));
}

static void handlers_answer_failures_and_unknown_tools(void **state)
{
    const TwTool tools[] = {
        {.name = "fail", .handler = on_fail},
        {.name = "back",
         .handler = on_structured,
         .input_schema = "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}}"}};
    char *message;
    Fixture f;
    int fd;

    (void)state;
    fixture_prepare(&f, NULL);
    for (size_t i = 0; i < TW_ARRAY_SIZE(tools); i++) {
        assert_int_equal(tw_server_add_tool(f.server, &tools[i]), 0);
    }
    assert_int_equal(fixture_open(&f), 0);
    fd = fixture_connect(&f);
    hub_send(fd, CALL("1", "say", "{\"text\":\"hello\"}"));
    hub_expect(fd, SAID("1", "hello"));
    hub_send(fd, CALL("2", "fail", "{}"));
    hub_expect(fd, FAILED("2", "HANDLER_ERROR", "not today"));
    hub_send(fd, CALL("3", "back", "{\"n\":1.0,\"m\":9007199254740993}"));
    hub_expect(fd, DONE("3", "{\"n\":1.0,\"m\":9007199254740993}"));
    hub_send(fd, CALL("4", "back", "{\"n\":\"x\"}"));
    message = hub_receive_type(fd, "tool_result");
    assert_non_null(strstr(message, "SCHEMA_VALIDATION_FAILED"));
    free(message);
    hub_send(fd, CALL("5", "none", "{}"));
    message = hub_receive_type(fd, "error");
    assert_non_null(strstr(message, "TOOL_NOT_FOUND"));
    assert_non_null(strstr(message, "\"call_id\":\"5\""));
    free(message);
    assert_served(fd);
    assert_int_equal(close(fd), 0);
    fixture_end(&f);
}

/* Answers the call that is kept. */
static void *answer_main(void *context)
{
    TwCall *call = context;

    tw_call_text(call, "from another thread");
    tw_call_done(call);
    return NULL;
}

static void pings_and_other_calls_are_answered_while_one_is_kept(void **state)
{
    pthread_t thread;
    TwCall *first;
    TwCall *second;
    Fixture f;
    int fd;

    (void)state;
    fixture_prepare(&f, NULL);
    add_waiting_tool(&f);
    assert_int_equal(fixture_open(&f), 0);
    fd = fixture_connect(&f);
    hub_send(fd, CALL("1", "wait", "{}"));
    first = kept_take(&f.kept);
    hub_send(fd, CALL("2", "wait", "{}"));
    second = kept_take(&f.kept);
    hub_ping(fd);
    assert_served(fd);
    assert_int_equal(pthread_create(&thread, NULL, answer_main, second), 0);
    hub_expect(fd, SAID("2", "from another thread"));
    assert_int_equal(pthread_join(thread, NULL), 0);
    hub_ping(fd);
    assert_int_equal(pthread_create(&thread, NULL, answer_main, first), 0);
    hub_expect(fd, SAID("1", "from another thread"));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(close(fd), 0);
    fixture_end(&f);
}

static void one_at_a_time_the_next_handler_waits_for_the_last_answer(void **state)
{
    TwCall *call;
    Fixture f;
    int fd;

    (void)state;
    fixture_prepare(&f, NULL);
    add_waiting_tool(&f);
    assert_int_equal(
        tw_addin_open(f.server, PIPE_NAME, &(TwAddinOptions){.one_at_a_time = true}, &f.addin), 0);
    fd = fixture_connect(&f);
    hub_send(fd, CALL("1", "wait", "{}"));
    call = kept_take(&f.kept);
    hub_send(fd, CALL("2", "wait", "{}"));
    hub_send(fd, CALL("3", "say", "{}"));
    /* Both have been taken in, and neither has begun; the ping was answered all the same. */
    hub_ping(fd);
    pthread_mutex_lock(&f.kept.lock);
    assert_null(f.kept.call);
    pthread_mutex_unlock(&f.kept.lock);
    tw_call_text(call, "one");
    tw_call_done(call);
    hub_expect(fd, SAID("1", "one"));
    call = kept_take(&f.kept);
    hub_ping(fd);
    tw_call_text(call, "two");
    tw_call_done(call);
    hub_expect(fd, SAID("2", "two"));
    hub_expect(fd, SAID("3", "nothing"));
    assert_int_equal(close(fd), 0);
    fixture_end(&f);
}

/* Answers that are not successes. */
static int count_refused(int fd, int n)
{
    int n_refused = 0;

    for (int i = 0; i < n; i++) {
        hub_send(fd, CALL("1", "say", "{}"));
    }
    for (int i = 0; i < n; i++) {
        char *message = hub_receive_type(fd, "tool_result");

        n_refused += strstr(message, "\"success\":true") == NULL;
        free(message);
    }
    return n_refused;
}

static void the_hub_is_slowed_down_only_if_options_say_so(void **state)
{
    const TwServerOptions slow = {.rate_burst = 1, .rate_per_s = 1};
    Fixture f;
    int fd;

    (void)state;
    for (int i = 0; i < 2; i++) {
        fixture_prepare(&f, i == 0 ? NULL : &slow);
        assert_int_equal(fixture_open(&f), 0);
        fd = fixture_connect(&f);
        if (i == 0) {
            for (int k = 0; k < 12; k++) {
                assert_int_equal(count_refused(fd, 100), 0);
            }
        } else {
            assert_true(count_refused(fd, 100) > 0);
        }
        assert_int_equal(close(fd), 0);
        fixture_end(&f);
    }
}

/* ---- what it offers ---- */

static void on_read(TwCall *call, void *user)
{
    (void)user;
    tw_call_text(call, "a wall");
}

static void tools_and_resources_are_listed_and_read(void **state)
{
    char *message;
    Fixture f;
    int fd;

    (void)state;
    fixture_prepare(&f, NULL);
    assert_int_equal(tw_server_add_resource(f.server, &(TwResource){.uri = "plan:1",
                                                                    .name = "Plan",
                                                                    .mime_type = "text/plain",
                                                                    .handler = on_read}),
                     0);
    assert_int_equal(fixture_open(&f), 0);
    fd = fixture_connect(&f);
    hub_send(fd, CALL("1", "toolwire.list_tools", "{}"));
    hub_expect(fd, DONE("1", "{\"name\":\"a\",\"tools\":[" IN_LIST(
                                 "say") "],\"resources\":[{"
                                        "\"uri\":\"plan:1\",\"name\":\"Plan\","
                                        "\"mimeType\":\"text/plain\"}]}"));
    hub_send(fd, CALL("2", "toolwire.read_resource", "{\"uri\":\"plan:1\"}"));
    hub_expect(fd, DONE("2", "{\"contents\":[{\"uri\":\"plan:1\",\"mimeType\":\"text/plain\","
                             "\"text\":\"a wall\"}]}"));
    hub_send(fd, CALL("3", "toolwire.read_resource", "{\"uri\":\"plan:2\"}"));
    message = hub_receive_type(fd, "tool_result");
    assert_non_null(strstr(message, "\"success\":false"));
    free(message);
    assert_int_equal(close(fd), 0);
    fixture_end(&f);
}

/* ---- one server serves one thing ---- */

static void on_run_again(TwCall *call, void *user)
{
    Fixture *f = user;
    TwHost *host = NULL;

    CHECK(tw_addin_run(f->addin) == TW_ERROR_BUSY);
    CHECK(tw_addin_open(f->server, PIPE_NAME, NULL, &f->addin) == TW_ERROR_BUSY);
    CHECK(tw_host_open(f->server, NULL, &host) == TW_ERROR_BUSY);
    tw_call_text(call, tw_server_message(f->server));
}

static void a_server_with_an_addin_serves_nothing_else(void **state)
{
    TwAddin *second = NULL;
    TwHost *host = NULL;
    int fds[2];
    Fixture f;
    int fd;

    (void)state;
    fixture_prepare(&f, NULL);
    assert_int_equal(tw_server_add_tool(
                         f.server, &(TwTool){.name = "again", .handler = on_run_again, .user = &f}),
                     0);
    assert_int_equal(fixture_open(&f), 0);
    assert_int_equal(tw_addin_open(f.server, PIPE_NAME, NULL, &second), TW_ERROR_BUSY);
    assert_non_null(strstr(tw_server_message(f.server), "add-in"));
    assert_int_equal(tw_host_open(f.server, NULL, &host), TW_ERROR_BUSY);
    assert_non_null(strstr(tw_server_message(f.server), "add-in"));
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    assert_int_equal(tw_server_serve_fds(f.server, fds[0], fds[0]), TW_ERROR_BUSY);
    assert_non_null(strstr(tw_server_message(f.server), "add-in"));
    assert_null(second);
    assert_null(host);
    fd = fixture_connect(&f);
    hub_send(fd, CALL("1", "again", "{}"));
    hub_expect(fd, SAID("1", "the server serves already"));
    tw_server_stop(f.server); /* is for serve_* */
    assert_served(fd);
    tw_addin_stop(f.addin);
    hub_expect_end(fd);
    fixture_join(&f);
    tw_addin_close(f.addin);
    /* Afterwards it is free: for a client, a host, and another add-in. */
    assert_int_equal(shutdown(fds[1], SHUT_WR), 0);
    assert_int_equal(tw_server_serve_fds(f.server, fds[0], fds[0]), 0);
    assert_int_equal(close(fds[1]), 0);
    assert_int_equal(fixture_open(&f), 0);
    fd = fixture_connect(&f);
    assert_served(fd);
    assert_int_equal(close(fd), 0);
    fixture_end(&f);
}

static void a_server_with_a_host_opens_no_addin(void **state)
{
    char path[64];
    TwHost *host = NULL;
    Fixture f;

    (void)state;
    fixture_prepare(&f, NULL);
    (void)snprintf(path, sizeof(path), "%s/h.sock", f.folder);
    assert_int_equal(tw_host_open(f.server, &(TwHostOptions){.socket_path = path}, &host), 0);
    assert_int_equal(fixture_open(&f), TW_ERROR_BUSY);
    assert_non_null(strstr(tw_server_message(f.server), "a host"));
    assert_null(f.addin);
    tw_host_close(host);
    assert_int_equal(fixture_open(&f), 0);
    fixture_deinit(&f);
}

/* ---- memory ---- */

/* Stops as soon as it has begun. */
static void stop_at_once(void *user, TwAddinState state, const char *message)
{
    TwAddin **addin = user;

    (void)state;
    (void)message;
    tw_addin_stop(*addin);
}

/* Opens, closes, and runs in between; without a hub, since a connection for which there is no
 * memory is no failure, but tried again. */
static int open_one(void *context)
{
    const bool *runs = context;
    TwServer *server = tw_server_new("a", "1");
    TwAddin *addin = NULL;
    const TwAddinOptions options = {.changed = stop_at_once, .user = &addin};
    int r;

    if (server == NULL) {
        return -ENOMEM;
    }
    r = tw_server_add_tool(server, &(TwTool){.name = "say", .handler = on_say});
    if (r == 0) {
        r = tw_addin_open(server, "nobody", &options, &addin);
        assert_true((r == 0) == (addin != NULL));
    }
    if (r == 0 && *runs) {
        r = tw_addin_run(addin);
    }
    assert_true(r == 0 || r == TW_ERROR_MEMORY);
    if (r != 0) {
        assert_non_null(strstr(tw_server_message(server), tw_error_text(TW_ERROR_MEMORY)));
    }
    tw_addin_close(addin);
    tw_server_free(server);
    return r == 0 ? 0 : -ENOMEM;
}

static void failed_allocations_leave_nothing_behind(void **state)
{
    Fixture f;

    (void)state;
    fixture_prepare(&f, NULL);
    test_oom_sweep(open_one, &(bool){false});
    test_oom_sweep(open_one, &(bool){true});
    fixture_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_connected_before_run),
        cmocka_unit_test(the_pipe_is_named_as_people_write_it),
        cmocka_unit_test(a_name_that_no_pipe_can_have_is_refused_with_words),
        cmocka_unit_test(parameters_that_are_missing_or_wrong_are_refused),
        cmocka_unit_test(times_without_end_are_none),
        cmocka_unit_test(handlers_answer_failures_and_unknown_tools),
        cmocka_unit_test(pings_and_other_calls_are_answered_while_one_is_kept),
        cmocka_unit_test(one_at_a_time_the_next_handler_waits_for_the_last_answer),
        cmocka_unit_test(the_hub_is_slowed_down_only_if_options_say_so),
        cmocka_unit_test(tools_and_resources_are_listed_and_read),
        cmocka_unit_test(a_server_with_an_addin_serves_nothing_else),
        cmocka_unit_test(a_server_with_a_host_opens_no_addin),
        cmocka_unit_test(failed_allocations_leave_nothing_behind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

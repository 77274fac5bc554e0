#include "unit/api/host_bridge.h"

#include <fcntl.h>

#include "support/oom_sweep.h"

/* ---- open and close ---- */

static void both_files_are_private_and_go_with_close(void **state)
{
    size_t n;
    char *text;
    Fixture f;

    (void)state;
    fixture_init(&f);
    assert_string_equal(tw_host_socket_path(f.host), f.socket);
    assert_string_equal(tw_host_schema_path(f.host), f.schema);
    assert_mode(f.socket, S_IFSOCK | 0600);
    assert_mode(f.schema, S_IFREG | 0600);
    text = files_read(f.schema, &n);
    assert_string_equal(text, "[" IN_FILE("say") "]\t\n");
    free(text);
    /* Closed without run. */
    fixture_deinit(&f);
}

static void paths_are_the_users_and_become_absolute(void **state)
{
    int before = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char schema[64];
    Fixture f;

    (void)state;
    fixture_prepare(&f, NULL);
    assert_int_equal(chdir(f.folder), 0);
    assert_int_equal(
        tw_host_open(f.server, &(TwHostOptions){.socket_path = "a", .schema_path = "b"}, &f.host),
        0);
    assert_int_equal(fchdir(before), 0);
    assert_int_equal(close(before), 0);
    (void)snprintf(schema, sizeof(schema), "%s/b", f.folder);
    assert_string_equal(tw_host_schema_path(f.host), schema);
    assert_mode(schema, S_IFREG | 0600);
    assert_mode(tw_host_socket_path(f.host), S_IFSOCK | 0600);
    fixture_deinit(&f);
}

static void without_a_path_each_host_has_its_own_in_the_runtime_folder(void **state)
{
    TwServer *other = tw_server_new("other", NULL);
    TwHost *second = NULL;
    char folder[64];
    Fixture f;

    (void)state;
    fixture_prepare(&f, NULL);
    assert_int_equal(setenv("XDG_RUNTIME_DIR", f.folder, 1), 0);
    assert_int_equal(tw_host_open(f.server, NULL, &f.host), 0);
    assert_int_equal(tw_host_open(other, &(TwHostOptions){.socket_path = NULL}, &second), 0);
    assert_int_equal(unsetenv("XDG_RUNTIME_DIR"), 0);
    (void)snprintf(folder, sizeof(folder), "%s/toolwire", f.folder);
    assert_ptr_equal(strstr(tw_host_socket_path(f.host), folder), tw_host_socket_path(f.host));
    assert_ptr_equal(strstr(tw_host_socket_path(second), folder), tw_host_socket_path(second));
    assert_string_not_equal(tw_host_socket_path(f.host), tw_host_socket_path(second));
    assert_mode(folder, S_IFDIR | 0700);
    tw_host_close(second);
    tw_server_free(other);
    tw_host_close(f.host);
    f.host = NULL;
    assert_int_equal(rmdir(folder), 0);
    fixture_deinit(&f);
}

static void a_live_parent_keeps_its_place(void **state)
{
    TwServer *other = tw_server_new("other", NULL);
    TwHost *second = NULL;
    char elsewhere[64];
    Fixture f;

    (void)state;
    fixture_init(&f);
    (void)snprintf(elsewhere, sizeof(elsewhere), "%s/x", f.folder);
    assert_int_equal(tw_host_open(other, &(TwHostOptions){.socket_path = f.socket}, &second),
                     TW_ERROR_EXISTS);
    assert_non_null(strstr(tw_server_message(other), f.socket));
    assert_int_equal(
        tw_host_open(other, &(TwHostOptions){.socket_path = f.socket, .schema_path = elsewhere},
                     &second),
        TW_ERROR_EXISTS);
    assert_non_null(strstr(tw_server_message(other), f.socket));
    assert_int_equal(
        tw_host_open(other, &(TwHostOptions){.socket_path = elsewhere, .schema_path = f.schema},
                     &second),
        TW_ERROR_EXISTS);
    assert_non_null(strstr(tw_server_message(other), f.schema));
    assert_null(second);
    fixture_run(&f);
    assert_served(f.socket);
    tw_host_stop(f.host);
    fixture_join(&f);
    tw_host_close(f.host);
    f.host = NULL;
    /* A place that was given up can be had. */
    assert_int_equal(tw_host_open(other, &(TwHostOptions){.socket_path = f.socket}, &second), 0);
    tw_host_close(second);
    tw_server_free(other);
    fixture_deinit(&f);
}

static void what_a_dead_parent_left_is_replaced(void **state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    FILE *file;
    int fd;
    Fixture f;

    (void)state;
    fixture_prepare(&f, NULL);
    memcpy(address.sun_path, f.socket, sizeof(f.socket));
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(close(fd), 0);
    file = fopen(f.schema, "w");
    assert_non_null(file);
    assert_true(fputs("[]\t\n", file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(fixture_open(&f), 0);
    fixture_run(&f);
    assert_served(f.socket);
    fixture_end(&f);
}

static void a_place_that_cannot_be_is_refused_with_words(void **state)
{
    char path[256];
    Fixture f;

    (void)state;
    fixture_prepare(&f, NULL);
    (void)snprintf(path, sizeof(path), "%s/none/h.sock", f.folder);
    assert_int_equal(tw_host_open(f.server, &(TwHostOptions){.socket_path = path}, &f.host),
                     TW_ERROR_SYSTEM);
    assert_non_null(strstr(tw_server_message(f.server), "none"));
    (void)snprintf(path, sizeof(path), "%s/%0200d", f.folder, 0);
    assert_int_equal(tw_host_open(f.server, &(TwHostOptions){.socket_path = path}, &f.host),
                     TW_ERROR_SYSTEM);
    assert_true(strlen(tw_server_message(f.server)) > 0);
    assert_int_equal(
        tw_host_open(f.server, &(TwHostOptions){.socket_path = f.socket, .schema_path = f.socket},
                     &f.host),
        TW_ERROR_SYSTEM);
    assert_non_null(strstr(tw_server_message(f.server), f.socket));
    assert_int_equal(tw_host_open(f.server, &(TwHostOptions){.socket_path = f.folder}, &f.host),
                     TW_ERROR_SYSTEM);
    assert_non_null(strstr(tw_server_message(f.server), f.folder));
    assert_null(f.host);
    /* None of them spoils the server. */
    assert_int_equal(fixture_open(&f), 0);
    fixture_run(&f);
    assert_served(f.socket);
    fixture_end(&f);
}

static void missing_parameters_are_refused(void **state)
{
    TwHost *host = NULL;
    Fixture f;

    (void)state;
    fixture_prepare(&f, NULL);
    assert_int_equal(tw_host_open(NULL, NULL, &host), TW_ERROR_ARGUMENT);
    assert_int_equal(tw_host_open(f.server, NULL, NULL), TW_ERROR_ARGUMENT);
    assert_int_equal(tw_host_run(NULL), TW_ERROR_ARGUMENT);
    assert_string_equal(tw_host_socket_path(NULL), "");
    assert_string_equal(tw_host_schema_path(NULL), "");
    tw_host_stop(NULL);
    tw_host_close(NULL);
    fixture_deinit(&f);
}

/* ---- calls ---- */

static void bridges_that_come_before_run_wait_for_it(void **state)
{
    Fixture f;
    int fd;

    (void)state;
    fixture_init(&f);
    fd = bridge_connect(f.socket);
    bridge_send(fd, REQUEST("say", "{\"text\":\"early\"}"));
    fixture_run(&f);
    bridge_expect(fd, SAYS("early"));
    bridge_send(fd, REQUEST("say", "{\"text\":\"again\"}"));
    bridge_expect(fd, SAYS("again"));
    tw_host_stop(f.host);
    bridge_expect_end(fd);
    fixture_join(&f);
    fixture_deinit(&f);
}

static void on_raised(TwCall *call, void *user)
{
    (void)user;
    CHECK(tw_call_progress(call, 1, 2, "half") == 0);
    CHECK(tw_call_log(call, TW_LOG_EMERGENCY, "fire") == 0);
    CHECK(!tw_call_can_ask(call, TW_ASK_FORM));
    tw_call_failed(call, "no luck");
}

static void handlers_answer_failures_and_unknown_tools(void **state)
{
    Fixture f;
    int fd;

    (void)state;
    fixture_prepare(&f, NULL);
    assert_int_equal(
        tw_server_add_tool(f.server,
                           &(TwTool){.name = "fail",
                                     .input_schema = "{\"type\":\"object\",\"required\":[\"n\"]}",
                                     .handler = on_raised}),
        0);
    assert_int_equal(fixture_open(&f), 0);
    fixture_run(&f);
    fd = bridge_connect(f.socket);
    bridge_send(fd, REQUEST("fail", "{\"n\":1}"));
    bridge_expect(fd, "{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"no luck\"}],"
                      "\"isError\":true}}");
    bridge_send(fd, REQUEST("none", "{}"));
    bridge_expect(fd, ERROR("ToolNotFoundError", "Unknown tool: none"));
    bridge_send(fd, "{\"method\":\"other\"}");
    bridge_expect(fd, ERROR("ValueError", "Unknown method: other"));
    bridge_send(fd, REQUEST("fail", "{}"));
    free(bridge_receive(fd));
    bridge_send(fd, REQUEST("say", "{}"));
    bridge_expect(fd, SAYS("nothing"));
    assert_int_equal(close(fd), 0);
    fixture_end(&f);
}

static void a_call_that_waits_holds_up_no_other_bridge(void **state)
{
    TwCall *call;
    Fixture f;
    int fd;

    (void)state;
    fixture_prepare(&f, NULL);
    add_waiting_tool(&f);
    assert_int_equal(fixture_open(&f), 0);
    fixture_run(&f);
    fd = bridge_connect(f.socket);
    bridge_send(fd, REQUEST("wait", "{}"));
    call = kept_take(&f.kept);
    assert_served(f.socket);
    tw_call_text(call, "late");
    tw_call_done(call);
    bridge_expect(fd, SAYS("late"));
    assert_int_equal(close(fd), 0);
    fixture_end(&f);
}

static void a_bridge_that_goes_cancels_its_call(void **state)
{
    TwCall *call;
    Fixture f;
    int fd;

    (void)state;
    fixture_prepare(&f, NULL);
    add_waiting_tool(&f);
    assert_int_equal(fixture_open(&f), 0);
    fixture_run(&f);
    fd = bridge_connect(f.socket);
    bridge_send(fd, REQUEST("wait", "{}"));
    call = kept_take(&f.kept);
    assert_int_equal(close(fd), 0);
    kept_await_cancel(&f.kept);
    assert_true(tw_call_is_cancelled(call));
    tw_call_done(call);
    assert_served(f.socket);
    fixture_end(&f);
}

/* More than an MCP session may ask for at once. */
#define N_AT_ONCE 1200

/* Asks so often; how often was it too fast? */
static size_t count_refused(const Fixture *f, size_t n)
{
    int fd = bridge_connect(f->socket);
    size_t n_refused = 0;

    for (size_t i = 0; i < n; i++) {
        bridge_send(fd, REQUEST("say", "{}"));
    }
    for (size_t i = 0; i < n; i++) {
        char *message = bridge_receive(fd);

        assert_non_null(message);
        if (strcmp(message, SAYS("nothing")) != 0) {
            assert_non_null(strstr(message, "\"type\":\"RuntimeError\""));
            n_refused++;
        }
        free(message);
    }
    assert_int_equal(close(fd), 0);
    return n_refused;
}

static void bridges_are_not_slowed_down(void **state)
{
    Fixture f;

    (void)state;
    fixture_init(&f);
    fixture_run(&f);
    assert_int_equal(count_refused(&f, N_AT_ONCE), 0);
    fixture_end(&f);
}

static void a_rate_that_the_options_name_holds(void **state)
{
    Fixture f;

    (void)state;
    fixture_prepare(&f, &(TwServerOptions){.rate_burst = 1, .rate_per_s = 1});
    assert_int_equal(fixture_open(&f), 0);
    fixture_run(&f);
    assert_true(count_refused(&f, 100) > 0);
    fixture_end(&f);
}

/* ---- tools that come and go ---- */

static void on_add(TwCall *call, void *user)
{
    TwServer *server = user;

    CHECK(tw_server_add_tool(server, &(TwTool){.name = "more", .handler = on_say}) == 0);
    CHECK(tw_server_remove_tool(server, "say") == 0);
    tw_call_text(call, "added");
}

static void the_schema_file_follows_what_any_thread_adds_and_removes(void **state)
{
    Fixture f;
    int fd;

    (void)state;
    fixture_init(&f);
    /* Before it runs: written when it does. */
    assert_int_equal(tw_server_add_tool(f.server, &(TwTool){.name = "b", .handler = on_say}), 0);
    fixture_run(&f);
    await_schema(f.schema, "[" IN_FILE("say") "," IN_FILE("b") "]\t\n");
    assert_int_equal(tw_server_remove_tool(f.server, "b"), 0);
    await_schema(f.schema, "[" IN_FILE("say") "]\t\n");
    assert_int_equal(
        tw_server_add_tool(f.server, &(TwTool){.name = "add", .handler = on_add, .user = f.server}),
        0);
    await_schema(f.schema, "[" IN_FILE("say") "," IN_FILE("add") "]\t\n");
    assert_mode(f.schema, S_IFREG | 0600);
    /* From a handler, on the thread that serves. */
    fd = bridge_connect(f.socket);
    bridge_send(fd, REQUEST("add", "{}"));
    bridge_expect(fd, SAYS("added"));
    await_schema(f.schema, "[" IN_FILE("add") "," IN_FILE("more") "]\t\n");
    bridge_send(fd, REQUEST("say", "{}"));
    bridge_expect(fd, ERROR("ToolNotFoundError", "Unknown tool: say"));
    bridge_send(fd, REQUEST("more", "{\"text\":\"m\"}"));
    bridge_expect(fd, SAYS("m"));
    assert_int_equal(close(fd), 0);
    fixture_end(&f);
}

/* ---- one server serves one thing ---- */

static void on_run_again(TwCall *call, void *user)
{
    Fixture *f = user;

    CHECK(tw_host_run(f->host) == TW_ERROR_BUSY);
    CHECK(tw_host_open(f->server, NULL, &f->host) == TW_ERROR_BUSY);
    tw_call_text(call, tw_server_message(f->server));
}

static void a_server_with_a_host_serves_nothing_else(void **state)
{
    TwHost *second = NULL;
    int fds[2];
    Fixture f;
    int fd;

    (void)state;
    fixture_prepare(&f, NULL);
    assert_int_equal(tw_server_add_tool(
                         f.server, &(TwTool){.name = "again", .handler = on_run_again, .user = &f}),
                     0);
    assert_int_equal(fixture_open(&f), 0);
    assert_int_equal(tw_host_open(f.server, NULL, &second), TW_ERROR_BUSY);
    assert_non_null(strstr(tw_server_message(f.server), "host"));
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    assert_int_equal(tw_server_serve_fds(f.server, fds[0], fds[0]), TW_ERROR_BUSY);
    assert_non_null(strstr(tw_server_message(f.server), "host"));
    fixture_run(&f);
    fd = bridge_connect(f.socket);
    bridge_send(fd, REQUEST("again", "{}"));
    bridge_expect(fd, SAYS("the server serves already"));
    assert_int_equal(close(fd), 0);
    tw_server_stop(f.server); /* is for serve_* */
    assert_served(f.socket);
    tw_host_stop(f.host);
    fixture_join(&f);
    tw_host_close(f.host);
    /* Afterwards it is free: for a client, and for another host. */
    assert_int_equal(shutdown(fds[1], SHUT_WR), 0);
    assert_int_equal(tw_server_serve_fds(f.server, fds[0], fds[0]), 0);
    assert_int_equal(close(fds[1]), 0);
    assert_int_equal(fixture_open(&f), 0);
    fixture_run(&f);
    assert_served(f.socket);
    fixture_end(&f);
}

static void *serve_main(void *context)
{
    Fixture *f = context;

    f->r = tw_server_serve_fds(f->server, f->fd, f->fd);
    return NULL;
}

static void a_server_that_serves_opens_no_host(void **state)
{
    TwCall *call;
    int fds[2];
    Fixture f;

    (void)state;
    fixture_prepare(&f, NULL);
    add_waiting_tool(&f);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    f.fd = fds[0];
    assert_int_equal(pthread_create(&f.thread, NULL, serve_main, &f), 0);
    assert_true(dprintf(fds[1], "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
                                "\"params\":{\"name\":\"wait\",\"_meta\":{"
                                "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                                "\"io.modelcontextprotocol/clientCapabilities\":{}}}}\n") > 0);
    call = kept_take(&f.kept); /* so it serves */
    assert_int_equal(fixture_open(&f), TW_ERROR_BUSY);
    assert_string_equal(tw_server_message(f.server), "the server serves already");
    tw_call_done(call);
    assert_int_equal(close(fds[1]), 0);
    fixture_join(&f);
    fixture_deinit(&f);
}

/* ---- memory ---- */

static int open_one(void *context)
{
    const Fixture *f = context;
    TwServer *server = tw_server_new("h", "1");
    TwHost *host = NULL;
    int r;

    if (server == NULL) {
        return -ENOMEM;
    }
    r = tw_server_add_tool(server, &(TwTool){.name = "say", .handler = on_say});
    if (r == 0) {
        r = tw_host_open(server, &(TwHostOptions){.socket_path = f->socket}, &host);
        assert_true((r == 0) == (host != NULL));
    }
    tw_host_close(host);
    assert_int_not_equal(access(f->socket, F_OK), 0);
    assert_int_not_equal(access(f->schema, F_OK), 0);
    tw_server_free(server);
    assert_true(r == 0 || r == TW_ERROR_MEMORY);
    return r == 0 ? 0 : -ENOMEM;
}

/* The runtime folder too. */
static int open_default(void *context)
{
    TwServer *server = tw_server_new("h", "1");
    TwHost *host = NULL;
    int r;

    (void)context;
    if (server == NULL) {
        return -ENOMEM;
    }
    r = tw_host_open(server, NULL, &host);
    tw_host_close(host);
    tw_server_free(server);
    assert_true(r == 0 || r == TW_ERROR_MEMORY);
    return r == 0 ? 0 : -ENOMEM;
}

static void failed_allocations_leave_nothing_behind(void **state)
{
    char folder[64];
    Fixture f;

    (void)state;
    fixture_prepare(&f, NULL);
    test_oom_sweep(open_one, &f);
    assert_int_equal(setenv("XDG_RUNTIME_DIR", f.folder, 1), 0);
    test_oom_sweep(open_default, &f);
    assert_int_equal(unsetenv("XDG_RUNTIME_DIR"), 0);
    (void)snprintf(folder, sizeof(folder), "%s/toolwire", f.folder);
    assert_int_equal(rmdir(folder), 0);
    fixture_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_files_are_private_and_go_with_close),
        cmocka_unit_test(paths_are_the_users_and_become_absolute),
        cmocka_unit_test(without_a_path_each_host_has_its_own_in_the_runtime_folder),
        cmocka_unit_test(a_live_parent_keeps_its_place),
        cmocka_unit_test(what_a_dead_parent_left_is_replaced),
        cmocka_unit_test(a_place_that_cannot_be_is_refused_with_words),
        cmocka_unit_test(missing_parameters_are_refused),
        cmocka_unit_test(bridges_that_come_before_run_wait_for_it),
        cmocka_unit_test(handlers_answer_failures_and_unknown_tools),
        cmocka_unit_test(a_call_that_waits_holds_up_no_other_bridge),
        cmocka_unit_test(a_bridge_that_goes_cancels_its_call),
        cmocka_unit_test(bridges_are_not_slowed_down),
        cmocka_unit_test(a_rate_that_the_options_name_holds),
        cmocka_unit_test(the_schema_file_follows_what_any_thread_adds_and_removes),
        cmocka_unit_test(a_server_with_a_host_serves_nothing_else),
        cmocka_unit_test(a_server_that_serves_opens_no_host),
        cmocka_unit_test(failed_allocations_leave_nothing_behind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "unit/api/wire.h"

#include <signal.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "support/oom_sweep.h"

/* For a test that would wait for ever; nothing is measured by it. */
#define WATCHDOG_S 60

/* ---- the server: this program, started with "serve" ---- */

static void on_echo(TwCall *call, void *user)
{
    (void)user;
    tw_call_text(call, tw_call_string(call, "message", "nothing"));
    tw_call_text(call, "twice");
    tw_call_structured(call, tw_call_arguments(call));
}

static void on_fail(TwCall *call, void *user)
{
    (void)user;
    tw_call_failed(call, "it failed");
}

static void on_talk(TwCall *call, void *user)
{
    (void)user;
    tw_call_progress(call, 1, 2, "half");
    tw_call_log(call, TW_LOG_WARNING, "careful");
    tw_call_text(call, "done");
}

static void on_ask(TwCall *call, void *user)
{
    (void)user;
    if (tw_call_answer(call, "who") == NULL) {
        tw_call_ask_form(call, "who", "Name?", "{\"type\":\"object\",\"properties\":{}}");
        tw_call_ask_roots(call, "roots");
        return;
    }
    tw_call_textf(call, "%s %s %s", tw_call_answer_action(call, "who"),
                  tw_call_answer_string(call, "who", "name", "-"),
                  tw_call_answer_string(call, "roots", "/roots/0/uri", "-"));
}

/* Never answers; a cancelled one is released by its cancel function, which removes the file that
 * the call named. */
static void on_hang_cancelled(TwCall *call, void *user)
{
    (void)user;
    (void)unlink(tw_call_string(call, "file", ""));
    tw_call_done(call);
}

static void on_hang(TwCall *call, void *user)
{
    (void)user;
    if (tw_call_keep(call) == 0) {
        tw_call_on_cancel(call, on_hang_cancelled, NULL);
        tw_call_progress(call, 1, -1, NULL);
    }
}

static void on_die(TwCall *call, void *user)
{
    (void)call;
    (void)user;
    _exit(3);
}

static void on_touch(TwCall *call, void *user)
{
    TwServer *server = user;

    WIRE_CHECK(tw_server_resource_updated(server, "test:///r") == 0);
    WIRE_CHECK(tw_server_add_tool(server, &(TwTool){.name = "extra", .handler = on_echo}) == 0);
    tw_call_text(call, "touched");
}

static void on_resource(TwCall *call, void *user)
{
    (void)user;
    tw_call_text(call, "content");
}

static void on_prompt(TwCall *call, void *user)
{
    (void)user;
    tw_call_textf(call, "About %s", tw_call_string(call, "topic", "nothing"));
}

static void on_complete(TwCall *call, void *user)
{
    (void)user;
    tw_call_value(call, "alpha");
    tw_call_value(call, tw_call_typed(call));
}

/* drain_ms as in the options. */
static TwServer *new_server(int64_t drain_ms)
{
    static const TwPromptArgument arguments[] = {{.name = "topic"}, {.name = NULL}};
    TwServer *server = tw_server_new("tested", "1.0");
    const struct {
        const char *name;
        TwHandler handler;
    } tools[] = {{"echo", on_echo}, {"fail", on_fail}, {"talk", on_talk},  {"ask", on_ask},
                 {"hang", on_hang}, {"die", on_die},   {"touch", on_touch}};

    WIRE_CHECK(tw_server_set_options(
                   server, &(TwServerOptions){.page_size = 2, .drain_ms = drain_ms}) == 0);
    for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++) {
        WIRE_CHECK(tw_server_add_tool(server, &(TwTool){.name = tools[i].name,
                                                        .handler = tools[i].handler,
                                                        .user = server}) == 0);
    }
    WIRE_CHECK(
        tw_server_add_resource(
            server, &(TwResource){.uri = "test:///r", .name = "r", .handler = on_resource}) == 0);
    WIRE_CHECK(tw_server_add_template(server, &(TwResourceTemplate){.uri_template = "test:///x/{n}",
                                                                    .name = "x",
                                                                    .handler = on_resource,
                                                                    .complete = on_complete}) == 0);
    WIRE_CHECK(tw_server_add_prompt(server, &(TwPrompt){.name = "p",
                                                        .arguments = arguments,
                                                        .handler = on_prompt,
                                                        .complete = on_complete}) == 0);
    return server;
}

static int serve(void)
{
    TwServer *server = new_server(0);
    int r = tw_server_serve_stdio(server);

    tw_server_free(server);
    return r == 0 ? 0 : 1;
}

static void on_own_signal(int signum)
{
    (void)signum;
}

/* Serves, with all the time in the world for calls to finish, in a program that has its own ideas
 * about signals, and finds them as they were. */
static int serve_patiently(void)
{
    struct sigaction own = {.sa_handler = on_own_signal};
    struct sigaction found;
    sigset_t mask;
    TwServer *server = new_server(600000);
    int r;

    WIRE_CHECK(sigaction(SIGINT, &own, NULL) == 0);
    r = tw_server_serve_stdio(server);
    tw_server_free(server);
    WIRE_CHECK(sigaction(SIGINT, NULL, &found) == 0 && found.sa_handler == on_own_signal);
    WIRE_CHECK(sigaction(SIGTERM, NULL, &found) == 0 && found.sa_handler == SIG_DFL);
    WIRE_CHECK(pthread_sigmask(SIG_BLOCK, NULL, &mask) == 0);
    WIRE_CHECK(sigismember(&mask, SIGTERM) == 0 && sigismember(&mask, SIGPIPE) == 0);
    return r == 0 ? 0 : 1;
}

/* ---- in between: this program, started with "watch", which starts the server ---- */

static const char *const server_self[] = {"/proc/self/exe", "serve", NULL};

static void write_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t written = write(fd, p, n);

        if (written <= 0) {
            return; /* the other side has gone, which the other direction shows */
        }
        p += written;
        n -= (size_t)written;
    }
}

/* Starts this program in that role, with pipes at its standard input and output. */
static pid_t spawn_role(const char *role, int *ret_in, int *ret_out)
{
    int to[2];
    int from[2];
    pid_t pid;

    WIRE_CHECK(pipe(to) == 0);
    WIRE_CHECK(pipe(from) == 0);
    pid = fork();
    WIRE_CHECK(pid >= 0);
    if (pid == 0) {
        (void)dup2(to[0], STDIN_FILENO);
        (void)dup2(from[1], STDOUT_FILENO);
        (void)close(to[0]);
        (void)close(to[1]);
        (void)close(from[0]);
        (void)close(from[1]);
        (void)execl(server_self[0], server_self[0], role, (char *)NULL);
        _exit(127);
    }
    (void)close(to[0]);
    (void)close(from[1]);
    *ret_in = to[1];
    *ret_out = from[0];
    return pid;
}

static pid_t spawn_server(int *ret_in, int *ret_out)
{
    return spawn_role(server_self[1], ret_in, ret_out);
}

/* Passes on what the client says; false at its end. */
static bool pass_to_server(McpWatch *watch, int *to)
{
    char data[65536];
    ssize_t n = read(STDIN_FILENO, data, sizeof(data));

    if (n <= 0) {
        mcp_watch_client_ends(watch);
        (void)close(*to);
        *to = -1;
        return false;
    }
    mcp_watch_client_sends(watch, data, (size_t)n);
    write_all(*to, data, (size_t)n);
    return true;
}

static bool pass_to_client(McpWatch *watch, int from)
{
    char data[65536];
    ssize_t n = read(from, data, sizeof(data));

    if (n <= 0) {
        return false;
    }
    mcp_watch_server_sends(watch, data, (size_t)n);
    write_all(STDOUT_FILENO, data, (size_t)n);
    return true;
}

/* Both sides are ours: whatever one of them sends must be valid. The first message that is not ends
 * this process, and so the session, with words on stderr that the client's error repeats. */
static int watch_both(void)
{
    struct pollfd fds[2] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.events = POLLIN}};
    int status = 1;
    McpWatch watch;
    pid_t pid;
    int to;

    (void)signal(SIGPIPE, SIG_IGN);
    pid = spawn_server(&to, &fds[1].fd);
    mcp_watch_init(&watch, MCP_WATCH_CLIENT | MCP_WATCH_SERVER);
    for (;;) {
        WIRE_CHECK(poll(fds, 2, -1) > 0);
        if (fds[0].revents != 0 && !pass_to_server(&watch, &to)) {
            fds[0].fd = -1;
        }
        if (fds[1].revents != 0 && !pass_to_client(&watch, fds[1].fd)) {
            break;
        }
    }
    WIRE_CHECK(waitpid(pid, &status, 0) == pid);
    mcp_watch_deinit(&watch);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* ---- clients ---- */

static const char *const self[] = {"/proc/self/exe", "watch", NULL};

/* What callbacks saw. */
typedef struct Seen {
    char progress[128];
    char notifications[1024];
    int n_asked;
    TwClient *client;
} Seen;

static void see_progress(double progress, double total, const char *message, void *user)
{
    Seen *seen = user;

    (void)snprintf(seen->progress, sizeof(seen->progress), "%g %g %s", progress, total, message);
}

static void see_notification(const char *method, const char *params_json, void *user)
{
    Seen *seen = user;
    size_t n = strlen(seen->notifications);

    WIRE_CHECK(params_json[0] == '{');
    (void)snprintf(seen->notifications + n, sizeof(seen->notifications) - n, "%s ", method);
}

static void answer_ask(TwAsk *ask, void *user)
{
    Seen *seen = user;

    seen->n_asked++;
    if (tw_ask_kind(ask) == TW_ASK_FORM) {
        WIRE_CHECK(strcmp(tw_ask_message(ask), "Name?") == 0);
        WIRE_CHECK(strcmp(tw_ask_schema(ask), "{\"type\":\"object\",\"properties\":{}}") == 0);
        WIRE_CHECK(strcmp(tw_ask_url(ask), "") == 0);
        WIRE_CHECK(tw_ask_accept(ask, "nonsense") == TW_ERROR_JSON);
        WIRE_CHECK(tw_ask_accept(ask, NULL) == TW_ERROR_JSON);
        WIRE_CHECK(tw_ask_accept(ask, "{ \"name\":\n\"Ada\" }") == 0);
        WIRE_CHECK(tw_ask_decline(ask) == TW_ERROR_OVER);
    } else {
        WIRE_CHECK(tw_ask_kind(ask) == TW_ASK_ROOTS);
        WIRE_CHECK(tw_ask_params(ask)[0] == '{');
        WIRE_CHECK(tw_ask_decline(ask) == TW_ERROR_ARGUMENT);
        WIRE_CHECK(tw_ask_result(ask, "{\"roots\":[{\"uri\":\"file:///r\"}]}") == 0);
    }
}

static TwClient *start_command(TwEra era, Seen *seen, const char *const *command)
{
    TwClient *client = tw_client_new(&(TwClientOptions){
        .name = "test",
        .version = "1",
        .era = era,
        .can = TW_CAN_FORM | TW_CAN_ROOTS,
        .wants_logs = true,
        .log_level = TW_LOG_WARNING,
        .ask = answer_ask,
        .progress = see_progress,
        .notification = see_notification,
        .user = seen,
    });
    int r;

    assert_non_null(client);
    r = tw_client_start(client, command);
    if (r != 0) {
        fail_msg("%s: %s", tw_error_text(r), tw_client_message(client));
    }
    seen->client = client;
    return client;
}

static TwClient *start(TwEra era, Seen *seen)
{
    return start_command(era, seen, self);
}

static void check(TwClient *client, int r)
{
    if (r != 0) {
        fail_msg("%s: %s (%d)", tw_error_text(r), tw_client_message(client),
                 tw_client_error_code(client));
    }
}

static void use_everything(TwEra era, const char *version)
{
    Seen seen = {.n_asked = 0};
    TwClient *client = start(era, &seen);
    TwResult *result = NULL;

    assert_string_equal(tw_client_protocol_version(client), version);
    assert_non_null(strstr(tw_client_server_info(client), "\"tools\""));
    check(client, tw_client_list_tools(client, &result));
    assert_int_equal(tw_result_count(result, "/tools"), 7);
    assert_string_equal(tw_result_string(result, "/tools/6/name", ""), "touch");
    tw_result_free(result);
    check(client, tw_client_call(client, "echo", "{ \"message\": \"h\u00e9\\n\" }", &result));
    assert_string_equal(tw_result_text(result), "h\u00e9\n\ntwice");
    assert_string_equal(tw_result_structured(result), "{\"message\":\"h\u00e9\\n\"}");
    assert_false(tw_result_is_error(result));
    tw_result_free(result);
    check(client, tw_client_call(client, "fail", NULL, &result));
    assert_true(tw_result_is_error(result));
    assert_string_equal(tw_result_text(result), "it failed");
    tw_result_free(result);
    check(client, tw_client_list_resources(client, &result));
    assert_string_equal(tw_result_string(result, "/resources/0/uri", ""), "test:///r");
    tw_result_free(result);
    check(client, tw_client_list_templates(client, &result));
    assert_int_equal(tw_result_count(result, "/resourceTemplates"), 1);
    tw_result_free(result);
    check(client, tw_client_read_resource(client, "test:///r", &result));
    assert_string_equal(tw_result_text(result), "content");
    tw_result_free(result);
    check(client, tw_client_list_prompts(client, &result));
    assert_int_equal(tw_result_count(result, "/prompts"), 1);
    tw_result_free(result);
    check(client, tw_client_get_prompt(client, "p", "{\"topic\":\"C\"}", &result));
    assert_string_equal(tw_result_text(result), "About C");
    tw_result_free(result);
    check(client, tw_client_complete_prompt(client, "p", "topic", "b", &result));
    assert_string_equal(tw_result_get(result, "/completion/values"), "[\"alpha\",\"b\"]");
    tw_result_free(result);
    check(client, tw_client_complete_template(client, "test:///x/{n}", "n", NULL, &result));
    assert_string_equal(tw_result_string(result, "/completion/values/1", "?"), "");
    tw_result_free(result);
    tw_client_free(client);
}

static void every_function_works_in_the_modern_era(void **state)
{
    (void)state;
    use_everything(TW_ERA_MODERN, "2026-07-28");
}

static void every_function_works_in_the_legacy_era(void **state)
{
    (void)state;
    use_everything(TW_ERA_LEGACY, "2025-11-25");
}

static void auto_finds_the_modern_era(void **state)
{
    (void)state;
    use_everything(TW_ERA_AUTO, "2026-07-28");
}

static void callbacks_are_called_in_both_eras(void **state)
{
    static const TwEra eras[] = {TW_ERA_LEGACY, TW_ERA_MODERN};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        Seen seen = {.n_asked = 0};
        TwClient *client = start(eras[i], &seen);
        TwResult *result = NULL;

        check(client, tw_client_call(client, "talk", NULL, &result));
        assert_string_equal(tw_result_text(result), "done");
        tw_result_free(result);
        assert_string_equal(seen.progress, "1 2 half");
        assert_string_equal(seen.notifications, "notifications/message ");
        check(client, tw_client_call(client, "ask", "{}", &result));
        assert_string_equal(tw_result_text(result), "accept Ada file:///r");
        tw_result_free(result);
        assert_int_equal(seen.n_asked, 2);
        tw_client_free(client);
    }
}

static void subscriptions_work_in_both_eras(void **state)
{
    static const TwEra eras[] = {TW_ERA_LEGACY, TW_ERA_MODERN};
    static const char *const uris[] = {"test:///r", NULL};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        Seen seen = {.n_asked = 0};
        TwClient *client = start(eras[i], &seen);

        check(client, tw_client_subscribe(client, NULL));
        check(client, tw_client_subscribe(client, uris));
        check(client, tw_client_call(client, "touch", NULL, NULL));
        /* Both came before the answer, or come now. */
        for (int turn = 0; turn < 100 && (strstr(seen.notifications, "updated") == NULL ||
                                          strstr(seen.notifications, "list_changed") == NULL);
             turn++) {
            check(client, tw_client_wait(client, 10));
        }
        assert_non_null(strstr(seen.notifications, "notifications/resources/updated "));
        assert_non_null(strstr(seen.notifications, "notifications/tools/list_changed "));
        tw_client_free(client);
    }
}

static void errors_of_the_server_are_told(void **state)
{
    Seen seen = {.n_asked = 0};
    TwClient *client = start(TW_ERA_AUTO, &seen);
    TwResult *result = NULL;

    (void)state;
    assert_int_equal(tw_client_call(client, "unknown", NULL, &result), TW_ERROR_REMOTE);
    assert_null(result);
    assert_int_equal(tw_client_error_code(client), -32602);
    assert_true(strlen(tw_client_message(client)) > 0);
    assert_int_equal(tw_client_read_resource(client, "test:///no", &result), TW_ERROR_REMOTE);
    assert_string_equal(tw_client_error_data(client), "{\"uri\":\"test:///no\"}");
    assert_int_equal(tw_client_call(client, "echo", "[]", &result), TW_ERROR_JSON);
    assert_string_equal(tw_client_message(client), "arguments must be a JSON object");
    assert_int_equal(tw_client_call(client, NULL, NULL, &result), TW_ERROR_ARGUMENT);
    assert_int_equal(tw_client_request(client, "x", "3", &result), TW_ERROR_JSON);
    check(client, tw_client_request(client, "tools/list", NULL, &result));
    assert_string_equal(tw_client_message(client), "");
    assert_null(tw_client_error_data(client));
    assert_true(tw_result_count(result, "/tools") == 2);
    tw_result_free(result);
    tw_client_free(client);
}

/* Nobody in between, who would object: the methods are the caller's. */
static void methods_that_no_revision_has_are_sent_all_the_same(void **state)
{
    Seen seen = {.n_asked = 0};
    TwClient *client = start_command(TW_ERA_AUTO, &seen, server_self);
    TwResult *result = NULL;

    (void)state;
    assert_int_equal(tw_client_request(client, "no/such", "{\"a\":1}", &result), TW_ERROR_REMOTE);
    assert_int_equal(tw_client_error_code(client), -32601);
    check(client, tw_client_notify(client, "notifications/no/such", NULL));
    check(client, tw_client_call(client, "echo", NULL, NULL));
    tw_client_free(client);
}

static void notifications_are_sent(void **state)
{
    Seen seen = {.n_asked = 0};
    TwClient *client = start(TW_ERA_LEGACY, &seen);

    (void)state;
    check(client, tw_client_notify(client, "notifications/roots/list_changed", NULL));
    check(client, tw_client_call(client, "echo", NULL, NULL));
    tw_client_free(client);
}

static void cancel_on_progress(double progress, double total, const char *message, void *user)
{
    Seen *seen = user;

    (void)progress;
    (void)total;
    (void)message;
    tw_client_cancel(seen->client);
}

static void a_call_can_be_cancelled(void **state)
{
    Seen seen = {.n_asked = 0};
    TwClient *client =
        tw_client_new(&(TwClientOptions){.progress = cancel_on_progress, .user = &seen});
    TwResult *result = NULL;

    (void)state;
    seen.client = client;
    check(client, tw_client_start(client, self));
    tw_client_cancel(client); /* nothing is waited for */
    assert_int_equal(tw_client_call(client, "hang", NULL, &result), TW_ERROR_CANCELLED);
    check(client, tw_client_call(client, "echo", NULL, &result));
    tw_result_free(result);
    tw_client_free(client);
}

static void the_server_hears_of_a_cancelled_call_at_once(void **state)
{
    char file[] = "/tmp/tw_test_client_XXXXXX";
    char arguments[128];
    Seen seen = {.n_asked = 0};
    TwClient *client =
        tw_client_new(&(TwClientOptions){.progress = cancel_on_progress, .user = &seen});
    int fd = mkstemp(file);

    (void)state;
    assert_true(fd >= 0);
    (void)close(fd);
    seen.client = client;
    (void)snprintf(arguments, sizeof(arguments), "{\"file\":\"%s\"}", file);
    check(client, tw_client_start(client, self));
    assert_int_equal(tw_client_call(client, "hang", arguments, NULL), TW_ERROR_CANCELLED);
    /* Without another function of the client that could send it. */
    for (int i = 0; i < WIRE_PATIENCE_MS && access(file, F_OK) == 0; i++) {
        (void)poll(NULL, 0, 1);
    }
    assert_int_not_equal(access(file, F_OK), 0);
    tw_client_free(client);
}

static void *cancel_later(void *context)
{
    TwClient *client = context;

    for (int i = 0; i < 200; i++) {
        tw_client_cancel(client);
        (void)poll(NULL, 0, 1);
    }
    return NULL;
}

static void another_thread_can_cancel(void **state)
{
    Seen seen = {.n_asked = 0};
    TwClient *client = start(TW_ERA_LEGACY, &seen);
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, cancel_later, client), 0);
    assert_int_equal(tw_client_call(client, "hang", NULL, NULL), TW_ERROR_CANCELLED);
    assert_int_equal(pthread_join(thread, NULL), 0);
    check(client, tw_client_call(client, "echo", NULL, NULL));
    tw_client_free(client);
}

static void silence_ends_in_a_timeout(void **state)
{
    TwClient *client = tw_client_new(&(TwClientOptions){.timeout_ms = 1000, .era = TW_ERA_LEGACY});

    (void)state;
    /* Nobody in between: the time is for the beginning of the session, too. */
    check(client, tw_client_start(client, server_self));
    assert_int_equal(tw_client_call(client, "hang", NULL, NULL), TW_ERROR_TIMEOUT);
    tw_client_free(client);
}

static void times_are_checked(void **state)
{
    static const TwClientOptions negative[] = {
        {.timeout_ms = -1},
        {.probe_timeout_ms = -1},
        {.grace_ms = INT64_MIN},
    };
    TwClient *client;

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(negative); i++) {
        client = tw_client_new(&negative[i]);
        assert_int_equal(tw_client_start(client, server_self), TW_ERROR_ARGUMENT);
        assert_string_equal(tw_client_message(client), "a time is negative");
        assert_int_equal(tw_client_connect(client, "/nowhere"), TW_ERROR_ARGUMENT);
        tw_client_free(client);
    }
    /* As large as they come they are no harm, which the undefined-behaviour sanitizer sees. */
    client = tw_client_new(&(TwClientOptions){
        .timeout_ms = INT64_MAX, .probe_timeout_ms = INT64_MAX, .grace_ms = INT64_MAX});
    check(client, tw_client_start(client, server_self));
    check(client, tw_client_call(client, "echo", NULL, NULL));
    assert_int_equal(tw_client_wait(client, -1), TW_ERROR_ARGUMENT);
    assert_string_equal(tw_client_message(client), "a time is negative");
    assert_int_equal(tw_client_wait(client, 0), 0);
    tw_client_free(client);
}

static void servers_that_cannot_be_reached_are_told(void **state)
{
    static const char *const nowhere[] = {"/nowhere/at/all", NULL};
    static const char *const silent[] = {"true", NULL};
    TwClient *client = tw_client_new(NULL);

    (void)state;
    assert_int_equal(tw_client_call(client, "t", NULL, NULL), TW_ERROR_CLOSED);
    assert_int_equal(tw_client_start(client, nowhere), TW_ERROR_START);
    assert_non_null(strstr(tw_client_message(client), "/nowhere/at/all"));
    assert_int_equal(tw_client_connect(client, "/nowhere/at/all"), TW_ERROR_START);
    assert_int_equal(tw_client_start(client, silent), TW_ERROR_CLOSED);
    assert_true(strlen(tw_client_message(client)) > 0);
    assert_null(tw_client_protocol_version(client));
    check(client, tw_client_start(client, self));
    assert_int_equal(tw_client_start(client, self), TW_ERROR_BUSY);
    tw_client_free(client);
    tw_client_free(NULL);
    assert_int_equal(tw_client_start(NULL, self), TW_ERROR_ARGUMENT);
    assert_int_equal(tw_client_wait(NULL, 0), TW_ERROR_ARGUMENT);
    tw_client_cancel(NULL);
}

static void a_server_that_dies_can_be_started_again(void **state)
{
    Seen seen = {.n_asked = 0};
    TwClient *client = start(TW_ERA_AUTO, &seen);

    (void)state;
    assert_int_equal(tw_client_call(client, "die", NULL, NULL), TW_ERROR_CLOSED);
    assert_int_equal(tw_client_call(client, "echo", NULL, NULL), TW_ERROR_CLOSED);
    check(client, tw_client_start(client, self));
    check(client, tw_client_call(client, "echo", NULL, NULL));
    tw_client_free(client);
}

/* ---- over a socket ---- */

static void *serve_one_client(void *context)
{
    int listener = *(int *)context;
    int fd = accept(listener, NULL, NULL);
    TwServer *server = new_server(0);

    WIRE_CHECK(tw_server_serve_fds(server, fd, fd) == 0);
    tw_server_free(server);
    return NULL;
}

static void servers_are_reached_over_sockets(void **state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char folder[] = "/tmp/tw_test_client_XXXXXX";
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    TwClient *client = tw_client_new(NULL);
    TwResult *result = NULL;
    pthread_t thread;

    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", folder);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(pthread_create(&thread, NULL, serve_one_client, &listener), 0);
    check(client, tw_client_connect(client, address.sun_path));
    check(client, tw_client_call(client, "echo", "{\"message\":\"m\"}", &result));
    assert_string_equal(tw_result_string(result, "/content/0/text", ""), "m");
    tw_result_free(result);
    tw_client_free(client);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(close(listener), 0);
    assert_int_equal(unlink(address.sun_path), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* ---- the process ---- */

/* It answers, so it has installed its signal handlers: they come before the first read. */
static void wait_for_server(int in, int out)
{
    static const char ping[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\","
                               "\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
                               "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}\n";
    char byte;

    assert_int_equal(write(in, ping, sizeof(ping) - 1), (ssize_t)sizeof(ping) - 1);
    do {
        assert_int_equal(read(out, &byte, 1), 1);
    } while (byte != '\n');
}

static void signals_and_the_end_of_input_end_the_server_well(void **state)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, 0};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(signals); i++) {
        int in;
        int out;
        int status = -1;
        pid_t pid = spawn_server(&in, &out);

        wait_for_server(in, out);
        if (signals[i] != 0) {
            assert_int_equal(kill(pid, signals[i]), 0);
        } else {
            assert_int_equal(close(in), 0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        if (signals[i] != 0) {
            assert_int_equal(close(in), 0);
        }
        assert_int_equal(close(out), 0);
    }
}

/* Also where the program has a handler of its own. */
static void a_signal_after_the_end_of_input_does_not_wait_for_calls(void **state)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP};
    static const char call[] = "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":"
                               "{\"name\":\"hang\",\"arguments\":{},"
                               "\"_meta\":{\"progressToken\":1}}}\n";

    (void)state;
    (void)alarm(WATCHDOG_S);
    for (size_t i = 0; i < TW_ARRAY_SIZE(signals); i++) {
        int in;
        int out;
        int status = -1;
        char byte;
        pid_t pid = spawn_role("serve_patiently", &in, &out);

        wait_for_server(in, out);
        assert_int_equal(write(in, call, sizeof(call) - 1), (ssize_t)sizeof(call) - 1);
        do {
            assert_int_equal(read(out, &byte, 1), 1); /* its progress: it runs */
        } while (byte != '\n');
        assert_int_equal(close(in), 0);
        assert_int_equal(kill(pid, signals[i]), 0);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        assert_int_equal(close(out), 0);
    }
    (void)alarm(0);
}

/* ---- memory ---- */

static int build_client(void *context)
{
    static const char *const environment[] = {"A=1", "B=2", NULL};
    TwClient *client =
        tw_client_new(&(TwClientOptions){.name = "n", .folder = "/", .environment = environment});

    (void)context;
    if (client == NULL) {
        return -ENOMEM;
    }
    tw_client_free(client);
    return 0;
}

static void failed_allocations_leave_nothing_behind(void **state)
{
    (void)state;
    test_oom_sweep(build_client, NULL);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_works_in_the_modern_era),
        cmocka_unit_test(every_function_works_in_the_legacy_era),
        cmocka_unit_test(auto_finds_the_modern_era),
        cmocka_unit_test(callbacks_are_called_in_both_eras),
        cmocka_unit_test(subscriptions_work_in_both_eras),
        cmocka_unit_test(errors_of_the_server_are_told),
        cmocka_unit_test(methods_that_no_revision_has_are_sent_all_the_same),
        cmocka_unit_test(notifications_are_sent),
        cmocka_unit_test(a_call_can_be_cancelled),
        cmocka_unit_test(the_server_hears_of_a_cancelled_call_at_once),
        cmocka_unit_test(another_thread_can_cancel),
        cmocka_unit_test(silence_ends_in_a_timeout),
        cmocka_unit_test(times_are_checked),
        cmocka_unit_test(servers_that_cannot_be_reached_are_told),
        cmocka_unit_test(a_server_that_dies_can_be_started_again),
        cmocka_unit_test(servers_are_reached_over_sockets),
        cmocka_unit_test(signals_and_the_end_of_input_end_the_server_well),
        cmocka_unit_test(a_signal_after_the_end_of_input_does_not_wait_for_calls),
        cmocka_unit_test(failed_allocations_leave_nothing_behind),
    };

    if (argc > 1 && strcmp(argv[1], "serve") == 0) {
        return serve();
    }
    if (argc > 1 && strcmp(argv[1], "serve_patiently") == 0) {
        return serve_patiently();
    }
    if (argc > 1 && strcmp(argv[1], "watch") == 0) {
        return watch_both();
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}

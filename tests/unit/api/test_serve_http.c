#include "support/cmocka.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <toolwire/toolwire.h>
#include <unistd.h>

#include "base/compiler.h"

#define ADDRESS_SIZE 160

typedef struct Fixture {
    TwServer *server;
    const char *address; /* asked for */
    TwHttpOptions options;
    pthread_t thread;
    int r; /* of serve */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char ready[ADDRESS_SIZE]; /* "" : not yet */
    bool has_ended;
} Fixture;

static void greet(TwCall *call, void *user)
{
    (void)user;
    tw_call_textf(call, "Hello, %s!", tw_call_string(call, "name", "world"));
}

static void on_ready(void *user, const char *address)
{
    Fixture *f = user;

    pthread_mutex_lock(&f->lock);
    (void)snprintf(f->ready, sizeof(f->ready), "%s", address);
    pthread_cond_signal(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

static void *serve(void *context)
{
    Fixture *f = context;
    int r = tw_server_serve_http(f->server, f->address, &f->options);

    pthread_mutex_lock(&f->lock);
    f->r = r;
    f->has_ended = true;
    pthread_cond_signal(&f->changed);
    pthread_mutex_unlock(&f->lock);
    return NULL;
}

/* Serves, and waits until it listens. */
static void fixture_start(Fixture *f, const char *address, TwHttpOptions options)
{
    *f = (Fixture){.server = tw_server_new("t", "1"), .address = address, .options = options};
    f->options.ready = on_ready;
    f->options.user = f;
    assert_int_equal(pthread_mutex_init(&f->lock, NULL), 0);
    assert_int_equal(pthread_cond_init(&f->changed, NULL), 0);
    assert_int_equal(tw_server_add_tool(f->server, &(TwTool){.name = "greet", .handler = greet}),
                     TW_OK);
    assert_int_equal(pthread_create(&f->thread, NULL, serve, f), 0);
    pthread_mutex_lock(&f->lock);
    while (f->ready[0] == '\0' && !f->has_ended) {
        pthread_cond_wait(&f->changed, &f->lock);
    }
    pthread_mutex_unlock(&f->lock);
    if (f->ready[0] == '\0') {
        fail_msg("it does not serve: %s", tw_server_message(f->server));
    }
}

/* After it was told to end. */
static void fixture_join(Fixture *f)
{
    assert_int_equal(pthread_join(f->thread, NULL), 0);
    assert_int_equal(f->r, TW_OK);
    tw_server_free(f->server);
    pthread_cond_destroy(&f->changed);
    pthread_mutex_destroy(&f->lock);
}

static void fixture_stop(Fixture *f)
{
    tw_server_stop(f->server);
    fixture_join(f);
}

static int connect_tcp(const Fixture *f)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    unsigned port = 0;

    assert_int_equal(sscanf(f->ready, "http://127.0.0.1:%u/", &port), 1);
    to.sin_port = htons((in_port_t)port);
    assert_int_equal(connect(fd, (const struct sockaddr *)(const void *)&to, sizeof(to)), 0);
    return fd;
}

static int connect_unix(const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(strlen(path) < sizeof(to.sun_path));
    memcpy(to.sun_path, path, strlen(path));
    assert_int_equal(connect(fd, (const struct sockaddr *)(const void *)&to, sizeof(to)), 0);
    return fd;
}

#define BODY                                                                                       \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"greet\","      \
    "\"arguments\":{\"name\":\"Bob\"},\"_meta\":{"                                                 \
    "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                                  \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}}}"

/* A call of greet at that path, with more header lines; gives the whole answer. Takes fd. */
static const char *ask(int fd, const char *path, const char *host, const char *more)
{
    static char answer[8192];
    char request[2048];
    size_t n = 0;
    ssize_t got;

    (void)snprintf(request, sizeof(request),
                   "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n"
                   "Accept: application/json, text/event-stream\r\nConnection: close\r\n"
                   "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n"
                   "Mcp-Name: greet\r\n%sContent-Length: %zu\r\n\r\n" BODY,
                   path, host, more, strlen(BODY));
    assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), (ssize_t)strlen(request));
    while ((got = recv(fd, answer + n, sizeof(answer) - 1 - n, 0)) > 0) {
        n += (size_t)got;
    }
    answer[n] = '\0';
    assert_int_equal(close(fd), 0);
    return answer;
}

static void expect(const char *answer, const char *status, const char *text)
{
    if (strncmp(answer, "HTTP/1.1 ", 9) != 0 || strncmp(answer + 9, status, 3) != 0 ||
        strstr(answer, text) == NULL) {
        fail_msg("wanted %s with %s, got: %s", status, text, answer);
    }
}

static void calls_are_answered_until_stop(void **state)
{
    Fixture f;

    (void)state;
    fixture_start(&f, "127.0.0.1:0", (TwHttpOptions){.path = NULL});
    assert_non_null(strstr(f.ready, "/mcp"));
    expect(ask(connect_tcp(&f), "/mcp", "localhost", ""), "200", "Hello, Bob!");
    expect(ask(connect_tcp(&f), "/mcp", "127.0.0.1", ""), "200", "Hello, Bob!");
    expect(ask(connect_tcp(&f), "/other", "localhost", ""), "404", "");
    fixture_stop(&f);
}

static void another_path_hosts_and_origins_are_as_told(void **state)
{
    const char *const hosts[] = {"tools.example", NULL};
    const char *const origins[] = {"https://app.example", NULL};
    Fixture f;

    (void)state;
    fixture_start(
        &f, "127.0.0.1:0",
        (TwHttpOptions){.path = "/tools", .allowed_hosts = hosts, .allowed_origins = origins});
    assert_non_null(strstr(f.ready, "/tools"));
    expect(ask(connect_tcp(&f), "/tools", "tools.example", ""), "200", "Hello, Bob!");
    expect(ask(connect_tcp(&f), "/tools", "localhost", "Origin: https://app.example\r\n"), "200",
           "Hello, Bob!");
    expect(ask(connect_tcp(&f), "/tools", "evil.example", ""), "403", "");
    expect(ask(connect_tcp(&f), "/tools", "localhost", "Origin: https://evil.example\r\n"), "403",
           "");
    fixture_stop(&f);
}

static void a_token_must_be_shown(void **state)
{
    Fixture f;

    (void)state;
    fixture_start(&f, "127.0.0.1:0", (TwHttpOptions){.token = "a-secret-of-some-length"});
    expect(ask(connect_tcp(&f), "/mcp", "localhost", ""), "401", "");
    expect(ask(connect_tcp(&f), "/mcp", "localhost", "Authorization: Bearer another\r\n"), "401",
           "");
    expect(ask(connect_tcp(&f), "/mcp", "localhost",
               "Authorization: Bearer a-secret-of-some-length\r\n"),
           "200", "Hello, Bob!");
    fixture_stop(&f);
}

/* What serve says of options that it cannot use. */
static void refused(TwHttpOptions options, const char *address, int error, const char *message)
{
    TwServer *server = tw_server_new("t", "1");

    assert_int_equal(tw_server_serve_http(server, address, &options), error);
    if (strstr(tw_server_message(server), message) == NULL ||
        strstr(tw_server_message(server), "--") != NULL) {
        fail_msg("%s", tw_server_message(server));
    }
    tw_server_free(server);
}

static void a_token_that_protects_nothing_is_refused(void **state)
{
    static const struct {
        const char *token;
        const char *message;
    } cases[] = {
        {"", "TwHttpOptions.token: the token is empty"},
        {"0123456789abcde", "a token of 15 bytes can be guessed"},
        {"a secret with blanks in it", "letters, digits"},
        {"line-one-of-two\nline-two", "letters, digits"},
        {"not-\xc3\xa4scii-at-all-but-long", "letters, digits"},
    };

    (void)state;
    (void)alarm(60); /* one that is taken is served, and would not end */
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        refused((TwHttpOptions){.token = cases[i].token}, "127.0.0.1:0", TW_ERROR_ARGUMENT,
                cases[i].message);
        refused((TwHttpOptions){.token = cases[i].token}, "0.0.0.0:0", TW_ERROR_ARGUMENT,
                cases[i].message);
    }
    refused((TwHttpOptions){.token = NULL}, "0.0.0.0:0", TW_ERROR_SYSTEM,
            "set TwHttpOptions.token");
    (void)alarm(0);
}

static void names_that_nobody_can_have_are_refused(void **state)
{
    const char *const hosts[] = {"good.example", "http://hub.example", NULL};
    const char *const origins[] = {"https://page.example/", "https://page.example/a", NULL};

    (void)state;
    (void)alarm(60);
    refused((TwHttpOptions){.allowed_hosts = hosts}, "127.0.0.1:0", TW_ERROR_ARGUMENT,
            "TwHttpOptions.allowed_hosts: 'http://hub.example' is a URL");
    refused((TwHttpOptions){.allowed_origins = origins}, "127.0.0.1:0", TW_ERROR_ARGUMENT,
            "TwHttpOptions.allowed_origins: 'https://page.example/a' has a path");
    (void)alarm(0);
}

static void a_unix_socket_serves_as_well(void **state)
{
    char folder[] = "/tmp/tw-http-XXXXXX";
    char address[ADDRESS_SIZE];
    Fixture f;

    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(address, sizeof(address), "unix:%s/http.sock", folder);
    fixture_start(&f, address, (TwHttpOptions){.path = NULL});
    assert_string_equal(f.ready, address);
    expect(ask(connect_unix(address + strlen("unix:")), "/mcp", "localhost", ""), "200",
           "Hello, Bob!");
    fixture_stop(&f);
    assert_int_equal(rmdir(folder), 0);
}

static void a_signal_ends_it_and_is_the_programs_own_again(void **state)
{
    struct sigaction action;
    Fixture f;

    (void)state;
    fixture_start(&f, "127.0.0.1:0", (TwHttpOptions){.path = NULL});
    expect(ask(connect_tcp(&f), "/mcp", "localhost", ""), "200", "Hello, Bob!");
    assert_int_equal(kill(getpid(), SIGTERM), 0);
    fixture_join(&f);
    assert_int_equal(sigaction(SIGTERM, NULL, &action), 0);
    assert_true(action.sa_handler == SIG_DFL);
}

static void an_address_that_cannot_be_used_is_named(void **state)
{
    TwServer *server = tw_server_new("t", "1");
    char taken[ADDRESS_SIZE];
    char *place;
    Fixture f;

    (void)state;
    fixture_start(&f, "127.0.0.1:0", (TwHttpOptions){.path = NULL});
    memcpy(taken, f.ready, sizeof(taken));
    place = strchr(taken + strlen("http://"), '/');
    assert_non_null(place);
    *place = '\0';
    place = taken + strlen("http://");
    assert_int_equal(tw_server_serve_http(server, place, NULL), TW_ERROR_SYSTEM);
    assert_non_null(strstr(tw_server_message(server), place));
    assert_int_equal(tw_server_serve_http(f.server, "127.0.0.1:0", NULL), TW_ERROR_BUSY);
    fixture_stop(&f);
    assert_int_equal(tw_server_serve_http(server, "nonsense", NULL), TW_ERROR_SYSTEM);
    assert_string_not_equal(tw_server_message(server), "");
    /* Other machines could reach it, and anybody there could call. */
    assert_int_equal(tw_server_serve_http(server, "0.0.0.0:0", NULL), TW_ERROR_SYSTEM);
    assert_int_equal(tw_server_serve_http(NULL, "127.0.0.1:0", NULL), TW_ERROR_ARGUMENT);
    assert_int_equal(tw_server_serve_http(server, NULL, NULL), TW_ERROR_ARGUMENT);
    tw_server_free(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_answered_until_stop),
        cmocka_unit_test(another_path_hosts_and_origins_are_as_told),
        cmocka_unit_test(a_token_must_be_shown),
        cmocka_unit_test(a_token_that_protects_nothing_is_refused),
        cmocka_unit_test(names_that_nobody_can_have_are_refused),
        cmocka_unit_test(a_unix_socket_serves_as_well),
        cmocka_unit_test(a_signal_ends_it_and_is_the_programs_own_again),
        cmocka_unit_test(an_address_that_cannot_be_used_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

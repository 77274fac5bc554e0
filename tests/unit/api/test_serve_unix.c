#include "support/cmocka.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <toolwire/toolwire.h>
#include <unistd.h>

#include "base/compiler.h"

/* What a server that begins to serve may take until it lets clients in. */
#define PATIENCE_MS 20000

typedef struct Fixture {
    char folder[64];
    char path[96];
    TwServer *server;
    pthread_t thread;
    int r; /* of serve */
} Fixture;

static void greet(TwCall *call, void *user)
{
    (void)user;
    tw_call_textf(call, "Hello, %s!", tw_call_string(call, "name", "world"));
}

static void *serve(void *context)
{
    Fixture *f = context;

    f->r = tw_server_serve_unix(f->server, f->path);
    return NULL;
}

static void fixture_init(Fixture *f)
{
    static const char folder[] = "/tmp/tw-serve-XXXXXX";

    *f = (Fixture){.server = tw_server_new("t", "1")};
    memcpy(f->folder, folder, sizeof(folder));
    assert_non_null(mkdtemp(f->folder));
    (void)snprintf(f->path, sizeof(f->path), "%s/mcp.sock", f->folder);
    assert_int_equal(tw_server_add_tool(f->server, &(TwTool){.name = "greet", .handler = greet}),
                     TW_OK);
}

static void fixture_start(Fixture *f)
{
    assert_int_equal(pthread_create(&f->thread, NULL, serve, f), 0);
}

static void fixture_join(Fixture *f)
{
    assert_int_equal(pthread_join(f->thread, NULL), 0);
}

static void fixture_deinit(Fixture *f)
{
    tw_server_free(f->server);
    assert_int_not_equal(access(f->path, F_OK), 0);
    assert_int_equal(rmdir(f->folder), 0);
}

/* Connects as soon as the server is there. */
static TwClient *client_open(const Fixture *f)
{
    TwClient *client = tw_client_new(NULL);
    int r = TW_ERROR_START;

    for (int ms = 0; r != TW_OK && ms < PATIENCE_MS; ms++) {
        r = tw_client_connect(client, f->path);
        if (r != TW_OK) {
            (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        }
    }
    assert_int_equal(r, TW_OK);
    return client;
}

static void client_is_greeted(TwClient *client, const char *name, const char *wanted)
{
    TwResult *result = NULL;
    char arguments[64];

    (void)snprintf(arguments, sizeof(arguments), "{\"name\":\"%s\"}", name);
    assert_int_equal(tw_client_call(client, "greet", arguments, &result), TW_OK);
    assert_string_equal(tw_result_string(result, "/content/0/text", ""), wanted);
    tw_result_free(result);
}

static void many_clients_are_served_until_stop(void **state)
{
    TwClient *clients[3];
    Fixture f;

    (void)state;
    fixture_init(&f);
    fixture_start(&f);
    for (size_t i = 0; i < TW_ARRAY_SIZE(clients); i++) {
        clients[i] = client_open(&f);
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(clients); i++) {
        client_is_greeted(clients[i], "Bob", "Hello, Bob!");
    }
    tw_client_free(clients[0]);
    client_is_greeted(clients[1], "Eve", "Hello, Eve!");
    tw_server_stop(f.server);
    fixture_join(&f);
    assert_int_equal(f.r, TW_OK);
    tw_client_free(clients[1]);
    tw_client_free(clients[2]);
    fixture_deinit(&f);
}

static void one_server_serves_again(void **state)
{
    Fixture f;

    (void)state;
    fixture_init(&f);
    for (int i = 0; i < 2; i++) {
        TwClient *client;

        fixture_start(&f);
        client = client_open(&f);
        client_is_greeted(client, "Bob", "Hello, Bob!");
        tw_client_free(client);
        tw_server_stop(f.server);
        fixture_join(&f);
        assert_int_equal(f.r, TW_OK);
    }
    fixture_deinit(&f);
}

static void a_signal_ends_it_and_is_the_programs_own_again(void **state)
{
    struct sigaction action;
    TwClient *client;
    Fixture f;

    (void)state;
    fixture_init(&f);
    fixture_start(&f);
    client = client_open(&f);
    client_is_greeted(client, "Bob", "Hello, Bob!");
    assert_int_equal(kill(getpid(), SIGTERM), 0);
    fixture_join(&f);
    assert_int_equal(f.r, TW_OK);
    assert_int_equal(sigaction(SIGTERM, NULL, &action), 0);
    assert_true(action.sa_handler == SIG_DFL);
    tw_client_free(client);
    fixture_deinit(&f);
}

static void a_place_that_cannot_be_had_is_named(void **state)
{
    TwServer *other = tw_server_new("other", "1");
    TwClient *client;
    Fixture f;

    (void)state;
    fixture_init(&f);
    fixture_start(&f);
    client = client_open(&f);
    client_is_greeted(client, "Bob", "Hello, Bob!");
    assert_int_equal(tw_server_serve_unix(other, f.path), TW_ERROR_EXISTS);
    assert_non_null(strstr(tw_server_message(other), f.path));
    assert_int_equal(tw_server_serve_unix(f.server, "/tmp/x.sock"), TW_ERROR_BUSY);
    assert_int_equal(tw_server_serve_unix(other, "/nowhere/at/all.sock"), TW_ERROR_SYSTEM);
    assert_non_null(strstr(tw_server_message(other), "/nowhere/at"));
    assert_int_equal(tw_server_serve_unix(NULL, f.path), TW_ERROR_ARGUMENT);
    assert_int_equal(tw_server_serve_unix(other, NULL), TW_ERROR_ARGUMENT);
    tw_client_free(client);
    tw_server_stop(f.server);
    fixture_join(&f);
    tw_server_free(other);
    fixture_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_clients_are_served_until_stop),
        cmocka_unit_test(one_server_serves_again),
        cmocka_unit_test(a_signal_ends_it_and_is_the_programs_own_again),
        cmocka_unit_test(a_place_that_cannot_be_had_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

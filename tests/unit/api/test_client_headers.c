/* A client of the library and a server of the library, over HTTP. */
#include "support/cmocka.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <toolwire/toolwire.h>

#include "base/compiler.h"

typedef struct Fixture {
    TwServer *server;
    TwHttpOptions options;
    const char *address;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char url[200];
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
    (void)snprintf(f->url, sizeof(f->url), "%s", address);
    pthread_cond_signal(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

static void *serve(void *context)
{
    Fixture *f = context;

    (void)tw_server_serve_http(f->server, f->address, &f->options);
    pthread_mutex_lock(&f->lock);
    f->has_ended = true;
    pthread_cond_signal(&f->changed);
    pthread_mutex_unlock(&f->lock);
    return NULL;
}

static void fixture_start(Fixture *f, const char *address, const char *token)
{
    *f = (Fixture){.server = tw_server_new("t", "1"), .address = address};
    f->options = (TwHttpOptions){.token = token, .ready = on_ready, .user = f};
    assert_int_equal(pthread_mutex_init(&f->lock, NULL), 0);
    assert_int_equal(pthread_cond_init(&f->changed, NULL), 0);
    assert_int_equal(tw_server_add_tool(f->server, &(TwTool){.name = "greet", .handler = greet}),
                     TW_OK);
    assert_int_equal(pthread_create(&f->thread, NULL, serve, f), 0);
    pthread_mutex_lock(&f->lock);
    while (f->url[0] == '\0' && !f->has_ended) {
        pthread_cond_wait(&f->changed, &f->lock);
    }
    pthread_mutex_unlock(&f->lock);
    assert_true(f->url[0] != '\0');
}

static void fixture_stop(Fixture *f)
{
    tw_server_stop(f->server);
    assert_int_equal(pthread_join(f->thread, NULL), 0);
    tw_server_free(f->server);
    pthread_cond_destroy(&f->changed);
    pthread_mutex_destroy(&f->lock);
}

static void check(TwClient *client, int r)
{
    if (r != 0) {
        fail_msg("%d: %s", r, tw_client_message(client));
    }
}

static void every_era_is_spoken(void **state)
{
    static const struct {
        TwEra era;
        const char *version;
    } cases[] = {
        {TW_ERA_AUTO, "2026-07-28"},
        {TW_ERA_LEGACY, "2025-11-25"},
        {TW_ERA_MODERN, "2026-07-28"},
        {TW_ERA_ASSUME, "2026-07-28"},
    };
    Fixture f;

    (void)state;
    fixture_start(&f, "127.0.0.1:0", NULL);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        TwClient *client = tw_client_new(&(TwClientOptions){.era = cases[i].era});
        TwResult *result = NULL;

        check(client, tw_client_connect(client, f.url));
        assert_string_equal(tw_client_protocol_version(client), cases[i].version);
        assert_non_null(tw_client_server_info(client));
        for (int n = 0; n < 3; n++) {
            check(client, tw_client_call(client, "greet", "{\"name\":\"Ada\"}", &result));
            assert_string_equal(tw_result_text(result), "Hello, Ada!");
            tw_result_free(result);
        }
        assert_int_equal(tw_client_call(client, "nothing", NULL, &result), TW_ERROR_REMOTE);
        assert_int_equal(tw_client_connect(client, f.url), TW_ERROR_BUSY);
        tw_client_free(client);
    }
    fixture_stop(&f);
}

static void a_token_comes_from_the_environment(void **state)
{
    static const char *const wrong[] = {"Authorization: Bearer wrong", NULL};
    TwClient *client;
    Fixture f;

    (void)state;
    fixture_start(&f, "127.0.0.1:0", "a-token-of-thirty-two-characters");
    assert_int_equal(setenv("TW_TEST_TOKEN", "a-token-of-thirty-two-characters", 1), 0);
    client = tw_client_new(&(TwClientOptions){.bearer_env = "TW_TEST_TOKEN"});
    check(client, tw_client_connect(client, f.url));
    tw_client_free(client);
    client = tw_client_new(&(TwClientOptions){.headers = wrong});
    assert_int_equal(tw_client_connect(client, f.url), TW_ERROR_CLOSED);
    assert_non_null(strstr(tw_client_message(client), "401"));
    assert_null(strstr(tw_client_message(client), "wrong"));
    tw_client_free(client);
    fixture_stop(&f);
}

static void wrong_use_is_said(void **state)
{
    static const char *const headers[][2] = {
        {"no colon", NULL}, {"Mcp-Method: x", NULL}, {"a b: c", NULL}};
    TwClient *client = tw_client_new(NULL);

    (void)state;
    assert_int_equal(tw_client_connect(NULL, "http://h/"), TW_ERROR_ARGUMENT);
    assert_int_equal(tw_client_connect(client, NULL), TW_ERROR_ARGUMENT);
    assert_int_equal(tw_client_connect(client, "http://user:secret@h h/"), TW_ERROR_START);
    assert_null(strstr(tw_client_message(client), "secret"));
    assert_int_equal(tw_client_connect(client, "http+unix:relative:/x"), TW_ERROR_START);
    /* Nobody listens there. */
    assert_int_equal(tw_client_connect(client, "http://127.0.0.1:1/mcp"), TW_ERROR_CLOSED);
    assert_non_null(strstr(tw_client_message(client), "cannot reach http://127.0.0.1:1/mcp"));
    assert_int_equal(tw_client_connect(client, "http+unix:/nowhere/x:/mcp"), TW_ERROR_CLOSED);
    tw_client_free(client);
    for (size_t i = 0; i < TW_ARRAY_SIZE(headers); i++) {
        client = tw_client_new(&(TwClientOptions){.headers = headers[i]});
        assert_int_equal(tw_client_connect(client, "http://127.0.0.1:1/"),
                         i == 0 ? TW_ERROR_ARGUMENT : TW_ERROR_START);
        tw_client_free(client);
    }
    client = tw_client_new(&(TwClientOptions){.bearer_env = "TW_TEST_NOT_THERE"});
    assert_int_equal(tw_client_connect(client, "http://127.0.0.1:1/"), TW_ERROR_ARGUMENT);
    tw_client_free(client);
}

static void a_unix_socket_serves_http_too(void **state)
{
    char folder[] = "/tmp/toolwire-test-XXXXXX";
    char address[100];
    char url[120];
    TwClient *client = tw_client_new(NULL);
    TwResult *result = NULL;
    Fixture f;

    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(address, sizeof(address), "unix:%s/s", folder);
    (void)snprintf(url, sizeof(url), "http+unix:%s/s:/mcp", folder);
    fixture_start(&f, address, NULL);
    check(client, tw_client_connect(client, url));
    check(client, tw_client_call(client, "greet", NULL, &result));
    assert_string_equal(tw_result_text(result), "Hello, world!");
    tw_result_free(result);
    tw_client_free(client);
    fixture_stop(&f);
    assert_int_equal(remove(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_era_is_spoken),
        cmocka_unit_test(a_token_comes_from_the_environment),
        cmocka_unit_test(wrong_use_is_said),
        cmocka_unit_test(a_unix_socket_serves_http_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

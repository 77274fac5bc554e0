#include "app/agent_secrets.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/cmocka.h"

static char header[] = "Bearer of-a-header";
static char secret[] = "of-a-client";
static char plain[] = "not-a-secret";
static char variable[] = "of-a-variable";

static UpstreamPair env[] = {{.name = (char[]){"MODE"}, .value = plain},
                             {.name = (char[]){"DB_PASSWORD"}, .value = variable}};
static UpstreamPair headers[] = {{.name = (char[]){"Authorization"}, .value = header},
                                 {.name = (char[]){"Accept"}, .value = plain}};

static void assert_secrets(const Config *config, const char *const *expected, size_t n)
{
    const char *const *secrets = NULL;
    Arena arena;

    arena_init(&arena, 65536);
    assert_int_equal(agent_secrets(&arena, config, &secrets), 0);
    for (size_t i = 0; i < n; i++) {
        assert_non_null(secrets[i]);
        assert_string_equal(secrets[i], expected[i]);
    }
    assert_null(secrets[n]);
    arena_deinit(&arena);
}

static void what_servers_are_given_under_names_of_secrets(void **state)
{
    static const char *const expected[] = {variable, header, header + 7, secret};
    UpstreamSpec specs[] = {{.env = env, .n_env = 2, .headers = headers, .n_headers = 2},
                            {.auth.client_secret = secret}};
    Config config = {.servers = specs, .n_servers = 2};

    (void)state;
    assert_secrets(&config, expected, 4);
    assert_secrets(&(Config){.n_servers = 0}, NULL, 0);
}

static void the_token_of_the_hub_if_it_can_be_read(void **state)
{
    static const char *const expected[] = {"0123456789abcdef0123456789abcdef"};
    char path[] = "/tmp/agent-secrets-XXXXXX";
    int fd = mkstemp(path);
    Config config = {.http.token_file = path};

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, expected[0], 32), 32);
    assert_int_equal(write(fd, "\n", 1), 1);
    assert_int_equal(close(fd), 0);
    assert_secrets(&config, expected, 1);
    assert_int_equal(unlink(path), 0);
    assert_secrets(&config, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_servers_are_given_under_names_of_secrets),
        cmocka_unit_test(the_token_of_the_hub_if_it_can_be_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
